"""A scripted year of journals, MEMORY.md and the archive, with and without a model."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from engine.knowledge.category_files import entries
from engine.lifecycle.condensing.condenser import lost_entries
from tests.lifecycle.upkeep_support import MEMORY, WORDS, Desk, Writer

FIRST = date(2025, 1, 1)


def statements_of(number: int) -> tuple[str, str]:
    """Returns the unique decision and lesson of a session."""
    one, other = WORDS[number % 20], WORDS[(number * 7 + 3) % 20]
    decided = f"The {one} of harbour {number * 13 + 5} is served by {other} {number + 300} since the spring"
    return decided, f"Whoever touches {other} {number + 500} breaks the {one} of pier {number * 17 + 2}"


def model(question: str) -> str:
    """Replies sometimes well, otherwise in a way that has to be refused."""
    if "journal of that day" in question:
        statements = [line for line in question.splitlines() if line.startswith(("Decision: ", "Lesson: "))]
        return "### harbour\n" + "\n".join(
            f"- {line.replace('Decision', 'Decided').replace('Lesson', 'Learned')}" for line in statements
        )
    body = question.partition('<record name="MEMORY.md">\n')[2].partition("\n</record>")[0]
    lines = body.split("---\n", 2)[-1].splitlines() if body.startswith("---") else body.splitlines()
    kind = sum(map(ord, question)) % 5
    if kind == 0:
        return "\n".join(lines[: len(lines) // 2])  # drops half of the lines
    if kind == 1:
        return ""
    dated = [line for line in lines if line.startswith("- 20")]
    kept = [line for line in lines if line not in dated[: len(dated) // 6 if kind == 2 else 0]]
    journals = question.partition('<record name="MEMORY.md">')[0].splitlines()
    new = [f"- 2025-06-01: {line[2:]}" for line in journals if line.startswith(("- Decided", "- Learned"))]
    return "\n".join([*kept, *(line for line in new if line not in kept)])


@pytest.mark.parametrize("with_model", [False, True], ids=["without a model", "with a model"])
@pytest.mark.parametrize(
    ("sessions", "cap"), [(16, 24), pytest.param(60, 40, marks=pytest.mark.thorough, id="sixty")]
)
def test_a_year_keeps_memory_short_and_loses_no_line(
    tmp_path: Path, with_model: bool, sessions: int, cap: int
) -> None:
    writer = Writer(model) if with_model else None
    desk = Desk(tmp_path, writer=writer, git=sessions > 16, memory_line_cap=cap, most_archived=100)
    desk.put({
        MEMORY: "---\ntype: memory\nline_count: 6\n---\n\n# Core Memory\n\n## Rules\n- Never on a Friday\n",
        "knowledge/projects/_active.md": "# Active\n\n- **pier** — everyday\n- **lighthouse** — off\n",
        "knowledge/people/ada.md": "# Ada\n\n- Speaks of everything\n",
    })  # fmt: skip
    steps = {FIRST + timedelta(days=number * 365 // sessions): number for number in range(sessions)}
    ever: set[str] = set()
    refused = applied = 0
    for offset in range(400):
        day = FIRST + timedelta(days=offset)
        desk.now = datetime(day.year, day.month, day.day, 23, tzinfo=UTC)
        done = []
        if day in steps:
            decided, learned = statements_of(steps[day])
            name = f"talk-{steps[day]:03}"
            desk.session(
                day.isoformat(), name, ("user", f"Decision: {decided}"), ("agent", f"Lesson: {learned}"),
                commit=False,
            )  # fmt: skip
            desk.condenser.recap()
            done += desk.condenser.apply([desk.condenser.daily()])
        if day.isoweekday() == 7:
            done += desk.condenser.apply([desk.condenser.weekly()])
        if (day + timedelta(days=1)).day == 1:
            done += desk.condenser.apply(desk.condenser.monthly())
            done += desk.retention.apply(desk.retention.plan())
        refused += sum(bool(each.proposal.refused) for each in done)
        applied += sum(each.applied for each in done)
        assert not any(each.error for each in done), done
        assert not any(each.waiting for each in done), "nothing here comes from outside"
        if any(each.applied for each in done):
            ever |= {line for line in desk.markdown() if line.startswith("- ")}
        text = desk.read(MEMORY)
        assert text.count("\n") <= cap and "- Never on a Friday" in text, day
    there = set(desk.markdown())
    assert ever <= there, "every line still exists"
    if sessions > 16:
        assert desk.dirty() == "?? raw/\n"
    if not with_model:
        for number in range(sessions):
            decided, learned = statements_of(number)
            assert any(decided in line for line in there) and any(learned in line for line in there), number
    assert applied >= sessions // 2 and (refused > sessions // 8) == with_model
    assert not desk.problems
    oldest = (desk.now - timedelta(days=90)).date().isoformat()
    journals = sorted(path.stem for path in (tmp_path / "knowledge/journal").glob("*.md"))
    assert (
        journals
        and min(journals) >= oldest
        and len([*(tmp_path / "archive/journal").glob("*.md")]) > sessions // 2
    )
    assert "lighthouse" not in desk.read("knowledge/projects/_active.md")
    kept = entries(desk.read(MEMORY).encode(), MEMORY)
    assert len(kept) >= 5 and lost_entries(kept, kept) == []
