"""The knowledge entries and skills of a workspace, and what is wrong with them (``knowledge-entries.md``).

Nothing is kept between two looks: the files are the catalog.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

from engine.context.sources import FILE_LIMIT
from engine.errors import AutopoiesisError, EntryError, Problem
from engine.knowledge.inventory import Inventory, hidden, take
from engine.store.crypt import LOCKED, UNLOCK, is_encrypted
from engine.store.documents import Document, parse
from engine.store.entry_files import (
    KNOWLEDGE,
    SHELVES,
    EntryKind,
    EntryPlace,
    Shelf,
    entry_description,
    entry_name,
    entry_places,
    folder_of,
)
from engine.store.files import Files
from engine.store.paths import is_shared, shown
from engine.topics.fields import near

_NAME = re.compile(r"\w[\w.+-]{0,79}")
_DEEPEST = 3
"""Levels of nesting: an index, its entries, and one more; nesting groups, it does not hide."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One knowledge entry or skill."""

    kind: EntryKind
    name: str  # its folder's name if it gives none
    description: str  # empty if it gives none
    version: str  # as written; empty for none
    location: str  # workspace-relative path of its marker file
    parent: str  # location of the entry that it is nested in; empty for an outermost one
    children: tuple[str, ...]  # locations of the entries directly below it
    lines: int  # of the marker file
    files: int  # regular files of its folder, the marker among them; those of nested entries are not counted
    size: int  # bytes of ``files``
    problems: tuple[Problem, ...] = ()

    @property
    def folder(self) -> str:
        """Its folder."""
        return folder_of(self.location)

    def is_called(self, name: str) -> bool:
        """Whether its name or its folder's is this one."""
        return plain(name) in (plain(self.name), plain(self.folder.split("/")[-1]))


@dataclass(frozen=True)
class EntryScan:
    """What one look found."""

    entries: tuple[Entry, ...]  # in the order of the catalog: knowledge by path, then skills
    problems: tuple[Problem, ...]  # by path and line; those that belong to no entry are among them
    inventory: Inventory

    def outermost(self, kind: EntryKind) -> list[Entry]:
        """The entries of the catalog."""
        return [entry for entry in self.entries if entry.kind == kind and not entry.parent]

    def within(self, entry: Entry) -> list[Entry]:
        """An entry and all entries nested in it."""
        return self._within[entry.location]

    def totals(self, entry: Entry) -> tuple[int, int, int]:
        """Entries, files and bytes in the folder of an entry."""
        within = self.within(entry)
        return len(within), sum(each.files for each in within), sum(each.size for each in within)

    @cached_property
    def _within(self) -> dict[str, list[Entry]]:
        parents = {entry.location: entry.parent for entry in self.entries}
        found: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            above = entry.location
            while above:
                found[above].append(entry)
                above = parents.get(above, "")
        return found

    def find(self, name: str, kind: EntryKind | None = None) -> Entry:
        """The entry that a name, folder or location means.

        Raises:
            EntryError: It means none, or several.
        """
        known = [entry for entry in self.entries if kind in (None, entry.kind)]
        place = name.strip().rstrip("/")
        exact = [entry for entry in known if place in (entry.location, entry.folder)]
        found = exact or [entry for entry in known if entry.is_called(place)]
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(shown(entry.folder) for entry in found)
            raise EntryError(f"{shown(name)} is the name of several entries", hint=f"name one of {several}")
        meant = near(name, (entry.name for entry in known))
        hint = f"is {shown(meant)} meant?" if meant else "see: autopoiesis knowledge list"
        raise EntryError(f"there is no entry {shown(name)}", hint=hint)


def scan_entries(files: Files) -> EntryScan:
    """The entries of a workspace as they are now; every marker file is read once."""
    inventory = take(files.workspace, [folder for shelf in SHELVES for folder in shelf.folders])
    loose: list[Problem] = list(inventory.problems)
    found = [entry for shelf in SHELVES for entry in _on_shelf(files, shelf, inventory, loose)]
    found = _with_sizes(found, inventory)
    loose += _out_of_sight(inventory)
    problems = {*loose, *(problem for entry in found for problem in entry.problems)}
    problems = {each for each in problems if not is_shared(each.path)}  # theirs to mend
    ordered = sorted(problems, key=lambda each: (each.path, each.line, each.what))
    return EntryScan(tuple(found), tuple(ordered), inventory)


def _on_shelf(files: Files, shelf: Shelf, inventory: Inventory, loose: list[Problem]) -> Iterator[Entry]:
    places = entry_places(shelf, inventory.listed)
    below: dict[str, list[str]] = defaultdict(list)
    depth = {"": 0}
    for place in sorted(places, key=lambda each: each.path.count("/")):
        below[place.parent].append(place.path)
        depth[place.path] = depth[place.parent] + 1
    named: dict[str, str] = {}
    for place in places:
        document = _read(files, place.path, loose)
        if document is not None:
            problems = [
                *_header(document),
                *_twin(document, named),
                *_place(place, shelf, depth[place.path], inventory),
            ]
            yield _entry(shelf.kind, place, document, sorted(below[place.path]), problems)


def _read(files: Files, path: str, loose: list[Problem]) -> Document | None:
    """A marker file as far as a prompt would take it."""
    try:
        data = files.read(path, limit=FILE_LIMIT)
    except FileNotFoundError:
        loose.append(Problem(shown(path), 0, "leads nowhere", "remove it, or write the file"))
        return None
    except AutopoiesisError as error:
        loose.append(Problem(shown(path), 0, error.what, error.hint or "put a regular file there"))
        return None
    if is_encrypted(data):
        loose.append(Problem(shown(path), 0, LOCKED, UNLOCK, "warning"))
        return None
    if b"\0" in data:
        loose.append(Problem(shown(path), 0, "is a binary file", "write it as Markdown"))
        return None
    return parse(data, path)


def plain(name: str) -> str:
    """A name as names are compared: case folded, spaces and underscores as hyphens."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    return re.sub(r"[\s_]+", "-", folded.strip())


def _entry(
    kind: EntryKind, place: EntryPlace, document: Document, children: list[str], problems: list[Problem]
) -> Entry:
    version = document.header.get("version")
    return Entry(
        kind=kind,
        name=entry_name(document.header, place.path).strip(),
        description=" ".join(entry_description(document.header).split()),
        version=version if isinstance(version, str) else "",
        location=place.path,
        parent=place.parent,
        children=tuple(children),
        lines=document.raw.count(b"\n") + (not document.raw.endswith(b"\n") and bool(document.raw)),
        files=0,
        size=0,
        problems=tuple(problems),
    )


def _header(document: Document) -> list[Problem]:
    """What is wrong with name and description, and with the header they stand in."""
    path, header = shown(document.path), document.header
    problems = [replace(problem, path=path) for problem in document.problems]
    if not document.has_header:
        if not any(problem.severity == "error" for problem in problems):
            hint = "begin the file with a header: ---, name: …, description: …, ---"
            problems.append(Problem(path, 1, "has no header, so no name and no description", hint))
        return problems
    for key, hint in (
        ("name", "add a line 'name: …' with the name of its folder"),
        ("description", "add a line 'description: …', one sentence: it is all that the prompt shows"),
    ):
        value = header.get(key)
        line = header.line_of(key, 1)
        if value is None:
            problems.append(Problem(path, line, f"the header has no '{key}'", hint))
        elif not isinstance(value, str):
            problems.append(
                Problem(path, line, f"'{key}' must be a text", f"write it on one line: '{key}: …'")
            )
        elif not value.strip():
            problems.append(Problem(path, line, f"'{key}' is empty", hint))
    name = header.get("name")
    if isinstance(name, str) and name.strip():
        problems += _name(document, name.strip(), header.line_of("name", 1))
    return problems


def _name(document: Document, name: str, line: int) -> list[Problem]:
    path, folder = shown(document.path), document.path.split("/")[-2]
    if not safe_name(name):
        hint = "use letters, digits, '-', '_' and '.', at most 80 of them"
        return [Problem(path, line, f"the name {shown(name)!r} is not fit for a file name", hint)]
    if plain(name) != plain(folder):
        what = f"the name {shown(name)} is not that of its folder, {shown(folder)}"
        return [Problem(path, line, what, f"write 'name: {shown(folder)}', or rename the folder")]
    return []


def safe_name(name: str) -> bool:
    """Whether a name can name a folder on every system, and be typed."""
    return _NAME.fullmatch(name) is not None and not name.endswith(".") and ".." not in name


def _place(place: EntryPlace, shelf: Shelf, depth: int, inventory: Inventory) -> list[Problem]:
    path, folder = shown(place.path), folder_of(place.path)
    problems = []
    if place.path in inventory.symlinks:
        problems.append(
            Problem(path, 0, "is a symlink", "put the file itself there: a copy would not follow")
        )
    if folder in shelf.folders:
        what = f"stands in {folder}/ itself, so it is taken for an index that hides every other entry"
        problems.append(Problem(path, 0, what, "move it into a folder of its own"))
    elif not safe_name(folder.split("/")[-1]):
        what = f"the name of its folder, {shown(folder.split('/')[-1])!r}, is not fit everywhere"
        hint = "rename it: letters, digits, '-', '_' and '.', at most 80 of them"
        problems.append(Problem(path, 0, what, hint))
    if depth > _DEEPEST:
        what = f"is nested {depth} entries deep; who reads an index finds {_DEEPEST} at most"
        problems.append(Problem(path, 0, what, "move it up", "warning"))
    return problems


def innermost(folders: Collection[str]) -> Callable[[str], str]:
    """Finds the innermost of some folders that is or holds a folder; empty for none."""

    @cache
    def found(folder: str) -> str:
        return folder if not folder or folder in folders else found(folder_of(folder))

    return found


def _with_sizes(entries: list[Entry], inventory: Inventory) -> list[Entry]:
    """The entries with what their folders hold; a file belongs to the innermost entry around it."""
    owner = innermost({entry.folder for entry in entries})
    sizes: dict[str, list[int]] = defaultdict(list)
    links: dict[str, list[Problem]] = defaultdict(list)
    for path, size in inventory.files.items():
        sizes[owner(folder_of(path))].append(size)
    for path in sorted(inventory.symlinks):
        if path.rpartition("/")[2] not in {shelf.marker for shelf in SHELVES}:
            what = "is a symlink and is not followed"
            hint = "put the file or folder itself there"
            links[owner(folder_of(path))].append(Problem(shown(path), 0, what, hint, "warning"))
    return [
        replace(
            entry,
            files=len(sizes[entry.folder]),
            size=sum(sizes[entry.folder]),
            problems=(*entry.problems, *links[entry.folder]),
        )
        for entry in entries
    ]


def _twin(document: Document, named: dict[str, str]) -> list[Problem]:
    """A problem where another entry of the kind has the name; ``named`` holds the location of each so far."""
    name = entry_name(document.header, document.path)
    first = named.setdefault(plain(name), document.path)
    if first == document.path:
        return []
    line = document.header.line_of("name", 1)
    what = f"has the name {shown(name.strip())}, as {shown(first)} has"
    return [Problem(shown(document.path), line, what, "give one of them another name")]


def _out_of_sight(inventory: Inventory) -> Iterable[Problem]:
    """Files that were meant as entries, and that no catalog finds."""
    for path in sorted({*inventory.files, *inventory.symlinks}):
        folder, _, name = path.rpartition("/")
        if path in inventory.symlinks and any(folder in shelf.folders for shelf in SHELVES):
            what = "is a symlink and is not followed: an entry behind it is in no catalog"
            yield Problem(shown(path), 0, what, "put the folder itself there", "warning")
        if path.startswith(f"{KNOWLEDGE.cold}/") or name.casefold() not in _MARKERS:
            continue
        shelf = next(each for each in SHELVES if _is_on(path, each))
        if name.casefold() != shelf.marker.casefold():
            home = "knowledge/" if name.casefold() == KNOWLEDGE.marker.casefold() else ".library/custom/"
            yield Problem(
                shown(path), 0, f"is in no catalog: {name} counts below {home} only", "move it there"
            )
        elif name != shelf.marker:
            yield Problem(shown(path), 0, f"is in no catalog: it is not called {shelf.marker}", "rename it")
        elif any(hidden(path.removeprefix(f"{top}/")) for top in shelf.folders if path.startswith(f"{top}/")):
            what = "is in no catalog: a folder above it is hidden"
            yield Problem(shown(path), 0, what, f"rename {shown(folder)}")


_MARKERS = {shelf.marker.casefold() for shelf in SHELVES}


def _is_on(path: str, shelf: Shelf) -> bool:
    return path.startswith("knowledge/") == (shelf is KNOWLEDGE)
