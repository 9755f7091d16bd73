"""What rules were worth, in words (``engine.lifecycle.rules.worth``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.lifecycle.rules.worth import Rate, Worth


def rate_words(rate: Rate) -> str:
    """``0.50 (3 in 6 weeks)``."""
    counted = f"({rate.told} in {plural(rate.weeks, 'week')})"
    return f"too few weeks {counted}" if rate.a_week is None else f"{rate.a_week:.2f} {counted}"


def worth_words(found: Worth) -> Iterator[str]:
    """What is to be said of all rules together."""
    telling = sum(each.can_tell for each in found.rules)
    if telling:
        before, after = rate_words(found.before), rate_words(found.after)
        yield f"{plural(telling, 'rule')} together, a week of one: {before} before, {after} since"
        yield "a rule is often accepted right after a repetition: some become rarer by themselves"
    else:
        yield "no accepted rule has enough weeks with sessions before and since to be compared"
    if found.prompts:
        mean, share = found.tokens / found.prompts, 100 * found.tokens / max(found.of, 1)
        prompts = plural(found.prompts, "recorded prompt")
        yield f"rules take {mean:,.0f} tokens of a prompt, {share:.1f} % of it ({prompts})"
    else:
        yield "what rules take of a prompt is not known: none was recorded since rules are"
