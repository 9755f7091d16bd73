"""One logged decision about one topic (spec 5.5), and its form in the log."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_type_hints

from engine.redaction.detect import masked
from engine.store.monthly import line_of

if TYPE_CHECKING:
    from engine.activation.trace import Message, TopicTrace, Trace

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
    scores: dict[str, float]
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
    whole = "\0".join((message.at.isoformat(), message.session_id, message.direction, message_hash, topic))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def hash_of(text: str) -> str:
    """sha256 of a message, including texts with lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def record_of(message: Message, message_hash: str, row: TopicTrace) -> bytes:
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
        "scores": {score.name: round(score.value, 6) for score in row.scores},
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


_NO_GATE: dict[str, Any] = {}
_decode = json.JSONDecoder().raw_decode


def entry_of(line: bytes) -> Decision | Label | None:
    """The entry in a log line; ``None`` if the line is broken or unknown."""
    try:
        text = line.decode()
        data, end = _decode(text)  # a fifth faster than json.loads
        if text[end:].strip():
            return None
        if "label" in data:
            label, decision, by = data["label"], data["decision"], data["by"]
            known = label is None or isinstance(label, bool)
            if known and isinstance(decision, str) and by in LABELLERS[1:]:
                return Label(decision, label, by)
            return None
        datetime.fromisoformat(data["at"])
        gate = data.get("gate") or _NO_GATE
        decision = Decision(
            data["id"],
            data["at"],
            data["session"],
            data["direction"],
            data["hash"],
            data["message"],
            data["topic"],
            data["priority"],
            data["activation"],
            tuple(map(tuple, data["hits"])),
            data["scores"],
            data["score"] + 0.0,
            data["threshold"] + 0.0,
            _number(data["activate_at"]),
            _number(data["gate_at"]),
            data["rule"],
            data["verdict"],
            gate.get("answer", ""),
            gate.get("provider", ""),
            gate.get("model", ""),
            _number(gate.get("probability")),
            gate.get("reason", ""),
            gate.get("cached", False) is True,
            gate.get("ms", 0.0) + 0.0,
            gate.get("usd", 0.0) + 0.0,
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    # A hand-edited log must not bring other types into sorting and display.
    for index in _TEXTS:
        if decision[index].__class__ is not str:
            return None
    return decision if decision.scores.__class__ is dict else None


_TEXTS = tuple(index for index, kind in enumerate(get_type_hints(Decision).values()) if kind is str)


def _number(value: Any) -> float | None:
    return None if value is None else float(value + 0.0)
