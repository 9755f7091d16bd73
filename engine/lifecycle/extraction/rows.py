"""Parses the rows of a model's reply into items, by kind.

Rows are untrusted: their fields become single plain lines (``engine.knowledge.harvest.reply``), and items are
checked as in a harvest. The field names are those in the prompts.
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
"""The number of a step."""


def decision(row: Any, session: Session) -> Item:
    """``{"decision": …, "why": …, "project": …}``."""
    text, reason, project = _fields(row, "decision", "why", "project")
    return places.decision(_item(text, reason), session, project)


def lesson(row: Any, _session: Session) -> Item:
    """``{"lesson": …, "why": …}``."""
    return places.lesson(_item(*_fields(row, "lesson", "why")))


def person(row: Any, session: Session) -> Item:
    """``{"name": …, "statement": …, "kind": "communication" or "context"}``."""
    name, statement, kind = _fields(row, "name", "statement", "kind")
    is_manner = kind.casefold().startswith("commun")
    return places.about_person(_item(statement), session, name, manner=is_manner)


def procedure(row: Any, _session: Session) -> Item:
    """``{"name": …, "steps": …}``."""
    name, steps = _fields(row, "name", "steps", lines=True)
    plain = _NUMBER.sub("", steps_of(steps))
    return places.procedure(_item(plain), single(name))


def fact(row: Any, session: Session) -> Item:
    """``{"subject": …, "statement": …, "detail": …}``."""
    subject, statement, detail = _fields(row, "subject", "statement", "detail")
    return places.fact(_item(statement, detail), session, subject)


def entry(row: Any, session: Session) -> Item:
    """``{"topic": …, "entry": …}``."""
    topic, text = _fields(row, "topic", "entry")
    return places.entry(_item(text), session, topic)


def _item(first: str, second: str = "") -> Item:
    return held_if_long("facts", first, second)


def _fields(row: Any, *names: str, lines: bool = False) -> list[str]:
    """The fields of a row, each on one line unless ``lines``; empty if missing or null.

    Raises:
        ValueError: It is not an object, or a field is not a string.
    """
    if not isinstance(row, dict):
        raise ValueError("is not an object")
    values = [row.get(name) for name in names]
    if not all(value is None or isinstance(value, str) for value in values):
        raise ValueError("has a field that is not a string")
    return [(value or "") if lines else single(value or "") for value in values]
