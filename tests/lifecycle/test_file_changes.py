"""Changes of files: resumable, refused if the files have changed, and never outside memory."""

from __future__ import annotations

import errno
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ChangeRefused, HarvestRefused
from engine.knowledge.file_changes import FileChange, Step, change_of, diff, digest, outcome, tree_of
from engine.lifecycle.proposals import Proposal, submit
from engine.store.faults import fail, trip
from tests.cases import each_case
from tests.lifecycle.upkeep_support import MEMORY, Desk

PERSON = "knowledge/people/ada.md"
TEXT = "# Ada\r\n\r\n## Likes\r\n\r\n- Bees\r\n- Tea\r\n- Tea\r\n"
CHANGE = FileChange(
    (
        Step("add", "archive/merged/2026.md", "- Tea", section=PERSON, title="# Merged"),
        Step("drop", PERSON, "- Tea", left=1),
        Step("swap", PERSON, "- Bees, and hives", old="- Bees"),
        Step("add", PERSON, "- Rain", section="Likes"),
        Step("move", "knowledge/people/bob.md", "archive/people/bob.md"),
        Step("write", "knowledge/people/new.md", "# New\n", old=""),
    ),
    ("what it is about",),
)


class Killed(BaseException):
    """Simulates the death of the process."""


def desk_at(root: Path) -> Desk:
    desk = Desk(root)
    desk.files.replace(PERSON, TEXT.encode())
    desk.put({"knowledge/people/bob.md": "# Bob\n"})
    desk.repository.commit([PERSON], "put there")
    return desk


def test_an_interrupted_change_is_completed_and_each_step_applied_once(tmp_path: Path) -> None:
    wanted = TEXT.replace("- Tea\r\n- Tea", "- Tea").replace("Bees", "Bees, and hives") + "- Rain\r\n"
    for number, point in enumerate(("move:rename", "replace:rename", "commit:reference", "remove:unlink")):
        desk = desk_at(tmp_path / str(number))
        shown = diff(desk.files, CHANGE)
        assert "knowledge/people/bob.md → archive/people/bob.md" in shown and "+- Bees, and hives" in shown
        hits = 0

        def kill(last: int = 2 if point == "replace:rename" else 1) -> None:
            nonlocal hits
            hits += 1
            if hits == last:
                raise Killed

        with trip(point, kill), pytest.raises(Killed):
            desk.knowledge.changes.make(CHANGE, "maintenance: a change")
        again = Desk(tmp_path / str(number))
        (made,) = again.knowledge.changes.recover()
        assert again.knowledge.changes.recover() == ()
        assert (tmp_path / str(number) / PERSON).read_bytes() == wanted.encode(), point
        assert again.read("archive/people/bob.md") == "# Bob\n" and again.read("knowledge/people/new.md")
        assert again.read("archive/merged/2026.md").count("- Tea") == 1
        assert again.dirty() == "" and again.git("log", "--format=%s").startswith("maintenance: a change\n")
        assert set(made.paths) == set(CHANGE.paths)


def test_a_change_is_refused_as_a_whole_if_a_file_has_changed(tmp_path: Path) -> None:
    desk = desk_at(tmp_path)
    stale = FileChange((Step("write", PERSON, "# Ada\n", old=digest(b"another")), CHANGE.steps[4]))
    taken = FileChange((CHANGE.steps[3], Step("move", PERSON, "knowledge/people/bob.md")))
    gone = FileChange((CHANGE.steps[3], Step("drop", PERSON, "- Coffee")))
    for change in (stale, taken, gone):
        with pytest.raises(ChangeRefused):
            desk.knowledge.changes.make(change, "maintenance: no")
    assert (tmp_path / PERSON).read_bytes() == TEXT.encode()
    assert not (tmp_path / "scratch/changes").exists() or not [*(tmp_path / "scratch/changes").iterdir()]
    full = "".join(f"- line {number}\n" for number in range(200))
    desk.put({MEMORY: full})
    with pytest.raises(Exception, match="more than 200 lines"):
        outcome(desk.files, FileChange((Step("add", MEMORY, "- one more"),)))


@each_case(
    "steps",
    [
        [{"kind": "write", "path": "memory-config.yaml", "text": "x"}],
        [{"kind": "write", "path": "knowledge/../memory-config.md", "text": "x"}],
        [{"kind": "write", "path": ".git/hooks/x.md", "text": "x"}],
        [{"kind": "move", "path": "knowledge/a.md", "text": "/etc/x.md"}],
        [{"kind": "write", "path": "knowledge/ledger.json", "text": "{}"}],
        [{"kind": "run", "path": "knowledge/a.md"}],
        [{"kind": "write", "path": 3}],
        [],
        None,
    ],
)
def test_a_record_with_a_path_outside_memory_is_not_a_change(steps: Any) -> None:
    assert change_of({"steps": steps}) is None
    assert change_of(json.loads(json.dumps(tree_of(CHANGE)))) == CHANGE


def test_a_change_can_be_replaced_and_accepted_in_the_review_queue(tmp_path: Path) -> None:
    desk = desk_at(tmp_path)
    proposal = Proposal("people", "people tidied up", CHANGE)
    (done,) = submit(desk.knowledge, [proposal])
    queue, review = desk.knowledge.review.queue, desk.knowledge.review
    (waits,) = queue.waiting()
    assert (waits.id, waits.change, waits.item.path) == (done.waiting, CHANGE, PERSON)
    other = FileChange(CHANGE.steps[3:4])
    (newer,) = submit(desk.knowledge, [Proposal("people", "people tidied up", other)])
    assert [each.id for each in queue.waiting()] == [newer.waiting], "the newer one replaces it"
    assert submit(desk.knowledge, [proposal])[0].waiting == waits.id, "it was not rejected"
    submit(desk.knowledge, [Proposal("people", "people tidied up", other)])
    assert [each.id for each in queue.waiting()] == [newer.waiting]
    with pytest.raises(HarvestRefused, match="as is"):
        review.accept(newer.waiting, "other words")

    def kill() -> None:
        raise Killed

    with trip("commit:reference", kill), pytest.raises(Killed):
        review.accept(newer.waiting)
    again = Desk(tmp_path)
    accepted = again.knowledge.review.accept(newer.waiting)
    assert accepted.paths == (PERSON,) and accepted.commit
    assert again.read(PERSON).count("- Rain") == 1 and again.dirty() == ""
    assert again.git("log", "-1", "--format=%s") == "maintenance: people tidied up\n"
    again.git("revert", "--no-edit", "HEAD")
    assert (tmp_path / PERSON).read_bytes() == TEXT.encode(), "it can be reverted"


def test_a_change_that_no_longer_applies_is_refused_and_keeps_waiting(tmp_path: Path) -> None:
    desk = desk_at(tmp_path)
    change = FileChange((Step("drop", PERSON, "- Bees"),))
    (done,) = submit(desk.knowledge, [Proposal("bees", "no bees", change)])
    desk.put({PERSON: "# Ada\n"})
    with pytest.raises(ChangeRefused, match="has changed since"):
        desk.knowledge.review.accept(done.waiting)
    assert desk.knowledge.review.queue.waiting() and desk.read(PERSON) == "# Ada\n"
    desk.knowledge.review.reject(done.waiting)
    assert desk.read(PERSON) == "# Ada\n" and not desk.knowledge.review.queue.waiting()
    assert desk.git("log", "-1", "--format=%B").strip() == "maintenance: rejected: no bees"


def test_a_rejected_proposal_is_not_proposed_again_later(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put({MEMORY: "---\ntype: memory\nupdated: 2026-06-01\nline_count: 9\n---\n\n# Core Memory\n"})
    desk.put({"knowledge/journal/2026-06-12.md": "## 2026-06-12\n\n- Decided: The crane lifts 40 tonnes\n"})
    (done,) = submit(desk.knowledge, [desk.condenser.weekly()])
    desk.knowledge.review.reject(done.waiting)
    desk.now += timedelta(days=1)
    (again,) = submit(desk.knowledge, [desk.condenser.weekly()])
    assert (again.waiting, again.known) == ("", "rejected")
    (applied,) = desk.condenser.apply([desk.condenser.weekly()])
    text = desk.read(MEMORY)
    assert (
        applied.commit and f"line_count: {text.count(chr(10))}\n" in text and "updated: 2026-06-13T" in text
    )


def test_a_failed_commit_is_retried_without_repeating_the_change(tmp_path: Path) -> None:
    desk = desk_at(tmp_path)
    with trip("commit:blobs", fail(errno.ENOSPC)):
        made = desk.knowledge.changes.make(FileChange(CHANGE.steps[3:4]), "maintenance: rain")
    assert not made.commit and "No space left" in made.uncommitted
    text = desk.read(PERSON).replace("- Rain", "- Snow")
    (tmp_path / PERSON).write_bytes(text.encode())
    (done,) = desk.knowledge.changes.recover()
    assert done.commit and desk.dirty() == "" and desk.knowledge.changes.recover() == ()
    assert "- Snow" in desk.read(PERSON) and "- Rain" not in desk.read(PERSON), "the person's edit is kept"
