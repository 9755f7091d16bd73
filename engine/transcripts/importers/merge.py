"""Inserts turns from another record of a session into the existing transcript, each in its place.

Existing text is never removed or changed, except that a heading gets its date if the turn inserted before it
is from another day.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engine.transcripts.days import day_to_write, following, moment
from engine.transcripts.format import parse, render_turn
from engine.transcripts.importers.message_queue import delivers
from engine.transcripts.secrets import clean_turn
from engine.transcripts.turn import Block, Role, Text, ToolCall, Turn

_TELLING = 5
"""Words of a message that hardly stands twice in a session by chance."""
_HEADING = re.compile(rb"##[ \t]+(?=[0-9\xe2-])")

_QUOTED = re.compile(r"(`{3,})\n(.*)\n\1", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Addition:
    """A turn to be inserted."""

    place: int  # number of existing turns before it
    turn: Turn  # with its date


def _turn_times(turns: Sequence[Turn], started: datetime | None) -> list[datetime | None]:
    """The time of each turn, derived from its heading and those before it; ``None`` if unknown."""
    times: list[datetime | None] = []
    before = started
    for turn in turns:
        if before is None:
            before = moment(turn.day)
        if before is not None:
            before = following(before, turn.time, turn.day)
        times.append(before)
    return times


def with_days(turns: Sequence[Turn], started: datetime | None) -> tuple[Turn, ...]:
    """Give each turn its date where it is known."""
    return tuple(
        turn if turn.day or at is None or not turn.time else replace(turn, day=f"{at:%Y-%m-%d}")
        for turn, at in zip(turns, _turn_times(turns, started), strict=True)
    )


def find_missing(
    present: Sequence[Turn],
    wanted: Sequence[Turn],
    started: datetime | None,
    *,
    loose: bool = False,
    redact: bool = False,
) -> list[Addition]:
    """Find the turns, or parts of turns, that a transcript lacks.

    A turn is present if the transcript has one with the same speaker, time and content; repeated turns are
    matched one to one. Of a turn that has grown, only the new part is missing; lines that a person has added
    to a turn do not matter.

    ``wanted`` are all turns of the session in another source, in order, each with its date. ``started`` is
    the session's start according to the transcript. ``loose`` is for a source in another format, whose times
    and tool calls differ, and is assumed if they turn out to: a user turn is then present if its text is, and
    agent turns are added only after a missing user turn. ``redact`` compares and returns turns without
    secrets, so that a turn written earlier without redaction is recognized as well.
    """
    if redact:
        present, wanted = [*map(clean_turn, present)], [*map(clean_turn, wanted)]
    matches = [] if loose else _match_exactly(present, wanted)
    if loose or _has_other_times(present, wanted, matches):
        matches = _match_loosely(present, wanted)
    times, wanted_times = _turn_times(present, started), _turn_times(wanted, None)
    additions: list[Addition] = []
    low = 0
    for number, (at, rest) in enumerate(matches):
        if at is not None:
            low = max(low, at + 1)
        if rest is None:
            continue
        if at is None:
            later = (place for place, _ in matches[number + 1 :] if place is not None and place >= low)
            place = _place_by_time(times, wanted_times[number], low, next(later, len(present)))
        else:
            place = at + 1
        additions.append(Addition(place, rest))
    return additions


def insert_turns(data: bytes, additions: Sequence[Addition], started: datetime | None) -> bytes:
    """Insert turns into a transcript; those for the same place keep their order.

    ``started`` is the session's start according to the transcript.
    """
    turns = parse(data, "").turns
    times = _turn_times(turns, started)
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    by_place: defaultdict[int, list[Turn]] = defaultdict(list)
    for addition in additions:
        by_place[_after_head(data, turns, starts, addition.place)].append(addition.turn)
    newline = b"\r\n" if b"\r\n" in data[:4096] else b"\n"
    pieces: list[bytes] = []
    done = 0
    for place in sorted(by_place):
        start = starts[turns[place].line - 1] if place < len(turns) else len(data)
        before = times[place - 1] if place else started
        pieces.append(data[done:start])
        done = start
        if place == len(turns):
            pieces.append(b"" if data.endswith(b"\n") or not data else newline)
        for turn in by_place[place]:
            turn, before = _drop_redundant_day(turn, before)
            piece = render_turn(turn).encode("utf-8", "surrogateescape").replace(b"\n", newline)
            pieces.append(newline + piece if place == len(turns) else piece + newline)
        if place < len(turns) and before is not None and not turns[place].day:
            at = times[place]
            if at is not None and following(before, turns[place].time) != at:
                pieces.append(
                    _HEADING.sub(b"## " + f"{at:%Y-%m-%d} ".encode(), data[done : done + 8], count=1)
                )
                done += 8
    pieces.append(data[done:])
    return b"".join(pieces)


def _after_head(data: bytes, turns: Sequence[Turn], starts: Sequence[int], place: int) -> int:
    """Move a place behind the text above the first heading."""
    while place < len(turns) and not data.startswith(b"## ", starts[max(turns[place].line - 1, 0)]):
        place += 1
    return place


def _drop_redundant_day(turn: Turn, before: datetime | None) -> tuple[Turn, datetime | None]:
    """Remove a turn's date if the heading does not need it; also return the turn's time."""
    known = before or moment(turn.day)
    if known is None:
        return turn, None
    at = following(known, turn.time, turn.day)
    if before is not None and turn.day and turn.time:
        turn = replace(turn, day=day_to_write(at, before))
    return turn, at


def _place_by_time(times: Sequence[datetime | None], at: datetime | None, low: int, high: int) -> int:
    """The place between two others for a turn of a given time; the last one if times are unknown."""
    known = [time for time in times[low:high] if time is not None]
    if at is None or len(known) < high - low:
        return high
    return low + bisect_right(known, at)


Match = tuple[int | None, Turn | None]
"""The number of the existing turn that matches, and the part of the turn that is missing."""


def _match_exactly(present: Sequence[Turn], wanted: Sequence[Turn]) -> list[Match]:
    same: defaultdict[Turn, deque[int]] = defaultdict(deque)
    for number, turn in enumerate(present):
        same[_match_key(turn)].append(number)
    found: list[Match | None] = []
    for turn in wanted:
        places = same[_match_key(turn)]
        found.append((places.popleft(), None) if places else None)
    matched = {match[0] for match in found if match is not None}
    unmatched: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, turn in enumerate(present):
        if number not in matched:
            unmatched[turn.role, turn.time].append(number)
    return [
        match
        or (
            _match_grown(present, turn, unmatched)
            if turn.role == "agent"
            else _match_annotated(present, turn, unmatched[turn.role, turn.time])
        )
        for match, turn in zip(found, wanted, strict=True)
    ]


def _has_other_times(present: Sequence[Turn], wanted: Sequence[Turn], matches: Sequence[Match]) -> bool:
    """Whether a source of the same format gives other times, as it may be of another version of its program:
    a message that the transcript seems to lack stands in it, and not in the source.
    """
    matched = {place for place, _ in matches}
    left = {
        _normalized_text(turn)
        for place, turn in enumerate(present)
        if turn.role == "user" and place not in matched
    }
    lacking = (turn for turn, (place, _) in zip(wanted, matches, strict=True) if place is None)
    return any(
        turn.role == "user" and len(text.split()) >= _TELLING and text in left
        for turn in lacking
        for text in [_normalized_text(turn)]
    )


def _match_annotated(present: Sequence[Turn], turn: Turn, places: list[int]) -> Match:
    """Match a turn to which a person has added lines.

    ``places`` are the numbers of the turns that may match; the one that does is removed.
    """
    for place in places:
        if _missing_blocks(present[place], turn) == ():
            places.remove(place)
            return place, None
    return None, turn if turn.blocks else None


def _match_grown(
    present: Sequence[Turn], turn: Turn, unmatched: Mapping[tuple[str, str], list[int]]
) -> Match:
    """Match a turn that exists in a shorter or longer form, or in parts: each time it grew, the new part was
    inserted as a turn after the last one, with a later time if a person had edited the transcript.

    ``unmatched`` are the numbers of the turns that may match, by role and time; those that do are removed.
    """
    # Earlier versions wrote no time above a turn that begins with a tool call.
    for place in (*unmatched[turn.role, turn.time], *unmatched[turn.role, ""]):
        rest = _missing_blocks(present[place], turn)
        if rest is None:
            continue
        last = place
        _take(unmatched, present, last)
        while rest and last + 1 < len(present) and present[last + 1].role == turn.role:
            more = _missing_blocks(present[last + 1], replace(turn, blocks=rest))
            if more is None or not _take(unmatched, present, last + 1):
                break
            last, rest = last + 1, more
        return last, replace(turn, blocks=rest) if rest else None
    return None, turn if turn.blocks else None


def _take(unmatched: Mapping[tuple[str, str], list[int]], present: Sequence[Turn], place: int) -> bool:
    """Remove an existing turn from those not matched yet; whether it was one of them."""
    places = unmatched[present[place].role, present[place].time]
    if place not in places:
        return False
    places.remove(place)
    return True


class Unseen:
    """The content at the end of a transcript that has not come up again while its log is re-read.

    ``turns`` are the turns about to be rewritten; ``redact`` compares them without secrets.
    """

    def __init__(self, turns: Sequence[Turn], *, redact: bool = False) -> None:
        self._redact = redact
        if redact:
            turns = [*map(clean_turn, turns)]
        self._left = deque((turn.role, block) for turn in turns for block in turn.blocks)

    def __bool__(self) -> bool:
        return bool(self._left)

    def see(self, turn: Turn) -> None:
        """Note a turn as it is read now."""
        for block in (clean_turn(turn) if self._redact else turn).blocks:
            is_whole = False
            while self._left and not is_whole and self._left[0][0] == turn.role:
                earlier = self._left[0][1]
                if not _covers(block, earlier, turn.role):
                    break
                self._left.popleft()
                # Messages queued separately can reach the agent as one.
                is_whole = turn.role != "user" or block == earlier


def _covers(block: Block, earlier: Block, role: Role) -> bool:
    """Whether a block equals an earlier one or has grown from it."""
    if isinstance(block, Text) and isinstance(earlier, Text):
        if role == "user" and delivers(block.text, earlier.text):
            return True
        return block.text == earlier.text or block.text.startswith(f"{earlier.text}\n")
    return _without_result(block) == _without_result(earlier)


def _missing_blocks(existing: Turn, turn: Turn) -> tuple[Block, ...] | None:
    """The blocks of a turn that an existing one lacks; ``None`` if the two do not begin alike."""
    present, units = [*map(_without_result, _units(existing))], list(_units(turn))
    if not present or not units:
        return None
    opening = _without_result(units[0])
    # A person may have added text above it.
    first = next((each for each in present if not isinstance(each, Text) or each == opening), None)
    if first != opening and not any(_annotates(each, opening) for each in present):
        return None
    counts = Counter(present)
    counts.subtract(map(_without_result, units))
    annotated = [unit for unit in present if counts[unit] > 0]
    counts = Counter(present)
    rest: list[Block] = []
    for unit in units:
        if counts[_without_result(unit)]:
            counts[_without_result(unit)] -= 1
            continue
        longer = next((each for each in annotated if _annotates(each, unit)), None)
        if longer is not None:
            annotated.remove(longer)
        elif isinstance(unit, Text) and rest and isinstance(rest[-1], Text):
            rest[-1] = Text(f"{rest[-1].text}\n\n{unit.text}")
        else:
            rest.append(unit)
    return tuple(rest)


def _annotates(longer: Block, block: Block) -> bool:
    """Whether a text has all lines of another one in order, whatever a person has added between them."""
    if not (isinstance(longer, Text) and isinstance(block, Text)):
        return False
    lines = iter(longer.text.split("\n"))
    return all(line in lines for line in block.text.split("\n"))


def _units(turn: Turn) -> Iterator[Block]:
    """The blocks of a turn, with each paragraph as a separate block."""
    for block in turn.blocks:
        if isinstance(block, Text):
            yield from (Text(part) for part in re.split(r"\n{2,}", block.text) if part.strip())
        else:
            yield block


def _without_result(block: Block) -> Block:
    """A block to compare: a call's result may be in only one of the files."""
    return replace(block, result="") if isinstance(block, ToolCall) else block


def _match_key(turn: Turn) -> Turn:
    """A turn to compare: whether its date is written depends on the turn before it."""
    return replace(turn, day="", kind="" if turn.is_dialogue else turn.kind)


def _match_loosely(present: Sequence[Turn], wanted: Sequence[Turn]) -> list[Match]:
    same: defaultdict[str, deque[int]] = defaultdict(deque)
    for number, turn in enumerate(present):
        if turn.role == "user":
            same[_normalized_text(turn)].append(number)
    found: list[Match] = []
    is_new = False
    for turn in wanted:
        if turn.role == "user":
            places = same[_normalized_text(turn)]
            is_new = not places and bool(turn.blocks)
            found.append((places.popleft() if places else None, turn if is_new else None))
        else:
            is_there = turn.kind == "plan" and any(
                _normalized_text(turn) == _normalized_text(each) for each in present
            )
            is_wanted = turn.role == "agent" and (is_new or turn.kind == "plan")
            found.append((None, turn if is_wanted and not is_there else None))
    return found


def _normalized_text(turn: Turn) -> str:
    return " ".join(turn.text.split())


class Said:
    """The messages of a user in one record."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._plain = [*map(_on_one_line, texts)]
        self._texts = [*texts]
        self._left = Counter(self._plain)

    def take(self, text: str) -> bool:
        """Whether a message is among them: the same, each only once, or part of a longer one.

        A quoted paste is part of a message that has its text.
        """
        plain = _on_one_line(text)
        if self._left[plain]:
            self._left[plain] -= 1
            return True
        if (quoted := _QUOTED.fullmatch(text)) is not None:
            paste = _on_one_line(quoted[2])
            return any(paste in each for each in self._plain)
        return any(
            whole != plain and delivers(each, text)
            for each, whole in zip(self._texts, self._plain, strict=True)
        )


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
