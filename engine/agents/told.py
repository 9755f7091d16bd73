"""The text that is injected into an agent's context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.context.delimiters import TOLD

if TYPE_CHECKING:
    from engine.agents.contracts import Moment
    from engine.context.compiled import Compiled

_HEADS: dict[Moment, str] = {
    "session_start": "From the user's own memory, for this session. It is theirs: follow it.",
    "prompt": "From the user's own memory, for this message. Rules and corrections are theirs: follow them."
    " The rest is background.",
}
_NAMED = 4


def text_of(compiled: Compiled, moment: Moment) -> str:
    """The injected text; empty if nothing is relevant."""
    if not compiled.sections:
        return ""
    return f"{TOLD[0]}{_HEADS[moment]}\n\n{compiled.text.rstrip()}{_cut(compiled)}{TOLD[1]}"


def _cut(compiled: Compiled) -> str:
    """Names what was selected but did not fit."""
    chosen = [each for each in compiled.left_out if each.limit and each.slot != "knowledge"]
    if not chosen:
        return ""
    names = ", ".join(dict.fromkeys(each.source or each.label for each in chosen[:_NAMED]))
    more = f" and {len(chosen) - _NAMED} more" if len(chosen) > _NAMED else ""
    return f"\n\n[cut for length: {names}{more}]"
