"""Where what is extracted goes: each kind to its page, or to a category file where it has none (spec 2.2)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.context.fixed import JOURNAL
from engine.context.sources import MEMORY
from engine.knowledge.pages import PEOPLE, PROCEDURES, REFERENCE, context_of
from engine.knowledge.session_notes import OLD_JOURNALS
from engine.provenance.disguise import is_disguised
from engine.provenance.instructions import is_hostile_act, is_instruction
from engine.redaction.detect import secrets_in
from engine.store.paths import slugify

if TYPE_CHECKING:
    from engine.knowledge.item import Item
    from engine.lifecycle.extraction.session import Session

DECISIONS = "Key Decisions"
LESSONS = "Lessons Learned"
STEPS = "Steps"
FACTS = "Facts"
CONTEXT = "Context"
COMMUNICATION = "Communication"

_GENERAL = frozenset({"", "general", "none", "other", "misc", "untitled", "n-a", "unknown", "this-project"})
"""What a model calls a project or a subject where there is none."""
_TOPIC_CHARACTERS = 40
_NAME_CHARACTERS = 60
_ODD = re.compile(r"[^\w .&/+'’()-]+")


def decision(item: Item, session: Session, project: str = "") -> Item:
    """A decision on the page of its project; in decisions.md where it has none.

    ``project`` is as somebody called it. One that has no page yet gets one if the person named it.
    """
    slug = slugify(project) if project.strip() else ""
    if slug in _GENERAL or not (slug in session.known.projects or _is_named(project, session, aloud=True)):
        slug, project = session.project, ""
    if not slug:
        return replace(item, category="decisions")
    return _on(item, context_of(slug), DECISIONS, project or slug.replace("-", " ").capitalize())


def lesson(item: Item) -> Item:
    """A lesson in MEMORY.md."""
    return _on(item, MEMORY, LESSONS)


def about_person(item: Item, session: Session, name: str, *, manner: bool = False) -> Item:
    """What is said of somebody, on their page.

    ``manner``: it says how one speaks with them.

    Raises:
        ValueError: Nobody in the session names them.
    """
    name = plain_name(name)
    known = (session.known.people or {}).get(slugify(name)) if name else None
    if known is None and not (name and _is_named(name, session)):
        raise ValueError("names somebody whom nobody names in the session")
    path = known or f"{PEOPLE}/{slugify(name)}.md"
    return _on(item, path, COMMUNICATION if manner else CONTEXT, name)


def procedure(item: Item, name: str) -> Item:
    """A procedure on the page of its name.

    Raises:
        ValueError: It has no name.
    """
    name = plain_name(name)
    if not name or slugify(name) in _GENERAL:
        raise ValueError("has no name")
    return _on(item, f"{PROCEDURES}/{slugify(name)}.md", STEPS, name)


def fact(item: Item, session: Session, subject: str = "") -> Item:
    """A fact on the page of its subject; in facts.md where it has none."""
    subject = plain_name(subject)
    path = f"{REFERENCE}/{slugify(subject)}.md" if subject else ""
    if slugify(subject) in _GENERAL or not (path in session.known.pages or _is_named(subject, session)):
        return replace(item, category="facts")
    return _on(item, path, FACTS, subject)


def entry(item: Item, session: Session, topic: str = "") -> Item:
    """An entry of the journal of the session's day, below its topic, wherever that journal is by now."""
    section = (
        plain_name(topic, _TOPIC_CHARACTERS) or session.project or plain_name(session.folder) or "sessions"
    )
    archived = f"{OLD_JOURNALS}/{session.day}.md"
    path = archived if archived in session.known.archived else f"{JOURNAL}/{session.day}.md"
    return _on(item, path, section)


def plain_name(text: str, most: int = _NAME_CHARACTERS) -> str:
    """A name or a topic that can be a heading: one line, nothing of Markdown, not too long; empty where it is
    none, or is written to do harm.
    """
    name = " ".join(_ODD.sub(" ", text).split()).strip(" .-/_")
    if is_instruction(text) or is_instruction(name) or is_hostile_act(name) or is_disguised(text):
        return ""
    if secrets_in(text):
        return ""
    return name if len(name) <= most else name[:most].rpartition(" ")[0] or name[:most]


def _on(item: Item, path: str, section: str, subject: str = "") -> Item:
    return replace(item, category="pages", path=path, section=section, subject=subject)


def _is_named(name: str, session: Session, *, aloud: bool = False) -> bool:
    """Whether the person, or the agent, names something so; ``aloud`` counts the person alone."""
    said = session.source.voices
    text = said.person if aloud else f"{said.person}\n{said.agent}"
    words = re.escape(" ".join(name.split()))
    return bool(name.strip()) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None
