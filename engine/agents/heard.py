"""What an event of an agent says that does not stand in a field of its own."""

from __future__ import annotations

import contextlib
from pathlib import Path

from engine.agents.call import HookCall
from engine.errors import ImportFailed
from engine.transcripts.injected import strip_injected


def words_of(call: HookCall) -> str:
    """What the person said: Gemini puts what hooks have added before a session's first prompt, and Claude
    Code sends what a task in the background ended with as a prompt too."""
    prompt = strip_injected(call.prompt)
    if call.contract.agent != "claude-code" or not prompt.lstrip().startswith("<"):
        return prompt
    from engine.transcripts.importers.claude_said import typed_of  # noqa: PLC0415 — for few prompts

    return typed_of(prompt)


def parent_of(call: HookCall) -> str:
    """The session that a fork goes on from, as the head of Codex's log names it; empty where none is."""
    if call.event.moment != "session_start" or call.source != "fork" or not call.transcript:
        return ""
    from engine.transcripts.importers.lines import opened, read_lines  # noqa: PLC0415 — not for a prompt

    with contextlib.suppress(ImportFailed), opened(Path(call.transcript)) as stream:
        for record in (line.records[0] for line in read_lines(stream) if line.records):
            head = record.get("payload")
            named = head.get("forked_from_id") if isinstance(head, dict) else None
            return named.lower() if isinstance(named, str) else ""
    return ""
