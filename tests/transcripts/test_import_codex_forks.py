"""A forked Codex session begins with a copy of its parent's records; its words are kept once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.importers.run import import_file
from engine.transcripts.turn import CORRECTION, Transcript
from tests.transcripts.logs import SESSION, Codex, read_transcript, write

_FORK = "019fc8be-3658-7ca3-9e29-5ab9c7d1e2f3"


class Forking:
    """The logs of a session and of its fork."""

    def __init__(self, folder: Path, workspace: Workspace, files: Files) -> None:
        day = folder / "codex" / "sessions" / "2026" / "02"
        self.parent = day / "16" / f"rollout-2026-02-16T18-00-30-{SESSION}.jsonl"
        self.fork = day / "17" / f"rollout-2026-02-17T09-00-00-{_FORK}.jsonl"
        self.workspace, self.files = workspace, files
        self.log = Codex()
        self.said = [
            self.log.meta(),
            self.turn("t1"),
            *self.exchange("list the files", "Two files."),
            self.turn("t2"),
            *self.exchange("continue", "Done."),
        ]

    def turn(self, name: str) -> dict[str, Any]:
        return self.log.record("turn_context", cwd="/home/robin/shop", model="gpt-5.2", turn_id=name)

    def exchange(self, asked: str, replied: str) -> list[dict[str, Any]]:
        return [
            self.log.event("user_message", message=asked),
            self.log.message("user", asked),
            self.log.event("agent_message", message=replied),
            self.log.message("assistant", replied),
        ]

    def copied(self, count: int) -> list[dict[str, Any]]:
        """The beginning of the fork: its own head, and the parent's first records under other times."""
        head = self.log.meta()
        head["payload"] |= {"id": _FORK, "forked_from_id": SESSION}
        return [head, *(self.log.record(each["type"], **each["payload"]) for each in self.said[:count])]

    def __call__(self, *records: dict[str, Any]) -> Transcript:
        write(self.fork, *records)
        result = import_file("codex", self.fork, self.workspace, self.files)
        return read_transcript(self.files, result.target)


@pytest.fixture
def forking(tmp_path: Path, workspace: Workspace, files: Files) -> Forking:
    found = Forking(tmp_path, workspace, files)
    write(found.parent, *found.said)
    return found


def said(transcript: Transcript) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in transcript.turns]


_OWN = [("user", "continue"), ("agent", "It is green.")]


def test_a_fork_has_only_its_own_words(forking: Forking) -> None:
    own = [forking.turn("t3"), *forking.exchange("continue", "It is green.")]
    found = forking(*forking.copied(len(forking.said)), *own)
    assert said(found) == _OWN, "though the parent has the same prompt"
    assert found.header["session_id"] == _FORK


def test_a_fork_of_an_earlier_message_has_what_was_said_instead(forking: Forking) -> None:
    own = [forking.turn("t3"), *forking.exchange("continue", "It is green.")]
    found = forking(*forking.copied(6), *own)
    assert said(found) == _OWN


def test_an_archived_parent_is_found(forking: Forking) -> None:
    archive = forking.parent.parents[4] / "archived_sessions"
    archive.mkdir()
    forking.parent.rename(archive / forking.parent.name)
    own = [forking.turn("t3"), *forking.exchange("continue", "It is green.")]
    assert said(forking(*forking.copied(len(forking.said)), *own)) == _OWN


def test_without_its_parents_log_a_fork_keeps_everything(forking: Forking) -> None:
    forking.parent.unlink()
    own = [forking.turn("t3"), *forking.exchange("continue", "It is green.")]
    found = forking(*forking.copied(len(forking.said)), *own)
    asked = [text for role, text in said(found) if role == "user"]
    assert asked == ["list the files", "continue", "continue"]


def test_a_fork_that_grows_after_its_import_has_the_rest(forking: Forking) -> None:
    copied = forking.copied(len(forking.said))
    own = [forking.turn("t3"), *forking.exchange("continue", "It is green.")]
    assert said(forking(*copied, *own)) == _OWN
    more = [forking.turn("t4"), *forking.exchange("now push", "Pushed.")]
    assert said(forking(*copied, *own, *more)) == [*_OWN, ("user", "now push"), ("agent", "Pushed.")]


def test_a_forks_first_words_can_correct_what_its_parent_did(forking: Forking) -> None:
    own = [forking.turn("t3"), *forking.exchange("No, don't do that, undo it", "Undone.")]
    found = forking(*forking.copied(len(forking.said)), *own)
    assert found.turns[0].kind == CORRECTION
