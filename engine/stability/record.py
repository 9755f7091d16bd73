"""A prefix that was used, as the log keeps it: hashes and sizes, no text (design 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engine.context.compiled import LAST_STABLE_LAYER
from engine.context.stability import Boundary, Prefix, PrefixSection
from engine.transcripts.days import moment

if TYPE_CHECKING:
    from engine.store.monthly import Record


@dataclass(frozen=True, slots=True)
class PrefixUse:
    """A prefix and when it was used."""

    at: datetime  # UTC
    discussion: str  # empty where none was named
    prefix: Prefix  # with its text only where that is still kept

    def with_text(self, text: str | None) -> PrefixUse:
        """The same with the prefix's text."""
        return replace(self, prefix=replace(self.prefix, text=text))


_PREFIX = {"sha256": str, "characters": int, "bytes": int, "tokens": int}
_SECTION = {
    "label": str,
    "layer": int,
    "source": str,
    "lines": str,
    "tokens": int,
    "sha256": str,
    "character": int,
    "byte": int,
}
"""What a record says of a prefix, and of each of its sections; these have their ``first`` line beside."""


def record_of(use: PrefixUse) -> Record:
    """The record of a prefix that is being used."""
    prefix = use.prefix
    return {
        "at": use.at.isoformat(),
        "discussion": use.discussion,
        **{name: getattr(prefix, name) for name in _PREFIX},
        "boundaries": [[each.character, each.tokens] for each in prefix.boundaries],
        "sections": [asdict(section) for section in prefix.sections],
    }


def use_of(record: Record) -> PrefixUse | None:
    """What a record holds; ``None`` when it is of another form."""
    try:
        said = _typed(record, {"at": str, "discussion": str, "boundaries": list, "sections": list})
        at = moment(said["at"])
        if at is None:
            return None
        places = [dict(zip(("character", "tokens"), each, strict=True)) for each in said["boundaries"]]
        prefix = Prefix(
            text=None,
            **_typed(record, _PREFIX),
            sections=tuple(map(_section, said["sections"])),
            boundaries=tuple(Boundary(**_typed(each, dict.fromkeys(each, int))) for each in places),
        )
    except (KeyError, TypeError, ValueError):
        return None
    return PrefixUse(at, said["discussion"], prefix)


def _section(record: dict[str, Any]) -> PrefixSection:
    first = record["first"]
    said = _typed(record, _SECTION if first is None else {**_SECTION, "first": int})
    if not 1 <= said["layer"] <= LAST_STABLE_LAYER:
        raise ValueError("no layer of the prefix")
    return PrefixSection(**{"first": None, **said})


def _typed(record: dict[str, Any], kinds: Mapping[str, type]) -> dict[str, Any]:
    """Some values of a record, each of exactly its type: a yes or no is no number."""
    for name, kind in kinds.items():
        if type(record[name]) is not kind:
            raise TypeError(f"{name} is no {kind.__name__}")
    return {name: record[name] for name in kinds}
