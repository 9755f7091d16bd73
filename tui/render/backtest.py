"""A backtest in words and figures, as the command line and the workbench show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.render.figures import count, plural

if TYPE_CHECKING:
    from engine.recall.backtest import Backtest, ToldPassage

NONE_LEARNED = "none were learned yet"
_WORDS_SHOWN = 12


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
    return f"{prompts} of the past; for {count(found.hits)} of these, it came up later."


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
    verdict = {True: "rated useful", False: "rated noise", None: ""}[passage.useful]
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
