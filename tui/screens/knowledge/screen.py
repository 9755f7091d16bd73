"""The knowledge screen: what is known, what prompts contain of it, and where it came from (design 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Horizontal

from engine.context.views import DIGEST_PATH
from engine.errors import AutopoiesisError
from engine.knowledge.category_files import CATEGORY_FILES, CategoryFile, entries
from engine.knowledge.references import references
from engine.store.change import commit_message
from engine.store.crypt import LOCKED, UNLOCK, is_encrypted
from engine.store.header import locate
from tui.kit.command import Need, command
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.full_screen import ListDetail, committed, unreadable
from tui.kit.lanes import Lane
from tui.kit.panel import Drawing
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.roles import Roles
from tui.screens.knowledge.pieces import (
    TITLES,
    CategoryRead,
    DigestPiece,
    EntryPiece,
    Group,
    GroupItem,
    GroupsPanel,
    KnowledgeRead,
    LinePiece,
    NotesPiece,
    Piece,
    PiecesPanel,
    empty_note,
    group_items,
    group_of,
    key_of,
    path_of,
    pieces_of,
    text_of,
)
from tui.screens.knowledge.reading import (
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

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.entries import EntryScan
    from engine.knowledge.knowledge import Knowledge
    from engine.knowledge.knowledge_entries import KnowledgeEntries
    from engine.knowledge.notes import FileNotes, Rebinding
    from engine.store.files import Files
    from tui.kit.bench import Bench

    Change = Callable[[Knowledge], str]

NARROW = 150
"""Below this many columns, the selected item goes under the lists."""
LEAST = 12
"""Minimum height of the lists above the selected item: the number of groups plus the frame."""
TIGHT, LOW = 76, 22
"""Below this many columns or lines, one panel is shown at a time."""
LOADING = "loading knowledge …"


class KnowledgeState:
    def __init__(self) -> None:
        self.read: KnowledgeRead | None = None
        self.unclear: tuple[Rebinding, ...] = ()
        self.problem = ""
        self.group: Group = "facts"
        self.query = ""
        self.requested = ""
        """The entry whose file and references were requested last."""
        self.texts: dict[str, EntryText] = {}
        """The text of the entry shown last, by location."""
        self.links: dict[str, EntryLinks] = {}
        self.trail: list[Followed] = []
        """The references followed from the selected item, in order."""
        self._pieces: dict[Group, list[Piece]] = {}
        self._groups: list[GroupItem] | None = None

    def take(self, read: KnowledgeRead | None, problem: str) -> bool:
        """Stores what was read; ``False`` if reading failed but an older result is shown."""
        if read is None:
            self.problem = problem
            return self.read is None
        self.problem, self.read = "", read
        self.requested = ""  # the entry's file may have changed
        self._forget()
        return True

    def take_unclear(self, unclear: tuple[Rebinding, ...]) -> None:
        self.unclear = unclear
        self._forget()

    def _forget(self) -> None:
        self._pieces.clear()
        self._groups = None

    def current_problem(self) -> str:
        """Why the selected group cannot be shown; empty if it can, or is still loading."""
        return self.read.problem(self.group) if self.read is not None else self.problem

    def groups(self) -> list[GroupItem]:
        if self.read is None:
            return []
        if self._groups is None:
            self._groups = group_items(self.read, self.unclear)
        return self._groups

    def pieces(self) -> list[Piece]:
        """The items of the selected group, before filtering."""
        if self.read is None:
            return []
        if self.group not in self._pieces:
            self._pieces[self.group] = pieces_of(self.read, self.unclear, self.group)
        return self._pieces[self.group]

    def names(self) -> frozenset[str]:
        """The names of entries and skills, in lower case."""
        scan = self.read.scan if self.read is not None else None
        return frozenset(each.name.casefold() for each in scan.entries) if scan is not None else frozenset()


@lru_cache(maxsize=1)
def refers(text: str, names: frozenset[str]) -> bool:
    """Whether a text has what may be a reference: a link, a path, or the name of an entry."""
    return any(each.kind != "name" or each.target.casefold() in names for each in references(text))


Place = tuple[str, int, int]
"""A file with a first and last line; 0 for the whole file."""


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


class KnowledgeScreen(ListDetail, panels=("groups", "pieces", "reading"), lines=("within",)):
    area = "knowledge"
    news = frozenset({"status", "digest"})
    burst_s = 0.5  # a harvest causes several events
    outer = MappingProxyType({"reading": "pieces"})

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.state = KnowledgeState()
        engine = bench.engine
        self._looks = self.plain_lane(
            lambda: read_knowledge(engine), self._take, lambda problem: self._take(None, problem)
        )
        self._questions = self.plain_lane(lambda: engine.knowledge.notes.questions(), self._take_unclear)
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
        self._changes: Lane[Change, str] = self.lane(
            lambda change: change(bench.engine.knowledge),
            lambda _change, message: self._changed(message),
            lambda _change, problem: self._changed(problem, error=True),
            in_turn=True,
            finish=True,
        )

    def body(self) -> ComposeResult:
        self.groups = GroupsPanel(id="groups")
        self.pieces = PiecesPanel(id="pieces")
        self.reading = ReadingPanel(id="reading")
        lists = Horizontal(self.groups, self.pieces, id="knowledge-lists")
        yield Container(lists, self.reading, id="knowledge")

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
                drawing = partial(draw_notes, piece)
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
        self.reading.show_drawing(drawing, f"{path}:{line}" if line else path, key)
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

    def row_moved(self, moved: RowList.Moved) -> None:
        self.state.trail.clear()
        item = self.groups.selected
        if moved.panel is self.groups and item is not None and item.group != self.state.group:
            self.state.group, self.state.query = item.group, ""
            self.show_pieces()
        else:
            self.show_reading()

    # Navigation

    @command("enter o", "Open", "open", 0, needs=[ROWS])
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

    def step_back(self) -> bool:
        """Goes back to what refers to the file shown."""
        followed = bool(self.state.trail)
        if followed:
            self.state.trail.pop()
            self.show_reading()
        return followed

    @property
    def query_text(self) -> str:
        return self.state.query

    @command("slash", "Filter the list", "filter", 4)
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

    @property
    def file(self) -> str:
        """The file behind the selection; empty if there is none."""
        return self.existing(self.place_in_view()[0])

    @command("e", "Edit at this line", "edit", 6,
             needs=[Need(lambda here: here.file, "the file does not exist yet")])  # fmt: skip
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

    @property
    def refers(self) -> bool:
        """Whether what is shown refers to another file, or is not read yet."""
        state, piece = self.state, self.pieces.selected
        if state.trail or isinstance(piece, EntryPiece):
            known = state.texts.get(state.trail[-1].path if state.trail else path_of(state.group, piece)[0])
            text = known.text if known is not None else None
        else:
            text = text_of(piece) if piece is not None else ""
            text = (
                text.partition("\n")[2] if isinstance(piece, NotesPiece) else text
            )  # its first line is a path
        return text is None or refers(text, state.names())

    @command("f", "Follow reference", "follow", 8,
             needs=[ROWS, Need(lambda here: here.refers, "there are no references here")])  # fmt: skip
    def follow(self) -> None:
        """Show the file the current item links to, by wikilink, link or path; esc goes back."""
        piece = self.pieces.selected
        if isinstance(piece, LinePiece) and not self.state.trail:
            self._targets.ask((piece.entry.path, piece.entry.number, piece.entry.last))
        else:
            path = self.place_in_view()[0] or path_of(self.state.group, piece)[0]
            self._targets.ask((path, 0, 0))

    @command("F", "Next reference", rank=9,
             needs=[Need(lambda here: here.has_others,
                         "there are no other references; f follows one")])  # fmt: skip
    def follow_next(self) -> None:
        """Show the next file the item links to."""
        step = self.state.trail[-1]
        self.state.trail[-1] = replace(step, at=(step.at + 1) % len(step.targets))
        self.show_reading()

    @property
    def has_others(self) -> bool:
        """Whether a reference was followed, and there are others."""
        return bool(self.state.trail) and len(self.state.trail[-1].targets) > 1

    @command("y", "Copy the text", "copy", 12,
             needs=[Need(lambda here: here.pieces.selected, "nothing is selected")])  # fmt: skip
    def copy_piece(self) -> None:
        """Copy the text of the selected item."""
        piece = self.pieces.selected
        if piece is not None:
            self.copy_text(text_of(piece))

    @command("Y", "Copy everything shown", needs=[ROWS])
    def copy(self) -> None:
        """Copy everything shown of the selected item."""
        self.copy_text(self.reading.selected_text())

    # The digest

    @command("D delete", "Delete the digest and turn it off", "digest off", 14,
             needs=[Need(lambda here: (read := here.state.read) and read.digest.on,
                         "the digest is already off"), WRITABLE])  # fmt: skip
    def digest_off(self) -> None:
        """Delete the digest and leave it out of prompts until you regenerate it; asks first."""
        question = (
            f"Delete {DIGEST_PATH} and turn the digest off? Prompts and harvests do without it until you "
            "regenerate it with R or autopoiesis digest regenerate. The category files are kept."
        )
        self.ask("digest", question, "Delete and turn off", lambda: self._changes.ask(turn_digest_off))

    @command("R", "Regenerate the digest", "regenerate digest", 16, needs=[WRITABLE])
    def regenerate(self) -> None:
        """Regenerate the digest from the category files, and turn it on if it was off."""
        self._changes.ask(regenerate_digest)

    # Panels

    focus_groups = goes_to("groups", "1", "the groups",
                           ": category files, file notes, entries, skills, and the digest")  # fmt: skip
    focus_pieces = goes_to("pieces", "2", "the group's items",
                           does="Go to the items of the selected group, newest first.")  # fmt: skip
    focus_reading = goes_to("reading", "3", "the selected item in full", "; up and down scroll it there")

    # State and results

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
