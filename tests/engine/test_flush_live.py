"""In an open workspace, no turn leaves the window without a record, and flushes block nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.context.history import sizes
from engine.engine import Engine
from engine.events import FlushDue, Flushed, PromptCompiled, TurnArrived, TurnTraced
from engine.live.feed import FeedEntry, entry_of
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from engine.workspace.doctor import examine
from tests.engine.conftest import Witness
from tests.engine.flush_support import NOTES, SESSION, Desk, Provider, reply

SMALL = "context_compiler:\n  token_budget: 400\n"
ASKING = SMALL + "flush:\n  provider: anthropic\n  deadline_s: 100\n"


class Followed:
    """An open workspace and an agent that writes to it."""

    def __init__(self, root: Path) -> None:
        self.engine = Engine.open(root)
        self.seen = Witness()
        self.engine.subscribe(self.seen)
        self.engine.start()
        self.agent = ConversationCapture(Files(Workspace.open(root)))
        self.path = ""

    def talk(self, exchanges: int, session: str = SESSION) -> str:
        """Add this many exchanges."""
        self.path = self.agent.start(session, title="Rollups")
        for number in range(exchanges):
            self.agent.message(session, "user", f"Question {number}: " + "level " * 20)
            self.agent.message(session, "agent", f"Answer {number}: " + "gauge " * 20)
        return self.path

    def wait_settled(self, path: str, turns: int, *, every_one: bool = True) -> None:
        """Wait until there are this many turns, all flushes have ended, and all dropped turns are
        recorded."""
        self.seen.wait(TurnArrived, lambda event: event.key == f"{path}#{turns - 1}")
        end, quiet = time.monotonic() + 60, 0
        while time.monotonic() < end:
            events = list(self.seen.events)
            due = sum(isinstance(event, FlushDue) for event in events)
            done = sum(isinstance(event, Flushed) for event in events)
            is_done = bool(self.engine.flush_log.records(path)) and (due == done or not every_one)
            quiet = quiet + 1 if is_done and not self.unrecorded(path) else 0
            if quiet > 20:
                return
            time.sleep(0.02)
        pytest.fail(f"not recorded: {self.unrecorded(path)}")

    def unrecorded(self, path: str) -> set[int]:
        """Turns that were dropped from a prompt and have no record."""
        conversation = self.engine.conversations.read(path)
        assert conversation is not None
        recorded = self.engine.flush_log.recorded(path, enumerate(conversation.turns, 1))
        compiled = [
            event
            for event in list(self.seen.events)
            if isinstance(event, PromptCompiled) and event.key.startswith(f"{path}#")
        ]
        dropped: set[int] = set()
        for event in compiled:
            before = conversation.turns[: int(event.key.rpartition("#")[2])]
            said = [number for number, _ in sizes(enumerate(before, 1))]
            dropped |= set(said[: event.compiled.dropped_turns])
        return dropped - recorded.keys()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory-config.yaml").write_text(SMALL)
    return tmp_path


@pytest.fixture
def follow(root: Path) -> Iterator[Followed]:
    followed = Followed(root)
    yield followed
    followed.engine.close()


def with_provider(root: Path, monkeypatch: pytest.MonkeyPatch, provider: Provider) -> Followed:
    (root / "memory-config.yaml").write_text(ASKING)
    monkeypatch.setattr("engine.providers.select.completer_for", lambda *_: provider)
    return Followed(root)


def test_without_a_provider_every_dropped_turn_is_recorded_as_unflushed(follow: Followed) -> None:
    path = follow.talk(12)
    follow.wait_settled(path, 24)
    records = follow.engine.flush_log.records(path)
    assert {record.status for record in records} == {"unflushed"}
    compiled = follow.engine.compile_of(f"{path}#23")
    assert compiled is not None and compiled.dropped_turns == compiled.unflushed_turns > 0
    assert any(left.slot == "history" and "unflushed" in left.reason for left in compiled.left_out)
    assert not (follow.engine.workspace.root / "knowledge").exists()
    # A missing provider is not reported at every turn, but once by the doctor.
    assert not [event for event in follow.seen.events if isinstance(event, FlushDue | Flushed)]
    assert not [entry for entry in follow.engine.feed(500) if entry.kind == "flush"]
    notes = [each.text for each in examine(follow.engine.workspace.root) if "flush.provider" in each.text]
    assert notes == ["flush.provider is none: no notes are taken of turns that no longer fit in the prompt"]


def test_each_batch_is_flushed_once_and_its_notes_are_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider(reply(NOTES[2]))
    follow = with_provider(root, monkeypatch, provider)
    try:
        path = follow.talk(12)
        follow.wait_settled(path, 24)
        due = follow.seen.wait(FlushDue, lambda event: event.path == path)
        flushed = follow.seen.wait(Flushed, lambda event: event.record.first == due.first)
        assert flushed.record.status == "flushed" and flushed.record.cost_usd == 0.0042
        records = follow.engine.flush_log.records(path)
        turns = [number for record in records for number in record.turns]
        assert len(turns) == len(set(turns)), "no turn is flushed twice"
        assert len(provider.prompts) == len(records) < 12
        day = datetime.now(UTC).date()
        journals = [root / f"knowledge/journal/{day - timedelta(days=n)}.md" for n in (0, 1)]
        text = "".join(journal.read_text() for journal in journals if journal.exists())
        assert text.count("\n- ") == len(records)
        compiled = follow.engine.compile_of(f"{path}#23")
        assert compiled is not None and compiled.flushed_turns and compiled.flushed_turns[0][0] == 1
        lines = [entry for entry in follow.engine.feed(500) if entry.kind == "flush"]
        assert len(lines) == len(records), "a running flush and its result are one line"
        assert lines[0].note == "flushed" and lines[0].text.endswith("1 note")
    finally:
        follow.engine.close()


def test_messages_are_traced_while_a_request_is_pending(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release, asked = threading.Event(), threading.Event()
    provider = Provider("FLUSH_OK")

    def think() -> None:
        asked.set()
        release.wait(60)

    provider.on_chat = think
    follow = with_provider(root, monkeypatch, provider)
    try:
        follow.talk(6)
        assert asked.wait(60)
        other = follow.talk(1, session="ses_other001")
        follow.seen.wait(TurnTraced, lambda event: event.key == f"{other}#1")
        assert not [event for event in follow.seen.events if isinstance(event, Flushed)]
        release.set()
        follow.seen.wait(Flushed)
    finally:
        release.set()
        follow.engine.close()


def test_closing_cancels_the_pending_request_and_records_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.flush.worker._JOIN_S", 60.0)
    provider = Provider(None)
    asked = threading.Event()
    provider.on_chat = asked.set
    follow = with_provider(root, monkeypatch, provider)
    path = follow.talk(6)
    assert asked.wait(60)
    follow.engine.close()
    records = follow.engine.flush_log.records(path)
    assert records[0].status == "failed" and "stopped" in records[0].error
    assert {record.status for record in records[1:]} <= {"unflushed"}
    assert not [thread for thread in threading.enumerate() if thread.name == "autopoiesis-flush"]


def test_old_conversations_cause_no_requests(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider("FLUSH_OK")
    follow = with_provider(root, monkeypatch, provider)
    try:
        long_ago = datetime.now(UTC) - timedelta(days=40)
        old = ConversationCapture(Files(Workspace.open(root)), clock=lambda: long_ago)
        path = old.start("ses_old00001", title="Old")
        for number in range(10):
            old.message("ses_old00001", "user", f"Question {number}: " + "level " * 20)
        event = follow.seen.wait(Flushed)
        assert event.record.status == "unflushed" and event.record.path == path
        assert "session flush ses_old00001" in event.record.error
        assert provider.prompts == []
    finally:
        follow.engine.close()


def test_an_interrupted_flush_is_finished_when_the_workspace_is_reopened(root: Path) -> None:
    from engine.errors import WriteFailed
    from engine.store.faults import fail, trip

    desk = Desk(root, Provider(reply(NOTES[2])))
    desk.talk()
    with trip("replace:folder-fsync", fail(5)), pytest.raises(WriteFailed):
        desk.flush()
    follow = Followed(root)
    try:
        event = follow.seen.wait(Flushed)
        assert event.record.status == "flushed"
        assert NOTES[2]["text"] in (root / "knowledge/journal/2026-06-12.md").read_text()
    finally:
        follow.engine.close()


def test_the_feed_shows_the_result_of_a_flush(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Provider(reply(*NOTES)))
    desk.project()
    desk.talk()
    desk.flush()
    (record,) = desk.log.records(desk.conversation.path)
    at = datetime(2026, 6, 12, tzinfo=UTC)
    assert entry_of(Flushed(at, record)) == FeedEntry(
        at, "flush", "turns 1–7: 3 notes, 1 held for review", "flushed"
    )
    some = replace(record, items=(), held=(), status="nothing", redacted=2)
    assert entry_of(Flushed(at, some)) == FeedEntry(
        at, "flush", "turns 1–7: nothing worth keeping, 2 secrets redacted", "nothing"
    )
    assert entry_of(FlushDue(at, "a", "s", 3, 3)) == FeedEntry(at, "flush", "turn 3", "flushing")


def test_a_full_disk_is_reported_and_work_continues(follow: Followed) -> None:
    from engine.errors import WriteFailed
    from engine.events import ErrorReported

    def refuse(record: object) -> None:
        raise WriteFailed("the disk is full", where="logs/flushes-2026-06.jsonl")

    log = follow.engine.flush_log
    append, log.append = log.append, refuse  # type: ignore[method-assign]
    path = follow.talk(6)
    follow.seen.wait(ErrorReported, lambda event: "the disk is full" in event.text)
    log.append = append  # type: ignore[method-assign]
    follow.talk(2)
    follow.wait_settled(path, 16, every_one=False)
