"""What a harvest is asked for, what it would do, and what it has done (``knowledge-curation.md`` 5.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.knowledge.edit import Known
from engine.knowledge.harvest.classify import Candidate, Kind
from engine.knowledge.harvest.reclaim import Consent
from engine.knowledge.ledger import LedgerEntry

Outcome = Literal["harvested", "failed", "too-large", "unclear", "changed", "unharvested"]
"""What became of a conversation; ``unharvested`` was discarded without a harvest, of one that is ``unclear``
nothing tells who speaks."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a harvest would do; nothing has been changed (``knowledge-curation.md`` 5.4).

    Attributes:
        candidates: Every conversation, by path.
        provider: Who would be asked; ``markers`` asks no model.
        model: Its model.
        transcripts: Whether these are the transcripts of ``raw/``.
        left: Of the working conversations: how many transcripts of ``raw/`` were never harvested.
    """

    candidates: tuple[Candidate, ...]
    provider: str
    model: str
    transcripts: bool = False
    left: int = 0

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
class Wish:
    """What a harvest shall do.

    Attributes:
        paths: Only these conversations; all there are when left out.
        transcripts: Those of ``raw/``, which are never reclaimed, instead of the working ones.
        harvest: Ask for knowledge; without, conversations are given up unharvested.
        reclaim: Move those to the trash whose knowledge is safe.
        consent: What a person has agreed to.
    """

    paths: tuple[str, ...] = ()
    transcripts: bool = False
    harvest: bool = True
    reclaim: bool = True
    consent: Consent = field(default_factory=Consent)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one conversation.

    Attributes:
        path: The file, workspace-relative.
        size: Bytes.
        outcome: What became of it.
        entry: What the ledger says; ``None`` where it was left as it was.
        error: Why it was not harvested.
        commit: The commit's object name; empty where none was made.
        uncommitted: Why none was made.
        reclaimed: It lies in the trash now.
        kept: Why it does not.
        known: What it taught and was not written, because the same stands there already.
        items: What this run wrote, by category; nothing of what an earlier one did.
        held: How many items this run put up for review.
        refused: A line for everything in the model's reply that could not be used.
        stays: It is still written to, or is a transcript: it is not reclaimed.
    """

    path: str
    size: int
    outcome: Outcome
    entry: LedgerEntry | None = None
    error: str = ""
    commit: str = ""
    uncommitted: str = ""
    reclaimed: bool = False
    kept: str = ""
    known: tuple[Known, ...] = ()
    items: Mapping[str, int] = field(default_factory=dict)
    held: int = 0
    refused: tuple[str, ...] = ()
    stays: bool = False

    @property
    def is_new(self) -> bool:
        """Whether this run harvested it; others were harvested before and only looked at again."""
        return self.outcome == "harvested" and bool(self.commit or self.uncommitted)


@dataclass(frozen=True, slots=True)
class Report:
    """What a harvest has done.

    Attributes:
        results: One for each conversation that was looked at, in order.
        recovered: Conversations whose interrupted harvest was finished first.
        purged: Conversations that left the trash for good.
        stopped: Why the rest was not looked at: ``stopped`` by a person, or what every other conversation
            would have met too, such as a missing key; empty when all was.
    """

    results: tuple[Result, ...]
    recovered: tuple[str, ...] = ()
    purged: tuple[str, ...] = ()
    stopped: str = ""

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
