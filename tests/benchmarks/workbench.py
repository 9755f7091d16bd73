"""The feed of the workbench with 100,000 rows, compared with textual's own log widget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

from textual.app import App, ComposeResult
from textual.widgets import RichLog

from engine.live.feed import FeedEntry
from tests.benchmarks.inputs import START, Words
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Timings, alternate
from themes.loader import BUNDLED, load_themes
from tui.app import DEFAULT_THEME
from tui.screens.workbench.panels import FeedPanel

SIZE = (120, 40)


class Bench(App[None]):
    """An app with only the two widgets."""

    CSS = "FeedPanel, RichLog { height: 1fr; }"

    def compose(self) -> ComposeResult:
        """Place one above the other."""
        yield FeedPanel(id="feed")
        yield RichLog(id="log", wrap=False)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The role colours that the feed draws with."""
        return dict(load_themes((BUNDLED,))[0][DEFAULT_THEME].colours)

    @property
    def feed(self) -> FeedPanel:
        """The product's feed."""
        return self.query_one("#feed", FeedPanel)

    @property
    def log_widget(self) -> RichLog:
        """Textual's log."""
        return self.query_one("#log", RichLog)


def run(setting: Setting) -> Iterator[Row]:
    """Time adding all rows, and drawing them a screen at a time."""
    return iter(asyncio.run(_measured(setting)))


async def _measured(setting: Setting) -> list[Row]:
    words = Words(6)
    texts = [words.text(80) for _ in range(500)]
    rows = setting.size(100_000, 500)
    # One more list than is ever shown at once, so that there is always a different one to switch to.
    first, second = (
        [
            FeedEntry(day + timedelta(minutes=n), "user", f"{n} {texts[n % 500]}", "deploy")
            for n in range(rows)
        ]
        for day in (START, START + timedelta(days=1))
    )
    app = Bench()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        feed, log = app.feed, app.log_widget
        height = feed.size.height
        agree(height > 5, "the feed has no room")

        def write(count: int) -> None:
            log.clear()
            for entry in first[:count]:
                log.write(f"{entry.at:%H:%M} {entry.text}")

        # Writing 100,000 lines to the log takes a quarter of a minute; a part of them is representative.
        part = setting.size(50, 5)
        rounds = setting.size(6, 2)
        replaced, written = alternate(
            [lambda number: feed.show(second if number % 2 else first), lambda _: write(rows // part)],
            rounds=rounds,
        )
        written = Timings(tuple(seconds * part for seconds in written.seconds))

        grown, added = alternate(
            [
                lambda number: feed.show(first[: number - rounds - 100]),
                lambda number: log.write(first[number].text),
            ],
            rounds=setting.size(50, 3),
        )
        agree(rows - 160 < feed.row_count < rows, "the feed does not hold its rows")

        def draw(number: int) -> None:
            feed.scroll_to(y=(number * height) % (rows - 200), animate=False, force=True, immediate=True)
            for y in range(height):
                feed.render_line(y)

        before = feed.drawn
        screens = setting.size(60, 3)
        drawn, logged = alternate([draw, lambda _: write(height)], rounds=screens)
        agree(feed.drawn - before >= height * screens, "rows were not drawn anew")
        row = drawn.per(height)
        rate = 1 / row.p50
        return [
            Row(f"feed, {rows:,} other rows", replaced, "RichLog.write", written),
            Row(f"feed, one row more than {rows:,}", grown, "RichLog.write", added),
            Row(
                "feed, drawing a row",
                row,
                "RichLog.write",
                logged.per(height),
                f"{rate:,.0f} rows/s",
                {"rows_per_s": rate},
            ),
        ]
