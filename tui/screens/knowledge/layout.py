"""The knowledge screen: all that is known, what of it prompts hold, and where it came from (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.full_screen import FullScreen
from tui.kit.prompt import PromptLine
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.roles import Roles
from tui.screens.knowledge.groups import TITLES, nothing, path_of
from tui.screens.knowledge.list_panels import GroupsPanel, PiecesPanel
from tui.screens.knowledge.pieces import DigestPiece, EntryPiece, LinePiece, NotesPiece, key_of
from tui.screens.knowledge.reading import draw_digest, draw_entry, draw_line, draw_notes
from tui.screens.knowledge.reading_panel import Draw, ReadingPanel
from tui.screens.knowledge.state import KnowledgeState
from tui.screens.knowledge.work import (
    ChangeEnded,
    KnowledgeWork,
    LinksRead,
    LookedAt,
    TextRead,
    UnclearFound,
)

if TYPE_CHECKING:
    from tui.kit.bench import Bench

NARROW = 150
"""Columns below which the selected thing stands under the lists."""
LEAST = 12
"""Lines that the lists take above the selected thing: as many as there are groups, and the frame."""
TIGHT, LOW = 76, 22
"""Columns and lines below which one panel at a time is in view."""
LOOKING = "looking at what is known …"


class KnowledgeLayout(FullScreen):
    """The screen on what is known.

    Args:
        bench: The workbench it was opened from.
    """

    AUTO_FOCUS = "#groups"
    CSS_PATH: ClassVar[CSSPathType | None] = "knowledge.tcss"
    area = "knowledge"
    work: KnowledgeWork
    line = "within"
    burst_s = 0.5  # what a harvest writes comes in several events

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "groups")
        self.state = KnowledgeState()
        self.work = KnowledgeWork(bench.engine, self.post_message)

    def body(self) -> ComposeResult:
        """Groups and what is in them, and the selected thing beside or below."""
        self.groups = GroupsPanel(id="groups")
        self.pieces = PiecesPanel(id="pieces")
        self.reading = ReadingPanel(id="reading")
        with Container(id="knowledge"):
            with Horizontal(id="knowledge-lists"):
                yield self.groups
                yield self.pieces
            yield self.reading

    def below(self) -> ComposeResult:
        """The line."""
        yield self.prompt

    def begin(self) -> None:
        """Looks at what is known."""
        self.work.look()

    # What is on the screen

    @property
    def alone(self) -> bool:
        """Whether only one panel has room."""
        return self.app.size.width < TIGHT or self.app.size.height < LOW

    def in_view(self) -> tuple[str, ...]:
        """The panels that can be seen, in order."""
        if self.zoomed is not None:
            return (self.zoomed,)
        if not self.alone:
            return self.panels
        return (self.panel_before if self.in_line else self.panel_in_use,)

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        shown = self.in_view()
        narrow = self.app.size.width < NARROW
        self.lay_out_frame({"-narrow": narrow, "-alone": len(shown) == 1, "-low": self.alone})
        for panel in (self.groups, self.pieces, self.reading):
            panel.display = panel.name_of in shown
        lists = self.query_one("#knowledge-lists")
        lists.display = self.groups.display or self.pieces.display
        height = self.app.size.height
        lists.styles.height = max(LEAST, height // 2) if narrow and self.reading.display else "1fr"

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        self.groups.show_groups(self.state.groups())
        self.show_pieces()

    def show_pieces(self) -> None:
        """Shows what is in the selected group."""
        state = self.state
        problem = state.held.problem(state.group) if state.held is not None else state.problem
        about = (state.phase, problem, state.query)
        self.pieces.show_pieces(state.pieces(), state.group, self._title(), self._note, about)
        self.pieces.filter(state.query)
        self.show_reading()

    def _title(self) -> str:
        path, _line = path_of(self.state.group, None)
        return f"{TITLES[self.state.group]}  {path}".rstrip()

    def show_reading(self) -> None:
        """Shows the selected thing, and asks for what is not known of it yet."""
        state, piece = self.state, self.pieces.selected
        draw: Draw | None = None
        about: object = piece
        key = key_of(piece) if piece is not None else (state.group, "")
        match piece:
            case LinePiece():
                shown_line = piece
                draw = lambda width, roles: draw_line(shown_line, width, roles)  # noqa: E731
            case NotesPiece():
                shown_notes, marked = piece, state.marked(piece)
                draw = lambda width, roles: draw_notes(shown_notes, marked, width, roles)  # noqa: E731
                about = (piece, marked)
            case EntryPiece():
                draw, about = self._entry(piece)
            case _ if state.group == "digest" and state.held is not None:
                view, section = state.held.digest, piece if isinstance(piece, DigestPiece) else None
                draw = lambda width, roles: draw_digest(section, view, width, roles)  # noqa: E731
                about = (view, section)
        path, line = path_of(state.group, piece)
        self.reading.show(draw, f"{path}:{line}" if line else path, key, about)
        self.update_footer()

    def _entry(self, piece: EntryPiece) -> tuple[Draw, object]:
        state, location = self.state, piece.entry.location
        if state.asked_for != location:
            state.asked_for = location
            self.work.text(location)
        text, links = state.text_of(location), state.links_of(location)
        return lambda width, roles: draw_entry(piece, text, links, width, roles), (piece, text, links)

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """What stands where there are no rows."""
        state = self.state
        if state.held is None and not state.problem:
            return [Row((LOOKING, roles.faint))]
        problem = state.held.problem(state.group) if state.held is not None else state.problem
        if problem:
            return [
                *wrap([("This cannot be read.", roles.trouble)], width),
                *wrap([(problem, roles.normal)], width),
                Row(("ctrl+r", roles.accent), (" tries again", roles.muted)),
            ]
        if state.query and state.pieces():
            return wrap([("nothing here holds these words; esc shows all", roles.muted)], width)
        return wrap([(nothing(state.group), roles.muted)], width)

    def focus_panel(self, name: str) -> None:
        """Gives a panel the keys; where only one has room, the place as well."""
        super().focus_panel(name)
        if self.alone and self.zoomed is None and not self.in_line and not self.panel_named(name).display:
            self.lay_out()

    def panel_changed(self) -> None:
        """Where only one panel has room, the one with the keys has it."""
        if self.alone:
            self.lay_out()

    # What comes in

    @on(LookedAt)
    def _looked_at(self, looked: LookedAt) -> None:
        if not self.state.take(looked):
            self.say(looked.problem, trouble=True)
        self.show()

    @on(UnclearFound)
    def _unclear_found(self, found: UnclearFound) -> None:
        if found.problem:
            self.say(found.problem, trouble=True)
        self.state.take_unclear(found)
        self.show()

    @on(TextRead)
    def _text_read(self, read: TextRead) -> None:
        self.state.take_text(read)
        self.show_reading()

    @on(LinksRead)
    def _links_read(self, read: LinksRead) -> None:
        self.state.take_links(read)
        self.show_reading()

    @on(ChangeEnded)
    def _change_ended(self) -> None:
        self.work.look()

    def heard(self, burst: Burst) -> None:
        """Files changed: looks again."""
        if burst.parts & {"status", "digest"}:
            self.work.look()

    # What a person does

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        item = self.groups.selected
        if moved.panel is self.groups and item is not None and item.group != self.state.group:
            self.state.group, self.state.query = item.group, ""
            self.show_pieces()
        else:
            self.show_reading()

    @on(PromptLine.Entered)
    def _entered(self) -> None:
        self.leave_line()
