"""What the program that fits the model of secrets is shown, and that the model in use was fitted by it."""

from __future__ import annotations

import random

from engine.redaction import judge, names, places, shapes
from tests.training import secret_lines

NEUTRAL = ["widget", "frame", "queue", "node", "chart", "table"]


def test_nearly_all_made_up_secrets_are_proposed_and_found_by_the_model() -> None:
    rows = random.Random(1).sample(list(secret_lines.secrets(random.Random(2), NEUTRAL)), 600)
    found = 0
    for text, value in rows:
        at = text.find(value)
        spans = set(places.proposed(text))
        found += any(
            start == at and abs(end - at - len(value)) <= 1 and judge.judged(text, start, end) != ""
            for start, end, _ in spans
        )
    assert found > 0.8 * len(rows)


def test_what_a_name_says_generalises_to_names_not_listed() -> None:
    for name, kind in (
        ("fooPassword", 1),
        ("FOO_BINDPW", 1),
        ("quuxApiKey", 2),
        ("token_count", 3),
        ("keyboard", 0),
    ):
        said = names.meaning(name)
        assert said.index(max(said)) == kind, (name, said)


def test_letters_by_chance_surprise_more_than_words() -> None:
    by_chance, word = (shapes.shape(each)[6] for each in ("xkqzvjwpbg", "statements"))
    assert by_chance > word
