"""``send``: a message answered by a model, with all that memory has to say about it (spec 10.1)."""

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

_OF_THE_PROMPT = ("tokens", "budget", "stable_prefix_length", "boundaries", "active_topics")
PROVIDERS = ("local", "anthropic", "openai", "gemini", "claude-code")
"""As ``config.ChatProviderName``."""


@verb(
    'autopoiesis send "Can you review the PR that just came in?"',
    'autopoiesis send --session ses_1a2b3c4d "And the tests?"',
    "autopoiesis send --provider anthropic - < notes.md",
    name="send",
)
@click.argument("text")
@click.option("--session", "session_id", default="", metavar="ID", help="The session to go on with.")
@click.option(
    "--provider", type=click.Choice(PROVIDERS), help="Who answers; else chat.provider of the settings."
)
@click.option("--model", default="", help="The provider's model; else chat.model of the settings.")
def send(
    engine: Engine, text: str, session_id: str, provider: ChatProviderName | None, model: str, as_json: bool
) -> int:
    """Say TEXT and have it answered; `-` reads standard input.

    The message is written down, the topics that fire and the prompt are made as in the workbench, a model is
    asked, and its reply is printed as it comes, written down and watched. Ctrl+C ends the reply; what has
    come is kept. Without a provider the lines of the prompt that are nearest to the message are the answer.
    """
    sending = engine.discussions.sending(provider=provider, model=model)
    with _stopped_by_hand(sending):
        sent = sending.send(
            read_text(text), session_id=session_id, on_text=(lambda _piece: None) if as_json else _print_piece
        )
    if as_json:
        emit_json(_tree(sent))
    else:
        _print_end(sent)
    return 1 if sent.problem else 0


@contextmanager
def _stopped_by_hand(sending: Sending) -> Iterator[None]:
    """Ctrl+C ends the reply and not the program, so that what has come is written down."""
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
    """What it took, on standard error: standard output holds the reply and nothing else."""
    if sent.reply.text and not sent.reply.text.endswith("\n"):
        click.echo()
    for line in (*summary(sent), *(f"next time: {each.hint}" for each in sent.corrections)):
        click.echo(click.style(visible(line), dim=True), err=True)
    if sent.problem:
        click.echo(f"autopoiesis: {visible(sent.problem)}", err=True)


def _tree(sent: Sent) -> dict[str, Any]:
    """Everything about it but the prompt's text, which ``compile --message`` prints."""
    tree: dict[str, Any] = plain(sent)
    compiled = tree.pop("compiled")
    tree["prompt"] = {
        name: compiled[name]
        for name in ("tokens", "budget", "stable_prefix_length", "boundaries", "active_topics")
    }
    return tree
