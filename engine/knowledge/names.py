"""Resolves names in wikilinks: entries, people, projects, topics and other knowledge files.

As in Obsidian, a name may be preceded by as many parent folders as needed to make it unique:
``[[people/maren]]``. Case is ignored. Shared knowledge matches only if the workspace itself has no such name;
within a share, its own files come first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from engine.knowledge.entries import Entry, plain
from engine.store.paths import is_shared

_ORDER = ("entry", "skill", "person", "project", "topic", "file", "shared")
_ENTRIES = {"knowledge": "entry", "skill": "skill"}
_OWN_NAME = ("person", "topic")


class NameIndex:
    """Maps names to files. If several kinds share a name, the first kind in ``_ORDER`` wins."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._known: dict[str, dict[str, dict[str, None]]] = {kind: defaultdict(dict) for kind in _ORDER}
        self._markers = set()
        self._tails: dict[str, dict[str, None]] = defaultdict(dict)
        for entry in entries:
            self._add_tails(entry.folder, entry.location)
            self._markers.add(entry.location)
            kind = "shared" if is_shared(entry.location) else _ENTRIES[entry.kind]
            for name in (entry.name, entry.folder.split("/")[-1]):
                self._known[kind][plain(name)][entry.location] = None

    def add(self, path: str, header: Mapping[str, object]) -> None:
        """Adds a file that is not an entry, by its own name and the name in its header."""
        kind, names = _kind_of(path)
        if path in self._markers:
            return
        self._add_tails(path.removesuffix(".md"), path)
        if not kind:
            return
        title = header.get("name")
        if kind in _OWN_NAME and isinstance(title, str) and title.strip():
            names = (*names, title)
        for name in names:
            self._known[kind][plain(name)][path] = None

    def find(self, name: str, source: str = "") -> tuple[str, ...]:
        """The files with a name, sorted; ``source`` is the file that refers to it."""
        key = "/".join(plain(part) for part in name.removesuffix(".md").strip("/").split("/"))
        tails = self._tails.get(key, ())
        if is_shared(source):
            around = "/".join(source.split("/")[:3]) + "/"
            if beside := sorted(path for path in tails if path.startswith(around)):
                return tuple(beside)
        if "/" in key:
            return tuple(sorted(path for path in tails if not is_shared(path)) or sorted(tails))
        for kind in _ORDER:
            if key in self._known[kind]:
                return tuple(sorted(self._known[kind][key]))
        return ()

    def entry(self, name: str) -> tuple[str, ...]:
        """The entries, or else the skills, with a name, sorted."""
        key = plain(name)
        return tuple(sorted(self._known["entry"].get(key) or self._known["skill"].get(key) or ()))

    def _add_tails(self, name: str, path: str) -> None:
        """Adds a file by its name with any number of parent folders."""
        parts = [plain(part) for part in name.split("/")]
        for first in range(len(parts)):
            self._tails["/".join(parts[first:])][path] = None

    @property
    def all(self) -> list[str]:
        """All names, sorted within their kind."""
        return [name for kind in _ORDER for name in sorted(self._known[kind])]


def _kind_of(path: str) -> tuple[str, tuple[str, ...]]:
    """The kind of a file and the names it gets from its path."""
    parts = path.split("/")
    stem = parts[-1].removesuffix(".md")
    if parts[0] == "topics":
        return "topic", (stem,)
    if parts[0] != "knowledge":
        return "", ()
    if parts[1] == "shared":
        return "shared", (stem,)
    if parts[1] == "people" and not stem.startswith("_"):
        return "person", (stem,)
    if parts[1] == "projects" and len(parts) == 4:
        return ("project", (parts[2],)) if stem == "context" else ("", ())
    return "file", (stem,)
