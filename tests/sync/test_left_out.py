"""A sync commits and sends nothing that a commit would leave out."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.sync.machines import Machine, git

Machines = tuple[Machine, Machine, Path]

PATH = "raw/conversations/2026/06/12/0900-s1-talk.md"
TALK = """---
session_id: s1
started: 2026-06-12T09:00:00Z
ended: 2026-06-12T10:00:00Z
---
# Talk

## 09:00 — user
said on the desk
"""


@pytest.mark.parametrize("text", [None, TALK.replace("said", "never said")])
def test_an_altered_transcript_is_left_out_and_named(machines: Machines, text: str | None) -> None:
    desk, laptop, _ = machines
    desk.write(PATH, TALK)
    desk.sync()
    laptop.sync()
    if text is None:
        (laptop.root / PATH).unlink()
    else:
        laptop.write(PATH, text)
    laptop.add("knowledge/facts.md", "- Of the laptop.\n")
    report = laptop.sync()
    assert report.committed == ("knowledge/facts.md",)
    assert [(each.path, "its session has ended" in each.why) for each in report.left] == [(PATH, True)]
    assert desk.sync().changed == ("knowledge/facts.md",)
    assert desk.text(PATH) == TALK


def test_the_transcript_of_a_running_session_is_sent(machines: Machines) -> None:
    desk, laptop, _ = machines
    running = TALK.replace("ended: 2026-06-12T10:00:00Z\n", "")
    desk.write(PATH, running)
    assert desk.sync().committed == (PATH,)
    laptop.sync()
    assert laptop.text(PATH) == running


def test_a_memory_above_its_cap_is_left_out(machines: Machines) -> None:
    desk, _, _ = machines
    desk.write("knowledge/memory/MEMORY.md", "# Core Memory\n\n" + "- An entry.\n" * 300)
    assert [each.path for each in desk.sync().left] == ["knowledge/memory/MEMORY.md"]


def test_a_file_of_git_lfs_stays_a_pointer(machines: Machines) -> None:
    desk, _, _ = machines
    data = b"large" * 100
    name = hashlib.sha256(data).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize {len(data)}"
    desk.write(".gitattributes", "*.bin filter=lfs\n")
    desk.write("attachments/a.bin", f"{pointer}\n")
    git(desk.root, "add", ".gitattributes", "attachments/a.bin")
    git(desk.root, "commit", "-qm", "a large file")
    desk.write("attachments/a.bin", data)
    report = desk.sync()
    assert (report.committed, report.left) == ((), ())
    assert git(desk.root, "show", "HEAD:attachments/a.bin") == pointer
