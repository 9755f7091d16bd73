"""API keys: read from the environment, sent only to their own server, never shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit, urlunsplit

from engine.errors import AutopoiesisError, EmbeddingFailed, GateError, SendFailed

GATE_KEY_VARIABLE = "AUTOPOIESIS_GATE_API_KEY"
"""Environment variable with the key for the server in ``gate.base_url``."""
SEARCH_KEY_VARIABLE = "AUTOPOIESIS_SEARCH_API_KEY"
"""Environment variable with the key for the server in ``search.embedding_base_url``."""
CHAT_KEY_VARIABLE = "AUTOPOIESIS_CHAT_API_KEY"
"""Environment variable with the key for the server in ``chat.base_url``."""
PURPOSE_KEY_VARIABLES = (GATE_KEY_VARIABLE, SEARCH_KEY_VARIABLE, CHAT_KEY_VARIABLE)
"""Environment variables with the keys for servers named in the settings."""
OWN_KEY_VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
"""Environment variables with the keys of the providers' own servers."""
NO_KEY = "none"
"""Sent if a server needs no key, since the clients require one."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """A use of a service: its error type, the settings named in errors, and the key for a custom server."""

    error: type[AutopoiesisError]
    key_variable: str  # environment variable with the key for a custom server
    address: str  # name of the setting with a custom server's address
    model: str  # name of the setting with the model
    deadline: str  # name of the setting with the deadline; empty if there is none
    keyless_setting: str  # a setting and its value that need no key
    shorten_hint: str = ""  # how to shorten a request, as an instruction; empty if impossible


GATE = Purpose(
    error=GateError,
    key_variable=GATE_KEY_VARIABLE,
    address="gate.base_url",
    model="gate.model",
    deadline="gate.deadline_s",
    keyless_setting="gate.provider: local",
)
SEARCH = Purpose(
    error=EmbeddingFailed,
    key_variable=SEARCH_KEY_VARIABLE,
    address="search.embedding_base_url",
    model="search.embedding_model",
    deadline="search.embedding_deadline_s",
    keyless_setting="search.embedding: local",
)


def _with_gate_key(prefix: str, keyless_setting: str = "none") -> Purpose:
    """A purpose that shares the gate's key, with its own settings, whose names start with ``prefix``."""
    return replace(
        GATE,
        model=f"{prefix}model",
        address=f"{prefix}base_url",
        deadline=f"{prefix}deadline_s",
        keyless_setting=f"{prefix}provider: {keyless_setting}",
    )


FLUSH = _with_gate_key("flush.")
HARVEST = _with_gate_key("harvest.", keyless_setting="markers")
COMMIT = _with_gate_key("git.commit_message_")
CONDENSE = _with_gate_key("condensing.")
EXTRACTION = _with_gate_key("extraction.")
CLAUDE_GATE = replace(GATE, deadline="gate.claude_code_deadline_s")
"""The gate through the ``claude`` command, which takes longer to start."""
CHAT = Purpose(
    error=SendFailed,
    key_variable=CHAT_KEY_VARIABLE,
    address="chat.base_url",
    model="chat.model",
    deadline="chat.deadline_s",
    keyless_setting="chat.provider: local",
    shorten_hint="lower context_compiler.token_budget or chat.max_tokens",
)


def key_for(key_variable: str, address: str, address_variable: str, purpose: Purpose) -> str:
    """The key to send to a server; from the environment only.

    The address comes from a file in the workspace, which somebody else may have written. The provider's key
    is therefore only sent to the provider and to the server named in the environment itself; any other
    server, including one on this machine, gets the key from the purpose's variable
    (``AUTOPOIESIS_GATE_API_KEY``, ``AUTOPOIESIS_SEARCH_API_KEY``, ``AUTOPOIESIS_CHAT_API_KEY``), or none.

    Raises:
        AutopoiesisError: The purpose's error: the provider's own server needs a key and there is none, or the
            key or the address is invalid.
    """
    if not address:
        if _is_set(key_variable):
            return _read_key(key_variable, purpose)
        raise purpose.error(
            "no key found",
            where=key_variable,
            hint=f"set {key_variable}, or {purpose.keyless_setting}, which needs no key",
        ).until_changed()
    if not _is_address(address):
        raise purpose.error(
            f"“{shown_address(address)[:80]}” is not a server address",
            where=purpose.address,
            hint="give it as http://host:port/v1",
        ).until_changed()
    if _is_set(purpose.key_variable):
        return _read_key(purpose.key_variable, purpose)
    named = os.environ.get(address_variable, "")
    trusted = named and _origin(named) == _origin(address)
    return _read_key(key_variable, purpose) if trusted and _is_set(key_variable) else NO_KEY


def sent_key(headers: Mapping[str, str]) -> str:
    """The key in a request's headers, to recognize it in the response."""
    named = headers.get("x-api-key", "") or headers.get("x-goog-api-key", "")
    return named or headers.get("authorization", "").removeprefix("Bearer ")


def _is_set(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def _read_key(variable: str, purpose: Purpose) -> str:
    # The key is never stored in a local variable: crash reports show the variables of an error's frames.
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
    """A server's address without user name, password and query."""
    if not address:
        return ""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid address"
    return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), "", ""))


def _origin(address: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        return address, "", None
