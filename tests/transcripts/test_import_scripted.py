"""Sessions that a script holds are told from those of a person, who may use the same way in."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.importers.run import import_file
from engine.transcripts.importers.scripted import SCRIPT
from engine.transcripts.places import AUTHOR_FIELD
from tests.transcripts.logs import ClaudeCode, read_transcript, write

ASKED = (
    "Read the tide log at logs/2026-0{}.csv.\n\nCorrect every gauge that is off by {} centimetres or more."
)


class Folder:
    """The logs of a project, each of a session with one prompt, as ``claude -p`` writes it."""

    def __init__(self, folder: Path, workspace: Workspace, files: Files) -> None:
        self._folder, self._workspace, self._files = folder, workspace, files

    def put(self, number: int, prompt: str, *, more: str = "", queued: bool = True) -> None:
        log = ClaudeCode(f"0f0e0d0c-1111-4222-8333-44445555666{number}")
        moved = [
            log.record("queue-operation", operation="enqueue", content=prompt),
            log.record("queue-operation", operation="dequeue"),
        ]
        said = [log.user(prompt), log.says("Done."), *([log.user(more)] if more else [])]
        write(self._path(number), *(moved if queued else [{"type": "file-history-snapshot"}]), *said)

    def author(self, number: int) -> object:
        path = self._path(number)
        read = import_file("claude-code", path, self._workspace, self._files, clock=lambda: 0.0)
        return read_transcript(self._files, read.target).header.get(AUTHOR_FIELD)

    def _path(self, number: int) -> Path:
        return self._folder / f"0f0e0d0c-1111-4222-8333-44445555666{number}.jsonl"


@pytest.fixture
def folder(tmp_path: Path, workspace: Workspace, files: Files) -> Folder:
    return Folder(tmp_path / "logs", workspace, files)


def test_sessions_that_begin_with_the_same_words_and_say_no_more_are_a_scripts(folder: Folder) -> None:
    for number in (1, 2, 3):
        folder.put(number, ASKED.format(number, number))
    assert [folder.author(number) for number in (1, 2, 3)] == [SCRIPT] * 3


def test_a_person_may_ask_the_same_twice(folder: Folder) -> None:
    folder.put(1, ASKED.format(1, 1))
    folder.put(2, ASKED.format(2, 2))
    assert folder.author(1) is None


@pytest.mark.parametrize(
    ("prompt", "more", "queued"),
    [
        (ASKED.format(4, 4), "No, leave the one at the lock.", True),
        (ASKED.format(4, 4), "", False),
        ("Why does the gauge at the lock read two metres?", "", True),
        ("Fix the tests", "", True),
    ],
)
def test_what_somebody_typed_beside_a_script_is_theirs(
    folder: Folder, prompt: str, more: str, queued: bool
) -> None:
    for number in (1, 2, 3):
        folder.put(number, ASKED.format(number, number))
        folder.put(number + 4, "Fix the tests")
    folder.put(4, prompt, more=more, queued=queued)
    assert folder.author(4) is None


def test_a_session_in_which_somebody_goes_on_is_theirs(folder: Folder) -> None:
    for number in (1, 2, 3):
        folder.put(number, ASKED.format(number, number))
    assert folder.author(2) == SCRIPT
    folder.put(2, ASKED.format(2, 2), more="Now the same for the lock.")
    assert folder.author(2) is None
