"""Weeks, and a year, of a memory in use: the invariants of the specification hold throughout."""

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
from engine.knowledge.review import PendingItem
from engine.lifecycle.proposals import apply
from engine.store.change import TYPES
from engine.store.zone import local_day
from engine.workspace.doctor import examine
from tests.lifecycle.living import FIRST, HOSTILE, HOUR, ZONE, Life
from tests.lifecycle.upkeep_support import MEMORY
from tests.store.history import git

DAY = timedelta(days=1)
ALLOWED = {
    "conversation": ("raw/",),
    "identity": ("knowledge/identity/",),
    "extract": ("knowledge/", "archive/journal/", "logs/"),
}
"""Paths that a commit of a type may touch; other types may touch anything but transcripts."""


def simulate(life: Life, *, back: int) -> None:
    """Simulates all days, checks the caps each evening, sets the clock back once, and prints timings."""
    began = time.perf_counter()
    for hour in life.hours():
        if hour == 22:
            memory, digest = life.read(MEMORY), life.root / "knowledge/digest.md"
            assert memory.count("\n") <= 200 and len(memory.encode()) <= 25 * 1024, life.today
            assert f"line_count: {memory.count(chr(10))}\n" in memory, life.today
            assert not digest.exists() or digest.stat().st_size <= 4096, life.today
            if life.day % 91 == 90:
                print(growth(life))
        if life.day == back and hour == 20:
            life.set_clock(life.now - 3 * HOUR)
            back = -1
    spent = ", ".join(f"{what} {seconds:.1f}" for what, seconds in sorted(life.spent.items()))
    print(f"{life.days} days in {time.perf_counter() - began:.1f} s: {spent}")
    print(f"the model was {dict(life.model.moods)}, the person {dict(life.settled)}")
    odd = [text for text in life.errors() if not text.startswith("no model wrote the commit message")]
    assert not odd, odd[:3]


def growth(life: Life) -> str:
    """Describes the sizes of the files, MEMORY.md, the stable part of a prompt, and the repository."""
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        compiled = engine.compile("Which harbour is next?", budget=32_768)
    stable = sum(each.tokens for each in compiled.sections if each.layer <= 7)
    sizes = [each.stat().st_size for each in life.root.rglob("*.md")]
    objects = [each.stat().st_size for each in (life.root / ".git").rglob("*") if each.is_file()]
    return (
        f"{life.today}: {len(sizes)} files of {sum(sizes) // 1024} KB, MEMORY.md of "
        f"{life.read(MEMORY).count(chr(10))} lines, {stable} stable tokens, a repository of {len(objects)} "
        f"files and {sum(objects) // 1024} KB"
    )


def commits_of(root: Path) -> list[tuple[str, date, str, list[str]]]:
    """Returns the object name, day, message and paths of every commit, newest first."""
    form = "--format=%x01%H%x00%ct%x00%B%x00"
    found = []
    for each in git(root, "log", form, "--name-only", "--no-renames").split("\x01")[1:]:
        name, seconds, message, paths = each.split("\0")
        day = local_day(datetime.fromtimestamp(int(seconds), UTC), ZONE)
        found.append((name, day, message.strip(), paths.split()))
    return found


def check(life: Life) -> tuple[PendingItem, ...]:
    """Checks all invariants; returns everything that was ever put up for review."""
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        waited = engine.knowledge.review.queue.all()
        assert waited and max(Counter(map(proposal_of, waited)).values()) == 1, "no proposal twice"
        check_runs(engine)
        check_memory(life, engine, waited)
        check_rollups(life, engine, waited)
    check_commits(life.root)
    check_tags(life)
    git(life.root, "fsck", "--strict", "--no-dangling")
    wrong = [each for each in examine(life.root) if each.level in ("warning", "error")]
    assert all("of at most 200 lines" in each.text for each in wrong), wrong
    return waited


def proposal_of(each: PendingItem) -> object:
    """Returns a proposal's identity, ignoring the time that it would write into a header."""
    if each.change is None:
        return each.item.category, each.item.path, each.item.text.casefold()
    steps = [step for step in each.change.steps if not step.text.startswith("updated: ")]
    return each.origin.name, replace(each.change, steps=tuple(steps)).id


def check_runs(engine: Engine) -> None:
    """Checks that no run failed, no moment has two runs, and no daily job ran twice for a day."""
    runs = [each for each in engine.schedule.runs(limit=100_000) if each.due is not None]
    assert {each.result for each in runs} == {"done"}, [each for each in runs if each.result != "done"]
    assert max(Counter((each.job, each.due) for each in runs).values()) == 1
    for job in ("condense-daily", "snapshot", "digest"):
        days = days_of(engine, job)
        assert len(days) == len(set(days)), job


def days_of(engine: Engine, job: str) -> list[date]:
    """Returns the days that a job has run for."""
    return [local_day(run.due, ZONE) for run in engine.schedule.runs(job, 1_000) if run.due is not None]


def check_commits(root: Path) -> None:
    """Checks that each commit has a type, touches only allowed paths, and names its conversations."""
    for _, _, message, paths in commits_of(root):
        kind, _, rest = message.partition(": ")
        assert kind in TYPES and rest, message
        allowed = ALLOWED.get(kind)
        assert not any(path.startswith("raw/") for path in paths) or kind == "conversation", message
        assert allowed is None or all(path.startswith(allowed) for path in paths), (message, paths)
        sessions = re.findall(r"^Session: (.+)$", message, re.MULTILINE)
        assert all(each.startswith(("raw/conversations/", "conversations/")) for each in sessions), message
        is_taught = kind in ("conversation", "extract") or rest.startswith(("harvest of", "accepted from"))
        assert sessions or not is_taught or rest.startswith("nothing new"), message
        assert kind != "conversation" or sessions == paths, message


def check_tags(life: Life) -> None:
    """Checks that exactly the days and weeks with commits have a tag, at their last commit."""
    last: dict[str, str] = {}
    for name, day, _, _ in reversed(commits_of(life.root)):
        if day < life.today - DAY:
            last[f"memory/daily/{day}"] = name
        if day + (7 - day.isoweekday()) * DAY < life.today - DAY:
            last[f"memory/weekly/{day:%G-W%V}"] = name
    listing = git(life.root, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/tags/memory")
    tags = dict(line.split() for line in listing.splitlines())
    assert {name: tags.get(name) for name in last} == last
    recent = {f"{day:memory/daily/%Y-%m-%d}" for day in (life.today, life.today - DAY)}
    weeks = {f"{day:memory/weekly/%G-W%V}" for day in (life.today, life.today - DAY)}
    assert tags.keys() - last.keys() <= recent | weeks


def check_rollups(life: Life, engine: Engine, waited: Collection[PendingItem]) -> None:
    """Checks that each day with turns has a journal, and each such week a proposal for MEMORY.md or a reason
    in the log.
    """
    subjects = {each.origin.name for each in waited}
    outcomes = "; ".join(run.said for run in engine.schedule.runs("condense-weekly", 1_000))
    for day in sorted(day for day in life.talked if day < life.today - DAY):
        places = [life.root / folder / f"journal/{day}.md" for folder in ("knowledge", "archive")]
        assert any(each.exists() for each in places) or f"journal-{day}" in subjects, day
        assert sum(each.exists() for each in places) < 2, f"{day} is in the archive as well"
        is_over = day + (7 - day.isoweekday()) * DAY < life.today - DAY
        assert (
            not is_over or f"{day:memory-%G-W%V}" in subjects or f"{day:journals of %G-W%V: }" in outcomes
        ), day


def check_memory(life: Life, engine: Engine, waited: Collection[PendingItem]) -> None:
    """Checks that every line ever seen or accepted is still there or in the history."""
    there = {line for _, line in life.lines()}
    text, gone = "\n".join(there), [line for line in life.ever if line not in there]
    assert HOSTILE not in text
    some = list(life.ever)[:: max(1, len(life.ever) // 6)]
    began = time.perf_counter()
    for line in (*gone, *some):
        assert engine.history.when(line[:400]).hits, (line, life.ever[line])
    each_s = (time.perf_counter() - began) / len([*gone, *some])
    print(f"{len(life.ever)} lines written, {len(gone)} only in the history; history when: {each_s:.2f} s")
    for each in waited:
        if each.verdict == "accepted" and each.change is None:
            statement = each.text or each.item.text
            assert statement in text or engine.history.when(statement[:400]).hits, statement
    for checked in engine.knowledge.verify():
        assert checked.sound and checked.source != "changed", checked
        assert all(line.state == "there" for line in checked.lines), checked


def check_archive(life: Life) -> None:
    """Checks that archived files are found, are in no prompt unasked, and are restored byte for byte."""
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        oldest = min(path.stem for path in (life.root / "knowledge/journal").glob("*.md"))
        assert oldest >= str(life.today - 90 * DAY - 21 * DAY), "the person has three weeks to accept it"
        archived = [path for path, _ in engine.retention.listed()]
        journals = sorted(path for path in archived if path.startswith("archive/journal/"))
        assert len(journals) > 100 and any(path.startswith("archive/reference/") for path in archived)
        engine.refresh_index()
        line = next(text for path, text in life.lines() if path == journals[0])
        assert journals[0] in {each.path for each in engine.search(line[2:], limit=20)}
        sections = engine.compile(line[2:], budget=16_384).sections
        assert not [each for each in sections if each.layer < 10 and each.source.startswith("archive/")]
        for path in (journals[0], journals[-1]):
            data, target = (life.root / path).read_bytes(), path.replace("archive/", "knowledge/", 1)
            proposal, _ = engine.retention.restore([path])
            assert apply(engine.knowledge, [proposal])[0].commit
            assert (life.root / target).read_bytes() == data
            assert git(
                life.root, "log", "--format=%H", f"--find-object={git(life.root, 'hash-object', target)}"
            )


@pytest.mark.parametrize("days", [16, pytest.param(28, marks=pytest.mark.thorough)])
def test_the_invariants_hold_for_weeks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    closed = {*range(15, 19), *(day for day in range(1, 27) if day % 4)} - {days - 1}
    life = Life(
        tmp_path / "memory", monkeypatch, days=days, sessions=16, closed=closed, modelled=range(5),
        later="manual", looks=(18,), searched=False,
    )  # fmt: skip
    simulate(life, back=13)
    check(life)


@pytest.mark.thorough
@pytest.mark.timeout(3_600)
def test_the_invariants_hold_for_a_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = (range(40, 44), range(120, 134), range(250, 252), range(300, 305))
    closed = {day for span in spans for day in span}
    life = Life(
        tmp_path / "memory", monkeypatch, days=365, sessions=300, closed=closed, modelled=range(110, 240)
    )
    simulate(life, back=200)
    waited = check(life)
    with Engine.open(life.root, clock=lambda: life.now) as engine:
        done = {job: set(days_of(engine, job)) for job in ("condense-daily", "digest", "condense-monthly")}
    for span in spans:
        missed = {FIRST + day * DAY for day in span}
        assert done["condense-daily"] & missed == {FIRST + span[-1] * DAY}, "caught up once"
    assert {date(2025, 3, 30), date(2025, 10, 26)} <= done["digest"], "the nights of clock changes"
    assert done["condense-monthly"] == {date(2025, month, 1) for month in range(2, 13)}
    assert "quiet-projects" in {each.origin.name for each in waited}
    check_archive(life)
