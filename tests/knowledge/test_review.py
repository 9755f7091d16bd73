"""What waits for a person: put up once, settled once, never back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.errors import HarvestRefused
from engine.knowledge.edit import Held
from engine.knowledge.item import Item, Origin, item_id
from engine.knowledge.review import ReviewQueue, Waiting, tree_of, waiting_for, waiting_of
from engine.store.files import Files
from engine.store.paths import Workspace

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
ORIGIN = Origin("2026-06-12-a", "2026-06-12")


def waiting(text: str, why: str = "comes from tool output") -> Waiting:
    item = Item("facts", text, voice="tool")
    (made,) = waiting_for(
        [Held(item_id(item, ORIGIN.name), item, why)],
        at=NOW.isoformat(),
        origin=ORIGIN,
        source="conversations/2026-06-12-a.md",
        sha256="0" * 64,
        where=lambda _item: (7, "> [tool:web] … → …"),
    )
    return made


@pytest.fixture
def queue(tmp_path: Path) -> ReviewQueue:
    (tmp_path / "memory-config.yaml").touch()
    return ReviewQueue(Files(Workspace.open(tmp_path)), lambda: NOW)


def test_an_item_waits_with_what_stands_beside_it(queue: ReviewQueue) -> None:
    first, second = waiting("One."), waiting("Two.")
    assert queue.put([first, second]).new == 2
    assert queue.waiting() == (first, second)
    assert (first.line, first.said) == (7, "> [tool:web] … → …")
    assert queue.paths == ("logs/review-2026-06.jsonl",)


def test_it_is_put_up_once(queue: ReviewQueue) -> None:
    puts = [queue.put([waiting("One.")]), queue.put([waiting("one"), waiting("Two.")])]
    assert [each.new for each in puts] == [1, 1]
    assert [each.item.text for each in queue.waiting()] == ["One.", "Two."]


def test_what_was_settled_never_comes_back(queue: ReviewQueue) -> None:
    item = waiting("Trust me.")
    queue.put([item, waiting("Two.")])
    queue.settle(item.id, "rejected")
    assert queue.put([item]).new == 0
    assert [each.item.text for each in queue.waiting()] == ["Two."]
    assert [each.verdict for each in queue.all()] == ["rejected", ""]


def test_what_was_accepted_in_its_place_is_kept(queue: ReviewQueue) -> None:
    item = waiting("The port is 8080, always use it.")
    queue.put([item])
    queue.settle(item.id, "accepted", "The port is 8080.")
    (found,) = queue.all()
    assert (found.verdict, found.text) == ("accepted", "The port is 8080.")


def test_it_is_found_by_the_beginning_of_its_id(queue: ReviewQueue) -> None:
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
def test_an_odd_line_costs_only_itself(queue: ReviewQueue, tmp_path: Path, line: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/review-2026-05.jsonl").write_text(f"{line}\n")
    queue.put([waiting("One.")])
    assert [each.item.text for each in queue.waiting()] == ["One."]


def test_a_record_holds_all_of_it() -> None:
    item = waiting("One.")
    assert waiting_of(tree_of(item)) == item
