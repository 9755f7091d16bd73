"""The topics of the scale benchmark are built as documented."""

from __future__ import annotations

import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.search import embeddings
from tests.benchmarks import scale
from tests.benchmarks.inputs import Words, topics
from tests.benchmarks.peers import SemanticRouter
from tests.benchmarks.setting import Setting


def write_set(folder: Path, name: str, intents: dict[str, list[str]]) -> None:
    data = {
        "topics": {key: key.replace("_", " ") for key in intents},
        "train": [
            [text, key if name == "clinc150" else [key, "other"]] for key in intents for text in intents[key]
        ],
        "val": [["what is this", "x"]],
        "oos_val": ["nothing of the kind"],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    texts = {
        "book_flight": [f"please book flight number {n} to rome" for n in range(12)],
        "pay_bill": [f"pay my bill of {n} euros today" for n in range(7)],
        "rare": ["only once"],
    }
    write_set(tmp_path / "data/activation", "clinc150", texts)
    write_set(tmp_path / "data/activation", "nlupp", {"greet": [f"hello number {n}" for n in range(5)]})
    return tmp_path / "data"


def test_topics_consist_of_utterances_of_one_intent_each(data: Path) -> None:
    intents = scale.read(data / "activation")
    assert sorted(intents.utterances) == ["book flight", "greet", "pay bill", "rare"]
    assert sorted(intents.messages) == ["nothing of the kind"] * 2 + ["what is this"] * 2
    known = scale.build(intents, 9)
    assert len({topic.name for topic in known}) == len(known) == 9
    assert scale.build(intents, 9) == known
    for topic in known:
        assert len(topic.examples) == scale.EXAMPLES
        assert set(topic.examples) <= set(intents.utterances[topic.title])
        assert topic.title != "rare"
        assert all(text in topic.instructions for text in topic.examples)
        assert any(re.search(topic.triggers[0].match, text) for text in topic.examples)


@pytest.mark.thorough
def test_the_benchmark_runs_on_the_data(data: Path, tmp_path: Path) -> None:
    rows = list(scale.run(Setting(tmp_path, quick=True, data=data)))
    assert [row.name for row in rows] == [
        "40 topics, tiers 1 and 2",
        "40 topics, the whole trace",
        "40 topics, made ready",
    ]
    assert "semantic-router: not installed" in rows[0].note
    assert "made-up" not in rows[0].note


def test_an_installed_semantic_router_gets_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    class Encoder:
        def __init__(self, name: str) -> None:
            self.name = name

    def router(encoder: Any, routes: list[Any]) -> Any:
        given.update(encoder=encoder, routes=routes)
        return lambda text: encoder([text])

    package = types.ModuleType("semantic_router")
    package.__dict__.update(IndexedRouter=router, Route=lambda name, utterances: (name, utterances))
    encoders = types.ModuleType("semantic_router.encoders")
    encoders.__dict__["DenseEncoder"] = Encoder
    monkeypatch.setitem(sys.modules, "semantic_router", package)
    monkeypatch.setitem(sys.modules, "semantic_router.encoders", encoders)

    class Embedder:
        def embed(self, texts: list[str]) -> Any:
            return numpy.ones((len(texts), 2))

    monkeypatch.setattr(embeddings, "LocalEmbedder", Embedder)
    known = list(scale._with_examples(topics(Words(1, 300), 3), Words(2, 300)))
    rival = SemanticRouter.of(known)
    assert rival is not None
    assert given["routes"] == [(topic.name, list(topic.examples)) for topic in known]
    assert given["encoder"].name == rival.encoder
    assert rival.route("anything") == [[1.0, 1.0]]


def test_an_old_or_missing_semantic_router_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "semantic_router", types.ModuleType("semantic_router"))
    monkeypatch.setitem(sys.modules, "semantic_router.encoders", types.ModuleType("semantic_router.encoders"))
    assert SemanticRouter.of([]) is None
    monkeypatch.setitem(sys.modules, "semantic_router", None)
    assert SemanticRouter.of([]) is None
