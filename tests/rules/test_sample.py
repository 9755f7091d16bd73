"""The sample workspace has instructive rules: a rephrased one, an explicit one and a withdrawn one."""

from __future__ import annotations

from pathlib import Path

from engine.engine import Engine


def test_the_sample_contains_instructive_rules(sample: Path) -> None:
    with Engine.open(sample) as engine:
        book = engine.rules.learn().learned.book
        (draft,) = (rule for rule in book.waiting if "draft PR" in rule.text)
        assert draft.told == 3 and len({each.said.text for each in engine.rules.occurrences(draft)}) == 3
        assert engine.rules.before(engine.rules.occurrences(draft)[-1]).startswith(
            "Right, so no limit towards the past"
        )
        waiting = " ".join(rule.text for rule in book.waiting)
        assert "CI is red" not in waiting and "in this release" not in waiting
        (copy,) = (rule for rule in book.again if "keep a copy" in rule.text)
        assert (copy.state, copy.told) == ("in force", 2)
        (squash,) = (rule for rule in book.rules if rule.state == "replaced" and "squash" in rule.text)
        by = book.get(squash.by)
        assert by is not None and "don't squash" in by.text
