"""A sent message, its reply as it arrives, and its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.render.draw import Row, wrap
from tui.render.figures import dollars, plural
from tui.render.roles import Roles
from tui.render.safe import visible_lines

if TYPE_CHECKING:
    from engine.discussions.turn import Sent, Step

_PROGRESS: dict[Step | None, str] = {
    None: "saving the message …",
    "said": "choosing topics …",
    "traced": "compiling the prompt …",
    "compiled": "sending …",
    "asked": "waiting for the reply …",
    "answered": "saving the reply …",
    "watched": "done",
}


def reply_lines(
    message: str, reply: str, step: Step | None, sent: Sent | None, problem: str, width: int, roles: Roles
) -> list[Row]:
    """Draws message, reply and summary.

    Args:
        sent: The result; ``None`` until it is known.
        problem: Why sending failed.
    """
    rows = [row for line in visible_lines(message) for row in wrap([(line, roles.strong)], width)]
    rows.append(Row())
    rows += [row for line in visible_lines(reply) for row in _text(line, width, roles)]
    if reply:
        rows.append(Row())
    if sent is None and not problem:
        rows.append(Row((_PROGRESS[step] if step != "asked" or not reply else "…", roles.muted)))
        return rows
    if sent is not None:
        rows += [row for line in summary(sent) for row in wrap([(line, roles.muted)], width)]
        for correction in sent.corrections:
            rows += wrap([("next time: ", roles.muted), (correction.hint, roles.gate)], width, indent=11)
    error = problem or (sent.problem if sent is not None else "")
    if error:
        rows += wrap([("! ", roles.error), (error, roles.normal)], width, indent=2)
    return rows


def summary(sent: Sent) -> list[str]:
    """Tokens, cost, topics and cache use of a reply."""
    usage = sent.reply.usage
    tokens = f"{usage.input_tokens or sent.compiled.tokens:,} tokens in"
    if usage.cached_tokens:
        share = usage.cached_tokens / max(usage.input_tokens, 1)
        tokens += f", {usage.cached_tokens:,} cached ({share:.0%})"
    parts = [sent.session_id, sent.reply.model or sent.provider, tokens, f"{usage.output_tokens:,} out"]
    if sent.cost_usd is not None:
        parts.append(dollars(sent.cost_usd))
    lines = [" · ".join(parts)]
    if sent.trace.active:
        lines.append(f"topics: {', '.join(sent.trace.active)}")
    if sent.redacted:
        lines.append(f"redacted before sending: {plural(sent.redacted, 'secret')}")
    if sent.cache.why and usage.input_tokens and not usage.cached_tokens:
        lines.append(f"cache: {sent.cache.why}")
    return lines


def _text(line: str, width: int, roles: Roles) -> list[Row]:
    """A wrapped line that keeps its indentation, for code."""
    text = line.lstrip(" ")
    indent = min(len(line) - len(text), width // 2)
    return [Row().gap(indent).extend(row) for row in wrap([(text, roles.normal)], width - indent)] or [Row()]
