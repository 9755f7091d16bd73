"""The shape in which the readers of programs' layouts pass messages on: ``role`` and ``content``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import list_of

Conversations = Iterator[tuple[Record, Iterable[Record]]]
"""Each conversation in a file: what describes it, and its messages."""

NOBODY: Record = {}
"""A record without a speaker, which is counted."""

OUTPUT: Record = {"role": "tool"}
"""What a tool returned, which is counted."""


def calls(given: Iterable[tuple[str, Any]], at: Mapping[str, Any], text: str = "") -> Record:
    """A message of the agent with tool calls, each a name and its arguments."""
    parts = [{"type": "tool_use", "name": name, "input": arguments} for name, arguments in given]
    return {"role": "assistant", "content": [text, *parts], **at}


def objects(value: Any, key: str) -> list[Record]:
    """The objects in a list of an object; empty if there is none."""
    return [each for each in list_of(value, key) if isinstance(each, dict)]
