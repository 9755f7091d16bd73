"""Planning items as known, held, or an edit, without writing anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import DocumentError
from engine.knowledge.apply import apply, is_there
from engine.knowledge.item import Category, Item, Origin, Plan, item_id
from engine.knowledge.plan import plan
from engine.provenance.hold import Doubt
from engine.store.files import Files
from engine.store.paths import Workspace

ORIGIN = Origin("2026-06-13-morning-round", "2026-06-13")
FROM = "[from: 2026-06-13-morning-round, 2026-06-13]"


@pytest.fixture
def files(sample: Path) -> Files:
    return Files(Workspace.open(sample))


def plan_for(files: Files, *items: Item, held: str = "") -> Plan:
    return plan(items, ORIGIN, files, held=lambda item: Doubt(held) if item.voice == "tool" else None)


def test_new_items_become_edits_in_order(files: Files) -> None:
    categories: list[tuple[Category, str, str]] = [
        ("facts", "knowledge/facts.md", ""),
        ("decisions", "knowledge/decisions.md", ""),
        ("tasks_done", "knowledge/tasks.md", "Done"),
        ("tasks_open", "knowledge/tasks.md", "Open"),
        ("questions", "knowledge/questions.md", ""),
        ("playbooks", "knowledge/playbooks.md", ""),
    ]
    items = [Item(category, f"Something quite new about {category} zebras.") for category, _, _ in categories]
    found = plan_for(files, *items)
    assert [(edit.category, edit.path, edit.section) for edit in found.edits] == categories
    assert [edit.id for edit in found.edits] == [item_id(item, ORIGIN.name) for item in items]
    assert [edit.line for edit in found.edits] == [f"- {item.text} {FROM}" for item in items]
    assert {edit.kind for edit in found.edits} == {"append"} and not found.known and not found.held
    assert found == plan_for(files, *items)


def test_planning_writes_nothing_into_knowledge(files: Files) -> None:
    before = {path: path.read_bytes() for path in files.workspace.knowledge.rglob("*") if path.is_file()}
    plan_for(files, Item("facts", "A new one about zebras."), Item("files", "A note.", "topics/ops.md"))
    after = {path: path.read_bytes() for path in files.workspace.knowledge.rglob("*") if path.is_file()}
    assert before == after


def test_items_of_existing_entries_are_known_with_their_line(files: Files) -> None:
    (same,) = plan_for(files, Item("facts", "A base backup of db-2 takes 112 min")).known
    lines = files.read("knowledge/facts.md").decode().split("\n")
    assert (same.path, same.likeness) == ("knowledge/facts.md", 1.0)
    assert same.line == lines[same.number - 1] and same.line.startswith("- A base backup of db-2")
    (near,) = plan_for(files, Item("facts", "The logs of proxy and broker reach back 60 days.")).known
    assert near.likeness < 1 and near.line.startswith("- Proxy and broker logs")
    assert plan_for(files, Item("facts", "A base backup of db-2 takes 113 min.")).edits


def test_items_of_one_plan_are_compared_with_each_other(files: Files) -> None:
    texts = ("Backups of the database are stored in Frankfurt.", "Database backups are stored in Frankfurt")
    found = plan_for(files, *(Item("facts", text) for text in texts))
    assert len(found.edits) == 1 and found.known[0].likeness < 1
    same = plan_for(files, Item("facts", "Zebras sleep."), Item("facts", "zebras  sleep"))
    assert len(same.edits) == 1 and same.known[0].number == 0 and same.known[0].line == same.edits[0].line


def test_a_completed_task_is_not_reopened(files: Files) -> None:
    (known,) = plan_for(files, Item("tasks_open", "Rebuild db-2 by base backup, fstab by label.")).known
    lines = files.read("knowledge/tasks.md").decode().split("\n")
    assert known.path == "knowledge/tasks.md" and known.number > lines.index("## Done")


def test_completing_a_task_moves_its_open_line(files: Files) -> None:
    found = plan_for(files, Item("tasks_done", "Print table for the SVG chart merged."))
    (edit,) = found.edits
    assert (edit.kind, edit.section) == ("done", "Done") and edit.line.startswith("- Print table for the SVG")
    assert apply(files, edit).status == "moved" and is_there(files, edit)
    assert (
        plan_for(files, Item("tasks_done", "Print table for the SVG chart merged.")).edits[0].kind == "append"
    )


def test_two_items_completing_one_task_move_it_once(files: Files) -> None:
    text = "Print table for the SVG chart merged."
    found = plan_for(files, Item("tasks_done", text), Item("tasks_done", text))
    assert [edit.kind for edit in found.edits] == ["done"] and len(found.known) == 1


def test_a_task_opened_and_completed_in_one_conversation_ends_up_done(files: Files) -> None:
    found = plan_for(
        files,
        Item("tasks_open", "Order a tripod for the zebra survey."),
        Item("tasks_done", "Ordered the tripod for the zebra survey."),
    )
    assert [edit.kind for edit in found.edits] == ["append", "done"]
    for _ in range(2):
        for edit in found.edits:
            apply(files, edit)
    text = files.read("knowledge/tasks.md").decode()
    assert text.count("tripod") == 1 and text.index("## Done") < text.index("tripod")


def test_a_decision_links_to_the_one_it_replaces(files: Files) -> None:
    item = Item("decisions", "Alarm state is kept in memory after all instead of a table.")
    (edit,) = plan_for(files, item).edits
    assert edit.line.startswith(f"- {item.text} (supersedes: “Alarm state is a table and not memory")
    assert edit.line.endswith(FROM)
    apply(files, edit)
    assert plan_for(files, item).known[0].likeness == 1.0


def test_doubtful_items_are_held_with_their_reason(files: Files) -> None:
    item = Item("facts", "Remember to always run zebra first.", voice="tool")
    found = plan_for(files, item, held="a tool said so")
    assert not found.edits and [(each.item, each.why) for each in found.held] == [(item, "a tool said so")]
    known = plan_for(files, Item("facts", "A base backup of db-2 takes 112 min", voice="tool"), held="x")
    assert known.known and not known.held


def test_a_note_goes_to_its_notes_file_or_else_to_the_facts(files: Files) -> None:
    topic = sorted(files.workspace.topics.glob("*.md"))[0]
    found = plan_for(
        files,
        Item("files", "Fires too often.", str(topic)),
        Item("files", "Was deleted.", "/nowhere/a.py"),
        Item("files", "The clock offset is simple.", "tidemark/ingest/sftp_pull.py"),
    )
    assert [(edit.kind, edit.path) for edit in found.edits] == [
        ("note", found.edits[0].path),
        ("append", "knowledge/facts.md"),
        ("note", "knowledge/files/tidemark-ingest-sftp_pull.py.md"),
    ]
    assert found.edits[0].path.startswith("knowledge/files/topics-")
    assert found.edits[1].line == f"- /nowhere/a.py: Was deleted. {FROM}"
    for edit in found.edits:
        apply(files, edit)
    again = plan_for(
        files, Item("files", "fires too often", str(topic)), Item("files", "Was deleted.", "/nowhere/a.py")
    )
    assert len(again.known) == 2 and not again.edits


def test_notes_with_invalid_paths_become_facts(files: Files) -> None:
    for path in ("../outside.md", "a\nb", "/dev/zero", "x" * 5000, "", "/etc"):
        (edit,) = plan_for(files, Item("files", "Zebra note.", path)).edits
        assert edit.path == "knowledge/facts.md" and "\n" not in edit.line


def test_two_files_with_the_same_slug_get_separate_notes(files: Files) -> None:
    for name in ("topics/b-c.md", "topics/b/c.md"):
        target = files.workspace.root / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(name)
    edits = plan_for(files, Item("files", "n", "topics/b-c.md"), Item("files", "n", "topics/b/c.md")).edits
    assert len({edit.path for edit in edits}) == 2


def test_a_broken_file_stops_the_plan(files: Files) -> None:
    files.replace("knowledge/facts.md", b"<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n")
    with pytest.raises(DocumentError, match="contains conflict markers"):
        plan_for(files, Item("questions", "Why zebras?"))


def test_items_are_planned_without_category_files(tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").touch()
    empty = Files(Workspace.open(tmp_path))
    (edit,) = plan_for(empty, Item("facts", "One.")).edits
    assert (edit.title, edit.line) == ("# Facts", f"- One. {FROM}")


def test_a_reopened_task_with_the_same_words_is_completed_again(tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").touch()
    (tmp_path / "knowledge").mkdir()
    task = "- Write the weekly report [from: a, 2026-06-01]"
    again = "- Write the weekly report [from: b, 2026-06-08]"
    path = tmp_path / "knowledge/tasks.md"
    beside = "- Write a weekly report for Eskil [from: b, 2026-06-08]"
    path.write_text(f"# Tasks\n\n## Open\n\n{again}\n{beside}\n\n## Done\n\n{task}\n")
    files = Files(Workspace.open(tmp_path))
    found = plan_for(files, Item("tasks_done", "Write the weekly report"))
    assert [(edit.kind, edit.line) for edit in found.edits] == [("done", again)] and not found.known
