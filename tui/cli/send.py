"""``send``: sends a message to a model, with the prompt that memory compiles for it (spec 10.1)."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from tui.cli.base import emit_json, plain, read_text, verb, visible
from tui.render.reply import summary

if TYPE_CHECKING:
    from types import FrameType

    from engine.discussions.sending import Sending
    from engine.discussions.turn import Sent
    from engine.engine import Engine
    from engine.settings.model import ChatProviderName

_PROMPT_FIELDS = ("tokens", "budget", "stable_prefix_length", "boundaries", "active_topics")
PROVIDERS = ("local", "anthropic", "openai", "gemini", "claude-code")
"""As ``config.ChatProviderName``."""


@verb(
    'autopoiesis send "Can you review the PR that just came in?"',
    'autopoiesis send --session ses_1a2b3c4d "And the tests?"',
    "autopoiesis send --provider anthropic - < notes.md",
    name="send",
)
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
        emit_json(_tree(sent))
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


def _tree(sent: Sent) -> dict[str, Any]:
    """The result as JSON, without the prompt's text, which ``compile --message`` prints."""
    tree: dict[str, Any] = plain(sent)
    compiled = tree.pop("compiled")
    tree["prompt"] = {name: compiled[name] for name in _PROMPT_FIELDS}
    return tree
