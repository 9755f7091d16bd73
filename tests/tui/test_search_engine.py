"""The search screen with the real engine: results, their files, and presets."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.engine import Engine
from tests.tui.screen_driven import SearchDriven, ThreadlessEngine

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
QUERY = "replication slot retained WAL"


class IndexedEngine(ThreadlessEngine):
    """Updates the index when it starts."""

    def start(self) -> None:
        """Updates the index without watching files."""
        self.refresh_index()


open_screen = partial(SearchDriven.on_files, now=NOW, engine=IndexedEngine)


async def test_results_are_shown_in_their_file_and_can_be_added_to_a_preset(sample: Path) -> None:
    async with open_screen(sample) as driven:
        await driven.type(QUERY)
        await driven.press("enter")
        assert driven.screen.results.row_count > 10
        for _step in range(12):
            passage = driven.screen.preview.passage
            assert passage is not None and not passage.note
            assert passage.hit == driven.screen.results.selected
            found = [line for line in passage.lines if line.inside]
            result = passage.hit.result
            whole = (sample / result.path).read_text(encoding="utf-8").split("\n")
            assert found[0].number == result.start_line and found[-1].number == result.end_line
            assert len(found[0].text) >= len(whole[result.start_line - 1])
            await driven.press("j")
        # the results are the same as on the command line
        shown = [hit.key for hit in driven.state.hits]
        expected = driven.engine.search(QUERY, limit=51)[:50]
        assert shown == [(each.path, each.start_line, each.end_line) for each in expected]
        await driven.press("a")
        await driven.type("wal")
        await driven.press("enter")
        await driven.until(lambda: "to preset wal" in driven.toasts)
        hit = driven.screen.results.selected
        preset = (sample / "presets" / "wal.md").read_text(encoding="utf-8")
        assert hit is not None and hit.result.path in preset
        await driven.press("a")
        await driven.type("../wal")
        await driven.press("enter")
        await driven.until(lambda: "is not a valid preset name" in driven.toasts)


async def test_read_only_searches_and_refuses_presets(sample: Path) -> None:
    with Engine.open(sample) as engine:
        engine.refresh_index()
    async with open_screen(sample, read_only=True) as driven:
        await driven.type(QUERY)
        await driven.press("enter", "a")
        assert driven.state.hits and "the workspace is read-only" in driven.toasts
        assert not (sample / "presets" / "wal.md").exists()


async def test_a_missing_index_is_reported_and_rebuilt(sample: Path) -> None:
    async with open_screen(sample) as driven:
        (sample / "memory.db").unlink()
        await driven.type(QUERY)
        await driven.until(lambda: driven.state.status is not None and driven.state.status.state == "ready")
        await driven.until(lambda: bool(driven.state.hits) and driven.state.hits[0].result.source == "index")
