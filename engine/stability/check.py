"""Checks the byte contract of the stable prefix on a live workspace (``cache-friendly-context.md`` 2).

It checks whether a message compiles to the same bytes in two processes, which turns of a discussion kept the
prefix and what broke it in the others, and whether the next prompt would still hit the cache of the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.compiled import LAYERS, Compiled
from engine.context.difference import compare as sections_of
from engine.context.stability import Break, Prefix, compare, encoded, first_difference
from engine.errors import AutopoiesisError
from engine.stability.record import Misses, located

if TYPE_CHECKING:
    from engine.stability.log import PrefixLog
    from engine.stability.record import PrefixUse
    from engine.store.files import Files

TTLS_S = (300, 3600)
"""How long providers keep a prefix after its last use, in seconds: short and long."""

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Repeat:
    """One message compiled twice."""

    equal: bool  # byte-identical
    bytes: int  # length of the first
    in_prefix: bool = False
    layer: int = 0  # the first that differs; 0 if none does
    name: str = ""  # the layer's
    label: str = ""  # the first section that differs
    source: str = ""  # its file
    line: int = 0  # of the file; 0 if unknown
    byte: int = 0  # offset of the first byte that differs
    diff: tuple[str, ...] = ()  # lines of a unified diff


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

    repeat: Repeat
    prefix: PrefixSize  # as it would be sent now
    discussion: str | None  # the session of ``turns``; ``None`` without any record
    turns: tuple[CheckedTurn, ...]  # its last turns, oldest first
    used: CheckedTurn | None  # the last of them
    since: Break | None  # what has broken the prefix since then
    misses: tuple[Misses, ...]  # costs of broken prefixes, for each cache lifetime


def check(
    here: Callable[[], Compiled],
    there: Callable[[], Compiled],
    log: PrefixLog,
    files: Files,
    *,
    discussion: str | None = None,
    last: int = 10,
    dollars: Callable[[int], float | None] | None = None,
) -> Check:
    """Checks a workspace.

    Args:
        here: Compiles the message in this process.
        there: Compiles it in another process.
        discussion: The session to check; by default that of the last prompt.
        dollars: The extra cost of tokens sent again instead of read from a cache.

    Raises:
        AutopoiesisError: The workspace keeps changing.
    """
    compiled, other = _twice(here, there)
    if discussion is None:
        newest = log.last(1)
        discussion = newest[0].discussion if newest else None
    # One more than shown, so that the first turn has a predecessor.
    uses = log.last(last + 1, discussion) if discussion is not None else ()
    turns = _turns(uses, files)[-last:]
    now = log.prefix_of(compiled)
    since = compare(uses[-1].prefix, now) if uses else None
    return Check(
        repeat=repeat(compiled, other),
        prefix=PrefixSize.of(now),
        discussion=discussion,
        turns=turns,
        used=turns[-1] if turns else None,
        since=None if since is None else located(since, files.read),
        misses=tuple(log.misses(ttl, dollars) for ttl in TTLS_S),
    )


def repeat(one: Compiled, other: Compiled) -> Repeat:
    """Whether two prompts of one message are identical, and the first difference."""
    first, second = encoded(one.text), encoded(other.text)
    if first == second:
        return Repeat(True, len(first))
    differing = Repeat(False, len(first), byte=first_difference(first, second))
    found = compare(Prefix.of(one), Prefix.of(other))
    if found is not None:
        return replace(
            differing,
            in_prefix=True,
            layer=found.layer,
            name=found.name,
            label=found.label,
            source=found.source,
            line=found.line,
            diff=tuple(f"{sign}{line}" for sign, line in (("-", found.before), ("+", found.after)) if line),
        )
    change = next(iter(sections_of(one, other).sections), None)
    if change is None:
        return differing
    return replace(
        differing,
        layer=change.layer,
        name=LAYERS[change.layer],
        label=change.label,
        source=change.after.source or change.before.source,
        diff=change.diff,
    )


def _twice(here: Callable[[], Compiled], there: Callable[[], Compiled]) -> tuple[Compiled, Compiled]:
    """A prompt from both processes, without changes in between: an edit is not a defect."""
    for _ in range(_ATTEMPTS):
        compiled, other = here(), there()
        if compiled.text == other.text or here().text == compiled.text:
            return compiled, other
    raise AutopoiesisError(
        "files changed while compiling the prompt", hint="retry when nothing is writing to the workspace"
    )


def _turns(uses: tuple[PrefixUse, ...], files: Files) -> tuple[CheckedTurn, ...]:
    found: list[CheckedTurn] = []
    for number, use in enumerate(uses):
        gap, broken = None, None
        if number:
            gap = (use.at - uses[number - 1].at).total_seconds()
            broken = compare(uses[number - 1].prefix, use.prefix)
        located_break = None if broken is None else located(broken, files.read)
        found.append(CheckedTurn(use.at, use.discussion, PrefixSize.of(use.prefix), gap, located_break))
    return tuple(found)
