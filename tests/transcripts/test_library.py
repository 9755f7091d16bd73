"""Listing and reading transcripts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.places import list_transcripts
from engine.transcripts.turn import KnowledgeChange
from tests.transcripts.logs import read_transcript, remember


def test_transcripts_are_listed_newest_first(
    capture: ConversationCapture, workspace: Workspace, files: Files
) -> None:
    for session_id, at in (
        ("b", datetime(2026, 2, 16, 9, 0, 30, tzinfo=UTC)),
        ("c", datetime(2025, 12, 31, 23, 0, tzinfo=UTC)),
        ("a", datetime(2026, 2, 16, 9, 0, tzinfo=UTC)),
    ):
        capture.start(session_id, title=f"About {session_id}: it", channel="cli", started=at)
    capture.end("c", at=datetime(2026, 1, 1, tzinfo=UTC))
    found = list_transcripts(workspace)
    assert [info.session_id for info in found] == ["b", "a", "c"]
    first, last = found[0], found[-1]
    status = (workspace.root / first.path).stat()
    assert (first.title, first.channel, first.started) == ("About b: it", "cli", "2026-02-16T09:00:30Z")
    assert (first.size, first.mtime_ns, first.ended) == (status.st_size, status.st_mtime_ns, "")
    assert last.ended == "2026-01-01T00:00:00Z"
    assert read_transcript(files, first.path).session_id == "b"


def test_a_workspace_without_transcripts_lists_none(workspace: Workspace) -> None:
    assert list_transcripts(workspace) == []


def test_odd_files_are_skipped(capture: ConversationCapture, workspace: Workspace) -> None:
    path = Path(workspace.root / capture.start("a", title="Kept"))
    (path.parent / "notes.txt").write_text("x")
    (path.parent / ".tmp-1234-1845-b-x.md").write_text("x")
    (path.parent / "1200-loop-x.md").symlink_to("1200-loop-x.md")
    (path.parent / "1300-folder-x.md").mkdir()
    (path.parents[3] / "not-a-year").mkdir()
    (path.parent / "1400-no-header-here.md").write_bytes(b"\xff\xfe binary")
    (path.parent / "1500-b-broken.md").write_text("---\nsession_id: [b\n---\n# T\n")
    found = {info.path.rsplit("/", 1)[1]: info for info in list_transcripts(workspace)}
    assert set(found) == {path.name, "1400-no-header-here.md", "1500-b-broken.md"}
    headless = found["1400-no-header-here.md"]
    assert (headless.session_id, headless.started, headless.title) == (
        "",
        "2026-02-16T14:00:00Z",
        "no header here",
    )


def test_a_header_longer_than_the_part_read_is_accepted(
    capture: ConversationCapture, workspace: Workspace, files: Files
) -> None:
    path = capture.start("a", title="Long Story")
    remember(files, path, *(KnowledgeChange("updated", f"k/{n}.md") for n in range(150)))
    capture.end("a")
    (info,) = list_transcripts(workspace)
    assert (info.session_id, info.title.lower()) == ("a", "long story")
