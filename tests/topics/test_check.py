"""``topics check`` reads all topics and probes all patterns."""

from __future__ import annotations

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.topics.check import check_topics
from tests.topics.conftest import Write


def test_a_valid_workspace_has_no_problems(workspace: Workspace, files: Files, write: Write) -> None:
    write("knowledge/a.md", "x")
    write(
        "topics/a.md",
        "---\ntype: topic\ntriggers:\n  - type: pattern\n    match: '\\bmail\\b'\n  - type: cron\n"
        "    schedule: '0 8 * * *'\nsubscriptions: [knowledge/a.md]\n---\nGo.\n",
    )
    assert check_topics(workspace, files) == ()


def test_every_kind_of_problem_is_found_once_and_in_order(
    workspace: Workspace, files: Files, write: Write
) -> None:
    write(
        "topics/a.md",
        "---\ntype: topic\ntriggers:\n"
        "  - {type: pattern, match: '(a+)+$'}\n"
        "  - {type: pattern, match: 'mail('}\n"
        "  - {type: pattern, match: '.*'}\n"
        "  - {type: pattern, match: '\\w'}\n"
        "  - {type: cron, schedule: daily}\n"
        "  - {type: regex, match: a}\n"
        "subscriptions: [../x.md, knowledge/none.md]\n"
        "priority: top\n---\nGo.\n",
    )
    write("topics/b.md", "no topic\n")
    write("topics/office/A.md", "---\ntype: topic\ntriggers: [{type: url}]\n---\nGo.\n")
    problems = check_topics(workspace, files)
    assert [(problem.path, problem.line, problem.severity) for problem in problems] == [
        ("topics/a.md", 4, "error"),
        ("topics/a.md", 5, "error"),
        ("topics/a.md", 6, "warning"),
        ("topics/a.md", 7, "warning"),
        ("topics/a.md", 8, "error"),
        ("topics/a.md", 9, "error"),
        ("topics/a.md", 10, "error"),
        ("topics/a.md", 10, "warning"),
        ("topics/a.md", 11, "error"),
        ("topics/b.md", 1, "error"),
        ("topics/office/A.md", 0, "error"),
    ]
    assert all(problem.hint for problem in problems)
