"""``access``: who else may use a served memory, and what they asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.gateways.people import MEANING, RIGHTS, AccessLog, People, Right
from engine.store.zone import local_time
from tui.cli.base import emit, emit_json, emitted_json, group, invocation, json_option, table

if TYPE_CHECKING:
    from engine.engine import Engine


@group(
    "autopoiesis access",
    "autopoiesis access grant anna --may read --may propose",
    invoke_without_command=True,
)
@json_option
@click.pass_context
def access(context: click.Context, as_json: bool) -> None:
    """List the people who may use this memory while you serve it, beside you, and what each may do.

    Private folders, identity and MEMORY.md are shown to no one else.
    """
    if context.invoked_subcommand is not None:
        return
    with invocation().engine() as engine:
        found = People(engine.workspace.root).all()
    if as_json:
        emit_json({"people": found})
    elif not found:
        emit("no one but you; to give someone a token: autopoiesis access grant NAME")
    else:
        table([[each.name, ", ".join(each.may), each.since[:10]] for each in found], ["name", "may", "since"])


@access.verb("grant", "autopoiesis access grant anna --may read --may conversations")
@click.argument("name")
@click.option(
    "--may",
    "rights",
    type=click.Choice(RIGHTS),
    multiple=True,
    default=("read", "propose"),
    show_default=True,
    help="; ".join(f"{right}: {meaning}" for right, meaning in MEANING.items()) + ".",
)
def grant(engine: Engine, name: str, rights: tuple[Right, ...], as_json: bool) -> None:
    """Make a token for a person, with these rights, in place of any before. It is shown only now."""
    person, token = People(engine.workspace.root).grant(name, rights, engine.clock())
    if emitted_json(as_json, {"person": person, "token": token}):
        return
    emit(f"{name} may: {', '.join(person.may)}. Give them this token, which is not stored here:")
    emit(token)


@access.verb("revoke", "autopoiesis access revoke anna")
@click.argument("name")
def revoke(engine: Engine, name: str, as_json: bool) -> int:
    """Withdraw a person's token, at once. Exit 1 if they have none."""
    is_known = People(engine.workspace.root).revoke(name)
    if as_json:
        emit_json({"revoked": is_known})
    else:
        emit(f"{name} has no access any more" if is_known else f"{name} had no token")
    return 0 if is_known else 1


@access.verb("log", "autopoiesis access log anna --last 50")
@click.argument("name", default="")
@click.option("--last", type=click.IntRange(1), default=30, show_default=True, help="Requests to list.")
def log(engine: Engine, name: str, last: int, as_json: bool) -> None:
    """List what people asked for, newest first; their words are not recorded."""
    found = AccessLog(engine.files, engine.clock).last(last, name)
    if as_json:
        emit_json({"requests": found})
    elif not found:
        emit("no requests of other people are recorded")
    else:
        zone = engine.config.days.time_zone
        table([[f"{local_time(each.at, zone):%Y-%m-%d %H:%M:%S}", each.who, each.what] for each in found])
