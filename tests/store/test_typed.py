"""Reading untrusted JSON into dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from engine.store.typed import typed


@dataclass(frozen=True)
class Leaf:
    name: str


@dataclass(frozen=True)
class Tree:
    kind: Literal["oak", "elm"]
    at: datetime | None = None
    height: float | None = None
    rings: Mapping[int, str] | None = None
    leaves: tuple[Leaf, ...] = ()
    is_old: bool = False


def test_missing_keys_get_defaults_and_unknown_keys_are_ignored() -> None:
    assert typed(Tree, {"kind": "oak", "colour": "green"}) == Tree("oak")


def test_every_kind_of_field_is_read() -> None:
    tree = {
        "kind": "elm",
        "at": "2026-06-12T08:00:00+00:00",
        "height": 4,
        "rings": {"1": "a"},
        "leaves": [{"name": "x"}],
        "is_old": True,
    }
    at = datetime(2026, 6, 12, 8, tzinfo=UTC)
    assert typed(Tree, tree) == Tree("elm", at, 4, {1: "a"}, (Leaf("x"),), True)


def test_values_of_the_wrong_type_are_rejected_with_their_location() -> None:
    odd: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "kind"),
        ({"kind": "ash"}, "kind: 'ash'"),
        ({"kind": ["oak"]}, "kind"),
        ({"kind": "oak", "at": "2026-06-12T08:00:00"}, "at: .* no time zone"),
        ({"kind": "oak", "at": 7}, "at"),
        ({"kind": "oak", "height": True}, "height: True"),
        ({"kind": "oak", "rings": {"one": "a"}}, "rings"),
        ({"kind": "oak", "rings": [1]}, "rings"),
        ({"kind": "oak", "leaves": "x"}, "leaves: 'x'"),
        ({"kind": "oak", "leaves": [{"name": 1}]}, "leaves: name: 1"),
        ({"kind": "oak", "leaves": [7]}, "leaves: 7"),
        ({"kind": "oak", "is_old": 1}, "is_old: 1"),
    )
    for tree, why in odd:
        with pytest.raises(TypeError, match=why):
            typed(Tree, tree)
