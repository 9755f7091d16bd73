"""Syncing two machines: changes of each reach the other, conflicts are explained, nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import RepositoryError
from engine.knowledge.category_files import CATEGORY_FILES, entries
from engine.knowledge.digest import digest_of
from tests.sync.machines import Machine, git

Pair = tuple[Machine, Machine, Path]
DAY = "raw/conversations/2026/06/12"


def digest(machine: Machine) -> str:
    """Computes the digest of a machine's category files."""
    texts = {file.path: machine.text(file.path).encode() for file in CATEGORY_FILES}
    return (digest_of({path: entries(data, path) for path, data in texts.items()}) or b"").decode()


def sync_both(desk: Machine, laptop: Machine) -> None:
    """Syncs the desk, then the laptop, then the desk again."""
    assert desk.sync().outcome == "done"
    assert not laptop.sync().conflicts
    desk.sync()
    assert desk.files() == laptop.files()
    assert desk.status() == laptop.status() == ""


def test_changes_of_both_machines_are_on_both_after_a_sync(machines: Pair) -> None:
    desk, laptop, bare = machines
    desk.engine.knowledge.digest.regenerate()
    desk.write("topics/old.md", "# Old\n\n" + "A playbook that goes to the archive.\n" * 9)
    desk.write("conversations/live.md", "# Live\n\n## 08:00 — user\nFirst.\n")
    desk.write("topics/tool.sh", "#!/bin/sh\n")
    desk.sync()
    laptop.sync()
    (desk.root / "archive").mkdir()
    (desk.root / "topics/old.md").rename(desk.root / "archive/old.md")
    (desk.root / "topics/tool.sh").chmod(0o755)
    (desk.root / "conversations/live.md").unlink()
    laptop.edit("topics/old.md", "# Old\n", "# Old, edited\n")
    laptop.add("conversations/live.md", "\n## 08:05 — agent\nSecond.\n")
    for machine, name in ((desk, "desk"), (laptop, "laptop")):
        capture = machine.engine.capture
        capture.start(f"s-{name}", title=f"Talk on the {name}", started=machine.clock())
        capture.message(f"s-{name}", "user", f"Decision: the {name} decides.", at=machine.clock())
        capture.end(f"s-{name}", at=machine.clock())
        machine.add("knowledge/facts.md", f"- Of the {name}. [from: {name}, 2026-06-12]\n")
        machine.add(
            "logs/decisions/2026-06.jsonl", f'{{"at":"{machine.clock().isoformat()}","of":"{name}"}}\n'
        )
        machine.write(f"knowledge/files/{name}.md", f"# {name}\n\n- A note.\n")
        machine.add("knowledge/journal/2026-06-12.md", f"## 2026-06-12\n\n### work\n- On the {name}.\n")
        machine.engine.knowledge.digest.regenerate(force=True)
        machine.clock.tick()
    laptop.edit("knowledge/tasks.md", "- Call the Hafenamt.", "- [x] Call the Hafenamt.")
    report = desk.sync()
    assert report.sent == 1 and "knowledge/facts.md" in report.committed
    report = laptop.sync()
    assert report.merge and report.fetched == 1 and report.sent == 2 and not report.left
    assert git(laptop.root, "log", "-1", "--format=%s %P").split()[:4] == [
        "maintenance:",
        "sync",
        "with",
        "origin",
    ]
    assert len(git(laptop.root, "log", "-1", "--format=%P").split()) == 2
    assert desk.sync().changed
    assert desk.files() == laptop.files() and desk.status() == laptop.status() == ""
    assert desk.text("archive/old.md").startswith("# Old, edited\n") and not desk.text("topics/old.md")
    assert desk.text("conversations/live.md").endswith("Second.\n"), (
        "added after the other machine reclaimed it"
    )
    facts = desk.text("knowledge/facts.md").splitlines()
    assert facts[-2:] == [f"- Of the {name}. [from: {name}, 2026-06-12]" for name in ("laptop", "desk")]
    assert desk.text("knowledge/journal/2026-06-12.md").count("### work") == 1
    assert desk.text("knowledge/digest.md") == digest(desk) != ""
    assert json.loads(desk.text("knowledge/.digest.json")) == {"last": "made"}
    assert (laptop.root / "topics/tool.sh").stat().st_mode & 0o111
    assert desk.sync().outcome == laptop.sync().outcome == "equal"
    assert git(bare, "rev-parse", "main") == desk.repository.revision() == laptop.repository.revision()
    status = desk.engine.sync.status()
    assert (status.ahead, status.behind, status.uncommitted, status.conflicts) == (0, 0, 0, ())
    assert status.synced == status.checked == desk.clock().isoformat(timespec="seconds")


def test_a_conflict_changes_nothing_until_it_is_resolved(machines: Pair) -> None:
    desk, laptop, bare = machines
    desk.edit("topics/travel.md", "Two.", "Two, by train.")
    desk.write("topics/plan.md", "# Of the desk\n")
    desk.edit("knowledge/facts.md", "stands at Nordersiel", "stands at the lock")
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-qm", "memory: by train\n\nMachine: desk")
    desk.sync()
    laptop.edit("topics/travel.md", "Two.", "Two, by ship.")
    laptop.edit("topics/travel.md", "Three.", "Three, with a bag.")
    laptop.write("topics/plan.md", "# Of the laptop\n")
    (laptop.root / "knowledge/facts.md").unlink()
    laptop.write("attachments/map.bin", b"\0map")
    report = laptop.sync()
    before, remote = laptop.files(), git(bare, "rev-parse", "main")
    assert report.outcome == "conflicts" and not report.changed and not report.sent
    facts, plan, travel = report.conflicts
    assert (facts.path, plan.path, travel.path) == (
        "knowledge/facts.md",
        "topics/plan.md",
        "topics/travel.md",
    )
    assert (travel.pieces[0].before, travel.pieces[0].ours, travel.pieces[0].theirs) == (
        "Two.", "Two, by ship.", "Two, by train.",
    )  # fmt: skip
    assert (travel.theirs.machine, travel.theirs.subject, travel.ours.subject) == (
        "desk", "memory: by train", "memory: before a sync",
    )  # fmt: skip
    assert (facts.ours.what, facts.theirs.what) == ("deleted", "edited")
    assert laptop.engine.sync.status().conflicts == report.conflicts, "the status needs no remote"
    again = laptop.sync(take=[("ours", "topics/plan.md"), ("theirs", "knowledge/facts.md")])
    assert [each.path for each in again.conflicts] == ["topics/travel.md"]
    assert laptop.files() == before and git(bare, "rev-parse", "main") == remote
    laptop.edit("topics/travel.md", "by ship", "by train, then by ship")
    done = laptop.sync(take=[("ours", "topics/travel.md")])
    assert done.outcome == "done" and laptop.text("topics/travel.md").endswith(
        "Two, by train, then by ship.\n\nThree, with a bag.\n"
    )
    assert laptop.text("topics/plan.md") == "# Of the laptop\n" and "at the lock" in laptop.text(
        "knowledge/facts.md"
    )
    desk.sync()
    assert desk.files() == laptop.files() and desk.status() == laptop.status() == ""


def test_changes_that_are_invalid_only_in_combination_conflict(machines: Pair) -> None:
    desk, laptop, _ = machines
    day = "days:\n  time_zone: UTC\n"
    desk.write("memory-config.yaml", "# One.\ngit:\n  remote: origin\n# Two.\n")
    desk.sync()
    laptop.sync()
    desk.edit("memory-config.yaml", "# One.\n", f"# One.\n{day}")
    desk.write("attachments/a.bin", b"\0desk")
    desk.sync()
    laptop.add("memory-config.yaml", day)
    laptop.write("attachments/a.bin", b"\0laptop")
    binary, config = laptop.sync().conflicts
    assert (binary.path, config.path, binary.pieces) == ("attachments/a.bin", "memory-config.yaml", ())
    assert "would be invalid with both changes" in config.why and config.pieces[0].ours.endswith(day)


def test_a_session_continued_on_both_machines_is_kept_twice_with_distinct_ids(machines: Pair) -> None:
    desk, laptop, _ = machines
    for machine, words in ((desk, "left"), (laptop, "right")):
        capture = machine.engine.capture
        path = capture.start("s1", title="Talk", started=machine.clock())
        capture.message("s1", "user", f"Turn {words}.", at=machine.clock())
        other = capture.start("s2", title=words, started=machine.clock())
        capture.message("s2", "user", f"Another {words}.", at=machine.clock())
    assert other != path
    desk.sync()
    report = laptop.sync()
    assert len(report.notes) == 2 and not report.conflicts
    desk.sync()
    assert desk.files() == laptop.files()
    texts = {path: data.decode() for path, data in desk.files().items() if path.startswith("raw/")}
    ids = [line for text in texts.values() for line in text.splitlines() if line.startswith("session_id:")]
    assert len(texts) == len(set(ids)) == 4
    assert {words for text in texts.values() for words in ("left", "right") if f"Turn {words}." in text} == {
        "left",
        "right",
    }
    assert desk.engine.capture.find("s1") and len({desk.engine.capture.find(each[12:]) for each in ids}) == 4


def test_a_digest_turned_off_on_one_side_stays_off(machines: Pair) -> None:
    desk, laptop, _ = machines
    desk.engine.knowledge.digest.regenerate()
    desk.sync()
    laptop.sync()
    desk.engine.knowledge.digest.turn_off()
    laptop.add("knowledge/facts.md", "- New.\n")
    laptop.engine.knowledge.digest.regenerate()
    sync_both(desk, laptop)
    assert not laptop.text("knowledge/digest.md") and laptop.engine.knowledge.digest.is_off()


def test_uncommittable_changes_are_neither_lost_nor_overwritten(machines: Pair) -> None:
    desk, laptop, _ = machines
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    desk.edit("topics/travel.md", "One.", "One, first.")
    desk.sync()
    laptop.add("topics/travel.md", f"aws_secret_access_key = {key}wJalrXUtnFEMIK7MDENGbPxRfi\n")
    laptop.add("knowledge/facts.md", "- Harmless.\n")
    before = laptop.files()
    with pytest.raises(RepositoryError, match=r"local changes to topics/travel\.md.*commit or undo"):
        laptop.sync()
    assert laptop.files() == before
    assert git(laptop.root, "status", "--porcelain") == "M topics/travel.md"
    git(laptop.root, "checkout", "-q", "topics/travel.md")
    assert laptop.sync().outcome == "done"


def test_a_dry_run_changes_neither_side(machines: Pair) -> None:
    desk, laptop, bare = machines
    desk.add("knowledge/facts.md", "- Of the desk.\n")
    desk.sync()
    laptop.add("topics/travel.md", "\nFour.\n")
    git(laptop.root, "commit", "-qam", "four")
    before, head, there = laptop.files(), laptop.repository.revision(), git(bare, "rev-parse", "main")
    report = laptop.sync(dry_run=True)
    assert (report.outcome, report.changed, report.sent) == ("would", ("knowledge/facts.md",), 2)
    assert (laptop.files(), laptop.repository.revision(), git(bare, "rev-parse", "main")) == (
        before,
        head,
        there,
    )
    status = laptop.engine.sync.status()
    assert (status.ahead, status.behind) == (1, 1)


def test_a_push_alone_sends_without_merging(machines: Pair) -> None:
    desk, _, bare = machines
    desk.add("knowledge/facts.md", "- New.\n")
    desk.repository.commit(["knowledge/facts.md"], "memory: new")
    assert desk.engine.sync.push() == 1 and desk.engine.sync.push() == 0
    assert git(bare, "rev-parse", "main") == desk.repository.revision()
