"""Labels of decisions, from people and from use, and learning from them (spec 5.5, design 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.activation.pipeline import WatcherPipeline
    from engine.conversations.turns import Exchange, Turns
    from engine.store.files import Files
    from engine.topics.library import TopicLibrary


class Labels:
    """Labels decisions for the user interfaces. Thread-safe.

    Args:
        pipeline: The current pipeline, if there is one.
        offered: As ``Injections.offered``.
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
    ) -> None:
        self._files = files
        self._log = log
        self._library = library
        self._turns = turns
        self._pipeline = pipeline
        self._offered = offered

    def label(self, trace_key: str, topic: str, useful: bool | None, *, learn: bool = True) -> None:
        """Labels one row of a trace as a person, or (``None``) removes the label, and learns from it, which
        takes too long for a key press.

        Raises:
            AutopoiesisError: There is no such trace or row.
            WriteFailed, ReadOnly: The label was not recorded.
        """
        trace = self._turns.trace_of(trace_key)
        if trace is None or trace.row(topic) is None:
            raise AutopoiesisError(f"{topic} was not considered for this message", where=trace_key)
        self._log.label(self._log.ensure(trace, topic), useful)
        if learn:
            self.learn()

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

    def learn(self) -> bool:
        """Learns from new labels; returns whether anything has changed.

        Until it is done, messages are judged by the previous state.
        """
        pipeline = self._pipeline()
        if pipeline is None or not pipeline.relearn():
            return False
        self._turns.forget()
        return True
