"""The byte contract of the stable prefix on a living workspace (``cache-friendly-context.md`` 2).

Three questions: does one message give the same bytes in two processes; which turns of a discussion kept the
prefix, and what broke the others; and would the next prompt still find the cache of the last one.
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
from engine.stability.misses import Misses
from engine.stability.places import located

if TYPE_CHECKING:
    from engine.stability.log import PrefixLog
    from engine.stability.record import PrefixUse
    from engine.store.files import Files

TTLS_S = (300, 3600)
"""How long providers keep a prefix after its last use, seconds: the shorter and the longer choice."""

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Repeat:
    """One message compiled twice."""

    equal: bool  # to the byte
    bytes: int  # length of the first
    in_prefix: bool = False
    layer: int = 0  # the first that differs; 0 where none does
    name: str = ""  # the layer's
    label: str = ""  # the first section that differs
    source: str = ""  # its file
    line: int = 0  # of the file, where it is known, else 0
    byte: int = 0  # offset of the first byte that differs
    diff: tuple[str, ...] = ()  # lines of a unified diff


@dataclass(frozen=True, slots=True)
class PrefixSize:
    """A prefix in figures."""

    sha256: str  # of its UTF-8
    characters: int
    bytes: int
    tokens: int
    sections: int
    boundaries: tuple[int, ...]  # tokens up to each place where a cache may end

    @classmethod
    def of(cls, prefix: Prefix) -> PrefixSize:
        """The figures of a prefix."""
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
    """A prefix that was used, against the one before it."""

    at: datetime  # when it was used, UTC
    discussion: str
    prefix: PrefixSize
    gap_s: float | None  # seconds since the one before; ``None`` for the first
    found: Break | None  # what broke it; ``None`` for the first, and where it is the same


@dataclass(frozen=True, slots=True)
class Check:
    """What was found."""

    repeat: Repeat
    prefix: PrefixSize  # as it would be sent now
    discussion: str | None  # the session whose turns are listed; ``None`` where nothing was ever recorded
    turns: tuple[CheckedTurn, ...]  # its last turns, oldest first
    used: CheckedTurn | None  # the last of them
    since: Break | None  # what has broken the prefix since then
    misses: tuple[Misses, ...]  # what broken prefixes have cost, for each lifetime of a cache


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
        there: Compiles it in another.
        discussion: The session whose turns are looked at; that of the last prompt when left out.
        dollars: What so many tokens cost that were sent again instead of read from a cache.

    Raises:
        AutopoiesisError: The workspace is changed again and again meanwhile.
    """
    compiled, other = _twice(here, there)
    if discussion is None:
        newest = log.last(1)
        discussion = newest[0].discussion if newest else None
    # One more than is shown, for the first to have one before it.
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
    """Whether two prompts of one message are the same, and where they are not."""
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
    """A prompt from both sides while nothing changed here: an edit in between is no defect."""
    for _ in range(_ATTEMPTS):
        compiled, other = here(), there()
        if compiled.text == other.text or here().text == compiled.text:
            return compiled, other
    raise AutopoiesisError(
        "files were changed while the prompt was compiled", hint="try again when nothing is writing to it"
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
