"""Which lines of knowledge a reconstruction takes out before sessions are read anew (spec 8.7).

A line goes where its provenance names a session that is about to be read: it comes back if it is found again.
All else stays: what the person wrote, which has no provenance, or has accepted in review; a line below which
they have added something; what came from conversations that are no sessions and cannot be read again;
identity files; and, where only some extractors run, what others wrote. A page of which nothing but header and
headings is left goes as a whole.
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
    """Whether a file is one that extractors write to."""
    return path.endswith(".md") and (path.startswith(FOLDERS) or path in CATEGORIES)


def cleared(path: str, data: bytes, goes: Callable[[Entry], bool]) -> bytes | None:
    """A file without the entries that go; ``None`` where it goes as a whole."""
    going = [each for each in entries(data, path) if each.last == each.number and goes(each)]
    if not going:
        return data
    lines = data.split(b"\n")
    for each in reversed(going):
        at = each.number - 1
        del lines[at]
        if at < len(lines) and not lines[at].strip() and not lines[at - 1].strip():
            del lines[at - 1]  # of the blank lines around a list that has gone, one
    left = b"\n".join(lines)
    body = left[locate(left).body :].decode("utf-8", "replace").split("\n")
    is_bare = all(not line.strip() or line.startswith("#") for line in body)
    return None if is_bare and path not in CATEGORIES else left
