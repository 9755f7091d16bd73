"""Moves files to the archive and back, unchanged, and updates references to them (spec 8.6)."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from engine.knowledge.file_changes import FileChange, Step
from engine.knowledge.links import Link, Links
from engine.knowledge.places import joined
from engine.knowledge.references import Reference, references
from engine.store.entry_files import folder_of
from engine.store.paths import is_shared

if TYPE_CHECKING:
    from engine.store.files import Files

_SUFFIXES = ("", ".md", "/context.md")
"""Suffixes that a reference may omit."""


@dataclass(frozen=True, slots=True)
class Move:
    """A file and its new path."""

    path: str
    target: str
    size: int  # bytes
    relinked: tuple[str, ...] = ()  # ``file:line`` of updated references to it
    broken: tuple[str, ...] = ()
    """``file:line`` of references that will be broken: those to it that could not be updated, and its own
    relative ones, which are not changed."""


def moved(
    files: Files, links: Links, targets: Mapping[str, str], about: str
) -> tuple[FileChange, list[Move]]:
    """The change that moves files.

    Args:
        links: The current links.
        targets: New path by path.
        about: Description of the change.
    """
    swaps: dict[tuple[str, str], str] = {}
    moves: list[Move] = []
    texts: dict[str, list[str]] = {}
    for path, target in sorted(targets.items()):
        relinked: list[str] = []
        broken: list[str] = []
        for link in links.to(path):
            if link.source in targets:
                continue
            if is_shared(link.source):
                broken.append(f"{link.source}:{link.line}")  # not ours to write
                continue
            if link.source not in texts:
                texts[link.source] = _lines(files.read(link.source))
            old = texts[link.source][link.line - 1] if link.line <= len(texts[link.source]) else ""
            before = swaps.get((link.source, old), old)
            after = _relinked(before, link, target)
            place = f"{link.source}:{link.line}"
            if after is None:
                broken.append(place)
            else:
                swaps[link.source, old] = after
                relinked.append(place)
        broken += [
            f"{path}:{link.line}"
            for link in links.of(path)
            if link.target not in targets and link.reference.target.startswith("../")
        ]
        size = files.workspace.root.joinpath(path).stat().st_size
        moves.append(Move(path, target, size, tuple(relinked), tuple(broken)))
    steps = [Step("move", move.path, move.target) for move in moves]
    steps += [Step("swap", source, new, old=old) for (source, old), new in swaps.items()]
    return FileChange(tuple(steps), (about,)), moves


def _lines(data: bytes) -> list[str]:
    return [line.rstrip("\r") for line in data.decode("utf-8", "surrogateescape").split("\n")]


def _relinked(line: str, link: Link, target: str) -> str | None:
    """A line with all references to one file changed to another path; ``None`` if there are none."""
    found = line
    for each in reversed(references(line)):
        text = _rewritten(found[each.start : each.end], each, link, target)
        if text is not None:
            found = found[: each.start] + text + found[each.end :]
    return None if found == line else found


def _rewritten(text: str, each: Reference, link: Link, target: str) -> str | None:
    """A reference changed to another path; ``None`` if it refers to something else."""
    path = _spelled(each.target, link, target)
    if each.kind == "wikilink":
        if path is None and each.target not in (link.reference.target, *link.also):
            return None
        place = path if path is not None and "/" in path else target.removesuffix(".md")
        section = f"#{each.section}" if each.section else ""
        return f"[[{place}{section}|{each.label or each.target}]]"
    if path is None or each.kind not in ("link", "path"):
        return None
    for old, new in ((each.target, path), (quote(each.target), quote(path))):
        before, found, after = text.rpartition(old)
        if found:
            return f"{before}{new}{after}"
    return None


def _spelled(written: str, link: Link, target: str) -> str | None:
    """A new path in the style of the old one: relative to the file's folder or to the workspace."""
    here = folder_of(link.source)
    for base, is_relative in ((here, True), ("", False), ("knowledge", False)):
        path = (joined(base, written) or "").rstrip("/")
        for suffix in _SUFFIXES:
            if f"{path}{suffix}" == link.target and target.endswith(suffix):
                new = target.removesuffix(suffix)
                return posixpath.relpath(new, here) if is_relative and here else new
    return None
