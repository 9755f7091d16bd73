"""The feed as a list of lines, and the digest and ledger as stored on disk."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.context.views import read_digest
from engine.engine import Engine
from engine.events import Committed, ErrorReported, FileChanged, TurnArrived
from engine.live.feed import KEPT_ENTRIES, FeedEntry, FeedLog
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.turn import KnowledgeChange, Text, ToolCall, Turn

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)


def arrived(key: str, turn: Turn, at: datetime = NOW, *, past: bool = False) -> TurnArrived:
    return TurnArrived(at, key, key.partition("#")[0], "ses_1", turn, past)


def test_a_turn_that_grows_stays_one_line() -> None:
    log = FeedLog()
    log.take(arrived("a#0", Turn("agent", "18:47", (Text("Half"),))))
    log.take(arrived("a#0", Turn("agent", "18:47", (Text("Half an answer"),))))
    assert [entry.text for entry in log.recent(10)] == ["Half an answer"]


def test_tool_calls_are_shown_if_there_is_no_text() -> None:
    log = FeedLog()
    log.take(arrived("a#0", Turn("agent", "18:47", (ToolCall("exec", "pytest -q", "212 passed"),))))
    log.take(
        arrived(
            "a#1",
            Turn("agent", "18:47", (KnowledgeChange("updated", "knowledge/facts.md", "mast"),), "memory"),
        )
    )
    tool, memory = log.recent(10)
    assert (tool.kind, tool.text) == ("tool", "exec pytest -q → 212 passed")
    assert (memory.kind, memory.text, memory.note, memory.key) == (
        "memory",
        "knowledge/facts.md mast",
        "updated",
        "",
    )


def test_repeated_saves_of_a_file_are_one_line() -> None:
    log = FeedLog()
    for _ in range(5):
        log.take(FileChanged(NOW, "knowledge/facts.md", "changed"))
    log.take(FileChanged(NOW, "knowledge/tasks.md", "changed"))
    assert [entry.text for entry in log.recent(10)] == ["knowledge/facts.md", "knowledge/tasks.md"]


def test_past_entries_take_their_places_by_time_and_those_at_the_same_time_keep_their_order() -> None:
    log = FeedLog()
    log.take(arrived("b#7", Turn("user", "18:47", (Text("new"),))))
    old = [FeedEntry(NOW - timedelta(days=1), "user", f"old {at}", key=f"a#{at}") for at in range(3)]
    log.add_past([*old, FeedEntry(NOW, "user", "known", key="b#7")], "newest 2 of 3 conversations")
    log.add_past([replace(old[0], at=NOW - timedelta(hours=1), text="between", key="c#0")], "")
    assert [entry.text for entry in log.recent(10)] == ["old 0", "old 1", "old 2", "between", "new"]


def test_older_conversations_are_read_page_by_page(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = engine.feed(100_000)
    monkeypatch.setattr("engine.live.feed._PAGE", 3)
    total = len(engine.conversations.sizes())
    with Engine.open(engine.workspace.root) as paged:
        for pages in range(1, total):
            entries = paged.feed(100_000)
            if entries[0].kind != "past":
                break
            assert entries[0].text == f"newest {3 * pages} of {total} conversations"
            assert len({each.key.partition("#")[0] for each in entries if each.key}) <= 3 * pages
            paged.read_older()
        assert pages == -(-total // 3)
    assert [each for each in entries if each.key] == [each for each in everything if each.key]


def test_what_was_read_of_the_past_stays_though_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.live.feed.KEPT_ENTRIES", 10)
    log = FeedLog()
    past = [FeedEntry(NOW - timedelta(hours=30 - at), "user", str(at), key=f"a#{at}") for at in range(30)]
    log.add_past(past, "")
    log.take(ErrorReported(NOW, "one"))
    assert [each.text for each in log.recent(100)] == [*map(str, range(1, 30)), "one"]


def test_imported_turns_of_every_kind_take_their_places_by_time() -> None:
    log = FeedLog()
    log.take(ErrorReported(NOW - timedelta(days=9), "before"))
    log.take(ErrorReported(NOW, "now"))
    changed = KnowledgeChange("updated", "knowledge/facts.md", "mast")
    for number, turn in enumerate(
        (
            Turn("user", "18:47", (Text("said"),)),
            Turn("system", "18:48", (Text("told"),)),
            Turn("agent", "18:49", (changed,), "memory"),
        )
    ):
        log.take(arrived(f"a#{number}", turn, NOW - timedelta(days=3 - number), past=True))
    kinds = ["error", "user", "system", "memory", "error"]
    assert [entry.kind for entry in log.recent(10)] == kinds


def test_an_import_longer_than_the_feed_leaves_the_newest_entries() -> None:
    log = FeedLog()
    log.take(ErrorReported(NOW, "now"))
    for number in range(KEPT_ENTRIES * 2):
        at = NOW - timedelta(days=300) + timedelta(minutes=number)
        log.take(arrived(f"a#{number}", Turn("user", "18:47", (Text(str(number)),)), at, past=True))
    entries = log.recent(10**6)
    assert len(entries) == KEPT_ENTRIES
    assert [entry.text for entry in entries[-2:]] == [str(KEPT_ENTRIES * 2 - 1), "now"]


def test_the_feed_is_bounded() -> None:
    log = FeedLog()
    for number in range(KEPT_ENTRIES + 50):
        log.take(ErrorReported(NOW, f"error {number}"))
    assert len(log.recent(10**6)) == KEPT_ENTRIES
    assert [entry.text for entry in log.recent(2)] == [
        f"error {KEPT_ENTRIES + 48}",
        f"error {KEPT_ENTRIES + 49}",
    ]


def test_past_entries_of_the_sample_are_in_order_and_include_its_commit(engine: Engine) -> None:
    entries = engine.feed(100_000)
    times = [entry.at for entry in entries]
    assert times == sorted(times)
    assert {"user", "agent", "memory", "commit"} <= {entry.kind for entry in entries}
    assert engine.feed(5) == entries[-5:]


def test_a_commit_is_a_line() -> None:
    log = FeedLog()
    log.take(Committed(NOW, "a81f2c0deadbeef", "memory: 3 facts"))
    assert log.recent(1) == [FeedEntry(NOW, "commit", "memory: 3 facts", "a81f2c0")]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "memory-config.yaml").write_text("")
    (tmp_path / "knowledge").mkdir()
    return Files(Workspace.open(tmp_path))


def test_without_a_digest_file_the_digest_is_off(files: Files) -> None:
    assert not read_digest(files).on and read_digest(files).problem == ""


def test_ledger_rows_are_newest_first_and_counted(engine: Engine) -> None:
    view = engine.ledger()
    assert [row.at for row in view.entries] == sorted((row.at for row in view.entries), reverse=True)
    assert {row.status for row in view.entries} == {
        "harvested", "harvest-failed", "deleted-unharvested", "too-large",
    }  # fmt: skip
    assert all(row.items_total == sum(row.items.values()) for row in view.entries)


def test_the_digest_is_read_from_disk(engine: Engine) -> None:
    view = engine.digest()
    assert view.on and view.size <= view.limit == 4096 and view.text.startswith("# Knowledge digest")
