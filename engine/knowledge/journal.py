"""Journals of multi-step writes, kept until every step is done (design 6.2).

If a run is killed, the next one repeats all steps in the journal, so every step must be repeatable.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from engine.store.files import Files

T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class Journal(Generic[T]):
    """The journals of one kind of work. Safe to use from several processes.

    ``folder`` is workspace-relative. ``read`` gives the work in a JSON object and raises as ``typed`` if it
    is not valid; ``tree_of`` is the reverse. ``lost`` says in one clause what happens to work whose journal
    cannot be read.
    """

    files: Files
    folder: str
    read: Callable[[Any], T]
    lost: str
    on_problem: Callable[[str], None]
    tree_of: Callable[[T], dict[str, Any]] = asdict  # type: ignore[assignment]  # of a dataclass

    def keep(self, name: str, work: T) -> None:
        """Writes a journal, before the first step of the work.

        Raises:
            WriteFailed, ReadOnly: It was not written, so the work must not start.
        """
        text = json.dumps(self.tree_of(work), ensure_ascii=False)
        self.files.replace(self._path(name), text.encode("utf-8", "surrogatepass"))

    def drop(self, name: str) -> None:
        """Removes a journal, after the last step."""
        self.files.remove(self._path(name))

    def finish(self, settle: Callable[[str, T], R]) -> list[R]:
        """Finishes interrupted work under the workspace's lock.

        ``settle`` gets a journal's name and work, does the work and drops the journal.

        Raises:
            WriteFailed: Work cannot be finished now; its journal is kept.
        """
        done: list[R] = []
        if self.files.read_only or not self._names():
            return done
        with self.files.lock():
            for name in self._names():
                work = self._read(name)
                if work is None:
                    self.on_problem(f"{self._path(name)}: cannot be read; {self.lost}")
                    self.drop(name)
                else:
                    done.append(settle(name, work))
        return done

    def kept(self) -> list[T]:
        """The interrupted work that can be read."""
        return [work for work in map(self._read, self._names()) if work is not None]

    def _names(self) -> list[str]:
        if not self.files.workspace.holds(self.folder):
            return []
        return sorted(path.stem for path in (self.files.workspace.root / self.folder).glob("*.json"))

    def _read(self, name: str) -> T | None:
        data = self.files.read(self._path(name))
        try:
            return self.read(json.loads(data))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}.json"
