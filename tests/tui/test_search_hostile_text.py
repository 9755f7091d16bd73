"""Hostile text in queries, results, files and errors is shown only as text on the search screen."""

from __future__ import annotations

from dataclasses import replace

from engine.errors import AutopoiesisError
from engine.search.reports import Skipped
from engine.search.results import SearchResult
from tests.tui.conftest import Run
from tests.tui.screen_driven import open_search
from tests.tui.search_data import READY, RESULTS, SESSION
from tests.tui.test_hostile_text import COMBINED, HOSTILE, assert_each_harmless, assert_harmless


def poisoned(text: str) -> tuple[SearchResult, ...]:
    """Results with a text in every field, plus the query word."""
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


async def test_hostile_text_is_shown_and_has_no_effect(run: Run) -> None:
    async with open_search(run, (80, 24), query="pool") as driven:
        fake_search = driven.fake_search
        for size in ((80, 24), (120, 40)):
            await driven.resize(*size)
            await assert_each_harmless(driven, lambda text: setattr(fake_search, "results", poisoned(text)))
        await driven.resize(80, 24)
        fake_search.results = poisoned(COMBINED)
        await driven.press("ctrl+r")
        assert driven.screen.results.row_count == 3
        for keys in (["1", "j", "enter"], ["3"], ["plus"], ["underscore", "1", "plus"], ["a"]):
            await driven.press(*keys)
            assert_harmless(driven)
        await driven.press("escape", "y", "underscore")
        assert_harmless(driven)
        assert driven.is_open()
        # markup is shown as text
        await driven.resize(200, 60)
        for text in ("[todo] buy", "[/]", "[red]no[/red]", "[@click=app.quit]x[/]"):
            fake_search.results = poisoned(text)
            await driven.press("ctrl+r")
            assert driven.text.count(text) >= 10, text
            await driven.press("y")
            assert text in driven.app.clipboard and text in driven.toasts
        # in a file, the query words are marked in it
        fake_search.results = RESULTS
        await driven.resize(120, 40)
        path = driven.engine.root / SESSION
        markup = ("[@click=app.quit]x[/]", "[red]$accent[/red]")
        lines = [path.read_text(encoding="utf-8"), *(f"pool {text} pool" for text in (*HOSTILE, *markup))]
        path.write_bytes("\n".join(lines).encode("utf-8", "replace"))
        await driven.press("1", "ctrl+r", "g", "2", "G")
        driven.app.clear_notifications()
        await driven.settle()
        assert_harmless(driven)
        for text in markup:
            assert f"pool {text} pool" in driven.text
        # as a query, and as an error
        fake_search.failing.clear()
        driven.screen.prompt.input.value = f"zeppelin {COMBINED}".replace("\udc9b", "")
        await driven.settle()
        assert_harmless(driven)
        fake_search.failing["search"] = AutopoiesisError(COMBINED, where=COMBINED, hint=COMBINED)
        await driven.press("ctrl+r")
        assert "The search failed." in driven.text
        assert_harmless(driven)
        # in the index status
        fake_search.failing.clear()
        driven.screen.prompt.input.value = ""

        def poison(text: str) -> None:
            fake_search.state = replace(
                READY, state="broken", why=text, error=text, skipped=(Skipped(text, text),)
            )

        await assert_each_harmless(driven, poison)
