"""Puts turns of another file of a session into the transcript there is, each in its place.

Nothing that stands there is taken away or changed, except that a heading is given its date where the turn put
before it was spoken on another day.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engine.transcripts.days import day_to_write, following, moment
from engine.transcripts.format import parse, render_turn
from engine.transcripts.importers.queued import delivers
from engine.transcripts.secrets import clean_turn
from engine.transcripts.turn import Block, Role, Text, ToolCall, Turn

_HEADING = re.compile(rb"##[ \t]+(?=[0-9\xe2-])")


@dataclass(frozen=True, slots=True)
class Addition:
    """A turn that is not there yet."""

    place: int  # how many of the existing turns stand before it
    turn: Turn  # with its date written


def dated(turns: Sequence[Turn], started: datetime | None) -> list[datetime | None]:
    """When each turn was spoken, as far as its heading and those before it say."""
    found: list[datetime | None] = []
    before = started
    for turn in turns:
        if before is None:
            before = moment(turn.day)
        if before is not None:
            before = following(before, turn.time, turn.day)
        found.append(before)
    return found


def with_days(turns: Sequence[Turn], started: datetime | None) -> tuple[Turn, ...]:
    """Turns that each have their date, as far as it is known."""
    return tuple(
        turn if turn.day or at is None or not turn.time else replace(turn, day=f"{at:%Y-%m-%d}")
        for turn, at in zip(turns, dated(turns, started), strict=True)
    )


def missing(
    present: Sequence[Turn],
    wanted: Sequence[Turn],
    started: datetime | None,
    *,
    retold: bool = False,
    redact: bool = False,
) -> list[Addition]:
    """What of some turns is not in a transcript.

    A turn is there when one of its speaker, time and words is, each counted as often as it stands there. Of a
    turn that has grown, what it has grown by is missing.

    ``wanted`` are all turns of the session as another source has them, in order, each with its date.
    ``started`` is when the session started, by the transcript. ``retold`` says that the other source tells
    the session in another form, so that times and tool calls differ: a turn of the person is then there when
    its words are, and what the agent does is added only where the person's words before it are missing.
    ``redact`` compares and gives turns without secrets: one that was written before is there without them
    too.
    """
    if redact:
        present, wanted = [*map(clean_turn, present)], [*map(clean_turn, wanted)]
    rests = _retold(present, wanted) if retold else _compared(present, wanted)
    times, others = dated(present, started), dated(wanted, None)
    found: list[Addition] = []
    low = 0
    for number, (at, rest) in enumerate(rests):
        if at is not None:
            low = max(low, at + 1)
        if rest is None:
            continue
        if at is None:
            later = (place for place, _ in rests[number + 1 :] if place is not None and place >= low)
            place = _by_time(times, others[number], low, next(later, len(present)))
        else:
            place = at + 1
        found.append(Addition(place, rest))
    return found


def inserted(data: bytes, additions: Sequence[Addition], started: datetime | None) -> bytes:
    """A transcript with turns put in.

    Of ``additions``, those that go to the same place stand there in their order. ``started`` is when the
    session started, by the transcript.
    """
    turns = parse(data, "").turns
    times = dated(turns, started)
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
            turn, before = _undated(turn, before)
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
    """Where a turn can be put: not before what stands above the first heading."""
    while place < len(turns) and not data.startswith(b"## ", starts[max(turns[place].line - 1, 0)]):
        place += 1
    return place


def _undated(turn: Turn, before: datetime | None) -> tuple[Turn, datetime | None]:
    """A turn with its date only where it is needed, and when it was spoken."""
    known = before or moment(turn.day)
    if known is None:
        return turn, None
    at = following(known, turn.time, turn.day)
    if before is not None and turn.day and turn.time:
        turn = replace(turn, day=day_to_write(at, before))
    return turn, at


def _by_time(times: Sequence[datetime | None], at: datetime | None, low: int, high: int) -> int:
    """The place between two others for what was spoken at some time; the last one where it is not known."""
    known = [time for time in times[low:high] if time is not None]
    if at is None or len(known) < high - low:
        return high
    return low + bisect_right(known, at)


Rest = tuple[int | None, Turn | None]
"""Where a turn stands already, and what of it is missing."""


def _compared(present: Sequence[Turn], wanted: Sequence[Turn]) -> list[Rest]:
    same: defaultdict[Turn, deque[int]] = defaultdict(deque)
    for number, turn in enumerate(present):
        same[_said(turn)].append(number)
    found: list[Rest | None] = []
    for turn in wanted:
        places = same[_said(turn)]
        found.append((places.popleft(), None) if places else None)
    taken = {rest[0] for rest in found if rest is not None}
    opened: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, turn in enumerate(present):
        if number not in taken and turn.role == "agent":
            opened[turn.role, turn.time].append(number)
    return [
        rest or _grown(present, turn, opened[turn.role, turn.time])
        for rest, turn in zip(found, wanted, strict=True)
    ]


def _grown(present: Sequence[Turn], turn: Turn, places: list[int]) -> Rest:
    """A turn of which a shorter or a longer form stands there, and what that lacks."""
    for place in places:
        rest = _rest(present[place], turn)
        if rest is not None:
            places.remove(place)
            return place, replace(turn, blocks=rest) if rest else None
    return None, turn if turn.blocks else None


class Unseen:
    """What the end of a transcript says and a new reading of its log has not said yet.

    ``turns`` are those at the end, to be written anew; ``redact`` compares them without secrets.
    """

    def __init__(self, turns: Sequence[Turn], *, redact: bool = False) -> None:
        self._redact = redact
        if redact:
            turns = [*map(clean_turn, turns)]
        self._left = deque((turn.role, block) for turn in turns for block in turn.blocks)

    def __bool__(self) -> bool:
        return bool(self._left)

    def see(self, turn: Turn) -> None:
        """Take note of a turn as it is read now."""
        for block in (clean_turn(turn) if self._redact else turn).blocks:
            is_whole = False
            while self._left and not is_whole and self._left[0][0] == turn.role:
                earlier = self._left[0][1]
                if not _covers(block, earlier, turn.role):
                    break
                self._left.popleft()
                # What was typed ahead in several messages can reach the agent in one.
                is_whole = turn.role != "user" or block == earlier


def _covers(block: Block, earlier: Block, role: Role) -> bool:
    """Whether a block is what an earlier one was, or has grown from it."""
    if isinstance(block, Text) and isinstance(earlier, Text):
        if role == "user" and delivers(block.text, earlier.text):
            return True
        return block.text == earlier.text or block.text.startswith(f"{earlier.text}\n")
    return _bare(block) == _bare(earlier)


def _rest(shorter: Turn, turn: Turn) -> tuple[Block, ...] | None:
    """The blocks that a turn has and another does not; ``None`` where they do not begin alike."""
    there, units = list(_units(shorter)), list(_units(turn))
    if not there or not units or _bare(there[0]) != _bare(units[0]):
        return None
    counts = Counter(map(_bare, there))
    rest: list[Block] = []
    for unit in units:
        if counts[_bare(unit)]:
            counts[_bare(unit)] -= 1
        elif isinstance(unit, Text) and rest and isinstance(rest[-1], Text):
            rest[-1] = Text(f"{rest[-1].text}\n\n{unit.text}")
        else:
            rest.append(unit)
    return tuple(rest)


def _units(turn: Turn) -> Iterator[Block]:
    """What a turn consists of, each paragraph by itself."""
    for block in turn.blocks:
        if isinstance(block, Text):
            yield from (Text(part) for part in re.split(r"\n{2,}", block.text) if part.strip())
        else:
            yield block


def _bare(block: Block) -> Block:
    """A call without its result, which one file can lack and the other have."""
    return replace(block, result="") if isinstance(block, ToolCall) else block


def _said(turn: Turn) -> Turn:
    """A turn by what is said in it: its date is written or not by what stands before it."""
    return replace(turn, day="", kind="" if turn.is_dialogue else turn.kind)


def _retold(present: Sequence[Turn], wanted: Sequence[Turn]) -> list[Rest]:
    same: defaultdict[str, deque[int]] = defaultdict(deque)
    for number, turn in enumerate(present):
        if turn.role == "user":
            same[_words(turn)].append(number)
    found: list[Rest] = []
    is_new = False
    for turn in wanted:
        if turn.role == "user":
            places = same[_words(turn)]
            is_new = not places and bool(turn.blocks)
            found.append((places.popleft() if places else None, turn if is_new else None))
        else:
            is_there = turn.kind == "plan" and any(_words(turn) == _words(each) for each in present)
            is_wanted = turn.role == "agent" and (is_new or turn.kind == "plan")
            found.append((None, turn if is_wanted and not is_there else None))
    return found


def _words(turn: Turn) -> str:
    return " ".join(turn.text.split())
