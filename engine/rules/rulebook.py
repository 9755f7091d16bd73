"""The rules file: ``knowledge/rules.md``, one rule per line, freely editable.

    ## In force

    - please don't amend commits {#3f2a91c told=2 last=2026-02-02}

The heading above a line is its state. The braces belong to the program; a line without them is a rule the
person wrote. Everything else in the file is left alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from engine.errors import DocumentError
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.documents import parse

PATH = "knowledge/rules.md"

State = Literal["in force", "waiting", "resting", "turned down", "replaced"]

HEADINGS: Mapping[State, str] = {
    "in force": "In force",
    "waiting": "Waiting for your decision",
    "resting": "Resting",
    "turned down": "Turned down",
    "replaced": "Replaced",
}
"""In file order."""

NEW = """---
type: rules
---

# Rules

How you want your agents to work, in your words. Only the lines under the first heading are told to agents.
Edit them as you like, or move one to another heading; a line you delete does not come back. To see where you
said one: `autopoiesis rules why ID`.
"""

LONGEST = 240
"""Maximum characters of a rule."""

_HEADING = expression(r"##[ \t]+(?=\S)")
_BULLET = expression(r"[-*+][ \t]+(?=\S)")
_MARKS = expression(r"\{#(?P<id>[0-9a-f]{7})(?P<marks>(?: [a-z]+=[^\s{}]++)*+)\}")
_STATES: Mapping[str, State] = {name.casefold(): state for state, name in HEADINGS.items()} | {
    "said before, not confirmed": "waiting"  # in files of an earlier build
}
_ORDER = {state: place for place, state in enumerate(HEADINGS)}
_MOST_DIGITS = 6
"""Digits of a count; a longer number was not written by the program."""

_NAME = r"[\w.@-]"
_PLACE = (
    r"[`'\"“]?(?:"
    rf"(?:{_NAME}+/|\*\*/)*{_NAME}*\*{_NAME}*\.[A-Za-z][\w-]*"  # *_test.go, src/**/*.spec.ts
    rf"|(?:{_NAME}+/)+(?:\*\*?)?"  # tests/, src/api/**
    r"|\.[a-z][a-z0-9]{0,5}(?=[`'\"”]? (?:files?|and|or)\b)"  # .tsx files
    r")(?![\w/*{])[`'\"”]?"
)
_ALL = r"(?:(?:all|any|every|each|the|our|my|of|files?|anything|something|code|in|under|inside)\s+)*"
_MORE = rf"(?:(?:,| and| or|, and|, or)\s+(?:in\s+)?{_PLACE})*"
_PLACES = rf"{_ALL}(?P<places>{_PLACE}{_MORE})(?:\s+(?:files?|folders?))?"
_IN = r"(?:in|inside|within|under)"
_POLITE = r"^\W*(?:(?:please|always|also|and|so|ok|we|you|should|must|from now on)[,\s]+)*"
_OFF = r"(?:never|do not|don['’]?t|must not|no|avoid)"
_FORMS = tuple(
    expression(_POLITE + form, re.IGNORECASE)
    for form in (
        rf"(?:{_IN}|for)\s+{_PLACES}(?:\s*[,:–—-])?\s+(?!(?:only|alone)\b)\w",
        rf"{_OFF}\s+(?:ever\s+)?(?:touch|edit|change|modify|delete|remove|rename|reformat"
        rf"|rewrite)\s+{_PLACES}",
        rf"(?:{_OFF}|use|prefer)\s(?:(?!\b(?:except|unless|outside|only|other|but|instead|than"
        r"|before|after|until"
        r"|when|while|if|without|forget|from|into|skip|break|put|save|store|create|the|our|those"
        r"|these)\b)[^.;:,!?])*?"
        rf"\s{_IN}\s+{_PLACES}(?:,? please)?[.!]*$",
    )
)
"""Match "In *.sql files, …", "never touch migrations/" and "no mocks in tests/" up to the files."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule."""

    id: str  # seven hexadecimal digits; stays the same when the text changes
    text: str  # one line, in the person's words
    state: State
    told: int = 0  # number of sessions in which it was stated
    last: str = ""  # day it was last stated, ``YYYY-MM-DD``
    accepted: str = ""  # day the person accepted it; empty if they did not
    own: bool = False  # the person wrote or edited the text
    project: str = ""  # slug of the only project it applies to; empty for all
    agent: str = ""  # the only agent it applies to, such as ``codex``; empty for all
    tool: str = ""  # the tool whose use it is about, such as ``Bash``; empty for all work
    path: str = ""  # the files it is about: globs or folders, comma-separated; empty for all work
    also: tuple[str, ...] = ()  # ids of rules merged into it
    by: str = ""  # id of the rule that replaced it
    ended: str = ""  # day on which the person said that it no longer holds
    known: str = ""  # an agents' file that states it, such as ``CLAUDE.md``

    @property
    def counts(self) -> bool:
        """Whether agents are told it."""
        return self.state == "in force"

    @property
    def is_decided(self) -> bool:
        """Whether the person decided on it, so that it stays though no session contains it."""
        return bool(
            self.own or self.accepted or self.also or self.state in ("turned down", "replaced", "resting")
        )

    @property
    def where(self) -> str:
        """Its scope as text; empty for everywhere."""
        return " ".join(filter(None, (self.project, self.agent, self.tool, self.files)))

    @property
    def files(self) -> str:
        """The files it is about, as ``path``; if not set, those that its text names."""
        return self.path or paths_in(self.text[:LONGEST])

    @property
    def is_occasional(self) -> bool:
        """Whether the person limited it to prompts about some files or a tool. A rule limited only by its own
        text is in all prompts: which files a task will touch is often unknown when it starts.
        """
        return bool(self.path or self.tool)

    def is_about(self, paths: Iterable[str], tools: Collection[str]) -> bool:
        """Whether it is about one of the files, by glob or by a folder anywhere in the path, or one of the
        tools.
        """
        if self.tool and self.tool.casefold() in tools:
            return True
        globs = [each.rstrip("/") for each in self.files.split(",") if each.strip("/")]
        return any(
            fnmatchcase(f"/{path}/", f"*/{glob}/*") or fnmatchcase(f"/{path}", f"*/{glob}")
            for path in paths
            for glob in globs
        )

    @property
    def is_said_again(self) -> bool:
        """Whether the person had to say it again after they had accepted it."""
        return bool(self.accepted) and self.last > self.accepted

    @property
    def decided(self) -> bool:
        """Whether the person accepted or wrote it."""
        return bool(self.accepted or self.own)


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules of a workspace, in file order."""

    rules: tuple[Rule, ...] = ()
    text: str = field(
        default="", repr=False
    )  # the file, undecodable bytes as surrogates; empty if there is none

    @property
    def again(self) -> tuple[Rule, ...]:
        """Rules that were said in several sessions."""
        return tuple(rule for rule in self.rules if rule.state in ("in force", "waiting") and rule.told > 1)

    @property
    def waiting(self) -> tuple[Rule, ...]:
        """Rules that wait for the person's decision."""
        return tuple(rule for rule in self.rules if rule.state == "waiting")

    def acceptable(self, sessions: int) -> tuple[Rule, ...]:
        """Waiting rules that were said in at least ``sessions`` sessions."""
        return tuple(rule for rule in self.waiting if sessions and rule.told >= sessions)

    def get(self, name: str) -> Rule | None:
        """The rule with an id or an unambiguous prefix of one."""
        found = [rule for rule in self.rules if rule.id == name]
        if not found and len(name) >= 3:
            found = [rule for rule in self.rules if rule.id.startswith(name)]
        return found[0] if len(found) == 1 else None

    def changed(self, rules: Iterable[Rule]) -> Rulebook:
        """A copy with some rules changed or added. A rule that is not replaced any more is no longer part of
        the one it was merged into.
        """
        wanted = {rule.id: rule for rule in rules}
        own = {rule.id for rule in wanted.values() if rule.state != "replaced"}
        every = (*(wanted.pop(rule.id, rule) for rule in self.rules), *wanted.values())
        return replace(self, rules=tuple(_without(rule, own) for rule in every))


def _without(rule: Rule, names: Collection[str]) -> Rule:
    return replace(rule, also=tuple(name for name in rule.also if name not in names)) if rule.also else rule


def most_told(rules: Iterable[Rule]) -> list[Rule]:
    """Sorted by state as in the file, by number of sessions, unlikely ones last, then by most recent."""
    latest = sorted(rules, key=lambda rule: rule.last, reverse=True)
    return sorted(latest, key=lambda rule: (_ORDER[rule.state], -rule.told, is_unlikely(rule)))


def is_unlikely(rule: Rule) -> bool:
    """Whether a rule waits that was said once, and was probably meant for the task at hand."""
    from engine.rules.judge import may_hold_on  # noqa: PLC0415 — a hook reads the rules and asks for none

    return rule.state == "waiting" and rule.told == 1 and not may_hold_on(rule.text)


def rule_id(text: str) -> str:
    """The id of a rule by its first wording."""
    return hashlib.sha256(" ".join(text.casefold().split()).encode("utf-8", "replace")).hexdigest()[:7]


def rules_in(data: bytes, path: str = PATH) -> Rulebook:
    """Reads the file; never raises. Only list items under the known headings are rules. If two lines with
    different texts have the same id, the first one keeps it.
    """
    return Rulebook(rules_of(parse(data, path).body), data.decode("utf-8", "surrogateescape"))


def rules_of(body: str, limit: int | None = None) -> tuple[Rule, ...]:
    """The rules in the text below the file's header, as ``rules_in``; at most the first ``limit`` of them."""
    found: dict[str, Rule] = {}
    state: State | None = None
    for line in body.split("\n"):
        heading = _heading(line)
        if heading is not None:
            state = _STATES.get(heading.casefold())
        elif state is not None and (rule := _rule(line, state)) is not None:
            if found.get(rule.id, rule).text != rule.text:  # a copy of a line, edited: a separate rule
                rule = Rule(rule_id(rule.text), rule.text, state, own=True)
            found.setdefault(rule.id, rule)
            if len(found) == limit:
                break
    return tuple(found.values())


def _heading(line: str) -> str | None:
    """The text of a heading of level 2; ``None`` for any other line."""
    match = _HEADING.match(line)
    return line[match.end() :].rstrip().rstrip("#").rstrip() if match else None


def _rule(line: str, state: State) -> Rule | None:
    """A list item as a rule; ``None`` for any other line."""
    bullet = _BULLET.match(line)
    if bullet is None:
        return None
    text = line[bullet.end() :].rstrip()
    start = text.rfind("{#")
    match = _MARKS.fullmatch(text, start) if start > 0 else None
    if match is None:
        return Rule(rule_id(text), text, state, own=True)
    marks = dict(mark.split("=", 1) for mark in match["marks"].split())
    told = marks.get("told", "")
    return Rule(
        match["id"],
        text[:start].rstrip(),
        state,
        told=int(told) if told.isdecimal() and len(told) <= _MOST_DIGITS else 0,
        last=marks.get("last", ""),
        accepted=marks.get("accepted", ""),
        own="own" in marks,
        project=marks.get("project", ""),
        agent=marks.get("agent", ""),
        tool=marks.get("tool", ""),
        path=marks.get("path", ""),
        also=tuple(filter(None, marks.get("also", "").split(","))),
        by=marks.get("by", ""),
        ended=marks.get("ended", ""),
        known=marks.get("known", ""),
    )


def line_of(rule: Rule) -> str:
    """A rule as its line in the file."""
    marks = {
        "told": rule.told or "",
        "last": rule.last,
        "accepted": rule.accepted,
        "own": "yes" if rule.own else "",
        "project": rule.project,
        "agent": rule.agent,
        "tool": rule.tool,
        "path": rule.path,
        "also": ",".join(rule.also),
        "by": rule.by,
        "ended": rule.ended,
        "known": rule.known,
    }
    shown = "".join(f" {name}={value}" for name, value in marks.items() if value)
    return f"- {rule.text} {{#{rule.id}{shown}}}".encode("utf-8", "replace").decode()


def bytes_of(book: Rulebook) -> bytes:
    """The file with each rule under the heading of its state.

    All other text is kept with its line ends: text above the headings and under other headings in place, text
    between rules below them.

    Raises:
        DocumentError: The file holds bytes that are not UTF-8; rewriting it could lose them.
    """
    text = book.text or NEW
    _require_utf8(text)
    end = "\r" if "\r\n" in text else ""
    rules = {state: [line_of(rule) + end for rule in book.rules if rule.state == state] for state in HEADINGS}
    above, parts = _parts(text)
    blocks: list[Sequence[str]] = [above]
    for heading, state, others in parts:
        blocks += [[heading], rules.pop(state, []) if state else [], others]
    for state, added in rules.items():
        if added:
            blocks += [[f"## {HEADINGS[state]}{end}"], added]
    lines: list[str] = []
    for block in filter(None, map(_trimmed, blocks)):
        lines += [end, *block] if lines else block
    return "\n".join((*lines, "")).encode("utf-8")


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Lines without blank ones at the start and the end."""
    text = [number for number, line in enumerate(lines) if line.strip()]
    return list(lines[text[0] : text[-1] + 1]) if text else []


def _require_utf8(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise DocumentError("is not UTF-8 text", where=f"{PATH}:{line}", hint="save it as UTF-8") from None


def _parts(text: str) -> tuple[list[str], list[tuple[str, State | None, list[str]]]]:
    """The lines above the first heading of rules; then for each heading its line, the state it names,
    and the lines below it that are not rules.
    """
    start = parse(text.encode("utf-8"), PATH).body_line - 1
    above: list[str] = []
    parts: list[tuple[str, State | None, list[str]]] = []
    for number, line in enumerate(text.split("\n")):
        heading = _heading(line) if number >= start else None
        state = _STATES.get(heading.casefold()) if heading is not None else None
        if heading is not None and (parts or state is not None):
            parts.append((line, state, []))
        elif not parts:
            above.append(line)
        elif parts[-1][1] is None or _rule(line, parts[-1][1]) is None:
            parts[-1][2].append(line)
    return _trimmed(above), parts


@lru_cache(maxsize=4_096)
def paths_in(rule: str) -> str:
    """The files a rule is about, in the form of ``Rule.path``; empty if the text does not say, or its
    wordings disagree.

    Only where that is certain: "run the tests in tests/ before you push" is about every push.
    """
    found = {_paths(wording) for wording in rule.split(" / ")}
    return found.pop() if len(found) == 1 else ""


def _paths(wording: str) -> str:
    match = next(filter(None, (form.match(wording) for form in _FORMS)), None)
    if match is None:
        return ""
    words = (word.strip("`'\"“”,") for word in match["places"].split())
    return ",".join(
        dict.fromkeys(_glob(word) for word in words if word.casefold() not in ("and", "or", "in"))
    )


def _glob(place: str) -> str:
    place = place.removeprefix("**/")
    return f"*{place}" if place.startswith(".") and "/" not in place else re.sub(r"/\*+$", "/", place)
