"""Formats excerpts in ``{rag-context}`` with their source and speaker (spec 6.3).

One line names the file, and its date if the path does not; below it each excerpt has a ``§``, its line number
if there is room, and the speaker or heading. Nothing is repeated from the excerpt above. A transcript is
named by the date and time of its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from engine.context.delimiters import marker, one_line, outside
from engine.search.results import SearchResult
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.paths import is_shared

_HEADING_CHARACTERS = 120
_TRANSCRIPT = expression(
    r"raw/conversations/(\d{4})/(\d\d)/(\d\d)/(\d{4})-"
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|ses_[^-/]+|[^/]+?)(?:-([^/]+))?\.md"
)
_LINE_MARK = expression(
    r"((?:^|[\v\f\x1c-\x1e\x85\u2028\u2029])"
    r"[\s\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*)§",
    re.MULTILINE,
)
"""A ``§`` at the visible beginning of a line, possibly after invisible characters."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a search result that is shown."""

    result: SearchResult
    text: str  # safe, without surrounding blank lines
    first: int  # 1-based line of the file
    last: int  # inclusive
    is_cut: bool  # whether only the best part is shown, on one line


def safe(text: str) -> str:
    """Text from outside that can neither end the block nor imitate the line of another source."""
    text = outside(text)
    return _LINE_MARK.sub(r"\1\\§", text) if "§" in text else text


def is_other_part(found: Excerpt, result: SearchResult) -> bool:
    """Whether a result is another part of the same lines, since long lines and turns have several."""
    same = (found.result.start_line, found.result.end_line) == (result.start_line, result.end_line)
    return same and normal(result.text) not in normal(found.result.text)


def grouped(chosen: Sequence[Excerpt]) -> list[Excerpt]:
    """Excerpts by file and line, files in the order of their best excerpts."""
    rank: dict[str, int] = {}
    for found in chosen:
        rank.setdefault(found.result.path, len(rank))
    return sorted(chosen, key=lambda found: (rank[found.result.path], *order(found)))


def order(found: Excerpt) -> tuple[int, int]:
    return found.first, found.last


@dataclass(frozen=True, slots=True)
class Style:
    """How excerpts are introduced."""

    numbered: bool = True  # whether excerpts have line numbers, and transcripts their subject
    conversation: str = ""  # the transcript of the current conversation, if any
    titled: bool = False  # whether transcripts have their subject although nothing is numbered


def head(found: Excerpt, style: Style, *, above: Excerpt | None) -> str:
    """The text before an excerpt: the source line and a label, unless known from the one above."""
    source = _source(found, style)
    if above is None or (above.result.path, _source(above, style)) != (found.result.path, source):
        return f"{source}\n{_label(found, style)}"
    return "" if _follows(found, above) else _label(found, style)


def _follows(found: Excerpt, above: Excerpt) -> bool:
    """Whether an excerpt directly continues the turn or section of the one above."""
    same = (found.result.heading, found.result.speaker) == (above.result.heading, above.result.speaker)
    return same and above.last + 1 == found.first and not (found.is_cut or above.is_cut)


def _source(found: Excerpt, style: Style) -> str:
    """The line that names the file, and its date if the path does not."""
    result = found.result
    return _source_line(
        result.path, result.date, result.path == style.conversation, style.numbered or style.titled
    )


@lru_cache(maxsize=4_096)
def _source_line(path: str, day: str, is_own: bool, in_full: bool) -> str:
    name = f"{path} · shared by others" if is_shared(path) else _name(path, in_full)
    if is_own:
        name = f"earlier in this conversation ({name})"
    return marker(name if day in path or day.replace("-", "/") in path else f"{name} · {day}")


def _name(path: str, in_full: bool) -> str:
    """The shown path; for a transcript its date and time, in full also its subject or session."""
    match = _TRANSCRIPT.fullmatch(path)
    if match is None:
        return path
    year, month, day, clock, session, about = match.groups()
    time = f"{year}-{month}-{day} {clock}"
    return f"{time} {about or session}" if in_full else time


def _label(found: Excerpt, style: Style) -> str:
    """The line number, and the speaker or heading."""
    result = found.result
    first = str(found.first) if style.numbered else ""
    if result.speaker:
        role, _, name = result.speaker.partition(" ")
        role = f"{role} (perhaps quoting)" if result.had_read else role
        speaker = "" if name and found.text.lstrip().startswith(f"{name}:") else f"{role}: "
        return f"§{first} {speaker}"
    last = f"-{found.last}" if first and found.last > found.first else ""
    heading = one_line(result.heading, _HEADING_CHARACTERS)
    about = "" if not heading or heading.rpartition(" › ")[2] in found.text else f" {heading}"
    return f"§{first}{last}{outside(about)}\n"


@lru_cache(maxsize=512)
def normal(text: str) -> str:
    """A text with white space normalized."""
    return " ".join(text.split())
