"""The result of a harvest: items, cost, what is pending, failures, and what was not reclaimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from tui.kit.panel import LinesPanel
from tui.render.draw import Row, wrap
from tui.render.figures import count, dollars, plural, sizes
from tui.render.roles import Roles
from tui.screens.harvest.rows import short_path
from tui.screens.harvest.run import Progress
from tui.screens.ledger.record import by_category, fact, review_hint

if TYPE_CHECKING:
    from engine.knowledge.harvest.report import Result
    from engine.knowledge.ledger import LedgerEntry

_LABEL = 12
_fact = partial(fact, labels=_LABEL)
_NAMED = 6
"""Conversations listed per reason; the rest are counted."""
_LISTED = 8
"""Lines listed per kind; the rest are counted."""
_OPTIONS = {"(--reclaim-empty)": "(option: also empty)", "(--reclaim-partial)": "(option: also partial)"}
_HINTS = {
    "failed": "kept; f retries",
    "changed": "the next harvest reads it again",
    "unclear": "kept",
    "too-large": "split it and harvest the parts",
}


class OutcomePanel(LinesPanel):
    """Step 4: the result."""

    name_of = "outcome"
    words = "result"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._progress = Progress({})
        self._review_key = ""

    def show_outcome(self, progress: Progress, review_key: str) -> None:
        if (progress, review_key) != (self._progress, self._review_key):
            self._progress, self._review_key = progress, review_key
            self.changed()

    def draw(self, width: int, height: int) -> list[Row]:
        return draw_outcome(self._progress, self._review_key, width, self.roles)


def draw_outcome(progress: Progress, review_key: str, width: int, roles: Roles) -> list[Row]:
    """Draws the result of a run.

    Args:
        review_key: The key that opens the review screen in the workbench.
    """
    results = list(progress.results.values())
    rows: list[Row] = []
    if progress.brake:
        rows += _brake(progress.brake, width, roles)
    elif progress.problem:
        rows += [*wrap([("! ", roles.error), (progress.problem, roles.error)], width, indent=2), Row()]
    report = progress.report
    if report is not None and report.stopped:
        stopped = "stopped" if report.stopped == "stopped" else f"stopped: {report.stopped}"
        rows += [*wrap([(f"{stopped}; the rest was not read", roles.gate)], width, indent=2), Row()]
    if not results:
        return [*rows, *wrap([("no conversations were read", roles.muted)], width)]
    rows += _figures(results, review_key, width, roles)
    if report is not None:
        for path in report.recovered:
            rows += _fact("recovered", f"{path}: interrupted run completed", roles.normal, width, roles)
        if report.purged:
            purged = f"{plural(len(report.purged), 'conversation')} purged"
            rows += _fact("trash", purged, roles.muted, width, roles)
    failures = [each for each in results if each.outcome in _HINTS]
    if failures:
        rows += [Row(), Row((f"not harvested: {count(len(failures))}", roles.strong))]
    for each in failures:
        pieces = [
            ("! ", roles.error),
            (f"{short_path(each.path)}  ", roles.normal),
            (each.error or each.outcome, roles.error),
            ("" if each.error.endswith("kept") else f"; {_HINTS[each.outcome]}", roles.muted),
        ]
        rows += wrap(pieces, width, indent=2)
    return rows + _kept(results, width, roles)


def _brake(number: int, width: int, roles: Roles) -> list[Row]:
    text = f"{plural(number, 'conversation')} would be moved to the trash. To confirm, press "
    pieces = [
        ("! ", roles.gate), (text, roles.gate), ("m", roles.accent), (f" and type {number}", roles.gate),
    ]  # fmt: skip
    return [*wrap(pieces, width, indent=2), Row()]


def _figures(results: list[Result], review_key: str, width: int, roles: Roles) -> list[Row]:
    new = [each for each in results if each.is_new]
    written = [each.entry for each in new if each.entry is not None]
    outcomes = Counter(each.outcome for each in results)
    items: Counter[str] = Counter()
    for result in new:
        items.update(result.items)
    done = plural(len(written), "conversation")
    if outcomes["unharvested"]:
        done += f", {count(outcomes['unharvested'])} discarded without harvesting"
    each = by_category(items)
    held, known = sum(each.held for each in new), sum(entry.known for entry in written)
    gone = [each for each in results if each.reclaimed]
    rows = [
        *_fact("harvested", done, roles.active if written else roles.normal, width, roles),
        *_fact(
            "items", f"{count(sum(items.values()))}{f': {each}' if each else ''}", roles.normal, width, roles
        ),
    ]
    if known:
        rows += _fact("known", f"{count(known)} already known", roles.normal, width, roles)
        rows += _listed("", [
            f"{each.path}:{each.number}  {each.line.removeprefix('- ')}"
            for result in results for each in result.known if each.number
        ], width, roles)  # fmt: skip
    if held:
        rows += _fact(
            "for review", f"{plural(held, 'item')}; {review_hint(review_key)}", roles.gate, width, roles
        )
    refused = [f"{short_path(each.path)}: {line}" for each in new for line in each.refused]
    rows += _listed("not used", refused, width, roles)
    rows += _fact("model", _model_cost(written, results), roles.normal, width, roles)
    size = sizes(sum(each.size for each in gone))
    return rows + _fact(
        "reclaimed", f"{size} in {plural(len(gone), 'conversation')}", roles.normal, width, roles
    )


def _listed(label: str, lines: list[str], width: int, roles: Roles) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(lines[:_LISTED]):
        rows += _fact("" if number else label, line, roles.muted, width, roles)
    if len(lines) > _LISTED:
        rows += _fact("", f"and {count(len(lines) - _LISTED)} more", roles.muted, width, roles)
    return rows


def _model_cost(written: Iterable[LedgerEntry], results: Iterable[Result]) -> str:
    """Tokens and cost, including those of failed harvests, which are billed as well."""
    failed = (each.entry for each in results if each.outcome == "failed" and each.entry is not None)
    entries = [entry for entry in (*written, *failed) if entry.input_tokens or entry.output_tokens]
    if not entries:
        return "no model used, $0"
    sent, received = (
        sum(getattr(each, name) for each in entries) for name in ("input_tokens", "output_tokens")
    )
    costs = [each.cost_usd for each in entries]
    price = "price unknown" if None in costs else dollars(sum(cost or 0 for cost in costs))
    who = ", ".join(dict.fromkeys(" ".join(filter(None, (each.provider, each.model))) for each in entries))
    return f"{who}: {count(sent)} + {count(received)} tokens, {price}"


def _kept(results: Iterable[Result], width: int, roles: Roles) -> list[Row]:
    """Why conversations were not reclaimed, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for each in results:
        if each.kept:
            reason = each.kept.partition(";")[0] if each.to_confirm else _without_flags(each.kept)
            reasons.setdefault(reason, []).append(each.path)
    rows = [Row(), Row(("not reclaimed", roles.strong))] if reasons else []
    for reason, paths in sorted(reasons.items(), key=lambda item: -len(item[1])):
        rows += wrap([(f"{count(len(paths))}  ", roles.strong), (reason, roles.normal)], width, indent=3)
        named = ", ".join(map(short_path, paths[:_NAMED]))
        more = f" and {count(len(paths) - _NAMED)} more" if len(paths) > _NAMED else ""
        rows += [Row().gap(3).extend(row) for row in wrap([(named + more, roles.muted)], width - 3)]
    return rows


def _without_flags(reason: str) -> str:
    """A reason with command-line flags replaced by the names of this screen's options."""
    for flag, option in _OPTIONS.items():
        reason = reason.replace(flag, option)
    return reason
