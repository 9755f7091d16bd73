"""Files that nobody has changed or used for long: their score, and which of them may go (spec 8.5, design
3.9).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.context.fixed import PROJECTS
from engine.errors import AutopoiesisError
from engine.knowledge.inventory import Inventory, hidden
from engine.knowledge.links import Links
from engine.lifecycle.retention.places import EVICTABLE, why_kept
from engine.store.entry_files import SHELVES

if TYPE_CHECKING:
    from engine.store.repository import Repository

DECAY = 0.05
"""Per day since the last change; half of a score is gone after 14 days."""
LEAST_SCORE = 0.01
"""Below it a file may go."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A file and how much it is still worth."""

    path: str
    days: int  # since its last change
    references: int  # prompts that it was of use in, and links to it; at least 1
    score: float  # e^(−.05 · days) · references


def scored(
    paths: Iterable[str],
    changes: Mapping[str, datetime],
    uses: Mapping[str, int],
    links: Links,
    now: datetime,
) -> list[Scored]:
    """The scores of files, the lowest first; a file without a date is left out.

    Args:
        changes: When each was changed last.
        uses: In how many prompts each was of use.
    """
    found = []
    for path in paths:
        if path in changes:
            days = max(0, (now - changes[path]).days)
            references = max(1, uses.get(path, 0) + len(links.to(path)))
            found.append(Scored(path, days, references, math.exp(-DECAY * days) * references))
    return sorted(found, key=lambda each: (each.score, each.path))


def evictable(inventory: Inventory, links: Links) -> list[str]:
    """Files that may go by their score: in the folders for it, in no knowledge entry, of no active
    project.
    """
    markers = {shelf.marker for shelf in SHELVES}
    inside = [path.rpartition("/")[0] for path in inventory.files if path.rpartition("/")[2] in markers]
    listed = {link.target.rpartition("/")[0] for link in links.of(PROJECTS)}
    kept = tuple(f"{folder}/" for folder in (*inside, *listed) if folder.count("/") > 1)
    return sorted(
        path
        for path in inventory.files
        if path.startswith(EVICTABLE)
        and not hidden(path)
        and not why_kept(path)
        and not path.startswith(kept)
    )


def unlinked(chosen: Iterable[str], links: Links, going: Iterable[str] = ()) -> list[str]:
    """Of files that would go those that no file that stays leads to.

    Args:
        going: Files that go in any case.
    """
    left = dict.fromkeys(chosen)
    always = frozenset(going)
    while True:
        held = [
            path
            for path in left
            if any(link.source not in left and link.source not in always for link in links.to(path))
        ]
        if not held:
            return list(left)
        for path in held:
            del left[path]


def last_changes(repository: Repository, inventory: Inventory) -> dict[str, datetime]:
    """When each file of ``knowledge/`` was changed last: by the history, or else by the disk."""
    found: dict[str, datetime] = {}
    try:
        if repository.has_commits:
            options = ("--format=%x01%ct", "--name-only", "--no-renames", "-z")
            at = datetime.fromtimestamp(0, UTC)
            for token in repository.git.run("log", *options, paths=["knowledge"]).text.split("\0"):
                for part in filter(None, token.split("\n")):
                    if part.startswith("\x01"):
                        at = datetime.fromtimestamp(int(part[1:]), UTC)
                    else:
                        found.setdefault(part, at)
            for path in repository.changed("knowledge"):
                found.pop(path, None)
    except (AutopoiesisError, OSError, ValueError):
        found = {}
    return {
        path: found.get(path) or datetime.fromtimestamp(changed / 1e9, UTC)
        for path, changed in inventory.changed.items()
    }
