"""A message continues the session on screen only if it was started here and is still open."""

from __future__ import annotations

from pathlib import Path

from engine.discussions.sending import Sending
from engine.engine import Engine
from tests.discussions.scripted import Purse, Scripted


def test_a_session_started_here_can_be_continued_until_it_ends(plain: Path) -> None:
    with Engine.open(plain) as engine:
        sent = Sending(engine, Scripted, Purse(), len).send("Good morning.")
        for key in (sent.key, sent.reply_key):
            assert engine.discussions.to_continue(key) == sent.session_id
        engine.capture.end(sent.session_id)
        assert engine.discussions.to_continue(sent.key) == ""


def test_sessions_of_other_agents_cannot_be_continued(sample: Path) -> None:
    with Engine.open(sample) as engine:
        keys = [entry.key for entry in engine.feed(1_000) if entry.key]
        assert keys
        assert {engine.discussions.to_continue(key) for key in keys} == {""}


def test_an_invalid_turn_key_has_no_session(plain: Path) -> None:
    with Engine.open(plain) as engine:
        for key in ("", "x", "a.md#1", "../../etc/passwd#0", "signal:cron:x@y", "raw#0", "\0#0"):
            assert engine.discussions.to_continue(key) == "", key
