"""Labels in a workspace earn a topic activation by score alone, and can take it away again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.activation.labelled import Labelled
from engine.activation.proof import PROOFS_PATH, Proofs
from engine.engine import Engine
from engine.errors import EmbeddingFailed
from engine.pipeline.calibrated import prove_topics
from engine.workspace.initialise import initialise

TOPIC = "wine-cellar"
ABOUT = {
    TOPIC: ("Which wine to open with a meal.", "Which wine goes with the lamb?", "Pick a bottle for tonight"),
    "train-travel": ("Trains and tickets.", "Book a train to Ghent", "When does the night train leave?"),
    "garden": ("What to plant and when.", "When do I prune the roses?", "The tomatoes look ill"),
    "taxes": ("The yearly return.", "Which receipts do I need?", "Is the deadline in May?"),
}
DISHES = (
    *(
        "salmon",
        "duck",
        "risotto",
        "oysters",
        "goulash",
        "asparagus",
        "venison",
        "tagine",
        "lasagne",
        "sushi",
    ),
    *("trout", "rabbit"),
)
WANTED = tuple(f"What wine should I open with the {dish} this evening?" for dish in DISHES)
UNSEEN = "What wine should I open with the mussels this evening?"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with four topics without triggers."""
    root = tmp_path_factory.mktemp("earned") / "memory"
    initialise(root)
    for path in (root / "topics").glob("*.md"):
        path.unlink()
    for name, (about, *examples) in ABOUT.items():
        listed = "".join(f"  - {example}\n" for example in examples)
        head = f"type: topic\ndescription: {about}\ntriggers: []\nactivation: gated\nexamples:\n{listed}"
        (root / "topics" / f"{name}.md").write_text(
            f"---\n{head}---\n\n# {name}\n\n## Instructions\n\n1. {about}\n"
        )
    return root


@pytest.fixture
def engine(pristine: Path, tmp_path: Path) -> Iterator[Engine]:
    root = tmp_path / "earned"
    shutil.copytree(pristine, root)
    with Engine.open(root) as opened:
        yield opened


def label(engine: Engine, texts: tuple[str, ...], useful: bool | None) -> None:
    """Label messages as a person would, then learn once."""
    log = engine.decision_log
    for text in texts:
        log.label(log.ensure(engine.trace(text), TOPIC), useful)
    engine.labels.learn()


def verdict_for(engine: Engine, text: str = UNSEEN) -> tuple[str, str]:
    row = engine.trace(text).row(TOPIC)
    assert row is not None
    return row.verdict, row.why


def test_labels_earn_activation_and_noise_labels_revoke_it(engine: Engine) -> None:
    verdict, why = verdict_for(engine)
    assert verdict == "dropped" and "(0 of 8 labels)" in why
    label(engine, WANTED[:3], True)
    verdict, why = verdict_for(engine)
    assert verdict == "dropped" and "(3 of 8 labels)" in why
    label(engine, WANTED[3:], True)
    verdict, why = verdict_for(engine)
    assert verdict == "active" and "proven by your labels (right for 12 of 12 labels)" in why
    assert verdict_for(engine, "ok, do it")[0] == "dropped"
    label(engine, tuple(text.replace("should I open", "did I open") for text in WANTED), False)
    verdict, why = verdict_for(engine)
    assert verdict == "dropped" and "once your labels have proven it (right for " in why


def test_contradictory_labels_earn_nothing(engine: Engine) -> None:
    label(engine, WANTED[::2], True)
    label(engine, WANTED[1::2], False)
    assert verdict_for(engine)[0] == "dropped"


def test_other_processes_see_earned_activation_and_editing_the_topic_revokes_it(engine: Engine) -> None:
    label(engine, WANTED, True)
    with Engine.open(engine.workspace.root) as other:
        assert verdict_for(other)[0] == "active"
        path = engine.workspace.root / "topics" / f"{TOPIC}.md"
        path.write_text(path.read_text().replace("Pick a bottle", "Choose a bottle"))
        other.reload_topics()
        assert verdict_for(other)[0] == "dropped"
        assert other.labels.learn(), "the labels are re-evaluated for the new text"
        assert verdict_for(other)[0] == "active"
        assert not other.labels.learn(), "but only once"


def test_messages_that_fire_a_trigger_do_not_count_as_proof(engine: Engine) -> None:
    path = engine.workspace.root / "topics" / f"{TOPIC}.md"
    path.write_text(
        path.read_text().replace("triggers: []", "triggers:\n  - type: keywords\n    words: [wine]")
    )
    engine.reload_topics()
    label(engine, WANTED, True)
    assert Proofs(engine.files, "shipped")([engine.topic(TOPIC)])[TOPIC].useful == 0
    unhit = "Which bottle should I open with the mussels this evening?"
    verdict, why = verdict_for(engine, unhit)
    assert verdict == "dropped" and "(0 of 8 labels)" in why


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b'{"form": 1}',
        b"\xff\x00",
        b'{"form":1,"embedding":"shipped","from":"x","topics":{"a":{}}}',
    ],
)
def test_a_damaged_file_proves_nothing(engine: Engine, damage: bytes) -> None:
    label(engine, WANTED, True)
    (engine.workspace.root / PROOFS_PATH).write_bytes(damage)
    assert verdict_for(engine)[0] == "dropped"
    engine.labels.learn()
    assert verdict_for(engine)[0] == "active"


def test_labelling_works_without_the_embedding(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    label(engine, WANTED[:1], True)

    def missing(*_of: object) -> None:
        raise EmbeddingFailed("is not installed", where="watchers.embedding")

    monkeypatch.setattr("engine.pipeline.calibrated._meaning", missing)
    assert not prove_topics(engine.library.topics, engine.decision_log, engine.files, engine.config.watchers)


def test_proof_from_another_embedding_does_not_count(engine: Engine) -> None:
    label(engine, WANTED, True)
    topics = [engine.topic(TOPIC)]
    assert Proofs(engine.files, "shipped")(topics)
    assert not Proofs(engine.files, "minilm")(topics)


def test_a_persons_answer_to_the_gate_counts_as_a_label(engine: Engine) -> None:
    from dataclasses import replace

    from engine.activation.labelled import LabelledMessages
    from engine.activation.trace import GateOutcome

    trace = engine.trace(UNSEEN)
    rows = tuple(replace(row, gate=GateOutcome("yes", "ask")) for row in trace.rows if row.topic == TOPIC)
    gather = LabelledMessages(engine.decision_log, engine.files)
    assert gather() == {}
    engine.decision_log.record(replace(trace, rows=rows), {})
    engine.decision_log.flush()
    assert gather() == {TOPIC: Labelled((UNSEEN,))}


SMALL_TALK = ("ok, do it", "yes please", "continue", "thanks!", "go ahead", "looks good to me", "hello")


def test_small_talk_activates_nothing(sample: Path, engine: Engine) -> None:
    with Engine.open(sample) as full:
        assert [full.trace(text).active for text in SMALL_TALK] == [()] * len(SMALL_TALK)
        assert full.trace("Can you review the PR that just came in?").active == ("github-pr-review",)
    assert [engine.trace(text).active for text in SMALL_TALK] == [()] * len(SMALL_TALK)


def test_small_talk_activates_nothing_in_a_workspace_with_one_topic(tmp_path: Path) -> None:
    root = tmp_path / "fresh"
    initialise(root)
    (root / "topics" / "bees.md").write_text(
        "---\ntype: topic\ndescription: Bees.\n---\n\n# Bees\n\n1. Buzz.\n"
    )
    with Engine.open(root) as fresh:
        assert [fresh.trace(text).active for text in SMALL_TALK] == [()] * len(SMALL_TALK)
