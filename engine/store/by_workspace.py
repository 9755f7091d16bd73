"""Files in the user's settings folder with an entry for each workspace, by its real path."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engine.errors import AutopoiesisError, WriteFailed
from engine.store.faults import reach
from engine.store.files import reported
from engine.store.user_folder import read_own, settings_folder, write_own

Entry = dict[str, Any]


class ByWorkspace:
    """Such a file. Safe with concurrent processes.

    Args:
        name: Its name in the settings folder.
        secret: Whether others must not read it.
    """

    def __init__(self, name: str, *, secret: bool = False) -> None:
        self._name = name
        self._secret = secret

    def entry(self, root: Path) -> Entry:
        """A workspace's entry; empty if there is none, or if others may write (or read) the file."""
        found = self._load().get(os.path.realpath(root))
        return found if isinstance(found, dict) else {}

    def change(self, root: Path, change: Callable[[Entry], object]) -> None:
        """Change a workspace's entry in place; one that is empty afterwards is removed.

        Raises:
            WriteFailed: The file cannot be written, or not be read: the other entries would be lost.
        """
        path = self._path()
        with reported(str(path)), _exclusive(path.with_suffix(".lock")):
            workspaces = self._loaded()
            name = os.path.realpath(root)
            found = workspaces.get(name)
            entry = found if isinstance(found, dict) else {}
            change(entry)
            workspaces.pop(name, None)
            tree = {"form": 1, "workspaces": workspaces | ({name: entry} if entry else {})}
            write_own(path, json.dumps(tree, indent=1, sort_keys=True).encode() + b"\n")

    def _path(self) -> Path:
        return settings_folder() / self._name

    def readable(self) -> None:
        """Do nothing if the file can be read, or does not exist.

        Raises:
            WriteFailed: It is damaged, or others may write (or read) it.
        """
        self._loaded()

    def _load(self) -> dict[str, Any]:
        try:
            return self._loaded()
        except AutopoiesisError:
            return {}

    def _loaded(self) -> dict[str, Any]:
        path = self._path()
        try:
            tree = json.loads(read_own(path, secret=self._secret) or b"{}")
        except PermissionError as error:
            hint = f"nothing in it counts until then; run: chmod 600 {path}"
            raise WriteFailed(str(error), where=str(path), hint=hint) from error
        except (OSError, ValueError, RecursionError) as error:
            hint = "nothing in it counts; mend it, or delete it to begin anew"
            raise WriteFailed(f"cannot be read ({error})", where=str(path), hint=hint) from error
        found = tree.get("workspaces") if isinstance(tree, dict) else None
        return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        reach("lock:acquire")
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
