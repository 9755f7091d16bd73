"""Gate questions on their way to a person and back (``gate.provider: ask``)."""

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

    from engine.activation.gate_question import GateQuestion
    from engine.events import EngineEvent


class Questions:
    """The questions that are open.

    Args:
        publish: Where ``GateAsked`` and ``GateClosed`` go.
        is_attended: Whether a face is there that could answer.
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
        """Puts a question and waits for ``answer``; ``None`` without an answer within ``timeout`` seconds.

        Raises:
            GateError: No face is there.
        """
        if not self._is_attended():
            raise GateError(
                "nobody to ask",
                hint="open the workbench, or set gate.provider to something that answers alone",
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
            said = "failed" if answer is None else "yes" if answer else "no"
            self._publish(GateClosed(question_id, said))  # type: ignore[arg-type]
        return answer

    def answer(self, question_id: str, yes: bool) -> bool:
        """Answers an open question, from any thread.

        Returns:
            ``False`` when it is not open any more.
        """
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
