"""What asks for nothing, or for something else, activates nothing; and whose yes counts as a label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.activation.labelled import Labelled, LabelledMessages
from engine.activation.trace import GateOutcome
from engine.engine import Engine
from engine.workspace.initialise import initialise

SMALL_TALK = (
    "ok, do it",
    "yes please",
    "continue",
    "thanks!",
    "go ahead",
    "hello",
    "hm okay then",
    "interesting",
)
OTHER_WORK = (
    "rename the variable in the parser",
    "why does the login test fail on windows",
    "add a column with the total to the report",
    "the server returns 502 since noon",
    "update the changelog and open a PR",
)
BEES = "---\ntype: topic\ndescription: When hives are inspected.\n---\n\n# Bees\n\n1. Buzz.\n"


@pytest.mark.parametrize("text", SMALL_TALK)
def test_small_talk_activates_and_offers_nothing_in_the_sample(sample: Path, text: str) -> None:
    with Engine.open(sample) as engine:
        trace = engine.trace(text)
    assert trace.active == trace.offered == ()


def test_other_work_activates_and_offers_nothing_in_a_workspace_with_one_topic_of_ones_own(
    tmp_path: Path,
) -> None:
    root = tmp_path / "fresh"
    initialise(root)
    (root / "topics/bees.md").write_text(BEES)
    with Engine.open(root) as engine:
        for text in (*SMALL_TALK, *OTHER_WORK):
            trace = engine.trace(text)
            assert trace.active == trace.offered == (), text


def test_a_persons_answer_to_the_gate_counts_as_a_label(sample: Path) -> None:
    text = "which bottle goes with the mussels"
    with Engine.open(sample) as engine:
        trace = engine.trace(text)
        row = replace(trace.rows[0], gate=GateOutcome("yes", "ask"))
        gather = LabelledMessages(engine.decision_log, engine.files)
        before = gather()
        engine.decision_log.record(replace(trace, rows=(row,)))
        engine.decision_log.flush()
        assert gather() == {**before, row.topic: Labelled((text,))}
