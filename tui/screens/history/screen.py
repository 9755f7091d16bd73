"""The history screen: timeline, commit, and its diff or a file at that commit (design 8)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Self, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical

from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.full_screen import ListDetail, committed
from tui.kit.lanes import Lane
from tui.kit.messages import ALL_PARTS
from tui.kit.prompt import Mode
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.figures import local, plural
from tui.render.roles import Roles
from tui.render.safe import first_line, visible
from tui.screens.history.draw import (
    BlamePanel,
    BlameRow,
    CommitPanel,
    CommitRow,
    CommitsPanel,
    CommitView,
    ShownPanel,
    Text,
    View,
    draw_none,
    minute,
    note_text,
    plan_text,
)
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
    from engine.history.model import ChangedFile, Learned, Undone, UndoPlan
    from engine.history.snapshots import SnapshotKind
    from tui.kit.bench import Bench

_BLOCKERS = {
    "detached": "HEAD is detached; run: git switch main",
    "no-identity": "git has no identity; set user.name and user.email",
    "locked": "another git process is running, or a stale .git/index.lock was left behind",
    "conflicts": "there are merge conflicts; resolve them with git",
}
BROAD = 110
"""Minimum columns for the commit next to the timeline."""
SUBJECT = 80
"""Characters of a subject shown in a question."""


A_COMMIT = Need(lambda here: here.revision, "no commit is selected")
A_FILE = Need(lambda here: here.chosen, "the commit changed no file")


def _not_blocked(kind: str, reason: str) -> Need:
    return Need(lambda here: here.busy != kind, reason)


CAN_COMMIT: tuple[Need, ...] = (
    *(_not_blocked(kind, reason) for kind, reason in _BLOCKERS.items()),
    Need(lambda here: not here.busy, "a git operation is in progress; finish or abort it"),
)


class HistoryScreen(ListDetail, panels=("commits", "commit", "text", "blame"), lines=("asking",)):
    area = "history"
    news = ALL_PARTS
    burst_s = 0.5  # a commit writes several files
    outer = MappingProxyType({"text": "commit", "blame": "commit"})

    def __init__(self, bench: Bench, wanted: str = "") -> None:
        super().__init__(bench)
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
        self._target = wanted
        """The beginning of the revision to select once it is listed."""
        self._searching = False
        self._tagged = ""
        """The commit whose snapshot is being named."""
        self._whens: Lane[str, Learned] = self.lane(history.when, self._learned)
        self._plans: Lane[str, UndoPlan] = self.lane(
            history.undo_plan, self._planned, lambda _revision, problem: self._undo_failed(problem)
        )
        self._undoes: Lane[UndoPlan, Undone] = self.lane(
            history.undo,
            lambda _plan, done: self._undone(done),
            lambda _plan, problem: self._undo_failed(problem),
            finish=True,
        )
        self._names: Lane[tuple[str, str], str] = self.lane(
            lambda request: history.snapshot(*_name_and_kind(request[0]), request[1]),
            lambda _request, tag: self._named(tag),
            in_turn=True,
            finish=True,
        )

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen, on the commit selected in the feed."""
        entry = bench.feed.selected
        return cls(bench, entry.note if entry is not None and entry.kind == "commit" else "")

    def body(self) -> ComposeResult:
        self.commits = CommitsPanel(id="commits")
        self.commit = CommitPanel(id="commit")
        self.text = ShownPanel(id="text")
        self.blame = BlamePanel(id="blame")
        beside = Vertical(self.commit, self.text, self.blame, id="history-beside")
        yield Container(self.commits, beside, id="history")

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
        """Selects a commit by the beginning of its revision, if it is listed."""
        known = (self.commits.key(self.commits.item_at(at)) for at in range(self.commits.row_count))
        found = next((each for each in known if each.startswith(revision)), None)
        if found is not None:
            self._target = ""
            self.commits.select_key(found)

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

    def row_moved(self, moved: RowList.Moved) -> None:
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

    # Navigation

    def step_back(self) -> bool:
        """Returns to the diff, or to commits of all types and files."""
        state = self.state
        if state.show_diff():
            self.show_commit()
        elif state.kind or state.path:
            self._narrow_to("", "")
        else:
            return False
        return True

    focus_commits = goes_to("commits", "1", "the timeline", ", newest first", rank=40)
    focus_commit = goes_to("commit", "2", "the selected commit", ": its message, conversations and files",
                           rank=40)  # fmt: skip

    @command("3", "Go to the diff, file or blame", "panel", 40)
    def focus_beside(self) -> None:
        """Go to the commit's diff, a file at that commit, or its blame."""
        self.go_to(self.side_panel)

    @command("enter", "Read the commit", "read", 0, panels=["commits"], needs=[A_COMMIT])
    def read(self) -> None:
        """Go to the selected commit: its message, conversations and files."""
        self.go_to("commit")

    @command("enter", "Read the file or conversation", "read", 0, panels=["commit"], needs=[A_COMMIT])
    def read_file(self) -> None:
        """Read the selected conversation, or the selected file's diff."""
        if self.commit.on_conversation:
            self.conversation()
        self.go_to(self.side_panel)

    @command("enter", "Go to the line's commit", "its commit", 0, panels=["blame"],
             needs=[Need(lambda here: here.revision, "this line is not committed yet")])  # fmt: skip
    def to_commit_of_line(self) -> None:
        """Go to the commit the selected line comes from, and its diff."""
        row = self._blamed()
        if row is not None and row.line.revision:
            self.state.show_diff()
            self.state.chosen[row.line.revision] = row.line.path
            self.focus_panel("commits")
            self.seek(row.line.revision)

    def _blamed(self) -> BlameRow | None:
        return self.blame.selected if self.state.view == "blame" else None

    # Filtering the timeline

    @command("slash", "Filter the commits", "filter", 16)
    def filter(self) -> None:
        """Filter the loaded commits as you type, by subject, conversation, snapshot or hash; enter searches
        older commits as well.
        """
        self.open_line("asking", "filter", self.commits.query_text, "commits")

    @command("t", "Filter by type", "type", 14)
    def next_kind(self) -> None:
        """Show only the next type: conversation, memory, identity, maintenance, explore, extract, other; then
        all.
        """
        from engine.history.model import KINDS  # noqa: PLC0415 — loaded with the history

        self._narrow_to(self.state.next_kind(KINDS), self.state.path)
        if not self.commits.display:
            self.say(f"type: {self.state.kind}" if self.state.kind else "all types")

    @command("f", "Show only this file's commits", "its commits", 15, needs=[A_COMMIT, A_FILE])
    def of_file(self) -> None:
        """Show only commits that changed the selected file, following renames; press again to show all."""
        self._narrow_to(self.state.kind, "" if self.state.path else self.chosen)

    def _narrow_to(self, kind: str, path: str) -> None:
        self.state.narrow_to(kind, path)
        self.show()
        self._pages.ask(self.state.fresh())

    # Where knowledge came from

    @command("w", "Find when something was learned", "when", 4, needs=[A_COMMIT])
    def when(self) -> None:
        """Find when something was first learned: goes to the commit and line, and says whether it is still
        there today.
        """
        self.open_line("asking", "when")

    def _learned(self, text: str, found: Learned) -> None:
        self.app.clear_notifications()  # the search notice would cover the result
        first = found.first
        if first is None and found.now:
            place = found.now[0]
            self.say(f"“{text}” is not committed yet; found in {place.path}:{place.line}")
        elif first is None:
            self.say(f"“{text}” was not found in memory or in any conversation")
        else:
            self.state.show_diff()
            self.state.view, self.state.pinned, self.state.learned = "file", first.path, found
            self.state.chosen[first.entry.revision] = first.path
            self.turn_to("text")
            self.seek(first.entry.revision)

    @command("b", "Blame: show where each line came from", "blame", 6, needs=[A_COMMIT, A_FILE])
    def blame_file(self) -> None:
        """Show the commit, day and conversation of each line of the selected file, as of this commit. The
        view stays on the file as you move through commits.
        """
        self._pin("blame")

    @command("p", "Show the file at this commit", "at commit", 5, needs=[A_COMMIT, A_FILE])
    def at_that_time(self) -> None:
        """Show the selected file as it was at this commit. The view stays on the file as you move through
        commits.
        """
        self._pin("file")

    def _pin(self, view: View) -> None:
        chosen = self.chosen
        self.state.show_diff()
        self.state.view, self.state.pinned = view, chosen
        self._content = None
        self.lower = "text"
        self.lay_out()
        self.show_commit()
        if not self.panel_named(self.side_panel).display:
            self.go_to(self.side_panel)

    @command("c", "Show the conversation", "conversation", 7,
             needs=[A_COMMIT,
                    Need(lambda here: here.source, "no conversation is recorded here")])  # fmt: skip
    def conversation(self) -> None:
        """Show the conversation the selected blame line, or the commit, came from."""
        path = self.source
        self.state.show_diff()
        self.state.view, self.state.conversation = "conversation", path
        self.show_commit()
        self.go_to("text")

    # Snapshots and undo

    @command("s", "Create a snapshot", "snapshot", 10, needs=[A_COMMIT, WRITABLE])
    def snapshot(self) -> None:
        """Tag the selected commit as memory/milestone/NAME, or as memory/before/NAME if you type before/NAME.
        Uncommitted changes are not included.
        """
        item = self.item
        if item is not None:
            self._tagged = item.revision
            self.open_line(
                "asking", "snapshot", about=f"{item.revision[:8]} {first_line(item.entry.title, 40)}"
            )

    def _named(self, tag: str) -> None:
        self.say(f"created snapshot {tag}")
        self.look()

    @command("z", "Undo the commit", "undo", 8, needs=[A_COMMIT, WRITABLE, *CAN_COMMIT])
    def undo(self) -> None:
        """Revert the selected commit and keep later changes. Shows the resulting changes first and asks for
        confirmation. The undo is itself a commit.
        """
        item = self.item
        if self.state.view == "undo" and self.state.plan is not None:
            self.confirm()
        elif item is not None:
            self.state.show_diff()
            self.state.view = "undo"
            self.show_commit()
            self.go_to("text")
            self._plans.ask(item.revision)

    def _planned(self, revision: str, plan: UndoPlan) -> None:
        if self.state.view == "undo" and self.item is not None and self.item.revision == revision:
            self.state.plan = plan
            self.show_commit()

    @command("enter", "Apply the undo", "undo it", 0, panels=["text"],
             needs=[Need(lambda here: here.state.view == "undo", "there is nothing to open here"),
                    Need(lambda here: (plan := here.state.plan) and plan.can_apply,
                         "this commit cannot be undone; see the reasons above"), WRITABLE])  # fmt: skip
    def confirm(self) -> None:
        """Undo the commit as planned; asks first."""
        plan = self.state.plan
        if plan is None or not plan.can_apply:
            self.say("this commit cannot be undone; see the reasons above")
            return
        files = plural(len(plan.files), "file")
        question = (
            f"{visible(plan.entry.subject, SUBJECT)}\n"
            f"Changes {files} as shown, in a new commit. The undo can itself be undone."
        )
        self.ask(f"undo {plan.entry.revision[:8]}", question, "Undo", lambda: self._undoes.ask(plan))

    def _undone(self, done: Undone) -> None:
        self.state.show_diff()
        self.say(f"undid {done.entry.revision[:8]}: {committed(done.revision, '')}")
        self.turn_to("commits")
        self.state.narrow_to("", "")
        self.seek(done.revision)

    def _undo_failed(self, problem: str) -> None:
        self.say(problem, error=True)
        self.state.show_diff()
        self.look()

    # The prompt

    def entered(self, mode: Mode, text: str) -> None:
        self.leave_line()
        if mode == "filter":
            self._searching = True
            self._search_older()
        elif mode == "when" and text:
            self.say(f"searching for “{visible(text, SUBJECT)}” …")
            self._whens.ask(text)
        elif mode == "snapshot" and text:
            self._names.ask((text, self._tagged))

    # The selection

    @property
    def file(self) -> str:
        """The selected file or conversation if it still exists; else empty."""
        return self.existing(self.state.conversation or self.chosen)

    @property
    def chosen(self) -> str:
        """The path of the file shown; empty if none."""
        item = self.item
        return (self.state.pinned or self.state.chosen_path(item.revision)) if item is not None else ""

    @property
    def revision(self) -> str:
        """That of the selected commit or, in a blame, of the line's; empty if none."""
        row = self._blamed() if self.panel_in_use == "blame" else None
        return row.line.revision if row is not None else self.item.revision if self.item is not None else ""

    @property
    def busy(self) -> str:
        """What keeps the repository from committing; empty if nothing does."""
        repository = self.state.repository
        return repository.kind if repository is not None and not repository.can_commit else ""

    @property
    def source(self) -> str:
        """The path of the conversation that the selection came from."""
        row = self._blamed() if self.panel_in_use == "blame" else None
        return row.conversation if row is not None else self.commit.conversation

    @command("e", "Edit the file", "edit", 20,
             needs=[Need(lambda here: here.file, "the file no longer exists")])  # fmt: skip
    def edit(self) -> None:
        """Open the current version of the file or conversation in $VISUAL or $EDITOR."""
        self.edit_file(self.file)
        self.look()

    @command("y", "Copy the commit hash", "copy", 22, needs=[A_COMMIT])
    def copy_it(self) -> None:
        """Copy the full hash of the selected commit, or in a blame, of the line's commit."""
        self.copy_name(self.revision)

    # State


def _name_and_kind(typed: str) -> tuple[str, SnapshotKind]:
    """The snapshot name and kind from ``NAME`` or ``KIND/NAME``."""
    kind, slash, name = typed.removeprefix("memory/").partition("/")
    return (name, cast("SnapshotKind", kind)) if slash else (typed, "milestone")
