"""The meaning of colours: panels use roles, and a theme defines how each role looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

from rich.errors import StyleSyntaxError
from rich.style import Style

PRIORITIES = 5


@dataclass(frozen=True, slots=True)
class Roles:
    """Styles by meaning. Each sets only the foreground, so that lines keep their panel's background.

    ``tier1``, ``tier2`` and ``gate`` are the three tiers; ``active``, ``dropped`` and ``error`` the outcomes;
    ``accent`` marks the focus and keys; ``selection`` is the background of the selected row; ``p0`` to ``p4``
    are the budget's priorities.
    """

    normal: Style
    strong: Style
    muted: Style
    faint: Style
    line: Style
    accent: Style
    selection: Style
    tier1: Style
    tier2: Style
    gate: Style
    active: Style
    dropped: Style
    error: Style
    p0: Style
    p1: Style
    p2: Style
    p3: Style
    p4: Style

    def slot(self, priority: int) -> Style:
        """The style of a budget priority, clamped to 0–4."""
        return (self.p0, self.p1, self.p2, self.p3, self.p4)[max(0, min(PRIORITIES - 1, priority))]

    @classmethod
    def of(cls, variables: Mapping[str, str], *, coloured: bool = True) -> Roles:
        """The roles of a theme; without colour, bold, dim and underline are used instead."""
        if not coloured:
            return PLAIN
        return _roles(tuple(variables.get(name, "") for name in _NAMES))


@lru_cache(maxsize=16)
def _roles(colours: tuple[str, ...]) -> Roles:
    styles = {
        name: _style(colour, under=name == "selection") for name, colour in zip(_NAMES, colours, strict=True)
    }
    styles["strong"] += Style(bold=True)
    return Roles(**styles)


_NAMES = tuple(field.name for field in fields(Roles))


def _style(colour: str, *, under: bool) -> Style:
    try:
        return Style.parse(f"on {colour}" if under else colour) if colour else Style()
    except StyleSyntaxError:
        return Style()


_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_NONE = Style()

PLAIN = Roles(
    normal=_NONE,
    strong=_BOLD,
    muted=_NONE,
    faint=_DIM,
    line=_DIM,
    accent=_BOLD,
    selection=Style(reverse=True),
    tier1=Style(underline=True),
    tier2=_NONE,
    gate=_NONE,
    active=_BOLD,
    dropped=_DIM,
    error=Style(bold=True, reverse=True),
    p0=_NONE,
    p1=_NONE,
    p2=_NONE,
    p3=_NONE,
    p4=_NONE,
)
"""The roles without colour."""
