"""``injections``: what was injected into agents' prompts, and what of it was useful."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import click

from tui.cli.activation import number
from tui.cli.base import emit, emit_json, emitted_json, group, minute, plain, table

if TYPE_CHECKING:
    from engine.agents.audit import Audit, AuditEntry
    from engine.engine import Engine
    from engine.injections.log import Injection

_NONE = (
    "no injections yet: record a prompt with `autopoiesis compile --record TEXT`, or set an agent up with "
    "`autopoiesis install claude-code`; what a session starts with is in `autopoiesis hook log`"
)
_PLACES_SHOWN = 3
_ID, _WIDTH = 8, 110


@group("list --agent codex", "show 1997e5d9", "week")
def injections() -> None:
    """Show what was injected into prompts, why, and what of it the replies used."""


@injections.verb("list", "--limit 5 --sections")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many.")
@click.option("--agent", default="", metavar="NAME", help="Only this agent.")
@click.option("--session", default="", metavar="ID", help="Only sessions whose id starts with this.")
@click.option("--project", default="", metavar="NAME", help="Only this project (the slug of its folder).")
@click.option(
    "--sections", is_flag=True, help="Show every section: useful (●), no sign of use (○), not known yet (·)."
)
def injections_list(
    engine: Engine, limit: int, agent: str, session: str, project: str, sections: bool, as_json: bool
) -> None:
    """List the latest injections, newest first."""
    audit = _audit(engine)
    entries = (
        each
        for each in audit.entries()
        if agent in ("", each.agent) and project in ("", each.project) and each.session_id.startswith(session)
    )
    shown = list(islice((each for each in entries if each.injection is not None), limit))
    found = [each.injection for each in shown if each.injection is not None]
    if as_json:
        emit_json(found)
    elif not found and (agent or session or project):
        emit("no matching injections")
    elif not found:
        emit(_NONE)
    elif sections:
        for entry in shown:
            _print_entry(audit, entry)
    else:
        table(
            [
                [
                    injection.id[:_ID],
                    minute(injection.at),
                    injection.by or "–",
                    injection.session_id or "–",
                    f"{injection.tokens:,}/{injection.budget:,}",
                    str(len(injection.sections)),
                    str(len(injection.useful)) if injection.useful or injection.finished else "–",
                    _useful(injection),
                ]
                for injection in found
            ],
            ["id", "when", "agent", "session", "tokens", "sections", "useful", "useful files"],
        )


@injections.verb("show", "1997e5d9", "SESSION")
@click.argument("name", metavar="ID")
@click.option("--text", is_flag=True, help="Include the text, if the files still contain it.")
def injections_show(engine: Engine, name: str, text: bool, as_json: bool) -> None:
    """Show each section of an injection: its source, size, reason, and whether it was useful.

    ID is the id of an injection, or of a session, which means its first injection.
    """
    audit = _audit(engine)
    entry = audit.find(name)
    if as_json:
        emit_json({**plain(entry), "pieces": audit.pieces(entry), "beside": audit.extras(entry)})
    else:
        _print_entry(audit, entry, text=text)


def _print_entry(audit: Audit, entry: AuditEntry, *, text: bool = False) -> None:
    from tui.render.injections import InjectionView, draw_view  # noqa: PLC0415 — as above
    from tui.render.roles import PLAIN  # noqa: PLC0415 — importing rich takes a quarter second

    view = InjectionView(entry, audit.pieces(entry), audit.extras(entry), with_text=text)
    for row, _ in draw_view(view, _WIDTH, PLAIN):
        emit(row.text.rstrip())


@injections.verb("week", "", "--since 2026-06-01")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY",
              help="The first day (UTC); by default a week ago.")  # fmt: skip
def injections_week(engine: Engine, since: datetime | None, as_json: bool) -> None:
    """Sum up the injections since a day: how much, where, how useful, at what cost, and what failed."""
    from engine.agents.week import week_of  # noqa: PLC0415 — not for `--help`
    from tui.render.injections import week_lines  # noqa: PLC0415 — not for `--help`

    first = since.date() if since else engine.clock().date() - timedelta(days=6)
    week = week_of(engine, _audit(engine).entries(), first.isoformat())
    if emitted_json(as_json, week):
        return
    for line in week_lines(week):
        emit(line)


def _label_command(word: str, help: str) -> None:
    @injections.verb(word, f"autopoiesis injections {word} 1997e5d9 3", help=help)
    @click.argument("name", metavar="ID")
    @click.argument("sections", metavar="[SECTION]…", nargs=-1, type=click.IntRange(1))
    def label(engine: Engine, name: str, sections: tuple[int, ...]) -> None:
        audit = _audit(engine)
        topics = audit.judge(audit.find(name), sections, word == "useful")
        which = f"section {', '.join(map(str, sections))}" if sections else "every section"
        emit(f"marked as {word}: {which}")
        for topic in topics:
            emit(f"labelled as {word}: topic {topic}; see: autopoiesis tune {topic}")


_label_command(
    "noise",
    "Mark sections of an injection, or all of it, as noise; `injections show` numbers them. For a topic this "
    "labels its decision, which `tune` learns from; a file no longer counts as useful there.",
)
_label_command(
    "useful",
    "Mark sections of an injection, or all of it, as useful; `injections show` numbers them. For a topic "
    "this labels its decision, which `tune` learns from; a file ranks higher in later prompts.",
)


@injections.verb("top", "--limit 10 --json")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many.")
def injections_top(engine: Engine, limit: int, as_json: bool) -> None:
    """List the files that were useful most often, and how often they were injected."""
    everything = engine.injections.log.by_file()
    found = everything[:limit]
    if emitted_json(as_json, found):
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
        ["useful", "injected", "share", "tokens", "last useful", "file"],
    )
    if len(everything) > limit:
        emit(f"{limit:,} of {len(everything):,} shown")


def _useful(injection: Injection) -> str:
    from engine.injections.log import useful_places  # noqa: PLC0415 — not for `--help`

    places = useful_places(injection)
    more = f" and {len(places) - _PLACES_SHOWN} more" if len(places) > _PLACES_SHOWN else ""
    return ", ".join(places[:_PLACES_SHOWN]) + more or ("–" if injection.finished else "not known yet")


def _audit(engine: Engine) -> Audit:
    from engine.agents.audit import Audit  # noqa: PLC0415 — not for `--help`

    return Audit(engine)
