"""Moves harvested conversations to the trash and back (``knowledge-curation.md`` 4), with a safeguard against
moving too many (robustness L8).

A conversation is reclaimed only if its harvest is proven: it is in the ledger, every line from it is in a
file or in the history, the conversation itself is in the history with the same bytes, and all of it was
examined. A summary or an empty harvest is not sufficient proof and needs a person's consent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.harvest.classify import WORKING, hash_of, paths_in
from engine.knowledge.ledger import MARKERS, LedgerEntry
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.verify import version_of
from engine.redaction.detect import redact
from engine.store.change import commit_message

if TYPE_CHECKING:
    from engine.knowledge.harvest.report import Consent, HarvestRequest, Result
    from engine.knowledge.ledger import Ledger, LedgerLine
    from engine.knowledge.trash import Trash
    from engine.store.change import Commit
    from engine.store.files import Files
    from engine.store.repository import Repository


FEW = 5
"""Number of conversations that never needs confirmation, however large a share they are."""

STILL = "written to moments ago; kept until it is idle"


@dataclass(eq=False)
class Reclaimer:
    """Reclaims and restores conversations."""

    files: Files
    ledger: Ledger
    trash: Trash
    repository: Repository
    commit: Commit
    on_problem: Callable[[str], None]
    _known: tuple[str, dict[str, bytes | None]] = field(default_factory=lambda: ("", {}), init=False)

    def move(self, results: Sequence[Result], request: HarvestRequest, limit: int) -> Iterator[Result]:
        """Moves the reclaimable conversations of one run to the trash; none of them if there are more than
        ``limit`` and their number was not confirmed.
        """
        reclaimable: list[Result] = []
        blocked = self._blocked()
        for each in results:
            if each.outcome not in ("harvested", "unharvested") or each.entry is None:
                continue
            why = blocked or (STILL if each.stays else "")
            try:
                why = why or self.reason_to_keep(each.path, each.entry, request.consent)
            except AutopoiesisError as error:
                why = str(error)
            if not why:
                reclaimable.append(each)
            elif not self._is_taken(each.path):
                yield replace(each, kept=why)
        try:
            refuse_too_many(self.files, len(reclaimable), request, limit)
        except HarvestRefused as error:
            for each in reclaimable:
                yield replace(each, kept=str(error), to_confirm=error.to_confirm)
            return
        moved: list[str] = []
        for each in reclaimable:
            try:
                sha256 = hash_of(self.files, each.path)[0]
                if hashlib.sha256(self.committed(each.path) or b"").hexdigest() != sha256:
                    raise HarvestRefused("changed in the meantime and is kept", where=each.path)
                known = self.ledger.get(sha256)
                if each.outcome == "unharvested" and (known is None or known.status != "harvested"):
                    assert each.entry is not None
                    self.ledger.record(sha256, each.entry)
                self.reclaim(each.path, sha256)
                moved.append(each.path)
                yield replace(each, reclaimed=True, entry=self.ledger.get(sha256))
            except (OSError, AutopoiesisError) as error:
                if not self._is_taken(each.path):
                    yield replace(each, kept=str(error))
        self._commit_moved(moved)

    def _is_taken(self, path: str) -> bool:
        """True if another program has moved a conversation to the trash in the meantime."""
        # The process that moves a conversation holds the lock until the ledger is updated.
        with self.files.lock():
            if self.files.workspace.root.joinpath(path).exists():
                return False
            return any(entry.path == path and entry.deleted for entry in self.ledger.entries().values())

    def reason_to_keep(self, path: str, entry: LedgerEntry, consent: Consent) -> str:
        """Why a conversation may not be reclaimed, one clause; empty if it may."""
        if entry.status == "deleted-unharvested":
            return self._not_in_history(path, ())
        if entry.status != "harvested":
            return f"its ledger status is {entry.status}"
        if not (entry.total or entry.known or entry.held) and not consent.empty:
            return "no items found (--reclaim-empty)"
        if entry.provider == MARKERS and not consent.partial:
            return "it was read without a model (--reclaim-partial)"
        if entry.refused and not consent.partial:
            return f"{len(entry.refused)} of the model's items were unusable (--reclaim-partial)"
        if (entry.summarised or entry.coverage < 1) and not consent.partial:
            return f"{entry.coverage:.0%} of it was read, by summary (--reclaim-partial)"
        return self._not_in_history(path, entry.lines)

    def _blocked(self) -> str:
        """Why nothing can be committed and therefore nothing reclaimed; empty if it can."""
        state = self.repository.state(count=False)
        if state.can_commit:
            return ""
        return f"{state.why}; {state.hint}" if state.hint else state.why

    def reclaim(self, path: str, sha256: str) -> None:
        """Moves a conversation to the trash, without checks and without a commit.

        Raises:
            HarvestRefused: Its content has changed; it is kept.
            LedgerBroken, WriteFailed, ReadOnly: It was not moved, or ``recover`` does the rest.
        """
        with self.files.lock():
            entry = self.ledger.get(sha256)
            if entry is None:
                raise HarvestRefused("it has no ledger entry", where=path)
            self.trash.put(path, sha256, entry.status)
            self.ledger.change(sha256, deleted=True)

    def _commit_moved(self, paths: Sequence[str]) -> None:
        if paths:
            made = self.commit([*paths, LEDGER], gone_message(paths))
            if made.failed:
                self.on_problem(f"{_in_the_trash(paths)}, but that is not committed: {made.why}")

    def recover(self) -> tuple[str, ...]:
        """Finishes interrupted moves and restores files that changed while being moved; returns the paths.

        Raises:
            LedgerBroken, WriteFailed, ReadOnly: It cannot be finished now.
        """
        if self.files.read_only:
            return ()
        restored = self.trash.recover()
        done: list[str] = []
        for each in self.trash.all():
            entry = self.ledger.get(each.sha256)
            still_there = self.files.workspace.root.joinpath(each.path).exists()
            if entry is not None and not entry.deleted and not entry.restored and not still_there:
                self.ledger.change(each.sha256, deleted=True)
                done.append(each.path)
        self._commit_moved(done)
        return (*restored, *done)

    def restore(self, sha256: str) -> str:
        """Restores a conversation from the trash or the history; returns its path.

        From then on, no harvest touches it.

        Raises:
            HarvestRefused: Its content is lost, or another file has its name.
            LedgerBroken, WriteFailed, ReadOnly: It was not restored.
        """
        with self.files.lock():
            entry = self.ledger.get(sha256)
            if entry is None:
                raise HarvestRefused(
                    f"no such ledger entry: {sha256[:12]}", hint="see: autopoiesis ledger list"
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
            self.commit([entry.path, LEDGER], commit_message("memory", f"restored {entry.path}"))
            return entry.path

    def keep_in_history(self, path: str) -> str:
        """Commits a conversation before it is reclaimed; returns the reason if that is impossible."""
        try:
            data = self.files.read(path)
        except (FileNotFoundError, AutopoiesisError) as error:
            return str(error)
        if self.committed(path) == data:
            return ""
        if holds_secret(data):
            return "it contains what looks like a secret and so cannot be committed; remove the secret"
        self.commit([path], kept_message(path))
        return "" if self.committed(path) == data else "it is not in the history"

    def _not_in_history(self, path: str, lines: Sequence[LedgerLine]) -> str:
        why = self.keep_in_history(path)
        if why:
            return why
        files = {line.path: self.committed(line.path) or b"" for line in lines}
        for line in lines:
            if line.text.encode() not in files[line.path] and not self._was_there(line):
                return f"a line from it is not in the history: {line.path}: {line.text[:60]}"
        return ""

    def _was_there(self, line: LedgerLine) -> bool:
        """True if the history has a line that a person has changed since."""
        try:
            found = self.repository.git.run(
                "log", "-1", "--format=%H", f"-S{line.text}", "HEAD", paths=[line.path]
            )
        except AutopoiesisError:
            return False
        return bool(found.text.strip())

    def committed(self, path: str) -> bytes | None:
        """A file in the newest commit; ``None`` if there is none."""
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


def holds_secret(data: bytes) -> bool:
    """True if a file contains what looks like a key or a password."""
    return bool(redact(data.decode("utf-8", "replace"))[1])


def kept_message(path: str) -> str:
    """The commit message for a conversation that is about to be reclaimed."""
    return commit_message("memory", f"{path} before it is reclaimed")


def gone_message(paths: Sequence[str]) -> str:
    """The commit message for conversations moved to the trash."""
    return commit_message("memory", f"{_in_the_trash(paths)}, knowledge kept")


def _in_the_trash(paths: Sequence[str]) -> str:
    return (
        f"{paths[0]} is in the trash" if len(paths) == 1 else f"{len(paths)} conversations are in the trash"
    )


def refuse_too_many(files: Files, number: int, request: HarvestRequest, limit: int) -> None:
    """The safeguard against mass deletion: raises ``HarvestRefused`` until the number is confirmed.

    A few conversations moved by mistake are quickly restored, and their knowledge is safe. Knowledge in
    conversations discarded without a harvest is not, so there more than half always needs confirmation.
    """
    why = too_many(number, len(paths_in(files, WORKING)), limit, FEW if request.harvest else 0)
    if not why or (request.consent.number is not None and number <= request.consent.number):
        return
    raise HarvestRefused(
        f"{number} would go to the trash, {why}",
        hint=f"confirm the number with: --reclaim {number}",
        to_confirm=number,
    )


def too_many(number: int, total: int, limit: int, few: int = FEW) -> str:
    """Why moving so many of ``total`` needs confirmation: more than ``limit``, or more than half and more
    than ``few``; empty if it does not.
    """
    if number > limit:
        return f"more than {limit}"
    return f"over half of {total}" if number * 2 > total and number > few else ""
