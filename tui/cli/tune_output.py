"""Output of ``tune``: figures, thresholds, scores and flipped messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.activation.numbers import format_threshold
from tui.cli.activation import number
from tui.cli.base import commit_text, emit, emit_json, minute, plain, table
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.activation.policy import Thresholds
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.replay import Figures, Flips, Histogram
    from engine.activation.tuning.table import MessageTable
    from engine.activation.tuning.tuning import Applied

BINS = 60
OVERVIEW_HEADS = (
    "topic", "labels", "precision", "recall", "F1", "offers/day", "$/day", "gate", "active",
)  # fmt: skip

_BARS = " ▁▂▃▄▅▆▇█"


def badness(name: str, figures: Figures) -> tuple[bool, float, int, str]:
    """Sort key: worst F1 first, topics without one last."""
    return figures.f1 is None, figures.f1 or 0.0, -figures.labelled, name


def overview_row(name: str, figures: Figures, thresholds: Thresholds | None = None) -> list[str]:
    """A row of the table of all topics."""
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
        f"{figures.offers_per_day:.1f}",
        f"{figures.cost_usd_per_day:.4f}",
        *marks,
    ]


def proposed(proposal: Proposal) -> list[str]:
    """The proposed thresholds and the reason, as two cells."""
    if proposal.thresholds is None:
        return ["–", proposal.refused]
    reason = str(proposal.held_out)
    return [
        thresholds_text(proposal.thresholds),
        f"{reason}; {proposal.caution}" if proposal.caution else reason,
    ]


def labels_line(figures: Figures, messages: int) -> str:
    """How many labels there are, by source."""
    return (
        f"labels {figures.labelled:,} in {plural(messages, 'message')} · by hand {figures.by_person:,} · "
        f"gate {figures.by_gate:,} · from use {figures.by_use:,}"
    )


def print_figures(log: MessageTable, before: Figures, after: Figures | None) -> None:
    """Prints figures, next to those under other thresholds if given."""

    def both(name: str, text: Callable[[Figures], str]) -> str:
        return f"{name} {text(before)}" + ("" if after is None else f" → {text(after)}")

    asked = "offered" if log.offers else "asked"
    emit(labels_line(before, log.size))
    parts = [
        both("precision", lambda found: number(found.precision)),
        both("recall", lambda found: number(found.recall)),
        both(f"or {asked}", lambda found: number(found.reached)),
        both("quiet", lambda found: number(found.quiet)),
        both("F1", lambda found: number(found.f1)),
        both(f"{asked}/day", lambda found: f"{found.offers_per_day:.1f}"),
        *([both("$/day", lambda found: f"{found.cost_usd_per_day:.4f}")] if log.cost_per_call else []),
    ]
    emit(" · ".join(parts))
    if before.labelled:
        useful = both(f"of {before.useful:,} useful", lambda found: f"{found.useful_active:,}")
        noise = both(f"of {before.noise:,} noise", lambda found: f"{found.noise_active:,}")
        emit(f"active: {useful} · {noise}")


def print_flips(log: MessageTable, topic: str, turned: Flips) -> None:
    """Prints the messages that change under other thresholds."""
    rows = []
    for each in flips_tree(log, topic, turned)["rows"]:
        before, after = (
            "asked" if each[end] == "offered" and not log.offers else each[end] for end in ("before", "after")
        )
        label = {True: "useful", False: "noise", None: "–"}[each["useful"]]
        text = " ".join(each["message"].split())[:60]
        when, score = minute(each["at"]), number(each["score"])
        rows.append([each["kind"], each["id"][:10], when, score, f"{before} → {after}", label, text])
    table(rows, ["", "id", "when", "score", "change", "label", "message"] if rows else [])
    if turned.total > len(rows):
        emit(f"{len(rows)} of {turned.total:,} shown")


def print_applied(applied: Applied, as_json: bool) -> None:
    """Prints the thresholds written to a topic's file."""
    if as_json:
        emit_json(applied)
        return
    what = commit_text(applied.commit, applied.why)
    emit(f"{applied.path}: {thresholds_text(applied.before)} → {thresholds_text(applied.after)} ({what})")


def picture(scores: Histogram, today: Thresholds, wanted: Thresholds | None) -> list[str]:
    """Histograms of useful and noise messages by score, with the thresholds below."""
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
        lines.append(f"{'':9} {scores.fixed:,} more labelled messages do not depend on the thresholds")
    return lines


def _bar(count: int, highest: int) -> str:
    return _BARS[-(-count * (len(_BARS) - 1) // highest)]


def _marks(thresholds: Thresholds) -> str:
    """The scale from 0 to 1: ``·`` quiet, ``?`` uncertain, ``●`` active."""
    gate, active = (
        (1.01 if threshold is None else threshold) for threshold in (thresholds.gate, thresholds.activate)
    )
    middles = [(place + 0.5) / BINS for place in range(BINS)]
    return "".join("●" if middle >= active else "?" if middle >= gate else "·" for middle in middles)


def thresholds_text(thresholds: Thresholds) -> str:
    """Formats thresholds: ``gate .25, active .60``."""
    return f"gate {threshold_text(thresholds.gate)}, active {threshold_text(thresholds.activate)}"


def threshold_text(threshold: float | None) -> str:
    """Formats one threshold: ``.25``, ``never``."""
    return "never" if threshold is None else format_threshold(threshold)


def flips_tree(log: MessageTable, topic: str, turned: Flips) -> dict[str, Any]:
    """The flipped messages as JSON; ``id`` is that of the topic's decision, empty if none was logged."""
    column, rows = log.column(topic), []
    for flip in turned.rows:
        message = log.messages[flip.row]
        decision = message.decisions.get(topic)
        label = {1: True, 0: False, -1: None}[int(log.labels[flip.row, column])]
        row = {"id": decision.id if decision is not None else "", "at": message.at, "useful": label}
        score = float(log.scores[flip.row, column])
        rows.append({**plain(flip), **row, "score": score, "message": message.text})
    return {"fixed": turned.fixed, "lost": turned.lost, "changed": turned.changed, "rows": rows}
