"""Every screen on the sample: hostile text, failing reads, sizes and themes."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from rich.cells import cell_len

from engine.errors import AutopoiesisError
from tests.store.history import commit
from tests.tui.conftest import Driven
from tests.tui.every_screen import each_screen, open_workbench
from tests.tui.test_hostile_text import COMBINED, assert_harmless
from tests.tui.test_review_screen import pending, queued, review_items
from tui.kit.bars import Footer
from tui.kit.commands import Commanded
from tui.kit.full_screen import FullScreen
from tui.kit.lanes import Lane
from tui.kit.overlays import PageScreen
from tui.screens.workbench.screen import OPENINGS

HARMLESS_KEYS = ("G", "Y", "plus", "question_mark", "escape")
"""Keys that change nothing but what is shown, on every screen."""


def poison(root: Path, text: str) -> None:
    """Puts a text in every kind of file that a screen reads, and in the history."""
    line = text.replace("\r", "").replace("\n", "")
    for path in (p for f in ("knowledge", "conversations", "raw") for p in root.glob(f"{f}/**/*.md")):
        lines, is_header = path.read_text().split("\n"), False
        for at, each in enumerate(lines):
            is_header = not is_header if each == "---" else is_header
            if each.startswith("- ") and not is_header:
                lines[at] = f"- {line} {each[2:]} {line}"
            elif each and each[0] not in "#>-" and not is_header:
                lines[at] = f"{each} {line}"
        path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    quoted = json.dumps(text.encode("utf-8", "replace").decode())
    for path in root.glob("topics/*.md"):
        path.write_text(
            re.sub("(?m)^(title|description):.*", lambda at: f"{at[1]}: {quoted}", path.read_text())
        )
    for path in root.glob("logs/**/*.jsonl"):
        rows = [json.loads(each) for each in path.read_text().splitlines()]
        path.write_text("".join(f"{json.dumps(_poisoned(row, text))}\n" for row in rows))
    ledger = root / "knowledge/ledger.json"
    ledger.write_text(json.dumps(_poisoned(json.loads(ledger.read_text()), text)))
    (root / f"conversations/{line.replace('/', '|')}.md").write_text(f"# {line}\n", errors="replace")
    commit(root, f"memory: {line}".encode("utf-8", "replace").decode(), "2026-06-12T18:00:00Z")


WORDED = {
    "why",
    "message",
    "reason",
    "text",
    "said",
    "project",
    "agent",
    "model",
    "provider",
    "label",
    "note",
    "error",
}
"""Names in logs whose values are words, shown as they are."""


def _poisoned(value: object, text: str) -> object:
    if isinstance(value, dict):
        return {
            name: f"{each} {text}" if name in WORDED and isinstance(each, str) else _poisoned(each, text)
            for name, each in value.items()
        }
    return [_poisoned(each, text) for each in value] if isinstance(value, list) else value


@pytest.fixture(autouse=True)
def no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key opens an editor."""
    monkeypatch.setattr(Commanded, "edit_file", lambda *_: None)


async def each_panel(driven: Driven, screen: FullScreen) -> AsyncIterator[str]:
    """Goes to each panel of the open screen that it offers now."""
    for name in screen.offered():
        screen.go_to(name)
        await driven.settle()
        yield name


async def test_hostile_text_in_files_logs_and_history_is_shown_as_text(sample: Path) -> None:
    queued(sample, map(pending, review_items()))
    poison(sample, COMBINED)
    async with open_workbench(sample) as driven:
        driven.bench.searched = "gauge"
        shown = set()
        async for screen in each_screen(driven):
            async for name in each_panel(driven, screen):
                for key in HARMLESS_KEYS:
                    await driven.press(key)
                    assert_harmless(driven)
                    if "[@click=app.quit]x[/]" in driven.text:
                        shown.add(type(screen))
                    driven.app.clear_notifications()
                assert screen.is_attached and driven.app.is_running, name
                screen.enlarge(None)
            driven.bench.feed.follow()  # a message again, not the last row
        names = {each.area for each in shown}
        assert names >= {"review", "records", "search", "context", "knowledge"}, names


async def test_a_hostile_error_of_every_read_is_shown_as_text(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_workbench(sample) as driven:
        problem = str(AutopoiesisError(COMBINED, where=COMBINED, hint=COMBINED))
        with monkeypatch.context() as failing:
            failing.setattr(Lane, "_do", lambda lane, asked: lane._refuse(asked, problem))
            async for screen in each_screen(driven):
                await driven.press("ctrl+r")
                assert_harmless(driven)
                async for _name in each_panel(driven, screen):
                    assert_harmless(driven)
                driven.app.clear_notifications()


@pytest.mark.parametrize("theme", ["light", "NO_COLOR"])
async def test_every_size_shows_the_focused_panel_and_keys(
    sample: Path, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if theme == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
    async with open_workbench(sample, (200, 60), theme=theme.replace("NO_COLOR", "")) as driven:
        async for screen in each_screen(driven):
            for width, height in ((60, 16), (80, 24), (160, 50)):
                await driven.resize(width, height)
                async for name in each_panel(driven, screen):
                    if name in screen.in_view():
                        assert screen.panel_named(name).region.area, (screen, name, width, height)
                    assert {cell_len(line) for line in driven.lines} == {width}, (screen, name)
                    assert screen.query_one(Footer).entries, (screen, name, width)
                screen.enlarge(None)
            await driven.resize(59, 16)
            assert "The terminal is too small: 59×16." in driven.text
            await driven.resize(200, 60)


async def test_the_keys_for_panels_help_and_back_work_on_every_screen(sample: Path) -> None:
    async with open_workbench(sample) as driven:
        driven.bench.searched = "gauge"
        async for screen in each_screen(driven):
            reached = set()
            for at in range(1, 1 + len(screen.catalog.panels)):
                if screen.in_line:
                    await driven.press("tab")
                await driven.press(str(at))
                reached.add(name := screen.panel_in_use)
                if screen.zoomed is None:  # a folded panel opens enlarged
                    await driven.press("plus")
                assert screen.zoomed == name and screen.in_view() == (name,), screen
                await driven.press("question_mark")
                assert isinstance(driven.app.screen, PageScreen), (screen, name)
                await driven.press("escape", "G", "g", "underscore")
                assert not screen.zoomed and screen.panel_in_use == name, screen
            assert reached >= set(screen.offered()), screen
            there, stops = screen.panel_in_use, screen.stops()
            await driven.press(*["tab"] * len(stops))
            assert screen.panel_in_use == there, (screen, stops)
            await driven.press("shift+tab")
            assert screen.panel_in_use == stops[stops.index(there) - 1], (screen, stops)
            if screen is not driven.bench:
                await driven.press("tab", *["escape"] * 3)
                assert not screen.is_attached and driven.app.is_running


async def test_each_key_that_a_footer_names_does_something(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued(sample, map(pending, review_items()))
    with (sample / "knowledge/facts.md").open("a") as facts:
        facts.write("- Gauge 7 is new. [from: gauge, 2026-06-12]\n")  # so that the digest is not up to date
    edited: list[str] = []
    monkeypatch.setattr(Commanded, "edit_file", lambda _screen, path, *_: edited.append(path))
    async with open_workbench(sample) as driven:
        driven.bench.searched = "gauge"

        async def seen() -> object:
            """Where one is and what is there, without notifications, which may only say why not."""
            driven.app.clear_notifications()
            await driven.settle()
            files = {each: each.stat().st_mtime_ns for each in sample.rglob("*") if ".git" not in each.parts}
            screen = driven.app.screen
            panel = screen.panel_in_use if isinstance(screen, FullScreen) else ""
            return screen, panel, driven.text, driven.app.clipboard, list(edited), files

        async def opened(key: str, panel: str) -> FullScreen:
            while driven.app.screen is not driven.bench:
                driven.app.pop_screen()
                await driven.settle()
            driven.bench.feed.follow()
            driven.app.copy_to_clipboard("")
            await driven.press(key)
            screen = cast(FullScreen, driven.app.screen)
            await driven.until(lambda: not screen.waiting)
            if screen.in_line:
                await driven.press("tab")
            if panel in screen.offered():
                screen.go_to(panel)
            await driven.settle()
            return screen

        tried, idle = set(), []
        for opening in OPENINGS:
            catalog = (await opened(opening.key, "")).catalog
            own = [each for each in catalog if each.footer and each.footer not in ("panel", "back", "help")]
            for panel in catalog.panels:
                screen = await opened(opening.key, panel)
                for command in own:
                    at = opening.command, command.name
                    if at in tried or not command.applies(screen) or command.refusal(screen):
                        continue
                    tried.add(at)
                    before = await seen()
                    screen.perform(command)
                    await driven.until(lambda: not screen.waiting)  # noqa: B023
                    if await seen() == before:
                        idle.append(at)
                    screen = await opened(opening.key, panel)
        assert idle == [] and len(tried) > 50
