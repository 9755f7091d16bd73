"""Requests, surveys and results of a harvest (``knowledge-curation.md`` 5.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.knowledge.harvest.classify import Candidate, Kind
from engine.knowledge.item import KnownItem
from engine.knowledge.ledger import LedgerEntry

Outcome = Literal["harvested", "failed", "too-large", "unclear", "changed", "unharvested"]
"""``unharvested``: discarded without a harvest. ``unclear``: the speakers are unknown."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a harvest would do (``knowledge-curation.md`` 5.4)."""

    candidates: tuple[Candidate, ...]  # by path
    provider: str  # ``markers`` works without a model
    model: str
    transcripts: bool = False  # of ``raw/``, instead of working conversations
    left: int = 0  # unharvested transcripts in ``raw/``, if this is about working conversations

    def of(self, kind: Kind) -> tuple[Candidate, ...]:
        """The candidates of one kind."""
        return tuple(each for each in self.candidates if each.kind == kind)

    def size(self, kind: Kind) -> int:
        """Bytes of one kind: of text for ``harvest``, of files for all others."""
        return sum(each.text_size if kind == "harvest" else each.size for each in self.of(kind))

    @property
    def tokens(self) -> int:
        """Estimated tokens to be sent."""
        return sum(each.tokens for each in self.of("harvest"))


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person has agreed to."""

    number: int | None = None
    """Confirmed number of conversations to reclaim; ``None`` if not confirmed."""
    empty: bool = False  # also reclaim conversations without items
    partial: bool = False  # also reclaim those read in part or without a model


@dataclass(frozen=True, slots=True)
class HarvestRequest:
    """What a harvest should do."""

    paths: tuple[str, ...] = ()  # all if empty
    transcripts: bool = False  # harvest ``raw/``, which is never reclaimed, instead of working conversations
    harvest: bool = True  # otherwise conversations are discarded without a harvest
    reclaim: bool = True  # move harvested conversations to the trash
    consent: Consent = field(default_factory=Consent)


@dataclass(frozen=True, slots=True)
class Result:
    """The result for one conversation."""

    path: str  # workspace-relative
    size: int  # bytes
    outcome: Outcome
    entry: LedgerEntry | None = None  # ``None`` if it was not processed
    error: str = ""  # why it was not harvested
    is_new: bool = False  # this run harvested it, rather than an earlier one
    reclaimed: bool = False
    kept: str = ""  # why it was not reclaimed
    to_confirm: int = 0  # number to confirm before it is reclaimed; 0 if that is not why it was kept
    known: tuple[KnownItem, ...] = ()  # not written, because they are already known
    items: Mapping[str, int] = field(default_factory=dict)  # written by this run, by category
    held: int = 0  # items that this run queued for review
    refused: tuple[str, ...] = ()  # one line for each unusable part of the reply
    stays: bool = False  # still being written, or a transcript: not reclaimed


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a harvest."""

    results: tuple[Result, ...]  # in order
    recovered: tuple[str, ...] = ()  # conversations whose interrupted harvest was finished first
    purged: tuple[str, ...] = ()  # conversations deleted from the trash
    stopped: str = ""
    """Why the rest was skipped: ``stopped`` by a person, or a problem that affects all conversations, such as
    a missing key; empty if nothing was skipped."""
    commit: str = ""  # hash of the commit of what was harvested; empty if there is none
    uncommitted: str = ""  # why there is none

    @property
    def items(self) -> dict[str, int]:
        """Items written by this run, by category."""
        counts: Counter[str] = Counter()
        for each in self.results:
            counts.update(each.items)
        return dict(counts)

    @property
    def held(self) -> int:
        """Items queued for review by this run."""
        return sum(each.held for each in self.results)

    @property
    def reclaimed(self) -> int:
        """Bytes reclaimed."""
        return sum(each.size for each in self.results if each.reclaimed)
