"""A request not to do something is not a request to do it."""

from __future__ import annotations

from dataclasses import replace

from engine.activation.negation import negator
from engine.settings.model import WatcherSettings
from tests.activation.support import Topics, pattern, pipeline_of, topic
from tests.cases import each_case


def negated(text: str) -> str:
    """The negator of the part in brackets."""
    start = text.index("[")
    end = text.index("]") - 1
    return negator(text.replace("[", "").replace("]", ""), start, end)


@each_case(
    ("text", "by"),
    [
        ("Don't [review] the PR", "Don't"),
        ("do NOT [deploy]", "do NOT"),
        ("Please don’t ever [deploy] that", "don’t"),
        ("dont [push]", "dont"),
        ("no need to [release]", "no need"),
        ("there is no need to [release]", "no need"),
        ("we don't need to [commit]", "don't"),
        ("we don't have to [release]", "don't"),
        ("I do not want you to [commit]", "do not want"),
        ("I don't think we need a [release]", "don't think"),
        ("you should not [refactor] that", "should not"),
        ("make sure not to [commit]", "not to"),
        ("fix it without a [review]", "without"),
        ("don't [deploy] until the review is done", "don't"),
        ("commit it, don't [push]", "don't"),
        ("don't commit and [push]", "don't"),
        ("no [docs] please", "no"),
        ("a [release] is not needed", "is not needed"),
        ("bitte nicht [deploy]en", "nicht"),
        ("Du musst das nicht [review]en", "nicht"),
        ("[review] den PR nicht", "nicht"),
        ("Bitte [deploy] das noch nicht.", "nicht"),
        ("kein [Review] nötig", "kein"),
        ("ne [déploie] pas", "ne"),
        ("ne lance pas le [deploy]", "ne lance pas"),
        ("por favor no hagas el [deploy]", "no"),
        ("hazlo sin [deploy]", "sin"),
        ("non fare il [deploy]", "non"),
        ("niet [deploy]en", "niet"),
        ("не надо [деплоить]", "не"),
        ("不要[部署]", "不要"),
        ("[デプロイ]しないで", "しないで"),
    ],
)
def test_a_negated_request_is_recognized(text: str, by: str) -> None:
    assert negated(text) == by


@each_case(
    "text",
    [
        "[deploy] it, not the docs",
        "don't forget to [review]",
        "why don't we [refactor] it",
        "don't you think we should [release]",
        "the [deploy] doesn't work",
        "it does not [deploy]",
        "the tests do not [build]",
        "I can't [deploy]",
        "this is not a [bug]",
        "there is no [documentation]",
        "we don't have [tests]",
        "I don't understand how to [release]",
        "don't worry about the [tests]",
        "if you don't [review] it",
        "don't deploy until the [review] is done",
        "don't push, [commit]",
        "don't just review, [fix] it",
        "not only [review] but also release",
        "the new thing is not done. [release] it",
        "do not rename any of the other files or [release]",
        "ich kann nicht [deploy]en",
        "der Build ist nicht [grün]",
        "Warum klappt der [deploy] nicht?",
        "[Deploy] funktioniert nicht.",
        "n'oublie pas de [release]",
        "le [deploy] ne marche pas",
        "no puedo hacer [deploy]",
    ],
)
def test_facts_conditions_and_other_clauses_negate_nothing(text: str) -> None:
    assert negated(text) == ""


def test_a_topic_whose_hits_are_all_negated_is_dropped_and_says_why() -> None:
    review = topic("review", triggers=(pattern("review"), pattern("PR")), activation="auto")
    pipeline = pipeline_of(Topics((review, replace(review, name="forced", forced=True))), WatcherSettings())
    trace = pipeline.process("Don't review this")
    row, forced = trace.row("review"), trace.row("forced")
    assert row is not None and forced is not None
    assert (row.verdict, row.rule, row.hits) == ("dropped", "negated", ())
    assert [(hit.matched, hit.negated) for hit in row.ignored] == [("review", "Don't")]
    assert row.why == "“review” is negated (“Don't”), so it does not count"
    assert row.flip == "without “Don't” it would match"
    assert forced.active and trace.funnel.tier1 == 0
    again = pipeline.process("Don't review this, open a PR").row("review")
    assert again is not None and again.active and [hit.matched for hit in again.hits] == ["PR"]


def test_a_trace_of_negated_hits_alone_says_so() -> None:
    pipeline = pipeline_of(Topics((topic("review", triggers=(pattern("review"),)),)))
    trace = pipeline.process("no need to review")
    assert trace.why == "nothing active: “review” is negated (“no need”)"
