"""An index of triggers, so that a message only checks those that might fire (design 4).

However many topics there are, a message is analysed once: its words and literals, the hosts of its links, the
languages of its code and of its text. Each of them is a key to the triggers that look for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from engine.activation.automaton import LiteralIndex
from engine.activation.code import CodeBlock, canonical, code_blocks
from engine.activation.detectors import agitation_spans, phrases_of
from engine.activation.language import base, languages
from engine.activation.links import MAX_PATHS, Link, glob_literals, host_of, links, suffixes
from engine.activation.literals import Needs, needs
from engine.activation.phrases import Phrase
from engine.activation.scan import Scan
from engine.activation.trace import Message
from engine.startup.records import dataclass
from engine.topics.model import Trigger

_NO_NEEDS = Needs()


@dataclass(slots=True, eq=False)
class Rule:
    """A trigger of a topic in the index."""

    topic: str
    path: str
    index: int  # index into the topic's triggers
    trigger: Trigger
    needs: Needs = _NO_NEEDS  # of a ``pattern``
    compiled: Any = None  # its regular expression, compiled on first use
    phrases: tuple[Phrase, ...] | None = None  # of a trigger of words, on first use
    is_off: bool = False  # whether it failed and is no longer used


class View:
    """One message being matched, with results shared between triggers."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.scan = Scan(message.text)
        self.languages: tuple[str, ...] = ()

    @cached_property
    def links(self) -> list[Link]:
        return links(self.scan)

    @cached_property
    def agitation(self) -> list[tuple[int, int]]:
        return agitation_spans(self.scan)

    @cached_property
    def code(self) -> list[CodeBlock]:
        return code_blocks(self.scan)

    @cached_property
    def paths(self) -> str:
        """The paths of tool calls, normalized for comparison, one per line."""
        return "\n".join(self.message.paths[:MAX_PATHS]).replace("\\", "/").casefold()


class TriggerIndex:
    """The triggers of all topics by what they look for. Not thread-safe."""

    def __init__(self) -> None:
        self._literals: LiteralIndex[Rule] = LiteralIndex()
        self._paths: LiteralIndex[Rule] = LiteralIndex()
        self._words: dict[str, list[Rule]] = {}
        self._hosts: dict[str, list[Rule]] = {}
        self._code: dict[str, list[Rule]] = {}
        self._languages: dict[str, list[Rule]] = {}
        self._lanes: dict[str, list[Rule]] = {}
        self._tables = {
            "word": self._words,
            "host": self._hosts,
            "code": self._code,
            "language": self._languages,
            "lane": self._lanes,
        }
        self._indexes = {"literal": self._literals, "path": self._paths}

    def add(self, rule: Rule) -> None:
        if rule.trigger.type == "pattern":
            rule.needs = needs(rule.trigger.match)
        for kind, key in _entries(rule):
            if kind in self._tables:
                self._tables[kind].setdefault(key, []).append(rule)
            else:
                self._indexes[kind].add((key,), rule)

    def remove(self, rule: Rule) -> None:
        for kind, key in _entries(rule):
            if kind not in self._tables:
                self._indexes[kind].remove((key,), rule)
                continue
            rules = self._tables[kind][key]
            rules.remove(rule)
            if not rules:
                del self._tables[kind][key]

    def candidates(self, view: View) -> list[Rule]:
        """The triggers that might fire, in the order of topics and triggers; all others cannot."""
        found: set[Rule] = set()
        lanes, message = self._lanes, view.message
        if message.event is not None:
            found.update(lanes.get("event", ()))
        if message.paths:
            found.update(lanes.get("path", ()))
            if len(self._paths):
                found.update(self._paths.find(view.paths))
        if message.text:
            self._in_text(view, found)
        return sorted(found, key=lambda rule: (rule.topic, rule.index))

    def _in_text(self, view: View, found: set[Rule]) -> None:
        lanes, words, scan = self._lanes, self._words, view.scan
        found.update(lanes.get("any", ()))
        if words:
            for word in scan.places.keys() & words.keys():
                found.update(words[word])
        if len(self._literals):
            found.update(self._literals.find(scan.folded))
        if "sentiment" in lanes and view.agitation:
            found.update(lanes["sentiment"])
        if self._hosts or "url" in lanes:
            if view.links:
                found.update(lanes.get("url", ()))
            for link in view.links:
                for host in suffixes(link.host):
                    found.update(self._hosts.get(host, ()))
        if self._code or "code" in lanes:
            if view.code:
                found.update(lanes.get("code", ()))
            for block in view.code:
                found.update(self._code.get(block.language, ()))
                if block.language == "c":
                    found.update(self._code.get("cpp", ()))
        if self._languages:
            view.languages = languages(scan.prose, self._languages.keys())
            for language in view.languages:
                found.update(self._languages.get(language, ()))


def _entries(rule: Rule) -> Iterator[tuple[str, str]]:
    """The kinds of index entries of a trigger, with the key of each; always the same for a trigger."""
    trigger = rule.trigger
    kind = trigger.type
    if kind == "pattern":
        yield from _all("literal", rule.needs.literals, "any")
    elif kind in ("keywords", "mention", "sentiment"):
        if kind == "sentiment":
            yield "lane", "sentiment"
        keys = {key for phrase in phrases_of(trigger) for key in _phrase_keys(phrase)}
        yield from sorted(keys)
    elif kind == "glob":
        yield from _all("path", glob_literals(trigger.match), "path")
    elif kind == "url":
        hosts = [host_of(entry) for entry in trigger.words]
        yield from _all("host", frozenset(hosts) if all(hosts) and hosts else None, "url")
    elif kind == "code":
        languages = frozenset(canonical(language) for language in trigger.words)
        yield from _all("code", languages or None, "code")
    elif kind == "language":
        yield from _all("language", frozenset(base(code) for code in trigger.words), "")
    else:
        yield "lane", "event"


def _all(kind: str, keys: frozenset[str] | None, lane: str) -> Iterator[tuple[str, str]]:
    if keys is None:
        yield "lane", lane
    else:
        for key in sorted(keys):
            yield kind, key


def _phrase_keys(phrase: Phrase) -> Iterator[tuple[str, str]]:
    if phrase.words:
        for word in phrase.keys:
            yield "word", word
    else:
        yield "literal", phrase.folded
