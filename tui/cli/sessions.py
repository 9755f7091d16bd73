"""``session``: writing down what is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.conversations.sessions import end_session, new_session_id
from engine.transcripts.places import list_transcripts
from engine.transcripts.turn import Role
from tui.cli.base import emit, emit_json, group, minute, read_text, table

if TYPE_CHECKING:
    from engine.engine import Engine

ROLES: dict[str, Role] = {"user": "user", "agent": "agent", "system": "system"}


@group(
    "ID=$(autopoiesis session start --title 'Fix the parser')",
    'autopoiesis session message $ID user "The parser drops the last line."',
    "autopoiesis session end $ID",
    late={"flush": "tui.cli.flushing:session_flush"},
)
def session() -> None:
    """Capture a conversation as it happens; every call is on disk before it returns."""


@session.verb("start", "autopoiesis session start --title 'Fix the parser' --channel cli")
@click.option("--id", "session_id", default="", help="The session's id; made up when left out.")
@click.option("--title", default="", help="What it is about; names the file.")
@click.option("--model", default="")
@click.option("--channel", default="cli", show_default=True)
def session_start(engine: Engine, session_id: str, title: str, model: str, channel: str) -> None:
    """Start a session and print its id."""
    name = session_id or new_session_id()
    engine.capture.start(name, title=title, model=model, channel=channel)
    emit(name)


@session.verb("message", 'autopoiesis session message ses_1a2b3c4d user "Good morning"')
@click.argument("session_id", metavar="ID")
@click.argument("role", type=click.Choice(["user", "agent", "system"]))
@click.argument("text")
@click.option("--memory", is_flag=True, help="A memory operation, not dialogue.")
@click.option("--key", default="", help="Names this call, so that a repeat after a crash adds nothing twice.")
def session_message(engine: Engine, session_id: str, role: str, text: str, memory: bool, key: str) -> None:
    """Append a message; `-` reads standard input."""
    engine.capture.message(session_id, ROLES[role], read_text(text), kind="memory" if memory else "", key=key)


@session.verb("tool", "autopoiesis session tool ses_1a2b3c4d exec 'pytest -q' '212 passed'")
@click.argument("session_id", metavar="ID")
@click.argument("tool")
@click.argument("summary")
@click.argument("result", default="")
@click.option("--key", default="", help="Names this call, so that a repeat after a crash adds nothing twice.")
def session_tool(engine: Engine, session_id: str, tool: str, summary: str, result: str, key: str) -> None:
    """Append a tool call as one line."""
    engine.capture.tool_call(session_id, tool, summary, result, key=key)


@session.verb("end", "autopoiesis session end ses_1a2b3c4d --tokens-in 4523 --tag parser")
@click.argument("session_id", metavar="ID")
@click.option("--tokens-in", type=click.IntRange(min=0), default=0)
@click.option("--tokens-out", type=click.IntRange(min=0), default=0)
@click.option("--tag", "tags", multiple=True)
def session_end(
    engine: Engine, session_id: str, tokens_in: int, tokens_out: int, tags: tuple[str, ...]
) -> None:
    """Close the session's transcript and commit it."""
    ended = end_session(
        engine.capture,
        engine.repository,
        session_id,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tags=tags,
        commit=engine.config.git.auto_commit,
    )
    emit(str(ended))
    engine.extraction.session_ended(ended.path)


@session.verb("list", "autopoiesis session list --limit 5")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
def session_list(engine: Engine, limit: int, as_json: bool) -> None:
    """List transcripts, newest first."""
    every = list_transcripts(engine.workspace)
    found, total = every[:limit], len(every)
    if as_json:
        emit_json(found)
        return
    table(
        [[minute(info.started), info.session_id, info.title, info.path] for info in found],
        ["started", "session", "title", "transcript"],
    )
    if total > len(found):
        emit(f"{len(found)} of {total} shown")
