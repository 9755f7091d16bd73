"""``compile`` and ``send``: the prompt for a message, now or at a commit; and a message sent with it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from engine.errors import TranscriptError
from tui.cli.base import (
    as_of_option,
    checkout_progress,
    emit,
    emit_json,
    emit_problems,
    emit_prompt,
    invocation,
    plain,
    print_commit,
    prompt_for_gate,
    read_text,
    verb,
    visible,
)
from tui.render.reply import summary

if TYPE_CHECKING:
    from types import FrameType

    from engine.context.compiled import Compiled
    from engine.discussions.sending import Sending
    from engine.discussions.turn import Sent
    from engine.engine import Engine
    from engine.live.messages import SpokenMessage
    from engine.settings.model import ChatProviderName
    from engine.store.repository import Commit


_QUOTED_CHARACTERS = 60


@verb('"Can you review the PR that just came in?" --explain', "- --budget 4096 --json < message.txt",
      '"What did Odile ask for?" --as-of 2026-06-10', '"What did Odile ask for?" --diff "3 days ago" now',
      "--message ses_1a2b3c4d:7 --explain",
      name="compile")  # fmt: skip
@click.argument("text", required=False)
@click.option(
    "--message",
    metavar="last[:N]|ID[:TURN]",
    help="A recorded message instead of TEXT: the last one, or the Nth from the end, of all conversations or"
    " of --session; or the last one of session ID (or the conversation with this path), or its TURN, numbered"
    " as in `session flush`. An agent's turn means the message that it answers.",
)
@click.option("--budget", type=click.IntRange(min=256), help="Tokens for prompt and reply reserve.")
@click.option(
    "--session", "session_id", default="", metavar="ID", help="Include this session's earlier turns."
)
@as_of_option
@click.option("--diff", nargs=2, metavar="A B", help="Show what differs between two such states, and why.")
@click.option("--record", is_flag=True, help="Log the prompt's contents, for a prompt that is actually sent.")
@click.option(
    "--explain", is_flag=True, help="Print the outline instead of the text: sections, sources, reasons."
)
def compile_prompt(
    text: str | None,
    message: str | None,
    budget: int | None,
    session_id: str,
    as_of: str | None,
    diff: tuple[str, str] | None,
    record: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Compile the prompt for TEXT; `-` reads standard input.

    With --message, for a recorded message: as shown in the workbench, without asking the gate.
    """
    if (text is None) == (message is None):
        raise click.UsageError("give either TEXT or --message")
    if message is not None and (as_of is not None or diff is not None or record):
        raise click.UsageError("--message cannot be used with --as-of, --diff or --record")
    if as_of is not None and diff is not None:
        raise click.UsageError("--as-of cannot be used with --diff, which names both states")
    if record and (as_of is not None or diff is not None):
        raise click.UsageError("--record cannot be used with --as-of or --diff")
    with invocation().engine() as engine:
        if text is None:
            _compile_recorded(engine, message or "", session_id, budget, explain, as_json)
            return
        message = read_text(text)
        if diff is not None:
            _compare(engine, message, diff, budget, session_id, explain, as_json)
            return
        commit = None if as_of is None else engine.revisions.find(as_of)
        if commit is None:
            with prompt_for_gate(engine):
                compiled = engine.compile(message, budget=budget, session_id=session_id, record=record)
        else:
            compiled = _recalled(engine, message, commit, budget, session_id)
            print_commit(commit)
        _print(compiled, {} if as_of is None else {"revision": commit}, explain, as_json)


def _compile_recorded(
    engine: Engine, name: str, session: str, budget: int | None, explain: bool, as_json: bool
) -> None:
    """The prompt of a recorded message."""
    from engine.live.messages import LAST, find_message  # noqa: PLC0415 — only this form needs it

    if session and name.partition(":")[0] != LAST:
        raise click.UsageError(f"--session can only be used with --message {LAST}")
    message = find_message(engine, name, session)
    engine.catch_up_index()
    compiled = engine.compile_of(message.key, budget=budget)
    if compiled is None:
        raise TranscriptError("the message no longer exists", where=message.path, hint="try again")
    _print_message(message)
    _print(compiled, {"message": message}, explain, as_json)


def _print_message(message: SpokenMessage) -> None:
    """Prints on standard error which message a name resolved to."""
    from engine.context.delimiters import one_line  # noqa: PLC0415 — only for this form

    quote = one_line(message.text, _QUOTED_CHARACTERS)
    click.echo(visible(f"turn {message.turn} of {message.path} “{quote}”"), err=True)


def _compare(
    engine: Engine,
    message: str,
    states: tuple[str, str],
    budget: int | None,
    session_id: str,
    explain: bool,
    as_json: bool,
) -> None:
    commits = [engine.revisions.find(state) for state in states]
    before, after = (_recalled(engine, message, commit, budget, session_id) for commit in commits)
    names = ["now" if commit is None else commit.revision[:8] for commit in commits]
    for commit in commits:
        if commit is not None:
            print_commit(commit)
    from engine.context.difference import compare, difference_text  # noqa: PLC0415 — only this form needs it

    difference = compare(before, after)
    if as_json:
        emit_json({**plain(difference), "revisions": commits})
    else:
        emit(difference_text(difference, before, after, (names[0], names[1])).rstrip("\n"))
        if explain:
            for name, compiled in zip(names, (before, after), strict=True):
                emit(f"\n── {name} ".ljust(101, "─"))
                emit(_outline(compiled).rstrip("\n"))
    emit_problems(dict.fromkeys((*before.problems, *after.problems)))


def _print(compiled: Compiled, more: Mapping[str, object], explain: bool, as_json: bool) -> None:
    if as_json:
        emit_json({**plain(compiled), **more})
    elif explain:
        emit(_outline(compiled))
    else:
        emit_prompt(compiled.text if compiled.text.endswith("\n") else compiled.text + "\n")
    emit_problems(compiled.problems)


def _recalled(
    engine: Engine, message: str, commit: Commit | None, budget: int | None, session_id: str
) -> Compiled:
    with checkout_progress() as report:
        return engine.revisions.compile(
            message, commit, budget=budget, session_id=session_id, progress=report
        )


def _outline(compiled: Compiled) -> str:
    from engine.context.explain import outline  # noqa: PLC0415 — only this form needs it

    return outline(compiled)


_PROMPT_FIELDS = ("tokens", "budget", "stable_prefix_length", "boundaries", "active_topics")
PROVIDERS = ("local", "anthropic", "openai", "gemini", "claude-code")
"""As ``config.ChatProviderName``."""


@verb('"Can you review the PR that just came in?"', '--session ses_1a2b3c4d "And the tests?"',
      "--provider anthropic - < notes.md", name="send")  # fmt: skip
@click.argument("text")
@click.option("--session", "session_id", default="", metavar="ID", help="The session to continue.")
@click.option(
    "--provider", type=click.Choice(PROVIDERS), help="The provider; by default chat.provider in the settings."
)
@click.option("--model", default="", help="The model; by default chat.model in the settings.")
def send(
    engine: Engine, text: str, session_id: str, provider: ChatProviderName | None, model: str, as_json: bool
) -> int:
    """Send TEXT to a model and print its reply; `-` reads standard input.

    Records the message, compiles the prompt as in the workbench, and prints the reply as it arrives; the
    reply is recorded and checked by output triggers. Ctrl+C stops the reply; what has arrived is kept.
    Without a provider, the answer consists of the prompt's lines that are nearest to the message.
    """
    sending = engine.discussions.sending(provider=provider, model=model)
    with _stop_on_interrupt(sending):
        sent = sending.send(
            read_text(text), session_id=session_id, on_text=(lambda _piece: None) if as_json else _print_piece
        )
    if as_json:
        emit_json(_sent_tree(sent))
    else:
        _print_end(sent)
    return 1 if sent.problem else 0


@contextmanager
def _stop_on_interrupt(sending: Sending) -> Iterator[None]:
    """Lets ctrl+c stop the reply instead of the program, so that what has arrived is recorded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)  # a second one ends the program
        sending.stop()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _print_piece(piece: str) -> None:
    click.echo(visible(piece), nl=False)
    sys.stdout.flush()


def _print_end(sent: Sent) -> None:
    """Prints the summary on standard error; standard output has only the reply."""
    if sent.reply.text and not sent.reply.text.endswith("\n"):
        click.echo()
    for line in (*summary(sent), *(f"next time: {each.hint}" for each in sent.corrections)):
        click.echo(click.style(visible(line), dim=True), err=True)
    if sent.problem:
        click.echo(f"autopoiesis: {visible(sent.problem)}", err=True)


def _sent_tree(sent: Sent) -> dict[str, Any]:
    """The result as JSON, without the prompt's text, which ``compile --message`` prints."""
    tree: dict[str, Any] = plain(sent)
    compiled = tree.pop("compiled")
    tree["prompt"] = {name: compiled[name] for name in _PROMPT_FIELDS}
    return tree
