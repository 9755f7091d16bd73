"""Where a reconstruction is worked on: a folder of the person's caches, outside the workspace.

It holds the knowledge of a commit without what is made anew, and what the run has done so far; so a run that
was killed goes on there. It is no work tree of git: nothing is checked out, so no hook, filter or attribute
of the repository has a say, and the branch appears only when all of it is done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import ChangeRefused, WriteFailed
from engine.knowledge.digest import STATE as DIGEST_STATE
from engine.lifecycle.reconstruction.clearing import cleared, is_derived
from engine.store import revisions
from engine.store.blobs import blob_name
from engine.store.faults import reach
from engine.store.files import READ_LIMIT, Files
from engine.store.paths import CONFIG_NAME, Workspace
from engine.store.typed import typed
from engine.store.user_folder import cache_folder

if TYPE_CHECKING:
    from engine.knowledge.category_files import Entry
    from engine.store.git import Git
    from engine.store.revisions import TreeEntry

FOLDER = "reconstructions"
PREFIX = "extract/"
"""What the names of the branches begin with."""
_STATE = "reconstruction.json"


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for; a run goes on only with the same."""

    name: str  # of the branch, without ``extract/``
    extractors: tuple[str, ...]  # each with its version
    provider: str  # empty where no model is asked; likewise ``model``
    model: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions that a model was asked together."""

    id: str  # as the service names it; empty: it was asked for, and may have been accepted
    keys: tuple[str, ...]  # of the questions
    at: str  # when it was asked for, ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class State:
    """How far it has come."""

    order: Order
    base: str  # full object name of the commit that it builds on
    begun: str  # ISO 8601, UTC
    commit: str = ""  # that it came to; empty while sessions are read
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """The folder of one reconstruction."""

    folder: Path

    @staticmethod
    def of(root: Path, name: str) -> Bench:
        """That of a workspace and a branch, whether it is there or not."""
        key = hashlib.sha256(f"{root}\0{name}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
        return Bench(cache_folder() / FOLDER / key)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keeps other programs from it.

        Raises:
            ChangeRefused: Another one is at it.
            WriteFailed: There can be no such folder.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415 — 15 ms that most commands never need

        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = FileLock(self.folder.with_suffix(".lock"))
            lock.acquire(timeout=0)
        except Timeout:
            raise ChangeRefused("another program is at this reconstruction", hint="wait for it") from None
        except OSError as error:
            raise WriteFailed(f"cannot be made ({error.strerror})", where=str(self.folder)) from error
        try:
            yield
        finally:
            lock.release()

    @property
    def files(self) -> Files:
        """Its files, as those of a workspace."""
        return Files(Workspace.open(self.folder))

    def state(self) -> State | None:
        """How far it has come; ``None`` where nothing was begun that can go on."""
        try:
            return typed(State, json.loads((self.folder / _STATE).read_bytes()))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def keep(self, state: State) -> None:
        """Notes how far it has come.

        Raises:
            WriteFailed: It could not be noted.
        """
        self.files.replace(_STATE, json.dumps(asdict(state)).encode())

    def discard(self) -> None:
        """Removes it."""
        with contextlib.suppress(OSError):
            (self.folder / _STATE).unlink()  # first: what is left of it is never gone on with
        shutil.rmtree(self.folder, ignore_errors=True)

    def lay_out(self, git: Git, state: State, goes: Callable[[Entry], bool]) -> None:
        """Makes it: the knowledge of the commit that it builds on, without the entries that go.

        Raises:
            RepositoryError: The commit cannot be read.
            WriteFailed: There is no room. What is there then is made anew by the next run.
        """
        self.discard()
        try:
            reach("folder:create")
            self.folder.mkdir(mode=0o700)
            (self.folder / CONFIG_NAME).touch()
        except OSError as error:
            raise WriteFailed(f"cannot be made ({error.strerror})", where=str(self.folder)) from error
        files = self.files
        for entry, found in revisions.contents(git, laid_out(git, state.base)):
            data = cleared(entry.path, found, goes) if is_derived(entry.path) else found
            if data is not None:
                files.replace(entry.path, data)
        self.keep(state)

    def changes(self, git: Git, base: str) -> dict[str, bytes | None]:
        """What its knowledge has that the commit has not, by path; ``None`` for what is gone.

        Raises:
            RepositoryError: The commit cannot be read.
            DocumentError, PathRefused: As ``Files.read``.
        """
        files = self.files
        before = {entry.path: entry.name for entry in laid_out(git, base)}
        there = {
            path.relative_to(self.folder).as_posix(): path
            for path in sorted((self.folder / "knowledge").rglob("*"))
            if _is_taken(path.relative_to(self.folder).as_posix()) and path.is_file()
        }
        found: dict[str, bytes | None] = dict.fromkeys(before.keys() - there.keys())
        for path in there:
            data = files.read(path)
            if before.get(path) != blob_name(data, len(base)):
                found[path] = data
        return dict(sorted(found.items()))


def laid_out(git: Git, revision: str) -> list[TreeEntry]:
    """The files of a commit that a reconstruction may change, or has to know."""
    return [
        entry
        for entry in revisions.entries(git, revision)
        if entry.kind == "file" and _is_taken(entry.path) and entry.size <= READ_LIMIT
    ]


def _is_taken(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_page = path.startswith("knowledge/") and path.endswith(".md") and not name.startswith(".")
    return is_page or path == DIGEST_STATE
