"""Asks a model in the background: one question, one deadline, non-fatal errors."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import AutopoiesisError
from engine.providers.attempts import late
from engine.providers.chat import ChatProvider, ChatReply
from engine.providers.completion import complete
from engine.providers.loop import LoopThread


@dataclass(frozen=True, slots=True)
class Asked:
    """Result of a question."""

    completed: ChatReply | None
    error: str = ""  # why there is no reply, in one line
    lasting: bool = False  # every further question would fail alike until a person changes something


class Question:
    """One question to a model, asked on an event loop in a thread of its own."""

    def __init__(
        self, provider: ChatProvider, system: str, prompt: str, *, max_tokens: int, deadline_s: float
    ) -> None:
        self._provider = provider
        self._system = system
        self._prompt = prompt
        self._max_tokens = max_tokens
        self._deadline_s = deadline_s
        self._loop = LoopThread()
        self._given_up = False

    def answer(self) -> Asked:
        """Waits for the reply, a second longer than the deadline at most. Called once."""
        within = self._deadline_s
        asking = complete(
            self._provider, self._system, self._prompt, max_tokens=self._max_tokens, timeout=within
        )
        try:
            reply = self._loop.run(asking, timeout=within)
        except AutopoiesisError as error:
            return Asked(None, str(error), error.lasting)
        except Exception as error:  # noqa: BLE001 — whatever a client's package raises
            # It may quote what it was given, a key among it: only its name is told.
            return Asked(None, f"unexpected {type(error).__name__}")
        finally:
            self._loop.close(self._provider.aclose)
        if reply is not None:
            return Asked(reply)
        if self._given_up:
            return Asked(None, "cancelled: the workspace was closed")
        return Asked(None, str(late(self._provider.name, within, self._provider.purpose)))

    def give_up(self) -> None:
        """Ends the waiting, from another thread."""
        self._given_up = True
        self._loop.close(self._provider.aclose)
