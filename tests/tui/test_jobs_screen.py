"""The jobs screen on the sample with a week of runs: keys and snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import JobError
from engine.events import JobStarted
from engine.lifecycle.schedule.schedule import HOLDER, LOCK_NAME, Schedule, take
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.tui.conftest import SIZES, Driven, Prepare, Watch
from tests.tui.screen_driven import ScreenDriven, WatchingEngine
from tui.screens.jobs.screen import JobsScreen

NOW = datetime(2026, 6, 12, 18, 47, 30, tzinfo=UTC)
NIGHT = datetime(2026, 6, 12, 3, 30, tzinfo=UTC)
RUNS = (
    ("index", 48.0, "done", "4 files updated"),
    ("index", 24.0, "interrupted", "the program exited"),
    ("index", 0.0, "done", "intact and up to date"),
    ("probes", 120.0, "failed", "2 of 17 are lost; see: autopoiesis probe run"),
    ("condense-daily", 4.0, "refused", "no key; set ANTHROPIC_API_KEY"),
)


class JobsDriven(ScreenDriven[JobsScreen]):
    kind, key = JobsScreen, "J"


open_jobs = partial(JobsDriven.on_files, now=NOW, engine=WatchingEngine)


def make(root: Path) -> None:
    """A log of runs: each kind of result, a missed run, and one that is still running; trash is off."""
    settings = root / "memory-config.yaml"
    settings.write_text(f"{settings.read_text()}\nlifecycle:\n  schedule:\n    trash: off\n")
    at = [NIGHT - timedelta(days=6)]
    with Engine.open(root, clock=lambda: at[0]) as engine:
        log = engine.schedule.log
        log.append("planned", job="probes", cron="0 4 * * 0", zone=engine.config.days.time_zone)
        for name, hours, result, said in sorted(RUNS, key=lambda run: -run[1]):
            at[0] = NIGHT - timedelta(hours=hours)
            started = log.append("started", job=name, by="workbench", due=None if name == "probes" else at[0])
            at[0] += timedelta(seconds=2.1)
            log.append("ended", job=name, run=started.seq, result=result, said=said)
        at[0] = NIGHT + timedelta(hours=15)
        log.append("started", job="pack", by="workbench", due=at[0])


@pytest.fixture
def root(prepare: Prepare) -> Iterator[Path]:
    """The sample with these runs; another program holds the schedule and runs a job."""
    root = prepare("jobs", make)
    workspace = Workspace.open(root)
    locks = [take(workspace, name) for name in (LOCK_NAME, "scratch/job-pack.lock")]
    Files(workspace).replace(HOLDER, b"serve")
    yield root
    for lock in locks:
        assert lock is not None
        lock.release()


async def test_jobs_with_next_run_last_result_and_log(root: Path) -> None:
    async with open_jobs(root) as driven:
        for size in SIZES.values():
            await driven.resize(*size)
            assert "✓ index" in driven.line("06-13 03:30") and "up to date" in driven.line("06-13 03:30")
            assert "due now" in driven.line("! probes") and "2 of 17 are lost" in driven.line("! probes")
            assert "off" in driven.line("○ trash") and "running" in driven.line("▸ pack")
            assert "14 · 1 failed" in driven.text and "autopoiesis serve runs the schedule" in driven.text
        assert "At 03:30 every day  (30 3 * * *)" in driven.text
        assert "interrupted  workbench, 2.1 s  the program exited" in driven.text
        driven.screen.jobs.select_key("probes")
        await driven.settle()
        assert "missed: runs once as soon as the schedule is active" in driven.text
        driven.screen.jobs.select_key("pack")
        await driven.settle()
        assert "since 18:30, by workbench" in driven.line("running  ")
        await driven.press("r")
        assert "the job is already running" in driven.toasts


async def test_the_table_is_read_again_when_a_job_runs_elsewhere(root: Path, watch: Watch) -> None:
    held = watch(Schedule, "held_by")
    async with open_jobs(root, (80, 24)) as driven:
        before = len(held)
        driven.engine.publish(JobStarted(NOW, "index", "serve"))
        await driven.until(lambda: len(held) > before)
        assert "↓ 3" in driven.line("serve runs")
        await driven.press("G")
        assert "topic:journal-daily" in driven.text and "↓" not in driven.line("serve runs")


async def test_wrong_keys_leave_two_notices_and_no_pile(root: Path) -> None:
    async with open_jobs(root, (80, 24)) as driven:
        await driven.press("w", "u", "v", "b")
        assert driven.toasts.splitlines() == [f"{key} does nothing here · ? shows the keys" for key in "vb"]


async def test_job_runs_now_and_shows_progress(root: Path, watch: Watch) -> None:
    runs = watch(Schedule, "run")
    async with open_jobs(root) as driven:
        with runs.held():
            await driven.send("r")
            await driven.until(lambda: "starting …" in driven.text and runs)
            assert "running" in driven.line("▸ index")
            driven.screen._progress("index", 1200, 2400)
            await driven.until(lambda: "1,200 of 2,400 …" in driven.text)
        await driven.settle()
        assert runs[0][:2] == ("index", "workbench")
        assert "index done: intact and up to date" in driven.toasts and "✓ index" in driven.text
        assert "workbench, manual" in driven.text
        runs.error = JobError("job index is already running")
        await driven.press("r")
        assert "job index is already running" in driven.toasts and "✓ index" in driven.text


async def test_job_is_turned_off_and_on_and_a_topic_is_edited_instead(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = root / "memory-config.yaml"
    async with open_jobs(root) as driven:
        await driven.press("o")
        assert "index is off; commit " in driven.toasts and 'index: "off"' in settings.read_text()
        await driven.press("o")
        assert "index is on; commit " in driven.toasts and "index:" not in settings.read_text()
        await driven.press("e", "G", "o")
        assert (
            "does not belong to a topic" in driven.toasts
            and "its schedule is set in its topic" in driven.toasts
        )
        edited: list[str] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: edited.append(path))
        await driven.press("e")
        assert edited == ["topics/journal-daily.md"]


async def test_enter_shows_the_log_and_runs_nothing_and_esc_returns(root: Path, watch: Watch) -> None:
    runs = watch(Schedule, "run")
    async with open_jobs(root, (80, 18)) as driven:
        await driven.press("enter", "enter")
        assert not runs
        assert driven.focused_panel() == "runs" and not driven.screen.jobs.display and "2.1 s" in driven.text
        await driven.press("escape")
        assert driven.focused_panel() == "jobs" and "✓ index" in driven.text
        await driven.press("escape")
        assert not driven.is_open()


async def test_read_only_runs_nothing_and_errors_can_be_retried(root: Path, watch: Watch) -> None:
    runs, rows = watch(Schedule, "run"), watch(Schedule, "rows")
    async with open_jobs(root, read_only=True) as driven:
        await driven.press("r", "o")
        assert "the workspace is read-only" in driven.toasts and not runs
    rows.error = JobError("the log cannot be read")
    async with open_jobs(root) as driven:
        assert "cannot read the schedule" in driven.text and "the log cannot be read" in driven.text
        await driven.press("r", "l")
        assert "no job is selected" in driven.toasts
        rows.error = None
        await driven.press("ctrl+r")
        assert "✓ index" in driven.text


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_pictures(root: Path, picture: Callable[[Driven, str], None], size: str) -> None:
    async with open_jobs(root, SIZES[size]) as driven:
        picture(driven, f"jobs/{size}")


async def test_hostile_results_are_shown_as_text(root: Path) -> None:
    with Engine.open(root, clock=lambda: NOW) as engine:
        started = engine.schedule.log.append("started", job="index", by="command")
        said = "[/] [@click=app.quit]x[/] \x1b]52;c;aGk=\x07"
        engine.schedule.log.append("ended", job="index", run=started.seq, result="failed", said=said)
    async with open_jobs(root) as driven:
        assert "\x1b" not in driven.text and "[@click=app.quit]x[/]" in driven.text
