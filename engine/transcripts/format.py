"""The transcript format (spec 2.1): a header, a title, and one ``## HH:MM — role`` heading per turn.

A heading begins with the date, ``## YYYY-MM-DD HH:MM — role``, if the day differs from that of the previous
turn or, for the first turn, from the day on which the session started according to the header.

The parser accepts what people and other programs write: hyphens for the dash, ``9:05`` for the hour, CRLF, a
byte order mark, no header at all. Rendering is reversible: for every turn, ``parse(render(...))`` yields an
equal one, whatever text is in it (see ``engine.transcripts.escape``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.header import BOM, locate
from engine.transcripts.escape import (
    ESCAPED_LINE,
    HEADING,
    Fences,
    decode,
    encode_line,
    encode_name,
    escape_text,
    outside,
)
from engine.transcripts.header_text import render_header
from engine.transcripts.turn import Attachment, Block, KnowledgeChange, Role, Text, ToolCall, Transcript, Turn

_SEPARATOR = "<!-- -->"
"""Separates two texts of one turn that would otherwise be parsed as one."""

KEY_PREFIX = "<!-- key:"
"""Start of the line that records which call wrote an entry (``engine.transcripts.capture``)."""

_ROLES: dict[str, Role] = {"user": "user", "agent": "agent", "assistant": "agent", "system": "system"}
_FENCE_LINE = expression(rb"\n {0,3}(?:```|~~~)")
_DAY = expression(r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")
_DATED = expression(rb"\n##[ \t]+[0-9]{4}-")  # not with ``^``: ten times as slow in a long transcript
_TIME = expression(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_TITLE = expression(r"\n#[ \t]+(.*)")
_MARK = expression(r"\n(?:##[ \t]|> \[(?:tool|attachment|knowledge):|\\|<!-- ).*")

_Entry = ToolCall | Attachment | KnowledgeChange

_ENTRY = expression(r"> \[(tool|attachment|knowledge):([^\]]*)\](.*)")
_ARROW = expression(r" (→) ")
_DASH = expression(r" (—|–|-) ")
# A separator inside the first field gets a backslash; backslashes before a separator are doubled.
_ARROW_IN = expression(r"(?<!\\)(?:(\\+)(?=→)|(?:(?<= )|^)(?=→(?: |$)))")
_DASH_IN = expression(r"(?<!\\)(?:(\\+)(?=[—–-])|(?:(?<= )|^)(?=[—–-](?: |$)))")
_ARROW_OUT = expression(r"(?<!\\)(\\+)(?=→)")
_DASH_OUT = expression(r"(?<!\\)(\\+)(?=[—–-])")


def parse(data: bytes, path: str) -> Transcript:
    """Parse a transcript without ever raising or omitting text.

    Text above the first turn, except the title, becomes a ``system`` turn without a time; so does all text of
    a file without turns. Bytes that are not UTF-8 are decoded as surrogates (``surrogateescape``).
    """
    found = locate(data)
    start = max(found.body, len(BOM) if found.bom else 0)
    body = data[start:].decode("utf-8", "surrogateescape")
    if found.newline == "\r\n":
        body = body.replace("\r\n", "\n")
    title, turns = parse_turns(body, 1 + data.count(b"\n", 0, start))
    header: dict[str, object] = dict(found.mapping or {})
    return Transcript(
        path=path,
        session_id=_scalar(header, "session_id"),
        started=_scalar(header, "started"),
        ended=_scalar(header, "ended"),
        title=title,
        header=header,
        turns=turns,
    )


def last_turn(data: bytes) -> Turn | None:
    """The last turn of a transcript, parsing no more of it than necessary; its ``line`` is not set."""
    tail, end = data, len(data)
    while (start := data.rfind(b"\n## ", 0, end) + 1) > 0:
        line = data[start : data.find(b"\n", start) + 1 or len(data)].decode("utf-8", "replace")
        if HEADING.fullmatch(line.rstrip("\r\n")):
            tail = data[start:]
            break
        end = start
    # A fence further down could close one that began above, in which case the heading is code.
    turns = parse(data if _FENCE_LINE.search(tail) else tail, "").turns
    return turns[-1] if turns else None


def last_day(data: bytes) -> str:
    """The last date in a heading of a transcript; empty if there is none."""
    # Most sessions begin and end on the same day, so nothing has to be parsed.
    turns = parse(data, "").turns if _DATED.search(b"\n" + data) else ()
    return next((turn.day for turn in reversed(turns) if turn.day), "")


def render(transcript: Transcript) -> str:
    """The whole file: header, title and turns. Parsing and rendering it again gives the same text."""
    parts = [render_header(transcript.header)] if transcript.header else []
    title = _one_line(transcript.title)
    if title:
        parts.append(f"# {title}\n")
    parts += [render_turn(turn) for turn in transcript.turns]
    return "\n".join(parts)


def render_turn(turn: Turn) -> str:
    """One turn, starting with its heading and ending with a line end."""
    time = _TIME.fullmatch(turn.time)
    when = f"{int(time[1]):02}:{time[2]} — " if time else "— "
    if _DAY.fullmatch(turn.day):
        when = f"{turn.day} {when}"
    kind = re.sub(r"[^A-Za-z0-9_.-]+", "-", turn.kind)
    heading = f"## {when}{turn.role}" + (f" [{kind}]" if kind else "")
    return f"{heading}\n{render_blocks(turn.blocks)}"


def render_blocks(blocks: tuple[Block, ...], previous: Block | None = None) -> str:
    """Render blocks below a heading, or below ``previous``, the turn's last block so far."""
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, Text):
            if isinstance(previous, Text):
                parts.append(f"\n{_SEPARATOR}\n")
            if previous is not None:
                parts.append("\n")
            parts.append(f"{escape_text(block.text)}\n")
        else:
            if isinstance(previous, Text):
                parts.append("\n")
            parts.append(f"{_render_entry(block)}\n")
        previous = block
    return "".join(parts)


def parse_turns(body: str, first_line: int = 1) -> tuple[str, tuple[Turn, ...]]:
    """The title and the turns of a transcript's body.

    ``body`` has ``\\n`` line ends and starts on the file's line ``first_line``.
    """
    title, above = "", _Draft("system", "", "", 0)
    drafts = [above]
    line, counted, start = first_line, 0, 0
    escapes: list[int] = []  # places since ``start``
    marks = _MARK.finditer("\n" + body)
    for match in outside(Fences(body).blocks(), marks, lambda match: match.start()):
        place, text = match.start(), match[0][1:]
        heading, entry = HEADING.fullmatch(text), parse_entry(text)
        if ESCAPED_LINE.match(text):
            escapes.append(place)
        elif heading or entry or text == _SEPARATOR or text.startswith(KEY_PREFIX):
            drafts[-1].blocks += _text(body, start, place, escapes)
            start = match.end()
            escapes.clear()
            if heading:
                line += body.count("\n", counted, place)
                counted = place
                drafts.append(_heading(heading, line))
            elif entry:
                drafts[-1].blocks.append(entry)
    drafts[-1].blocks += _text(body, start, len(body), escapes)
    if above.blocks and isinstance(above.blocks[0], Text):
        title, rest = _title(above.blocks[0].text)
        # Text without any turn is kept whole: an apparent title may be a comment in a log.
        if title and (len(drafts) > 1 or not rest):
            above.blocks[:1] = [Text(rest)] if rest else []
    kept = drafts if above.blocks else drafts[1:]
    return title, tuple(draft.turn() for draft in kept)


@dataclass(slots=True)
class _Draft:
    role: Role
    time: str
    kind: str
    line: int
    day: str = ""
    blocks: list[Block] = field(default_factory=list)

    def turn(self) -> Turn:
        return Turn(self.role, self.time, tuple(self.blocks), self.kind, self.line, self.day)


def _text(body: str, start: int, end: int, escapes: Sequence[int]) -> list[Text]:
    """The text between two places, unescaped and without blank lines at its edges; empty if it is blank."""
    raw = body[start:end]
    kept = raw.strip(" \t\n")
    if not kept:
        return []
    last = raw.find("\n", len(raw.rstrip(" \t\n")))
    stop = start + (last if last >= 0 else len(raw))
    place = start + raw.rfind("\n", 0, raw.index(kept[0])) + 1
    pieces: list[str] = []
    for escape in escapes:
        pieces.append(body[place:escape])
        place = escape + 1
    return [Text(decode("".join((*pieces, body[place:stop]))))]


def _heading(match: re.Match[str], line: int) -> _Draft:
    time = f"{int(match['hour']):02}:{match['minute']}" if match["hour"] else ""
    kind = (match["kind"] or "").strip(" ")
    return _Draft(_ROLES[match["role"].lower()], time, kind, line, match["day"] or "")


def _title(text: str) -> tuple[str, str]:
    """The first heading of a text and the text without it."""
    headings = _TITLE.finditer("\n" + text)
    for match in outside(Fences(text).blocks(), headings, lambda match: match.start()):
        title = match[1].strip(" \t")
        if title:
            before, after = text[: match.start()].rstrip(" \t\n"), text[match.end() - 1 :].strip("\n")
            return title, f"{before}\n\n{after}" if before and after else before or after
    return "", text


def _one_line(text: str) -> str:
    return encode_line(" ".join(text.split()))


def _scalar(header: Mapping[str, object], key: str) -> str:
    value = header.get(key)
    return value if isinstance(value, str) else ""


def _render_entry(entry: _Entry) -> str:
    """The entry's line, without the line end."""
    match entry:
        case ToolCall(name, summary, result):
            return f"> [tool:{encode_name(name)}]{_join(summary, result, ' → ', _ARROW_IN)}"
        case KnowledgeChange(action, path, summary):
            return f"> [knowledge:{encode_name(action)}]{_join(path, summary, ' — ', _DASH_IN)}"
        case Attachment(path):
            return f"> [attachment:{encode_name(path)}]"


def parse_entry(line: str) -> _Entry | None:
    """The entry on a line; ``None`` if the line is ordinary text."""
    match = _ENTRY.fullmatch(line)
    if match is None:
        return None
    kind, name, rest = match.groups()
    if rest and not rest.startswith(" "):
        return None
    name = decode(name)
    if kind == "tool":
        return ToolCall(name, *_split(rest, _ARROW, _ARROW_OUT))
    if kind == "knowledge":
        return KnowledgeChange(name, *_split(rest, _DASH, _DASH_OUT))
    return Attachment(name) if not rest.strip(" \t") else None


def _join(first: str, second: str, separator: str, inside: re.Pattern[str]) -> str:
    first = inside.sub(lambda match: (match[1] or "") * 2 if match[1] else "\\", encode_line(first))
    text = f" {first}" if first else ""
    return f"{text}{separator}{encode_line(second)}" if second else text


def _split(rest: str, separator: re.Pattern[str], inside: re.Pattern[str]) -> tuple[str, str]:
    found = separator.search(rest)
    first, second = (rest[: found.start()], rest[found.end() :]) if found else (rest, "")
    first = inside.sub(lambda match: "\\" * (len(match[1]) // 2), first.removeprefix(" "))
    return decode(first), decode(second)
