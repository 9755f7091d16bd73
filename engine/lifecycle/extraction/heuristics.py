"""Extraction without a model.

===========  ============================================================================================
Extractor    finds
===========  ============================================================================================
decisions    lines marked ``Decision:``; plans the user approved (for review)
lessons      lines marked ``Lesson:``; what the user corrects is in the rules
people       sentences of the user about a named person (for review)
procedures   lists marked ``Playbook:``; sequences of successful commands (for review)
facts        lines marked ``Fact:``; the cause named by the agent at the end (for review)
journal      the first request, decisions, changed files and the closing summary
===========  ============================================================================================
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.knowledge.harvest.commands import sequence_of
from engine.knowledge.harvest.markers import is_labelled
from engine.knowledge.harvest.reply import item_of, single
from engine.knowledge.item import Category, Item, Voice
from engine.knowledge.proposed import WHY
from engine.lifecycle.extraction import places
from engine.lifecycle.extraction.statements import statements_in
from engine.provenance.pasted import is_prose
from engine.provenance.spoken import own_and_quoted
from engine.transcripts.injected import BY_PROGRAM
from engine.transcripts.turn import ANSWER, COMMAND, Turn

if TYPE_CHECKING:
    from engine.lifecycle.extraction.session import Session

ASKED = "Asked: "
"""Prefix of the entry with the user's request in their own words."""

_LESSONS = frozenset({"lesson", "lesson learned", "learned", "note to self", "lehre", "merke"})
"""Labels of lessons, which a harvest treats as facts."""
_PLAYBOOK = re.compile(r"\*\*(?P<name>[^*]+)\*\*: (?P<steps>.+)")
_WRITERS = frozenset(
    {"edit", "multiedit", "write", "notebookedit", "apply_patch", "write_file", "edit_file", "create"}
)
_FAILED = re.compile(r"(?:error|rejected|interrupted|refused|failed)\b", re.IGNORECASE)
_PATCHED = re.compile(r"(?:add|update|delete) (\S+)")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\d\.)\s+")
_PRINTED = re.compile(r"\s*[^\w\s\"'(“«¿¡@#/`*-]")
"""The start of a line of decorated program output."""
_MAX_ASKED_CHARACTERS = 160
_MAX_DECISIONS = 3
_MAX_FILES = 4


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


def journal(session: Session) -> Iterator[Item]:
    """The session in a few journal lines, by project, folder or topic."""
    dialogue = [turn for turn in session.turns if turn.is_dialogue and turn.role != "system"]
    topic = session.project or session.folder or session.topic
    for text, voice in _summary(session, dialogue):
        for item in _item("facts", text, voice):
            yield places.entry(item, session, topic)


def _summary(session: Session, dialogue: list[Turn]) -> Iterator[tuple[str, Voice]]:
    asked = next(filter(None, map(_request, dialogue)), "")
    if asked:
        yield f"{ASKED}{asked}", "person"
    decided = [item for _, item in session.marks if item.category == "decisions"]
    for item in decided[:_MAX_DECISIONS]:
        yield f"Decided: {item.text}", item.voice
    changed = _changed(dialogue)
    if changed:
        more = len(changed) - _MAX_FILES
        yield f"Changed: {', '.join(changed[:_MAX_FILES])}{f' and {more} more' if more > 0 else ''}", "agent"
    done = next((item for item in session.proposals if item.category == "tasks_done"), None)
    if done is not None:
        yield f"Done: {done.text}", "agent"


def _request(turn: Turn) -> str:
    """The user's request in a turn, in a sentence or two; empty if there is none."""
    if turn.role != "user" or turn.kind in (ANSWER, COMMAND):
        return ""
    own, _ = own_and_quoted(turn.text)
    if BY_PROGRAM.search(own):
        return ""
    lines = [line for line in own.split("\n") if line.strip() and not is_labelled(line)]
    prose = [line for line in lines if is_prose(line) and not _PRINTED.match(line)]
    if 2 * len(prose) < len(lines):
        return ""  # mostly program output
    line = single(" ".join(prose))
    text = ""
    for sentence in _SENTENCE.split(line):
        if text and len(text) + len(sentence) > _MAX_ASKED_CHARACTERS:
            break
        text = f"{text} {sentence}".strip()
    if len(text.split()) < 3:
        return ""
    if len(text) <= _MAX_ASKED_CHARACTERS:
        return text
    return text[:_MAX_ASKED_CHARACTERS].rpartition(" ")[0] + "…"


def _changed(dialogue: list[Turn]) -> list[str]:
    """The files written by the agent, as the last two parts of their paths, without duplicates."""
    found: dict[str, None] = {}
    for turn in dialogue:
        for tool in turn.tools:
            if tool.name.casefold() not in _WRITERS or _FAILED.match(tool.result):
                continue
            paths = _PATCHED.findall(tool.summary) or [tool.summary.split(" — ")[0].strip()]
            for path in paths:
                parts = PurePosixPath(path.strip("`,")).parts
                if parts and " " not in path and len(path) <= 200:
                    found["/".join(parts[-2:]).lstrip("/")] = None
    return list(found)


def _item(category: Category, text: str, voice: Voice) -> Iterator[Item]:
    """An item, if the text is valid for one."""
    try:
        yield item_of(category, text, voice=voice)
    except ValueError:
        return
