"""Where a reclaimed conversation lies until it is purged: its bytes, and a manifest that says whose they are.

The manifest is written first and the conversation then moved beside it in one step. So a manifest
without a conversation means that nothing was moved, and a conversation always has its manifest.
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
    at: str  # when it was moved there, ISO 8601, UTC
    why: str  # what the ledger said of it then


@dataclass(eq=False)
class Trash:
    """Moves conversations out of the way and back."""

    files: Files
    clock: Callable[[], datetime]

    def put(self, path: str, sha256: str, why: str) -> Trashed:
        """Moves a conversation here. The lock is held.

        ``sha256`` is what its bytes have to match; ``why`` is what the ledger says of it.

        Raises:
            HarvestRefused: The file's bytes have changed; it stays where it is.
            FileNotFoundError: It is gone.
            WriteFailed, ReadOnly: It was not moved.
        """
        with self.files.lock():
            data = self.files.read(path)
            if hashlib.sha256(data).hexdigest() != sha256:
                raise _changed(path)
            trashed = Trashed(sha256, path, len(data), self.clock().isoformat(timespec="seconds"), why)
            place = f"{FOLDER}/{sha256}"
            if self._holds(sha256):
                # The same bytes lie here under another name; one copy is enough to take both back.
                self.files.remove(path)
                return trashed
            manifest = json.dumps(asdict(trashed), ensure_ascii=False, indent=1)
            self.files.replace(f"{place}/{_MANIFEST}", manifest.encode("utf-8", "surrogatepass"))
            self.files.move(path, f"{place}/{_CONTENT}")
            # An editor knows no lock: it may have saved between the look and the move.
            if self.content(sha256) is None:
                self.recover()
                raise _changed(path)
            return trashed

    def recover(self) -> tuple[str, ...]:
        """Puts back what lies here and is not what was harvested; gives the paths.

        Raises:
            WriteFailed, ReadOnly: It was not put back; it still lies here.
        """
        changed = [name for name in self._names() if self._holds(name) and self.content(name) is None]
        back: list[str] = []
        for name in changed:
            manifest = self._manifest(name)
            path = f"conversations/{name[:12]}.md" if manifest is None else manifest.path
            with self.files.lock():
                if self.files.workspace.root.joinpath(path).exists():
                    stem, dot, ending = path.rpartition(".")
                    path = f"{stem or ending}-{name[:12]}{dot}{ending if stem else ''}"
                self.files.move(f"{FOLDER}/{name}/{_CONTENT}", path)
                self.forget(name)
            back.append(path)
        return tuple(back)

    def all(self) -> tuple[Trashed, ...]:
        """What lies here, the newest first; a manifest whose conversation was never moved is passed over."""
        found = [self._manifest(name) for name in self._names() if self._holds(name)]
        return tuple(
            sorted((each for each in found if each is not None), key=lambda each: each.at, reverse=True)
        )

    def content(self, sha256: str) -> bytes | None:
        """The bytes of a conversation; ``None`` if it is not here, or has changed."""
        try:
            data = self.files.read(f"{FOLDER}/{sha256}/{_CONTENT}")
        except (FileNotFoundError, AutopoiesisError):
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def forget(self, sha256: str) -> None:
        """Removes a conversation from here for good.

        Raises:
            WriteFailed, ReadOnly: It is still here.
        """
        place = f"{FOLDER}/{sha256}"
        with self.files.lock():
            # The manifest goes last: without it, the origin of these bytes would be unknown.
            for name in (_CONTENT, _MANIFEST):
                with contextlib.suppress(FileNotFoundError):
                    self.files.remove(f"{place}/{name}")
            with contextlib.suppress(OSError):
                self.files.workspace.root.joinpath(place).rmdir()

    def purge(self, days: int) -> tuple[Trashed, ...]:
        """Removes what has lain here for some days; gives what was removed.

        Raises:
            WriteFailed, ReadOnly: Something is still here.
        """
        horizon = self.clock() - timedelta(days=days)
        old = [
            each
            for each in self.all()
            if _moment(each.at, horizon) < horizon and self.content(each.sha256) is not None
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
    return HarvestRefused("was changed meanwhile and is kept", where=path, hint="harvest it again")


def _moment(text: str, otherwise: datetime) -> datetime:
    """A manifest's time; one that cannot be read is never too old."""
    try:
        found = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return otherwise
    return found if found.tzinfo else otherwise
