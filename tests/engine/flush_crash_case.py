"""A flush of two parts, to be killed and failed at its fault points by ``tests.crash_sweep``."""

from __future__ import annotations

from engine.context import tokens
from engine.errors import WriteFailed
from engine.flush import log
from engine.knowledge import plan
from engine.providers import asking
from engine.providers.chat import ChatRequest
from tests.crash_sweep import Case
from tests.engine.flush_support import NOTES, Desk, Provider, reply

LOADED = (plan, tokens.count("a"))
"""Imported once instead of in each of hundreds of child processes."""


class Instant:
    """A question answered without an event loop, because closing one is slow."""

    def __init__(
        self, completer: Provider, _system: str, prompt: str, *, max_tokens: int, deadline_s: float
    ) -> None:
        self._completer = completer
        self._prompt = prompt

    def answer(self) -> asking.Answer:
        """The provider's answer."""
        waiting = self._completer.chat(ChatRequest((), self._prompt, 1), timeout=1.0)
        try:
            waiting.send(None)
        except StopIteration as done:
            return asking.Answer(done.value)
        raise AssertionError("the provider did not answer at once")


class Flush(Case):
    """Two parts with different notes."""

    hits, retried, tries = 60, (WriteFailed,), 2

    @property
    def desk(self) -> Desk:
        log.PART_TOKENS = 130
        asking.Question = Instant  # type: ignore[assignment,misc]
        provider = Provider(by=lambda prompt: reply(*(NOTES if "Question 0" in prompt else NOTES[1:3])))
        return Desk(self.root, provider)

    def prepare(self) -> None:
        self.root = self.pristine
        self.desk.project()
        self.desk.talk(3)

    def work(self) -> bool:
        desk = self.desk
        desk.flusher.recover()
        desk.flush(room=120)
        return True

    def content(self) -> dict[str, object]:
        return dict(self.desk.memory())

    def check_whole(self, wanted: dict[str, object]) -> None:
        assert len(wanted) == 5 and sum(data.count(b"\n- ") for data in self.desk.memory().values()) == 5

    def check_after_kill(self, wanted: dict[str, object]) -> None:
        """Everything ends up in memory's files and in the log exactly once."""
        for path, data in self.desk.memory().items():
            if path.startswith("scratch"):
                continue
            lines, whole = data.splitlines(), wanted[path]
            assert isinstance(whole, bytes) and set(lines) <= set(whole.splitlines()), path
            notes = [line for line in lines if line.startswith((b"- ", b"{"))]
            assert len(notes) == len(set(notes)), path


CASES = {"flush": Flush}
