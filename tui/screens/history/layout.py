"""The history screen: the time line, a commit, and what it changed or how a file was then (design 8)."""

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
from tui.screens.history.commits import CommitsPanel, TimeRow, draw_none, minute
from tui.screens.history.shown import ShownPanel, Text, note_text, plan_text
from tui.screens.history.state import HistoryState, Look, Page, Seen, Wanted, read_look, read_page

if TYPE_CHECKING:
    from engine.history.model import ChangedFile
    from tui.kit.bench import Bench

BROAD = 110
"""Columns from which the commit stands beside the time line."""
READING = "reading …"
_TITLES = {"diff": "diff", "file": "as it was", "blame": "blame", "talk": "conversation", "undo": "undo"}


class HistoryLayout(ListDetail):
    """The screen on the memory's past."""

    AUTO_FOCUS = "#commits"
    CSS_PATH: ClassVar[CSSPathType | None] = "history.tcss"
    area = "history"
    line = "asking"
    news = ALL_PARTS
    burst_s = 0.5  # what commits writes several files

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "commits")
        self.state = HistoryState()
        self.lower = "commit"
        history = bench.engine.history
        self._pages: Lane[Wanted, Page] = self.lane(
            lambda wanted: read_page(history, wanted), self._take_page, self._page_failed, in_turn=True
        )
        self._files: Lane[str, tuple[ChangedFile, ...]] = self.lane(
            lambda revision: history.changes(revision).files,
            self._take_files,
            lambda revision, problem: self._take_files(revision, (), problem),
        )
        self._looks: Lane[Look, Seen] = self.lane(
            lambda look: read_look(history, look),
            self._take_seen,
            lambda look, problem: self._take_seen(look, Seen(note_text(problem))),
        )
        self._looked: Look | None = None
        self._seen: Seen | None = None
        self._seeks = ""
        self._hunts = False

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
        """Reads the newest commits, and shows anew what is beside them: a file of today may be another."""
        self._looked = None if self.state.view == "file" else self._looked
        self._pages.ask(self.state.fresh())

    # Where the panels are

    @property
    def beside(self) -> str:
        """The panel that shows a text, or the lines of a file with where they come from."""
        return "blame" if self.state.view == "blame" and self._seen and self._seen.blamed else "text"

    @property
    def folded(self) -> bool:
        """Whether only one panel has room below the time line."""
        return self.app.size.width < BROAD

    def offered(self) -> tuple[str, ...]:
        return ("commits", "commit", self.beside)

    def in_view(self) -> tuple[str, ...]:
        names = super().in_view()
        if not self.folded or len(names) == 1:
            return names
        return ("commits", self.lower if self.lower == "commit" else self.beside)

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        """The commit stands beside the time line where there is room."""
        return {**super().shape(shown), "-folded": self.folded}

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        super().lay_out()
        self.query_one("#history-beside").display = any(
            panel.display for panel in (self.commit, self.text, self.blame)
        )

    def panel_changed(self) -> None:
        """Where only some panels have room, the one with the keys has it."""
        if not self.in_line and self.panel_in_use != "commits":
            self.lower = self.panel_in_use
        if self.alone or self.folded:
            self.lay_out()

    def keep_beside(self) -> None:
        """The text's panel may have given way to that of the blame, or the other way round."""
        wanted = self.beside
        other = "text" if wanted == "blame" else "blame"
        if not self.panel_named(other).display and self.panel_in_use != other:
            return
        if self.zoomed == other:
            self.zoomed = wanted
        self.lay_out()
        if self.panel_in_use == other:
            self.focus_panel(wanted)

    # What is on the screen

    @property
    def item(self) -> TimeRow | None:
        """The selected commit."""
        return self.commits.selected

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        state = self.state
        about = (state.phase, state.problem, state.kind, state.path, self.commits.query_text, state.next)
        self.commits.year = local(self.bench.clock.now()).year
        self.commits.show_commits(state.rows, self._note, about, whole=state.whole)
        if self._seeks:
            self._reach(self._seeks)
        self.show_commit()

    def show_commit(self) -> None:
        """Shows the selected commit, and asks for what is not known of it yet."""
        item, state = self.item, self.state
        if item is None:
            self.commit.show_view(None)
            self._looked, self._seen = None, None
        else:
            files = state.files.get(item.revision)
            if files is None:
                self._files.ask(item.revision)
            chosen = state.pinned or state.chosen_path(item.revision)
            problem = state.problems.get(item.revision, "")
            self.commit.show_view(CommitView(item, files, chosen, problem))
            look = state.look(item)
            if look is not None and look != self._looked:
                self._looked = look
                self._looks.ask(look)
        self.show_text()
        self.update_footer()

    def show_text(self) -> None:
        """Shows what was read, or that it is being read."""
        state, item = self.state, self.item
        self.keep_beside()
        if item is None:
            self._put(None, "")
        elif state.view == "undo":
            text = plan_text(state.plan, "enter") if state.plan is not None else note_text("planning …")
            self._put(text, _TITLES["undo"])
        elif self._seen is not None and self._seen.blamed and state.view == "blame":
            as_of = "before" if self._seen.deleted else "as of"
            self.blame.show_blame(self._seen.blamed, state.pinned, f"{as_of} {minute(item.entry.at)}")
        elif self._seen is not None:
            self._put(self._seen.text, _TITLES[state.view])

    _put_last: tuple[Text | None, str] | None = None

    def _put(self, text: Text | None, title: str) -> None:
        """Shows a text, where it is another one: the place in it stays otherwise."""
        if self._put_last is None or self._put_last[0] is not text or self._put_last[1] != title:
            self._put_last = (text, title)
            self.text.show_text(text, title)

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """What stands where there are no commits."""
        state, query = self.state, self.commits.query_text
        words = (
            f"is of type {state.kind}" if state.kind else "",
            f"changed {state.path}" if state.path else "",
            f"holds “{query}”" if query else "",
        )
        narrowed = " and ".join(filter(None, words)) or "is here yet"
        return draw_none(state.phase, state.problem, narrowed, bool(state.next), width, roles)

    # What comes in

    def _take_page(self, wanted: Wanted, page: Page) -> None:
        before = self.state.phase
        if not self.state.take(wanted, page):
            self._seeks = ""
            return
        if wanted.until and not any(each.revision == wanted.until for each in self.state.rows):
            self._seeks = ""
            self.say(f"{wanted.until[:8]} is not in the history of this branch")
        self.show()
        if before == "loading":
            self.call_after_refresh(self.keep_focus)
        self._hunt()

    def _page_failed(self, wanted: Wanted, problem: str) -> None:
        if wanted.before:
            self.say(problem, error=True)
            return
        self.state.fail(problem)
        self._seeks = ""
        self.show()

    def _take_files(self, revision: str, files: tuple[ChangedFile, ...], problem: str = "") -> None:
        self.state.take_files(revision, files, problem)
        self.show_commit()

    def _take_seen(self, look: Look, seen: Seen) -> None:
        if look == self._looked:
            self._seen = seen
            self.show_text()
            self.update_footer()

    # Going through it

    def seek(self, revision: str) -> None:
        """Selects a commit, after reading as far as it."""
        self._seeks = revision
        self.commits.filter("")
        if (self.state.kind or self.state.path) and self.commits.index_of(revision) < 0:
            self.state.narrow_to("", "")
        self.show()
        if self._seeks:
            wanted = self.state.older if self.state.next else self.state.fresh
            self._pages.ask(wanted(revision))

    def _reach(self, revision: str) -> None:
        if self.commits.index_of(revision) >= 0:
            self._seeks = ""
            self.commits.select_key(revision)

    def older(self) -> None:
        """Reads older commits, where there are any."""
        if self.state.next and not self._pages.busy:
            self._pages.ask(self.state.older())

    def _hunt(self) -> None:
        """Goes on looking for what the filter wants, until a screenful is found."""
        few = self.commits.row_count < self.commits.size.height
        self._hunts = bool(self._hunts and self.commits.query_text and few and self.state.next)
        if self._hunts:
            self._pages.ask(self.state.older())

    @on(CommitsPanel.NearEnd)
    def _near_end(self) -> None:
        if not self.commits.query_text:
            self.older()

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        state, item = self.state, self.item
        if moved.panel is self.commits:
            if item is not None and state.view in ("talk", "undo"):
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
