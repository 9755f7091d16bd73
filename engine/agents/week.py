"""What agents were told in some days, summed up: how much, where, what it cost, and what of it was of use."""

from __future__ import annotations

from collections import defaultdict
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
    """Sections whose replies are known, and what came of them."""

    sections: int = 0
    used: int = 0  # of these, those that the reply took up, or a person called useful
    tokens: int = 0
    used_tokens: int = 0


@dataclass(slots=True)
class TopicTold:
    """A topic's playbook."""

    name: str
    told: int = 0
    tokens: int = 0
    known: int = 0  # of the times that it was told, those of which it is known what came
    used: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """What was told to one model, once, at the price of its input."""

    model: str  # empty where the transcript does not name it
    tokens: int
    usd: float | None  # ``None`` where the price is not known


@dataclass(slots=True)
class Week:
    """The sums."""

    since: str  # ISO 8601
    places: list[Place] = field(default_factory=list)  # most tokens first
    answered: int = 0  # prompts that were told something and whose replies are known
    took_up: int = 0  # of these, those whose reply took up something
    use: Use = field(default_factory=Use)
    topics: list[TopicTold] = field(default_factory=list)  # told most and used least first
    costs: list[Cost] = field(default_factory=list)  # most tokens first
    failed: list[HookRun] = field(default_factory=list)  # newest first
    slow: list[HookRun] = field(default_factory=list)  # those for which an agent waited long, newest first

    @property
    def prompts(self) -> int:
        """That agents' hooks were asked about."""
        return sum(each.prompts for each in self.places)

    @property
    def told(self) -> int:
        """Prompts to which something was added."""
        return sum(each.told for each in self.places)

    @property
    def tokens(self) -> int:
        """That were added to prompts."""
        return sum(each.tokens for each in self.places)


def week_of(engine: Engine, tellings: Iterable[Telling], since: str) -> Week:
    """Sums up what agents were told since a time (ISO 8601, UTC); prompts of our own are not among it.

    Args:
        tellings: Newest first.
    """
    week = Week(since)
    places: dict[tuple[str, str], Place] = {}
    topics: dict[str, TopicTold] = {}
    names = {topic.path: topic.name for topic in engine.library.topics}
    tokens: defaultdict[str, int] = defaultdict(int)  # by session
    paths: dict[str, str] = {}
    for each in tellings:
        if each.at < since:
            break
        run = each.run
        if run is None:
            continue
        if run.failed:
            week.failed.append(run)
        if run.moment not in _WAITED_FOR:
            continue
        if run.ms >= SLOW_MS:
            week.slow.append(run)
        key = run.agent, run.project
        _add(places.setdefault(key, Place(*key)), run)
        tokens[run.session_id] += run.tokens
        if each.injection is not None:
            if each.injection.is_claimed:
                paths.setdefault(run.session_id, each.injection.turn.partition("#")[0])
            _take(week, each, names, topics)
    week.places = sorted(
        places.values(), key=lambda one: (-one.tokens - one.standing, one.agent, one.project)
    )
    week.topics = sorted(topics.values(), key=lambda one: (one.used - one.told, one.name))
    models: defaultdict[str, int] = defaultdict(int)
    for session, told in tokens.items():
        models[_model(engine, paths.get(session, ""))] += told
    for model, told in sorted(models.items(), key=lambda item: -item[1]):
        price = engine.costs.prices.price(model) if model else None
        if told:
            week.costs.append(Cost(model, told, price.input * told / 1_000_000 if price else None))
    return week


def _add(place: Place, run: HookRun) -> None:
    if run.moment == "session_start":
        place.starts += bool(run.tokens)
        place.standing += run.tokens
    else:
        place.prompts += 1
        place.told += bool(run.tokens)
        place.tokens += run.tokens


def _take(week: Week, telling: Telling, names: dict[str, str], topics: dict[str, TopicTold]) -> None:
    assert telling.injection is not None
    for section in telling.injection.sections:
        is_known = telling.injection.finished or section.was_useful is not None
        used = bool(section.was_useful)
        if is_known:
            week.use.sections += 1
            week.use.used += used
            week.use.tokens += section.tokens
            week.use.used_tokens += section.tokens * used
        if section.priority == 2 and section.path in names:
            topic = topics.setdefault(section.path, TopicTold(names[section.path]))
            topic.told += 1
            topic.tokens += section.tokens
            topic.known += is_known
            topic.used += used
    if telling.injection.finished and telling.injection.sections:
        week.answered += 1
        week.took_up += bool(telling.injection.useful)


def _model(engine: Engine, path: str) -> str:
    """The model of a session, as its transcript names it."""
    if not path or not engine.workspace.holds(path):
        return ""
    return head_fields(read_head(engine.workspace.root / path), ("model",))["model"]
