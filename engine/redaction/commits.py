"""What is asked about every file before it is committed: a secret in the history is there for good."""

from __future__ import annotations

from engine.redaction.detect import Secret, secrets_in

_LOOKED_AT_FOR_ZEROS = 8000
CURE = "take it out; if it is none, commit the file yourself: git commit --no-verify"


def secrets_of(data: bytes) -> tuple[Secret, ...]:
    """What looks like a secret in a file; nothing in one that is no text, as git tells it."""
    if b"\0" in data[:_LOOKED_AT_FOR_ZEROS]:
        return ()
    return secrets_in(data.decode("utf-8", "replace"))


def refuse_secrets(path: str, data: bytes) -> str:
    """Why a file is not to be committed, without the secret itself; empty when it may be."""
    if secrets_in(path):
        return "its name holds what looks like a secret"
    found = secrets_of(data)
    if not found:
        return ""
    first = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"line {first.line} holds what looks like a {first.kind}{more}; {CURE}"
