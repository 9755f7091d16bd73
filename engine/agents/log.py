"""The log of hooks: what an agent was told at which event, why nothing was, and what failed.

``logs/hooks-YYYY-MM.jsonl``, append-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        """What the agent of a session holds of what it was told."""
        known, own, resumed = Known(), session_id, ""
        compacted: HookRun | None = None
        for run in self.backwards(_LOOKED_BACK) if session_id else ():
            if run.session_id != session_id:
                continue
            if compacted is not None and run.at < compacted.at:
                # Where a log told of it afterwards, what the last prompt brought stands behind the summary.
                is_late = compacted.moment == "stop" and known.since == compacted.at
                if is_late and run.moment != "prompt":
                    continue
                held = replace(known, since=run.at, rules=run.rules, told=frozenset(run.told))
                return held if is_late else known
            if run.line:
                # Noted when it was captured: what was told since may stand before it.
                compacted, line = run, run.line if session_id == own else 0  # another's is of another's
                known = replace(known, since=run.at if known.since == resumed else known.since, line=line)
            elif (run.moment == "session_start" and run.source not in GOES_ON) or run.told:
                if run.at > known.since:
                    known = replace(known, since=run.at, rules=run.rules, told=frozenset(run.told))
                    resumed = run.at if run.source in GOES_ON else ""
                elif known.since == resumed and run.source not in GOES_ON:
                    known = replace(known, since=run.at)  # it went on, and holds what it was told before
                if run.moment == "session_start" and run.source not in ("compact", *GOES_ON):
                    return known
            elif run.parent:  # what that one was told until then, this one holds
                session_id = run.parent
        return known


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
