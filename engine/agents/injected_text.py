"""The text that is injected into an agent's context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.context.delimiters import INJECTED, visible
from engine.redaction.detect import redacted

if TYPE_CHECKING:
    from engine.agents.contracts import Moment
    from engine.context.compiled import Compiled

_HEADS: dict[Moment, str] = {
    "session_start": "From the user's own memory in {}, for this session. It is theirs: follow it. More of"
    " it may come beside a message: follow its rules and corrections too; the rest is background.",
    "prompt": "From memory in {}:",
}
"""Said once at length: what is repeated with every message costs more than it tells. Paths are relative to
the folder named, which the agent rarely works in."""
_SHORT_HEAD = "From memory:"
"""When the folder's name is in the agent's context already."""
_MAX_NAMED = 4


def injected_text(compiled: Compiled, moment: Moment, folder: str) -> str:
    """The text to inject; empty if nothing is relevant. It goes to a service, so secrets are redacted.

    ``folder`` is the workspace's; empty if the agent was told its name before.
    """
    if not compiled.sections:
        return ""
    text = visible(redacted(f"{compiled.text.rstrip()}{_cut_note(compiled)}"))
    head = _HEADS[moment].format(visible(folder)) if folder else _SHORT_HEAD
    return f"{INJECTED[0]}{head}\n\n{text}{INJECTED[1]}"


def _cut_note(compiled: Compiled) -> str:
    """A note that names what was selected but did not fit."""
    chosen = [each for each in compiled.left_out if each.limit and each.slot != "knowledge"]
    if not chosen:
        return ""
    names = ", ".join(dict.fromkeys(each.source or each.label for each in chosen[:_MAX_NAMED]))
    more = f" and {len(chosen) - _MAX_NAMED} more" if len(chosen) > _MAX_NAMED else ""
    return f"\n\n[cut for length: {names}{more}]"
