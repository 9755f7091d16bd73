"""``backtest``: what agents would have been told in the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from engine.context.delimiters import one_line
from engine.errors import AutopoiesisError
from tui.cli.base import emit, emit_json, emitted_json, plain, progress, table, verb
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.recall.backtest import Backtest, ToldPrompt

_MESSAGE = 90
_PASSAGE = 84


@verb("", "--last 20 --json", "--with hooks.past_sessions=off",
      "--noise raw/conversations/2026/06/12/1840-review.md:10")  # fmt: skip
@click.option("--last", type=click.IntRange(1), default=None, help="Only the last N sessions.")
@click.option("--all", "show_all", is_flag=True, help="Show all that would have been told, oldest first.")
@click.option("--with", "changes", multiple=True, metavar="SETTING=VALUE",
              help="Also play it with this setting, and show both; nothing is saved.")  # fmt: skip
@click.option("--useful", metavar="PATH:LINE", help="Label what was told at this prompt as useful.")
@click.option("--noise", metavar="PATH:LINE", help="Label what was told at this prompt as noise.")
@click.option("--passage", "passages", type=click.IntRange(1), multiple=True, metavar="N",
              help="Label only this passage.")  # fmt: skip
def backtest(
    engine: Engine,
    last: int | None,
    show_all: bool,
    changes: tuple[str, ...],
    useful: str | None,
    noise: str | None,
    passages: tuple[int, ...],
    as_json: bool,
) -> None:
    """Play your past sessions to the memory as it stood before each prompt, and show what an agent would have
    been told, and whether that came up later.

    Also counts how often you said a rule again that was in force by then. It takes some seconds for a
    hundred sessions, and changes nothing.

    With --useful or --noise it only records your label of what was told at one prompt: labels are examples
    for the model that is learned from your past, and noise is not told again unless it answers the message.
    """
    from engine.recall.backtest import CANNOT_KNOW  # noqa: PLC0415 — imports numpy
    from tui.render.words import figures, summary  # noqa: PLC0415 — not for `--help`

    _check(useful, noise, passages)
    changed = _changes(changes)
    with progress("indexing") as report:
        engine.catch_up_index(report)
    if useful or noise:
        _label(engine, useful or noise or "", bool(useful), passages, as_json)
        return
    with progress("playing") as report:
        found, trial = engine.what_if(changed, last or 0, report)
    if not found.sessions:
        raise AutopoiesisError("there are too few sessions to play", hint="import yours: autopoiesis import")
    if emitted_json(as_json, _tree(found) | ({"with": changed, "then": _tree(trial)} if changed else {})):
        return
    emit(f"{summary(found)}\n")
    played = f"{plural(found.sessions, 'session')} with {plural(found.prompts, 'prompt')}"
    emit(f"{played}, each played to the memory as it stood then:\n")
    if changed:
        pairs = zip(figures(found), figures(trial), strict=True)
        table(
            [[now.name, now.value, then.value] for now, then in pairs],
            ["", "as is", _said(changed)],
        )
        if found == trial:
            emit(f"\nnothing that is told depends on {' and '.join(changed)}")
    else:
        table([[each.name, f"{each.value} {each.meaning}".strip()] for each in figures(found)])
    if show_all:
        _show("All that would have been told:", found.told)
    else:
        _show("Told, and words of it came up later, the most first:", found.best)
        _show("Told, and nothing of it came up, the longest first:", found.worst)
    emit(f"\n{CANNOT_KNOW}")


def _check(useful: str | None, noise: str | None, passages: Sequence[int]) -> None:
    if useful and noise:
        raise click.UsageError("give either --useful or --noise")
    if passages and not (useful or noise):
        raise click.UsageError("--passage goes with --useful or --noise")


def _changes(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign:
            raise click.UsageError(f"--with {each}: expected SETTING=VALUE")
        found[name.strip()] = value.strip()
    return found


def _label(engine: Engine, prompt: str, useful: bool, passages: Sequence[int], as_json: bool) -> None:
    from engine.recall.labels import Place  # noqa: PLC0415 — not for `--help`

    path, _, line = prompt.rpartition(":")
    if not path or not line.isdecimal():
        raise click.UsageError(f"{prompt}: expected PATH:LINE, as backtest shows it")
    told = engine.label_told(Place(path, int(line)), useful, passages)
    if as_json:
        emit_json(told)
    else:
        _show(f"labelled as {'useful' if useful else 'noise'}:", [told])


def _tree(found: Backtest) -> dict[str, object]:
    return {**plain(found), "best": found.best, "worst": found.worst}


def _said(changes: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in changes.items())


def _show(title: str, prompts: Sequence[ToldPrompt]) -> None:
    from tui.render.words import said_of  # noqa: PLC0415 — not for `--help`

    if not prompts:
        return
    emit(f"\n{title}")
    for prompt in prompts:
        emit(f"  {prompt.day}  {one_line(prompt.message, _MESSAGE)}")
        emit(f"      {prompt.path}:{prompt.line}")
        for number, each in enumerate(prompt.passages, 1):
            emit(f"    {number} {each.day}  {one_line(each.text, _PASSAGE)}")
            emit(f"      {one_line(said_of(each), _PASSAGE)}")
