"""What is archived, what never is, and how it is restored (spec 8.5, 8.6; robustness L8)."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from engine.errors import ChangeRefused
from engine.jobs.table import _prune
from engine.knowledge.entries import scan_entries
from engine.knowledge.links import Links
from engine.lifecycle.proposals import apply
from engine.lifecycle.retention.retention import scored
from tests.lifecycle.upkeep_support import MEMORY, NOW, Desk, Writer, lesson, memory

if TYPE_CHECKING:
    from engine.parts import Parts


def set_age(desk: Desk, days: int, *paths: str) -> None:
    """Sets the mtime of files ``days`` back, which is their age without a git history."""
    at = (NOW - timedelta(days=days)).timestamp()
    for path in paths:
        os.utime(desk.root / path, (at, at))


def test_memory_over_its_cap_is_archived_line_by_line_with_reasons(tmp_path: Path) -> None:
    desk = Desk(tmp_path, memory_line_cap=30)
    text = memory(30) + "- Never on a Friday, and never with a date in front of it\n"
    text += "- 2026-06-01: Canvas chart for the dashboard (reversed 2026-06-05)\n"
    text += "- 2026-06-02: The quay of Vestrand is 4.12 m high\n  by the survey of Sunniva\n"
    text += f"{lesson(3)}\n"
    desk.put(
        {
            MEMORY: text,
            "knowledge/reference/quay.md": "- The quay of Vestrand is 4.12 m high by the survey of Sunniva\n",
        }
    )
    before = set(desk.markdown())
    plan = desk.retention.plan()
    assert (plan.memory.is_over, plan.memory.lines_after <= 27, plan.number) == (True, True, 0)
    reasons = {each.line.partition(": ")[2][:20]: each.why for each in plan.memory.going}
    assert reasons["Canvas chart for the"] == "superseded"
    assert reasons["The quay of Vestrand"].startswith("captured in knowledge/reference/quay.md:1")
    assert any("says the same" in each.why for each in plan.memory.going)
    assert "oldest" in plan.memory.going[0].why
    assert desk.read(MEMORY) == text, "a plan writes nothing"
    (done,) = desk.condenser.apply(plan.proposals)
    after = desk.read(MEMORY)
    assert after.count("\n") == plan.memory.lines_after and "Never on a Friday" in after
    assert f"line_count: {plan.memory.lines_after}\n" in after
    assert before - {"line_count: 7"} <= set(desk.markdown()), "every line still exists"
    assert "  by the survey of Sunniva" in desk.read("archive/memory/2026.md").splitlines()
    assert "archive/memory/2025.md" in desk.git("show", "--name-only", "--format=") and done.undo
    assert desk.dirty() == "" and desk.retention.plan().proposals == ()


def test_a_duplicate_goes_without_the_entry_that_has_more_below_the_same_line(tmp_path: Path) -> None:
    desk = Desk(tmp_path, memory_line_cap=30)
    line = "- 2026-06-05: The sluice of Nordersiel opens at five"
    kept = f"{line}\n  - only from April to October\n"
    code = f"```\n{line}\n```\n"
    desk.put({MEMORY: f"{memory(26)}{line}\n\n{code}\n## Seasons\n\n{kept}"})
    plan = desk.retention.plan()
    assert next(each.why for each in plan.memory.going if each.line == line).endswith("says the same")
    desk.condenser.apply(plan.proposals)
    after = desk.read(MEMORY)
    assert after.endswith(f"{code}\n## Seasons\n\n{kept}")
    assert after.count(line) == 2
    assert line in desk.read("archive/memory/2026.md")


def test_a_models_shorter_text_is_used_only_if_it_is_valid(tmp_path: Path) -> None:
    answer = "cannot"
    desk = Desk(tmp_path, writer=Writer(lambda _question: answer), memory_line_cap=33)
    desk.put({MEMORY: memory(30)})
    plain = desk.condenser.memory()
    assert "no entries" in plain.refused and plain.change is not None
    kept = [lesson(number) for number in range(8, 31)]
    answer = "\n".join(("# Core Memory", "", "## Lessons Learned", *kept, ""))
    shorter = desk.condenser.memory()
    assert not shorter.refused and shorter.model
    (done,) = desk.condenser.apply([shorter])
    assert done.applied and {lesson(number) for number in range(1, 31)} <= set(desk.markdown())


def test_only_unchanged_unused_and_unlinked_files_are_evicted(tmp_path: Path) -> None:
    desk = Desk(tmp_path, git=False)
    old = [f"knowledge/{name}.md" for name in (
        "people/gone", "people/used", "people/linked", "people/subscribed", "people/preset", "people/_index",
        "procedures/young", "projects/tidemark/context", "projects/quiet/context", "projects/quiet/notes",
        "reference/manual", "identity/SOUL", "facts", "gauge/KNOWLEDGE", "reference/box/KNOWLEDGE",
        "reference/box/more", "people/clique-a", "people/clique-b", "files/x", "prompts/system",
    )]  # fmt: skip
    desk.put(dict.fromkeys(old, "# It\n\n- a line\n"))
    desk.put(
        {
            "knowledge/procedures/stays.md": "See [her](../people/linked.md).\n",
            "knowledge/people/clique-a.md": "Knows [b](clique-b.md).\n",
            "knowledge/people/clique-b.md": "Knows [a](clique-a.md).\n",
            "knowledge/projects/_active.md": "- **tidemark** — knowledge/projects/tidemark/context.md\n",
            "topics/t.md": "---\nsubscriptions:\n  - knowledge/people/subscribed.md\n---\n# T\n",
            "presets/p.md": "---\ntype: preset\nfiles:\n  - path: knowledge/people/preset.md\n---\n",
        }
    )
    set_age(desk, 200, *old, "knowledge/people/clique-a.md", "knowledge/people/clique-b.md")
    set_age(desk, 60, "knowledge/procedures/young.md")
    desk.uses["knowledge/people/used.md"] = 10_000
    plan = desk.retention.plan()
    gone = [move.path for move in plan.evicted]
    assert gone == [
        "knowledge/people/clique-a.md", "knowledge/people/clique-b.md", "knowledge/people/gone.md",
        "knowledge/projects/quiet/context.md", "knowledge/projects/quiet/notes.md",
        "knowledge/reference/manual.md",
    ]  # fmt: skip
    scores = {each.path: each for each in plan.scores}
    assert (scores["knowledge/people/gone.md"].days, scores["knowledge/people/gone.md"].references) == (
        200,
        1,
    )
    assert scores["knowledge/people/clique-a.md"].references == 1


def test_a_file_with_the_name_of_an_archived_one_gets_a_numbered_name(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    names = ("people/ada.md", "people/ada-2.md", "journal/2025-01-02.md")
    desk.put({f"archive/{name}": "# Before\n" for name in names[::2]})
    desk.put({f"knowledge/{name}": f"# Again: {name}\n" for name in names}, commit=False)
    set_age(desk, 200, *(f"knowledge/{name}" for name in names))
    desk.condenser.apply(desk.retention.plan().proposals)
    there = sorted(path.relative_to(tmp_path).as_posix() for path in (tmp_path / "archive").rglob("*.md"))
    assert there == [
        "archive/journal/2025-01-02-2.md", "archive/journal/2025-01-02.md",
        "archive/people/ada-2.md", "archive/people/ada-3.md", "archive/people/ada.md",
    ]  # fmt: skip
    assert desk.read("archive/people/ada-3.md") == "# Again: people/ada.md\n"
    assert desk.read("archive/people/ada.md") == "# Before\n"


def test_a_file_without_references_has_one_and_lasts_three_months(tmp_path: Path) -> None:
    desk = Desk(tmp_path, git=False)
    links = Links(desk.files, scan_entries(desk.files))
    ages = {f"{days}": NOW - timedelta(days=days) for days in (31, 92, 93)}
    found = {each.path: each.score for each in scored(ages, ages, {"31": 2}, links, NOW)}
    assert found["92"] > 0.01 > found["93"] and round(found["31"], 3) == round(2 * 0.2122, 3)
    assert scored(["x"], {}, {}, links, NOW) == []


def test_archiving_too_many_files_needs_confirmation_of_the_number(tmp_path: Path) -> None:
    desk = Desk(tmp_path, most_archived=6)
    names = [f"knowledge/journal/2025-01-{day:02}.md" for day in range(1, 9)]
    desk.put(
        {path: f"## {path}\n" for path in names} | {f"knowledge/people/{n}.md": "x\n" for n in range(20)}
    )
    plan = desk.retention.plan()
    assert (plan.number, plan.too_many) == (8, "more than 6")
    desk.put({MEMORY: memory(195)})
    job = cast("Parts", SimpleNamespace(retention=desk.retention, condenser=desk.condenser))
    outcome = _prune(job)
    assert outcome.startswith("for review: MEMORY.md from 2") and outcome.endswith(
        "; 8 files would move, more than 6: autopoiesis prune"
    )
    desk.put({MEMORY: "# Core Memory\n"})
    for number in (None, 7):
        with pytest.raises(ChangeRefused, match="--archive 8"):
            desk.condenser.apply(plan.proposals, number)
    with pytest.raises(ChangeRefused, match="--archive 8"):
        desk.condenser.apply(desk.condenser.monthly())
    assert (tmp_path / names[0]).is_file()
    (done,) = desk.condenser.apply(plan.proposals, 8)
    assert done.applied and not [*(tmp_path / "knowledge").glob("journal/2025*")]
    assert desk.retention.plan().proposals == ()
    # More than half of all files is too many as well, however few there are.
    desk.put({f"knowledge/journal/2025-02-{day:02}.md": "x\n" for day in range(1, 7)})
    for number in range(16):
        (tmp_path / f"knowledge/people/{number}.md").unlink()
    assert desk.retention.plan().too_many == "over half of 10"


def test_archived_files_are_restored_byte_for_byte_and_links_lead_to_them_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    ada = "knowledge/people/ada lovelace.md"
    odd = (
        b"\xef\xbb\xbf---\r\ntype: person\r\n---\r\n# Ada\r\n\xff\xfe see [x](../procedures/x.md)\r\n no end"
    )
    desk.put({ada: "x", "knowledge/procedures/x.md": "# X\n"})
    (tmp_path / ada).write_bytes(odd)
    source = "knowledge/people/list.md"
    text = b"- [Ada](ada%20lovelace.md), [[ada lovelace#Ada|her]]\r\n"
    (tmp_path / source).write_bytes(text)
    desk.repository.commit([ada, source], "put there")
    proposal, moves = desk.retention.archive([ada])
    assert [place for move in moves for place in move.broken] == [f"{source}:1", f"{ada}:5"]
    assert (tmp_path / ada).is_file()
    apply(desk.knowledge, [proposal])
    assert (tmp_path / "archive/people/ada lovelace.md").read_bytes() == odd and not (tmp_path / ada).exists()
    assert (tmp_path / source).read_bytes() == text
    assert [path for path, _ in desk.retention.listed()] == ["archive/people/ada lovelace.md"]
    back, _ = desk.retention.restore(["archive/people"])
    done = apply(desk.knowledge, [back])[0]
    assert (tmp_path / ada).read_bytes() == odd and desk.dirty() == "" and done.commit
    assert Links(desk.files, scan_entries(desk.files)).problems == ()
    assert desk.git("log", "--follow", "--format=%s", "--", ada).count("\n") >= 3, "its history continues"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("knowledge/identity/SOUL.md", "every prompt"),
        (MEMORY, "every prompt"),
        ("knowledge/facts.md", "category file"),
        ("knowledge/people/_index.md", "index"),
        ("knowledge/people/photo.png", "only Markdown"),
        ("knowledge/people/ada.md", "is loaded by topics/t.md:3"),
        ("knowledge/people/nobody.md", "no such file"),
        ("../outside.md", "no such file"),
        ("raw/conversations", "no such file"),
        ("knowledge/people/taken.md", "already exists"),
    ],
)
def test_files_that_must_not_be_archived_are_refused(tmp_path: Path, path: str, why: str) -> None:
    desk = Desk(tmp_path, git=False)
    names = ("identity/SOUL.md", "memory/MEMORY.md", "facts.md", "people/_index.md", "people/photo.png",
             "people/ada.md",             "people/taken.md",)  # fmt: skip
    desk.put({f"knowledge/{name}": "# It\n" for name in names})
    desk.put({"topics/t.md": "---\nsubscriptions:\n  - knowledge/people/ada.md\n---\n# T\n"})
    desk.put({"archive/people/taken.md": "# Another\n", "archive/memory/2025.md": "# Lines\n"})
    with pytest.raises(ChangeRefused, match=why):
        desk.retention.archive([path])
    for cold, reason in (
        ("archive/people/taken.md", "already exists"),
        ("archive/memory/2025.md", "single entries"),
    ):
        with pytest.raises(ChangeRefused, match=reason):
            desk.retention.restore([cold])
