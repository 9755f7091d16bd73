"""A message goes in, a trace comes out (spec 4, 5 and 10.2)."""

from __future__ import annotations

import dataclasses
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine.activation.candidates import NEAREST_ROWS
from engine.activation.decisions import DecisionLog
from engine.activation.gate import AskGate, GateProvider
from engine.activation.pipeline import WatcherPipeline
from engine.activation.trace import Event, Message, Trace
from engine.errors import GateError
from engine.meaning.text import CHARACTERS_READ
from engine.settings.model import PolicyRow, WatcherSettings
from engine.topics.model import Topic, Trigger
from tests.activation.support import Topics, pattern, pipeline_of, pr_topic, topic, workspace_files
from tests.activation.test_gate import Scripted, yes
from tests.cases import each_case

NOON = datetime(2026, 2, 16, 12, tzinfo=UTC)
SPEC_MESSAGE = "Can you review the PR that just came in?"
MAIL = topic(
    "email-triage",
    "When a new email arrives: classify it as urgent, actionable, informational or spam, then draft a reply.",
    triggers=(pattern("email|inbox"), Trigger(type="webhook", source="email", event="new_message")),
)
DEPLOY = topic(
    "deployment",
    "Deploy to production after the canary ran for an hour. Watch the error rate, roll back when it rises.",
    triggers=(pattern("deploy|production"),),
    priority="critical",
)
PRINT = topic(
    "python-3",
    "Use Python 3 syntax.",
    triggers=(pattern(r"print (?!\()", scope="output", correction_hint="Use print() with parentheses."),),
    priority="high",
)
ALWAYS_ASK: dict[str, Any] = {
    "nominate": "pattern",
    "policy": dict.fromkeys(("critical", "high", "medium", "low"), PolicyRow(gate=0.0)),
}
EVERYTHING = (pr_topic(), MAIL, DEPLOY, PRINT)


def pipeline(
    *topics: Topic,
    provider: GateProvider | None = None,
    decisions: DecisionLog | None = None,
    watchers: dict[str, Any] | None = None,
    source: Topics | None = None,
    **gate: Any,
) -> WatcherPipeline:
    settings = WatcherSettings(**{"preset": "spec", **(watchers or {})})
    return pipeline_of(source or Topics(topics), settings, provider=provider, decisions=decisions, **gate)


def verdicts(trace: Trace) -> dict[str, str]:
    return {row.topic: row.verdict for row in trace.rows}


def test_the_example_of_the_specification() -> None:
    trace = pipeline(*EVERYTHING).process(SPEC_MESSAGE)
    assert trace.active == ("github-pr-review",)
    row = trace.rows[0]
    assert [hit.matched for hit in row.hits] == ["review", "PR"]
    assert 0.05 < row.score < 0.6
    assert row.rule.startswith("high ") and "“review”, “PR”" in row.why
    assert all(each.why and each.flip and each.rule for each in trace.rows)
    assert trace.why == "1 of 4 topics active: github-pr-review"
    assert (trace.funnel.topics, trace.funnel.tier1, trace.funnel.active) == (4, 1, 1)
    assert [row.topic for row in trace.rows[1:]] == [
        row.topic for row in sorted(trace.rows[1:], key=lambda row: (-row.score, row.topic))
    ]


@each_case(("on_failure", "verdict"), [("skip", "failed"), ("activate", "active")])
def test_a_failed_gate_is_reported_and_handled_as_configured(on_failure: str, verdict: str) -> None:
    async def nobody(question: Any, timeout: float) -> bool:
        raise GateError("nobody to ask")

    trace = pipeline(pr_topic(), provider=AskGate(nobody), on_failure=on_failure).process("review")
    (row,) = trace.rows
    assert row.verdict == verdict and row.gate is not None and row.gate.answer == "failed"
    assert "nobody to ask" in row.why
    if on_failure == "skip":
        assert trace.why.startswith("nothing active: the gate failed for 1 topic (nobody to ask")


def test_the_gate_is_shown_the_whole_message_and_the_profile() -> None:
    seen: list[Any] = []

    async def asker(question: Any, timeout: float) -> bool:
        seen.append(question)
        return True

    pipeline(pr_topic(), provider=AskGate(asker), watchers=ALWAYS_ASK).process(SPEC_MESSAGE * 40)
    assert seen[0].message == SPEC_MESSAGE * 40
    assert seen[0].description == "How pull requests are reviewed here."
    assert "Name: github-pr-review" in seen[0].profile


def test_no_provider_is_asked_about_a_past_message() -> None:
    provider = Scripted(yes())
    watching = pipeline(pr_topic(), provider=provider, watchers=ALWAYS_ASK)
    trace = watching.process("review", ask=False)
    assert verdicts(trace) == {"github-pr-review": "failed"}
    assert "not asked" in trace.rows[0].why
    assert provider.asked == []
    local = pipeline(pr_topic(), watchers=ALWAYS_ASK)
    assert local.process(SPEC_MESSAGE, ask=False).active == ("github-pr-review",)


def test_similarity_nominates_without_a_match_unless_disabled() -> None:
    message = "is the error rate rising after an hour? then roll back the canary"
    quiet = dataclasses.replace(DEPLOY, triggers=())
    assert pipeline(quiet).process(message).active == ("deployment",)
    strict = pipeline(quiet, watchers={"nominate": "pattern"}).process(message)
    assert strict.active == () and strict.rows[0].rule == "no match"


@each_case("text", ["", "   \n\t"])
def test_an_empty_message_activates_nothing(text: str) -> None:
    trace = pipeline(*EVERYTHING, topic("any", "x", triggers=(pattern(".*"),))).process(text)
    assert trace.active == () and trace.why == "nothing active: the message is empty"
    assert len(trace.rows) == 5
    assert pipeline(pr_topic(forced=True)).process(text).active == ("github-pr-review",)
    nothing = pipeline().process("hello")
    assert nothing.rows == () and nothing.why == "nothing active: there are no topics"


def test_an_event_without_text_is_not_an_empty_message() -> None:
    trace = pipeline(*EVERYTHING).process(Message("", event=Event("email", "new_message")))
    assert trace.active == ("email-triage",)
    assert trace.rows[0].rule == "event"


def test_output_is_matched_by_output_triggers() -> None:
    watching = pipeline(*EVERYTHING)
    trace = watching.process('Here you are: print "review the deploy"', "output")
    assert trace.active == ("python-3",)
    assert [(c.topic, c.hint) for c in trace.corrections] == [("python-3", "Use print() with parentheses.")]
    assert verdicts(watching.process('print "x"'))["python-3"] == "dropped"
    assert watching.process('print "x"').corrections == ()


def test_long_output_nominates_nothing_by_similarity() -> None:
    trace = pipeline(*EVERYTHING).process(pr_topic().instructions * 3, "output")
    assert trace.active == () and trace.funnel.asked == 0 and trace.funnel.tier2 == 0
    row = trace.row("github-pr-review")
    assert row is not None and row.score > 0.9, "the score is still shown"
    assert row.why == "no trigger for the agent's output matched"


def test_changed_topics_are_noticed_with_the_next_message() -> None:
    source = Topics((pr_topic(), MAIL))
    watching = pipeline(source=source)
    assert watching.process("deploy").active == ()
    source.topics = (DEPLOY, MAIL)
    assert watching.process("deploy").active == ("deployment",)
    assert {row.topic for row in watching.process("review").rows} == {"deployment", "email-triage"}
    for of, verdict in (({"forced": False}, "off"), ({"activation": "manual"}, "manual")):
        source.topics = (dataclasses.replace(DEPLOY, **of), MAIL)
        assert verdicts(watching.process("deploy"))["deployment"] == verdict
    source.topics = ()
    assert watching.process("deploy").rows == ()


def test_a_trace_of_many_topics_keeps_the_relevant_rows() -> None:
    many = [topic(f"t{number:04}", f"word{number} common text about things") for number in range(1200)]
    many[7] = topic("t0007", "nothing", triggers=(pattern("zebra"),), priority="critical")
    many[8] = topic("t0008", "nothing", forced=False)
    trace = pipeline(*many).process("zebra word900 unheard of")
    names = {row.topic for row in trace.rows}
    assert trace.funnel.topics == 1200 and "t0007" in trace.active
    assert {"t0007", "t0008", "t0900"} <= names
    assert NEAREST_ROWS <= len(trace.rows) <= NEAREST_ROWS + 3
    assert len(pipeline(*many[:500]).process("zebra").rows) == 500


def test_a_huge_message_is_scored_by_its_two_ends() -> None:
    half = "filler " * CHARACTERS_READ
    middle = pipeline(DEPLOY).process(f"{half} canary production {half}")
    ends = pipeline(DEPLOY).process(f"canary {half} production")
    assert middle.rows[0].score == 0 and ends.rows[0].score > 0.1


@pytest.mark.parametrize(
    "text", ["\x00\x1b[31m review", "\ud800 review", "review " * 5000, "ﷺ review", "RTL \u202e review"]
)
def test_any_text_gets_a_trace(text: str, tmp_path: Path) -> None:
    log = DecisionLog(workspace_files(tmp_path))
    watching = pipeline(*EVERYTHING, decisions=log)
    assert watching.process(Message(text, session_id="s1", at=NOON)).message.text == text
    watching.process("review this too", record=False)
    (decision,) = [found for found in log.read() if found.topic == "github-pr-review"]
    assert (decision.session_id, decision.hits[0][2]) == ("s1", "review")


def test_threads_share_a_pipeline() -> None:
    source = Topics(EVERYTHING)
    watching = pipeline(source=source, provider=Scripted(yes()), watchers=ALWAYS_ASK)
    found: list[tuple[str, ...]] = []

    def work(number: int) -> None:
        for turn in range(20):
            if number == 0:
                source.topics = EVERYTHING if turn % 2 else (*EVERYTHING, topic(f"extra{turn}", "Extra."))
            found.append(watching.process(SPEC_MESSAGE).active)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    watching.close()
    assert found == [("github-pr-review",)] * 80
