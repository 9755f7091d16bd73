"""Snapshots of the tune screen; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import AutopoiesisError
from tests.tui.conftest import Driven, Run
from tests.tui.fake_engine import FakeEngine
from tests.tui.screen_driven import open_tune
from tests.tui.tune_data import SMALLTALK, TOPICS, Kind, decisions, topic

Picture = Callable[[Driven, str], None]
UNREADABLE = AutopoiesisError(
    "cannot be read (Permission denied)", where="logs/decisions/2026-06.jsonl", hint="check its permissions"
)
FEW = {"code-style": Kind(6, 5, 14), "deploy": Kind(0, 0, 9), "incident": Kind(2, 0, 3)}
CAUTIOUS = {**TOPICS, "smalltalk": SMALLTALK}

# The name of a picture, which contains its size; keys; and what the screen is given.
PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "tune/full-80x24-dark": ("", {"provider": "agent"}),
    "tune/full-120x40-dark": ("", {"provider": "agent"}),
    "tune/full-200x60-dark": ("", {"provider": "agent"}),
    "tune/mid-drag-120x40-dark": ("L right right c H 3 j", {"provider": "agent"}),
    "tune/mid-drag-60x16": ("L", {}),
    "tune/empty-120x40": ("", {"log": []}),
    "tune/thin-80x24": ("", {"log": decisions(FEW), "topics": [topic(name) for name in FEW]}),
    "tune/fit-shown-80x24": ("f", {}),
    "tune/fit-refused-120x40": ("f", {"topic": "journal-daily"}),
    "tune/fit-caution-80x24": (
        "f",
        {"topic": "smalltalk", "log": decisions(CAUTIOUS), "topics": [topic(name) for name in CAUTIOUS]},
    ),
    "tune/error-80x24": ("", {"failing": {"table": UNREADABLE}}),
    "tune/decision-120x40": ("L 3 o", {}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def topic_files(engine: FakeEngine) -> None:
    """The topics' files, so that their thresholds can be applied."""
    for name in (*TOPICS, "smalltalk"):
        (engine.root / "topics" / f"{name}.md").write_text(f"{name}\n", encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
async def test_picture(run: Run, picture: Picture, name: str) -> None:
    keys, given = PICTURES[name]
    width, height = map(int, re.findall(r"(\d+)x(\d+)", name)[0])
    async with open_tune(run, (width, height), **given) as driven:
        await driven.press(*keys.split())
        picture(driven, name)
