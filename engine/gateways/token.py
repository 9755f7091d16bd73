"""The token of the hook API: from the environment, or from a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from engine.errors import GatewayFailed
from engine.store.user_folder import read_own, write_own

VARIABLE = "AUTOPOIESIS_HOOK_TOKEN"
NAME = "hook-token"
MIN_CHARACTERS = 16


def hook_token(folder: Path) -> tuple[str, str]:
    """The token, and its source: the variable, or a file in the settings folder, created if missing.

    Raises:
        GatewayFailed: The token is not valid, others can read the file, or it cannot be created.
    """
    token = os.environ.get(VARIABLE, "").strip()
    if token:
        return _validated(token, f"${VARIABLE}"), f"${VARIABLE}"
    path = folder / NAME
    try:
        token = _stored(path) or _create(path)
    except OSError as error:
        raise GatewayFailed(
            f"cannot read or create the token: {error.strerror}", where=str(path), hint=f"set {VARIABLE}"
        ) from error
    return _validated(token, str(path)), str(path)


def _stored(path: Path) -> str:
    try:
        return (read_own(path, secret=True) or b"").decode("utf-8", "replace").strip()
    except PermissionError as error:
        raise GatewayFailed(
            "other users can read the token", where=str(path), hint=f"run: chmod 600 {path}"
        ) from error


def _create(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    write_own(path, f"{token}\n".encode())
    return token


def _validated(token: str, where: str) -> str:
    if len(token) < MIN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token:
        raise GatewayFailed(
            f"a token must have at least {MIN_CHARACTERS} ASCII characters, without spaces",
            where=where,
            hint="use another token",
        )
    return token
