"""``review``: items that need a person's decision before they become knowledge."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tui.cli.base import commit_text, emit, emitted_json, group
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.review import PendingItem, ReviewResult
    from engine.store.files import Files

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
    "autopoiesis review list",
    "autopoiesis review accept 5e2277cb",
    "autopoiesis review accept --group commands",
    "autopoiesis review accept --from 2026-06-11-vestrand-gateway-call",
)
def review() -> None:
    """Review proposed items, and items held back because they could be planted."""


@review.verb("list", "autopoiesis review list --all")
@click.option("--all", "everything", is_flag=True, help="Include settled items.")
@_group_option
@_from_option
def review_list(
    engine: Engine, everything: bool, group: str | None, origin: str | None, as_json: bool
) -> None:
    """List pending items by group, the most useful first, each with the line it comes from."""
    from engine.knowledge.proposed import GROUPS, TITLES  # noqa: PLC0415 — not for `--help`

    queue = engine.knowledge.review.queue
    found = queue.all() if everything else queue.waiting()
    found = tuple(each for each in found if _matches(each, group, origin))
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


@review.verb(
    "accept",
    'autopoiesis review accept 5e2277cb --text "The port is 8080."',
    "autopoiesis review accept --group commands",
)
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


@review.verb("reject", "autopoiesis review reject 5e2277cb")
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
