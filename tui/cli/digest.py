"""``digest``: the bounded projection of knowledge that every prompt holds while its file exists."""

from __future__ import annotations

import click

from tui.cli.base import (
    LateGroup,
    directory_option,
    emit,
    emit_json,
    emit_raw,
    example,
    invocation,
    json_option,
)


@click.group(
    cls=LateGroup,
    late={
        "show": "tui.cli.digest:digest_show",
        "regenerate": "tui.cli.digest:digest_regenerate",
        "off": "tui.cli.digest:digest_off",
    },
    epilog=example("autopoiesis digest show", "autopoiesis digest regenerate"),
)
@directory_option
def digest() -> None:
    """The digest of knowledge (knowledge/digest.md). Its file is the switch: without it prompts have none."""


@click.command("show", epilog=example("autopoiesis digest show"))
@directory_option
@json_option
def digest_show(as_json: bool) -> int:
    """Print the digest as it is."""
    with invocation().engine() as engine:
        view = engine.digest()
    if as_json:
        emit_json(view)
    elif not view.on:
        emit(view.problem or "off: there is no knowledge/digest.md; autopoiesis digest regenerate makes it")
    else:
        emit_raw(view.text)
    return 1 if view.problem else 0


@click.command("regenerate", epilog=example("autopoiesis digest regenerate"))
@directory_option
def digest_regenerate() -> None:
    """Make the digest anew from the category files; this turns it on."""
    with invocation().engine() as engine:
        knowledge = engine.knowledge
        if knowledge.digest.regenerate(force=True):
            knowledge.commit(knowledge.digest.paths, "memory: digest made anew")
        view = engine.digest()
        emit(
            f"{view.size:,} of {view.limit:,} bytes: {knowledge.digest.path}"
            if view.on
            else "knowledge has nothing for a digest yet"
        )


@click.command("off", epilog=example("autopoiesis digest off"))
@directory_option
def digest_off() -> None:
    """Delete the digest: no prompt holds it until you regenerate it yourself."""
    with invocation().engine() as engine:
        knowledge = engine.knowledge
        if knowledge.digest.turn_off():
            knowledge.commit(knowledge.digest.paths, "memory: digest turned off")
            emit("off; autopoiesis digest regenerate turns it on")
        else:
            emit("it was off already")
