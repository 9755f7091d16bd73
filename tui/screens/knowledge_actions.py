"""What the knowledge screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.context.views import DIGEST_PATH
from tui.commands import knowledge
from tui.commands.command import KnowledgePanel
from tui.editor import file_of
from tui.render.knowledge_groups import TITLES, Group, group_of, path_of
from tui.render.knowledge_pieces import DigestPiece, LinePiece, NotesPiece, Piece, name_of
from tui.safe import visible
from tui.screens.knowledge_work import BindWish, DigestWish
from tui.screens.screen_actions import ScreenActions

if TYPE_CHECKING:
    from tui.screens.knowledge import KnowledgeScreen

NAMED = 200
"""Characters of a path in a question."""


class KnowledgeActions(ScreenActions[KnowledgePanel]):
    """The actions of one knowledge screen."""

    screen: KnowledgeScreen

    def __init__(self, screen: KnowledgeScreen) -> None:
        super().__init__(screen)
        self.doing |= {
            knowledge.Leave: self.back,
            knowledge.Deeper: self.deeper,
            knowledge.FilterPieces: self.filter,
            knowledge.EditThere: self.edit,
            knowledge.CopyPiece: self.copy_piece,
            knowledge.CopyReading: self.copy,
            knowledge.NextCandidate: self.next_candidate,
            knowledge.Bind: self.bind,
            knowledge.DigestOff: self.digest_off,
            knowledge.Regenerate: self.regenerate,
            knowledge.FocusGroups: partial(self.go_to, "groups"),
            knowledge.FocusPieces: partial(self.go_to, "pieces"),
            knowledge.FocusReading: partial(self.go_to, "reading"),
        }

    # Moving about

    def stops(self) -> tuple[KnowledgePanel, ...]:
        """The panels, in view or not: where only one has room, tab brings the next."""
        return self.screen.panels if self.screen.zoomed is None else self.screen.in_view()

    def enlarge(self, name: KnowledgePanel | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        super().enlarge(name)
        self.screen.update_footer()

    def deeper(self) -> None:
        """Goes into the group, or to the thing in full; from there back to its list."""
        screen, piece = self.screen, self.screen.pieces.selected
        if screen.panel_in_use == "groups":
            self.go_to("pieces")
        elif screen.panel_in_use == "reading" and screen.zoomed == "reading":
            self.enlarge(None)
            screen.focus_panel("pieces")
        elif screen.panel_in_use == "pieces" and isinstance(piece, DigestPiece):
            self.to_group(group_of(piece.file))
        else:
            self.enlarge("reading")
            screen.focus_panel("reading")

    def to_group(self, group: Group) -> None:
        """Selects a group."""
        self.screen.groups.select(list(TITLES).index(group))

    def back(self) -> None:
        """Leaves the innermost level there is."""
        screen = self.screen
        if screen.in_line:
            self.narrow("")
            screen.leave_line()
        elif screen.zoomed is not None:
            used = screen.zoomed
            self.unzoom()
            screen.focus_panel("pieces" if used == "reading" else used)
        elif screen.state.query:
            self.narrow("")
        elif screen.alone and screen.panel_in_use != "groups":
            screen.focus_panel("pieces" if screen.panel_in_use == "reading" else "groups")
        else:
            screen.dismiss(None)

    def filter(self) -> None:
        """Takes the keys into the line, to type what to look for in the list."""
        screen = self.screen
        if screen.panel_in_use != "pieces":
            self.go_to("pieces")
        screen.open_line("within", "filter", screen.state.query, TITLES[screen.state.group])

    def narrow(self, query: str) -> None:
        """Narrows the list while it is typed."""
        self.screen.state.query = query
        self.screen.show_pieces()

    # The selection

    def selected(self) -> Piece | None:
        """The thing that the keys are about; none while the groups have them."""
        return self.screen.pieces.selected if self.screen.panel_in_use != "groups" else None

    def file(self) -> str:
        """The file behind the selection; empty where there is none."""
        path, _line = path_of(self.screen.state.group, self.selected())
        return file_of(self.screen.bench.engine.workspace.root, path)

    def edit(self) -> None:
        """Opens the file of the selection at its line."""
        path, line = path_of(self.screen.state.group, self.selected())
        self.edit_file(path, line)
        self.screen.work.look()

    def copy_piece(self) -> None:
        """Copies what the selected thing says."""
        piece = self.screen.pieces.selected
        if isinstance(piece, LinePiece):
            self.copy_text("\n".join(piece.entry.lines))
        elif isinstance(piece, NotesPiece):
            self.copy_text("\n".join((piece.notes.path, *(f"- {each.text}" for each in piece.notes.entries))))
        elif piece is not None:
            self.copy_text(name_of(piece))
        else:
            self.screen.say("nothing is selected")

    def copy(self) -> None:
        """Copies all that is shown of it."""
        self.copy_text(self.screen.reading.selected_text())

    # Unclear notes

    def next_candidate(self) -> None:
        """Marks the next file that the notes may belong to."""
        piece = self.screen.pieces.selected
        if isinstance(piece, NotesPiece):
            self.screen.state.mark_next(piece)
            self.screen.show_reading()

    def bind(self) -> None:
        """Asks, then binds the notes to the marked file."""
        piece = self.screen.pieces.selected
        target = self.screen.state.candidate(piece) if isinstance(piece, NotesPiece) else None
        if not isinstance(piece, NotesPiece) or target is None:
            return
        question = (
            f"The notes of {visible(piece.notes.path, NAMED)}\n"
            f"belong to {visible(target.path, NAMED)} from now on. This is committed."
        )
        wish = BindWish(piece.notes.path, target.absolute, target.path)
        self.ask("bind the notes", question, "Bind", partial(self.screen.work.change, wish))

    # The digest

    def digest_off(self) -> None:
        """Asks, then deletes the digest."""
        question = (
            f"Delete {DIGEST_PATH} to turn the digest off: no prompt gets it, and no harvest makes it again, "
            "until R here, or autopoiesis digest regenerate, makes it anew. The category files stay."
        )
        off = DigestWish("turn off")
        self.ask("digest", question, "Delete to turn off", partial(self.screen.work.change, off))

    def regenerate(self) -> None:
        """Makes the digest anew."""
        self.screen.work.change(DigestWish("make anew"))

    def rescan(self) -> None:
        """Looks at every file again."""
        super().rescan()
        self.screen.work.look()
