"""The history screen: timeline, commit, and its diff or a file at that commit (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.types import CSSPathType

from tui.kit.bridge import ALL_PARTS
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.figures import local
from tui.render.roles import Roles
from tui.screens.history.blame import BlamePanel
from tui.screens.history.commit import CommitPanel, CommitView
from tui.screens.history.commits import CommitRow, CommitsPanel, draw_none, minute
from tui.screens.history.shown import ShownPanel, Text, note_text, plan_text
from tui.screens.history.state import (
    HistoryState,
    Page,
    PageRequest,
    ViewContent,
    ViewRequest,
    read_page,
    read_view,
)

if TYPE_CHECKING:
    from engine.history.model import ChangedFile
    from tui.kit.bench import Bench

BROAD = 110
"""Minimum columns for the commit next to the timeline."""


class HistoryLayout(ListDetail):
    AUTO_FOCUS = "#commits"
    CSS_PATH: ClassVar[CSSPathType | None] = "history.tcss"
    area = "history"
    line = "asking"
    news = ALL_PARTS
    burst_s = 0.5  # a commit writes several files

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "commits")
        self.state = HistoryState()
        self.lower = "commit"
        history = bench.engine.history
        self._pages: Lane[PageRequest, Page] = self.lane(
            lambda wanted: read_page(history, wanted), self._take_page, self._page_failed, in_turn=True
        )
        self._files: Lane[str, tuple[ChangedFile, ...]] = self.lane(
            lambda revision: history.changes(revision).files,
            self._take_files,
            lambda revision, problem: self._take_files(revision, (), problem),
        )
        self._views: Lane[ViewRequest, ViewContent] = self.lane(
            lambda request: read_view(history, request),
            self._take_content,
            lambda request, problem: self._take_content(request, ViewContent(note_text(problem))),
        )
        self._request: ViewRequest | None = None
        self._content: ViewContent | None = None
        self._target = ""
        self._searching = False

    def body(self) -> ComposeResult:
        self.commits = CommitsPanel(id="commits")
        self.commit = CommitPanel(id="commit")
        self.text = ShownPanel(id="text")
        self.blame = BlamePanel(id="blame")
        with Container(id="history"):
            yield self.commits
            with Vertical(id="history-beside"):
                yield self.commit
                yield self.text
                yield self.blame

    def look(self) -> None:
        """Reads the newest commits, and a shown file again, as it may have changed."""
        self._request = None if self.state.view == "file" else self._request
        self._pages.ask(self.state.fresh())

    # Layout

    @property
    def side_panel(self) -> str:
        """``text`` or ``blame``."""
        return "blame" if self.state.view == "blame" and self._content and self._content.blamed else "text"

    @property
    def folded(self) -> bool:
        """Whether only one panel fits below the timeline."""
        return self.app.size.width < BROAD

    def offered(self) -> tuple[str, ...]:
        return ("commits", "commit", self.side_panel)

    def in_view(self) -> tuple[str, ...]:
        names = super().in_view()
        if not self.folded or len(names) == 1:
            return names
        return ("commits", self.lower if self.lower == "commit" else self.side_panel)

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        return {**super().shape(shown), "-folded": self.folded}

    def lay_out(self) -> None:
        super().lay_out()
        self.query_one("#history-beside").display = any(
            panel.display for panel in (self.commit, self.text, self.blame)
        )

    def panel_changed(self) -> None:
        if not self.in_line and self.panel_in_use != "commits":
            self.lower = self.panel_in_use
        if self.alone or self.folded:
            self.lay_out()

    def swap_side_panel(self) -> None:
        """Replaces the text panel by the blame panel, or vice versa, if the view requires it."""
        wanted = self.side_panel
        other = "text" if wanted == "blame" else "blame"
        if not self.panel_named(other).display and self.panel_in_use != other:
            return
        if self.zoomed == other:
            self.zoomed = wanted
        self.lay_out()
        if self.panel_in_use == other:
            self.focus_panel(wanted)

    # Display

    @property
    def item(self) -> CommitRow | None:
        return self.commits.selected

    def show(self) -> None:
        state = self.state
        about = (state.phase, state.problem, state.kind, state.path, self.commits.query_text, state.next)
        self.commits.year = local(self.bench.clock.now()).year
        self.commits.show_commits(state.rows, self._note, about, heading=state.heading)
        if self._target:
            self._reach(self._target)
        self.show_commit()

    def show_commit(self) -> None:
        """Shows the selected commit, and requests what is not loaded yet."""
        item, state = self.item, self.state
        if item is None:
            self.commit.show_view(None)
            self._request, self._content = None, None
        else:
            files = state.files.get(item.revision)
            if files is None:
                self._files.ask(item.revision)
            chosen = state.pinned or state.chosen_path(item.revision)
            problem = state.problems.get(item.revision, "")
            self.commit.show_view(CommitView(item, files, chosen, problem))
            request = state.view_request(item)
            if request is not None and request != self._request:
                self._request = request
                self._views.ask(request)
        self.show_text()
        self.update_footer()

    def show_text(self) -> None:
        state, item = self.state, self.item
        self.swap_side_panel()
        if item is None:
            self._set_text(None, "")
        elif state.view == "undo":
            text = (
                plan_text(state.plan, "enter") if state.plan is not None else note_text("planning the undo …")
            )
            self._set_text(text, "undo")
        elif self._content is not None and self._content.blamed and state.view == "blame":
            as_of = "before" if self._content.deleted else "as of"
            self.blame.show_blame(self._content.blamed, state.pinned, f"{as_of} {minute(item.entry.at)}")
        elif self._content is not None:
            title = "at this commit" if state.view == "file" else state.view
            self._set_text(self._content.text, title)

    _last_text: tuple[Text | None, str] | None = None

    def _set_text(self, text: Text | None, title: str) -> None:
        """Shows a text unless it is shown already, which keeps the scroll position."""
        if self._last_text is None or self._last_text[0] is not text or self._last_text[1] != title:
            self._last_text = (text, title)
            self.text.show_text(text, title)

    def _note(self, width: int, roles: Roles) -> list[Row]:
        state, query = self.state, self.commits.query_text
        words = (
            f"of type {state.kind}" if state.kind else "",
            f"changes {state.path}" if state.path else "",
            f"matches “{query}”" if query else "",
        )
        narrowed = " and ".join(filter(None, words)) or "yet"
        return draw_none(state.phase, state.problem, narrowed, bool(state.next), width, roles)

    # Results

    def _take_page(self, wanted: PageRequest, page: Page) -> None:
        before = self.state.phase
        if not self.state.take(wanted, page):
            self._target = ""
            return
        if wanted.until and not any(each.revision == wanted.until for each in self.state.rows):
            self._target = ""
            self.say(f"{wanted.until[:8]} is not in the history of this branch")
        self.show()
        if before == "loading":
            self.call_after_refresh(self.keep_focus)
        self._search_older()

    def _page_failed(self, wanted: PageRequest, problem: str) -> None:
        if wanted.before:
            self.say(problem, error=True)
            return
        self.state.fail(problem)
        self._target = ""
        self.show()

    def _take_files(self, revision: str, files: tuple[ChangedFile, ...], problem: str = "") -> None:
        self.state.take_files(revision, files, problem)
        self.show_commit()

    def _take_content(self, request: ViewRequest, content: ViewContent) -> None:
        if request == self._request:
            self._content = content
            self.show_text()
            self.update_footer()

    # Selection

    def seek(self, revision: str) -> None:
        """Selects a commit, reading older ones until it is reached."""
        self._target = revision
        self.commits.filter("")
        if (self.state.kind or self.state.path) and self.commits.index_of(revision) < 0:
            self.state.narrow_to("", "")
        self.show()
        if self._target:
            wanted = self.state.older if self.state.next else self.state.fresh
            self._pages.ask(wanted(revision))

    def _reach(self, revision: str) -> None:
        if self.commits.index_of(revision) >= 0:
            self._target = ""
            self.commits.select_key(revision)

    def older(self) -> None:
        if self.state.next and not self._pages.busy:
            self._pages.ask(self.state.older())

    def _search_older(self) -> None:
        """Reads older commits until the filter's matches fill the screen."""
        few = self.commits.row_count < self.commits.size.height
        self._searching = bool(self._searching and self.commits.query_text and few and self.state.next)
        if self._searching:
            self._pages.ask(self.state.older())

    @on(CommitsPanel.NearEnd)
    def _near_end(self) -> None:
        if not self.commits.query_text:
            self.older()

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        state, item = self.state, self.item
        if moved.panel is self.commits:
            if item is not None and state.view in ("conversation", "undo"):
                state.show_diff()
            if self.commits.cursor == self.commits.row_count - 1:
                self.older()
            self.show_commit()
        elif (
            moved.panel is self.commit and moved.by_hand and item is not None and self.commit.file is not None
        ):
            state.chosen[item.revision] = self.commit.file.path
            if state.pinned:
                state.pinned = self.commit.file.path
            elif state.view != "diff":
                state.show_diff()
            self.show_commit()
        else:
            self.update_footer()
