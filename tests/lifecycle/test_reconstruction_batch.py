"""Reconstruction in a batch: half the price, the same result, and billed once (spec 12.6)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from engine.costs.model import CostRecord
from engine.engine import Engine
from engine.errors import AutopoiesisError, ChangeRefused, ConfigError
from engine.lifecycle.reconstruction.bench import Bench
from engine.lifecycle.reconstruction.reconstruction import Report, Request
from tests.cli.conftest import Command, apo  # noqa: F401 — a fixture
from tests.lifecycle.extraction_support import SESSION, Space, rows
from tests.lifecycle.test_reconstruction import SECOND, TALK, git
from tests.providers import batch_service
from tests.providers.batch_service import BatchService
from tests.providers.conftest import one_server, prepare, server  # noqa: F401 — fixtures

MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna"}
TRIAL = "Reply with the word yes."


def facts_of(prompt: str) -> str:
    """Returns the model's reply for a window."""
    if prompt == TRIAL:
        return "yes"
    zone = "local time" if "ses_tide0002" in prompt or "Do look" in prompt else "UTC"
    return rows(facts=[{"statement": f"The tide tables are computed in {zone}."}])


@pytest.fixture(params=list(MODELS))
def fake(request: pytest.FixtureRequest, server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> BatchService:  # noqa: F811
    service = batch_service.start_service(request.param, server, says=facts_of)
    prepare(monkeypatch, service.key_variable, service.address)
    return service


@pytest.fixture
def root(tmp_path: Path, fake: BatchService, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two sessions, set up for a model."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    space = Space(tmp_path / "memory")
    (space.root / "memory-config.yaml").write_text(
        f"extraction:\n  provider: {fake.name}\n  model: {MODELS[fake.name]}\n  extractors: [facts]\n"
    )
    space.put(TALK)
    space.put(TALK.replace("ses_tide0001", "ses_tide0002").replace("Please", "Do"), SECOND)
    space.repository.commit(["memory-config.yaml", SESSION, SECOND], "first")
    return space.root


def run(
    root: Path, name: str = "v2", *, batch: bool = True, pause: Callable[[float], object] = print
) -> Report:
    """Reconstructs with a new engine, as a new program would."""
    with Engine.open(root) as engine:
        engine.reconstruction.pause = pause
        return engine.reconstruction.run(Request(name, batch=batch))


def bills(root: Path) -> list[CostRecord]:
    """Returns the calls in the cost log."""
    with Engine.open(root) as engine:
        return list(engine.costs.log.records())


def tree(root: Path, name: str) -> str:
    return git(root, "rev-parse", f"extract/{name}^{{tree}}").strip()


def test_a_batch_gives_the_same_result_for_half_the_price(root: Path, fake: BatchService) -> None:
    assert run(root, "alone", batch=False).commit and len(fake.singles) == 2
    before = bills(root)
    fake.looks, waited = 3, list[float]()
    with Engine.open(root) as engine:
        full = engine.reconstruction.estimate(Request("v2")).usd
        half = engine.reconstruction.estimate(Request("v2", batch=True)).usd
        assert full and half == full / 2 and not fake.taken
        steps: list[tuple[tuple[str, ...], int, int]] = []
        engine.reconstruction.pause = waited.append
        done = engine.reconstruction.run(Request("v2", batch=True), on_wait=lambda *each: steps.append(each))
    assert done.commit and tree(root, "v2") == tree(root, "alone")
    assert fake.singles[2:] == [TRIAL] and sorted(fake.paid()) == sorted(fake.singles[:2])
    assert [each[0] for each in steps] == [("b0",)] * 3 and steps[-1][1:] == (2, 2) and waited == [2.0, 3.0]
    trial, batch = bills(root)[len(before) :]
    assert batch.discussion == "batch b0" and batch.usage.input_tokens == 400 and trial.discussion == ""
    assert batch.cost_usd and batch.cost_usd == pytest.approx(sum(each.cost_usd or 0 for each in before) / 2)
    assert batch.price_from == before[0].price_from and batch.operation == "extract"


def test_an_interrupted_run_resumes_the_same_batch(root: Path, fake: BatchService) -> None:
    class Interrupted(BaseException):
        pass

    def interrupt(_pause: float) -> None:
        raise Interrupted

    fake.looks = 3
    for _ in range(2):
        with pytest.raises(Interrupted):
            run(root, pause=interrupt)
    with Engine.open(root) as engine:
        assert engine.reconstruction.estimate(Request("v2")).is_begun
    state = Bench.of(root, "v2").state()
    assert state is not None and [each.id for each in state.batches] == ["b0"]
    assert run(root, batch=False).commit  # whether or not --batch is given again
    assert len(fake.taken) == 1 and fake.singles == [TRIAL]
    assert [each.discussion for each in bills(root)] == ["", "batch b0"]


def test_a_batch_whose_creation_response_was_lost_is_found_again(root: Path, fake: BatchService) -> None:
    fake.fails_after_taking = [503]
    with pytest.raises(AutopoiesisError, match="the service failed"):
        run(root)
    state = Bench.of(root, "v2").state()
    assert state is not None and [each.id for each in state.batches] == [""] and len(fake.taken) == 1
    assert run(root).commit and len(fake.taken) == 1 and fake.singles == [TRIAL]


def test_the_command_states_the_cost_and_that_it_can_be_resumed(
    root: Path,
    fake: BatchService,
    apo: Command,  # noqa: F811
) -> None:
    dry = apo("-C", root, "reconstruct", "--branch", "v2", "--batch")
    assert dry.code == 0 and "2 questions in a batch, at half price, ~" in dry.out and not fake.taken
    done = apo("-C", root, "reconstruct", "--branch", "v2", "--batch", "--apply")
    assert done.code == 0 and "extract/v2 is " in done.out
    assert done.err == (
        "waiting up to a day for b0 of 2 questions; after ctrl+c, the same command resumes it\n"
    )
    assert "batch b0" in apo("-C", root, "costs", "--by", "discussion").out
    assert apo("-C", root, "reconstruct", "--merge", "v2", "--batch").code == 2
    none = apo("-C", root, "reconstruct", "--branch", "v3", "--provider", "none", "--batch")
    assert none.code == 1 and "no model is set; use anthropic or openai" in none.err


def test_expired_requests_go_into_another_batch_and_failed_ones_are_sent_singly(
    root: Path, fake: BatchService
) -> None:
    assert run(root, "alone", batch=False).commit
    before, alone = len(bills(root)), fake.singles.copy()
    fake.looks = 2
    fake.fate = lambda prompt: "expired" if "Do look" in prompt else "errored"
    with pytest.raises(ChangeRefused, match="1 of 2 requests were not processed in the batch, and cost"):
        run(root)
    assert fake.singles[2:] == [TRIAL] and len(bills(root)) == before + 1
    fake.fate, problems = lambda _prompt: "done", list[str]()
    with Engine.open(root) as engine:
        engine.reconstruction.pause, engine.reconstruction.on_problem = print, problems.append
        assert engine.reconstruction.run(Request("v2", batch=True)).commit
    assert [len(each.requests) for each in fake.taken] == [2, 1] and tree(root, "v2") == tree(root, "alone")
    assert fake.singles[3:] == [TRIAL, next(each for each in alone if "Do look" not in each)]
    (problem,) = problems
    assert problem.startswith("1 of 2 requests failed in the batch: refused (")
    assert sorted(each.discussion for each in bills(root)[before:]) == ["", "", "batch b1", "ses_tide0001"]


def test_nothing_is_sent_without_budget_batch_support_or_key(
    root: Path, fake: BatchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = root / "memory-config.yaml"
    text = config.read_text()
    config.write_text(f"{text}costs:\n  daily_usd: 0.0001\n")
    with pytest.raises(AutopoiesisError, match="this call may cost"):
        run(root)
    assert not fake.taken
    config.write_text(text)
    with pytest.raises(ConfigError, match="gemini has no batches"), Engine.open(root) as engine:
        engine.reconstruction.estimate(Request("v2", provider="gemini", batch=True))
    monkeypatch.delenv(fake.key_variable)
    with pytest.raises(AutopoiesisError, match=r"no key found.*extraction\.provider: none"):
        run(root)
    assert not fake.taken and not git(root, "branch", "--list", "extract/*")
