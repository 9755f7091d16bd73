"""Probe results, run by run: ``logs/probes-YYYY-MM.jsonl``, append-only (design 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from engine.probes.model import Comparison, Evidence, Result, Run, Turned
from engine.store.monthly import MonthlyLog, Record

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "probes"

Found = dict[str, bool]
"""Whether each expectation, as text, was found."""


class Earlier(NamedTuple):
    """A recorded result of one probe."""

    at: str  # ISO 8601, UTC
    commit: str  # the newest commit then, if any
    budget: int  # tokens; 0 if no prompt could be compiled
    tokens: int  # of its prompt
    found: Found


class ProbeLog:
    """Records runs and reads earlier results."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._months = MonthlyLog(files, KIND, clock)

    def record(self, run: Run, asked: int | None) -> None:
        """Records a run, without the questions, which are in ``probes.yaml``.

        ``asked`` is the budget requested for the whole run, in tokens.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        results = []
        for result in run.results:
            evidence = [
                _fields(each, "expect", "found", "section", "rank", "why") for each in result.evidence
            ]
            results.append({**_fields(result, "id", "tokens", "budget"), "evidence": evidence})
        self._months.append(
            {
                **_fields(run, "at", "commit"),
                "asked": asked,
                "recall": round(run.recall, 4),
                **_fields(run, "expectations", "found"),
                "mean_rank": None if run.mean_rank is None else round(run.mean_rank, 2),
                "tokens": run.tokens,
                "results": results,
            }
        )

    def latest(self, ids: Iterable[str]) -> dict[str, Earlier]:
        """The last recorded result of each probe that has one."""
        return self._find(set(ids), lambda _record: True)

    def compare(self, run: Run, asked: int | None) -> Comparison:
        """Compares a run with the last result of each probe under the same ``asked`` budget.

        With a different budget, lost evidence says nothing about the memory.
        """
        earlier = self._find(
            {result.id for result in run.results}, lambda record: record.get("asked") == asked
        )
        lost: list[Turned] = []
        gained: list[Turned] = []
        compared = 0
        for result in run.results:
            before = earlier[result.id].found if result.id in earlier else {}
            for each in result.evidence:
                if each.expect in before:
                    compared += 1
                    if each.found != before[each.expect]:
                        (gained if each.found else lost).append(Turned(result.id, each.expect))
        newest = max(earlier.values(), key=lambda each: each.at, default=Earlier("", "", 0, 0, {}))
        return Comparison(newest.at, newest.commit, compared, tuple(lost), tuple(gained))

    def _find(self, wanted: set[str], accept: Callable[[Record], bool]) -> dict[str, Earlier]:
        found: dict[str, Earlier] = {}
        if not wanted:
            return found
        for record in self._months.backwards():
            if accept(record):
                for name, earlier in _results(record).items():
                    if name in wanted:
                        found.setdefault(name, earlier)
            if len(found) == len(wanted):
                break
        return found


def _fields(value: Evidence | Result | Run, *names: str) -> Record:
    return {name: getattr(value, name) for name in names}


def _results(record: Record) -> dict[str, Earlier]:
    """The results of a recorded run by probe; empty for an invalid record."""
    try:
        at, commit = record["at"], record["commit"]
        found = {
            result["id"]: Earlier(
                at,
                commit,
                result["budget"] + 0,
                result["tokens"] + 0,
                {each["expect"]: each["found"] is True for each in result["evidence"]},
            )
            for result in record["results"]
        }
    except (KeyError, TypeError):
        return {}
    texts = (at, commit, *found, *(name for earlier in found.values() for name in earlier.found))
    return found if all(isinstance(text, str) for text in texts) else {}
