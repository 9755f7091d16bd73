"""Reads a hook event: one JSON object on standard input, and what follows from it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from engine.agents.contracts import CONTRACTS, Contract, Event
from engine.errors import HookRefused, ImportFailed
from engine.startup.records import dataclass
from engine.store.paths import valid_session_id

MAX_CHARACTERS = 200_000
"""Maximum length of a prompt; text pasted beyond that says no more about its subject."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """One event of an agent."""

    contract: Contract
    event: Event
    session_id: str  # empty if missing or invalid
    transcript: str  # path of the agent's own session log; may be empty, or not exist yet
    cwd: str  # the agent's working folder; may be empty
    prompt: str  # of a ``prompt``
    answer: str  # of a ``stop``: the agent's last message; may be empty
    source: str  # of a ``session_start``: why it started, such as ``startup`` or ``compact``
    turn: str = ""  # the agent's own id of the turn; may be empty
    session: Mapping[str, object] | None = None  # the session, from an agent without a log that can be read


def read_call(agent: str, payload: bytes) -> HookCall | None:
    """Parses an event; ``None`` if we do not handle it, or it comes from a sub-agent.

    A sub-agent's event names its parent's session, but its prompt was not written by a person, and what is
    injected into its context is not in the parent's.

    Raises:
        HookRefused: The agent is unknown, or the payload is invalid.
    """
    contract = CONTRACTS.get(agent)
    if contract is None:
        raise HookRefused(f"unknown agent {agent[:40]!r}", hint=f"use one of {', '.join(CONTRACTS)}")
    try:
        tree = json.loads(payload)
    except (ValueError, RecursionError) as error:
        sent = f"{contract.title} sent {len(payload):,} bytes that are not JSON"
        raise HookRefused(f"{sent}: {error}") from error
    if not isinstance(tree, dict):
        raise HookRefused(f"{contract.title} sent JSON that is not an object")

    def text(name: str) -> str:
        found = tree.get(name)
        # Lone surrogates in a path or name cannot be encoded.
        return found.encode("utf-8", "replace").decode() if isinstance(found, str) else ""

    event = contract.event(text("hook_event_name"))
    if event is None or text("agent_id") or (event.only and text("trigger") != event.only):
        return None
    session_id, session = text("session_id").lower(), tree.get("session")
    return HookCall(
        contract,
        event,
        session_id if valid_session_id(session_id) else "",
        text("transcript_path"),
        text("cwd"),
        text("prompt")[:MAX_CHARACTERS],
        text("last_assistant_message") or text("prompt_response"),
        text("source") or text("trigger"),
        text("turn_id") or text("prompt_id"),
        session if isinstance(session, dict) else None,
    )


def typed_prompt(call: HookCall) -> str:
    """The text the person typed: Gemini prepends injected context to a session's first prompt, and Claude
    Code sends the result of a background task as a prompt."""
    from engine.transcripts.injected import strip_injected  # noqa: PLC0415 — not before a fork

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
