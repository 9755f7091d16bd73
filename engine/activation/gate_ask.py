"""The gate that asks the person in front of the screen (design 3.5, ``gate.provider: ask``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.activation.gate_question import GateQuestion
from engine.activation.trace import GateOutcome
from engine.errors import GateError

Asker = Callable[[GateQuestion, float], Awaitable[bool | None]]
"""Asks a person and waits at most the given number of seconds; ``None`` without an answer.

It is awaited on the gate's own event loop, so a user interface must pass its answer across threads.
"""


class AskGate:
    """Asks a person through a user interface; without one every question fails.

    Answers are cached like any other: the same question about the same message is asked once.
    """

    name = "ask"
    model = ""
    identity = "ask 1"

    def __init__(self, asker: Asker | None = None) -> None:
        self.asker = asker

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        """The person's answer.

        Raises:
            GateError: There is no one to ask, or no answer came in time.
        """
        if self.asker is None:
            raise GateError(
                "no one to ask",
                hint="open the workbench, or set gate.provider to one that needs no person",
            )
        answer = await self.asker(question, timeout)
        if answer is None:
            raise GateError("no answer in time", hint="answer with y or n while the question is shown")
        return GateOutcome("yes" if answer else "no", self.name, reason="answered by a person")
