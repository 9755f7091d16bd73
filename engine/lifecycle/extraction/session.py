"""A session for extractors: its turns, its date, and the existing pages."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.markers import labelled
from engine.knowledge.harvest.proposals import proposed
from engine.knowledge.harvest.reading import SourceText, read_source
from engine.knowledge.pages import PEOPLE, PROCEDURES, REFERENCE
from engine.knowledge.session_notes import OLD_JOURNALS, projects
from engine.store.documents import parse
from engine.store.paths import slugify
from engine.transcripts.days import day_of
from engine.transcripts.places import REPOSITORY_FIELD, head_fields, read_head, repository_of
from engine.transcripts.projects import projects_of

if TYPE_CHECKING:
    from engine.knowledge.item import Item
    from engine.store.files import Files
    from engine.transcripts.turn import Turn

_FIELDS = ("session_id", "started", "ended", "topic", "project", REPOSITORY_FIELD, "cwd")
_MAX_PAGES = 5_000


@dataclass(frozen=True, slots=True)
class Known:
    """The existing pages, which determine where items go."""

    projects: tuple[str, ...] = ()  # slugs of projects with a page
    people: Mapping[str, str] | None = None  # pages by slug of the full or first name
    pages: frozenset[str] = frozenset()  # of procedures and references, workspace-relative
    archived: frozenset[str] = frozenset()  # journals in the archive, likewise


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
    def turns(self) -> tuple[Turn, ...]:
        """Its turns, without text injected from memory."""
        return self.source.turns

    @cached_property
    def marks(self) -> tuple[tuple[str, Item], ...]:
        """Labelled items, with their labels."""
        return tuple(labelled(self.turns))

    @cached_property
    def proposals(self) -> tuple[Item, ...]:
        """Items that a harvest without a model would propose for review."""
        return proposed(self.turns)


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
    archived = frozenset(_pages(files, OLD_JOURNALS))
    return Known(tuple(projects(files.workspace)), people, frozenset(pages), archived)


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
