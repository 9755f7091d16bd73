"""Other agents' sessions are imported as they are written, and existing ones at startup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import WriteFailed
from engine.events import Committed, TurnArrived, TurnTraced
from engine.live.followed_logs import FollowedLogs
from engine.store import faults
from engine.transcripts.places import list_transcripts
from engine.workspace.initialise import initialise
from tests.engine.conftest import Witness, save
from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump, read_transcript
from tests.waiting import wait_until

OTHER = "1f0e0d0c-1111-4222-8333-444455556666"


class Home:
    """The agents' folders and a workspace that may follow them."""

    def __init__(self, root: Path) -> None:
        self.root = root / "workspace"
        self.root.mkdir()
        self.claude, self.codex = root / "claude", root / "codex"
        (self.claude / "projects").mkdir(parents=True)
        self.log = ClaudeCode()
        self.settings("")

    def settings(self, follow: str) -> None:
        text = f"imports:\n  claude_code_dir: {self.claude}\n  codex_dir: {self.codex}\n"
        save(self.root / "memory-config.yaml", text + (f"  follow: [{follow}]\n" if follow else ""))

    def write(self, *texts: str, session: str = SESSION) -> None:
        path = self.claude / "projects" / "-shop" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            stream.write(dump(*map(self.log.user, texts)))

    def imported(self, session: str = SESSION) -> list[str]:
        with Engine.open(self.root) as engine:
            found = [info for info in list_transcripts(engine.workspace) if info.session_id == session]
            return [turn.text for info in found for turn in read_transcript(engine.files, info.path).turns]

    @contextmanager
    def running(self) -> Iterator[tuple[Engine, Witness]]:
        witness = Witness()
        with Engine.open(self.root) as engine:
            engine.subscribe(witness)
            engine.start()
            yield engine, witness
            engine.stop()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_logs_written_while_the_engine_runs_are_imported(home: Home) -> None:
    home.settings("claude-code")
    with home.running() as (_, seen):
        home.write("one")
        seen.wait(TurnArrived, lambda event: event.turn.text == "one")
        home.write("two")
        arrived = seen.wait(TurnArrived, lambda event: event.turn.text == "two")
        seen.wait(TurnTraced, lambda event: event.key == arrived.key)
    assert home.imported() == ["one", "two"]


def test_a_follow_setting_changed_at_runtime_takes_effect_at_once(home: Home) -> None:
    home.write("before")
    with home.running() as (_, seen):
        home.settings("claude-code")
        wait_until(lambda: home.imported() == ["before"])
        home.write("after")
        arrived = seen.wait(TurnArrived, lambda event: event.turn.text == "after")
        assert arrived.key.endswith("#1")
        # Removing the setting stops the import.
        home.settings("")
        wait_until(lambda: not Engine.open(home.root).config.imports.follow)
        assert [event.turn.text for event in seen.events if isinstance(event, TurnArrived)] == ["after"]


def test_logs_written_while_the_engine_was_off_are_imported_at_startup(home: Home) -> None:
    home.settings("claude-code")
    home.write("first")
    with home.running():
        wait_until(lambda: home.imported() == ["first"])
    home.write("second")
    home.write("elsewhere", session=OTHER)
    with home.running() as (_, seen):
        wait_until(lambda: home.imported() == ["first", "second"] and home.imported(OTHER) == ["elsewhere"])
        home.write("third")
        seen.wait(TurnArrived, lambda event: event.turn.text == "third")
        # Past turns cause no further requests.
        assert [event.turn.text for event in seen.events if isinstance(event, TurnArrived)] == ["third"]


def test_a_session_that_cannot_be_written_does_not_hold_up_the_others(home: Home) -> None:
    home.settings("claude-code")
    home.write("first")
    home.write("elsewhere", session=OTHER)
    jobs: list[Callable[[], None]] = []
    with Engine.open(home.root) as engine:
        logs = FollowedLogs(engine, jobs.append, lambda _path: None)
        logs.refresh()
        try:
            with faults.trip("create:link", faults.fail(28)), pytest.raises(WriteFailed):
                jobs.pop(0)()
            while jobs:
                jobs.pop(0)()
        finally:
            logs.stop()
    assert len(home.imported()) + len(home.imported(OTHER)) == 1


def test_a_follow_setting_changed_while_off_takes_effect_at_startup(home: Home) -> None:
    home.write("one")
    with home.running():
        pass
    assert home.imported() == []
    home.settings("claude-code")
    home.write("two")
    with home.running():
        wait_until(lambda: home.imported() == ["one", "two"])


def test_agents_whose_folders_do_not_exist_yet_are_followed(home: Home) -> None:
    (home.claude / "projects").rmdir()
    home.settings("codex, claude-code")
    with home.running() as (engine, seen):
        home.write("of one")
        codex = Codex()
        path = home.codex / "sessions" / "2026" / "02" / "16" / f"rollout-2026-02-16T18-00-00-{OTHER}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(dump(codex.meta(), codex.event("user_message", message="of the other")))
        engine.rescan()
        seen.wait(TurnArrived, lambda event: event.turn.text == "of one")
        seen.wait(TurnArrived, lambda event: event.turn.text == "of the other")


def test_several_folders_of_an_agent_are_followed(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "projects").mkdir(parents=True)
    save(home.root / "memory-config.yaml",
         f"imports:\n  claude_code_dir: '{home.claude}, {other}'\n  follow: [claude-code]\n")  # fmt: skip
    with home.running() as (_, seen):
        home.write("of one")
        seen.wait(TurnArrived, lambda event: event.turn.text == "of one")
        home.claude = other
        home.write("of the other", session=OTHER)
        seen.wait(TurnArrived, lambda event: event.turn.text == "of the other")


def test_sessions_imported_at_startup_are_committed(home: Home) -> None:
    home.settings("claude-code")
    initialise(home.root)
    home.write("one")
    with home.running() as (_, seen):
        seen.wait(Committed, lambda event: "import 1 session" in event.subject)
