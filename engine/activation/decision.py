"""One logged decision about one topic (spec 5.5), and its form in the log."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_type_hints

from engine.redaction.detect import masked
from engine.store.monthly import line_of

if TYPE_CHECKING:
    from engine.activation.signals import Signals
    from engine.activation.trace import Message, TopicTrace, Trace

MESSAGE_LIMIT = 500
"""Characters of the message that are logged."""

Labeller = Literal["person", "use", "gate"]

LABELLERS = ("", "gate", "use", "person")
"""Who gave a label, by rising rank, ``""`` for no label: of several the person's counts."""
LABELLER_RANK = {by: rank for rank, by in enumerate(LABELLERS)}


class Decision(NamedTuple):
    """What was decided about one topic for one message, and why."""

    id: str  # stable: the same topic and message, at the same time in the same session, have the same id
    at: str  # when the message came, ISO 8601, UTC
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
    gate_answer: str  # ``yes``, ``no``, ``failed``, or empty when the gate was not asked
    gate_provider: str
    gate_model: str
    gate_probability: float | None
    gate_reason: str  # its reason, or how it failed; empty for the local gate, whose signals say it
    cached: bool
    latency_ms: float
    cost_usd: float
    signals: tuple[float, ...]  # the values of ``Signals``, for the local gate to learn from
    useful: bool | None = None
    """The label: whether the topic was right for the message; ``None`` while it has none."""
    labelled_by: str = ""

    @property
    def time(self) -> datetime:
        """``at`` as a time, UTC where it names no zone."""
        moment = datetime.fromisoformat(self.at)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @property
    def asked(self) -> bool:
        """Whether the gate was asked."""
        return bool(self.gate_answer)

    @property
    def label(self) -> tuple[bool | None, str]:
        """Whether the topic was right and who says so, the highest rank first; ``(None, "")``: nobody does.

        A yes or no of the gate is a label as well, a person's own where the person was the gate. Answers of
        the ``local`` gate are not labels: it would learn from itself.
        """
        said, by = self.useful, self.labelled_by if self.useful is not None else ""
        if by != "person" and self.gate_answer in ("yes", "no") and self.gate_provider not in ("", "local"):
            answerer = "person" if self.gate_provider == "ask" else "gate"
            if LABELLER_RANK[answerer] > LABELLER_RANK.get(by, 0):
                return self.gate_answer == "yes", answerer
        return said, by


class Label(NamedTuple):
    """Whether a logged decision's topic was right for its message, said afterwards.

    ``useful`` is ``None`` where the label was taken back.
    """

    decision: str
    useful: bool | None
    by: str


def worth_logging(trace: Trace) -> tuple[TopicTrace, ...]:
    """The rows that something can be learned from.

    Those are topics with a tier-1 hit, topics the gate was asked about, and, for a message that reaches the
    agent, topics at half their threshold or above.
    """
    by_score = trace.message.direction == "input"
    return tuple(
        row
        for row in trace.rows
        if row.hits or row.gate is not None or (by_score and row.score > 0 and row.score >= row.threshold / 2)
    )


def decision_id(message: Message, message_hash: str, topic: str) -> str:
    """Names a decision by what it is about, so that deciding again after a restart is the same decision."""
    whole = "\0".join((message.at.isoformat(), message.session_id, message.direction, message_hash, topic))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def hash_of(text: str) -> str:
    """sha256 of a message; defined for every text Python can hold."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def record_of(message: Message, message_hash: str, row: TopicTrace, signals: Signals | None) -> bytes:
    """The line of the log for one row of a trace."""
    gate = row.gate
    record: dict[str, object] = {
        "id": decision_id(message, message_hash, row.topic),
        "at": message.at.isoformat(),
        "session": message.session_id,
        "direction": message.direction,
        "hash": message_hash,
        "message": masked(message.text)[:MESSAGE_LIMIT],  # the hits below are places in it
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
        "signals": [round(value, 4) for value in signals] if signals is not None else [],
    }
    if gate is not None:
        told: dict[str, object] = {
            "model": gate.model,
            "probability": None if gate.probability is None else round(gate.probability, 4),
            "reason": "" if gate.provider == "local" else gate.reason[:200],
            "cached": gate.cached,
            "ms": round(gate.latency_ms, 1),
            "usd": gate.cost_usd,
        }
        record["gate"] = {"answer": gate.answer, "provider": gate.provider} | {
            name: value for name, value in told.items() if value
        }
    return line_of(record)


_NO_GATE: dict[str, Any] = {}
_decode = json.JSONDecoder().raw_decode


def entry_of(line: bytes) -> Decision | Label | None:
    """What a line of the log holds; ``None`` when it is broken or of another form."""
    try:
        text = line.decode()
        data, end = _decode(text)  # a fifth faster than json.loads, which skips white space first
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
            tuple([value + 0.0 for value in data["signals"]]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    # A hand-edited log must not carry other types into what sorts, compares and shows decisions.
    for index in _TEXTS:
        if decision[index].__class__ is not str:
            return None
    return decision if decision.scores.__class__ is dict else None


_TEXTS = tuple(index for index, kind in enumerate(get_type_hints(Decision).values()) if kind is str)


def _number(value: Any) -> float | None:
    return None if value is None else float(value + 0.0)
