"""How the steps of a harvest are drawn: conversations, options, progress and result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import cell_len

from engine.store.paths import transcript_name
from tui.kit.panel import DrawingPanel
from tui.kit.rows import KeyedRows
from tui.render.draw import Row, clip, clip_start, wrap
from tui.render.figures import count, dollars, plural, sizes
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.words import KIND_WORDS
from tui.screens.harvest.run import Progress
from tui.screens.ledger.draw import by_category, fact, review_hint

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate, Kind
    from engine.knowledge.harvest.report import Result
    from engine.knowledge.ledger import LedgerEntry

SELECTABLE: tuple[Kind, ...] = ("harvest", "prune")
_KIND, _SIZE = 7, 8
_FOLDER, _TRANSCRIPTS = "conversations/", "raw/conversations/"
_LABEL = 12
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


@dataclass(frozen=True, slots=True)
class Choice:
    candidate: Candidate
    chosen: bool

    @property
    def selectable(self) -> bool:
        return self.candidate.kind in SELECTABLE


@dataclass(frozen=True, slots=True)
class SwitchItem:
    name: str
    title: str
    does: str
    on: bool
    idle: str = ""
    """Why it has no effect now; empty if it has one."""


@dataclass(frozen=True, slots=True)
class StageItem:
    """The progress of a conversation as a sign and in words."""

    path: str
    sign: str
    words: str


def short_path(path: str) -> str:
    """A conversation's path without ``conversations/``; of a transcript, its day and the slug."""
    folder, _, name = path.rpartition("/")
    if folder.startswith(_TRANSCRIPTS):
        day = folder.removeprefix(_TRANSCRIPTS).replace("/", "-")
        return first_line(f"{day} {transcript_name(name)[1]}")
    return first_line(path.removeprefix(_FOLDER)) or first_line(path)


def draw_choice(
    item: Choice, items: Sequence[Choice], width: int, roles: Roles, *, query: str, chosen: bool
) -> Row:
    """A row: checkbox, kind, size, path, and the reason for the kind."""
    each, live = item.candidate, item.selectable
    sign = ("[x] " if item.chosen else "[ ] ") if live else " ·  "
    row = Row((sign, roles.active if item.chosen and live else roles.dropped))
    row.fit(KIND_WORDS[each.kind], _KIND, roles.normal if live else roles.dropped).gap()
    row.fit(sizes(each.text_size or each.size), _SIZE, roles.muted, "right").gap(2)
    room = max(8, width - row.cells)
    longest = max((cell_len(short_path(other.candidate.path)) for other in items[:200]), default=8)
    name = min(longest, max(8, room * 11 // 20))
    words = roles.strong if chosen else roles.normal if live else roles.muted
    text, before = clip(short_path(each.path), name), row.cells
    row.add_found(text, query, words, roles.accent)
    rest = room - name - 2
    if rest >= 8:
        row.to(before + name + 2).add(clip(first_line(each.why), rest), roles.muted)
    return row.cut(width)


def stage_item(
    path: str, result: Result | None, *, current: bool, stopping: bool, running: bool
) -> StageItem:
    """The progress of a conversation.

    Args:
        result: Its outcome; ``None`` until there is one.
        stopping: The run stops after the current conversation.
        running: Whether there is a run at all.
    """
    if result is None:
        if current:
            return StageItem(path, "…", "in progress, then stops …" if stopping else "in progress …")
        return StageItem(path, "·", ("skipped" if stopping else "queued") if running else "")
    sign = {"harvested": "✓", "unharvested": "⌫"}.get(result.outcome, "!")
    if result.reclaimed:
        sign = "→"
    parts = [result_words(result), "in the trash" if result.reclaimed else "", "kept" if result.kept else ""]
    return StageItem(path, sign, ", ".join(filter(None, parts)))


def result_words(result: Result) -> str:
    """``3 facts · 1 decision``, ``no items found``, or the error."""
    entry = result.entry
    if result.outcome == "unharvested":
        return "discarded without harvesting"
    if result.outcome != "harvested" or entry is None:
        return first_line(result.error) or result.outcome
    if not result.is_new:
        return f"harvested on {first_line(entry.at)[:10]}"
    parts = [
        by_category(result.items),
        f"{entry.known} known" if entry.known else "",
        f"{count(result.held)} for review" if result.held else "",
        f"{count(len(result.refused))} not used" if result.refused else "",
    ]
    return ", ".join(filter(None, parts)) or "no items found"


def draw_stage(item: StageItem, width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: sign, conversation, progress."""
    tone = {"✓": roles.active, "→": roles.active, "!": roles.error, "…": roles.gate}.get(
        item.sign, roles.dropped
    )
    row = Row((f"{item.sign} ", tone))
    name = max(12, width * 2 // 5) if item.words else width - 2
    row.fit(clip_start(short_path(item.path), name), name, roles.strong if chosen else roles.normal)
    if item.words:
        tone = roles.error if item.sign == "!" else roles.muted
        row.gap(2).add(clip(item.words, max(4, width - row.cells)), tone)
    return row.cut(width)


class PickPanel(KeyedRows[Choice], panel="pick", number="1", words="conversations"):
    """Step 1: the conversations; the lower edge gives the reason for the selected one's kind."""

    signs = (
        ("[x]", "selected; space toggles"),
        ("·", "skipped, for the reason shown"),
    )
    aligned = True

    def key(self, item: Choice) -> object:
        return item.candidate

    def row(self, item: Choice, width: int, chosen: bool) -> Row:
        return draw_choice(item, self.items, width, self.roles, query=self.query_text, chosen=chosen)

    def searchable(self, item: Choice) -> Sequence[str]:
        each = item.candidate
        return each.path, each.kind, KIND_WORDS[each.kind], each.why

    def summarise(self) -> None:
        item = self.selected
        beside = count(len(self.items)) if self.items else ""
        if self.query_text:
            beside = f"{count(self.row_count)} of {count(len(self.items))} · /{self.query_text}"
        self.set_frame(beside, first_line(item.candidate.why) if item is not None else "")

    def text_of(self, item: Choice) -> str:
        each = item.candidate
        return " ".join(filter(None, (each.kind, each.path, str(each.size), each.why, each.sha256)))


class SwitchesPanel(KeyedRows[SwitchItem], panel="switches", number="2", words="options"):
    """Step 1: the options."""

    def key(self, item: SwitchItem) -> str:
        return item.name

    def row(self, item: SwitchItem, width: int, chosen: bool) -> Row:
        roles = self.roles
        words = roles.muted if item.idle else roles.strong if chosen else roles.normal
        box = "[x] " if item.on else "[ ] "
        row = Row((box, roles.active if item.on and not item.idle else roles.dropped)).fit(
            item.title, 15, words
        )
        return (
            row.gap(2)
            .add(clip(item.idle or item.does, max(4, width - row.cells - 2)), roles.muted)
            .cut(width)
        )

    def text_of(self, item: SwitchItem) -> str:
        return f"{item.title}: {'on' if item.on else 'off'}"


class ProgressPanel(KeyedRows[StageItem], panel="progress", words="conversations"):
    """Step 2: what would be harvested, then the progress of each conversation; follows the current one."""

    signs = (
        ("·", "queued"),
        ("…", "in progress"),
        ("✓", "harvested"),
        ("⌫", "discarded without harvesting"),
        ("!", "failed, changed in the meantime, or stopped; kept"),
        ("→", "moved to the trash"),
    )

    def show_stages(self, items: Sequence[StageItem], current: int, *, run: bool) -> None:
        """Shows progress; redraws only the rows that changed.

        Args:
            current: The row in progress; -1 for none.
            run: Whether a harvest has started.
        """
        other = not self.same_items(items)
        self.show_items(items)
        if other:
            self.select(0, by_hand=False)
        if run and current >= 0 and self.cursor in (current - 1, -1):
            self.select(current, by_hand=False)  # unless the user moved the selection

    def key(self, item: StageItem) -> str:
        return item.path

    def row(self, item: StageItem, width: int, chosen: bool) -> Row:
        return draw_stage(item, width, self.roles, chosen=chosen)

    def summarise(self) -> None:
        item = self.selected
        self.set_frame(count(len(self.items)), item.words if item is not None else "")

    def text_of(self, item: StageItem) -> str:
        return f"{item.path} {item.words}".strip()


_fact = partial(fact, labels=_LABEL)


class OutcomePanel(DrawingPanel, panel="outcome", words="result"):
    """Step 3: the result."""


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
