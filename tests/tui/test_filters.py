"""A filter on any list: while it is set, keys that search never write, and keys that do nothing say so."""

from __future__ import annotations

from pathlib import Path

from tests.tui.conftest import Driven
from tests.tui.every_screen import each_screen, open_workbench
from tests.tui.screen_driven import ScreenDriven
from tui.screens.topics.screen import TopicsScreen


class TopicsDriven(ScreenDriven[TopicsScreen]):
    kind, key = TopicsScreen, "P"


def logged(root: Path) -> dict[str, bytes]:
    """Everything that labels are written to."""
    return {str(path): path.read_bytes() for path in (root / "logs").rglob("*.jsonl")}


def said(driven: Driven) -> str:
    """The notifications."""
    return "\n".join(str(each.message) for each in driven.app._notifications)


async def test_a_habit_of_searching_writes_nothing_on_any_screen(sample: Path) -> None:
    before = logged(sample)
    filtered = []
    async with open_workbench(sample) as driven:
        async for screen in each_screen(driven):
            for name in screen.offered():
                screen.focus_panel(name)
                await driven.press("slash")
                if not screen.in_line:
                    assert "/ does nothing here" in said(driven) or "only available" in said(driven), screen
                    continue
                await driven.press("e", "enter")
                if screen.narrowed:
                    filtered.append((type(screen).__name__, name))
                    await driven.press("n", "N", "n", "escape")
                screen.focus_panel(name)
    assert logged(sample) == before
    assert {"Workbench", "TopicsScreen", "TuneScreen", "InjectionsScreen"} <= {one for one, _ in filtered}


async def test_matches_are_gone_through_with_n_wrapping_around(sample: Path) -> None:
    async with open_workbench(sample, (80, 24)) as workbench:
        driven = await TopicsDriven.over(workbench)
        await driven.press("slash")
        await driven.type("re")
        await driven.press("enter")
        panel = driven.screen.topics
        names = [panel.item_at(row).name for row in range(panel.row_count)]
        assert len(names) > 1 and "n N next / previous match" in driven.lines[-1]
        assert f"/re  {len(names)} of {len(panel.items)}" in driven.text
        await driven.press("g", *["n"] * len(names))
        assert panel.cursor == 0
        await driven.press("N")
        assert panel.cursor == len(names) - 1

        step = "the past messages have a filter of their own, and x still labels them"
        await driven.press("escape", "g", "2", "slash")
        await driven.type("zzz")
        assert "nothing matches; esc shows all" in driven.text, step
        await driven.press("escape")
        assert driven.screen.past.row_count == len(driven.screen.past.items) > 0, step
        before = logged(sample)
        await driven.press("slash", "e", "enter", "x")
        assert driven.screen.past.query_text == "e", step
        await driven.until(lambda: logged(sample) != before)


async def test_labels_leave_a_mark_and_are_undone_where_they_are_made(sample: Path) -> None:
    async with open_workbench(sample, (80, 24)) as driven:
        await driven.press("2")
        topic, key = driven.bench.selected_topic, driven.bench.shown.key

        def label() -> bool | None:
            return driven.bench.engine.labels.label(key, topic, None, learn=False).was

        assert topic and key
        await driven.press("u")
        assert said(driven) == "no label to undo"
        await driven.press("n")
        assert f"{topic}: noise · " in said(driven) and "u undoes it" in said(driven)
        assert f"−{topic}" in driven.text
        await driven.press("y")
        assert f"+{topic}" in driven.text
        await driven.press("u")
        assert f"−{topic}" in driven.text and f"{topic}: noise again" in said(driven)
        await driven.press("u")
        assert f"{topic}: unlabelled again" in said(driven)
        assert f"−{topic}" not in driven.text and f"+{topic}" not in driven.text
        assert label() is None


async def test_a_key_without_a_meaning_says_so_once(sample: Path) -> None:
    async with open_workbench(sample, (80, 24)) as driven:
        await driven.press("X", "X", "X")
        assert said(driven) == "X does nothing here · ? shows the keys"
        await driven.press("slash")
        await driven.type("X")
        assert driven.bench.feed.query_text == "X"
