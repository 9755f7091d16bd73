"""The hook log: what was injected at each event, why nothing was, and what failed.

``logs/hooks-YYYY-MM.jsonl``, append-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engine.startup.records import dataclass
from engine.store.monthly import MonthlyLog, Record
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.files import Files

_TAIL_BYTES = 512 * 1024
"""Bytes of each month's file that are searched for a session; anything older counts as never injected."""
_RUNNING = timedelta(hours=1)
CONTINUATIONS = ("resume", "fork")
"""Sources of a session start that continue an earlier session."""
DUPLICATE = "duplicate event: the hooks are installed in two settings files"
"""What the second run for an event says; it injects nothing."""


@dataclass(frozen=True, slots=True)
class HookRun:
    """One hook event and its result."""

    at: str  # ISO 8601, UTC
    agent: str
    moment: str = ""
    session_id: str = ""
    project: str = ""  # slug
    source: str = ""  # of a session start: startup, resume, clear, compact or fork
    parent: str = ""  # the session it was forked from
    ms: int = 0  # time the agent waited, excluding process start
    tokens: int = 0  # injected
    labels: tuple[str, ...] = ()  # of the injected sections
    rules: tuple[str, ...] = ()  # ids of the injected rules
    told: tuple[tuple[str, str], ...] = ()  # standing context: path and lines of each injected section
    injection: str = ""  # id in the injection log
    line: int = 0  # of a compaction: the first transcript line that stays in the agent's context
    keeps_prompt: bool = False  # of a compaction: the last prompt, not answered yet, stays in the context
    said: str = ""  # why nothing was injected, what was not searched, or what was captured
    failed: bool = False

    @property
    def outcome(self) -> str:
        """What was injected, and what was said of it."""
        return "; ".join(filter(None, (", ".join(self.labels), self.said)))


@dataclass(frozen=True, slots=True)
class KnownContext:
    """The injected text that is still in an agent's context."""

    since: str = ""  # when its context was last empty; ISO 8601, UTC; empty if unknown
    line: int = 0  # the first transcript line in its context; 0 for all
    rules: tuple[str, ...] = ()  # ids of the injected rules
    sections: frozenset[tuple[str, str]] = frozenset()  # path and lines of everything else
    announced: HookRun | None = None  # the compaction announced last, if nothing tells whether it took place
    has_ended: bool = False  # whether the agent has ended since it announced that


class HookLog:
    """Writes and reads the hook log."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._months = MonthlyLog(files, "hooks", clock)
        self._clock = clock

    def append(self, run: HookRun) -> None:
        """Appends a run.

        Raises:
            WriteFailed, ReadOnly: It was not logged.
        """
        self._months.append({name: value for name, value in asdict(run).items() if value})

    def backwards(
        self, max_bytes: int | None = None, may_match: Callable[[bytes], bool] | None = None
    ) -> Iterator[HookRun]:
        """Runs, newest first; arguments as for ``MonthlyLog.backwards``."""
        found = map(_run_of, self._months.backwards(max_bytes, may_match=may_match))
        return (run for run in found if run is not None)

    def running(self, project: Sequence[str] = ()) -> str:
        """The session that was at work in the last hour; empty if there is none, or more than one.

        Args:
            project: The names of its project; empty for any.
        """
        since = (self._clock() - _RUNNING).isoformat()
        last: dict[str, str] = {}
        for run in self.backwards(_TAIL_BYTES):
            if run.at < since:
                break
            if run.session_id and (not project or run.project in project):
                last.setdefault(run.session_id, run.moment)
        found = [session for session, moment in last.items() if moment != "session_end"]
        return found[0] if len(found) == 1 else ""

    def known(self, session_id: str) -> KnownContext:
        """What is still in the context of a session's agent. A fork starts with its parent's context."""
        runs: list[HookRun] = []
        wanted = session_id

        def may_match(line: bytes) -> bool:
            return wanted.encode() in line

        for run in self.backwards(_TAIL_BYTES, may_match) if session_id else ():
            if run.session_id != wanted or run.said == DUPLICATE:
                continue
            runs.append(run)
            if _is_start(run) and run.source not in ("compact", *CONTINUATIONS):
                break  # its context began empty
            if run.parent and not run.told:
                wanted = run.parent
        runs.reverse()
        runs.sort(key=lambda run: run.at)  # a capture runs in the background and is logged after later events
        return _replay(runs, session_id)


def _is_start(run: HookRun) -> bool:
    return run.moment == "session_start"


def _replay(runs: Sequence[HookRun], session_id: str) -> KnownContext:
    """What is in the context after a sequence of runs, oldest first.

    An announced compaction may be refused or fail. It took place if a session start says so, if a prompt has
    found it in the log (``line``), or if the log has a summary when the agent stops.
    """
    known = KnownContext()
    prompt: HookRun | None = None  # the last one
    announced: HookRun | None = None
    has_ended = False
    is_counted = False  # whether the compaction that the log shows when the agent stops counts already
    for run in runs:
        # A parent's lines refer to its own transcript.
        line = run.line if run.session_id == session_id else 0
        if run.moment == "pre_compact":
            announced, has_ended, is_counted = replace(run, line=line), False, False
        elif run.moment == "prompt":
            if run.line or run.told:
                known = _known_after(run, line or known.line)
            prompt, announced, is_counted = run, None, is_counted or bool(run.line)
        elif _is_start(run):
            if run.told or run.source not in CONTINUATIONS:
                known = _after_start(run, known, announced, prompt)
                announced, is_counted = None, announced is not None
        elif run.moment == "session_end":
            has_ended = True
        elif run.line and is_counted:
            known = replace(known, line=line)
        elif run.line:
            # A compaction noticed when the agent stopped came before that turn's prompt.
            known = _known_after(prompt, line) if prompt is not None else KnownContext(run.at, line)
        if run.moment == "stop":
            announced, is_counted = None, False
    return replace(known, announced=announced, has_ended=has_ended)


def _after_start(
    run: HookRun, known: KnownContext, announced: HookRun | None, prompt: HookRun | None
) -> KnownContext:
    """What is in the context after a session start."""
    if run.source in CONTINUATIONS and known.since and announced is None:
        return replace(known, rules=run.rules, sections=frozenset(run.told))
    if run.source not in ("compact", *CONTINUATIONS):
        return _known_after(run, 0)
    after = _known_after(run, announced.line if announced is not None else known.line)
    if announced is not None and announced.keeps_prompt and prompt is not None:
        return replace(after, since=prompt.at)
    return after


def _known_after(run: HookRun, line: int) -> KnownContext:
    return KnownContext(since=run.at, line=line, rules=run.rules, sections=frozenset(run.told))


def _run_of(record: Record) -> HookRun | None:
    try:
        return typed(HookRun, record)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
