"""Sweeps the fault points of one sync that merges, in forked children; prints what was reached as JSON.

A child is killed at one point, the next one at another, and then one is left alone. Another child meets an
error of the disk there and tries again. Whatever happened, the end is what an undisturbed sync gives.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import filelock

from engine.errors import AutopoiesisError
from engine.redaction import commits as guards
from engine.store import commits, faults
from engine.sync import sync
from tests.sync.machines import CONFIG, IGNORED, Machine, copied, git, pair

LOADED = (filelock, guards, commits, sync)
"""Here once, and not in each of hundreds of children."""

MOST_HITS = 200
LINES = (
    "Water the plants", "Call the Hafenamt", "Of the desk", "Of the laptop", "The gauge", "Three of desk",
    "One of laptop", "said on the desk", "new here", "decided",
)  # fmt: skip
SEED = {
    "memory-config.yaml": CONFIG,
    ".gitignore": IGNORED,
    "knowledge/facts.md": b"# Facts\n\n- The gauge stands at Nordersiel.\n",
    "knowledge/tasks.md": b"# Tasks\n\n## Open\n\n- Water the plants.\n- Call the Hafenamt.\n\n## Done\n",
    "topics/travel.md": b"# Travel\n\nOne.\n\nTwo.\n\nThree.\n",
    "topics/old.md": b"# Old\n\nA playbook that is moved away, and long enough to be known again.\n",
    "topics/decided.md": b"# Decided\n\nAs it was.\n",
}


def prepare(folder: Path) -> None:
    """Both have worked, the desk has synced; made in a process of its own."""
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        return
    desk, laptop, _ = pair(folder, SEED)
    desk.add("knowledge/facts.md", "- Of the desk. [from: a, 2026-06-12]\n")
    desk.edit("topics/travel.md", "Three.", "Three of desk.")
    desk.write(
        "raw/conversations/2026/06/12/0900-s1-talk.md", "# Talk\n\n## 09:00 — user\nsaid on the desk\n"
    )
    desk.add("logs/review-2026-06.jsonl", '{"at":"2026-06-12T09:00:00+00:00","id":"of the desk"}\n')
    desk.edit("topics/decided.md", "As it was", "As the desk has decided")
    git(desk.root, "rm", "-q", "--cached", "topics/old.md")
    (desk.root / "archive").mkdir()
    shutil.move(desk.root / "topics/old.md", desk.root / "archive/old.md")
    desk.sync()
    laptop.add("knowledge/facts.md", "- Of the laptop. [from: b, 2026-06-12]\n")
    laptop.edit("topics/travel.md", "One.", "One of laptop.")
    laptop.edit("topics/decided.md", "As it was", "As the laptop has decided")
    laptop.write("topics/new.md", "# New\n\nnew here\n")
    laptop.add("logs/review-2026-06.jsonl", '{"at":"2026-06-12T09:01:00+00:00","id":"of the laptop"}\n')
    git(laptop.root, "add", "topics/decided.md")
    git(laptop.root, "commit", "-qm", "a decision", "--", "topics/decided.md")
    assert laptop.sync().outcome == "conflicts"
    laptop.edit("knowledge/tasks.md", "- Call the Hafenamt.\n", "- [x] Call the Hafenamt.\n")
    os._exit(0)


def fresh(folder: Path) -> tuple[Machine, Machine]:
    root = folder / "w"
    shutil.rmtree(root, ignore_errors=True)
    desk, laptop, _ = copied(folder / "pristine", root)
    return desk, laptop


def in_child(laptop: Machine, fault: str) -> bool:
    """Syncs in a process of its own, again where the disk failed; whether it came to the end."""
    child = os.fork()
    if not child:
        if fault:
            faults.arm_from(fault)
        for _ in range(4):
            try:
                waiting = laptop.engine.sync.status().conflicts
                report = laptop.sync(take=[("theirs", each.path) for each in waiting])
                os._exit(0 if not report.conflicts else 4)
            except (AutopoiesisError, OSError) as error:
                last = error
        print(fault, repr(last), file=sys.stderr)
        os._exit(3)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, f"{fault}: exit status {status}"
    return True


def ended(desk: Machine, laptop: Machine) -> dict[str, bytes]:
    """What both hold in the end, which must be the same."""
    desk.sync()
    assert laptop.status() == desk.status() == "", (laptop.status(), desk.status())
    assert laptop.files() == desk.files()
    assert not (laptop.root / "scratch/sync-journal.json").exists()
    return laptop.files()


def whole(found: dict[str, bytes]) -> dict[str, bytes]:
    """What holds everything that was written."""
    said = b"".join(found.values()).decode()
    assert all(line in said for line in LINES), said
    return found


def check_meanwhile(laptop: Machine) -> None:
    """Every file is whole: it is what one side had, or what both come to; no marker of a merge."""
    for path, data in laptop.files().items():
        assert b"<<<<" not in data and (data.endswith(b"\n") or ".tmp-" in path), path


def sweep(folder: Path, step: int, wanted_points: Sequence[str]) -> dict[str, int]:
    """How often each fault point was reached; every so many-th hit is disturbed, of the points named."""
    prepare(folder / "pristine")
    wanted: dict[str, bytes] = {}
    if step <= MOST_HITS:
        desk, laptop = fresh(folder)
        assert in_child(laptop, "")
        wanted = whole(ended(desk, laptop))
    reached: dict[str, int] = {}
    points = sorted(faults.FAULT_POINTS)
    number = 0
    for point in wanted_points or points:
        for hit in range(1, MOST_HITS, step):
            number += 1
            desk, laptop = fresh(folder)
            if in_child(laptop, f"{point}:kill:{hit}"):
                break
            reached[point] = hit
            check_meanwhile(laptop)
            if not wanted:
                assert in_child(laptop, "")
                whole(ended(desk, laptop))
                break
            other = points[(7 * number + hit) % len(points)]
            for second in (f"{point}:kill", f"{other}:kill:{1 + number % 4}"):
                if not in_child(laptop, second):
                    check_meanwhile(laptop)
            assert in_child(laptop, "")
            assert ended(desk, laptop) == wanted, (point, hit)
            desk, laptop = fresh(folder)
            kind = "EIO" if "fsync" in point else "ENOSPC"
            assert in_child(laptop, f"{point}:{kind}:{hit}")
            assert in_child(laptop, "")
            assert ended(desk, laptop) == wanted, (point, hit, kind)
    return reached


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
