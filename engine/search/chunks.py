"""Splits files into searchable chunks: transcript turns and Markdown sections (design 3.6).

A chunk's text is the file's text from its first to its last line, verbatim, and neither line is blank; only
line ends are normalized and bytes that are not UTF-8 replaced. An overlong line is split. In a section or
turn that is split, likely secrets are masked, because part of a key is no longer recognized as one. For a
session log or chat of another program, the text is the turn as a transcript would render it, and the lines
are those the turn was built from. Chunks do not overlap, and the positions of neighbours differ by one.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence

from engine.redaction.detect import masked
from engine.search import logs
from engine.search.dates import DAY_NAMES, MONTH_NAMES
from engine.search.results import Chunk
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store import documents
from engine.store.documents import MarkdownSection, sections
from engine.transcripts import format as transcript_format
from engine.transcripts.days import date_of
from engine.transcripts.places import AUTHOR_FIELD
from engine.transcripts.turn import QUOTED, Turn

VERSION = "6"
"""Bump when the same file would be chunked differently; every file is then re-indexed."""

MAX_CHARACTERS = 1200
"""Maximum length of a chunk; longer text is split between paragraphs, then lines, then sentences."""
MAX_TURN_CHARACTERS = 6000
"""The same for a turn: its parts belong to one answer and are best understood together."""

HEADING_SEPARATOR = " › "

_ISO_DATE = expression(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_PATH_DATE = expression(r"(?:^|/)(\d{4})/(\d{2})/(\d{2})/")
_FENCE = expression(r"(?: {0,3}|> ?)(`{3,}|~{3,})")
_HEADING = expression(r" {0,3}#")
_COMMENT = expression(r"[ \t]*<!--[^<>]*-->")
_MOST_HEADINGS = 5000
_SENTENCE_END = expression(r"[.!?…。！？][\"')\]]*\s")
_WORD = expression(r"[^\W_]+")
_NAMED = expression(r"\s*([^\W\d_][\w'’.-]{0,30}(?: [^\W\d_][\w'’.-]{0,30}){0,2}):\s")
_NAMING_FIELDS = ("title", "name", "description", "topic", "project")


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk and the other data the index stores for it."""

    chunk: Chunk
    speaker: str
    """In a transcript ``user``, ``agent`` or ``system``, followed by the name the turn begins with
    (``Caroline: …``)."""
    about: str
    """Extra search terms that are not in the chunk's text: its date in words, and for a file's first chunk
    also the file's name, title, description and tags."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The data the index stores for a file."""

    date: str  # ISO date of the whole file; ``""`` if undated
    pieces: tuple[Piece, ...]  # in file order
    author: str = ""  # of a conversation that is another person's


@dataclass(frozen=True, slots=True)
class _Span:
    """Text between two lines, with the heading above it."""

    start: int
    end: int
    text: str
    heading: str
    date: str
    speaker: str = ""


def split(data: bytes, path: str, category: str) -> Contents:
    """Split a file into chunks. Never raises: content that cannot be parsed is treated as plain text.

    Args:
        path: Used for its date and suffix.
        category: As in ``store.paths.category_of``; ``conversation`` is read as a transcript.
    """
    if logs.is_log(path):
        return _log_contents(data, path, logs.read(data, path))
    is_transcript = category == "conversation"
    turns = [turn for turn in transcript_format.parse(data, path).turns if turn.line] if is_transcript else []
    if is_transcript and not turns and (chat := logs.read(data, path)).turns:
        return _log_contents(data, path, chat)
    lines = _decoded(data).split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    document = documents.parse(data, path)
    header = document.header
    date = _header_date(header) or _path_date(path)
    above = turns[0].line - 1 if turns else len(lines)
    plain = not turns and path.lower().endswith(".txt")
    spans, title = _section_spans(
        lines[document.body_line - 1 : above], document.body_line, date, plain=plain
    )
    if turns:
        # The text above the first turn is usually a title, which is indexed with the first chunk instead of
        # being a chunk itself.
        spans = [span for span in spans if span.text.strip("# ") != title]
        spans += _turn_spans(lines, turns, date)
    if not spans and document.has_header and document.body_line > 1:
        end = min(document.body_line - 1, len(lines))
        spans = [_Span(first, last, text, "", date) for first, last, text in _cut(lines[:end], 1)]
    naming = [_path_words(path), title, *(_plain(header.get(field)) for field in _NAMING_FIELDS)]
    naming += _tags(header.get("tags"))
    pieces = _pieces(path, spans, naming)
    author = _plain(header.get(AUTHOR_FIELD))
    return Contents(date, pieces, author)


def _log_contents(data: bytes, path: str, log: logs.Log) -> Contents:
    line_count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    date = log.date or _path_date(path)
    pieces = _pieces(
        path, list(_log_spans(log.turns, line_count, date)), [_path_words(path), _plain(log.title)]
    )
    return Contents(date, pieces)


def _pieces(path: str, spans: Sequence[_Span], naming: Iterable[str]) -> tuple[Piece, ...]:
    introduction = _encodable(" ".join(dict.fromkeys(filter(None, naming))))
    return tuple(
        Piece(
            Chunk(path, span.start, span.end, span.heading, span.date, span.text),
            span.speaker,
            " ".join(filter(None, ["" if position else introduction, _date_words(span.date)])),
        )
        for position, span in enumerate(spans)
    )


def _decoded(data: bytes) -> str:
    text = data.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n")


def _turn_spans(lines: Sequence[str], turns: Sequence[Turn], date: str) -> Iterator[_Span]:
    for turn, end, heading, day in _placed(turns, len(lines), date):
        speaker = ""
        for start, last, text in _cut(lines[turn.line : end], turn.line + 1, MAX_TURN_CHARACTERS):
            speaker = speaker or _speaker(turn.role, text)
            yield _Span(start, last, text, heading, day, speaker)


def _log_spans(turns: Sequence[Turn], line_count: int, date: str) -> Iterator[_Span]:
    for turn, end, heading, day in _placed(turns, line_count, date):
        _, *body = _encodable(transcript_format.render_turn(turn)).split("\n")
        speaker = ""
        for _, _, text in _cut(body, 1, MAX_TURN_CHARACTERS):
            speaker = speaker or _speaker(turn.role, text)
            yield _Span(turn.line, max(end, turn.line), text, heading, day, speaker)


def _speaker(role: str, text: str) -> str:
    """The role and the name before a colon at the beginning of the turn; a chat may have many speakers."""
    named = _NAMED.match(text)
    return f"{role} {named[1]}" if named and named[1][0].isupper() else role


def _placed(turns: Sequence[Turn], line_count: int, date: str) -> Iterator[tuple[Turn, int, str, str]]:
    """Turns with their last line, heading and date."""
    previous = ""
    for turn, following in zip(turns, (*turns[1:], None), strict=False):
        if date_of(turn.day):
            date = turn.day
        elif _passed_midnight(previous, turn.time):
            date = _next_day(date)
        previous = turn.time
        if turn.kind == QUOTED:
            continue
        heading = " — ".join(filter(None, [turn.time, turn.role]))
        if turn.kind:
            heading += f" [{turn.kind}]"
        yield turn, following.line - 1 if following else line_count, heading, date


def _section_spans(
    body: Sequence[str], first_line: int, date: str, *, plain: bool
) -> tuple[list[_Span], str]:
    if plain or sum(_HEADING.match(line) is not None for line in body) > _MOST_HEADINGS:
        return [_Span(start, end, text, "", date) for start, end, text in _cut(body, first_line)], ""
    found = sections("\n".join(body), first_line)
    spans: list[_Span] = []
    for section, following in zip(found, (*found[1:], None), strict=False):
        titles = (_COMMENT.sub("", title) for title in section.path)
        heading = HEADING_SEPARATOR.join(filter(None, titles))
        own_date = next(filter(None, map(_first_date, reversed(section.path))), date)
        top = section.start_line - first_line
        skip = 1 if section.level else 0
        parts = list(_cut(body[top + skip : section.end_line - first_line + 1], section.start_line + skip))
        if not parts and section.title and not _is_parent(section, following):
            parts = list(_cut(body[top : top + 1], section.start_line))
        spans.extend(_Span(start, end, text, heading, own_date) for start, end, text in parts)
    return spans, next((section.title for section in found if section.title), "")


def _is_parent(section: MarkdownSection, following: MarkdownSection | None) -> bool:
    return following is not None and following.level > section.level


def _cut(lines: Sequence[str], first_line: int, most: int = MAX_CHARACTERS) -> Iterator[tuple[int, int, str]]:
    """First line, last line and text of pieces within the limit, split at the least disruptive places."""
    if length_of(lines) <= most + 1:
        yield from _whole_lines(lines, 0, len(lines), first_line)
        return
    lines = masked("\n".join(lines)).split("\n")
    start, end, size = 0, 0, 0
    for top, bottom in paragraphs(lines):
        length = length_of(lines[top:bottom])
        together = size + length_of(lines[end:top]) + length if size else length
        if size and together > most + 1:
            yield from _whole_lines(lines, start, end, first_line)
            size, together = 0, length
        if length > most + 1:
            yield from _cut_paragraph(lines[top:bottom], first_line + top, most)
            continue
        if not size:
            start = top
        end, size = bottom, together
    if size:
        yield from _whole_lines(lines, start, end, first_line)


def length_of(lines: Sequence[str]) -> int:
    """Length of lines with a line end each: one more than that of the joined text."""
    return sum(map(len, lines)) + len(lines)


def _whole_lines(
    lines: Sequence[str], start: int, end: int, first_line: int
) -> Iterator[tuple[int, int, str]]:
    """The piece from line ``start`` up to, but not including, ``end``, without blank lines at its edges."""
    while start < end and not lines[start].strip():
        start += 1
    while start < end and not lines[end - 1].strip():
        end -= 1
    if start < end:
        yield first_line + start, first_line + end - 1, "\n".join(lines[start:end])


def paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Half-open line ranges of paragraphs; fenced code is one paragraph, including its blank lines."""
    start = -1
    fence = ""
    for index, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
        if line.strip() and start < 0:
            start = index
        elif not line.strip() and not fence and start >= 0:
            yield start, index
            start = -1
    if start >= 0:
        end = len(lines)
        while not lines[end - 1].strip():
            end -= 1
        yield start, end


def _cut_paragraph(lines: Sequence[str], first_line: int, most: int) -> Iterator[tuple[int, int, str]]:
    start, size = 0, 0
    for index, line in enumerate(lines):
        if size and size + len(line) > most:
            yield from _whole_lines(lines, start, index, first_line)
            start, size = index, 0
        if len(line) > most:
            for text in _cut_line(line, most):
                yield first_line + index, first_line + index, text
            start, size = index + 1, 0
        else:
            size += len(line) + 1
    yield from _whole_lines(lines, start, len(lines), first_line)


def _cut_line(line: str, most: int) -> Iterator[str]:
    start = 0
    while len(line) - start > most:
        window = line[start : start + most]
        ends = [match.end() for match in _SENTENCE_END.finditer(window)]
        cut = ends[-1] if ends and ends[-1] > most // 3 else window.rfind(" ") + 1
        if cut <= most // 3:
            cut = most
        if window[:cut].strip():
            yield window[:cut]
        start += cut
    if line[start:].strip():
        yield line[start:]


def _header_date(header: Mapping[str, object]) -> str:
    return next(filter(None, (_first_date(_plain(header.get(field))) for field in ("date", "started"))), "")


def _path_date(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    if found := _first_date(name):
        return found
    folders = _PATH_DATE.search(path)
    return _checked("-".join(folders.groups())) if folders else ""


def _first_date(text: str) -> str:
    return next(filter(None, (_checked(match[0]) for match in _ISO_DATE.finditer(text))), "")


def _checked(date: str) -> str:
    try:
        return datetime.date.fromisoformat(date).isoformat()
    except ValueError:
        return ""


def _passed_midnight(before: str, after: str) -> bool:
    """Whether the time went back by more than half a day: a new day, and not a clock set back an hour."""
    try:
        return datetime.time.fromisoformat(before).hour - datetime.time.fromisoformat(after).hour > 12
    except ValueError:
        return False


def _next_day(date: str) -> str:
    try:
        return (datetime.date.fromisoformat(date) + datetime.timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return date


def _date_words(date: str) -> str:
    """A date in words people search for, in English regardless of the locale."""
    if not date:
        return ""
    day = datetime.date.fromisoformat(date)
    return f"{date} {MONTH_NAMES[day.month - 1].capitalize()} {DAY_NAMES[day.weekday()].capitalize()}"


def _path_words(path: str) -> str:
    """The words in a file's name and in the name of its folder, except numbers."""
    parts = path.rsplit(".", 1)[0].split("/")[-2:]
    return " ".join(word for part in parts for word in _WORD.findall(part) if not word.isdecimal())


def _plain(value: object) -> str:
    return _encodable(value.strip()) if isinstance(value, str) else ""


def _encodable(text: str) -> str:
    """The text without surrogates and NUL, which escapes in a header can introduce."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _tags(value: object) -> tuple[str, ...]:
    found = value if isinstance(value, list) else _plain(value).strip("[]").split(",")
    return tuple(dict.fromkeys(tag for item in found if (tag := _plain(item).strip("\"'"))))
