"""``ledger``: the record of harvested conversations, and whether it is still correct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from engine.errors import HarvestRefused
from tui.cli.base import emit, emit_json, emit_problems, emitted_json, group, plain, table
from tui.render.figures import dollars, plural, sizes

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.verify import CheckedEntry


@group("autopoiesis ledger list", "autopoiesis ledger verify")
def ledger() -> None:
    """Show and check the ledger of harvested conversations (knowledge/ledger.json)."""


@ledger.verb("list", "autopoiesis ledger list --status harvest-failed")
@click.option(
    "--status",
    type=click.Choice(["harvested", "harvest-failed", "deleted-unharvested", "too-large"]),
    help="Only entries with this status.",
)
def ledger_list(engine: Engine, status: str | None, as_json: bool) -> None:
    """List the entries, newest first."""
    found = {
        name: entry
        for name, entry in _newest_first(engine.knowledge.ledger.entries())
        if status is None or entry.status == status
    }
    if as_json:
        emit_json([{"sha256": name, **plain(entry)} for name, entry in found.items()])
    elif not found:
        emit("nothing has been harvested yet; see what could be: autopoiesis harvest")
    else:
        table(
            [
                [
                    name[:8],
                    entry.at[:10],
                    entry.status,
                    str(entry.total),
                    "reclaimed" if entry.deleted else "",
                    entry.name,
                    entry.error,
                ]
                for name, entry in found.items()
            ],
            ["sha256", "day", "status", "items", "", "conversation", ""],
        )


@ledger.verb("show", "autopoiesis ledger show c05ec337")
@click.argument("name", metavar="SHA256")
def ledger_show(engine: Engine, name: str, as_json: bool) -> None:
    """Show an entry and where its lines are now. SHA256 may be a prefix, or a conversation's name."""
    checked = _find(engine, name)
    if emitted_json(as_json, checked):
        return
    entry = checked.entry
    table(
        [
            ["sha256", checked.sha256],
            ["conversation", f"{entry.path} ({checked.source})"],
            ["status", f"{entry.status}, {entry.at}"],
            *([["error", entry.error]] if entry.error else []),
            ["items", ", ".join(f"{key}:{count}" for key, count in entry.items.items() if count) or "none"],
            *([["already known", str(entry.known)]] if entry.known else []),
            *([["for review", str(len(entry.held))]] if entry.held else []),
            *([["read", _coverage(entry)]] if entry.size else []),
            *([["model", _model(entry)]] if entry.provider else []),
        ]
    )
    for each in checked.lines:
        place = f"{each.path}:{each.number}" if each.number else "–"
        emit(f"{each.state:<6}  {place}  {each.line.text}")


@ledger.verb("verify", "autopoiesis ledger verify")
def ledger_verify(engine: Engine, as_json: bool) -> int:
    """Check every entry's lines and conversation against the files and their hashes.

    Lines that were edited or deleted since are reported, but are not errors. A conversation that can no
    longer be recovered is; the exit code is then 1.
    """
    found = list(engine.knowledge.verify())
    lost = [each for each in found if not each.sound]
    if as_json:
        emit_json({"entries": found, "lost": [each.sha256 for each in lost]})
        return 1 if lost else 0
    states = [line.state for each in found for line in each.lines]
    sources = [each.source for each in found]
    emit(f"{plural(len(found), 'entry', 'entries')}: {_counted(sources)}")
    emit(f"{plural(len(states), 'line')}: {_counted(states)}")
    emit_problems(
        f"autopoiesis: {each.entry.path}: content lost: not in its file, the trash or the history"
        for each in lost
    )
    return 1 if lost else 0


@ledger.verb("restore", "autopoiesis ledger restore c05ec337")
@click.argument("name", metavar="SHA256")
def ledger_restore(engine: Engine, name: str) -> None:
    """Restore a conversation from the trash or the history, byte for byte; later harvests skip it."""
    emit(f"restored {engine.knowledge.reclaimer.restore(_find(engine, name).sha256)}")


@ledger.verb("rebuild", "autopoiesis ledger rebuild")
def ledger_rebuild(engine: Engine) -> None:
    """Rebuild the ledger from all its versions in the history and the readable part of the current one."""
    count, from_history = engine.knowledge.ledger.rebuild()
    emit(f"{plural(count, 'entry', 'entries')}, {from_history} of them from the history")


def _newest_first(found: dict[str, LedgerEntry]) -> list[tuple[str, LedgerEntry]]:
    return sorted(found.items(), key=lambda each: (each[1].at, each[0]), reverse=True)


def _find(engine: Engine, name: str) -> CheckedEntry:
    """The only entry with a name or hash prefix."""
    from engine.knowledge.verify import verify  # noqa: PLC0415 — `--help` must not load the engine

    found = {
        sha256: entry
        for sha256, entry in engine.knowledge.ledger.entries().items()
        if sha256.startswith(name.lower()) or name in (entry.path, entry.name, entry.name.rpartition(".")[0])
    }
    if len(found) != 1:
        what = "several entries match" if found else "no entry matches"
        raise HarvestRefused(f"{what} {name!r}", hint="see: autopoiesis ledger list")
    knowledge = engine.knowledge
    return next(iter(verify(found, engine.files, knowledge.trash, engine.repository)))


def _coverage(entry: LedgerEntry) -> str:
    how = ", summarised" if entry.summarised else ""
    return f"{sizes(entry.shown)} of {sizes(entry.size)}{how}"


def _model(entry: LedgerEntry) -> str:
    if entry.provider == "markers":
        return "none"
    price = "price unknown" if entry.cost_usd is None else dollars(entry.cost_usd)
    return f"{entry.provider} {entry.model}, {entry.input_tokens + entry.output_tokens:,} tokens, {price}"


def _counted(states: Sequence[str]) -> str:
    return ", ".join(f"{states.count(each)} {each}" for each in dict.fromkeys(states)) or "none"
