"""Logs that Codex has packed are imported like plain ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from engine.errors import ImportFailed
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.discovery import Found, discover_all
from engine.transcripts.importers.run import discover, import_file, is_session_log
from engine.transcripts.importers.state import KnownSessions
from tests.transcripts.logs import SESSION, Codex, dump, read_transcript, write

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MB = 1_000_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "codex"


@pytest.fixture
def plain(home: Path) -> Path:
    return home / "sessions" / "2026" / "02" / "16" / f"rollout-2026-02-16T18-00-30-{SESSION}.jsonl"


@pytest.fixture
def log() -> Codex:
    return Codex()


def pack(path: Path) -> Path:
    """Replace a log by its packed form, as Codex does."""
    packed = path.with_name(f"{path.name}.zst")
    packed.write_bytes(zstd.compress(path.read_bytes()))
    times = path.stat()
    os.utime(packed, ns=(times.st_atime_ns, times.st_mtime_ns))
    path.unlink()
    return packed


def found_in(workspace: Workspace, home: Path) -> tuple[Found, ...]:
    return discover_all(KnownSessions(workspace), lambda _agent: home, home, ["codex"]).found


def test_a_packed_log_is_found_and_imported(
    home: Path, plain: Path, log: Codex, workspace: Workspace, files: Files
) -> None:
    os.utime(write(plain, log.meta(), log.event("user_message", message="hello")), (1000, 1000))
    size = plain.stat().st_size
    packed = pack(plain)
    assert discover("codex", home) == [packed]
    (found,) = found_in(workspace, home)
    assert (found.first, found.size, found.news) == ("2026-02-16", size, "new")
    result = import_file("codex", packed, workspace, files)
    transcript = read_transcript(files, result.target)
    assert (transcript.session_id, [turn.text for turn in transcript.turns]) == (SESSION, ["hello"])
    assert transcript.header["ended"], "its age is that of the packed file"
    assert [each.news for each in found_in(workspace, home)] == ["imported"]
    again = import_file("codex", packed, workspace, files)
    assert (again.status, again.turns_new) == ("unchanged", 0)


def test_a_log_that_was_packed_after_its_import_adds_nothing_until_it_goes_on(
    home: Path, plain: Path, log: Codex, workspace: Workspace, files: Files
) -> None:
    write(plain, log.meta(), log.event("user_message", message="hello"))
    first = import_file("codex", plain, workspace, files)
    content = plain.read_bytes()
    packed = pack(plain)
    second = import_file("codex", packed, workspace, files)
    assert (second.target, second.status, second.turns_new) == (first.target, "unchanged", 0)
    plain.write_bytes(content + dump(log.event("user_message", message="and more")))
    assert discover("codex", home) == [plain], "Codex unpacks a session that is resumed"
    packed.unlink()
    third = import_file("codex", pack(plain), workspace, files)
    assert (third.target, third.status, third.turns_new) == (first.target, "grown", 1)
    assert [turn.text for turn in read_transcript(files, first.target).turns] == ["hello", "and more"]


def test_a_packed_log_is_a_session_log() -> None:
    assert is_session_log(Path("2026/rollout-x.jsonl.zst"))
    assert not is_session_log(Path("2026/rollout-x.jsonl.zst.tmp"))
    assert not is_session_log(Path("photos.tar.zst"))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cut off"),
        (b"plain text", "damaged"),
        (zstd.compress(bytes(range(256)) * 5000)[:-5], "cut off"),
        (zstd.compress(bytes(100 * MB)), "unpacks to more than a log has"),
    ],
)
def test_a_packed_file_that_is_no_log_is_refused(
    plain: Path, workspace: Workspace, files: Files, data: bytes, why: str
) -> None:
    packed = plain.with_name(f"{plain.name}.zst")
    packed.parent.mkdir(parents=True)
    packed.write_bytes(data)
    with pytest.raises(ImportFailed, match=why):
        import_file("codex", packed, workspace, files)
