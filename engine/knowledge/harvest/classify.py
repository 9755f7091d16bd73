"""What a harvest would do with every conversation there is (``knowledge-curation.md`` 5.4)."""

from __future__ import annotations

import fnmatch
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.reading import MOST_BYTES
from engine.knowledge.ledger import MARKERS
from engine.transcripts.library import SUFFIXES
from engine.transcripts.places import head_fields, read_head

if TYPE_CHECKING:
    from engine.knowledge.ledger import LedgerEntry
    from engine.store.files import Files

WORKING = "conversations"
TRANSCRIPTS = "raw/conversations"
KEEP_FILE = "conversations/.keep"
"""Names and patterns of conversations that a person keeps, one a line."""

Kind = Literal["live", "user-kept", "prune", "harvest", "keep"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A conversation and what a harvest would do with it.

    Attributes:
        path: The file, workspace-relative.
        kind: ``live`` is still written to; ``user-kept`` is left alone because a person says so; ``prune``
            is reclaimed without asking a model; ``harvest`` is harvested; ``keep`` is left alone for another
            reason.
        why: The reason, one clause.
        size: Bytes.
        sha256: Of its bytes; empty where they were not looked at.
        reclaimable: Whether it may be reclaimed once its knowledge is safe.
    """

    path: str
    kind: Kind
    why: str
    size: int
    sha256: str = ""
    reclaimable: bool = True

    @property
    def tokens(self) -> int:
        """About how many tokens it is."""
        return -(-self.size // _BYTES_PER_TOKEN)


def classify(
    files: Files,
    ledger: Mapping[str, LedgerEntry],
    now: datetime,
    idle_minutes: int,
    *,
    provider: str = MARKERS,
    transcripts: bool = False,
) -> tuple[Candidate, ...]:
    """Every conversation, by path.

    Args:
        files: Reads the workspace.
        ledger: What became of contents.
        now: UTC.
        idle_minutes: A file that was changed less long ago is live.
        provider: Who would be asked.
        transcripts: Look at the immutable transcripts instead of the working conversations; they are
            harvested and never reclaimed.
    """
    folder = TRANSCRIPTS if transcripts else WORKING
    kept = _patterns(files)
    found = [
        _classified(files, path, ledger, now - timedelta(minutes=idle_minutes), kept, provider, transcripts)
        for path in paths_in(files, folder)
    ]
    return tuple(each for each in found if each is not None)


def hash_of(files: Files, path: str) -> tuple[str, int]:
    """sha256 and size of a file's bytes, read in blocks.

    Raises:
        FileNotFoundError, PathRefused, DocumentError: As ``Files.read``.
    """
    digest, size = hashlib.sha256(), 0
    for block in files.read_blocks(path):
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def paths_in(files: Files, folder: str) -> list[str]:
    """The conversations below a folder, by path."""
    root = files.workspace.root
    found: list[str] = []
    for place, folders, names in os.walk(root / folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(place, name)
            if path.suffix.lower() in SUFFIXES and not name.startswith(".") and not path.is_symlink():
                found.append(path.relative_to(root).as_posix())
    return sorted(found)


def _patterns(files: Files) -> tuple[str, ...]:
    try:
        lines = files.read(KEEP_FILE, limit=256 * 1024).decode("utf-8", "replace").splitlines()
    except (FileNotFoundError, AutopoiesisError):
        return ()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def _classified(
    files: Files,
    path: str,
    ledger: Mapping[str, LedgerEntry],
    horizon: datetime,
    kept: Iterable[str],
    provider: str,
    transcript: bool,
) -> Candidate | None:
    real = files.workspace.root / path
    try:
        status = real.stat()
    except OSError:
        return None
    size = status.st_size
    fields = head_fields(read_head(real), ("keep", "session_id", "ended"))
    if fields["keep"].lower() in ("true", "yes", "1") or _named(path, kept):
        return Candidate(path, "user-kept", "a person keeps it", size)
    if transcript and not fields["ended"]:
        return Candidate(path, "live", "its session has not ended", size)
    if not transcript and datetime.fromtimestamp(status.st_mtime, UTC) > horizon:
        return Candidate(path, "live", "was written to a moment ago", size)
    try:
        sha256, size = hash_of(files, path)
    except (OSError, AutopoiesisError) as error:
        return Candidate(path, "keep", f"cannot be read: {error}", size)
    kind, why = _by_ledger(ledger.get(sha256), size, provider, transcript)
    return Candidate(path, kind, why, size, sha256, reclaimable=not transcript)


def _by_ledger(entry: LedgerEntry | None, size: int, provider: str, transcript: bool) -> tuple[Kind, str]:
    if entry is not None and entry.restored:
        return "user-kept", "a person took it back from the trash"
    if not size:
        return ("keep" if transcript else "prune"), "is empty"
    if entry is not None and entry.is_harvested(provider):
        return ("keep" if transcript else "prune"), f"was harvested on {entry.at[:10]}"
    if entry is not None and entry.status == "deleted-unharvested":
        return ("keep" if transcript else "prune"), f"was given up unharvested on {entry.at[:10]}"
    if size > MOST_BYTES:
        return "keep", "is larger than 1 MB"
    if entry is not None and entry.status == "harvested":
        return "harvest", f"only what it marks was taken on {entry.at[:10]}"
    if entry is not None and entry.status == "harvest-failed":
        return "harvest", f"failed on {entry.at[:10]}: {entry.error}"
    return "harvest", "is not harvested yet"


def _named(path: str, patterns: Iterable[str]) -> bool:
    inside = path.partition("/")[2]
    name = path.rpartition("/")[2]
    stem = name.rpartition(".")[0]
    return any(
        fnmatch.fnmatchcase(each, pattern) for pattern in patterns for each in (path, inside, name, stem)
    )
