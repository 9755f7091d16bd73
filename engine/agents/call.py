"""What an agent says at an event: one JSON object on standard input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath

from engine.agents.contracts import CONTRACTS, Contract, Event
from engine.errors import HookRefused
from engine.startup.records import dataclass
from engine.store.paths import slugify, valid_session_id

MOST_CHARACTERS = 200_000
"""Of a prompt; what is pasted beyond that tells nothing more of what it is about."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """One event of an agent."""

    contract: Contract
    event: Event
    session_id: str  # empty where it names none that can be a session's
    transcript: str  # path of the agent's own log of the session; may be empty, or not be there yet
    cwd: str  # the folder that the agent works in; may be empty
    prompt: str  # of a ``prompt``
    answer: str  # of a ``stop``: what the agent said last; empty where it does not say
    source: str  # of a ``session_start``: why it starts, such as ``startup`` or ``compact``
    turn: str = ""  # the agent's own id of the turn, of one that says it
    session: Mapping[str, object] | None = None  # what was said in it, of an agent that keeps no log to read

    @property
    def project(self) -> str:
        """Slug of the project, as an import of the session names it; empty where it is not known."""
        name = PurePosixPath(self.cwd).name
        return slugify(name) if name else ""


def read_call(agent: str, payload: bytes) -> HookCall | None:
    """The event; ``None`` for one that is none of ours, or of a sub-agent.

    A sub-agent's event names the session of the agent that gave it its task: nobody said what its prompt
    says, and what it is told the other one has not heard.

    Raises:
        HookRefused: The agent is not known, or what it says is not what it should be.
    """
    contract = CONTRACTS.get(agent)
    if contract is None:
        raise HookRefused(f"there is no agent {agent[:40]!r}", hint=f"known are {', '.join(CONTRACTS)}")
    try:
        tree = json.loads(payload)
    except (ValueError, RecursionError) as error:
        sent = f"{contract.title} sent {len(payload):,} bytes that are not JSON"
        raise HookRefused(f"{sent}: {error}") from error
    if not isinstance(tree, dict):
        raise HookRefused(f"{contract.title} sent JSON that is not an object")

    def text(name: str) -> str:
        found = tree.get(name)
        # A path or a name with half a character cannot be written down.
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
        text("prompt")[:MOST_CHARACTERS],
        text("last_assistant_message") or text("prompt_response"),
        text("source") or text("trigger"),
        text("turn_id") or text("prompt_id"),
        session if isinstance(session, dict) else None,
    )
