"""The history screen's commands, one method each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from textual import on

from tui.kit import clipboard
from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.render.figures import plural
from tui.render.safe import first_line, visible
from tui.screens.history.blame import BlameRow
from tui.screens.history.layout import HistoryLayout
from tui.screens.history.needs import A_COMMIT, A_FILE, CAN_COMMIT, HistorySituation
from tui.screens.history.shown import View

if TYPE_CHECKING:
    from engine.history.model import Learned, Undone, UndoPlan
    from engine.history.snapshots import SnapshotKind
    from tui.kit.bench import Bench

SUBJECT = 80
"""Characters of a subject shown in a question."""


class HistoryScreen(HistoryLayout, panels=("commits", "commit", "text", "blame"), lines=("asking",)):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        history = bench.engine.history
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

    # Navigation

    def back(self) -> None:
        """Go back one level: leave the prompt, show all panels, return to the diff, clear filters, return to
        the workbench.
        """
        if self.in_line:
            if self.prompt.mode == "filter":
                self.narrow("")
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif self.state.show_diff():
            self.show_commit()
        elif (self.alone or self.folded) and self.panel_in_use != "commits":
            self.focus_panel("commit" if self.panel_in_use in ("text", "blame") else "commits")
        elif self.commits.query_text:
            self.narrow("")
        elif self.state.kind or self.state.path:
            self._narrow_to("", "")
        else:
            self.dismiss(None)

    focus_commits = goes_to("commits", "1", "the timeline", ", newest first", rank=40)
    focus_commit = goes_to(
        "commit", "2", "the selected commit", ": its message, conversations and files", rank=40
    )

    @command("3", title="Go to the diff, file or blame", footer="panel", rank=40)
    def focus_beside(self) -> None:
        """Go to the commit's diff, a file at that commit, or its blame."""
        self.go_to(self.side_panel)

    @command("enter", title="Read the commit", panels=["commits"], footer="read", rank=0, needs=[A_COMMIT])
    def read(self) -> None:
        """Go to the selected commit: its message, conversations and files."""
        self.go_to("commit")

    @command(
        "enter",
        title="Read the file or conversation",
        panels=["commit"],
        footer="read",
        rank=0,
        needs=[A_COMMIT],
    )
    def read_file(self) -> None:
        """Read the selected conversation, or the selected file's diff."""
        if self.commit.on_conversation:
            self.conversation()
        self.go_to(self.side_panel)

    @command(
        "enter", title="Go to the line's commit", panels=["blame"], footer="its commit", rank=0,
        needs=[Need(lambda here: here.commit, "this line is not committed yet")],
    )  # fmt: skip
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

    @command("slash", title="Filter the commits", footer="filter", rank=16)
    def filter(self) -> None:
        """Filter the loaded commits as you type, by subject, conversation, snapshot or hash; enter searches
        older commits as well.
        """
        self.open_line("asking", "filter", self.commits.query_text, "commits")

    def narrow(self, query: str) -> None:
        self.commits.filter(query)
        self.show()

    @command("t", title="Filter by type", footer="type", rank=14)
    def next_kind(self) -> None:
        """Show only the next type: conversation, memory, identity, maintenance, explore, extract, other; then
        all.
        """
        from engine.history.model import KINDS  # noqa: PLC0415 — loaded with the history

        self._narrow_to(self.state.next_kind(KINDS), self.state.path)
        if not self.commits.display:
            self.say(f"type: {self.state.kind}" if self.state.kind else "all types")

    @command(
        "f", title="Show only this file's commits", footer="its commits", rank=15, needs=[A_COMMIT, A_FILE]
    )
    def of_file(self) -> None:
        """Show only commits that changed the selected file, following renames; press again to show all."""
        self._narrow_to(self.state.kind, "" if self.state.path else self.situation.chosen)

    def _narrow_to(self, kind: str, path: str) -> None:
        self.state.narrow_to(kind, path)
        self.show()
        self._pages.ask(self.state.fresh())

    # Where knowledge came from

    @command("w", title="Find when something was learned", footer="when", rank=4, needs=[A_COMMIT])
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

    @command(
        "b", title="Blame: show where each line came from", footer="blame", rank=6, needs=[A_COMMIT, A_FILE]
    )
    def blame_file(self) -> None:
        """Show the commit, day and conversation of each line of the selected file, as of this commit. The
        view stays on the file as you move through commits.
        """
        self._pin("blame")

    @command("p", title="Show the file at this commit", footer="at commit", rank=5, needs=[A_COMMIT, A_FILE])
    def at_that_time(self) -> None:
        """Show the selected file as it was at this commit. The view stays on the file as you move through
        commits.
        """
        self._pin("file")

    def _pin(self, view: View) -> None:
        chosen = self.situation.chosen
        self.state.show_diff()
        self.state.view, self.state.pinned = view, chosen
        self._content = None
        self.lower = "text"
        self.lay_out()
        self.show_commit()
        if not self.panel_named(self.side_panel).display:
            self.go_to(self.side_panel)

    @command(
        "c", title="Show the conversation", footer="conversation", rank=7,
        needs=[A_COMMIT, Need(lambda here: here.conversation, "no conversation is recorded here")],
    )  # fmt: skip
    def conversation(self) -> None:
        """Show the conversation the selected blame line, or the commit, came from."""
        path = self.situation.conversation
        self.state.show_diff()
        self.state.view, self.state.conversation = "conversation", path
        self.show_commit()
        self.go_to("text")

    # Snapshots and undo

    @command("s", title="Create a snapshot", footer="snapshot", rank=10, needs=[A_COMMIT, WRITABLE])
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

    @command("z", title="Undo the commit", footer="undo", rank=8, needs=[A_COMMIT, WRITABLE, *CAN_COMMIT])
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

    @command(
        "enter", title="Apply the undo", panels=["text"], footer="undo it", rank=0,
        needs=[
            Need(lambda here: here.view == "undo", "there is nothing to open here"),
            Need(lambda here: here.ready, "this commit cannot be undone; see the reasons above"),
            WRITABLE,
        ],
    )  # fmt: skip
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

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        text = entered.value.strip()
        self.leave_line()
        if entered.mode == "filter":
            self._searching = True
            self._search_older()
        elif entered.mode == "when" and text:
            self.say(f"searching for “{visible(text, SUBJECT)}” …")
            self._whens.ask(text)
        elif entered.mode == "snapshot" and text:
            self._names.ask((text, self._tagged))

    # The selection

    def file(self) -> str:
        """The selected file or conversation if it still exists; else empty."""
        root = self.bench.engine.workspace.root
        return file_of(root, self.state.conversation or self._chosen())

    def _chosen(self) -> str:
        item = self.item
        return (self.state.pinned or self.state.chosen_path(item.revision)) if item is not None else ""

    def _conversation(self) -> str:
        row = self._blamed() if self.panel_in_use == "blame" else None
        return row.conversation if row is not None else self.commit.conversation

    @command(
        "e", title="Edit the file", footer="edit", rank=20,
        needs=[Need(lambda here: here.file, "the file no longer exists")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the current version of the file or conversation in $VISUAL or $EDITOR."""
        self.edit_file(self.file())
        self.look()

    @command("y", title="Copy the commit hash", footer="copy", rank=22, needs=[A_COMMIT])
    def copy_it(self) -> None:
        """Copy the full hash of the selected commit, or in a blame, of the line's commit."""
        revision = self.situation.commit
        clipboard.copy(self.bench.app, revision)
        self.say(f"copied {revision}")

    # State

    @property
    def situation(self) -> HistorySituation:
        item, state, row = self.item, self.state, self._blamed()
        in_blame = self.panel_in_use == "blame" and row is not None
        busy = state.repository is not None and not state.repository.can_commit
        kind: Any = state.repository.kind if busy and state.repository is not None else ""
        return self.situated(
            HistorySituation,
            filtered=bool(self.commits.query_text or state.kind or state.path),
            file=self.file(),
            commit=row.line.revision if in_blame and row is not None else item.revision if item else "",
            chosen=self._chosen(),
            conversation=self._conversation(),
            view=state.view,
            ready=state.plan is not None and state.plan.can_apply,
            busy=kind,
        )


def _name_and_kind(typed: str) -> tuple[str, SnapshotKind]:
    """The snapshot name and kind from ``NAME`` or ``KIND/NAME``."""
    kind, slash, name = typed.removeprefix("memory/").partition("/")
    return (name, cast("SnapshotKind", kind)) if slash else (typed, "milestone")
