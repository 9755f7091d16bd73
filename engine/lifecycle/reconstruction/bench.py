"""The working folder of a reconstruction, in the user's cache folder outside the workspace.

It contains the knowledge of a commit without the lines to rebuild, and the progress of the run, so that a
killed run can resume. It is not a git work tree: no hook, filter or attribute of the repository applies, and
the branch is created only when everything is done.

A line is removed before sessions are read again (spec 8.7) if its provenance names a session that will be
read: it returns if it is found again. Everything else is kept: lines by the user, which have no provenance,
or that they accepted in review; lines with additions below them; lines from conversations that cannot be
read again; identity files; and, if only some extractors run, lines by others. A page left with nothing but
header and headings is removed.
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
from engine.knowledge.category_files import CATEGORY_FILES, Entry, entries
from engine.knowledge.digest import STATE as DIGEST_STATE
from engine.store import revisions
from engine.store.faults import reach
from engine.store.files import READ_LIMIT, Files
from engine.store.git import blob_name
from engine.store.header import locate
from engine.store.paths import CONFIG_NAME, Workspace
from engine.store.typed import typed
from engine.store.user_folder import cache_folder
from engine.sync.entries import merged

if TYPE_CHECKING:
    from engine.store.git import Git
    from engine.store.revisions import TreeEntry

FOLDER = "reconstructions"
PREFIX = "extract/"
"""Prefix of the branches."""
_STATE = "reconstruction.json"


@dataclass(frozen=True, slots=True)
class Order:
    """The parameters of a run; it can only be resumed with the same ones."""

    name: str  # of the branch, without ``extract/``
    extractors: tuple[str, ...]  # each with its version
    provider: str  # empty without a model; likewise ``model``
    model: str


@dataclass(frozen=True, slots=True)
class State:
    """The progress of a run."""

    order: Order
    base: str  # full object name of the commit it builds on
    begun: str  # ISO 8601, UTC
    commit: str = ""  # the resulting commit; empty while sessions are read


@dataclass(frozen=True, slots=True)
class Bench:
    """The folder of one reconstruction."""

    folder: Path

    @staticmethod
    def of(root: Path, name: str) -> Bench:
        """The folder for a workspace and a branch, which may not exist yet."""
        key = hashlib.sha256(f"{root}\0{name}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
        return Bench(cache_folder() / FOLDER / key)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Locks it against other processes.

        Raises:
            ChangeRefused: Another process is using it.
            WriteFailed: The folder cannot be created.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415 — 15 ms; not needed by most commands

        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = FileLock(self.folder.with_suffix(".lock"))
            lock.acquire(timeout=0)
        except Timeout:
            raise ChangeRefused("this reconstruction is already running", hint="wait for it") from None
        except OSError as error:
            raise WriteFailed(f"cannot be created ({error.strerror})", where=str(self.folder)) from error
        try:
            yield
        finally:
            lock.release()

    @property
    def files(self) -> Files:
        """Its files, like those of a workspace."""
        return Files(Workspace.open(self.folder))

    def state(self) -> State | None:
        """The progress of a run; ``None`` if there is none to resume."""
        try:
            return typed(State, json.loads((self.folder / _STATE).read_bytes()))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def keep(self, state: State) -> None:
        """Saves the progress.

        Raises:
            WriteFailed: It was not saved.
        """
        self.files.replace(_STATE, json.dumps(asdict(state)).encode())

    def discard(self) -> None:
        """Deletes the folder."""
        with contextlib.suppress(OSError):
            (self.folder / _STATE).unlink()  # first, so that a partly deleted folder is never resumed
        shutil.rmtree(self.folder, ignore_errors=True)

    def lay_out(self, git: Git, state: State, is_removed: Callable[[Entry], bool]) -> None:
        """Fills the folder with the knowledge of the base commit, without the entries to remove.

        Raises:
            RepositoryError: The commit cannot be read.
            WriteFailed: A file was not written. The next run starts over.
        """
        self.discard()
        try:
            reach("folder:create")
            self.folder.mkdir(mode=0o700)
            (self.folder / CONFIG_NAME).touch()
        except OSError as error:
            raise WriteFailed(f"cannot be created ({error.strerror})", where=str(self.folder)) from error
        files = self.files
        for entry, found in revisions.contents(git, laid_out(git, state.base)):
            data = cleared(entry.path, found, is_removed) if is_derived(entry.path) else found
            if data is not None:
                files.replace(entry.path, data)
        self.keep(state)

    def put_back(
        self, git: Git, base: str, is_removed: Callable[[Entry], bool], is_missed: Callable[[Entry], bool]
    ) -> None:
        """Restores removed entries that are missed and not found again; may be repeated.

        Raises:
            RepositoryError: The commit cannot be read.
            WriteFailed: A file was not written.
        """
        files = self.files
        for entry, found in revisions.contents(git, laid_out(git, base)):
            path = entry.path
            kept = cleared(path, found, lambda each: is_removed(each) and not is_missed(each))
            if not is_derived(path) or kept is None:
                continue
            try:
                now = files.read(path)
            except FileNotFoundError:
                files.replace(path, kept)
                continue
            there = {each.raw for each in entries(now, path)}
            before = cleared(path, kept, lambda each: is_removed(each) and each.raw not in there)  # noqa: B023
            if before != kept:
                files.replace(path, merged(path, before or b"", now, kept).data)

    def changes(self, git: Git, base: str) -> dict[str, bytes | None]:
        """Files that differ from a commit, by path; ``None`` for deleted ones.

        Raises:
            RepositoryError: The commit cannot be read.
            DocumentError, PathRefused: As ``Files.read``.
        """
        files = self.files
        before = {entry.path: entry.name for entry in laid_out(git, base)}
        there = {
            path.relative_to(self.folder).as_posix(): path
            for path in sorted((self.folder / "knowledge").rglob("*"))
            if _is_relevant(path.relative_to(self.folder).as_posix()) and path.is_file()
        }
        found: dict[str, bytes | None] = dict.fromkeys(before.keys() - there.keys())
        for path in there:
            data = files.read(path)
            if before.get(path) != blob_name(data, len(base)):
                found[path] = data
        return dict(sorted(found.items()))


def laid_out(git: Git, revision: str) -> list[TreeEntry]:
    """The files of a commit that a reconstruction may change or needs to read."""
    return [
        entry
        for entry in revisions.entries(git, revision)
        if entry.kind == "file" and _is_relevant(entry.path) and entry.size <= READ_LIMIT
    ]


def _is_relevant(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_page = path.startswith("knowledge/") and path.endswith(".md") and not name.startswith(".")
    return is_page or path == DIGEST_STATE


FOLDERS = tuple(
    f"knowledge/{name}/" for name in ("memory", "journal", "projects", "people", "procedures", "reference")
)
CATEGORIES = frozenset(file.path for file in CATEGORY_FILES)


def is_derived(path: str) -> bool:
    """True for a file that extractors write to."""
    return path.endswith(".md") and (path.startswith(FOLDERS) or path in CATEGORIES)


def cleared(path: str, data: bytes, is_removed: Callable[[Entry], bool]) -> bytes | None:
    """A file without the entries to remove; ``None`` if the file is removed."""
    removed = [each for each in entries(data, path) if each.last == each.number and is_removed(each)]
    if not removed:
        return data
    lines = data.split(b"\n")
    for each in reversed(removed):
        at = each.number - 1
        del lines[at]
        if at < len(lines) and not lines[at].strip() and not lines[at - 1].strip():
            del lines[at - 1]  # one of the blank lines around a removed list
    left = b"\n".join(lines)
    body = left[locate(left).body :].decode("utf-8", "replace").split("\n")
    is_bare = all(not line.strip() or line.startswith("#") for line in body)
    return None if is_bare and path not in CATEGORIES else left
