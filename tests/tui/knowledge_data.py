"""Knowledge in memory: digest and notes of files; entries come from the workspace's own folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.knowledge.apply import Applied
from engine.knowledge.entries import Entries, EntryScan
from engine.knowledge.notes import FileNotes, Rebinding
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.views import DigestView

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine


class FakeDigest:
    """The engine's digest, which can be turned off and on."""

    paths = ("knowledge/digest.md",)

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def view(self) -> DigestView:
        """The digest as it is."""
        return self._engine.digest()

    def regenerate(self, *, force: bool = False) -> bool:
        """Notes it."""
        self._engine.note("regenerate", force)
        return True

    def turn_off(self) -> bool:
        """Notes it."""
        self._engine.note("turn off")
        return True


class FakeNotes:
    """Notes of files."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.files: tuple[FileNotes, ...] = ()
        self.unclear: tuple[Rebinding, ...] = ()

    def all(self) -> tuple[FileNotes, ...]:
        """All of them."""
        self._engine.note("notes")
        return self.files

    def questions(self) -> tuple[Rebinding, ...]:
        """Those that are unclear."""
        return self.unclear

    def rebind(self, old: str, new: str | Path) -> FileNotes:
        """Notes it."""
        self._engine.note("rebind", old, str(new))
        return next(each for each in self.files if each.path == old)

    def add(self, path: str | Path, text: str) -> Applied:
        """Notes it."""
        self._engine.note("add note", str(path), text)
        return Applied("written", "knowledge/files/x.md", 3)


class FakeEntries:
    """The entries of the workspace's folder."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def scan(self) -> EntryScan:
        """As they are now."""
        self._engine.note("scan")
        workspace = Workspace.open(self._engine.root)
        return Entries(Files(workspace), workspace).scan()
