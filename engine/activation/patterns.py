"""Tier 1: finds the triggers that a message fires (spec 4.2 and 4.3, design 4).

A message is analysed once for all triggers, and checked only against those of whose texts it has one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.activation.detectors import (
    agitation_spans,
    code_blocks,
    event_fits,
    event_text,
    matches_language,
    phrase_spans,
    phrases_of,
    sentiment_spans,
)
from engine.activation.language import base, languages
from engine.activation.links import MAX_PATHS, glob_literals, link_matches, path_matches
from engine.activation.negation import negator
from engine.activation.phrases import Phrase
from engine.activation.scan import Scan, fold
from engine.activation.trace import Message, TriggerHit
from engine.errors import Problem
from engine.startup.records import dataclass
from engine.store.spelling import composed
from engine.topics.expressions import ExpressionError, compile_expression, plain, tree
from engine.topics.model import Topic, Trigger

if TYPE_CHECKING:
    from engine.settings.model import WatcherSettings


_MAX_TEXTS = 64
_MAX_REPEATS = 3
_MAX_CHARACTERS = 1_000
_MAX_SET = 4
_MAX_LITERAL = 24
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")

Literals = frozenset[str]


class Needs(NamedTuple):
    """What a pattern requires of a text."""

    literals: Literals | None = None
    """Every match contains at minimum one of these, folded; ``None`` if none are known."""
    is_list: bool = False
    """Whether it only lists few short texts, so that no text can make searching for them slow."""


def needs(match: str) -> Needs:
    """What a trigger's ``match`` requires of a text.

    A pattern such as ``\\bpull request(s)?\\b|\\bPRs?\\b`` can only match if "pull request" or "pr" occurs.
    Looking for these first means that a message compiles and searches the patterns of few of a thousand
    topics.
    """
    parsed = tree(plain(match))
    if parsed is None:
        return Needs()
    return Needs(_literals(_items(parsed)), _texts(parsed) * parsed.getwidth()[1] <= _MAX_CHARACTERS)


def _items(parsed: Any) -> list[tuple[str, Any]]:
    # The list is faster than the parse tree's own iterator.
    return [(operator.name, argument) for operator, argument in getattr(parsed, "data", parsed)]


def _literals(items: Iterable[tuple[str, Any]]) -> Literals | None:
    """The longest of the literals that a sequence requires, then the fewest."""
    found: list[Literals | None] = []
    run: list[tuple[str, Any]] = []  # consecutive letters
    for name, argument in (*items, ("", None)):
        if name == "AT":
            continue
        if name == "BRANCH":
            # The parser takes what the alternatives begin with out of them.
            each = [_literals([*run, *_items(alternative)]) for alternative in argument[1]]
            found.append(frozenset().union(*filter(None, each)) if all(each) else None)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP", "ASSERT"):
            found.append(_literals(_items(argument if name == "ATOMIC_GROUP" else argument[-1])))
        elif name in _REPEATS and argument[0]:
            found.append(_literals(_items(argument[2])))
        if _letter(name, argument):
            run.append((name, argument))
            continue
        text = "".join(_letter(*each) for each in run)[:_MAX_LITERAL]
        # One letter is in nearly every message.
        found.append(frozenset((text,)) if len(text) > 1 or not text.isascii() else None)
        run = []
    return max(filter(None, found), key=lambda each: (min(map(len, each)), -len(each)), default=None)


def _letter(name: str, argument: Any) -> str:
    """The folded text that an item stands for, such as ``r`` for ``[rR]``; empty for any other item.

    Letters are folded one by one, since each is compared separately.
    """
    if name == "LITERAL":
        character = chr(argument)
        return character.lower() if argument < 128 else fold(composed(character))
    if name == "IN" and len(argument) <= _MAX_SET:
        letters = {_letter(kind.name, code) for kind, code in argument}
        return letters.pop() if len(letters) == 1 else ""
    return ""


def _texts(parsed: Any) -> float:
    """How many texts a sequence can match, at most; infinite if unknown or many."""
    texts = 1.0
    for name, argument in _items(parsed):
        if name == "IN" and len(argument) <= _MAX_SET and all(kind.name == "LITERAL" for kind, _ in argument):
            texts *= len(argument)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            texts *= _texts(argument if name == "ATOMIC_GROUP" else argument[-1])
        elif name == "BRANCH":
            texts *= sum(map(_texts, argument[1]))
        elif name in _REPEATS and argument[1] <= _MAX_REPEATS:
            once = _texts(argument[2])
            texts *= sum(once**count for count in range(argument[0], argument[1] + 1))
        elif name not in ("LITERAL", "AT"):
            return math.inf
        if texts > _MAX_TEXTS:
            return math.inf
    return texts


DEFAULT_TIMEOUT_MS = 20

MAX_SPANS = 5
"""Maximum number of reported matches of one trigger in one message."""

MAX_MATCHED = 80

Span = tuple[int, int]


@dataclass(slots=True, eq=False)
class _Rule:
    """A trigger of a topic, prepared."""

    topic: str
    path: str
    index: int  # index into the topic's triggers
    trigger: Trigger
    keys: frozenset[str] | None  # texts of which the folded text or paths of a message have one, if known
    phrases: tuple[Phrase, ...]
    is_list: bool  # see ``Needs``
    finditer: Any = None  # of its regular expression, compiled on first use
    problem: Problem | None = None  # how it failed and is no longer used


class _Index:
    """Rules by what must be in a message, so that of thousands a message is checked against few."""

    def __init__(self, rules: Iterable[_Rule]) -> None:
        from ahocorasick import Automaton  # noqa: PLC0415 — .4 ms, only once there is a message

        self.languages: set[str] = set()
        self._others: list[_Rule] = []
        self._keyed: dict[str, list[_Rule]] = {}
        self._automaton = Automaton()
        for rule in rules:
            if rule.keys is None:
                self._others.append(rule)
            for key in rule.keys or ():
                self._keyed.setdefault(key, []).append(rule)
            if rule.trigger.type == "language":
                self.languages.update(map(base, rule.trigger.words))
        for key in self._keyed:
            self._automaton.add_word(key, key)
        self._automaton.make_automaton()

    def rules(self, folded: str) -> list[_Rule]:
        """The rules that a message may fire, by its folded text and paths."""
        if not self._keyed:
            return self._others
        keys = {key for _, key in self._automaton.iter(folded)}
        return [*self._others, *dict.fromkeys(rule for key in keys for rule in self._keyed[key])]


class _View:
    """One message being matched, with results shared between triggers."""

    def __init__(self, message: Message, index: _Index) -> None:
        self.message = message
        self.scan = Scan(message.text)
        paths = "\n".join(message.paths[:MAX_PATHS]).replace("\\", "/").casefold()
        self.rules = index.rules(f"{self.scan.folded}\n{paths}")
        self._wanted = index.languages

    @cached_property
    def agitation(self) -> list[Span]:
        return agitation_spans(self.scan)

    @cached_property
    def code(self) -> list[tuple[str, int, int]]:
        return code_blocks(self.scan)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        return languages(self.scan.prose, self._wanted)


class PatternMatcher:
    """Matches messages against the triggers of all topics, one at a time.

    Of a text longer than ``engine.meaning.text.CHARACTERS_READ`` only its start and end are searched. A
    regular expression that takes longer than ``pattern_timeout_ms`` twice in a row is reported in
    ``problems`` and not used again until the topic's triggers change. Other threads can run while it
    searches.
    """

    def __init__(self, topics: Iterable[Topic] = (), settings: WatcherSettings | None = None) -> None:
        milliseconds = DEFAULT_TIMEOUT_MS if settings is None else settings.pattern_timeout_ms
        self._timeout_s = milliseconds / 1000
        self._rules: dict[object, _Rule] = {}
        self._index: _Index | None = None  # made with the first message
        self.update(topics)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Patterns that do not compile or took too long, sorted by file and line; safe in any thread."""
        found = [rule.problem for rule in self._rules.values() if rule.problem is not None]
        return tuple(sorted(found, key=lambda problem: (problem.path, problem.line)))

    def update(self, topics: Iterable[Topic]) -> None:
        """Matches these topics from now on. Unchanged triggers keep their compiled patterns."""
        before, rules = self._rules, dict[object, _Rule]()
        for topic in topics:
            for index, trigger in enumerate(topic.triggers):
                key = topic.name, topic.path, index, trigger
                rules[key] = before.get(key) or _prepared(topic, index)
        self._rules = rules
        if rules.keys() != before.keys():
            self._index = None

    def match(self, message: Message) -> dict[str, tuple[TriggerHit, ...]]:
        """The triggers that a message fires.

        Args:
            message: ``glob`` triggers see its ``paths``; ``webhook`` and ``cron`` triggers its ``event``. Its
                ``calls`` are only seen by patterns with the scope ``output``, since the commands that an
                agent runs say little about the subject.

        Returns:
            The hits by topic, sorted by name, trigger and offset in ``message.text``. A trigger has at most
            ``MAX_SPANS`` hits. Those with ``negated`` do not count.
        """
        hits: dict[str, list[TriggerHit]] = {}
        view = self._viewed(message)
        for rule in view.rules:
            if rule.trigger.scope in ("both", message.direction) and (found := self._hits(rule, view)):
                hits.setdefault(rule.topic, []).extend(found)
        if message.calls and message.direction == "output":
            self._match_calls(message, hits)
        return {
            topic: tuple(sorted(hits[topic], key=lambda hit: (hit.trigger, hit.start)))
            for topic in sorted(hits)
        }

    def _match_calls(self, message: Message, hits: dict[str, list[TriggerHit]]) -> None:
        view = self._viewed(replace(message, text="\n".join(message.calls)))
        for rule in view.rules:
            if rule.trigger.type == "pattern" and rule.trigger.scope == "output":
                found = [replace(hit, start=-1, end=-1) for hit in self._hits(rule, view)]
                if found:
                    hits.setdefault(rule.topic, []).extend(found)

    def _viewed(self, message: Message) -> _View:
        if self._index is None:
            self._index = _Index(self._rules.values())
        return _View(message, self._index)

    def _hits(self, rule: _Rule, view: _View) -> list[TriggerHit]:
        trigger, message = rule.trigger, view.message
        if trigger.type == "glob":
            paths = (path for path in message.paths[:MAX_PATHS] if path_matches(path, trigger.match))
            return [TriggerHit(rule.index, "glob", path[:MAX_MATCHED]) for path in islice(paths, MAX_SPANS)]
        if trigger.type in ("webhook", "cron"):
            if message.event is None or not event_fits(trigger, message.event):
                return []
            return [TriggerHit(rule.index, trigger.type, event_text(message.event)[:MAX_MATCHED])]
        if not message.text:
            return []
        if trigger.type == "language":
            wanted = {base(word) for word in trigger.words}
            spoken = [language for language in view.languages if language in wanted]
            return [TriggerHit(rule.index, "language", language) for language in spoken]
        if not (spans := self._spans(rule, view)):
            return []
        scan = view.scan
        is_request = message.direction == "input" and trigger.type in ("pattern", "keywords")
        hits = []
        for span in [span for span in spans if not scan.spans_gap(*span)][:MAX_SPANS]:
            negated = negator(scan.text, *span) if is_request else ""
            matched = scan.text[slice(*span)][:MAX_MATCHED]
            hits.append(TriggerHit(rule.index, trigger.type, matched, *scan.original(*span), negated))
        return hits

    def _spans(self, rule: _Rule, view: _View) -> list[Span]:
        trigger, scan = rule.trigger, view.scan
        if trigger.type == "pattern":
            return [] if rule.problem is not None else self._searched(rule, scan.text)
        if trigger.type == "url":
            return [(link.start, link.end) for link in scan.links if link_matches(link, trigger.words)]
        if trigger.type == "code":
            return [(start, end) for name, start, end in view.code if matches_language(name, trigger.words)]
        if trigger.type == "sentiment":
            return sentiment_spans(rule.phrases, scan, view.agitation)
        return phrase_spans(rule.phrases, scan)

    def _searched(self, rule: _Rule, text: str) -> list[Span]:
        """The spans where a pattern matches; none if it does not compile or took too long."""
        if rule.finditer is None:
            try:
                rule.finditer = self._compiled(rule)
            except ExpressionError as error:
                rule.problem = _problem(rule, error.what, error.hint or "fix the pattern")
                return []
        # The machine may have stalled, so a pattern gets a second chance.
        for _ in range(2):
            try:
                return self._found(rule.finditer, text)
            except TimeoutError:
                continue
        milliseconds = round(self._timeout_s * 1000)
        rule.problem = _problem(
            rule,
            f"it took longer than {milliseconds} ms on {len(text):,} characters",
            "avoid two consecutive repetitions that match the same text; the pattern is tried again when its "
            "line in the file changes",
        )
        return []

    def _compiled(self, rule: _Rule) -> Any:
        """The ``finditer`` of a pattern, which never takes much longer than the timeout.

        A pattern that lists few short texts cannot take long. It is left to ``re``, which is loaded anyway;
        loading ``regex`` takes longer than all the rest of a message.
        """
        match = rule.trigger.match
        if rule.is_list and match.isascii():
            return re.compile(plain(match), re.IGNORECASE).finditer
        return partial(compile_expression(match).finditer, timeout=self._timeout_s, concurrent=True)

    @staticmethod
    def _found(finditer: Any, text: str) -> list[Span]:
        """The first match, which may be empty, and further ones that are not."""
        spans: list[Span] = []
        try:
            for match in finditer(text):
                if not spans or match.end() > match.start():
                    spans.append(match.span())
                if len(spans) == MAX_SPANS:
                    break
        except TimeoutError:
            # If it does match, only the further spans are unknown.
            if not spans:
                raise
        return spans


def _problem(rule: _Rule, what: str, hint: str) -> Problem:
    return Problem(rule.path, rule.trigger.line, f"pattern is ignored: {what}", hint)


def _prepared(topic: Topic, index: int) -> _Rule:
    trigger = topic.triggers[index]
    keys, phrases, is_list = None, phrases_of(trigger), False
    if trigger.type == "pattern":
        keys, is_list = needs(trigger.match)
    elif trigger.type == "glob":
        keys = glob_literals(trigger.match)
    elif trigger.type in ("keywords", "mention"):
        keys = frozenset[str]().union(*(phrase.keys for phrase in phrases))
    return _Rule(topic.name, topic.path, index, trigger, keys, phrases, is_list)
