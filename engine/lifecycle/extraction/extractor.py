"""The extractor protocol and the six built-in extractors (spec 8.3).

Installed packages can add extractors with an entry point in the group ``autopoiesis.extractors``: an object
that implements ``Extractor``, under the name used in ``extraction.extractors``.

Rows are untrusted: their fields become single plain lines (``engine.knowledge.harvest.reply``), and items
are checked as in a harvest. The field names are those in the prompts.

Without a model:

===========  ============================================================================================
Extractor    finds
===========  ============================================================================================
decisions    lines marked ``Decision:``
lessons      lines marked ``Lesson:``; what the user corrects is in the rules
people       nothing
procedures   nothing
facts        lines marked ``Fact:``
===========  ============================================================================================
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from engine.context.sources import MEMORY
from engine.errors import AutopoiesisError, ConfigError
from engine.knowledge.harvest.inquiry import task
from engine.knowledge.harvest.markers import LESSONS as OF_LESSONS
from engine.knowledge.harvest.markers import labelled
from engine.knowledge.harvest.reading import SourceText, read_source
from engine.knowledge.harvest.reply import fields_of, held_if_long, single, steps_of
from engine.knowledge.item import Item, Origin
from engine.knowledge.pages import PEOPLE, PROCEDURES, REFERENCE, context_of, projects
from engine.lifecycle.recaps.wording import NAME, read_line
from engine.provenance.disguise import is_disguised
from engine.provenance.instructions import is_hostile_act, is_instruction
from engine.redaction.detect import secrets_in
from engine.settings.model import EXTRACTORS
from engine.store.documents import parse
from engine.store.paths import slugify
from engine.transcripts.days import day_of
from engine.transcripts.places import REPOSITORY_FIELD, head_fields, read_head, repository_of
from engine.transcripts.projects import projects_of
from engine.transcripts.turn import Turn

if TYPE_CHECKING:
    from engine.store.files import Files

GROUP = "autopoiesis.extractors"
"""The entry point group."""
PROMPTS = Path(__file__).parent / "prompts"
"""The built-in tasks; a workspace's own are in ``knowledge/prompts``."""


class Extractor(Protocol):
    """Extracts one kind of knowledge from sessions. It writes nothing; its items are checked as in a harvest.

    A model gets the task and one window of the session at a time, and replies with a JSON object that has a
    list named like the extractor.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """A new version re-reads every session."""
        ...

    def task(self, files: Files) -> str:
        """The task for a model; empty if it needs no model. May raise ``AutopoiesisError``."""
        ...

    def read(self, row: Any, session: Session) -> Item:
        """The item for a row of a reply's list.

        Raises:
            ValueError: The row is invalid; the message is one clause.
        """
        ...

    def without_model(self, session: Session) -> Iterable[Item]:
        """The items found without a model. An item with a ``why`` goes to the review queue."""
        ...


@dataclass(frozen=True, slots=True)
class Shipped:
    """A built-in extractor."""

    name: str
    version: str
    read_row: Callable[[Any, Session], Item]
    heuristic: Callable[[Session], Iterable[Item]]

    def task(self, files: Files) -> str:
        """The workspace's own task, or else the built-in one."""
        return task(f"{self.name}.md", files, PROMPTS)

    def read(self, row: Any, session: Session) -> Item:
        """As ``Extractor.read``."""
        return self.read_row(row, session)

    def without_model(self, session: Session) -> Iterable[Item]:
        """As ``Extractor.without_model``."""
        return self.heuristic(session)


def extractors_named(names: Sequence[str]) -> tuple[Extractor, ...]:
    """The named extractors, in order, without duplicates. No others are loaded.

    Raises:
        ConfigError: No built-in or installed extractor has the name, or the installed object is not an
            extractor.
    """
    return tuple(SHIPPED.get(name) or _installed(name) for name in dict.fromkeys(names))


def _installed(name: str) -> Extractor:
    found = list(metadata.entry_points(group=GROUP, name=name))
    if not found:
        raise ConfigError(
            f"no extractor {name!r:.60}",
            where="extraction.extractors",
            hint=f"choose from {', '.join(SHIPPED)}, or install the package that provides it",
        )
    try:
        loaded = found[0].load()
        made: Extractor = loaded() if isinstance(loaded, type) else loaded
        is_whole = made.name == name and isinstance(made.version, str) and bool(made.version)
    except Exception as error:  # code of another package
        raise ConfigError(
            f"extractor {name!r:.60} cannot be loaded ({type(error).__name__}: {error})"[:300],
            where="extraction.extractors",
        ) from error
    methods = (getattr(made, each, None) for each in ("task", "read", "without_model"))
    if not (is_whole and all(map(callable, methods))):
        raise ConfigError(
            f"what is installed as {name!r:.60} is not an extractor of that name",
            where="extraction.extractors",
        )
    return made


def decisions(session: Session) -> Iterator[Item]:
    """Decisions, by project."""
    for _, item in session.marks:
        if item.category == "decisions":
            yield decision(item, session)


def lessons(session: Session) -> Iterator[Item]:
    """Lessons."""
    for label, item in session.marks:
        if label in OF_LESSONS:
            yield lesson(item)


def facts(session: Session) -> Iterator[Item]:
    """Facts."""
    for label, item in session.marks:
        if item.category == "facts" and label not in OF_LESSONS:
            yield fact(item, session)


DECISIONS = "Key Decisions"
LESSONS = "Lessons Learned"
STEPS = "Steps"
FACTS = "Facts"
CONTEXT = "Context"
COMMUNICATION = "Communication"

_GENERAL = frozenset({"", "general", "none", "other", "misc", "untitled", "n-a", "unknown", "this-project"})
"""Words a model uses for no project or subject."""
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


def plain_name(text: str) -> str:
    """A name as a heading: one short line without Markdown; empty if it is invalid or hostile."""
    name = " ".join(_ODD.sub(" ", text).split()).strip(" .-/_")
    if is_instruction(text) or is_instruction(name) or is_hostile_act(name) or is_disguised(text):
        return ""
    if secrets_in(text):
        return ""
    short = name[:_NAME_CHARACTERS]
    return name if name == short else short.rpartition(" ")[0] or short


def _on(item: Item, path: str, section: str, subject: str = "") -> Item:
    return replace(item, category="pages", path=path, section=section, subject=subject)


def _is_named(name: str, session: Session, *, aloud: bool = False) -> bool:
    """True if the user or the agent uses a name; with ``aloud`` only the user counts."""
    said = session.source.voices
    text = said.person if aloud else f"{said.person}\n{said.agent}"
    words = re.escape(" ".join(name.split()))
    return bool(name.strip()) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


_NUMBER = re.compile(r"(?:\A|(?<=-> ))\d{1,3}[.)]\s+")
"""The number of a step."""


def read_decision(row: Any, session: Session) -> Item:
    """``{"decision": …, "why": …, "project": …}``."""
    text, reason, project = _fields(row, "decision", "why", "project")
    return decision(_read_item(text, reason), session, project)


def read_lesson(row: Any, _session: Session) -> Item:
    """``{"lesson": …, "why": …}``."""
    return lesson(_read_item(*_fields(row, "lesson", "why")))


def read_person(row: Any, session: Session) -> Item:
    """``{"name": …, "statement": …, "kind": "communication" or "context"}``."""
    name, statement, kind = _fields(row, "name", "statement", "kind")
    is_manner = kind.casefold().startswith("commun")
    return about_person(_read_item(statement), session, name, manner=is_manner)


def read_procedure(row: Any, _session: Session) -> Item:
    """``{"name": …, "steps": …}``."""
    name, steps = fields_of(row, "name", "steps")
    plain = _NUMBER.sub("", steps_of(steps))
    return procedure(_read_item(plain), single(name))


def read_fact(row: Any, session: Session) -> Item:
    """``{"subject": …, "statement": …, "detail": …}``."""
    subject, statement, detail = _fields(row, "subject", "statement", "detail")
    return fact(_read_item(statement, detail), session, subject)


def _read_item(first: str, second: str = "") -> Item:
    return held_if_long("facts", first, second)


def _fields(row: Any, *names: str) -> list[str]:
    """The fields of a row, each on one line; raises as ``fields_of``."""
    return list(map(single, fields_of(row, *names)))


SHIPPED: dict[str, Extractor] = {
    each.name: each
    for each in (
        Shipped("decisions", "1", read_decision, decisions),
        Shipped("lessons", "1", read_lesson, lessons),
        Shipped("people", "1", read_person, lambda _session: ()),
        Shipped("procedures", "1", read_procedure, lambda _session: ()),
        Shipped("facts", "1", read_fact, facts),
        Shipped(NAME, "1", lambda row, _session: read_line(row), lambda _session: ()),  # recaps
    )
}
assert tuple(SHIPPED) == EXTRACTORS


_FIELDS = ("session_id", "started", "ended", "topic", "project", REPOSITORY_FIELD, "cwd")
_MAX_PAGES = 5_000


@dataclass(frozen=True, slots=True)
class Known:
    """The existing pages, which determine where items go."""

    projects: tuple[str, ...] = ()  # slugs of projects with a page
    people: Mapping[str, str] | None = None  # pages by slug of the full or first name
    pages: frozenset[str] = frozenset()  # of procedures and references, workspace-relative


@dataclass(frozen=True)
class Session:
    """A session to extract knowledge from."""

    source: SourceText
    day: str  # on which it began, in the configured time zone; 1970-01-01 if unknown
    topic: str  # from its header; may be empty
    project: str  # slug of its project; empty if unknown
    folder: str  # name of its repository or else its working directory; may be empty
    slug: str  # of the project of that folder, even without a page; may be empty
    known: Known

    @property
    def origin(self) -> Origin:
        """Where its items come from."""
        return Origin(self.source.name, self.day, session=self.source.session)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Its turns, without text injected from memory."""
        return self.source.turns

    @cached_property
    def marks(self) -> tuple[tuple[str, Item], ...]:
        """Labelled items, with their labels."""
        return tuple(labelled(self.turns))


def known_in(files: Files) -> Known:
    """The existing pages; unreadable ones are skipped."""
    people: dict[str, str] = {}
    firsts: dict[str, set[str]] = {}
    for path in _pages(files, PEOPLE):
        for name in _names(files, path):
            people.setdefault(slugify(name), path)
            firsts.setdefault(slugify(name.split()[0]), set()).add(path)
    for first, paths in firsts.items():
        if len(paths) == 1:  # skip ambiguous first names
            people.setdefault(first, next(iter(paths)))
    pages = (*_pages(files, PROCEDURES), *_pages(files, REFERENCE))
    return Known(tuple(projects(files.workspace)), people, frozenset(pages))


def read_session(files: Files, path: str, known: Known, zone: str) -> Session:
    """A session of the workspace.

    Raises:
        FileNotFoundError: There is no such file.
        PathRefused, DocumentError: As ``Files.read``.
    """
    source = read_source(files, path)
    place = files.workspace.resolve(path)
    head = head_fields(read_head(place), _FIELDS)
    names = projects_of(files.workspace.root).names_of(place)
    folder = PurePosixPath(head[REPOSITORY_FIELD] or head["cwd"]).name
    day = day_of(path, head["started"] or head["ended"], zone) or "1970-01-01"
    return Session(
        source, day, head["topic"], _project(head, names, known), folder, next(iter(names), ""), known
    )


def _project(head: Mapping[str, str], names: Sequence[str], known: Known) -> str:
    """The project named in a header, or else the session's if it has a page; without a repository, one with a
    page that its topic names.
    """
    if head["project"]:
        return names[0]
    own = next((name for name in names if name in known.projects), "")
    if own or head[REPOSITORY_FIELD] or repository_of(head["cwd"]):
        return own
    topic = slugify(head["topic"], 200).split("-") if head["topic"] else []
    named = [each for each in known.projects if each in topic]
    return named[0] if len(named) == 1 else ""


def _pages(files: Files, folder: str) -> list[str]:
    place = files.workspace.root / folder
    if not files.workspace.holds(folder):
        return []
    try:
        names = sorted(each.name for each in place.iterdir() if each.suffix == ".md" and each.is_file())
    except OSError:
        return []
    return [f"{folder}/{name}" for name in names[:_MAX_PAGES] if not name.startswith((".", "_"))]


def _names(files: Files, path: str) -> list[str]:
    """The names of a page's person."""
    found = [PurePosixPath(path).stem.replace("-", " ")]
    with contextlib.suppress(AutopoiesisError, FileNotFoundError):
        document = parse(files.read(path, limit=256 * 1024), path)
        name = document.header.get("name")
        titles = [line[2:] for line in document.body.split("\n") if line.startswith("# ")]
        found += [each for each in ([name] if isinstance(name, str) else []) + titles[:1] if each.split()]
    return found
