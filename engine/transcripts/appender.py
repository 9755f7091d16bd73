"""Prepares turns to be appended to a transcript: detects repetitions and continuations, and adds dates."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import UTC, date, datetime, time

from engine.transcripts.corrections import is_correction
from engine.transcripts.days import date_of, day_to_write, following, moment
from engine.transcripts.format import KEY_PREFIX, last_day, last_turn, render_blocks, render_turn
from engine.transcripts.turn import CORRECTION, Turn

_AGENT = re.compile(rb"\n##[ \t].*\b(?:agent|assistant)\b", re.IGNORECASE)
_REPEAT_MINUTES = 1


class TurnAppender:
    """Collects the text to append to a transcript.

    Args:
        data: The transcript.
        started: The start time in its header.

    Attributes:
        added: The text to append.
    """

    def __init__(self, data: bytes, started: object) -> None:
        self.added = ""
        self._data = data
        self._started = started
        self._last = last_turn(data)
        self._agent_added = False  # whether a turn of the agent was added
        self._last_date: date | None = None

    def add(self, turn: Turn, at: datetime, key: str) -> bool:
        """Add a turn unless it is a repetition; return whether it was added."""
        last = self._last
        marker = f"{KEY_PREFIX}{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:12]} -->"
        is_plain = turn.role == "user" and not turn.kind
        if is_plain and is_correction(turn.text) and (self._agent_added or _AGENT.search(b"\n" + self._data)):
            turn = replace(turn, kind=CORRECTION)
        if key:
            if f"\n{marker}".encode() in self._data or f"\n{marker}" in self.added:
                return False
        elif last is not None and _repeats(last, turn):
            return False
        if last is not None and _continues(last, turn):
            entry = render_blocks(turn.blocks, last.blocks[-1] if last.blocks else None)
            self._last = replace(last, blocks=last.blocks + turn.blocks)
        else:
            day = self._day_to_write(at)
            entry = render_turn(replace(turn, day=day))
            ends_blank = self.added.endswith("\n\n") if self.added else self._data.endswith(b"\n\n")
            entry = entry if ends_blank else f"\n{entry}"
            self._last, self._last_date = turn, date_of(day) or self._last_date
        self._agent_added = self._agent_added or turn.role == "agent"
        self.added += entry + (f"{marker}\n" if key else "")
        return True

    def _day_to_write(self, at: datetime) -> str:
        """The date for a new heading; empty if it follows from the last date above it."""
        if self._last_date is None:
            started = moment(self._started)
            first = started.date() if started is not None else None
            self._last_date = date_of(last_day(self._data)) or first
        if self._last_date is None:
            return at.date().isoformat()
        before = datetime.combine(self._last_date, time(), UTC)
        return day_to_write(at, following(before, self._last.time) if self._last is not None else before)


def _same_speaker(last: Turn, turn: Turn) -> bool:
    return last.role == turn.role and last.kind == turn.kind


def _continues(last: Turn, turn: Turn) -> bool:
    """Whether both belong to one turn: calls can follow anything, text only a turn's opening calls."""
    is_open = bool(last.blocks) and not last.text
    return turn.role == "agent" and (is_open or bool(turn.tools)) and _same_speaker(last, turn)


def _repeats(last: Turn, turn: Turn) -> bool:
    is_same = _same_speaker(last, turn) and last.blocks[-len(turn.blocks) :] == turn.blocks
    if turn.tools or not is_same or not last.time:
        return False
    apart = abs(_minutes(turn.time) - _minutes(last.time))
    return min(apart, 24 * 60 - apart) <= _REPEAT_MINUTES


def _minutes(time: str) -> int:
    return int(time[:2]) * 60 + int(time[3:])
