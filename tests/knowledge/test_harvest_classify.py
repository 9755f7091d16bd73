"""Classifying conversations: what a harvest would do with each (``knowledge-curation.md`` 5.4)."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.knowledge.harvest.classify import Candidate, Classifier, count_unharvested
from engine.knowledge.harvest.reading import MAX_TEXT_BYTES
from engine.knowledge.ledger import LedgerEntry
from engine.store.files import Files
from engine.store.paths import Workspace

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
TALK = b"## 18:00 \xe2\x80\x94 user\nhello\n"
SHA = hashlib.sha256(TALK).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory-config.yaml").touch()
    (tmp_path / "conversations").mkdir()
    return tmp_path


def put(root: Path, name: str, data: bytes = TALK, minutes: int = 120) -> None:
    path = root / "conversations" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    then = NOW.timestamp() - 60 * minutes
    os.utime(path, (then, then))


def found(root: Path, ledger: dict[str, LedgerEntry] | None = None) -> dict[str, Candidate]:
    files = Files(Workspace.open(root))
    return {each.path.partition("/")[2]: each for each in Classifier(files, ledger or {}, NOW, 60).all()}


def entry(status: str, **more: object) -> LedgerEntry:
    return LedgerEntry("conversations/a.md", status, "2026-06-10T00:00:00+00:00", **more)  # type: ignore[arg-type]


def test_idle_unknown_conversations_are_harvested(root: Path) -> None:
    put(root, "a.md")
    put(root, "deep/er/b.txt")
    put(root, "c.jsonl", b'{"role": "user", "content": "hello"}\n')
    assert {name: each.kind for name, each in found(root).items()} == dict.fromkeys(
        ("a.md", "c.jsonl", "deep/er/b.txt"), "harvest"
    )
    assert (found(root)["a.md"].sha256, found(root)["a.md"].text_size) == (SHA, 5)


def test_recently_written_conversations_are_live(root: Path) -> None:
    put(root, "a.md", minutes=59)
    assert found(root)["a.md"].kind == "live"


def test_conversations_are_kept_by_their_header(root: Path) -> None:
    put(root, "header.md", b"---\nkeep: true\n---\n" + TALK)
    assert found(root)["header.md"].kind == "user-kept"


def test_the_ledger_determines_what_is_left_to_do(root: Path) -> None:
    put(root, "a.md")

    def kind(known: LedgerEntry) -> tuple[str, str]:
        each = found(root, {SHA: known})["a.md"]
        return each.kind, each.why

    assert kind(entry("harvested")) == ("prune", "was harvested on 2026-06-10")
    assert kind(entry("deleted-unharvested"))[0] == "prune"
    assert kind(entry("harvest-failed", error="no JSON")) == ("harvest", "failed on 2026-06-10: no JSON")
    assert kind(entry("harvested", restored=True))[0] == "user-kept"


def test_the_same_content_under_another_name_is_known(root: Path) -> None:
    put(root, "copy-of-a.md")
    assert found(root, {SHA: entry("harvested")})["copy-of-a.md"].kind == "prune"


def test_large_conversations_are_kept_and_empty_ones_pruned(root: Path) -> None:
    put(root, "most.md", TALK + b"x" * (MAX_TEXT_BYTES - 100))
    put(root, "more.md", TALK + b"x" * (MAX_TEXT_BYTES + 1))
    put(root, "none.md", b"")
    kinds = {name: (each.kind, each.state) for name, each in found(root).items()}
    assert kinds == {
        "most.md": ("harvest", "read"), "more.md": ("keep", "too-large"), "none.md": ("prune", "read"),
    }  # fmt: skip


def test_text_without_identifiable_speakers_is_kept(root: Path) -> None:
    put(root, "note.txt", b"The key is under the mat.\n")
    put(root, "service.jsonl", b'{"level": "info", "msg": "started"}\n')
    put(root, "picture.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    assert {name: (each.kind, each.why) for name, each in found(root).items()} == {
        "note.txt": ("keep", "could not tell who speaks"),
        "service.jsonl": ("keep", "could not tell who speaks"),
        "picture.md": ("keep", "is not text"),
    }


def test_a_fresh_copy_of_an_old_conversation_is_not_live(root: Path) -> None:
    stamp = '{"role": "user", "content": "hello", "timestamp": "2026-06-%sT09:00:00Z"}\n'
    head = "---\nsession_id: ses_1\nstarted: 2026-06-01T09:00:00Z\n%s---\n\n## %s \u2014 user\nhello\n"
    put(root, "log-old.jsonl", (stamp % "10").encode(), minutes=1)
    put(root, "log-new.jsonl", (stamp % "10" + stamp.replace("09:", "18:") % "12").encode(), minutes=1)
    put(root, "log-none.jsonl", b'{"role": "user", "content": "hello"}\n', minutes=1)
    put(root, "ended.md", (head % ("ended: 2026-06-01T09:10:00Z\n", "09:05")).encode(), minutes=1)
    put(root, "turn-old.md", (head % ("", "09:05")).encode(), minutes=1)
    east = head.replace("2026-06-01T09:00:00Z", "2026-06-12T02:00:00+05:30")  # the day before in UTC
    put(root, "turn-east.md", (east % ("", "20:35")).encode(), minutes=1)
    put(root, "turn-dated.md", (head % ("", "2026-06-12 18:30")).encode(), minutes=1)
    put(root, "turn-now.md", (head % ("", "18:45")).encode(), minutes=1)
    put(root, "nothing-told.md", minutes=1)
    put(root, "imported.md", (head % ("imported_from: ~/chat.md\n", "18:45")).encode(), minutes=1)
    assert {name for name, each in found(root).items() if each.kind == "live"} == {
        "log-new.jsonl", "log-none.jsonl", "turn-dated.md", "turn-now.md", "nothing-told.md",
    }  # fmt: skip


def test_a_named_conversation_is_never_live_and_is_not_reclaimed(root: Path) -> None:
    put(root, "a.md", minutes=1)
    files = Files(Workspace.open(root))
    (each,) = Classifier(files, {}, NOW, 60, named=("conversations/a.md",)).all()
    assert (each.kind, each.reclaimable) == ("harvest", False)


def test_each_content_is_read_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "a.md")
    files, measured = Files(Workspace.open(root)), {}  # type: ignore[var-annotated]
    first = Classifier(files, {}, NOW, 60, measured=measured).all()
    monkeypatch.setattr("engine.knowledge.harvest.classify.read_source", lambda *_: pytest.fail("read again"))
    assert Classifier(files, {}, NOW, 60, measured=measured).all() == first


def test_unharvested_transcripts_are_counted(sample: Path) -> None:
    files = Files(Workspace.open(sample))
    ended = [
        each for each in Classifier(files, {}, NOW, 60, transcripts=True).all() if each.kind == "harvest"
    ]
    assert count_unharvested(files, {}, "markers") == len(ended)
    harvested = entry("harvested", provider="markers")
    known = {each.sha256: replace(harvested, path=each.path, size=each.size) for each in ended[3:]}
    assert count_unharvested(files, known, "markers") == 3
    assert count_unharvested(files, known, "openai") == len(ended)
    (sample / ended[3].path).rename(sample / f"{ended[3].path}.moved.md")
    with (sample / ended[4].path).open("a") as file:
        file.write("\n## 09:00 — user\n\nAnd another thing.\n")
    assert count_unharvested(files, known, "markers") == 4  # the one that has grown


def test_other_hidden_and_linked_files_are_not_conversations(root: Path) -> None:
    put(root, "notes.pdf")
    put(root, ".hidden.md")
    put(root, ".git/a.md")
    put(root, "real.md")
    os.symlink(root / "conversations/real.md", root / "conversations/link.md")
    os.symlink(root / "conversations", root / "conversations/loop")
    os.mkfifo(root / "conversations/pipe.md.fifo")
    assert list(found(root)) == ["real.md"]


def test_unreadable_conversations_are_kept(root: Path) -> None:
    os.mkfifo(root / "conversations/pipe.md")
    then = NOW.timestamp() - 7200
    os.utime(root / "conversations/pipe.md", (then, then))
    assert found(root)["pipe.md"].kind == "keep"


def test_ended_transcripts_are_harvested_and_never_reclaimed(sample: Path) -> None:
    files = Files(Workspace.open(sample))
    transcripts = Classifier(files, {}, NOW, 60, transcripts=True).all()
    assert len(transcripts) > 10
    assert all(each.path.startswith("raw/conversations/") for each in transcripts)
    assert {each.kind for each in transcripts} <= {"harvest", "live"}
    assert not any(each.reclaimable for each in transcripts if each.kind == "harvest")
    known = {each.sha256: entry("harvested") for each in transcripts if each.sha256}
    again = Classifier(files, known, NOW, 60, transcripts=True).all()
    assert {each.kind for each in again} <= {"keep", "live"}
