"""A provider asked in the background: one question, one deadline, no error its asker would not survive."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from engine.activation.completion import Completed, Completer
from engine.activation.gate_round import LoopThread
from engine.errors import AutopoiesisError

_GRACE_S = 0.5
"""Seconds that a provider may take to let go."""


class Limits(Protocol):
    """How long an answer may take and be; a group of settings is one."""

    @property
    def max_tokens(self) -> int:
        """Longest answer, in tokens."""
        ...

    @property
    def deadline_s(self) -> float:
        """Total time, seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a question.

    Attributes:
        completed: The reply; ``None`` when there is none.
        error: Why there is none, in one line.
        lasting: Every further question would fail alike until a person changes something.
    """

    completed: Completed | None
    error: str = ""
    lasting: bool = False


class Question:
    """One question to a provider, asked on an event loop in a thread of its own.

    Args:
        completer: The provider.
        system: What it is to the model.
        prompt: What it answers.
        limits: The deadline, and the longest answer.
        group: The group of settings that names the provider.
    """

    def __init__(
        self,
        completer: Completer,
        system: str,
        prompt: str,
        limits: Limits,
        *,
        group: str,
    ) -> None:
        self._completer = completer
        self._system = system
        self._prompt = prompt
        self._limits = limits
        self._group = group
        self._loop = LoopThread()
        self._given_up = False

    def answer(self) -> Asked:
        """Waits for the reply, a second longer than the deadline at most. Called once."""
        try:
            answer = self._loop.run(self._complete(), timeout=self._limits.deadline_s + 1.0)
        finally:
            self._loop.close()
        if answer is not None:
            return answer
        return Asked(None, "given up: the workspace was closed" if self._given_up else self._late())

    def give_up(self) -> None:
        """Ends the waiting, from another thread."""
        self._given_up = True
        self._loop.close()

    async def _complete(self) -> Asked:
        completer, limits = self._completer, self._limits
        task = asyncio.ensure_future(
            completer.complete(
                self._system,
                self._prompt,
                max_tokens=limits.max_tokens,
                temperature=0.0,
                timeout=limits.deadline_s,
            )
        )
        try:
            await asyncio.wait({task}, timeout=limits.deadline_s)
            if not task.done():
                return Asked(None, self._late())
            error = task.exception()
        finally:
            await _let_go(task)
            await _let_go(asyncio.ensure_future(completer.aclose()), wait_first=True)
        if error is None:
            return Asked(task.result())
        # An error that is not ours may quote what it was given, a key among it: only its name is told.
        if isinstance(error, AutopoiesisError):
            return Asked(None, str(error), error.lasting)
        return Asked(None, f"unexpected {type(error).__name__}")

    def _late(self) -> str:
        within = f"no answer within {self._limits.deadline_s:g} s"
        return f"{within}; raise {self._group}.deadline_s, or try again later"


async def _let_go(task: asyncio.Future[Any], *, wait_first: bool = False) -> None:
    """Ends a task within the grace; what it raises is looked at, or the loop would report it as forgotten."""
    if wait_first:
        await asyncio.wait({task}, timeout=_GRACE_S)
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_GRACE_S)
    if task.done() and not task.cancelled():
        task.exception()
