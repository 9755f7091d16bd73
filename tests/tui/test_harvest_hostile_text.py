"""Hostile text in paths, errors, lines, reasons and models is shown only as text by every harvest step."""

from __future__ import annotations

from dataclasses import replace

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.report import Report, Result, Survey
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from tests.tui.conftest import Run
from tests.tui.fake_engine import FakeEngine
from tests.tui.ledger_data import CANDIDATES, FAILED, HARVESTED, harvest_result
from tests.tui.screen_driven import Prepare, open_harvest
from tests.tui.test_hostile_text import COMBINED, assert_each_harmless, assert_harmless


def poisoned(text: str) -> Prepare:
    """Fills a ledger and a harvest with a text in every field."""

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
                    harvest_result(bad[2].path, 4, entry=entry, kept=text),
                ),
                recovered=(text,),
                stopped=text,
            )
        ]

    return prepare


async def test_a_harvest_shows_hostile_text_as_text(run: Run) -> None:
    async with open_harvest(run, (80, 24)) as driven:
        for size in ((80, 24), (200, 60)):
            await driven.resize(*size)
            await assert_each_harmless(driven, lambda text: poisoned(text)(driven.engine))
        await driven.resize(80, 24)
        driven.ledger.reported.clear()
        poisoned(COMBINED)(driven.engine)
        await driven.press("ctrl+r")
        for key in ("enter", "enter", "Y"):
            await driven.press(key)
            assert_harmless(driven)
        assert driven.step == "result" and len(driven.requests()) == 1
        await driven.press("H")
        assert driven.step == "pick"
        driven.engine.failing = {"survey": AutopoiesisError(COMBINED, where=COMBINED, hint=COMBINED)}
        driven.app.clear_notifications()
        await driven.press("ctrl+r")
        assert_harmless(driven)
        assert driven.is_open()
