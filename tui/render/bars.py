"""The lines around the panels: header, footer, the folded memory panel, and the gate's question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.context.compiled import Compiled
from engine.context.views import DigestView, LedgerView, StatusView
from engine.events import GateAsked, IndexProgress
from tui.draw import Row, clip, clip_start
from tui.figures import count, home, plural
from tui.render.budget import left_out_line, stacked
from tui.render.digest import digest_counts, digest_state
from tui.render.ledger import failure, ledger_summary
from tui.roles import Roles
from tui.safe import first_line

_WATCH = {"live": "●", "polling": "◐", "off": "○"}


@dataclass(frozen=True, slots=True)
class HeaderView:
    """What the header says."""

    root: Path
    status: StatusView | None = None
    compiled: Compiled | None = None
    progress: IndexProgress | None = None


def header(view: HeaderView, width: int, roles: Roles, *, coloured: bool = True) -> Row:
    """The top line: which workspace, in what state, and how full the prompt is."""
    row = Row((" autopoiesis", roles.accent)).gap(2)
    tokens = _tokens(view.compiled, width, roles, coloured=coloured)
    room = width - tokens.cells - 2
    row.add(clip_start(home(view.root), max(12, min(40, room // 3))), roles.muted)
    gap = 3 if width >= 100 else 2
    for part in _header_parts(view, roles):
        if row.cells + gap + part.cells <= room:
            row.gap(gap).extend(part)
    return row.to(width - tokens.cells - 1).extend(tokens)


def _header_parts(view: HeaderView, roles: Roles) -> list[Row]:
    """Parts of the header, the ones that must not be missed first."""
    status = view.status
    if status is None:
        return [Row(("reading …", roles.faint))]
    watch_style = {"live": roles.active, "polling": roles.gate}.get(status.watch_mode, roles.trouble)
    watch = Row((f"{_WATCH.get(status.watch_mode, '○')} {status.watch_mode}", watch_style))
    urgent: list[Row] = []
    if status.read_only:
        urgent.append(Row(("read-only", roles.gate)))
    if status.problems:
        urgent.append(Row((f"! {plural(len(status.problems), 'problem')}", roles.trouble)))
    progress = view.progress
    if progress is not None and progress.done < progress.total:
        urgent.append(Row((f"indexing {count(progress.done)}/{count(progress.total)}", roles.tier2)))
    branch = Row(("git ", roles.faint), (clip(first_line(status.branch), 24) or "none", roles.normal))
    if status.dirty:
        branch.add(f" +{count(status.dirty)}", roles.muted)
    gate = Row(("gate ", roles.faint), (first_line(status.gate), roles.normal))
    if status.model:
        gate.add(f" {clip(first_line(status.model), 28)}", roles.muted)
    parts = [watch, *urgent, branch, gate, Row((plural(status.topics, "topic"), roles.muted))]
    if status.watch_why:
        parts.append(Row((clip(first_line(status.watch_why), 40), roles.faint)))
    return parts


def _tokens(compiled: Compiled | None, width: int, roles: Roles, *, coloured: bool) -> Row:
    if compiled is None:
        return Row()
    row = Row((count(compiled.tokens), roles.strong), (f"/{count(compiled.budget)} tok", roles.muted))
    if width >= 70:
        percent = round(100 * compiled.tokens / max(1, compiled.budget))
        gauge = stacked(compiled, 12 if width < 140 else 20, roles, coloured=coloured)
        row.gap(2).extend(gauge).add(f" {percent} %", roles.muted)
    return row


def footer(entries: list[tuple[str, str]], width: int, roles: Roles) -> Row:
    """The bottom line: the keys that matter now, as many as fit, at most eight."""
    row = Row((" ", roles.normal))
    for keys, words in entries[:8]:
        entry = Row((keys, roles.accent), (f" {words}", roles.muted))
        if row.cells + entry.cells + 2 > width:
            break
        row.extend(entry).gap(3 if width >= 100 else 2)
    return row


def key_at(entries: list[tuple[str, str]], width: int, roles: Roles, x: int) -> str:
    """The key of the footer that a cell belongs to, as it is shown; empty beside all of them.

    Of several keys that share their words, the one that is pointed at, else the first.
    """
    for count_of in range(1, len(entries[:8]) + 1):
        before = footer(entries[: count_of - 1], width, roles).cells
        keys, words = entries[count_of - 1]
        if footer(entries[:count_of], width, roles).cells == before:
            return ""
        if before <= x < before + len(f"{keys} {words}"):
            at = 0
            for key in keys.replace("–", " ").split():
                if at <= x - before < at + len(key):
                    return key
                at += len(key) + 1
            return keys.replace("–", " ").split()[0]
    return ""


def memory_lines(
    digest: DigestView | None, ledger: LedgerView | None, compiled: Compiled | None, width: int, roles: Roles
) -> list[Row]:
    """Panels 3 to 5 in one line each, for screens without room for them."""
    return [
        _digest_line(digest, width, roles),
        _ledger_line(ledger, width, roles),
        _budget_line(compiled, width, roles),
    ]


def _lead(key: str, name: str, roles: Roles) -> Row:
    return Row((f"{key} ", roles.accent)).fit(name, 9, roles.muted)


def _digest_line(view: DigestView | None, width: int, roles: Roles) -> Row:
    row = _lead("3", "digest", roles)
    if view is None:
        return row.add("reading …", roles.faint)
    state, trouble = digest_state(view)
    row.add(state, roles.trouble if trouble else roles.normal)
    if view.on:
        row.gap(3).add(clip(digest_counts(view), width - row.cells), roles.muted)
    return row


def _ledger_line(view: LedgerView | None, width: int, roles: Roles) -> Row:
    row = _lead("4", "ledger", roles)
    if view is None:
        return row.add("reading …", roles.faint)
    if view.problem:
        return row.add(clip(f"! {first_line(view.problem)}", width - row.cells), roles.trouble)
    if not view.entries:
        return row.add("nothing harvested yet", roles.muted)
    others = 0
    for sign, number, word in ledger_summary(view):
        if sign in "✓!":
            row.add(f"{sign} {count(number)} {word}", roles.active if sign == "✓" else roles.trouble).gap(3)
        else:
            others += number
    if others:
        row.add(f"– {count(others)} not harvested", roles.muted).gap(3)
    reason = failure(view)
    if width - row.cells < min(len(reason), 32):
        reason = reason.partition(":")[0]
    return row.add(clip(reason, width - row.cells), roles.muted) if width - row.cells >= 8 else row


def _budget_line(compiled: Compiled | None, width: int, roles: Roles) -> Row:
    row = _lead("5", "budget", roles)
    if compiled is None:
        return row.add("no prompt", roles.muted)
    used: dict[int, int] = {}
    for slot in compiled.slots:
        used[slot.priority] = used.get(slot.priority, 0) + slot.used
    for priority, tokens in sorted(used.items()):
        if tokens:
            row.add(f"P{priority} ", roles.slot(priority)).add(count(tokens), roles.normal).gap(2)
    left = left_out_line(compiled)
    for words in (left, left.partition(" · ")[0]):
        if row.cells + len(words) <= width:
            return row.add(words, roles.gate)
    return row


def question_lines(
    asked: GateAsked, left_s: float, waiting: int, width: int, roles: Roles, *, letters: bool = True
) -> list[Row]:
    """The gate's question: topic, message, what the topic is for, and how long it waits."""
    left = f"{max(0, round(left_s))} s" + (f" · {waiting} more wait" if waiting else "")
    head = Row(("does ", roles.muted), (first_line(asked.topic), roles.strong), (" apply to ", roles.muted))
    head.add(clip(f"“{first_line(asked.message)}”", width - head.cells - len(left) - 4), roles.normal)
    head.add("?", roles.muted)
    head.right(Row((left, roles.gate)), width)
    ctrl = "" if letters else "ctrl+"
    keys = Row((f"{ctrl}y", roles.accent), (" yes", roles.muted), (f"   {ctrl}n", roles.accent))
    keys.add(" no", roles.muted).gap(4)
    return [head, keys.add(clip(first_line(asked.description), width - keys.cells), roles.faint)]


def too_small(width: int, height: int, roles: Roles) -> list[Row]:
    """What a terminal too small for the workbench says."""
    return [
        Row((f"This terminal is {width}×{height}.", roles.strong)),
        Row(("The workbench needs 60×16.", roles.normal)),
        Row(),
        Row(("q", roles.accent), (" quits", roles.muted)),
        Row(("autopoiesis trace works at any size", roles.muted)),
    ]
