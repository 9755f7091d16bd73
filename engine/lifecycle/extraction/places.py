"""Destinations of extracted items: the page for the kind, or a category file if there is none (spec 2.2)."""

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
"""Words a model uses for no project or subject."""
_TOPIC_CHARACTERS = 40
_NAME_CHARACTERS = 60
_ODD = re.compile(r"[^\w .&/+'’()-]+")


def decision(item: Item, session: Session, project: str = "") -> Item:
    """A decision on the page of its project, or in decisions.md if it has none.

    ``project`` may be any name for it. A new page is created only if the user named the project.
    """
    slug = slugify(project) if project.strip() else ""
    if session.folder and slug == slugify(session.folder):
        slug = session.slug  # another project may be called the same
    if slug in _GENERAL or not (slug in session.known.projects or _is_named(project, session, aloud=True)):
        slug, project = session.project, ""
    if not slug:
        return replace(item, category="decisions")
    return _on(item, context_of(slug), DECISIONS, project or slug.replace("-", " ").capitalize())


def lesson(item: Item) -> Item:
    """A lesson in MEMORY.md."""
    return _on(item, MEMORY, LESSONS)


def about_person(item: Item, session: Session, name: str, *, manner: bool = False) -> Item:
    """A statement about a person, on their page.

    ``manner``: it is about how they communicate.

    Raises:
        ValueError: The session does not name them.
    """
    name = plain_name(name)
    known = (session.known.people or {}).get(slugify(name)) if name else None
    if known is None and not (name and _is_named(name, session)):
        raise ValueError("names a person who is not named in the session")
    path = known or f"{PEOPLE}/{slugify(name)}.md"
    return _on(item, path, COMMUNICATION if manner else CONTEXT, name)


def procedure(item: Item, name: str) -> Item:
    """A procedure on its own page.

    Raises:
        ValueError: It has no name.
    """
    name = plain_name(name)
    if not name or slugify(name) in _GENERAL:
        raise ValueError("has no name")
    return _on(item, f"{PROCEDURES}/{slugify(name)}.md", STEPS, name)


def fact(item: Item, session: Session, subject: str = "") -> Item:
    """A fact on the page of its subject, or in facts.md if it has none."""
    subject = plain_name(subject)
    path = f"{REFERENCE}/{slugify(subject)}.md" if subject else ""
    if slugify(subject) in _GENERAL or not (path in session.known.pages or _is_named(subject, session)):
        return replace(item, category="facts")
    return _on(item, path, FACTS, subject)


def entry(item: Item, session: Session, topic: str = "") -> Item:
    """An entry in the journal of the session's day, by topic; in the archived journal if it was archived."""
    section = (
        plain_name(topic, _TOPIC_CHARACTERS) or session.project or plain_name(session.folder) or "sessions"
    )
    archived = f"{OLD_JOURNALS}/{session.day}.md"
    path = archived if archived in session.known.archived else f"{JOURNAL}/{session.day}.md"
    return _on(item, path, section)


def plain_name(text: str, limit: int = _NAME_CHARACTERS) -> str:
    """A name or topic as a heading: one short line without Markdown; empty if it is invalid or hostile."""
    name = " ".join(_ODD.sub(" ", text).split()).strip(" .-/_")
    if is_instruction(text) or is_instruction(name) or is_hostile_act(name) or is_disguised(text):
        return ""
    if secrets_in(text):
        return ""
    return name if len(name) <= limit else name[:limit].rpartition(" ")[0] or name[:limit]


def _on(item: Item, path: str, section: str, subject: str = "") -> Item:
    return replace(item, category="pages", path=path, section=section, subject=subject)


def _is_named(name: str, session: Session, *, aloud: bool = False) -> bool:
    """True if the user or the agent uses a name; with ``aloud`` only the user counts."""
    said = session.source.voices
    text = said.person if aloud else f"{said.person}\n{said.agent}"
    words = re.escape(" ".join(name.split()))
    return bool(name.strip()) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None
