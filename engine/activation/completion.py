"""A model that completes a prompt, as those see it who ask one: gate, flush, harvest, their accounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Completed(Protocol):
    """What a completer gives back; ``engine.providers.base.Completion`` is one."""

    @property
    def text(self) -> str: ...

    @property
    def cut(self) -> bool:
        """Whether the answer ended at the token limit."""
        ...

    @property
    def cost_usd(self) -> float | None: ...

    @property
    def model(self) -> str: ...

    @property
    def input_tokens(self) -> int: ...

    @property
    def cached_tokens(self) -> int: ...

    @property
    def cache_write_tokens(self) -> int: ...

    @property
    def output_tokens(self) -> int: ...


class Spending(Protocol):
    """Who is asked whether a question may cost something, and is told what it took."""

    def allow(self) -> None:
        """Does nothing while it may.

        Raises:
            AutopoiesisError: The budget is spent; the message says which and what to do.
        """
        ...

    def spent(self, completed: Completed, topics: Sequence[str], discussion: str) -> None:
        """Puts a call down; never raises. Both may touch the disk."""
        ...


class Completer(Protocol):
    """A service that completes a prompt; ``engine.providers.base.CompletionProvider`` is one.

    Attributes:
        name: The provider's name as the settings call it.
        model: The model asked.
        address: The server asked; empty for the provider's own.
    """

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def address(self) -> str: ...

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, temperature: float, timeout: float
    ) -> Completed:
        """The completion.

        Raises:
            AutopoiesisError: There is none; the message says why and what to do.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections that were opened on the running event loop."""
        ...
