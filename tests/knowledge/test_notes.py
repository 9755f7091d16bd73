"""Notes follow their file; if the match is uncertain, the person is asked."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from engine.knowledge.apply import apply
from engine.knowledge.bindings import SIGHTINGS, bound_path, in_scope, rebound
from engine.knowledge.item import Item, Origin
from engine.knowledge.notes import MAX_CONTENTS, NoteFiles
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.cases import each_case

ORIGIN = Origin("2026-06-12-talk", "2026-06-12")
BODY = "".join(f"line {number} of the file\n" for number in range(20))


def clock() -> datetime:
    return datetime(2026, 6, 12, 9, tzinfo=UTC)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").touch()
    return Files(Workspace.open(root))


@pytest.fixture
def notes(files: Files) -> NoteFiles:
    return NoteFiles(files, clock)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "tidemark"
    (folder / ".git").mkdir(parents=True)
    (folder / "ingest").mkdir()
    (folder / "ingest/pull.py").write_text(BODY)
    return folder


def test_a_persons_note_has_its_date_and_origin(notes: NoteFiles, files: Files, repository: Path) -> None:
    applied = notes.add(repository / "ingest/pull.py", "Reads twice.")
    assert applied.path == "knowledge/files/tidemark-ingest-pull.py.md"
    text = files.read(applied.path).decode()
    head, _, body = text.partition("---\n\n")
    assert head.startswith('---\npath: "tidemark/ingest/pull.py"\nfingerprint: 390-')
    assert body == "# tidemark/ingest/pull.py\n\n- Reads twice. [from: by hand, 2026-06-12]\n"


def test_keys_are_relative_to_workspace_or_repository_or_absolute(
    notes: NoteFiles, files: Files, repository: Path, tmp_path: Path
) -> None:
    inside = files.workspace.root / "topics/a.md"
    alone = tmp_path / "alone.txt"
    inside.parent.mkdir()
    for path in (inside, alone):
        path.write_text(BODY)
    for path in (inside, alone, repository / "ingest/pull.py"):
        notes.add(path, "n")
    assert [each.path for each in notes.all()] == [str(alone), "tidemark/ingest/pull.py", "topics/a.md"]
    assert all(each.is_here for each in notes.all())
    for key in ("topics/a.md", "tidemark/ingest/pull.py", str(alone)):
        found = notes.of(key)
        assert found is not None and found.path == key


def test_notes_of_the_sample_are_found_by_their_title(sample: Path) -> None:
    notes = NoteFiles(Files(Workspace.open(sample)), clock)
    assert [each.path for each in notes.all()] == [
        "dashboard/src/api/client.ts",
        "tidemark/ingest/sftp_pull.py",
    ]
    found = notes.of("dashboard/src/api/client.ts")
    assert found is not None and len(found.entries) == 3 and not found.is_here
    assert found.entries[0].source == "2026-05-28-release-0-14-0"
    assert notes.questions() == ()


def test_a_harvested_note_follows_its_file(notes: NoteFiles, files: Files, repository: Path) -> None:
    path = repository / "ingest/pull.py"
    edit = notes.edit_for(Item("files", "Reads twice.", str(path)), ORIGIN)
    assert (edit.kind, edit.title) == ("note", "# tidemark/ingest/pull.py")
    apply(files, edit)
    assert b"fingerprint: 390-" in files.read(edit.path)
    path.rename(repository / "pull.py")
    later = notes.edit_for(Item("files", "Again.", str(repository / "pull.py")), ORIGIN)
    assert later.path == edit.path
    apply(files, later)
    found = notes.of(repository / "pull.py")
    assert found is not None and [entry.text for entry in found.entries] == ["Reads twice.", "Again."]
    assert found.path == "tidemark/pull.py"


def test_a_note_on_a_missing_file_becomes_a_fact(notes: NoteFiles, repository: Path) -> None:
    edit = notes.edit_for(Item("files", "Reads twice.", str(repository / "no.py")), ORIGIN)
    assert (edit.kind, edit.path, edit.category) == ("append", "knowledge/facts.md", "files")
    assert edit.line == f"- {repository}/no.py: Reads twice. [from: 2026-06-12-talk, 2026-06-12]"


def test_a_stub_in_the_place_of_a_moved_file_gets_no_note(notes: NoteFiles, repository: Path) -> None:
    path, moved = repository / "ingest/pull.py", repository / "ingest/core.py"
    notes.add(path, "n")
    path.rename(moved)
    path.write_text("from ingest.core import *\n")
    assert notes.of(path) is None
    question = notes.question(path)
    assert question is not None and question.why == "another file is at its path"
    notes.rebind(question.path, moved)
    found = notes.of(moved)
    assert found is not None and notes.of(path) is None


def test_a_file_rewritten_in_its_place_keeps_its_notes(notes: NoteFiles, repository: Path) -> None:
    path = repository / "ingest/pull.py"
    notes.add(path, "n")
    path.unlink()
    path.write_text("another way to do it\n" * 12)
    (repository / "ingest/other.py").write_text("nothing alike\n" * 12)
    found = notes.of(path)
    assert found is not None and notes.questions() == ()


def test_two_copies_cause_a_question(notes: NoteFiles, repository: Path) -> None:
    path = repository / "ingest/pull.py"
    notes.add(path, "n")
    (repository / "copy.py").write_bytes(path.read_bytes())
    path.rename(repository / "moved.py")
    assert notes.of(repository / "moved.py") is None and notes.of(repository / "copy.py") is None
    assert [each.path for each in notes.questions()] == ["tidemark/ingest/pull.py"]


def test_short_contents_do_not_identify_a_file(notes: NoteFiles, repository: Path) -> None:
    path = repository / "ingest/__init__.py"
    path.write_text("")
    notes.add(path, "n")
    path.rename(repository / "__init__.py")
    assert notes.of(repository / "__init__.py") is None


def test_other_content_with_the_same_inode_causes_a_question(notes: NoteFiles, repository: Path) -> None:
    path = repository / "ingest/pull.py"
    notes.add(path, "n")
    target = path.rename(repository / "ingest/other.txt")
    target.write_text("nothing in common\n" * 9)
    assert notes.of(target) is None
    assert [each.why for each in notes.questions()] == ["the file no longer exists"]


def test_too_many_files_of_the_same_length_are_not_compared(notes: NoteFiles, repository: Path) -> None:
    path = repository / "ingest/pull.py"
    notes.add(path, "n")
    for number in range(MAX_CONTENTS + 1):
        (repository / f"ingest/a{number:03}.py").write_text(BODY.replace("line", "Line", number % 9 + 1))
    target = path.rename(repository / "ingest/z.py")
    assert notes.of(target) is None


def test_a_rename_is_followed_on_another_machine(files: Files, repository: Path) -> None:
    NoteFiles(files, clock).add(repository / "ingest/pull.py", "n")
    files.remove(SIGHTINGS)
    notes = NoteFiles(files, clock)
    target = (repository / "ingest/pull.py").rename(repository / "pull.py")
    found = notes.of(target)
    assert found is not None and found.renamed_from == "tidemark/ingest/pull.py"
    text = files.read(found.notes).decode()
    assert 'path: "tidemark/pull.py"' in text and "\n# tidemark/pull.py\n" in text


def test_two_repositories_with_the_same_name_share_no_notes(
    notes: NoteFiles, repository: Path, tmp_path: Path
) -> None:
    notes.add(repository / "ingest/pull.py", "n")
    other = tmp_path / "elsewhere/tidemark"
    (other / ".git").mkdir(parents=True)
    (other / "ingest").mkdir()
    (other / "ingest/pull.py").write_text("another program\n" * 20)
    assert notes.of(other / "ingest/pull.py") is None
    assert notes.of(repository / "ingest/pull.py") is not None


def test_text_the_person_adds_to_notes_is_kept(notes: NoteFiles, files: Files, repository: Path) -> None:
    applied = notes.add(repository / "ingest/pull.py", "n")
    mine = (
        files.read(applied.path).replace(b"---\npath", b"---\n# mine\nowner: me\npath")
        + b"\n## More\n\ntext\n"
    )
    files.replace(applied.path, mine)
    target = (repository / "ingest/pull.py").rename(repository / "ingest/p.py")
    found = notes.of(target)
    assert found is not None
    assert files.read(applied.path) == mine.replace(b"pull.py", b"p.py")


@pytest.mark.parametrize("header", ["", "---\n{broken\n---\n", "---\npath: [\n---\n"])
def test_without_a_header_the_title_identifies_the_file(
    notes: NoteFiles, files: Files, repository: Path, header: str
) -> None:
    files.replace("knowledge/files/x.md", f"{header}# tidemark/ingest/pull.py\n\n- n\n".encode())
    found = notes.of(repository / "ingest/pull.py")
    assert found is not None and [entry.text for entry in found.entries] == ["n"]
    target = (repository / "ingest/pull.py").rename(repository / "ingest/p.py")
    moved = notes.of(target)
    assert moved is not None and bound_path(files.read("knowledge/files/x.md"))[0] == "tidemark/ingest/p.py"


@each_case("newline", ["\n", "\r\n"])
def test_rebinding_changes_nothing_else(newline: str) -> None:
    old = newline.join(
        ["\ufeff---", "path: a.py # why", "x: 1", "---", "", "# a.py", "", "- a.py is", ""]
    ).encode()
    new = rebound(old, 'b "c".py', "3-ab")
    assert bound_path(new) == ('b "c".py', "3-ab")
    lines = [line.rstrip("\r") for line in new.decode().split("\n")]
    assert lines == [
        "\ufeff---", "fingerprint: 3-ab", 'path: "b \\"c\\".py"', "x: 1", "---",
        "", '# b "c".py', "", "- a.py is", "",
    ]  # fmt: skip
    assert new.count(b"\r\n") == old.count(b"\r\n") + (newline == "\r\n")
    bare = newline.join(["# a.py", "", "- n", ""]).encode()
    assert rebound(bare, "b.py", "").endswith(newline.join(["---", "", "# b.py", "", "- n", ""]).encode())


def test_invalid_requests_are_refused_with_a_hint(notes: NoteFiles, repository: Path) -> None:
    path = repository / "ingest/pull.py"
    notes.add(path, "n")
    (repository / "other.py").write_text(BODY.upper())
    notes.add(repository / "other.py", "o")
    for call in (
        lambda: notes.add("no/such.py", "x"),
        lambda: notes.add("../x", "x"),
        lambda: notes.add(path, " "),
        lambda: notes.rebind("no/such.py", path),
        lambda: notes.rebind("tidemark/ingest/pull.py", repository / "nothing.py"),
        lambda: notes.rebind("tidemark/ingest/pull.py", repository / "other.py"),
    ):
        with pytest.raises(AutopoiesisError) as caught:
            call()
        assert caught.value.where and caught.value.hint


def test_names_of_notes_files_reflect_the_path_and_are_unique(notes: NoteFiles, files: Files) -> None:
    root = files.workspace.root / "t"
    paths = ["a/b-c.md", "a-b/c.md", "a/-b.md", "a-/b.md", "a--b.md", "ä ö/#1.md", f"{'x' * 150}.md"]
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    names = [notes.add(f"t/{path}", "n").path.removeprefix("knowledge/files/") for path in paths]
    assert names[:2] == ["t-a-b--c.md.md", "t-a--b-c.md.md"]
    assert len(set(names)) == len(paths) and max(len(name.encode()) for name in names) < 160
    for path in paths:
        found = notes.of(f"t/{path}")
        assert found is not None and found.path == f"t/{path}"


def test_special_files_have_no_notes(notes: NoteFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (
        "/dev/zero",
        tmp_path / "pipe",
        tmp_path / "loop",
        tmp_path,
        "a\0b",
        "",
        "x" * 9000,
        "a/../b",
    ):
        assert notes.of(path) is None
        assert notes.edit_for(Item("files", "n", str(path)), ORIGIN).path == "knowledge/facts.md"


def test_notes_are_readable_in_a_read_only_workspace(files: Files, repository: Path) -> None:
    NoteFiles(files, clock).add(repository / "ingest/pull.py", "n")
    (repository / "ingest/pull.py").write_text(BODY + "more\n")
    found = NoteFiles(Files(files.workspace, read_only=True), clock).of(repository / "ingest/pull.py")
    assert found is not None and len(found.entries) == 1


@pytest.mark.parametrize("data", [b"", b"[]", b'{"a": 1}', b"\xff", b"[" * 100_000])
def test_a_broken_sightings_file_loses_no_note(files: Files, repository: Path, data: bytes) -> None:
    NoteFiles(files, clock).add(repository / "ingest/pull.py", "n")
    files.replace(SIGHTINGS, data)
    found = NoteFiles(files, clock).of(repository / "ingest/pull.py")
    assert found is not None and found.is_here


@pytest.mark.parametrize(("written", "asked"), [("caf\xe9", "cafe\u0301"), ("cafe\u0301", "caf\xe9")])
def test_notes_are_found_however_the_letters_of_the_path_are_written(
    notes: NoteFiles, files: Files, repository: Path, written: str, asked: str
) -> None:
    (repository / f"{written}.py").write_text(BODY)
    first = notes.add(repository / f"{asked}.py", "Reads twice.")
    assert notes.add(repository / f"{written}.py", "Twice a day.").path == first.path
    assert "tidemark/caf\xe9.py" in files.read(first.path).decode()
    for name in (f"tidemark/{asked}.py", f"tidemark/{written}.py", str(repository / f"{asked}.py")):
        found = notes.of(name)
        assert found is not None and found.is_here and len(found.entries) == 2, name
        assert in_scope([name], {each.path: each.notes for each in notes.all()}, files.workspace) == (
            first.path,
        )
    # A sync program rewrites the name in the other form.
    (repository / f"{written}.py").rename(repository / f"{asked}.py")
    found = notes.of(repository / f"{asked}.py")
    assert found is not None and found.is_here and found.notes == first.path
    assert notes.questions() == ()
