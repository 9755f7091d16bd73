"""What a harvest is asked for, what it would do, and what it has done (``knowledge-curation.md`` 5.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.knowledge.edit import Known
from engine.knowledge.harvest.classify import Candidate, Kind
from engine.knowledge.ledger import LedgerEntry

Outcome = Literal["harvested", "failed", "too-large", "unclear", "changed", "unharvested"]
"""What became of a conversation; ``unharvested`` was discarded without a harvest, of one that is ``unclear``
nothing tells who speaks."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a harvest would do; nothing has been changed (``knowledge-curation.md`` 5.4)."""

    candidates: tuple[Candidate, ...]  # by path
    provider: str  # ``markers`` asks no model
    model: str
    transcripts: bool = False  # of ``raw/``, instead of working conversations
    left: int = 0  # transcripts of ``raw/`` that were never harvested, when these are working conversations

    def of(self, kind: Kind) -> tuple[Candidate, ...]:
        """Those of one kind."""
        return tuple(each for each in self.candidates if each.kind == kind)

    def size(self, kind: Kind) -> int:
        """Bytes of one kind: the text of those that are harvested, the files of all others."""
        return sum(each.text_size if kind == "harvest" else each.size for each in self.of(kind))

    @property
    def tokens(self) -> int:
        """About how many tokens would be sent."""
        return sum(each.tokens for each in self.of("harvest"))


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person has agreed to."""

    number: int | None = None
    """How many conversations may go, where the number has to be typed; ``None`` if it was not."""
    empty: bool = False  # conversations without findings may go
    partial: bool = False  # those that were read in part, or only for their markers, may go


@dataclass(frozen=True, slots=True)
class HarvestRequest:
    """What a harvest shall do."""

    paths: tuple[str, ...] = ()  # all there are if empty
    transcripts: bool = False  # those of ``raw/``, which are never reclaimed, instead of the working ones
    harvest: bool = True  # ask for knowledge; otherwise conversations are given up unharvested
    reclaim: bool = True  # move those to the trash whose knowledge is safe
    consent: Consent = field(default_factory=Consent)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one conversation."""

    path: str  # workspace-relative
    size: int  # bytes
    outcome: Outcome
    entry: LedgerEntry | None = None  # ``None`` if it was left as it was
    error: str = ""  # why it was not harvested
    commit: str = ""  # object name; empty when there is no commit
    uncommitted: str = ""  # why there is no commit
    reclaimed: bool = False
    kept: str = ""  # why it was not reclaimed
    known: tuple[Known, ...] = ()  # not written, because the same is already there
    items: Mapping[str, int] = field(default_factory=dict)  # written by this run, by category
    held: int = 0  # items that this run put up for review
    refused: tuple[str, ...] = ()  # a line for each part of the model's reply that could not be used
    stays: bool = False  # still written to, or a transcript: not reclaimed

    @property
    def is_new(self) -> bool:
        """Whether this run harvested it; others were harvested before and only looked at again."""
        return self.outcome == "harvested" and bool(self.commit or self.uncommitted)


@dataclass(frozen=True, slots=True)
class Report:
    """What a harvest has done."""

    results: tuple[Result, ...]  # in order
    recovered: tuple[str, ...] = ()  # conversations whose interrupted harvest was finished first
    purged: tuple[str, ...] = ()  # conversations that left the trash for good
    stopped: str = ""
    """Why the rest was not looked at: ``stopped`` by a person, or a cause that every other conversation would
    meet too, such as a missing key; empty if all were."""

    @property
    def items(self) -> dict[str, int]:
        """Items that this run has written, by category."""
        counts: Counter[str] = Counter()
        for each in self.results:
            counts.update(each.items)
        return dict(counts)

    @property
    def held(self) -> int:
        """Items that this run has put up for review."""
        return sum(each.held for each in self.results)

    @property
    def reclaimed(self) -> int:
        """Bytes that were reclaimed."""
        return sum(each.size for each in self.results if each.reclaimed)
