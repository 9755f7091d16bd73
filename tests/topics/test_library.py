"""The topics of a workspace, and how they follow changes to their files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.topics.library import TopicLibrary
from tests.topics.conftest import Write


def topic(body: str = "Go.", **fields: str) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return f"---\ntype: topic\ntriggers: [{{type: url}}]\n{lines}---\n{body}\n"


@pytest.fixture
def library(workspace: Workspace, files: Files) -> TopicLibrary:
    return TopicLibrary(workspace, files)


def names(library: TopicLibrary) -> list[str]:
    return [known.name for known in library.topics]


def test_topics_of_all_folders_are_sorted_by_name(library: TopicLibrary, write: Write) -> None:
    write("topics/zebra.md", topic())
    write("topics/office/ant.md", topic())
    delta = library.load()
    assert names(library) == ["ant", "zebra"]
    assert delta.changed == ("ant", "zebra")
    assert (delta.removed, delta.problems, library.problems) == ((), (), ())
    found = library.get("ant")
    assert found is not None
    assert found.path == "topics/office/ant.md"
    assert library.get("bee") is None


def test_a_workspace_without_topics_has_none(library: TopicLibrary, workspace: Workspace) -> None:
    (workspace.root / "topics").rmdir()
    library.load()
    assert (library.topics, library.problems) == ((), ())


def test_only_the_changed_file_is_read_again(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic("One."))
    write("topics/b.md", topic("One."))
    library.load()
    write("topics/a.md", topic("Two."))
    write("topics/b.md", topic("Two."))
    delta = library.refresh(["topics/a.md"])
    assert delta.changed == ("a",)
    assert [known.instructions for known in library.topics] == ["Two.", "One."]


def test_an_edit_that_changes_no_value_still_counts_as_a_change(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic())
    library.load()
    version = library.version
    write("topics/a.md", topic(owner="ada"))
    assert library.refresh(["topics/a.md"]).changed == ("a",)
    assert library.version != version


def test_a_refresh_without_changes_reports_none(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic())
    library.load()
    version = library.version
    delta = library.refresh(None)
    assert (delta.changed, delta.removed) == ((), ())
    assert library.version == version


def test_new_and_deleted_files_are_noticed(library: TopicLibrary, write: Write) -> None:
    path = write("topics/a.md", topic())
    library.load()
    write("topics/b.md", topic())
    path.unlink()
    delta = library.refresh(["topics/a.md", "topics/b.md"])
    assert (delta.changed, delta.removed) == (("b",), ("a",))
    assert names(library) == ["b"]


def test_a_removed_folder_removes_its_topics(library: TopicLibrary, write: Write) -> None:
    path = write("topics/office/a.md", topic())
    write("topics/b.md", topic())
    library.load()
    path.unlink()
    path.parent.rmdir()
    assert library.refresh(["topics/office"]).removed == ("a",)
    assert names(library) == ["b"]


def test_topics_in_a_new_folder_are_found(library: TopicLibrary, write: Write) -> None:
    library.load()
    write("topics/office/deep/a.md", topic())
    assert library.refresh(["topics/office"]).changed == ("a",)


def test_an_invalid_header_keeps_the_previous_version_until_fixed(
    library: TopicLibrary, write: Write
) -> None:
    write("topics/a.md", topic("Good."))
    library.load()
    write("topics/a.md", "---\ntype: topic\n  priority: [\n---\nWorse.\n")
    delta = library.refresh(["topics/a.md"])
    assert delta.changed == ()
    assert [known.instructions for known in library.topics] == ["Good."]
    assert "the last valid version stays in use" in delta.problems[0].hint
    assert delta.problems[0].line == 3
    assert library.problems == delta.problems
    write("topics/a.md", topic("Better."))
    assert library.refresh(["topics/a.md"]).changed == ("a",)
    assert library.problems == ()


@pytest.mark.parametrize("content", ["", "\n"])
def test_a_file_emptied_by_an_editor_keeps_its_topic(
    content: str, library: TopicLibrary, write: Write
) -> None:
    write("topics/a.md", topic())
    library.load()
    write("topics/a.md", content)
    library.refresh(["topics/a.md"])
    assert names(library) == ["a"]
    assert "stays in use" in library.problems[0].hint


def test_a_file_that_changes_type_is_no_longer_a_topic(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic())
    library.load()
    write("topics/a.md", "---\ntype: reference\n---\nText.\n")
    assert library.refresh(["topics/a.md"]).removed == ("a",)
    assert "not topic" in library.problems[0].what


def test_fixing_an_invalid_header_is_a_change(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic())
    library.load()
    write("topics/a.md", "---\n[\n---\n")
    library.refresh(["topics/a.md"])
    write("topics/a.md", topic())
    assert library.refresh(["topics/a.md"]).changed == ("a",)


def test_deleting_a_file_that_only_had_problems_is_noticed(library: TopicLibrary, write: Write) -> None:
    broken = write("topics/a.md", "no topic")
    write("topics/mail.md", topic())
    double = write("topics/office/mail.md", topic())
    library.load()
    broken.unlink()
    assert library.refresh(["topics/a.md"]).removed == ("a",)
    double.unlink()
    assert library.refresh(["topics/office/mail.md"]).changed == ("mail",)
    assert library.problems == ()


def test_a_broken_file_does_not_affect_others(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic())
    write("topics/b.md", "---\ntype: topic\n- x\n---\n")
    library.load()
    assert names(library) == ["a"]
    assert [problem.path for problem in library.problems] == ["topics/b.md"]
    assert "stays in use" not in library.problems[0].hint


def test_names_that_differ_only_in_case_or_folder_collide(library: TopicLibrary, write: Write) -> None:
    write("topics/mail.md", topic("First."))
    write("topics/office/Mail.md", topic("Second."))
    delta = library.load()
    assert names(library) == ["mail"]
    problem = library.problems[0]
    assert (problem.path, problem.severity) == ("topics/office/Mail.md", "error")
    assert "topics/mail.md" in problem.what
    assert problem in delta.problems


def test_the_other_of_two_colliding_topics_takes_over(library: TopicLibrary, write: Write) -> None:
    first = write("topics/mail.md", topic("First."))
    write("topics/office/mail.md", topic("Second."))
    library.load()
    first.unlink()
    delta = library.refresh(["topics/mail.md"])
    assert (delta.changed, delta.removed) == (("mail",), ())
    assert [known.instructions for known in library.topics] == ["Second."]
    assert library.problems == ()


def test_names_that_look_the_same_collide_regardless_of_normalization(
    library: TopicLibrary, write: Write
) -> None:
    write("topics/pr\u00fcfen.md", topic())
    write("topics/office/pru\u0308fen.md", topic())
    library.load()
    assert len(library.topics) == 1
    assert len(library.problems) == 1


def test_hidden_files_leftovers_and_a_readme_are_not_topics(library: TopicLibrary, write: Write) -> None:
    for name in (".a.md", "a.md~", ".a.md.swp", "#a.md#", ".git/b.md", "README.md", ".tmp-a.md"):
        write(f"topics/{name}", topic())
    library.load()
    assert (library.topics, library.problems) == ((), ())
    delta = library.refresh(["topics/.tmp-a.md", "topics/README.md", "knowledge/x.md"])
    assert (delta.changed, delta.problems) == ((), ())


def test_a_file_that_is_not_markdown_is_reported(library: TopicLibrary, write: Write) -> None:
    write("topics/a.yaml", "x: 1")
    library.load()
    assert (library.problems[0].path, library.problems[0].severity) == ("topics/a.yaml", "warning")


def test_a_pipe_and_an_external_symlink_neither_hang_nor_load(
    library: TopicLibrary, workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(topic())
    (workspace.topics / "link.md").symlink_to(outside)
    os.mkfifo(workspace.topics / "pipe.md")
    library.load()
    assert library.topics == ()
    assert [problem.path for problem in library.problems] == ["topics/link.md", "topics/pipe.md"]
    assert all("cannot be read" in problem.what for problem in library.problems)


def test_a_file_too_large_to_be_a_topic_is_reported(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic("x" * 2_000_000))
    library.load()
    assert library.topics == ()
    assert library.problems[0].path == "topics/a.md"


def test_patterns_are_checked_when_topics_are_loaded(
    library: TopicLibrary, workspace: Workspace, files: Files, write: Write
) -> None:
    write("topics/a.md", "---\ntype: topic\ntriggers:\n  - type: pattern\n    match: '(a+)+$'\n---\nGo.\n")
    library.load()
    assert names(library) == ["a"]
    assert (library.problems[0].line, library.problems[0].severity) == (4, "error")
    assert "exponential" in library.problems[0].what
    unchecked = TopicLibrary(workspace, files, check_patterns=False)
    unchecked.load()
    assert unchecked.problems == ()


def test_missing_subscriptions_are_reported(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic(subscriptions="[knowledge/x.md]"))
    library.load()
    assert "does not exist" in library.problems[0].what
    write("knowledge/x.md", "x")
    library.refresh(None)
    assert library.problems == ()


def test_problems_are_ordered_by_file_and_line(library: TopicLibrary, write: Write) -> None:
    write("topics/b.md", topic(priority="x", activation="y"))
    write("topics/a.md", topic(priority="x"))
    library.load()
    places = [(problem.path, problem.line) for problem in library.problems]
    assert places == [("topics/a.md", 4), ("topics/b.md", 4), ("topics/b.md", 5)]


def test_without_a_watcher_catch_up_reads_changed_files(
    library: TopicLibrary, write: Write, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("topics/ant.md", topic())
    library.load()
    with monkeypatch.context() as patch:
        patch.setattr(library, "refresh", lambda _paths=None: pytest.fail("nothing has changed"))
        library.catch_up()
    write("topics/bee.md", topic())
    library.catch_up()
    assert names(library) == ["ant", "bee"]
    (workspace.root / "topics/ant.md").unlink()
    library.catch_up()
    assert names(library) == ["bee"]
    library.force("bee", on=True)
    write("topics/.state.yaml", "")
    library.catch_up()
    assert library.get("bee") is not None


def test_a_conflict_copy_is_no_topic(library: TopicLibrary, write: Write) -> None:
    write("topics/a.md", topic("One.\nTwo."))
    write("topics/a.sync-conflict-20260612-101010-ABCDEFG.md", topic("Three."))
    library.load()
    assert names(library) == ["a"]
    (problem,) = library.problems
    assert (problem.path, problem.severity) == (
        "topics/a.sync-conflict-20260612-101010-ABCDEFG.md", "warning"
    )  # fmt: skip


def test_a_topic_is_found_however_its_letters_are_written(library: TopicLibrary, write: Write) -> None:
    write("topics/cafe\u0301.md", topic())
    library.load()
    assert names(library) == ["caf\xe9"]
    assert library.get("cafe\u0301") is library.get("caf\xe9") is not None
    library.force("cafe\u0301", True)
    library.refresh()
    assert library.get("caf\xe9").forced is True  # type: ignore[union-attr]
