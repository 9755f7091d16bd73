"""Waits for an agent's log: Claude Code writes it behind its hooks, a new session's whole file too."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from engine.transcripts.importers.lines import opened

_WAIT_S = 1.0
_GLANCE_S = 0.02
_LOOKED_BACK = 256 * 1024
_USER = re.compile(rb'"role":\s*"user"')


def is_written(log: Path, answer: str) -> bool:
    """Whether the log is there. Waits up to a second until it is, and holds the agent's last answer.

    Args:
        answer: Empty where it is not known.

    Raises:
        ImportFailed: It is no regular file, or cannot be read.
    """
    lines = answer.strip().splitlines()
    last = json.dumps(lines[-1], ensure_ascii=False)[1:-1].encode("utf-8", "replace") if lines else b""
    until = time.monotonic() + _WAIT_S
    while not _holds(log, last) and time.monotonic() < until:
        time.sleep(_GLANCE_S)
    return log.exists()


def _holds(log: Path, answer: bytes) -> bool:
    """Whether it stands after what was last said to the agent: the same was often answered before."""
    if not log.exists():
        return False
    with opened(log) as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _LOOKED_BACK))
        return answer in _USER.split(stream.read(_LOOKED_BACK))[-1]
