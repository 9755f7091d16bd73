"""Snapshots travel with a sync."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

from tests.sync.machines import Machine, git

DAY = date(2026, 6, 12)


def tags(root: Path) -> dict[str, str]:
    """The commits of all tags."""
    lines = git(root, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/tags").splitlines()
    return dict(line.split(" ") for line in lines)


def change(machine: Machine, text: str) -> str:
    """Commits a change and returns its revision."""
    machine.clock.tick()
    machine.add("knowledge/facts.md", f"- {text}\n")
    machine.engine.commits.commit()
    return machine.repository.revision() or ""


def test_a_snapshot_reaches_every_machine_and_a_new_clone(
    machines: tuple[Machine, Machine, Path], tmp_path: Path
) -> None:
    desk, laptop, bare = machines
    revision = change(desk, "The mast is 12 m high.")
    desk.engine.history.snapshot("one-year")
    first = desk.sync()
    assert (first.outcome, first.snapshots_sent) == ("done", 1)
    assert tags(bare) == {"memory/milestone/one-year": revision}
    assert laptop.sync().snapshots_taken == 1
    (known,) = laptop.engine.history.snapshots()
    assert (known.tag, known.revision) == ("memory/milestone/one-year", revision)
    git(tmp_path, "clone", "-q", str(bare), "clone")
    assert tags(tmp_path / "clone") == tags(bare)
    for machine in (desk, laptop):
        again = machine.sync()
        assert (again.outcome, again.snapshots_taken, again.snapshots_sent) == ("equal", 0, 0)


def test_a_snapshot_of_an_older_commit_is_sent_though_nothing_else_is_new(
    machines: tuple[Machine, Machine, Path],
) -> None:
    desk, laptop, _ = machines
    desk.engine.history.snapshot("start")
    report = desk.sync()
    assert (report.outcome, report.sent, report.snapshots_sent) == ("done", 0, 1)
    assert laptop.sync().outcome == "done"
    assert tags(laptop.root) == tags(desk.root) != {}


def test_a_name_that_both_have_keeps_its_meaning_on_each(machines: tuple[Machine, Machine, Path]) -> None:
    desk, laptop, bare = machines
    theirs, ours = change(desk, "The mast is 12 m high."), change(laptop, "The quay is 80 m long.")
    for machine in (desk, laptop):
        machine.engine.history.snapshot("release")
        assert not machine.sync().notes
    desk.sync()
    assert tags(desk.root) == tags(bare) == {"memory/milestone/release": theirs}
    assert tags(laptop.root) == {"memory/milestone/release": ours}


def test_a_snapshot_of_what_was_taken_out_of_the_history_stays_here(
    machines: tuple[Machine, Machine, Path],
) -> None:
    desk, _, bare = machines
    change(desk, "A line that was not meant to be sent.")
    desk.engine.history.snapshot("unsent")
    desk.engine.history.tag_daily(DAY)
    git(desk.root, "reset", "-q", "--hard", "HEAD~1")
    desk.sync()
    assert tags(bare) == {}
    assert len(tags(desk.root)) == 2


def test_a_remote_that_takes_no_tags_is_still_in_sync(machines: tuple[Machine, Machine, Path]) -> None:
    desk, laptop, bare = machines
    hidden = ("config", "receive.hideRefs", "refs/tags")
    git(bare, *hidden)
    revision = change(desk, "The mast is 12 m high.")
    desk.engine.history.snapshot("one-year")
    report = desk.sync()
    assert git(bare, "rev-parse", "main") == revision
    assert report.notes[-1].startswith("snapshot memory/milestone/one-year was not sent: [remote rejected]")
    laptop.sync()
    assert laptop.repository.revision() == revision


def test_a_tag_that_a_person_made_by_hand_is_sent_as_the_commit_it_names(
    machines: tuple[Machine, Machine, Path],
) -> None:
    desk, laptop, bare = machines
    git(desk.root, "tag", "-a", "-m", "by hand", "memory/milestone/hand")
    git(desk.root, "tag", "v1")
    desk.sync()
    assert tags(bare) == {"memory/milestone/hand": desk.repository.revision()}
    laptop.sync()
    assert desk.sync().outcome == laptop.sync().outcome == "equal"
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=bare, input=b"x", capture_output=True, check=True
    )
    git(bare, "update-ref", "refs/tags/memory/milestone/blob", blob.stdout.decode().strip())
    assert laptop.sync().outcome == "equal", "it names no state of the memory"


def test_a_name_that_looks_like_a_secret_is_not_sent(machines: tuple[Machine, Machine, Path]) -> None:
    desk, _, bare = machines
    git(desk.root, "tag", "memory/milestone/" + "AKIA" + "Z7QX4M2N9P6R3T5V")  # by hand
    assert desk.sync().notes == ("a snapshot was not sent: its name contains what looks like a secret",)
    assert tags(bare) == {}
