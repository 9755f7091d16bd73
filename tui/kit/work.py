"""What a screen asks of the engine, off the screen's thread: its lanes, and the news it hears."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from textual.message import Message

from tui.kit.lanes import Lane
from tui.kit.messages import Said
from tui.kit.session import WorkbenchEngine

Wish = TypeVar("Wish")
Found = TypeVar("Found")


class ScreenWork:
    """Owns the lanes between one screen and the engine. Every method returns at once.

    A subclass makes its lanes with ``lane`` and asks them; what comes back is posted as messages.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    leave_s: ClassVar[float] = 0.2
    """How long leaving the screen waits for each lane at most."""

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        self._engine = engine
        self._send = post
        self.listening = False
        self._lanes: list[Lane[Any, Any]] = []
        self._leaving: list[Lane[Any, Any]] = []

    def lane(
        self,
        work: Callable[[Wish], Found],
        found: Callable[[Wish, Found], Message | None],
        refused: Callable[[Wish, str], Message | None] | None = None,
        *,
        merge: Callable[[Wish, Wish], Wish] | None = None,
        finish: bool = False,
    ) -> Lane[Wish, Found]:
        """A lane of its own for one kind of work.

        Args:
            work: The blocking call.
            found: The message that brings what came of a wish; none where there is nothing to say.
            refused: The message that brings why nothing did; the default says it in passing.
            merge: Makes one piece of a waiting and a new wish; the default keeps the newest.
            finish: What waits is still done when the screen is left: for what is written.
        """

        def told(message: Message | None) -> None:
            if message is not None:
                self._post(message)

        made: Lane[Wish, Found] = Lane(
            work,
            lambda wish, answer: told(found(wish, answer)),
            lambda wish, error: told(
                refused(wish, error) if refused is not None else Said(error, trouble=True)
            ),
            merge,
        )
        self._lanes.append(made)
        if not finish:
            self._leaving.append(made)
        return made

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return any(lane.busy for lane in self._lanes)

    def start(self) -> None:
        """The screen is there to hear what is found."""
        self.listening = True

    def stop(self) -> None:
        """Stops reading. What is on its way into a file is still written."""
        self.listening = False
        for lane in self._leaving:
            lane.stop(self.leave_s)

    def _post(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the screen is gone: there is nobody left to tell
            self._send(message)
