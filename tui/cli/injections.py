"""``injections``: what prompts that were really used held, and which files were of use in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.activation import number
from tui.cli.base import emit, emit_json, group, minute, table

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.injections.model import Injection

_NONE = "no injections yet: `autopoiesis compile --record TEXT` logs what a prompt holds"
_PLACES_SHOWN = 3


@group("autopoiesis injections list --sections", "autopoiesis injections top --limit 10")
def injections() -> None:
    """The log of prompts that were used: what they held, and what of it the replies took up."""


@injections.verb("list", "autopoiesis injections list --limit 5 --sections")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@click.option(
    "--sections", is_flag=True, help="Show every section: of use (●), without a sign (○), open (·)."
)
def injections_list(engine: Engine, limit: int, sections: bool, as_json: bool) -> None:
    """List the latest prompts that were used, newest first."""
    found = engine.injections.log.last(limit)
    if as_json:
        emit_json(found)
    elif not found:
        emit(_NONE)
    elif sections:
        for injection in found:
            _print_sections(injection)
    else:
        table(
            [
                [
                    minute(injection.at),
                    injection.session_id or "–",
                    f"{injection.tokens:,}/{injection.budget:,}",
                    str(len(injection.sections)),
                    str(len(injection.useful)) if injection.useful or injection.finished else "–",
                    _useful(injection),
                ]
                for injection in found
            ],
            ["when", "session", "tokens", "sections", "useful", "of use"],
        )


@injections.verb("top", "autopoiesis injections top --limit 10 --json")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
def injections_top(engine: Engine, limit: int, as_json: bool) -> None:
    """List the files that were of use most often, in how many of the prompts that held them."""
    everything = engine.injections.log.by_file()
    found = everything[:limit]
    if as_json:
        emit_json(found)
        return
    if not found:
        emit(_NONE)
        return
    table(
        [
            [
                str(use.useful),
                str(use.injected),
                number(use.useful / use.injected if use.injected else None),
                f"{use.tokens:,}",
                minute(use.last_useful) or "–",
                use.path,
            ]
            for use in found
        ],
        ["useful", "injected", "share", "tokens", "last of use", "file"],
    )
    if len(everything) > limit:
        emit(f"{limit:,} of {len(everything):,} shown")


def _print_sections(injection: Injection) -> None:
    from engine.injections.log import place_of  # noqa: PLC0415 — `--help` must not load the engine

    session = f" {injection.session_id}" if injection.session_id else ""
    tokens = f"{injection.tokens:,} of {injection.budget:,} tokens"
    emit(f"{minute(injection.at)}{session}  {tokens}  {injection.turn}".rstrip())
    table(
        [
            [
                {True: "  ●", False: "  ○", None: "  ·"}[section.was_useful],
                f"P{section.priority}",
                f"{section.tokens:,}",
                number(section.score),
                place_of(section),
            ]
            for section in injection.sections
        ]
    )


def _useful(injection: Injection) -> str:
    from engine.injections.log import useful_places  # noqa: PLC0415 — not for `--help`

    places = useful_places(injection)
    more = f" and {len(places) - _PLACES_SHOWN} more" if len(places) > _PLACES_SHOWN else ""
    return ", ".join(places[:_PLACES_SHOWN]) + more or ("–" if injection.finished else "not known yet")
