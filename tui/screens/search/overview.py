"""What stands where there are no results: what can be searched, what to try instead, what went wrong."""

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
    "shared": "from others",
    "archive": "archive",
}
"""What the categories are called, in their order."""
_NAME = 15
_NUMBER = 7
_BAR = 28
_BETWEEN = 4

HOW = (
    ("Words, names, numbers or whole sentences. Every character means itself; there are no operators.", ""),
    ("A word is found in all its forms.", ""),
    ("Days count as well: yesterday, last week, in March, 2026-06-10.", ""),
    ("c", "keeps to one kind of file"),
    ("enter", "goes to the results, / comes back here"),
    ("w", "shows why a result ranks where it does"),
    ("esc", "leaves; the query is kept"),
)
"""How to search, for the empty preview."""
MEANING = "What means the same is found without it."


@dataclass(frozen=True, slots=True)
class Inventory:
    """What can be searched."""

    status: IndexStatus
    files: Mapping[str, int] = field(default_factory=dict)
    """How many there are of each category, as they are on the disk."""


def draw_overview(
    inventory: Inventory | None, only: str, width: int, roles: Roles, height: int = 40
) -> list[Row]:
    """Draws what can be searched, by kind.

    Args:
        inventory: What there is; ``None`` while it is being looked at.
        only: The kind that the search keeps to; empty for all.
        height: Lines; where they are too few for a line each, two kinds share one.
    """
    if inventory is None:
        return [Row(("looking at what is there …", roles.faint))]
    total = sum(inventory.files.values())
    if not total:
        return [
            Row(("There is nothing to search yet.", roles.normal)),
            Row(),
            *wrap(
                [
                    ("Knowledge, journals, topics and conversations are found here as they are written; ",
                     roles.muted),
                    ("autopoiesis import", roles.accent),
                    (" brings old sessions.", roles.muted),
                ],
                width,
            ),
        ]  # fmt: skip
    status = inventory.status
    head = Row((count(total), roles.strong), (" files", roles.muted))
    if status.state == "ready":
        head.add(" · ", roles.faint).add(count(status.chunks), roles.strong).add(" passages", roles.muted)
        if status.vectors:
            words = " · by words and meaning" if head.cells + 24 <= width else ""
            head.add(words, roles.muted)
    rows = [head.cut(width), Row()]
    kinds = [kind for kind in KINDS if inventory.files.get(kind) or kind == only]
    columns = 2 if len(kinds) + len(rows) > height else 1
    each = (width - _BETWEEN) // 2 if columns == 2 else width
    most = max(inventory.files.values())
    cells = [_kind(kind, inventory.files.get(kind, 0), most, only, each, roles) for kind in kinds]
    down = -(-len(cells) // columns)
    for left, right in zip_longest(cells[:down], cells[down:]):
        rows.append(left if right is None else left.to(each + _BETWEEN).extend(right))
    if only:
        rows += [Row()] * (columns == 1)
        rows.append(Row((f"only {KINDS.get(only, only)}", roles.gate), (" · esc searches all", roles.muted)))
    if status.skipped:
        left = f"{plural(len(status.skipped), 'file')} cannot be indexed; autopoiesis index names them"
        rows += [Row(), *wrap([(left, roles.gate)], width)]
    return rows


def _kind(kind: str, number: int, most: int, only: str, width: int, roles: Roles) -> Row:
    """One kind: its name, a gauge, how many files it has."""
    here = kind == only
    words = roles.normal if here or not only else roles.faint
    tone = roles.tier1 if here else roles.dropped if not only else roles.line
    row = Row().fit(KINDS[kind], _NAME, words)
    row.extend(bar(number / most, max(0, min(_BAR, width - _NAME - _NUMBER - 1)), tone, roles.line))
    return row.fit(count(number), _NUMBER, words, "right")


def draw_how(width: int, roles: Roles, *, meaning: bool) -> list[Row]:
    """Draws how to search; ``meaning`` is whether passages without the words can be found as well."""
    rows: list[Row] = []
    for words, means in HOW:
        if not means:
            more = f" {MEANING}" if meaning and words.startswith("A word") else ""
            rows += [*wrap([(words + more, roles.muted)], width), Row()]
        else:
            rows += labelled(words, means, width, 8, roles.muted, tone=roles.accent)
    return rows


def draw_nothing(
    query: str, only: str, elsewhere: int, more: bool, status: IndexStatus | None, width: int, roles: Roles
) -> list[Row]:
    """Draws that nothing was found, and what to try.

    Args:
        only: The kind that the search kept to; empty for all.
        elsewhere: What the same query finds in all kinds.
        more: Whether it finds more than that.
    """
    place = f" in {KINDS.get(only, only)}" if only else ""
    shown = first_line(query, 200)
    rows = [*wrap([(f"Nothing is found{place} for ", roles.normal), (shown, roles.strong)], width), Row()]
    advice: list[tuple[str, str]] = []
    if only and elsewhere:
        found = f"{count(elsewhere)}{' and more' if more else ''} in all kinds"
        advice.append(("esc", f"searches everything: {found}"))
    elif only:
        advice.append(("esc", "searches everything, where it is not found either"))
    advice.append(("/", "fewer words, or other words for the same"))
    if status is not None and status.state == "ready" and status.without_vectors:
        advice.append(("", "Only words are compared, so a word must stand there in one of its forms."))
    if not any(character.isalnum() for character in query):
        advice.append(("", "Signs alone are not looked for: type at least one letter or digit."))
    for key, words in advice:
        rows += labelled(key, words, width, 5 if key else 0, roles.muted, tone=roles.accent)
    return rows


def draw_error(problem: str, width: int, roles: Roles) -> list[Row]:
    """Draws why there is no answer."""
    return [
        Row(("The search failed.", roles.error)),
        Row(),
        *wrap([(problem, roles.normal)], width),
        Row(),
        Row(("ctrl+r", roles.accent), (" tries again", roles.muted)),
    ]


def counted(shown: int, more: bool) -> str:
    """How many results there are, as far as that is known: ``12 found``, ``first 50``."""
    return f"first {count(shown)}" if more else f"{count(shown)} found"
