"""Halves of characters in JSON."""

from __future__ import annotations

import json

from engine.gateways.unpaired import without_halves
from tests.cases import each_case


@each_case(
    ("sent", "read"),
    [
        (r"half \ud83d", "half \ufffd"),
        (r"\uDE00 other half", "\ufffd other half"),
        (r"\ud83d\ude00 whole", "\U0001f600 whole"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"no escape: \\ud83d", "no escape: \\ud83d"),
        (r"\\\ud83d", "\\\ufffd"),
        (r"\ud7ff \ue000 \n", "\ud7ff \ue000 \n"),
        ("plain", "plain"),
    ],
)
def test_halves_are_replaced_and_nothing_else(sent: str, read: str) -> None:
    assert json.loads(without_halves(f'"{sent}"'.encode())) == read
