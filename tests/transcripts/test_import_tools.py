"""One-line summaries of tool calls and their results."""

from __future__ import annotations

from typing import Any

from engine.transcripts.importers.tools import result_of, summary_of
from tests.cases import each_case

PLAN = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]


@each_case(
    ("name", "arguments", "expected"),
    [
        ("Bash", {"command": "git log\n  --oneline", "description": "Log"}, "git log --oneline"),
        ("Read", {"file_path": "/a/b.py"}, "/a/b.py"),
        ("Read", {"file_path": "/a/b.py", "offset": 10, "limit": 5}, "/a/b.py:10-14"),
        ("Read", {"file_path": "/a/b.py", "limit": 5}, "/a/b.py:1-5"),
        (
            "Edit",
            {"replace_all": False, "file_path": "/a/b.py", "old_string": "x", "new_string": "y"},
            "/a/b.py",
        ),
        ("Write", {"content": "secret", "file_path": "/a/b.py"}, "/a/b.py"),
        ("NotebookEdit", {"notebook_path": "/a.ipynb", "new_source": "x"}, "/a.ipynb"),
        ("Grep", {"pattern": "a|b", "path": "src", "output_mode": "content"}, "a|b in src"),
        ("Grep", {"pattern": "a|b"}, "a|b"),
        ("Glob", {"pattern": "**/*.py"}, "**/*.py"),
        ("Task", {"subagent_type": "Explore", "description": "Look", "prompt": "long"}, "Explore: Look"),
        ("Agent", {"prompt": "do it"}, "do it"),
        ("Skill", {"skill": "review", "args": "PR 3"}, "review PR 3"),
        ("WebFetch", {"url": "https://example.org", "prompt": "x"}, "https://example.org"),
        ("WebSearch", {"query": "tea"}, "tea"),
        ("TodoWrite", {"todos": PLAN}, "1 of 2 done, now: b"),
        ("TodoWrite", {"todos": "broken"}, ""),
        ("mcp__db__query", {"limit": 5, "sql": "select 1"}, '{"limit": 5, "sql": "select 1"}'),
        ("mcp__x", {"query": ""}, '{"query": ""}'),
        ("odd", {}, ""),
        ("odd", None, "null"),
        ("odd", [1, 2], "[1, 2]"),
        ("Bash", {"command": "x" * 500}, "x" * 199 + "…"),
        ("Bash", {"command": "echo {knowledge}no{/knowledge} ok"}, "echo ok"),
    ],
)
def test_calls_are_summarised(name: str, arguments: Any, expected: str) -> None:
    assert summary_of(name, arguments) == expected


@each_case(
    ("name", "text", "failed", "expected"),
    [
        ("Bash", "", False, "no output"),
        ("Bash", "one line\n", False, "one line"),
        ("Bash", "start\nmiddle\n5 passed in 0.3s\n", False, "start … 5 passed in 0.3s (3 lines)"),
        ("Bash", "\x1b[32mgreen\x1b[0m", False, "green"),
        ("Bash", "Exit code 2\nmake: error\nlast", True, "exit 2: make: error … last"),
        ("Bash", "Exit code 1", True, "exit 1"),
        ("Read", "     1→a\n     2→b\n<system-reminder>\nx\n</system-reminder>\n", False, "2 lines"),
        (
            "Read",
            "<tool_use_error>File does not exist.</tool_use_error>",
            True,
            "error: File does not exist.",
        ),
        ("Edit", "The file /a has been updated. Here's the result", False, "updated"),
        ("Write", "File created successfully at: /a", False, "created"),
        ("Write", "Something else\nmore", False, "Something else"),
        ("Edit", "String to replace not found.\n}\n", True, "error: String to replace not found. }"),
        ("Grep", "a.py:1:x\nb.py:2:y", False, "2 lines: a.py:1:x"),
        ("Grep", "No matches found", False, "No matches found"),
        ("Glob", "/a\n/b\n/c", False, "3 files: /a"),
        ("TodoWrite", "Todos have been modified successfully.", False, ""),
        ("Task", "# Report\nlong\nreport", False, "# Report (3 lines)"),
        ("Edit", "The user doesn't want to proceed with this tool use.", True, "rejected by the user"),
        ("Odd", "", False, ""),
    ],
)
def test_results_are_summarised(name: str, text: str, failed: bool, expected: str) -> None:
    assert result_of(name, text, failed=failed) == expected


def test_summaries_of_results_of_any_size_are_short() -> None:
    assert len(result_of("Bash", "word " * 100_000)) <= 200
    assert len(result_of("Bash", "line\n" * 100_000 + "end")) <= 200


def test_the_last_line_of_an_output_is_shown_from_its_beginning() -> None:
    token = "ghp_" + "aB3" * 12
    last = "the last line " + "x" * (4096 - 14) + f"{token[20:]} end"
    shown = result_of("Bash", f"first\n{last}")
    assert shown.startswith("first … the last line x") and "aB3aB3" not in shown
