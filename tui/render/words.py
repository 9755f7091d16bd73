"""What the command line and the workbench say in the same words; it imports nothing that draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from tui.render.figures import count, plural, sizes

if TYPE_CHECKING:
    from engine.discussions.caches import DiscussionCacheState
    from engine.discussions.overview import CacheOverview, DiscussionCache
    from engine.knowledge.harvest.classify import Kind
    from engine.knowledge.harvest.report import Outcome, Survey
    from engine.recall.backtest import Backtest, ToldPassage
    from engine.sync.model import Conflict, SideChange

_SHOWN = 12
"""Lines shown per side."""
KIND_WORDS: dict[Kind, str] = {
    "harvest": "harvest",
    "prune": "done",
    "live": "live",
    "user-kept": "yours",
    "keep": "kept",
}
"""Labels of conversation kinds in lists."""
_KINDS: dict[Kind, str] = {
    "harvest": "to harvest",
    "prune": "already harvested",
    "live": "still being written",
    "user-kept": "kept by you",
    "keep": "skipped",
}
OUTCOME_WORDS: dict[Outcome, str] = {
    "harvested": "harvested",
    "failed": "not harvested",
    "too-large": "too large",
    "unclear": "not harvested",
    "changed": "changed in the meantime",
    "unharvested": "discarded",
}
SETTINGS = ("anthropic", "anthropic_ttl", "gemini", "gemini_ttl_minutes", "gemini_long", "openai")
"""The cache settings in display order."""
NONE_LEARNED = "none were learned yet"
_WORDS_SHOWN = 12


def label_word(useful: bool | None) -> str:
    """A person's label of a topic for a message."""
    return "unlabelled" if useful is None else "useful" if useful else "noise"


def explained(conflict: Conflict) -> Iterator[str]:
    """The file and reason, what each side did, and every place both changed."""
    yield f"{conflict.path}: {conflict.why}"
    sides = (("ours", conflict.ours), ("theirs", conflict.theirs))
    wide = max(len(side.what) for _, side in sides)
    for name, side in sides:
        yield f"  {name:<6}  {side.what:<{wide}}  {_commit_of(side)}".rstrip()
    for piece in conflict.pieces:
        if piece.where:
            yield f"    in {piece.where}:"
        for name, text in (("before", piece.before), ("ours", piece.ours), ("theirs", piece.theirs)):
            lines = text.splitlines() or ["(nothing)"]
            more = [f"({len(lines) - _SHOWN} more lines)"] if len(lines) > _SHOWN else []
            for line in [*lines[:_SHOWN], *more]:
                yield f"    {name:<6} | {line}"


def _commit_of(found: SideChange) -> str:
    if not found.revision:
        return ""
    when = f"{found.at:%Y-%m-%d %H:%M}  " if found.at else ""
    who = f"{found.author} on {found.machine}" if found.machine else found.author
    more = f" and {plural(found.commits - 1, 'commit')} before" if found.commits > 1 else ""
    return f"{when}{found.revision[:8]}  {who}: {found.subject}{more}"


def pieces_in_words(survey: Survey) -> list[tuple[Kind, str]]:
    """The number of conversations of each kind, with the size if relevant."""
    found: list[tuple[Kind, str]] = []
    for kind, words in _KINDS.items():
        number = len(survey.of(kind))
        size = f" ({sizes(survey.size(kind))})" if kind in ("harvest", "prune") else ""
        if number:
            found.append((kind, f"{count(number)} {words}{size}"))
    return found


def classes_in_words(survey: Survey) -> str:
    """``3 to harvest (16.4 KB) · 3 still being written``; empty if there are none."""
    return " · ".join(words for _, words in pieces_in_words(survey))


@dataclass(frozen=True, slots=True)
class LastMiss:
    """The last call that missed a cache, or the last cache invalidated since."""

    entry: DiscussionCache
    at: datetime | None
    """``None`` if unknown."""
    given_up: bool
    """The cache was invalidated, so the next call will miss it."""


def last_miss(overview: CacheOverview) -> LastMiss | None:
    """The last miss; ``None`` if no discussion's last call missed, or caching is off."""
    known = (each for each in overview.discussions if each.state.calls and each.state.enabled)
    entry = next((each for each in known if each.state.why), None)
    if entry is None:
        return None
    state = entry.state
    given_up = state.invalidated_at is not None and state.cached_at is None
    return LastMiss(entry, state.invalidated_at if given_up else state.cached_at, given_up)


def cached_now(states: Iterable[DiscussionCacheState], provider: str, now: datetime) -> int:
    """The number of discussions with a cache at a provider."""
    return sum(state.provider == provider and state.is_cached(now) for state in states)


def stays(seconds: float) -> str:
    """A cache's expected lifetime: ``5 min``, ``1 h``."""
    minutes = seconds / 60
    return f"{minutes / 60:g} h" if minutes >= 60 else f"{minutes:g} min"


class Figure(NamedTuple):
    name: str
    value: str
    meaning: str


def summary(found: Backtest) -> str:
    """A backtest in one sentence."""
    sessions, told = f"In {plural(found.sessions, 'session')}", count(len(found.told))
    if found.repeats:
        again = f"{sessions} you said something again {plural(found.repeats, 'time')}"
        return f"{again}; this memory would have had it in force {plural(found.repeats_held, 'time')}."
    prompts = f"{sessions}, {told} of {plural(found.prompts, 'prompt')} would have been told something"
    return f"{prompts} of the past; for {count(found.hits)} of these, two words of a line came up later."


def figures(found: Backtest) -> list[Figure]:
    """The figures of a backtest, with what each counts."""
    told = len(found.told)
    return [
        Figure(
            "rules said again",
            _share(found.repeats_held, found.repeats) if found.rules else NONE_LEARNED,
            "were in force by then" if found.rules else "autopoiesis rules learn finds them",
        ),
        Figure("prompts told", _share(told, found.prompts), "with something of an earlier session"),
        Figure("tokens each", count(found.tokens // told) if told else "–", "on average"),
        Figure("came up", _share(found.hits, told), "of these: two words of a line came up later"),
        Figure("lines", _share(found.lines_used, found.lines), "of those told came up later"),
        Figure(
            "known", _share(found.known_told, found.known),
            "of the prompts for which an earlier session knew more were told of it",
        ),
        Figure("model", found.model, ""),
    ]  # fmt: skip


def said_of(passage: ToldPassage) -> str:
    """What came up of a passage, and what the person said of it."""
    verdict = {True: "labelled useful", False: "labelled noise", None: ""}[passage.useful]
    return " · ".join(filter(None, (verdict, came_up(passage.words))))


def came_up(words: tuple[str, ...]) -> str:
    """The words that came up later, without parts of others."""
    whole = [word for word in words if not any(word in each and word != each for each in words)]
    if not whole:
        return "nothing came up"
    more = f" and {count(len(whole) - _WORDS_SHOWN)} more" if len(whole) > _WORDS_SHOWN else ""
    return f"came up later: {', '.join(whole[:_WORDS_SHOWN])}{more}"


def _share(part: int, whole: int) -> str:
    if not whole:
        return "none"
    return f"{count(part)} of {count(whole)} ({100 * part / whole:.0f} %)"
