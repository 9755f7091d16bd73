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
    from engine.knowledge.reviewing import Reviewed


@click.group(
    cls=LateGroup,
    late={
        "list": "tui.cli.review:review_list",
        "accept": "tui.cli.review:review_accept",
        "reject": "tui.cli.review:review_reject",
    },
    epilog=example("autopoiesis review list", "autopoiesis review accept 5e2277cb"),
)
@directory_option
def review() -> None:
    """What a harvest found and did not write by itself, because it could be planted."""


@click.command("list", epilog=example("autopoiesis review list --all"))
@directory_option
@click.option("--all", "everything", is_flag=True, help="Also those that were settled.")
@json_option
def review_list(everything: bool, as_json: bool) -> None:
    """List what waits, each with why and with the line it comes from."""
    with invocation().engine() as engine:
        queue = engine.knowledge.review.queue
        found = queue.all() if everything else queue.waiting()
    if as_json:
        emit_json(found)
        return
    if not found:
        emit("nothing waits")
    for each in found:
        settled = f"  [{each.verdict}]" if each.verdict else ""
        emit(f"{each.id}  {each.item.category}: {each.item.text}{settled}")
        emit(f"    why: {each.why}")
        place = f"{each.source}:{each.line}" if each.line else each.source
        emit(f"    from: {place}{f'  {each.said}' if each.said else ''}")


@click.command("accept", epilog=example('autopoiesis review accept 5e2277cb --text "The port is 8080."'))
@directory_option
@click.argument("names", metavar="ID…", nargs=-1, required=True)
@click.option("--text", help="What is written in its place.")
def review_accept(names: tuple[str, ...], text: str | None) -> None:
    """Make items knowledge, as they are or as you word them."""
    if text is not None and len(names) > 1:
        raise click.UsageError("--text is for one item")
    with invocation().engine() as engine:
        for name in names:
            _emit(engine.knowledge.review.accept(name, text or ""))


@click.command("reject", epilog=example("autopoiesis review reject 5e2277cb"))
@directory_option
@click.argument("names", metavar="ID…", nargs=-1, required=True)
def review_reject(names: tuple[str, ...]) -> None:
    """Turn items down; they never come back."""
    with invocation().engine() as engine:
        for name in names:
            engine.knowledge.review.reject(name)
        emit(f"{plural(len(names), 'item')} turned down, {len(engine.knowledge.review.queue.waiting())} left")


def _emit(done: Reviewed) -> None:
    if done.known:
        emit(f"stood there already: {done.path}:{done.number}")
    else:
        emit(f"{done.path}:{done.number}  {done.line}")
        emit(kept(done.commit, done.uncommitted))
