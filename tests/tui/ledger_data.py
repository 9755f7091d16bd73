"""Fakes of the ledger, the harvest and the trash, with fixed data."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.knowledge.harvest.classify import Candidate, Kind
from engine.knowledge.harvest.reclaim import Reclaimer
from engine.knowledge.harvest.report import HarvestRequest, Report, Result, Survey
from engine.knowledge.harvest.run import Harvest
from engine.knowledge.item import Item, KnownItem
from engine.knowledge.ledger import Ledger, LedgerEntry, LedgerLine
from engine.knowledge.verify import CheckedEntry, CheckedLine, SourceState

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine

FACTS, DECISIONS = "knowledge/facts.md", "knowledge/decisions.md"
HARVESTED, RECLAIMED, FAILED, UNHARVESTED, LARGE, LOST = (str(number) * 64 for number in range(1, 7))
INVALID = "harvest output invalid after 2 attempts: Expecting value: line 1 column 1 (char 0)"


def line(number: int, path: str, text: str) -> LedgerLine:
    """A line written by a harvest."""
    return LedgerLine(f"item{number}", path, f"- {text} [from: 2026-06-12-schema, 2026-06-12]")


LINES = (
    line(1, FACTS, "CI runs on two cores, and the third job waits for the first"),
    line(2, FACTS, "Staging is rebuilt on Mondays"),
    line(3, DECISIONS, "Files are the truth; the database is a cache that may go at any moment"),
)


def entries() -> dict[str, LedgerEntry]:
    """One entry of each status, oldest first as in the file."""
    return {
        LOST: LedgerEntry(
            "conversations/2026-06-01-old.md", "harvested", "2026-06-01T08:00:00+00:00", {"facts": 1},
            lines=(LINES[1],), provider="markers", size=900, shown=900,
        ),
        LARGE: LedgerEntry(
            "conversations/2026-06-05-export.jsonl", "too-large", "2026-06-06T09:00:00+00:00", size=2_400_000,
            error="it is larger than 1 MB, and is kept",
        ),
        UNHARVESTED: LedgerEntry(
            "conversations/2026-06-07-test.md", "deleted-unharvested", "2026-06-08T09:00:00+00:00",
            deleted=True, size=120,
        ),
        FAILED: LedgerEntry(
            "conversations/2026-06-10-parser.md", "harvest-failed", "2026-06-10T10:00:00+00:00",
            provider="anthropic", model="claude-haiku-4-5", input_tokens=900, output_tokens=40,
            cost_usd=0.001, size=3_600, error=INVALID,
        ),
        RECLAIMED: LedgerEntry(
            "conversations/2026-06-11-quota.md", "harvested", "2026-06-11T21:00:00+00:00",
            {"facts": 2, "tasks_open": 1}, deleted=True, lines=LINES[:2], provider="anthropic",
            model="claude-haiku-4-5", input_tokens=4_000, output_tokens=300, cost_usd=0.0055, size=71_000,
            shown=71_000, summarised=True,
        ),
        HARVESTED: LedgerEntry(
            "conversations/2026-06-12-schema.md", "harvested", "2026-06-12T14:23:45+00:00",
            {"facts": 3, "decisions": 2, "questions": 1}, lines=LINES, known=2, held=("item8", "item9"),
            provider="anthropic", model="claude-haiku-4-5", input_tokens=2_345, output_tokens=410,
            cost_usd=0.0044, size=9_400, shown=9_400,
        ),
    }  # fmt: skip


SOURCES: dict[str, SourceState] = {
    HARVESTED: "there",
    RECLAIMED: "in trash",
    FAILED: "there",
    UNHARVESTED: "in history",
    LARGE: "there",
    LOST: "lost",
}


def candidate(name: str, kind: Kind, why: str, size: int, sha256: str = "") -> Candidate:
    """A conversation found by the survey."""
    return Candidate(
        f"conversations/{name}", kind, why, size, sha256, text_size=size if kind == "harvest" else 0
    )


CANDIDATES = (
    candidate("2026-06-10-parser.md", "harvest", f"failed on 2026-06-10: {INVALID}", 3_600, FAILED),
    candidate(
        "2026-06-11-export.jsonl",
        "keep",
        "has 2,400,000 bytes of text, more than the maximum of 1,048,576",
        2_400_000,
        LARGE,
    ),
    candidate("2026-06-12-deploy.md", "harvest", "is not harvested yet", 14_200, "a" * 64),
    candidate("2026-06-12-mails.md", "harvest", "is not harvested yet", 6_100, "b" * 64),
    candidate("2026-06-12-now.md", "live", "was written to moments ago", 812),
    candidate("2026-06-12-schema.md", "prune", "was harvested on 2026-06-12", 9_400, HARVESTED),
    candidate("letters.md", "user-kept", "kept by a person", 5_300),
)
DEPLOY, MAILS, PARSER, SCHEMA = (CANDIDATES[at].path for at in (2, 3, 0, 5))


def harvest_result(path: str, size: int, **changes: object) -> Result:
    """The result of a conversation from which items were harvested."""
    entry = LedgerEntry(
        path, "harvested", "2026-06-12T18:47:30+00:00", {"facts": 2, "decisions": 1}, known=1,
        held=("item7",), provider="anthropic", model="claude-haiku-4-5", input_tokens=3_550,
        output_tokens=260, cost_usd=0.0049, size=size, shown=size,
    )  # fmt: skip
    result = Result(path, size, "harvested", entry, is_new=True, items=entry.items, held=1)
    return replace(result, **changes)  # type: ignore[arg-type]


KNOWN_ITEM = KnownItem(
    Item("facts", "The pool holds 20 connections."), "knowledge/facts.md", 12,
    "- The pool holds 20 connections. [from: 2026-05-28-pool, 2026-05-28]", 1.0,
)  # fmt: skip
BRAKE = "2 would go to the trash, over half of 3; confirm the number with: --reclaim 2"


def results(kept: str = "", to_confirm: int = 0) -> tuple[Result, ...]:
    """The results of all conversations; with ``kept``, none is reclaimed, for that reason."""
    failed = LedgerEntry(
        PARSER, "harvest-failed", "2026-06-12T18:47:30+00:00", provider="anthropic", model="claude-haiku-4-5",
        input_tokens=900, output_tokens=40, cost_usd=0.0011, size=3_600, error=INVALID,
    )  # fmt: skip
    reclaim = {"kept": kept, "to_confirm": to_confirm} if kept else {"reclaimed": True}
    return (
        Result(PARSER, 3_600, "failed", failed, error=INVALID),
        harvest_result(DEPLOY, 14_200, known=(KNOWN_ITEM,), **reclaim),
        harvest_result(MAILS, 6_100, kept="no items found (--reclaim-empty)"),
        Result(SCHEMA, 9_400, "harvested", entries()[HARVESTED], **reclaim),
    )


class FakeLedger(Ledger):
    """The entries, and the survey and reports of the fake harvest; calls are recorded."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.known = entries()
        self.sources = dict(SOURCES)
        self.surveyed = Survey(CANDIDATES, "anthropic", "claude-haiku-4-5")
        self.reported: list[Report] = []
        """The reports of the next runs, in order; then the default report."""

    def entries(self) -> dict[str, LedgerEntry]:
        """Records the call."""
        self._engine.record("entries")
        return dict(self.known)

    def rebuild(self) -> tuple[int, int]:
        """Records the call and makes the ledger readable again."""
        self._engine.record("rebuild")
        self._engine.failing.pop("entries", None)
        return len(self.known), 2

    def checked(self, sha256: str) -> CheckedEntry:
        """The check of an entry: its first line is there, the second edited, the third gone."""
        entry = self.known[sha256]
        lines: list[CheckedLine] = []
        for at, each in enumerate(entry.lines):
            state = ("there", "edited", "gone")[at % 3]
            place = ("", 0) if state == "gone" else (each.path, 7 + 5 * at)
            lines.append(CheckedLine(each, state, *place))  # type: ignore[arg-type]
        return CheckedEntry(sha256, entry, self.sources.get(sha256, "there"), tuple(lines))


class FakeHarvest(Harvest):
    """Harvests with fixed results; calls are recorded."""

    def __init__(self, engine: FakeEngine, ledger: FakeLedger) -> None:
        self._engine = engine
        self.canned = ledger

    def survey(self, *, transcripts: bool | None = None, named: Collection[str] = ()) -> Survey:
        """Records the call."""
        self._engine.record("survey", transcripts)
        return self.canned.surveyed

    def run(
        self,
        request: HarvestRequest,
        on_result: Callable[[Result], None] = lambda _result: None,
        on_start: Callable[[str], None] = lambda _path: None,
    ) -> Report:
        """Reports every result; blocks at a conversation while ``blocked["harvest PATH"]`` is not set."""
        self._engine.record("harvest", request)
        reported = self.canned.reported
        report = reported.pop(0) if reported else Report(results())
        done: list[Result] = []
        for result in report.results:
            if request.paths and result.path not in request.paths:
                continue
            on_start(result.path)
            self._engine.record(f"harvest {result.path}")
            done.append(replace(result, reclaimed=False, kept=""))
            on_result(done[-1])
            if self._engine.calls_of("stop harvest"):
                return Report(tuple(done), stopped="stopped")
        for result in report.results:
            if result.reclaimed or result.kept:
                on_result(result)
        return report

    def stop(self) -> None:
        """Records the call, which ends a run after the current conversation."""
        self._engine.record("stop harvest")


class FakeReclaimer(Reclaimer):
    """Restores conversations in the fake ledger."""

    def __init__(self, engine: FakeEngine, ledger: FakeLedger) -> None:
        self._engine = engine
        self.canned = ledger

    def restore(self, sha256: str) -> str:
        """Records the call and marks the conversation as restored."""
        self._engine.record("restore", sha256)
        known = self.canned.known
        self.canned.sources[sha256] = "there"
        known[sha256] = replace(known[sha256], deleted=False, restored=True)
        return known[sha256].path
