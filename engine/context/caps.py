"""The caps of the slots (spec 6.2): limits of the parts of a prompt, in KiB or tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from engine.context.compiled import SlotName
from engine.settings.model import CompilerSettings
from engine.startup.records import dataclass

_BYTES_PER_TOKEN = 4


@dataclass(slots=True)
class Cap:
    """A limit that several pieces may share."""

    name: str  # the setting
    unit: Literal["bytes", "tokens"]  # bytes of the text, or tokens including the marker
    total: int
    left: int

    @staticmethod
    def of(name: str, kib: float) -> Cap:
        """An unused cap in KiB of UTF-8."""
        return Cap(name, "bytes", int(kib * 1024), int(kib * 1024))

    def size(self, text: str, tokens: int) -> int:
        """The charge for a text with so many tokens, including its marker."""
        return tokens if self.unit == "tokens" else len(text.encode("utf-8"))

    def __str__(self) -> str:
        size = f"{self.total:,} tokens" if self.unit == "tokens" else f"{self.total / 1024:g} KiB"
        return f"{self.name} ({size})"


def caps_of(settings: CompilerSettings, slot: SlotName) -> tuple[Cap, ...]:
    """The unused caps of a slot: at most one in each unit."""
    if slot == "message":
        return ()
    part = "topic" if slot == "topics" else slot
    setting = f"context_compiler.{part}_budget"
    kib, tokens = settings.cap(part)
    in_kib = () if kib is None else (Cap.of(f"{setting}_kb", kib),)
    return in_kib if tokens is None else (*in_kib, Cap(f"{setting}_tokens", "tokens", tokens, tokens))


def within(caps: Iterable[Cap], tokens: int, size: int) -> int:
    """The number of tokens that the caps allow, of a text with so many ``tokens`` and ``size`` bytes."""
    for cap in caps:
        wanted = tokens if cap.unit == "tokens" else size
        if wanted > cap.left:
            tokens = tokens * max(0, cap.left) // wanted
    return tokens


def about_tokens(caps: Sequence[Cap], wanted: int) -> int:
    """An estimate of the number of tokens that the caps allow, for a text that is not known yet."""
    rooms = (cap.left if cap.unit == "tokens" else cap.left // _BYTES_PER_TOKEN for cap in caps)
    return max(0, min((wanted, *rooms)))


def shown_tokens(caps: Sequence[Cap], used: int, size: int, limit: int) -> int | None:
    """The tightest cap in tokens, comparable with ``used``; ``None`` without a cap.

    Args:
        used: Tokens of the slot.
        size: Bytes of its text, to convert KiB to tokens.
        limit: Tokens of the whole prompt, the upper limit.
    """
    ratio = used / size if size else 1 / _BYTES_PER_TOKEN
    limits = [cap.total if cap.unit == "tokens" else round(cap.total * ratio) for cap in caps]
    return min(*limits, limit) if limits else None
