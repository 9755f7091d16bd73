"""Importing a second file of a session inserts the missing turns in order, without duplicates."""

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
from engine.transcripts.importers.existing import BodyDigest
from engine.transcripts.importers.log import Kind
from engine.transcripts.importers.run import discover, import_file
from engine.transcripts.importers.state import READER, STATE_FIELD, read_state
from engine.transcripts.places import list_transcripts
from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump, read_transcript, write

NAME = f"{SESSION}.jsonl"
AT = "2026-02-16T18:30:00.000Z"


class Importing:
    def __init__(self, workspace: Workspace, files: Files) -> None:
        self.workspace = workspace
        self.files = files

    def __call__(self, log: Path, kind: Kind = "claude-code") -> ImportResult:
        return import_file(kind, log, self.workspace, self.files, clock=lambda: log.stat().st_mtime)

    def content(self) -> bytes:
        (info,) = list_transcripts(self.workspace)
        return self.files.read(info.path)

    def texts(self) -> list[str]:
        (info,) = list_transcripts(self.workspace)
        return [turn.text for turn in read_transcript(self.files, info.path).turns]


@pytest.fixture
def importing(workspace: Workspace, files: Files) -> Importing:
    return Importing(workspace, files)


@pytest.fixture
def log() -> ClaudeCode:
    return ClaudeCode()


def test_additional_turns_of_a_second_file_are_inserted_in_order(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    one, two, three, four, five = (
        log.user("one"), log.says("two"), log.user("three"), log.says("four"), log.user("five"),
    )  # fmt: skip
    importing(write(tmp_path / "a" / NAME, one, two, five))
    second = write(tmp_path / "b" / NAME, one, three, four)
    result = importing(second)
    assert (result.status, result.turns_new) == ("grown", 2)
    assert importing.texts() == ["one", "two", "three", "four", "five"]
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
    assert importing.texts() == ["one", "two"]
    before = importing.content()
    assert importing(copy).status == importing(first).status == "unchanged"
    assert importing.content() == before


def test_the_same_text_in_another_record_is_another_turn(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    first, shared = log.user("go on"), log.says("done")
    again = {**first, "uuid": "another-record"}
    importing(write(tmp_path / "a" / NAME, first, shared))
    importing(write(tmp_path / "b" / NAME, first, again, shared))
    assert importing.texts() == ["go on", "go on", "done"]


def test_both_files_may_grow(importing: Importing, log: ClaudeCode, tmp_path: Path) -> None:
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
    assert importing.texts() == ["one", "two", "three", "four", "five"]
    assert [importing(path).status for path in (first, second)] == ["unchanged"] * 2


def test_a_second_file_is_imported_after_the_first_is_deleted(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    one, two, three = log.user("one"), log.says("two"), log.user("three")
    first = write(tmp_path / "a" / NAME, one, two)
    importing(first)
    first.unlink()
    importing(write(tmp_path / "b" / NAME, two, three))
    assert importing.texts() == ["one", "two", "three"]


def test_turns_of_the_first_file_are_kept_after_it_is_deleted(
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
    assert importing.texts() == ["one", "two", "three", "four"]


def test_edits_of_the_user_in_the_transcript_are_kept(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    one, two, three = log.user("one"), log.says("two"), log.user("three")
    target = importing(write(tmp_path / "a" / NAME, one, three)).target
    old = importing.files.read(target)
    importing.files.replace(target, old.replace(b"three\n", b"three\n\n(my note)\n"))
    importing(write(tmp_path / "b" / NAME, one, two))
    assert importing.texts()[:2] == ["one", "two"]
    assert b"(my note)" in importing.content()


@pytest.mark.parametrize(
    "below", ["— user\n", "one\n", "— agent\n", "ls → ok\n", "two\n", "three\n", "four\n"]
)
@pytest.mark.parametrize("note", ["my note\n", "\nmy note\n", "my note\n\nmore\n\n"])
def test_a_copy_adds_nothing_to_a_transcript_with_notes_of_the_user(
    importing: Importing, log: ClaudeCode, tmp_path: Path, below: str, note: str
) -> None:
    records = (
        log.user("one"),
        log.calls("c1", "Bash", command="ls"),
        log.result("c1", "ok"),
        log.says("two\n\nthree"),
        log.user("four"),
    )
    result = importing(write(tmp_path / "a" / NAME, *records))
    path = importing.workspace.root / result.target
    before, found, after = path.read_text().partition(f"{below}")
    assert found
    path.write_text(f"{before}{below}{note}{after}")
    noted = importing.texts()
    importing(write(tmp_path / "b" / NAME, *records))
    assert importing.texts() == noted


def test_a_copy_adds_nothing_to_a_turn_that_grew_after_a_note(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    records = (log.user("one"), *(log.says(word) for word in ("two", "three", "four")))
    result = importing(write(tmp_path / "a" / NAME, *records[:2]))
    path = importing.workspace.root / result.target
    path.write_text(path.read_text().replace("two\n", "two\nmy note\n"))
    for count in (3, 4):
        importing(write(tmp_path / "a" / NAME, *records[:count]))
    importing(write(tmp_path / "b" / NAME, *records))
    assert "\n\n".join(importing.texts()) == "one\n\ntwo\nmy note\n\nthree\n\nfour"


def test_another_message_of_the_same_minute_is_no_note(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    one = log.user("one")
    importing(write(tmp_path / "a" / NAME, one, {**log.user("yes, but\nnot now"), "timestamp": AT}))
    importing(write(tmp_path / "b" / NAME, one, {**log.user("yes"), "timestamp": AT}))
    assert sorted(importing.texts()) == ["one", "yes", "yes, but\nnot now"]


def test_dates_stay_right_around_inserted_turns(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
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
    assert importing.texts() == ["one", "two"]


def test_an_archived_rollout_without_the_original_is_found(importing: Importing, tmp_path: Path) -> None:
    log = Codex()
    name = f"rollout-2026-02-16T18-00-30-{SESSION}.jsonl"
    write(
        tmp_path / "codex" / "archived_sessions" / name,
        log.meta(),
        log.event("user_message", message="one"),
    )
    results = [importing(log, "codex") for log in discover("codex", tmp_path / "codex")]
    assert [result.status for result in results] == ["new"]


def drop_turn_like_an_earlier_version(importing: Importing, target: str, lost: bytes) -> None:
    """Remove a turn from a transcript as if an earlier version of the reader had missed it."""
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


def test_turns_left_out_by_an_earlier_version_are_inserted(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    records = [log.user("one"), log.says("two"), log.user("lost words"), log.says("ok")]
    path = write(tmp_path / "a" / NAME, *records)
    target = importing(path).target
    drop_turn_like_an_earlier_version(importing, target, b"lost words")
    assert importing.texts() == ["one", "two", "ok"]
    result = importing(path)
    assert (result.status, result.turns_new) == ("grown", 1)
    assert "earlier version had left out" in result.why
    assert importing.texts() == ["one", "two", "lost words", "ok"]
    before = importing.content()
    assert importing(path).status == "unchanged"
    assert importing.content() == before
    with path.open("ab") as stream:
        stream.write(dump(log.user("three")))
    importing(path)
    assert importing.texts() == ["one", "two", "lost words", "ok", "three"]


def test_text_removed_by_the_user_stays_removed(
    importing: Importing, log: ClaudeCode, tmp_path: Path
) -> None:
    path = write(tmp_path / "a" / NAME, log.user("one"), log.user("a secret"), log.user("three"))
    target = importing(path).target
    drop_turn_like_an_earlier_version(importing, target, b"three")
    importing.files.replace(target, importing.files.read(target).replace(b"a secret", b"(taken out)"))
    importing(path)
    assert "a secret" not in importing.texts()
