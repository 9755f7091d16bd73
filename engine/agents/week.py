"""What agents were told in some days, summed up: how much, where, what it cost, and what of it was of use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.transcripts.places import head_fields, read_head

if TYPE_CHECKING:
    from engine.agents.audit import Telling
    from engine.agents.log import HookRun
    from engine.engine import Engine

SLOW_MS = 1_000
"""Milliseconds from which an agent that waits has waited long."""
_WAITED_FOR = ("session_start", "prompt")


@dataclass(slots=True)
class Place:
    """An agent in a project."""

    agent: str
    project: str  # slug; empty where it is not known
    prompts: int = 0
    told: int = 0  # of these, those to which something was added
    tokens: int = 0  # that were added to them
    starts: int = 0  # of sessions that were told what holds throughout
    standing: int = 0  # tokens that that took


@dataclass(slots=True)
class Use:
    """What was told, and what came of it."""

    name: str  # of a topic; empty for sections of all kinds
    told: int = 0  # times
    tokens: int = 0
    known: int = 0  # of the times, those of which it is known what came
    used: int = 0  # of these, those that the reply took up, or a person called useful


@dataclass(frozen=True, slots=True)
class Cost:
    """What was told to one model, once, at the price of its input."""

    model: str  # empty where no transcript names it
    tokens: int
    usd: float | None  # ``None`` where the price is not known


@dataclass(slots=True)
class Week:
    """The sums."""

    since: str  # ISO 8601
    places: list[Place] = field(default_factory=list)  # most tokens first
    answered: int = 0  # prompts that were told something and whose replies are known
    took_up: int = 0  # of these, those whose reply took up something
    sections: Use = field(default_factory=lambda: Use(""))
    topics: list[Use] = field(default_factory=list)  # told most and used least first
    costs: list[Cost] = field(default_factory=list)  # most tokens first
    failed: list[HookRun] = field(default_factory=list)  # newest first
    slow: list[HookRun] = field(default_factory=list)  # those for which an agent waited long, newest first


def week_of(engine: Engine, tellings: Iterable[Telling], since: str) -> Week:
    """Sums up what agents were told since a time (ISO 8601, UTC); prompts of our own are not among it.

    Args:
        tellings: Newest first.
    """
    week = Week(since)
    places: dict[tuple[str, str], Place] = {}
    topics = {topic.path: Use(topic.name) for topic in engine.library.topics}
    by_session, paths = Counter[str](), dict[str, str]()
    for each in tellings:
        if each.at < since:
            break
        if each.run is None:
            continue
        if each.failed:
            week.failed.append(each.run)
        if each.moment not in _WAITED_FOR:
            continue
        if each.run.ms >= SLOW_MS:
            week.slow.append(each.run)
        _add(places.setdefault((each.agent, each.project), Place(each.agent, each.project)), each)
        by_session[each.session_id] += each.tokens
        if each.injection is not None:
            _take(week, each, topics)
            if each.injection.is_claimed:
                paths[each.session_id] = each.injection.turn.partition("#")[0]
    week.places = sorted(places.values(), key=lambda one: -one.tokens - one.standing)
    told = (use for use in topics.values() if use.told)
    week.topics = sorted(told, key=lambda one: (one.used - one.told, one.name))
    by_model = Counter[str]()
    for session, tokens in by_session.items():
        by_model[_model(engine, paths.get(session, ""))] += tokens
    for model, tokens in by_model.most_common():
        price = engine.costs.prices.price(model)
        week.costs.append(Cost(model, tokens, price.input * tokens / 1_000_000 if price else None))
    return week


def _add(place: Place, telling: Telling) -> None:
    if telling.moment == "session_start":
        place.starts += bool(telling.tokens)
        place.standing += telling.tokens
    else:
        place.prompts += 1
        place.told += bool(telling.tokens)
        place.tokens += telling.tokens


def _take(week: Week, telling: Telling, topics: dict[str, Use]) -> None:
    injection = telling.injection
    assert injection is not None
    for section in injection.sections:
        topic = topics.get(section.path) if section.priority == 2 else None
        for use in (week.sections, *([topic] if topic else [])):
            use.told += 1
            use.tokens += section.tokens
            use.known += injection.finished or section.was_useful is not None
            use.used += bool(section.was_useful)
    if injection.finished and injection.sections:
        week.answered += 1
        week.took_up += bool(injection.useful)


def _model(engine: Engine, path: str) -> str:
    """The model of a session, as its transcript names it."""
    if not path or not engine.workspace.holds(path):
        return ""
    return head_fields(read_head(engine.workspace.root / path), ("model",))["model"]
