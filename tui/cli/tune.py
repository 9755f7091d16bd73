"""``tune``: tries other thresholds on the logged messages, and fits and writes thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from engine.activation.numbers import format_threshold
from tui.cli.activation import number
from tui.cli.base import commit_text, emit, emit_json, emitted_json, invocation, minute, plain, table, verb
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.activation.policy import Thresholds
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.replay import Figures, Flips, Histogram
    from engine.activation.tuning.table import MessageTable
    from engine.activation.tuning.tuning import Applied
    from engine.engine import Engine

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
    if emitted_json(as_json, applied):
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
    column, rows = log.columns[topic], []
    for flip in turned.rows:
        message = log.messages[flip.row]
        decision = message.decisions.get(topic)
        label = {1: True, 0: False, -1: None}[int(log.labels[flip.row, column])]
        row = {"id": decision.id if decision is not None else "", "at": message.at, "useful": label}
        score = float(log.scores[flip.row, column])
        rows.append({**plain(flip), **row, "score": score, "message": message.text})
    return {"fixed": turned.fixed, "lost": turned.lost, "changed": turned.changed, "rows": rows}


def _threshold_value(text: str) -> float | str:
    """A number from 0 to 1, or ``never``."""
    if text == "never":
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise click.BadParameter(f"{text!r} is neither a number from 0 to 1 nor `never`")
    return value


@verb("                                   # all topics, worst first",
      "release --gate .34 --activate .62  # what would change",
      "release --fit --apply              # write the fitted thresholds", "--undo")  # fmt: skip
@click.argument("topic", required=False)
@click.option("--fit", is_flag=True, help="Propose thresholds from the labels, validated on held-out labels.")
@click.option("--gate", type=_threshold_value, metavar="SCORE",
              help="Offer it or ask the gate from this score up, or `never`.")  # fmt: skip
@click.option("--activate", type=_threshold_value, metavar="SCORE",
              help="Activate from this score up, or `never`.")  # fmt: skip
@click.option(
    "--apply", "write", is_flag=True, help="Write the thresholds to the topic's file and commit it."
)
@click.option("--undo", is_flag=True, help="Undo the last change made by --apply.")
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Messages to list.")
def tune(
    topic: str | None,
    fit: bool,
    gate: float | str | None,
    activate: float | str | None,
    write: bool,
    undo: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Measure how well topics fire on the logged messages, by their labels, and adjust their thresholds.

    A topic has two thresholds: from the lower one up it is offered to the agent, or the gate is asked; from
    the upper one up it is active. Nothing is written without --apply.

    Messages are scored by the tier 2 of today, those with labels by fits without them. After a new label
    that takes some seconds.
    """
    tried = gate is not None or activate is not None
    _check_options(topic, fit=fit, tried=tried, write=write, undo=undo)
    with invocation().engine() as engine:
        if undo:
            print_applied(engine.tuning.undo(), as_json)
        elif topic is None:
            _every_topic(engine, fit=fit, write=write, as_json=as_json)
        elif fit:
            _fit_one(engine, topic, write=write, as_json=as_json)
        else:
            _one_topic(engine, topic, gate, activate, write=write, limit=limit, as_json=as_json)


def _check_options(topic: str | None, *, fit: bool, tried: bool, write: bool, undo: bool) -> None:
    if undo and (topic or fit or tried or write):
        raise click.UsageError("--undo takes no other arguments; it undoes the last change of any topic")
    if fit and tried:
        raise click.UsageError("--fit cannot be used with --gate or --activate")
    if tried and topic is None:
        raise click.UsageError("--gate and --activate need a TOPIC")
    if write and not (fit or tried):
        raise click.UsageError("--apply needs --fit, --gate or --activate")


def _every_topic(engine: Engine, *, fit: bool, write: bool, as_json: bool) -> None:
    from engine.activation.tuning.replay import overview, total  # noqa: PLC0415 — imports numpy

    log = engine.tuning.hold_out()
    if fit:
        _fit_all(engine, log, write=write, as_json=as_json)
        return
    figures = overview(log)
    worst_first = sorted(figures, key=lambda name: badness(name, figures[name]))
    everything = total(figures.values())
    if as_json:
        emit_json(
            {
                "topics": [
                    {"topic": name, "today": log.today(name), **plain(figures[name])} for name in worst_first
                ],
                "total": everything,
                "messages": log.size,
                "days": log.days,
            }
        )
        return
    if not log.size:
        emit("no decisions yet: they are logged as transcripts grow, or with `autopoiesis trace --log TEXT`")
    else:
        rows = [overview_row(name, figures[name], log.today(name)) for name in worst_first]
        table([*rows, [*overview_row(f"all {len(rows)}", everything)]], OVERVIEW_HEADS)
        emit(labels_line(everything, log.size))


def _one_topic(
    engine: Engine,
    topic: str,
    gate: float | str | None,
    activate: float | str | None,
    *,
    write: bool,
    limit: int,
    as_json: bool,
) -> None:
    """A topic's figures, thresholds and scores; with other thresholds, also what they would change."""
    from engine.activation.tuning.replay import alone_text, figures, flips, histogram  # noqa: PLC0415 — imports numpy

    log = _log_with(engine, topic)
    today, before = log.today(topic), figures(log, topic)
    wanted = _wanted(today, gate, activate)
    after = None if wanted is None else figures(log, topic, wanted)
    turned = None if wanted is None else flips(log, topic, today, wanted, limit=limit)
    scores = histogram(log, topic, BINS)
    applied = engine.tuning.apply(topic, wanted) if write and wanted is not None else None
    if as_json:
        emit_json(
            {
                "topic": topic,
                "today": today,
                "figures": before,
                "histogram": scores,
                "thresholds": wanted,
                "after": after,
                "flips": None if turned is None else flips_tree(log, topic, turned),
                "applied": applied,
            }
        )
        return
    emit(f"{topic}: {thresholds_text(today)}")
    if alone := alone_text(log, topic):
        emit(alone)
    print_figures(log, before, after)
    for line in picture(scores, today, wanted):
        emit(line)
    if wanted is not None and turned is not None:
        counts = f"{turned.fixed} fixed, {turned.lost} lost, {turned.changed} changed"
        emit(f"with {thresholds_text(wanted)}: {counts}")
        print_flips(log, topic, turned)
    if applied is not None:
        print_applied(applied, as_json)
    elif wanted is not None:
        emit("nothing was written; pass --apply to do it")


def _fit_one(engine: Engine, topic: str, *, write: bool, as_json: bool) -> None:
    from engine.errors import TopicError  # noqa: PLC0415 — only for a refused proposal

    log = _log_with(engine, topic)
    proposal = engine.tuning.propose(topic)
    if write and proposal.thresholds is None:
        raise TopicError(f"nothing to apply: {proposal.refused}", where=topic)
    applied = (
        engine.tuning.apply(topic, proposal.thresholds) if write and proposal.thresholds is not None else None
    )
    if emitted_json(as_json, {**plain(proposal), "applied": applied}):
        return
    emit(f"{topic}: {thresholds_text(proposal.today)}")
    print_figures(log, proposal.before, proposal.after)
    if proposal.thresholds is None:
        emit(f"no proposal: {proposal.refused}")
        return
    emit(f"proposed {thresholds_text(proposal.thresholds)}")
    emit(str(proposal.held_out))
    if proposal.caution:
        emit(proposal.caution)
    if applied is None:
        gate, activate = (
            threshold_text(threshold)
            for threshold in (proposal.thresholds.gate, proposal.thresholds.activate)
        )
        emit(f"to see what changes: autopoiesis tune {topic} --gate {gate} --activate {activate}")
        emit("nothing was written; pass --apply to do it")
    else:
        print_applied(applied, as_json)


def _fit_all(engine: Engine, log: MessageTable, *, write: bool, as_json: bool) -> None:
    proposals = [engine.tuning.propose(name) for name in log.topics]
    applied = [
        engine.tuning.apply(proposal.topic, proposal.thresholds)
        for proposal in proposals
        if write and proposal.thresholds is not None
    ]
    if emitted_json(as_json, {"proposals": proposals, "applied": applied}):
        return
    proposals.sort(key=lambda proposal: (proposal.thresholds is None, proposal.topic))
    table(
        [[proposal.topic, thresholds_text(proposal.today), *proposed(proposal)] for proposal in proposals],
        ["topic", "today", "proposed", "why"],
    )
    for done in applied:
        print_applied(done, as_json)
    if not write and any(proposal.thresholds is not None for proposal in proposals):
        emit("nothing was written; pass --apply to do it")


def _log_with(engine: Engine, topic: str) -> MessageTable:
    """The logged messages.

    Raises:
        TopicError: There is no such topic.
    """
    engine.topic(topic)
    return engine.tuning.hold_out()


def _wanted(today: Thresholds, gate: float | str | None, activate: float | str | None) -> Thresholds | None:
    """The requested thresholds; one given alone moves the other where they would cross."""
    from engine.activation.policy import Thresholds  # noqa: PLC0415 — `--help` must not load the engine

    if gate is None and activate is None:
        return None
    lower = today.gate if gate is None else _place(gate)
    upper = today.activate if activate is None else _place(activate)
    if lower is not None and upper is not None and lower > upper:
        if gate is not None and activate is not None:
            raise click.UsageError(f"--gate {gate} is above --activate {activate}")
        lower, upper = (lower, lower) if activate is None else (upper, upper)
    return Thresholds(lower, upper)


def _place(threshold: float | str) -> float | None:
    return None if threshold == "never" else float(threshold)
