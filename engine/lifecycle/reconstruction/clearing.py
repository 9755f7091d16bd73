"""Removes lines of knowledge before a reconstruction reads sessions again (spec 8.7).

A line is removed if its provenance names a session that will be read: it returns if it is found again.
Everything else is kept: lines by the user, which have no provenance, or that they accepted in review; lines
with additions below them; lines from conversations that cannot be read again; identity files; and, if only
some extractors run, lines by others. A page left with nothing but header and headings is removed.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.knowledge.category_files import CATEGORY_FILES, Entry, entries
from engine.store.header import locate

FOLDERS = tuple(
    f"knowledge/{name}/" for name in ("memory", "journal", "projects", "people", "procedures", "reference")
)
CATEGORIES = frozenset(file.path for file in CATEGORY_FILES)


def is_derived(path: str) -> bool:
    """True for a file that extractors write to."""
    return path.endswith(".md") and (path.startswith(FOLDERS) or path in CATEGORIES)


def cleared(path: str, data: bytes, is_removed: Callable[[Entry], bool]) -> bytes | None:
    """A file without the entries to remove; ``None`` if the file is removed."""
    removed = [each for each in entries(data, path) if each.last == each.number and is_removed(each)]
    if not removed:
        return data
    lines = data.split(b"\n")
    for each in reversed(removed):
        at = each.number - 1
        del lines[at]
        if at < len(lines) and not lines[at].strip() and not lines[at - 1].strip():
            del lines[at - 1]  # one of the blank lines around a removed list
    left = b"\n".join(lines)
    body = left[locate(left).body :].decode("utf-8", "replace").split("\n")
    is_bare = all(not line.strip() or line.startswith("#") for line in body)
    return None if is_bare and path not in CATEGORIES else left
