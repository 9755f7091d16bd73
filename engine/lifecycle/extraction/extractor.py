"""What an extractor is, and the six that ship (spec 8.3).

An installed package brings a further one as an entry point of the group ``autopoiesis.extractors``: an object
that has what ``Extractor`` says, under the name by which ``extraction.extractors`` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.errors import ConfigError
from engine.knowledge.harvest.prompt import task
from engine.lifecycle.extraction import rows, unaided
from engine.settings.lifecycle import EXTRACTORS

if TYPE_CHECKING:
    from engine.knowledge.item import Item
    from engine.lifecycle.extraction.session import Session
    from engine.store.files import Files

GROUP = "autopoiesis.extractors"
"""The group of entry points."""
PROMPTS = Path(__file__).parent / "prompts"
"""The tasks of those that ship; a workspace's own stand in ``knowledge/prompts``."""


class Extractor(Protocol):
    """Takes one kind of knowledge out of sessions. It writes nothing: what it finds is judged as a harvest's.

    Where a model is asked, it is shown a window of the session at a time and the task, and replies with a
    JSON object that has a list called as the extractor.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Sessions are read anew by another one."""
        ...

    def task(self, files: Files) -> str:
        """What a model is asked; empty where it needs none. Raises as ``AutopoiesisError``."""
        ...

    def read(self, row: Any, session: Session) -> Item:
        """The item that a row of a reply's list stands for.

        Raises:
            ValueError: It is none; the message is one clause.
        """
        ...

    def without_model(self, session: Session) -> Iterable[Item]:
        """What can be known without a model. An item whose ``why`` says something waits for a person."""
        ...


@dataclass(frozen=True, slots=True)
class Shipped:
    """An extractor that ships with the program."""

    name: str
    version: str
    read_row: Callable[[Any, Session], Item]
    unaided: Callable[[Session], Iterable[Item]]

    def task(self, files: Files) -> str:
        """The workspace's own task where it has one, else the one that ships."""
        return task(f"{self.name}.md", files, PROMPTS)

    def read(self, row: Any, session: Session) -> Item:
        """As ``Extractor.read``."""
        return self.read_row(row, session)

    def without_model(self, session: Session) -> Iterable[Item]:
        """As ``Extractor.without_model``."""
        return self.unaided(session)


SHIPPED: dict[str, Extractor] = {
    each.name: each
    for each in (
        Shipped("decisions", "1", rows.decision, unaided.decisions),
        Shipped("lessons", "1", rows.lesson, unaided.lessons),
        Shipped("people", "1", rows.person, unaided.people),
        Shipped("procedures", "1", rows.procedure, unaided.procedures),
        Shipped("facts", "1", rows.fact, unaided.facts),
        Shipped("journal", "1", rows.entry, unaided.journal),
    )
}
assert tuple(SHIPPED) == EXTRACTORS


def extractors_named(names: Sequence[str]) -> tuple[Extractor, ...]:
    """The extractors of some names, in their order and each once. Only what is named is loaded.

    Raises:
        ConfigError: No shipped extractor and no installed package has such a name, or what has it is no
            extractor.
    """
    return tuple(SHIPPED.get(name) or _installed(name) for name in dict.fromkeys(names))


def _installed(name: str) -> Extractor:
    found = list(metadata.entry_points(group=GROUP, name=name))
    if not found:
        raise ConfigError(
            f"there is no extractor {name!r:.60}",
            where="extraction.extractors",
            hint=f"choose among {', '.join(SHIPPED)}, or install the package that brings it",
        )
    try:
        loaded = found[0].load()
        made: Extractor = loaded() if isinstance(loaded, type) else loaded
        is_whole = made.name == name and isinstance(made.version, str) and bool(made.version)
    except Exception as error:  # code of another package
        raise ConfigError(
            f"the extractor {name!r:.60} cannot be loaded ({type(error).__name__}: {error})"[:300],
            where="extraction.extractors",
        ) from error
    methods = (getattr(made, each, None) for each in ("task", "read", "without_model"))
    if not (is_whole and all(map(callable, methods))):
        raise ConfigError(
            f"what is installed as {name!r:.60} is no extractor of that name", where="extraction.extractors"
        )
    return made
