"""Resolves paths in knowledge files to files or folders of the workspace."""

from __future__ import annotations

import posixpath
from functools import cached_property

from engine.errors import PathRefused
from engine.knowledge.entries import Entry, EntryScan, innermost
from engine.knowledge.inventory import Inventory, take_inventory
from engine.store.entry_files import folder_of
from engine.store.paths import Workspace
from engine.store.sparse import hidden

FOLDERS = (
    "knowledge", ".library", "topics", "presets", "raw", "conversations", "archive", "attachments", "logs",
)  # fmt: skip


class OutsideWorkspace(Exception):
    """A reference, or a symlink on its path, leads out of the workspace."""


class Places:
    """The files, folders and entries in one state of a workspace."""

    def __init__(self, workspace: Workspace, scan: EntryScan) -> None:
        self._workspace = workspace
        self._folders = {entry.folder: entry for entry in scan.entries}
        self._owner = innermost(self._folders)

    @cached_property
    def inventory(self) -> Inventory:
        """Possible targets of references, including files that are not checked out here."""
        found = take_inventory(self._workspace, FOLDERS)
        for path in hidden(self._workspace.root) - found.files.keys():
            found.files[path] = 0
            parts = path.split("/")
            found.folders.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return found

    def find(self, source: str, target: str) -> str:
        """The file or folder at a path, relative to the source's folder, its entry or the workspace; empty if
        there is none.

        Raises:
            Outside: It leads out of the workspace.
        """
        here = folder_of(source)
        owner = self.owner(source)
        bases = [here]
        if not target.startswith(("./", "../")):
            bases += [owner.folder if owner else here, "", "knowledge"]
        for base in dict.fromkeys(bases):
            path = joined(base, target)
            if path is None:
                raise OutsideWorkspace("leads out of the workspace")
            found = self.existing(path)
            if found:
                return found
        return ""

    def existing(self, path: str) -> str:
        """The file or folder at a workspace path (for an entry, its marker file); empty if there is none."""
        places = self.inventory
        if path in places.files:
            return path
        if path in places.folders:
            if path in self._folders:
                return self._folders[path].location
            return f"{path}/context.md" if f"{path}/context.md" in places.files else path
        parts = path.split("/")
        through = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        if places.symlinks and any(part in places.symlinks for part in through):
            try:
                real = self._workspace.resolve(path)
            except PathRefused as error:
                raise OutsideWorkspace(f"is refused: {error.what}") from error
            return self._workspace.relative(real) if real.exists() else ""
        return ""

    def owner(self, path: str) -> Entry | None:
        """The entry whose folder contains a path."""
        folder = path if path in self._folders else folder_of(path)
        return self._folders.get(self._owner(folder))


def joined(base: str, target: str) -> str | None:
    """A normalised path from a folder; ``None`` if it leads out of the workspace."""
    path = posixpath.normpath(posixpath.join(base, target.lstrip("/")))
    if path == ".." or path.startswith("../"):
        return None
    return "" if path == "." else path
