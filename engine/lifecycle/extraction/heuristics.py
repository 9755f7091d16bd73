"""Extraction without a model.

===========  ============================================================================================
Extractor    finds
===========  ============================================================================================
decisions    lines marked ``Decision:``; plans the user approved (for review)
lessons      lines marked ``Lesson:``; what the user corrects is in the rules
people       sentences of the user about a named person (for review)
procedures   lists marked ``Playbook:``; sequences of successful commands (for review)
facts        lines marked ``Fact:``; the cause named by the agent at the end (for review)
===========  ============================================================================================
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.knowledge.harvest.commands import sequence_of
from engine.knowledge.harvest.reply import item_of, single
from engine.knowledge.item import Category, Item, Voice
from engine.knowledge.proposed import WHY
from engine.lifecycle.extraction import places
from engine.lifecycle.extraction.statements import statements_in

if TYPE_CHECKING:
    from engine.lifecycle.extraction.session import Session

_LESSONS = frozenset({"lesson", "lesson learned", "learned", "note to self", "lehre", "merke"})
"""Labels of lessons, which a harvest treats as facts."""
_PLAYBOOK = re.compile(r"\*\*(?P<name>[^*]+)\*\*: (?P<steps>.+)")


def decisions(session: Session) -> Iterator[Item]:
    """Decisions, by project."""
    for _, item in session.marks:
        if item.category == "decisions":
            yield places.decision(item, session)
    for item in session.proposals:
        if item.why == WHY["plan"]:
            yield places.decision(item, session)


def lessons(session: Session) -> Iterator[Item]:
    """Lessons."""
    for label, item in session.marks:
        if label in _LESSONS:
            yield places.lesson(item)


def people(session: Session) -> Iterator[Item]:
    """Statements of the user about people; all need review."""
    for name, sentence, is_manner in statements_in(session.turns, session.known.people or {}):
        for item in _item("facts", sentence, "person"):
            placed = places.about_person(item, session, name, manner=is_manner)
            yield replace(placed, why=WHY["person"])


def procedures(session: Session) -> Iterator[Item]:
    """Procedures, each on its own page."""
    for _, item in session.marks:
        if item.category == "playbooks" and (match := _PLAYBOOK.fullmatch(item.text)):
            for marked in _item("facts", single(match["steps"]), item.voice):
                with contextlib.suppress(ValueError):  # not a usable name
                    yield places.procedure(marked, match["name"])
    found = sequence_of(session.turns)
    if found is not None:
        name, steps = found
        for item in _item("facts", steps, "agent"):
            yield replace(places.procedure(item, name), why=WHY["command"])


def facts(session: Session) -> Iterator[Item]:
    """Facts."""
    for label, item in session.marks:
        if item.category == "facts" and label and label not in _LESSONS:
            yield places.fact(item, session)
    for item in session.proposals:
        if item.category == "facts":
            yield places.fact(item, session)


def _item(category: Category, text: str, voice: Voice) -> Iterator[Item]:
    """An item, if the text is valid for one."""
    try:
        yield item_of(category, text, voice=voice)
    except ValueError:
        return
