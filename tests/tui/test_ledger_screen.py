"""The ledger screen: what became of each conversation; restoring, verifying and rebuilding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.events import FileChanged
from engine.knowledge.harvest.reclaim import Reclaimer
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.ledger import Ledger
from tests.tui import ledger_data
from tests.tui.conftest import SIZES, Driven, Prepare, Watch
from tests.tui.ledger_data import CALL, LOST, MODEM, MUSSEL, NOW, SVG, LedgerDriven, open_ledger
from tests.tui.screen_driven import open_workbench
from tui.screens.context.screen import ContextScreen

LEDGER = "knowledge/ledger.json"
OLD = "conversations/2026-05-14-old-notes.md"


@pytest.fixture
def root(prepare: Prepare) -> Path:
    root = prepare("ledger", ledger_data.make)
    ledger_data.touch(root)
    return root


async def reread(driven: LedgerDriven, data: bytes) -> None:
    """Replaces the ledger and reads it again."""
    (driven.bench.engine.workspace.root / LEDGER).write_bytes(data)
    await driven.press("ctrl+r")
    driven.app.clear_notifications()
    await driven.settle()


async def test_pictures(root: Path, picture: Callable[[Driven, str], None]) -> None:
    async with open_ledger(root, SIZES["80x24"]) as driven:
        for size in SIZES:
            await driven.resize(*SIZES[size])
            picture(driven, f"ledger/full-{size}-dark")
        await driven.resize(60, 16)
        picture(driven, "ledger/entries-60x16")
        await driven.resize(*SIZES["120x40"])
        await driven.press("v", "G")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "ledger/verified-120x40")
        await driven.resize(*SIZES["80x24"])
        await driven.select(MUSSEL)
        await driven.press("r")
        picture(driven, "ledger/restore-80x24")
        await driven.press("escape", "s", "slash")
        await driven.type("svg")
        picture(driven, "ledger/narrowed-80x24")
        await driven.press("escape", "escape")
        ledger = (root / LEDGER).read_bytes()
        await reread(driven, ledger[:300])
        picture(driven, "ledger/damaged-80x24")
        await reread(driven, b'{"entries": {}}')
        picture(driven, "ledger/empty-80x24")


async def test_entries_are_newest_first_and_the_selected_one_is_checked(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(root, clock=lambda: NOW) as engine:
        known = engine.knowledge.ledger.entries()
        checked = {each.entry.path: each for each in engine.knowledge.verify()}
    async with open_ledger(root) as driven:
        entries = driven.screen.entries.items
        assert [each.entry.at for each in entries] == sorted(
            (each.at for each in known.values()), reverse=True
        )
        assert driven.selected() == CALL and "reclaimed" in driven.line("mussel-in-the-well")
        assert "restored" in driven.line("svg-again") and "harvest outp" in driven.line("kvalnes-modem")
        assert "3 held, 3 still pending; press v in the workbench to review" in driven.flat()
        await driven.select(MUSSEL)
        view = driven.screen.record.view
        assert view is not None and view.check.entry == checked[MUSSEL]
        assert "4 lines written: 2 there, 1 edited, 1 gone" in driven.text
        assert "in the history; r restores it" in driven.text
        place = next(each for each in checked[MUSSEL].lines if each.number)
        assert f"{place.path}:{place.number}" in driven.text and "✗ gone  not in " in driven.text
        await driven.press("G")
        for words in (
            "3: 2 facts · 1 decision; 1 already known", "2 held, all reviewed", "100% of 9.2 KB, summarised",
            "anthropic claude-haiku-4-5, 2,345 + 410 tokens, $0.0044", "lost: not found in its file",
        ):  # fmt: skip
            assert words in driven.flat(), words

        # reading the same entries again redraws nothing; a new one keeps the selection
        drawn: list[int] = []
        for panel in (driven.screen.entries, driven.screen.record):

            def render(y: int, real: Callable[[int], object] = panel.render_line) -> object:
                drawn.append(y)
                return real(y)

            monkeypatch.setattr(panel, "render_line", render)
        driven.screen.look()
        await driven.settle()
        assert not drawn
        driven.engine.knowledge.ledger.record("8" * 64, known[LOST])
        driven.engine.publish(FileChanged(NOW, LEDGER, "changed"))
        await driven.until(lambda: driven.screen.entries.row_count == len(known) + 1)
        assert driven.selected() == OLD


async def test_enter_in_the_workbench_opens_the_selected_entry_and_the_prompt(root: Path) -> None:
    async with open_workbench(root, now=NOW) as workbench:
        await workbench.press("4", "j", "enter")
        driven = LedgerDriven(workbench.app, workbench.pilot, workbench.engine)
        assert driven.selected() == MODEM and driven.bench.selected_sha256
        await driven.press("escape", "5", "enter")
        assert isinstance(driven.app.screen, ContextScreen)


async def test_a_line_is_opened_in_its_place_and_copied(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []
    copied: list[str] = []
    async with open_ledger(root) as driven:
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: opened.append((path, line)))
        monkeypatch.setattr(driven.app, "copy_to_clipboard", copied.append)
        await driven.press("e", "y")
        await driven.select(MUSSEL)
        await driven.press("enter")
        assert driven.focused_panel() == "record"
        view = driven.screen.record.view
        assert view is not None and view.check.entry is not None
        gone, edited, *_ = view.check.entry.lines
        while driven.screen.record.line != 0:
            await driven.press("j")
        await driven.press("enter", "y")
        assert "no longer exists" in driven.toasts and len(opened) == 1
        while driven.screen.record.line != 1:
            await driven.press("j")
        await driven.press("enter", "e", "Y")
        assert opened == [(CALL, 0), *[(edited.path, edited.number)] * 2]
        assert copied[0] == driven.screen.entries.items[0].sha256 and copied[1] == gone.line.text
        assert "4 lines written" in copied[2]


async def test_the_list_is_filtered_by_status_and_words_and_esc_shows_all(root: Path) -> None:
    async with open_ledger(root) as driven:
        total, shown = driven.screen.entries.row_count, []
        for _step in range(5):
            await driven.press("s")
            shown.append(driven.screen.entries.row_count)
        assert shown[-1] == total == sum(shown[:-1]) and shown[1:4] == [1, 2, 1]
        await driven.press("s", "s")
        assert f"1 of {total} · harvest-failed" in driven.text and driven.selected() == MODEM
        await driven.press("escape", "slash")
        await driven.type("old notes say")
        assert driven.selected() == OLD and driven.screen.state.only == ""
        await driven.press("enter")
        assert driven.focused_panel() == "entries"
        await driven.press("slash")
        await driven.type(" no such words")
        assert "esc shows all" in driven.text
        await driven.press("escape")
        assert driven.screen.entries.row_count == total and driven.is_open()
        await driven.press("escape")
        assert not driven.is_open()


async def test_restore_asks_names_the_place_and_runs_once(root: Path, watch: Watch) -> None:
    restored = watch(Reclaimer, "restore")
    async with open_ledger(root) as driven:
        await driven.press("r")
        assert "already in place" in driven.toasts
        await driven.select(MUSSEL)
        restored.error = AutopoiesisError(
            "another conversation has its name", hint="move that one away first"
        )
        await driven.press("r", "right", "enter")
        assert "move that one away first" in driven.toasts and driven.is_open()
        restored.error = None
        restored.clear()
        await driven.press("r")
        assert "byte for byte from the history" in driven.flat()
        await driven.press("enter")
        assert not restored
        await driven.press("r", "right", "enter")
        assert len(restored) == 1 and f"restored {MUSSEL}" in driven.toasts
        assert (root / MUSSEL).is_file() and "restored" in driven.line("mussel-in-the-well")
        await driven.press("G", "r")
        assert "neither in the trash nor in the history" in driven.toasts


async def test_verify_counts_lines_marks_lost_entries_and_blocks_no_key(root: Path, watch: Watch) -> None:
    verified = watch(Knowledge, "verify")
    async with open_ledger(root) as driven:
        with verified.held():
            await driven.send("v")
            await driven.until(lambda: bool(verified))
            assert "verifying 0 of 21" in driven.text
            await driven.send("v", "j")
            await driven.until(lambda: driven.selected() == MODEM)
            assert "verification is already running" in driven.toasts
        await driven.settle()
        assert len(verified) == 1 and "21 entries verified, 1 lost · lines: " in driven.text
        await driven.press("G")
        assert "▌✗ lost" in driven.line("old-notes.md")


async def test_a_damaged_ledger_is_rebuilt_and_errors_are_explained(root: Path, watch: Watch) -> None:
    file, read, check = root / LEDGER, watch(Ledger, "entries"), watch(Knowledge, "check")
    whole = file.read_bytes()
    async with open_ledger(root) as driven:
        file.write_bytes(whole[:300])
        await driven.press("ctrl+r")
        assert "cannot be read as a ledger" in driven.flat() and "rebuilds it" in driven.text
        await driven.press("H", "v")
        assert "R rebuilds it" in driven.toasts
        await driven.press("R", "enter")
        assert file.read_bytes() == whole[:300]
        await driven.press("R", "right", "enter")
        assert " from the history" in driven.toasts and driven.screen.entries.row_count >= 19

        read.error = AutopoiesisError("no such disk")
        await driven.press("ctrl+r")
        assert "no such disk" in driven.text and "ctrl+r" in driven.text
        await driven.press("R")
        assert "the ledger is intact" in driven.toasts
        read.error, check.error = None, AutopoiesisError("git is gone")
        await driven.press("ctrl+r")
        assert "git is gone" in driven.text and driven.screen.entries.row_count >= 19

        file.write_text('{"entries": {}}')
        await driven.press("ctrl+r")
        assert "Nothing has been harvested yet." in driven.text and "no entry is selected" in driven.text
        await driven.press("f")
        assert "no harvest has failed" in driven.toasts


async def test_repeated_calls_without_values_are_merged(root: Path) -> None:
    async with open_ledger(root) as driven:
        calls: list[int] = []

        def call() -> None:
            calls.append(0)

        for number in (1, 1):
            driven.screen.later(call)
            driven.screen.later(call)
            driven.screen.later(calls.append, number)
            driven.screen.later(calls.append, number)
        await driven.settle()
        assert calls == [0, 1, 1, 0, 1, 1]


async def test_read_only_refuses_writes(root: Path, watch: Watch) -> None:
    restored = watch(Reclaimer, "restore")
    async with open_ledger(root, read_only=True) as driven:
        await driven.select(MUSSEL)
        await driven.press("r")
        assert "the workspace is read-only" in driven.toasts and not restored
        assert driven.screen.file == "" and SVG in [each.entry.path for each in driven.screen.entries.items]
