"""Checks the patterns and schedules of triggers before they are used (robustness R1).

``trigger_problems`` without ``probe`` takes microseconds per pattern and runs whenever a topic is read; only
patterns whose repetitions could be slow are compiled and tried. With ``probe`` every pattern is, also on
ordinary messages.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

from engine.errors import Problem
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store import cron
from engine.topics.expressions import (
    ExpressionError,
    compile_expression,
    listed_words,
    plain,
    refuse_large,
    tree,
)
from engine.topics.model import Topic, Trigger
from engine.topics.repetitions import hostile_texts, is_empty_match, is_suspicious

PROBE_CHARACTERS = 2_000
"""Length of the worst-case texts."""

PROBE_TIMEOUT_S = 0.1
"""Maximum time of a pattern on one of them."""

_SHORT = ((400, 0.02), (600, 0.06))
"""Lengths and times for detecting exponential time; the second pair confirms the first. Unless the engine
optimizes them, ambiguous patterns were measured to take at least 106 ms on 400 characters and 320 on 600;
others take at most 4 and 11 ms. A machine five times slower or faster gets the same result.
"""

_NEARLY_ALL = 0.8
_ORDINARY = (
    "ok",
    "Thanks, that works!",
    "Can you move the meeting with Anna to Thursday afternoon?",
    "what time is it in Tokyo",
    "The invoice from May is still open, please send a reminder.",
    "How do I center a div?",
    "Bitte fass mir die offenen Punkte von gestern zusammen.",
    "remind me to buy milk",
    "git rebase failed with a conflict in README.md",
    "J'aimerais réserver une table pour deux",
    "Draft a reply: we accept the offer.",
    "tests are red again :(",
    "Summarise the last three pages of the report",
    "book a flight from Vienna to Oslo",
    "why did the job stop at 03:00?",
)
_NESTED = expression(
    r"\((?:\?:)?(?P<atom>\\[a-zA-Z]|\\?[^\\()\[\]|*+?{}.^$]|\.|\[[^\[\]]+\])(?P<one>[+*])\)(?P<two>[+*])"
)
_OPTIONAL_TAIL = expression(
    r"\((?:\?:)?(?P<body>\\[a-zA-Z]|\[[^\[\]]+\])\+(?P<tail>\\[a-zA-Z]|\\?[^\\()\[\]|*+?{}.^$])[?*]\)(?P<two>[+*])"
)
_TWICE = expression(r"\((?P<open>\?:)?(?P<choices>[^()|]+(?:\|[^()|]+)+)\)")


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of one pattern or schedule."""

    what: str
    hint: str = ""
    severity: Literal["error", "warning"] = "error"


def trigger_problems(topic: Topic, *, probe: bool = False) -> tuple[Problem, ...]:
    """Problems of the patterns and schedules of a topic's triggers.

    ``probe`` also compiles and tries every pattern, which takes some milliseconds each.
    """
    return tuple(
        Problem(topic.path, trigger.line, finding.what, finding.hint, finding.severity)
        for trigger in topic.triggers
        for finding in _findings(trigger, probe)
    )


def _findings(trigger: Trigger, probe: bool) -> tuple[Finding, ...]:
    if trigger.type == "pattern":
        return pattern_findings(trigger.match, probe=probe)
    if trigger.type == "cron":
        finding = schedule_finding(trigger.schedule)
        return (finding,) if finding else ()
    return ()


@lru_cache(maxsize=4096)
def pattern_findings(match: str, *, probe: bool = False) -> tuple[Finding, ...]:
    """Problems of one pattern, worst first.

    - It does not compile, with the position.
    - It can take exponential time, with an example and a better form if there is a simple one.
    - It matches the empty text, or (with ``probe``) nearly every message.
    - With ``probe``: it takes more than ``PROBE_TIMEOUT_S`` on a text of ``PROBE_CHARACTERS`` characters.
    """
    expression = plain(match)
    if not probe and all(listed_words(expression) or [""]):
        return ()
    parsed = tree(expression)
    try:
        refuse_large(expression)
        # What the standard library parses, regex compiles too; only the probe takes the time to verify.
        compiled = compile_expression(match) if probe or parsed is None else None
    except ExpressionError as error:
        return (_invalid(match, error),)
    findings: list[Finding] = []
    slow = _exponential_text(match, parsed)
    if slow:
        findings.append(_exponential(expression, slow))
    elif probe and parsed is not None:
        slow = _slow_text(compiled, parsed, PROBE_CHARACTERS, PROBE_TIMEOUT_S)
        if slow:
            findings.append(_slow(slow))
    if parsed is None or is_empty_match(parsed):
        compiled = compiled or compile_expression(match)
        if _matches(compiled, ""):
            findings.append(_everything("the empty text, and so every message"))
            return tuple(findings)
    if probe:
        matched = sum(_matches(compiled, message) for message in _ORDINARY)
        if matched >= _NEARLY_ALL * len(_ORDINARY):
            findings.append(_everything(f"{matched} of {len(_ORDINARY)} unrelated messages"))
    return tuple(findings)


def schedule_finding(schedule: str) -> Finding | None:
    """The problem of a cron expression of five fields (minute, hour, day, month, weekday; UTC), if any."""
    found = cron.problem(schedule)
    if not found:
        return None
    hint = "fix its day and month" if found == cron.NEVER else cron.HINT
    return Finding(f"schedule {schedule!r} {found}", hint)


def _invalid(match: str, error: ExpressionError) -> Finding:
    place = ""
    if 0 <= error.position <= len(match):
        rest = match[error.position : error.position + 12]
        place = f" at character {error.position + 1}" + (f", before {rest!r}" if rest else " (the end)")
    hint = error.hint or "fix the pattern; put a backslash before special characters meant literally"
    return Finding(f"pattern does not compile: {error.what}{place}", hint)


def _exponential(expression: str, sample: str) -> Finding:
    better = _better_form(expression)
    hint = (
        f"rewrite it as {better}"
        if better
        else "rewrite it so that each repetition starts with something the previous one cannot end with, "
        "or make the inner one possessive, as in (?:a++)+"
    )
    return Finding(f"pattern can take exponential time on texts such as {sample!r}", hint)


def _slow(sample: str) -> Finding:
    milliseconds = round(PROBE_TIMEOUT_S * 1000)
    return Finding(
        f"pattern takes more than {milliseconds} ms on {PROBE_CHARACTERS:,} characters such as {sample!r}",
        "limit its repetitions, as in .{0,80}, or avoid consecutive ones that match the same text",
        "warning",
    )


def _everything(what: str) -> Finding:
    return Finding(f"pattern matches {what}", "use words that only the intended messages contain", "warning")


def _better_form(expression: str) -> str:
    """The expression without its ambiguity, for common forms; empty if unknown."""
    better = _NESTED.sub(
        lambda found: found["atom"] + ("+" if found["one"] == found["two"] == "+" else "*"), expression
    )
    better = _TWICE.sub(
        lambda found: f"({found['open'] or ''}{'|'.join(dict.fromkeys(found['choices'].split('|')))})", better
    )
    better = _OPTIONAL_TAIL.sub(
        lambda found: (
            f"(?:{found['body']}+{found['tail']})*{found['body']}"
            + ("*" if found["two"] == "*" else f"+{found['tail']}?")
        ),
        better,
    )
    if better == expression:
        return ""
    parsed = tree(better)
    # Twice, since a busy machine makes a quick form look slow once.
    is_slow = parsed is None or all(_exponential_text(better, parsed) for _ in range(2))
    return "" if is_slow else better


def _exponential_text(match: str, parsed: Any) -> str:
    """A sample of a short text on which a pattern takes very long; empty if there is none."""
    if parsed is None or not is_suspicious(parsed):
        return ""
    compiled, found = compile_expression(match), ""
    for length, timeout in _SHORT:
        found = _slow_text(compiled, parsed, length, timeout)
        if not found:
            break
    return found


def _slow_text(compiled: Any, parsed: Any, length: int, timeout: float) -> str:
    for text, sample in hostile_texts(parsed, length):
        try:
            compiled.search(text, timeout=timeout, concurrent=True)
        except TimeoutError:
            return sample
    return ""


def _matches(compiled: Any, text: str) -> bool:
    try:
        return compiled.search(text, timeout=PROBE_TIMEOUT_S, concurrent=True) is not None
    except TimeoutError:
        return False
