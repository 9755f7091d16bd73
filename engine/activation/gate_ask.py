"""The gate that asks the person in front of the screen (design 3.5, ``gate.provider: ask``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine.activation.gate_question import GateQuestion
from engine.activation.trace import GateOutcome
from engine.errors import GateError

Asker = Callable[[GateQuestion, float], Awaitable[bool | None]]
"""Puts a question to a person and waits at most so many seconds; ``None`` without an answer.

It is awaited on an event loop in a thread of the gate. A face that answers from its own thread hands the
answer over accordingly.
"""


class AskGate:
    """Lets a face put the questions; without a face every question fails.

    Answers of a person are remembered like any other: the same question about the same message is put once.
    """

    name = "ask"
    model = ""
    identity = "ask 1"

    def __init__(self, asker: Asker | None = None) -> None:
        self.asker = asker

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        """The person's answer.

        Raises:
            GateError: There is no person to ask, or no answer came in time.
        """
        if self.asker is None:
            raise GateError(
                "nobody to ask",
                hint="open the workbench, or set gate.provider to something that answers alone",
            )
        answer = await self.asker(question, timeout)
        if answer is None:
            raise GateError("nobody answered in time", hint="answer with y or n while the question is shown")
        return GateOutcome("yes" if answer else "no", self.name, reason="answered by a person")
