"""What a person typed in past conversations, and which playbooks it would have activated."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.activation.decisions import decision_id, hash_of, worth_logging
from engine.conversations.conversations import TurnKey
from engine.startup.records import dataclass
from engine.transcripts.injected import BY_PROGRAM, strip_injected
from engine.transcripts.typed import typed_in

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.activation.trace import Message, TopicTrace, Trace
    from engine.conversations.conversations import Conversations

MOST_MESSAGES = 5_000
"""The newest messages that are played, some hundred a second."""
MOST_NEAR = 20
"""Messages listed on which a playbook nearly would have fired."""

Progress = Callable[[int, int], object]


def silent(_done: int, _of: int) -> None:
    """No progress."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A message that the person typed."""

    key: str  # of its turn
    path: str
    line: int
    typed: str  # what of it is plainly typed
    message: Message

    @property
    def text(self) -> str:
        """The whole message in a form in which the same words are the same text."""
        return " ".join(self.message.text.casefold().split())


@dataclass(frozen=True, slots=True)
class PastRow:
    """A past message and one playbook."""

    id: str  # of the decision
    key: str  # of the message's turn
    path: str
    line: int
    day: str  # ``YYYY-MM-DD``, UTC
    message: str
    score: float  # tier 2, 0 to 1
    fires_at: float | None  # the score from which it would have fired; ``None`` if at none
    fired: bool
    hits: tuple[str, ...]  # what its triggers matched
    useful: bool | None = None  # the person's label
    fired_unlearnt: bool | None = None
    """Whether it would have fired by a fit that has not learnt this label; ``None`` if none was learnt."""

    @property
    def fired_unseen(self) -> bool:
        """Whether it would have fired, judged by a fit that knows nothing of the label."""
        return self.fired if self.fired_unlearnt is None else self.fired_unlearnt

    @property
    def doubt(self) -> float:
        """Log-odds between its score and that from which it fires; the nearer, the more a label tells."""
        return abs(_log_odds(self.score) - _log_odds(self.fires_at if self.fires_at is not None else 1.0))


@dataclass(frozen=True, slots=True)
class Replay:
    """What a playbook would have done in the past.

    Precision and recall are those of the labels so far; each message is judged as if its label were unknown.
    """

    topic: str
    messages: int  # played
    left_out: int  # older ones, not played
    rows: tuple[PastRow, ...]
    """It would have fired, or nearly, or is labelled; unlabelled ones first, of these the most doubtful."""

    def labelled_as(self, name: str, useful: bool | None) -> Replay:
        """With the label of one row, in its place."""
        rows = tuple(replace(row, useful=useful) if row.id == name else row for row in self.rows)
        return replace(self, rows=rows)

    @property
    def fired(self) -> int:
        return sum(row.fired for row in self.rows)

    @property
    def labelled(self) -> int:
        return sum(row.useful is not None for row in self.rows)

    @property
    def precision(self) -> float | None:
        """Of the labelled messages on which it fired, the share that it was right for; ``None`` if there are
        none.
        """
        return _share([row.useful for row in self.rows if row.fired_unseen and row.useful is not None])

    @property
    def recall(self) -> float | None:
        """Of the messages that it is right for by their labels, the share on which it fired; likewise."""
        return _share([row.fired_unseen for row in self.rows if row.useful])


def asked(
    conversations: Conversations, most: int = MOST_MESSAGES, *, again: bool = False
) -> tuple[list[Asked], int]:
    """What the person typed, newest conversation first; and how many older messages are left out.

    Conversations of other people do not count, nor what programs wrote, nor pastes. Each text counts once, or
    with ``again`` each time, though not in the copies of a message that forked sessions have.
    """
    found: dict[object, Asked] = {}
    more = 0
    for path in sorted(conversations.sizes(), reverse=True):
        for each in _typed(conversations, path):
            key = (each.text, each.message.at) if again else each.text
            if key in found:
                continue
            if len(found) < most:
                found[key] = each
            else:
                more += 1
    return list(found.values()), more


def _typed(conversations: Conversations, path: str) -> Iterator[Asked]:
    conversation = conversations.read(path)
    if conversation is None or conversations.author(path):
        return
    for ordinal in range(conversation.first, conversation.end):
        turn, message = conversation.turn(ordinal), conversation.message(ordinal)
        if turn is None or message is None or message.direction != "input" or BY_PROGRAM.search(message.text):
            continue
        if typed := strip_injected(typed_in(turn)).strip():
            yield Asked(str(TurnKey(path, ordinal)), path, turn.line, typed, message)


def replays(
    topics: Iterable[str],
    messages: Collection[Asked],
    process: Callable[[Message], Trace],
    log: DecisionLog,
    progress: Progress = silent,
    *,
    left_out: int = 0,
    unlearnt: Callable[[], Mapping[tuple[str, str], bool]] = dict,
) -> dict[str, Replay]:
    """Plays messages to some playbooks as they are now; nothing is logged and nobody is asked.

    Args:
        unlearnt: Returns for topic and message hash of each label whether the topic is active by a fit
            without it. Called if there is a label.
    """
    labels = {
        (decision.topic, decision.message_hash): decision.label[0]
        for decision in log.read()
        if decision.label[1] == "person"
    }
    fired = unlearnt() if labels else {}
    rows: dict[str, list[PastRow]] = {topic: [] for topic in topics}
    for number, each in enumerate(messages):
        progress(number, len(messages))
        trace = process(each.message)
        whole_hash = hash_of(each.message.text)
        worth = {row.topic for row in worth_logging(trace)}
        for row in trace.rows:
            useful = labels.get((row.topic, whole_hash))
            if row.topic in rows and (row.active or useful is not None or row.topic in worth):
                name = decision_id(each.message, whole_hash, row.topic)
                found = _row(each, row, name, useful)
                if useful is not None:
                    found = replace(found, fired_unlearnt=fired.get((row.topic, whole_hash)))
                rows[row.topic].append(found)
    progress(len(messages), len(messages))
    return {topic: Replay(topic, len(messages), left_out, _ordered(found)) for topic, found in rows.items()}


def _row(asked: Asked, row: TopicTrace, name: str, useful: bool | None) -> PastRow:
    message, hits = asked.message, tuple(dict.fromkeys(hit.matched for hit in row.hits))
    return PastRow(
        name, asked.key, asked.path, asked.line, message.at.date().isoformat(), message.text,
        row.score, row.activate_at, row.active, hits, useful,
    )  # fmt: skip


def _ordered(rows: list[PastRow]) -> tuple[PastRow, ...]:
    known = [row for row in rows if row.useful is not None]
    fired = [row for row in rows if row.fired and row.useful is None]
    near = [row for row in rows if not row.fired and row.useful is None]
    near.sort(key=lambda row: (row.doubt, row.key))
    return (*sorted([*fired, *near[:MOST_NEAR]], key=lambda row: (row.doubt, row.key)), *known)


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-3), 1 - 1e-3)
    return math.log(share / (1 - share))


def _share(values: list[bool | None]) -> float | None:
    return sum(map(bool, values)) / len(values) if values else None
