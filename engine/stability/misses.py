"""What broken prefixes have cost: turns that a cache could have served, had nothing been edited."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from engine.context.stability import Break, compare
from engine.stability.record import PrefixUse


@dataclass(frozen=True, slots=True)
class Culprit:
    """What broke prefixes."""

    layer: int  # 1 to 7; 0 where it is unknown
    name: str  # the layer's
    source: str  # the file; where there is none the section's label
    times: int
    lost: int  # tokens that were sent anew because of it
    dollars: float | None  # ``None`` where no price is known
    last: datetime  # UTC


@dataclass(frozen=True, slots=True)
class Misses:
    """The turns of a log, and those whose cache was lost."""

    ttl_s: float  # how long a cache was taken to stay, seconds
    turns: int  # prompts in the log
    followed: int
    """Of these, prompts that followed another of their discussion while a cache would have stayed."""
    kept: int  # of these, those whose prefix was the same, or had been sent by any discussion in that time
    lost: int  # tokens that were sent anew in the others
    dollars: float | None  # what these cost; ``None`` where no price is known
    culprits: tuple[Culprit, ...]  # the dearest first

    @property
    def broken(self) -> int:
        """Prompts whose cache was lost."""
        return self.followed - self.kept


def misses(
    uses: Iterable[PrefixUse], ttl_s: float, dollars: Callable[[int], float | None] | None = None
) -> Misses:
    """Goes through the prefixes of a log.

    Args:
        uses: In the order in which they were used.
        ttl_s: How long a cache stays after its last use, seconds.
        dollars: What so many tokens cost that were sent again instead of read from a cache; ``None`` for
            tokens of unknown price.
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
