"""Moves conversations out of the way whose knowledge is safe, and back (``knowledge-curation.md`` 4), with a
brake on too many of them (robustness L8).

A conversation goes only if its harvest is proven: the ledger has it, every line it gave is in a file or
in the history, the conversation itself is in the history with the same bytes, and all of it was looked at.
What is not proof by itself, a summary or an empty harvest, needs a person's word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.harvest.classify import WORKING, hash_of, paths_in
from engine.knowledge.harvest.settle import Commit, holds_secret
from engine.knowledge.ledger import MARKERS, LedgerEntry
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.verify import version_of
from engine.store.commit_message import commit_message

if TYPE_CHECKING:
    from engine.knowledge.harvest.report import Consent, HarvestRequest, Result
    from engine.knowledge.ledger import Ledger, LedgerLine
    from engine.knowledge.trash import Trash
    from engine.store.files import Files
    from engine.store.repository import Repository


FEW = 5
"""Conversations that go to the trash without their number being typed, however large a share they are."""

STILL = "it was written to a moment ago, so it stays until it is quiet"


@dataclass(eq=False)
class Reclaimer:
    """Reclaims and restores."""

    files: Files
    ledger: Ledger
    trash: Trash
    repository: Repository
    commit: Commit
    on_problem: Callable[[str], None]
    _known: tuple[str, dict[str, bytes | None]] = field(default_factory=lambda: ("", {}), init=False)

    def move(self, results: Sequence[Result], request: HarvestRequest, most: int) -> Iterator[Result]:
        """Moves to the trash what may go of the conversations of one run; all of it or, where a number has to
        be typed because they are more than ``most``, nothing.
        """
        may_go: list[Result] = []
        blocked = self._blocked()
        for each in results:
            if each.outcome not in ("harvested", "unharvested") or each.entry is None:
                continue
            why = blocked or (STILL if each.stays else "")
            try:
                why = why or self.why_not(each.path, each.entry, request.consent)
            except AutopoiesisError as error:
                why = str(error)
            if not why:
                may_go.append(each)
            elif not self._is_taken(each.path):
                yield replace(each, kept=why)
        try:
            refuse_too_many(self.files, len(may_go), request, most)
        except HarvestRefused as error:
            for each in may_go:
                yield replace(each, kept=str(error))
            return
        gone: list[str] = []
        for each in may_go:
            try:
                sha256 = hash_of(self.files, each.path)[0]
                known = self.ledger.get(sha256)
                if each.outcome == "unharvested" and (known is None or known.status != "harvested"):
                    assert each.entry is not None
                    self.ledger.record(sha256, each.entry)
                self.reclaim(each.path, sha256)
                gone.append(each.path)
                yield replace(each, reclaimed=True, entry=self.ledger.get(sha256))
            except (OSError, AutopoiesisError) as error:
                if not self._is_taken(each.path):
                    yield replace(each, kept=str(error))
        self._commit_gone(gone)

    def _is_taken(self, path: str) -> bool:
        """Whether another program has moved a conversation to the trash since it was looked at."""
        # The process that moves one holds the lock until it is in the ledger too.
        with self.files.lock():
            if self.files.workspace.root.joinpath(path).exists():
                return False
            return any(entry.path == path and entry.deleted for entry in self.ledger.entries().values())

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

    def _blocked(self) -> str:
        """Why nothing may go at all, because nothing can be committed; empty when it may."""
        state = self.repository.state(count=False)
        if state.can_commit:
            return ""
        return f"{state.why}; {state.hint}" if state.hint else state.why

    def reclaim(self, path: str, sha256: str) -> None:
        """Moves a conversation to the trash; what may go was found out before, ``_commit_gone`` comes after.

        Raises:
            HarvestRefused: Its bytes have changed; it is kept.
            LedgerBroken, WriteFailed, ReadOnly: It was not moved, or ``recover`` has the rest to do.
        """
        with self.files.lock():
            entry = self.ledger.get(sha256)
            if entry is None:
                raise HarvestRefused("the ledger has no entry of it", where=path)
            self.trash.put(path, sha256, entry.status)
            self.ledger.change(sha256, deleted=True)

    def _commit_gone(self, paths: Sequence[str]) -> None:
        """Commits that conversations are in the trash."""
        if paths:
            made = self.commit([*paths, LEDGER], gone_message(paths))
            if made.failed:
                self.on_problem(f"{_in_the_trash(paths)}, which is not committed: {made.why}")

    def recover(self) -> tuple[str, ...]:
        """Finishes what was interrupted, and puts back what was changed while it was moved; gives the paths
        of both.

        Raises:
            LedgerBroken, WriteFailed, ReadOnly: It cannot be finished now.
        """
        if self.files.read_only:
            return ()
        back = self.trash.recover()
        done: list[str] = []
        for each in self.trash.all():
            entry = self.ledger.get(each.sha256)
            still_there = self.files.workspace.root.joinpath(each.path).exists()
            if entry is not None and not entry.deleted and not entry.restored and not still_there:
                self.ledger.change(each.sha256, deleted=True)
                done.append(each.path)
        self._commit_gone(done)
        return (*back, *done)

    def restore(self, sha256: str) -> str:
        """Puts a conversation back, from the trash or else from the history; gives its path.

        From then on it is a person's own and no harvest touches it.

        Raises:
            HarvestRefused: Its bytes are lost, or another file has its name.
            LedgerBroken, WriteFailed, ReadOnly: It was not put back.
        """
        with self.files.lock():
            entry = self.ledger.get(sha256)
            if entry is None:
                raise HarvestRefused(
                    f"the ledger has no entry {sha256[:12]}", hint="see: autopoiesis ledger list"
                )
            data = self.trash.content(sha256)
            if data is None:
                data = version_of(self.repository, entry.path, sha256)
            if data is None:
                raise HarvestRefused("is neither in the trash nor in the history", where=entry.path)
            if not self.files.create(entry.path, data) and hash_of(self.files, entry.path)[0] != sha256:
                raise HarvestRefused(
                    "another conversation has its name", where=entry.path, hint="move that one away first"
                )
            self.ledger.change(sha256, deleted=False, restored=True)
            self.trash.forget(sha256)
            self.commit([entry.path, LEDGER], commit_message("memory", f"{entry.path} is back"))
            return entry.path

    def keep_in_history(self, path: str) -> str:
        """Commits a conversation that is to go; gives why that is impossible, empty when it is committed."""
        try:
            data = self.files.read(path)
        except (FileNotFoundError, AutopoiesisError) as error:
            return str(error)
        if self.committed(path) == data:
            return ""
        if holds_secret(data):
            return "it holds what looks like a secret, so it does not belong into the history; take that out"
        self.commit([path], kept_message(path))
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
            found = self.repository.git.run(
                "log", "-1", "--format=%H", f"-S{line.text}", "HEAD", paths=[line.path]
            )
        except AutopoiesisError:
            return False
        return bool(found.text.strip())

    def committed(self, path: str) -> bytes | None:
        """A file as the newest commit has it; ``None`` if it has none, or there is no commit."""
        revision = self.repository.revision() or ""
        if revision != self._known[0]:
            self._known = revision, {}
        known = self._known[1]
        if path not in known:
            try:
                known[path] = self.repository.show("HEAD", path)
            except (FileNotFoundError, AutopoiesisError):
                known[path] = None
        return known[path]


def kept_message(path: str) -> str:
    """What the commit says that has a conversation in the history, so that it may go."""
    return commit_message("memory", f"{path} before it is reclaimed")


def gone_message(paths: Sequence[str]) -> str:
    """What the commit of conversations says that went to the trash."""
    return commit_message("memory", f"{_in_the_trash(paths)}, knowledge kept")


def _in_the_trash(paths: Sequence[str]) -> str:
    return (
        f"{paths[0]} is in the trash" if len(paths) == 1 else f"{len(paths)} conversations are in the trash"
    )


def refuse_too_many(files: Files, number: int, request: HarvestRequest, most: int) -> None:
    """The brake on mass deletion.

    A few that go by mistake are soon back, and what they taught is safe. What a conversation taught that is
    discarded unharvested is not, so there over half counts however few they are.

    Raises:
        HarvestRefused: So many go only after their number was typed.
    """
    why = too_many(number, len(paths_in(files, WORKING)), most, FEW if request.harvest else 0)
    if not why or (request.consent.number is not None and number <= request.consent.number):
        return
    raise HarvestRefused(
        f"{number} would go to the trash, {why}", hint=f"say so by their number: --reclaim {number}"
    )


def too_many(number: int, total: int, most: int, few: int = FEW) -> str:
    """Why a number has to be typed before so many of ``total`` go: they are more than ``most``, or over half
    and more than ``few``; empty where they may just go.
    """
    if number > most:
        return f"more than {most}"
    return f"over half of {total}" if number * 2 > total and number > few else ""
