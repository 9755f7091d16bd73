"""The knowledge screen's commands, one method each."""

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
"""Characters of a path shown in a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSituation(Situation):
    candidates: int = 0
    """Files the selected unclear notes may belong to."""
    digest: bool = False
    """The digest is on."""
    others: bool = False
    """A reference was followed, and there are others."""
    unclear: bool = False
    """Unclear notes are selected."""


UNCLEAR: Need[KnowledgeSituation] = Need(lambda here: here.unclear, "no notes of a missing file are selected")


class KnowledgeScreen(KnowledgeLayout, panels=("groups", "pieces", "reading"), lines=("within",)):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._changes: Lane[Change, str] = self.lane(
            lambda change: change(bench.engine.knowledge),
            lambda _change, message: self._changed(message),
            lambda _change, problem: self._changed(problem, error=True),
            in_turn=True,
            finish=True,
        )

    # Navigation

    @command("enter", "o", title="Open", footer="open", rank=0, needs=[ROWS])
    def deeper(self) -> None:
        """Open the group, then the selected item over the whole area; press again to go back. A digest
        section opens the group it is built from.
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
        """Go back one level: leave the prompt, show all panels, clear the filter, return to the workbench."""
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
        """Filter the list as you type."""
        if self.panel_in_use != "pieces":
            self.go_to("pieces")
        self.open_line("within", "filter", self.state.query, TITLES[self.state.group])

    def narrow(self, query: str) -> None:
        self.state.query = query
        self.show_pieces()

    # The selection

    def selected(self) -> Piece | None:
        """The selected item; ``None`` while the groups have the focus."""
        return self.pieces.selected if self.panel_in_use != "groups" else None

    def file(self) -> str:
        """The file behind the selection; empty if there is none."""
        path, _line = self.place_in_view()
        return file_of(self.bench.engine.workspace.root, path)

    @command(
        "e",
        title="Edit at this line", footer="edit", rank=6,
        needs=[Need(lambda here: here.file, "the file does not exist yet")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the selected item's file at its line in $VISUAL or $EDITOR."""
        path, line = self.place_in_view()
        self.edit_file(path, line)
        self.look()

    # References

    def place_in_view(self) -> tuple[str, int]:
        if self.state.trail:
            return self.state.trail[-1].path, 0
        return path_of(self.state.group, self.selected())

    @command("f", title="Follow reference", footer="follow", rank=8, needs=[ROWS])
    def follow(self) -> None:
        """Show the file the current item links to, by wikilink, link or path; esc goes back."""
        piece = self.pieces.selected
        if isinstance(piece, LinePiece) and not self.state.trail:
            self._targets.ask((piece.entry.path, piece.entry.number, piece.entry.last))
        else:
            path = self.place_in_view()[0] or path_of(self.state.group, piece)[0]
            self._targets.ask((path, 0, 0))

    @command(
        "F",
        title="Next reference",
        rank=9,
        needs=[Need(lambda here: here.others, "there are no other references; f follows one")],
    )
    def follow_next(self) -> None:
        """Show the next file the item links to."""
        step = self.state.trail[-1]
        self.state.trail[-1] = replace(step, at=(step.at + 1) % len(step.targets))
        self.show_reading()

    @command("y", title="Copy the text", footer="copy", rank=12, needs=[ROWS])
    def copy_piece(self) -> None:
        """Copy the text of the selected item."""
        piece = self.pieces.selected
        if isinstance(piece, LinePiece):
            self.copy_text("\n".join(piece.entry.lines))
        elif isinstance(piece, NotesPiece):
            self.copy_text("\n".join((piece.notes.path, *(f"- {each.text}" for each in piece.notes.entries))))
        elif piece is not None:
            self.copy_text(name_of(piece))
        else:
            self.say("nothing is selected")

    @command("Y", title="Copy everything shown", needs=[ROWS])
    def copy(self) -> None:
        """Copy everything shown of the selected item."""
        self.copy_text(self.reading.selected_text())

    # Unclear notes

    @command(
        "space",
        title="Select the next candidate", footer="candidate", rank=3,
        needs=[UNCLEAR, Need(lambda here: here.candidates > 1, "there is no other candidate")],
    )  # fmt: skip
    def next_candidate(self) -> None:
        """Select the next file the notes may belong to."""
        piece = self.pieces.selected
        if isinstance(piece, NotesPiece):
            self.state.mark_next(piece)
            self.show_reading()

    @command(
        "b",
        title="Assign the notes to the selected file", footer="assign", rank=2,
        needs=[
            UNCLEAR,
            Need(lambda here: here.candidates, "no similar file; run: autopoiesis notes PATH --move-to NEW"),
            WRITABLE,
        ],
    )  # fmt: skip
    def bind(self) -> None:
        """Assign the notes to the selected file; asks first."""
        piece = self.pieces.selected
        target = self.state.candidate(piece) if isinstance(piece, NotesPiece) else None
        if not isinstance(piece, NotesPiece) or target is None:
            return
        question = (
            f"Assign the notes of {visible(piece.notes.path, NAMED)}\n"
            f"to {visible(target.path, NAMED)}? The change will be committed."
        )
        bind = partial(bind_notes, piece.notes.path, target.absolute)
        self.ask("assign the notes", question, "Assign", lambda: self._changes.ask(bind))

    # The digest

    @command(
        "D", "delete",
        title="Delete the digest and turn it off", footer="digest off", rank=14,
        needs=[Need(lambda here: here.digest, "the digest is already off"), WRITABLE],
    )  # fmt: skip
    def digest_off(self) -> None:
        """Delete the digest and leave it out of prompts until you regenerate it; asks first."""
        question = (
            f"Delete {DIGEST_PATH} and turn the digest off? Prompts and harvests do without it until you "
            "regenerate it with R or autopoiesis digest regenerate. The category files are kept."
        )
        self.ask("digest", question, "Delete and turn off", lambda: self._changes.ask(turn_digest_off))

    @command("R", title="Regenerate the digest", footer="regenerate digest", rank=16, needs=[WRITABLE])
    def regenerate(self) -> None:
        """Regenerate the digest from the category files, and turn it on if it was off."""
        self._changes.ask(regenerate_digest)

    # Panels

    focus_groups = goes_to(
        "groups", "1", "the groups",
        ": category files, file notes, entries, skills, and the digest", rank=24,
    )  # fmt: skip
    focus_pieces = goes_to(
        "pieces",
        "2",
        "the group's items",
        does="Go to the items of the selected group, newest first.",
        rank=24,
    )
    focus_reading = goes_to(
        "reading", "3", "the selected item in full", "; up and down scroll it there", rank=24
    )

    # State and results

    @property
    def situation(self) -> KnowledgeSituation:
        state, piece = self.state, self.pieces.selected
        question = piece.question if isinstance(piece, NotesPiece) else None
        return self.situated(
            KnowledgeSituation,
            filtered=bool(state.query),
            file=self.file(),
            digest=state.read is not None and state.read.digest.on,
            others=bool(state.trail) and len(state.trail[-1].targets) > 1,
            unclear=question is not None,
            candidates=len(question.candidates) if question is not None else 0,
        )

    def _changed(self, message: str, *, error: bool = False) -> None:
        self.say(message, error=error)
        self.look()


def turn_digest_off(knowledge: Knowledge) -> str:
    """Deletes the digest and commits the deletion."""
    if not knowledge.digest.turn_off():
        return "the digest was already off"
    done = knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest turned off"))
    return f"the digest is off; R regenerates it · {committed(done.revision, done.why)}"


def regenerate_digest(knowledge: Knowledge) -> str:
    """Regenerates the digest, which also turns it on, and commits it."""
    if not knowledge.digest.regenerate(force=True):
        return "the digest is up to date"
    done = knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest regenerated"))
    view = knowledge.digest.view()
    state = f"{view.size:,} of {view.limit:,} bytes" if view.on else "empty: the category files are empty"
    return f"digest regenerated: {state} · {committed(done.revision, done.why)}"


def bind_notes(old: str, new: str, knowledge: Knowledge) -> str:
    """Assigns the notes of ``old`` to the file at the absolute path ``new``, and commits that."""
    moved = knowledge.notes.rebind(old, new)
    done = knowledge.commit((moved.notes,), commit_message("memory", f"notes of {old} moved to {moved.path}"))
    return f"{moved.notes}: now notes of {moved.path} · {committed(done.revision, done.why)}"
