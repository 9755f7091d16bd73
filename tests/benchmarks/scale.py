"""Activation at scale: tiers 1 and 2 over thousands of topics, compared with loops and semantic-router.

With ``--data`` the topics are built from the utterances of intent data sets, five of one intent each, with
their most distinctive words as a pattern. Otherwise they are synthetic.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.activation.decisions import DecisionLog
from engine.activation.gate import Gate, GateCache, GateQuestion
from engine.activation.patterns import PatternMatcher
from engine.activation.pipeline import WatcherPipeline
from engine.activation.trace import Message
from engine.pipeline.assembly import gate_provider, scorer_for
from engine.settings.model import Config
from engine.store.files import Files
from engine.topics.model import Topic, Trigger
from tests.benchmarks.inputs import Words, topics
from tests.benchmarks.peers import PatternLoop, SemanticRouter, SimilarityLoop
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Action, alternate, once

SETS = ("clinc150", "banking77", "banking77_oos", "nlupp")
EXAMPLES = 5
WORDS = 3
_WORD = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Intents:
    """Utterances by intent.

    Attributes:
        utterances: By the name of the intent in words.
        messages: Other messages, with one of the intents or none.
    """

    utterances: dict[str, tuple[str, ...]]
    messages: tuple[str, ...]


def run(setting: Setting) -> Iterator[Row]:
    """Time scoring a message against 1,000 and 10,000 topics, and the preparation."""
    intents = None if setting.data is None else read(setting.data / "activation")
    for count in setting.sizes(1_000, 10_000):
        count = setting.size(count, 40)
        words = Words(3, setting.size(20_000, 500))
        if intents is None:
            known = [*_with_examples(topics(words, count, instructions=300), words)]
            messages = [words.text(60) for _ in range(setting.size(400, 5))]
        else:
            known, messages = build(intents, count), [*intents.messages]
        yield from _compared(known, messages, setting, "" if intents else "made-up topics")


def _compared(known: list[Topic], messages: list[str], setting: Setting, note: str) -> Iterator[Row]:
    config = Config()
    files = Files(setting.workspace(f"scale-{len(known)}"))
    scorer = scorer_for(config.watchers, files, DecisionLog(files))
    matcher = PatternMatcher(settings=config.watchers)

    def prepare() -> None:
        matcher.update(known)
        scorer.update(known)

    prepared, _ = once(prepare)
    prepared_there, (patterns, similarity) = once(lambda: (PatternLoop(known), SimilarityLoop(known)))
    routed, router = once(lambda: SemanticRouter.of(known))
    for text in messages[:20]:
        ours, theirs = set(matcher.match(Message(text))), patterns.match(text)
        agree(ours == theirs, f"tier 1 finds {sorted(ours ^ theirs)[:5]} differently from re")

    def tiers(text: str) -> None:
        scorer.score(text, matcher.match(Message(text)))

    def loops(text: str) -> None:
        patterns.match(text)
        similarity.score(text)

    gate = Gate(gate_provider(config.gate, files, _never_answer), config.gate, GateCache(files))
    pipeline = WatcherPipeline(lambda: known, matcher, scorer, gate, config.watchers, config.gate)

    def trace(text: str) -> None:
        pipeline.process(text, record=False, ask=False)

    def route(text: str) -> None:
        if router is not None:
            router.route(text)

    actions: list[Action] = [
        lambda number, do=do: do(messages[number % len(messages)])  # type: ignore[misc]
        for do in (tiers, trace, loops, route)
    ]
    scored, traced, looped, chosen = alternate(
        actions, rounds=setting.size(40, 2), warm_up=setting.size(5, 1)
    )
    pipeline.close()
    name, beside = f"{len(known):,} topics", "re and scikit-learn loops"
    absent = "" if router is not None else "semantic-router: not installed"
    details = "; ".join(filter(None, [f"deciding: {scorer.deciding}", note, absent]))
    yield Row(f"{name}, tiers 1 and 2", scored, beside, looped, details)
    yield Row(f"{name}, the whole trace", traced, beside, looped)
    yield Row(f"{name}, made ready", prepared, "the loops", prepared_there)
    if router is not None:
        rival = f"semantic-router, {router.encoder}"
        yield Row(f"{name}, tiers 1 and 2", scored, rival, chosen)
        yield Row(f"{name}, made ready", prepared, rival, routed)


async def _never_answer(_question: GateQuestion, _seconds: float) -> None:
    return None


def read(folder: Path) -> Intents:
    """Read the intent data sets present in a folder."""
    utterances: dict[str, list[str]] = {}
    messages: list[str] = []
    for name in SETS:
        path = folder / f"{name}.json"
        if not path.is_file():
            continue
        data = json.loads(path.read_text(encoding="utf-8"))
        for text, labels in data["train"]:
            for label in [labels] if isinstance(labels, str) else labels[:1]:
                utterances.setdefault(data["topics"][label], []).append(text)
        messages += [text for text, _ in data["val"]] + data.get("oos_val", [])
    random.Random(5).shuffle(messages)
    return Intents({name: tuple(dict.fromkeys(texts)) for name, texts in utterances.items()}, tuple(messages))


def build(intents: Intents, count: int) -> list[Topic]:
    """Build topics of five utterances of one intent each, reproducibly.

    The utterances of every intent are dealt out; if there are too few for that many topics, they are
    shuffled and dealt again. Each topic has a pattern of its most distinctive words.
    """
    rng = random.Random(7)
    names = sorted(name for name, texts in intents.utterances.items() if len(texts) >= EXAMPLES)
    hands: list[tuple[str, tuple[str, ...]]] = []
    while len(hands) < count and names:
        for name in names:
            texts = list(intents.utterances[name])
            rng.shuffle(texts)
            dealt = [tuple(texts[at : at + EXAMPLES]) for at in range(0, len(texts) - EXAMPLES + 1, EXAMPLES)]
            hands += [(name, hand) for hand in dealt]
    # So that a smaller number of topics does not cover only the first intents.
    rng.shuffle(hands)
    hands = hands[:count]
    used_by = Counter(word for _, hand in hands for word in set(_WORD.findall(" ".join(hand).lower())))
    return [_topic(number, name, hand, used_by) for number, (name, hand) in enumerate(hands)]


def _topic(number: int, name: str, examples: tuple[str, ...], used_by: Counter[str]) -> Topic:
    counts = Counter(word for text in examples for word in set(_WORD.findall(text.lower())))
    own = sorted(counts, key=lambda word: (-counts[word] / used_by[word] ** 0.5, word))[:WORDS]
    return Topic(
        name=f"topic-{number:05}",
        path=f"topics/topic-{number:05}.md",
        title=name,
        description=name,
        instructions="\n".join((f"When somebody asks about {name}:", *examples)),
        triggers=(Trigger("pattern", match=rf"\b(?:{'|'.join(own)})\b"),),
        examples=examples,
    )


def _with_examples(known: Sequence[Topic], words: Words) -> Iterator[Topic]:
    for topic in known:
        yield Topic(
            name=topic.name,
            path=topic.path,
            title=topic.title,
            description=topic.description,
            instructions=topic.instructions,
            triggers=topic.triggers[:2],
            examples=tuple(words.questions(EXAMPLES)),
        )
