"""One run of a harvest, as it goes on: it outlives the screen that began it, and is told in passing then."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.message import Message

from engine.knowledge.harvest.report import Report, Result, Wish
from tui.kit.messages import Said
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate

_BRAKE = re.compile(r"(\d+) would go to the trash")


class HarvestGrew(Message):
    """Another conversation is under way or done, or all are."""

    def can_replace(self, message: Message) -> bool:
        """One is enough."""
        return isinstance(message, HarvestGrew)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        results: What became of conversations, by path.
        current: The conversation that is under way; empty where none is.
        ended: Nothing more will come.
        report: What was done; ``None`` while it goes on, and where it was refused.
        problem: Why it was refused.
        stopping: A person has asked it to stop.
    """

    results: dict[str, Result]
    current: str = ""
    ended: bool = False
    report: Report | None = None
    problem: str = ""
    stopping: bool = False

    @property
    def brake(self) -> int:
        """How many conversations go to the trash only if a person types their number; 0 for none."""
        return max([brake_of(self.problem), *(brake_of(each.kept) for each in self.results.values())])

    @property
    def held_back(self) -> tuple[str, ...]:
        """Those conversations, by path; none where the whole run was refused because of them."""
        return tuple(path for path, each in self.results.items() if brake_of(each.kept))


def brake_of(text: str) -> int:
    """The number that a person has to type, as an engine's refusal says it; 0 where it says none."""
    found = _BRAKE.search(text)
    return int(found[1]) if found else 0


class HarvestRun:
    """A run. Its methods may be called from any thread.

    Args:
        wish: What it is to do.
        chosen: The conversations it is about, in order.
        began: When, as the clock's ``monotonic`` has it.
        before: What an earlier run gave that this one goes on with.
    """

    def __init__(
        self, wish: Wish, chosen: Sequence[Candidate], began: float, before: Progress | None = None
    ) -> None:
        self.wish = wish
        self.chosen = tuple(chosen)
        self.began = began
        self._before = before
        self._guard = threading.Lock()
        self._now = Progress(dict(before.results) if before is not None else {})
        self._watched: Callable[[Message], object] | None = None
        self._passing: Callable[[Message], object] | None = None

    @property
    def progress(self) -> Progress:
        """How far it is."""
        with self._guard:
            return self._now

    def follow(
        self, watched: Callable[[Message], object] | None, passing: Callable[[Message], object] | None = None
    ) -> None:
        """Says who is told.

        Args:
            watched: Takes ``HarvestGrew``; ``None`` once nobody looks at it any more.
            passing: Takes one line when it ends and nobody looks.
        """
        with self._guard:
            self._watched = watched
            self._passing = passing if passing is not None else self._passing

    def started(self, path: str) -> None:
        """A conversation is under way."""
        self._set(lambda now: replace(now, current=path))

    def came(self, result: Result) -> None:
        """Something became of a conversation."""

        def grown(now: Progress) -> Progress:
            merged = {**now.results, result.path: self._merged(result)}
            return replace(now, results=merged, current="" if now.current == result.path else now.current)

        self._set(grown)

    def stop(self) -> None:
        """A person asks it to stop."""
        self._set(lambda now: replace(now, stopping=True))

    def end(self, report: Report | None, problem: str = "") -> None:
        """Nothing more will come."""

        def ended(now: Progress) -> Progress:
            whole = report
            if report is not None and self._before is not None and self._before.report is not None:
                whole = replace(report, recovered=self._before.report.recovered + report.recovered)
            return replace(now, current="", ended=True, report=whole, problem=problem)

        self._set(ended)

    def _merged(self, result: Result) -> Result:
        """What an earlier run wrote stays told when a later one only moved the conversation."""
        old = self._before.results.get(result.path) if self._before is not None else None
        if old is None or old.outcome != "harvested" or result.outcome != "harvested":
            return result
        return replace(old, entry=result.entry or old.entry, reclaimed=result.reclaimed, kept=result.kept)

    def _set(self, change: Callable[[Progress], Progress]) -> None:
        with self._guard:
            self._now = now = change(self._now)
            watched, passing = self._watched, self._passing
        if watched is not None:
            watched(HarvestGrew())
        elif now.ended and passing is not None:
            passing(Said(in_passing(now), trouble=bool(now.problem)))


def in_passing(progress: Progress) -> str:
    """One line on a run that ended."""
    if progress.report is None:
        return f"the harvest: {progress.problem}"
    results = progress.results.values()
    done = sum(each.outcome == "harvested" for each in results)
    failed = sum(each.outcome in ("failed", "changed") for each in results)
    gone = sum(each.reclaimed for each in results)
    parts = [
        f"harvested {plural(done, 'conversation')}",
        f"{failed} failed" if failed else "",
        f"{gone} reclaimed" if gone else "",
        f"{progress.brake} wait for their number to be typed (L, H)" if progress.brake else "",
        "stopped" if progress.report.stopped else "",
    ]
    return ", ".join(filter(None, parts))
