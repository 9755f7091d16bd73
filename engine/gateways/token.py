"""The token of the hook API: from the environment, or kept in a file that only its owner reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from engine.errors import GatewayFailed
from engine.store.user_folder import read_own, write_own

VARIABLE = "AUTOPOIESIS_HOOK_TOKEN"
NAME = "hook-token"
LEAST = 16
"""Characters that a token has at least."""


def hook_token(folder: Path) -> tuple[str, str]:
    """The token, and where it comes from.

    The file is made in the person's settings folder when there is none.

    Raises:
        GatewayFailed: The token is too short, others can read the file, or it cannot be made.
    """
    token = os.environ.get(VARIABLE, "").strip()
    if token:
        return _long_enough(token, f"${VARIABLE}"), f"${VARIABLE}"
    path = folder / NAME
    try:
        token = _kept(path) or _made(path)
    except OSError as error:
        raise GatewayFailed(
            f"cannot be read or made: {error.strerror}", where=str(path), hint=f"set {VARIABLE}"
        ) from error
    return _long_enough(token, str(path)), str(path)


def _kept(path: Path) -> str:
    try:
        return (read_own(path, secret=True) or b"").decode("utf-8", "replace").strip()
    except PermissionError as error:
        raise GatewayFailed(
            "others can read the token", where=str(path), hint=f"run: chmod 600 {path}"
        ) from error


def _made(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    write_own(path, f"{token}\n".encode())
    return token


def _long_enough(token: str, where: str) -> str:
    if len(token) < LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise GatewayFailed(
            f"a token has at least {LEAST} characters of ASCII, without spaces",
            where=where,
            hint="use another",
        )
    return token
