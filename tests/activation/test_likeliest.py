"""The likeliest topics of a message are asked about or offered, the others are dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from engine.activation.candidates import LIKELIEST
from engine.activation.decisions import DecisionLog
from engine.activation.gate import AgentGate, GateProvider, LocalGate
from engine.activation.pipeline import WatcherPipeline
from engine.activation.similarity import Hits, Scorer
from engine.activation.trace import Trace
from engine.settings.model import PolicyRow, WatcherSettings
from engine.topics.model import Topic, Trigger
from tests.activation.support import Topics, pattern, pipeline_of, topic
from tests.activation.test_gate import Scripted, yes

PROBABILITIES = {"sure": 0.9, "high": 0.55, "middle": 0.41, "low": 0.25, "lowest": 0.21, "out": 0.1}
ROW = PolicyRow(gate=0.2, activate=0.6)


class FixedProbabilities(Scorer):
    """A calibrated tier 2 with fixed probabilities."""

    deciding = "probability"

    def __init__(self, probabilities: Mapping[str, float]) -> None:
        self._probabilities = probabilities

    def update(self, topics: Sequence[Topic]) -> None:
        pass

    def score(self, text: str, hits: Hits) -> dict[str, float]:
        return dict(self._probabilities)


def watching(
    provider: GateProvider,
    probabilities: Mapping[str, float] = PROBABILITIES,
    *,
    decisions: DecisionLog | None = None,
    triggers: Mapping[str, Trigger] | None = None,
    row: PolicyRow = ROW,
) -> WatcherPipeline:
    fired = {name: (trigger,) for name, trigger in (triggers or {}).items()}
    source = Topics(tuple(topic(name, "Words.", triggers=fired.get(name, ())) for name in probabilities))
    watchers = WatcherSettings(preset="calibrated", policy={"medium": row})
    scorer = FixedProbabilities(probabilities)
    return pipeline_of(source, watchers, scorer=scorer, provider=provider, decisions=decisions)


def verdict_and_rule(trace: Trace, name: str) -> tuple[str, str]:
    row = trace.row(name)
    assert row is not None
    return row.verdict, row.rule


def test_the_likeliest_two_are_asked_about_and_the_others_dropped() -> None:
    provider = Scripted(yes(cost=0.001))
    trace = watching(provider).process("hello")
    assert sorted(provider.asked) == ["high", "middle"]
    assert verdict_and_rule(trace, "middle") == ("active", "medium <.60")
    assert verdict_and_rule(trace, "high") == ("active", "medium <.60")
    assert verdict_and_rule(trace, "low") == ("dropped", "not asked")
    assert verdict_and_rule(trace, "sure") == ("active", "medium ≥.60")
    assert verdict_and_rule(trace, "out") == ("dropped", "medium <.20")
    assert trace.funnel.asked == 2 and trace.cost_usd == pytest.approx(0.002) and trace.gate_ms > 0
    low = trace.row("low")
    assert low is not None and low.gate is None and (low.gate_at, low.activate_at) == (0.2, 0.6)
    assert low.why == (
        "the gate was not asked, as others are likelier: "
        "no trigger matched, but score .25 is between .20 and .60"
    )
    assert low.flip == "would activate at ≥ .60; now .25"


def test_the_local_gate_is_asked_about_every_candidate() -> None:
    trace = watching(LocalGate()).process("hello")
    assert {row.topic: row.verdict for row in trace.rows if row.gate} == {
        "high": "active",
        "middle": "rejected",
        "low": "rejected",
        "lowest": "rejected",
    }
    assert [row.gate.probability for row in trace.rows if row.gate] == [0.55, 0.41, 0.25, 0.21]
    assert trace.offered == () and trace.funnel.asked == 4 > LIKELIEST


def test_with_a_similarity_those_whose_trigger_matched_are_asked_about_first() -> None:
    texts = {"hit": "Ship.", **{name: f"Roll back the canary {name}." for name in ("a", "b")}}
    triggers, provider = {"hit": (pattern("deploy"),)}, Scripted(yes())
    known = (
        topic(name, text, priority="high", triggers=triggers.get(name, ())) for name, text in texts.items()
    )
    pipeline = pipeline_of(Topics(tuple(known)), provider=provider)
    trace = pipeline.process("deploy, then roll back the canary")
    assert sorted(provider.asked) == ["a", "hit"]
    assert verdict_and_rule(trace, "b") == ("dropped", "not asked")


# Offered to the agent, which opens what applies


def test_an_uncertain_topic_that_is_not_offered_says_why_not() -> None:
    scores = {"sure": 0.9, "high": 0.55, "middle": 0.41, "low": 0.25, "lowest": 0.16, "out": 0.05}
    row = PolicyRow(gate=0.1, activate=0.6)
    trace = watching(AgentGate(), scores, row=row, triggers={"low": pattern("hello")}).process("hello")
    assert trace.offered == ("high", "middle")
    low, lowest = trace.row("low"), trace.row("lowest")
    assert low is not None and lowest is not None and low.gate is None and lowest.gate is None
    assert (low.rule, lowest.rule) == ("not offered", "near chance")
    assert low.why == (
        "not offered to the agent, as others are likelier: matched “hello”; score .25 is between .10 and .60"
    )
    assert low.flip == "would activate at ≥ .60; now .25"
    assert lowest.why == "no trigger matched, and score .16 is near chance among so few topics"


def test_among_few_topics_a_probability_near_chance_activates_nothing_without_a_hit() -> None:
    alone, hit, low = {"only": 0.45}, {"only": pattern("hello")}, PolicyRow(gate=0.2, activate=0.4)
    row = watching(AgentGate(), alone, row=low).process("hello").row("only")
    assert row is not None and (row.verdict, row.rule) == ("dropped", "near chance")
    assert watching(AgentGate(), {"only": 0.5}, row=low).process("hello").active == ("only",)
    assert watching(AgentGate(), alone, row=low, triggers=hit).process("hello").active == ("only",)
    assert watching(LocalGate(), alone, row=low).process("hello").active == ("only",), "another gate can tell"


def test_output_offers_a_topic_whose_trigger_matched() -> None:
    triggers = {name: pattern("hello", scope="output") for name in ("sure", "low", "out")}
    trace = watching(AgentGate(), triggers=triggers).process("hello", "output")
    assert trace.active == ("sure",) and trace.offered == ("low",)


def test_of_equally_probable_topics_the_first_by_name_are_offered() -> None:
    assert watching(AgentGate(), dict.fromkeys("dbca", 0.4)).process("hello").offered == ("a", "b")
