"""The decision log (spec 5.5, design 4): every decision worth learning from, and its labels.

``logs/decisions/YYYY-MM.jsonl``, append-only. A label is a separate record that refers to a decision; reading
joins the two. Nothing in the log is ever changed, so an unreadable line affects nothing else.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.activation.decision import (
    LABELLER_RANK,
    Decision,
    Labeller,
    decision_id,
    entry_of,
    hash_of,
    record_of,
    worth_logging,
)
from engine.activation.decision_reading import (
    KIND,
    DecisionHistory,
    DecisionReading,
    backwards,
)
from engine.errors import AutopoiesisError
from engine.store.monthly import LogStamp, MonthlyLog, line_of

if TYPE_CHECKING:
    from engine.activation.trace import Message, TopicTrace, Trace
    from engine.store.files import Files

_LOCK_WAIT_S = 2.0
_FAILING_WAIT_S = 0.05
_PENDING_LIMIT = 4 * 1024 * 1024
_MIN_PREFIX = 4


class DecisionLog:
    """Writes and reads the decision log of a workspace.

    Args:
        clock: The current time, UTC.
        on_problem: Called once when the log becomes unwritable. Up to 4 MiB of records are then kept in
            memory and written with later ones.
    """

    def __init__(
        self,
        files: Files,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self.months = MonthlyLog(files, KIND, clock)
        self._files = files
        self._clock = clock
        self._on_problem = on_problem
        self._pending = b""
        self._failing = False
        self._guard = threading.Lock()

    def record(self, trace: Trace) -> int:
        """Logs the rows of a trace that are ``worth_logging`` in one append, and returns their number.

        Never raises if the disk cannot be written.
        """
        rows = worth_logging(trace)
        if rows:
            whole_hash = hash_of(trace.message.text)
            self._write(b"".join(record_of(trace.message, whole_hash, row) for row in rows))
        return len(rows)

    def ensure(self, trace: Trace, topic: str) -> str:
        """The id of the decision about one topic of a trace, logging it first if necessary.

        This lets a person judge a topic that was too far from the message to be logged.

        Raises:
            AutopoiesisError: The trace has no row for the topic.
            WriteFailed, ReadOnly: The decision was not recorded.
        """
        row = trace.row(topic)
        if row is None:
            raise AutopoiesisError(f"{topic} was not considered for this message")
        whole_hash = hash_of(trace.message.text)
        name = decision_id(trace.message, whole_hash, topic)
        try:
            self.find(name)
        except AutopoiesisError:
            self.add(trace.message, whole_hash, row)
        return name

    def add(self, message: Message, message_hash: str, row: TopicTrace) -> Decision:
        """Logs the decision about one topic for a message, and returns it.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        line = record_of(message, message_hash, row)
        self._files.append(self.months.path(), line)
        found = entry_of(line)
        assert isinstance(found, Decision)
        return found

    def label(self, decision_id: str, useful: bool | None, by: Labeller = "person") -> Decision:
        """Labels a decision and returns it with the label.

        Args:
            decision_id: The id, or a unique prefix of at least four characters.
            useful: Whether the topic was right for its message; ``None`` removes the label.

        Raises:
            AutopoiesisError: No decision matches, or several do.
            WriteFailed, ReadOnly: The label was not recorded.
        """
        return self.label_known(self.find(decision_id), useful, by)

    def label_known(self, decision: Decision, useful: bool | None, by: Labeller = "person") -> Decision:
        """As ``label``, for a decision that was already read from the log.

        Raises:
            WriteFailed, ReadOnly: The label was not recorded.
        """
        record: dict[str, object] = {
            "label": useful,
            "decision": decision.id,
            "by": by,
            "at": self._clock().isoformat(),
        }
        self._files.append(self.months.path(), line_of(record))
        if useful is None:
            # A label of a lower rank may now count.
            return self.find(decision.id)
        if LABELLER_RANK[by] < LABELLER_RANK.get(decision.labelled_by, -1):
            return decision
        return decision._replace(useful=useful, labelled_by=by)

    def find(self, decision_id: str) -> Decision:
        """The decision with an id, or a unique prefix of it.

        Raises:
            AutopoiesisError: There is none, or there are several.
        """
        hint = "see: autopoiesis decisions list"
        if len(decision_id) < _MIN_PREFIX or not decision_id.isalnum():
            raise AutopoiesisError(f"“{decision_id[:40]}” is not a decision id", hint=hint)
        found: dict[str, Decision] = {}
        for decision in backwards(self._files, self.months, decision_id.encode()):
            if decision.id == decision_id:
                return decision
            if decision.id.startswith(decision_id):
                found[decision.id] = decision
        if not found:
            raise AutopoiesisError(f"no decision matches {decision_id}", hint=hint)
        if len(found) > 1:
            raise AutopoiesisError(
                f"{len(found)} decisions begin with {decision_id}", hint="give more characters of the id"
            )
        return next(iter(found.values()))

    def last(self, count: int, *, topic: str | None = None, unlabelled: bool = False) -> tuple[Decision, ...]:
        """The last decisions, newest first, reading no more of the log than necessary."""
        decisions = backwards(self._files, self.months, b"" if topic is None else line_of(topic).strip())
        matching = (
            decision
            for decision in decisions
            if (topic is None or decision.topic == topic) and not (unlabelled and decision.useful is not None)
        )
        return tuple(itertools.islice(matching, count))

    def read(self) -> DecisionHistory:
        """The whole log; 100,000 decisions take about a second."""
        return self.reading().update()

    def reading(self) -> DecisionReading:
        """A reader whose updates read only what was added to the log."""
        return DecisionReading(self._files, self.months)

    def stamp(self) -> LogStamp:
        """The state of the log's files, which changes whenever the log does."""
        return self.months.stamp()

    def flush(self) -> None:
        """Tries again to write pending records."""
        if self._pending:
            self._write(b"")

    def _write(self, lines: bytes) -> None:
        with self._guard:
            everything = self._pending + lines
            try:
                # A message does not wait for a long-running command that holds the lock.
                with self._files.lock(timeout=_FAILING_WAIT_S if self._failing else _LOCK_WAIT_S):
                    self._files.append(self.months.path(), everything)
            except AutopoiesisError as error:
                if len(everything) <= _PENDING_LIMIT:
                    self._pending = everything
                if not self._failing and self._on_problem is not None:
                    self._on_problem(f"decisions are not being logged: {error}")
                self._failing = True
                return
            self._pending = b""
            self._failing = False
