"""The memory as a library: ``import autopoiesis``. A complete agent, except for its model::

    import autopoiesis


    def ask(prompt: str) -> str:  # your model goes here
        return f"I have read {len(prompt)} characters."


    with autopoiesis.open() as memory:
        session = autopoiesis.new_session_id()
        memory.capture.start(session, title="My own agent")
        for message in iter(lambda: input("> "), ""):
            prompt = memory.compile(message, session_id=session, record=True)
            memory.capture.message(session, "user", message)
            reply = ask(prompt.text)
            memory.capture.message(session, "agent", reply)
            print(reply)
        print(autopoiesis.end_session(memory, session))

Everything is loaded on first use, so that the import itself is cheap.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine import __version__ as __version__
    from engine.context.compiled import Compiled as Compiled
    from engine.conversations.sessions import EndedSession as EndedSession
    from engine.conversations.sessions import new_session_id as new_session_id
    from engine.engine import Engine as Engine
    from engine.errors import AutopoiesisError as AutopoiesisError
    from engine.workspace.initialise import initialise as initialise

_FROM = {
    "__version__": "engine",
    "AutopoiesisError": "engine.errors",
    "Compiled": "engine.context.compiled",
    "EndedSession": "engine.conversations.sessions",
    "Engine": "engine.engine",
    "initialise": "engine.workspace.initialise",
    "new_session_id": "engine.conversations.sessions",
}

__all__ = ["end_session", "open", *_FROM]


def open(path: str | Path | None = None, *, read_only: bool = False) -> Engine:
    """Opens a workspace; use ``with`` or call ``close``.

    Args:
        path: Defaults to ``$AUTOPOIESIS_HOME``, then ``~/.autopoiesis``.

    Raises:
        WorkspaceError: The folder is not a workspace; ``initialise`` creates one.
        ConfigError: A setting is not valid.
    """
    from engine.engine import Engine  # noqa: PLC0415 — the import of this module must stay cheap

    named = path or os.environ.get("AUTOPOIESIS_HOME") or "~/.autopoiesis"
    return Engine.open(Path(named).expanduser(), read_only=read_only)


def end_session(memory: Engine, session_id: str) -> EndedSession:
    """Ends a session: closes and commits its transcript, and extracts knowledge if the settings say so.

    Raises:
        TranscriptError: The session was never started, or has ended.
        WriteFailed, ReadOnly: The transcript was not closed.
    """
    from engine.conversations.sessions import end_session  # noqa: PLC0415 — as above

    commit = memory.config.git.auto_commit
    ended = end_session(memory.capture, memory.repository, session_id, commit=commit)
    memory.extraction.session_ended(ended.path)
    return ended


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_FROM[name]), name)
    return found
