"""The knowledge screen: what is known, what prompts contain of it, and where it came from (design 8)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.types import CSSPathType

from engine.errors import AutopoiesisError
from engine.knowledge.category_files import CATEGORY_FILES, CategoryFile, entries
from engine.store.crypt import LOCKED, UNLOCK, is_encrypted
from engine.store.header import locate
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail, unreadable
from tui.kit.prompt import PromptLine
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.roles import Roles
from tui.screens.knowledge.groups import (
    TITLES,
    CategoryRead,
    Group,
    GroupsPanel,
    KnowledgeRead,
    empty_note,
    path_of,
)
from tui.screens.knowledge.pieces import DigestPiece, EntryPiece, LinePiece, NotesPiece, PiecesPanel, key_of
from tui.screens.knowledge.reading import (
    Drawing,
    EntryLinks,
    EntryText,
    Followed,
    ReadingPanel,
    draw_digest,
    draw_entry,
    draw_followed,
    draw_line,
    draw_notes,
)
from tui.screens.knowledge.state import KnowledgeState

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.entries import EntryScan
    from engine.knowledge.knowledge_entries import KnowledgeEntries
    from engine.knowledge.notes import FileNotes, Rebinding
    from engine.store.files import Files
    from tui.kit.bench import Bench


Place = tuple[str, int, int]
"""A file with a first and last line; 0 for the whole file."""
NARROW = 150
"""Below this many columns, the selected item goes under the lists."""
LEAST = 12
"""Minimum height of the lists above the selected item: the number of groups plus the frame."""
TIGHT, LOW = 76, 22
"""Below this many columns or lines, one panel is shown at a time."""
LOADING = "loading knowledge …"


class KnowledgeLayout(ListDetail):
    AUTO_FOCUS = "#groups"
    CSS_PATH: ClassVar[CSSPathType | None] = "knowledge.tcss"
    area = "knowledge"
    line = "within"
    news = frozenset({"status", "digest"})
    burst_s = 0.5  # a harvest causes several events

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "groups")
        self.state = KnowledgeState()
        engine = bench.engine
        self._looks: Lane[None, KnowledgeRead] = self.lane(
            lambda _none: read_knowledge(engine),
            lambda _none, read: self._take(read),
            lambda _none, problem: self._take(None, problem),
        )
        self._questions: Lane[None, tuple[Rebinding, ...]] = self.lane(
            lambda _none: engine.knowledge.notes.questions(),
            lambda _none, unclear: self._take_unclear(unclear),
        )
        self._texts: Lane[str, EntryText] = self.lane(
            lambda location: entry_text(engine.files, location), self._take_text
        )
        self._links: Lane[str, EntryLinks] = self.lane(
            lambda location: entry_links(engine.knowledge_entries, location),
            self._take_links,
            lambda location, problem: self._take_links(location, EntryLinks(problem=problem)),
        )
        self._targets: Lane[Place, Followed] = self.lane(
            lambda place: targets_of(engine.knowledge_entries, place), self._take_targets
        )

    def body(self) -> ComposeResult:
        self.groups = GroupsPanel(id="groups")
        self.pieces = PiecesPanel(id="pieces")
        self.reading = ReadingPanel(id="reading")
        with Container(id="knowledge"):
            with Horizontal(id="knowledge-lists"):
                yield self.groups
                yield self.pieces
            yield self.reading

    def look(self) -> None:
        """Reads all knowledge, and separately which notes are unclear, as that may take longer."""
        self._looks.ask(None)
        self._questions.ask(None)

    # Display

    @property
    def alone(self) -> bool:
        return self.app.size.width < TIGHT or self.app.size.height < LOW

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        return {**super().shape(shown), "-narrow": self.app.size.width < NARROW}

    def lay_out(self) -> None:
        super().lay_out()
        lists = self.query_one("#knowledge-lists")
        lists.display = self.groups.display or self.pieces.display
        below = self.reading.display and self.app.size.width < NARROW
        lists.styles.height = max(LEAST, self.app.size.height // 2) if below else "1fr"

    def show(self) -> None:
        self.groups.show_items(self.state.groups())
        self.show_pieces()

    def show_pieces(self) -> None:
        state = self.state
        path, _line = path_of(state.group, None)
        title = f"{TITLES[state.group]}  {path}".rstrip()
        self.pieces.filter(state.query)  # first, so that another group does not get this one's filter
        self.pieces.show_group(
            state.pieces(), title, self._note, (state.read is None, state.current_problem(), state.query)
        )
        self.show_reading()

    def show_reading(self) -> None:
        """Shows the selected item, and requests what is not loaded yet."""
        state, piece = self.state, self.pieces.selected
        drawing: Drawing | None = None
        match piece:
            case LinePiece():
                drawing = partial(draw_line, piece)
            case NotesPiece():
                drawing = partial(draw_notes, piece, state.marked(piece))
            case EntryPiece(entry=entry):
                self._ask_for(entry.location)
                text, links = state.texts.get(entry.location), state.links.get(entry.location)
                drawing = partial(draw_entry, piece, text, links)
            case _ if state.group == "digest" and state.read is not None:
                section = piece if isinstance(piece, DigestPiece) else None
                drawing = partial(draw_digest, section, state.read.digest)
        path, line = path_of(state.group, piece)
        key = key_of(piece) if piece is not None else (state.group, "")
        if state.trail:
            step = state.trail[-1]
            path, line, key = step.path, 0, ("followed", step.path)
            self._ask_for(path)
            drawing = partial(draw_followed, step, state.texts.get(path))
        self.reading.show(drawing, f"{path}:{line}" if line else path, key)
        self.update_footer()

    def _ask_for(self, location: str) -> None:
        """Reads an entry and its references unless already requested."""
        if self.state.requested != location:
            self.state.requested = location
            self._texts.ask(location)
            self._links.ask(location)

    def _note(self, width: int, roles: Roles) -> list[Row]:
        state = self.state
        if state.read is None and not state.problem:
            return [Row((LOADING, roles.faint))]
        if problem := state.current_problem():
            return unreadable("this group", problem, width, roles)
        if state.query and state.pieces():
            return wrap([("nothing here matches; esc shows all", roles.muted)], width)
        return wrap([(empty_note(state.group), roles.muted)], width)

    # Results

    def _take(self, read: KnowledgeRead | None, problem: str = "") -> None:
        if not self.state.take(read, problem):
            self.say(problem, error=True)
        self.show()

    def _take_unclear(self, unclear: tuple[Rebinding, ...]) -> None:
        self.state.take_unclear(unclear)
        self.show()

    def _take_text(self, location: str, text: EntryText) -> None:
        self.state.texts = {location: text}
        self.show_reading()

    def _take_targets(self, place: Place, found: Followed) -> None:
        if found.targets:
            self.state.trail.append(found)
            self.show_reading()
        else:
            self.say(f"{'this entry' if place[1] else place[0]} has no references")

    def _take_links(self, location: str, links: EntryLinks) -> None:
        self.state.links = {location: links}
        self.show_reading()

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        self.state.trail.clear()
        item = self.groups.selected
        if moved.panel is self.groups and item is not None and item.group != self.state.group:
            self.state.group, self.state.query = item.group, ""
            self.show_pieces()
        else:
            self.show_reading()

    @on(PromptLine.Entered)
    def _entered(self) -> None:
        self.leave_line()


def read_knowledge(engine: Engine) -> KnowledgeRead:
    problems: dict[Group, str] = {}
    notes: tuple[FileNotes, ...] = ()
    scan: EntryScan | None = None
    try:
        notes = engine.knowledge.notes.all()
    except (AutopoiesisError, OSError) as error:
        problems["notes"] = str(error)
    try:
        scan = engine.knowledge_entries.scan()
    except (AutopoiesisError, OSError) as error:
        problems["entries"] = problems["skills"] = str(error)
    categories = {file.path: _category(engine.files, file) for file in CATEGORY_FILES}
    return KnowledgeRead(categories, notes, scan, engine.knowledge.digest.view(), problems)


def _category(files: Files, file: CategoryFile) -> CategoryRead:
    try:
        return CategoryRead(entries(files.read(file.path), file.path))
    except FileNotFoundError:
        return CategoryRead()
    except (AutopoiesisError, OSError) as error:
        return CategoryRead(problem=str(error))


def entry_text(files: Files, location: str) -> EntryText:
    try:
        data = files.read(location)
        if is_encrypted(data):
            return EntryText(problem=f"{LOCKED}; {UNLOCK}")
        return EntryText(data[locate(data).body :].decode("utf-8", "replace").lstrip("\r\n"))
    except FileNotFoundError:
        return EntryText(problem="the file no longer exists")
    except (AutopoiesisError, OSError) as error:
        return EntryText(problem=str(error))


def entry_links(known: KnowledgeEntries, location: str) -> EntryLinks:
    """Reads the references from and to the files of an entry, except those within it."""
    links = known.links(known.scan())
    folder = location.rpartition("/")[0]
    outward = tuple(each for each in links.of(folder) if not each.target.startswith(f"{folder}/"))
    inward = tuple(each for each in links.to(location) if not each.source.startswith(f"{folder}/"))
    return EntryLinks(outward, inward)


def targets_of(known: KnowledgeEntries, place: Place) -> Followed:
    """The files that a place refers to."""
    path, first, last = place
    links = known.links(known.scan())
    found = [each.target for each in links.of(path) if not first or first <= each.line <= last]
    return Followed(f"{path}:{first}" if first else path, tuple(dict.fromkeys(found)))
