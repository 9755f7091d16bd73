"""The byte contract of the stable prefix on a living workspace (``cache-friendly-context.md`` 2).

Three questions: does one message give the same bytes in two processes; which turns of a discussion kept the
prefix, and what broke the others; and would the next prompt still find the cache of the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    """One message compiled twice.

    Attributes:
        equal: Whether both prompts are the same to the byte.
        bytes: Length of the first.
        in_prefix: Whether the stable prefix differs.
        layer: The first layer that differs; 0 where none does.
        name: Its name.
        label: The first section that differs.
        source: Its file.
        line: Line of the file, where it is known, else 0.
        byte: Offset of the first byte that differs.
        diff: Both sides of what differs, as lines of a unified diff.
    """

    equal: bool
    bytes: int
    in_prefix: bool = False
    layer: int = 0
    name: str = ""
    label: str = ""
    source: str = ""
    line: int = 0
    byte: int = 0
    diff: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrefixSize:
    """A prefix in figures.

    Attributes:
        sha256: Of its UTF-8.
        characters, bytes, tokens: Its length.
        sections: How many it has.
        boundaries: Tokens up to each place where a cache may end.
    """

    sha256: str
    characters: int
    bytes: int
    tokens: int
    sections: int
    boundaries: tuple[int, ...]

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
    """A prefix that was used, against the one before it.

    Attributes:
        at: When it was used, UTC.
        discussion: Its session.
        prefix: Its figures.
        gap_s: Seconds since the one before; ``None`` for the first.
        found: What broke it; ``None`` for the first, and where it is the same.
    """

    at: datetime
    discussion: str
    prefix: PrefixSize
    gap_s: float | None
    found: Break | None


@dataclass(frozen=True, slots=True)
class Check:
    """What was found.

    Attributes:
        repeat: The message compiled twice.
        prefix: The prefix as it would be sent now.
        discussion: The session whose turns are listed; ``None`` where nothing was ever recorded.
        turns: Its last turns, oldest first.
        used: The last of them; ``None`` where there is none.
        since: What has broken the prefix since then; ``None`` where nothing has.
        misses: What broken prefixes have cost, for each time that a cache may stay.
    """

    repeat: Repeat
    prefix: PrefixSize
    discussion: str | None
    turns: tuple[CheckedTurn, ...]
    used: CheckedTurn | None
    since: Break | None
    misses: tuple[Misses, ...]


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
        log: The prefixes that were used.
        files: The workspace.
        discussion: The session whose turns are looked at; that of the last prompt when left out.
        last: How many of them.
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
    byte = first_difference(first, second)
    found = compare(Prefix.of(one), Prefix.of(other))
    if found is not None:
        diff = tuple(f"{sign}{line}" for sign, line in (("-", found.before), ("+", found.after)) if line)
        return Repeat(
            False,
            len(first),
            in_prefix=True,
            layer=found.layer,
            name=found.name,
            label=found.label,
            source=found.source,
            line=found.line,
            byte=byte,
            diff=diff,
        )
    change = next(iter(sections_of(one, other).sections), None)
    if change is None:
        return Repeat(False, len(first), byte=byte)
    return Repeat(
        False,
        len(first),
        layer=change.layer,
        name=LAYERS[change.layer],
        label=change.label,
        source=change.after.source or change.before.source,
        byte=byte,
        diff=change.diff,
    )


def _twice(here: Callable[[], Compiled], there: Callable[[], Compiled]) -> tuple[Compiled, Compiled]:
    """A prompt from both sides while nothing changed here: an edit in between is no defect."""
    for _ in range(_ATTEMPTS):
        compiled, other = here(), there()
        if compiled.text == other.text or here().text == compiled.text:
            return compiled, other
    raise AutopoiesisError(
        "files were changed while the prompt was compiled", cure="try again when nobody writes to it"
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
