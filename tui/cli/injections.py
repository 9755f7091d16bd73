"""``injections``: what prompts that were really used held, and which files were of use in them."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import click

from tui.cli.activation import number
from tui.cli.base import emit, emit_json, group, minute, plain, table

if TYPE_CHECKING:
    from engine.agents.audit import Audit, Telling
    from engine.engine import Engine
    from engine.injections.model import Injection

_NONE = (
    "no injections yet: `autopoiesis compile --record TEXT` logs what a prompt holds, and "
    "`autopoiesis install claude-code` has an agent told"
)
_PLACES_SHOWN = 3
_ID, _BROAD = 8, 110


@group(
    "autopoiesis injections list --agent codex",
    "autopoiesis injections show 1997e5d9",
    "autopoiesis injections week",
)
def injections() -> None:
    """What agents were told and prompts held, why, and what of it the replies took up."""


@injections.verb("list", "autopoiesis injections list --limit 5 --sections")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@click.option("--agent", default="", metavar="NAME", help="Of one agent.")
@click.option("--session", default="", metavar="ID", help="Of the sessions whose id begins so.")
@click.option("--project", default="", metavar="NAME", help="Of one project, as the slug of its folder.")
@click.option(
    "--sections", is_flag=True, help="Show every section: of use (●), without a sign (○), open (·)."
)
def injections_list(
    engine: Engine, limit: int, agent: str, session: str, project: str, sections: bool, as_json: bool
) -> None:
    """List the latest prompts that were used, newest first."""
    from engine.agents.audit import Audit  # noqa: PLC0415 — not for `--help`

    audit = Audit(engine)
    tellings = (
        each
        for each in audit.tellings()
        if agent in ("", each.agent) and project in ("", each.project) and each.session_id.startswith(session)
    )
    told = list(islice((each for each in tellings if each.injection is not None), limit))
    found = [each.injection for each in told if each.injection is not None]
    if as_json:
        emit_json(found)
    elif not found and (agent or session or project):
        emit("no prompt is like that")
    elif not found:
        emit(_NONE)
    elif sections:
        for telling in told:
            _print_telling(audit, telling)
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
            ["id", "when", "agent", "session", "tokens", "sections", "useful", "of use"],
        )


@injections.verb("show", "autopoiesis injections show 1997e5d9", "autopoiesis injections show SESSION")
@click.argument("name", metavar="ID")
@click.option("--text", is_flag=True, help="With the text, as far as the files still have it.")
def injections_show(engine: Engine, name: str, text: bool, as_json: bool) -> None:
    """Show what exactly was told: each section with its source, size, why, and whether it was of use.

    ID is that of a prompt, or of a session: then it is what its agent was told at the start.
    """
    from engine.agents.audit import Audit  # noqa: PLC0415 — not for `--help`

    audit = Audit(engine)
    telling = audit.find(name)
    if as_json:
        emit_json({**plain(telling), "pieces": audit.pieces(telling), "beside": audit.beside(telling)})
    else:
        _print_telling(audit, telling, text=text)


def _print_telling(audit: Audit, telling: Telling, *, text: bool = False) -> None:
    from tui.render.injections import InjectionView, draw_view  # noqa: PLC0415 — likewise
    from tui.render.roles import PLAIN  # noqa: PLC0415 — what it draws with takes a quarter second

    view = InjectionView(telling, audit.pieces(telling), audit.beside(telling), with_text=text)
    for row, _ in draw_view(view, _BROAD, PLAIN):
        emit(row.text.rstrip())


@injections.verb("week", "autopoiesis injections week", "autopoiesis injections week --since 2026-06-01")
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY", help="The first day, UTC; else a week ago."
)
def injections_week(engine: Engine, since: datetime | None, as_json: bool) -> None:
    """Sum up what agents were told: how much, where, what of it was of use, what it cost, what failed."""
    from engine.agents.audit import Audit  # noqa: PLC0415 — not for `--help`
    from engine.agents.week import week_of  # noqa: PLC0415 — likewise
    from tui.render.injections import week_lines  # noqa: PLC0415 — likewise

    first = since.date() if since else engine.clock().date() - timedelta(days=6)
    week = week_of(engine, Audit(engine).tellings(), first.isoformat())
    if as_json:
        emit_json(week)
        return
    for line in week_lines(week):
        emit(line)


def _judges(word: str, help: str) -> None:
    @injections.verb(word, f"autopoiesis injections {word} 1997e5d9 3", help=help)
    @click.argument("name", metavar="ID")
    @click.argument("sections", metavar="[SECTION]…", nargs=-1, type=click.IntRange(1))
    def judges(engine: Engine, name: str, sections: tuple[int, ...]) -> None:
        from engine.agents.audit import Audit  # noqa: PLC0415 — not for `--help`

        audit = Audit(engine)
        topics = audit.judge(audit.find(name), sections, word == "useful")
        which = f"section {', '.join(map(str, sections))}" if sections else "every section"
        emit(f"noted as {word}: {which}")
        for topic in topics:
            emit(f"labelled as {word}: topic {topic}; see autopoiesis tune {topic}")


_judges(
    "noise",
    "Say that sections of a prompt, or all of it, were noise; `injections show` numbers them. Of a topic it "
    "is the label of its decision, from which it is tuned; a file counts no more as of use there.",
)
_judges(
    "useful",
    "Say that sections of a prompt, or all of it, were useful; `injections show` numbers them. Of a topic it "
    "is the label of its decision, from which it is tuned; a file ranks higher in later prompts.",
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


def _useful(injection: Injection) -> str:
    from engine.injections.log import useful_places  # noqa: PLC0415 — not for `--help`

    places = useful_places(injection)
    more = f" and {len(places) - _PLACES_SHOWN} more" if len(places) > _PLACES_SHOWN else ""
    return ", ".join(places[:_PLACES_SHOWN]) + more or ("–" if injection.finished else "not known yet")
