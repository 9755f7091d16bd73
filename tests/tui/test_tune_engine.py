"""The tune screen with the real engine: a threshold is moved, applied and undone; labels reach the log."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import cast

import pytest

from engine.activation.policy import Thresholds
from engine.activation.trace import Funnel, Message, TopicTrace, Trace
from engine.engine import Engine
from tests.conftest import made_or_copied
from tests.tui.screen_driven import TuneDriven, open_workbench

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
TOPIC = "dashboard-frontend"


@pytest.fixture
def root(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The sample with three topics, which are fitted quickly, and 40 messages, 32 with labels for one."""
    root = tmp_path / "memory"
    made_or_copied(tmp_path_factory, "tuned", root, lambda _: make_root(request.getfixturevalue("sample")))
    return root


def make_root(sample: Path) -> None:
    for file in sorted((sample / "topics").glob("*.md")):
        if file.stem not in (TOPIC, "deploy", "release"):
            file.unlink()
    table = "".join(f"    {name}: {{activate: 0.6, gate: 0.25}}\n" for name in ("high", "medium", "low"))
    settings = f"watchers:\n  preset: calibrated\n  policy:\n{table}gate:\n  provider: local\n"
    (sample / "memory-config.yaml").write_text(settings, encoding="utf-8")
    git(sample, "commit", "-qam", "thresholds")
    random = Random(5)
    with Engine.open(sample, clock=lambda: NOW) as engine:
        assert engine.config.watchers.preset == "calibrated"
        for number in range(40):
            useful = number % 2 == 0
            score = min(0.98, max(0.05, random.gauss(0.75 if useful else 0.45, 0.12)))
            trace = make_trace(
                f"message {number} about {'the dashboard' if useful else 'lunch'}",
                score,
                NOW - timedelta(minutes=40 - number),
            )
            engine.decision_log.record(trace)
            if number < 32:
                engine.decision_log.label(engine.decision_log.ensure(trace, TOPIC), useful)


def make_trace(text: str, score: float, at: datetime) -> Trace:
    """A trace of one message in which the topic has a score."""
    row = TopicTrace(
        TOPIC, "medium", "gated", (), score,
        0.25, 0.6, 0.25, "medium", None, "active" if score >= 0.6 else "dropped", "",
    )  # fmt: skip
    return Trace(Message(text, at=at, session_id="ses_1"), (row,), Funnel(1, 0, 1, 0, 0))


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout


@asynccontextmanager
async def open_screen(root: Path, *, read_only: bool = False) -> AsyncIterator[TuneDriven]:
    async with open_workbench(root, now=NOW, read_only=read_only, grace_s=0.0) as workbench:
        yield await TuneDriven.on_topic(workbench, TOPIC)


async def test_a_moved_threshold_is_written_committed_and_undone(root: Path) -> None:
    path = root / "topics" / f"{TOPIC}.md"
    before, head = path.read_bytes(), git(root, "rev-parse", "HEAD")
    async with open_screen(root) as driven:
        today = driven.now
        await driven.press("L", "right", "c", "right")
        assert driven.state.moved and path.read_bytes() == before
        wanted = driven.now
        await driven.press("enter")
        assert driven.state.today == wanted and TOPIC not in driven.state.moves
        written = path.read_text(encoding="utf-8")
        assert f"activation_threshold: {wanted.activate}" in written
        assert f"similarity_threshold: {wanted.gate}" in written
        commit = git(root, "rev-parse", "HEAD")
        assert commit != head and f"commit {commit[:7]}" in driven.toasts
        assert (
            git(root, "show", "--stat", "--format=%s", "HEAD")
            .splitlines()[0]
            .startswith(f"maintenance: tune {TOPIC}")
        )
        assert git(root, "show", "--name-only", "--format=", "HEAD").split() == [f"topics/{TOPIC}.md"]
        await driven.press("z", "right", "enter")
        assert driven.state.today == today == driven.now
        assert path.read_bytes() == before
        assert git(root, "diff", "--stat", "HEAD", "--", "topics") == ""
        assert git(root, "rev-list", "--count", f"{head.strip()}..HEAD").strip() == "2"


async def test_the_last_change_can_be_undone_on_another_day(root: Path) -> None:
    path = root / "topics" / f"{TOPIC}.md"
    before = path.read_bytes()
    async with open_screen(root) as driven:
        await driven.press("H", "enter")
        assert path.read_bytes() != before
    async with open_screen(root) as driven:
        await driven.press("z")
        assert "Undo the last threshold change" in driven.text
        await driven.press("right", "enter")
        assert path.read_bytes() == before
        await driven.press("z", "right", "enter")
        assert "no threshold change to undo" in driven.toasts


async def test_a_label_is_logged_and_can_be_undone(root: Path) -> None:
    async with open_screen(root) as driven:
        first, second, third = (item.id for item in driven.screen.decisions.items[:3])
        labelled = driven.state.overview[TOPIC].labelled
        await driven.press("y", "n")
        assert driven.screen.decisions.cursor == 2
        assert driven.state.overview[TOPIC].labelled == labelled + 2 == 34
        await driven.press("y", "u")
        assert driven.state.overview[TOPIC].labelled == 34
        assert " → " in driven.toasts, "the score before and after"
    with Engine.open(root) as engine:
        labels = {each.message_hash: each[-2:] for each in engine.decision_log.read()}
        assert labels[first] == (True, "person")
        assert labels[second] == (False, "person")
        assert labels[third] == (None, "")


async def test_new_decisions_are_shown_and_other_thresholds_in_the_file_are_kept(
    root: Path,
) -> None:
    path = root / "topics" / f"{TOPIC}.md"
    async with open_screen(root) as driven:
        await driven.press("L")
        before = driven.state.overview[TOPIC].messages
        engine = cast(Engine, driven.engine)
        engine.decision_log.record(make_trace("brand new", 0.62, NOW))
        driven.screen.look()
        await driven.settle()
        assert driven.state.overview[TOPIC].messages == before + 1
        assert driven.now == Thresholds(0.25, 0.65)
        assert driven.state.table is not None
        assert driven.state.table.messages[-1].text == "brand new"
        await driven.press("enter")
        mine = path.read_text(encoding="utf-8").replace(
            "activation_threshold: ", "activation_threshold: 0.9 # "
        )
        path.write_text(mine, encoding="utf-8")
        await driven.press("z", "right", "enter")
        assert "changed since its thresholds were read" in driven.toasts
        assert path.read_text(encoding="utf-8") == mine


async def test_a_read_only_workspace_is_not_changed(root: Path) -> None:
    path = root / "topics" / f"{TOPIC}.md"
    before, log = path.read_bytes(), sum(each.stat().st_size for each in (root / "logs").rglob("*.jsonl"))
    async with open_screen(root, read_only=True) as driven:
        await driven.press("L", "enter", "y", "n", "z")
        assert "the workspace is read-only" in driven.text
    assert path.read_bytes() == before
    assert sum(each.stat().st_size for each in (root / "logs").rglob("*.jsonl")) == log
