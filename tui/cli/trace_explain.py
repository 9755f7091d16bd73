"""``trace --explain``: prints the evidence as the workbench draws it."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import groupby
from operator import itemgetter

import click
from rich.color import ColorSystem

from engine.activation.trace import TopicTrace, Trace
from tui.render.draw import Row
from tui.render.explain import LABEL, evidence, labelled_block, verdict_lines
from tui.render.message import Marks, message_block
from tui.render.roles import PLAIN, Roles
from tui.render.shown import Shown
from tui.render.table import SIGNS, tabulate

NARROWEST, WIDEST = 60, 120
"""Limits of the output's width, in columns."""
MESSAGE_LINES = 4
"""Lines of the message above the evidence for a topic."""

_ON_A_TERMINAL = Roles.of(
    {
        "muted": "bright_black",
        "faint": "bright_black",
        "line": "bright_black",
        "accent": "bright_cyan",
        "tier1": "cyan",
        "tier2": "magenta",
        "gate": "yellow",
        "active": "green",
        "offered": "yellow",
        "dropped": "bright_black",
        "error": "red",
    }
)


def print_evidence(trace: Trace, rows: int) -> None:
    """Prints the evidence for the ``rows`` topics nearest to a message.

    Marked words are underlined or in italics on a terminal, in brackets in a pipe.
    """
    styled = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    roles = PLAIN if not styled or os.environ.get("NO_COLOR") else _ON_A_TERMINAL
    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((100, 24)).columns))
    shown = Shown("kept", trace.message.text, None, trace)
    chosen = tabulate(trace, unfolded=rows >= len(trace.rows)).rows[:rows]
    legend = "underlined: matched by a trigger; italic" if styled else "[matched by a trigger], ‹"
    legend += ": word in favour of the topic" if styled else "word in favour of the topic›"
    for row in chosen:
        _print(Row(), styled)
        for line in explained_lines(shown, row, width, roles, brackets=not styled):
            _print(line, styled)
    _print(Row(), styled)
    if any(row.hits or row.words for row in chosen):
        _print(Row((legend, roles.faint)), styled)
    if len(chosen) < len(trace.rows):
        _print(Row((f"{len(chosen)} of {len(trace.rows)} topics explained", roles.faint)), styled)


def explained_lines(shown: Shown, row: TopicTrace, width: int, roles: Roles, *, brackets: bool) -> list[Row]:
    """Verdict, counterfactual, the marked message, and all blocks of evidence."""
    inner = width - 2
    marks: Marks = "brackets" if brackets else "style"
    message = message_block(shown.text, row, inner - LABEL, MESSAGE_LINES, roles, marks=marks)
    lines = verdict_lines(row, inner, roles)
    if shown.text.strip():
        lines.extend(labelled_block("message", message, roles))
    for block in evidence(shown, row, inner, roles, roomy=False):
        lines.extend(block)
    sign = Row((f"{SIGNS[row.verdict]} ", roles.active if row.active else roles.muted))
    return [(Row().gap(2) if number else sign).extend(line) for number, line in enumerate(lines)]


def _print(row: Row, styled: bool) -> None:
    if not styled:
        click.echo(row.text.rstrip())
        return
    parts = (
        (style, "".join(text for text, _style in run)) for style, run in groupby(row.pieces, itemgetter(1))
    )
    click.echo("".join(style.render(text, color_system=ColorSystem.STANDARD) for style, text in parts))
