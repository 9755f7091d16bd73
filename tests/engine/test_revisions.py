"""A prompt compiled for a past commit equals that of a clone checked out there, byte for byte."""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_httpserver import HTTPServer

from engine.context.compiled import Compiled
from engine.engine import Engine
from engine.errors import BudgetError, ConfigError, RepositoryError, TranscriptError, WriteFailed
from engine.store.faults import fail, trip
from tests.conftest import GIT_IDENTITY
from tests.store.history import commit, git

if TYPE_CHECKING:
    pass

TOPIC = """---
title: Deploy
description: How a release is deployed to the gauges.
priority: high
triggers:
  - type: keywords
    words: [deploy, rollout]
subscriptions:
  - knowledge/procedures/deploy.md
  - notes/long.txt
  - notes/plain.txt
---
{instructions}
"""
TURNS = """---
session_id: {session}
started: 2026-09-0{day}T10:00:00Z
---

## 10:00 — user

How did the rollout of version {day} go?

## 10:01 — agent

The rollout of version {day} went through in {day} minutes; the gauge at Kattvik was slow.
"""
QUICK = "watchers:\n  preset: spec\n"
"""Without a fit, which takes seconds in a new process; the sample and labels are tested with one."""
MESSAGE = "How do we deploy the rollout to the gauge at Kattvik?"


def write(root: Path, path: str, text: str | bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)


def first_state(root: Path) -> None:
    write(root, "memory-config.yaml", f"{QUICK}context_compiler:\n  token_budget: 4096\n")
    write(root, ".gitignore", "scratch/\nmemory.db*\n")
    write(root, "knowledge/prompts/system.md", "You keep the gauges running.\n")
    write(root, "knowledge/identity/SOUL.md", "# Soul\n\nCalm.\n")
    write(root, "knowledge/memory/MEMORY.md", "# Memory\n\n- The gauge at Kattvik is slow.\n")
    write(root, "knowledge/procedures/deploy.md", "# Deploy\n\nOne gauge at a time.\n")
    write(root, "knowledge/journal/2026-09-01.md", "- Deployed version 1.\n")
    write(root, "topics/deploy.md", TOPIC.format(instructions="Deploy on Tuesdays."))
    write(root, "notes/plain.txt", "A plain note.\n")
    write(root, "notes/long.txt", "long " * 300_000)
    write(root, "raw/conversations/2026/09/01/1000-ses_1-rollout.md", TURNS.format(session="ses_1", day=1))


@pytest.fixture(scope="module")
def _first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first") / "memory"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_IDENTITY.items():
            patch.setenv(name, value)
        git(folder, "init", "-q", "-b", "main", "--template=")
        first_state(folder)
        commit(folder, "first", "2026-09-01T20:00:00Z")
    return folder


@pytest.fixture
def root(_first_commit: Path, tmp_path: Path) -> Path:
    """A workspace with one commit, from September 1st."""
    return shutil.copytree(_first_commit, tmp_path / "memory")


@pytest.fixture
def engine(root: Path) -> Iterator[Engine]:
    with Engine.open(root, clock=lambda: datetime(2026, 9, 20, tzinfo=UTC)) as opened:
        yield opened


def compile_at(engine: Engine, text: str, message: str = MESSAGE, **options: object) -> Compiled:
    found = engine.revisions.find(text)
    return engine.revisions.compile(message, found, **options)  # type: ignore[arg-type]


def compile_in_clone(
    root: Path, revision: str, place: Path, message: str = MESSAGE, **options: object
) -> Compiled:
    """Compile in a clone checked out at a revision, at the time of its commit."""
    git(place.parent, "clone", "-q", "--no-local", str(root), str(place))
    git(place, "checkout", "-q", revision)
    at = datetime.fromtimestamp(int(git(place, "log", "-1", "--format=%ct")), UTC)
    with Engine.open(place, clock=lambda: at) as engine:
        return engine.compile(message, ask=False, **options)  # type: ignore[arg-type]


def mutate(root: Path, dice: random.Random, day: int) -> None:
    """Change the workspace as in daily use: files are added, edited, renamed and deleted."""
    words = ["gauge", "rollout", "Kattvik", "pump", "modem", "deploy", "alarm", "version"]
    text = " ".join(dice.choice(words) for _ in range(60))
    write(root, f"knowledge/journal/2026-09-{day:02}.md", f"- {text}\n")
    write(
        root,
        f"raw/conversations/2026/09/{day:02}/1000-ses_{day}-rollout.md",
        TURNS.format(session=f"ses_{day}", day=day),
    )
    match dice.randrange(6):
        case 0:
            write(root, "topics/deploy.md", TOPIC.format(instructions=f"Deploy with care: {text}"))
        case 1:
            identity = next(iter(sorted((root / "knowledge/identity").iterdir())))
            identity.rename(identity.with_name(f"RENAMED-{day}.md"))
        case 2:
            write(root, f"knowledge/reference/caf\udce9-{day}.md".encode("utf-8", "surrogateescape").decode(
                "utf-8", "surrogateescape"), f"# Alarm\n\n{text}\n")  # fmt: skip
        case 3:
            write(
                root,
                "memory-config.yaml",
                f"context_compiler:\n  token_budget: {dice.randrange(1024, 8192)}\n",
            )
        case 4:
            (root / "knowledge/procedures/deploy.md").unlink(missing_ok=True)
            write(root, f"knowledge/reference/line\nend-{day}.md", f"# Pump\n\n{text}\n")
        case 5:
            write(root, "knowledge/digest.md", f"## Facts\n\n- {text}\n")
            write(root, "-rf", text)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2))])
def test_the_prompt_equals_that_of_a_clone(root: Path, engine: Engine, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    made = [git(root, "rev-parse", "HEAD")]
    for day in range(2, 7):
        mutate(root, dice, day)
        made.append(commit(root, f"day {day}", f"2026-09-{day:02}T20:00:00Z"))
    write(root, "knowledge/identity/LATER.md", "Not committed.\n")
    texts = set()
    for number, revision in enumerate(made):
        here = compile_at(engine, revision)
        there = compile_in_clone(root, revision, tmp_path / f"clone-{number}")
        assert here.text == there.text
        assert (here.sections, here.left_out, here.slots) == (there.sections, there.left_out, there.slots)
        assert here.active_topics == there.active_topics == ("deploy",)
        assert "Not committed." not in here.text
        texts.add(here.text)
    assert len(texts) == len(made)


def test_the_prompt_of_the_sample_equals_that_of_a_clone(sample: Path, tmp_path: Path) -> None:
    message = "Can you review the PR that just came in, and when was the last backup?"
    with Engine.open(sample) as engine:
        here = compile_at(engine, "HEAD", message)
    assert (
        here.active_topics and here.text == compile_in_clone(sample, "HEAD", tmp_path / "clone", message).text
    )


def test_labels_committed_at_the_revision_are_used(root: Path, engine: Engine, tmp_path: Path) -> None:
    (root / "memory-config.yaml").write_text("context_compiler:\n  token_budget: 4096\n")
    with Engine.open(root) as early:
        early.trace("Please deploy the rollout now", record=True)
        decision = next(iter(early.decision_log.read()))
        early.decision_log.label(decision, True)
        early.labels.learn()
    commit(root, "labelled", "2026-09-02T20:00:00Z")
    shutil.rmtree(root / "logs")
    assert compile_at(engine, "HEAD").text == compile_in_clone(root, "HEAD", tmp_path / "clone").text


def test_the_same_inputs_give_the_same_bytes(root: Path, engine: Engine) -> None:
    first = compile_at(engine, "HEAD")
    assert compile_at(engine, "HEAD") == first
    shutil.rmtree(root / "scratch")
    assert compile_at(engine, "HEAD") == first
    with Engine.open(root, clock=lambda: datetime(2027, 1, 1, tzinfo=UTC)) as later:
        assert compile_at(later, "HEAD") == first


def test_the_day_is_that_of_the_commit(root: Path, engine: Engine) -> None:
    compiled = compile_at(engine, "HEAD")
    assert "Today is 2026-09-01." in compiled.text
    assert "journal:2026-09-01.md" in [section.label for section in compiled.sections]
    commit(root, "next day, in Honolulu the same", "2026-09-01T20:00:00-10:00")
    compiled = compile_at(engine, "HEAD")
    assert "Today is 2026-09-02." in compiled.text
    assert "yesterday's journal" in [section.why for section in compiled.sections]


def test_now_is_the_working_tree(root: Path, engine: Engine) -> None:
    write(root, "knowledge/identity/LATER.md", "Not committed.\n")
    compiled = compile_at(engine, "now")
    assert "Not committed." in compiled.text
    assert "Today is 2026-09-20." in compiled.text


def test_a_session_has_the_turns_it_had_at_the_revision(root: Path, engine: Engine, tmp_path: Path) -> None:
    path = "raw/conversations/2026/09/01/1000-ses_1-rollout.md"
    before = git(root, "rev-parse", "HEAD")
    later = (root / path).read_text() + "\n## 10:05 — user\n\nAnd the pump?\n"
    write(root, path, later)
    after = commit(root, "more of it", "2026-09-02T20:00:00Z")
    early = compile_at(engine, before, session_id="ses_1")
    late = compile_at(engine, after, session_id="ses_1")
    assert "And the pump?" not in early.text and "And the pump?" in late.text
    assert early.text == compile_in_clone(root, before, tmp_path / "clone", session_id="ses_1").text
    with pytest.raises(TranscriptError, match=f"^{before[:8]}: no such session: ses_9"):
        compile_at(engine, before, session_id="ses_9")


def test_a_given_budget_applies_to_a_past_prompt(root: Path, engine: Engine) -> None:
    assert compile_at(engine, "HEAD").budget == 4096
    assert compile_at(engine, "HEAD", budget=1024).tokens <= 1024
    name = git(root, "rev-parse", "HEAD")[:8]
    with pytest.raises(BudgetError, match=f"^{name}:context_compiler.token_budget"):
        compile_at(engine, "HEAD", "word " * 5000)


def test_invalid_settings_are_reported_with_revision_file_and_line(root: Path, engine: Engine) -> None:
    write(root, "memory-config.yaml", "context_compiler:\n  token_budget: many\n")
    broken = commit(root, "broken", "2026-09-02T20:00:00Z")
    with pytest.raises(ConfigError) as caught:
        compile_at(engine, "HEAD")
    assert caught.value.where == f"{broken[:8]}:memory-config.yaml:2"
    assert "choose another revision" in caught.value.hint
    assert not list((root / "scratch/revisions").iterdir())


def test_a_broken_topic_is_reported_with_revision_file_and_line(root: Path, engine: Engine) -> None:
    write(root, "topics/broken.md", "---\ntitle: [\n---\nx\n")
    broken = commit(root, "broken", "2026-09-02T20:00:00Z")
    (root / "topics/broken.md").unlink()
    compiled = compile_at(engine, "HEAD")
    (problem,) = [problem for problem in compiled.problems if "broken.md" in problem]
    assert problem.startswith(f"{broken[:8]}:topics/broken.md:")
    assert problem.split(":")[2].isdigit()
    assert compiled.active_topics == ("deploy",)


def test_a_commit_that_is_not_a_workspace_is_an_error(root: Path, engine: Engine) -> None:
    git(root, "rm", "-q", "--cached", "memory-config.yaml")
    git(root, "commit", "-q", "-m", "without", at="2026-09-02T20:00:00Z")
    with pytest.raises(RepositoryError, match="is not a workspace") as caught:
        compile_at(engine, "HEAD")
    assert git(root, "rev-parse", "HEAD")[:8] in caught.value.what


def test_symlinks_and_submodules_are_left_out_and_reported(root: Path, engine: Engine) -> None:
    (root / "knowledge/identity/LINK.md").symlink_to("/etc/passwd")
    (root / "topics/link").symlink_to("../raw")
    revision = commit(root, "links", "2026-09-02T20:00:00Z")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{revision},module")
    git(root, "commit", "-q", "-m", "module", at="2026-09-03T20:00:00Z")
    for _ in range(2):
        problem = "\n".join(compile_at(engine, "HEAD").problems)
        for path in ("knowledge/identity/LINK.md", "topics/link", "module"):
            assert f":{path}: left out" in problem
    assert not [path for path in (root / "scratch").rglob("*") if path.is_symlink()]


def test_a_file_read_through_a_symlink_today_is_reported_as_left_out_in_the_past(
    root: Path, engine: Engine
) -> None:
    write(root, "notes/calm.md", "# Calm\n\nThe harbour master answers slowly.\n")
    (root / "knowledge/identity/LINK.md").symlink_to("../../notes/calm.md")
    revision = commit(root, "a link", "2026-09-02T20:00:00Z")
    assert "The harbour master answers slowly." in engine.compile(MESSAGE, ask=False).text
    then = compile_at(engine, "HEAD")
    assert "The harbour master answers slowly." not in then.text
    problem = f"{revision[:8]}:knowledge/identity/LINK.md: left out: symlinks are not followed"
    assert problem in then.problems


def tree(root: Path, entries: list[tuple[str, str, bytes, str]]) -> str:
    """Create a tree that git itself never would; return its hash."""
    raw = b"".join(
        mode.encode() + b" " + name + b"\0" + bytes.fromhex(object_name)
        for mode, _, name, object_name in entries
    )
    return git(root, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)


def test_a_hostile_tree_cannot_escape_its_folder(root: Path, engine: Engine, tmp_path: Path) -> None:
    blob = git(root, "hash-object", "-w", "--stdin", stdin=b"evil")
    config = git(root, "hash-object", "-w", "--stdin", stdin=b"")
    link = git(root, "hash-object", "-w", "--stdin", stdin=str(tmp_path).encode())
    inner = tree(root, [("100644", "blob", b"escaped", blob)])
    top = tree(
        root,
        [
            ("40000", "tree", b"..", inner),
            ("40000", "tree", b".git", inner),
            ("100644", "blob", b"a", blob),
            ("40000", "tree", b"a", inner),
            ("120000", "blob", b"knowledge", link),
            ("40000", "tree", b"knowledge", inner),
            ("100644", "blob", b"memory-config.yaml", config),
            ("40000", "tree", b"scratch", inner),
        ],
    )
    revision = git(root, "commit-tree", top, "-m", "hostile", at="2026-09-02T20:00:00Z")
    before = {
        path for path in tmp_path.rglob("*") if "scratch" not in path.parts and ".git" not in path.parts
    }
    problem = "\n".join(compile_at(engine, revision).problems)
    after = {path for path in tmp_path.rglob("*") if "scratch" not in path.parts and ".git" not in path.parts}
    assert after == before
    assert not list((root / "scratch").rglob("../escaped"))
    assert "../escaped: left out" in problem
    assert ".git/escaped: left out" in problem
    assert ":knowledge: left out" in problem
    assert "a/escaped: left out" in problem


def test_nothing_in_a_hostile_repository_is_executed(root: Path, engine: Engine, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{canary}"\ncat\n')
    program.chmod(0o755)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (root / ".git/hooks").mkdir(exist_ok=True)
        shutil.copy(program, root / ".git/hooks" / hook)
    write(root, ".gitattributes", "* filter=evil diff=evil text eol=crlf\n")
    with (root / ".git/config").open("a") as file:
        file.write(
            f'[core]\n\tfsmonitor = {program}\n\tpager = {program}\n[filter "evil"]\n\tsmudge = {program}\n'
            f'\tclean = cat\n\trequired = true\n[diff "evil"]\n\ttextconv = {program}\n'
            f"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {program}\n"
        )
    git(root, "-c", "core.fsmonitor=", "add", ".gitattributes")
    git(root, "-c", "core.fsmonitor=", "commit", "-q", "--no-verify", "-m", "evil", at="2026-09-02T20:00:00Z")
    canary.unlink(missing_ok=True)
    for text in ("HEAD", "2026-09-01", "main"):
        assert compile_at(engine, text).active_topics == ("deploy",)
    assert not canary.exists(), canary.read_text()
    subprocess.run(["git", "checkout", "-q", "-f", "HEAD~1", "--", "."], cwd=root, check=False)
    assert canary.exists(), "the canary itself does not work"


def test_a_past_workspace_is_read_only_and_separate(root: Path, engine: Engine) -> None:
    found = engine.revisions.find("HEAD")
    assert found is not None
    before = {
        path: path.stat().st_mtime_ns for path in root.rglob("*") if not path.is_relative_to(root / "scratch")
    }
    with engine.revisions.opened(found) as past:
        assert isinstance(past.engine, Engine)
        assert past.engine.files.read_only
        assert past.engine.repository.state().kind == "none"
        assert past.engine.index.status().state == "ready"
        assert past.engine.clock() == datetime(2026, 9, 1, 20, tzinfo=UTC)
        past.engine.trace(MESSAGE, record=True)
    after = {
        path: path.stat().st_mtime_ns for path in root.rglob("*") if not path.is_relative_to(root / "scratch")
    }
    assert after == before
    assert git(root, "status", "--porcelain") == ""


def test_the_gate_is_not_asked_and_this_is_reported(root: Path, engine: Engine) -> None:
    policy = "watchers:\n  policy:\n    high:\n      gate: 0.01\n      activate: 1\n"
    write(root, "memory-config.yaml", f"gate:\n  provider: anthropic\n{policy}")
    revision = commit(root, "gated", "2026-09-02T20:00:00Z")
    compiled = compile_at(engine, "HEAD")
    assert compiled.active_topics == ()
    said = "the gate is not asked about the past, so gate.on_failure decided about deploy"
    assert f"{revision[:8]}: {said}" in compiled.problems
    engine.reload_config()
    assert f"now: {said}" in compile_at(engine, "now").problems


def test_past_texts_are_not_sent_to_an_embedding_service(
    root: Path, engine: Engine, httpserver: HTTPServer
) -> None:
    address = httpserver.url_for("/v1")
    write(
        root,
        "memory-config.yaml",
        f"search:\n  embedding: openai\n  embedding_base_url: {address}\n",
    )
    commit(root, "asks a service", "2026-09-09T10:00:00+00:00")
    found = engine.revisions.find("HEAD")
    assert engine.revisions.compile(MESSAGE, found).sections
    assert httpserver.log == []


def test_progress_is_reported_to_the_end_and_nothing_stays(root: Path, engine: Engine) -> None:
    steps: list[tuple[int, int]] = []
    compile_at(engine, "HEAD", progress=lambda done, total: steps.append((done, total)))
    assert steps[0][0] == 0 and steps[-1][0] == steps[-1][1]
    assert list((root / "scratch/revisions").iterdir()) == []


def test_what_a_killed_process_left_is_removed_after_a_day(root: Path, engine: Engine) -> None:
    for name, age_s in (("old", 90_000), ("new", 60)):
        left = root / "scratch/revisions" / name
        (left / "knowledge").mkdir(parents=True)
        os.utime(left, (time.time() - age_s,) * 2)
    compile_at(engine, "HEAD")
    assert [each.name for each in (root / "scratch/revisions").iterdir()] == ["new"]


@pytest.mark.parametrize("point", ["folder:create", "temp:create", "temp:write"])
def test_a_full_disk_leaves_nothing_and_the_next_attempt_succeeds(
    root: Path, engine: Engine, point: str
) -> None:
    with pytest.raises(WriteFailed, match="No space left"), trip(point, fail(errno.ENOSPC)):
        compile_at(engine, "HEAD")
    assert not list((root / "scratch").glob("revisions/*"))
    assert compile_at(engine, "HEAD").active_topics == ("deploy",)


_IN_FULL = [pytest.param(each, marks=pytest.mark.thorough) for each in ("temp:create", "replace:rename")]
COMPILE = """
import sys
from engine.engine import Engine
with Engine.open(sys.argv[1]) as engine:
    found = engine.revisions.find("HEAD")
    print(engine.revisions.compile(sys.argv[2], found).text)
"""


def test_concurrent_processes_give_the_same_prompt(root: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", COMPILE, str(root), MESSAGE], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    texts = [process.communicate(timeout=100)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert texts[0] == texts[1]
    assert b"Deploy on Tuesdays." in texts[0]
    assert list((root / "scratch/revisions").iterdir()) == []


@pytest.mark.parametrize("point", ["temp:write", *_IN_FULL])
def test_a_killed_process_does_no_harm(root: Path, engine: Engine, point: str) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", COMPILE, str(root), MESSAGE],
        env={**os.environ, "AUTOPOIESIS_FAULT": f"{point}:kill:1"},
        capture_output=True,
        check=False,
    )
    assert killed.returncode < 0
    assert compile_at(engine, "HEAD").active_topics == ("deploy",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_past_prompt_works_in_an_unwritable_workspace(root: Path) -> None:
    for place, _, _ in os.walk(root):
        os.chmod(place, stat.S_IRUSR | stat.S_IXUSR)
    try:
        with Engine.open(root) as engine:
            assert compile_at(engine, "HEAD").active_topics == ("deploy",)
    finally:
        for place, _, _ in os.walk(root):
            os.chmod(place, stat.S_IRWXU)


def test_a_read_only_engine_gives_the_same_prompt_and_stores_nothing(root: Path, engine: Engine) -> None:
    with Engine.open(root, read_only=True) as reading:
        compiled = compile_at(reading, "HEAD")
    assert not (root / "scratch/revisions").exists()
    assert compiled.text == compile_at(engine, "HEAD").text
