"""Labels from use: whether a reply used the topics that were active for its message, and whether the agent
opened those that it was offered (spec 5.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.decisions import decision_id, hash_of
from engine.errors import AutopoiesisError
from engine.injections.use import ShownSection, was_opened, were_useful

if TYPE_CHECKING:
    from engine.activation.decisions import Decision, DecisionLog
    from engine.conversations.turns import Exchange
    from engine.topics.model import Topic


def label_by_use(
    exchanges: Iterable[Exchange],
    topics: Sequence[Topic],
    log: DecisionLog,
    offered: Callable[[Exchange], Mapping[str, bool]] = lambda _exchange: {},
) -> int:
    """Labels the decisions about messages by their replies, and returns the number of labels.

    No reply shows that a topic does not apply: agents leave much alone.

    Args:
        offered: As ``Injections.offered``.

    Raises:
        WriteFailed, ReadOnly: A label was not recorded.
    """
    known = {topic.name: topic for topic in topics}
    labelled = 0
    for exchange in exchanges:
        message = exchange.trace.message
        if message.direction == "input" and exchange.calls:
            labelled += _label_opened(exchange, topics, log, offered(exchange))
        active = [known[name] for name in exchange.trace.active if name in known]
        if message.direction != "input" or not active:
            continue
        for topic in active:
            files = [ShownSection(path, "") for path in topic.subscriptions]
            told = [ShownSection(topic.path, topic.instructions), *files]
            if not any(were_useful(told, message.text, exchange.reply, exchange.paths)):
                continue
            decision = _find(log, decision_id(message, hash_of(message.text), topic.name))
            if decision is not None and decision.verdict == "active" and not _is_settled(decision):
                log.label(decision, True, "use")
                labelled += 1
    return labelled


def _label_opened(
    exchange: Exchange, topics: Sequence[Topic], log: DecisionLog, offered: Mapping[str, bool]
) -> int:
    """Labels the offered topics that the agent opened; returns their number."""
    message, labelled = exchange.trace.message, 0
    for topic in topics:
        if topic.path in offered and was_opened(topic.path, exchange.calls):
            decision = _find(log, decision_id(message, hash_of(message.text), topic.name))
            if decision is None or decision.useful is not None:
                continue
            # An offer may be taken up later, with a message that says nothing of the topic: "go on".
            if offered[topic.path] or decision.verdict == "offered":
                log.label(decision, True, "agent")
                labelled += 1
    return labelled


def _find(log: DecisionLog, name: str) -> Decision | None:
    try:
        return log.find(name)
    except AutopoiesisError:
        # Not every decision is logged, and an unreadable log must not stop a conversation.
        return None


def _is_settled(decision: Decision) -> bool:
    """Whether it already has a label from use or a person, including an answer to the gate."""
    asked_a_person = decision.gate_provider == "ask" and decision.gate_answer in ("yes", "no")
    return asked_a_person or decision.labelled_by in ("person", "use")
