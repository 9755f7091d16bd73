"""Keys: from the environment, to whom they belong, and shown nowhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit, urlunsplit

from engine.errors import AutopoiesisError, EmbeddingFailed, GateError, SendFailed

GATE_KEY_VARIABLE = "AUTOPOIESIS_GATE_API_KEY"
"""Environment variable with the key for the server that ``gate.base_url`` names."""
SEARCH_KEY_VARIABLE = "AUTOPOIESIS_SEARCH_API_KEY"
"""Environment variable with the key for the server that ``search.embedding_base_url`` names."""
CHAT_KEY_VARIABLE = "AUTOPOIESIS_CHAT_API_KEY"
"""Environment variable with the key for the server that ``chat.base_url`` names."""
PURPOSE_KEY_VARIABLES = (GATE_KEY_VARIABLE, SEARCH_KEY_VARIABLE, CHAT_KEY_VARIABLE)
"""Environment variables with the keys of servers that settings name."""
OWN_KEY_VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
"""Environment variables with the keys of the providers' own servers."""
NO_KEY = "none"
"""What is sent where a server needs no key; the clients insist on something."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a service is asked for: the settings that its errors name, the key for a server of one's own."""

    error: type[AutopoiesisError]  # what is raised
    key_variable: str  # environment variable with the key for the server that ``address`` names
    address: str  # the setting with the address of another server; likewise those that follow
    model: str
    deadline: str  # empty where no setting says it
    less: str  # what sends fewer requests at once, as an instruction; empty where nothing does
    without: str  # the setting that needs no key, with its value
    shorter: str = ""  # what makes a request shorter, as an instruction; empty where nothing does


GATE = Purpose(
    error=GateError,
    key_variable=GATE_KEY_VARIABLE,
    address="gate.base_url",
    model="gate.model",
    deadline="gate.deadline_s",
    less="lower gate.concurrency",
    without="gate.provider: local",
)
SEARCH = Purpose(
    error=EmbeddingFailed,
    key_variable=SEARCH_KEY_VARIABLE,
    address="search.embedding_base_url",
    model="search.embedding_model",
    deadline="search.embedding_deadline_s",
    less="",
    without="search.embedding: local",
)


def _like_gate(prefix: str, without: str = "none") -> Purpose:
    """What is asked with the gate's key by settings of its own, whose names begin with ``prefix``."""
    return replace(
        GATE,
        model=f"{prefix}model",
        address=f"{prefix}base_url",
        deadline=f"{prefix}deadline_s",
        less="",
        without=f"{prefix}provider: {without}",
    )


FLUSH = _like_gate("flush.")
HARVEST = _like_gate("harvest.", without="markers")
COMMIT = _like_gate("git.commit_message_")
CONDENSE = _like_gate("condensing.")
RULES = _like_gate("rules.")
EXTRACTION = _like_gate("extraction.")
CLAUDE_GATE = replace(GATE, deadline="gate.claude_code_deadline_s")
"""The gate asked through the ``claude`` command, which takes longer to start."""
CHAT = Purpose(
    error=SendFailed,
    key_variable=CHAT_KEY_VARIABLE,
    address="chat.base_url",
    model="chat.model",
    deadline="chat.deadline_s",
    less="",
    without="chat.provider: local",
    shorter="lower context_compiler.token_budget or chat.max_tokens",
)


def key_for(key_variable: str, address: str, address_variable: str, purpose: Purpose) -> str:
    """The key to send to a server; from the environment only.

    The address stands in a file of the workspace, which may come from somebody else. The provider's key
    therefore goes to the provider and to the server that the environment itself names; another server, one of
    this machine too, gets what the variable for the purpose holds (``AUTOPOIESIS_GATE_API_KEY``,
    ``AUTOPOIESIS_SEARCH_API_KEY``, ``AUTOPOIESIS_CHAT_API_KEY``), or none.

    Raises:
        AutopoiesisError: ``purpose.error``: the provider's own server is meant and there is no key, the key
            cannot be one, or the address is none.
    """
    if not address:
        if _has(key_variable):
            return _checked(key_variable, purpose)
        raise purpose.error(
            "there is no key",
            where=key_variable,
            hint=f"set {key_variable}, or {purpose.without}, which needs no key",
        ).until_changed()
    if not _is_address(address):
        raise purpose.error(
            f"“{shown_address(address)[:80]}” is not a server address",
            where=purpose.address,
            hint="give it as http://host:port/v1",
        ).until_changed()
    if _has(purpose.key_variable):
        return _checked(purpose.key_variable, purpose)
    named = os.environ.get(address_variable, "")
    trusted = named and _server(named) == _server(address)
    return _checked(key_variable, purpose) if trusted and _has(key_variable) else NO_KEY


def key_sent(headers: Mapping[str, str]) -> str:
    """The key that a request carried, to recognise it in what comes back."""
    named = headers.get("x-api-key", "") or headers.get("x-goog-api-key", "")
    return named or headers.get("authorization", "").removeprefix("Bearer ")


def _has(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def _checked(variable: str, purpose: Purpose) -> str:
    # The key is never a variable here: crash reports show the variables of the frames of an error.
    if any(not ("!" <= character <= "~") for character in os.environ[variable].strip()):
        raise purpose.error(
            "the key contains invalid characters",
            where=variable,
            hint=f"copy the key to {variable} again",
        ).until_changed()
    return os.environ[variable].strip()


def _is_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def shown_address(address: str) -> str:
    """A server's address without what may stand in it as name, password or query."""
    if not address:
        return ""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid address"
    return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), "", ""))


def _server(address: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        return address, "", None
