"""The workbench on the sample workspace with the real engine, as a new user sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.tui.conftest import SIZES, Driven
from tests.tui.every_screen import open_workbench


async def test_the_sample_workspace(evening: Path, picture: Callable[[Driven, str], None]) -> None:
    async with open_workbench(evening, SIZES["120x40"]) as driven:
        assert "github-pr-review" in driven.text
        picture(driven, "workbench/sample-120x40-dark")


async def test_a_message_typed_in_the_line_changes_trace_and_gauge(evening: Path) -> None:
    async with open_workbench(evening, SIZES["120x40"]) as driven:
        before = driven.text
        await driven.press("i")
        await driven.type("Der Pegel NSL-04 zeigt seit heute Nacht keine Werte.")
        after = driven.text
        assert "german" in after and "german" not in before
        gauge = next(line for line in before.splitlines() if "P2 topics" in line)
        assert gauge not in after and "P2 topics" in after


async def test_the_workbench_survives_a_deleted_index(evening: Path) -> None:
    async with open_workbench(evening, SIZES["120x40"]) as driven:
        for path in evening.glob("memory.db*"):
            path.unlink()
        await driven.press("i")
        await driven.type("What did Odile ask for last time?")
        assert "people-lookup" in driven.text
        await driven.press("escape")
        assert "1 feed" in driven.text and "github-pr-review" in driven.text
