"""The keys of the ledger screen."""

from __future__ import annotations

import threading

import pytest

from engine.errors import AutopoiesisError, LedgerBroken
from engine.events import FileChanged
from tests.tui.conftest import SIZES, Run
from tests.tui.fake_engine import NOW, FakeEngine, status_view
from tests.tui.ledger_data import FAILED, HARVESTED, INVALID, LARGE, LINES, LOST, RECLAIMED, UNHARVESTED
from tests.tui.screen_driven import LedgerDriven, open_ledger
from tui.screens.context.screen import ContextScreen

BROKEN = LedgerBroken(
    "cannot be read as a ledger (JSONDecodeError)",
    where="knowledge/ledger.json",
    hint="run: autopoiesis ledger rebuild",
)


def listed(driven: LedgerDriven) -> list[str]:
    """The sha256 of the entries in the list."""
    return [each.sha256 for each in driven.screen.entries.items]


async def test_entries_are_newest_first_and_the_selected_one_is_checked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ledger(run) as driven:
        for size in SIZES.values():
            await driven.resize(*size)
            assert driven.selected() == HARVESTED
            line = driven.line("2026-06-12-schema.md").split()
            assert "▌✓" in line and "harvested" in line and "06-12" in line and "6" in line
            assert "reclaimed" in driven.line("2026-06-11-quota.md")
            assert "harvest outp" in driven.line("2026-06-10-parser.md")
            assert listed(driven) == [HARVESTED, RECLAIMED, FAILED, UNHARVESTED, LARGE, LOST]

        await driven.resize(*SIZES["120x40"])
        assert "6: 3 facts · 2 decisions · 1 question; 2 already known" in driven.text
        assert "anthropic claude-haiku-4-5, 2,345 + 410 tokens, $0.0044" in driven.text
        assert "100% of 9.2 KB" in driven.text and "in place" in driven.line("conversation ")
        assert "3 lines written: 1 there, 1 edited, 1 gone" in driven.text
        assert "✓ there  knowledge/facts.md:7" in driven.text
        assert "~ edited  knowledge/facts.md:12" in driven.text
        assert "✗ gone  not in knowledge/decisions.md" in driven.text
        assert "2 held, all reviewed" in driven.text
        await driven.press("j")
        assert "in the trash; r restores it" in driven.text and "summarised" in driven.text
        await driven.press("j")
        assert INVALID in driven.text

        # reading the same entries again redraws nothing; new entries keep the selection
        drawn: list[str] = []
        for panel in (driven.screen.entries, driven.screen.record):

            def render(y: int, real: object = panel.render_line, name: str = str(panel.id)) -> object:
                drawn.append(name)
                return real(y)  # type: ignore[operator]

            monkeypatch.setattr(panel, "render_line", render)
        reads = len(driven.engine.calls_of("entries"))
        driven.screen.look()
        await driven.settle()
        assert len(driven.engine.calls_of("entries")) > reads and not drawn
        driven.ledger.known.pop(LOST)
        driven.engine.publish(FileChanged(NOW, "knowledge/ledger.json", "changed"))
        await driven.until(lambda: driven.screen.entries.row_count == 5)
        assert driven.selected() == FAILED


async def test_enter_in_the_workbench_opens_the_selected_entry_and_the_prompt(
    run: Run, engine: FakeEngine
) -> None:
    sha256 = engine.ledger_view.entries[1].sha256
    engine.knowledge.ledger.known[sha256] = engine.knowledge.ledger.known[FAILED]
    async with run((120, 40)) as driven:
        await driven.press("4", "j", "enter")
        await driven.until(lambda: ("check", sha256) in engine.calls)
        await driven.press("escape", "5", "enter")
        assert isinstance(driven.app.screen, ContextScreen)


async def test_line_is_opened_in_place_and_copied(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []
    copied: list[str] = []
    async with open_ledger(run) as driven:
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: opened.append((path, line)))
        monkeypatch.setattr(driven.app, "copy_to_clipboard", copied.append)
        await driven.press("y", "e", "enter")
        assert driven.focused_panel() == "record"
        while driven.screen.record.line != 1:
            await driven.press("j")
        await driven.press("enter", "e")
        assert opened == [
            ("conversations/2026-06-12-schema.md", 0),
            ("knowledge/facts.md", 12),
            ("knowledge/facts.md", 12),
        ]
        await driven.press("G", "enter")
        assert len(opened) == 3 and "no longer exists" in driven.toasts
        await driven.press("y", "Y")
        assert copied[:2] == [HARVESTED, LINES[2].text]
        assert "3 lines written" in copied[2] and HARVESTED in copied[2]


async def test_list_is_filtered_by_status_and_words_and_esc_shows_all(run: Run) -> None:
    async with open_ledger(run) as driven:
        shown = []
        for _step in range(5):
            await driven.press("s")
            shown.append(listed(driven))
        assert shown[:4] == [[HARVESTED, RECLAIMED, LOST], [FAILED], [UNHARVESTED], [LARGE]]
        assert len(shown[4]) == 6
        await driven.press("s", "s")
        assert "1 of 6 · harvest-failed" in driven.text
        await driven.press("escape")
        assert driven.screen.state.only == "" and driven.is_open()

        await driven.press("slash")
        await driven.type("mondays")
        assert driven.screen.entries.row_count == 3
        await driven.press("enter")
        assert driven.focused_panel() == "entries"
        await driven.press("slash")
        await driven.type(" no such words")
        assert "esc shows all" in driven.text
        await driven.press("escape")
        assert driven.screen.entries.row_count == 6 and driven.is_open()
        await driven.press("escape")
        assert not driven.is_open()


async def test_restore_asks_names_the_place_and_runs_once(run: Run) -> None:
    refused = AutopoiesisError("another conversation has its name", hint="move that one away first")
    async with open_ledger(run, failing={"restore": refused}) as driven:
        await driven.press("r")
        assert "already in place" in driven.toasts
        await driven.press("j", "r", "right", "enter")
        assert "move that one away first" in driven.toasts and driven.is_open()
        driven.engine.failing.clear()
        driven.engine.calls.clear()
        await driven.press("r")
        assert "byte for byte from the trash" in " ".join(driven.text.split())
        await driven.press("enter")
        assert not driven.engine.calls_of("restore")
        await driven.press("r", "right", "enter")
        assert driven.engine.calls_of("restore") == [("restore", RECLAIMED)]
        assert "restored conversations/2026-06-11-quota.md" in driven.toasts
        assert "restored" in driven.line("2026-06-11-quota.md")
        await driven.press("G", "r")
        assert "neither in the trash nor in the history" in driven.toasts


async def test_verify_counts_lines_marks_lost_entries_and_blocks_no_key(run: Run) -> None:
    release = threading.Event()
    async with open_ledger(run, blocked={"verify": release}) as driven:
        await driven.send("v")
        await driven.until(lambda: bool(driven.engine.calls_of("verify")))
        assert "verifying 0 of 6" in driven.text
        await driven.send("v", "j")
        await driven.until(lambda: driven.selected() == RECLAIMED)
        assert "verification is already running" in driven.toasts
        release.set()
        await driven.settle()
        assert len(driven.engine.calls_of("verify")) == 1
        assert "6 entries verified, 1 lost · lines: 3 there, 2 edited, 1 gone" in driven.text
        assert driven.line("2026-06-01-old.md").split()[1:3] == ["✗", "lost"]


async def test_unreadable_ledger_shows_reason_and_hint(run: Run) -> None:
    async with open_ledger(run, failing={"entries": BROKEN}) as driven:
        assert "cannot be read as a ledger" in driven.text and "rebuilds it" in driven.text
        await driven.press("H", "v")
        assert "R rebuilds it" in driven.toasts and not driven.engine.calls_of("verify")
        await driven.press("R", "enter")
        assert not driven.engine.calls_of("rebuild")
        await driven.press("R", "right", "enter")
        assert "6 entries, 2 from the history" in driven.toasts
        assert driven.screen.entries.row_count == 6 and driven.selected() == HARVESTED

        driven.engine.failing["entries"] = AutopoiesisError("no such disk")
        await driven.press("ctrl+r")
        assert "no such disk" in driven.text and "ctrl+r" in driven.text
        await driven.press("R")
        assert "the ledger is intact" in driven.toasts

        driven.engine.failing = {"check": AutopoiesisError("git is gone")}
        await driven.press("ctrl+r")
        assert driven.screen.entries.row_count == 6
        assert "git is gone" in driven.text and "CI runs on two cores" in driven.text
        driven.engine.failing = {"verify": AutopoiesisError("git is still gone")}
        await driven.press("v")
        assert "git is still gone" in driven.toasts and "verifying" not in driven.text

        driven.ledger.known.clear()
        await driven.press("ctrl+r")
        assert "Nothing has been harvested yet." in driven.text and "no entry is selected" in driven.text
        await driven.press("f")
        assert "no harvest has failed" in driven.toasts


async def test_repeated_calls_without_values_are_merged(run: Run) -> None:
    async with open_ledger(run) as driven:
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


async def test_read_only_refuses_writes(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with open_ledger(run, SIZES["80x24"]) as driven:
        await driven.press("j", "r")
        assert "the workspace is read-only" in driven.toasts and not driven.engine.calls_of("restore")
        assert "read-only" in driven.text
