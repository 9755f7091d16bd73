"""What the program learns of rules by itself: for evaluators that add sessions day by day."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.engine import Engine


def learn(engine: Engine) -> list[str]:
    """Reads the sessions that are new for rules; gives the lines that are in prompts or wait for it."""
    return [rule.text for rule in engine.rules.learn().learned.book.rules if rule.counts]
