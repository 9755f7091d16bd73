"""A sync conflict as plain text: what each side did to the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.sync.model import Conflict, SideChange

_SHOWN = 12
"""Lines shown per side."""


def explained(conflict: Conflict) -> Iterator[str]:
    """The file and reason, what each side did, and every place both changed."""
    yield f"{conflict.path}: {conflict.why}"
    sides = (("ours", conflict.ours), ("theirs", conflict.theirs))
    wide = max(len(side.what) for _, side in sides)
    for name, side in sides:
        yield f"  {name:<6}  {side.what:<{wide}}  {_commit_of(side)}".rstrip()
    for piece in conflict.pieces:
        if piece.where:
            yield f"    in {piece.where}:"
        for name, text in (("before", piece.before), ("ours", piece.ours), ("theirs", piece.theirs)):
            lines = text.splitlines() or ["(nothing)"]
            more = [f"({len(lines) - _SHOWN} more lines)"] if len(lines) > _SHOWN else []
            for line in [*lines[:_SHOWN], *more]:
                yield f"    {name:<6} | {line}"


def _commit_of(found: SideChange) -> str:
    if not found.revision:
        return ""
    when = f"{found.at:%Y-%m-%d %H:%M}  " if found.at else ""
    who = f"{found.author} on {found.machine}" if found.machine else found.author
    more = f" and {plural(found.commits - 1, 'commit')} before" if found.commits > 1 else ""
    return f"{when}{found.revision[:8]}  {who}: {found.subject}{more}"
