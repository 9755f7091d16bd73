"""The log of hooks: what an agent was told at which event, why nothing was, and what failed.

``logs/hooks-YYYY-MM.jsonl``, append-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.store.monthly import MonthlyLog, Record, list_in, text_in, whole_in

if TYPE_CHECKING:
    from engine.store.files import Files

_LOOKED_BACK = 512 * 1024
"""Bytes of each month's file in which a session is looked for; of one further back all is forgotten."""
GOES_ON = ("resume", "fork")
"""Why a session starts that has been told something before."""


@dataclass(frozen=True, slots=True)
class HookRun:
    """One event of an agent, and what came of it."""

    at: str  # ISO 8601, UTC
    agent: str
    moment: str
    session_id: str = ""
    project: str = ""  # slug
    source: str = ""  # why a session starts
    parent: str = ""  # the session that it was forked from
    ms: int = 0  # that the agent waited, without the start of the process
    tokens: int = 0  # that it was told
    labels: tuple[str, ...] = ()  # of the sections that it was told
    rules: tuple[str, ...] = ()  # ids of the rules among them
    told: tuple[tuple[str, str], ...] = ()  # of a ``session_start``: path and lines of what it was told
    injection: str = ""  # id in the injection log
    line: int = 0  # after a compaction: the first line of the transcript that the agent holds from then on
    said: str = ""  # in one clause: why nothing was said, or what was captured
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What an agent holds of what it was told in a session."""

    since: str = ""  # when it last began with nothing; ISO 8601, UTC; empty where it never did
    line: int = 0  # the first line of its transcript that it holds; 0 for all of it
    rules: tuple[str, ...] = ()  # ids of the rules that it was told then
    told: frozenset[tuple[str, str]] = frozenset()  # path and lines of what else


class HookLog:
    """Writes and reads the log."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._months = MonthlyLog(files, "hooks", clock)

    def append(self, run: HookRun) -> None:
        """Adds one.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._months.append({name: value for name, value in asdict(run).items() if value})

    def backwards(self, most: int | None = None) -> Iterator[HookRun]:
        """Newest first; ``most`` bytes of each month's file."""
        found = map(_run_of, self._months.backwards(most))
        return (run for run in found if run is not None)

    def known(self, session_id: str) -> Known:
        """What the agent of a session still holds of what it was told. A fork holds what its parent had been
        told until then.
        """
        runs: list[HookRun] = []
        wanted = session_id
        for run in self.backwards(_LOOKED_BACK) if session_id else ():
            if run.session_id != wanted:
                continue
            runs.append(run)
            if _is_start(run) and run.source not in ("compact", *GOES_ON):
                break  # it began with nothing
            if run.parent and not run.told:
                wanted = run.parent
        runs.reverse()
        runs.sort(key=lambda run: run.at)  # a capture runs in the background and is logged after later events
        return _held(runs, session_id)


def _is_start(run: HookRun) -> bool:
    return run.moment == "session_start"


def _held(runs: Sequence[HookRun], session_id: str) -> Known:
    """What is held after some events, oldest first."""
    known = Known()
    prompt: HookRun | None = None  # the last one
    for run in runs:
        if run.line:
            line = (
                run.line if run.session_id == session_id else 0
            )  # a parent's lines are of its own transcript
            # A compaction noticed when the agent stopped came before that turn's prompt.
            begun = prompt if run.moment == "stop" and prompt is not None else None
            known = _told_in(begun, line) if begun else Known(since=run.at, line=line)
        elif run.told or (_is_start(run) and run.source not in GOES_ON):
            if run.source in GOES_ON and known.since:
                known = replace(known, rules=run.rules, told=frozenset(run.told))
            else:
                is_new = _is_start(run) and run.source not in ("compact", *GOES_ON)
                known = _told_in(run, 0 if is_new else known.line)
        if run.moment == "prompt":
            prompt = run
    return known


def _told_in(run: HookRun, line: int) -> Known:
    return Known(since=run.at, line=line, rules=run.rules, told=frozenset(run.told))


def _run_of(record: Record) -> HookRun | None:
    try:
        return HookRun(
            at=text_in(record["at"]),
            agent=text_in(record["agent"]),
            moment=text_in(record.get("moment", "")),
            ms=whole_in(record.get("ms", 0)),
            tokens=whole_in(record.get("tokens", 0)),
            line=whole_in(record.get("line", 0)),
            failed=record.get("failed") is True,
            labels=tuple(map(text_in, list_in(record.get("labels", [])))),
            rules=tuple(map(text_in, list_in(record.get("rules", [])))),
            told=tuple((text_in(path), text_in(lines)) for path, lines in list_in(record.get("told", []))),
            **{
                name: text_in(record.get(name, ""))
                for name in ("session_id", "project", "source", "parent", "injection", "said")
            },
        )
    except (KeyError, TypeError, ValueError):
        return None
