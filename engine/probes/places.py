"""Locates expected evidence in a workspace, and parses an expectation typed by the user."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, PathRefused
from engine.probes.evidence import contains, normal, words
from engine.probes.file import expectation
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.probes.model import Expectation
    from engine.store.files import Files
    from engine.store.paths import Workspace

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are not read; they are not searched either."""

_SUFFIXES = (".md", ".txt", ".jsonl")
_NOT_MEMORY = frozenset({"logs", "scratch"})
_LIBRARY = ".library"
_LINES = re.compile(r"(.+):(\d+(?:-\d+)?)", re.DOTALL)
_NAME = re.compile(r"\S*(?:/\S|\.(?:md|txt|jsonl|ya?ml)\Z)\S*", re.IGNORECASE)


def lines_of(files: Files, path: str) -> list[str] | None:
    """The lines of a file; ``None`` if it does not exist or cannot be read."""
    try:
        data = files.read(path, limit=MAX_BYTES)
    except (OSError, AutopoiesisError):
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n").split("\n")


def expected_lines(expectation: Expectation, lines: Sequence[str]) -> Sequence[str]:
    """The lines of a file that are expected."""
    span = expectation.span
    return lines if span is None else lines[span[0] - 1 : span[1]]


def missing(files: Files, expectation: Expectation) -> str:
    """Why the evidence is not in the workspace, one clause; empty if it is."""
    if expectation.text:
        return "" if holds(files, expectation.text) else "the text is nowhere in the workspace"
    lines = lines_of(files, expectation.path)
    if lines is None:
        return f"no readable file {shown(expectation.path)}"
    span = expectation.span
    if span is not None and span[1] > len(lines):
        return f"{shown(expectation.path)} has only {len(lines):,} lines"
    if span is not None and not any(map(words, expected_lines(expectation, lines))):
        return f"lines {expectation.lines} of {shown(expectation.path)} contain no words"
    return ""


def holds(files: Files, text: str) -> bool:
    """True if any file that can be part of a prompt contains the text; reads files until it is found."""
    wanted = normal(text)
    return any(
        lines is not None and contains(_read_as(path, lines), wanted)
        for path in _memory(files.workspace.root)
        if (lines := lines_of(files, path)) is not None
    )


def _read_as(path: str, lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    # JSON logs escape line ends and quotation marks.
    return text.replace("\\n", "\n").replace('\\"', '"') if path.endswith(".jsonl") else text


def _memory(root: Path) -> Iterator[str]:
    """The text files of a workspace, in order."""
    for place, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if (not name.startswith(".") or name == _LIBRARY)
            and not (Path(place) == root and name in _NOT_MEMORY)
        )
        relative = Path(place).relative_to(root).as_posix()
        above = "" if relative == "." else f"{relative}/"
        for name in sorted(names):
            if name.lower().endswith(_SUFFIXES) and not name.startswith("."):
                yield f"{above}{name}"


def typed(workspace: Workspace, text: str) -> Expectation:
    """An expectation as the user types it: a file if one exists or it looks like a path, else a text.

    The prefix ``path:`` or ``text:`` decides explicitly.

    Raises:
        DocumentError: It is empty, or its lines are not a range.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind == "text":
        return expectation(text=rest)
    is_path = bool(colon) and kind == "path"
    place = rest if is_path else text
    match = _LINES.fullmatch(place)
    path, lines = (match.group(1), match.group(2)) if match is not None else (place, "")
    if lines and _is_file(workspace, place):
        path, lines = place, ""
    if is_path or _is_file(workspace, path) or _NAME.fullmatch(path):
        return expectation(path=path, lines=lines)
    return expectation(text=text)


def _is_file(workspace: Workspace, path: str) -> bool:
    try:
        return workspace.resolve(path).is_file()
    except (PathRefused, OSError, ValueError):
        return False
