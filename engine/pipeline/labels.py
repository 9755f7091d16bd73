"""Labels of decisions, from people and from use, and learning from them (spec 5.5, design 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.numbers import format_score
from engine.activation.trace import Direction, Message
from engine.errors import AutopoiesisError
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.activation.decisions import Decision, DecisionLog
    from engine.activation.pipeline import WatcherPipeline
    from engine.activation.trace import TopicTrace
    from engine.conversations.turns import Exchange, Turns
    from engine.store.files import Files
    from engine.topics.library import TopicLibrary


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled decision, and what tier 2 made of its topic before and after it learned."""

    decision: Decision
    before: TopicTrace | None  # ``None`` if the topic is gone, or the settings allow no scoring
    after: TopicTrace | None
    was: bool | None = None  # the person's label before

    @property
    def moved(self) -> str:
        """``.33 → .71``, and from and to which verdict if that changed; empty if unknown."""
        if self.before is None or self.after is None:
            return ""
        scores = f"{format_score(self.before.score)} → {format_score(self.after.score)}"
        if self.before.verdict == self.after.verdict:
            return scores
        return f"{scores}, {self.before.verdict} → {self.after.verdict}"


class Labels:
    """Labels decisions for the user interfaces. Thread-safe.

    Args:
        pipeline: The current pipeline, if there is one.
        offered: As ``Injections.offered``.
        opened: The pipeline, opened if there is none; raises ``AutopoiesisError`` if the settings allow none.
    """

    def __init__(
        self,
        files: Files,
        log: DecisionLog,
        library: TopicLibrary,
        turns: Turns,
        *,
        pipeline: Callable[[], WatcherPipeline | None],
        offered: Callable[[Exchange], Mapping[str, bool]] = lambda _exchange: {},
        opened: Callable[[], WatcherPipeline],
    ) -> None:
        self._files = files
        self._log = log
        self._library = library
        self._turns = turns
        self._pipeline = pipeline
        self._offered = offered
        self._open = opened

    def label(self, trace_key: str, topic: str, useful: bool | None, *, learn: bool = True) -> Judged:
        """Labels one row of a trace as a person, or (``None``) removes the label, and learns from it, which
        takes too long for a key press.

        Raises:
            AutopoiesisError: There is no such trace or row.
            WriteFailed, ReadOnly: The label was not recorded.
        """
        trace = self._turns.trace_of(trace_key)
        if trace is None or trace.row(topic) is None:
            raise AutopoiesisError(f"{topic} was not considered for this message", where=trace_key)
        known = self._log.ensure(trace, topic)
        was = known.useful if known.labelled_by == "person" else None
        decision = self._log.label(known, useful)
        before = after = trace.row(topic)
        if learn:
            self.learn()
            after = self._rows([(trace.message, topic)])[0]
        return Judged(decision, before, after, was)

    def judge(self, given: Sequence[tuple[Decision, bool | None]]) -> tuple[Judged, ...]:
        """Labels logged decisions as a person, and learns from it.

        Raises:
            WriteFailed, ReadOnly: A label was not recorded.
        """
        asked = [(Message(of.message, _direction(of), of.session_id), of.topic) for of, _ in given]
        before = self._rows(asked)
        labelled = [self._log.label(decision, useful) for decision, useful in given]
        self.learn()
        return tuple(map(Judged, labelled, before, self._rows(asked)))

    def learn_from_use(self, path: str, first: int) -> int:
        """Labels decisions about a conversation's messages by the agent's replies, and returns their number.

        Existing labels and the person's answers to the gate are kept. Nothing is labelled in a read-only
        workspace, nor by another person's conversation. ``first`` is the number of the first new turn.

        Raises:
            WriteFailed: A label was not recorded.
        """
        if self._files.read_only or self._turns.is_of_others(path):
            return 0
        from engine.pipeline.usage import label_by_use  # noqa: PLC0415 — only while a conversation grows

        exchanges = self._turns.exchanges(path, first)
        return label_by_use(exchanges, self._library.topics, self._log, self._offered)

    def _rows(self, asked: Sequence[tuple[Message, str]]) -> list[TopicTrace | None]:
        """What is now made of topics for messages; ``None`` if it cannot be said."""
        try:
            pipeline = self._open()
            return [pipeline.process(message, record=False, ask=False).row(topic) for message, topic in asked]
        except AutopoiesisError:
            return [None] * len(asked)

    def learn(self) -> bool:
        """Learns from new labels; returns whether anything has changed.

        Until it is done, messages are judged by the previous state.
        """
        pipeline = self._pipeline()
        if pipeline is None or not pipeline.relearn():
            return False
        self._turns.forget()
        return True


def _direction(decision: Decision) -> Direction:
    return "output" if decision.direction == "output" else "input"
