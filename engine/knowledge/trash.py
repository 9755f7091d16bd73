"""The trash: reclaimed conversations until they are purged, each with a manifest of its origin.

The manifest is written first; then the conversation is moved beside it in one step. A manifest without a
conversation therefore means that nothing was moved, and a conversation always has its manifest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, HarvestRefused
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.files import Files

FOLDER = "scratch/trash"

_MANIFEST = "manifest.json"
_CONTENT = "content"
_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Trashed:
    """A conversation in the trash."""

    sha256: str  # of its bytes
    path: str  # where it was, workspace-relative
    size: int  # bytes
    at: str  # when it was moved to the trash, ISO 8601, UTC
    why: str  # its ledger status at that time


@dataclass(eq=False)
class Trash:
    """Moves conversations to the trash and back."""

    files: Files
    clock: Callable[[], datetime]

    def put(self, path: str, sha256: str, why: str) -> Trashed:
        """Moves a conversation with the given hash to the trash. The caller holds the lock.

        Raises:
            HarvestRefused: The file's content has changed; it is not moved.
            FileNotFoundError: It no longer exists.
            WriteFailed, ReadOnly: It was not moved.
        """
        with self.files.lock():
            data = self.files.read(path)
            if hashlib.sha256(data).hexdigest() != sha256:
                raise _changed(path)
            trashed = Trashed(sha256, path, len(data), self.clock().isoformat(timespec="seconds"), why)
            place = f"{FOLDER}/{sha256}"
            if self._holds(sha256) and self.content(sha256) is None:
                self.recover()  # what is there has changed, so it is not a copy
            if self._holds(sha256):
                # The trash already has the same bytes under another name; one copy is enough for both.
                self.files.remove(path)
                return trashed
            manifest = json.dumps(asdict(trashed), ensure_ascii=False, indent=1)
            self.files.replace(f"{place}/{_MANIFEST}", manifest.encode("utf-8", "surrogatepass"))
            self.files.move(path, f"{place}/{_CONTENT}")
            # Editors do not use the lock, so one may have saved between the check and the move.
            if self.content(sha256) is None:
                self.recover()
                raise _changed(path)
            return trashed

    def recover(self) -> tuple[str, ...]:
        """Restores files whose content is not what was harvested; returns their paths.

        Raises:
            WriteFailed, ReadOnly: A file was not restored and is still in the trash.
        """
        changed = [name for name in self._names() if self._holds(name) and self.content(name) is None]
        restored: list[str] = []
        for name in changed:
            manifest = self._manifest(name)
            path = f"conversations/{name[:12]}.md" if manifest is None else manifest.path
            with self.files.lock():
                if self.files.workspace.root.joinpath(path).exists():
                    stem, dot, ending = path.rpartition(".")
                    path = f"{stem or ending}-{name[:12]}{dot}{ending if stem else ''}"
                self.files.move(f"{FOLDER}/{name}/{_CONTENT}", path)
                self.forget(name)
            restored.append(path)
        return tuple(restored)

    def all(self) -> tuple[Trashed, ...]:
        """The conversations in the trash, newest first; manifests without a conversation are skipped."""
        found = [self._manifest(name) for name in self._names() if self._holds(name)]
        return tuple(
            sorted((each for each in found if each is not None), key=lambda each: each.at, reverse=True)
        )

    def content(self, sha256: str) -> bytes | None:
        """The bytes of a conversation; ``None`` if it is not in the trash or has changed."""
        try:
            data = self.files.read(f"{FOLDER}/{sha256}/{_CONTENT}")
        except (FileNotFoundError, AutopoiesisError):
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def forget(self, sha256: str) -> None:
        """Deletes a conversation permanently; raises ``WriteFailed`` or ``ReadOnly`` if that fails."""
        place = f"{FOLDER}/{sha256}"
        with self.files.lock():
            # The manifest is deleted last: without it, the origin of the content would be unknown.
            for name in (_CONTENT, _MANIFEST):
                with contextlib.suppress(FileNotFoundError):
                    self.files.remove(f"{place}/{name}")
            with contextlib.suppress(OSError):
                self.files.workspace.root.joinpath(place).rmdir()

    def purge(self, days: int) -> tuple[Trashed, ...]:
        """Deletes and returns what has been in the trash for some days; raises ``WriteFailed`` or
        ``ReadOnly``."""
        horizon = self.clock() - timedelta(days=days)
        old = [
            each
            for each in self.all()
            if _parse_time(each.at, horizon) < horizon and self.content(each.sha256) is not None
        ]
        for each in old:
            self.forget(each.sha256)
        return tuple(old)

    def _names(self) -> list[str]:
        if not self.files.workspace.holds(FOLDER):
            return []
        try:
            with os.scandir(self.files.workspace.root / FOLDER) as entries:
                return sorted(entry.name for entry in entries if _NAME.fullmatch(entry.name))
        except OSError:
            return []

    def _holds(self, sha256: str) -> bool:
        return self.files.workspace.root.joinpath(FOLDER, sha256, _CONTENT).is_file()

    def _manifest(self, name: str) -> Trashed | None:
        try:
            tree = json.loads(self.files.read(f"{FOLDER}/{name}/{_MANIFEST}", limit=64 * 1024))
            trashed = typed(Trashed, tree)
        except (FileNotFoundError, AutopoiesisError, ValueError, TypeError, RecursionError):
            return None
        return trashed if trashed.sha256 == name else None


def _changed(path: str) -> HarvestRefused:
    return HarvestRefused("changed in the meantime and is kept", where=path, hint="harvest it again")


def _parse_time(text: str, otherwise: datetime) -> datetime:
    """The time in a manifest; ``otherwise`` if it is not valid, so that it never counts as old."""
    try:
        found = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return otherwise
    return found if found.tzinfo else otherwise
