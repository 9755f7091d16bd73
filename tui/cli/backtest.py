"""``backtest``: what agents would have been told in the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from engine.context.delimiters import one_line
from engine.errors import AutopoiesisError
from tui.cli.base import emit, emit_json, plain, table, verb
from tui.cli.search import progress
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.recall.backtest import Backtest, ToldPrompt

_MESSAGE = 90
_PASSAGE = 84


@verb("autopoiesis backtest", "autopoiesis backtest --last 20 --json")
@click.option("--last", type=click.IntRange(1), default=None, help="Only the last N sessions.")
@click.option("--all", "show_all", is_flag=True, help="Show all that would have been told, oldest first.")
def backtest(engine: Engine, last: int | None, show_all: bool, as_json: bool) -> None:
    """Play your past sessions to the memory as it stood before each prompt, and show what an agent would have
    been told, and whether that came up later.

    Also counts how often you said a rule again that was in force by then. It takes a minute for some hundred
    sessions, and changes nothing.
    """
    from engine.recall.backtest import CANNOT_KNOW  # noqa: PLC0415 — imports numpy

    with progress("indexing") as report:
        engine.catch_up_index(report)
    with progress("playing") as report:
        found = engine.backtest(last or 0, report)
    if not found.sessions:
        raise AutopoiesisError("there are too few sessions to play", hint="import yours: autopoiesis import")
    if as_json:
        emit_json({**plain(found), "best": found.best, "worst": found.worst})
        return
    played = f"{plural(found.sessions, 'session')} with {plural(found.prompts, 'prompt')}"
    emit(f"{played}, each played to the memory as it stood then:\n")
    table(figures(found))
    if show_all:
        _show("All that would have been told:", found.told)
    else:
        _show("Told, and most of it came up later:", found.best)
        _show("Told, and nothing of it came up, the longest first:", found.worst)
    emit(f"\n{CANNOT_KNOW}")


def figures(found: Backtest) -> list[tuple[str, str]]:
    """The figures of a backtest, each with what it counts."""
    told = len(found.told)
    each = f", {found.tokens // told:,} tokens each" if told else ""
    again = f"you said one again {plural(found.repeats, 'time')}"
    used = f"{found.lines_used:,} of {plural(found.lines, 'line')}{_share(found.lines_used, found.lines)}"
    known = f"{found.known_told:,} of {plural(found.known, 'prompt')}{_share(found.known_told, found.known)}"
    return [
        ("rules", f"{again}, {found.repeats_held:,} times with the rule in force"),
        ("told", f"{plural(told, 'prompt')}{_share(told, found.prompts)}{each}"),
        ("came up", f"{found.hits:,} of them{_share(found.hits, told)} heard what the session used later"),
        ("", used),
        ("known", f"{known} for which an earlier session knew more were told of it"),
        ("model", found.model),
    ]


def _share(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.0f} %)" if whole else ""


def _show(title: str, prompts: Sequence[ToldPrompt]) -> None:
    if not prompts:
        return
    emit(f"\n{title}")
    for prompt in prompts:
        emit(f"  {prompt.day}  {one_line(prompt.message, _MESSAGE)}")
        emit(f"      {prompt.path}:{prompt.line}")
        for each in prompt.passages:
            used = f"{plural(each.came_up, 'word')} came up" if each.came_up else "nothing came up"
            emit(f"    - {each.day}  {one_line(each.text, _PASSAGE)}  ({used})")
