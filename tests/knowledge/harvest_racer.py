"""Harvests a part of a workspace's conversations, in a process of its own that others run beside."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from engine.knowledge.harvest.report import HarvestRequest
from engine.knowledge.item import Item
from tests.knowledge.harvest_support import Desk, Scripted

GAUGES = (
    "Nordersiel",
    "Kvalnes",
    "Aubrac",
    "Vestrand",
    "Brenn",
    "Skerries",
    "Holm",
    "Tannsund",
    "Ytre",
    "Lesk",
)
MATTERS = (
    "reports every", "was moved by", "has a drift of", "was cleaned after", "lost readings for",
    "stands on a pile of", "is read at minute", "has a battery of", "was calibrated at", "sends packets of",
)  # fmt: skip


def fact(number: int) -> Item:
    """A fact that no other number has."""
    gauge, matter = GAUGES[number % 10], MATTERS[number // 10 % 10]
    return Item("facts", f"Gauge {gauge} {matter} {number} units.", voice="person")


def main(root: Path, first: int, last: int, reclaim: bool) -> None:
    """Harvests the conversations of some numbers, and tells what became of each; ``reclaim`` moves all there
    are to the trash, and tells what was said instead.
    """
    items = {f"talk-{number:04}": [fact(number)] for number in range(first, last)}
    desk = Desk(root, Scripted(items), git=False)
    paths = tuple(f"conversations/{name}.md" for name in items)
    if reclaim:
        report = desk.harvest(desk.wish())
        said = [text for each in report.results for text in (each.error, each.kept, each.uncommitted) if text]
        print(json.dumps([*said, *desk.problems]))
        return
    report = desk.harvest(HarvestRequest(paths, reclaim=False))
    print(json.dumps([each.outcome for each in report.results]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), "reclaim" in sys.argv)
