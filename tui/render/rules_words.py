"""The benefit of rules in words (``engine.lifecycle.rules.worth``)."""

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
    """A summary of all rules."""
    comparable = sum(each.is_comparable for each in found.rules)
    if comparable:
        before, after = rate_words(found.before), rate_words(found.after)
        yield f"{plural(comparable, 'rule')}, repetitions per rule and week: {before} before, {after} since"
        yield "rules are often accepted right after a repetition, so some decrease is expected anyway"
    else:
        yield "no accepted rule has enough weeks with sessions before and since for a comparison"
    if found.prompts:
        mean, share = found.tokens / found.prompts, 100 * found.tokens / max(found.of, 1)
        prompts = plural(found.prompts, "recorded prompt")
        yield f"rules take {mean:,.0f} tokens of a prompt, or {share:.1f} % ({prompts})"
    else:
        yield "the token cost of rules is unknown: no prompts were recorded since there are rules"
