"""``session``: writing down what is said."""

from __future__ import annotations

import click

from engine.conversations.sessions import end_session, new_session_id
from engine.transcripts.places import list_transcripts
from engine.transcripts.turn import Role
from tui.cli.base import (
    LateGroup,
    directory_option,
    emit,
    emit_json,
    example,
    invocation,
    json_option,
    read_text,
    table,
)

ROLES: dict[str, Role] = {"user": "user", "agent": "agent", "system": "system"}


@click.group(
    cls=LateGroup,
    late={
        "start": "tui.cli.sessions:session_start",
        "message": "tui.cli.sessions:session_message",
        "tool": "tui.cli.sessions:session_tool",
        "end": "tui.cli.sessions:session_end",
        "list": "tui.cli.sessions:session_list",
        "flush": "tui.cli.flushing:session_flush",
    },
    epilog=example(
        "ID=$(autopoiesis session start --title 'Fix the parser')",
        'autopoiesis session message $ID user "The parser drops the last line."',
        "autopoiesis session end $ID",
    ),
)
@directory_option
def session() -> None:
    """Capture a conversation as it happens; every call is on disk before it returns."""


@click.command("start", epilog=example("autopoiesis session start --title 'Fix the parser' --channel cli"))
@directory_option
@click.option("--id", "session_id", default="", help="The session's id; made up when left out.")
@click.option("--title", default="", help="What it is about; names the file.")
@click.option("--model", default="")
@click.option("--channel", default="cli", show_default=True)
def session_start(session_id: str, title: str, model: str, channel: str) -> None:
    """Start a session and print its id."""
    with invocation().engine() as engine:
        name = session_id or new_session_id()
        engine.capture.start(name, title=title, model=model, channel=channel)
        emit(name)


@click.command("message", epilog=example('autopoiesis session message ses_1a2b3c4d user "Good morning"'))
@directory_option
@click.argument("session_id", metavar="ID")
@click.argument("role", type=click.Choice(["user", "agent", "system"]))
@click.argument("text")
@click.option("--memory", is_flag=True, help="A memory operation, not dialogue.")
@click.option("--key", default="", help="Names this call, so that a repeat after a crash adds nothing twice.")
def session_message(session_id: str, role: str, text: str, memory: bool, key: str) -> None:
    """Append a message; `-` reads standard input."""
    with invocation().engine() as engine:
        engine.capture.message(
            session_id, ROLES[role], read_text(text), kind="memory" if memory else "", key=key
        )


@click.command("tool", epilog=example("autopoiesis session tool ses_1a2b3c4d exec 'pytest -q' '212 passed'"))
@directory_option
@click.argument("session_id", metavar="ID")
@click.argument("tool")
@click.argument("summary")
@click.argument("result", default="")
@click.option("--key", default="", help="Names this call, so that a repeat after a crash adds nothing twice.")
def session_tool(session_id: str, tool: str, summary: str, result: str, key: str) -> None:
    """Append a tool call as one line."""
    with invocation().engine() as engine:
        engine.capture.tool_call(session_id, tool, summary, result, key=key)


@click.command("end", epilog=example("autopoiesis session end ses_1a2b3c4d --tokens-in 4523 --tag parser"))
@directory_option
@click.argument("session_id", metavar="ID")
@click.option("--tokens-in", type=click.IntRange(min=0), default=0)
@click.option("--tokens-out", type=click.IntRange(min=0), default=0)
@click.option("--tag", "tags", multiple=True)
def session_end(session_id: str, tokens_in: int, tokens_out: int, tags: tuple[str, ...]) -> None:
    """Close the session's transcript and commit it."""
    with invocation().engine() as engine:
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


@click.command("list", epilog=example("autopoiesis session list --limit 5"))
@directory_option
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@json_option
def session_list(limit: int, as_json: bool) -> None:
    """List transcripts, newest first."""
    with invocation().engine() as engine:
        every = list_transcripts(engine.workspace)
        found, total = every[:limit], len(every)
        if as_json:
            emit_json(found)
            return
        table(
            [[info.started[:16].replace("T", " "), info.session_id, info.title, info.path] for info in found],
            ["started", "session", "title", "transcript"],
        )
        if total > len(found):
            emit(f"{len(found)} of {total} shown")
