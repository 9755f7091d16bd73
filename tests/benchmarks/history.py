"""Queries of the history, compared with the git commands of the specification (3.6)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from engine.engine import Engine
from tests.benchmarks import past
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import Timings, alternate

PLACES = ("knowledge", "archive", "topics")


def run(setting: Setting) -> Iterator[Row]:
    """Time when something was learned, from whom, the timeline, and the changes, in 10,000 commits."""
    root = setting.folder / "past"
    commits, files = setting.size(10_000, 60), setting.size(5_000, 30)
    past.make(root, commits, files)
    rounds = setting.size(3, 1)
    note = f"{commits:,} commits, {files:,} files"

    def beside(ours: Callable[[], object], *commands: Sequence[str]) -> list[Timings]:
        raw = [lambda _number, command=command: _git(root, *command) for command in commands]
        return alternate([lambda _number: ours(), *raw], rounds=rounds)

    with Engine.open(root) as engine:
        history = engine.history
        for name, text in (("there", past.RARE), ("gone today", past.GONE)):
            found = history.when(text.upper())
            output = _git(root, "log", "-S", text, "--reverse", "--format=%H").split()
            agree(
                found.first is not None and found.first.entry.revision == output[0].decode(), "another commit"
            )
            agree((found.went is not None) == (text == past.GONE), "what is gone is not told as gone")
            when, same = partial(history.when, text.upper()), ("log", "-i", "-S", text, "--", *PLACES)
            ours, plain, alike = beside(when, ("log", "-S", text), same)
            yield Row(f"when, {name}", ours, "git log -S", plain, note)
            yield Row(f"when, {name}", ours, "git log -i -S, same folders", alike, note)
        for name, path in (("often", past.OFTEN), ("seldom", past.SELDOM)):
            lines = history.blame(path).lines
            output = _git(root, "blame", "-l", "-s", "--root", path).split(b"\n")
            agree(
                [each.revision.encode() for each in lines] == [line[:40] for line in output[:-1]],
                "another commit",
            )
            times = beside(partial(history.blame, path), ("blame", path))
            yield Row(f"blame, changed {name}", times[0], "git blame", times[1], f"{len(lines):,} lines")
        page = history.timeline(50)
        agree(len(page.entries) == 50 and bool(page.next), "no page of the time line")
        times = beside(partial(history.timeline, 50), ("log", "-50", "--name-status"))
        yield Row("time line, 50 commits", times[0], "git log --name-status", times[1], note)
        middle = f"HEAD~{commits // 2}"
        times = beside(partial(history.changed, middle), ("diff", middle, "--", "knowledge"))
        yield Row("changed since the middle", times[0], "git diff", times[1], note)


def _git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True).stdout
