"""Learning rules automatically, for evaluators that add sessions day by day."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.engine import Engine


def learn(engine: Engine) -> list[str]:
    """Learn rules from new sessions; returns the lines that are in prompts or waiting to be."""
    return [rule.text for rule in engine.rules.learn().learned.book.rules if rule.counts]
