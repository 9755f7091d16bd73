"""The knowledge entries and skills of a workspace, and their problems (``knowledge-entries.md``).

Nothing is cached between scans: the files are the catalog.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from engine.context.sources import FILE_LIMIT
from engine.errors import AutopoiesisError, EntryError, Problem
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
from engine.store.paths import TEMP_PREFIX, Workspace, is_shared, shown
from engine.store.spelling import folded
from engine.topics.fields import near

_DEEPEST = 64
"""Maximum folder depth; people nest about ten, but a loop of bind mounts is endless."""


@dataclass(frozen=True)
class Inventory:
    """Workspace-relative paths with forward slashes, including hidden ones."""

    files: dict[str, int] = field(default_factory=dict)  # regular files with their size in bytes
    changed: dict[str, int] = field(default_factory=dict)  # mtime of each, in nanoseconds
    folders: set[str] = field(default_factory=set)  # including the requested ones
    symlinks: set[str] = field(default_factory=set)  # not followed
    special: set[str] = field(default_factory=set)
    """Pipes, sockets and devices, and nested ``.git`` folders, which are not entered."""
    problems: list[Problem] = field(default_factory=list)  # folders that could not be read

    def listed(self, folder: str) -> list[str]:
        """Files below a folder as used for prompts: sorted, without hidden ones."""
        below = f"{folder}/"
        return [path for path in self._sorted if path.startswith(below) and not hidden(path[len(below) :])]

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted({*self.files, *self.symlinks, *self.special})


def hidden(path: str) -> bool:
    """True if a part of a path starts with a dot."""
    return path.startswith(".") or "/." in path


def take_inventory(workspace: Workspace, folders: Iterable[str]) -> Inventory:
    """The inventory of some folders; missing folders are empty."""
    found = Inventory()
    for folder in folders:
        try:
            real = workspace.resolve(folder)
        except AutopoiesisError as error:
            found.problems.append(Problem(folder, 0, error.what, error.hint))
            continue
        if real.is_dir() and real != workspace.root:
            _walk(workspace, real.relative_to(workspace.root).as_posix(), found)
    return found


def _walk(workspace: Workspace, start: str, found: Inventory) -> None:
    stack = [(start, 1)]
    found.folders.add(start)
    while stack:
        folder, depth = stack.pop()
        if depth > _DEEPEST:
            what = f"is nested deeper than {_DEEPEST} folders and is skipped"
            found.problems.append(Problem(shown(folder), 0, what, "move it up"))
            continue
        try:
            with os.scandir(workspace.root / folder) as entries:
                for entry in entries:
                    if not entry.name.startswith(TEMP_PREFIX):
                        _note(found, f"{folder}/{entry.name}", entry, stack, depth)
        except OSError as error:
            what = f"cannot be read ({error.strerror or error})"
            found.problems.append(Problem(shown(folder), 0, what, "check its permissions"))


def _note(
    found: Inventory, path: str, entry: os.DirEntry[str], stack: list[tuple[str, int]], depth: int
) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # it was removed just now
    if entry.name == ".git":
        found.special.add(path)
    elif stat.S_ISLNK(status.st_mode):
        found.symlinks.add(path)
    elif stat.S_ISDIR(status.st_mode):
        found.folders.add(path)
        stack.append((path, depth + 1))
    elif stat.S_ISREG(status.st_mode):
        found.files[path] = status.st_size
        found.changed[path] = status.st_mtime_ns
    else:
        found.special.add(path)


_NAME = re.compile(r"\w[\w.+-]{0,79}")
_MAX_DEPTH = 3
"""Levels of nesting: an index, its entries, and one more."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One knowledge entry or skill."""

    kind: EntryKind
    name: str  # defaults to the name of its folder
    description: str  # may be empty
    version: str  # as written; may be empty
    location: str  # workspace-relative path of its marker file
    parent: str  # location of the entry it is nested in; empty for an outermost one
    children: tuple[str, ...]  # locations of the entries directly below it
    lines: int  # of the marker file
    files: int  # regular files in its folder, including the marker, excluding nested entries
    size: int  # bytes of ``files``
    problems: tuple[Problem, ...] = ()

    @property
    def folder(self) -> str:
        return folder_of(self.location)

    def is_called(self, name: str) -> bool:
        """True if this is its name or the name of its folder."""
        return plain(name) in (plain(self.name), plain(self.folder.split("/")[-1]))


@dataclass(frozen=True)
class EntryScan:
    """The result of a scan."""

    entries: tuple[Entry, ...]  # in catalog order: knowledge by path, then skills
    problems: tuple[Problem, ...]  # by path and line, including those of no entry
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
        """Finds an entry by name, folder or location; raises ``EntryError`` if there is none or several."""
        known = [entry for entry in self.entries if kind in (None, entry.kind)]
        place = name.strip().rstrip("/")
        exact = [entry for entry in known if place in (entry.location, entry.folder)]
        found = exact or [entry for entry in known if entry.is_called(place)]
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(shown(entry.folder) for entry in found)
            raise EntryError(f"several entries are called {shown(name)}", hint=f"use one of {several}")
        suggestion = near(name, (entry.name for entry in known))
        hint = f"did you mean {shown(suggestion)}?" if suggestion else "see: autopoiesis knowledge list"
        raise EntryError(f"no such entry: {shown(name)}", hint=hint)


def scan_entries(files: Files) -> EntryScan:
    """Scans the entries of a workspace; each marker file is read once."""
    inventory = take_inventory(files.workspace, [folder for shelf in SHELVES for folder in shelf.folders])
    loose: list[Problem] = list(inventory.problems)
    found = [entry for shelf in SHELVES for entry in _on_shelf(files, shelf, inventory, loose)]
    found = _with_sizes(found, inventory)
    loose += _uncatalogued(inventory)
    problems = {*loose, *(problem for entry in found for problem in entry.problems)}
    problems = {each for each in problems if not is_shared(each.path)}  # theirs to fix
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
                *_duplicate_name(document, named),
                *_place(place, shelf, depth[place.path], inventory),
            ]
            yield _entry(shelf.kind, place, document, sorted(below[place.path]), problems)


def _read(files: Files, path: str, loose: list[Problem]) -> Document | None:
    """Reads a marker file, up to the size limit for prompts."""
    try:
        data = files.read(path, limit=FILE_LIMIT)
    except FileNotFoundError:
        loose.append(Problem(shown(path), 0, "is a broken link", "remove it, or create its target"))
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
    """A name normalised for comparison: case folded, with hyphens for spaces and underscores."""
    return re.sub(r"[\s_]+", "-", folded(name).strip())


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
    """Problems with the header, the name and the description."""
    path, header = shown(document.path), document.header
    problems = [replace(problem, path=path) for problem in document.problems]
    if not document.has_header:
        if not any(problem.severity == "error" for problem in problems):
            hint = "start the file with a header: ---, name: …, description: …, ---"
            problems.append(Problem(path, 1, "has no header with name and description", hint))
        return problems
    for key, hint in (
        ("name", "add a line 'name: …' with the folder's name"),
        ("description", "add a line 'description: …' with one sentence; prompts show only that"),
    ):
        value = header.get(key)
        line = header.line_of(key, 1)
        if value is None:
            problems.append(Problem(path, line, f"the header has no '{key}'", hint))
        elif not isinstance(value, str):
            problems.append(Problem(path, line, f"'{key}' must be text", f"write it on one line: '{key}: …'"))
        elif not value.strip():
            problems.append(Problem(path, line, f"'{key}' is empty", hint))
    name = header.get("name")
    if isinstance(name, str) and name.strip():
        problems += _name(document, name.strip(), header.line_of("name", 1))
    return problems


def _name(document: Document, name: str, line: int) -> list[Problem]:
    path, folder = shown(document.path), document.path.split("/")[-2]
    if not safe_name(name):
        hint = "use at most 80 letters, digits, '-', '_' and '.'"
        return [Problem(path, line, f"the name {shown(name)!r} is not usable as a file name", hint)]
    if plain(name) != plain(folder):
        what = f"the name {shown(name)} differs from its folder, {shown(folder)}"
        return [Problem(path, line, what, f"write 'name: {shown(folder)}', or rename the folder")]
    return []


def safe_name(name: str) -> bool:
    """True if a name is usable as a folder name on every system, and easy to type."""
    return _NAME.fullmatch(name) is not None and not name.endswith(".") and ".." not in name


def _place(place: EntryPlace, shelf: Shelf, depth: int, inventory: Inventory) -> list[Problem]:
    path, folder = shown(place.path), folder_of(place.path)
    problems = []
    if place.path in inventory.symlinks:
        problems.append(
            Problem(path, 0, "is a symlink", "replace it with the file itself: copies do not follow links")
        )
    if folder in shelf.folders:
        what = f"is in {folder}/ itself, which makes it an index that hides all other entries"
        problems.append(Problem(path, 0, what, "move it into its own folder"))
    elif not safe_name(folder.split("/")[-1]):
        what = f"the folder name {shown(folder.split('/')[-1])!r} is not usable on every system"
        hint = "rename it, using at most 80 letters, digits, '-', '_' and '.'"
        problems.append(Problem(path, 0, what, hint))
    if depth > _MAX_DEPTH:
        what = f"is nested {depth} entries deep; an index shows at most {_MAX_DEPTH} levels"
        problems.append(Problem(path, 0, what, "move it up", "warning"))
    return problems


def innermost(folders: Collection[str]) -> Callable[[str], str]:
    """Gives a function that finds the innermost of some folders that is or contains a folder; empty for
    none."""

    @cache
    def found(folder: str) -> str:
        return folder if not folder or folder in folders else found(folder_of(folder))

    return found


def _with_sizes(entries: list[Entry], inventory: Inventory) -> list[Entry]:
    """The entries with sizes and symlink problems; a file belongs to the innermost entry around it."""
    owner = innermost({entry.folder for entry in entries})
    sizes: dict[str, list[int]] = defaultdict(list)
    links: dict[str, list[Problem]] = defaultdict(list)
    for path, size in inventory.files.items():
        sizes[owner(folder_of(path))].append(size)
    for path in sorted(inventory.symlinks):
        if path.rpartition("/")[2] not in {shelf.marker for shelf in SHELVES}:
            what = "is a symlink and is not followed"
            hint = "replace it with the file or folder itself"
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


def _duplicate_name(document: Document, named: dict[str, str]) -> list[Problem]:
    """A problem if another entry has the same name; ``named`` has the locations by name so far."""
    name = entry_name(document.header, document.path)
    first = named.setdefault(plain(name), document.path)
    if first == document.path:
        return []
    line = document.header.line_of("name", 1)
    what = f"has the same name as {shown(first)}: {shown(name.strip())}"
    return [Problem(shown(document.path), line, what, "rename one of them")]


def _uncatalogued(inventory: Inventory) -> Iterable[Problem]:
    """Files that look like entries but are in no catalog."""
    for path in sorted({*inventory.files, *inventory.symlinks}):
        folder, _, name = path.rpartition("/")
        if path in inventory.symlinks and any(folder in shelf.folders for shelf in SHELVES):
            what = "is a symlink and is not followed, so entries behind it are in no catalog"
            yield Problem(shown(path), 0, what, "replace it with the folder itself", "warning")
        if path.startswith(f"{KNOWLEDGE.cold}/") or name.casefold() not in _MARKERS:
            continue
        shelf = next(each for each in SHELVES if _is_on(path, each))
        if name.casefold() != shelf.marker.casefold():
            home = "knowledge/" if name.casefold() == KNOWLEDGE.marker.casefold() else ".library/custom/"
            yield Problem(
                shown(path), 0, f"is in no catalog: {name} counts only below {home}", "move it there"
            )
        elif name != shelf.marker:
            yield Problem(
                shown(path), 0, f"is in no catalog: the file name must be {shelf.marker}", "rename it"
            )
        elif any(hidden(path.removeprefix(f"{top}/")) for top in shelf.folders if path.startswith(f"{top}/")):
            what = "is in no catalog: it is in a hidden folder"
            yield Problem(shown(path), 0, what, f"rename {shown(folder)}")


_MARKERS = {shelf.marker.casefold() for shelf in SHELVES}


def _is_on(path: str, shelf: Shelf) -> bool:
    return path.startswith("knowledge/") == (shelf is KNOWLEDGE)
