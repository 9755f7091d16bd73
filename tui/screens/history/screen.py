"""The history screen: what can be done there, one method for each command."""

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
from tui.screens.history.needs import A_COMMIT, A_FILE, TAKES_COMMITS, HistorySituation
from tui.screens.history.shown import View

if TYPE_CHECKING:
    from engine.history.model import Learned, Undone, UndoPlan
    from engine.history.snapshots import SnapshotKind
    from tui.kit.bench import Bench

SUBJECT = 80
"""Characters of a subject in a question."""


class HistoryScreen(HistoryLayout, panels=("commits", "commit", "text", "blame"), lines=("asking",)):
    """The history screen, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        history = bench.engine.history
        self._whens: Lane[str, Learned] = self.lane(history.when, self._learned)
        self._plans: Lane[str, UndoPlan] = self.lane(
            history.undo_plan, self._planned, lambda _revision, problem: self._given_up(problem)
        )
        self._undoes: Lane[UndoPlan, Undone] = self.lane(
            history.undo,
            lambda _plan, done: self._undone(done),
            lambda _plan, problem: self._given_up(problem),
            finish=True,
        )
        self._names: Lane[tuple[str, str], str] = self.lane(
            lambda wish: history.snapshot(*_name_and_kind(wish[0]), wish[1]),
            lambda _wish, tag: self._named(tag),
            in_turn=True,
            finish=True,
        )

    # Moving about

    def back(self) -> None:
        """Back out one level: leave the line, show all panels, show what the commit changed, drop filters,
        return to the workbench.
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

    focus_commits = goes_to("commits", "1", "the time line", ", newest first", rank=40)
    focus_commit = goes_to(
        "commit", "2", "the selected commit", ": its message, conversations and files", rank=40
    )

    @command("3", title="Go to what is shown beside it", footer="panel", rank=40)
    def focus_beside(self) -> None:
        """Go to what is shown of the commit: a diff, a file as it was, who taught its lines."""
        self.go_to(self.beside)

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
        """Read the selected conversation; elsewhere what is shown of the chosen file."""
        if self.commit.on_talk:
            self.conversation()
        self.go_to(self.beside)

    @command(
        "enter", title="Go to the line's commit", panels=["blame"], footer="its commit", rank=0,
        needs=[Need(lambda here: here.commit, "this line is in no commit yet")],
    )  # fmt: skip
    def to_commit_of_line(self) -> None:
        """Go to the commit that the selected line is from, and to what it changed."""
        row = self._blamed()
        if row is not None and row.line.revision:
            self.state.show_diff()
            self.state.chosen[row.line.revision] = row.line.path
            self.focus_panel("commits")
            self.seek(row.line.revision)

    def _blamed(self) -> BlameRow | None:
        return self.blame.selected if self.state.view == "blame" else None

    # Narrowing the time line

    @command("slash", title="Filter the commits", footer="filter", rank=16)
    def filter(self) -> None:
        """Narrow the commits that were read to those whose subject, conversation, snapshot or name holds what
        is typed; enter looks through the older ones as well.
        """
        self.open_line("asking", "filter", self.commits.query_text, "commits")

    def narrow(self, query: str) -> None:
        """Keeps to the commits that hold some words."""
        self.commits.filter(query)
        self.show()

    @command("t", title="Only the next type", footer="type", rank=14)
    def next_kind(self) -> None:
        """Keep to the next type: conversation, memory, identity, maintenance, explore, extract, other; then
        to all.
        """
        from engine.history.model import KINDS  # noqa: PLC0415 — reading the history has loaded it

        self._narrow_to(self.state.next_kind(KINDS), self.state.path)
        if not self.commits.display:
            self.say(f"only {self.state.kind}" if self.state.kind else "every type")

    @command(
        "f", title="Only the commits of the file", footer="its commits", rank=15, needs=[A_COMMIT, A_FILE]
    )
    def of_file(self) -> None:
        """Keep to the commits that changed the chosen file, under its earlier names too; again shows all."""
        self._narrow_to(self.state.kind, "" if self.state.path else self.situation.chosen)

    def _narrow_to(self, kind: str, path: str) -> None:
        self.state.narrow_to(kind, path)
        self.show()
        self._pages.ask(self.state.fresh())

    # What was learned, and when

    @command("w", title="When was it learned", footer="when", rank=4, needs=[A_COMMIT])
    def when(self) -> None:
        """Ask when something was first learned: leads to the commit and the line, and says whether it still
        stands today.
        """
        self.open_line("asking", "when")

    def _learned(self, text: str, found: Learned) -> None:
        self.app.clear_notifications()  # what was said of the search would lie over what it found
        first = found.first
        if first is None and found.now:
            place = found.now[0]
            self.say(f"“{text}” is in no commit yet; it stands in {place.path}:{place.line}")
        elif first is None:
            self.say(f"“{text}” is found nowhere, neither in what is kept nor in what was said")
        else:
            self.state.show_diff()
            self.state.view, self.state.pinned, self.state.learned = "file", first.path, found
            self.state.chosen[first.entry.revision] = first.path
            self.focus_panel("text")
            self.seek(first.entry.revision)

    @command("b", title="Blame: who taught each line", footer="blame", rank=6, needs=[A_COMMIT, A_FILE])
    def blame_file(self) -> None:
        """Show of each line of the chosen file, as of the selected commit, where it is from: commit, day,
        conversation. Going through the commits it stays with the file.
        """
        self._pin("blame")

    @command(
        "p", title="The file at this point in time", footer="as of then", rank=5, needs=[A_COMMIT, A_FILE]
    )
    def at_that_time(self) -> None:
        """Show the chosen file as it was at the selected commit. Going through the commits it stays with the
        file: its past, state by state.
        """
        self._pin("file")

    def _pin(self, view: View) -> None:
        chosen = self.situation.chosen
        self.state.show_diff()
        self.state.view, self.state.pinned = view, chosen
        self._seen = None
        self.lower = "text"
        self.lay_out()
        self.show_commit()
        if not self.panel_named(self.beside).display:
            self.go_to(self.beside)

    @command(
        "c", title="Show the conversation", footer="conversation", rank=7,
        needs=[A_COMMIT, Need(lambda here: here.talk, "no conversation is named here")],
    )  # fmt: skip
    def conversation(self) -> None:
        """Show the conversation that taught the selected line of the blame, or that the commit names."""
        talk = self.situation.talk
        self.state.show_diff()
        self.state.view, self.state.talk = "talk", talk
        self.show_commit()
        self.go_to("text")

    # The way back

    @command("s", title="Name this state: a snapshot", footer="snapshot", rank=10, needs=[A_COMMIT, WRITABLE])
    def snapshot(self) -> None:
        """Give the selected commit a name that lasts, such as memory/milestone/NAME; typed as before/NAME it
        is memory/before/NAME. What is in no commit is not in it.
        """
        item = self.item
        if item is not None:
            self.open_line(
                "asking", "snapshot", about=f"{item.revision[:8]} {first_line(item.entry.title, 40)}"
            )

    def _named(self, tag: str) -> None:
        self.say(f"{tag} names this state from now on")
        self.look()

    @command("z", title="Undo the commit", footer="undo", rank=8, needs=[A_COMMIT, WRITABLE, *TAKES_COMMITS])
    def undo(self) -> None:
        """Take back what the selected commit did, and keep what came after: first shows what that would
        change, and asks before anything is written. The undo is a commit itself.
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
        "enter", title="Do the undo", panels=["text"], footer="undo it", rank=0,
        needs=[
            Need(lambda here: here.view == "undo", "there is nothing more to open here"),
            Need(lambda here: here.ready, "it cannot be undone; the reasons stand above"),
            WRITABLE,
        ],
    )  # fmt: skip
    def confirm(self) -> None:
        """Undo the commit as the plan shows it; asks first."""
        plan = self.state.plan
        if plan is None or not plan.can_apply:
            self.say("it cannot be undone; the reasons stand above")
            return
        files = plural(len(plan.files), "file")
        question = (
            f"{visible(plan.entry.subject, SUBJECT)}\n"
            f"{files} will be as the plan shows, in a commit of its own, which can be undone as well."
        )
        self.ask(f"undo {plan.entry.revision[:8]}", question, "Undo", lambda: self._undoes.ask(plan))

    def _undone(self, done: Undone) -> None:
        self.state.show_diff()
        self.say(f"{done.entry.revision[:8]} is undone: {committed(done.revision, '')}")
        self.focus_panel("commits")
        self.state.narrow_to("", "")
        self.seek(done.revision)

    def _given_up(self, problem: str) -> None:
        self.say(problem, error=True)
        self.state.show_diff()
        self.look()

    # The line

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        text, item = entered.value.strip(), self.item
        self.leave_line()
        if entered.mode == "filter":
            self._hunts = True
            self._hunt()
        elif entered.mode == "when" and text:
            self.say(f"looking for “{visible(text, SUBJECT)}” …")
            self._whens.ask(text)
        elif entered.mode == "snapshot" and text and item is not None:
            self._names.ask((text, item.revision))

    # The selection

    def file(self) -> str:
        """The chosen file or conversation as it is today; empty where it is gone."""
        root = self.bench.engine.workspace.root
        return file_of(root, self.state.talk or self._chosen())

    def _chosen(self) -> str:
        item = self.item
        return (self.state.pinned or self.state.chosen_path(item.revision)) if item is not None else ""

    def _talk(self) -> str:
        row = self._blamed() if self.panel_in_use == "blame" else None
        return row.talk if row is not None else self.commit.talk

    @command(
        "e", title="Edit the file", footer="edit", rank=20,
        needs=[Need(lambda here: here.file, "the file is not there any more")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the chosen file or the conversation that is shown, as it is today, in $VISUAL or $EDITOR."""
        self.edit_file(self.file())
        self.look()

    @command("y", title="Copy the commit's name", footer="copy", rank=22, needs=[A_COMMIT])
    def copy_it(self) -> None:
        """Copy the full name of the selected commit, in a blame of the line's: for git, or --as-of."""
        revision = self.situation.commit
        clipboard.copy(self.bench.app, revision)
        self.say(f"copied {revision}")

    def rescan(self) -> None:
        """Look at every file again."""
        super().rescan()
        self.look()

    # What the keys depend on

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
            talk=self._talk(),
            view=state.view,
            ready=state.plan is not None and state.plan.can_apply,
            busy=kind,
        )


def _name_and_kind(typed: str) -> tuple[str, SnapshotKind]:
    """The name and kind of a snapshot as a person types them."""
    kind, slash, name = typed.removeprefix("memory/").partition("/")
    return (name, cast("SnapshotKind", kind)) if slash else (typed, "milestone")
