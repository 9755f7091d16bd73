"""Tier 1: which triggers of which topics a message sets off, in one pass (spec 4.2 and 4.3, design 4).

However many topics there are, a message is taken apart once. Keywords and names are looked up by the words it
holds, regular expressions by the literals they need; what is left is confirmed one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from engine.activation.code import CodeBlock, code_blocks
from engine.activation.detectors import (
    agitation_spans,
    code_spans,
    event_fits,
    event_text,
    link_spans,
    phrase_spans,
    phrases_of,
    sentiment_spans,
)
from engine.activation.language import base, identify
from engine.activation.links import Link, first_paths, links
from engine.activation.literals import LiteralIndex, required
from engine.activation.scan import Scan
from engine.activation.trace import Correction, Message, TriggerHit
from engine.errors import Problem
from engine.topics.expressions import ExpressionError, compile_expression
from engine.topics.model import Topic, Trigger

if TYPE_CHECKING:
    from engine.config import WatcherSettings

DEFAULT_TIMEOUT_MS = 20

MAX_SPANS = 5
"""Matches of one trigger in one message that are reported."""

MAX_MATCHED = 80

Span = tuple[int, int]
Place = tuple[str, int]
"""A trigger: the topic's name and the trigger's index."""


@dataclass(slots=True)
class _Rule:
    """A trigger at work: with what was compiled for it, and whether it was switched off."""

    topic: str
    path: str
    index: int
    trigger: Trigger
    compiled: Any = None
    is_off: bool = False

    @property
    def place(self) -> Place:
        return self.topic, self.index


class _View:
    """One message while it is matched: what several triggers ask for is worked out once."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.scan = Scan(message.text)
        self.language = ""

    @cached_property
    def links(self) -> list[Link]:
        return links(self.scan)

    @cached_property
    def agitation(self) -> list[Span]:
        return agitation_spans(self.scan)

    @cached_property
    def code(self) -> list[CodeBlock]:
        return code_blocks(self.scan)


class PatternMatcher:
    """Matches messages against the triggers of all topics.

    A text longer than ``engine.activation.scan.MAX_CHARACTERS`` is looked at in its first and last half of
    that. A regular expression that takes longer than ``pattern_timeout_ms`` twice in a row is reported in
    ``problems`` and not used again until the topic's triggers change. Other threads run while it searches.
    Safe to use from several threads.

    Args:
        topics: The topics to begin with.
        settings: Holds the time one pattern may take.
    """

    def __init__(self, topics: Iterable[Topic] = (), settings: WatcherSettings | None = None) -> None:
        milliseconds = DEFAULT_TIMEOUT_MS if settings is None else settings.pattern_timeout_ms
        self._timeout_s = milliseconds / 1000
        self._lock = threading.RLock()
        self._topics: dict[str, Topic] = {}
        self._rules: dict[Place, _Rule] = {}
        self._words: dict[str, dict[Place, None]] = {}
        self._literals: LiteralIndex[Place] = LiteralIndex()
        self._lanes: dict[str, dict[Place, None]] = {}
        self._problems: dict[Place, Problem] = {}
        self.update(topics)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Patterns that do not compile or took too long, each once, in the order of files and lines."""
        with self._lock:
            return tuple(sorted(self._problems.values(), key=lambda problem: (problem.path, problem.line)))

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics matched against, sorted."""
        with self._lock:
            return tuple(sorted(self._topics))

    def update(self, changed: Iterable[Topic], removed: Iterable[str] = ()) -> None:
        """Take in topics that are new or changed, and drop others by name.

        A topic whose triggers are as before keeps what was compiled for it, so passing all topics is cheap.
        """
        with self._lock:
            for name in removed:
                self._drop(name)
            for topic in changed:
                known = self._topics.get(topic.name)
                if known is not None and (known.triggers, known.path) == (topic.triggers, topic.path):
                    self._topics[topic.name] = topic
                    continue
                self._drop(topic.name)
                self._add(topic)

    def replace(self, topics: Iterable[Topic]) -> None:
        """Match against exactly these topics from now on."""
        wanted = {topic.name: topic for topic in topics}
        with self._lock:
            self.update(wanted.values(), removed=self._topics.keys() - wanted.keys())

    def match(self, message: Message) -> dict[str, tuple[TriggerHit, ...]]:
        """The triggers a message sets off.

        Args:
            message: Its direction decides which scopes count; its ``paths`` are what ``glob`` triggers
                see, its ``event`` is what ``webhook`` and ``cron`` triggers see.

        Returns:
            The hits of each topic that has any, topics sorted by name, hits in the order of the triggers
            and of the text. One trigger may have up to ``MAX_SPANS`` hits, one per place. Offsets are
            those of ``message.text``.
        """
        with self._lock:
            view = _View(message)
            hits: dict[str, list[TriggerHit]] = {}
            for place in self._candidates(view):
                rule = self._rules[place]
                if rule.trigger.scope not in ("both", message.direction) or rule.is_off:
                    continue
                found = self._hits(rule, view)
                if found:
                    hits.setdefault(rule.topic, []).extend(found)
            return {
                topic: tuple(sorted(hits[topic], key=lambda hit: (hit.trigger, hit.start)))
                for topic in sorted(hits)
            }

    def corrections(
        self, message: Message, hits: Mapping[str, Sequence[TriggerHit]] | None = None
    ) -> tuple[Correction, ...]:
        """What the output triggers that an agent's message sets off have to tell it (spec 4.3).

        Args:
            message: Only messages with direction ``output`` are corrected.
            hits: What ``match`` gave for the message; matched anew when left out.

        Returns:
            One correction per trigger with a ``correction_hint``, in the order of topics and triggers. Topics
            that a person switched off, and ``manual`` ones not switched on, stay silent.
        """
        if message.direction != "output":
            return ()
        found = self.match(message) if hits is None else hits
        corrections: list[Correction] = []
        with self._lock:
            for name in sorted(found):
                topic = self._topics.get(name)
                if (
                    topic is None
                    or topic.forced is False
                    or (topic.activation == "manual" and not topic.forced)
                ):
                    continue
                told: set[int] = set()
                for hit in found[name]:
                    hint = topic.triggers[hit.trigger].correction_hint
                    if hint and hit.trigger not in told:
                        told.add(hit.trigger)
                        corrections.append(Correction(name, hint, hit.matched))
        return tuple(corrections)

    def _add(self, topic: Topic) -> None:
        self._topics[topic.name] = topic
        for index, trigger in enumerate(topic.triggers):
            rule = _Rule(topic.name, topic.path, index, trigger)
            self._rules[rule.place] = rule
            lane, words, literals = _filing(trigger)
            if lane:
                self._lanes.setdefault(lane, {})[rule.place] = None
            for word in words:
                self._words.setdefault(word, {})[rule.place] = None
            self._literals.add(rule.place, literals)

    def _drop(self, name: str) -> None:
        topic = self._topics.pop(name, None)
        if topic is None:
            return
        for index, trigger in enumerate(topic.triggers):
            place = (name, index)
            del self._rules[place]
            self._problems.pop(place, None)
            lane, words, _ = _filing(trigger)
            self._lanes.get(lane, {}).pop(place, None)
            self._literals.remove(place)
            for word in words:
                self._words.get(word, {}).pop(place, None)
                if not self._words.get(word):
                    self._words.pop(word, None)

    def _candidates(self, view: _View) -> list[Place]:
        """The triggers that might fire, in a fixed order."""
        lanes, scan, message = self._lanes, view.scan, view.message
        places: set[Place] = set()
        if lanes.get("event") and message.event is not None:
            places.update(lanes["event"])
        if lanes.get("glob") and message.paths:
            places.update(lanes["glob"])
        if not message.text:
            return sorted(places)
        places.update(lanes.get("any", ()))
        for word in scan.places.keys() & self._words.keys():
            places.update(self._words[word])
        places |= self._literals.find(scan.folded)
        if lanes.get("url") and view.links:
            places.update(lanes["url"])
        if lanes.get("code") and view.code:
            places.update(lanes["code"])
        if lanes.get("sentiment") and view.agitation:
            places.update(lanes["sentiment"])
        if any(self._lanes.get("language", ())):
            places.update(self._speaking(view))
        return sorted(places)

    def _speaking(self, view: _View) -> list[Place]:
        """The ``language`` triggers of the message's language."""
        waiting: dict[str, list[Place]] = {}
        for place in self._lanes["language"]:
            for word in self._rules[place].trigger.words:
                waiting.setdefault(base(word), []).append(place)
        view.language = identify(view.scan.prose, waiting.keys())
        return waiting.get(view.language, [])

    def _hits(self, rule: _Rule, view: _View) -> list[TriggerHit]:
        trigger, message = rule.trigger, view.message
        if trigger.type == "glob":
            paths = islice(first_paths(message.paths, trigger.match), MAX_SPANS)
            return [TriggerHit(rule.index, "glob", path[:MAX_MATCHED]) for path in paths]
        if trigger.type in ("webhook", "cron"):
            if message.event is None or not event_fits(trigger, message.event):
                return []
            return [TriggerHit(rule.index, trigger.type, event_text(message.event)[:MAX_MATCHED])]
        if not message.text:
            return []
        if trigger.type == "language":
            return [TriggerHit(rule.index, "language", view.language)]
        spans = [span for span in self._spans(rule, view) if not view.scan.spans_gap(*span)]
        return [self._hit(rule, view, span) for span in spans[:MAX_SPANS]]

    def _hit(self, rule: _Rule, view: _View, span: Span) -> TriggerHit:
        start, end = view.scan.original(*span)
        return TriggerHit(
            rule.index, rule.trigger.type, view.message.text[start:end][:MAX_MATCHED], start, end
        )

    def _spans(self, rule: _Rule, view: _View) -> list[Span]:
        trigger, scan = rule.trigger, view.scan
        if trigger.type == "pattern":
            return self._searched(rule, scan.text)
        if trigger.type == "url":
            return link_spans(trigger, view.links)
        if trigger.type == "code":
            return code_spans(trigger, view.code)
        if trigger.type == "sentiment":
            return sentiment_spans(trigger, scan, view.agitation)
        return phrase_spans(phrases_of(trigger), scan)

    def _searched(self, rule: _Rule, text: str) -> list[Span]:
        """The places where a pattern matches, or none when it does not compile or took too long."""
        if rule.compiled is None:
            try:
                rule.compiled = compile_expression(rule.trigger.match)
            except ExpressionError as error:
                self._switch_off(
                    rule, f"pattern is not used: {error.what}", error.cure or "correct the pattern"
                )
                return []
        # A machine that stalls for a moment is not the pattern's fault: it gets a second chance.
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
            f"pattern took longer than {milliseconds} ms on {len(text):,} characters and is skipped",
            "write it so that no repetition follows another that matches the same text; it is used again "
            "when its line in the file changes",
        )
        return []

    def _further(self, rule: _Rule, text: str, first: Span) -> list[Span]:
        spans = [first]
        try:
            matches = rule.compiled.finditer(text, first[1], timeout=self._timeout_s, concurrent=True)
            for match in islice(matches, MAX_SPANS - 1):
                if match.end() > match.start():
                    spans.append(match.span())
        except TimeoutError:
            # That it matches is known; only the further places stay unseen.
            return spans
        return spans

    def _switch_off(self, rule: _Rule, what: str, cure: str) -> None:
        rule.is_off = True
        self._problems[rule.place] = Problem(rule.path, rule.trigger.line, what, cure)


def _filing(trigger: Trigger) -> tuple[str, frozenset[str], frozenset[str]]:
    """Where a trigger waits: in a lane of its kind, under words, or under literals."""
    nothing: frozenset[str] = frozenset()
    kind = trigger.type
    if kind == "pattern":
        literals = required(trigger.match)
        return ("", nothing, literals) if literals else ("any", nothing, nothing)
    if kind in ("keywords", "mention", "sentiment"):
        keys = [phrase.keys for phrase in phrases_of(trigger)]
        if keys and all(keys):
            return "sentiment" if kind == "sentiment" else "", nothing.union(*keys), nothing
        return "any", nothing, nothing
    return "event" if kind in ("webhook", "cron") else kind, nothing, nothing
