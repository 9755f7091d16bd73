"""Labels by people are logged and change later decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.activation.trace import Funnel, Message, Trace
from engine.conversations.conversations import Conversations
from engine.conversations.turns import Turns
from engine.engine import Engine
from engine.errors import AutopoiesisError, ReadOnly
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture

TOPIC = "github-pr-review"
MESSAGE = "Can you review the PR that just came in?"
UNLIKE = "Which wine goes with the fish tonight?"


def capture_turn(engine: Engine, text: str) -> str:
    """Capture a turn as another program would; return its key."""
    capture = ConversationCapture(Files(Workspace.open(engine.workspace.root)), clock=engine.clock)
    path = capture.start("ses_label001", title="Labels")
    capture.message("ses_label001", "user", text)
    return f"{path}#0"


def score(engine: Engine, text: str) -> float:
    row = engine.trace(text).row(TOPIC)
    assert row is not None
    return row.score


def test_a_label_is_logged_and_learned_from_at_once(engine: Engine) -> None:
    key, before = capture_turn(engine, UNLIKE), score(engine, UNLIKE)
    remembered = engine.trace_of(key)
    assert remembered is not None
    engine.labels.label(key, TOPIC, True)
    (decision,) = engine.decision_log.last(1, topic=TOPIC)
    assert (decision.message, decision.useful, decision.labelled_by) == (UNLIKE, True, "person")
    assert score(engine, UNLIKE) > before + 0.1
    again = engine.trace_of(key)
    assert again is not None
    assert again.row(TOPIC) != remembered.row(TOPIC), "the remembered trace is recomputed"
    engine.labels.label(key, TOPIC, None)
    (decision,) = engine.decision_log.last(1, topic=TOPIC)
    assert decision.useful is None
    assert score(engine, UNLIKE) == pytest.approx(before, abs=1e-6)


def test_a_missing_row_cannot_be_labelled(engine: Engine) -> None:
    key = capture_turn(engine, MESSAGE)
    for wrong, topic in ((key, "unheard-of"), (key.replace("#0", "#7"), TOPIC), ("nowhere", TOPIC)):
        with pytest.raises(AutopoiesisError, match="was not considered for this message"):
            engine.labels.label(wrong, topic, True)
    assert not engine.decision_log.last(10)


def test_a_read_only_workspace_cannot_be_labelled(engine: Engine) -> None:
    key = capture_turn(engine, MESSAGE)
    with Engine.open(engine.workspace.root, read_only=True) as other:
        with pytest.raises(ReadOnly):
            other.labels.label(key, TOPIC, True)
        assert not other.labels.learn()


def test_learning_labels_does_not_create_a_pipeline(engine: Engine) -> None:
    assert not engine.labels.learn()
    assert not engine.has("pipeline")


def test_a_trace_in_progress_when_traces_are_forgotten_is_discarded(tmp_path: Path) -> None:
    """It was computed with the state that was meant to be forgotten."""
    made: list[Trace] = []

    def process(message: Message, record: bool, ask: bool) -> Trace:
        if not made:
            turns.forget()
        made.append(Trace(message, (), Funnel(0, 0, 0, 0, 0)))
        return made[-1]

    workspace = Workspace(tmp_path)
    files = Files(workspace)
    capture = ConversationCapture(files)
    path = capture.start("ses_label002", title="Labels")
    capture.message("ses_label002", "user", MESSAGE)
    turns = Turns(Conversations(workspace, files), process, lambda: "1")
    first = turns.trace_of(f"{path}#0")
    second = turns.trace_of(f"{path}#0")
    assert first is made[0]
    assert second is made[1]
    assert turns.trace_of(f"{path}#0") is second
