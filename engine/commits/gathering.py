"""What has changed and may be committed, and what may not: secrets, conflicts, what is still written to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from engine.commits.kinds import FileChange
from engine.commits.large import WHY, is_its_pointer
from engine.commits.report import LeftOut
from engine.errors import AutopoiesisError
from engine.store import crypt
from engine.store.encrypted import filters_of
from engine.store.files import READ_LIMIT, Files
from engine.store.paths import TEMP_PREFIX
from engine.store.repository import Repository
from engine.store.revisions import contents, entries
from engine.store.schema import MEMORY_FILE, size_problems
from engine.transcripts.importers.state import SOURCE_FIELD
from engine.transcripts.places import FOLDER, head_fields, read_head
from engine.transcripts.unchanged import fault_of

_LARGEST = 4 * 1024 * 1024
_OPAQUE = b"\0"
"""Stands for what is too large to be described."""


def gather(
    files: Files, repository: Repository, paths: Sequence[str], *, now: datetime, quiet_s: float
) -> tuple[list[FileChange], list[LeftOut]]:
    """The changed files among paths and below folders that may be committed, and the others.

    Imported transcripts are among the former, like all others whose session has ended.

    Args:
        quiet_s: Seconds that a file must have been left alone; 0 takes it as it is.

    Raises:
        RepositoryError: There is no repository, or git failed.
    """
    left: list[LeftOut] = []
    may_go: list[str] = []
    for path in sorted(repository.changed(*paths)):
        if path.rpartition("/")[2].startswith(TEMP_PREFIX):
            continue
        place = files.workspace.root / path
        if path.endswith("/"):
            left.append(LeftOut(path, "is a repository of its own"))
        elif _is_running(path, place):
            left.append(LeftOut(path, "its session still runs", waits=True))
        elif quiet_s and _age_s(place, now) < quiet_s:
            left.append(LeftOut(path, "was changed a moment ago", waits=True))
        else:
            may_go.append(path)
    changes: list[FileChange] = []
    if not may_go:
        return changes, left
    refused = repository.refusals(may_go)
    left += [LeftOut(path, why) for path, why in refused.items()]
    filters = filters_of(repository.git, may_go)
    large = {path for path, name in filters.items() if name == "lfs"}
    for change in _read(files, repository, [path for path in may_go if path not in refused], large):
        if change.path in large and is_its_pointer(change):
            continue
        why = WHY if change.path in large else _fault(change)
        if why:
            left.append(LeftOut(change.path, why))
        elif change.after is not None and crypt.key_options(filters.get(change.path, "")) is not None:
            # What is encrypted is not to be told in the commit's message, nor to a model that words it.
            changes.append(replace(change, before=change.before and _OPAQUE, after=_OPAQUE))
        else:
            changes.append(change)
    return changes, sorted(left, key=lambda each: each.path)


def is_transcript(path: str) -> bool:
    """Whether a path is one of a captured or imported session."""
    return path.startswith(f"{FOLDER}/")


def _is_running(path: str, place: Path) -> bool:
    """Whether a file is the transcript of a session that is still written; what is imported is taken as far
    as it goes."""
    if not is_transcript(path) or not place.exists():
        return False
    fields = head_fields(read_head(place), ("ended", SOURCE_FIELD))
    return not any(fields.values())


def _age_s(place: Path, now: datetime) -> float:
    """Seconds since a file, or the folder that it is gone from, was changed; a time that is still to come is
    as far away."""
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
    """Files as they were and are; of those that are too large, unless wanted whole, only that they are."""
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


def _fault(change: FileChange) -> str:
    """What a commit made by hand is refused for, and is in no other either (``doctor --staged``)."""
    if is_transcript(change.path) and change.before is not None:
        fault = fault_of(change.before, change.after) or ("is gone" if change.after is None else "")
        return f"{fault}; take it back, or if it is meant: git commit --no-verify" if fault else ""
    if change.path == MEMORY_FILE and change.after is not None:
        for problem in size_problems(change.after):
            if problem.severity == "error":
                return f"{problem.what}; {problem.hint}"
    return ""
