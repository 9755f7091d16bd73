"""The decision log (spec 5.5, design 4): every decision worth learning from, and its labels.

``logs/decisions/YYYY-MM.jsonl``, append-only. A label is a separate record that refers to a decision; reading
joins the two. Nothing in the log is ever changed, so an unreadable line affects nothing else.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, get_type_hints

from engine.errors import AutopoiesisError
from engine.redaction.detect import masked
from engine.store.monthly import AnotherFile, Mark, MonthlyLog, Record, line_of, record_of

if TYPE_CHECKING:
    from engine.activation.trace import Message, TopicTrace, Trace
    from engine.store.files import Files

KIND = "decisions/"
MESSAGE_LIMIT = 500
"""Characters of the message that are logged."""

Labeller = Literal["person", "use", "agent", "gate"]

LABELLERS = ("", "gate", "agent", "use", "person")
"""Labellers by rising rank, ``""`` for none: the label of the highest rank counts. ``agent``: it opened the
topic that it was offered."""
LABELLER_RANK = {by: rank for rank, by in enumerate(LABELLERS)}


class Decision(NamedTuple):
    """The logged decision about one topic for one message."""

    id: str  # the same for the same topic, message, time and session
    at: str  # time of the message, ISO 8601, UTC
    session_id: str  # empty for a message tried by hand
    direction: str  # ``input`` or ``output``
    message_hash: str  # sha256 of the whole message
    message: str  # its first 500 characters
    topic: str
    priority: str
    activation: str
    hits: tuple[tuple[int, str, str, int, int], ...]
    """The tier-1 hits: trigger index, type, matched text, start, end."""
    score: float
    threshold: float
    activate_at: float | None  # score from which the row activated; ``None``: never
    gate_at: float | None  # score from which the row asked the gate; ``None``: never
    rule: str
    verdict: str  # as in ``TopicTrace``
    gate_answer: str  # ``yes``, ``no``, ``offered``, ``failed``, or empty if the gate was not asked
    gate_provider: str
    gate_model: str
    gate_probability: float | None
    gate_reason: str  # its reason or failure; empty for the local gate and the agent's
    cached: bool
    latency_ms: float
    cost_usd: float
    useful: bool | None = None
    """The label: whether the topic was right for the message; ``None`` without a label."""
    labelled_by: str = ""

    @property
    def time(self) -> datetime:
        """``at`` as a time, in UTC unless it has another zone."""
        time = datetime.fromisoformat(self.at)
        return time if time.tzinfo else time.replace(tzinfo=UTC)

    @property
    def asked(self) -> bool:
        """Whether the gate was asked."""
        return self.gate_answer not in ("", "offered")

    @property
    def opened(self) -> bool:
        """Whether the agent opened the topic when it was offered, and nobody of a higher rank judged it."""
        return self.useful is True and self.labelled_by == "agent"

    @property
    def label(self) -> tuple[bool | None, str]:
        """Whether the topic was right, and the labeller of the highest rank; ``(None, "")`` without a label.

        The gate's yes or no is a label too, and counts as the person's if the person was the gate. Answers of
        the ``local`` gate are not labels, or it would learn from itself. That the agent opened a topic is
        none either, but weak evidence for tier 2: what it leaves alone says nothing.
        """
        if self.labelled_by == "agent":
            return None, ""
        useful, by = self.useful, self.labelled_by if self.useful is not None else ""
        if by != "person" and self.gate_answer in ("yes", "no") and self.gate_provider not in ("", "local"):
            answerer = "person" if self.gate_provider == "ask" else "gate"
            if LABELLER_RANK[answerer] > LABELLER_RANK.get(by, 0):
                return self.gate_answer == "yes", answerer
        return useful, by


class Label(NamedTuple):
    """A label given to a logged decision later; ``useful`` is ``None`` if it was removed."""

    decision: str
    useful: bool | None
    by: str


def worth_logging(trace: Trace) -> tuple[TopicTrace, ...]:
    """The rows to learn from: topics with a tier-1 hit, topics the gate was asked about, and, for a message
    to the agent, topics with at least half their threshold.
    """
    by_score = trace.message.direction == "input"
    return tuple(
        row
        for row in trace.rows
        if row.hits or row.gate is not None or (by_score and row.score > 0 and row.score >= row.threshold / 2)
    )


def decision_id(message: Message, message_hash: str, topic: str) -> str:
    """The id of a decision, the same if it is made again after a restart."""
    parts = message.at.isoformat(), message.session_id, message.direction, message_hash, topic
    return hash_of("\0".join(parts))[:16]


def hash_of(text: str) -> str:
    """sha256 of a text, which may have lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def line_for(message: Message, message_hash: str, row: TopicTrace) -> bytes:
    """The log line for one row of a trace."""
    gate = row.gate
    record: dict[str, object] = {
        "id": decision_id(message, message_hash, row.topic),
        "at": message.at.isoformat(),
        "session": message.session_id,
        "direction": message.direction,
        "hash": message_hash,
        "message": masked(message.text)[:MESSAGE_LIMIT],  # the hits below are offsets in it
        "topic": row.topic,
        "priority": row.priority,
        "activation": row.activation,
        "hits": [[hit.trigger, hit.type, hit.matched, hit.start, hit.end] for hit in row.hits],
        "score": round(row.score, 6),
        "threshold": row.threshold,
        "activate_at": row.activate_at,
        "gate_at": row.gate_at,
        "rule": row.rule,
        "verdict": row.verdict,
    }
    if gate is not None:
        details: dict[str, object] = {
            "model": gate.model,
            "probability": None if gate.probability is None else round(gate.probability, 4),
            "reason": "" if gate.provider in ("agent", "local") else gate.reason[:200],
            "cached": gate.cached,
            "ms": round(gate.latency_ms, 1),
            "usd": gate.cost_usd,
        }
        record["gate"] = {"answer": gate.answer, "provider": gate.provider} | {
            name: value for name, value in details.items() if value
        }
    return line_of(record)


_KEYS = (
    *("id", "at", "session", "direction", "hash", "message", "topic", "priority", "activation", "hits"),
    *("score", "threshold", "activate_at", "gate_at", "rule", "verdict"),
)
_GATE: dict[str, object] = {
    **{"answer": "", "provider": "", "model": "", "probability": None, "reason": ""},
    **{"cached": False, "ms": 0.0, "usd": 0.0},
}
"""What is logged of a decision, and of its gate with defaults, in the order of the fields of ``Decision``."""
_HINTS = tuple(get_type_hints(Decision).values())
_TEXTS = tuple(place for place, hint in enumerate(_HINTS) if hint is str)
_NUMBERS = tuple((place, hint is float) for place, hint in enumerate(_HINTS) if hint in (float, float | None))
_HITS = _KEYS.index("hits")


def entry_of(record: Record | None) -> Decision | Label | None:
    """The entry in a record of the log; ``None`` if it is broken or unknown."""
    if record is None:
        return None
    try:
        if "label" in record:
            label, decision, by = record["label"], record["decision"], record["by"]
            is_known = (label is None or isinstance(label, bool)) and by in LABELLERS[1:]
            return Label(decision, label, by) if is_known and isinstance(decision, str) else None
        datetime.fromisoformat(record["at"])
        gate = record.get("gate") or {}
        values = [record[key] for key in _KEYS] + [gate.get(key, default) for key, default in _GATE.items()]
        values[_HITS] = tuple(map(tuple, values[_HITS]))
        # A hand-edited log must not bring other types into sorting and display.
        for place, is_required in _NUMBERS:
            if is_required or values[place] is not None:
                values[place] += 0.0
        found = Decision(*values)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    return found if all(isinstance(found[place], str) for place in _TEXTS) else None


Labels = dict[str, bool | None]
"""The last labels of a decision by labeller; ``None`` for a removed one."""

_BY_RANK = LABELLERS[:0:-1]
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

    def record(self, trace: Trace) -> None:
        """Logs the rows of a trace that are ``worth_logging`` in one append; never raises if the disk cannot
        be written.
        """
        whole_hash = hash_of(trace.message.text)
        if rows := [line_for(trace.message, whole_hash, row) for row in worth_logging(trace)]:
            self._write(b"".join(rows))

    def ensure(self, trace: Trace, topic: str) -> Decision:
        """The decision about one topic of a trace, logged first if necessary.

        This lets a person judge a topic that was too far from the message to be logged.

        Raises:
            AutopoiesisError: The trace has no row for the topic.
            WriteFailed, ReadOnly: The decision was not recorded.
        """
        row = trace.row(topic)
        if row is None:
            raise AutopoiesisError(f"{topic} was not considered for this message")
        whole_hash = hash_of(trace.message.text)
        try:
            return self.find(decision_id(trace.message, whole_hash, topic))
        except AutopoiesisError:
            return self.add(trace.message, whole_hash, row)

    def add(self, message: Message, message_hash: str, row: TopicTrace) -> Decision:
        """Logs the decision about one topic for a message, and returns it.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        line = line_for(message, message_hash, row)
        self._files.append(self.months.path(), line)
        found = entry_of(record_of(line))
        assert isinstance(found, Decision)
        return found

    def label(self, decision: Decision, useful: bool | None, by: Labeller = "person") -> Decision:
        """Labels a decision and returns it with the label.

        Args:
            useful: Whether the topic was right for its message; ``None`` removes the label.

        Raises:
            WriteFailed, ReadOnly: The label was not recorded.
        """
        self.months.append(
            {"label": useful, "decision": decision.id, "by": by, "at": self._clock().isoformat()}
        )
        if useful is None:
            # A label of a lower rank may now count.
            return self.find(decision.id)
        if LABELLER_RANK[by] < LABELLER_RANK.get(decision.labelled_by, -1):
            return decision
        return decision._replace(useful=useful, labelled_by=by)

    def find(self, decision_id: str) -> Decision:
        """The decision with an id, or a unique prefix of at least four characters.

        Raises:
            AutopoiesisError: There is none, or there are several.
        """
        hint = "see: autopoiesis decisions list"
        if len(decision_id) < _MIN_PREFIX or not decision_id.isalnum():
            raise AutopoiesisError(f"“{decision_id[:40]}” is not a decision id", hint=hint)
        found: dict[str, Decision] = {}
        for decision in self._backwards(decision_id.encode()):
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
        matching = (
            decision
            for decision in self._backwards(b"" if topic is None else line_of(topic).strip())
            if (topic is None or decision.topic == topic) and not (unlabelled and decision.useful is not None)
        )
        return tuple(itertools.islice(matching, count))

    def read(self) -> tuple[Decision, ...]:
        """The whole log; see ``DecisionReading.update``."""
        return DecisionReading(self.months).update()

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

    def _backwards(self, holding: bytes) -> Iterator[Decision]:
        """The decisions whose lines contain ``holding``, newest first, with labels, which come later in the
        log and so are seen first.
        """
        labels: dict[str, Labels] = {}
        seen: set[str] = set()
        for record in self.months.backwards(may_match=lambda line: holding in line or b'"label"' in line):
            entry = entry_of(record)
            if isinstance(entry, Label):
                labels.setdefault(entry.decision, {}).setdefault(entry.by, entry.useful)
            elif isinstance(entry, Decision) and entry.id not in seen:
                seen.add(entry.id)
                yield _joined(entry, labels.get(entry.id, {}))


class DecisionReading:
    """An incremental reader of the log: only what was added is read, since the log only grows. Not
    thread-safe.
    """

    def __init__(self, months: MonthlyLog) -> None:
        self._months = months
        self._reset()

    def update(self) -> tuple[Decision, ...]:
        """The decisions in order of first logging, one per id, in the last logged version, with labels.

        Reads what was added since the last update, or everything if a file was replaced. 100,000 decisions
        take about a second the first time.

        Raises:
            DocumentError, PathRefused: A file cannot be read.
        """
        try:
            lines = self._months.added(self._marks)
        except AnotherFile:
            self._reset()
            lines = self._months.added(self._marks)
        for entry in map(entry_of, map(record_of, lines)):
            if isinstance(entry, Decision):
                self._decisions[entry.id] = entry
            elif entry is not None:
                self._labels.setdefault(entry.decision, {})[entry.by] = entry.useful
        found = dict(self._decisions)
        # A label may precede its decision if that was logged again or files were concatenated.
        for name in self._labels.keys() & found.keys():
            found[name] = _joined(found[name], self._labels[name])
        return tuple(found.values())

    def _reset(self) -> None:
        self._marks: dict[str, Mark] = {}
        self._decisions: dict[str, Decision] = {}
        self._labels: dict[str, Labels] = {}


def _joined(decision: Decision, labels: Labels) -> Decision:
    """A decision with the label of the highest rank."""
    for by in _BY_RANK:
        if (useful := labels.get(by)) is not None:
            return decision._replace(useful=useful, labelled_by=by)
    return decision
