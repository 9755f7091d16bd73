"""What a model's reply says of each kind, row by row, as items in their places.

A row is text from outside: its fields become single plain lines (``engine.knowledge.harvest.reply``), and
whether an item may be written is decided as for a harvest. The names of fields are those of the prompts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from engine.knowledge.harvest.reply import held_if_long, single, steps_of
from engine.lifecycle.extraction import places

if TYPE_CHECKING:
    from engine.knowledge.item import Item
    from engine.lifecycle.extraction.session import Session

_NUMBER = re.compile(r"(?:\A|(?<=-> ))\d{1,3}[.)]\s+")
"""What stands before a step that was numbered."""


def decision(row: Any, session: Session) -> Item:
    """``{"decision": …, "why": …, "project": …}``."""
    said = _fields(row, "decision", "why", "project")
    return places.decision(_item(said[0], said[1]), session, said[2])


def lesson(row: Any, _session: Session) -> Item:
    """``{"lesson": …, "why": …}``."""
    said = _fields(row, "lesson", "why")
    return places.lesson(_item(said[0], said[1]))


def person(row: Any, session: Session) -> Item:
    """``{"name": …, "statement": …, "kind": "communication" or "context"}``."""
    said = _fields(row, "name", "statement", "kind")
    is_manner = said[2].casefold().startswith("commun")
    return places.about_person(_item(said[1]), session, said[0], manner=is_manner)


def procedure(row: Any, _session: Session) -> Item:
    """``{"name": …, "steps": …}``."""
    name, steps = _fields(row, "name", "steps", lines=True)
    plain = _NUMBER.sub("", steps_of(steps))
    return places.procedure(_item(plain), single(name))


def fact(row: Any, session: Session) -> Item:
    """``{"subject": …, "statement": …, "detail": …}``."""
    said = _fields(row, "subject", "statement", "detail")
    return places.fact(_item(said[1], said[2]), session, said[0])


def entry(row: Any, session: Session) -> Item:
    """``{"topic": …, "entry": …}``."""
    said = _fields(row, "topic", "entry")
    return places.entry(_item(said[1]), session, said[0])


def _item(first: str, second: str = "") -> Item:
    return held_if_long("facts", first, second)


def _fields(row: Any, *names: str, lines: bool = False) -> list[str]:
    """The fields of a row, each on one line unless ``lines``; one that is missing or null is empty.

    Raises:
        ValueError: It is no object, or a field is no text.
    """
    if not isinstance(row, dict):
        raise ValueError("is no object")
    values = [row.get(name) for name in names]
    if not all(value is None or isinstance(value, str) for value in values):
        raise ValueError("has a field that is no text")
    return [(value or "") if lines else single(value or "") for value in values]
