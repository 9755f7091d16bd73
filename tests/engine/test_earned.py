"""A topic earns activation by its scores alone from labels of its workspace, and loses it again."""

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
    """A workspace of four topics without triggers."""
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
    """Labels messages as a person does, and learns once."""
    log = engine.decision_log
    for text in texts:
        log.label(log.ensure(engine.trace(text), TOPIC), useful)
    engine.labels.learn()


def told(engine: Engine, text: str = UNSEEN) -> tuple[str, str]:
    row = engine.trace(text).row(TOPIC)
    assert row is not None
    return row.verdict, row.why


def test_labels_earn_it_and_noise_takes_it_away(engine: Engine) -> None:
    verdict, why = told(engine)
    assert verdict == "dropped" and "(0 of 8 labels)" in why
    label(engine, WANTED[:3], True)
    verdict, why = told(engine)
    assert verdict == "dropped" and "(3 of 8 labels)" in why
    label(engine, WANTED[3:], True)
    verdict, why = told(engine)
    assert verdict == "active" and "proven by your labels (right for 12 of 12 labels)" in why
    assert told(engine, "ok, do it")[0] == "dropped"
    label(engine, tuple(text.replace("should I open", "did I open") for text in WANTED), False)
    verdict, why = told(engine)
    assert verdict == "dropped" and "once your labels have proven it (right for " in why


def test_labels_that_contradict_each_other_earn_nothing(engine: Engine) -> None:
    label(engine, WANTED[::2], True)
    label(engine, WANTED[1::2], False)
    assert told(engine)[0] == "dropped"


def test_other_processes_see_it_and_an_edit_of_the_topic_takes_it_back(engine: Engine) -> None:
    label(engine, WANTED, True)
    with Engine.open(engine.workspace.root) as other:
        assert told(other)[0] == "active"
        path = engine.workspace.root / "topics" / f"{TOPIC}.md"
        path.write_text(path.read_text().replace("Pick a bottle", "Choose a bottle"))
        other.reload_topics()
        assert told(other)[0] == "dropped"
        assert other.labels.learn(), "what is known of the new text is looked at again"
        assert told(other)[0] == "active"
        assert not other.labels.learn(), "and only once"


def test_a_message_on_which_a_trigger_fires_proves_nothing(engine: Engine) -> None:
    path = engine.workspace.root / "topics" / f"{TOPIC}.md"
    path.write_text(
        path.read_text().replace("triggers: []", "triggers:\n  - type: keywords\n    words: [wine]")
    )
    engine.reload_topics()
    label(engine, WANTED, True)
    assert Proofs(engine.files, "shipped")([engine.topic(TOPIC)])[TOPIC].useful == 0
    unhit = "Which bottle should I open with the mussels this evening?"
    verdict, why = told(engine, unhit)
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
    assert told(engine)[0] == "dropped"
    engine.labels.learn()
    assert told(engine)[0] == "active"


def test_a_label_is_taken_where_the_embedding_is_missing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    label(engine, WANTED[:1], True)

    def missing(*_of: object) -> None:
        raise EmbeddingFailed("is not installed", where="watchers.embedding")

    monkeypatch.setattr("engine.pipeline.calibrated._meaning", missing)
    assert not prove_topics(engine.library.topics, engine.decision_log, engine.files, engine.config.watchers)


def test_what_other_vectors_proved_does_not_count(engine: Engine) -> None:
    label(engine, WANTED, True)
    topics = [engine.topic(TOPIC)]
    assert Proofs(engine.files, "shipped")(topics)
    assert not Proofs(engine.files, "minilm")(topics)


def test_an_answer_to_the_gate_that_a_person_gave_is_a_label(engine: Engine) -> None:
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


def test_small_talk_fires_nothing(sample: Path, engine: Engine) -> None:
    with Engine.open(sample) as full:
        assert [full.trace(text).active for text in SMALL_TALK] == [()] * len(SMALL_TALK)
        assert full.trace("Can you review the PR that just came in?").active == ("github-pr-review",)
    assert [engine.trace(text).active for text in SMALL_TALK] == [()] * len(SMALL_TALK)


def test_a_fresh_workspace_with_one_unrelated_topic_stays_quiet(tmp_path: Path) -> None:
    root = tmp_path / "fresh"
    initialise(root)
    (root / "topics" / "bees.md").write_text(
        "---\ntype: topic\ndescription: Bees.\n---\n\n# Bees\n\n1. Buzz.\n"
    )
    with Engine.open(root) as fresh:
        assert [fresh.trace(text).active for text in SMALL_TALK] == [()] * len(SMALL_TALK)
