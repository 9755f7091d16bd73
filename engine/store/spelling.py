"""Names that differ only in how their letters are written: composed (NFC) or decomposed (NFD), or in case.

macOS and some sync programs write ``ü`` as two characters, most keyboards as one; people see no difference.
Such names mean the same file, which keeps the name it has. Other systems cannot hold two files named so.
"""

from __future__ import annotations

import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path


def composed(text: str) -> str:
    """The text in composed form (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded(path: str) -> str:
    """The text by which file systems that ignore case and composition compare names."""
    return composed(composed(path).casefold())


def spelled(root: Path, parts: Sequence[str]) -> tuple[str, ...]:
    """The components of a path below ``root`` as written on disk; those that do not exist as given."""
    found: list[str] = []
    place = os.fspath(root)
    for part in parts:
        name = part
        if not part.isascii() and not os.path.lexists(f"{place}/{part}"):
            name = next((each for each in _names(place) if composed(each) == composed(part)), part)
        found.append(name)
        place = f"{place}/{name}"
    return tuple(found)


def on_disk(path: Path) -> Path:
    """An absolute path as it is written on disk."""
    return (
        path if os.fspath(path).isascii() else Path(path.anchor, *spelled(Path(path.anchor), path.parts[1:]))
    )


def twins(root: Path, path: str) -> tuple[str, ...]:
    """The existing paths that differ from one at most in case or composition, sorted; usually only itself."""
    found = [""]
    for part in path.split("/"):
        alike = folded(part)
        found = [
            f"{above}/{name}".removeprefix("/")
            for above in found
            for name in _names(f"{root}/{above}")
            if folded(name) == alike
        ]
    return tuple(sorted(found))


def clashes(paths: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of paths that differ only in case or composition, sorted."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        groups[folded(path)].add(path)
    return sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1)


def clash_words(paths: Sequence[str]) -> tuple[str, str]:
    """What is wrong with paths that clash, and what to do about it."""
    alike = len({composed(path) for path in paths}) == 1
    how = "in how their letters are encoded (Unicode NFC and NFD)" if alike else "in case"
    escaped = (path.encode("unicode_escape").decode("ascii") if alike else path for path in paths)
    what = f"{' and '.join(escaped)} differ only {how}: a clone on macOS or Windows would lose one of them"
    return what, "rename one of them, or move what you need into one and delete the other"


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 — plain strings
    except OSError:
        return []
