"""What agents were told, in words: for the command line and for pages of the workbench."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.render.figures import count, dollars, milliseconds, plural
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.agents.log import HookRun
    from engine.agents.week import Week
    from engine.injections.model import InjectedSection

MOMENTS = {
    "session_start": "session start",
    "prompt": "prompt",
    "stop": "answered",
    "pre_compact": "compaction",
    "session_end": "session end",
}
USE = {True: ("●", "of use"), False: ("○", "no sign of use"), None: ("·", "not known yet")}
_TOPICS, _RUNS = 6, 5
"""How many topics and runs a summary names."""


def use_of(section: InjectedSection) -> str:
    """What is known of a section's use: ``of use``, ``noise, you said``, …"""
    if section.judged:
        return "useful, you said" if section.was_useful else "noise, you said"
    return USE[section.was_useful][1]


def run_line(run: HookRun) -> str:
    """A run of a hook: when, whose, and what came of it."""
    said = first_line(run.said) or f"{count(run.tokens)} tokens"
    when = run.at[5:16].replace("T", " ")
    whose = " ".join(filter(None, (first_line(run.agent), MOMENTS.get(run.moment))))
    return f"{when}  {whose}: {said}, {milliseconds(run.ms)}"


def week_lines(week: Week) -> list[str]:
    """The sums of some days; a line that begins with two spaces belongs to the one above it."""
    if not week.places and not week.failed:
        return [
            f"no agent's hook has run since {week.since[:10]}; `autopoiesis install claude-code` sets them up"
        ]
    lines = [
        f"{plural(week.prompts, 'prompt')} since {week.since[:10]}, {count(week.told)} told something: "
        f"{count(week.tokens)} tokens"
    ]
    heads = ("  agent", "project", "prompts", "told", "tokens", "sessions", "standing")
    lines += columns(
        [heads]
        + [
            (f"  {first_line(each.agent)}", first_line(each.project) or "–",
             *map(count, (each.prompts, each.told, each.tokens, each.starts, each.standing)))
            for each in week.places
        ],
        words=2,
    )  # fmt: skip
    use = week.use
    lines += [
        "",
        f"replies took up something of {count(week.took_up)} of {plural(week.answered, 'prompt')}: "
        f"{count(use.used)} of {plural(use.sections, 'section')}, {count(use.used_tokens)} of "
        f"{count(use.tokens)} tokens",
        "  seen where a reply names a file or repeats its words; agents also use what they do not repeat",
    ]
    if week.costs:
        lines += ["", "added at the end of the conversation, so no cached prefix breaks; paid once as input"]
        lines += columns(
            [
                (f"  {first_line(each.model) or 'model not known'}", f"{count(each.tokens)} tokens",
                 "price not known" if each.usd is None else dollars(each.usd))
                for each in week.costs
            ],
            words=1,
        )  # fmt: skip
    if week.topics:
        lines += ["", "topics told most and used least"]
    for topic in week.topics[:_TOPICS]:
        lines.append(
            f"  {topic.name}: told {count(topic.told)}×, {count(topic.tokens)} tokens, "
            f"of use {count(topic.used)} of {count(topic.known)}"
        )
        name = shlex.quote(topic.name)
        lines.append(f"    autopoiesis tune {name}; autopoiesis topics deactivate {name}")
    if len(week.topics) > _TOPICS:
        lines.append(f"  {count(len(week.topics) - _TOPICS)} more")
    for what, runs in (("failed", week.failed), ("took a second or longer", week.slow)):
        lines += ["", f"{count(len(runs)) if runs else 'none'} {what}"]
        lines += [f"  {run_line(run)}" for run in runs[:_RUNS]]
        if len(runs) > _RUNS:
            lines.append(f"  {count(len(runs) - _RUNS)} more: autopoiesis hook log")
    return lines


def columns(rows: Sequence[Sequence[str]], words: int) -> list[str]:
    """Rows with each column as wide as its longest cell; the first ones are words, the others figures."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + pad if at < words else pad + cell
            for at, cell in enumerate(row)
            for pad in [" " * (widths[at] - cell_len(cell))]
        ).rstrip()
        for row in rows
    ]
