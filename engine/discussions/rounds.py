"""A message's exchange with a model that may call tools: asked, answered, asked again, within bounds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.providers.chat import Round

if TYPE_CHECKING:
    from engine.providers.chat import ChatReply, ChatRequest, ToolUse

MOST = 4
"""How often the answers of tools are sent before the model has to reply."""

_ENOUGH = "\n\nNo further call is answered: reply to the message now."

Ask = Callable[["ChatRequest", float, Callable[[str], None]], "ChatReply"]
"""Asks a model and waits; given the request, the seconds it may take and what takes the text."""


class Rounds:
    """One message's calls of a model.

    ``answer`` answers a call of a tool. ``on_round`` is told of a reply that waits for tools with what each
    was answered, before the model is asked again with the request given; what it raises ends the exchange.
    """

    def __init__(
        self,
        request: ChatRequest,
        ask: Ask,
        answer: Callable[[ToolUse], str],
        on_round: Callable[[ChatReply, Round, ChatRequest], None],
    ) -> None:
        self.asked = request  # what was sent last, or is to be sent
        self._ask = ask
        self._answer = answer
        self._on_round = on_round
        self.done: list[tuple[ChatRequest, ChatReply]] = []

    def chat(self, timeout: float, on_text: Callable[[str], None]) -> ChatReply:
        """Asks until the model waits for nothing any more.

        Args:
            timeout: Seconds for everything together.
            on_text: Gets each piece of all that is said.

        Returns:
            The last reply; one that still waits for tools came after the most rounds there may be.

        Raises:
            SendFailed: As ``ChatProvider.chat``.
        """
        ends = time.monotonic() + timeout
        said = False

        def take(text: str) -> None:
            nonlocal said
            on_text(f"\n\n{text}" if said else text)
            said = False

        while True:
            reply = self._ask(self.asked, max(0.0, ends - time.monotonic()), take)
            self.done.append((self.asked, reply))
            count = len(self.asked.rounds)
            if not reply.calls or not self.asked.tools or count == MOST:
                return reply
            last = _ENOUGH if count == MOST - 1 else ""
            answers = tuple((call, self._answer(call) + last) for call in reply.calls)
            following = Round(reply.items, answers)
            then = replace(self.asked, rounds=(*self.asked.rounds, following))
            self._on_round(reply, following, then)
            said = said or bool(reply.text)
            self.asked = then


def told(call: ToolUse) -> str:
    """What a call was given, as a transcript shows it."""
    return json.dumps(call.arguments, ensure_ascii=False)
