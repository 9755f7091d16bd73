"""Which conversations of a harvest go to the trash, and the brake on too many of them (robustness L8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.harvest.classify import WORKING, hash_of, paths_in

if TYPE_CHECKING:
    from engine.knowledge.harvest.reclaim import Reclaimer
    from engine.knowledge.harvest.report import Result, Wish
    from engine.knowledge.ledger import Ledger
    from engine.store.files import Files

FEW = 5
"""Conversations that go to the trash without their number being typed, however large a share they are."""

STILL = "it was written to a moment ago, so it stays until it is quiet"


class Mover:
    """Moves the conversations of one run.

    More than ``most`` go only after their number was typed.
    """

    def __init__(self, files: Files, ledger: Ledger, reclaimer: Reclaimer, most: int) -> None:
        self._files = files
        self._ledger = ledger
        self._reclaimer = reclaimer
        self._most = most

    def move(self, results: Sequence[Result], wish: Wish) -> Iterator[Result]:
        """Moves to the trash what may go; all of it or, where a number has to be typed, nothing."""
        may_go: list[Result] = []
        blocked = self._reclaimer.blocked()
        for each in results:
            if each.outcome not in ("harvested", "unharvested") or each.entry is None:
                continue
            why = blocked or (STILL if each.stays else "")
            try:
                why = why or self._reclaimer.why_not(each.path, each.entry, wish.consent)
            except AutopoiesisError as error:
                why = str(error)
            if not why:
                may_go.append(each)
            elif not self._is_taken(each.path):
                yield replace(each, kept=why)
        try:
            refuse_too_many(self._files, len(may_go), wish, self._most)
        except HarvestRefused as error:
            for each in may_go:
                yield replace(each, kept=str(error))
            return
        gone: list[str] = []
        for each in may_go:
            try:
                sha256 = hash_of(self._files, each.path)[0]
                self._note_given_up(sha256, each)
                self._reclaimer.reclaim(each.path, sha256)
                gone.append(each.path)
                yield replace(each, reclaimed=True, entry=self._ledger.get(sha256))
            except (OSError, AutopoiesisError) as error:
                if not self._is_taken(each.path):
                    yield replace(each, kept=str(error))
        self._reclaimer.commit_gone(gone)

    def _is_taken(self, path: str) -> bool:
        """Whether another program has moved a conversation to the trash since it was looked at."""
        # The process that moves one holds the lock until it is in the ledger too.
        with self._files.lock():
            if self._files.workspace.root.joinpath(path).exists():
                return False
            return any(entry.path == path and entry.deleted for entry in self._ledger.entries().values())

    def _note_given_up(self, sha256: str, result: Result) -> None:
        known = self._ledger.get(sha256)
        if result.outcome == "unharvested" and (known is None or known.status != "harvested"):
            assert result.entry is not None
            self._ledger.record(sha256, result.entry)


def refuse_too_many(files: Files, number: int, wish: Wish, most: int) -> None:
    """The brake on mass deletion.

    A few that go by mistake are soon back, and what they taught is safe. What a conversation taught that is
    discarded unharvested is not, so there over half counts however few they are.

    Raises:
        HarvestRefused: So many go only after their number was typed.
    """
    total = len(paths_in(files, WORKING))
    if number <= most and (number * 2 <= total or (wish.harvest and number <= FEW)):
        return
    if wish.consent.number is not None and number <= wish.consent.number:
        return
    why = f"more than {most}" if number > most else f"over half of {total}"
    raise HarvestRefused(
        f"{number} would go to the trash, {why}", cure=f"say so by their number: --reclaim {number}"
    )
