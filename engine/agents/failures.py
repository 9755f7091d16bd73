"""Logs hook failures that happen before a workspace is open, in a file in the person's cache folder."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime

from engine.store.user_folder import cache_folder

NAME = "hooks.log"
_MAX_BYTES = 256 * 1024


def note_failure(text: str) -> None:
    """Appends a line; an error is ignored, because there is nobody to report it to."""
    with contextlib.suppress(OSError):
        path = cache_folder() / NAME
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        handle = os.open(path, flags, 0o600)
        try:
            if os.fstat(handle).st_size > _MAX_BYTES:
                os.ftruncate(handle, 0)
            line = " ".join(text.split())[:1_000]
            os.write(handle, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {line}\n".encode("utf-8", "replace"))
        finally:
            os.close(handle)
