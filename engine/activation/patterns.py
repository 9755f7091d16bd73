"""Tier 1: finds the triggers that a message fires (spec 4.2 and 4.3, design 4).

``engine.activation.filing`` finds the triggers that might fire; here each is confirmed with the spans where
it matches.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from engine.activation.code import matches_language
from engine.activation.detectors import (
    event_fits,
    event_text,
    phrase_spans,
    phrases_of,
    sentiment_spans,
)
from engine.activation.filing import Rule, TriggerIndex, View
from engine.activation.language import base
from engine.activation.links import MAX_PATHS, link_matches, path_matches
from engine.activation.scan import Scan
from engine.activation.trace import Correction, Message, TriggerHit
from engine.activation.verbatim import verbatim_spans
from engine.errors import Problem
from engine.topics.expressions import ExpressionError, compile_expression
from engine.topics.model import Topic

if TYPE_CHECKING:
    from engine.settings.model import WatcherSettings

DEFAULT_TIMEOUT_MS = 20

MAX_SPANS = 5
"""Maximum number of reported matches of one trigger in one message."""

MAX_MATCHED = 80

Span = tuple[int, int]
Place = tuple[str, int]
"""A trigger: the name of its topic and its index."""


class PatternMatcher:
    """Matches messages against the triggers of all topics. Thread-safe.

    Of a text longer than ``engine.activation.scan.MAX_CHARACTERS`` only its start and end are searched. A
    regular expression that takes longer than ``pattern_timeout_ms`` twice in a row is reported in
    ``problems`` and not used again until the topic's triggers change. Other threads can run while it
    searches.
    """

    def __init__(self, topics: Iterable[Topic] = (), settings: WatcherSettings | None = None) -> None:
        milliseconds = DEFAULT_TIMEOUT_MS if settings is None else settings.pattern_timeout_ms
        self._timeout_s = milliseconds / 1000
        self._lock = threading.RLock()
        self._topics: dict[str, Topic] = {}
        self._rules: dict[str, list[Rule]] = {}
        self._index = TriggerIndex()
        self._problems: dict[Place, Problem] = {}
        self.update(topics)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Patterns that do not compile or took too long, sorted by file and line."""
        with self._lock:
            return tuple(sorted(self._problems.values(), key=lambda problem: (problem.path, problem.line)))

    def update(self, changed: Iterable[Topic], removed: Iterable[str] = ()) -> None:
        """Adds or updates topics, and removes others by name.

        Topics with unchanged triggers keep their compiled patterns, so passing all topics is cheap.
        """
        with self._lock:
            for name in removed:
                self._drop(name)
            for topic in changed:
                known = self._topics.get(topic.name)
                if known is topic:
                    continue
                if known is not None and (known.triggers, known.path) == (topic.triggers, topic.path):
                    self._topics[topic.name] = topic
                    continue
                self._drop(topic.name)
                self._add(topic)

    def match(self, message: Message) -> dict[str, tuple[TriggerHit, ...]]:
        """The triggers that a message fires.

        Args:
            message: ``glob`` triggers see its ``paths``; ``webhook`` and ``cron`` triggers its ``event``. Its
                ``calls`` are only seen by patterns with the scope ``output``, since the commands that an
                agent runs say little about the subject.

        Returns:
            The hits by topic, sorted by name, trigger and offset in ``message.text``. A trigger has at most
            ``MAX_SPANS`` hits.
        """
        with self._lock:
            view = View(message)
            hits: dict[str, list[TriggerHit]] = {}
            for rule in self._index.candidates(view):
                if rule.trigger.scope not in ("both", message.direction) or rule.is_off:
                    continue
                found = self._hits(rule, view)
                if found:
                    hits.setdefault(rule.topic, []).extend(found)
            if message.calls and message.direction == "output":
                self._match_calls(message, hits)
            return {
                topic: tuple(sorted(hits[topic], key=lambda hit: (hit.trigger, hit.start)))
                for topic in sorted(hits)
            }

    def _match_calls(self, message: Message, hits: dict[str, list[TriggerHit]]) -> None:
        view = View(replace(message, text="\n".join(message.calls), paths=(), event=None))
        for rule in self._index.candidates(view):
            if rule.trigger.type == "pattern" and rule.trigger.scope == "output" and not rule.is_off:
                found = [replace(hit, start=-1, end=-1) for hit in self._hits(rule, view)]
                if found:
                    hits.setdefault(rule.topic, []).extend(found)

    def corrections(
        self, message: Message, hits: Mapping[str, Sequence[TriggerHit]] | None = None
    ) -> tuple[Correction, ...]:
        """The hints of output triggers fired by an agent's message (spec 4.3); none for ``input``.

        Args:
            hits: The result of ``match``, if known.

        Returns:
            Each hint of a topic once, with its first match, sorted by topic and trigger. Topics that are
            switched off, and ``manual`` ones that are not switched on, give none.
        """
        if message.direction != "output":
            return ()
        found = self.match(message) if hits is None else hits
        hints: dict[tuple[str, str], str] = {}
        with self._lock:
            for name in sorted(found):
                topic = self._topics.get(name)
                by_hand = topic is not None and topic.activation == "manual" and topic.forced is not True
                if topic is None or topic.forced is False or by_hand:
                    continue
                # The hits may be from an earlier version of the topic.
                for hit in (hit for hit in found[name] if hit.trigger < len(topic.triggers)):
                    trigger = topic.triggers[hit.trigger]
                    if trigger.correction_hint and trigger.scope != "input":
                        hints.setdefault((name, trigger.correction_hint), hit.matched)
        return tuple(Correction(name, hint, text) for (name, hint), text in hints.items())

    def _add(self, topic: Topic) -> None:
        self._topics[topic.name] = topic
        rules = [Rule(topic.name, topic.path, index, trigger) for index, trigger in enumerate(topic.triggers)]
        self._rules[topic.name] = rules
        for rule in rules:
            self._index.add(rule)

    def _drop(self, name: str) -> None:
        self._topics.pop(name, None)
        for rule in self._rules.pop(name, ()):
            self._index.remove(rule)
            self._problems.pop((name, rule.index), None)

    def _hits(self, rule: Rule, view: View) -> list[TriggerHit]:
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
        spans = [span for span in self._spans(rule, view) if not view.scan.spans_gap(*span)]
        return [
            TriggerHit(rule.index, trigger.type, message.text[start:end][:MAX_MATCHED], start, end)
            for start, end in (view.scan.original(*span) for span in spans[:MAX_SPANS])
        ]

    def _spans(self, rule: Rule, view: View) -> list[Span]:
        trigger, scan = rule.trigger, view.scan
        if trigger.type == "pattern":
            return self._pattern_spans(rule, scan)
        if trigger.type == "url":
            return [(link.start, link.end) for link in view.links if link_matches(link, trigger.words)]
        if trigger.type == "code":
            return [(b.start, b.end) for b in view.code if matches_language(b, trigger.words)]
        if trigger.type == "sentiment":
            return sentiment_spans(trigger, scan, view.agitation)
        if rule.phrases is None:
            rule.phrases = phrases_of(trigger)
        return phrase_spans(rule.phrases, scan)

    def _pattern_spans(self, rule: Rule, scan: Scan) -> list[Span]:
        needs = rule.needs
        if needs.texts is not None:
            spans = verbatim_spans(needs.texts, scan, MAX_SPANS)
            if spans is not None:
                return spans
        if not all(any(literal in scan.folded for literal in literals) for literals in needs.further):
            return []
        return self._searched(rule, scan.text)

    def _searched(self, rule: Rule, text: str) -> list[Span]:
        """The spans where a pattern matches; none if it does not compile or took too long."""
        if rule.compiled is None:
            try:
                rule.compiled = compile_expression(rule.trigger.match)
            except ExpressionError as error:
                self._switch_off(rule, f"pattern is ignored: {error.what}", error.hint or "fix the pattern")
                return []
        # The machine may have stalled, so a pattern gets a second chance.
        for _ in range(2):
            try:
                first = rule.compiled.search(text, timeout=self._timeout_s, concurrent=True)
                if first is None:
                    return []
                return self._further(rule, text, first.span())
            except TimeoutError:
                continue
        milliseconds = round(self._timeout_s * 1000)
        self._switch_off(
            rule,
            f"pattern is ignored: it took longer than {milliseconds} ms on {len(text):,} characters",
            "avoid two consecutive repetitions that match the same text; the pattern is tried again when its "
            "line in the file changes",
        )
        return []

    def _further(self, rule: Rule, text: str, first: Span) -> list[Span]:
        spans = [first]
        try:
            matches = rule.compiled.finditer(text, first[1], timeout=self._timeout_s, concurrent=True)
            for match in islice(matches, MAX_SPANS - 1):
                if match.end() > match.start():
                    spans.append(match.span())
        except TimeoutError:
            # It does match; only the further spans are unknown.
            return spans
        return spans

    def _switch_off(self, rule: Rule, what: str, hint: str) -> None:
        rule.is_off = True
        self._problems[rule.topic, rule.index] = Problem(rule.path, rule.trigger.line, what, hint)
