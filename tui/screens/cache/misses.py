"""Panel 4 of the cache screen: the reason for the last miss, and what broke prefixes at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from engine.stability.record import Culprit
from tui.kit.rows import KeyedRows, Note
from tui.render.draw import Row, clip, clip_start, joined_within, labelled, wrap
from tui.render.figures import clock, count, day, dollars, local, plural
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.words import LastMiss, last_miss, stays
from tui.screens.cache.discussions import name_of, shortened

if TYPE_CHECKING:
    from engine.discussions.overview import CacheOverview
    from engine.stability.record import Misses

SLIM = 44
"""Width in cells below which numbers are abbreviated."""
BROAD = 90
"""Minimum width in cells to show the name of a culprit's layer."""
_LABEL = 12
_PATH = 20
"""Width in cells below which only a path's file name is shown."""
MissItem = LastMiss | Culprit


def miss_items(overview: CacheOverview) -> list[MissItem]:
    """The last miss, then the culprits, most expensive first."""
    last, culprits = last_miss(overview), overview.misses.culprits
    return [last, *culprits] if last is not None else [*culprits]


def draw_miss(item: MissItem, items: Sequence[MissItem], width: int, roles: Roles, *, chosen: bool) -> Row:
    """Draws a row; column widths are computed from all ``items``."""
    if isinstance(item, LastMiss):
        return _last(item, width, roles, chosen=chosen)
    culprits = [each for each in items if not isinstance(each, LastMiss)]
    each, broad, slim = item, width >= BROAD, width < SLIM
    times = max(cell_len(_times(other)) for other in culprits)
    lost = max(cell_len(_lost(other, slim)) for other in culprits)
    price = max(cell_len(_price(other)) for other in culprits)
    layer = max(cell_len(_layer(other, broad)) for other in culprits)
    row = Row().fit(_layer(each, broad), layer, roles.tier2).gap(2)
    tail = Row().fit(_times(each), times, roles.gate, "right").gap(2)
    tail.fit(_lost(each, slim), lost, roles.normal, "right")
    if price:
        tail.gap(2).fit(_price(each), price, roles.muted, "right")
    if broad:
        tail.gap(2).add(f"last {day(each.last)} {clock(each.last)}", roles.faint)
    room = max(4, width - row.cells - tail.cells - 2)
    style = roles.strong if chosen else roles.normal
    return row.fit(_place(each, room), room, style).gap(2).extend(tail).cut(width)


def _last(item: LastMiss, width: int, roles: Roles, *, chosen: bool) -> Row:
    row = Row(("! stale " if item.given_up else "! last miss ", roles.gate))
    if item.at is not None:
        row.add(f"{clock(item.at)} ", roles.muted)
    name = f"  {name_of(item.entry)}"
    row.add(
        shortened(first_line(item.entry.state.why), width - row.cells),
        roles.strong if chosen else roles.normal,
    )
    return row.add(clip(name, width - row.cells), roles.muted) if width - row.cells > 12 else row


def _layer(each: Culprit, broad: bool) -> str:
    if not each.layer:
        return "unknown" if broad else "?"
    return f"layer {each.layer} {first_line(each.name)}" if broad else f"L{each.layer}"


def _place(each: Culprit, room: int) -> str:
    """The end of its path that fits; only the file name if there is little room."""
    source = first_line(each.source) or "unknown"
    if room < _PATH and cell_len(source) > room:
        source = source.rpartition("/")[2] or source
    return clip_start(source, room)


def _times(each: Culprit) -> str:
    return f"{count(each.times)}×"


def _lost(each: Culprit, slim: bool) -> str:
    if not slim:
        return f"{count(each.lost)} tok"
    if each.lost < 10_000:
        return count(each.lost)
    return f"{each.lost / 1000:.1f}k" if each.lost < 1_000_000 else f"{each.lost / 1e6:.1f}M"


def _price(each: Culprit) -> str:
    return "" if each.dollars is None else dollars(each.dollars)


def tally(found: Misses) -> tuple[str, ...]:
    """Parts for the frame, most important first: ``3 of 18 avoidable``, tokens lost, dollars."""
    if not found.followed:
        return ()
    parts = [f"{count(found.broken)} of {count(found.followed)} avoidable"]
    if found.broken:
        parts.append(f"{count(found.lost)} tok lost")
        if found.dollars is not None:
            parts.append(dollars(found.dollars))
    return tuple(parts)


def span_of(found: Misses) -> tuple[str, ...]:
    """What the tally covers: parts for the lower border."""
    if not found.turns:
        return ()
    return (f"{stays(found.ttl_s)} caches", "this month and last month")


def draw_none(found: Misses, width: int, roles: Roles) -> list[Row]:
    """Draws that no prefix was broken, or what an avoidable miss is if there were no follow-up prompts."""
    if found.followed:
        return wrap([("Every prompt sent in time kept its prefix.", roles.active)], width)
    note = "A miss is avoidable if the cache was still alive but an edit changed the prefix."
    return wrap([(note, roles.muted)], width)


def draw_culprit(each: Culprit, found: Misses, width: int, roles: Roles) -> list[Row]:
    price = _price(each) or "unknown price for the chat model"
    lines = [
        ("layer", f"{each.layer} {first_line(each.name)}" if each.layer else "unknown"),
        ("times", f"{count(each.times)} of {plural(found.broken, 'broken prefix', 'broken prefixes')}"),
        ("tokens lost", count(each.lost)),
        ("dollars", price),
        ("last", f"{local(each.last):%Y-%m-%d %H:%M:%S}"),
    ]
    rows = [*wrap([(first_line(each.source, 4000) or "unknown", roles.strong)], width), Row()]
    for label, value in lines:
        rows += labelled(label, value, width, _LABEL, roles.normal, tone=roles.muted)
    advice = (
        "A provider serves a cached prefix only up to the first difference. After an edit here, everything"
        " behind it is sent again in every discussion. Edits made while no cache is alive cost nothing, and"
        " several edits at once break the prefix only once."
    )
    return [*rows, Row(), *wrap([(advice, roles.muted)], width)]


class MissesPanel(KeyedRows[MissItem]):
    """The last miss, then the culprits, most expensive first; the frame shows the tally."""

    name_of = "misses"
    number = "4"
    words = "misses"
    signs = (
        ("L6", "the prompt layer that changed, 1 to 7"),
        ("×", "how often it broke a prefix, followed by the tokens resent and their cost"),
    )
    found: Misses | None = None

    def show_misses(self, items: Sequence[MissItem], found: Misses | None, note: Note, about: object) -> None:
        """Shows a new tally; ``note`` and ``about`` as for ``show_items``."""
        if (list(items), found) != (list(self.items), self.found):
            self.forget_drawn()  # column widths depend on all rows
        self.found = found
        self.show_items(items, note, about)

    def key(self, item: MissItem) -> object:
        """The discussion of the last miss; the layer and source of a culprit."""
        return item.entry.state.discussion_id if isinstance(item, LastMiss) else (item.layer, item.source)

    def row(self, item: MissItem, width: int, chosen: bool) -> Row:
        return draw_miss(item, self.items, width, self.roles, chosen=chosen)

    def empty(self, width: int) -> list[Row]:
        return super().empty(width) if self.found is None else draw_none(self.found, width, self.roles)

    def summarise(self) -> None:
        if self.found is not None:
            room = self.size.width
            self.set_frame(
                joined_within(tally(self.found), room - 12), joined_within(span_of(self.found), room - 4)
            )

    def text_of(self, item: MissItem) -> str:
        if isinstance(item, LastMiss):
            return f"{item.entry.state.discussion_id} {item.entry.state.why}"
        return f"layer {item.layer} ({item.name}) {item.source} {item.times} times, {item.lost} tokens"
