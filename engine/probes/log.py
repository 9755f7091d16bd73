"""What became of probes, run by run: ``logs/probes-YYYY-MM.jsonl``, append-only (design 2)."""

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
"""By expectation, as text, whether it was found."""


class Earlier(NamedTuple):
    """What was recorded of one probe."""

    at: str  # ISO 8601, UTC
    commit: str  # the newest one then; empty without one
    budget: int  # tokens; 0 where no prompt could be made
    tokens: int  # of its prompt
    found: Found


class ProbeLog:
    """Records runs and finds earlier results."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._months = MonthlyLog(files, KIND, clock)

    def record(self, run: Run, asked: int | None) -> None:
        """Records a run; the questions themselves stand in ``probes.yaml``.

        ``asked`` is the budget that was asked for all of it, tokens.

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
        """A run beside the last recorded result of each of its probes under the same ``asked`` budget.

        Where the budget is another, losing evidence says nothing about the memory.
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

    def _find(self, wanted: set[str], like: Callable[[Record], bool]) -> dict[str, Earlier]:
        found: dict[str, Earlier] = {}
        if not wanted:
            return found
        for record in self._months.backwards():
            if like(record):
                for name, earlier in _results(record).items():
                    if name in wanted:
                        found.setdefault(name, earlier)
            if len(found) == len(wanted):
                break
        return found


def _fields(value: Evidence | Result | Run, *names: str) -> Record:
    return {name: getattr(value, name) for name in names}


def _results(record: Record) -> dict[str, Earlier]:
    """The results of a recorded run by probe; none of a record of another form."""
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
