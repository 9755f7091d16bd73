"""Files that one machine moved while the other changed, deleted or replaced them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.sync.model import Side
from tests.sync.machines import Machine

Machines = tuple[Machine, Machine, Path]

PAGE = "# Tides\n\n" + "".join(f"Line {number} of a page that is known again.\n\n" for number in range(20))
OTHER = "# Harbours\n\nA page of its own.\n"


SYNCED = {"topics/old.md": PAGE}


def _move(machine: Machine) -> None:
    shutil.move(machine.root / "topics/old.md", machine.root / "topics/new.md")


@pytest.mark.parametrize(("side", "kept"), [("theirs", OTHER), ("ours", PAGE)])
def test_a_decision_about_a_place_that_both_took_is_followed(
    machines: Machines, side: Side, kept: str
) -> None:
    desk, laptop, _ = machines
    desk.write("topics/new.md", OTHER)
    desk.sync()
    _move(laptop)
    assert [each.path for each in laptop.sync().conflicts] == ["topics/new.md"]
    laptop.sync(take=[(side, "topics/new.md")])
    desk.sync()
    assert (desk.text("topics/new.md"), laptop.text("topics/new.md")) == (kept, kept)


@pytest.mark.parametrize(("side", "kept"), [("theirs", PAGE), ("ours", OTHER)])
def test_a_decision_about_a_file_moved_onto_one_of_ours_is_followed(
    machines: Machines, side: Side, kept: str
) -> None:
    desk, laptop, _ = machines
    _move(desk)
    desk.sync()
    laptop.write("topics/new.md", OTHER)
    assert [each.path for each in laptop.sync().conflicts] == ["topics/new.md"]
    laptop.sync(take=[(side, "topics/new.md")])
    assert laptop.text("topics/new.md") == kept
    assert laptop.text("topics/old.md") == ("" if side == "theirs" else PAGE)


@pytest.mark.parametrize("side", ["theirs", "ours"])
def test_edits_to_a_file_that_was_moved_onto_one_of_ours_are_kept(machines: Machines, side: Side) -> None:
    desk, laptop, _ = machines
    desk.edit("topics/old.md", "Line 3 of", "On the desk, line 3 of")
    _move(desk)
    desk.sync()
    laptop.edit("topics/old.md", "Line 15 of", "On the laptop, line 15 of")
    laptop.write("topics/new.md", OTHER)
    assert [each.path for each in laptop.sync().conflicts] == ["topics/new.md"]
    laptop.sync(take=[(side, "topics/new.md")])
    merged = laptop.text("topics/new.md" if side == "theirs" else "topics/old.md")
    assert "On the desk, line 3" in merged
    assert "On the laptop, line 15" in merged
    assert laptop.text("topics/new.md") == (merged if side == "theirs" else OTHER)


def test_a_file_that_both_moved_is_not_overwritten_where_one_rewrote_it(machines: Machines) -> None:
    desk, laptop, _ = machines
    _move(desk)
    desk.sync()
    (laptop.root / "topics/old.md").unlink()
    laptop.write("topics/new.md", OTHER)
    report = laptop.sync()
    assert [each.path for each in report.conflicts] == ["topics/new.md"]
    assert laptop.text("topics/new.md") == OTHER
    laptop.sync(take=[("ours", "topics/new.md")])
    desk.sync()
    assert desk.text("topics/new.md") == OTHER
