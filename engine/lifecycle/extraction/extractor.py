"""The extractor protocol and the six built-in extractors (spec 8.3).

Installed packages can add extractors with an entry point in the group ``autopoiesis.extractors``: an object
that implements ``Extractor``, under the name used in ``extraction.extractors``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.errors import ConfigError
from engine.knowledge.harvest.prompt import task
from engine.lifecycle.extraction import heuristics, rows
from engine.settings.lifecycle import EXTRACTORS

if TYPE_CHECKING:
    from engine.knowledge.item import Item
    from engine.lifecycle.extraction.session import Session
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


SHIPPED: dict[str, Extractor] = {
    each.name: each
    for each in (
        Shipped("decisions", "1", rows.decision, heuristics.decisions),
        Shipped("lessons", "1", rows.lesson, heuristics.lessons),
        Shipped("people", "1", rows.person, heuristics.people),
        Shipped("procedures", "1", rows.procedure, heuristics.procedures),
        Shipped("facts", "1", rows.fact, heuristics.facts),
        Shipped("journal", "1", rows.entry, lambda _session: ()),  # a recap
    )
}
assert tuple(SHIPPED) == EXTRACTORS


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
