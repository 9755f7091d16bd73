"""Topics may subscribe only to files of the workspace, by name (robustness F1 and F2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import Problem
from engine.store import documents
from engine.store.paths import Workspace
from engine.topics.loader import load_topic
from engine.topics.model import Topic
from tests.topics.conftest import Write


def load(subscription: str, workspace: Workspace | None) -> tuple[Topic, list[Problem]]:
    text = f"---\ntype: topic\ntriggers: [{{type: url}}]\nsubscriptions:\n  - {subscription}\n---\nGo.\n"
    topic, problems = load_topic(documents.parse(text.encode(), "topics/t.md"), workspace)
    assert topic is not None
    return topic, list(problems)


@pytest.mark.parametrize(
    "path",
    [
        "../secrets.md",
        "knowledge/../../x.md",
        "/etc/passwd",
        '"a\\0b"',
        "x/" * 3000 + "y.md",
        "n" * 300,
        ".git/config",
    ],
)
@pytest.mark.parametrize("is_checked_on_disk", [True, False])
def test_a_path_out_of_the_workspace_is_refused(
    path: str, is_checked_on_disk: bool, workspace: Workspace
) -> None:
    topic, problems = load(path, workspace if is_checked_on_disk else None)
    assert topic.subscriptions == ()
    assert [(problem.line, problem.severity) for problem in problems] == [(5, "error")]
    assert "refused" in problems[0].what


def test_a_symlink_out_of_the_workspace_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("s")
    (workspace.root / "link.md").symlink_to(outside)
    topic, problems = load("link.md", workspace)
    assert topic.subscriptions == ()
    assert "symlink" in problems[0].what


def test_an_existing_file_is_accepted_without_problems(workspace: Workspace, write: Write) -> None:
    write("knowledge/people/ada.md", "x")
    topic, problems = load("./knowledge//people/ada.md", workspace)
    assert topic.subscriptions == ("knowledge/people/ada.md",)
    assert problems == []


def test_a_missing_file_is_kept_with_a_suggestion(workspace: Workspace, write: Write) -> None:
    write("knowledge/people/ada-lovelace.md", "x")
    write("knowledge/procedures/ada.md", "x")
    topic, problems = load("knowledge/people/ada-lovelac.md", workspace)
    assert topic.subscriptions == ("knowledge/people/ada-lovelac.md",)
    assert problems[0].hint == "did you mean knowledge/people/ada-lovelace.md?"
    assert (problems[0].line, problems[0].severity) == (5, "warning")
    _, problems = load("knowledge/people/zzz.md", workspace)
    assert problems[0].hint == "create the file or remove the line"


def test_a_file_of_the_same_name_in_another_folder_is_suggested(workspace: Workspace, write: Write) -> None:
    write("knowledge/procedures/review.md", "x")
    _, problems = load("knowledge/reference/review.md", workspace)
    assert problems[0].hint == "did you mean knowledge/procedures/review.md?"


@pytest.mark.parametrize("path", ["knowledge/people/*.md", "knowledge/people"])
def test_globs_and_folders_are_not_followed_but_their_files_are_listed(
    path: str, workspace: Workspace, write: Write
) -> None:
    for name in ("ada", "bob", "cy", "di"):
        write(f"knowledge/people/{name}.md", "x")
    topic, problems = load(path, workspace)
    assert topic.subscriptions == ()
    assert problems[0].severity == "warning"
    assert problems[0].hint.endswith(
        ": knowledge/people/ada.md, knowledge/people/bob.md, knowledge/people/cy.md and 1 more"
    )


def test_the_same_file_twice_is_kept_once(workspace: Workspace, write: Write) -> None:
    write("knowledge/a.md", "x")
    listed = "subscriptions: [knowledge/a.md, ./knowledge/a.md]"
    text = f"---\ntype: topic\ntriggers: [{{type: url}}]\n{listed}\n---\nGo.\n"
    topic, problems = load_topic(documents.parse(text.encode(), "topics/t.md"), workspace)
    assert topic is not None
    assert topic.subscriptions == ("knowledge/a.md",)
    assert [problem.severity for problem in problems] == ["warning"]
