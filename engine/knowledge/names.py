"""What a name in double brackets means: an entry, person, project, topic, or another file of knowledge.

A name may have as many of the folders above it in front as tell it from others, as in Obsidian:
``[[people/maren]]``. Upper and lower case do not count. What others share is meant only where nothing of the
workspace's own has the name; inside of it, its own files come first.
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
    """Names and what they mean. Where several kinds have a name, the first in their order is meant."""

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
        """Adds a file that is not an entry, by its own name and by the one in its header."""
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
        """The files that a name means, sorted; several of one kind are ambiguous.

        Args:
            source: The file in which it stands.
        """
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
        """The entries or else skills that a name means, sorted."""
        key = plain(name)
        return tuple(sorted(self._known["entry"].get(key) or self._known["skill"].get(key) or ()))

    def _add_tails(self, name: str, path: str) -> None:
        """Adds a file by its name, with any number of the folders above it."""
        parts = [plain(part) for part in name.split("/")]
        for first in range(len(parts)):
            self._tails["/".join(parts[first:])][path] = None

    @property
    def all(self) -> list[str]:
        """Every name, sorted within its kind."""
        return [name for kind in _ORDER for name in sorted(self._known[kind])]


def _kind_of(path: str) -> tuple[str, tuple[str, ...]]:
    """The kind of a file by its path, and the names that its path gives it."""
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
