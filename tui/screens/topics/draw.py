"""The topics as a list, and the past messages of the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.kit.rows import KeyedRows, Note
from tui.render.draw import Row, clip, joined_within, labelled, wrap
from tui.render.figures import count, day_of, plural, score
from tui.render.roles import Roles
from tui.render.safe import first_line, visible_lines
from tui.screens.tune.draw import rate_text
from tui.screens.tune.lists import label_text

if TYPE_CHECKING:
    from engine.playbooks.draft import Draft
    from engine.playbooks.past import PastRow, Replay

FIRED, NEAR, PROPOSED = "●", "○", "?"
_NAME = 26
_FIGURES = (("fired", 6), ("labels", 7), ("prec", 5), ("rec", 5))


@dataclass(frozen=True, slots=True)
class TopicItem:
    name: str
    when: str
    path: str = ""
    """Its file; empty for one that an agent proposed."""
    replay: Replay | None = None
    """``None`` until the past is played."""
    draft: Draft | None = None
    """What an agent proposed."""


def draw_topic(item: TopicItem, items: Sequence[TopicItem], width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: name, figures, and when it applies."""
    row = Row((f"{PROPOSED} " if item.draft is not None else "  ", roles.gate))
    row.fit(first_line(item.name), _name_cells(items), roles.strong if chosen else roles.normal)
    found = item.replay
    if item.draft is not None:
        row.gap(2).add("proposed by an agent", roles.gate)
    elif found is not None:
        few = found.labelled < 5
        texts = (
            count(found.fired),
            count(found.labelled),
            rate_text(found.precision),
            rate_text(found.recall),
        )
        for place, (text, (_, cells)) in enumerate(zip(texts, _FIGURES, strict=True)):
            row.fit(text, cells, roles.faint if few and place > 1 else roles.normal, "right")
    return row.gap(2).add(first_line(item.when), roles.muted).cut(width)


def _name_cells(items: Sequence[TopicItem]) -> int:
    return min(_NAME, max(cell_len(first_line(each.name)) for each in items))


def draw_past(row: PastRow, width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: whether it fires, score, day, message, label."""
    line = Row((f"{FIRED if row.fired else NEAR} ", roles.active if row.fired else roles.dropped))
    line.add(f"{score(row.score):>4} ", roles.tier2).add(f"{day_of(row.day)} ", roles.muted)
    text, style = label_text(row.useful, roles)
    room = width - line.cells - 8
    line.add(clip(first_line(" ".join(row.message.split())), room), roles.strong if chosen else roles.normal)
    return line.to(width - 7).fit("? y n" if chosen and row.useful is None else text, 7, style)


def draw_message(row: PastRow, topic: str, width: int, roles: Roles) -> list[Row]:
    """A past message in full."""
    rows = [Row((topic, roles.strong), ("  ", roles.normal), (row.day, roles.muted)), Row()]
    for line in visible_lines(row.message):
        rows.extend(wrap([(line, roles.normal)], width))
    text, style = label_text(row.useful, roles)
    fires_at = "no score" if row.fires_at is None else score(row.fires_at)
    facts = (
        ("fires", "yes" if row.fired else "no", roles.active if row.fired else roles.dropped),
        ("triggers", ", ".join(f"“{first_line(hit)}”" for hit in row.hits) or "none", roles.tier1),
        ("score", f"{score(row.score)}, fires from {fires_at}", roles.tier2),
        ("label", "none" if row.useful is None else text, style),
        ("place", f"{row.path}:{row.line}", roles.muted),
        ("id", row.id, roles.muted),
    )
    rows.append(Row())
    for name, words, tone in facts:
        rows += labelled(name, words, width, 10, tone, tone=roles.faint)
    return rows


def draw_draft(draft: Draft, width: int, roles: Roles) -> list[Row]:
    """A proposed topic in full."""
    rows = [Row((first_line(draft.title), roles.strong)), Row()]
    rows += labelled("when", draft.when, width, 10, roles.normal, tone=roles.faint)
    for example in draft.examples:
        rows += labelled("as in", first_line(example), width, 10, roles.muted, tone=roles.faint)
    rows.append(Row())
    for line in visible_lines(draft.instructions):
        rows.extend(wrap([(line, roles.normal)], width))
    return rows


class TopicsPanel(KeyedRows[TopicItem], panel="topics", number="1"):
    """One topic per row; those that agents proposed come first."""

    always_lit = True
    aligned = True
    heads = 1
    signs = ((PROPOSED, "proposed by an agent: w writes it, x turns it down"),)

    def key(self, item: TopicItem) -> str:
        return f"{item.name} {item.draft is not None}"

    def row(self, item: TopicItem, width: int, chosen: bool) -> Row:
        return draw_topic(item, self.items, width, self.roles, chosen=chosen)

    def headings(self, width: int) -> list[Row]:
        row = Row().gap(2).fit("topic", _name_cells(self.items), self.roles.faint)
        if any(item.replay for item in self.items):
            for word, cells in _FIGURES:
                row.fit(word, cells, self.roles.faint, "right")
        return [row.gap(2).add("when it applies", self.roles.faint).cut(width)]

    def searchable(self, item: TopicItem) -> tuple[str, str]:
        return item.name, item.when

    def summarise(self) -> None:
        self.head = count(self.row_count) if self.items else ""
        super().summarise()

    def text_of(self, item: TopicItem) -> str:
        return f"{item.name} {item.when}"


class PastPanel(KeyedRows["PastRow"], panel="past", number="2", words="past messages"):
    """Those on which the topic would have fired, or nearly, the most doubtful first."""

    always_lit = True
    signs = (
        (FIRED, "the topic would have fired"),
        (NEAR, "it nearly would have, or you labelled it"),
        ("?", "unlabelled"),
    )
    replay: Replay | None = None
    _of = ""

    def show_replay(self, name: str, found: Replay | None, note: Note, about: object) -> None:
        other, self._of, self.replay = name != self._of, name, found
        self.show_items(found.rows if found is not None else (), note, (name, about), from_top=other)
        self.summarise()

    def key(self, item: PastRow) -> str:
        return item.id

    def row(self, item: PastRow, width: int, chosen: bool) -> Row:
        return draw_past(item, width, self.roles, chosen=chosen)

    def searchable(self, item: PastRow) -> tuple[str, str]:
        return item.message, item.day

    def summarise(self) -> None:
        found = self.replay
        if found is None:
            self.set_frame(self._of)
            return
        older = f" of {count(found.messages + found.left_out)}" if found.left_out else ""
        messages = f"{count(found.messages)}{older} you typed"
        beside = f"{self._of}: fires on {count(found.fired)} of the newest {messages}"
        parts = [self.filter_label] if self.filter_label else ["most uncertain first"]
        if found.labelled:
            parts.append(
                f"precision {rate_text(found.precision)}, recall {rate_text(found.recall)}"
                f" by {plural(found.labelled, 'label')} of yours"
            )
        self.set_frame(clip(beside, max(0, self.size.width - 20)), joined_within(parts, self.size.width - 4))

    def text_of(self, item: PastRow) -> str:
        return f"{item.day} {item.id} {item.score:.2f} {item.message}"
