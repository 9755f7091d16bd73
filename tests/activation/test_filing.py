"""Triggers are indexed by what they match, and no trigger that would fire is left out."""

from __future__ import annotations

from itertools import product

from engine.activation.code import code_blocks, matches_language
from engine.activation.detectors import (
    agitation_spans,
    phrase_spans,
    phrases_of,
    sentiment_spans,
)
from engine.activation.filing import Rule, TriggerIndex, View
from engine.activation.language import languages
from engine.activation.links import link_matches, links, path_matches
from engine.activation.scan import Scan
from engine.activation.trace import Message
from engine.topics.model import Trigger
from tests.cases import each_case

TRIGGERS = [
    Trigger("keywords", words=("deploy", "roll back", "🚨", "部署", "c++")),
    Trigger("keywords", words=("the long winded phrase",)),
    Trigger("keywords", words=("queries",)),
    Trigger("mention", words=("@silas", "Müller")),
    Trigger("sentiment"),
    Trigger("sentiment", words=("mayday",)),
    Trigger("url"),
    Trigger("url", words=("github.com", "localhost:3000")),
    Trigger("url", words=("*.example.org",)),
    Trigger("url", words=("bücher.de/neu",)),
    Trigger("code"),
    Trigger("code", words=("py", "c++")),
    Trigger("code", words=("c",)),
    Trigger("code", words=("c++",)),
    Trigger("code", words=("brainfuck",)),
    Trigger("language", words=("de", "nb")),
    Trigger("language", words=("en",)),
    Trigger("glob", match="src/**/*.py"),
    Trigger("glob", match="{a,b}*/?"),
    Trigger("glob", match="größe/*"),
]
MESSAGES = [
    Message("Please deploy this, then roll-back the long winded phrase of one query."),
    Message("Kannst du das bitte prüfen? 🚨🚨🚨 @silas fragt Mueller"),
    Message("请部署 C++ https://api.github.com/x and https://a.example.org. WHY IS THIS BROKEN"),
    Message("see http://localhost:3000/x, https://bücher.de/neu and x.org mayday"),
    Message("```c\nint main(void) { return 0; }\n```\n\n```python\nx\n```\n~~~\nhello\n~~~"),
    Message("#include <iostream>\nint main() { std::cout << 1; }"),
    Message("Hvordan går det med dig?", paths=("src/a/b.py", "GRÖSSE/x", "ab/c")),
    Message("", paths=("b/c",)),
    Message("ok"),
]


def fires(trigger: Trigger, message: Message) -> bool:
    """Run the detector itself."""
    scan = Scan(message.text)
    if trigger.type == "glob":
        return any(path_matches(path, trigger.match) for path in message.paths)
    if trigger.type == "url":
        return any(link_matches(link, trigger.words) for link in links(scan))
    if trigger.type == "code":
        return any(matches_language(block, trigger.words) for block in code_blocks(scan))
    if trigger.type == "language":
        wanted = {"no" if word == "nb" else word for word in trigger.words}
        return bool(wanted & set(languages(scan.prose, {"de", "no", "en"})))
    if trigger.type == "sentiment":
        return bool(sentiment_spans(trigger, scan, agitation_spans(scan)))
    return bool(phrase_spans(phrases_of(trigger), scan))


def index_of(triggers: list[Trigger]) -> tuple[TriggerIndex, list[Rule]]:
    index, rules = TriggerIndex(), []
    for number, trigger in enumerate(triggers):
        rules.append(Rule(f"t{number:02}", "topics/t.md", 0, trigger))
        index.add(rules[-1])
    return index, rules


def test_the_messages_distinguish_the_triggers() -> None:
    fired = [[fires(trigger, message) for message in MESSAGES] for trigger in TRIGGERS]
    assert all(
        any(row) or trigger.words == ("brainfuck",) for row, trigger in zip(fired, TRIGGERS, strict=True)
    )
    assert not any(all(row) for row in fired)


@each_case("message", MESSAGES)
def test_every_firing_trigger_is_a_candidate(message: Message) -> None:
    index, rules = index_of(TRIGGERS)
    candidates = index.candidates(View(message))
    firing = [rule for rule in rules if fires(rule.trigger, message)]
    assert set(firing) <= set(candidates)
    assert candidates == sorted(candidates, key=lambda rule: rule.topic)


def test_few_candidates_do_not_fire() -> None:
    index, rules = index_of(TRIGGERS)
    idle = sum(
        rule in index.candidates(View(message)) and not fires(rule.trigger, message)
        for rule, message in product(rules, MESSAGES)
    )
    assert idle <= 5


@each_case("trigger", TRIGGERS)
def test_a_removed_trigger_is_no_longer_indexed(trigger: Trigger) -> None:
    index, rules = index_of([trigger, trigger])
    index.remove(rules[0])
    found = [rule for message in MESSAGES for rule in index.candidates(View(message))]
    assert rules[0] not in found
    index.remove(rules[1])
    assert not any(index.candidates(View(message)) for message in MESSAGES)
