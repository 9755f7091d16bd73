"""Merges the two versions of a file by its kind."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.context.fixed import DIGEST
from engine.errors import ConfigError
from engine.knowledge import ledger
from engine.knowledge.category_files import CATEGORY_FILES
from engine.knowledge.digest import STATE
from engine.knowledge.note_records import FOLDER as NOTES
from engine.knowledge.session_notes import place_of
from engine.settings.file import CONFIG_FILE, load
from engine.store.documents import parse
from engine.sync import entries, ledgers, lines, state_files, transcripts
from engine.sync.model import Hunk, Side

if TYPE_CHECKING:
    from engine.store.git import Git

Kind = Literal["log", "state", "ledger", "entries", "conversation", "digest", "text"]

_COLD = ("archive/", "knowledge/archive/")
_CATEGORIES = frozenset(file.path for file in CATEGORY_FILES)
_LINE = re.compile(rb"(?<=\n)")
_MAX_BYTES = 16 * 1024 * 1024
_SHOWN_BYTES = 64 * 1024


def kind_of(path: str) -> Kind:
    """The kind of a file by its path; archived files keep their kind."""
    if path in (DIGEST, STATE):
        return "digest"
    if path == ledger.PATH:
        return "ledger"
    plain = next((path.removeprefix(cold) for cold in _COLD if path.startswith(cold)), path)
    if plain.startswith("logs/") and plain.endswith(".jsonl"):
        return "log"
    if plain.startswith("logs/") and plain.endswith(".json"):
        return "state"
    if plain.startswith(("raw/", "conversations/")):
        return "conversation"
    if plain in _CATEGORIES or place_of(plain) or (plain.startswith(f"{NOTES}/") and plain.endswith(".md")):
        return "entries"
    return "text"


@dataclass(frozen=True, slots=True)
class MergedFile:
    """Result of merging two versions of a file."""

    data: bytes
    is_conflict: bool = False
    hunks: tuple[Hunk, ...] = ()
    second: tuple[str, bytes] | None = None
    """Path and bytes of a second file, if both versions are kept."""
    reason: str = ""  # why it is a conflict, or how it was resolved


@dataclass
class ContentMerger:
    """Merges two versions of a file; plain text with git's own merge.

    Args:
        git: In the repository of ``transport.isolated``, where no attributes or merge drivers apply.
    """

    git: Git

    @cached_property
    def _marker(self) -> int:
        return 60 + secrets.randbelow(40)  # longer than any marker a file contains by chance

    def merge(
        self, path: str, base: bytes, ours: bytes, theirs: bytes, name: str, take: Side | None
    ) -> MergedFile:
        """Merges both versions of a file.

        Args:
            name: The blob name of theirs.
            take: The user's decision about it.
        """
        match kind_of(path):
            case "log":
                return MergedFile(lines.union(base, ours, theirs))
            case "state" if (found := state_files.merged(base, ours, theirs)) is not None:
                return MergedFile(found)
            case "ledger":
                found = ledgers.merged(base, ours, theirs)
                if found is not None:
                    return MergedFile(found)
                reason = "one side's ledger cannot be read; rebuild it there: autopoiesis ledger rebuild"
                return self._whole(base, ours, theirs, take, reason)
            case "entries":
                made = entries.merged(path, base, ours, theirs, take)
                reason = "both sides changed the same entry"
                return MergedFile(made.data, bool(made.hunks) and take is None, made.hunks, reason=reason)
            case "conversation":
                kept = transcripts.longer(ours, theirs)
                if kept is not None:
                    return MergedFile(kept)
                second = transcripts.as_own_session(path, theirs, name)
                return MergedFile(
                    ours, second=second, reason=f"continued on both machines; theirs is {second[0]}"
                )
            case _:
                return self._text(path, base, ours, theirs, take)

    def _text(self, path: str, base: bytes, ours: bytes, theirs: bytes, take: Side | None) -> MergedFile:
        if b"\0" in base + ours + theirs or max(map(len, (ours, theirs))) > _MAX_BYTES:
            return self._whole(base, ours, theirs, take, "changed on both sides and cannot be merged as text")
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            Path(self.git.root / name).write_bytes(data)
        options = [f"--marker-size={self._marker}", f"--{take}" if take else "--diff3"]
        merge = ("merge-file", "--quiet", "--stdout", *options, "ours", "base", "theirs")
        done = self.git.run(*merge, accept=range(128), environment={"GIT_DIR": str(self.git.root)})
        if done.code and not take:
            return MergedFile(
                ours, True, self._hunks(done.output), reason="both sides changed the same lines"
            )
        problem = _problem(path, done.output)
        if problem and not _problem(path, ours) and not _problem(path, theirs):
            return self._whole(base, ours, theirs, take, f"would be invalid with both changes ({problem})")
        return MergedFile(done.output)

    def _whole(self, base: bytes, ours: bytes, theirs: bytes, take: Side | None, reason: str) -> MergedFile:
        """The side the user decided for; otherwise a conflict about the whole file."""
        if take:
            return MergedFile(theirs if take == "theirs" else ours)
        is_shown = b"\0" not in base + ours + theirs
        texts = [data[:_SHOWN_BYTES].decode("utf-8", "replace") for data in (base, ours, theirs)]
        return MergedFile(ours, True, (Hunk(*texts),) if is_shown else (), reason=reason)

    def _hunks(self, marked: bytes) -> tuple[Hunk, ...]:
        """The conflicts in the output of ``git merge-file --diff3``."""
        found: list[Hunk] = []
        parts: dict[bytes, list[bytes]] = {}
        inside = b""
        for line in _LINE.split(marked):
            mark = next(
                (each for each in (b"<", b"|", b"=", b">") if line.startswith(each * self._marker)), b""
            )
            if mark == b">":
                texts = [b"".join(parts[each]).decode("utf-8", "replace") for each in (b"|", b"<", b"=")]
                found.append(Hunk(*texts))
                inside = b""
            elif mark:
                inside = mark
                parts[mark] = []
            elif inside:
                parts[inside].append(line)
        return tuple(found)


def _problem(path: str, data: bytes) -> str:
    """What is invalid in settings or a Markdown header: two valid versions may merge into an invalid one."""
    if path == CONFIG_FILE:
        try:
            load(data)
        except ConfigError as error:
            return error.what
    elif path.endswith(".md"):
        return next((problem.what for problem in parse(data, path).problems), "")
    return ""
