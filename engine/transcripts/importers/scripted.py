"""Tells the sessions that a script holds with Claude Code from those of a person.

No field of a log tells: ``claude -p`` is what a script runs, and what a window runs for somebody who types.
But nobody begins session after session with the same words, but for numbers and paths, and says no more.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from functools import lru_cache
from pathlib import Path

from engine.errors import ImportFailed
from engine.startup.lazy import expression
from engine.transcripts.importers.claude_records import typed_text
from engine.transcripts.importers.lines import opened, read_lines
from engine.transcripts.importers.log import SessionLog
from engine.transcripts.importers.session import START, text_of
from engine.transcripts.turn import Turn

SCRIPT = "a script"
"""The author of such a session."""

_SESSIONS = 3
"""Sessions of a folder from which on the same beginning is a script's."""
_WORDS = 8
"""Words that a beginning has."""
_VARIES = expression(r"[\d/\\]")


def is_scripted(log: SessionLog) -> bool:
    """Whether a script holds a session: it and others of its folder begin alike without a terminal, and
    nothing more was said in it.
    """
    beginning = _beginning(log.path) if log.kind == "claude-code" else ""
    if not beginning:
        return False
    folder = log.path.absolute().parent
    with contextlib.suppress(OSError):
        if _beginnings(folder, folder.stat().st_mtime_ns)[beginning] >= _SESSIONS:
            turns: list[Turn] = []
            turns += log.read(START, turns.append).unfinished
            return sum(turn.role == "user" for turn in turns) == 1
    return False


@lru_cache(maxsize=8)
def _beginnings(folder: Path, _changed: int) -> Counter[str]:
    """How many of the logs in a folder, which last changed at a time, begin with the same words."""
    return Counter(filter(None, map(_beginning, folder.glob("*.jsonl"))))


def _beginning(path: Path) -> str:
    """The words with which a session begins, without those that vary; empty if a terminal may have begun it.

    A prompt that is not typed into a terminal is queued before anything else happens, and leaves the queue
    at once.
    """
    with contextlib.suppress(ImportFailed), opened(path) as stream:
        first = [record for line in itertools.islice(read_lines(stream), 2) for record in line.records]
        if [text_of(each, "operation") for each in first] == ["enqueue", "dequeue"]:
            words = [
                word for word in typed_text(text_of(first[0], "content")).split() if not _VARIES.search(word)
            ]
            return " ".join(words[:_WORDS]) if len(words) >= _WORDS else ""
    return ""
