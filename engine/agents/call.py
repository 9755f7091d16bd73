"""Parses a hook event: one JSON object on standard input."""

from __future__ import annotations

import json
from collections.abc import Mapping

from engine.agents.contracts import CONTRACTS, Contract, Event
from engine.errors import HookRefused
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
