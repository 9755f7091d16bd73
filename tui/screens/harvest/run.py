"""One run of a harvest. It outlives the screen that began it, and then says in passing how it ended."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.message import Message

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.report import HarvestRequest, Report, Result
from tui.kit.messages import Said
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.harvest.classify import Candidate

_BRAKE = re.compile(r"(\d+) would go to the trash")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    results: dict[str, Result]
    """What became of conversations, by path."""
    current: str = ""
    """The conversation that is under way; empty where none is."""
    ended: bool = False
    """Nothing more will come."""
    report: Report | None = None
    """What was done; ``None`` while it goes on, and where it was refused."""
    problem: str = ""
    """Why it was refused."""
    stopping: bool = False
    """A person has asked it to stop."""

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
        chosen: The conversations it is about, in order.
        began: When, as the clock's ``monotonic`` has it.
        before: What an earlier run gave that this one goes on with.
    """

    def __init__(
        self, wish: HarvestRequest, chosen: Sequence[Candidate], began: float, before: Progress | None = None
    ) -> None:
        self.wish = wish
        self.chosen = tuple(chosen)
        self.began = began
        self._before = before
        self._guard = threading.Lock()
        self._now = Progress(dict(before.results) if before is not None else {})
        self._watched: Callable[[], object] | None = None
        self._passing: Callable[[Message], object] | None = None

    @property
    def progress(self) -> Progress:
        """How far it is."""
        with self._guard:
            return self._now

    def follow(self, watched: Callable[[], object] | None, passing: Callable[[Message], object]) -> None:
        """Has every change announced, on the thread that makes it.

        Args:
            watched: Called after each change; ``None`` where no screen shows the run.
            passing: Takes one line when it ends and no screen shows it.
        """
        with self._guard:
            self._watched, self._passing = watched, passing

    def carry_out(self, engine: Engine) -> None:
        """Harvests, and returns when nothing more will come; a refusal ends the run as well."""

        def on_start(path: str) -> None:
            self.started(path)
            if self.progress.stopping:  # it was asked to stop before it had begun to listen
                harvest.stop()

        try:
            harvest = engine.knowledge.harvest
            self.end(harvest.run(self.wish, self.came, on_start))
        except (AutopoiesisError, OSError) as error:
            self.end(None, str(error))

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
            watched()
        elif now.ended and passing is not None:
            passing(Said(in_passing(now), error=bool(now.problem)))


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
