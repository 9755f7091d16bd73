"""Waits for an agent's session log: Claude Code writes it after its hooks have run."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from engine.transcripts.importers.lines import opened

_WAIT_S = 1.0
_POLL_S = 0.02
_TAIL_BYTES = 256 * 1024
_USER = re.compile(rb'"role":\s*"user"')


def is_written(log: Path, answer: str, since: float) -> bool:
    """Whether the log exists. Waits for it to exist and contain the agent's last answer, until a second after
    the hook: if many captures are queued, the log may have gone on, and the answer is no longer the last.

    Args:
        answer: Empty if unknown.
        since: When the hook was called, by the monotonic clock.

    Raises:
        ImportFailed: It is not a regular file, or cannot be read.
    """
    lines = answer.strip().splitlines()
    last = json.dumps(lines[-1], ensure_ascii=False)[1:-1].encode("utf-8", "replace") if lines else b""
    until = since + _WAIT_S
    while not _contains(log, last) and time.monotonic() < until:
        time.sleep(_POLL_S)
    return log.exists()


def _contains(log: Path, answer: bytes) -> bool:
    """Whether the answer follows the last user turn: an agent often gives the same answer twice."""
    if not log.exists():
        return False
    with opened(log) as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return answer in _USER.split(stream.read(_TAIL_BYTES))[-1]
