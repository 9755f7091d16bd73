"""Another file of a session: what the transcript lacks is put in its place, and nothing stands twice."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from engine.store.documents import edit_header
from engine.store.files import Files
from engine.store.header import locate
from engine.store.paths import Workspace
from engine.transcripts.importers.drafts import ImportResult
from engine.transcripts.importers.log import Kind
from engine.transcripts.importers.run import discover, import_file
from engine.transcripts.importers.state import READER, STATE_FIELD, read_state
from engine.transcripts.importers.text import BodyDigest
from engine.transcripts.places import list_transcripts
from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump, read_transcript, write

NAME = f"{SESSION}.jsonl"


class Importing:
    def __init__(self, workspace: Workspace, files: Files) -> None:
        self.workspace = workspace
        self.files = files

    def __call__(self, log: Path, kind: Kind = "claude-code") -> ImportResult:
        return import_file(kind, log, self.workspace, self.files, clock=lambda: log.stat().st_mtime)

    def content(self) -> bytes:
        (info,) = list_transcripts(self.workspace)
        return self.files.read(info.path)

    def said(self) -> list[str]:
        (info,) = list_transcripts(self.workspace)
        return [turn.text for turn in read_transcript(self.files, info.path).turns]


@pytest.fixture
def importing(workspace: Workspace, files: Files) -> Importing:
    return Importing(workspace, files)


@pytest.fixture
def log() -> ClaudeCode:
    return ClaudeCode()


def test_what_a_second_file_has_besides_is_put_in_its_place(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    one, two, three, four, five = (
        log.user("one"), log.says("two"), log.user("three"), log.says("four"), log.user("five"),
    )  # fmt: skip
    importing(write(tmp_path / "a" / NAME, one, two, five))
    second = write(tmp_path / "b" / NAME, one, three, four)
    result = importing(second)
    assert (result.status, result.turns_new) == ("grown", 2)
    assert importing.said() == ["one", "two", "three", "four", "five"]
    before = importing.content()
    assert importing(second).status == "unchanged"
    assert importing(tmp_path / "a" / NAME).status == "unchanged"
    assert importing.content() == before


def test_a_copy_adds_nothing(importing: Importing, log: ClaudeCode, tmp_path: Path) -> None:
    first = write(tmp_path / "a" / NAME, log.user("one"), log.says("two"))
    importing(first)
    (tmp_path / "b").mkdir()
    copy = Path(shutil.copy(first, tmp_path / "b" / NAME))
    result = importing(copy)
    assert (result.status, result.turns_new, result.turns_total) == ("unchanged", 0, 2)
    assert "already imported from" in result.why
    assert importing.said() == ["one", "two"]
    before = importing.content()
    assert importing(copy).status == importing(first).status == "unchanged"
    assert importing.content() == before


def test_the_same_words_in_another_record_are_said_again(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    first, shared = log.user("go on"), log.says("done")
    again = {**first, "uuid": "another-record"}
    importing(write(tmp_path / "a" / NAME, first, shared))
    importing(write(tmp_path / "b" / NAME, first, again, shared))
    assert importing.said() == ["go on", "go on", "done"]


def test_both_files_go_on(importing: Importing, log: ClaudeCode, tmp_path: Path) -> None:
    one = log.user("one")
    first = write(tmp_path / "a" / NAME, one)
    second = write(tmp_path / "b" / NAME, one, log.user("two"))
    for path in (first, second):
        importing(path)
    with first.open("ab") as stream:
        stream.write(dump(log.user("three")))
    assert importing(first).turns_new == 1
    with second.open("ab") as stream:
        stream.write(dump(log.says("four"), log.user("five")))
    assert importing(second).turns_new == 2
    assert importing.said() == ["one", "two", "three", "four", "five"]
    assert [importing(path).status for path in (first, second)] == ["unchanged"] * 2


def test_a_second_file_when_the_first_is_gone(importing: Importing, log: ClaudeCode, tmp_path: Path) -> None:
    one, two, three = log.user("one"), log.says("two"), log.user("three")
    first = write(tmp_path / "a" / NAME, one, two)
    importing(first)
    first.unlink()
    importing(write(tmp_path / "b" / NAME, two, three))
    assert importing.said() == ["one", "two", "three"]


def test_what_the_first_file_held_stays_when_it_is_gone(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    one, two, three = log.user("one"), log.user("two"), log.user("three")
    first = write(tmp_path / "a" / NAME, one, two)
    second = write(tmp_path / "b" / NAME, one, three)
    importing(first)
    importing(second)
    first.unlink()
    with second.open("ab") as stream:
        stream.write(dump(log.user("four")))
    importing(second)
    assert importing.said() == ["one", "two", "three", "four"]


def test_what_a_person_wrote_into_the_transcript_stays(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    one, two, three = log.user("one"), log.says("two"), log.user("three")
    target = importing(write(tmp_path / "a" / NAME, one, three)).target
    old = importing.files.read(target)
    importing.files.replace(target, old.replace(b"three\n", b"three\n\n(my note)\n"))
    importing(write(tmp_path / "b" / NAME, one, two))
    assert importing.said()[:2] == ["one", "two"]
    assert b"(my note)" in importing.content()


def test_days_stay_right_around_what_is_put_in(importing: Importing, log: ClaudeCode, tmp_path: Path) -> None:
    def at(stamp: str, text: str) -> dict[str, object]:
        return log.user(text, timestamp=stamp)

    one, late, early = (
        at("2026-02-16T10:00:00Z", "one"),
        at("2026-02-17T08:00:00Z", "two"),
        at("2026-02-16T23:50:00Z", "between"),
    )  # fmt: skip
    importing(write(tmp_path / "a" / NAME, one, late))
    importing(write(tmp_path / "b" / NAME, early))
    headings = [line for line in importing.content().decode().splitlines() if line.startswith("## ")]
    assert headings == ["## 10:00 — user", "## 23:50 — user", "## 2026-02-17 08:00 — user"]


def test_an_archived_rollout_is_imported_once(importing: Importing, tmp_path: Path) -> None:
    log = Codex()
    records = [
        log.meta(),
        log.event("user_message", message="one"),
        log.event("agent_message", message="two"),
    ]
    name = f"rollout-2026-02-16T18-00-30-{SESSION}.jsonl"
    write(tmp_path / "codex" / "sessions" / "2026" / "02" / "16" / name, *records)
    write(tmp_path / "codex" / "archived_sessions" / name, *records)
    results = [importing(log, "codex") for log in discover("codex", tmp_path / "codex")]
    assert [result.status for result in results] == ["new", "unchanged"]
    assert importing.said() == ["one", "two"]


def test_an_archived_rollout_alone_is_found(importing: Importing, tmp_path: Path) -> None:
    log = Codex()
    name = f"rollout-2026-02-16T18-00-30-{SESSION}.jsonl"
    write(
        tmp_path / "codex" / "archived_sessions" / name,
        log.meta(),
        log.event("user_message", message="one"),
    )
    results = [importing(log, "codex") for log in discover("codex", tmp_path / "codex")]
    assert [result.status for result in results] == ["new"]


def as_an_earlier_version_wrote_it(importing: Importing, target: str, lost: bytes) -> None:
    """Takes a turn out of a transcript, as if it had never been taken in, by a reader of before."""
    data = importing.files.read(target)
    heading = data.rindex(b"\n## ", 0, data.index(lost))
    following = data.find(b"\n## ", data.index(lost))
    data = data[:heading] + (data[following:] if following >= 0 else b"\n")
    found = locate(data)
    state = read_state(dict(found.mapping or {}).get(STATE_FIELD))
    assert state is not None and state.reader == READER
    text = BodyDigest([data[found.body :]])
    old = replace(state, reader=0, text=text.fingerprint, kept=text.size, turns=state.turns - 1)
    importing.files.replace(target, edit_header(data, {STATE_FIELD: old.written()}))


def test_words_that_an_earlier_version_left_out_are_put_in(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    records = [log.user("one"), log.says("two"), log.user("lost words"), log.says("ok")]
    path = write(tmp_path / "a" / NAME, *records)
    target = importing(path).target
    as_an_earlier_version_wrote_it(importing, target, b"lost words")
    assert importing.said() == ["one", "two", "ok"]
    result = importing(path)
    assert (result.status, result.turns_new) == ("grown", 1)
    assert "earlier version had left out" in result.why
    assert importing.said() == ["one", "two", "lost words", "ok"]
    before = importing.content()
    assert importing(path).status == "unchanged"
    assert importing.content() == before
    with path.open("ab") as stream:
        stream.write(dump(log.user("three")))
    importing(path)
    assert importing.said() == ["one", "two", "lost words", "ok", "three"]


def test_what_a_person_took_out_stays_out(importing: Importing, log: ClaudeCode, tmp_path: Path) -> None:
    path = write(tmp_path / "a" / NAME, log.user("one"), log.user("a secret"), log.user("three"))
    target = importing(path).target
    as_an_earlier_version_wrote_it(importing, target, b"three")
    importing.files.replace(target, importing.files.read(target).replace(b"a secret", b"(taken out)"))
    importing(path)
    assert "a secret" not in importing.said()
