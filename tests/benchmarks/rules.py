"""Learning rules automatically, for evaluators that add sessions day by day."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.engine import Engine


def learn(engine: Engine) -> list[str]:
    """Learn rules from new sessions; returns the lines in force and those that wait."""
    engine.rules.learn()
    return [rule.text for rule in engine.rules.book().rules if rule.state in ("in force", "waiting")]
