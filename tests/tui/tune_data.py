"""A month of generated decisions for the tune screen, and tuning that keeps its changes in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

from engine.activation.decisions import Decision
from engine.activation.policy import Thresholds
from engine.activation.tuning.tuning import Applied, Tuning
from engine.errors import AutopoiesisError
from engine.settings.model import PolicyRow, WatcherSettings
from engine.topics.model import Topic
from tests.activation.tuning_cases import table_of

if TYPE_CHECKING:
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.table import MessageTable

CALIBRATED = WatcherSettings(
    preset="calibrated",
    policy={
        "critical": PolicyRow(activate=0.5, gate=0.1, matched=0.0),
        "high": PolicyRow(activate=0.55, gate=0.2),
        "medium": PolicyRow(activate=0.6, gate=0.25),
        "low": PolicyRow(activate=0.7, gate=0.3),
    },
)
"""Explicit thresholds, so that the pictures do not depend on the defaults."""
LAST = datetime(2026, 6, 12, 18, 40, tzinfo=UTC)
MESSAGES = (
    "the linter complains about my imports", "PR numbers in the changelog look off", "is this idiomatic?",
    "prepare the PR list for the meeting", "rename the helper, its name lies",
    "can you tidy this function up", "why does the formatter change this line",
    "what is the capital of Norway", "the build is red again",
    "please keep to our naming", "how long may a line be", "tests first or code first here",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """The score distribution of a topic's decisions: means and spreads for useful and noise."""

    useful: int
    noise: int
    unlabelled: int = 0
    useful_at: tuple[float, float] = (0.74, 0.12)
    noise_at: tuple[float, float] = (0.32, 0.13)


TOPICS: dict[str, Kind] = {
    "code-style": Kind(148, 163, 240, (0.70, 0.13), (0.38, 0.15)),
    "github-pr-review": Kind(96, 60, 80, (0.80, 0.09), (0.25, 0.1)),
    "email-triage": Kind(120, 84, 30, (0.85, 0.07), (0.2, 0.1)),
    "deploy": Kind(40, 44, 25, (0.55, 0.16), (0.3, 0.12)),
    "release-notes": Kind(30, 90, 60, (0.58, 0.12), (0.48, 0.13)),
    "incident": Kind(25, 12, 8, (0.78, 0.1), (0.35, 0.12)),
    "german": Kind(64, 30, 0, (0.93, 0.04), (0.1, 0.06)),
    "journal-daily": Kind(5, 3, 12),
    "people-lookup": Kind(0, 0, 6),
}
SMALLTALK = Kind(0, 40, 10, noise_at=(0.97, 0.03))
"""Noise with the highest possible scores, so that the best fit switches the topic off."""


def topic(name: str, **changes: object) -> Topic:
    """A topic with a file."""
    base = Topic(name, f"topics/{name}.md", name.title(), "", "")
    return replace(base, **changes)  # type: ignore[arg-type]


def decision(
    name: str, number: int, score: float, useful: bool | None, by: str, *, calls: bool = True
) -> Decision:
    """One decision; for uncertain scores the gate was asked, for a fraction of a cent."""
    at = LAST - timedelta(minutes=37 * number + 11 * len(name))
    asked = calls and 0.25 <= score < 0.6
    yes = score > 0.42 if useful is None else useful
    return Decision(
        id=f"{name.encode().hex()[:8]}{number:08x}",
        at=at.isoformat(),
        session_id="ses_a1b2c3d4",
        direction="input",
        message_hash=f"{number:04x}{name.encode().hex():0>60.60}",
        message=MESSAGES[number % len(MESSAGES)] + ("" if number < len(MESSAGES) else f" ({number})"),
        topic=name,
        priority="medium",
        activation="gated",
        hits=(),
        score=score,
        threshold=0.25,
        activate_at=0.6,
        gate_at=0.25,
        rule="medium ≥.60" if score >= 0.6 else "medium <.60" if asked else "medium <.25",
        verdict="active" if score >= 0.6 or (asked and yes) else "rejected" if asked else "dropped",
        gate_answer=("yes" if yes else "no") if asked and by == "gate" else "",
        gate_provider="anthropic" if asked and by == "gate" else "",
        gate_model="claude-haiku-4-5" if asked and by == "gate" else "",
        gate_probability=None,
        gate_reason="",
        cached=False,
        latency_ms=210.0 if asked else 0.0,
        cost_usd=0.0002 if asked and by == "gate" else 0.0,
        useful=useful if by in ("person", "use") else None,
        labelled_by=by if by in ("person", "use") and useful is not None else "",
    )


def decisions(kinds: dict[str, Kind] | None = None) -> list[Decision]:
    """The decisions of all topics, oldest first as in a log; deterministic."""
    return list(_standard()) if kinds is None else _made(kinds)


@lru_cache(maxsize=1)
def _standard() -> tuple[Decision, ...]:
    return tuple(_made(TOPICS))


def _made(kinds: dict[str, Kind]) -> list[Decision]:
    found: list[Decision] = []
    for name, kind in kinds.items():
        random = Random(name)
        groups: list[tuple[bool | None, tuple[float, float], int]] = [
            (True, kind.useful_at, kind.useful),
            (False, kind.noise_at, kind.noise),
            (None, (0.45, 0.2), kind.unlabelled),
        ]
        drawn = []
        for useful, (mean, spread), number in groups:
            for _each in range(number):
                score = round(min(0.99, max(0.02, random.gauss(mean, spread))), 4)
                by = "" if useful is None else random.choice(("gate", "gate", "gate", "person", "use"))
                if by == "gate" and not 0.25 <= score < 0.6:
                    by = "person"
                drawn.append((score, useful, by))
        random.shuffle(drawn)
        found.extend(decision(name, number, *each) for number, each in enumerate(drawn))
    return sorted(found, key=lambda each: each.at)


@dataclass
class FakeTuning(Tuning):
    """Tuning over in-memory decisions with the scores in them: replay and fit are the engine's, but nothing
    is scored or written.

    A call named in ``blocked`` waits for its event; one named in ``failing`` raises its error.
    """

    log: list[Decision] = field(default_factory=decisions)
    topics: list[Topic] = field(default_factory=lambda: [topic(name) for name in TOPICS])
    settings: WatcherSettings = CALIBRATED
    provider: str = "anthropic"
    calls: list[tuple[object, ...]] = field(default_factory=list)
    blocked: dict[str, threading.Event] = field(default_factory=dict)
    failing: dict[str, AutopoiesisError] = field(default_factory=dict)
    applied: list[Applied] = field(default_factory=list)
    held_out: bool = True
    _table: MessageTable | None = None

    def add(self, new: Sequence[Decision]) -> None:
        """Adds decisions, as if they arrived live."""
        self.log = [*self.log, *new]
        self._table = None

    def table(self) -> MessageTable:
        """Records the call; the table is rebuilt after every change."""
        self._record("table")
        if self._table is None:
            self._table = table_of(
                self.log, self.topics, self.settings, self.provider, held_out=self.held_out
            )
        return self._table

    def hold_out(self) -> MessageTable:
        """Records the call; from then on the scores count as held out."""
        self._record("hold_out")
        self.held_out, self._table = True, None
        return self.table()

    def decision(self, table: MessageTable, row: int, topic: str) -> Decision:
        """The decision, made up if there is none."""
        found = table.messages[row].decisions.get(topic)
        return found or decision(topic, 10_000 + row, 0.0, None, "")

    def propose(self, topic: str) -> Proposal:
        """Records the call and fits with the engine's code."""
        from engine.activation.tuning.fit import propose

        self._record("propose", topic)
        return propose(self.table(), topic)

    def apply(self, topic: str, thresholds: Thresholds) -> Applied:
        """Records the call and changes the topic."""
        self._record("apply", topic, thresholds)
        return self._change(topic, thresholds)

    def undo(self, expected: Applied | None = None) -> Applied:
        """Records the call and restores the previous thresholds."""
        self._record("undo", expected)
        if not self.applied:
            raise AutopoiesisError("no threshold change to undo")
        last = self.applied.pop()
        done = self._change(last.topic, last.before)
        self.applied.pop()
        return done

    def label(self, given: Decision, useful: bool | None) -> Decision:
        """Records the call and labels the decision in the log."""
        self._record("label", given.id, useful)
        labelled = given._replace(useful=useful, labelled_by="person" if useful is not None else "")
        self.log = [labelled if each.id == given.id else each for each in self.log]
        self._table = None
        return labelled

    def calls_of(self, name: str) -> list[tuple[object, ...]]:
        """The calls of one name, in order."""
        return [call for call in self.calls if call[0] == name]

    def _change(self, name: str, thresholds: Thresholds) -> Applied:
        before = self.table().today(name)
        self.topics = [
            replace(each, similarity_threshold=thresholds.gate, activation_threshold=thresholds.activate)
            if each.name == name
            else each
            for each in self.topics
        ]
        self._table = None
        done = Applied(name, f"topics/{name}.md", before, thresholds, "a81f2c09d5e7")
        self.applied.append(done)
        return done

    def _record(self, name: str, *arguments: object) -> None:
        self.calls.append((name, *arguments))
        if name in self.blocked:
            self.blocked[name].wait(60)
        if name in self.failing:
            raise self.failing[name]
