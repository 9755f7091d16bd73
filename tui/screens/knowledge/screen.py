"""The knowledge screen: what can be done there, one method for each command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from engine.context.views import DIGEST_PATH
from engine.store.commit_message import commit_message
from tui.kit.command import Need, Situation, command
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.full_screen import committed
from tui.kit.lanes import Lane
from tui.render.safe import visible
from tui.screens.knowledge.groups import TITLES, group_of, path_of
from tui.screens.knowledge.layout import KnowledgeLayout
from tui.screens.knowledge.pieces import DigestPiece, LinePiece, NotesPiece, Piece, name_of

if TYPE_CHECKING:
    from engine.knowledge.knowledge import Knowledge
    from tui.kit.bench import Bench

    Change = Callable[[Knowledge], str]


NAMED = 200
"""Characters of a path in a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSituation(Situation):
    """What the commands of this screen depend on."""

    candidates: int = 0
    """How many files those are."""
    digest: bool = False
    """There is a digest."""
    others: bool = False
    """A reference was followed, and there are others beside it."""
    unclear: bool = False
    """The selected notes may belong to several files."""


UNCLEAR: Need[KnowledgeSituation] = Need(
    lambda here: here.unclear, "no notes of an unclear file are selected"
)


class KnowledgeScreen(KnowledgeLayout, panels=("groups", "pieces", "reading"), lines=("within",)):
    """The knowledge screen, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._changes: Lane[Change, str] = self.lane(
            lambda change: change(bench.engine.knowledge),
            lambda _change, said: self._changed(said),
            lambda _change, problem: self._changed(problem, error=True),
            in_turn=True,
            finish=True,
        )

    # Moving about

    @command("enter", "o", title="Go deeper", footer="deeper", rank=0, needs=[ROWS])
    def deeper(self) -> None:
        """Go deeper: into the group, then to the thing in full over the whole area; once more takes it back.
        A section of the digest leads to the group that it is made of.
        """
        piece = self.pieces.selected
        if self.panel_in_use == "groups":
            self.go_to("pieces")
        elif self.panel_in_use == "reading" and self.zoomed == "reading":
            self.enlarge(None)
            self.focus_panel("pieces")
        elif self.panel_in_use == "pieces" and isinstance(piece, DigestPiece):
            self.groups.select(list(TITLES).index(group_of(piece.file)))
        else:
            self.enlarge("reading")
            self.focus_panel("reading")

    def back(self) -> None:
        """Back out one level: leave the line, show all panels, drop the filter, return to the workbench."""
        if self.in_line:
            self.narrow("")
            self.leave_line()
        elif self.state.trail:
            self.state.trail.pop()
            self.show_reading()
        elif self.zoomed is not None:
            used = self.zoomed
            self.unzoom()
            self.focus_panel("pieces" if used == "reading" else used)
        elif self.state.query:
            self.narrow("")
        elif self.alone and self.panel_in_use != "groups":
            self.focus_panel("pieces" if self.panel_in_use == "reading" else "groups")
        else:
            self.dismiss(None)

    @command("slash", title="Filter the list", footer="filter", rank=4)
    def filter(self) -> None:
        """Narrow the list to what holds the words typed, while they are typed."""
        if self.panel_in_use != "pieces":
            self.go_to("pieces")
        self.open_line("within", "filter", self.state.query, TITLES[self.state.group])

    def narrow(self, query: str) -> None:
        """Narrows the list while it is typed."""
        self.state.query = query
        self.show_pieces()

    # The selection

    def selected(self) -> Piece | None:
        """The thing that the keys are about; none while the groups have them."""
        return self.pieces.selected if self.panel_in_use != "groups" else None

    def file(self) -> str:
        """The file behind the selection; empty where there is none."""
        path, _line = self.place_in_view()
        return file_of(self.bench.engine.workspace.root, path)

    @command(
        "e",
        title="Edit the file at its line", footer="edit", rank=6,
        needs=[Need(lambda here: here.file, "there is no such file yet")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the file of the selection in $VISUAL or $EDITOR, at its line; the screen shows the change."""
        path, line = self.place_in_view()
        self.edit_file(path, line)
        self.look()

    # References

    def place_in_view(self) -> tuple[str, int]:
        """The file and the line that are in view."""
        if self.state.trail:
            return self.state.trail[-1].path, 0
        return path_of(self.state.group, self.selected())

    @command("f", title="Follow its reference", footer="follow", rank=8, needs=[ROWS])
    def follow(self) -> None:
        """Show the file that the thing in view refers to, by a wikilink, a link or a path; esc goes back."""
        piece = self.pieces.selected
        if isinstance(piece, LinePiece) and not self.state.trail:
            self._targets.ask((piece.entry.path, piece.entry.number, piece.entry.last))
        else:
            path = self.place_in_view()[0] or path_of(self.state.group, piece)[0]
            self._targets.ask((path, 0, 0))

    @command(
        "F",
        title="Show the next of its references",
        rank=9,
        needs=[Need(lambda here: here.others, "it refers to no other file; f follows a reference")],
    )
    def follow_next(self) -> None:
        """Show the next of the files that are referred to."""
        step = self.state.trail[-1]
        self.state.trail[-1] = replace(step, at=(step.at + 1) % len(step.targets))
        self.show_reading()

    @command("y", title="Copy what it says", footer="copy", rank=12, needs=[ROWS])
    def copy_piece(self) -> None:
        """Copy what the selected thing says (OSC 52, also over SSH)."""
        piece = self.pieces.selected
        if isinstance(piece, LinePiece):
            self.copy_text("\n".join(piece.entry.lines))
        elif isinstance(piece, NotesPiece):
            self.copy_text("\n".join((piece.notes.path, *(f"- {each.text}" for each in piece.notes.entries))))
        elif piece is not None:
            self.copy_text(name_of(piece))
        else:
            self.say("nothing is selected")

    @command("Y", title="Copy all that is shown of it", needs=[ROWS])
    def copy(self) -> None:
        """Copy all that is shown of the selected thing."""
        self.copy_text(self.reading.selected_text())

    # Unclear notes

    @command(
        "space",
        title="Mark the next candidate", footer="candidate", rank=3,
        needs=[UNCLEAR, Need(lambda here: here.candidates > 1, "there is no other candidate")],
    )  # fmt: skip
    def next_candidate(self) -> None:
        """Mark the next file that the unclear notes may belong to."""
        piece = self.pieces.selected
        if isinstance(piece, NotesPiece):
            self.state.mark_next(piece)
            self.show_reading()

    @command(
        "b",
        title="Bind the notes to the marked file", footer="bind", rank=2,
        needs=[
            UNCLEAR,
            Need(lambda here: here.candidates, "no file looks like it; autopoiesis notes PATH --move-to NEW"),
            WRITABLE,
        ],
    )  # fmt: skip
    def bind(self) -> None:
        """Say that the unclear notes belong to the marked file; asks first."""
        piece = self.pieces.selected
        target = self.state.candidate(piece) if isinstance(piece, NotesPiece) else None
        if not isinstance(piece, NotesPiece) or target is None:
            return
        question = (
            f"The notes of {visible(piece.notes.path, NAMED)}\n"
            f"belong to {visible(target.path, NAMED)} from now on. This is committed."
        )
        bind = partial(bind_notes, piece.notes.path, target.absolute)
        self.ask("bind the notes", question, "Bind", lambda: self._changes.ask(bind))

    # The digest

    @command(
        "D", "delete",
        title="Delete the digest to turn it off", footer="digest off", rank=14,
        needs=[Need(lambda here: here.digest, "the digest is off already"), WRITABLE],
    )  # fmt: skip
    def digest_off(self) -> None:
        """Delete the digest, which turns it off: no prompt gets it until you make it anew; asks first."""
        question = (
            f"Delete {DIGEST_PATH} to turn the digest off: no prompt gets it, and no harvest makes it again, "
            "until R here, or autopoiesis digest regenerate, makes it anew. The category files stay."
        )
        self.ask("digest", question, "Delete to turn off", lambda: self._changes.ask(turn_digest_off))

    @command("R", title="Make the digest anew", footer="digest anew", rank=16, needs=[WRITABLE])
    def regenerate(self) -> None:
        """Make the digest anew from the category files, which also turns it on again."""
        self._changes.ask(make_digest_anew)

    def rescan(self) -> None:
        """Look at every file again."""
        super().rescan()
        self.look()

    # Panels

    focus_groups = goes_to(
        "groups", "1", "the groups",
        ": the category files, notes of files, entries and skills, and the digest", rank=24,
    )  # fmt: skip
    focus_pieces = goes_to(
        "pieces",
        "2",
        "what is in the group",
        does="Go to what is in the selected group, newest first.",
        rank=24,
    )
    focus_reading = goes_to(
        "reading", "3", "the selected thing in full", "; up and down scroll it there", rank=24
    )

    # What the keys depend on, and what comes in

    @property
    def situation(self) -> KnowledgeSituation:
        state, piece = self.state, self.pieces.selected
        question = piece.question if isinstance(piece, NotesPiece) else None
        return self.situated(
            KnowledgeSituation,
            filtered=bool(state.query),
            file=self.file(),
            digest=state.held is not None and state.held.digest.on,
            others=bool(state.trail) and len(state.trail[-1].targets) > 1,
            unclear=question is not None,
            candidates=len(question.candidates) if question is not None else 0,
        )

    def _changed(self, said: str, *, error: bool = False) -> None:
        """A change was made, or refused."""
        self.say(said, error=error)
        self.look()


def turn_digest_off(knowledge: Knowledge) -> str:
    """Deletes the digest and commits that."""
    if not knowledge.digest.turn_off():
        return "the digest was off already"
    made = knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest turned off"))
    return f"the digest is off; R makes it anew · {committed(made.revision, made.why)}"


def make_digest_anew(knowledge: Knowledge) -> str:
    """Makes the digest anew, which also turns it on, and commits it."""
    if not knowledge.digest.regenerate(force=True):
        return "the digest says already what the files say"
    made = knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest made anew"))
    view = knowledge.digest.view()
    state = f"{view.size:,} of {view.limit:,} bytes" if view.on else "there is nothing to say yet"
    return f"digest made anew: {state} · {committed(made.revision, made.why)}"


def bind_notes(old: str, new: str, knowledge: Knowledge) -> str:
    """Binds notes to a file and commits that.

    Args:
        old: The path that the notes have.
        new: The file that they belong to, absolute.
    """
    moved = knowledge.notes.rebind(old, new)
    made = knowledge.commit(
        (moved.notes,), commit_message("memory", f"the notes of {old} belong to {moved.path}")
    )
    return f"{moved.notes}: notes of {moved.path} now · {committed(made.revision, made.why)}"
