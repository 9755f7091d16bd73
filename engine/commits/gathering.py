"""Separates changes that may be committed from those that may not: secrets, conflicts, files being
written."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from engine.commits.kinds import FileChange
from engine.errors import AutopoiesisError
from engine.store import crypt
from engine.store.change import CommitType
from engine.store.encrypted import filters_of
from engine.store.files import READ_LIMIT, Files
from engine.store.leftovers import is_evicted
from engine.store.repository import Repository
from engine.store.revisions import contents, entries
from engine.store.schema import MEMORY_FILE, size_problems
from engine.transcripts.importers.existing import forbidden_change
from engine.transcripts.importers.state import SOURCE_FIELD
from engine.transcripts.places import FOLDER, head_fields, read_head

_LARGEST = 4 * 1024 * 1024
_OPAQUE = b"\0"
"""Placeholder for content that is too large or too secret to describe."""
_LFS = "git-lfs file, which only git itself can commit; run: git add, git commit"


def gather(
    files: Files, repository: Repository, paths: Sequence[str], *, now: datetime, quiet_s: float
) -> tuple[list[FileChange], list[LeftOut]]:
    """The changed files at or below the paths: those that may be committed, and those left out.

    Transcripts may be committed once their session has ended; imported ones always may.

    Args:
        quiet_s: Seconds for which a file must have been unchanged; 0 for no minimum.

    Raises:
        RepositoryError: There is no repository, or git failed.
    """
    left: list[LeftOut] = []
    allowed: list[str] = []
    for path in sorted(repository.changed(*paths)):
        place = files.workspace.root / path
        if path.endswith("/"):
            left.append(LeftOut(path, "is a separate repository"))
        elif not os.path.lexists(place) and is_evicted(place):
            left.append(
                LeftOut(path, "is only in iCloud now; download it to commit what changed", waits=True)
            )
        elif _is_running(path, place):
            left.append(LeftOut(path, "its session is still running", waits=True))
        elif quiet_s and _age_s(place, now) < quiet_s:
            left.append(LeftOut(path, "changed a moment ago", waits=True))
        else:
            allowed.append(path)
    changes, unfit = fit(files, repository, allowed)
    return changes, sorted([*left, *unfit], key=lambda each: each.path)


def fit(
    files: Files, repository: Repository, allowed: Sequence[str]
) -> tuple[list[FileChange], list[LeftOut]]:
    """The changed files whose content may be committed, and those left out.

    Raises:
        RepositoryError: There is no repository, or git failed.
    """
    changes: list[FileChange] = []
    if not allowed:
        return changes, []
    refused = repository.refusals(allowed)
    left = [LeftOut(path, why) for path, why in refused.items()]
    filters = filters_of(repository.git, allowed)
    lfs = {path for path, name in filters.items() if name == "lfs"}
    for change in _read(files, repository, [path for path in allowed if path not in refused], lfs):
        if change.path in lfs and _is_pointer_to(change):
            continue
        why = _LFS if change.path in lfs else _fault(change)
        if why:
            left.append(LeftOut(change.path, why))
        elif change.after is not None and crypt.key_options(filters.get(change.path, "")) is not None:
            # Neither the commit message nor a model that writes it may see encrypted content.
            changes.append(replace(change, before=change.before and _OPAQUE, after=_OPAQUE))
        else:
            changes.append(change)
    return changes, left


def is_transcript(path: str) -> bool:
    """True if a path is that of a captured or imported session."""
    return path.startswith(f"{FOLDER}/")


def _is_running(path: str, place: Path) -> bool:
    """True if a file is the transcript of a running session; imported ones never count as running."""
    if not is_transcript(path) or not place.exists():
        return False
    fields = head_fields(read_head(place), ("ended", SOURCE_FIELD))
    return not any(fields.values())


def _age_s(place: Path, now: datetime) -> float:
    """Seconds between now and the mtime of a file, or of its folder if the file is gone; never negative."""
    while True:
        try:
            return abs(now.timestamp() - place.lstat().st_mtime)
        except (FileNotFoundError, NotADirectoryError):
            place = place.parent
        except OSError:
            return math.inf


def _read(
    files: Files, repository: Repository, paths: Sequence[str], whole: set[str]
) -> Iterator[FileChange]:
    """Files before and after; opaque if they are too large and not in ``whole``."""
    revision = repository.revision()
    wanted = set(paths)
    known = {each.path: each for each in entries(repository.git, revision)} if revision else {}
    small = [each for path, each in known.items() if path in wanted and each.kind == "file"]
    before = {
        entry.path: data
        for entry, data in contents(repository.git, [each for each in small if each.size <= _LARGEST])
    }
    for path in paths:
        old = before.get(path, _OPAQUE) if path in known else None
        try:
            limit = READ_LIMIT if path in whole else _LARGEST
            yield FileChange(path, old, files.read(path, limit=limit))
        except (FileNotFoundError, NotADirectoryError):
            yield FileChange(path, old, None)
        except AutopoiesisError:
            yield FileChange(path, old, _OPAQUE)


def _is_pointer_to(change: FileChange) -> bool:
    """True if the newest commit holds the git-lfs pointer to the file on disk, so that nothing has changed.

    Our commits do not run git's filters and would store the whole file in place of its pointer, so git-lfs
    files are left to the person's own git (design 6.5).
    """
    if change.before is None or change.after is None:
        return False
    oid = f"oid sha256:{hashlib.sha256(change.after).hexdigest()}".encode()
    return change.before.startswith(b"version https://git-lfs") and oid in change.before.split(b"\n")


def _fault(change: FileChange) -> str:
    """A problem for which ``doctor --staged`` also refuses a commit made by hand."""
    if is_transcript(change.path) and change.before is not None:
        fault = forbidden_change(change.before, change.after) or (
            "is deleted" if change.after is None else ""
        )
        return f"{fault}; revert it, or if it is intended: git commit --no-verify" if fault else ""
    if change.path == MEMORY_FILE and change.after is not None:
        for problem in size_problems(change.after):
            if problem.severity == "error":
                return f"{problem.what}; {problem.hint}"
    return ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A changed file that was not committed."""

    path: str
    why: str  # one clause, with what to do about it if anything
    waits: bool = False  # it is still being written and will be committed later


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit, or in a dry run what would be one."""

    kind: CommitType
    message: str
    paths: tuple[str, ...]
    revision: str = ""  # empty if no commit was made
    model: str = ""  # the model that wrote the message, if any


@dataclass(frozen=True, slots=True)
class CommitReport:
    """What was committed and what was left out."""

    commits: tuple[MadeCommit, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()  # sentences about new files that were committed

    @property
    def refused(self) -> tuple[LeftOut, ...]:
        """Files that stay uncommitted until a person acts."""
        return tuple(each for each in self.left_out if not each.waits)
