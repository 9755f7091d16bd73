"""What a harvest would do with every conversation there is (``knowledge-curation.md`` 5.4)."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError, PathRefused
from engine.knowledge.harvest.liveness import ended_before
from engine.knowledge.harvest.parts import PART_BYTES, SUMMARIZE_THRESHOLD_BYTES
from engine.knowledge.harvest.reading import read_source
from engine.knowledge.ledger import MARKERS
from engine.transcripts.places import SUFFIXES, head_fields, read_head

if TYPE_CHECKING:
    from engine.knowledge.harvest.reading import State
    from engine.knowledge.ledger import LedgerEntry
    from engine.store.files import Files

WORKING = "conversations"
TRANSCRIPTS = "raw/conversations"
KEEP_FILE = "conversations/.keep"
"""Names and patterns of conversations that a person keeps, one a line."""

Kind = Literal["live", "user-kept", "prune", "harvest", "keep"]

_BYTES_PER_TOKEN = 4
_QUESTION_TOKENS = 900
"""Roughly the tokens around the text of a question, or that the summary of a part adds to the last one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of a content once it was read."""

    text_size: int  # bytes of text that a model would be shown
    state: State  # as ``SourceText.state``
    why: str  # as ``SourceText.why``


@dataclass(frozen=True, slots=True)
class Candidate:
    """A conversation and what a harvest would do with it."""

    path: str  # workspace-relative
    kind: Kind
    """``live`` is still written to; ``user-kept`` stays at a person's request; ``prune`` is reclaimed without
    asking a model; ``harvest`` is harvested; ``keep`` stays for another reason."""
    why: str  # one clause
    size: int  # bytes of the file, which is what reclaiming it frees
    sha256: str = ""  # empty if the bytes were not looked at
    reclaimable: bool = True  # once its knowledge is safe
    text_size: int = 0  # bytes of text that a model would be shown; 0 if there is nothing to harvest
    state: State = "read"
    """``too-large`` or ``unclear`` for what is kept because it cannot be harvested as it is."""

    @property
    def tokens(self) -> int:
        """About how many tokens a model would be sent."""
        if not self.text_size:
            return 0
        questions = 1
        if self.text_size > SUMMARIZE_THRESHOLD_BYTES:
            questions += 2 * -(-self.text_size // PART_BYTES)
        return -(-self.text_size // _BYTES_PER_TOKEN) + questions * _QUESTION_TOKENS


def classify(
    files: Files,
    ledger: Mapping[str, LedgerEntry],
    now: datetime,
    idle_minutes: int,
    *,
    provider: str = MARKERS,
    transcripts: bool = False,
    named: Collection[str] = (),
    measured: MutableMapping[str, Measured] | None = None,
) -> tuple[Candidate, ...]:
    """Every conversation, by path.

    ``ledger`` is by sha256 of the contents. A conversation written to in the last ``idle_minutes`` is live.
    ``provider`` is the one that would be asked. ``transcripts`` looks at the immutable transcripts instead,
    which are harvested and never reclaimed. A live conversation among ``named`` is harvested as it is now,
    and stays. ``measured`` is what is already known of contents, by sha256, and is added to.
    """
    folder = TRANSCRIPTS if transcripts else WORKING
    look = _Look(
        files,
        ledger,
        now - timedelta(minutes=idle_minutes),
        _patterns(files),
        provider,
        transcripts,
        frozenset(named),
        {} if measured is None else measured,
    )
    found = [look.at(path) for path in paths_in(files, folder)]
    return tuple(each for each in found if each is not None)


def left_in(files: Files, ledger: Mapping[str, LedgerEntry], provider: str) -> int:
    """How many transcripts have ended and were never harvested. They are hashed and not read."""
    found = 0
    for path in paths_in(files, TRANSCRIPTS):
        if not head_fields(read_head(files.workspace.root / path), ("ended",))["ended"]:
            continue
        with contextlib.suppress(OSError, AutopoiesisError):
            sha256, size = hash_of(files, path)
            entry = ledger.get(sha256)
            found += bool(size) and (entry is None or (not entry.restored and not entry.is_done(provider)))
    return found


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
    if not files.workspace.holds(folder):
        return found
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


@dataclass(frozen=True, slots=True)
class _Look:
    """What a conversation is compared with; the fields are those of ``classify``."""

    files: Files
    ledger: Mapping[str, LedgerEntry]
    horizon: datetime
    kept: tuple[str, ...]
    provider: str
    transcripts: bool
    named: Collection[str]
    measured: MutableMapping[str, Measured]

    def at(self, path: str) -> Candidate | None:
        """The conversation at a path; ``None`` if it is gone."""
        try:
            real = self.files.workspace.resolve(path)
            status = real.stat()
        except PathRefused as error:
            return Candidate(path, "keep", f"cannot be read: {error}", 0)
        except OSError:
            return None
        size = status.st_size
        head = read_head(real)
        fields = head_fields(head, ("keep", "session_id", "started", "ended"))
        if fields["keep"].lower() in ("true", "yes", "1") or _named(path, self.kept):
            return Candidate(path, "user-kept", "a person keeps it", size)
        live = self._live(real, datetime.fromtimestamp(status.st_mtime, UTC), fields)
        if live and path not in self.named:
            return Candidate(path, "live", live, size)
        try:
            sha256, size = hash_of(self.files, path)
            kind, why = _by_ledger(self.ledger.get(sha256), size, self.provider, self.transcripts)
            found = self._measured(sha256, path) if kind == "harvest" else None
        except (OSError, AutopoiesisError) as error:
            return Candidate(path, "keep", f"cannot be read: {error}", size)
        free = not self.transcripts and not live
        if found is not None and found.state in ("too-large", "unclear", "unreadable"):
            return Candidate(path, "keep", found.why, size, sha256, free, 0, found.state)
        text_size = found.text_size if found is not None else 0
        return Candidate(path, kind, why, size, sha256, free, text_size)

    def _live(self, real: Path, written: datetime, fields: Mapping[str, str]) -> str:
        """Why a conversation is taken to be still written to, one clause; empty where it is not."""
        if self.transcripts and fields["ended"]:
            return ""
        if self.transcripts and not ended_before(self.horizon, real, written, fields):
            return "its session has not ended"
        if written <= self.horizon or ended_before(self.horizon, real, written, fields):
            return ""
        return "was written to a moment ago"

    def _measured(self, sha256: str, path: str) -> Measured:
        if sha256 not in self.measured:
            source = read_source(self.files, path)
            self.measured[sha256] = Measured(source.text_size, source.state, source.why)
        return self.measured[sha256]


def _by_ledger(entry: LedgerEntry | None, size: int, provider: str, transcript: bool) -> tuple[Kind, str]:
    if entry is not None and entry.restored:
        return "user-kept", "a person took it back from the trash"
    if not size:
        return ("keep" if transcript else "prune"), "is empty"
    if entry is not None and entry.is_harvested(provider):
        return ("keep" if transcript else "prune"), f"was harvested on {entry.at[:10]}"
    if entry is not None and entry.status == "deleted-unharvested":
        return ("keep" if transcript else "prune"), f"was discarded without a harvest on {entry.at[:10]}"
    if entry is not None and entry.status == "harvested":
        return "harvest", f"was read without a model on {entry.at[:10]}"
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
