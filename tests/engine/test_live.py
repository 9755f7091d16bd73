"""The engine follows changes to the workspace: turns, topics, digests, commits and schedules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from engine.conversations.imports import Source, import_sessions
from engine.discussions.sending import Sending
from engine.engine import Engine
from engine.events import (
    CacheGivenUp,
    Committed,
    ErrorReported,
    FileChanged,
    Indexed,
    PromptCompiled,
    Signal,
    TopicsReloaded,
    TurnArrived,
    TurnTraced,
)
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from tests.cli.test_sessions_and_import import claude_log
from tests.discussions.scripted import Purse, Scripted
from tests.engine.conftest import Witness, save

Live = tuple[Engine, Witness]


def writer(root: Path) -> ConversationCapture:
    """Another program that writes to the same workspace."""
    return ConversationCapture(Files(Workspace.open(root)))


def test_a_message_of_a_running_session_is_traced_and_compiled(live: Live) -> None:
    engine, seen = live
    agent = writer(engine.workspace.root)
    path = agent.start("ses_live0001", title="Live")
    agent.message("ses_live0001", "user", "Can you review the PR that just came in?")

    arrived = seen.wait(TurnArrived, lambda event: event.path == path)
    assert arrived.turn.text.startswith("Can you review") and arrived.session_id == "ses_live0001"
    traced = seen.wait(TurnTraced, lambda event: event.key == arrived.key)
    assert "github-pr-review" in traced.trace.active
    compiled = seen.wait(PromptCompiled, lambda event: event.key == arrived.key)
    assert "github-pr-review" in compiled.compiled.active_topics


def test_a_restored_or_imported_conversation_is_past(live: Live) -> None:
    engine, seen = live
    before = [(entry.at, entry.text) for entry in engine.feed(10_000)]
    path = "conversations/2026-03-02-restored.md"
    file = engine.workspace.root / path
    save(
        file,
        "---\nsession_id: ses_past0001\nstarted: 2026-03-02T19:10:00Z\n---\n\n"
        "## 19:14 — user\nCan you review the PR of March?\n\n## 2026-03-03 07:05 — user\nAnd?\n",
    )
    last = seen.wait(TurnArrived, lambda event: event.key == f"{path}#1")
    assert last.past and last.at == datetime(2026, 3, 3, 7, 5, tzinfo=UTC)
    seen.wait(
        TurnTraced, lambda event: event.key == f"{path}#0"
    )  # like past turns, for a feed that shows them
    feed = engine.feed(10_000)
    assert [entry.key for entry in feed[:2]] == [f"{path}#0", f"{path}#1"]
    assert [(entry.at, entry.text) for entry in feed[2:]] == before

    now = datetime.now(UTC)
    with file.open("a") as transcript:
        transcript.write(f"\n## {now:%Y-%m-%d %H:%M} — user\nCan you review the PR of today?\n")
    seen.wait(PromptCompiled, lambda event: event.key == f"{path}#2")
    text = file.read_text()
    file.unlink()
    seen.wait(FileChanged, lambda event: event.path == path and event.change == "removed")
    save(file, text.replace("of today", "of that day").replace(f"{now:%Y-%m-%d}", "2026-03-04"))
    back = seen.wait(TurnArrived, lambda event: event.turn.text == "Can you review the PR of that day?")
    assert back.past
    asked = {decision.message for decision in engine.decision_log.read()}
    assert "Can you review the PR of today?" in asked
    assert not asked & {"Can you review the PR of March?", "And?", "Can you review the PR of that day?"}


def test_a_manually_imported_session_is_past_even_if_recent(live: Live, tmp_path: Path) -> None:
    engine, seen = live
    log = tmp_path / "0d9f2c1e-bbbb-4bbb-8ccc-1234567890ab.jsonl"
    said = claude_log(("user", "Can you review the PR of an hour or two ago?"))
    earlier = datetime.now(UTC) - timedelta(hours=2)
    log.write_text(said.replace("2026-06-10T09:00", f"{earlier:%Y-%m-%dT%H:%M}"))
    import_sessions(engine, [Source(log)], commit=False)
    assert seen.wait(TurnArrived, lambda event: "an hour or two ago" in event.turn.text).past


def test_what_an_import_adds_to_a_session_imported_before_is_past(live: Live, tmp_path: Path) -> None:
    engine, seen = live
    log = tmp_path / "0d9f2c1e-bbbb-4bbb-8ccc-1234567890ab.jsonl"
    log.write_text(claude_log(("user", "Can you review the PR of June?")))
    import_sessions(engine, [Source(log)], commit=False)
    seen.wait(TurnArrived, lambda event: "PR of June" in event.turn.text)
    engine.feed(10_000)
    more = claude_log(("user", "Can you review the PR of June?"), ("user", "And the other one?"))
    log.write_text(more)
    import_sessions(engine, [Source(log)], commit=False)
    assert seen.wait(TurnArrived, lambda event: event.turn.text == "And the other one?").past
    times = [entry.at for entry in engine.feed(10_000) if entry.key]
    assert times == sorted(times)


def test_only_new_turns_of_an_old_transcript_arrive(live: Live) -> None:
    engine, seen = live
    session = next(path for path in engine.conversations.newest(50) if path.endswith(".md"))
    before = engine.conversations.read(session)
    assert before is not None
    with (engine.workspace.root / session).open("a") as file:
        file.write("\n## 23:58 — user\nAnd one more thing about the release.\n")
    arrived = seen.wait(TurnArrived, lambda event: event.path == session)
    assert arrived.key == f"{session}#{len(before.turns)}"
    seen.wait(TurnTraced, lambda event: event.key == arrived.key)
    assert [event for event in seen.events if isinstance(event, TurnArrived) and event.path == session] == [
        arrived
    ]


def test_index_changes_are_reported(engine: Engine, request: pytest.FixtureRequest) -> None:
    engine.workspace.database.unlink()  # an engine that starts without an index creates one
    _, seen = request.getfixturevalue("live")
    seen.wait(Indexed, lambda event: event.files > 20)
    note = engine.workspace.root / "knowledge" / "memory" / "2026-06-11.md"
    save(note, "# Thursday\n\nThe walrus project began.\n")
    seen.wait(Indexed, lambda event: event.files == 1)
    assert engine.search("walrus")[0].path.endswith("2026-06-11.md")


def test_editing_a_source_of_a_cache_invalidates_it(live: Live) -> None:
    engine, seen = live
    sent = Sending(engine, lambda: Scripted(["Good morning."]), Purse(), len).send("Good morning.")
    assert engine.caches.get(sent.session_id).is_cached(engine.clock())
    soul = engine.workspace.root / "knowledge/identity/SOUL.md"
    save(soul, soul.read_text() + "Never guess.\n")
    given_up = seen.wait(CacheGivenUp, lambda event: event.discussion_id == sent.session_id)
    assert given_up.why == "knowledge/identity/SOUL.md changed"
    assert not engine.caches.get(sent.session_id).is_cached(engine.clock())


def test_a_sent_message_is_traced_once_in_a_watched_workspace(live: Live) -> None:
    engine, seen = live
    sent = Sending(engine, lambda: Scripted(["Fine."]), Purse(), len).send("Can you review the PR?")
    seen.wait(TurnTraced, lambda event: event.key == sent.reply_key)
    decided = [each for each in engine.decision_log.read() if each.message == "Can you review the PR?"]
    assert len({each.id for each in decided}) == len(decided) > 0
    assert seen.wait(TurnTraced, lambda event: event.key == sent.key).trace == sent.trace


def test_agent_output_steers_the_next_prompt(live: Live) -> None:
    engine, seen = live
    agent = writer(engine.workspace.root)
    agent.start("ses_live0002", title="Steering")
    agent.message("ses_live0002", "user", "Write me a script that lists the stations.")
    agent.message("ses_live0002", "agent", 'Here it is:\n\n```python\nprint "stations"\n```')
    agent.message("ses_live0002", "user", "Now sort it by name.")
    traced = seen.wait(TurnTraced, lambda event: bool(event.trace.corrections))
    assert traced.trace.message.direction == "output"
    last = seen.wait(TurnArrived, lambda event: event.turn.text.startswith("Now sort"))
    compiled = seen.wait(PromptCompiled, lambda event: event.key == last.key)
    hint = traced.trace.corrections[0].hint
    assert hint in compiled.compiled.text


def test_an_edited_topic_applies_at_once_and_a_broken_one_keeps_its_last_good_version(live: Live) -> None:
    engine, seen = live
    topic = engine.workspace.topics / "tea-ceremony.md"
    text = (
        "---\ntype: topic\ntriggers:\n  - type: pattern\n    match: '\\bsencha\\b'\nactivation: auto\n---\n\n"
        "# Tea\n\n## Instructions\n\nSeventy degrees, ninety seconds.\n"
    )
    save(topic, text)
    seen.wait(TopicsReloaded, lambda event: "tea-ceremony" in event.changed)
    assert "tea-ceremony" in engine.trace("A pot of sencha, please").active

    save(topic, "---\ntriggers: [\n---\n# Tea\n")
    seen.wait(TopicsReloaded, lambda event: bool(event.problems))
    assert "tea-ceremony" in engine.trace("A pot of sencha, please").active

    topic.unlink()
    seen.wait(
        TopicsReloaded,
        lambda event: "tea-ceremony" in event.changed and engine.library.get("tea-ceremony") is None,
    )


def test_digest_and_ledger_changes_are_reported(live: Live) -> None:
    engine, seen = live
    assert engine.digest().on
    (engine.workspace.root / "knowledge/digest.md").unlink()
    seen.wait(FileChanged, lambda event: event.path == "knowledge/digest.md" and event.change == "removed")
    assert not engine.digest().on


def test_a_commit_by_anyone_is_reported(live: Live) -> None:
    engine, seen = live
    (engine.workspace.knowledge / "facts.md").open("a").write(
        "- The mast is 12 m high. [from: x, 2026-06-12]\n"
    )
    revision = engine.repository.commit(["knowledge/facts.md"], "memory: the mast")
    event = seen.wait(Committed)
    assert event.revision == revision and event.subject == "memory: the mast"


def test_search_works_after_the_index_is_deleted_under_a_running_engine(live: Live) -> None:
    engine, _ = live
    engine.refresh_index()
    before = [(result.path, result.start_line) for result in engine.search("connection pool", limit=5)]
    assert before
    for path in engine.workspace.root.glob("memory.db*"):
        path.unlink()
    during = engine.search("connection pool", limit=5)
    assert during
    engine.refresh_index()
    after = [(result.path, result.start_line) for result in engine.search("connection pool", limit=5)]
    assert after == before


def test_a_schedule_fires_its_topic(sample: Path) -> None:
    now = [datetime(2026, 6, 12, 21, 59, 30, tzinfo=UTC)]
    (sample / "topics" / "evening.md").write_text(
        "---\ntype: topic\ntriggers:\n  - type: cron\n    schedule: '0 22 * * *'\nactivation: auto\n---\n\n"
        "# Evening\n\n## Instructions\n\nWrite the journal.\n"
    )
    seen = Witness()
    with Engine.open(sample, clock=lambda: now[0]) as engine:
        engine.subscribe(seen)
        engine.start()
        engine.schedule.look()  # schedules count from now on; earlier times do not fire
        assert not [event for event in seen.events if isinstance(event, Signal)]
        now[0] += timedelta(minutes=1)
        signal = seen.wait(Signal, lambda event: event.event == "0 22 * * *")
        traced = seen.wait(TurnTraced, lambda event: event.key == signal.key)
        assert "evening" in traced.trace.active


def test_an_invalid_configuration_is_reported_and_the_old_one_kept(live: Live) -> None:
    engine, seen = live
    save(engine.workspace.config, "gate:\n  provider: crystal-ball\n")
    error = seen.wait(ErrorReported)
    assert "memory-config.yaml:2" in error.text
    assert engine.config.gate.provider == "agent"
    (problem,) = [each for each in engine.problems() if each.severity == "error"]
    assert str(problem) == error.text and problem.line == 2
    save(engine.workspace.config, "gate:\n  provider: agent\n")
    seen.wait(FileChanged, lambda event: event.path == "memory-config.yaml" and not engine.problems())


def test_stop_ends_every_thread(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    join = threading.Thread.join
    monkeypatch.setattr(threading.Thread, "join", lambda thread, timeout=None: join(thread, 60))
    before = set(threading.enumerate())
    with Engine.open(sample) as engine:
        engine.start()
        assert {thread.name for thread in threading.enumerate() if thread not in before} >= {
            "autopoiesis-live", "autopoiesis-index",
        }  # fmt: skip
    left = [
        thread.name
        for thread in threading.enumerate()
        if thread not in before and thread.name.startswith("autopoiesis")
    ]
    assert left == []


def test_a_pattern_that_backtracks_is_reported_and_others_keep_working(live: Live) -> None:
    engine, seen = live
    # Not detectable from the expression alone, only with a message.
    save(
        engine.workspace.topics / "tangled.md",
        "---\ntype: topic\ntriggers:\n  - type: pattern\n    match: '^(?:(?=(a+))\\1|a|aa)+$'\n"
        "activation: auto\n---\n\n# Tangled\n\nWait.\n",
    )
    seen.wait(TopicsReloaded, lambda event: "tangled" in event.changed)
    agent = writer(engine.workspace.root)
    agent.start("ses_live0003", title="Tangled")
    agent.message("ses_live0003", "user", "Please review this PR " + "a" * 5000 + "!")
    traced = seen.wait(TurnTraced, lambda event: event.trace.message.session_id == "ses_live0003")
    assert "github-pr-review" in traced.trace.active


def test_a_topic_with_an_exponential_pattern_is_reported_at_once(live: Live) -> None:
    engine, seen = live
    save(
        engine.workspace.topics / "slow.md",
        "---\ntype: topic\ntriggers:\n  - type: pattern\n    match: '(a+)+$'\n"
        "activation: auto\n---\n\n# S\n\nWait.\n",
    )
    event = seen.wait(TopicsReloaded, lambda event: bool(event.problems))
    assert "topics/slow.md:4" in str(event.problems[0]) and "exponential" in str(event.problems[0])
    assert any("exponential" in problem.what for problem in engine.problems())
    assert "github-pr-review" in engine.trace("Please review this PR " + "a" * 30 + "!").active


def test_the_sessions_of_another_agent_are_followed(sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "-home-robin-gauge"
    folder.mkdir(parents=True)
    config = (sample / "memory-config.yaml").read_text()
    (sample / "memory-config.yaml").write_text(
        config.replace("follow: []", f"follow: [claude-code]\n  claude_code_dir: {tmp_path / 'claude'}")
    )
    seen = Witness()
    with Engine.open(sample) as engine:
        engine.subscribe(seen)
        engine.start()
        log = folder / "0d9f2c1e-aaaa-4bbb-8ccc-1234567890ab.jsonl"
        said = claude_log(("user", "Can you review the PR that just came in?"))
        save(log, said.replace("2026-06-10T09:00", f"{datetime.now(UTC):%Y-%m-%dT%H:%M}"))
        arrived = seen.wait(TurnArrived, lambda event: event.path.startswith("raw/conversations/"))
        assert arrived.turn.text == "Can you review the PR that just came in?"
        traced = seen.wait(TurnTraced, lambda event: event.key == arrived.key)
        assert "github-pr-review" in traced.trace.active


def test_past_turns_are_traced_only_when_the_feed_is_requested(live: Live) -> None:
    engine, seen = live
    agent = writer(engine.workspace.root)
    path = agent.start("ses_live0004", title="Now")
    agent.message("ses_live0004", "user", "Good morning")
    now = seen.wait(TurnTraced, lambda event: event.key.startswith(path))
    assert [event for event in seen.events if isinstance(event, TurnTraced)] == [now]
    engine.feed(50)
    seen.wait(TurnTraced, lambda event: event.key.startswith("raw/") and not event.key.startswith(path))


def test_every_past_message_in_the_feed_is_traced(engine: Engine, request: pytest.FixtureRequest) -> None:
    for path in engine.conversations.newest(1_000)[2:]:
        (engine.workspace.root / path).unlink()
    _, seen = request.getfixturevalue("live")
    keys = {entry.key for entry in engine.feed(10_000) if entry.key}
    assert len(keys) > 4
    for key in keys:
        seen.wait(TurnTraced, partial(_is_of, key))


def _is_of(key: str, event: TurnTraced) -> bool:
    return event.key == key


def test_an_unforeseen_error_is_reported_and_files_are_still_watched(live: Live) -> None:
    engine, seen = live
    assert engine._live is not None
    engine._live.enqueue(lambda: [][1])
    seen.wait(ErrorReported, lambda event: event.text.startswith("IndexError: "))
    save(engine.workspace.root / "knowledge/later.md", "# Later\n")
    seen.wait(FileChanged, lambda event: event.path == "knowledge/later.md")
