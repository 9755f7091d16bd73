from __future__ import annotations

from engine.errors import Problem
from engine.store import documents
from engine.store.schema import validate
from tests.cases import each_case


def problems_of(path: str, text: str) -> tuple[Problem, ...]:
    return validate(documents.parse(text.encode(), path))


@each_case(
    ("path", "header"),
    [
        ("knowledge/identity/SOUL.md", "type: identity\nrole: soul\nupdated: 2026-02-16T18:00:00Z"),
        ("knowledge/memory/MEMORY.md", "type: memory\nupdated: 2026-02-16\nline_count: 142"),
        ("knowledge/journal/2026-02-16.md", "type: journal\ndate: 2026-02-16\nsessions: [ses_a, ses_b]"),
        ("knowledge/projects/_active.md", "type: project_index\nupdated: 2026-02-16"),
        ("knowledge/projects/a/context.md", "type: project_context\nproject: a\nupdated: 2026-02-16"),
        ("knowledge/people/d.md", "type: person\nname: David\nrelationship: creator\ntags: [x]"),
        ("topics/email.md", "type: topic\ntriggers: whatever"),
        ("knowledge/procedures/d.md", "type: procedure"),
        ("knowledge/reference/d.md", "type: reference\nmine: yes"),
        ("knowledge/x/KNOWLEDGE.md", "name: x\ndescription: one line\nversion: 1.0.0"),
        (
            "raw/conversations/2026/02/16/1845-ses_a-x.md",
            "session_id: ses_a\nstarted: 2026-02-16T18:45:00Z\nended:\ntokens_in: 45230\n"
            "knowledge_changes:\n  - path: knowledge/facts.md\n    action: updated",
        ),
        ("knowledge/journal/2026-02-17.md", "sessions: [x]"),
    ],
)
def test_the_formats_of_the_specification_are_valid(path: str, header: str) -> None:
    assert problems_of(path, f"---\n{header}\n---\n\n# Body\n") == ()


@each_case("path", ["knowledge/facts.md", "knowledge/journal/2026-02-16.md", "README.md"])
def test_a_header_is_optional(path: str) -> None:
    assert problems_of(path, "# Facts\n") == ()


@each_case(
    ("path", "header", "line", "what"),
    [
        ("knowledge/identity/SOUL.md", "type: identity\nrole: boss", 3, "'role' must be one of soul"),
        ("knowledge/identity/SOUL.md", "type: identity", 1, "no 'role'"),
        ("knowledge/memory/MEMORY.md", "type: memory\nline_count: many", 3, "'line_count' must be a whole"),
        ("knowledge/memory/MEMORY.md", "type: memory\nupdated: yesterday", 3, "'updated' must be a date"),
        ("knowledge/journal/a.md", "type: journal\ndate: 2026-13-01", 3, "'date' must be a date"),
        ("knowledge/journal/a.md", "type: journal\ndate: [1]", 3, "'date' must be a date"),
        (
            "knowledge/journal/a.md",
            "date: 2026-01-01\n\nsessions: {a: b}\ntype: journal",
            4,
            "'sessions' must",
        ),
        ("knowledge/projects/a/context.md", "type: project_context", 1, "no 'project'"),
        ("knowledge/people/a.md", "type: person\nname:", 3, "'name' is empty"),
        ("knowledge/people/a.md", "type: person\nname: x\ntags: one", 4, "'tags' must be a list"),
        ("knowledge/people/a.md", "type: [person]", 2, "'type' must be text"),
        ("knowledge/people/a.md", "name: x\ntype: persona", 3, "unknown 'type': persona"),
        ("knowledge/x/y/KNOWLEDGE.md", "name: x", 1, "no 'description'"),
        ("knowledge/x/KNOWLEDGE.md", "name: x\ndescription: ''", 3, "'description' is empty"),
        (
            "raw/conversations/a.md",
            "session_id: ../../x\nstarted: 2026-01-01",
            2,
            "'session_id' must be letters",
        ),
        ("raw/conversations/a.md", "session_id: x\nstarted: soon", 3, "'started' must be a date"),
        ("conversations/a.md", "session_id: x\nstarted: 2026-01-01\ntokens_in: -4", 4, "'tokens_in' must be"),
        (
            "raw/conversations/a.md",
            "session_id: x\nstarted: 2026-01-01\nknowledge_changes: [x]",
            4,
            "'knowledge",
        ),
        ("knowledge/a.md", "type: [", 3, "not valid YAML"),
    ],
)
def test_a_problem_has_a_line_and_a_hint(path: str, header: str, line: int, what: str) -> None:
    (problem,) = problems_of(path, f"---\n{header}\n---\n\n# Body\n")
    assert problem.path == path
    assert problem.line == line
    assert what in problem.what
    assert problem.hint


def test_a_transcript_without_a_header_lacks_its_session() -> None:
    found = problems_of("raw/conversations/2026/01/01/a.md", "# Talk\n")
    assert [(problem.line, problem.what) for problem in found] == [
        (0, "the header has no 'session_id'"),
        (0, "the header has no 'started'"),
    ]


@each_case(("lines", "severities"), [(179, []), (180, ["warning"]), (200, ["warning"]), (201, ["error"])])
def test_core_memory_is_limited_in_lines(lines: int, severities: list[str]) -> None:
    for text in ("x\n" * lines, "x\n" * (lines - 1) + "x"):
        found = problems_of("knowledge/memory/MEMORY.md", text)
        assert [problem.severity for problem in found] == severities


@each_case(("size", "severities"), [(25 * 1024, []), (25 * 1024 + 1, ["error"])])
def test_core_memory_is_limited_in_bytes(size: int, severities: list[str]) -> None:
    found = problems_of("knowledge/memory/MEMORY.md", "é" * (size // 2) + "x" * (size % 2))
    assert [problem.severity for problem in found] == severities


def test_the_limits_apply_to_core_memory_only() -> None:
    assert problems_of("knowledge/reference/long.md", "x\n" * 5000) == ()
