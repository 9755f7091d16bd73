"""Power loss: no conversation is moved to the trash before earlier writes are synced (C4)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.knowledge.harvest_support import FACT, QUESTION, Desk, Scripted, conversation_of

ROOT = Path(__file__).parents[2]
CALLS = "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat"
SCRIPT = """
import sys
from pathlib import Path
from tests.knowledge.harvest_support import *
desk = Desk(Path(sys.argv[1]), Scripted({"one": [FACT], "two": [QUESTION]}), git=False)
report = desk.harvest()
assert all(each.reclaimed for each in report.results), report
"""
_LINE = re.compile(r"^\d+\s+(?P<call>\w+)\((?P<given>.*)\)\s+=\s+(?P<result>-?\d+)")
_OF_FD = re.compile(r"^(?:AT_FDCWD|\d+)<(?P<path>[^>]*)>")
_PAIR = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<name>[^"]*)"')


@dataclass
class Disk:
    """The files and folders with unsynced changes.

    Attributes:
        root: The workspace.
        files: Files with unsynced writes.
        folders: Folders with unsynced entries.
        moves: What was unsynced when each conversation was moved to the trash.
    """

    root: Path
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    moves: list[set[str]] = field(default_factory=list)

    def take(self, call: str, given: str) -> None:
        """Tracks a successful system call."""
        if call in ("write", "pwrite64"):
            self._note(self.files, _OF_FD.match(given))
        elif call in ("fsync", "fdatasync"):
            found = _OF_FD.match(given)
            if found is not None:
                self.files.discard(found["path"])
                self.folders.discard(found["path"])
        elif call.startswith(("rename", "link")):
            places = [str(Path(each["folder"] or "/") / each["name"]) for each in _PAIR.finditer(given)][:2]
            source, target = places
            if "/scratch/trash/" in target and "/conversations/" in source:
                self.moves.append({*self.files, *self.folders})
            if source in self.files:
                self.files.discard(source)
                self.files.add(target)
            self._changed(target)
            if call.startswith("rename"):
                self._changed(source)

    def _note(self, where: set[str], found: re.Match[str] | None) -> None:
        if found is not None and self._counts(found["path"]):
            where.add(found["path"])

    def _changed(self, path: str) -> None:
        if self._counts(path):
            self.folders.add(str(Path(path).parent))

    def _counts(self, path: str) -> bool:
        """Returns whether a file matters, unlike git's locks and indexes and our own lock."""
        if not path.startswith(f"{self.root}/") or path.endswith("/scratch/.lock"):
            return False
        return "/.git/" not in path or ("/.git/objects/" in path and "/tmp_obj_" not in path)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_nothing_is_reclaimed_before_all_writes_are_synced(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    desk = Desk(root, Scripted({}))
    desk.repository.commit(["memory-config.yaml"], "first")
    desk.put("one.md", conversation_of(FACT))
    desk.put("two.md", conversation_of(QUESTION))
    log = tmp_path / "strace"
    done = subprocess.run(
        ["strace", "-f", "-y", "-qq", "-s", "512", "-e", f"trace={CALLS}", "-o", str(log),
         sys.executable, "-c", SCRIPT, str(root)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    if "ptrace" in done.stderr.lower():
        pytest.skip("processes cannot be traced here")
    assert done.returncode == 0, done.stderr[-2000:]
    disk = Disk(root)
    written: set[str] = set()
    for text in log.read_text(errors="replace").splitlines():
        found = _LINE.match(text)
        if found is not None and int(found["result"]) >= 0:
            disk.take(found["call"], found["given"])
            written |= disk.files
    assert any("facts.md" in path for path in written), "the trace shows what is written"
    assert disk.moves == [set(), set()]
