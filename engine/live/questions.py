"""Puts gate questions to a person (``gate.provider: ask``)."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import GateError

if TYPE_CHECKING:
    import asyncio
    from datetime import datetime

    from engine.activation.gate import GateQuestion
    from engine.events import EngineEvent


class Questions:
    """The open questions.

    Args:
        publish: Receives ``GateAsked`` and ``GateClosed``.
        is_attended: Whether an interface is open in which a person could answer.
    """

    def __init__(
        self,
        publish: Callable[[EngineEvent], None],
        is_attended: Callable[[], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._publish = publish
        self._is_attended = is_attended
        self._clock = clock
        self._numbers = itertools.count(1)
        self._guard = threading.Lock()
        self._open: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Future[bool]]] = {}

    async def ask(self, question: GateQuestion, timeout: float) -> bool | None:
        """Asks a question and waits for ``answer``; ``None`` if there is none within ``timeout`` seconds.

        Raises:
            GateError: No interface is open.
        """
        if not self._is_attended():
            raise GateError(
                "nobody to ask",
                hint="open the workbench, or set gate.provider to a provider that needs no person",
            )
        import asyncio  # noqa: PLC0415 — slow; only for a question

        from engine.events import GateAsked, GateClosed  # noqa: PLC0415 — only for a question

        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        question_id = f"q{next(self._numbers)}"
        with self._guard:
            self._open[question_id] = (loop, future)
        self._publish(
            GateAsked(
                self._clock(), question_id, question.topic, question.message, question.description, timeout
            )
        )
        answer: bool | None = None
        try:
            with contextlib.suppress(TimeoutError):
                answer = await asyncio.wait_for(future, timeout)
        finally:
            with self._guard:
                self._open.pop(question_id, None)
            outcome = "failed" if answer is None else "yes" if answer else "no"
            self._publish(GateClosed(question_id, outcome))  # type: ignore[arg-type]
        return answer

    def answer(self, question_id: str, yes: bool) -> bool:
        """Answers a question from any thread; ``False`` if it is no longer open."""
        with self._guard:
            found = self._open.get(question_id)
        if found is None:
            return False
        loop, future = found

        def settle() -> None:
            if not future.done():
                future.set_result(yes)

        loop.call_soon_threadsafe(settle)
        return True
