"""``review``: items that wait for a person before they become knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import (
    LateGroup,
    directory_option,
    emit,
    emit_json,
    example,
    invocation,
    json_option,
    kept,
)
from tui.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.review import Waiting
    from engine.knowledge.reviewing import Reviewed

_group_option = click.option(
    "--group",
    type=click.Choice(("correction", "plan", "summary", "command")),
    help="All that was proposed of one kind.",
)


@click.group(
    cls=LateGroup,
    late={
        "list": "tui.cli.review:review_list",
        "accept": "tui.cli.review:review_accept",
        "reject": "tui.cli.review:review_reject",
    },
    epilog=example(
        "autopoiesis review list",
        "autopoiesis review accept 5e2277cb",
        "autopoiesis review accept --group plan",
    ),
)
@directory_option
def review() -> None:
    """What a harvest proposes, and what it found and did not write because it could be planted."""


@click.command("list", epilog=example("autopoiesis review list --all"))
@directory_option
@click.option("--all", "everything", is_flag=True, help="Also those that were settled.")
@_group_option
@json_option
def review_list(everything: bool, group: str | None, as_json: bool) -> None:
    """List what waits, by group, each with why and with the line it comes from."""
    from engine.knowledge.proposed import GROUPS, TITLES, group_of  # noqa: PLC0415 — as for `--help`

    with invocation().engine() as engine:
        queue = engine.knowledge.review.queue
        found = queue.all() if everything else queue.waiting()
    if group is not None:
        found = tuple(each for each in found if group_of(each.why) == group)
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
            _emit_waiting(each, is_proposal=name != "held")
        if members and name != "held" and not everything:
            emit(f"  all of these: autopoiesis review accept --group {name}")


def _emit_waiting(each: Waiting, *, is_proposal: bool) -> None:
    settled = f"  [{each.verdict}]" if each.verdict else ""
    often = f"  ({plural(each.times, 'time')})" if each.times > 1 else ""
    if each.places > 1:
        often = f"  ({plural(each.times, 'time')} in {plural(each.places, 'conversation')})"
    emit(f"{each.id}  {each.item.category}: {each.item.text}{often}{settled}")
    if not is_proposal:
        emit(f"    why: {each.why}")
    place = f"{each.source}:{each.line}" if each.line else each.source
    emit(f"    from: {place}{f'  {each.said}' if each.said else ''}")


@click.command(
    "accept",
    epilog=example(
        'autopoiesis review accept 5e2277cb --text "The port is 8080."',
        "autopoiesis review accept --group command",
    ),
)
@directory_option
@click.argument("names", metavar="[ID]…", nargs=-1)
@_group_option
@click.option("--text", help="What is written in its place.")
def review_accept(names: tuple[str, ...], group: str | None, text: str | None) -> None:
    """Make items knowledge, as they are or as you word them; one by one, or a group at once."""
    with invocation().engine() as engine:
        meant = _meant(engine, names, group)
        if text is not None and len(meant) > 1:
            raise click.UsageError("--text is for one item")
        for name in meant:
            _emit(engine.knowledge.review.accept(name, text or ""))


@click.command("reject", epilog=example("autopoiesis review reject 5e2277cb"))
@directory_option
@click.argument("names", metavar="[ID]…", nargs=-1)
@_group_option
def review_reject(names: tuple[str, ...], group: str | None) -> None:
    """Reject items, one by one or a group at once; they never come back."""
    with invocation().engine() as engine:
        meant = _meant(engine, names, group)
        for name in meant:
            engine.knowledge.review.reject(name)
        emit(f"{plural(len(meant), 'item')} rejected, {len(engine.knowledge.review.queue.waiting())} left")


def _meant(engine: Engine, names: tuple[str, ...], group: str | None) -> tuple[str, ...]:
    """The ids of what is named, or of all that waits in a group.

    Raises:
        click.UsageError: Both are named, or neither is.
    """
    from engine.knowledge.proposed import group_of  # noqa: PLC0415 — `--help` must not load the engine

    if bool(names) == (group is not None):
        raise click.UsageError("name items by their ids, or a group with --group")
    if group is not None:
        engine.knowledge.review.recover()
    waiting = engine.knowledge.review.queue.waiting()
    return names or tuple(each.id for each in waiting if group_of(each.why) == group)


def _emit(done: Reviewed) -> None:
    if done.settled:
        emit(f"{done.waiting.id} was accepted already")
        if done.commit:
            emit(kept(done.commit, ""))
    elif done.known:
        emit(f"stood there already: {done.path}:{done.number}")
    else:
        emit(f"{done.path}:{done.number}  {done.line}")
        emit(kept(done.commit, done.uncommitted))
