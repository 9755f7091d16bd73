"""Locates expected evidence in a workspace and in a prompt, and parses an expectation typed by the user.

**A file** is found if a section of the prompt comes from it.

**Lines of a file** are found if ``ENOUGH`` of their wording is in the sections from that file. Wording is
compared in runs of four words; a shorter line is one run. So white space, punctuation and Markdown do not
matter, and an excerpt may be cut or skip lines as long as three fifths are there. A word is a run of letters
and digits, ignoring case; in scripts without spaces between words, each character is a word.

**A text** is found if a section contains it, ignoring case, white space, style of quotation marks, ``*`` and
backticks. The message itself is not evidence.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, PathRefused
from engine.probes.file import expectation
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.context.compiled import Section
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


ENOUGH = 0.6
"""Share of the lines' runs that must be in the prompt."""
RUN = 4
"""Words in a run."""

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "*": None, "`": None})

Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of an expectation a prompt holds."""

    section: Section | None  # the one with most of it; ``None`` if none has any
    share: float  # of the wording, 0 to 1

    @property
    def is_enough(self) -> bool:
        """True if it counts as found."""
        return self.section is not None and self.share >= ENOUGH


NOTHING = Coverage(None, 0.0)


def of_file(path: str, sections: Sequence[Section]) -> Coverage:
    """Coverage of a file: any part of it is enough."""
    own = [section for section in sections if section.source == path]
    return Coverage(max(own, key=lambda section: section.tokens), 1.0) if own else NOTHING


def of_lines(path: str, lines: Sequence[str], sections: Sequence[Section]) -> Coverage:
    """Coverage of lines of a file; lines without words are never found."""
    expected = {run for line in lines for run in _runs(words(line))}
    if not expected:
        return NOTHING
    lengths = {len(run) for run in expected}
    held: set[Run] = set()
    best: tuple[int, Section | None] = (0, None)
    for section in sections:
        if section.source == path:
            found = expected & _all_runs(words(section.text), lengths)
            held |= found
            if len(found) > best[0]:
                best = (len(found), section)
    return Coverage(best[1], len(held) / len(expected))


def of_text(text: str, sections: Sequence[Section]) -> Coverage:
    """Coverage of a text: all of it in one section, or nothing."""
    wanted = normal(text)
    for section in sections:
        if section.slot != "message" and contains(section.text, wanted):
            return Coverage(section, 1.0)
    return NOTHING


def contains(text: str, wanted: str) -> bool:
    """True if a text contains a non-empty ``normal`` text."""
    return bool(wanted) and wanted in normal(text)


def normal(text: str) -> str:
    """A text normalized for comparison: case-folded, single spaces, straight quotes, no ``*`` or backtick."""
    folded = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    return " ".join(folded.translate(_QUOTES).split())


def words(text: str) -> list[str]:
    """The words of a text, case-folded."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _runs(line: list[str]) -> list[Run]:
    if len(line) < RUN:
        return [tuple(line)] if line else []
    return [tuple(line[at : at + RUN]) for at in range(len(line) - RUN + 1)]


def _all_runs(text: list[str], lengths: set[int]) -> set[Run]:
    return {tuple(text[at : at + length]) for length in lengths for at in range(len(text) - length + 1)}
