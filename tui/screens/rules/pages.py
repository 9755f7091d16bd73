"""The rules screen's pages: rules in agents' files, export, watcher, unused rules, benefit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tui.kit.page import Builder
from tui.render.draw import Row, clip, clip_start, wrap
from tui.render.figures import home, plural
from tui.render.roles import Roles
from tui.render.rules_words import worth_words
from tui.render.safe import first_line, visible_lines
from tui.screens.context.text import diff_lines

if TYPE_CHECKING:
    from engine.lifecycle.rules.elsewhere import Elsewhere, Export
    from engine.lifecycle.rules.since import Fading
    from engine.lifecycle.rules.watched import Watcher
    from engine.lifecycle.rules.worth import Rate, Worth

_INDENT = 2
_RATE = 15


def known_page(found: Elsewhere, texts: Mapping[str, str]) -> Builder:
    """Rules that agents' own files contain, and the files read; ``texts`` are the rules' texts by id."""

    def build(width: int, roles: Roles) -> list[Row]:
        files, rules = plural(len(found.read), "file"), plural(len(found.found), "rule")
        rows = [Row((f"{files} read, {rules} found", roles.strong))]
        for place in found.found:
            text, line = first_line(texts.get(place.id, place.id)), first_line(place.text)
            rows += [Row(), *wrap([(text, roles.normal)], width)]
            rows.append(Row().gap(_INDENT).add(_short(place.path, f":{place.line}", width), roles.faint))
            rows += [Row().gap(_INDENT).extend(row) for row in wrap([(line, roles.muted)], width - _INDENT)]
        files_head = "files read" if found.read else "no such files in the folders of your sessions"
        rows += [Row(), Row((files_head, roles.muted))]
        return [*rows, *(Row().gap(_INDENT).add(_short(path, "", width), roles.faint) for path in found.read)]

    return build


def _short(path: str, behind: str, width: int) -> str:
    return clip_start(f"{first_line(home(Path(path)))}{behind}", width - _INDENT)


def export_page(export: Export) -> Builder:
    """The diff an export makes to a file."""
    signs, lines = diff_lines(export.diff.split("\n")[2:])

    def build(width: int, roles: Roles) -> list[Row]:
        head = f"{plural(len(export.rules), 'rule')} in its section" if export.diff else "no changes"
        rows = [Row((head, roles.strong))]
        for place in export.known:
            known = f"already on line {place.line}: {first_line(place.text)}"
            rows += wrap([(known, roles.muted)], width, indent=_INDENT)
        rows.append(Row())
        for sign, line in zip(signs, lines, strict=True):
            style = {"+": roles.active, "-": roles.error}.get(sign, roles.muted)
            lead = f"{sign if sign in '+-' else ' '} "
            rows += wrap([(lead, style), (line, style)], width, indent=_INDENT)
        return rows

    return build


def watcher_page(watcher: Watcher, seen: str) -> Builder:
    """What is watched for (``seen``, in words or as a regular expression), and the topic that does it."""

    def build(width: int, roles: Roles) -> list[Row]:
        does = "If an agent writes or runs it, the next prompt asks the agent to correct it."
        watches = [("watches for ", roles.muted), (first_line(seen), roles.strong)]
        rows = [*wrap(watches, width), *wrap([(does, roles.muted)], width), Row()]
        rows.append(Row((watcher.path, roles.accent)))
        for line in visible_lines(watcher.text):
            text = line.lstrip(" ")
            indent = min(len(line) - len(text), width // 2)
            rows += [Row().gap(indent).extend(row) for row in wrap([(text, roles.normal)], width - indent)]
        return rows

    return build


def unneeded_page(found: Fading) -> Builder:
    """Rules unused for some time, each with the last day it was needed."""

    def build(width: int, roles: Roles) -> list[Row]:
        head = f"{plural(len(found.rules), 'rule')} unused for {plural(found.days, 'day')}"
        rows = [Row((head, roles.strong))]
        if not found.prompts:
            note = "no prompts were recorded in that time, so only your own messages count"
            rows += wrap([(note, roles.muted)], width)
        rows.append(Row())
        for rule, day in found.rules:
            rows += wrap([(f"{day}  ", roles.muted), (first_line(rule.text), roles.normal)], width, indent=12)
        return rows

    return build


def worth_page(found: Worth) -> Builder:
    """How often each accepted rule was repeated per week, before and since, and what rules cost."""

    def build(width: int, roles: Roles) -> list[Row]:
        if not found.rules:
            return [row for line in worth_words(found) for row in wrap([(line, roles.muted)], width)]
        rows = wrap([("repetitions per week (in how many weeks with sessions)", roles.muted)], width)
        head = Row().fit("before", _RATE, roles.faint, "right").fit("since", _RATE + 2, roles.faint, "right")
        rows.append(head.fit("tokens", 8, roles.faint, "right").gap(2).add("rule", roles.faint))
        for each in found.rules:
            row = Row().fit(_rate(each.before), _RATE, roles.normal, "right")
            row.fit(_rate(each.after), _RATE + 2, roles.normal, "right")
            row.fit(str(each.tokens), 8, roles.muted, "right").gap(2)
            rows.append(row.add(clip(first_line(each.rule.text), width - row.cells), roles.normal))
        rows.append(Row())
        return [*rows, *(row for line in worth_words(found) for row in wrap([(line, roles.muted)], width))]

    return build


def _rate(rate: Rate) -> str:
    """``0.50 (2 in 4)``; a dash instead of the rate if there are too few weeks."""
    return f"{'–' if rate.a_week is None else f'{rate.a_week:.2f}'} ({rate.told} in {rate.weeks})"
