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
from tests.tui.test_hostile_text import HOSTILE, assert_harmless


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


@pytest.mark.parametrize("text", HOSTILE)
async def test_nothing_of_it_acts(run: Run, text: str) -> None:
    size = (80, 24) if len(text) % 2 else (120, 40)
    async with searching(run, size, query="pool", results=poisoned(text)) as driven:
        assert driven.screen.results.row_count == 3
        for keys in (["j", "enter"], ["3"], ["plus"], ["underscore", "1", "plus"], ["a"]):
            await driven.press(*keys)
            assert_harmless(driven)
        await driven.press("escape", "y")
        assert_harmless(driven)
        assert driven.app.is_running


@pytest.mark.parametrize("text", HOSTILE)
async def test_in_a_file_it_is_shown_with_its_words_marked(run: Run, text: str) -> None:
    async with searching(run, query="pool") as driven:
        path = driven.engine.root / SESSION
        before = path.read_text(encoding="utf-8").split("\n")
        before[10] = f"pool {text} pool"
        path.write_bytes(
            "\n".join(before).encode("utf-8", "surrogateescape" if "\udc9b" not in text else "replace")
        )
        await driven.press("ctrl+r", "j", "k", "2", "g")
        assert_harmless(driven)


@pytest.mark.parametrize("text", HOSTILE)
async def test_as_a_query_and_as_an_error(run: Run, text: str) -> None:
    async with searching(run) as driven:
        driven.screen.prompt.input.value = f"zeppelin {text}".replace("\udc9b\ud800", "")
        await driven.settle()
        assert_harmless(driven)
        driven.finding.failing["search"] = AutopoiesisError(text, where=text, cure=text)
        await driven.press("ctrl+r")
        assert "The search failed." in driven.text
        assert_harmless(driven)


@pytest.mark.parametrize("text", ["[todo] buy", "[/]", "[red]no[/red]", "[@click=app.quit]x[/]"])
async def test_markup_keeps_all_its_words(run: Run, text: str) -> None:
    async with searching(run, (200, 60), query="pool", results=poisoned(text)) as driven:
        assert driven.text.count(text) >= 10
        await driven.press("y")
        assert text in driven.app.clipboard and text in driven.said


@pytest.mark.parametrize("text", HOSTILE)
async def test_in_the_state_of_the_index(run: Run, text: str) -> None:
    state = replace(READY, state="broken", why=text, trouble=text, skipped=(Skipped(text, text),))
    async with searching(run, state=state) as driven:
        assert_harmless(driven)
