"""A private key for tests: long, and recognizable only by its first and last line."""

from __future__ import annotations

from random import Random

_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def private_key(lines: int) -> str:
    """A key in PEM form with so many lines of 64 characters."""
    random = Random(lines)
    body = ["".join(random.choices(_CHARACTERS, k=64)) for _ in range(lines)]
    return "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----"])


def leaks(text: str, key: str) -> list[str]:
    """The lines of a key that a text contains, if only in part."""
    return [line for line in key.split("\n")[1:-1] if line[:24] in text or line[-24:] in text]
