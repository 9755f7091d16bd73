"""A used prefix as recorded in the log: hashes and sizes, no text (design 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.compiled import LAST_STABLE_LAYER
from engine.context.stability import Break, Prefix, compare
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.monthly import Record


@dataclass(frozen=True, slots=True)
class PrefixUse:
    """A prefix and the time of its use."""

    at: datetime  # UTC
    discussion: str  # may be empty
    prefix: Prefix  # without its text


def record_of(use: PrefixUse) -> Record:
    tree = asdict(use.prefix)
    del tree["text"]
    return {"at": use.at.isoformat(), "discussion": use.discussion, **tree}


def use_of(record: Record) -> PrefixUse | None:
    """The use in a record; ``None`` if it is invalid."""
    try:
        found = typed(PrefixUse, {**record, "prefix": {**record, "text": None}})
    except (KeyError, TypeError, ValueError):
        return None
    return found if all(1 <= each.layer <= LAST_STABLE_LAYER for each in found.prefix.sections) else None


@dataclass(frozen=True, slots=True)
class Culprit:
    """A cause of broken prefixes."""

    layer: int  # 1 to 7; 0 if unknown
    name: str  # the layer's
    source: str  # the file, or else the section's label
    times: int
    lost: int  # tokens that were sent again because of it
    dollars: float | None  # ``None`` without a known price
    last: datetime  # UTC


@dataclass(frozen=True, slots=True)
class Misses:
    """The number of turns in a log, and of those whose cache was lost."""

    ttl_s: float  # assumed lifetime of a cache, seconds
    turns: int  # prompts in the log
    followed: int  # prompts within the lifetime of the previous one in their discussion
    kept: int  # of these, prompts whose prefix was the same, or sent by any discussion within the lifetime
    lost: int  # tokens sent again by the others
    dollars: float | None  # their cost; ``None`` without a known price
    culprits: tuple[Culprit, ...]  # the most expensive first

    @property
    def broken(self) -> int:
        """Number of prompts whose cache was lost."""
        return self.followed - self.kept


def misses(
    uses: Iterable[PrefixUse], ttl_s: float, dollars: Callable[[int], float | None] | None = None
) -> Misses:
    """Counts the misses among prefixes, given in the order of use.

    Args:
        ttl_s: How long a cache lasts after its last use, seconds.
        dollars: The extra cost of tokens sent again instead of read from a cache, if known.
    """
    before: dict[str, PrefixUse] = {}
    sent: dict[str, datetime] = {}
    broken: dict[tuple[int, str, str], list[tuple[Break, datetime]]] = {}
    turns = followed = kept = 0
    for use in uses:
        turns += 1
        earlier = before.get(use.discussion)
        known = sent.get(use.prefix.sha256)
        before[use.discussion] = use
        sent[use.prefix.sha256] = use.at
        if earlier is None or not _within(earlier.at, use.at, ttl_s):
            continue
        followed += 1
        found = compare(earlier.prefix, use.prefix)
        if found is None or (known is not None and _within(known, use.at, ttl_s)):
            kept += 1
            continue
        key = found.layer, found.name, found.source or found.label
        broken.setdefault(key, []).append((found, use.at))
    culprits = [_culprit(key, found, dollars) for key, found in broken.items()]
    costs = [each.dollars for each in culprits if each.dollars is not None]
    return Misses(
        ttl_s=ttl_s,
        turns=turns,
        followed=followed,
        kept=kept,
        lost=sum(each.lost for each in culprits),
        dollars=sum(costs) if dollars is not None and len(costs) == len(culprits) else None,
        culprits=tuple(sorted(culprits, key=lambda each: (-each.lost, -each.times, each.layer, each.source))),
    )


def _culprit(
    key: tuple[int, str, str],
    found: list[tuple[Break, datetime]],
    dollars: Callable[[int], float | None] | None,
) -> Culprit:
    layer, name, source = key
    lost = sum(each.lost for each, _ in found)
    cost = dollars(lost) if dollars is not None else None
    return Culprit(layer, name, source, len(found), lost, cost, max(at for _, at in found))


def _within(earlier: datetime, later: datetime, ttl_s: float) -> bool:
    return 0 <= (later - earlier).total_seconds() <= ttl_s
