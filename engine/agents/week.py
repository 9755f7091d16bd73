"""Sums up the injections of some days: how much, where, at what cost, and how much of it was useful."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.transcripts.places import head_fields, read_head

if TYPE_CHECKING:
    from engine.agents.audit import AuditEntry
    from engine.agents.log import HookRun
    from engine.engine import Engine

SLOW_MS = 1_000
"""Milliseconds from which a hook that an agent waits for counts as slow."""
_WAITED_FOR = ("session_start", "prompt")


@dataclass(slots=True)
class Place:
    """An agent in a project."""

    agent: str
    project: str  # slug; empty if unknown
    prompts: int = 0
    told: int = 0  # prompts with an injection
    tokens: int = 0  # injected with prompts
    starts: int = 0  # session starts with standing context
    standing: int = 0  # tokens of standing context


@dataclass(slots=True)
class Use:
    """Injections of sections, and how many were used."""

    name: str  # the topic; empty for all sections
    told: int = 0  # injections
    tokens: int = 0
    known: int = 0  # injections with a known outcome
    used: int = 0  # of these, those used in the reply, opened, or judged useful by a person


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens injected for one model, at the price of uncached input."""

    model: str  # empty if no transcript names it
    tokens: int
    usd: float | None  # ``None`` if the price is unknown


@dataclass(slots=True)
class Week:
    """The sums."""

    since: str  # ISO 8601
    places: list[Place] = field(default_factory=list)  # most tokens first
    answered: int = 0  # prompts with an injection and a known reply
    took_up: int = 0  # of these, those whose reply used the injection
    sections: Use = field(default_factory=lambda: Use(""))
    offers: Use = field(default_factory=lambda: Use(""))  # of playbooks that may apply, which are no sections
    topics: list[Use] = field(default_factory=list)  # most unused injections first
    costs: list[Cost] = field(default_factory=list)  # most tokens first
    failed: list[HookRun] = field(default_factory=list)  # newest first
    slow: list[HookRun] = field(default_factory=list)  # newest first


def week_of(engine: Engine, entries: Iterable[AuditEntry], since: str) -> Week:
    """Sums up the injections since a time (ISO 8601, UTC), excluding prompts sent from here.

    Args:
        entries: Newest first.
    """
    week = Week(since)
    places: dict[tuple[str, str], Place] = {}
    topics = {topic.path: Use(topic.name) for topic in engine.library.topics}
    by_session, paths = Counter[str](), dict[str, str]()
    for each in entries:
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
        _add_place(places.setdefault((each.agent, each.project), Place(each.agent, each.project)), each)
        by_session[each.session_id] += each.tokens
        if each.injection is not None:
            _add_use(week, each, topics)
            if each.injection.is_claimed:
                paths[each.session_id] = each.injection.turn.partition("#")[0]
    week.places = sorted(places.values(), key=lambda one: -one.tokens - one.standing)
    injected = (use for use in topics.values() if use.told)
    week.topics = sorted(injected, key=lambda one: (one.used - one.told, one.name))
    by_model = Counter[str]()
    for session, tokens in by_session.items():
        by_model[_model(engine, paths.get(session, ""))] += tokens
    for model, tokens in by_model.most_common():
        price = engine.costs.prices.price(model)
        week.costs.append(Cost(model, tokens, price.input * tokens / 1_000_000 if price else None))
    return week


def _add_place(place: Place, entry: AuditEntry) -> None:
    if entry.moment == "session_start":
        place.starts += bool(entry.tokens)
        place.standing += entry.tokens
    else:
        place.prompts += 1
        place.told += bool(entry.tokens)
        place.tokens += entry.tokens


def _add_use(week: Week, entry: AuditEntry, topics: dict[str, Use]) -> None:
    injection = entry.injection
    assert injection is not None
    for section in injection.sections:
        topic = topics.get(section.path) if section.priority == 2 else None
        chosen = (week.offers,) if section.is_offer else (week.sections, *([topic] if topic else []))
        for use in chosen:
            use.told += 1
            use.tokens += section.tokens
            use.known += injection.finished or section.was_useful is not None
            use.used += bool(section.was_useful)
    if injection.finished and injection.sections:
        week.answered += 1
        week.took_up += bool(injection.useful)


def _model(engine: Engine, path: str) -> str:
    """The model of a session, according to its transcript."""
    if not path or not engine.workspace.holds(path):
        return ""
    return head_fields(read_head(engine.workspace.root / path), ("model",))["model"]
