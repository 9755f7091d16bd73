"""Moves conversations out of the way whose knowledge is safe, and back (``knowledge-curation.md`` 4).

A conversation goes only if its harvest is proven: the ledger has it, every line it gave is in a file or
in the history, the conversation itself is in the history with the same bytes, and all of it was looked at.
What is not proof by itself, a summary or an empty harvest, needs a person's word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.harvest.classify import hash_of
from engine.knowledge.harvest.settle import Commit, holds_secret
from engine.knowledge.ledger import MARKERS, LedgerEntry
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.verify import version_of

if TYPE_CHECKING:
    from engine.knowledge.ledger import Ledger, LedgerLine
    from engine.knowledge.trash import Trash
    from engine.store.files import Files
    from engine.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person has agreed to."""

    number: int | None = None
    """How many conversations may go, where the number has to be typed; ``None`` if it was not."""
    empty: bool = False  # conversations without findings may go
    partial: bool = False  # those that were read in part, or only for their markers, may go


class Reclaimer:
    """Reclaims and restores."""

    def __init__(
        self,
        files: Files,
        ledger: Ledger,
        trash: Trash,
        repository: Repository,
        commit: Commit,
        on_problem: Callable[[str], None],
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._trash = trash
        self._repository = repository
        self._commit = commit
        self._on_problem = on_problem
        self._known: tuple[str, dict[str, bytes | None]] = ("", {})

    def why_not(self, path: str, entry: LedgerEntry, consent: Consent) -> str:
        """Why a conversation may not go, one clause; empty when it may."""
        if entry.status == "deleted-unharvested":
            return self._not_in_history(path, ())
        if entry.status != "harvested":
            return f"the ledger says {entry.status}"
        if not (entry.total or entry.known or entry.held) and not consent.empty:
            return "nothing was found in it (--reclaim-empty)"
        if entry.provider == MARKERS and not consent.partial:
            return "it was read without a model (--reclaim-partial)"
        if entry.refused and not consent.partial:
            return f"{len(entry.refused)} of the model's items could not be used (--reclaim-partial)"
        if (entry.summarised or entry.coverage < 1) and not consent.partial:
            return f"{entry.coverage:.0%} of it was looked at, by summary (--reclaim-partial)"
        return self._not_in_history(path, entry.lines)

    def blocked(self) -> str:
        """Why nothing may go at all, because nothing can be committed; empty when it may."""
        state = self._repository.state(count=False)
        if state.can_commit:
            return ""
        return f"{state.why}; {state.cure}" if state.cure else state.why

    def reclaim(self, path: str, sha256: str) -> None:
        """Moves a conversation to the trash; what may go was found out before, ``commit_gone`` comes after.

        Raises:
            HarvestRefused: Its bytes have changed; it is kept.
            LedgerBroken, WriteFailed, ReadOnly: It was not moved, or ``recover`` has the rest to do.
        """
        with self._files.lock():
            entry = self._ledger.get(sha256)
            if entry is None:
                raise HarvestRefused("the ledger has no entry of it", where=path)
            self._trash.put(path, sha256, entry.status)
            self._ledger.change(sha256, deleted=True)

    def commit_gone(self, paths: Sequence[str]) -> None:
        """Commits that conversations are in the trash."""
        if paths:
            what = paths[0] if len(paths) == 1 else f"{len(paths)} conversations"
            are = "is" if len(paths) == 1 else "are"
            kept = "its" if len(paths) == 1 else "their"
            made = self._commit(
                [*paths, LEDGER], f"memory: {what} {are} in the trash, {kept} knowledge is kept"
            )
            if made.failed:
                self._on_problem(f"{what} {are} in the trash, which is not committed: {made.why}")

    def recover(self) -> tuple[str, ...]:
        """Finishes what was interrupted, and puts back what was changed while it was moved; gives the paths
        of both.

        Raises:
            LedgerBroken, WriteFailed, ReadOnly: It cannot be finished now.
        """
        if self._files.read_only:
            return ()
        back = self._trash.recover()
        done: list[str] = []
        for each in self._trash.all():
            entry = self._ledger.get(each.sha256)
            still_there = self._files.workspace.root.joinpath(each.path).exists()
            if entry is not None and not entry.deleted and not entry.restored and not still_there:
                self._ledger.change(each.sha256, deleted=True)
                done.append(each.path)
        self.commit_gone(done)
        return (*back, *done)

    def restore(self, sha256: str) -> str:
        """Puts a conversation back, from the trash or else from the history; gives its path.

        From then on it is a person's own and no harvest touches it.

        Raises:
            HarvestRefused: Its bytes are lost, or another file has its name.
            LedgerBroken, WriteFailed, ReadOnly: It was not put back.
        """
        with self._files.lock():
            entry = self._ledger.get(sha256)
            if entry is None:
                raise HarvestRefused(
                    f"the ledger has no entry {sha256[:12]}", cure="see: autopoiesis ledger list"
                )
            data = self._trash.content(sha256)
            if data is None:
                data = version_of(self._repository, entry.path, sha256)
            if data is None:
                raise HarvestRefused("is neither in the trash nor in the history", where=entry.path)
            if not self._files.create(entry.path, data) and hash_of(self._files, entry.path)[0] != sha256:
                raise HarvestRefused(
                    "another conversation has its name", where=entry.path, cure="move that one away first"
                )
            self._ledger.change(sha256, deleted=False, restored=True)
            self._trash.forget(sha256)
            self._commit([entry.path, LEDGER], f"memory: {entry.path} is back")
            return entry.path

    def keep_in_history(self, path: str) -> str:
        """Commits a conversation that is to go; gives why that is impossible, empty when it is committed."""
        try:
            data = self._files.read(path)
        except (FileNotFoundError, AutopoiesisError) as error:
            return str(error)
        if self.committed(path) == data:
            return ""
        if holds_secret(data):
            return "it holds what looks like a secret, so it does not belong into the history; take that out"
        self._commit([path], f"memory: {path} before it is reclaimed")
        return "" if self.committed(path) == data else "it is not in the history"

    def _not_in_history(self, path: str, lines: Sequence[LedgerLine]) -> str:
        why = self.keep_in_history(path)
        if why:
            return why
        files = {line.path: self.committed(line.path) or b"" for line in lines}
        for line in lines:
            if line.text.encode() not in files[line.path] and not self._was_there(line):
                return f"a line it gave is not in the history: {line.path}: {line.text[:60]}"
        return ""

    def _was_there(self, line: LedgerLine) -> bool:
        """Whether a line that a person has changed since was in the history once."""
        try:
            found = self._repository.git.run(
                "log", "-1", "--format=%H", f"-S{line.text}", "HEAD", paths=[line.path]
            )
        except AutopoiesisError:
            return False
        return bool(found.text.strip())

    def committed(self, path: str) -> bytes | None:
        """A file as the newest commit has it; ``None`` if it has none, or there is no commit."""
        revision = self._repository.revision() or ""
        if revision != self._known[0]:
            self._known = revision, {}
        known = self._known[1]
        if path not in known:
            try:
                known[path] = self._repository.show("HEAD", path)
            except (FileNotFoundError, AutopoiesisError):
                known[path] = None
        return known[path]
