"""The digest as text: sections, items, and their dates."""

from __future__ import annotations

import re

from engine.context.views import DIGEST_PATH, DigestView
from tui.render.draw import Row, wrap
from tui.render.figures import count, kilobytes, plural
from tui.render.roles import Roles
from tui.render.safe import visible_lines

MAX_CHARACTERS = 32_000
"""Maximum characters drawn; a normal digest has an eighth of that."""

_PROVENANCE = re.compile(r"\s*\[from: [^\[\]]*?(?:\d{4}-)?(\d{2}-\d{2})\]\s*$")


def digest_lines(view: DigestView | None, width: int, roles: Roles, *, spaced: bool = True) -> list[Row]:
    """Draws the whole digest; ``spaced`` separates sections by blank lines."""
    if view is None:
        return [Row(("reading …", roles.faint))]
    if view.problem:
        return wrap([("! ", roles.error), (view.problem, roles.error)], width, indent=2)
    if not view.on:
        effect = "While the file does not exist, prompts do without a digest. K, then R makes it."
        return [
            *wrap([("off", roles.strong), (f": {DIGEST_PATH} does not exist", roles.normal)], width),
            Row(),
            *wrap([(effect, roles.muted)], width),
        ]
    lines = [line.strip() for line in visible_lines(view.text[:MAX_CHARACTERS])]
    lines = [line for line in lines if line and not line.startswith("# ")]
    start = next((at for at, line in enumerate(lines) if line.startswith("#")), 0)
    rows: list[Row] = []
    for line in lines[start:] + lines[:start]:  # text above the sections is about the file itself
        rows.extend(_line(line, width, roles, spaced=spaced and bool(rows)))
    if len(view.text) > MAX_CHARACTERS:
        rows.append(Row((f"{count(len(view.text) - MAX_CHARACTERS)} more characters not shown", roles.gate)))
    return rows or [Row(("on, but empty", roles.muted))]


def _line(stripped: str, width: int, roles: Roles, *, spaced: bool) -> list[Row]:
    if stripped.startswith("#"):
        heading = Row((stripped.lstrip("#").strip(), roles.strong))
        return [Row(), heading] if spaced else [heading]
    if not stripped.startswith(("- ", "* ")):
        return wrap([(stripped, roles.faint)], width)
    item = stripped[2:]
    date = _PROVENANCE.search(item)
    if date is not None:
        item = item[: date.start()]
    mark, style = "· ", roles.normal
    if item.startswith(("[ ] ", "[x] ", "[X] ")):
        mark, style = ("○ ", roles.normal) if item[1] == " " else ("✓ ", roles.muted)
        item = item[4:]
    rows = wrap([(mark, roles.faint), (item, style)], width - (6 if date else 0), indent=2)
    if date is not None:
        rows[0].right(Row((date.group(1), roles.faint)), width)
    return rows


def digest_state(view: DigestView | None) -> tuple[str, bool]:
    """``3.1/4.0 KB · on``, and whether the digest is unreadable or too large."""
    if view is None:
        return "", False
    if view.problem:
        return "unreadable", True
    if not view.on:
        return "off", False
    over = view.size > view.limit
    return f"{kilobytes(view.size)}/{kilobytes(view.limit)} KB · {'too large' if over else 'on'}", over


def digest_counts(view: DigestView) -> str:
    """``2 open tasks · 1 decision``: the number of items per section."""
    counts: dict[str, int] = {}
    section = ""
    for line in visible_lines(view.text[:MAX_CHARACTERS]):
        stripped = line.strip()
        if stripped.startswith("## "):
            section = stripped[3:].strip().lower()
        elif section and stripped.startswith(("- ", "* ")):
            counts[section] = counts.get(section, 0) + 1
    return " · ".join(_counted(number, name) for name, number in counts.items())


def _counted(number: int, name: str) -> str:
    one = name.removesuffix("s") if name.endswith("s") else name
    return plural(number, one, name) if one != name else f"{count(number)} {name}"
