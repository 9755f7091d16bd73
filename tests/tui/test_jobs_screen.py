"""The jobs screen: keys and snapshots."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.errors import JobError
from engine.events import JobStarted
from engine.settings.editing import Configuration
from tests.conftest import GIT_IDENTITY
from tests.store.history import commit, git
from tests.tui.conftest import SIZES, Driven, Run, Watch
from tests.tui.fake_engine import NOW, FakeEngine, status_view
from tests.tui.screen_driven import ScreenDriven
from tui.screens.jobs.screen import JobsScreen


class JobsDriven(ScreenDriven[JobsScreen]):
    kind, key = JobsScreen, "J"


open_jobs = JobsDriven.on_fakes


async def test_jobs_with_next_run_last_result_and_log(run: Run) -> None:
    async with open_jobs(run) as driven:
        for size in SIZES.values():
            await driven.resize(*size)
            assert "✓ index" in driven.line("06-13 03:30") and "up to date" in driven.line("06-13 03:30")
            assert "due now" in driven.line("! probes") and "2 of 17 are lost" in driven.line("! probes")
            assert "off" in driven.line("○ trash") and "running" in driven.line("▸ backup")
            assert "6 · 1 failed" in driven.text and "autopoiesis serve runs the schedule" in driven.text
        assert "At 03:30 every day  (30 3 * * *)" in driven.text
        assert "interrupted  workbench, 2.1 s  the program exited" in driven.text
        await driven.press("j", "j")
        assert "missed: runs once as soon as the schedule is active" in driven.text
        await driven.press("j")
        assert "the workspace is not trusted" in driven.line("refused ")
        await driven.press("j")
        assert "since 18:30, by workbench" in driven.line("running  ")
        await driven.press("r")
        assert "the job is already running" in driven.toasts

        driven.engine.schedule.holder = None
        driven.engine.publish(JobStarted(NOW, "index", "serve"))
        await driven.until(lambda: "nothing runs the schedule" in driven.text)


async def test_number_of_jobs_below_is_shown(run: Run, engine: FakeEngine) -> None:
    engine.schedule.table += tuple(
        replace(engine.schedule.table[-1], name=f"topic:tide-{number}") for number in range(6)
    )
    async with open_jobs(run, (80, 24)) as driven:
        assert "↓ 1" in driven.line("serve runs")
        await driven.press("G")
        assert "topic:tide-5" in driven.text and "↓" not in driven.line("serve runs")


async def test_job_runs_now_and_shows_progress(run: Run, engine: FakeEngine) -> None:
    engine.blocked["run"] = threading.Event()
    async with open_jobs(run) as driven:
        await driven.send("enter")
        await driven.until(lambda: "1,200 of 2,400 …" in driven.text)
        assert "running" in driven.line("▸ index")
        engine.blocked["run"].set()
        await driven.settle()
        assert engine.calls_of("run") == [("run", "index", "workbench")]
        assert "index done: did index" in driven.toasts and "✓ index" in driven.text
        await driven.press("j", "r")
        assert "trash failed: did trash" in driven.toasts
        engine.failing["run"] = JobError("job probes is already running")
        await driven.press("j", "r")
        assert "job probes is already running" in driven.toasts
        assert "running" not in driven.line("! probes")


async def test_job_is_turned_off_and_on_and_a_topic_is_edited_instead(
    run: Run, engine: FakeEngine, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in GIT_IDENTITY.items():
        monkeypatch.setenv(name, value)
    git(engine.root, "init", "-q", "-b", "main")
    (engine.root / "memory-config.yaml").write_text("days:\n  time_zone: UTC\n")
    commit(engine.root, "maintenance: a new memory", "2026-06-12T08:00:00Z")
    changes = watch(Configuration, "change")
    async with open_jobs(run) as driven:
        await driven.press("o")
        assert "index is off; commit " in driven.toasts
        await driven.press("o")
        assert changes == [("lifecycle.schedule", {"index": "off"}), ("lifecycle.schedule", None)]
        await driven.press("e", "G", "o")
        assert (
            "does not belong to a topic" in driven.toasts
            and "its schedule is set in its topic" in driven.toasts
        )
        edited: list[str] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: edited.append(path))
        (engine.root / "topics/journal-daily.md").write_text("# Journal\n")
        await driven.press("e")
        assert edited and edited[0].endswith("topics/journal-daily.md")


async def test_log_gets_the_focus_and_esc_returns(run: Run) -> None:
    async with open_jobs(run, (80, 18)) as driven:
        await driven.press("l")
        assert driven.focused_panel() == "runs" and not driven.screen.jobs.display and "2.1 s" in driven.text
        await driven.press("escape")
        assert driven.focused_panel() == "jobs" and "✓ index" in driven.text
        await driven.press("escape")
        assert not driven.is_open()


async def test_read_only_runs_nothing_and_errors_can_be_retried(run: Run, engine: FakeEngine) -> None:
    async with open_jobs(run, status_value=status_view(read_only=True)) as driven:
        await driven.press("r", "o")
        assert "the workspace is read-only" in driven.toasts and not engine.calls_of("run")
    engine.failing["rows"] = JobError("the log cannot be read")
    async with open_jobs(run) as driven:
        assert "cannot read the schedule" in driven.text and "the log cannot be read" in driven.text
        await driven.press("r", "l")
        assert "no job is selected" in driven.toasts
        del engine.failing["rows"]
        await driven.press("ctrl+r")
        assert "✓ index" in driven.text


async def test_hostile_text_is_shown_as_text(run: Run, engine: FakeEngine) -> None:
    hostile = "[/] [@click=app.quit]x[/] \x1b]52;c;aGk=\x07"
    first = engine.schedule.table[0]
    assert first.last is not None
    engine.schedule.table = (
        replace(first, name=hostile, does=hostile, schedule=hostile, last=replace(first.last, said=hostile)),
    )
    async with open_jobs(run) as driven:
        assert "\x1b" not in driven.text and "[@click=app.quit]x[/]" in driven.text


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_pictures(run: Run, picture: Callable[[Driven, str], None], size: str) -> None:
    async with open_jobs(run, SIZES[size]) as driven:
        picture(driven, f"jobs/{size}")
