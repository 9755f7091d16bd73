"""How ``tune`` prints figures, thresholds, scores and flipping decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.activation.numbers import format_threshold
from tui.cli.activation import number
from tui.cli.base import emit, emit_json, kept, minute, plain, table

if TYPE_CHECKING:
    from engine.activation.policy import Thresholds
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.replay import Figures, Flips, Histogram
    from engine.activation.tuning.table import DecisionTable
    from engine.activation.tuning.tuning import Applied

BINS = 60
OVERVIEW_HEADS = ("topic", "labels", "precision", "recall", "F1", "gate/day", "$/day", "gate", "active")

_BARS = " ▁▂▃▄▅▆▇█"
_LABELS = {1: "useful", 0: "noise", -1: "–"}


def badness(name: str, figures: Figures) -> tuple[bool, float, int, str]:
    """Worst first; topics that nothing is known of last."""
    return figures.f1 is None, figures.f1 or 0.0, -figures.labelled, name


def overview_row(name: str, figures: Figures, thresholds: Thresholds | None = None) -> list[str]:
    """A line of the table of all topics."""
    marks = (
        ["", ""]
        if thresholds is None
        else [threshold_text(thresholds.gate), threshold_text(thresholds.activate)]
    )
    return [
        name,
        f"{figures.labelled:,}",
        number(figures.precision),
        number(figures.recall),
        number(figures.f1),
        f"{figures.gate_calls_per_day:.1f}",
        f"{figures.cost_usd_per_day:.4f}",
        *marks,
    ]


def proposed(proposal: Proposal) -> list[str]:
    """What is proposed and why, or why nothing is; as two cells."""
    if proposal.thresholds is None:
        return ["–", proposal.refused]
    why = str(proposal.held_out)
    return [said(proposal.thresholds), f"{why}; {proposal.caution}" if proposal.caution else why]


def labels_line(figures: Figures) -> str:
    """How many labels there are, and whose."""
    return (
        f"labels {figures.labelled:,} of {figures.decisions:,} decisions · a person {figures.by_person:,} · "
        f"gate {figures.by_gate:,} · from use {figures.by_use:,}"
    )


def say_figures(before: Figures, after: Figures | None) -> None:
    """Prints figures, beside those of other thresholds where there are some."""

    def both(name: str, text: Callable[[Figures], str]) -> str:
        return f"{name} {text(before)}" + ("" if after is None else f" → {text(after)}")

    emit(labels_line(before))
    parts = [
        both("precision", lambda found: number(found.precision)),
        both("recall", lambda found: number(found.recall)),
        both("F1", lambda found: number(found.f1)),
        both("gate calls a day", lambda found: f"{found.gate_calls_per_day:.1f}"),
        both("$ a day", lambda found: f"{found.cost_usd_per_day:.4f}"),
    ]
    emit(" · ".join(parts))
    if before.labelled:
        useful = both(f"of {before.useful:,} useful", lambda found: f"{found.useful_active:.1f}")
        noise = both(f"of {before.noise:,} noise", lambda found: f"{found.noise_active:.1f}")
        emit(f"active: {useful} · {noise}")


def say_flips(log: DecisionTable, turned: Flips) -> None:
    """Prints the decisions that flip."""
    rows = []
    for flip in turned.rows:
        decision = log.decision(flip.index)
        label = _LABELS[int(log.labels[flip.index])]
        when, text = minute(decision.at), " ".join(decision.message.split())[:60]
        score = number(float(log.scores[flip.index]))
        rows.append([flip.kind, decision.id[:10], when, score, f"{flip.before} → {flip.after}", label, text])
    table(rows, ["", "id", "when", "score", "what happens", "label", "message"] if rows else [])
    count = turned.fixed + turned.lost + turned.changed
    if count > len(rows):
        emit(f"{len(rows)} of {count:,} shown")


def say_applied(applied: Applied, as_json: bool) -> None:
    """Prints what was written into a topic's file."""
    if as_json:
        emit_json(applied)
        return
    what = kept(applied.commit, applied.why)
    emit(f"{applied.path}: {said(applied.before)} → {said(applied.after)} ({what})")


def say_left_out(count: int) -> None:
    """Prints how many decisions could not be replayed."""
    if count:
        what = "1 decision was" if count == 1 else f"{count:,} decisions were"
        emit(f"left out: {what} logged under another preset")


def picture(scores: Histogram, today: Thresholds, wanted: Thresholds | None) -> list[str]:
    """Labelled decisions by score as two rows of bars, and the thresholds below them."""
    highest = max((*scores.useful, *scores.noise), default=0)
    if not highest:
        return []
    lines = [
        f"{name:>9} {''.join(_bar(count, highest) for count in counts)} {sum(counts):,}"
        for name, counts in (("useful", scores.useful), ("noise", scores.noise))
    ]
    lines.append(f"{'today':>9} {_marks(today)}")
    if wanted is not None:
        lines.append(f"{'then':>9} {_marks(wanted)}")
    if scores.fixed:
        lines.append(f"{'':9} {scores.fixed:,} more with a label are moved by no threshold")
    return lines


def _bar(count: int, highest: int) -> str:
    return _BARS[-(-count * (len(_BARS) - 1) // highest)]


def _marks(thresholds: Thresholds) -> str:
    """The scale from 0 to 1: ``·`` dropped, ``?`` asked about, ``●`` active."""
    gate, active = (
        (1.01 if threshold is None else threshold) for threshold in (thresholds.gate, thresholds.activate)
    )
    middles = [(place + 0.5) / BINS for place in range(BINS)]
    return "".join("●" if middle >= active else "?" if middle >= gate else "·" for middle in middles)


def said(thresholds: Thresholds) -> str:
    """Thresholds in words: ``gate .25, active .60``."""
    return f"gate {threshold_text(thresholds.gate)}, active {threshold_text(thresholds.activate)}"


def threshold_text(threshold: float | None) -> str:
    """One threshold: ``.25``, ``never``."""
    return "never" if threshold is None else format_threshold(threshold)


def flips_tree(log: DecisionTable, turned: Flips) -> dict[str, Any]:
    """The decisions that flip, as JSON knows them."""
    rows = []
    for flip in turned.rows:
        decision = log.decision(flip.index)
        label = {1: True, 0: False, -1: None}[int(log.labels[flip.index])]
        told = {"id": decision.id, "at": decision.at, "message": decision.message, "useful": label}
        rows.append({**plain(flip), "score": float(log.scores[flip.index]), **told})
    return {"fixed": turned.fixed, "lost": turned.lost, "changed": turned.changed, "rows": rows}
