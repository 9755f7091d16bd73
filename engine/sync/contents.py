"""Merges the two versions of a file by its kind."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.context.fixed import DIGEST
from engine.errors import ConfigError, DocumentError
from engine.knowledge import ledger
from engine.knowledge.category_files import CATEGORY_FILES
from engine.knowledge.digest import STATE
from engine.knowledge.note_records import FOLDER as NOTES
from engine.knowledge.session_notes import place_of
from engine.rules import rulebook
from engine.settings.file import CONFIG_FILE, load
from engine.store.documents import parse
from engine.sync import entries, ledgers, lines, rules, settings, state_files, transcripts
from engine.sync.model import Hunk, Side

if TYPE_CHECKING:
    from engine.store.git import Git

Kind = Literal["log", "state", "ledger", "rules", "entries", "page", "conversation", "digest", "text"]

_COLD = ("archive/", "knowledge/archive/")
_CATEGORIES = frozenset(file.path for file in CATEGORY_FILES)
_LINE = re.compile(rb"(?<=\n)")
_MAX_BYTES = 16 * 1024 * 1024
_MAX_PAGE_BYTES = 1024 * 1024
"""Larger Markdown files are merged as plain text."""
_SHOWN_BYTES = 64 * 1024


def kind_of(path: str) -> Kind:
    """The kind of a file by its path; archived files keep their kind."""
    if path in (DIGEST, STATE):
        return "digest"
    if path == ledger.PATH:
        return "ledger"
    if path == rulebook.PATH:
        return "rules"
    plain = next((path.removeprefix(cold) for cold in _COLD if path.startswith(cold)), path)
    if plain.startswith("logs/") and plain.endswith(".jsonl"):
        return "log"
    if plain.startswith("logs/") and plain.endswith(".json"):
        return "state"
    if plain.startswith(("raw/", "conversations/")):
        return "conversation"
    if not plain.endswith(".md"):
        return "text"
    if plain in _CATEGORIES or place_of(plain) or plain.startswith(f"{NOTES}/"):
        return "entries"
    return "page"


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
        self,
        path: str,
        base: bytes,
        ours: bytes,
        theirs: bytes,
        name: str,
        take: Side | None,
        history: Callable[[], rules.Histories] = lambda: ((), ()),
    ) -> MergedFile:
        """Merges both versions of a file.

        Args:
            name: The blob name of theirs.
            take: The user's decision about it.
            history: Returns each side's versions since the base.
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
            case "rules":
                return self._rules(path, base, ours, theirs, take, history)
            case "entries" | "page" if _is_mergeable(ours) and _is_mergeable(theirs):
                return self._page(path, base, ours, theirs, take)
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

    def _rules(
        self,
        path: str,
        base: bytes,
        ours: bytes,
        theirs: bytes,
        take: Side | None,
        history: Callable[[], rules.Histories],
    ) -> MergedFile:
        try:
            made = rules.merged(base, ours, theirs, take, history)
        except DocumentError:  # not UTF-8
            return self._page(path, base, ours, theirs, take)
        reason = "both sides changed the same rule or text"
        return MergedFile(made.data, bool(made.hunks) and take is None, made.hunks, reason=reason)

    def _page(self, path: str, base: bytes, ours: bytes, theirs: bytes, take: Side | None) -> MergedFile:
        made = entries.merged(path, base, ours, theirs, take, self._merged_lines)
        if made.hunks and take is None:
            return MergedFile(made.data, True, made.hunks, reason="both sides changed the same entry or text")
        return self._unless_invalid(path, made.data, base, ours, theirs, take)

    def _merged_lines(self, base: str, ours: str, theirs: str, take: Side | None) -> str | None:
        """Git's merge of a piece of a file; ``None`` if its lines conflict."""
        if "\n" not in ours and "\n" not in theirs:
            return None
        was, mine, other = (f"{text}\n".encode("utf-8", "surrogateescape") for text in (base, ours, theirs))
        code, merged = self._by_git(was, mine, other, f"--{take}" if take else "--diff3")
        text = merged.decode("utf-8", "surrogateescape").removesuffix("\n")
        return None if code and take is None else text

    def _by_git(self, base: bytes, ours: bytes, theirs: bytes, option: str) -> tuple[int, bytes]:
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            Path(self.git.root / name).write_bytes(data)
        options = [f"--marker-size={self._marker}", option]
        merge = ("merge-file", "--quiet", "--stdout", *options, "ours", "base", "theirs")
        done = self.git.run(*merge, accept=range(128), environment={"GIT_DIR": str(self.git.root)})
        return done.code, done.output

    def _text(self, path: str, base: bytes, ours: bytes, theirs: bytes, take: Side | None) -> MergedFile:
        if b"\0" in base + ours + theirs or max(map(len, (ours, theirs))) > _MAX_BYTES:
            return self._whole(base, ours, theirs, take, "changed on both sides and cannot be merged as text")
        code, merged = self._by_git(base, ours, theirs, f"--{take}" if take else "--diff3")
        if path == CONFIG_FILE and (code or take):
            found = settings.merged(base, ours, theirs, take)
            if found is not None:
                return self._unless_invalid(path, found, base, ours, theirs, take)
        if code and not take:
            return MergedFile(ours, True, self._hunks(merged), reason="both sides changed the same lines")
        return self._unless_invalid(path, merged, base, ours, theirs, take)

    def _unless_invalid(
        self, path: str, merged: bytes, base: bytes, ours: bytes, theirs: bytes, take: Side | None
    ) -> MergedFile:
        problem = _problem(path, merged)
        if problem and not _problem(path, ours) and not _problem(path, theirs):
            return self._whole(base, ours, theirs, take, f"would be invalid with both changes ({problem})")
        return MergedFile(merged)

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


def _is_mergeable(page: bytes) -> bool:
    return len(page) <= _MAX_PAGE_BYTES and b"\0" not in page


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
