"""What a name in double brackets means: an entry, person, project, topic, or another file of knowledge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from engine.knowledge.entries import Entry, plain

_ORDER = ("entry", "skill", "person", "project", "topic", "file")
_OWN_NAME = ("person", "topic")


class NameIndex:
    """Names and what they mean. Where several kinds have a name, the first in their order is meant."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._known: dict[str, dict[str, dict[str, None]]] = {kind: defaultdict(dict) for kind in _ORDER}
        self._markers = set()
        for entry in entries:
            self._markers.add(entry.location)
            kind = "entry" if entry.kind == "knowledge" else "skill"
            for name in (entry.name, entry.folder.split("/")[-1]):
                self._known[kind][plain(name)][entry.location] = None

    def add(self, path: str, header: Mapping[str, object]) -> None:
        """Adds a file that is not an entry, by its own name and by the one in its header."""
        kind, names = _kind_of(path)
        if path in self._markers or not kind:
            return
        title = header.get("name")
        if kind in _OWN_NAME and isinstance(title, str) and title.strip():
            names = (*names, title)
        for name in names:
            self._known[kind][plain(name)][path] = None

    def find(self, name: str) -> tuple[str, ...]:
        """The files that a name means, sorted; several of one kind are ambiguous."""
        key = plain(name.removesuffix(".md"))
        for kind in _ORDER:
            if key in self._known[kind]:
                return tuple(sorted(self._known[kind][key]))
        return ()

    def entry(self, name: str) -> tuple[str, ...]:
        """The entries or else skills that a name means, sorted."""
        key = plain(name)
        return tuple(sorted(self._known["entry"].get(key) or self._known["skill"].get(key) or ()))

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
    if parts[1] == "people" and not stem.startswith("_"):
        return "person", (stem,)
    if parts[1] == "projects" and len(parts) == 4:
        return ("project", (parts[2],)) if stem == "context" else ("", ())
    return "file", (stem,)
