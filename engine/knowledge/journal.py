"""Journals of multi-step writes, kept until every step is done (design 6.2).

If a run is killed, the next one repeats all steps in the journal, so every step must be repeatable.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from engine.knowledge.item import Edit
from engine.knowledge.review import PendingItem, pending_item_in, tree_of
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.files import Files

T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class Journal(Generic[T]):
    """The journals of one kind of work. Safe to use from several processes.

    ``folder`` is workspace-relative. ``decode`` gives ``None`` for invalid data; ``lost`` says in one clause
    what happens to work whose journal cannot be read.
    """

    files: Files
    folder: str
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T | None]
    lost: str
    on_problem: Callable[[str], None]

    def keep(self, name: str, work: T) -> None:
        """Writes a journal, before the first step of the work.

        Raises:
            WriteFailed, ReadOnly: It was not written, so the work must not start.
        """
        self.files.replace(self._path(name), self.encode(work))

    def drop(self, name: str) -> None:
        """Removes a journal, after the last step."""
        self.files.remove(self._path(name))

    def finish(self, settle: Callable[[str, T], R]) -> list[R]:
        """Finishes interrupted work under the workspace's lock.

        ``settle`` gets a journal's name and work, does the work and drops the journal.

        Raises:
            WriteFailed: Work cannot be finished now; its journal is kept.
        """
        folder = self.files.workspace.root / self.folder
        if self.files.read_only or not folder.is_dir() or not self.files.workspace.holds(self.folder):
            return []
        done: list[R] = []
        with self.files.lock():
            for path in sorted(folder.glob("*.json")):
                work = self.decode(self.files.read(self._path(path.stem)))
                if work is None:
                    self.on_problem(f"{self._path(path.stem)}: cannot be read; {self.lost}")
                    self.drop(path.stem)
                else:
                    done.append(settle(path.stem, work))
        return done

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Edits to write and items to queue for review; subclasses add what the work is about."""

    edits: tuple[Edit, ...]
    waiting: tuple[PendingItem, ...] = ()  # items to queue for review


W = TypeVar("W", bound=Work)


def encoded(work: Work) -> bytes:
    """Work as the content of its journal."""
    tree = asdict(work) | {"waiting": [tree_of(each) for each in work.waiting]}
    return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")


def decoded(kind: type[W], data: bytes) -> W | None:
    """The work in a journal; ``None`` if it is not valid."""
    try:
        tree = json.loads(data)
        waiting = tuple(pending_item_in(each) for each in tree.pop("waiting"))
        work = typed(kind, tree)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    known = tuple(each for each in waiting if each is not None)
    return replace(work, waiting=known) if known == waiting else None
