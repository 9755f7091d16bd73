"""The category files: where each kind of knowledge is kept, and how its lines are written and read
(``knowledge-curation.md`` 1).

The files belong to the person. Reading accepts any bullet style and never changes a byte; content that is not
recognised is neither an entry nor an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from engine.context.delimiters import outside, visible
from engine.errors import DocumentError
from engine.knowledge.item import Category, Item, Origin
from engine.startup.lazy import expression
from engine.store.header import locate
from engine.store.markdown import code_lines, sections

if TYPE_CHECKING:
    from engine.store.files import Files

OPEN = "Open"
DONE = "Done"


@dataclass(frozen=True, slots=True)
class CategoryFile:
    """One of the five files."""

    path: str  # workspace-relative
    title: str  # its first line
    sections: tuple[str, ...] = ()  # its headings; empty if its lines are directly below the title

    @property
    def new(self) -> bytes:
        """The content of a new file."""
        heads = "".join(f"\n## {section}\n" for section in self.sections)
        return f"{self.title}\n{heads}".encode()


FACTS = CategoryFile("knowledge/facts.md", "# Facts")
DECISIONS = CategoryFile("knowledge/decisions.md", "# Decisions")
QUESTIONS = CategoryFile("knowledge/questions.md", "# Questions")
PLAYBOOKS = CategoryFile("knowledge/playbooks.md", "# Playbooks")
TASKS = CategoryFile("knowledge/tasks.md", "# Tasks", (OPEN, DONE))

CATEGORY_FILES = (FACTS, DECISIONS, QUESTIONS, PLAYBOOKS, TASKS)

_PLACES: dict[Category, tuple[CategoryFile, str]] = {
    "facts": (FACTS, ""),
    "decisions": (DECISIONS, ""),
    "tasks_done": (TASKS, DONE),
    "tasks_open": (TASKS, OPEN),
    "questions": (QUESTIONS, ""),
    "playbooks": (PLAYBOOKS, ""),
    "files": (FACTS, ""),
    "notes": (FACTS, ""),
    "pages": (FACTS, ""),
    "changes": (FACTS, ""),
}

_BULLET = expression(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)")
_BOX = expression(r"\[([ xX])\][ \t]+")
_RULE = expression(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_FROM = expression(r"(?<!\\)\[from:([^\[\]]*)\]", re.IGNORECASE)
_OURS = expression(r"(?<!\\)([\[(])(?=\s{0,8}(?:from|supersedes)\s{0,8}:)", re.IGNORECASE)
_CONFLICT = expression(rb"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)
_HEADING = expression(r" {0,3}#{1,6}(?:[ \t]|$)")
_CODE_INDENT = 4
_NESTED = 2
"""Minimum indentation, in columns, of lines that belong to a bullet."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A bullet in a knowledge file, with its continuation lines and nested bullets."""

    path: str  # the file, workspace-relative
    number: int  # its first line, from 1
    last: int  # its last line, from 1, including continuation lines and nested bullets
    raw: str  # its first line, without the line end
    lines: tuple[str, ...]
    text: str
    """Its text on one line, without bullet, checkbox, provenance and nested bullets."""
    source: str  # the conversation it comes from; empty if unknown
    day: str  # ISO 8601; may be empty
    section: str  # ``Open``, ``Done`` or another heading; empty directly below the file's title
    is_ticked: bool = False


def place_of(category: Category) -> tuple[CategoryFile, str]:
    """The file and section of a category; file notes go there if their file no longer exists."""
    return _PLACES[category]


def entries(data: bytes, path: str) -> tuple[Entry, ...]:
    """The entries of a knowledge file, in order. Never raises.

    Every top-level bullet is an entry, whatever the list style, except in fenced code and comments. Bytes
    that are not UTF-8 are read as ``U+FFFD``.
    """
    start = locate(data).body
    body = data[start:].decode("utf-8", "replace").removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in body.split("\n")]
    first = data.count(b"\n", 0, start) + 1
    titles = _titles(lines)
    return tuple(_entry(lines[at:end], path, first + at, titles[at]) for at, end in _blocks(lines))


def line_for(item: Item, origin: Origin, *, link: str = "") -> str:
    """An item as a line of its file: bullet, sanitised text, provenance.

    ``link`` goes between text and provenance and is trusted.
    """
    prefix = f"{item.path}: " if item.category == "files" and item.path else ""
    text = plain(f"{prefix}{item.text}")
    name = re.sub(r"[\[\]]", "", plain(origin.name))
    return f"- {text}{link} {Origin(name, origin.day).provenance}"


def note_line(text: str, origin: Origin) -> str:
    """A file note as a line of the notes file."""
    return line_for(Item("files", text), origin)


def plain(text: str) -> str:
    """Untrusted text as one line that cannot pass for a delimiter, a provenance or a link."""
    line = " ".join(visible(outside(text)).split())
    if line.startswith("<!--"):
        line = f"<\\{line[1:]}"
    if _BOX.match(line):  # only the person ticks a box
        line = f"\\{line}"
    return _OURS.sub(r"\\\1", line)


def refuse_broken(data: bytes, path: str) -> None:
    """Checks that lines can be added to a file.

    Raises:
        DocumentError: It is not UTF-8 text, or has conflict markers or an unclosed code block.
    """

    def broken(what: str, place: int, hint: str) -> DocumentError:
        line = data.count(b"\n", 0, place) + 1
        return DocumentError(what, where=f"{path}:{line}", hint=hint)

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise broken("is not UTF-8 text", error.start, "save it as UTF-8") from error
    if "\0" in text:
        raise broken("is not text: it contains NUL bytes", data.index(0), "restore it")
    if marks := _CONFLICT.search(data):
        raise broken("contains conflict markers", marks.start(), "resolve the conflict")
    start = locate(data).body
    _, opened = code_lines(data[start:].decode("utf-8").replace("\r\n", "\n").split("\n"))
    if opened:
        line = data.count(b"\n", 0, start) + opened
        raise DocumentError("has an unclosed code block", where=f"{path}:{line}", hint="close it")


def refuse_broken_files(files: Files) -> None:
    """Checks all category files with ``refuse_broken``, before a model is asked for lines to add to them."""
    for file in CATEGORY_FILES:
        refuse_broken(files.find(file.path) or b"", file.path)


def _titles(lines: Sequence[str]) -> list[str]:
    """The section of each line."""
    titles = [""] * len(lines)
    current = ""
    for section in sections("\n".join(lines)):
        known = next((name for name in (OPEN, DONE) if section.title.casefold() == name.casefold()), "")
        if known:
            current = known
        elif section.level in (1, 2):
            current = section.title if section.level == 2 else ""
        for at in range(section.start_line - 1, section.end_line):
            titles[at] = current
    return titles


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The start and (exclusive) end of each entry."""
    code, _ = code_lines(lines)
    comments = _comments(lines, code)
    start, end, indent = -1, -1, 0
    is_apart = False  # a blank line follows the entry
    for at, line in enumerate(lines):
        spaced = line.expandtabs(_CODE_INDENT)
        width = len(spaced) - len(spaced.lstrip(" "))
        if not line.strip():
            is_apart = True
            continue
        is_inside = start >= 0 and width >= indent + _NESTED
        if code[at] or comments[at]:
            belongs = start >= 0 and (is_inside or (code[at] and at > 0 and code[at - 1] and end == at))
            opens = False
        else:
            bullet = None if _RULE.fullmatch(line) else _BULLET.match(line)
            opens = bullet is not None and not is_inside and (start >= 0 or width < _CODE_INDENT)
            ends = _RULE.fullmatch(line) or _HEADING.match(line)
            belongs = not opens and start >= 0 and (is_inside or not (ends or is_apart))
        if opens:
            if start >= 0:
                yield start, end
            start, end, indent = at, at + 1, width
        elif belongs:
            end = at + 1
        elif start >= 0:
            yield start, end
            start = -1
        is_apart = False
    if start >= 0:
        yield start, end


def _comments(lines: Sequence[str], code: Sequence[bool]) -> list[bool]:
    """Which lines belong to a closed comment that starts a line."""
    found = [False] * len(lines)
    opened = -1
    for at, line in enumerate(lines):
        if opened < 0 and not code[at] and line.lstrip().startswith("<!--"):
            opened = at
        if opened >= 0 and "-->" in line:
            found[opened : at + 1] = [True] * (at + 1 - opened)
            opened = -1
    return found


def _entry(lines: Sequence[str], path: str, number: int, section: str) -> Entry:
    bullet = _BULLET.match(lines[0])
    first = lines[0][bullet.end() :] if bullet else lines[0]
    box = _BOX.match(first)
    parts = [first[box.end() :] if box else first]
    for line in lines[1:]:
        if not line.strip() or _BULLET.match(line) or line.lstrip().startswith(("```", "~~~", "<!--")):
            break
        parts.append(line)
    text = " ".join(" ".join(parts).split())
    source, day = "", ""
    marks = list(_FROM.finditer(text))
    if marks:
        text = f"{text[: marks[-1].start()].rstrip()} {text[marks[-1].end() :].lstrip()}".strip()
        source, day = _provenance(marks[-1][1])
    return Entry(
        path=path,
        number=number,
        last=number + len(lines) - 1,
        raw=lines[0],
        lines=tuple(lines),
        text=text,
        source=source,
        day=day,
        section=section,
        is_ticked=box is not None and box[1] != " ",
    )


def provenance_of(line: str) -> tuple[str, str] | None:
    """The name and day in a line's provenance; ``None`` if it has none."""
    marks = _FROM.findall(line)
    return _provenance(marks[-1]) if marks else None


def _provenance(inside: str) -> tuple[str, str]:
    """Name and day of a provenance; an invalid day is part of the name."""
    name, _, last = inside.rpartition(",")
    day = last.strip()[:10]
    try:
        date.fromisoformat(day)
    except ValueError:
        return inside.strip(), ""
    return name.strip(), day
