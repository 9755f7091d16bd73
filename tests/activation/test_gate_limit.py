"""The limits per message: which topics are asked about or offered, and how the others are decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from engine.activation.candidates import OFFERED, OFFERING, Candidate, offering
from engine.activation.decisions import DecisionLog
from engine.activation.gate import Gate
from engine.activation.gate_cache import GateCache
from engine.activation.gate_limit import distance, unasked
from engine.activation.gate_local import AgentGate, LocalGate
from engine.activation.gate_question import GateProvider, GateQuestion
from engine.activation.pipeline import WatcherPipeline
from engine.activation.policy import Step, StepKind
from engine.activation.similarity import UNGUARDED, Explanation, Hits, TfidfBatch, TfidfScorer
from engine.activation.trace import Score, Trace
from engine.settings.model import GateSettings, PolicyRow, WatcherSettings
from engine.topics.model import Topic, Trigger
from tests.activation.support import PlainMatcher, Topics, pattern, topic, workspace_files
from tests.activation.test_gate import Scripted, yes
from tests.cases import each_case

PROBABILITIES = {"sure": 0.9, "high": 0.55, "middle": 0.41, "low": 0.25, "lowest": 0.21, "out": 0.1}
ROW = PolicyRow(gate=0.2, activate=0.6)


class FixedProbabilities:
    """A calibrated tier 2 with fixed probabilities."""

    deciding = "probability"

    def __init__(self, probabilities: Mapping[str, float]) -> None:
        self._probabilities = probabilities

    def relearn(self, guard: AbstractContextManager[object] = UNGUARDED) -> bool:
        return False

    def update(self, topics: Sequence[Topic]) -> None:
        pass

    def score(self, text: str, hits: Hits) -> dict[str, tuple[Score, ...]]:
        return {name: (Score("probability", value),) for name, value in self._probabilities.items()}

    def explain(self, text: str, hits: Hits, names: Sequence[str]) -> dict[str, Explanation]:
        return {}

    def batch(self) -> TfidfBatch:
        raise NotImplementedError


def watching(
    provider: GateProvider,
    probabilities: Mapping[str, float] = PROBABILITIES,
    *,
    root: Path | None = None,
    decisions: DecisionLog | None = None,
    triggers: Mapping[str, Trigger] | None = None,
    row: PolicyRow = ROW,
    **gate: Any,
) -> WatcherPipeline:
    settings = GateSettings(**gate)
    return WatcherPipeline(
        Topics(
            tuple(
                topic(name, "Words.", triggers=(triggers[name],) if triggers and name in triggers else ())
                for name in probabilities
            )
        ),
        PlainMatcher(),
        FixedProbabilities(probabilities),
        Gate(provider, settings, None if root is None else GateCache(workspace_files(root))),
        WatcherSettings(
            preset="calibrated",
            policy={"medium": row},
        ),
        settings,
        decisions,
    )


def verdict_and_rule(trace: Trace, name: str) -> tuple[str, str]:
    row = trace.row(name)
    assert row is not None
    return row.verdict, row.rule


def test_the_least_certain_are_asked_about_and_others_decided_by_score() -> None:
    provider = Scripted(yes(cost=0.001))
    trace = watching(provider, max_calls_per_message=1).process("hello")
    assert provider.asked == ["middle"]
    assert verdict_and_rule(trace, "middle") == ("active", "medium <.60")
    assert verdict_and_rule(trace, "high") == ("active", "not asked")
    assert verdict_and_rule(trace, "low") == ("dropped", "not asked")
    assert verdict_and_rule(trace, "sure") == ("active", "medium ≥.60")
    assert verdict_and_rule(trace, "out") == ("dropped", "medium <.20")
    assert trace.funnel.asked == 1 and trace.cost_usd == pytest.approx(0.001)


def test_a_row_that_was_not_asked_about_explains_this() -> None:
    trace = watching(Scripted(yes()), max_calls_per_message=1).process("hello")
    high, low = trace.row("high"), trace.row("low")
    assert high is not None and low is not None and high.gate is None and low.gate is None
    assert high.why == (
        "active without asking the gate (gate.max_calls_per_message is 1): "
        "score .55 ≥ .40, midway between its thresholds"
    )
    assert low.why == (
        "dropped without asking the gate (gate.max_calls_per_message is 1): "
        "score .25 < .40, midway between its thresholds"
    )
    assert low.flip == (
        "with a higher gate.max_calls_per_message the gate would be asked; "
        "without, it would be active at ≥ .40"
    )
    assert high.flip.endswith("without, it would be dropped below .40")
    assert (high.gate_at, high.activate_at) == (0.2, 0.6)


@each_case(
    ("calls", "asked"),
    [
        (0, set()),
        (2, {"middle", "high"}),
        (3, {"middle", "high", "low"}),
        (9, {"middle", "high", "low", "lowest"}),
    ],
)
def test_the_limit_is_configurable(calls: int, asked: set[str]) -> None:
    provider = Scripted(yes())
    trace = watching(provider, max_calls_per_message=calls).process("hello")
    assert set(provider.asked) == asked and trace.funnel.asked == len(asked)
    assert (trace.gate_ms > 0) is bool(asked)


def test_cached_answers_do_not_count_as_calls(tmp_path: Path) -> None:
    provider = Scripted(yes())
    pipeline = watching(provider, root=tmp_path, max_calls_per_message=2)
    pipeline.process("hello")
    assert set(provider.asked) == {"middle", "high"}
    trace = pipeline.process("hello")
    assert set(provider.asked) == {"middle", "high", "low", "lowest"} and len(provider.asked) == 4
    assert trace.funnel.asked == 4
    pipeline.process("hello")
    assert len(provider.asked) == 4


def test_the_local_gate_is_asked_about_every_candidate() -> None:
    trace = watching(LocalGate(), max_calls_per_message=0).process("hello")
    assert {row.topic: row.verdict for row in trace.rows if row.gate} == {
        "high": "active",
        "middle": "rejected",
        "low": "rejected",
        "lowest": "rejected",
    }
    assert [row.gate.probability for row in trace.rows if row.gate] == [0.55, 0.41, 0.25, 0.21]


def test_past_messages_are_decided_under_the_same_limit(tmp_path: Path) -> None:
    provider = Scripted(yes())
    pipeline = watching(provider, root=tmp_path, max_calls_per_message=1)
    trace = pipeline.process("hello", ask=False)
    assert verdict_and_rule(trace, "middle")[0] == "failed"
    assert verdict_and_rule(trace, "high") == ("active", "not asked")
    live = pipeline.process("hello")
    assert verdict_and_rule(live, "middle") == ("active", "medium <.60") and verdict_and_rule(
        live, "low"
    ) == ("dropped", "not asked")


def test_decisions_without_a_gate_call_are_logged(tmp_path: Path) -> None:
    log = DecisionLog(workspace_files(tmp_path))
    watching(Scripted(yes()), decisions=log, max_calls_per_message=1).process("hello")
    logged = {decision.topic: decision for decision in log.read().decisions}
    assert (logged["high"].rule, logged["high"].verdict, logged["high"].asked) == (
        "not asked",
        "active",
        False,
    )
    assert (logged["low"].rule, logged["low"].verdict, logged["low"].asked) == ("not asked", "dropped", False)
    assert logged["high"].signals[-1] == pytest.approx(0.2007), "the log-odds of .55"


def test_with_the_spec_preset_unasked_similar_topics_are_dropped() -> None:
    texts = {
        "hit": "Ship what was built.",
        "near": "Roll back the canary when the error rate is rising fast.",
    }
    settings = GateSettings(max_calls_per_message=0)
    pipeline = WatcherPipeline(
        Topics(
            tuple(
                topic(name, text, priority="high", triggers=(pattern("deploy"),) if name == "hit" else ())
                for name, text in texts.items()
            )
        ),
        PlainMatcher(),
        TfidfScorer(),
        Gate(Scripted(yes()), settings),
        WatcherSettings(preset="spec"),
        settings,
    )
    trace = pipeline.process("deploy: is the error rate rising? then roll back the canary")
    near, hit = trace.row("near"), trace.row("hit")
    assert near is not None and hit is not None
    assert near.score > 0.5 and (near.verdict, near.rule) == ("dropped", "not asked")
    assert near.why == (
        "dropped without asking the gate (gate.max_calls_per_message is 0): "
        "no score activates it without the gate"
    )
    assert near.flip == "with a higher gate.max_calls_per_message the gate would be asked"
    assert hit.score < 0.15 and (hit.verdict, hit.rule) == ("dropped", "not asked")
    assert hit.why.endswith(": score .00 < .15, midway between its thresholds; matched “deploy”")


def test_unasked_topics_are_decided_by_the_midpoint_of_their_thresholds() -> None:
    step = Step("ask", "high <.30", 0.15, activate_at=0.3, gate_at=0.0)
    assert unasked(step, 0.15).kind == "activate" and unasked(step, 0.149).kind == "drop"
    no_upper = Step("ask", "similar ≥.15", 0.15, gate_at=0.15)
    assert unasked(no_upper, 1.0).kind == "drop"


def test_topics_are_ordered_by_distance_from_the_midpoint() -> None:
    step = Step("ask", "high <.30", 0.15, activate_at=0.3, gate_at=0.0)
    assert distance(step, 0.15) == 0 < distance(step, 0.2) < distance(step, 0.29)
    similar = Step("ask", "similar ≥.15", 0.15, gate_at=0.15)
    assert distance(similar, 0.5) < distance(similar, 0.2), "the most similar first"
    assert distance(step, 0.0) < distance(similar, 0.2), "matched topics before merely similar ones"


async def test_equally_uncertain_topics_are_asked_about_in_a_fixed_order() -> None:
    provider = Scripted(yes())
    asking = Gate(provider, GateSettings(max_calls_per_message=2))
    questions = [GateQuestion("m", name, "", name, distance=0.1) for name in ("d", "b", "c", "a")]
    assert [bool(outcome) for outcome in await asking.ask(questions)] == [False, True, False, True]
    assert [bool(outcome) for outcome in asking.ask_and_wait(questions)] == [False, True, False, True]
    asking.close()


# Offered to the agent, which opens what applies


def test_the_two_most_probable_uncertain_topics_are_offered_and_the_others_are_dropped() -> None:
    trace = watching(AgentGate(), max_calls_per_message=0).process("hello")
    assert trace.offered == ("high", "middle") and trace.active == ("sure",)
    assert [(row.topic, row.verdict) for row in trace.rows] == [
        ("sure", "active"),
        ("high", "offered"),
        ("middle", "offered"),
        ("low", "dropped"),
        ("lowest", "dropped"),
        ("out", "dropped"),
    ]
    assert (trace.funnel.asked, trace.funnel.active, trace.cost_usd) == (0, 1, 0.0)


def test_an_offered_row_explains_itself() -> None:
    row = watching(AgentGate()).process("hello").row("high")
    assert row is not None and row.offered and not row.active
    assert row.why == (
        "offered to the agent, which opens it if it applies: "
        "no trigger matched, but score .55 is between .20 and .60"
    )
    assert row.flip == "would activate at ≥ .60; now .55"
    assert row.gate is not None and (row.gate.answer, row.gate.provider) == ("offered", OFFERING)


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


def test_an_offer_that_only_a_gate_could_answer_says_so() -> None:
    trace = watching(AgentGate(), row=PolicyRow(gate=0.2)).process("hello")
    left_out = trace.row("middle")
    assert trace.offered == ("sure", "high") and left_out is not None
    assert left_out.why == (
        "not offered to the agent, as others are likelier: no trigger matched, but score .41 ≥ .20"
    )
    assert left_out.flip == "a yes from a gate that answers would activate it"


def test_among_few_topics_a_probability_near_chance_activates_nothing_without_a_hit() -> None:
    alone, hit, low = {"only": 0.45}, {"only": pattern("hello")}, PolicyRow(gate=0.2, activate=0.4)
    row = watching(AgentGate(), alone, row=low).process("hello").row("only")
    assert row is not None and (row.verdict, row.rule) == ("dropped", "near chance")
    assert watching(AgentGate(), {"only": 0.5}, row=low).process("hello").active == ("only",)
    assert watching(AgentGate(), alone, row=low, triggers=hit).process("hello").active == ("only",)
    assert watching(LocalGate(), alone, row=low).process("hello").active == ("only",), "another gate can tell"


@each_case("count", [0, 1, 2])
def test_up_to_two_uncertain_topics_are_all_offered(count: int) -> None:
    names = ("high", "middle")[:count]
    others = {f"out{number}": 0.1 for number in range(10)}
    trace = watching(AgentGate(), {**others, **{name: PROBABILITIES[name] for name in names}}).process("m")
    assert trace.offered == names and trace.active == ()
    if names:
        assert trace.why == f"nothing active: offered to the agent: {', '.join(names)}"


def test_output_offers_nothing_by_similarity() -> None:
    trace = watching(AgentGate()).process("hello", "output")
    assert trace.offered == () and trace.active == () and trace.funnel.asked == 0
    assert {row.why for row in trace.rows} == {"no trigger for the agent's output matched"}


def test_output_offers_a_topic_whose_trigger_matched() -> None:
    triggers = {name: pattern("hello", scope="output") for name in ("sure", "low", "out")}
    trace = watching(AgentGate(), triggers=triggers).process("hello", "output")
    assert trace.active == ("sure",) and trace.offered == ("low",)


def test_past_messages_are_offered_the_same_topics() -> None:
    pipeline = watching(AgentGate())
    assert pipeline.process("hello", ask=False).offered == pipeline.process("hello").offered != ()


def test_gates_that_answer_are_asked_about_more_topics_than_are_offered() -> None:
    trace = watching(LocalGate()).process("hello")
    assert trace.offered == () and trace.funnel.asked == 4 > OFFERED


def test_offered_decisions_are_logged(tmp_path: Path) -> None:
    log = DecisionLog(workspace_files(tmp_path))
    watching(AgentGate(), decisions=log).process("hello")
    logged = {decision.topic: decision for decision in log.read().decisions}
    assert (logged["high"].verdict, logged["high"].gate_answer, logged["high"].gate_provider) == (
        "offered",
        "offered",
        "agent",
    )
    assert logged["high"].label[0] is None, "an offer is no answer"


def test_equally_probable_topics_are_offered_by_name_and_only_the_uncertain_ones() -> None:
    def candidate(name: str, score: float, kind: StepKind) -> Candidate:
        return Candidate(topic(name), (), (), score, Step(kind, "medium <.60", 0.2, 0.6, 0.2))

    kinds: tuple[tuple[str, StepKind], ...] = (
        *((name, "ask") for name in ("d", "b", "c", "a")),
        ("on", "activate"),
        ("hand", "manual"),
        ("off", "off"),
    )
    found = offering([candidate(name, 0.4, kind) for name, kind in kinds])
    assert [(each.topic.name, each.step.kind) for each in found] == [
        ("d", "drop"),
        ("b", "ask"),
        ("c", "drop"),
        ("a", "ask"),
        *kinds[4:],
    ]
