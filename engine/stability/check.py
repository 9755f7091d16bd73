"""Checks the byte contract of the stable prefix on a live workspace (``cache-friendly-context.md`` 2).

It checks which turns of a discussion kept the prefix and what broke it in the others, and whether the next
prompt would still hit the cache of the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.stability import Break, Prefix, compare

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from engine.stability.log import PrefixLog
    from engine.stability.record import PrefixUse


@dataclass(frozen=True, slots=True)
class PrefixSize:
    """The size of a prefix."""

    sha256: str  # of its UTF-8
    characters: int
    bytes: int
    tokens: int
    sections: int
    boundaries: tuple[int, ...]  # tokens up to each possible end of a cached prefix

    @classmethod
    def of(cls, prefix: Prefix) -> PrefixSize:
        return cls(
            prefix.sha256,
            prefix.characters,
            prefix.bytes,
            prefix.tokens,
            len(prefix.sections),
            tuple(boundary.tokens for boundary in prefix.boundaries),
        )


@dataclass(frozen=True, slots=True)
class CheckedTurn:
    """A used prefix compared with the previous one."""

    at: datetime  # when it was used, UTC
    discussion: str
    prefix: PrefixSize
    gap_s: float | None  # seconds since the previous one; ``None`` for the first
    found: Break | None  # what broke it, if anything


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check."""

    prefix: PrefixSize  # as it would be sent now
    discussion: str | None  # the session of ``turns``; ``None`` without any record
    turns: tuple[CheckedTurn, ...]  # its last turns, oldest first
    used: CheckedTurn | None  # the last of them
    since: Break | None  # what has broken the prefix since then


def check(compiled: Compiled, log: PrefixLog, *, discussion: str | None = None, last: int = 10) -> Check:
    """Checks a workspace.

    Args:
        compiled: A prompt as it would be sent now; any message will do, because the prefix does not depend
            on it.
        discussion: The session to check; by default that of the last prompt.
    """
    if discussion is None:
        newest = log.last(1)
        discussion = newest[0].discussion if newest else None
    # One more than shown, so that the first turn has a predecessor.
    uses = log.last(last + 1, discussion) if discussion is not None else ()
    turns = _turns(uses)[-last:]
    now = Prefix.of(compiled)
    since = compare(uses[-1].prefix, now) if uses else None
    return Check(
        prefix=PrefixSize.of(now),
        discussion=discussion,
        turns=turns,
        used=turns[-1] if turns else None,
        since=since,
    )


def _turns(uses: tuple[PrefixUse, ...]) -> tuple[CheckedTurn, ...]:
    found: list[CheckedTurn] = []
    for number, use in enumerate(uses):
        gap, broken = None, None
        if number:
            gap = (use.at - uses[number - 1].at).total_seconds()
            broken = compare(uses[number - 1].prefix, use.prefix)
        found.append(CheckedTurn(use.at, use.discussion, PrefixSize.of(use.prefix), gap, broken))
    return tuple(found)
