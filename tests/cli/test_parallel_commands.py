"""Commands of every kind that write concurrently: everything they acknowledge is committed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.workspace.initialise import initialise
from tests.cli.writer import run_command

ROOT = Path(__file__).parents[2]
TOPIC = "---\ntype: topic\ndescription: Number {0}.\nactivation: gated\ntriggers:\n  - type: keywords\n" \
    "    words: [word{0}]\n---\n\n# {0}\n"  # fmt: skip


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True).stdout.decode()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("count", "until"), [(3, 1), pytest.param(16, 60, marks=pytest.mark.thorough, id="sixteen for a minute")]
)
def test_what_parallel_commands_acknowledge_is_committed(tmp_path: Path, count: int, until: float) -> None:
    root = tmp_path / "w"
    initialise(root)
    for number in range(count):
        (root / f"topics/w{number:02}.md").write_text(TOPIC.format(number))
    git(root, "add", "topics")
    git(root, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "topics")
    end = str(until if until < 10 else time.time() + until)
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.cli.writer", str(root), str(number), end],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    done = [each.communicate(timeout=400) for each in running]
    assert [(each.returncode, errors) for each, (_, errors) in zip(running, done, strict=True)] == [
        (0, "")
    ] * count
    answers = [json.loads(line) for output, _ in done for line in output.splitlines()]
    failed = [each for each in answers if each[0] or each[2]]
    assert failed == []
    lines = [line for _, out, _ in answers for line in out.splitlines()]
    refused = [line for line in lines if "not committed" in line and not line.endswith("already set)")]
    # Another import may have committed the transcript of this one a moment earlier.
    assert [line for line in refused if "nothing new to commit" not in line] == []
    revisions = {found[1] for line in lines if (found := re.search(r"committed as ([0-9a-f]{8})", line))}
    known = {revision[:8] for revision in git(root, "rev-list", "HEAD").split()}
    assert revisions and revisions <= known
    paths = (".", ":!scratch")
    assert git(root, "status", "--porcelain", "--untracked-files=all", "--", *paths) == ""
    if count > 3:
        print(
            f"\n{len(answers):,} commands of {count} processes in {until:g} s, {len(revisions)} commits"
            " acknowledged: all in the history, index clean, no stray message"
        )


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_what_a_killed_group_of_commands_acknowledged_is_there_once(tmp_path: Path) -> None:
    root, random, answers, number = tmp_path / "w", Random(6), list[list[Any]](), 0
    initialise(root)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        running: list[subprocess.Popen[str]] = []
        for _ in range(6):
            number += 1 if number % 4 < 2 else 2  # tuning needs a topic of that name
            running.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "tests.cli.writer",
                        str(root),
                        str(number),
                        str(time.time() + 600),
                    ],
                    cwd=ROOT,
                    env={**os.environ, "PYTHONPATH": str(ROOT)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    process_group=running[0].pid if running else 0,
                )
            )
        time.sleep(random.uniform(2, 8))
        os.killpg(running[0].pid, signal.SIGKILL)
        for each in running:
            lines = each.communicate()[0].splitlines(keepends=True)
            answers += [json.loads(line) for line in lines if line.endswith("\n")]
        for left in (*(root / ".git").rglob("*.lock"), *(root / ".git").glob("autopoiesis-index-*")):
            os.utime(left, (0, 0))  # as if the next command came later
    assert answers and [each for each in answers if each[0]] == []
    open_ones = re.findall(r"-(ses_\w+)-", git(root, "ls-files", "--others", "raw"))
    assert [run_command(root, "session", "end", each)[2] for each in open_ones] == [""] * len(open_ones)
    assert run_command(root, "commit")[0] == 0
    assert git(root, "status", "--porcelain", "--untracked-files=all", "--", ".", ":!scratch") == ""
    assert list((root / ".git").rglob("*.lock")) + list((root / ".git").glob("autopoiesis-index-*")) == []
    assert "error" not in git(root, "fsck", "--strict")
    said = "\n".join(git(root, "show", f"HEAD:{path}") for path in git(root, "ls-files", "raw").split())
    lines = [line for _, out, _ in answers for line in out.splitlines()]
    revisions = {found[1] for line in lines if (found := re.search(r"committed as ([0-9a-f]{8})", line))}
    known = {revision[:8] for revision in git(root, "rev-list", "HEAD").split()}
    assert revisions and revisions <= known
    told = re.findall(r"^w\d+ \d+$", said, re.MULTILINE)
    print(f"\n{len(answers):,} commands acknowledged, {len(revisions)} commits, {len(told)} messages kept")
    assert told and len(told) == len(set(told))
