"""``review``: items that wait for a person before they become knowledge."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, group, kept
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.review import PendingItem
    from engine.knowledge.reviewing import ReviewResult
    from engine.store.files import Files

_group_option = click.option(
    "--group",
    type=click.Choice(
        (
            *("upkeep", "correction", "person", "plan", "summary", "agent", "command", "outside"),
            *("repeated", "other", "risky"),
        )
    ),
    help="All that waits for one kind of reason.",
)
_from_option = click.option("--from", "origin", metavar="NAME", help="All that waits of one conversation.")


@group(
    "autopoiesis review list",
    "autopoiesis review accept 5e2277cb",
    "autopoiesis review accept --group plan",
    "autopoiesis review accept --from 2026-06-11-vestrand-gateway-call",
)
def review() -> None:
    """What a harvest proposes, and what it or a flush found and did not write because it could be planted."""


@review.verb("list", "autopoiesis review list --all")
@click.option("--all", "everything", is_flag=True, help="Also those that were settled.")
@_group_option
@_from_option
def review_list(
    engine: Engine, everything: bool, group: str | None, origin: str | None, as_json: bool
) -> None:
    """List what waits, by group, each with why and with the line it comes from; the dangerous first."""
    from engine.knowledge.proposed import GROUPS, TITLES, group_of  # noqa: PLC0415 — as for `--help`

    queue = engine.knowledge.review.queue
    found = queue.all() if everything else queue.waiting()
    found = tuple(each for each in found if _is_meant(each, group, origin))
    if as_json:
        emit_json(found)
        return
    if not found:
        emit("nothing waits")
    for name in GROUPS:
        members = sorted((each for each in found if group_of(each.why) == name), key=lambda each: -each.times)
        if members:
            emit(f"{TITLES[name]}: {len(members)}")
        for each in members:
            _emit_waiting(each, engine.files, says_why=name in ("risky", "repeated", "other"))
        if members and name != "risky" and not everything:
            emit(f"  all of these: autopoiesis review accept --group {name}")


def _emit_waiting(each: PendingItem, files: Files, *, says_why: bool) -> None:
    settled = f"  [{each.verdict}]" if each.verdict else ""
    often = f"  ({plural(each.times, 'time')})" if each.times > 1 else ""
    if each.places > 1:
        often = f"  ({plural(each.times, 'time')} in {plural(each.places, 'conversation')})"
    target = f" ({each.item.path})" if each.item.category in ("notes", "pages") else ""
    emit(f"{each.id}  {each.item.category}{target}: {each.item.text}{often}{settled}")
    if says_why:
        emit(f"    why: {each.why}")
    if each.read:
        emit(f"    after reading: {'; '.join(each.read)}")
    if each.change is not None:
        _emit_change(each, files)
        return
    place = f"{each.source}:{each.line}" if each.line else each.source or each.origin.name
    emit(f"    from: {place}{f'  {each.said}' if each.said else ''}")


def _emit_change(each: PendingItem, files: Files) -> None:
    """What accepting a change of files does to them, as long as it waits."""
    from engine.errors import AutopoiesisError  # noqa: PLC0415 — as for `--help`
    from engine.knowledge.file_changes import diff  # noqa: PLC0415 — as for `--help`

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
    "autopoiesis review accept --group command",
)
@click.argument("names", metavar="[ID]…", nargs=-1)
@_group_option
@_from_option
@click.option("--text", help="What is written in its place.")
@click.option("--sure", is_flag=True, help="Also what is held because it could do harm; name each by its id.")
def review_accept(
    engine: Engine,
    names: tuple[str, ...],
    group: str | None,
    origin: str | None,
    text: str | None,
    sure: bool,
) -> None:
    """Make items knowledge, as they are or as you word them; one by one, a group or a conversation at once.

    What could do harm is accepted by its id alone, and asks again or wants --sure.
    """
    from engine.knowledge.reviewing import is_risky  # noqa: PLC0415 — as for `--help`

    meant = _meant(engine, names, group, origin)
    if text is not None and len(meant) > 1:
        raise click.UsageError("--text is for one item")
    queue = engine.knowledge.review.queue
    waiting = {each.id: each for each in queue.waiting()}
    risky = [name for name in meant if name in waiting and is_risky(waiting[name])]
    if not names and risky:
        left = plural(len(risky), "item")
        emit(f"{left} that could do harm will wait on: autopoiesis review list --group risky")
        meant = tuple(name for name in meant if name not in risky)
    for name in meant:
        _emit(engine.knowledge.review.accept(name, text or "", sure=sure or _is_sure(engine, name, text)))


def _is_sure(engine: Engine, name: str, text: str | None) -> bool:
    """Whether the person at the terminal wants an item that could do harm all the same."""
    from engine.knowledge.reviewing import is_risky  # noqa: PLC0415 — as for `--help`

    queue = engine.knowledge.review.queue
    found = [each for each in queue.waiting() if name and each.id.startswith(name)]
    if len(found) != 1 or not is_risky(found[0], text or "") or not sys.stdin.isatty():
        return False
    _emit_waiting(found[0], engine.files, says_why=True)
    return click.confirm("It could do harm. Write it all the same?", default=False)


@review.verb("reject", "autopoiesis review reject 5e2277cb")
@click.argument("names", metavar="[ID]…", nargs=-1)
@_group_option
@_from_option
def review_reject(engine: Engine, names: tuple[str, ...], group: str | None, origin: str | None) -> None:
    """Reject items, one by one, a group or a conversation at once; they never come back."""
    meant = _meant(engine, names, group, origin)
    for name in meant:
        engine.knowledge.review.reject(name)
    emit(f"{plural(len(meant), 'item')} rejected, {len(engine.knowledge.review.queue.waiting())} left")


def _meant(engine: Engine, names: tuple[str, ...], group: str | None, origin: str | None) -> tuple[str, ...]:
    """The ids of what is named, or of all that waits in a group, of a conversation, or of both.

    Raises:
        click.UsageError: Items and a group are named, or neither is.
    """
    if bool(names) == (group is not None or origin is not None):
        raise click.UsageError("name items by their ids, or a group with --group or --from")
    if not names:
        engine.knowledge.review.recover()
    waiting = engine.knowledge.review.queue.waiting()
    return names or tuple(each.id for each in waiting if _is_meant(each, group, origin))


def _is_meant(each: PendingItem, group: str | None, origin: str | None) -> bool:
    """Whether an item belongs to a group and a conversation, as far as these are named."""
    from engine.knowledge.proposed import group_of  # noqa: PLC0415 — `--help` must not load the engine

    named = origin is None or origin in (each.origin.name, each.source)
    return named and (group is None or group_of(each.why) == group)


def _emit(done: ReviewResult) -> None:
    if done.settled:
        emit(f"{done.waiting.id} was accepted already")
        if done.commit:
            emit(kept(done.commit, ""))
    elif done.known:
        emit(f"stood there already: {done.path}:{done.number}")
    elif done.paths:
        emit(f"changed: {', '.join(done.paths)}")
        emit(kept(done.commit, done.uncommitted))
    else:
        emit(f"{done.path}:{done.number}  {done.line}")
        emit(kept(done.commit, done.uncommitted))
