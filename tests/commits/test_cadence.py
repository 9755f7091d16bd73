"""When changes are committed: at intervals by the engine's clock, at the end, and after a crash."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.commits.commits import Cadence
from engine.engine import Engine
from engine.events import Committed
from engine.live.commit_worker import CommitWorker
from engine.store.faults import FAULT_POINTS, VARIABLE
from tests.cases import each_case
from tests.commits.conftest import Desk
from tests.commits.test_committing import ENDED, OPEN, SECRET, transcript
from tests.engine.conftest import Witness

FACTS = "# Facts\n\n- One.\n- Two.\n"


def cadence_of(desk: Desk) -> Cadence:
    engine = desk.engine
    return Cadence(
        engine.commits,
        lambda: engine.repository,
        lambda: engine.config.git,
        lambda: desk.now,
        desk.errors.append,
    )


def test_a_batch_is_committed_every_interval(desk: Desk) -> None:
    cadence = cadence_of(desk)
    assert cadence.is_due(), "the first check picks up what an earlier run left"
    desk.write("knowledge/facts.md", FACTS, ago_s=20 * 60)
    desk.write("knowledge/people/ada.md", "# Ada\n", ago_s=31 * 60)
    desk.write(ENDED, transcript("2026-06-12T09:30:00Z"), ago_s=31 * 60)
    cadence.commit_batch()
    assert desk.subjects() == ["memory: person ada", "conversation: talk"]
    assert not cadence.is_due()
    desk.advance(minutes=29, seconds=59)
    assert not cadence.is_due()
    desk.advance(seconds=1)
    assert cadence.is_due()
    desk.write("topics/t.md", "---\ntype: topic\n---\n# T\n", ago_s=2)
    desk.write(OPEN, transcript())
    cadence.commit_batch()
    assert desk.subjects(1) == ["memory: 1 fact"], "a file that is being edited is left for the next check"
    desk.advance(minutes=30)
    cadence.commit_batch()
    assert desk.subjects(1) == ["maintenance: topic t"]
    desk.advance(minutes=30)
    assert cadence.commit_batch().commits == () and desk.subjects(1) == ["maintenance: topic t"]
    desk.write("knowledge/people/ada.md", "# Ada L.\n", ago_s=0)
    cadence.close()
    assert desk.subjects(1) == ["memory: person ada"], "closing does not wait for files to settle"
    assert desk.git("status", "--porcelain", "-uall") == f"?? {OPEN}" and desk.errors == []
    desk.now = desk.now.replace(year=2025)
    assert cadence.is_due(), "a clock that is set back does not stop commits"


@each_case("settings", ["auto_commit: false", "commit_interval_minutes: 0"])
def test_settings_can_turn_automatic_commits_off(desk: Desk, settings: str) -> None:
    desk.write("memory-config.yaml", f"git:\n  {settings}\n", ago_s=3600)
    desk.engine.reload_config()
    cadence = cadence_of(desk)
    assert not cadence.is_due()
    cadence.close()
    assert desk.subjects() == []


def test_the_settings_name_of_the_specification_is_accepted(desk: Desk) -> None:
    desk.write("memory-config.yaml", "lifecycle:\n  commit_interval_minutes: 5\n")
    desk.engine.reload_config()
    assert cadence_of(desk).interval.total_seconds() == 300


def no_git(desk: Desk, patch: pytest.MonkeyPatch) -> None:
    empty = desk.root.parent / "bin"
    empty.mkdir()
    patch.setenv("PATH", str(empty))


def no_identity(desk: Desk, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


def locked(desk: Desk, _patch: pytest.MonkeyPatch) -> None:
    (desk.root / ".git/index.lock").touch()


BUSY: dict[str, tuple[Callable[[Desk, pytest.MonkeyPatch], object], str]] = {
    "detached": (lambda desk, _: desk.git("checkout", "-q", "--detach"), "HEAD is detached"),
    "merging": (
        lambda desk, _: (desk.root / ".git/MERGE_HEAD").write_text(desk.git("rev-parse", "HEAD")),
        "a merge is in progress",
    ),
    "rebasing": (lambda desk, _: (desk.root / ".git/rebase-merge").mkdir(), "a rebase is in progress"),
    "locked": (locked, "another git is running"),
    "no identity": (no_identity, "git does not know who you are"),
    "no git": (no_git, ""),
    "no repository": (lambda desk, _: shutil.rmtree(desk.root / ".git"), ""),
}


@pytest.mark.parametrize("name", BUSY)
def test_a_repository_that_cannot_commit_is_left_alone_and_reported_once(
    desk: Desk, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, reason = BUSY[name]
    cadence = cadence_of(desk)
    desk.write("knowledge/facts.md", FACTS, ago_s=3600)
    head = desk.git("rev-parse", "HEAD")
    with monkeypatch.context() as patch:
        make(desk, patch)
        for _ in range(3):
            assert cadence.commit_batch().commits == ()
            desk.advance(minutes=1)
            assert cadence.is_due() == bool(reason), "it is retried soon"
        cadence.close()
        if reason:
            (error,) = desk.errors
            assert error.startswith("changes are not committed: ") and reason in error
        else:
            assert desk.errors == [], "a choice of the person is not an error"
    if name == "no repository":
        return
    assert desk.git("rev-parse", "HEAD") == head
    if name == "detached":
        desk.git("checkout", "-q", "main")
        desk.advance(minutes=1)
        assert cadence.commit_batch().commits, "the next check catches up"
        desk.git("checkout", "-q", "--detach")
        cadence.commit_batch()
        assert len(desk.errors) == 2, "a new occurrence is reported again"


def test_a_file_with_a_secret_is_named_once_and_the_rest_committed(desk: Desk) -> None:
    cadence = cadence_of(desk)
    desk.write("knowledge/facts.md", FACTS, ago_s=3600)
    desk.write("knowledge/secret.md", f"{SECRET}\n", ago_s=3600)
    for _ in range(3):
        cadence.commit_batch()
        desk.advance(minutes=30)
    assert desk.subjects() == ["memory: 1 fact"]
    (error,) = desk.errors
    assert error.startswith("knowledge/secret.md is not committed: line 1 contains") and SECRET not in error


EVERYDAY = [("commit:reference", 2), ("commit:index", 1)]
KILLS = [(point, hit) for point in sorted(FAULT_POINTS) for hit in (1, 2) if point.startswith("commit:")]


@pytest.mark.parametrize(
    ("point", "hit"), [*EVERYDAY, *(pytest.param(*kill, marks=pytest.mark.thorough) for kill in KILLS)]
)
def test_the_next_check_recovers_from_a_crash_between_write_and_commit(
    desk: Desk, point: str, hit: int
) -> None:
    desk.write("knowledge/facts.md", FACTS, ago_s=3600)
    desk.write(ENDED, transcript("2026-06-12T09:30:00Z"), ago_s=3600)
    killed = subprocess.run(
        [sys.executable, "-m", "tests.commits.crash_runner", str(desk.root)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, VARIABLE: f"{point}:kill:{hit}"},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert cadence_of(desk).commit_batch().refused == ()
    assert desk.subjects() == ["memory: 1 fact", "conversation: talk"]
    assert desk.git("status", "--porcelain", "-uall") == ""
    assert desk.git("fsck", "--strict", "--no-dangling") == ""


def test_the_worker_commits_due_changes_and_the_rest_when_stopped(desk: Desk, tmp_path: Path) -> None:
    worker = CommitWorker(desk.engine, lambda event: None)
    desk.write("knowledge/facts.md", FACTS, ago_s=3600)
    worker.commit_if_due()
    desk.write("knowledge/people/ada.md", "# Ada\n", ago_s=0)
    worker.stop()
    assert desk.subjects() == ["memory: person ada", "memory: 1 fact"]
    with Engine.open(desk.root, read_only=True, clock=lambda: desk.now) as engine:
        desk.write("knowledge/people/bob.md", "# Bob\n", ago_s=3600)
        reading = CommitWorker(engine, lambda event: None)
        reading.commit_if_due()
        reading.stop()
    assert len(desk.subjects()) == 2


def test_an_open_workspace_commits_automatically(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.live.live.IDLE_S", 0.05)
    seen = Witness()
    desk.engine.subscribe(seen)
    desk.write("knowledge/facts.md", FACTS, ago_s=3600)
    desk.engine.start()
    assert seen.wait(Committed).subject == "memory: 1 fact"
    desk.write("knowledge/people/ada.md", "# Ada\n", ago_s=0)
    desk.engine.stop()
    assert desk.subjects(1) == ["memory: person ada"]
