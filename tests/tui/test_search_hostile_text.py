"""Hostile text in queries, results, files and errors: the search screen shows it as text, only as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import AutopoiesisError
from engine.search.reports import Skipped
from engine.search.results import SearchResult
from tests.tui.conftest import Run
from tests.tui.search_data import READY, RESULTS, SESSION
from tests.tui.search_driven import searching
from tests.tui.test_hostile_text import HOSTILE, TOGETHER, assert_harmless, each_alone


def poisoned(text: str) -> tuple[SearchResult, ...]:
    """Results that hold a text wherever they can, and a word that is searched for."""
    return tuple(
        replace(
            RESULTS[0],
            path=f"knowledge/{text}/{number}.md",
            start_line=number + 1,
            end_line=number + 2,
            category=text,  # type: ignore[arg-type]
            heading=f"pool {text}",
            date=text,
            snippet=f"pool {text} pool",
            text=f"pool {text}\n{text} pool",
            why=text,
        )
        for number in range(3)
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_each_is_shown_as_text(run: Run, size: tuple[int, int]) -> None:
    async with searching(run, size, query="pool") as driven:
        await each_alone(driven, lambda text: setattr(driven.finding, "results", poisoned(text)))


@pytest.mark.parametrize("text", TOGETHER)
async def test_nothing_of_it_acts(run: Run, text: str) -> None:
    async with searching(run, (80, 24), query="pool", results=poisoned(text)) as driven:
        assert driven.screen.results.row_count == 3
        for keys in (["j", "enter"], ["3"], ["plus"], ["underscore", "1", "plus"], ["a"]):
            await driven.press(*keys)
            assert_harmless(driven)
        await driven.press("escape", "y")
        assert_harmless(driven)
        assert driven.app.is_running


async def test_in_a_file_it_is_shown_with_its_words_marked(run: Run) -> None:
    async with searching(run, query="pool") as driven:
        path = driven.engine.root / SESSION
        lines = path.read_text(encoding="utf-8").split("\n")
        for text in HOSTILE:
            lines[10] = f"pool {text} pool"
            path.write_bytes(
                "\n".join(lines).encode("utf-8", "surrogateescape" if "\udc9b" not in text else "replace")
            )
            await driven.press("1", "ctrl+r", "j", "k", "2", "g")
            assert_harmless(driven)


async def test_as_a_query_and_as_an_error(run: Run) -> None:
    async with searching(run) as driven:
        for text in HOSTILE:
            driven.finding.failing.clear()
            driven.screen.prompt.input.value = f"zeppelin {text}".replace("\udc9b\ud800", "")
            await driven.settle()
            assert_harmless(driven)
            driven.finding.failing["search"] = AutopoiesisError(text, where=text, cure=text)
            await driven.press("ctrl+r")
            assert "The search failed." in driven.text, repr(text)
            assert_harmless(driven)


async def test_markup_keeps_all_its_words(run: Run) -> None:
    async with searching(run, (200, 60), query="pool") as driven:
        for text in ("[todo] buy", "[/]", "[red]no[/red]", "[@click=app.quit]x[/]"):
            driven.finding.results = poisoned(text)
            await driven.press("ctrl+r")
            assert driven.text.count(text) >= 10, text
            await driven.press("y")
            assert text in driven.app.clipboard and text in driven.said


async def test_in_the_state_of_the_index(run: Run) -> None:
    async with searching(run) as driven:

        def poison(text: str) -> None:
            driven.finding.state = replace(
                READY, state="broken", why=text, trouble=text, skipped=(Skipped(text, text),)
            )

        await each_alone(driven, poison)
