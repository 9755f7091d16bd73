"""The caps of the slots (spec 6.2): what the settings allow each part of a prompt, in KiB or in tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from engine.context.compiled import SlotName
from engine.records import dataclass
from engine.settings.model import CompilerSettings

_BYTES_PER_TOKEN = 4


@dataclass(slots=True)
class Cap:
    """A limit that several pieces may share."""

    name: str  # the setting, as a person would look for it
    unit: Literal["bytes", "tokens"]  # bytes of a section's text, or tokens of it with its marker
    total: int
    left: int

    @staticmethod
    def of(name: str, kib: float) -> Cap:
        """A cap of so many KiB of UTF-8, unused."""
        return Cap(name, "bytes", int(kib * 1024), int(kib * 1024))

    def size(self, text: str, tokens: int) -> int:
        """What a text is charged that takes so many tokens with its marker."""
        return tokens if self.unit == "tokens" else len(text.encode("utf-8"))

    def __str__(self) -> str:
        size = f"{self.total:,} tokens" if self.unit == "tokens" else f"{self.total / 1024:g} KiB"
        return f"{self.name} ({size})"


def caps_of(settings: CompilerSettings, slot: SlotName) -> tuple[Cap, ...]:
    """The caps of a slot, unused: none, one, or one in each unit."""
    if slot == "message":
        return ()
    part = "topic" if slot == "topics" else slot
    setting = f"context_compiler.{part}_budget"
    kib, tokens = settings.cap(part)
    in_kib = () if kib is None else (Cap.of(f"{setting}_kb", kib),)
    return in_kib if tokens is None else (*in_kib, Cap(f"{setting}_tokens", "tokens", tokens, tokens))


def within(caps: Iterable[Cap], tokens: int, size: int) -> int:
    """How many of so many tokens the caps let in, when their text has ``size`` bytes."""
    for cap in caps:
        wanted = tokens if cap.unit == "tokens" else size
        if wanted > cap.left:
            tokens = tokens * max(0, cap.left) // wanted
    return tokens


def about_tokens(caps: Sequence[Cap], wanted: int) -> int:
    """How many of so many tokens the caps let in, roughly: the text is not known yet."""
    rooms = (cap.left if cap.unit == "tokens" else cap.left // _BYTES_PER_TOKEN for cap in caps)
    return max(0, min((wanted, *rooms)))


def shown_tokens(caps: Sequence[Cap], used: int, size: int, most: int) -> int | None:
    """The tightest cap in tokens, for a person to compare with ``used``; ``None`` without a cap.

    Args:
        used: Tokens that the slot takes.
        size: Bytes of its text: what a KiB makes in tokens of this text.
        most: Tokens of the whole prompt: no cap is shown larger.
    """
    ratio = used / size if size else 1 / _BYTES_PER_TOKEN
    limits = [cap.total if cap.unit == "tokens" else round(cap.total * ratio) for cap in caps]
    return min(*limits, most) if limits else None
