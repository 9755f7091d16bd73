"""The injections screen: what was injected, why, and what was used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from engine.agents.log import HookLog, HookRun
from engine.events import AgentTold
from engine.injections.log import InjectedSection, Injection, UseNote, record_of_injection, record_of_note
from engine.live.feed import FeedEntry, entry_of
from engine.store.monthly import MonthlyLog
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import NOW, FakeEngine, status_view
from tests.tui.screen_driven import ScreenDriven
from tests.tui.test_hostile_text import COMBINED, assert_harmless
from tui.screens.injections.screen import InjectionsScreen

TURN = "raw/conversations/2026/06/12/1840-review.md#0"
SESSION = "0f0e0d0c-1111-4222-8333-444455556666"
PROCEDURE = "knowledge/procedures/code-review.md"
TOPIC = "topics/github-pr-review.md"
SECTIONS = (
    InjectedSection(
        TOPIC, "", 2, 249, 1.0, why="active without the gate: matched “review”, “PR”; 1.00 ≥ .40"
    ),
    InjectedSection(PROCEDURE, "1-3", 2, 320, None, why="subscribed by the topic github-pr-review"),
    InjectedSection("knowledge/journal/2026-06-08.md", "10-13", 3, 167, 0.52, why="found by its words +0.31"),
)
LABELS = ("topic:github-pr-review", f"subscription:{PROCEDURE}", "knowledge:knowledge/journal/2026-06-08.md")


class InjectionsDriven(ScreenDriven[InjectionsScreen]):
    kind, key = InjectionsScreen, "I"


def minutes_ago(minutes: int) -> str:
    return (NOW - timedelta(minutes=minutes)).isoformat()


def hook_run(minutes: int, moment: str, **more: object) -> HookRun:
    base = HookRun(minutes_ago(minutes), "claude-code", moment, SESSION, "tidemark", ms=40)
    return replace(base, **more)  # type: ignore[arg-type]


RUNS = (
    hook_run(60, "session_start", tokens=1985,
             labels=("rules:standing", "identity:USER.md", "catalog:skills"),
             told=(("knowledge/identity/USER.md", ""),)),
    hook_run(50, "prompt", tokens=817, labels=LABELS, injection="1997e5d960a31290"),
    hook_run(49, "stop", said="new: raw/conversations/2026/06/12/1840-review.md"),
    hook_run(40, "prompt", said="nothing relevant"),
    hook_run(30, "prompt", agent="codex", project="gauges", said="too late", ms=5100, failed=True),
    hook_run(20, "prompt", agent="codex", project="gauges", tokens=612, labels=LABELS[2:],
             injection="b8c3ff25a9b6fd58"),
)  # fmt: skip


def write_log(engine: FakeEngine, hostile: str = "") -> None:
    """Writes the log of hook runs and injections, as hooks do."""
    for path, text in ((TOPIC, "---\ntype: topic\ndescription: A review.\n---\n\n# Review\n\nRead it all.\n"),
                       (PROCEDURE, f"# Code review\n\nIssue, tests, diff.{hostile}\n")):  # fmt: skip
        (engine.root / path).parent.mkdir(parents=True, exist_ok=True)
        (engine.root / path).write_text(text, errors="surrogatepass")
    log, prompts = HookLog(engine.files, engine.clock), MonthlyLog(engine.files, "injections", engine.clock)
    for number, run in enumerate(RUNS):
        log.append(replace(run, agent=run.agent + hostile, said=run.said + hostile * bool(run.said)))
        if run.injection:
            sections = tuple(replace(each, why=each.why + hostile) for each in SECTIONS[2 * (number > 1) :])
            made = Injection(
                run.injection, run.at, run.session_id, "", "x", run.tokens, 1500, sections, by=run.agent
            )
            prompts.append(record_of_injection(made))
            if number == 1:
                note = UseNote(made.id, minutes_ago(45), TURN, (False, True, False), (PROCEDURE,), True)
                prompts.append(record_of_note(note))
    engine.library.refresh()


open_injections = InjectionsDriven.on_fakes


async def test_injection_with_reasons_text_and_source(
    run: Run, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, picture: Callable[[Driven, str], None]
) -> None:
    write_log(engine)
    async with open_injections(run, SIZES["80x24"]) as driven:
        assert "3,414 tokens · 1 failed" in driven.text and "too late" not in driven.text
        assert "1 excerpt" in driven.line("· 06-12 18:27  codex")
        await driven.press("j")
        assert "1/3  github-pr-review, " in driven.line("● 06-12 17:57")
        assert "1  ○ topic github-pr-review · 249 tokens · no sign of use" in driven.text
        assert "active without the gate: matched “review”, “PR”" in driven.text
        picture(driven, "injections/80x24")
        edited: list[tuple[str, int]] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line: edited.append((path, line)))
        await driven.press("t", "enter", "j", "enter")
        assert driven.focused_panel() == "pieces" and "Read it all." in driven.text
        while not edited or edited[-1][0] != PROCEDURE:
            await driven.press("j", "enter")
        assert edited[-1] == (PROCEDURE, 1)
        await driven.press("escape", "j", "y")
        assert "▸ 06-12 17:47" in driven.text and "catalog:skills, whose text is not kept" in driven.text
        assert "only what was chosen for a message can be labelled" in driven.toasts
        await driven.press("escape")
        assert not driven.is_open()


async def test_all_runs_failures_filter_and_week(
    run: Run, engine: FakeEngine, picture: Callable[[Driven, str], None]
) -> None:
    write_log(engine)
    async with open_injections(run) as driven:
        await driven.press("s")
        assert "prompt: nothing relevant" in driven.text and "all hook runs" in driven.text
        await driven.press("j", "j", "j", "j")
        picture(driven, "injections/120x40")
        await driven.press("s")
        assert driven.screen.injections.row_count == 1 and "! 06-12 18:17  codex" in driven.text
        await driven.press("s", "slash")
        await driven.type("TIDEMARK")
        await driven.press("enter")
        assert driven.screen.injections.row_count == 2
        assert not driven.screen.in_line and "/TIDEMARK  2 of " in driven.text, "enter keeps the filter"
        await driven.press("escape", "w")
        assert "4 prompts since 2026-06-06, 2 with injections: 1,429 tokens" in driven.text
        assert (
            "github-pr-review: injected 1×" in driven.text and "codex prompt: too late, 5.1 s" in driven.text
        )


async def test_section_and_whole_prompt_are_rated(run: Run, engine: FakeEngine) -> None:
    write_log(engine)
    async with open_injections(run) as driven:
        await driven.press("n", "j", "2", "n")
        assert engine.calls_of("label") == [("label", TURN, "github-pr-review", False)]
        assert "topic github-pr-review labelled: noise" in driven.toasts
        assert "topic github-pr-review · 249 tokens · labelled noise" in driven.text
        await driven.press("1", "y")
        assert engine.calls_of("label")[1:] == [("label", TURN, "github-pr-review", True)]
        assert "3/3" in driven.line("● 06-12 17:57") and "0/1" in driven.line("18:27  codex")
    async with open_injections(run, status_value=status_view(read_only=True)) as driven:
        await driven.press("y")
        assert "the workspace is read-only" in driven.toasts


async def test_feed_row_opens_its_run(run: Run, engine: FakeEngine) -> None:
    write_log(engine)
    quiet = RUNS[3]
    entries = [
        entry_of(
            AgentTold(
                NOW, **{k: v for k, v in asdict(each).items() if k in AgentTold.__slots__ and k != "at"}
            )
        )
        for each in (RUNS[1], quiet)
    ]
    assert [(each.text, each.note) for each in entries if each] == [
        ("github-pr-review, code-review.md, 1 excerpt · claude-code", "817 tok"),
        ("nothing relevant · claude-code", ""),
    ]
    line = FeedEntry(NOW - timedelta(minutes=40), "hook", "nothing relevant · claude-code")
    async with run((120, 40), entries=[line]) as workbench:
        driven = InjectionsDriven(workbench.app, workbench.pilot, workbench.engine)
        await driven.press("1", "enter")
        selected = driven.screen.injections.selected
        assert selected is not None and selected.run == quiet and driven.screen.kept == "all"


async def test_empty_list_explains_setup_and_hostile_text_is_harmless(run: Run, engine: FakeEngine) -> None:
    async with open_injections(run, SIZES["80x24"]) as driven:
        assert "autopoiesis install claude-code" in driven.text
        await driven.press("w")
        assert "no hooks have run since 2026-06-06" in driven.text
    write_log(engine, COMBINED)
    async with open_injections(run) as driven:
        await driven.press("t", "s", "j", "j", "j", "j")
        assert_harmless(driven)
        await driven.press("w")
        assert_harmless(driven)
