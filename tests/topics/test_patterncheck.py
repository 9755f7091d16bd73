"""Problems of patterns and schedules are found before any message arrives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.topics.expressions import tree
from engine.topics.model import Topic, Trigger
from engine.topics.patterncheck import Finding, pattern_findings, schedule_finding, trigger_problems
from tests.cases import each_case


def first(match: str, *, probe: bool = False) -> Finding:
    return pattern_findings(match, probe=probe)[0]


@each_case("probe", [True, False])
@each_case(
    "match",
    [
        r"\b(email|inbox|mail)\b",
        r"PR|pull request",
        r"deploy(ment|ed)?\b.{0,80}\bprod",
        r"(?=.*error)(?=.*disk)",
    ],
)
def test_an_ordinary_pattern_has_no_findings(match: str, probe: bool) -> None:
    assert pattern_findings(match, probe=probe) == ()


@each_case("probe", [True, False])
@each_case(
    ("match", "better"),
    [
        (r"(a+)+$", r"a+$"),
        (r"(?:[ab]*)*c", r"[ab]*c"),
        (r"(a|a)*b", r"(a)*b"),
        (r"(\w+\s?)*x", r"(?:\w+\s)*\w*x"),
        (r"(\w+\s?)+$", r"(?:\w+\s)*\w+\s?$"),
    ],
)
def test_a_catastrophic_pattern_is_reported_with_a_text_and_a_better_form(
    match: str, better: str, probe: bool
) -> None:
    finding = first(match, probe=probe)
    assert "exponential time on texts such as 'aaaa" in finding.what
    assert finding.hint == f"rewrite it as {better}"
    assert finding.severity == "error"


def test_a_catastrophic_pattern_of_unknown_shape_is_reported_with_advice() -> None:
    finding = first(r"(x+x+)+y")
    assert "exponential" in finding.what
    assert "possessive" in finding.hint


@given(st.sampled_from(["(a+)+", "(?:a*)*", "(a|a)+", "(\\w+\\s?)+"]), st.text("ab1 ", max_size=8))
def test_a_better_form_matches_exactly_the_same_texts(loop: str, text: str) -> None:
    import re

    better = first(f"{loop}$").hint.removeprefix("rewrite it as ").removesuffix("$")
    assert (re.fullmatch(better, text) is None) == (re.fullmatch(loop, text) is None)


@each_case(
    ("match", "place"),
    [
        ("mail(", "at character 6 (the end)"),
        ("[z-a]", "at character 5, before ']'"),
        ("/ma(il/i", "at character 7, before '/i'"),
        ("a**b", "at character 3, before '*b'"),
    ],
)
@each_case("probe", [True, False])
def test_a_pattern_that_does_not_compile_is_reported_with_its_position(
    match: str, place: str, probe: bool
) -> None:
    finding = first(match, probe=probe)
    assert finding.what.startswith("pattern does not compile: ")
    assert finding.what.endswith(place)
    assert finding.severity == "error"


def test_a_pattern_only_the_regex_package_supports_is_accepted() -> None:
    match = r"\p{Lu}\p{Ll}+ GmbH"
    assert tree(match) is None
    assert pattern_findings(match) == ()


def test_a_pattern_that_would_exhaust_memory_is_an_error() -> None:
    assert "elements" in first("a{1000000000}").what


@each_case("match", [".*", "(email)?", "(?!spam)", "a|", r"\p{L}*"])
def test_a_pattern_that_matches_every_message_is_a_warning(match: str) -> None:
    finding = first(match)
    assert "every message" in finding.what
    assert finding.severity == "warning"


@each_case("match", [r"\w", ".", "[aeiou]", r"\S+"])
def test_a_pattern_that_matches_nearly_every_message_is_a_warning_when_probed(match: str) -> None:
    assert pattern_findings(match) == ()
    finding = first(match, probe=True)
    assert "unrelated messages" in finding.what
    assert finding.severity == "warning"


def test_a_pattern_that_is_slow_but_not_exponential_is_found_by_probing() -> None:
    finding = first(r"\w*\w*\w*\w*\w*\w*\d\s", probe=True)
    assert "takes more than 100 ms on 2,000 characters" in finding.what
    assert finding.severity == "warning"


@each_case("schedule", ["0 8 * * *", "*/15 9-17 * * MON-FRI", "0 0 29 2 *"])
def test_a_schedule_of_five_fields_is_valid(schedule: str) -> None:
    assert schedule_finding(schedule) is None


@each_case("schedule", ["0 8 * *", "61 8 * * *", "@daily", "* * * * * *", "0 0 30 2 *", "a b c d e", ""])
def test_an_invalid_schedule_is_an_error_with_an_example(schedule: str) -> None:
    finding = schedule_finding(schedule)
    assert finding is not None
    assert finding.severity == "error"
    assert finding.hint


def test_problems_have_the_line_of_their_trigger() -> None:
    topic = Topic(
        "t",
        "topics/t.md",
        "T",
        "",
        "",
        triggers=(
            Trigger("pattern", match="(a+)+$", line=4),
            Trigger("keywords", words=("(a+)+$",), line=6),
            Trigger("cron", schedule="never", line=8),
        ),
    )
    assert [(problem.path, problem.line) for problem in trigger_problems(topic)] == [
        ("topics/t.md", 4),
        ("topics/t.md", 8),
    ]
