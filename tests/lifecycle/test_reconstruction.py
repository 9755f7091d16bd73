"""Reconstruction with a model, and what it keeps of the person's decisions (spec 8.7)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import ChangeRefused, SendFailed
from engine.lifecycle.extraction.run import Result
from engine.lifecycle.reconstruction.bench import Bench, cleared
from engine.lifecycle.reconstruction.reconstruction import Request
from tests.engine.flush_support import Provider
from tests.lifecycle.extraction_support import FROM, SESSION, Space, by_task, rows, session

SECOND = SESSION.replace("0001", "0002")
TALK = session(
    ("user", "Please look at the tide tables. They are computed in UTC. Priya Raman is our chart lead."),
    ("agent", "I look. Noted: the tables are computed in UTC."),
)


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, check=True, text=True).stdout


def opened(root: Path, provider: Provider | None) -> Engine:
    engine = Engine.open(root)
    engine.extraction.model = lambda _settings: provider
    return engine


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two sessions."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    space = Space(tmp_path / "memory")
    space.put(TALK)
    space.put(TALK.replace("ses_tide0001", "ses_tide0002").replace("Please", "Do"), SECOND)
    space.repository.commit(["memory-config.yaml", SESSION, SECOND], "first")
    return space.root


def test_a_branch_needs_all_sessions_and_a_rerun_reuses_paid_replies(root: Path) -> None:
    reply = rows(facts=[{"statement": "The tide tables are computed in UTC."}])
    failing = Provider(reply, SendFailed("the server is away"))
    wanted = Request("a", ("facts",))
    with opened(root, failing) as engine:
        estimate = engine.reconstruction.estimate(wanted)
        assert estimate.survey.questions == 2 and estimate.survey.tokens > 0 and not failing.prompts
        progress: list[tuple[Result, int, int]] = []
        done = engine.reconstruction.run(wanted, lambda *each: progress.append(each))
        assert done.commit == "" and [each[0].outcome for each in progress] == ["extracted", "failed"]
        assert git(root, "branch", "--list", "extract/*") == ""
        assert engine.reconstruction.estimate(wanted).is_begun
        with pytest.raises(ChangeRefused, match="started with other extractors"):
            engine.reconstruction.run(Request("a", ("facts", "people")))
        with Bench.of(root, "a").held(), pytest.raises(ChangeRefused, match="already running"):
            engine.reconstruction.run(wanted)

    good = by_task(facts=reply)
    with opened(root, good) as engine:
        assert len(engine.reconstruction.run(wanted).commit) == 40
    assert len(good.prompts) == 1  # the other one was already paid for
    assert "Model: anthropic some-model\nSessions: 2\n" in git(root, "log", "-1", "--format=%B", "extract/a")

    with opened(root, Provider(reply, SendFailed("the server is away"))) as engine:
        assert engine.reconstruction.run(Request("b", ("facts",)), partial=True).commit
        assert "Sessions: 1\nFailed: 1\n" in git(root, "log", "-1", "--format=%B", "extract/b")
        assert not engine.reconstruction.run(Request("c", ("facts",))).commit
    with opened(root, None) as engine:
        assert engine.reconstruction.run(Request("c", ("facts",)), start_over=True).commit
    assert git(root, "status", "--porcelain", "knowledge", "raw") == ""


def test_lines_a_person_accepted_or_edited_are_kept(root: Path) -> None:
    long = f"The tide tables are computed in UTC{', and so are those of the harbour' * 20}."
    page = root / "knowledge/facts.md"
    with opened(root, by_task(facts=rows(facts=[{"statement": long}]))) as engine:
        engine.extraction.runner(["facts"]).run()
        for each in engine.knowledge.review.queue.waiting():
            engine.knowledge.review.accept(each.id)
        accepted = page.read_text()
        assert long in accepted
        mine = f"- The gauge is wet. {FROM}\n  - I was there.\n"
        page.write_text(f"{accepted}{mine}- The gauge is dry. {FROM}\n")
        engine.repository.commit(["knowledge/facts.md"], "as it stands")
    with opened(root, None) as engine:
        done = engine.reconstruction.run(Request("a"))
    facts = git(root, "show", "extract/a:knowledge/facts.md")
    assert facts == accepted + mine, done


def test_lines_of_a_session_that_cannot_be_read_again_are_kept(root: Path) -> None:
    """Whether the model failed on it or it is no longer a conversation."""
    other = FROM.replace("0001", "0002")
    facts = f"# Facts\n\n- The gauge is wet. {FROM}\n- The gauge is dry. {other}\n- By hand.\n"
    page = f"---\ntype: reference\n---\n\n# Tides\n\n## Facts\n\n- They turn. {other}\n"
    (root / "knowledge/reference").mkdir(parents=True)
    (root / "knowledge/facts.md").write_text(facts)
    (root / "knowledge/reference/tides.md").write_text(page)
    reply = rows(facts=[{"statement": "The tide tables are computed in UTC."}])
    with opened(root, Provider(reply, SendFailed("the server is away"))) as engine:
        engine.repository.commit(["knowledge/facts.md", "knowledge/reference/tides.md"], "as it stands")
        engine.reconstruction.run(Request("a"), partial=True)
    (root / SECOND).write_bytes(b"\0 no conversation")
    with opened(root, None) as engine:
        engine.reconstruction.run(Request("b"), partial=True)
    for name in "ab":
        found = git(root, "show", f"extract/{name}:knowledge/facts.md")
        assert ("- The gauge is wet." in found) == (name == "a")  # some extractors failed on it
        assert f"- The gauge is dry. {other}\n- By hand.\n" in found
        assert git(root, "show", f"extract/{name}:knowledge/reference/tides.md") == page


def test_a_page_is_removed_with_its_last_line_but_a_category_file_is_not() -> None:
    page = f"---\ntype: person\n---\n\n# Priya\n\n## Context\n\n- Leads. {FROM}\n".encode()
    assert cleared("knowledge/people/priya.md", page, lambda entry: bool(entry.source)) is None
    kept = page.replace(b"## Context", b"Mine.\n\n## Context")
    assert cleared("knowledge/people/priya.md", kept, lambda entry: bool(entry.source)) == kept.replace(
        f"\n- Leads. {FROM}\n".encode(), b""
    )
    facts = f"# Facts\n\n- Leads. {FROM}\n".encode()
    assert cleared("knowledge/facts.md", facts, lambda _: True) == b"# Facts\n"
    assert cleared("knowledge/facts.md", facts, lambda _: False) is facts
