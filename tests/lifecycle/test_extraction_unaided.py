"""Extraction without a model: what is written where, and what waits for review (spec 8.3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lifecycle.extraction_support import FROM, SESSION, Space, session

TALK = session(
    (
        "user",
        "The tide tables for Aubrac are an hour off, please look. Priya Raman is our chart lead.",
    ),
    (
        "agent",
        "> [tool:bash] make lint → no output\n> [tool:bash] make test → 212 passed\n"
        "> [tool:bash] make build → done\n> [tool:edit] src/tides/zone.py → updated\n\n"
        "Decision: Tide tables are computed in UTC, because summer time moved them.\n"
        "Lesson: Compare a computed tide with the printed table before a release.\n"
        "Fact: The gauge at Aubrac stamps its readings in local time.",
    ),
    (
        "user",
        "from now on always keep the harbour office in the loop when tide tables change.",
    ),
    (
        "agent",
        "I fixed the zone in `src/tides/zone.py`, and Aubrac agrees with the print.",
    ),
    project="tidemark",
)


@pytest.fixture
def space(tmp_path: Path) -> Space:
    space = Space(tmp_path)
    space.put(TALK)
    return space


def test_all_items_are_written_to_their_pages_with_provenance(space: Space) -> None:
    report = space.run()
    assert [each.outcome for each in report.results] == ["extracted"]
    assert space.text("projects/tidemark/context.md") == (
        "---\ntype: project_context\nproject: tidemark\nupdated: 2026-06-12\n---\n\n# Tidemark\n\n"
        "## Key Decisions\n\n"
        f"- 2026-06-12: Tide tables are computed in UTC, because summer time moved them. {FROM}\n"
    )
    assert space.text("memory/MEMORY.md") == (
        "---\ntype: memory\nupdated: 2026-06-12\n---\n\n# Core Memory\n\n## Lessons Learned\n\n"
        f"- 2026-06-12: Compare a computed tide with the printed table before a release. {FROM}\n"
    )
    assert space.text("facts.md") == (
        f"# Facts\n\n- The gauge at Aubrac stamps its readings in local time. {FROM}\n"
    )
    assert space.text("journal/2026-06-12.md") == (
        "---\ntype: journal\ndate: 2026-06-12\n---\n\n## 2026-06-12\n\n### Sessions in tidemark\n\n"
        "#### 10:00–10:03 tidemark <!-- ses_tide0001 00ad607b -->\n"
        "- Asked: The tide tables for Aubrac are an hour off, please look. Priya Raman is our chart lead.\n"
        "- Then asked: from now on always keep the harbour office in the loop when tide tables change.\n"
        "- Decided: Tide tables are computed in UTC, because summer time moved them.\n"
        "- Learned: Compare a computed tide with the printed table before a release.\n"
        "- Learned: The gauge at Aubrac stamps its readings in local time.\n"
        "- Changed earlier: tides/zone.py\n"
        "- Done: I fixed the zone in `src/tides/zone.py`, and Aubrac agrees with the print.\n"
    )
    assert space.waiting() == []
    message = space.git("log", "-1", "--format=%B")
    assert message.startswith("extract: decisions: 1, lessons: 1, facts: 1\n")
    assert f"Session: {SESSION}" in message
    assert not [line for line in space.git("status", "--porcelain").splitlines() if "knowledge" in line]


def test_a_persons_page_keeps_every_byte_but_its_date(space: Space) -> None:
    page = space.root / "knowledge/projects/tidemark/context.md"
    page.parent.mkdir(parents=True)
    page.write_bytes(
        b"---\r\ntype: project_context  # mine\r\nupdated: 2026-06-01T08:00:00Z\r\n---\r\n\r\n# Tidemark\r\n"
        b"\r\n## Key Decisions\r\n\r\n- 2026-05-30: Every version is kept.\r\n\r\n## Stack\r\n\r\n- Go\r\n"
    )
    before = page.read_bytes()
    space.run()
    added = f"- 2026-06-12: Tide tables are computed in UTC, because summer time moved them. {FROM}\r\n"
    after = page.read_bytes().decode()
    assert "\r\nupdated: 2026-06-12\r\n" in after
    assert added in after and after.index(added) < after.index("## Stack")
    assert after.replace(added, "").replace("2026-06-12", "2026-06-01T08:00:00Z").encode() == before


def test_an_answer_from_a_page_waits_for_review(tmp_path: Path) -> None:
    space = Space(tmp_path)
    space.put(
        session(
            ("user", "What is in the maintainers mailbox this morning?"),
            (
                "agent",
                "> [tool:webfetch] https://mail.example/inbox → invoices need no approval\n\nI read it.",
            ),
            ("agent", "Decision: Invoices above 900 euro need no approval by finance."),
        )
    )
    space.run()
    assert "900 euro" not in space.text("journal/2026-06-12.md")
    assert not space.text("decisions.md")
    assert {text for _, text, _ in space.waiting()} >= {
        "Invoices above 900 euro need no approval by finance."
    }
