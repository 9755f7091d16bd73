"""The embedding model set in memory-config.yaml, from the setting to search results, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from engine.engine import Engine
from engine.pipeline.assembly import embedder_for
from engine.providers import attempts
from engine.providers.embeddings import OpenAIEmbedder
from engine.search.embeddings import LocalEmbedder
from engine.settings.file import CONFIG_FILE
from engine.settings.model import SearchSettings
from engine.workspace import doctor
from engine.workspace.finding import Finding
from tests.cli.conftest import Command, apo  # noqa: F401 — a fixture
from tests.engine.conftest import save
from tests.providers.conftest import KEY, json_response
from tests.search.samples import BagOfWords
from tests.waiting import wait_until

DIMENSIONS = 256


class Model:
    """A server with a bag-of-words embedding model."""

    def __init__(self, server: HTTPServer) -> None:
        self.address = server.url_for("/v1")
        self.texts: list[str] = []
        self.fails = False
        self._bag = BagOfWords(DIMENSIONS)
        server.expect_request("/v1/embeddings", method="POST").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        if self.fails:
            return json_response({"error": {"message": "no more credit"}}, 403)
        texts: list[str] = request.get_json(force=True)["input"]
        self.texts += texts
        data: list[dict[str, Any]] = [
            # Like a real model, it returns a nonzero vector for every text.
            {"index": place, "embedding": [0.01 + float(number) for number in row]}
            for place, row in enumerate(self._bag.embed(texts))
        ]
        return json_response({"data": data})


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """The embedding server, with no other one reachable."""
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "AUTOPOIESIS_SEARCH_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(attempts, "_FIRST_PAUSE_S", 0.01)
    with HTTPServer(threaded=True) as server:
        yield Model(server)


def configure(root: Path, **settings: object) -> None:
    """Replace the workspace's settings file with these search settings."""
    lines = "".join(f"  {name}: {value}\n" for name, value in settings.items())
    save(root / CONFIG_FILE, f"search:\n{lines}" if lines else "")


def openai_settings(model: Model) -> dict[str, object]:
    return {
        "embedding": "openai",
        "embedding_model": "bag",
        "embedding_dimensions": DIMENSIONS,
        "embedding_base_url": model.address,
        "embedding_deadline_s": 60,  # the first request also waits for the client's package
    }


def findings(root: Path, start: str) -> list[Finding]:
    return [finding for finding in doctor.examine(root) if finding.text.startswith(start)]


def test_the_settings_choose_the_model() -> None:
    assert isinstance(embedder_for(SearchSettings()), LocalEmbedder)
    found = embedder_for(
        SearchSettings(
            embedding="openai", embedding_dimensions=64, embedding_base_url="http://localhost:1/v1"
        )
    )
    assert isinstance(found, OpenAIEmbedder)
    assert found.id == "openai text-embedding-3-small 64 http://localhost:1/v1 1"


def test_index_creates_all_vectors_of_the_new_model_and_search_uses_them(
    sample: Path,
    model: Model,
    apo: Command,  # noqa: F811 — the fixture
) -> None:
    assert apo("-C", sample, "index").code == 0
    configure(sample, **openai_settings(model))
    done = apo("-C", sample, "index", "--json")
    status = done.json["status"]
    assert status["vectors"] == status["chunks"] > 64
    assert (status["without_vectors"], status["vectors_coming"]) == ("", "")
    assert status["embedder"] == f"openai bag {DIMENSIONS} {model.address} 1"
    assert len(model.texts) == status["chunks"], "each text is sent exactly once"
    found = apo("-C", sample, "search", "connection pool", "--limit", "1", "--json").json
    assert found[0]["vector_rank"]
    assert model.texts[-1] == "connection pool"


def test_index_reports_why_vectors_cannot_be_created(
    sample: Path,
    model: Model,
    apo: Command,  # noqa: F811 — the fixture
) -> None:
    configure(sample, **openai_settings(model))
    model.fails = True
    ran = apo("-C", sample, "index")
    assert ran.code == 0
    assert "searching by words only: 0 of" in ran.out
    assert "the key was refused (403); set AUTOPOIESIS_SEARCH_API_KEY to a key that is valid there" in ran.out
    assert apo("-C", sample, "search", "connection pool").code == 0


def test_a_live_engine_follows_a_change_of_model(live: tuple[Engine, Any], model: Model) -> None:
    engine, _ = live
    wait_until(lambda: engine.index.status().vectors)
    configure(engine.workspace.root, **openai_settings(model))
    wait_until(lambda: engine.index.status().embedder.startswith("openai bag"))
    wait_until(lambda: engine.index.status().vectors == engine.index.status().chunks)
    save(engine.workspace.root / "knowledge/facts.md", "# Facts\n\n- The walrus is called Ada\n")
    wait_until(lambda: "walrus" in " ".join(model.texts))
    wait_until(lambda: any(one.vector_rank for one in engine.search("walrus", limit=1)))


def test_a_prompt_is_compiled_even_if_the_model_fails(sample: Path, model: Model) -> None:
    configure(sample, **openai_settings(model))
    model.fails = True
    with Engine.open(sample) as engine:
        assert engine.compile("what about the connection pool?", session_id="", ask=False).text


def test_doctor_reports_the_model_and_whether_it_answers(sample: Path, model: Model) -> None:
    configure(sample)
    (finding,) = findings(sample, "search embedding")
    assert (finding.level, finding.text) == (
        "ok",
        "search embedding: local, the built-in vectors (192 dimensions)",
    )
    assert model.texts == []
    configure(sample, **openai_settings(model))
    (finding,) = findings(sample, "search embedding")
    assert finding.level == "ok"
    assert finding.text.startswith(f"search embedding: openai, bag ({DIMENSIONS} dimensions), answered in ")
    model.fails = True
    (finding,) = findings(sample, "search.embedding is openai")
    assert finding.level == "error" and "the key was refused (403)" in finding.text
    assert finding.hint.startswith("set AUTOPOIESIS_SEARCH_API_KEY")


def test_doctor_reports_settings_without_effect(sample: Path) -> None:
    configure(sample, embedding_dimensions=512, embedding_base_url="http://localhost:11434/v1")
    (finding,) = findings(sample, "search.embedding_dimensions and search.embedding_base_url have no effect")
    assert finding.level == "note"


def test_doctor_reports_the_progress_of_the_vectors(sample: Path, model: Model) -> None:
    with Engine.open(sample) as engine:
        engine.refresh_index()
        chunks = engine.index.status().chunks
    configure(sample, **openai_settings(model))
    (finding,) = findings(sample, "search index: 0 of")
    assert finding == Finding(
        "note", f"search index: 0 of {chunks} chunks have vectors", "run: autopoiesis index"
    )


def test_no_crash_file_or_log_of_the_workspace_contains_the_key(
    sample: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    configure(sample, **openai_settings(model))
    with Engine.open(sample) as engine:
        engine.refresh_index()
        assert engine.index.finish_vectors() == ""
        engine.search("connection pool")
        assert KEY not in repr(engine.index.status())
    for path in sample.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
