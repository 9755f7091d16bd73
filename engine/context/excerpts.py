"""Excerpts of files as they stand in ``{rag-context}``: where each is from, and who says it (spec 6.3).

One line names the file, and the day where the path does not; below it each excerpt has a ``§``, its line
where there is room for that, and who speaks or what it is about. What is known from the excerpt above is
not said again. A transcript is named by the day and time of its beginning, which lead to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from engine.context.delimiters import marker, one_line, outside
from engine.records import dataclass
from engine.search.results import SearchResult
from engine.store.paths import is_shared

_HEADING_CHARACTERS = 120
_TRANSCRIPT = re.compile(
    r"raw/conversations/(\d{4})/(\d\d)/(\d\d)/(\d{4})-"
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|ses_[^-/]+|[^/]+?)(?:-([^/]+))?\.md"
)
_LINE_MARK = re.compile(
    r"((?:^|[\v\f\x1c-\x1e\x85\u2028\u2029])"
    r"[\s\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*)§",
    re.MULTILINE,
)
"""A ``§`` at what looks like the beginning of a line, whatever invisible characters precede it."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is shown of a search result."""

    result: SearchResult
    text: str  # safe, without blank lines around it
    first: int  # 1-based line of the file
    last: int  # inclusive
    is_cut: bool  # only the best lines between these are shown, on one line


def safe(text: str) -> str:
    """Text from outside that cannot end the block, nor pass for a line of another source."""
    text = outside(text)
    return _LINE_MARK.sub(r"\1\\§", text) if "§" in text else text


def is_beside(found: Excerpt, result: SearchResult) -> bool:
    """Whether a result is another part of the same lines: a long line, or a turn of a log, has several."""
    same = (found.result.start_line, found.result.end_line) == (result.start_line, result.end_line)
    return same and normal(result.text) not in normal(found.result.text)


def grouped(chosen: Sequence[Excerpt]) -> list[Excerpt]:
    """Files in the order of their best excerpt, excerpts of a file in the order of its lines."""
    rank: dict[str, int] = {}
    for found in chosen:
        rank.setdefault(found.result.path, len(rank))
    return sorted(chosen, key=lambda found: (rank[found.result.path], *order(found)))


def order(found: Excerpt) -> tuple[int, int]:
    """Where an excerpt stands in its file."""
    return found.first, found.last


@dataclass(frozen=True, slots=True)
class Style:
    """How excerpts are introduced."""

    numbered: bool = True  # whether each has its line, and each transcript what it is about
    conversation: str = ""  # the transcript of the conversation itself; empty without one


def head(found: Excerpt, style: Style, *, above: Excerpt | None) -> str:
    """What stands before an excerpt: the line that names file and day, and a label, unless known already."""
    source = _source(found, style)
    if above is None or (above.result.path, _source(above, style)) != (found.result.path, source):
        return f"{source}\n{_label(found, style)}"
    return "" if _follows(found, above) else _label(found, style)


def _follows(found: Excerpt, above: Excerpt) -> bool:
    """Whether a whole piece goes on with a turn or a section where the one above ends."""
    same = (found.result.heading, found.result.speaker) == (above.result.heading, above.result.speaker)
    return same and above.last + 1 == found.first and not (found.is_cut or above.is_cut)


def _source(found: Excerpt, style: Style) -> str:
    """The line that names the file, and the day where the path does not."""
    result = found.result
    return _source_line(result.path, result.date, result.path == style.conversation, style.numbered)


@lru_cache(maxsize=4_096)
def _source_line(path: str, day: str, is_own: bool, in_full: bool) -> str:
    name = f"{path} · shared by others" if is_shared(path) else _name(path, in_full)
    if is_own:
        name = f"earlier in this conversation ({name})"
    return marker(name if day in path or day.replace("-", "/") in path else f"{name} · {day}")


def _name(path: str, in_full: bool) -> str:
    """A path as it is shown; of a transcript day and time, in full with what it is about or its session."""
    match = _TRANSCRIPT.fullmatch(path)
    if match is None:
        return path
    year, month, day, clock, session, about = match.groups()
    moment = f"{year}-{month}-{day} {clock}"
    return f"{moment} {about or session}" if in_full else moment


def _label(found: Excerpt, style: Style) -> str:
    """Where the excerpt stands, and who says it or what it is about."""
    result = found.result
    first = str(found.first) if style.numbered else ""
    if result.speaker:
        role, _, name = result.speaker.partition(" ")
        said = "" if name and found.text.lstrip().startswith(f"{name}:") else f"{role}: "
        return f"§{first} {said}"
    last = f"-{found.last}" if first and found.last > found.first else ""
    heading = one_line(result.heading, _HEADING_CHARACTERS)
    about = "" if not heading or heading.rpartition(" › ")[2] in found.text else f" {heading}"
    return f"§{first}{last}{outside(about)}\n"


@lru_cache(maxsize=512)
def normal(text: str) -> str:
    """A text whose line ends and spaces do not count."""
    return " ".join(text.split())
