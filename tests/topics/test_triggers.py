"""Every kind of trigger is parsed, and an invalid one does not affect the others."""

from __future__ import annotations

from engine.errors import Problem
from engine.store import documents
from engine.topics.loader import load_topic
from engine.topics.model import Trigger
from tests.cases import each_case


def load(*triggers: str) -> tuple[tuple[Trigger, ...], list[Problem]]:
    listed = "".join(f"  - {trigger}\n" for trigger in triggers)
    text = f"---\ntype: topic\nexamples: [x]\ntriggers:\n{listed}---\nGo.\n"
    topic, problems = load_topic(documents.parse(text.encode(), "topics/t.md"))
    assert topic is not None, problems
    return topic.triggers, list(problems)


@each_case(
    ("written", "expected"),
    [
        ("{type: pattern, match: 'a|b'}", Trigger("pattern", match="a|b")),
        ("{type: Pattern, match: a, scope: Both}", Trigger("pattern", scope="both", match="a")),
        (
            "{type: keywords, words: [deploy, 'roll   back', deploy]}",
            Trigger("keywords", words=("deploy", "roll back")),
        ),
        ("{type: keywords, keywords: 'deploy, ship it'}", Trigger("keywords", words=("deploy", "ship it"))),
        ("{type: keywords, match: [a, 'b, c']}", Trigger("keywords", words=("a", "b, c"))),
        ("{type: glob, match: '*.py'}", Trigger("glob", match="*.py")),
        ("{type: glob, paths: ['*.py', 'src/**']}", Trigger("glob", match="{*.py,src/**}")),
        ("{type: code}", Trigger("code")),
        ("{type: code, languages: [python, rust]}", Trigger("code", words=("python", "rust"))),
        ("{type: language, languages: [de, FR]}", Trigger("language", words=("de", "fr"))),
        ("{type: language, language: no}", Trigger("language", words=("no",))),
        ("{type: mention, names: [David, '@silas']}", Trigger("mention", words=("David", "@silas"))),
        ("{type: url}", Trigger("url")),
        (
            "{type: url, hosts: [github.com], globs: ['gitlab.com/*']}",
            Trigger("url", words=("github.com", "gitlab.com/*")),
        ),
        ("{type: sentiment}", Trigger("sentiment")),
        ("{type: sentiment, words: [URGENT]}", Trigger("sentiment", words=("URGENT",))),
        ("{type: webhook, source: email, event: new}", Trigger("webhook", source="email", event="new")),
        ("{type: webhook, source: email}", Trigger("webhook", source="email")),
        ("{type: cron, schedule: '0  8 * * *'}", Trigger("cron", schedule="0 8 * * *")),
        (
            "{type: pattern, match: a, scope: output, correction_hint: 'Use\n      Python 3'}",
            Trigger("pattern", scope="output", match="a", correction_hint="Use Python 3"),
        ),
    ],
)
def test_each_kind_of_trigger_is_parsed(written: str, expected: Trigger) -> None:
    triggers, problems = load(written)
    assert problems == []
    fields = ("type", "scope", "match", "words", "source", "event", "schedule", "correction_hint")
    assert [getattr(triggers[0], field) for field in fields] == [getattr(expected, field) for field in fields]
    assert triggers[0].line == 5


@each_case(
    ("written", "what", "hint"),
    [
        ("{type: regex, match: a}", "trigger type 'regex' is unknown", "did you mean pattern?"),
        ("{type: keyword, words: a}", "trigger type 'keyword' is unknown", "did you mean keywords?"),
        ("{type: webhok, source: a}", "trigger type 'webhok' is unknown", "did you mean webhook?"),
        ("{type: [a]}", "trigger type a list is unknown", "write one of pattern, keywords"),
        ("{match: a}", "this trigger has no type", "add type: pattern"),
        ("{schedule: a}", "this trigger has no type", "add type: cron"),
        ("email", "this trigger is 'email', not a mapping", "write '- type: pattern'"),
        ("{type: pattern}", "this trigger has no match", "add match:"),
        ("{type: pattern, match: [a, b]}", "match is a list", "type: keywords"),
        ("{type: pattern, match: {a: b}}", "match must be a string, not a mapping", "write match: 'text'"),
        ("{type: keywords, words: []}", "this trigger has no words", "add words:"),
        ("{type: glob}", "this trigger has no match", "add match: '*.py'"),
        ("{type: language}", "this trigger has no languages", "add languages: [de]"),
        ("{type: language, languages: [german]}", "language 'german' is unknown", "did you mean de?"),
        ("{type: language, languages: [xx]}", "language 'xx' is unknown", "ISO 639-1"),
        ("{type: mention}", "this trigger has no names", "add names:"),
        ("{type: webhook, event: a}", "this trigger has no source", "add source: email"),
        ("{type: webhook, source: cron}", "cron is not a webhook source", "use type: cron"),
        ("{type: cron}", "this trigger has no schedule", "add schedule:"),
    ],
)
def test_an_invalid_trigger_is_dropped_with_line_and_hint(written: str, what: str, hint: str) -> None:
    triggers, problems = load("{type: url}", written, "{type: code}")
    assert [trigger.type for trigger in triggers] == ["url", "code"]
    assert [(problem.line, problem.severity) for problem in problems] == [(6, "error")]
    assert what in problems[0].what
    assert hint in problems[0].hint


@each_case("written", ["{type: url, hosts: [[a]]}", "{type: code, languages: {a: b}}"])
def test_an_invalid_list_never_widens_a_trigger_to_everything(written: str) -> None:
    triggers, problems = load(written)
    assert triggers == ()
    assert problems[0].severity == "error"


def test_an_invalid_scope_gets_a_suggestion_and_the_default_is_used() -> None:
    triggers, problems = load("{type: url, scope: outptu}")
    assert triggers[0].scope == "input"
    assert problems[0].hint == "did you mean output?"


def test_an_unknown_key_of_a_trigger_is_a_warning() -> None:
    triggers, problems = load("{type: pattern, match: a, regex: b, colour: red}")
    assert len(triggers) == 1
    assert [problem.hint.split(",")[0] for problem in problems] == ["did you mean match?", "remove it"]
    assert {problem.severity for problem in problems} == {"warning"}


def test_a_correction_hint_on_an_input_trigger_is_a_warning() -> None:
    _, problems = load("{type: pattern, match: a, correction_hint: b}")
    assert (problems[0].hint, problems[0].severity) == ("add scope: output", "warning")


def test_a_backspace_from_double_quotes_is_reported() -> None:
    triggers, problems = load('{type: pattern, match: "\\bmail\\b"}')
    assert len(triggers) == 1
    assert problems[0].hint == r"put it in single quotes: '\bmail\b'"
    assert problems[0].severity == "warning"


def test_regions_of_a_language_are_dropped_with_a_warning() -> None:
    triggers, problems = load("{type: language, languages: [de-AT]}")
    assert triggers[0].words == ("de",)
    assert (problems[0].hint, problems[0].severity) == ("write de", "warning")


def test_a_single_trigger_without_a_list_works() -> None:
    text = "---\ntype: topic\ntriggers:\n  type: url\n---\nGo.\n"
    topic, problems = load_topic(documents.parse(text.encode(), "topics/t.md"))
    assert topic is not None
    assert topic.triggers[0].type == "url"
    assert (problems[0].line, problems[0].severity) == (3, "warning")


def test_triggers_given_as_text_are_reported_and_the_topic_is_kept() -> None:
    text = "---\ntype: topic\ntriggers: email\nexamples: [x]\n---\nGo.\n"
    topic, problems = load_topic(documents.parse(text.encode(), "topics/t.md"))
    assert topic is not None
    assert topic.triggers == ()
    assert problems[0].what == "triggers must be a list, not 'email'"


@each_case(
    ("written", "line"),
    [
        ("type: pattern\n    match: “deploy”", 6),
        ("type: keywords\n    words:\n      - ship\n      - ‘deploy’", 8),
        ("type: keywords\n    words: ship it, „deploy“", 6),
        ("type: mention\n    names: [«deploy»]", 6),
        ("type: url\n    hosts: ”deploy”", 6),
    ],
)
def test_typographic_quotes_are_reported_with_line_and_cure(written: str, line: int) -> None:
    _, problems = load(written)
    (problem,) = problems
    assert (problem.line, problem.severity) == (line, "warning")
    assert "is in typographic quotes" in problem.what and problem.hint == "use straight quotes: 'deploy'"


@each_case("match", ["“[^”]+”", "„.*“", "it’s", "'don’t, can’t'", "say “deploy” now"])
def test_texts_that_are_about_quotes_are_not_reported(match: str) -> None:
    assert load(f"type: pattern\n    match: {match}")[1] == []
