"""``ledger`` and ``review``: the record of harvested conversations, and items that need a decision."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from engine.errors import HarvestRefused
from tui.cli.base import (
    commit_text,
    emit,
    emit_json,
    emit_problems,
    emitted_json,
    group,
    invocation,
    json_option,
    plain,
    table,
)
from tui.render.figures import dollars, plural, sizes

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.review import PendingItem, ReviewResult
    from engine.knowledge.verify import CheckedEntry
    from engine.store.files import Files


@group("list", "verify")
def ledger() -> None:
    """Show and check the ledger of harvested conversations (knowledge/ledger.json)."""


@ledger.verb("list", "--status harvest-failed")
@click.option("--status",
              type=click.Choice(["harvested", "harvest-failed", "deleted-unharvested", "too-large"]),
              help="Only entries with this status.")  # fmt: skip
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


@ledger.verb("show", "c05ec337")
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


@ledger.verb("verify")
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


@ledger.verb("restore", "c05ec337")
@click.argument("name", metavar="SHA256")
def ledger_restore(engine: Engine, name: str) -> None:
    """Restore a conversation from the trash or the history, byte for byte; later harvests skip it."""
    emit(f"restored {engine.knowledge.reclaimer.restore(_find(engine, name).sha256)}")


@ledger.verb("rebuild")
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


_group_option = click.option(
    "--group",
    type=click.Choice(
        (
            *("commands", "decisions", "lessons", "tasks", "questions", "facts", "procedures", "upkeep"),
            *("person", "agent", "pasted", "outside", "repeated", "other", "risky"),
        )
    ),
    help="All items in a group.",
)
_from_option = click.option("--from", "origin", metavar="NAME", help="All items from a conversation.")


@group(
    "",
    "accept 5e2277cb",
    "accept --group commands",
    "accept --from 2026-06-11-vestrand-gateway-call",
    invoke_without_command=True,
)
@json_option
@click.pass_context
def review(context: click.Context, as_json: bool) -> None:
    """List what waits for your review, by group: proposed items, and what could be planted."""
    if context.invoked_subcommand is None:
        with invocation().engine() as engine:
            _list(engine, as_json)


@review.verb("list", "--all")
@click.option("--all", "everything", is_flag=True, help="Include settled items.")
@_group_option
@_from_option
def review_list(
    engine: Engine, everything: bool, group: str | None, origin: str | None, as_json: bool
) -> None:
    """List pending items by group, the most useful first, each with the line it comes from."""
    _list(engine, as_json, everything=everything, wanted=group, origin=origin)


def _list(
    engine: Engine,
    as_json: bool,
    *,
    everything: bool = False,
    wanted: str | None = None,
    origin: str | None = None,
) -> None:
    from engine.knowledge.proposed import GROUPS, TITLES  # noqa: PLC0415 — not for `--help`

    queue = engine.knowledge.review.queue
    found = queue.all() if everything else queue.waiting()
    found = tuple(each for each in found if _matches(each, wanted, origin))
    if emitted_json(as_json, found):
        return
    if not found:
        emit("no pending items")
    for name in GROUPS:
        members = sorted(
            (each for each in found if each.group == name),
            key=lambda each: -each.times,
        )
        if members:
            emit(f"{TITLES[name]}: {len(members)}")
        for each in members:
            _emit_item(each, engine.files, with_reason=name in ("risky", "pasted", "repeated", "other"))
        if members and name != "risky" and not everything:
            emit(f"  to accept all: autopoiesis review accept --group {name}")


def _emit_item(each: PendingItem, files: Files, *, with_reason: bool) -> None:
    from engine.knowledge.item import NAMES  # noqa: PLC0415 — `--help` must not load the engine

    kind, _ = NAMES.get(each.item.category, (each.item.category, ""))
    kind = "command" if each.group == "commands" else kind
    settled = f"  [{each.verdict}]" if each.verdict else ""
    often = f"  ({plural(each.times, 'time')})" if each.times > 1 else ""
    if each.places > 1:
        often = f"  ({plural(each.times, 'time')} in {plural(each.places, 'conversation')})"
    target = f" ({each.item.path})" if each.item.category in ("notes", "pages") else ""
    emit(f"{each.id}  {kind}{target}: {each.item.text}{often}{settled}")
    if with_reason:
        emit(f"    reason: {each.why}")
    if each.read:
        emit(f"    after the agent read: {'; '.join(each.read)}")
    if each.change is not None:
        _emit_change(each, files)
        return
    place = f"{each.source}:{each.line}" if each.line else each.source or each.origin.name
    emit(f"    from: {place}{f'  {each.said}' if each.said else ''}")


def _emit_change(each: PendingItem, files: Files) -> None:
    """Prints a proposed change of files, with its diff while it is pending."""
    from engine.errors import AutopoiesisError  # noqa: PLC0415 — not for `--help`
    from engine.knowledge.file_changes import diff  # noqa: PLC0415 — not for `--help`

    assert each.change is not None
    for line in each.change.about:
        emit(f"    {line}")
    if not each.verdict:
        try:
            lines = diff(files, each.change)
        except AutopoiesisError as error:
            lines = [str(error)]
        for line in lines:
            emit(f"    {line}")


@review.verb("accept", '5e2277cb --text "The port is 8080."', "--group commands")
@click.argument("names", metavar="[ID]…", nargs=-1)
@_group_option
@_from_option
@click.option("--text", help="Write this text instead.")
@click.option("--sure", is_flag=True, help="Accept risky items without asking; name each by its id.")
def review_accept(
    engine: Engine,
    names: tuple[str, ...],
    group: str | None,
    origin: str | None,
    text: str | None,
    sure: bool,
) -> None:
    """Accept items as they are or reworded: one by one, by group or by conversation.

    Risky items are only accepted by id, and need confirmation or --sure.
    """
    from engine.knowledge.review import is_risky  # noqa: PLC0415 — not for `--help`

    selected = _selected(engine, names, group, origin)
    if text is not None and len(selected) > 1:
        raise click.UsageError("--text can only be used with one item")
    queue = engine.knowledge.review.queue
    pending = {each.id: each for each in queue.waiting()}
    risky = [name for name in selected if name in pending and is_risky(pending[name])]
    if not names and risky:
        emit(f"{plural(len(risky), 'risky item')} skipped: autopoiesis review list --group risky")
        selected = tuple(name for name in selected if name not in risky)
    for name in selected:
        _emit(engine.knowledge.review.accept(name, text or "", sure=sure or _confirm(engine, name, text)))


def _confirm(engine: Engine, name: str, text: str | None) -> bool:
    """Asks whether to accept a risky item; False if the item is not risky or there is no terminal."""
    from engine.knowledge.review import is_risky  # noqa: PLC0415 — not for `--help`

    queue = engine.knowledge.review.queue
    found = [each for each in queue.waiting() if name and each.id.startswith(name)]
    if len(found) != 1 or not is_risky(found[0], text or "") or not sys.stdin.isatty():
        return False
    _emit_item(found[0], engine.files, with_reason=True)
    return click.confirm("This item could do harm. Accept it anyway?", default=False)


@review.verb("reject", "5e2277cb")
@click.argument("names", metavar="[ID]…", nargs=-1)
@_group_option
@_from_option
def review_reject(engine: Engine, names: tuple[str, ...], group: str | None, origin: str | None) -> None:
    """Reject items permanently: one by one, by group or by conversation."""
    selected = _selected(engine, names, group, origin)
    for name in selected:
        engine.knowledge.review.reject(name)
    emit(f"{plural(len(selected), 'item')} rejected, {len(engine.knowledge.review.queue.waiting())} left")


def _selected(
    engine: Engine, names: tuple[str, ...], group: str | None, origin: str | None
) -> tuple[str, ...]:
    """The named ids, or those of the pending items in a group, from a conversation, or both."""
    if bool(names) == (group is not None or origin is not None):
        raise click.UsageError("give either ids, or --group or --from")
    if not names:
        engine.knowledge.review.recover()
    pending = engine.knowledge.review.queue.waiting()
    return names or tuple(each.id for each in pending if _matches(each, group, origin))


def _matches(each: PendingItem, group: str | None, origin: str | None) -> bool:
    is_from = origin is None or origin in (each.origin.name, each.source)
    return is_from and (group is None or each.group == group)


def _emit(done: ReviewResult) -> None:
    if done.settled:
        emit(f"{done.waiting.id} was already accepted")
        if done.commit:
            emit(commit_text(done.commit, ""))
    elif done.known:
        emit(f"already known: {done.path}:{done.number}")
    elif done.paths:
        emit(f"changed: {', '.join(done.paths)}")
        emit(commit_text(done.commit, done.uncommitted))
    else:
        emit(f"{done.path}:{done.number}  {done.line}")
        emit(commit_text(done.commit, done.uncommitted))
