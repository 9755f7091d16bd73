"""An agent's use of topics in its reply labels the decisions about the message."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.activation.decisions import Decision
from engine.engine import Engine
from engine.events import TurnTraced
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from tests.engine.conftest import Witness
from tests.waiting import wait_until

TOPIC = "github-pr-review"
MESSAGE = "Can you review the PR that just came in?"
REVIEW = (
    "I read the description first. The author should split it: order, duplicates and late arrivals are not "
    "handled, and two files of one gauge may run in parallel. I cannot approve that yet."
)


@pytest.fixture
def capture(engine: Engine) -> ConversationCapture:
    """Another program that writes to the same workspace."""
    return ConversationCapture(Files(Workspace.open(engine.workspace.root)), clock=engine.clock)


def talk(engine: Engine, capture: ConversationCapture, *turns: tuple[str, str]) -> str:
    """Capture a conversation, tracing each turn as it arrives; return its path."""
    path = capture.start("ses_use00001", title="Use")
    for ordinal, (role, text) in enumerate(turns):
        capture.message("ses_use00001", "user" if role == "user" else "agent", text)
        engine.trace_turn(f"{path}#{ordinal}", record=True, ask=True)
    return path


def decision(engine: Engine, topic: str = TOPIC) -> Decision:
    (found,) = engine.decision_log.last(1, topic=topic)
    return found


def test_a_reply_that_uses_a_topic_labels_its_decision(engine: Engine, capture: ConversationCapture) -> None:
    path = talk(engine, capture, ("user", MESSAGE), ("agent", REVIEW))
    assert decision(engine).verdict == "active"
    assert engine.labels.learn_from_use(path, 1) == 1
    assert decision(engine)[-2:] == (True, "use")
    assert engine.labels.learn_from_use(path, 0) == 0, "labelled only once"


def test_a_persons_label_is_kept(engine: Engine, capture: ConversationCapture) -> None:
    path = talk(engine, capture, ("user", MESSAGE), ("agent", REVIEW))
    engine.decision_log.label(decision(engine), False)
    assert engine.labels.learn_from_use(path, 0) == 0
    assert decision(engine)[-2:] == (False, "person")


def test_a_withdrawn_label_can_be_replaced_by_one_from_use(
    engine: Engine, capture: ConversationCapture
) -> None:
    path = talk(engine, capture, ("user", MESSAGE), ("agent", REVIEW))
    labelled = engine.decision_log.label(decision(engine), False)
    assert engine.decision_log.label(labelled, None).useful is None
    assert engine.labels.learn_from_use(path, 0) == 1


def test_only_active_topics_are_labelled(engine: Engine, capture: ConversationCapture) -> None:
    engine.library.force(TOPIC, False)
    path = talk(engine, capture, ("user", MESSAGE), ("agent", REVIEW))
    assert engine.labels.learn_from_use(path, 0) == 0
    engine.library.force(TOPIC, None)
    assert engine.labels.learn_from_use(path, 0) == 0, "it was not in that prompt"


def test_unlogged_decisions_are_not_labelled(engine: Engine, capture: ConversationCapture) -> None:
    path = capture.start("ses_use00002", title="Use")
    capture.message("ses_use00002", "user", MESSAGE)
    capture.message("ses_use00002", "agent", REVIEW)
    assert engine.labels.learn_from_use(path, 0) == 0


def test_a_read_only_workspace_learns_nothing(engine: Engine, capture: ConversationCapture) -> None:
    path = talk(engine, capture, ("user", MESSAGE), ("agent", REVIEW))
    with Engine.open(engine.workspace.root, read_only=True) as other:
        assert other.labels.learn_from_use(path, 0) == 0


def test_an_exchange_is_a_message_and_everything_up_to_the_next(
    engine: Engine, capture: ConversationCapture
) -> None:
    turns = [
        ("user", "One?"),
        ("agent", "First."),
        ("agent", "Second."),
        ("user", "Two?"),
        ("user", "Three?"),
    ]
    path = talk(engine, capture, *turns, ("agent", "Third."))
    found = engine.turns.exchanges(path, 0)
    assert [(one.key, one.reply, one.finished) for one in found] == [
        (f"{path}#0", "First.\nSecond.", True),
        (f"{path}#4", "Third.", False),
    ]
    assert [one.key for one in engine.turns.exchanges(path, 2)] == [f"{path}#0", f"{path}#4"]
    assert [one.key for one in engine.turns.exchanges(path, 5)] == [f"{path}#4"]
    assert engine.turns.exchanges("raw/conversations/none.md", 0) == []


def test_a_live_reply_labels_the_message_it_answers(live: tuple[Engine, Witness], tmp_path: Path) -> None:
    engine, seen = live
    agent = ConversationCapture(Files(Workspace.open(engine.workspace.root)))
    path = agent.start("ses_use00003", title="Live use")
    agent.message("ses_use00003", "user", MESSAGE)
    seen.wait(TurnTraced, lambda event: event.key == f"{path}#0")
    agent.message("ses_use00003", "agent", REVIEW)
    wait_until(lambda: any(found.labelled_by == "use" for found in engine.decision_log.last(50, topic=TOPIC)))
