"""Replays a transcript into a live conversation file at a human pace, for demonstrations."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from engine.store.files import Files
from engine.transcripts.capture import utc_now
from engine.transcripts.days import day_to_write, following, iso
from engine.transcripts.format import render, render_turn
from engine.transcripts.turn import Text, Transcript, Turn

_CHARACTERS_PER_S = {"user": 45.0, "agent": 160.0, "system": 400.0}
_MIN_S, _MAX_S = 0.8, 7.0
_TOOL_S = 0.6


def human_pace(speed: float = 1.0) -> Callable[[Turn], float]:
    """Return a function for the delay in seconds before a turn, based on its length, role and tool calls.

    A ``speed`` of 2 plays twice as fast.

    Raises:
        ValueError: The speed is not positive.
    """
    if speed <= 0:
        raise ValueError("the speed of a replay must be positive")

    def pace(turn: Turn) -> float:
        length = sum(len(block.text) for block in turn.blocks if isinstance(block, Text))
        seconds = length / _CHARACTERS_PER_S[turn.role] + _TOOL_S * len(turn.tools)
        return min(max(seconds, _MIN_S), _MAX_S) / speed

    return pace


def replay(
    files: Files,
    source: Transcript,
    target: str,
    stop: threading.Event,
    *,
    pace: Callable[[Turn], float],
    clock: Callable[[], datetime] = utc_now,
) -> int:
    """Play a transcript until its end, or until ``stop`` is set.

    The target is first replaced atomically, so that a follower sees a new conversation; then each turn is
    appended after its delay, with the current time in its heading.

    Args:
        target: The conversation file to write, workspace-relative, such as ``conversations/demo.md``.
        pace: Seconds to wait before a turn.

    Returns:
        The number of turns played.

    Raises:
        PathRefused, WriteFailed, ReadOnly: The target cannot be written.
    """
    before = clock().astimezone(UTC)
    header: dict[str, object] = {
        "session_id": f"{source.session_id or 'session'}.replay",
        "started": iso(before),
        "channel": "replay",
    }
    header |= {key: source.header[key] for key in ("model", "topic") if key in source.header}
    beginning = replace(source, title=source.title or "Replay", header=header, turns=())
    files.replace(target, render(beginning).encode())
    for played, turn in enumerate(source.turns):
        if stop.wait(pace(turn)):
            return played
        now = clock().astimezone(UTC)
        turn = replace(turn, time=f"{now:%H:%M}", day=day_to_write(now, before))
        before = following(before, turn.time, turn.day)
        files.append(target, f"\n{render_turn(turn)}".encode())
    return len(source.turns)
