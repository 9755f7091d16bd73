"""What the search screen shows without results: searchable files, help, suggestions and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from tui.render.draw import Row, bar, labelled, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.search.reports import IndexStatus

KINDS: dict[str, str] = {
    "identity": "identity",
    "memory": "memory",
    "journal": "journal",
    "project": "projects",
    "person": "people",
    "procedure": "procedures",
    "reference": "reference",
    "conversation": "conversations",
    "topic": "topics",
    "knowledge": "knowledge",
    "shared": "shared",
    "archive": "archive",
}
"""Display names of the categories, in display order."""
_NAME = 15
_NUMBER = 7
_BAR = 28
_BETWEEN = 4

HELP = (
    ("Type words, names, numbers or whole sentences. There are no operators.", ""),
    ("Every form of a word matches.", ""),
    ("Dates work too: yesterday, last week, in March, 2026-06-10.", ""),
    ("c", "restricts the search to one kind of file"),
    ("enter", "goes to the results; / returns here"),
    ("w", "shows why a result ranks where it does"),
    ("esc", "closes the screen; the query is kept"),
)
"""How to search, shown in the empty preview."""
MEANING = "So does text with the same meaning."


@dataclass(frozen=True, slots=True)
class Inventory:
    """What can be searched."""

    status: IndexStatus
    files: Mapping[str, int] = field(default_factory=dict)
    """Files on disk per category."""


def draw_overview(
    inventory: Inventory | None, only: str, width: int, roles: Roles, height: int = 40
) -> list[Row]:
    """Draws the number of searchable files per category.

    Args:
        inventory: ``None`` while it is being read.
        only: The category the search is restricted to; empty for all.
        height: If there are too few lines, two categories share one.
    """
    if inventory is None:
        return [Row(("reading …", roles.faint))]
    total = sum(inventory.files.values())
    if not total:
        return [
            Row(("Nothing to search yet.", roles.normal)),
            Row(),
            *wrap(
                [
                    ("Knowledge, journals, topics and conversations appear here as they are written. ",
                     roles.muted),
                    ("autopoiesis import", roles.accent),
                    (" imports past sessions.", roles.muted),
                ],
                width,
            ),
        ]  # fmt: skip
    status = inventory.status
    head = Row((count(total), roles.strong), (" file" if total == 1 else " files", roles.muted))
    if status.state == "ready":
        unit = " passage" if status.chunks == 1 else " passages"
        head.add(" · ", roles.faint).add(count(status.chunks), roles.strong).add(unit, roles.muted)
        if status.vectors:
            words = " · keyword and semantic search" if head.cells + 30 <= width else ""
            head.add(words, roles.muted)
    rows = [head.cut(width), Row()]
    kinds = [kind for kind in KINDS if inventory.files.get(kind) or kind == only]
    columns = 2 if len(kinds) + len(rows) > height else 1
    each = (width - _BETWEEN) // 2 if columns == 2 else width
    maximum = max(inventory.files.values())
    cells = [_kind(kind, inventory.files.get(kind, 0), maximum, only, each, roles) for kind in kinds]
    down = -(-len(cells) // columns)
    for left, right in zip_longest(cells[:down], cells[down:]):
        rows.append(left if right is None else left.to(each + _BETWEEN).extend(right))
    if only:
        rows += [Row()] * (columns == 1)
        rows.append(Row((f"only {KINDS.get(only, only)}", roles.gate), (" · esc searches all", roles.muted)))
    if status.skipped:
        skipped = f"{plural(len(status.skipped), 'file')} could not be indexed; autopoiesis index lists them"
        rows += [Row(), *wrap([(skipped, roles.gate)], width)]
    return rows


def _kind(kind: str, number: int, maximum: int, only: str, width: int, roles: Roles) -> Row:
    """A category's name, a gauge and its file count."""
    here = kind == only
    words = roles.normal if here or not only else roles.faint
    tone = roles.tier1 if here else roles.dropped if not only else roles.line
    row = Row().fit(KINDS[kind], _NAME, words)
    row.extend(bar(number / maximum, max(0, min(_BAR, width - _NAME - _NUMBER - 1)), tone, roles.line))
    return row.fit(count(number), _NUMBER, words, "right")


def draw_help(width: int, roles: Roles, *, meaning: bool) -> list[Row]:
    """Draws how to search; ``meaning`` says whether semantic search is available."""
    rows: list[Row] = []
    for text, description in HELP:
        if description:
            rows += labelled(text, description, width, 8, roles.muted, tone=roles.accent)
        else:
            more = f" {MEANING}" if meaning and text.startswith("Every form") else ""
            rows += [*wrap([(text + more, roles.muted)], width), Row()]
    return rows


def draw_nothing(
    query: str, only: str, elsewhere: int, more: bool, status: IndexStatus | None, width: int, roles: Roles
) -> list[Row]:
    """Draws that nothing was found, with suggestions.

    Args:
        only: The category searched; empty for all.
        elsewhere: The number of results in all categories.
        more: Whether there are more than that.
    """
    place = f" in {KINDS.get(only, only)}" if only else ""
    shown = first_line(query, 200)
    rows = [*wrap([(f"No results{place} for ", roles.normal), (shown, roles.strong)], width), Row()]
    advice: list[tuple[str, str]] = []
    if only and elsewhere:
        advice.append(("esc", f"search everything: {count(elsewhere)}{'+' if more else ''} found"))
    elif only:
        advice.append(("esc", "search everything: no results there either"))
    advice.append(("/", "try fewer or different words"))
    if status is not None and status.state == "ready" and status.without_vectors:
        advice.append(
            ("", "Only keyword search is available, so a form of each word must occur in the text.")
        )
    if not any(character.isalnum() for character in query):
        advice.append(("", "Punctuation is ignored: type at least one letter or digit."))
    for key, words in advice:
        rows += labelled(key, words, width, 5 if key else 0, roles.muted, tone=roles.accent)
    return rows


def draw_error(problem: str, width: int, roles: Roles) -> list[Row]:
    return [
        Row(("The search failed.", roles.error)),
        Row(),
        *wrap([(problem, roles.normal)], width),
        Row(),
        Row(("ctrl+r", roles.accent), (" tries again", roles.muted)),
    ]


def counted(shown: int, more: bool) -> str:
    """The number of results as far as known: ``12 found``, ``first 50``."""
    return f"first {count(shown)}" if more else f"{count(shown)} found"
