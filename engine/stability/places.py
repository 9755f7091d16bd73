"""Locates sections of a prefix, and its break, in the current files of the workspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.context.compiled import Section
from engine.context.lines import line_numbers
from engine.context.stability import CATALOG, Break, inner
from engine.errors import AutopoiesisError
from engine.store.documents import Document, parse

Read = Callable[[str], bytes]
"""Reads a file by its workspace-relative path, as ``Files.read``."""


def first_line(section: Section, read: Read) -> int | None:
    """The line of its file on which a section's text starts; ``None`` if not found."""
    document = _document(section.source, read)
    if document is None:
        return None
    begin, _, _ = section.lines.partition("-")
    start = int(begin) if begin.isdecimal() else document.body_line
    text = document.raw.decode("utf-8", "replace")
    for index, line in enumerate(line_numbers(inner(section.text), text, start)):
        if line:
            return line - index
    return None


def located(found: Break, read: Read) -> Break:
    """A break; for a catalog entry, with the changed line of the entry's header."""
    if found.line or not found.source or not found.label.startswith(CATALOG):
        return found
    document = _document(found.source, read)
    if document is None:
        return found
    if found.what == "changed":
        # "- name: description (path)": either the name or the description differs.
        one, other = (line.partition(": ")[0] for line in (found.before, found.after))
        key = "description" if one == other else "name"
        return replace(found, line=document.header.line_of(key, 1))
    return replace(found, line=1)


def _document(path: str, read: Read) -> Document | None:
    if not path:
        return None
    try:
        return parse(read(path), path)
    except (AutopoiesisError, OSError):
        return None
