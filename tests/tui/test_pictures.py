"""Every state of the workbench as a picture: ``pytest --snapshot-update`` draws them anew."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.context.views import DigestView, LedgerView
from engine.errors import AutopoiesisError
from engine.events import GateAsked, IndexProgress
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


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES)
async def test_workbench(run: Run, picture: Picture, size: str, theme: str) -> None:
    async with run(SIZES[size], theme=theme) as driven:
        picture(driven, f"workbench/full-{size}-{theme}")


@pytest.mark.parametrize("theme", ["high-contrast", "colour-blind"])
async def test_other_themes(run: Run, picture: Picture, theme: str) -> None:
    async with run(theme=theme) as driven:
        await driven.press("2")
        picture(driven, f"workbench/full-120x40-{theme}")


async def test_without_colour(run: Run, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with run() as driven:
        await driven.press("2")
        picture(driven, "workbench/no-colour-120x40")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_empty(run: Run, picture: Picture, engine: FakeEngine, size: str) -> None:
    engine.digest_view = DigestView(False, 0, 4096, "")
    engine.ledger_view = LedgerView(())
    engine.status_value = status_view(branch="", dirty=0, topics=0, gate="local", model="")
    async with run(SIZES[size], entries=[]) as driven:
        picture(driven, f"workbench/empty-{size}")


async def test_loading(run: Run, picture: Picture, engine: FakeEngine) -> None:
    still = threading.Event()
    engine.gates["feed"] = still
    async with run(settle=False) as driven:
        await driven.until(lambda: driven.engine.asked("feed"))
        picture(driven, "workbench/loading-120x40")
        still.set()


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_trouble(run: Run, picture: Picture, engine: FakeEngine, size: str) -> None:
    engine.status_value = status_view(
        problems=PROBLEMS, watch_mode="polling", watch_why="the system's limit of watched folders is reached"
    )
    engine.ledger_view = LedgerView((), problem="knowledge/ledger.json is not a ledger: line 1 holds no JSON")
    engine.digest_view = DigestView(True, 5120, 4096, engine.digest_view.text)
    engine.compiled = replace(engine.compiled, problems=("knowledge/facts.md is not UTF-8 text",))
    engine.failing["trace_of"] = AutopoiesisError("cannot be read", where=f"{engine.entries[0].key}")
    async with run(SIZES[size]) as driven:
        picture(driven, f"workbench/trouble-{size}")


async def test_read_only(run: Run, picture: Picture, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with run() as driven:
        driven.engine.publish(IndexProgress(120, 1204))
        await driven.press("2", "question_mark")
        picture(driven, "workbench/read-only-help-120x40")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_gate_question(run: Run, picture: Picture, size: str) -> None:
    async with run(SIZES[size]) as driven:
        driven.engine.publish(ASKED, replace(ASKED, question_id="q2", topic="release-notes"))
        await driven.settle()
        picture(driven, f"workbench/gate-question-{size}")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_help(run: Run, picture: Picture, size: str) -> None:
    async with run(SIZES[size]) as driven:
        await driven.press("question_mark")
        picture(driven, f"workbench/help-{size}")


async def test_filter(run: Run, picture: Picture) -> None:
    async with run() as driven:
        await driven.press("slash")
        await driven.type("mail")
        picture(driven, "workbench/filter-120x40")


async def test_trying(run: Run, picture: Picture) -> None:
    async with run() as driven:
        await driven.press("i")
        await driven.type("please review my PR")
        picture(driven, "workbench/trying-120x40")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_command_line(run: Run, picture: Picture, size: str) -> None:
    async with run(SIZES[size]) as driven:
        await driven.press("colon")
        await driven.type("topics check")
        picture(driven, f"workbench/command-line-{size}")
        await driven.press("enter")
        picture(driven, f"page/command-output-{size}")


async def test_palette(run: Run, picture: Picture) -> None:
    async with run() as driven:
        await driven.press("ctrl+p")
        picture(driven, "workbench/palette-120x40")


@pytest.mark.parametrize(
    ("number", "size"),
    [(1, "80x24"), (2, "80x24"), (3, "80x24"), (4, "80x24"), (5, "80x24"), (2, "120x40"), (5, "120x40")],
)
async def test_enlarged(run: Run, picture: Picture, number: int, size: str) -> None:
    async with run(SIZES[size]) as driven:
        await driven.press(str(number))
        if not driven.bench.zoomed:
            await driven.press("plus")
        picture(driven, f"workbench/enlarged-{number}-{size}")


@pytest.mark.parametrize(("panel", "name"), [("2", "why"), ("4", "ledger-entry"), ("5", "prompt")])
async def test_pages(run: Run, picture: Picture, panel: str, name: str) -> None:
    async with run() as driven:
        await driven.press(panel, "j", "enter")
        picture(driven, f"page/{name}-120x40")


async def test_problems(run: Run, picture: Picture, engine: FakeEngine) -> None:
    engine.status_value = status_view(problems=PROBLEMS)
    async with run() as driven:
        await driven.press("exclamation_mark")
        picture(driven, "page/problems-120x40")


@pytest.mark.parametrize(("row", "name"), [(3, "gate-said-no"), (7, "steering"), (2, "no-message")])
async def test_other_traces(run: Run, picture: Picture, row: int, name: str) -> None:
    async with run() as driven:
        await driven.press("g", *["j"] * row, "2", "j")
        picture(driven, f"workbench/{name}-120x40")


@pytest.mark.parametrize("size", [(59, 24), (80, 15)])
async def test_too_small(run: Run, picture: Picture, size: tuple[int, int]) -> None:
    async with run(size) as driven:
        picture(driven, f"workbench/too-small-{size[0]}x{size[1]}")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with run((60, 16)) as driven:
        picture(driven, "workbench/full-60x16")
