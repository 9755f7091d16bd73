"""One harvest run. It can outlive the screen that started it, and then reports its end as a notification."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.message import Message

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.harvest.report import HarvestRequest, Report, Result
from tui.kit.messages import Notice
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.knowledge.harvest.classify import Candidate


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run."""

    results: dict[str, Result]
    """By conversation path."""
    current: str = ""
    """The path of the conversation in progress; empty if none is."""
    ended: bool = False
    report: Report | None = None
    """``None`` while the run is in progress, and if it was refused."""
    problem: str = ""
    """Why the run was refused."""
    to_confirm: int = 0
    """The number to confirm, if the run was refused for that."""
    stopping: bool = False
    """The user asked it to stop."""

    @property
    def brake(self) -> int:
        """The number the user must type before that many conversations go to the trash; 0 for none."""
        return max([self.to_confirm, *(each.to_confirm for each in self.results.values())])

    @property
    def held_back(self) -> tuple[str, ...]:
        """The paths of those conversations; empty if the whole run was refused because of them."""
        return tuple(path for path, each in self.results.items() if each.to_confirm)


class HarvestRun:
    """A run. Its methods are thread-safe.

    Args:
        began: Start time on the clock's ``monotonic``.
        before: The progress of an earlier run that this one continues.
    """

    def __init__(
        self, request: HarvestRequest, chosen: Sequence[Candidate], began: float,
        before: Progress | None = None,
    ) -> None:  # fmt: skip
        self.request = request
        self.chosen = tuple(chosen)
        self.began = began
        self._before = before
        self._guard = threading.Lock()
        self._now = Progress(dict(before.results) if before is not None else {})
        self._on_change: Callable[[], object] | None = None
        self._post: Callable[[Message], object] | None = None

    @property
    def progress(self) -> Progress:
        with self._guard:
            return self._now

    def follow(self, on_change: Callable[[], object] | None, post: Callable[[Message], object]) -> None:
        """Reports every change, on the thread that makes it.

        Args:
            on_change: Called after each change; ``None`` if no screen shows the run.
            post: Receives a notification when the run ends and no screen shows it.
        """
        with self._guard:
            self._on_change, self._post = on_change, post

    def carry_out(self, engine: Engine) -> None:
        """Harvests, and returns when the run has ended or was refused."""

        def on_start(path: str) -> None:
            self.started(path)
            if self.progress.stopping:  # the stop came before the harvest could receive it
                harvest.stop()

        try:
            harvest = engine.knowledge.harvest
            self.end(harvest.run(self.request, self.add_result, on_start))
        except (AutopoiesisError, OSError) as error:
            self.end(None, str(error), error.to_confirm if isinstance(error, HarvestRefused) else 0)

    def started(self, path: str) -> None:
        self._set(lambda now: replace(now, current=path))

    def add_result(self, result: Result) -> None:
        def added(now: Progress) -> Progress:
            merged = {**now.results, result.path: self._merged(result)}
            return replace(now, results=merged, current="" if now.current == result.path else now.current)

        self._set(added)

    def stop(self) -> None:
        self._set(lambda now: replace(now, stopping=True))

    def end(self, report: Report | None, problem: str = "", to_confirm: int = 0) -> None:
        def ended(now: Progress) -> Progress:
            whole = report
            if report is not None and self._before is not None and self._before.report is not None:
                whole = replace(report, recovered=self._before.report.recovered + report.recovered)
            return replace(now, current="", ended=True, report=whole, problem=problem, to_confirm=to_confirm)

        self._set(ended)

    def _merged(self, result: Result) -> Result:
        """Keeps what an earlier run wrote if this one only moved the conversation."""
        old = self._before.results.get(result.path) if self._before is not None else None
        if old is None or old.outcome != "harvested" or result.outcome != "harvested":
            return result
        return replace(
            old,
            entry=result.entry or old.entry,
            reclaimed=result.reclaimed,
            kept=result.kept,
            to_confirm=result.to_confirm,
        )

    def _set(self, change: Callable[[Progress], Progress]) -> None:
        with self._guard:
            self._now = now = change(self._now)
            on_change, post = self._on_change, self._post
        if on_change is not None:
            on_change()
        elif now.ended and post is not None:
            post(Notice(summary(now), error=bool(now.problem)))


def summary(progress: Progress) -> str:
    """One line about a run that ended."""
    if progress.report is None:
        return f"harvest: {progress.problem}"
    results = progress.results.values()
    done = sum(each.outcome == "harvested" for each in results)
    failed = sum(each.outcome in ("failed", "changed") for each in results)
    gone = sum(each.reclaimed for each in results)
    parts = [
        f"harvested {plural(done, 'conversation')}",
        f"{failed} failed" if failed else "",
        f"{gone} reclaimed" if gone else "",
        f"{progress.brake} to confirm before they move to the trash (L, then H)" if progress.brake else "",
        "stopped" if progress.report.stopped else "",
    ]
    return ", ".join(filter(None, parts))
