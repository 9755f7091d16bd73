"""Snapshots of the workbench; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.context.views import DigestView, LedgerView
from engine.errors import AutopoiesisError
from engine.events import GateAsked
from engine.live.feed import FeedEntry
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import NOW, PROBLEMS, REVIEW, FakeEngine, status_view

Picture = Callable[[Driven, str], None]

ASKED = GateAsked(
    at=NOW,
    question_id="q1",
    topic="code-style",
    message=REVIEW,
    description="House rules for code: names, comments, logging, tests.",
    deadline_s=30.0,
)


@pytest.mark.parametrize("size", SIZES)
async def test_workbench(run: Run, picture: Picture, size: str) -> None:
    async with run(SIZES[size]) as driven:
        picture(driven, f"workbench/full-{size}-dark")


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind", "sixteen"])
async def test_other_themes(run: Run, picture: Picture, theme: str) -> None:
    async with run(theme=theme) as driven:
        await driven.press("2")
        picture(driven, f"workbench/full-120x40-{theme}")


async def test_without_colour(run: Run, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with run() as driven:
        await driven.press("2")
        picture(driven, "workbench/no-colour-120x40")


async def test_an_empty_no_color_counts_as_not_set(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    async with run() as driven:
        assert not driven.app.no_color and not driven.app.native_ansi_color


async def test_empty(run: Run, picture: Picture, engine: FakeEngine) -> None:
    engine.digest_view = DigestView(False, 0, 4096, "")
    engine.ledger_view = LedgerView(())
    engine.status_value = status_view(branch="", dirty=0, topics=0, gate="local", model="")
    async with run(SIZES["80x24"], entries=[]) as driven:
        picture(driven, "workbench/empty-80x24")


async def test_new_memory(run: Run, picture: Picture, engine: FakeEngine) -> None:
    engine.digest_view = DigestView(False, 0, 4096, "")
    engine.ledger_view = LedgerView(())
    engine.status_value = status_view(dirty=0, topics=1, gate="local", model="")
    entries = [FeedEntry(NOW, "commit", "maintenance: a new memory", "7473ebc")]
    async with run(SIZES["120x40"], entries=entries) as driven:
        picture(driven, "workbench/new-120x40")


async def test_loading(run: Run, picture: Picture, engine: FakeEngine) -> None:
    release = threading.Event()
    engine.blocked["feed"] = release
    async with run(settle=False) as driven:
        await driven.until(lambda: driven.engine.calls_of("feed"))
        picture(driven, "workbench/loading-120x40")
        release.set()


async def test_error(run: Run, picture: Picture, engine: FakeEngine) -> None:
    engine.status_value = status_view(
        problems=PROBLEMS, watch_mode="polling", watch_why="the system's limit of watched folders is reached"
    )
    engine.ledger_view = LedgerView((), problem="knowledge/ledger.json is not a ledger: line 1 holds no JSON")
    engine.digest_view = DigestView(True, 5120, 4096, engine.digest_view.text)
    engine.compiled = replace(engine.compiled, problems=("knowledge/facts.md is not UTF-8 text",))
    engine.failing["trace_of"] = AutopoiesisError("cannot be read", where=f"{engine.entries[0].key}")
    async with run(SIZES["80x24"]) as driven:
        picture(driven, "workbench/error-80x24")


async def test_gate_question(run: Run, picture: Picture) -> None:
    async with run(SIZES["120x40"]) as driven:
        driven.engine.publish(ASKED, replace(ASKED, question_id="q2", topic="release-notes"))
        await driven.settle()
        picture(driven, "workbench/gate-question-120x40")


async def test_filter(run: Run, picture: Picture) -> None:
    async with run() as driven:
        await driven.press("slash")
        await driven.type("mail")
        picture(driven, "workbench/filter-120x40")


async def test_command_line(run: Run, picture: Picture) -> None:
    async with run(SIZES["80x24"]) as driven:
        await driven.press("colon")
        await driven.type("topics check")
        picture(driven, "workbench/command-line-80x24")
        await driven.press("enter")
        picture(driven, "page/command-output-80x24")


async def test_palette(run: Run, picture: Picture) -> None:
    async with run() as driven:
        await driven.press("ctrl+p")
        picture(driven, "workbench/palette-120x40")


async def test_enlarged(run: Run, picture: Picture) -> None:
    async with run(SIZES["80x24"]) as driven:
        for number in (1, 2, 3, 4, 5):
            await driven.press(str(number))
            if not driven.bench.zoomed:
                await driven.press("plus")
            assert driven.zoomed() == driven.panel()
            if number == 2:
                picture(driven, "workbench/enlarged-2-80x24")


async def test_why(run: Run, picture: Picture) -> None:
    async with run() as driven:
        await driven.press("2", "j", "enter")
        picture(driven, "page/why-120x40")


async def test_problems(run: Run, picture: Picture, engine: FakeEngine) -> None:
    engine.status_value = status_view(problems=PROBLEMS)
    async with run() as driven:
        await driven.press("exclamation_mark")
        picture(driven, "page/problems-120x40")


@pytest.mark.parametrize(("row", "name"), [(3, "gate-said-no"), (7, "steering")])
async def test_other_traces(run: Run, picture: Picture, row: int, name: str) -> None:
    async with run() as driven:
        await driven.press("g", *["j"] * row, "2", "j")
        picture(driven, f"workbench/{name}-120x40")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with run((60, 16)) as driven:
        picture(driven, "workbench/full-60x16")
