"""Hostile text in paths, errors, lines, reasons and models: ledger and harvest show it as text only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import AutopoiesisError, LedgerBroken
from engine.knowledge.harvest.report import Report, Result, Survey
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from tests.tui.conftest import Run
from tests.tui.fake_engine import FakeEngine
from tests.tui.ledger_data import CANDIDATES, FAILED, HARVESTED, harvested
from tests.tui.ledger_driven import Prepare, auditing, harvesting
from tests.tui.test_hostile_text import HOSTILE, TOGETHER, assert_harmless, each_alone


def poisoned(text: str) -> Prepare:
    """A ledger and a harvest that hold a text wherever they can."""

    def prepare(engine: FakeEngine) -> None:
        ledger = engine.knowledge.ledger
        line = LedgerLine("x", text, text)
        ledger.known = {
            HARVESTED: LedgerEntry(
                text, "harvested", text, {text: 3}, lines=(line, replace(line, path="knowledge/facts.md")),
                held=(text,), provider=text, model=text, size=4, shown=4,
            ),
            FAILED: LedgerEntry(text, "harvest-failed", text, error=text, provider=text),
        }  # fmt: skip
        bad = [
            replace(each, path=f"conversations/{text}{at}", why=text) for at, each in enumerate(CANDIDATES)
        ]
        ledger.surveyed = Survey(tuple(bad), text, text)
        entry = replace(ledger.known[HARVESTED], items={text: 3})
        ledger.reported = [
            Report(
                (
                    Result(bad[0].path, 3, "failed", ledger.known[FAILED], error=text),
                    harvested(bad[2].path, 4, entry=entry, kept=text),
                ),
                recovered=(text,),
                stopped=text,
            )
        ]

    return prepare


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_each_is_shown_as_text(run: Run, size: tuple[int, int]) -> None:
    async with auditing(run, size) as driven:
        await each_alone(driven, lambda text: poisoned(text)(driven.engine))
        await driven.press("H")
        await each_alone(driven, lambda text: poisoned(text)(driven.engine))


@pytest.mark.parametrize("text", TOGETHER)
async def test_nothing_of_it_acts_in_the_ledger(run: Run, text: str) -> None:
    async with auditing(run, (80, 24), prepare=poisoned(text)) as driven:
        assert driven.screen.entries.row_count == 2
        for keys in (["v"], ["2", "G", "y"], ["Y", "1", "j"], ["y", "Y", "r"], ["escape", "slash"]):
            await driven.press(*keys)
            assert_harmless(driven)


@pytest.mark.parametrize("text", TOGETHER)
async def test_nothing_of_it_acts_in_a_harvest(run: Run, text: str) -> None:
    async with harvesting(run, (80, 24), prepare=poisoned(text)) as driven:
        assert_harmless(driven)
        for key in ("enter", "enter", "enter", "Y"):
            await driven.press(key)
            assert_harmless(driven)
        assert driven.step == "result"


async def test_as_an_error(run: Run) -> None:
    async with auditing(run) as driven:
        for text in HOSTILE:
            failed = AutopoiesisError(text, where=text, cure=text)
            for failing in (
                {"entries": LedgerBroken(text, where=text, cure=text), "check": failed},
                {"survey": failed, "check": failed},
            ):
                driven.engine.failing = dict(failing)
                driven.app.clear_notifications()
                await driven.press("ctrl+r")
                assert_harmless(driven)
            await driven.press("H")
            assert_harmless(driven)
            await driven.press("escape")
            assert driven.is_open(), repr(text)
