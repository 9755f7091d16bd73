"""What becomes of a file that both sides have changed, by what kind of file it is."""

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
from engine.sync import entries, ledgers, lines, states, transcripts
from engine.sync.model import Piece, Side

if TYPE_CHECKING:
    from engine.store.git import Git

Kind = Literal["log", "state", "ledger", "entries", "conversation", "digest", "text"]

_COLD = ("archive/", "knowledge/archive/")
_CATEGORIES = frozenset(file.path for file in CATEGORY_FILES)
_LINE = re.compile(rb"(?<=\n)")
_MOST_BYTES = 16 * 1024 * 1024
_SHOWN_BYTES = 64 * 1024


def kind_of(path: str) -> Kind:
    """The kind of a file by its path; what was archived is what it was."""
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
class Settled:
    """A file that both sides changed, as one."""

    data: bytes
    is_open: bool = False  # a person has to decide
    pieces: tuple[Piece, ...] = ()
    beside: tuple[str, bytes] | None = None
    """A second file, path and bytes, where both versions are kept."""
    why: str = ""  # why a person has to decide, or what was done to settle it


@dataclass
class Contents:
    """Makes one file of two, with git's own way for plain text.

    Args:
        git: In the empty repository that ``transport.beside`` gives: no attribute and no driver counts there.
    """

    git: Git

    @cached_property
    def _marker(self) -> int:
        # Longer than what any file would hold by chance.
        return 60 + secrets.randbelow(40)

    def settle(
        self, path: str, base: bytes, ours: bytes, theirs: bytes, name: str, take: Side | None
    ) -> Settled:
        """Both versions of a file in one.

        Args:
            name: The object name of theirs.
            take: The person's decision about it.
        """
        match kind_of(path):
            case "log":
                return Settled(lines.union(base, ours, theirs))
            case "state" if (found := states.merged(base, ours, theirs)) is not None:
                return Settled(found)
            case "ledger":
                found = ledgers.merged(base, ours, theirs)
                if found is not None:
                    return Settled(found)
                why = "a side's ledger cannot be read; mend it there: autopoiesis ledger rebuild"
                return self._whole(base, ours, theirs, take, why)
            case "entries":
                made = entries.merged(path, base, ours, theirs, take)
                why = "the same entry was changed on both sides"
                return Settled(made.data, bool(made.pieces) and take is None, made.pieces, why=why)
            case "conversation":
                kept = transcripts.longer(ours, theirs)
                if kept is not None:
                    return Settled(kept)
                beside = transcripts.apart(path, theirs, name)
                return Settled(ours, beside=beside, why=f"went on on both machines; theirs is {beside[0]}")
            case _:
                return self._text(path, base, ours, theirs, take)

    def _text(self, path: str, base: bytes, ours: bytes, theirs: bytes, take: Side | None) -> Settled:
        if b"\0" in base + ours + theirs or max(map(len, (ours, theirs))) > _MOST_BYTES:
            return self._whole(
                base, ours, theirs, take, "was changed on both sides, and is no text that can be merged"
            )
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            Path(self.git.root / name).write_bytes(data)
        options = [f"--marker-size={self._marker}", f"--{take}" if take else "--diff3"]
        merge = ("merge-file", "--quiet", "--stdout", *options, "ours", "base", "theirs")
        done = self.git.run(*merge, accept=range(128), environment={"GIT_DIR": str(self.git.root)})
        if done.code and not take:
            why = "the same lines were changed on both sides"
            return Settled(ours, True, self._pieces(done.output), why=why)
        wrong = _wrong(path, done.output)
        if wrong and not _wrong(path, ours) and not _wrong(path, theirs):
            return self._whole(base, ours, theirs, take, f"would not be usable with both changes ({wrong})")
        return Settled(done.output)

    def _whole(self, base: bytes, ours: bytes, theirs: bytes, take: Side | None, why: str) -> Settled:
        if take:
            return Settled(theirs if take == "theirs" else ours)
        is_shown = b"\0" not in base + ours + theirs
        texts = [data[:_SHOWN_BYTES].decode("utf-8", "replace") for data in (base, ours, theirs)]
        return Settled(ours, True, (Piece(*texts),) if is_shown else (), why=why)

    def _pieces(self, marked: bytes) -> tuple[Piece, ...]:
        """The places where git found both changed, each with what stood there."""
        found: list[Piece] = []
        parts: dict[bytes, list[bytes]] = {}
        inside = b""
        for line in _LINE.split(marked):
            mark = next(
                (each for each in (b"<", b"|", b"=", b">") if line.startswith(each * self._marker)), b""
            )
            if mark == b">":
                texts = [b"".join(parts[each]).decode("utf-8", "replace") for each in (b"|", b"<", b"=")]
                found.append(Piece(*texts))
                inside = b""
            elif mark:
                inside = mark
                parts[mark] = []
            elif inside:
                parts[inside].append(line)
        return tuple(found)


def _wrong(path: str, data: bytes) -> str:
    """What keeps settings from being read, or the header of a topic; each side alone may have been right."""
    if path == CONFIG_FILE:
        try:
            load(data)
        except ConfigError as error:
            return error.what
    elif path.endswith(".md"):
        return next((problem.what for problem in parse(data, path).problems), "")
    return ""
