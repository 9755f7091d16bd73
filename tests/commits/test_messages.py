"""Commit messages: type, summary, and the conversations the changes come from."""

from __future__ import annotations

import re
from pathlib import Path

from engine.commits.describe import body_of, conversations_of, summary_of
from engine.commits.kinds import FileChange, kind_of
from engine.store.change import SUBJECT, TYPES, commit_message, typed
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.cases import each_case


def new(*paths: str) -> list[FileChange]:
    return [FileChange(path, None, f"{path}\n".encode()) for path in paths]


@each_case(
    ("paths", "kind"),
    [
        (("knowledge/identity/SOUL.md", "knowledge/identity/USER.md"), "identity"),
        (("knowledge/identity/SOUL.md", "logs/decisions-2026-06.jsonl"), "identity"),
        (("logs/decisions-2026-06.jsonl",), "maintenance"),
        (("knowledge/identity/SOUL.md", "knowledge/facts.md"), "memory"),
        (("raw/conversations/2026/01/05/0900-a-b.md",), "conversation"),
        (("topics/a.md", "presets/b.md", "memory-config.yaml", "probes.yaml"), "maintenance"),
        ((".library/custom/a/SKILL.md", "archive/journal/2026-01-01.md"), "maintenance"),
        (("topics/a.md", "knowledge/journal/2026-01-01.md"), "memory"),
        (("attachments/a.png",), "memory"),
    ],
)
def test_the_paths_of_a_commit_determine_its_type(paths: tuple[str, ...], kind: str) -> None:
    assert kind_of(new(*paths)) == kind
    assert kind_of(new(*paths), "explore/what-if") == "explore"
    assert kind_of(new(*paths), "extract/v2") == "extract"


def test_archiving_is_maintenance_but_deleting_is_not() -> None:
    old = FileChange("knowledge/journal/2026-01-01.md", b"A day.\n", None)
    moved = FileChange("archive/journal/2026-01-01.md", None, b"A day.\n")
    assert kind_of([old, moved]) == "maintenance"
    assert kind_of([old]) == kind_of([old, FileChange(moved.path, None, b"Another.\n")]) == "memory"


def test_a_summary_fits_into_the_subject() -> None:
    facts = FileChange(
        "knowledge/facts.md", b"# Facts\n\n- One.\n", b"# Facts\n\n- One.\n- Two.\n- Three.\n- Four.\n"
    )
    decisions = FileChange("knowledge/decisions.md", None, b"# Decisions\n\n- Epoxy. [from: a, 2026-06-12]\n")
    note = FileChange(
        "knowledge/files/api-client.md", None, b"---\npath: src/api-client.ts\n---\n\n- Slow.\n"
    )
    context = FileChange("knowledge/projects/tidemark/context.md", b"a\n", b"b\nc\n")
    behind = FileChange("knowledge/ledger.json", b"{}", b"{ }")
    found = [behind, facts, decisions, note, context]
    assert summary_of(found, "memory") == "3 facts, 1 decision; note of src/api-client.ts; tidemark context"
    assert body_of(found).splitlines()[1:3] == [
        "knowledge/facts.md: 3 lines added",
        "knowledge/decisions.md: new, 2 lines",
    ]
    assert body_of([context]).endswith("context.md: 2 lines added, 1 line removed")
    assert summary_of([behind], "memory") == "ledger.json"

    tasks = b"# Tasks\n\n## Open\n\n- [ ] Caulk.\n\n## Done\n"
    done = b"# Tasks\n\n## Open\n\n- [ ] Paint.\n\n## Done\n\n- [x] Caulk.\n"
    assert summary_of([FileChange("knowledge/tasks.md", tasks, done)], "memory") == "1 task done, 1 open task"
    gone = FileChange("knowledge/people/ada.md", b"# Ada\n", None)
    assert summary_of([gone], "memory") == "person ada removed" and body_of([gone]).endswith(": removed")
    assert summary_of(new("knowledge/identity/TONE.md"), "identity") == "TONE"
    assert summary_of([FileChange("knowledge/facts.md", b"- One.\n", b"")], "memory") == "facts"

    many = new(*(f"knowledge/people/someone-{number}.md" for number in range(80)))
    summary = summary_of(many, "memory")
    assert len(f"memory: {summary}") <= SUBJECT and summary.endswith("; and 78 more")
    assert body_of(many).splitlines()[-1] == "and 30 more files"


def test_a_message_has_a_type_a_bounded_subject_and_unforgeable_trailers() -> None:
    message = commit_message("memory", "a\nb", "Why.", sessions=["raw/a.md", "raw/a.md", "b\nUndoes: x"])
    assert message == "memory: a b\n\nWhy.\n\nSession: raw/a.md\nSession: b\\nUndoes: x"
    long = "word " * 40 + "end"
    subject, _, rest = commit_message("identity", long).partition("\n\n")
    assert len(subject) <= SUBJECT and subject.endswith("word…") and rest == long
    for unbroken in ("x" * 200, f"harvest of {'x' * 200}: 1 fact"):
        assert len(commit_message("identity", unbroken).partition("\n")[0]) == SUBJECT
    assert [typed(f"{kind}: x") for kind in TYPES] == [(kind, "x") for kind in TYPES]
    assert typed("note: x") == (None, "note: x") and typed("memory:") == (None, "memory:")


def test_new_lines_name_their_source_conversations(tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").touch()
    session = "raw/conversations/2026/06/12/0900-ses_a1-talk.md"
    for path, text in {
        session: "---\nsession_id: ses_a1\n---\n",
        "raw/conversations/2026/06/12/1000-ses_b2-other.md": "---\nsession_id: ses_b2\n---\n",
        "conversations/2026-06-12 the cache.md": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    before = b"- Old. [from: ses_b2, 2026-06-12]\n"
    after = before + b"- A. [from: ses_a1, 2026-06-12]\n- B. [from: 2026-06-12-the-cache, 2026-06-12]\n"
    gone = b"- C. [from: reclaimed, 2026-06-12]\n"
    changes = [FileChange("knowledge/facts.md", before, after + gone)]
    files = Files(Workspace.open(tmp_path))
    assert conversations_of(changes, files) == ["conversations/2026-06-12 the cache.md", session]
    by_file = FileChange("knowledge/facts.md", None, b"- D. [from: 0900-ses_a1-talk, 2026-06-12]\n")
    assert conversations_of([by_file], files) == [session]
    assert conversations_of([FileChange("knowledge/facts.md", after, before)], files) == []


def test_commit_messages_are_built_in_one_place() -> None:
    root, made = Path(__file__).parents[2], re.compile(rf"\"({'|'.join(TYPES)}): ")
    files = [path for place in ("engine", "tui") for path in (root / place).rglob("*.py")]
    assert len(files) > 500 and [path for path in files if made.search(path.read_text())] == []
