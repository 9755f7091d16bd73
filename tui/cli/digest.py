"""``digest``: the size-limited summary of knowledge, part of every prompt while its file exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.store.commit_message import commit_message
from tui.cli.base import emit, emit_json, emit_prompt, group

if TYPE_CHECKING:
    from engine.engine import Engine


@group("autopoiesis digest show", "autopoiesis digest regenerate")
def digest() -> None:
    """Show or build the digest (knowledge/digest.md), which is part of every prompt while the file exists."""


@digest.verb("show", "autopoiesis digest show")
def digest_show(engine: Engine, as_json: bool) -> int:
    """Print the digest."""
    view = engine.digest()
    if as_json:
        emit_json(view)
    elif not view.on:
        emit(view.problem or "off: no knowledge/digest.md; create it with: autopoiesis digest regenerate")
    else:
        emit_prompt(view.text)
    return 1 if view.problem else 0


@digest.verb("regenerate", "autopoiesis digest regenerate")
def digest_regenerate(engine: Engine) -> None:
    """Rebuild the digest from the category files; this turns it on."""
    knowledge = engine.knowledge
    if knowledge.digest.regenerate(force=True):
        knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest regenerated"))
    view = engine.digest()
    emit(
        f"{view.size:,} of {view.limit:,} bytes: {knowledge.digest.path}"
        if view.on
        else "no knowledge to digest yet"
    )


@digest.verb("off", "autopoiesis digest off")
def digest_off(engine: Engine) -> None:
    """Delete the digest; prompts do without it until you regenerate it."""
    knowledge = engine.knowledge
    if knowledge.digest.turn_off():
        knowledge.commit(knowledge.digest.paths, commit_message("memory", "digest turned off"))
        emit("off; turn it on with: autopoiesis digest regenerate")
    else:
        emit("already off")
