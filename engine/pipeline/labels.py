"""What people and conversations say of decisions, and what is learned from it (spec 5.5, design 4)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.activation.pipeline import WatcherPipeline
    from engine.conversations.turns import Turns
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.topics.library import TopicLibrary


class Labels:
    """What a face labels decisions with. Safe to use from several threads.

    Args:
        files: The workspace's write path.
        log: The decision log.
        library: The topics.
        turns: Knows the traces of turns.
        config: The settings of now.
        pipeline: The pipeline that messages go through, if there has been one.
        refitted: Called when the local gate was fitted anew, so that the next message goes through it.
    """

    def __init__(
        self,
        files: Files,
        log: DecisionLog,
        library: TopicLibrary,
        turns: Turns,
        config: Callable[[], Config],
        *,
        pipeline: Callable[[], WatcherPipeline | None],
        refitted: Callable[[], None],
    ) -> None:
        self._files = files
        self._log = log
        self._library = library
        self._turns = turns
        self._config = config
        self._pipeline = pipeline
        self._refitted = refitted
        self._proving = threading.Lock()

    def label(self, trace_key: str, topic: str, useful: bool | None) -> None:
        """Records a person's judgement on one row of a trace, and learns from it.

        Args:
            trace_key: The key of a turn or signal.
            topic: The row.
            useful: The judgement; ``None`` takes it back.

        Raises:
            AutopoiesisError: There is no such trace or row.
            WriteFailed, ReadOnly: The label was not recorded.
        """
        trace = self._turns.trace_of(trace_key)
        if trace is None or trace.row(topic) is None:
            raise AutopoiesisError(f"{topic} was not considered there", where=trace_key)
        self._log.label(self._log.ensure(trace, topic), useful)
        self.learn()

    def learn_from_use(self, path: str, first: int) -> int:
        """Labels decisions about a conversation's messages by what the agent made of them since a turn.

        A label that somebody gave already stays, and so does the person's own answer to the gate.

        Args:
            path: The conversation.
            first: The number of its first new turn.

        Returns:
            How many were labelled; none in a workspace that cannot be written.

        Raises:
            WriteFailed: A label was not recorded.
        """
        if self._files.read_only:
            return 0
        from engine.pipeline.usage import label_by_use  # noqa: PLC0415 — only while a conversation grows

        return label_by_use(self._turns.exchanges(path, first), self._library.topics, self._log)

    def learn(self) -> bool:
        """Takes over labels given since: tier 2 as examples, and as proof of what it finds; the local gate
        once there are enough of them.

        Messages go on being judged by what was known before until it is done.

        Returns:
            Whether anything is judged differently from now on.
        """
        from engine.pipeline.assembly import prove_topics, refit_local_gate  # noqa: PLC0415 — fitting is rare

        config, pipeline = self._config(), self._pipeline()
        relearned = pipeline is not None and pipeline.relearn()
        with self._proving:
            proved = prove_topics(self._library.topics, self._log, self._files, config.watchers)
        refitted = refit_local_gate(self._log, self._files, config.gate)
        if refitted:
            self._refitted()
        if relearned or proved or refitted:
            self._turns.forget()
        return relearned or proved or refitted
