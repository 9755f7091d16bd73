"""Synthetic workspaces of many sizes from the activation sets, as training data of the combiner.

Each has some of a set's topics with title and zero to forty examples, some with a noisy instruction text or
counter-examples; and messages of its own topics, of the set's other topics (near), and of other sets or
without a topic (far).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from engine.activation.fusion.combiner import FEATURES, features
from engine.activation.fusion.fitted import Embedding, TopicTexts, fit
from engine.activation.fusion.measures import RAW, measure
from tests.training.sets import ActivationSet

Array = numpy.ndarray[Any, numpy.dtype[Any]]

MESSAGES = 260
IN_SCOPE, NEAR = 0.62, 0.19
"""Shares of the messages with a topic in the workspace, and with a topic missing from it."""
HARD, EASY = 12, 5
"""Topics of each message used for training: the most likely, and some of the others."""
ROOM = 24
"""Maximum number of topics in a row of ``Lessons``."""
SHARES = {"clinc150": 0.5, "banking77": 0.3, "nlupp": 0.2}


@dataclass(frozen=True)
class Workspace:
    """Topics, and messages with their topics."""

    topics: tuple[TopicTexts, ...]
    messages: tuple[tuple[str, frozenset[str]], ...]


@dataclass(frozen=True)
class Lessons:
    """Messages by topics: features float16 ``[m, ROOM, F]``, truth and weight float32 ``[m, ROOM]``.

    A weight of 0 marks an unused slot.
    """

    rows: Array
    truth: Array
    weight: Array


def workspaces(
    sets: Mapping[str, ActivationSet], sources: Sequence[str], generic: Sequence[str], count: int, seed: int
) -> Iterator[Workspace]:
    """Generate synthetic workspaces.

    Args:
        sets: All sets; those that are not sources provide messages without a topic.
        sources: The sets that provide the topics.
        generic: Sentences on any subject.
        count: The number of workspaces.
        seed: Equal seeds give equal workspaces.
    """
    rng = random.Random(seed)
    names = [name for name in sorted(sources) if name in sets]
    for _ in range(count):
        name = rng.choices(names, [SHARES[known] for known in names])[0]
        yield _workspace(sets, name, generic, rng)


def _workspace(
    sets: Mapping[str, ActivationSet], name: str, generic: Sequence[str], rng: random.Random
) -> Workspace:
    source = sets[name]
    pool = [topic for topic, texts in source.topics.items() if len(texts) >= 4]
    if source.domains and rng.random() < 0.3:
        domains = rng.sample(sorted(source.domains), rng.randint(1, len(source.domains) - 1))
        inside = {topic for domain in domains for topic in source.domains[domain]}
        pool = [topic for topic in pool if topic in inside] or pool
    size = min(len(pool), round(math.exp(rng.uniform(math.log(5), math.log(160)))))
    chosen = sorted(rng.sample(pool, size))
    everywhere, mixed = rng.choice([0, 1, 2, 3, 5, 5, 10, 20, 20, 40]), rng.random() < 0.3
    topics: list[TopicTexts] = []
    used: set[str] = set()
    for topic in chosen:
        known = list(source.topics[topic])
        rng.shuffle(known)
        count = rng.choice([0, 1, 3, 5, 10, 20]) if mixed else everywhere
        count = min(count, len(known) * 2 // 3)
        about = ""
        if rng.random() < 0.35:
            lines = known[count : count + rng.randint(1, 4)] + rng.sample(generic, rng.randint(2, 10))
            rng.shuffle(lines)
            about = ". ".join(lines)
            used.update(known[count : count + 4])
        used.update(known[:count])
        topics.append(TopicTexts(topic, source.titles[topic], about, tuple(known[:count])))
    here = frozenset(chosen)
    inside_messages = [text for text, of in source.labels.items() if of & here and text not in used]
    near = [text for text, of in source.labels.items() if not of & here and text not in used]
    far = [*source.nowhere, *rng.sample(generic, 60)]
    for other, elsewhere in sets.items():
        if other != name and {other, name} != {"banking77", "nlupp"}:  # Both are about banking.
            far += rng.sample(sorted(elsewhere.labels), 300)
    rng.shuffle(inside_messages)
    rng.shuffle(near)
    rng.shuffle(far)
    belonging = inside_messages[: int(MESSAGES * IN_SCOPE)]
    beside = near[: int(MESSAGES * NEAR)]
    rest = far[: MESSAGES - int(MESSAGES * IN_SCOPE) - len(beside)]
    messages = [(text, source.labels[text] & here) for text in belonging]
    messages += [(text, frozenset()) for text in (*beside, *rest)]
    spare = (near[len(beside) :] + far[len(rest) :])[:300]
    plain = Workspace(tuple(topics), tuple(messages))
    return plain if rng.random() > 0.35 else _countered(plain, spare, rng)


def _countered(workspace: Workspace, spare: Sequence[str], rng: random.Random) -> Workspace:
    """The workspace with counter-examples, which ``_assigned`` gives to the most similar topic."""
    topics = list(workspace.topics)
    for text in rng.sample(spare, min(len(spare), 75)):
        place = rng.randrange(len(topics))
        old = topics[place]
        topics[place] = TopicTexts(old.name, old.label, old.about, old.examples, (*old.against, text))
    return Workspace(tuple(topics), workspace.messages)


def lessons(workspace: Workspace, vectors: Embedding, rng: numpy.random.RandomState) -> Lessons:
    """The combiner's inputs for a workspace's messages."""
    workspace = _assigned(workspace, vectors)
    fitted = fit(workspace.topics, vectors)
    place_of = {name: place for place, name in enumerate(fitted.names)}
    size = len(workspace.messages)
    rows = numpy.zeros((size, ROOM, len(FEATURES)), dtype=numpy.float16)
    truth, weight = (numpy.zeros((size, ROOM), dtype=numpy.float32) for _ in range(2))
    for index, (text, belongs) in enumerate(workspace.messages):
        measured = measure(text, fitted, vectors)
        if measured is None:
            continue
        found, values = features(measured, fitted), measured.values
        likely = sum(values[:, RAW.index(name)] for name in ("vectors_mean", "words_top", "classifier"))
        order = numpy.argsort(-likely)
        easy = rng.permutation(order[HARD:])[:EASY]
        gold = numpy.array([place_of[topic] for topic in sorted(belongs)], dtype=int)
        kept = numpy.unique(numpy.concatenate([order[:HARD], easy, gold]))[:ROOM]
        rows[index, : len(kept)] = found[kept]
        truth[index, : len(kept)] = numpy.isin(kept, gold)
        share = min(4.0, max(0, len(order) - HARD) / max(1, len(easy)))
        weight[index, : len(kept)] = numpy.where(numpy.isin(kept, easy), share, 1.0)
    return Lessons(rows, truth, weight)


def _assigned(workspace: Workspace, vectors: Embedding) -> Workspace:
    """Assign each counter-example to the most similar topic, as a user's labels would."""
    texts = [text for topic in workspace.topics for text in topic.against]
    if not texts:
        return workspace
    plain = tuple(TopicTexts(t.name, t.label, t.about, t.examples) for t in workspace.topics)
    fitted = fit(plain, vectors)
    against: dict[int, list[str]] = {}
    for text in texts:
        measured = measure(text, fitted, vectors)
        if measured is not None:
            place = int(measured.values[:, RAW.index("vectors_max")].argmax())
            against.setdefault(int(measured.topics[place]), []).append(text)
    topics = tuple(
        TopicTexts(t.name, t.label, t.about, t.examples, tuple(against.get(place, ())))
        for place, t in enumerate(plain)
    )
    return Workspace(topics, workspace.messages)
