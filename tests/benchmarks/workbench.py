"""The feed of the workbench with 100,000 rows, beside textual's own log widget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

from textual.app import App, ComposeResult
from textual.widgets import RichLog

from engine.feed import FeedEntry
from tests.benchmarks.inputs import START, Words
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Timings, alternate
from themes.loader import BUNDLED, load_themes
from tui.app import DEFAULT_THEME
from tui.widgets.feed import FeedPanel

SIZE = (120, 40)


class Bench(App[None]):
    """Nothing but the two widgets."""

    CSS = "FeedPanel, RichLog { height: 1fr; }"

    def compose(self) -> ComposeResult:
        """One above the other."""
        yield FeedPanel(id="feed")
        yield RichLog(id="log", wrap=False)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The role colours that the feed draws with."""
        return dict(load_themes((BUNDLED,))[0][DEFAULT_THEME].colours)

    @property
    def feed(self) -> FeedPanel:
        """The product's."""
        return self.query_one("#feed", FeedPanel)

    @property
    def log_widget(self) -> RichLog:
        """Textual's."""
        return self.query_one("#log", RichLog)


def run(setting: Setting) -> Iterator[Row]:
    """Taking all rows in, and drawing them a screenful at a time."""
    return iter(asyncio.run(_measured(setting)))


async def _measured(setting: Setting) -> list[Row]:
    words = Words(6)
    texts = [words.text(80) for _ in range(500)]
    rows = setting.size(100_000, 500)
    entries = [
        FeedEntry(START + timedelta(minutes=number), "user", f"{number} {texts[number % 500]}", "deploy")
        for number in range(rows)
    ]
    app = Bench()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        feed, log = app.feed, app.log_widget
        height = feed.size.height
        agree(height > 5, "the feed has no room")
        # Writing 100,000 lines into the log takes a quarter of a minute: a part of them says the same.
        part = setting.size(20, 5)

        def write(number: int) -> None:
            log.clear()
            for entry in entries[:: len(entries) // (rows // part)]:
                log.write(f"{entry.at:%H:%M} {entry.text}")

        shown, written = alternate(
            [lambda number: feed.show(entries if number % 2 else entries[:-1]), write],
            rounds=setting.size(5, 2),
        )
        agree(feed.row_count >= rows - 1, "the feed does not hold its rows")
        taken = Row(f"take in {rows:,} rows", shown, "RichLog.write", _scaled(written, part))

        def draw(number: int) -> None:
            feed.scroll_to(y=(number * height) % (rows - height), animate=False, force=True, immediate=True)
            for y in range(height):
                feed.render_line(y)

        before = feed.drawn
        drawn, logged = alternate([draw, write], rounds=setting.size(60, 3), warm_up=2)
        agree(feed.drawn - before >= height * setting.size(60, 3), "rows were not drawn anew")
        row_s, log_s = drawn.per(height), logged.per(rows // part)
        rate = 1 / row_s.p50
        return [taken, Row("draw a row", row_s, "RichLog.write", log_s, f"{rate:,.0f}/s", {"rows_per_s": rate})]


def _scaled(timings: Timings, factor: int) -> Timings:
    return Timings(tuple(seconds * factor for seconds in timings.seconds))
