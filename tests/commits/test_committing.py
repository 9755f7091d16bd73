"""What automatic and manual commits include and leave out; a refused file does not block the others."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from engine.errors import PathRefused, RepositoryError
from tests.commits.conftest import Desk

DAY = "raw/conversations/2026/06/12"
ENDED, OPEN, IMPORTED = f"{DAY}/0900-ses_a1-talk.md", f"{DAY}/1000-ses_b2-more.md", f"{DAY}/1100-c-log.md"
SECRET = "AWS " + "AKIA" + "Z7QX4M2N9P6R3T5V"


def transcript(ended: str = "", more: str = "") -> str:
    end = f"ended: {ended}\n" if ended else ""
    return (
        f"---\nsession_id: ses_a1\nstarted: 2026-06-12T09:00:00Z\n{end}{more}---\n\n## 09:00 — user\nHello.\n"
    )


def test_changes_are_committed_and_refused_files_are_named(desk: Desk) -> None:
    desk.write("knowledge/facts.md", "# Facts\n\n- One.\n- Two. [from: ses_a1, 2026-06-12]\n")
    desk.write("topics/t.md", "---\ntype: topic\n---\n# T\n")
    desk.write("-rf ü\nx.md", "not of ours")
    desk.write("knowledge/:(exclude)a.md", "odd\n")
    desk.write("knowledge/secret.md", f"{SECRET}\n")
    desk.write("knowledge/merge.md", "<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n")
    desk.write("knowledge/server.key", "ignored")
    desk.write("knowledge/.tmp-x", "half")
    desk.write("knowledge/memory/MEMORY.md", "- x\n" * 201)
    desk.write("logs/decisions-2026-06.jsonl", "{}\n")
    desk.write("conversations/talk.md", "waits for its harvest\n")
    (desk.root / "knowledge/link.md").symlink_to("/etc/hostname")
    desk.write(ENDED, transcript("2026-06-12T09:30:00Z"))
    desk.write(OPEN, transcript())
    desk.write("knowledge/inner/a.md", "x\n")
    desk.git("init", "-q", "knowledge/inner")
    desk.git("-C", "knowledge/inner", "add", ".")

    planned = desk.engine.commits.commit(dry_run=True)
    assert desk.subjects() == [] and desk.git("status", "--porcelain", "topics") != ""
    report = desk.engine.commits.commit()
    assert [(each.kind, each.message, each.paths) for each in planned.commits] == [
        (each.kind, each.message, each.paths) for each in report.commits
    ]
    talk, knowledge = report.commits
    assert (talk.message, talk.paths) == (f"conversation: talk\n\nSession: {ENDED}", (ENDED,))
    assert knowledge.message == (
        "memory: 1 fact; :(exclude)a.md; topic t\n\nknowledge/:(exclude)a.md: new, 1 line\n"
        f"knowledge/facts.md: 1 line added\ntopics/t.md: new, 4 lines\n\nSession: {ENDED}"
    )
    assert knowledge.revision == desk.git("rev-parse", "HEAD")
    assert desk.git("log", "-1", "--format=%B") == knowledge.message
    assert {each.path: each.why.partition(";")[0] for each in report.left_out} == {
        "knowledge/inner/": "is a separate repository",
        "knowledge/link.md": "it is not a regular file",
        "knowledge/memory/MEMORY.md": "has 201 lines",
        "knowledge/merge.md": "it contains conflict markers",
        "knowledge/secret.md": "line 1 contains what looks like a secret (AWS access key)",
        OPEN: "its session is still running",
    }
    assert OPEN not in {each.path for each in report.refused} and len(report.refused) == 5
    again = desk.engine.commits.commit()
    assert again.commits == () and again.left_out == report.left_out


def test_changes_to_an_ended_transcript_are_not_committed(desk: Desk) -> None:
    desk.write(ENDED, transcript("2026-06-12T09:30:00Z"))
    desk.write(IMPORTED, transcript("2026-06-12T09:30:00Z", "imported_from: ~/log.jsonl\n"))
    first, second = desk.engine.commits.commit().commits
    assert {first.paths, second.paths} == {(ENDED,), (IMPORTED,)}
    assert "\nImport: 2026-06-12" in desk.git("log", "--format=%B"), "undoing an import finds the trailer"
    desk.write(ENDED, transcript("2026-06-12T09:30:00Z").replace("Hello", "Bye"))
    (left,) = desk.engine.commits.commit().left_out
    assert left.why.startswith("was changed although its session has ended")
    (desk.root / ENDED).unlink()
    report = desk.engine.commits.commit([ENDED])
    assert not report.commits and report.refused[0].why.startswith("was deleted although")


def test_named_files_and_folders_become_one_commit_with_the_given_message(desk: Desk) -> None:
    desk.write("knowledge/people/ada.md", "# Ada\n\n- Ghent.\n")
    desk.write("knowledge/identity/SOUL.md", "# Soul\n")
    desk.write(".gitignore", "scratch/\n")
    report = desk.engine.commits.commit(
        ["knowledge/people"], "Ada moved to Ghent, which is a long story " * 3
    )
    assert desk.subjects(1)[0].startswith(
        "memory: Ada moved to Ghent, which is a long story Ada moved to Ghent, w"
    )
    assert report.commits[0].paths == ("knowledge/people/ada.md",)
    desk.engine.commits.commit([".gitignore"], "explore: what if")
    desk.engine.commits.commit(["knowledge/identity/"])
    assert desk.subjects(2) == ["identity: SOUL", "explore: what if"]
    assert desk.engine.commits.commit(["knowledge/none.md"]).commits == ()
    with pytest.raises(PathRefused):
        desk.engine.commits.commit(["../elsewhere"])
    desk.git("checkout", "-qb", "extract/v2")
    desk.write("knowledge/facts.md", "# Facts\n")
    assert desk.engine.commits.commit().commits[0].kind == "extract"


def test_git_lfs_files_are_left_to_git(desk: Desk) -> None:
    desk.write(".gitattributes", "attachments/** filter=lfs diff=lfs merge=lfs -text\n")
    desk.write("attachments/a.png", b"\x89PNG\0picture")
    desk.write("attachments/b.png", b"\x89PNG\0other")
    oid = hashlib.sha256(b"\x89PNG\0picture").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12\n"
    place = desk.root / "scratch/pointer"
    desk.write("scratch/pointer", pointer)
    blob = desk.git("hash-object", "-w", "--no-filters", str(place))
    desk.git("update-index", "--add", "--cacheinfo", f"100644,{blob},attachments/a.png")
    desk.git("commit", "-qm", "a pointer, as git-lfs leaves it")
    report = desk.engine.commits.commit()
    assert report.commits == ()
    assert [(each.path, each.why.partition(",")[0]) for each in report.refused] == [
        ("attachments/b.png", "git-lfs file")
    ]
    (desk.root / ".gitattributes").unlink()
    assert (
        desk.engine.commits.commit(["attachments/b.png"])
        .commits[0]
        .message.startswith("memory: attachment b.png")
    )


def test_a_manual_commit_ignores_the_setting_but_needs_a_branch(desk: Desk) -> None:
    desk.write("memory-config.yaml", "git:\n  auto_commit: false\n")
    desk.engine.reload_config()
    desk.write(IMPORTED, transcript("2026-06-12T09:30:00Z", "imported_from: ~/log.jsonl\n"))
    assert [each.kind for each in desk.engine.commits.commit().commits] == ["conversation", "maintenance"]
    desk.write("knowledge/facts.md", "# Facts\n")
    desk.git("checkout", "-q", "--detach")
    before = desk.git("rev-parse", "HEAD")
    with pytest.raises(RepositoryError, match="HEAD is detached"):
        desk.engine.commits.commit()
    assert desk.git("rev-parse", "HEAD") == before


def test_the_first_commit_of_a_repository(desk: Desk, tmp_path: Path) -> None:
    desk.git("update-ref", "-d", "HEAD")
    report = desk.engine.commits.commit()
    assert report.commits[0].paths == ("knowledge/facts.md", "memory-config.yaml")
    assert report.commits[0].message.startswith("memory: 1 fact; settings")


def test_logs_are_committed_with_other_changes_and_alone_only_by_hand(desk: Desk) -> None:
    desk.write(".gitignore", "scratch/\nmemory.db*\n")
    desk.engine.commits.commit([".gitignore"])
    log = "logs/decisions/2026-06.jsonl"
    desk.write(log, '{"id":"a"}\n')
    assert desk.engine.commits.commit(by_hand=False).commits == ()
    desk.write("knowledge/facts.md", "# Facts\n\n- One.\n- Two.\n")
    (made,) = desk.engine.commits.commit(by_hand=False).commits
    assert made.paths == ("knowledge/facts.md", log)
    assert made.message.splitlines()[0] == "memory: 1 fact"
    desk.write(log, '{"id":"a"}\n{"id":"b"}\n')
    (made,) = desk.engine.commits.commit().commits
    assert (made.kind, made.paths, made.message) == (
        "maintenance",
        (log,),
        f"maintenance: 2026-06.jsonl\n\n{log}: 1 line added",
    )
    assert desk.git("status", "--porcelain", "--untracked-files=all") == ""


def test_a_new_file_whose_name_differs_only_in_case_is_committed_and_said_once(desk: Desk) -> None:
    desk.write("knowledge/Facts.md", "# Facts\n\n- Two.\n")
    first = desk.engine.commits.commit()
    assert [each.paths for each in first.commits] == [("knowledge/Facts.md",)]
    assert first.warnings == (
        "knowledge/Facts.md and knowledge/facts.md differ only in case: a clone on macOS or Windows would "
        "lose one of them; rename one of them, or move what you need into one and delete the other",
    )
    desk.write("knowledge/Facts.md", "# Facts\n\n- Three.\n")
    assert desk.engine.commits.commit().warnings == ()


def test_leftovers_of_editors_and_sync_programs_are_not_committed(desk: Desk) -> None:
    desk.write("knowledge/old.bak", "committed by hand\n")
    desk.git("add", ".")
    desk.git("commit", "-qm", "by hand")
    for name in ("facts.md~", ".facts.md.swp", "#facts.md#", "facts.md.orig", "~$facts.docx", ".nfs01"):
        desk.write(f"knowledge/{name}", "left\n")
    desk.write("attachments/Thumbs.db", "left\n")
    desk.write("knowledge/old.bak", "still known to git\n")
    assert [each.paths for each in desk.engine.commits.commit().commits] == [("knowledge/old.bak",)]
    assert desk.engine.repository.state().dirty == 0


def test_who_the_agent_is_is_committed_apart_from_other_knowledge(desk: Desk) -> None:
    desk.write("knowledge/identity/SOUL.md", "# Soul\n\nPatient.\n")
    desk.write("knowledge/facts.md", "# Facts\n\n- One.\n- Two.\n")
    desk.write("topics/t.md", "---\ntype: topic\n---\n# T\n")
    made = desk.engine.commits.commit().commits
    assert [(each.kind, each.paths) for each in made] == [
        ("identity", ("knowledge/identity/SOUL.md",)),
        ("memory", ("knowledge/facts.md", "topics/t.md")),
    ]
    desk.write("knowledge/identity/SOUL.md", "# Soul\n\nBrave.\n")
    desk.write("knowledge/facts.md", "# Facts\n\n- One.\n")
    (made_by_name,) = desk.engine.commits.commit(["knowledge"]).commits
    assert made_by_name.kind == "memory" and len(made_by_name.paths) == 2


def test_a_file_that_icloud_has_taken_off_this_machine_is_not_committed_as_deleted(desk: Desk) -> None:
    (desk.root / "knowledge/facts.md").unlink()
    desk.write("knowledge/.facts.md.icloud", b"bplist00")
    report = desk.engine.commits.commit()
    assert report.commits == () and [each.path for each in report.left_out] == ["knowledge/facts.md"]
    assert "only in iCloud" in report.left_out[0].why
    (desk.root / "knowledge/.facts.md.icloud").unlink()
    assert [each.paths for each in desk.engine.commits.commit().commits] == [("knowledge/facts.md",)]
