"""Imports: leftovers of a crash are committed later, and a bad file does not stop the others."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from engine.conversations.imports import (
    Source,
    commit_imported,
    import_sessions,
    last_import,
    undo_import,
)
from engine.engine import Engine
from engine.errors import AutopoiesisError, ReadOnly
from engine.store import faults
from engine.transcripts.format import parse
from engine.transcripts.importers.drafts import ImportResult

CHAT = "**You:** {0} p1\n\n**Assistant:** fine\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Robin")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "robin@example.org")
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_bytes(b"")
    (root / ".gitignore").write_bytes(b"scratch/\nmemory.db*\nlogs/\n")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", "start")
    return root


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def chat(folder: Path, name: str) -> Source:
    path = folder / f"{name}.md"
    path.write_text(CHAT.format(name))
    return Source(path)


def test_transcripts_written_before_a_crash_are_committed_by_the_next_import(
    root: Path, tmp_path: Path
) -> None:
    with Engine.open(root) as engine:
        with faults.trip("commit:reference", faults.fail(28)):
            first = import_sessions(engine, [chat(tmp_path, "one")])
        assert not first.commit.revision and first.results[0].status == "new"
        second = import_sessions(engine, [chat(tmp_path, "two")])
    assert {first.results[0].target, second.results[0].target} == set(second.committed)
    assert git(root, "status", "--short") == ""


def test_imports_can_be_committed_later(root: Path, tmp_path: Path) -> None:
    with Engine.open(root) as engine:
        for name in ("one", "two"):
            import_sessions(engine, [chat(tmp_path, name)], commit=False)
        assert git(root, "log", "--format=%s") == "start"
        change, committed, held = commit_imported(engine)
    assert change.revision and len(committed) == 2 and not held
    assert git(root, "log", "-1", "--format=%s") == "conversation: import 2 sessions"


def test_only_imported_transcripts_are_committed(root: Path, tmp_path: Path) -> None:
    with Engine.open(root) as engine:
        engine.capture.start("live-session", title="Live")
        engine.capture.message("live-session", "user", "in progress")
        (root / "note.md").write_text("mine")
        import_sessions(engine, [chat(tmp_path, "one")])
    left = git(root, "status", "--short", "--untracked-files=all").splitlines()
    assert len(left) == 2 and any("live-session" in line for line in left)


def test_an_unreadable_file_does_not_stop_the_others(root: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    sources = [Source(tmp_path / "pipe.jsonl"), Source(tmp_path / "gone.md"), chat(tmp_path, "one")]
    with Engine.open(root) as engine:
        ran = import_sessions(engine, sources)
    assert [result.status for result in ran.results] == ["skipped", "skipped", "new"]
    assert "not a regular file" in ran.results[0].why


def test_without_a_repository_the_report_says_why_nothing_is_committed(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "memory-config.yaml").write_bytes(b"")
    with Engine.open(root) as engine:
        ran = import_sessions(engine, [chat(tmp_path, "one")])
    assert ran.results[0].status == "new" and not ran.commit.revision and "git" in ran.commit.why


def test_a_read_only_workspace_is_not_written(root: Path, tmp_path: Path) -> None:
    with Engine.open(root, read_only=True) as engine, pytest.raises(ReadOnly):
        import_sessions(engine, [chat(tmp_path, "one")])


def test_an_interrupted_undo_can_be_repeated(root: Path, tmp_path: Path) -> None:
    with Engine.open(root) as engine:
        (result,) = import_sessions(engine, [chat(tmp_path, "one")]).results
        (root / result.target).unlink()
        undo = last_import(engine)
        assert undo is not None and not undo.blocked and undo.removed == (result.target,)


@pytest.mark.parametrize("point", ["replace:rename", "commit:reference"])
def test_an_interrupted_undo_of_a_conversation_that_grew_can_be_repeated(
    root: Path, tmp_path: Path, point: str
) -> None:
    source = chat(tmp_path, "one")
    with Engine.open(root) as engine:
        (result,) = import_sessions(engine, [source]).results
        once = (root / result.target).read_bytes()
        source.path.write_text(CHAT.format("one") + "\n**You:** more\n")
        import_sessions(engine, [source])
        undo = last_import(engine)
        assert undo is not None and undo.restored == (result.target,)
        with contextlib.suppress(AutopoiesisError), faults.trip(point, faults.fail(28)):
            undo_import(engine, undo)
        again = last_import(engine)
        assert again is not None and not again.blocked and again.revision == undo.revision
        assert undo_import(engine, again).revision
        assert (root / result.target).read_bytes() == once
    assert git(root, "status", "--short") == ""


def test_an_undo_that_is_killed_before_its_commit_takes_recaps_back_with_the_next_one(
    root: Path, tmp_path: Path
) -> None:
    class Killed(BaseException):
        pass

    def die(_sessions: list[str]) -> None:
        raise Killed

    with Engine.open(root) as engine:
        import_sessions(engine, [chat(tmp_path, "zero")])
        (result,) = import_sessions(engine, [chat(tmp_path, "one")]).results
        undo = last_import(engine)
        assert undo is not None and undo.removed == (result.target,)
        with contextlib.suppress(Killed):
            undo_import(engine, undo, die)
        assert not (root / result.target).exists()
        again = last_import(engine)
        assert again == undo, "not the import before it"
        forgotten: list[str] = []
        assert undo_import(engine, again, forgotten.extend).revision
        assert forgotten == [result.session_id]


@pytest.mark.parametrize("grows", [False, True])
def test_undoing_an_import_keeps_what_a_person_wrote_before_it(
    root: Path, tmp_path: Path, grows: bool
) -> None:
    source = chat(tmp_path, "one")
    with Engine.open(root) as engine:
        (result,) = import_sessions(engine, [source]).results
        path = root / result.target
        path.write_text(path.read_text().replace("fine", "fine (and it was)"))
        edited = path.read_bytes()
        if grows:
            source.path.write_text(CHAT.format("one") + "\n**You:** more\n")
        ran = import_sessions(engine, [source, chat(tmp_path, "two")])
        assert ran.results[0].status == ("grown" if grows else "unchanged")
        assert git(root, "status", "--short") == ""
        undo = last_import(engine)
        assert undo is not None and undo.removed == (ran.results[1].target,)
        undo_import(engine, undo)
        assert path.read_bytes() == edited


def test_conversations_that_begin_alike_are_told_apart(root: Path, tmp_path: Path) -> None:
    hello = "**You:** hello\n\n**Assistant:** Hi! How can I help?\n\n"
    cache = f"{hello}**You:** fix the cache\n\n**Assistant:** fixed\n"
    trip = f"{hello}**You:** plan my trip\n\n**Assistant:** day one\n"
    more = f"{trip}\n**You:** and day two?\n\n**Assistant:** the forum\n"
    sources = [Source(tmp_path / name) for name in ("cache.md", "trip.md", "copy.md")]
    for source, text in zip(sources, (cache, trip, trip), strict=True):
        source.path.write_text(text)
    with Engine.open(root) as engine:
        first = import_sessions(engine, sources).results
        assert [result.status for result in first] == ["new", "new", "unchanged"]
        assert first[0].target != first[1].target == first[2].target
        path = root / first[1].target
        path.write_text(path.read_text().replace("day one", "day one\nmy note"))
        sources[2].path.write_text(more)
        second = import_sessions(engine, sources).results
    assert [result.status for result in second] == ["unchanged", "unchanged", "grown"]
    assert second[2].target == first[1].target and "the forum" in path.read_text()
    assert "trip" not in (root / first[0].target).read_text()


def test_a_conversation_imported_again_from_its_own_file_stays_the_same(root: Path, tmp_path: Path) -> None:
    source = Source(tmp_path / "chat.md")
    source.path.write_text("**You:** hello\n\n**Assistant:** Hi!\n\n**You:** one\n\n**Assistant:** two\n")
    with Engine.open(root) as engine:
        (first,) = import_sessions(engine, [source]).results
        source.path.write_text(source.path.read_text().replace("one", "three").replace("two", "four"))
        (second,) = import_sessions(engine, [source]).results
    assert second.target == first.target and second.status == "grown"


def test_a_chat_without_dates_that_is_exported_under_another_title_stays_one(
    root: Path, tmp_path: Path
) -> None:
    opening = "**You:** Always run the linter.\n\n**Assistant:** ok\n\n**You:** why?\n\n"
    texts = [f"# Linter\n\n{opening}", f"# Chat of Monday\n\n{opening}**Assistant:** so\n"]
    with Engine.open(root) as engine:
        for name, text in zip(("one.md", "two.md"), texts, strict=True):
            (tmp_path / name).write_text(text)
            os.utime(tmp_path / name, (1_790_000_000 + 100_000 * len(text),) * 2)
        done = import_sessions(engine, [Source(tmp_path / "one.md"), Source(tmp_path / "two.md")]).results
    assert [result.status for result in done] == ["new", "grown"] and done[0].target == done[1].target


_UNDATED = "_**User**_\n\nhello\n\n---\n\n_**Assistant**_\n\nHi!\n"


@pytest.mark.parametrize(
    ("name", "text", "started", "ended"),
    [
        (
            "2025-04-27_19-26-enhancing.md",
            f"<!-- Generated by SpecStory -->\n\n# Enhancing (2025-04-27 15:26:44Z)\n\n{_UNDATED}",
            "2025-04-27T15:26:44Z",
            "2025-04-27T15:26:44Z",
        ),
        ("2025-04-27_19-26Z-enhancing.md", _UNDATED, "2025-04-27T19:26:00Z", "2025-04-27T19:26:00Z"),
        ("2025-04-27 chat.md", _UNDATED, "2025-04-27T12:00:00Z", "2025-04-27T12:00:00Z"),
        ("2025-04-31 chat.md", _UNDATED, "2026-09-21T14:13:20Z", "2026-09-21T14:13:20Z"),
        (
            "session.md",
            "# Gauges\n\n**Session ID:** ses_1\n**Created:** 3/18/2026, 9:54:25 PM\n\n---\n\n"
            "## User\n\nhello on 2024-01-01 10:00\n\n## Assistant\n\nHi!\n",
            "2026-03-18T21:54:00Z",
            "2026-03-18T21:54:00Z",
        ),
        (
            "chat.md",
            "Exported: 2026-02-03\n\n**You:** hello\n\n**Assistant:** Hi!\n",
            "2026-02-03T12:00:00Z",
            "2026-02-03T12:00:00Z",
        ),
        ("2026-09-21 chat.md", _UNDATED, "2026-09-21T12:00:00Z", "2026-09-21T14:13:20Z"),
    ],
)
def test_a_conversation_without_times_is_as_old_as_its_heading_or_the_name_of_its_file(
    name: str, text: str, started: str, ended: str, root: Path, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    os.utime(path, (1_790_000_000,) * 2)  # of the clone
    with Engine.open(root) as engine:
        (done,) = import_sessions(engine, [Source(path)]).results
        header = parse(engine.files.read(done.target), done.target).header
    assert (header["started"], header["ended"]) == (started, ended)


def test_a_session_that_another_version_of_a_program_wrote_again_is_not_doubled(
    root: Path, tmp_path: Path
) -> None:
    def history(agent: str, *said: tuple[str, str, str]) -> str:
        turns = (
            f"_**User ({at})**_\n\n{asked}\n\n---\n\n_**Agent ({agent})**_\n\n{reply}\n\n---\n\n"
            for at, asked, reply in said
        )
        head = "<!-- Generated by SpecStory -->\n\n<!-- vscode Session 82ae4a1b-aab5-4c0d-ae8b-8bbec2a9aa31"
        return f"{head} (2025-12-31 19:25Z) -->\n\n{''.join(turns)}"

    asked = "Check how orders are sorted in the view."
    sources = [Source(tmp_path / "new.md"), Source(tmp_path / "old.md")]
    sources[0].path.write_text(
        history(
            "model-a", ("2025-12-31 19:25:35Z", asked, "By date."), ("2025-12-31 19:40:02Z", "ok", "Good.")
        )
    )
    sources[1].path.write_text(
        history(
            "model model-a",
            ("2025-12-31 19:31Z", asked, "Let me look. By date."),
            ("2025-12-31 19:41Z", "ok", "Good."),
            ("2025-12-31 19:50Z", "ok", "Done."),
        )
    )
    with Engine.open(root) as engine:
        done = import_sessions(engine, sources).results
        turns = parse(engine.files.read(done[0].target), done[0].target).turns
    assert done[0].target == done[1].target
    assert [turn.text for turn in turns] == [asked, "By date.", "ok", "Good.", "ok", "Done."]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_conversation_whose_id_was_not_known_at_first_grows(
    is_replaced: bool, root: Path, tmp_path: Path
) -> None:
    def messages(*texts: str) -> list[dict[str, str]]:
        return [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]

    log, at = tmp_path / "log.jsonl", {"timestamp": "2026-08-07T18:28:27Z"}
    later = messages("one", *(("six", "seven") if is_replaced else ("two", "three")), "four", "five")
    found: list[dict[str, object]] = [{"type": "session", "version": 3, "id": "0a1b2c3d", **at, "cwd": "/w"}]
    found += [{"type": "message", **at, "message": each} for each in later]
    results: list[ImportResult] = []
    for records in (messages("one", "two", "three"), found):
        log.write_text("".join(f"{json.dumps(each)}\n" for each in records))
        with Engine.open(root) as engine:
            results += import_sessions(engine, [Source(log)]).results
    # A reply that is written in another form may be there already.
    assert [result.turns_total for result in results] == [3, 5 if is_replaced else 4]
    assert (results[0].target == results[1].target) == (not is_replaced)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (
            ".aider.chat.history.md",
            "# aider chat started at 2025-12-21 09:00:00\n\n#### question\n\nanswer\n",
        ),
        (
            ".specstory/history/2025-12-21_09-00Z-gauge.md",
            "_**User (2025-12-21 09:00Z)**_\n\nquestion\n\n---\n\n_**Agent**_\n\nanswer\n",
        ),
    ],
)
def test_a_history_belongs_to_the_project_in_whose_folder_it_lies(
    root: Path, tmp_path: Path, place: str, said: str
) -> None:
    history = tmp_path / "tidemark" / place
    history.parent.mkdir(parents=True)
    history.write_text(said)
    with Engine.open(root) as engine:
        (path,) = import_sessions(engine, [Source(history)]).committed
    assert f"\ncwd: {tmp_path / 'tidemark'}\n" in (root / path).read_text()


def test_only_conversations_that_grew_in_a_shared_file_change(root: Path, tmp_path: Path) -> None:
    history = tmp_path / ".aider.chat.history.md"
    part = "\n# aider chat started at 2025-12-2{0} 09:00:00\n\n#### question {0}\n\nanswer {0}\n"
    history.write_text(part.format(1) + part.format(2))
    with Engine.open(root) as engine:
        first = import_sessions(engine, [Source(history)])
        before = [(root / path).read_bytes() for path in first.committed]
        history.write_text(history.read_text() + part.format(3))
        second = import_sessions(engine, [Source(history)])
    assert [result.status for result in second.results] == ["unchanged", "unchanged", "new"]
    assert [(root / path).read_bytes() for path in first.committed] == before
    assert len(second.committed) == 1
