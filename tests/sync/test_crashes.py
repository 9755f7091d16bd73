"""After a kill or a full disk the next sync recovers without loss or duplicates (C1, C2, C3)."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from engine.errors import WriteFailed
from engine.store.faults import trip
from tests.crash_sweep import reached_by
from tests.sync.machines import Machine, git

ALL_POINTS = (
    "sync:fetch", "sync:plan", "sync:apply", "sync:push", "temp:create", "temp:write", "temp:fsync",
    "replace:rename", "replace:folder-fsync", "remove:unlink", "remove:folder-fsync", "commit:blobs",
    "commit:tree", "commit:object", "commit:reference", "commit:index", "commit:folder-fsync",
)  # fmt: skip
SWEEPS = [
    pytest.param(400, ("commit:reference",), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Disturbs every ``step``-th hit of these fault points; an empty tuple means all points."""


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_a_sync_recovers_from_a_crash_at_every_step(
    tmp_path: Path, step: int, points: tuple[str, ...]
) -> None:
    reached = reached_by("sync.sync_crash_case", tmp_path, step, points, timeout=1_700)
    assert reached.keys() >= set(points or ALL_POINTS)


PAGE = "# Tides\n\n" + "".join(f"Line {number} of a page that is known again.\n\n" for number in range(20))


def _interrupted(machines: tuple[Machine, Machine, Path], edit: str = "") -> Machine:
    """The laptop, after a sync that was killed when it had removed a file that the desk has moved.

    Args:
        edit: A file that is edited right after.
    """
    desk, laptop, _ = machines
    desk.write("topics/old.md", PAGE)
    desk.sync()
    laptop.sync()
    shutil.move(desk.root / "topics/old.md", desk.root / "topics/new.md")
    desk.add("knowledge/facts.md", "- Of the desk.\n")
    desk.sync()
    laptop.edit("topics/old.md", "Line 3 of", "On the laptop, line 3 of")
    with pytest.raises(KeyboardInterrupt), trip("remove:folder-fsync", _kill):
        laptop.sync()
    assert laptop.status() == "D topics/old.md"
    if edit:
        laptop.add(edit, "- By hand.\n")
    return Machine(laptop.root, laptop.clock)


def _kill() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("edit", ["", "knowledge/facts.md", "knowledge/tasks.md"])
def test_a_commit_after_an_interrupted_sync_commits_no_half_of_it(
    machines: tuple[Machine, Machine, Path], edit: str
) -> None:
    laptop = _interrupted(machines, edit)
    laptop.engine.commits.commit()
    laptop.sync()
    assert "On the laptop, line 3 of" in laptop.text("topics/new.md")
    assert "Of the desk" in laptop.text("knowledge/facts.md")
    assert not edit or "By hand" in laptop.text(edit)
    assert laptop.text("topics/old.md") == laptop.status() == ""


@pytest.mark.parametrize("edit", ["", "knowledge/facts.md"])
def test_a_commit_by_another_program_after_an_interrupted_sync_loses_no_edit(
    machines: tuple[Machine, Machine, Path], edit: str
) -> None:
    laptop = _interrupted(machines, edit)
    laptop.write("topics/more.md", "# More\n")
    git(laptop.root, "add", "topics/more.md")
    git(laptop.root, "commit", "-qm", "more", "--", "topics/more.md")
    laptop.sync()
    assert "On the laptop, line 3 of" in laptop.text("topics/new.md")
    assert "Of the desk" in laptop.text("knowledge/facts.md")
    assert laptop.text("topics/old.md") == laptop.status() == ""


def test_nothing_is_committed_while_an_interrupted_sync_cannot_be_finished(
    machines: tuple[Machine, Machine, Path],
) -> None:
    laptop = _interrupted(machines)
    before = laptop.repository.revision()
    with (
        pytest.raises(WriteFailed),
        trip("temp:write", lambda: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full"))),
    ):
        laptop.engine.commits.commit()
    assert laptop.repository.revision() == before
    laptop.sync()
    assert "On the laptop, line 3 of" in laptop.text("topics/new.md")
