"""Pages of Markdown that both machines changed are merged section by section."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.rules.rulebook import PATH, rules_in
from engine.sync.model import Side
from tests.sync.machines import Machine

Machines = tuple[Machine, Machine, Path]
PAGE = "knowledge/procedures/release.md"
TEXT = """---
type: procedure
updated: 2026-06-01
---

# Release

How a version leaves the house.

## Before

Run every check twice.

```sh
make lint
make test
make docs
make wheel
```

## After

- Tell the Hafenamt. [from: first, 2026-06-01]
"""


SYNCED = {PAGE: TEXT}


@pytest.fixture
def seeded(machines: Machines) -> tuple[Machine, Machine]:
    return machines[:2]


def synced(desk: Machine, laptop: Machine, take: Side | None = None) -> str:
    """The page on both after the desk and then the laptop have synced."""
    desk.sync()
    report = laptop.sync()
    if take is not None:
        report = laptop.sync(take=[(take, each.path) for each in report.conflicts])
    assert not report.conflicts
    desk.sync()
    assert desk.files() == laptop.files() and desk.status() == laptop.status() == ""
    return desk.text(PAGE)


def test_sections_and_entries_added_on_both_sides_are_kept(seeded: tuple[Machine, Machine]) -> None:
    desk, laptop = seeded
    for machine, day in ((desk, "2026-06-12"), (laptop, "2026-06-13")):
        name = machine.root.name
        machine.add(PAGE, f"- Thank the {name}. [from: s, {day}]\n\n## On the {name}\n\nUnplug the {name}.\n")
        machine.edit(PAGE, "updated: 2026-06-01", f"updated: {day}")
    text = synced(desk, laptop)
    assert text == TEXT.replace("updated: 2026-06-01", "updated: 2026-06-13") + (
        "- Thank the desk. [from: s, 2026-06-12]\n- Thank the laptop. [from: s, 2026-06-13]\n"
        "\n## On the desk\n\nUnplug the desk.\n\n## On the laptop\n\nUnplug the laptop.\n"
    )


def test_edits_of_different_sections_and_of_lines_of_one_block_are_combined(
    seeded: tuple[Machine, Machine],
) -> None:
    desk, laptop = seeded
    desk.edit(PAGE, "# Release\n\nHow a version", "# Releasing\n\nHow each version")
    desk.edit(PAGE, "make lint\n", "make lint ARGS=--fix\n")
    laptop.edit(PAGE, "make wheel\n", "make wheel sdist\n")
    laptop.edit(PAGE, "Run every check twice.", "Run every check thrice, on both machines.")
    laptop.edit(PAGE, "## After", "## Afterwards")
    desk.add(PAGE, "- Water the plants.\n")
    assert synced(desk, laptop) == (
        TEXT.replace("# Release\n\nHow a version", "# Releasing\n\nHow each version")
        .replace("make lint\n", "make lint ARGS=--fix\n")
        .replace("make wheel\n", "make wheel sdist\n")
        .replace("check twice.", "check thrice, on both machines.")
        .replace("## After", "## Afterwards")
        + "- Water the plants.\n"
    )


@pytest.mark.parametrize(("take", "kept", "lost"), [("ours", "nobody", "noon"), ("theirs", "noon", "nobody")])
def test_a_conflict_names_its_heading_and_a_decision_is_about_that_piece_alone(
    seeded: tuple[Machine, Machine], take: Side, kept: str, lost: str
) -> None:
    desk, laptop = seeded
    desk.edit(PAGE, "Run every check twice.", "Everything waits until noon.")
    laptop.edit(PAGE, "Run every check twice.", "Ask nobody.")
    for machine in seeded:
        name = machine.root.name
        machine.add(PAGE, f"- Thank the {name}.\n\n## On the {name}\n\nUnplug the {name}.\n")
    desk.sync()
    (conflict,) = laptop.sync().conflicts
    (piece,) = conflict.pieces
    assert (conflict.path, piece.where) == (PAGE, "Before")
    assert (piece.ours, piece.theirs) == ("Ask nobody.", "Everything waits until noon.")
    text = synced(desk, laptop, take)
    assert kept in text and lost not in text
    for name in ("desk", "laptop"):
        assert f"- Thank the {name}.\n" in text and f"## On the {name}\n\nUnplug the {name}.\n" in text


def test_a_page_written_on_both_machines_becomes_one(machines: Machines) -> None:
    desk, laptop, _ = machines
    page = "knowledge/people/ada.md"
    for machine, day in ((desk, "2026-06-12"), (laptop, "2026-06-11")):
        name = machine.root.name
        text = f"---\ntype: person\nupdated: {day}\n---\n\n# Ada\n\n## Facts\n\n- Ada knows the {name}.\n"
        machine.write(page, text)
    synced(desk, laptop)
    text = desk.text(page)
    assert text.startswith("---\ntype: person\nupdated: 2026-06-12\n---\n\n# Ada\n\n## Facts\n\n- ")
    assert [text.count(f"- Ada knows the {name}.\n") for name in ("desk", "laptop")] == [1, 1]


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_decision_about_one_rule_keeps_the_rules_of_both_sides(machines: Machines, take: Side) -> None:
    desk, laptop, _ = machines
    (rule,) = desk.engine.rules.add("open a draft first").rules
    desk.sync()
    laptop.sync()
    for machine in (desk, laptop):
        machine.engine.rules.add(f"ask the {machine.root.name} for the key")
        machine.engine.rules.reword(rule.id, f"drafts on the {machine.root.name}")
    desk.sync()
    (conflict,) = laptop.sync().conflicts
    assert (conflict.path, conflict.pieces[0].where) == (PATH, "In force")
    synced(desk, laptop, take)
    assert {each.text for each in rules_in(desk.text(PATH).encode()).rules} == {
        "ask the desk for the key", "ask the laptop for the key",
        f"drafts on the {'laptop' if take == 'ours' else 'desk'}",
    }  # fmt: skip


def test_the_later_of_two_decisions_counts_across_machines(machines: Machines) -> None:
    desk, laptop, _ = machines
    first, second = (desk.engine.rules.add(text).rules[0] for text in ("use tabs", "use metric units"))
    desk.sync()
    laptop.sync()

    def rules_of(machine: Machine) -> dict[str, str]:
        return {rule.id: rule.state for rule in rules_in(machine.text(PATH).encode()).rules}

    desk.engine.rules.turn_down([first.id])
    laptop.engine.rules.rest([second.id])
    for machine in (desk, laptop):
        machine.clock.tick(24 * 60)
    laptop.engine.rules.accept([first.id])
    desk.engine.rules.turn_down([second.id])
    synced(desk, laptop)
    assert rules_of(desk) == {first.id: "in force", second.id: "turned down"}


@pytest.mark.parametrize("deletes", ["desk", "laptop"])
def test_rules_added_elsewhere_survive_the_deletion_of_the_file(machines: Machines, deletes: str) -> None:
    desk, laptop, _ = machines
    desk.engine.rules.add("use tabs")
    desk.sync()
    laptop.sync()
    one, other = (desk, laptop) if deletes == "desk" else (laptop, desk)
    (one.root / PATH).unlink()
    other.engine.rules.add("use metric units")
    synced(desk, laptop)
    assert [rule.text for rule in rules_in(desk.text(PATH).encode()).rules] == ["use metric units"]
