"""End to end: a message goes through the pipeline and the gate to a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.activation.gate import Gate, GateCache, ModelGate
from engine.activation.patterns import PatternMatcher
from engine.activation.pipeline import WatcherPipeline
from engine.activation.similarity import TfidfScorer
from engine.activation.trace import TopicTrace
from engine.settings.model import GateSettings, PolicyRow, WatcherSettings
from tests.activation.support import pr_topic, topic, workspace_files
from tests.providers.conftest import KEY, Service, json_response


@pytest.fixture
def pipeline_with_gate(service: Service, tmp_path: Path) -> Iterator[WatcherPipeline]:
    """A pipeline that always calls the server."""
    settings = GateSettings(deadline_s=20)
    gate = Gate(ModelGate(service.provider()), settings, GateCache(workspace_files(tmp_path)))
    watchers = WatcherSettings(preset="spec", nominate="pattern", policy={"high": PolicyRow(gate=0.0)})
    topics = pr_topic(), topic("other", "Nothing of this.")
    pipeline = WatcherPipeline(lambda: topics, PatternMatcher(), TfidfScorer(), gate, watchers, settings)
    yield pipeline
    service.release.set()
    pipeline.close()


def first_row(pipeline: WatcherPipeline, message: str = "review this") -> TopicTrace:
    row = pipeline.process(message).row("github-pr-review")
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("reply", "verdict"), [("YES", "active"), ("**No.**", "rejected"), ("It depends.", "failed")]
)
def test_the_reply_of_the_model_decides(
    service: Service, pipeline_with_gate: WatcherPipeline, reply: str, verdict: str
) -> None:
    service.respond_with(json_response(service.reply(reply)))
    row = first_row(pipeline_with_gate)
    assert row.verdict == verdict
    assert row.gate is not None and row.gate.provider == service.name and row.gate.latency_ms > 0


def test_the_same_message_is_sent_to_the_gate_once(
    service: Service, pipeline_with_gate: WatcherPipeline
) -> None:
    service.respond_with(json_response(service.reply("YES")))
    rows = [
        first_row(pipeline_with_gate),
        first_row(pipeline_with_gate),
        first_row(pipeline_with_gate, "review that"),
    ]
    assert [row.gate.cached for row in rows if row.gate] == [False, True, False]
    assert len(service.bodies) == 2


def test_a_rejected_key_is_reported_in_the_trace_with_a_hint(
    service: Service, pipeline_with_gate: WatcherPipeline
) -> None:
    service.respond_with(json_response(service.error(f"bad key {KEY}"), 401))
    row = first_row(pipeline_with_gate)
    assert row.verdict == "failed"
    assert "the key was refused (401); set AUTOPOIESIS_GATE_API_KEY" in row.why
    assert KEY not in str(row)


def test_a_dripping_server_takes_no_longer_than_the_deadline(service: Service, tmp_path: Path) -> None:
    service.respond_with(service.drip_forever)
    settings = GateSettings(deadline_s=0.5)
    gate = Gate(ModelGate(service.provider()), settings)
    watchers = WatcherSettings(preset="spec", policy={"high": PolicyRow(gate=0.0)})
    pipeline = WatcherPipeline(
        lambda: (pr_topic(),), PatternMatcher(), TfidfScorer(), gate, watchers, settings
    )
    row = first_row(pipeline)
    assert row.verdict == "failed" and "no answer within 0.5 s" in row.why
    assert not service.release.is_set()
    pipeline.close()
