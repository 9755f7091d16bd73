"""When something was learned, which source each line came from, and what has changed since."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError, RepositoryError
from engine.history.blame import span_of
from engine.history.history import History
from engine.history.model import Taught
from engine.knowledge.ledger import LedgerEntry
from tests.history.conftest import HOSTILE, NOW, SESSION, Revision, write
from tests.store.history import commit, git

FACTS = "knowledge/facts.md"
LATER = "2026-06-11T00:00:00Z"
PORT = Taught("0800-ses_1-port", "2026-06-02", SESSION, "transcript")


def test_the_commit_that_introduced_a_text_is_found_with_line_and_conversation(
    history: History, revision: Revision
) -> None:
    found = history.when("port 1883")
    assert found.first is not None and found.where == "knowledge"
    assert (found.first.entry.revision, found.first.path, found.first.line) == (
        revision("what was learned"), FACTS, 4,
    )  # fmt: skip
    assert found.first.text.startswith("- The broker listens on Port 1883.")
    assert found.first.taught == (PORT,)
    assert [(each.path, each.line, each.committed) for each in found.now] == [(FACTS, 4, True)]
    assert history.when("port 1883", case=True).where == ""
    # A line without its own provenance takes its source from the commit's trailer.
    modem = history.when("has a modem")
    assert modem.first is not None and [each.path for each in modem.first.taught] == [SESSION]


def test_removed_text_is_found_with_the_commit_that_removed_it(history: History, revision: Revision) -> None:
    found = history.when("has a MODEM")
    assert found.first is not None and found.went is not None and not found.now
    assert found.first.entry.revision == revision("what was learned")
    assert (found.went.entry.revision, found.went.path, found.went.line) == (revision("archived"), FACTS, 5)
    every = history.when("modem", every=True)
    assert [(each.entry.subject, each.removed) for each in every.hits] == [
        ("memory: what was learned", False)
    ]
    # Moving a file into the archive does not count as learning.
    moved = history.when("on Fridays", every=True)
    assert [each.entry.subject for each in moved.hits] == ["memory: Odile"]
    assert [each.path for each in moved.now] == ["archive/odile.md"]


def test_text_that_is_only_in_transcripts_is_found_there(history: History) -> None:
    found = history.when("ses_1")
    assert found.first is not None and (found.where, found.first.path) == ("knowledge", FACTS)
    found = history.when("# Port")
    assert found.first is not None and (found.where, found.first.path) == ("conversations", SESSION)
    assert history.when("never said").where == ""


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("- GRÖSSE: Ärger (a|b).*", "größe: ärger (A|B).*"),
        ("--all -rf", "--ALL -RF"),
        ("[red]\x1b[2J", "[RED]\x1b"),
    ],
)
def test_texts_are_matched_literally_and_case_insensitively_in_every_script(
    history: History, root: Path, line: str, asked: str
) -> None:
    write(root, "knowledge/more.md", f"# More\n{line}\n")
    commit(root, "more", LATER)
    found = history.when(asked)
    assert found.first is not None
    assert (found.first.text, found.first.line, found.now[0].line) == (line, 2, 2)
    assert not history.when(asked.replace("(a|b)", "aaa"), case=True).hits


def test_uncommitted_text_and_text_added_by_a_merge_commit_are_found(history: History, root: Path) -> None:
    write(root, "knowledge/new.md", "brand new\n")
    found = history.when("brand new")
    assert (found.first, [(each.path, each.committed) for each in found.now]) == (
        None,
        [("knowledge/new.md", False)],
    )
    (root / "knowledge/new.md").unlink()
    git(root, "checkout", "-q", "-b", "other", "HEAD~1")
    commit(root, "empty", LATER)
    git(root, "merge", "-q", "--no-commit", "--no-ff", "main")
    write(root, "knowledge/new.md", "brand new\n")
    commit(root, "merged with more", LATER)
    found = history.when("brand new")
    assert found.first is not None and found.first.entry.subject == "merged with more"
    for text in ("", " ", "two\nlines", "x" * 501):
        with pytest.raises(RepositoryError):
            history.when(text)


def test_results_from_a_shallow_clone_are_marked(root: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", str(shallow))
    with Engine.open(shallow) as engine:
        found = engine.history.when("Port 1883")
        assert (
            found.shallow and found.first is not None and found.first.entry.subject == "maintenance: archived"
        )
        assert engine.history.blame(FACTS).shallow


def test_blame_gives_the_commit_and_conversation_of_each_line(
    history: History, root: Path, revision: Revision
) -> None:
    write(root, FACTS, (root / FACTS).read_text() + "- not committed\n")
    found = history.blame(FACTS)
    assert [(each.number, each.revision) for each in found.lines] == [
        (1, revision("a new memory")), (2, revision("a new memory")), (3, revision("a new memory")),
        (4, revision("what was learned")), (5, revision("archived")), (6, ""),
    ]  # fmt: skip
    assert [each.taught for each in found.lines] == [(), (), (), (PORT,), (), ()]
    assert found.lines[5].text == "- not committed"
    one = history.blame(FACTS, (4, 4))
    assert one.lines == (found.lines[3],)
    entry = one.commit_of(one.lines[0])
    assert entry is not None and (entry.kind, entry.sessions) == ("memory", (SESSION,))
    with pytest.raises(RepositoryError, match="has only 6 lines"):
        history.blame(FACTS, (7, 7))


def test_blame_follows_renames_and_accepts_any_file_name(
    history: History, root: Path, revision: Revision
) -> None:
    moved = history.blame("archive/odile.md", (3, 3)).lines[0]
    assert (moved.revision, moved.path, moved.line) == (revision("Odile"), "knowledge/people/odile.md", 3)
    odd = history.blame(HOSTILE).lines[0]
    assert (odd.text, odd.path, odd.revision) == ("odd", HOSTILE, revision("made by hand"))
    git(root, "mv", HOSTILE, "knowledge/plain.md")
    commit(root, "renamed", LATER)
    assert history.blame("knowledge/plain.md").lines[0].path == HOSTILE
    write(root, "knowledge/new.md", "one\ntwo")
    assert [(each.text, each.revision) for each in history.blame("knowledge/new.md").lines] == [
        ("one", ""),
        ("two", ""),
    ]
    then = history.blame(FACTS, revision="2026-06-02")
    assert then.lines[-1].text == "- Kvalnes has a modem."
    (root / "knowledge/out.md").symlink_to("/etc/passwd")
    for path in ("knowledge/out.md", "../x", "knowledge"):
        with pytest.raises(AutopoiesisError):
            history.blame(path)
    with pytest.raises(FileNotFoundError):
        history.blame("knowledge/people/odile.md")
    assert span_of("a:b.md:3") == ("a:b.md", (3, 3))
    assert span_of("a.md:3-9") == ("a.md", (3, 9))
    assert span_of("a.md") == ("a.md", None)


def test_reclaimed_conversations_are_named_with_where_to_find_them(engine: Engine, root: Path) -> None:
    write(root, "conversations/a talk.md", "## 08:00 — user\nhello\n")
    path = root / "conversations/a talk.md"
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    entry = LedgerEntry("conversations/a talk.md", "harvested", NOW.isoformat(), deleted=True)
    engine.knowledge.ledger.record(sha256, entry)
    named = ("a-talk", "nobody-knows", "ses_1", "2026-06-02-port")
    write(root, FACTS, "".join(f"- From {name}. [from: {name}, 2026-06-11]\n" for name in named))
    commit(root, "memory: more", LATER)

    def sources() -> list[tuple[str, str]]:
        lines = engine.history.blame(FACTS).lines
        return [(each.source, each.path) for line in lines for each in line.taught]

    rest = [("unknown", ""), ("transcript", SESSION), ("transcript", SESSION)]
    assert sources() == [("conversation", "conversations/a talk.md"), *rest]
    engine.knowledge.trash.put("conversations/a talk.md", sha256, "harvested")
    assert sources() == [("trash", "conversations/a talk.md"), *rest]
    engine.knowledge.trash.forget(sha256)
    assert sources() == [("reclaimed", "conversations/a talk.md"), *rest]


def test_changes_since_a_day_include_that_day(history: History, root: Path, revision: Revision) -> None:
    found = history.changed("2026-06-04")
    assert found.since is not None and found.since.revision == revision("made by hand")
    assert [(each.path, each.added, each.removed) for each in found.files] == [(FACTS, 1, 1)]
    write(root, "knowledge/new.md", "x\n")
    found = history.changed("2026-06-02")
    assert found.since is not None and found.since.subject == "maintenance: a new memory"
    assert (found.added, found.removed, found.uncommitted) == (3, 0, ("knowledge/new.md",))
    assert {each.path for each in found.files} == {FACTS, HOSTILE}
    whole = history.changed("2026-01-01")
    assert whole.since is None and {each.letter for each in whole.letters} == {"A"}
    assert history.changed("HEAD").files == history.changed("today").files == ()
    assert history.changed("2026-06-02 09:30").since == history.changed(revision("conversation: port")).since


def test_recall_returns_the_original_bytes(history: History, root: Path) -> None:
    (root / "knowledge/bytes.bin").write_bytes(b"\xff\r\n\0")
    commit(root, "bytes", LATER)
    entry, data = history.recall("HEAD", "knowledge/bytes.bin")
    assert (entry.subject, data) == ("bytes", b"\xff\r\n\0")
    assert b"has a modem" in history.recall("2026-06-02", FACTS)[1]
    with pytest.raises(FileNotFoundError):
        history.recall("2026-06-01", "knowledge/bytes.bin")


def test_no_program_configured_in_the_repository_runs(history: History, root: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    write(root, ".gitattributes", "*.md diff=x filter=x merge=x\n")
    for name in (
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "merge.x.driver",
        "core.pager",
        "core.fsmonitor",
        "gpg.program",
    ):
        git(root, "config", name, str(trap))
    git(root, "config", "tag.gpgSign", "true")
    (root / ".git/hooks").mkdir(exist_ok=True)
    for hook in ("reference-transaction", "post-commit", "pre-commit"):
        (root / ".git/hooks" / hook).write_bytes(trap.read_bytes())
        (root / ".git/hooks" / hook).chmod(0o755)
    write(root, FACTS, (root / FACTS).read_text() + "x")
    history.when("modem", every=True)
    history.blame(FACTS)
    history.changed("2026-06-01")
    history.snapshot("a")
    history.branches()
    assert not (tmp_path / "sprung").exists()
    git(root, "-c", "filter.x.clean=", "-c", "core.fsmonitor=false", "checkout", "-q", "--", FACTS)
    (tmp_path / "sprung").unlink(missing_ok=True)  # left by git itself on checkout
    history.undo(history.undo_plan())
    assert not (tmp_path / "sprung").exists()
