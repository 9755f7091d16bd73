"""Tier 1: one pass over a message for all triggers of all topics (spec 4.2 and 4.3)."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.activation.patterns import MAX_SPANS, PatternMatcher
from engine.activation.trace import Direction, Event, Message, TriggerHit
from engine.meaning.text import CHARACTERS_READ
from engine.settings.model import WatcherSettings
from engine.topics.expressions import compile_expression
from engine.topics.model import Topic, Trigger
from tests.activation import support
from tests.activation.support import pattern
from tests.cases import each_case


def topic(name: str, *triggers: Trigger) -> Topic:
    return support.topic(name, triggers=triggers)


MAIL = topic("mail", Trigger("webhook", source="email"), pattern(r"\b(email|inbox|mail)\b"))
REVIEW = topic("review", pattern("PR|pull request|review"), Trigger("url", words=("github.com",)))


def test_each_firing_topic_has_its_triggers_and_spans() -> None:
    text = "Can you review the PR in my INBOX?"
    hits = PatternMatcher([REVIEW, MAIL]).match(Message(text))
    assert list(hits) == ["mail", "review"]
    assert hits["mail"] == (TriggerHit(1, "pattern", "INBOX", 28, 33),)
    assert [(hit.trigger, hit.matched) for hit in hits["review"]] == [(0, "review"), (0, "PR")]
    for found in hits.values():
        assert all(text[hit.start : hit.end] == hit.matched for hit in found)


def test_a_long_match_is_shortened_for_display_only() -> None:
    hit = PatternMatcher([topic("t", pattern("x.*y"))]).match(Message("x" + "-" * 500 + "y"))["t"][0]
    assert len(hit.matched) == 80
    assert (hit.start, hit.end) == (0, 502)


@each_case(
    ("scope", "input_fires", "output_fires"),
    [("input", True, False), ("output", False, True), ("both", True, True)],
)
@each_case("kind", [{"match": "hello"}, {"words": ("hello",)}])
def test_the_scope_determines_the_watched_direction(
    scope: str, input_fires: bool, output_fires: bool, kind: dict[str, str]
) -> None:
    trigger = Trigger("pattern" if "match" in kind else "keywords", scope=scope, **kind)  # type: ignore[arg-type]
    matcher = PatternMatcher([topic("t", trigger)])
    assert ("t" in matcher.match(Message("hello", "input"))) is input_fires
    assert ("t" in matcher.match(Message("hello", "output"))) is output_fires


def test_all_kinds_of_triggers_are_matched_together() -> None:
    everything = topic(
        "t",
        pattern("deploy"),
        Trigger("keywords", words=("roll back",)),
        Trigger("glob", match="*.py"),
        Trigger("code", words=("py",)),
        Trigger("language", words=("de",)),
        Trigger("mention", words=("@silas",)),
        Trigger("url", words=("github.com",)),
        Trigger("sentiment"),
        Trigger("webhook", source="ci", event="failed"),
        Trigger("cron", schedule="0 8 * * *"),
    )
    text = (
        "Kannst du das bitte prüfen und den deploy von @silas nach einem Roll-Back ansehen!!! "
        "https://www.github.com/a/b\n\n```py\nx = 1\n```\n"
    )
    message = Message(text, paths=("src/app.py",), event=Event("ci", "failed"))
    hits = PatternMatcher([everything]).match(message)["t"]
    assert [(hit.trigger, hit.matched) for hit in hits] == [
        (0, "deploy"),
        (1, "Roll-Back"),
        (2, "src/app.py"),
        (3, "x = 1\n"),
        (4, "de"),
        (5, "@silas"),
        (6, "https://www.github.com/a/b"),
        (7, "!!!"),
        (8, "ci failed"),
    ]
    assert [hit.trigger for hit in hits if hit.start < 0] == [2, 4, 8]


CATASTROPHE = "a" * 15_000 + "!"


def test_an_invalid_or_slow_pattern_is_reported_once_and_used_again_only_after_a_change() -> None:
    triggers = pattern("(a+)+$", line=5), pattern("!"), pattern("foo(", line=7)
    matcher = PatternMatcher([topic("t", *triggers)], WatcherSettings(pattern_timeout_ms=5))
    for _ in range(3):
        hits = matcher.match(Message(f"foo( {CATASTROPHE}"))["t"]
        assert [hit.trigger for hit in hits] == [1]
    slow, invalid = matcher.problems
    assert (slow.path, slow.line, invalid.line, invalid.severity) == ("topics/t.md", 5, 7, "error")
    assert "longer than 5 ms" in slow.what and "missing )" in invalid.what
    matcher.update([support.topic("t", "new text", title="new title", triggers=triggers)])
    assert matcher.match(Message("aaa")) == {}
    matcher.update([topic("t", pattern("a+$"))])
    assert matcher.problems == ()
    assert "t" in matcher.match(Message("aaa"))


def test_other_threads_run_while_a_pattern_is_searched() -> None:
    matcher = PatternMatcher([topic("t", pattern("(a+)+$"))], WatcherSettings(pattern_timeout_ms=500))
    turns = 0
    worker = threading.Thread(target=matcher.match, args=(Message(CATASTROPHE),))
    worker.start()
    while worker.is_alive():
        turns += 1
        worker.join(0.001)
    assert turns > 20


ALL_KINDS = (
    pattern("deploy"),
    pattern("."),
    Trigger("keywords", words=("deploy", "!!")),
    Trigger("mention", words=("deploy",)),
    Trigger("sentiment", words=("deploy",)),
    Trigger("url"),
    Trigger("code"),
    Trigger("language", words=("en",)),
)


def test_a_removed_topic_no_longer_matches() -> None:
    matcher = PatternMatcher([topic("a", *ALL_KINDS), topic("b", *ALL_KINDS)])
    message = Message("Please deploy it now!! https://x.org `a`\n\n```\nx\n```")
    assert list(matcher.match(message)) == ["a", "b"]
    matcher.update([topic("b", *ALL_KINDS)])
    assert list(matcher.match(message)) == ["b"]
    matcher.update([topic("b")])
    assert matcher.match(message) == PatternMatcher().match(message) == {}
    matcher.update([topic("a", pattern("post")), topic("c", Trigger("glob", match="docs/**"))])
    assert list(matcher.match(Message("the post"))) == ["a"]
    assert list(matcher.match(Message("", paths=("docs/a/b.md",)))) == ["c"]


def test_tool_calls_are_matched_only_by_output_patterns() -> None:
    triggers = pattern("--amend", scope="output"), *(pattern("commit", scope=of) for of in ("both", "input"))
    matcher = PatternMatcher([topic("t", *triggers, Trigger("keywords", scope="output", words=("git",)))])
    message = Message("Done.", "output", calls=("ls", "git commit --amend"))
    (found,) = matcher.match(message)["t"]
    assert (found.trigger, found.matched, found.start, found.end) == (0, "--amend", -1, -1)
    assert matcher.match(Message("Done.", "input", calls=message.calls)) == {}


def test_head_and_tail_of_a_long_message_are_matched_with_correct_offsets() -> None:
    filler = "word " * 3 * CHARACTERS_READ
    matcher = PatternMatcher(
        [topic("t", pattern(r"^first|middle|last$"), Trigger("keywords", words=("needle",)))]
    )
    text = "first needle " + filler + " middle needle " + filler + " needle last"
    hits = matcher.match(Message(text))["t"]
    assert [hit.matched for hit in hits] == ["first", "last", "needle", "needle"]
    assert all(text[hit.start : hit.end] == hit.matched for hit in hits)


def test_nothing_matches_across_the_omitted_middle() -> None:
    text = "start " + "a " * CHARACTERS_READ + "end"
    matcher = PatternMatcher([topic("t", pattern(r"(?s)start.*end"), pattern("start"))])
    assert [hit.trigger for hit in matcher.match(Message(text))["t"]] == [1]


def test_decomposed_letters_match_composed_ones_without_a_place() -> None:
    text = "bitte pru\u0308fen, Mu\u0308ller! 각 ende"
    matcher = PatternMatcher(
        [topic("t", pattern("m\u00fcller"), Trigger("keywords", words=("pr\u00fcfen", "ende")))]
    )
    hits = matcher.match(Message(text))["t"]
    assert [hit.matched for hit in hits] == ["Müller", "prüfen", "ende"]
    assert {hit.start for hit in hits} == {-1}


EXPRESSIONS = (
    "pr|pull request",
    r"\bPRs?\b",
    "STRASSE",
    "(?:ab|cd){1,2}",
    "x?",
    "^",
    r"\bfoo\s+(?:a|b)",
    "[fF]oo.",
    "部",
)
TEXTS = st.lists(
    st.sampled_from(
        ["pr", "PRs", "pull request", "strasse", "ab", "CD", "x", "foo", "FOO  a", "部", "ü", " ", "_"]
    ),
    min_size=1,
    max_size=9,
).map("".join)


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_the_spans_are_those_of_a_plain_search(texts: list[str]) -> None:
    matcher = PatternMatcher([topic(f"t{n}", pattern(match)) for n, match in enumerate(EXPRESSIONS)])
    for text in texts:
        found = {name: [hit.matched for hit in hits] for name, hits in matcher.match(Message(text)).items()}
        assert found == {
            f"t{n}": [each for place, each in enumerate(spans) if not place or each][:MAX_SPANS]
            for n, match in enumerate(EXPRESSIONS)
            if (spans := [each[0] for each in compile_expression(match).finditer(text)])
        }


def hits_of(text: str, *triggers: Trigger, direction: Direction = "input") -> list[tuple[str, str]]:
    matcher = PatternMatcher([topic("t", *triggers)])
    return [(hit.matched, hit.negated) for hit in matcher.match(Message(text, direction)).get("t", ())]


def test_negated_patterns_and_keywords_are_marked() -> None:
    both = pattern(r"\bdeploy\w*"), Trigger("keywords", words=("release",))
    assert hits_of("Don't deploy it. Release the docs, no need to deploy", *both) == [
        ("deploy", "Don't"),
        ("deploy", "no need"),
        ("Release", ""),
    ]
    for each in (pattern("deploy"), Trigger("keywords", words=("deploy",))):
        steering = replace(each, scope="both")
        assert hits_of("I will not deploy", steering, direction="output") == [("deploy", "")]


def test_other_triggers_are_not_negated() -> None:
    others = Trigger("mention", words=("Silas",)), Trigger("url"), Trigger("code")
    assert [negated for _, negated in hits_of("don't ask Silas https://x.org `a`", *others)] == [""] * 3


@given(st.text(max_size=60), st.sampled_from(["input", "output"]))
def test_any_text_is_matched_without_error(text: str, direction: str) -> None:
    matcher = PatternMatcher([topic("t", *ALL_KINDS)])
    for hit in matcher.match(Message(text, direction)).get("t", ()):  # type: ignore[arg-type]
        assert -1 <= hit.start <= hit.end <= len(text)
        assert hit.start < 0 or text[hit.start : hit.end][:80] == hit.matched


HOOK = """
import sys
from engine.activation.patterns import PatternMatcher
from engine.activation.trace import Message
from engine.topics.model import Topic, Trigger
triggers = (
    Trigger("pattern", match=r"\\b(email|inbox)\\b"),
    Trigger("pattern", match=r"\\binvoice \\d+"),
    Trigger("keywords", words=("deploy",)),
    Trigger("language", words=("de",)),
    Trigger("code"), Trigger("url"), Trigger("sentiment"), Trigger("mention", words=("@silas",)),
)
hits = PatternMatcher([Topic("t", "topics/t.md", "T", "", "", triggers=triggers)]).match(Message(%r))
heavy = ("regex", "py3langid", "numpy", "pydantic", "cronsim", "difflib")
print([hit.type for hit in hits.get("t", ())], [name for name in heavy if name in sys.modules])
"""


@each_case(
    ("text", "expected"),
    [
        ("What did we decide about the new office in Vienna?", "[] []"),
        ("Kannst du das bitte prüfen?", "['language'] []"),
        ("please check the email", "['pattern'] []"),
        ("please check the email for invoice 7", "['pattern', 'pattern'] ['regex']"),
    ],
)
def test_a_process_for_one_message_imports_only_what_it_needs(text: str, expected: str) -> None:
    ran = subprocess.run([sys.executable, "-c", HOOK % text], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == expected, ran.stderr
