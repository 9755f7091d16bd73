"""Weeks, and a year, of a memory that is lived with: what the specification says of it holds all along."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.knowledge.review import Waiting
from engine.store.commit_message import TYPES
from engine.store.zone import local_day
from engine.workspace.doctor import examine
from tests.lifecycle.living import FIRST, HOSTILE, HOUR, ZONE, Life
from tests.lifecycle.upkeep_support import MEMORY
from tests.store.history import git

ALLOWED = {
    "conversation": ("raw/",),
    "identity": ("knowledge/identity/",),
    "extract": ("knowledge/", "archive/journal/", "logs/"),
}
"""What a commit of a type may touch; the others may touch anything but transcripts."""


def live(life: Life, *, back: int, hours: timedelta) -> list[str]:
    """Lives all days, looks at the caps each evening, and sets the clock back once; what grew by quarter."""
    grown: list[str] = []
    for hour in life.hours():
        if hour == 22:
            lines, size = life.read(MEMORY).count("\n"), len(life.read(MEMORY).encode())
            assert lines <= 200 and size <= 25 * 1024, life.today
            digest = life.root / "knowledge/digest.md"
            assert not digest.exists() or digest.stat().st_size <= 4096, life.today
            if life.day % 91 == 90 or life.day == life.days - 1:
                grown.append(growth(life))
        if life.day == back and hour == 20:
            life.set_clock(life.now - hours)
            back = -1
    return grown


def growth(life: Life) -> str:
    """How large things are: files, MEMORY.md, the stable part of a prompt, the repository."""
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        compiled = engine.compile("Which harbour is next?", budget=32_768)
    stable = sum(each.tokens for each in compiled.sections if each.layer <= 7)
    files = [each for each in life.root.rglob("*.md") if ".git" not in each.parts]
    size = sum(each.stat().st_size for each in files)
    objects = [each for each in (life.root / ".git").rglob("*") if each.is_file()]
    repository = sum(each.stat().st_size for each in objects)
    return (
        f"{life.today}: {len(files)} files of {size / 1024:.0f} KB, MEMORY.md {life.read(MEMORY).count(chr(10))} lines, "
        f"stable {stable} tokens, repository {len(objects)} files of {repository / 1024:.0f} KB"
    )


def commits_of(root: Path) -> list[tuple[str, datetime, str, list[str]]]:
    """Object name, time, message and paths of every commit, the newest first."""
    told = git(root, "log", "--format=%x01%H%x00%ct%x00%B%x00", "--name-only", "--no-renames").split("\x01")[1:]
    found = []
    for each in told:
        name, seconds, message, paths = each.split("\0")
        found.append((name, datetime.fromtimestamp(int(seconds), UTC), message.strip(), paths.split()))
    return found


def check_commits(root: Path) -> None:
    for name, _, message, paths in commits_of(root):
        kind, _, rest = message.partition(": ")
        assert kind in TYPES and rest, message
        allowed = ALLOWED.get(kind)
        is_said = all(path.startswith(allowed) for path in paths) if allowed else not any(path.startswith("raw/") for path in paths)
        assert is_said, (name, message, paths)
        sessions = re.findall(r"^Session: (.+)$", message, re.MULTILINE)
        assert all(each.startswith(("raw/conversations/", "conversations/")) for each in sessions), message
        if kind == "conversation" or (kind == "extract" and ": nothing" not in message) or "harvest of" in rest.splitlines()[0]:
            assert sessions, message
        if kind == "conversation":
            assert sessions == paths, message


def check_tags(life: Life) -> None:
    """Exactly the days and weeks with commits, each at its last one; the last day's night is still to come."""
    last: dict[str, str] = {}
    for name, at, _, _ in reversed(commits_of(life.root)):
        day = local_day(at, ZONE)
        if day < life.today - timedelta(days=1):
            last[f"memory/daily/{day}"] = name
        if day <= life.today - timedelta(days=1 + (life.today - timedelta(days=1)).isoweekday()):
            last[f"memory/weekly/{day:%G-W%V}"] = name
    told = git(life.root, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/tags/memory").splitlines()
    tags = dict(line.split() for line in told)
    assert {name: tags.get(name) for name in last} == last
    newer = {f"memory/daily/{life.today - timedelta(days=each)}" for each in (0, 1)}
    assert tags.keys() - last.keys() <= {*newer, f"memory/weekly/{life.today:%G-W%V}", f"memory/weekly/{life.today - timedelta(days=1):%G-W%V}"}


def check_rollups(life: Life, waited: Collection[Waiting]) -> None:
    subjects = {each.origin.name for each in waited if each.change is not None}
    spoken = {day for day in life.talked if day < life.today - timedelta(days=1)}
    for day in sorted(spoken):
        places = [life.root / folder / f"journal/{day}.md" for folder in ("knowledge", "archive")]
        assert any(each.exists() for each in places) or f"journal-{day}" in subjects, day
    weeks = {f"{day:%G-W%V}" for day in spoken if day < life.today - timedelta(days=life.today.isoweekday())}
    missing = sorted(week for week in weeks if f"memory-{week}" not in subjects)
    print("weeks without a proposal", missing)
    months = [each.due.month for each in runs(life) if each.job == "condense-monthly" and each.due]
    print("months", months)


def runs(life: Life):
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        return engine.schedule.runs(limit=100_000)


def check_runs(life: Life) -> None:
    """Every moment once; what was missed once for all of it."""
    found = runs(life)
    assert {each.result for each in found} == {"done"}, [each for each in found if each.result != "done"]
    moments = Counter((each.job, each.due) for each in found)
    assert max(moments.values()) == 1, moments.most_common(3)
    for job in ("condense-daily", "digest", "index"):
        days = sorted(local_day(each.due, ZONE) for each in found if each.job == job and each.due)
        assert len(set(days)) == len(days), job


def key_of(each: Waiting) -> object:
    if each.change is None:
        return each.item.category, each.item.path, each.item.text.casefold()
    steps = [step for step in each.change.steps if not step.text.startswith("updated: ")]
    return each.origin.name, replace(each.change, steps=tuple(steps)).id


def check_memory(life: Life, waited: Collection[Waiting]) -> None:
    """Nothing that ever stood in a file, or was accepted, is lost."""
    there = {line for _, line in life.lines()}
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        gone = [line for line in life.ever if line not in there]
        began = time.perf_counter()
        for line in gone:
            learned = engine.history.when(line[:400])
            assert learned.hits, (line, life.ever[line])
        print(f"{len(life.ever)} lines were written, {len(gone)} stand in the history alone, {(time.perf_counter() - began) / max(1, len(gone)):.2f} s each")
        for each in list(life.ever)[:: max(1, len(life.ever) // 8)]:
            assert engine.history.when(each[:400]).hits, each
        text = "\n".join(there)
        for each in waited:
            if each.verdict == "accepted" and each.change is None:
                said = each.text or each.item.text
                assert said in text or engine.history.when(said[:400]).hits, said
        assert HOSTILE not in text
        for checked in engine.knowledge.verify():
            assert checked.sound and checked.source != "changed", checked
            assert all(line.state == "there" for line in checked.lines), checked


def check_archive(life: Life) -> None:
    """What is archived is found, stands in no prompt by itself, and comes back byte for byte."""
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        journals = sorted(path for path, _ in engine.retention.listed() if path.startswith("archive/journal/"))
        assert journals
        oldest = min(path.stem for path in (life.root / "knowledge/journal").glob("*.md"))
        assert oldest >= str(life.today - timedelta(days=90 + 21)), oldest
        engine.refresh_index()
        line = next(text for path, text in life.lines() if path == journals[0])
        assert journals[0] in {each.path for each in engine.search(line[2:], limit=20)}
        compiled = engine.compile(line[2:], budget=16_384)
        assert not [each for each in compiled.sections if each.layer < 10 and each.source.startswith("archive/")]
        for path in (journals[0], journals[-1]):
            data, target = (life.root / path).read_bytes(), "knowledge/" + path.removeprefix("archive/")
            proposal, _ = engine.retention.restore([path])
            done = engine.retention.made(proposal)
            assert done.commit and (life.root / target).read_bytes() == data
            before = git(life.root, "log", "-2", "--format=%H", "--", target).splitlines()[-1]
            assert engine.repository.show(f"{before}^", target) == data


def check(life: Life) -> None:
    began = time.perf_counter()
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        waited = engine.knowledge.review.queue.all()
    print(life.settled, life.model.moods, Counter(life.troubles()).most_common(5))
    twice = [each for each, count in Counter(map(key_of, waited)).items() if count > 1]
    print("TWICE", twice[:5])
    check_commits(life.root)
    check_tags(life)
    check_runs(life)
    check_rollups(life, waited)
    check_memory(life, waited)
    git(life.root, "fsck", "--strict", "--no-dangling")
    print("DOCTOR", [f for f in examine(life.root) if f.level in ("warning", "error")])
    print("checks took", time.perf_counter() - began)


def test_six_weeks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.perf_counter()
    life = Life(Path(__import__("os").environ.get("ROOT") or tmp_path / "memory"), monkeypatch, days=42, sessions=40, closed=range(15, 19), modelled=range(20, 30), looks=(0, 8, 18, 23))
    print("\n".join(live(life, back=12, hours=3 * HOUR)))
    print(f"lived in {time.perf_counter() - began:.1f} s:", ", ".join(f"{what} {s:.1f}" for what, s in life.spent.most_common()))
    check(life)


@pytest.mark.thorough
@pytest.mark.timeout(1_800)
def test_a_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.perf_counter()
    closed = {*range(40, 44), *range(120, 134), *range(250, 252), *range(300, 305)}
    life = Life(Path(__import__("os").environ.get("ROOT") or tmp_path / "memory"), monkeypatch, days=365, sessions=300, closed=closed, modelled=range(110, 240))
    print("\n".join(live(life, back=200, hours=3 * HOUR)))
    print(f"lived in {time.perf_counter() - began:.1f} s:", ", ".join(f"{what} {s:.1f}" for what, s in life.spent.most_common()))
    check_archive(life)
    check(life)
