"""What the judge of replies takes for something done or found, on sentences that shaped nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path

from engine.lifecycle.recaps.replies import judged
from tests.cases import each_case

UNSEEN = [json.loads(line) for line in (Path(__file__).parent / "replies.jsonl").read_text().splitlines()]


def test_what_surely_tells_of_the_work_does_and_most_of_it_is_found() -> None:
    verdicts = [(judged(row["text"], is_item=row.get("item", False)), row["label"]) for row in UNSEEN]
    assert all(math.isclose(each.done + each.found + each.other, 1.0) for each, _ in verdicts)
    sure = [label for each, label in verdicts if each.told >= 0.75]
    likely = [label for each, label in verdicts if each.told >= 0.3]
    telling = sum(label != "other" for _, label in verdicts)
    assert len(sure) - sure.count("other") >= 0.85 * len(sure) and len(sure) >= 0.45 * telling
    assert len(likely) - likely.count("other") >= 0.85 * telling


@each_case(
    "sentence, is_told",
    [
        ("I moved the retry into `client.py` and all 41 tests pass.", True),
        ("Login now survives a restart of the server.", True),
        ("The importer fails because the path is relative to the working directory.", True),
        ("Die Uhrzeit wird jetzt in der Zeitzone des Hafens angezeigt.", True),
        ("Let me check the router first.", False),
        ("Now I'm going to look at how the importer reads its settings:", False),
        ("Would you like me to add a test for that?", False),
        ("You're absolutely right, sorry about that!", False),
        ("Jetzt sehe ich mir den Router an.", False),
        ("现在让我检查一下路由配置。", False),
        ("Now go back to the wallet page and deposit less than the balance.", False),
        ("Se vuoi, nel prossimo messaggio te la trasformo in un piano.", False),
    ],
)
def test_reports_are_told_and_announcements_are_not(sentence: str, *, is_told: bool) -> None:
    assert (judged(sentence, is_item=False).told >= 0.5) == is_told
