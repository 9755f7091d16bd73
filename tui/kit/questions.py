"""The gate's questions: one shown at a time with a countdown, answered with y or n."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime

from textual.screen import Screen
from textual.timer import Timer

from engine.events import GateAsked
from tui.kit.bars import QuestionBar, bars

QUESTION_CLOSED = "the gate's question has just closed; nothing was labelled"


class Questions:
    """The open questions of a workbench, oldest first.

    Args:
        screen: The workbench; questions are shown on it and on the screens above it.
        answer: Receives a question's id and the answer.
        changed: Called when the question shown changes.
    """

    def __init__(
        self,
        screen: Screen[None],
        clock: Clock,
        answer: Callable[[str, bool], None],
        changed: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._clock = clock
        self._answer = answer
        self._changed = changed
        self._countdown: Timer | None = None
        self._shown_at = 0.0
        self._closed_at = -clock.grace_s
        self.open: list[GateAsked] = []

    def update(self, asked: Sequence[GateAsked], closed: Set[str]) -> None:
        """Adds new questions and removes closed ones."""
        still = [each for each in self.open if each.question_id not in closed]
        if asked or len(still) != len(self.open):
            self._set([*still, *asked])

    def answer(self, yes: bool) -> None:
        """Answers the question shown, unless it appeared so recently that the key was not meant for it."""
        if self.open and self._clock.monotonic() - self._shown_at >= self._clock.grace_s:
            asked, *others = self.open
            self._answer(asked.question_id, yes)
            self._set(others)

    @property
    def just_closed(self) -> bool:
        """Whether the last question closed so recently that a key may still have been meant for it."""
        return self._clock.monotonic() - self._closed_at < self._clock.grace_s

    def _set(self, questions: list[GateAsked]) -> None:
        if questions and (not self.open or questions[0] != self.open[0]):
            self._shown_at = self._clock.monotonic()
        if self.open and not questions:
            self._closed_at = self._clock.monotonic()
        self.open = questions
        if self._countdown is None and questions:
            self._countdown = self._screen.set_interval(1.0, self._tick)
        elif self._countdown is not None and not questions:
            self._countdown.stop()
            self._countdown = None
        self.show()
        self._changed()

    def _left(self, asked: GateAsked) -> float:
        return asked.deadline_s - (self._clock.now() - asked.at).total_seconds()

    def show(self) -> None:
        """Shows the oldest question on all screens."""
        asked = self.open[0] if self.open else None
        left = self._left(asked) if asked is not None else 0.0
        for bar in bars(self._screen, QuestionBar):
            bar.show(asked, left, max(0, len(self.open) - 1))

    def _tick(self) -> None:
        still = [each for each in self.open if self._left(each) > 0]
        if len(still) != len(self.open):
            self._set(still)
        else:
            self.show()


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    now: Callable[[], datetime] = _utc_now
    """Wall-clock time, UTC."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that never go back."""
    grace_s: float = 0.4
    """How long a new question ignores answers, so that a key meant for something else does not answer it."""
