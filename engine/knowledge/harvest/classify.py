"""Classifies every conversation by what a harvest would do with it (``knowledge-curation.md`` 5.4)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError, PathRefused
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
LIVE_FIELDS = ("started", "ended", "imported_from")
"""Fields of a header that tell whether a conversation is still being written."""

Kind = Literal["live", "user-kept", "prune", "harvest", "keep"]

_BYTES_PER_TOKEN = 4
_QUESTION_TOKENS = 900
"""Approximate overhead of a question in tokens, and of each summarised part."""


_TAIL_BYTES = 256 * 1024
_STAMP = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT\d\d:\d\d[^"]{0,24})"')
_TURN = re.compile(
    rb"^##[ \t]+(?:(\d{4}-\d\d-\d\d)[ \t]+)?(\d{1,2}:\d\d)[ \t]+(?:\xe2\x80\x94|\xe2\x80\x93|-)[ \t]",
    re.MULTILINE,
)
_SAME_MINUTES = 10
"""Minutes by which the last turn and the mtime may differ and still count as the same event."""


@dataclass(frozen=True, slots=True)
class ContentInfo:
    """What is known about a content after reading it."""

    text_size: int  # bytes of text for a model
    state: State  # as ``SourceText.state``
    why: str  # as ``SourceText.why``


@dataclass(frozen=True, slots=True)
class Candidate:
    """A conversation, and what a harvest would do with it."""

    path: str  # workspace-relative
    kind: Kind
    """``live``: still being written; ``user-kept``: kept by a person; ``prune``: reclaimed without asking a
    model; ``harvest``: harvested; ``keep``: kept for another reason."""
    why: str  # one clause
    size: int  # bytes of the file
    sha256: str = ""  # empty if the file was not hashed
    reclaimable: bool = True  # after it was harvested
    text_size: int = 0  # bytes of text for a model; 0 if there is nothing to harvest
    state: State = "read"
    """``too-large``, ``unclear`` or ``unreadable`` if it is kept because it cannot be harvested."""

    @property
    def tokens(self) -> int:
        """Estimated tokens sent to a model."""
        if not self.text_size:
            return 0
        questions = 1
        if self.text_size > SUMMARIZE_THRESHOLD_BYTES:
            questions += 2 * -(-self.text_size // PART_BYTES)
        return -(-self.text_size // _BYTES_PER_TOKEN) + questions * _QUESTION_TOKENS


@dataclass(frozen=True)
class Classifier:
    """Classifies conversations for a harvest."""

    files: Files
    ledger: Mapping[str, LedgerEntry]  # by SHA-256
    now: datetime
    idle_minutes: int  # a conversation written to in the last so many minutes is live
    provider: str = MARKERS  # the provider to be asked
    transcripts: bool = False
    """Classify the immutable transcripts instead, which are harvested but never reclaimed."""
    named: Collection[str] = ()  # paths to harvest even if they are live
    measured: MutableMapping[str, ContentInfo] = field(default_factory=dict)
    """Cache of known contents, by SHA-256."""

    def all(self) -> tuple[Candidate, ...]:
        """All conversations, by path."""
        paths = paths_in(self.files, TRANSCRIPTS if self.transcripts else WORKING)
        found = [self._classify(path) for path in paths]
        return tuple(each for each in found if each is not None)

    @cached_property
    def _horizon(self) -> datetime:
        return self.now - timedelta(minutes=self.idle_minutes)

    def _classify(self, path: str) -> Candidate | None:
        """The conversation at a path; ``None`` if it no longer exists."""
        try:
            real = self.files.workspace.resolve(path)
            status = real.stat()
        except PathRefused as error:
            return Candidate(path, "keep", f"cannot be read: {error}", 0)
        except OSError:
            return None
        size = status.st_size
        head = read_head(real)
        fields = head_fields(head, ("keep", "session_id", *LIVE_FIELDS))
        if fields["keep"].lower() in ("true", "yes", "1"):
            return Candidate(path, "user-kept", "kept by a person", size)
        live = self.live(real, datetime.fromtimestamp(status.st_mtime, UTC), fields)
        if live and path not in self.named:
            return Candidate(path, "live", live, size)
        try:
            sha256, size = hash_of(self.files, path)
            kind, why = _by_ledger(self.ledger.get(sha256), size, self.provider, self.transcripts)
            found = self._measured(sha256, path) if kind == "harvest" else None
        except (OSError, AutopoiesisError) as error:
            return Candidate(path, "keep", f"cannot be read: {error}", size)
        reclaimable = not self.transcripts and not live
        if found is not None and found.state in ("too-large", "unclear", "unreadable"):
            return Candidate(path, "keep", found.why, size, sha256, reclaimable, 0, found.state)
        text_size = found.text_size if found is not None else 0
        return Candidate(path, kind, why, size, sha256, reclaimable, text_size)

    def live(self, real: Path, written: datetime, fields: Mapping[str, str]) -> str:
        """Why a conversation counts as still being written, one clause; empty if it does not.

        ``fields`` are the ``LIVE_FIELDS`` of its header.
        """
        if self.transcripts and fields["ended"]:
            return ""
        if self.transcripts and not _ended_before(self._horizon, real, written, fields):
            return "its session has not ended"
        if written <= self._horizon or _ended_before(self._horizon, real, written, fields):
            return ""
        return "was written to moments ago"

    def _measured(self, sha256: str, path: str) -> ContentInfo:
        if sha256 not in self.measured:
            source = read_source(self.files, path)
            self.measured[sha256] = ContentInfo(source.text_size, source.state, source.why)
        return self.measured[sha256]


def count_unharvested(files: Files, ledger: Mapping[str, LedgerEntry], provider: str) -> int:
    """Number of ended transcripts that were never harvested.

    They are not parsed, and only those are hashed that have the size of a harvested one under another name.
    """
    done = {each.path: each.size for each in ledger.values() if each.restored or each.is_done(provider)}
    sizes = frozenset(done.values())
    found = 0
    for path in paths_in(files, TRANSCRIPTS):
        with contextlib.suppress(OSError, AutopoiesisError):
            real = files.workspace.root / path
            size = real.stat().st_size
            if not size or done.get(path) == size or not head_fields(read_head(real), ("ended",))["ended"]:
                continue
            entry = ledger.get(hash_of(files, path)[0]) if size in sizes else None
            found += entry is None or (not entry.restored and not entry.is_done(provider))
    return found


def hash_of(files: Files, path: str) -> tuple[str, int]:
    """SHA-256 and size of a file, read in blocks. Raises as ``Files.read``."""
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
        inside = Path(place).relative_to(root).as_posix()
        for name in names:
            wanted = os.path.splitext(name)[1].lower() in SUFFIXES and not name.startswith(".")  # noqa: PTH122 — of thousands
            if wanted and not os.path.islink(f"{place}/{name}"):  # noqa: PTH114 — of thousands
                found.append(f"{inside}/{name}")
    return sorted(found)


def _by_ledger(entry: LedgerEntry | None, size: int, provider: str, transcript: bool) -> tuple[Kind, str]:
    done: Kind = "keep" if transcript else "prune"
    if entry is not None and entry.restored:
        return "user-kept", "restored from the trash by a person"
    if not size:
        return done, "is empty"
    if entry is None:
        return "harvest", "is not harvested yet"
    if entry.is_harvested(provider):
        return done, f"was harvested on {entry.at[:10]}"
    if entry.status == "deleted-unharvested":
        return done, f"was discarded without a harvest on {entry.at[:10]}"
    if entry.status == "harvested":
        return "harvest", f"was read without a model on {entry.at[:10]}"
    if entry.status == "harvest-failed":
        return "harvest", f"failed on {entry.at[:10]}: {entry.error}"
    return "harvest", "is not harvested yet"


def _ended_before(horizon: datetime, path: Path, written: datetime, fields: Mapping[str, str]) -> bool:
    """True if a recently written file shows that its last turn is older than ``horizon``.

    Copies, checkouts and imports set the mtime to now. The time of the last turn is more reliable where the
    file has it: in the header of an ended session, in the timestamps of a log, or in the last heading of one
    of our transcripts. Anything else counts as live.

    ``written`` is the mtime, UTC; ``fields`` are the ``LIVE_FIELDS`` of the header.
    """
    ended = _time(fields["ended"])
    if ended is not None:
        return ended <= horizon
    tail = _tail(path)
    stamps = [
        time for time in map(_time, (match.decode() for match in _STAMP.findall(tail))) if time is not None
    ]
    if path.suffix.lower() == ".jsonl":
        return bool(stamps) and max(stamps) <= horizon
    started = _time(fields["started"])
    is_imported = bool(fields["imported_from"])
    return started is not None and _last_turn(tail, started, written, is_imported=is_imported) <= horizon


def _last_turn(tail: bytes, started: datetime, written: datetime, *, is_imported: bool) -> datetime:
    """The latest possible time of the last turn by the headings; ``written`` if they do not tell.

    The mtime of an imported session is that of the import.
    """
    turns = _TURN.findall(tail)
    if not turns:
        return written
    day, clock = turns[-1]
    at = _time(f"{(day or started.date().isoformat().encode()).decode()}T{clock.decode():0>5}")
    if at is None:
        return written
    if day:
        return at
    # Without a date, the turn may be from any later day; if the times agree, from the day of the mtime.
    apart = abs(written - at.replace(year=written.year, month=written.month, day=written.day))
    if not is_imported and min(apart, timedelta(days=1) - apart) <= timedelta(minutes=_SAME_MINUTES):
        return written
    return at if at >= started else at + timedelta(days=1)


def _time(text: str) -> datetime | None:
    """An ISO time in UTC, which the headings of turns are in too."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _tail(path: Path) -> bytes:
    """The end of a regular file; empty if it cannot be read."""
    try:
        with os.fdopen(
            os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
        ) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL_BYTES))
            return stream.read(_TAIL_BYTES)
    except OSError:
        return b""
