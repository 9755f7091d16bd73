"""Derives values from a hook event that it has no field for."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

from engine.agents.call import HookCall
from engine.errors import ImportFailed
from engine.transcripts.injected import strip_injected


def typed_prompt(call: HookCall) -> str:
    """The text the person typed: Gemini prepends injected context to a session's first prompt, and Claude
    Code sends the result of a background task as a prompt."""
    return strip_injected(call.prompt)


def parent_session(call: HookCall) -> str:
    """The session a fork continues, from the head of Codex's log; empty if it is not a fork."""
    if call.event.moment != "session_start" or call.source != "fork" or not call.transcript:
        return ""
    from engine.transcripts.importers.lines import opened, read_lines  # noqa: PLC0415 — not for a prompt

    with contextlib.suppress(ImportFailed), opened(Path(call.transcript)) as stream:
        for record in (line.records[0] for line in read_lines(stream) if line.records):
            head = record.get("payload")
            named = head.get("forked_from_id") if isinstance(head, dict) else None
            return named.lower() if isinstance(named, str) else ""
    return ""


def is_compressed_since(call: HookCall, at: str) -> bool:
    """Whether Gemini has compressed the session since a time: it announces a compression that it then may
    refuse, and tells only its log of the outcome, which it rewrites with the summary.
    """
    from engine.transcripts.chats.gemini import summary_times  # noqa: PLC0415 — rarely needed
    from engine.transcripts.importers.lines import opened, read_lines  # noqa: PLC0415 — as above

    # The time is read from our log, which somebody may have edited.
    with contextlib.suppress(ImportFailed, ValueError), opened(Path(call.transcript)) as stream:
        since = datetime.fromisoformat(at).astimezone(UTC)
        records = (record for line in read_lines(stream) for record in line.records)
        return any(time >= since for time in summary_times(records))
    return False
