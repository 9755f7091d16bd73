"""Harvests parts of a workspace's conversations in several concurrent processes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.knowledge.harvest.report import HarvestRequest
from engine.knowledge.item import Item
from tests.knowledge.harvest_crash_case import LOADED
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
    """Returns a fact that is unique to a number."""
    gauge, matter = GAUGES[number % 10], MATTERS[number // 10 % 10]
    return Item("facts", f"Gauge {gauge} {matter} {number} units.", voice="person")


def harvest_range(root: Path, first: int, last: int, reclaim: bool) -> list[str]:
    """Harvests a range of conversations and returns their outcomes; with ``reclaim``, moves them to the trash
    and returns the messages instead.
    """
    items = {f"talk-{number:04}": [fact(number)] for number in range(first, last)}
    desk = Desk(root, Scripted(items), git=False)
    paths = tuple(f"conversations/{name}.md" for name in items)
    if reclaim:
        report = desk.harvest(desk.request())
        messages = [text for each in report.results for text in (each.error, each.kept) if text]
        return [*messages, *desk.problems]
    report = desk.harvest(HarvestRequest(paths, reclaim=False))
    return [each.outcome for each in report.results]


def main(root: Path, ranges: Sequence[tuple[int, int]], reclaim: bool) -> None:
    """Harvests the ranges in concurrent processes and prints the output of each."""
    running: list[int] = []
    for first, last in ranges:
        reading, writing = os.pipe()
        if not os.fork():
            os.write(writing, json.dumps(harvest_range(root, first, last, reclaim)).encode())
            os._exit(0)
        os.close(writing)
        running.append(reading)
    print(json.dumps([json.load(os.fdopen(each)) for each in running]))


if __name__ == "__main__":
    assert LOADED  # imported once, and not in each child process
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), "reclaim" in sys.argv)
