"""The review queue: items are queued once, settled once, and never queued again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.errors import HarvestRefused
from engine.knowledge.item import HeldItem, Item, Origin, item_id
from engine.knowledge.proposed import WHY
from engine.knowledge.review import (
    PendingItem,
    QueueResult,
    ReviewQueue,
    pending_item_in,
    pending_items,
    tree_of,
)
from engine.store.files import Files
from engine.store.paths import Workspace

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
ORIGIN = Origin("2026-06-12-a", "2026-06-12")


def waiting(text: str, why: str = "comes from tool output") -> PendingItem:
    item = Item("facts", text, voice="tool")
    (pending,) = pending_items(
        [HeldItem(item_id(item, ORIGIN.name), item, why)],
        at=NOW.isoformat(),
        origin=ORIGIN,
        source="conversations/2026-06-12-a.md",
        sha256="0" * 64,
        locate=lambda _item: (7, "> [tool:web] … → …"),
    )
    return pending


@pytest.fixture
def queue(tmp_path: Path) -> ReviewQueue:
    (tmp_path / "memory-config.yaml").touch()
    return ReviewQueue(Files(Workspace.open(tmp_path)), lambda: NOW)


def test_a_pending_item_is_shown_with_its_source_line(queue: ReviewQueue) -> None:
    first, second = waiting("One."), waiting("Two.")
    assert queue.put([first, second]).new == 2
    assert queue.waiting() == (first, second)
    assert (first.line, first.said) == (7, "> [tool:web] … → …")
    assert queue.paths == ("logs/review-2026-06.jsonl",)


def test_an_item_is_queued_once(queue: ReviewQueue) -> None:
    puts = [queue.put([waiting("One.")]), queue.put([waiting("one"), waiting("Two.")])]
    assert [each.new for each in puts] == [1, 1]
    assert [each.item.text for each in queue.waiting()] == ["One.", "Two."]


def test_a_command_that_the_person_names_in_a_later_conversation_is_shown(queue: ReviewQueue) -> None:
    ran = replace(waiting("**Run the checks**: bun verify", WHY["command"]), sha256="1" * 64)
    named = replace(ran, id="b" * 12, why=WHY["named"])
    assert queue.put([ran]).new == 0 and queue.waiting() == ()
    assert queue.put([named]).new == 1
    assert [(each.why, each.times, each.group) for each in queue.waiting()] == [(WHY["named"], 2, "commands")]
    risky = replace(waiting("**Build**: make evil", "names a payment account"), id="c" * 12)
    queue.put([risky, replace(risky, id="d" * 12, why=WHY["named"])])
    assert queue.get("c").group == "risky", "what is dangerous stays so"


def test_settled_items_are_never_queued_again(queue: ReviewQueue) -> None:
    item = waiting("Trust me.")
    queue.put([item, waiting("Two.")])
    queue.settle(item.id, "rejected")
    assert queue.put([item]).new == 0
    assert [each.item.text for each in queue.waiting()] == ["Two."]
    assert [each.verdict for each in queue.all()] == ["rejected", ""]


def test_the_edited_text_of_an_accepted_item_is_kept(queue: ReviewQueue) -> None:
    item = waiting("The port is 8080, always use it.")
    queue.put([item])
    queue.settle(item.id, "accepted", "The port is 8080.")
    (found,) = queue.all()
    assert (found.verdict, found.text) == ("accepted", "The port is 8080.")


def test_an_item_is_found_by_a_prefix_of_its_id(queue: ReviewQueue) -> None:
    item = waiting("One.")
    queue.put([item, waiting("Two.")])
    assert queue.get(item.id[:6]) == item
    for name in ("", "zzzz"):
        with pytest.raises(HarvestRefused, match="review list"):
            queue.get(name)


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "x", "at": "", "category": "facts"}',
        '{"id": "x", "at": "", "category": "secrets", "said": "x"}',
        '{"id": "x", "at": "", "category": "facts", "said": "x", "voice": "god"}',
        '{"id": 3, "at": "", "category": "facts", "said": "x"}',
        '{"id": "x", "verdict": "maybe"}',
        "not JSON",
    ],
)
def test_an_invalid_line_is_skipped(queue: ReviewQueue, tmp_path: Path, line: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/review-2026-05.jsonl").write_text(f"{line}\n")
    queue.put([waiting("One.")])
    assert [each.item.text for each in queue.waiting()] == ["One."]


NOTE = Item("notes", "Gauges are read at six.", "knowledge/journal/2026-06-12.md", "agent")


def test_a_note_keeps_its_path_and_its_turns() -> None:
    item = PendingItem(
        "a1", "now", NOTE, "comes from tool output", Origin("ses_1", "2026-06-12", (3, 8)), "x.md", ""
    )
    assert pending_item_in(tree_of(item)) == item
    assert pending_item_in({**tree_of(item), "turns": ["3", 8]}) is None
    assert pending_item_in({**tree_of(item), "turns": 3}) is None


def test_a_rejected_note_is_not_queued_again_on_another_day(queue: ReviewQueue) -> None:
    queue.put([pending_from("a", NOTE)])
    queue.settle(item_id(NOTE, "a"), "rejected")
    tomorrow = replace(NOTE, path="knowledge/journal/2026-06-13.md")
    assert queue.put([pending_from("b", tomorrow)]).new == 0
    elsewhere = replace(NOTE, path="knowledge/memory/MEMORY.md")
    assert queue.put([pending_from("b", elsewhere)]).new == 1


def pending_from(name: str, item: Item) -> PendingItem:
    """Returns an item as pending from a named conversation."""
    (pending,) = pending_items(
        [HeldItem(item_id(item, name), item, item.why or "comes from tool output")],
        at=NOW.isoformat(),
        origin=Origin(name, "2026-06-12"),
        source=f"conversations/{name}.md",
        sha256=name * 64,
        locate=lambda _item: (0, ""),
    )
    return pending


def test_an_item_from_several_conversations_is_counted(queue: ReviewQueue) -> None:
    text = "Never amend commits in this repository."
    first = queue.put([pending_from("a", Item("decisions", text))])
    second = queue.put([pending_from("b", Item("decisions", text.lower(), times=2))])
    assert (first.new, second.new) == (1, 0) and first.ids == second.ids
    (only,) = queue.waiting()
    assert (only.times, only.places, only.origin.name) == (3, 2, "a")
    assert queue.put([pending_from("b", Item("decisions", text.lower(), times=2))]) == second, (
        "each conversation is counted once"
    )
    assert queue.waiting() == (only,)
    queue.settle(only.id, "rejected")
    assert queue.put([pending_from("c", Item("decisions", text))]).new == 0 and queue.waiting() == ()


def test_similar_items_are_counted_together(queue: ReviewQueue) -> None:
    queue.put([pending_from("a", Item("facts", "Backups of the database are stored in Frankfurt."))])
    queue.put([pending_from("b", Item("facts", "Database backups are stored in Frankfurt."))])
    queue.put([pending_from("c", Item("facts", "Database backups are stored in Paris."))])
    assert [each.times for each in queue.waiting()] == [2, 1]


def test_a_command_is_shown_after_enough_successes(queue: ReviewQueue) -> None:
    item = Item("playbooks", "**Run the tests**: make test", why=WHY["command"])
    assert queue.put([pending_from("a", item)]) == QueueResult((), 0) and queue.waiting() == ()
    assert queue.put([pending_from("b", item)]).new == 0
    third = queue.put([pending_from("c", item)])
    (shown,) = queue.waiting()
    assert third == QueueResult((shown.id,), 1) and (shown.times, shown.places) == (3, 3)
