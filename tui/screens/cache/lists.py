"""Panels 2 and 4 of the cache screen: the discussions and their caches; and what broke prefixes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.style import Style

from engine.stability.record import Culprit
from tui.kit.rows import KeyedRows, Note
from tui.render.draw import Row, clip, clip_start, joined_within, labelled, wrap
from tui.render.figures import clock, count, day, dollars, left, local, plural
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.render.words import LastMiss, last_miss, stays

if TYPE_CHECKING:
    from engine.discussions.caches import DiscussionCacheState
    from engine.discussions.overview import CacheOverview, DiscussionCache
    from engine.stability.record import Misses


CACHED, UNCACHED, OFF, CHANGING = "●", "○", "◌", "…"
WIDE = 118
"""Minimum width in cells to show the reason in every row."""
_TITLE = 14
"""Minimum cells for a title."""
_ROOMY = 32
"""Cells for a title before reasons get any extra room."""
_SHORT = 22
"""Minimum cells for a reason."""
_NOTE = 34
"""Maximum cells for a reason shown in place of the times."""
_LABEL = 13
_FOLDERS = re.compile(r"[^\s/]+/(?:[^\s/]+/)*(?=[^\s/])")
_PROVIDER = 16
"""Maximum cells for a provider's name."""
_NAMES = {"anthropic": "Anthropic", "gemini": "Gemini", "openai": "OpenAI", "claude-code": "claude-code"}


@dataclass(frozen=True, slots=True)
class DiscussionItem:
    """A discussion in the list at a given time."""

    entry: DiscussionCache
    sign: str
    cached: str
    """``yes (Anthropic)``, ``no``, ``off``, or the change in progress."""
    expires: str = ""
    """The time of day at which its cache expires; empty without one."""
    left: str = ""
    """The time until then."""
    note: str = ""
    """Why its last call missed the cache, or that the cache has expired."""

    @property
    def state(self) -> DiscussionCacheState:
        return self.entry.state

    @property
    def name(self) -> str:
        return name_of(self.entry)


class Columns(NamedTuple):
    cached: int = 0
    expires: int = 0
    left: int = 0
    tokens: int = 0
    read: int = 0
    note: int = 0

    @classmethod
    def of(cls, items: Sequence[DiscussionItem]) -> Columns:
        """The widths that these rows need."""
        texts = [
            (item.cached, item.expires, item.left, _tokens(item), _read(item.state),
             item.note if item.sign != CACHED else "")
            for item in items
        ]  # fmt: skip
        widest = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
        return cls._make((*widest[:-1], min(widest[-1], _NOTE))) if widest else cls()

    def at_least(self, other: Columns) -> Columns:
        """The wider of each pair of widths."""
        return Columns._make(map(max, self, other))


def name_of(entry: DiscussionCache) -> str:
    """A discussion's title, or its id if it has none."""
    return first_line(entry.title) or first_line(entry.state.discussion_id)


def shortened(reason: str, room: int) -> str:
    """A reason in at most ``room`` cells; folders are dropped from paths before the text is cut."""
    return clip(reason if cell_len(reason) <= room else _FOLDERS.sub("", reason), room)


def provider_of(state: DiscussionCacheState) -> str:
    return _NAMES.get(state.provider, first_line(state.provider))


def item_of(entry: DiscussionCache, now: datetime, doing: str = "") -> DiscussionItem:
    """The row of a discussion at a given time; ``doing`` is the change in progress, if any."""
    state, reason = entry.state, first_line(entry.state.why)
    if doing:
        return DiscussionItem(entry, CHANGING, doing)
    if not state.enabled:
        return DiscussionItem(entry, OFF, "off", note=reason)
    seconds = state.seconds_left(now)
    if seconds == 0.0:
        expired = f"expired {time_of(state.expires_at, now)}" if state.expires_at is not None else reason
        return DiscussionItem(entry, UNCACHED, "no", note=expired)
    yes = f"yes ({clip(provider_of(state), _PROVIDER)})" if state.provider else "yes"
    if seconds is None or state.expires_at is None:
        return DiscussionItem(entry, CACHED, yes, "", "n/a", reason)
    ends = time_of(state.expires_at, now)
    return DiscussionItem(entry, CACHED, yes, ends, f"in {left(seconds)}", reason)


def time_of(at: datetime, now: datetime) -> str:
    """``18:52``; with the day if it is not today."""
    here, there = local(now), local(at)
    return clock(at) if here.date() == there.date() else f"{there:%m-%d} {clock(at)}"


def draw_discussion(item: DiscussionItem, columns: Columns, width: int, roles: Roles, *, chosen: bool) -> Row:
    """Draws a row: sign, title, cached, expiry, tokens, calls; if not cached, the reason instead of times."""
    live, tone, wide = item.sign == CACHED, _tone(item, roles), width >= WIDE
    times = [
        (item.expires, columns.expires, roles.muted),
        (item.left, columns.left, tone if item.expires else roles.muted),
        (_tokens(item), columns.tokens, roles.normal),
    ]
    times = [each for each in times if each[1]]
    read = columns.read + 2 if columns.read else 0
    room = width - columns.cached - 4  # for title, times and calls
    while times and room - read - _cells(times) < _TITLE:
        if read:
            read = 0
        else:
            times.pop()
    middle = _cells(times)
    if columns.note and not wide:
        spare = max(room - read - _ROOMY, min(_SHORT, room - read - _TITLE))
        middle = max(middle, min(columns.note + 2, spare))
    reason = (room - read - middle) // 2 if wide else 0
    title = max(4, room - read - middle - (reason + 2 if reason else 0))
    row = Row((f"{item.sign} ", tone))
    row.fit(item.name, title, roles.strong if chosen else roles.normal if live else roles.muted)
    row.gap(2).fit(item.cached, columns.cached, tone)
    if live or wide:
        row.gap(middle - _cells(times))
        for text, size, style in times:
            row.gap(2).fit(text, size, style, "right")
    else:
        row.gap(2).fit(shortened(item.note, middle - 2), middle - 2, roles.muted)
    if read:
        row.gap(2).fit(_read(item.state), read - 2, roles.muted, "right")
    return (row.gap(2).add(shortened(item.note, reason), roles.muted) if reason else row).cut(width)


def _cells(parts: Sequence[tuple[str, int, Style]]) -> int:
    """The width of columns with the gap before each."""
    return sum(size + 2 for _text, size, _style in parts)


def _tone(item: DiscussionItem, roles: Roles) -> Style:
    return {CACHED: roles.active, OFF: roles.gate, CHANGING: roles.gate}.get(item.sign, roles.dropped)


def _tokens(item: DiscussionItem) -> str:
    return f"{count(item.state.tokens_cached)} tok" if item.sign == CACHED else ""


def _read(state: DiscussionCacheState) -> str:
    return f"{count(state.hits)} of {count(state.calls)} hit" if state.calls else ""


def draw_empty(overview: CacheOverview, width: int, roles: Roles) -> list[Row]:
    """Draws how caches are created, when there are none."""
    send = "No discussion has been sent to a provider yet. Type a message in the workbench and press "
    rows = wrap([(send, roles.normal), ("ctrl+s", roles.accent), (" to send it.", roles.normal)], width)
    if overview.provider == "local":
        before = "The local provider sends nothing, so there is nothing to cache. Set "
        after = " in memory-config.yaml to use another provider."
        pieces = [(before, roles.muted), ("chat.provider", roles.accent), (after, roles.muted)]
        return rows + wrap(pieces, width)
    provider = _NAMES.get(overview.provider, first_line(overview.provider))
    note = f"{provider} then caches the stable prefix for a while, and the cache is listed here."
    return rows + wrap([(note, roles.muted)], width)


def draw_error(problem: str, width: int, roles: Roles) -> list[Row]:
    return [
        Row(("Cannot read the caches.", roles.error)),
        *wrap([(problem, roles.normal)], width),
        Row(("ctrl+r", roles.accent), (" tries again", roles.muted)),
    ]


def draw_details(entry: DiscussionCache, now: datetime, width: int, roles: Roles) -> list[Row]:
    state, item = entry.state, item_of(entry, now)
    cached = Row((f"{item.sign} {item.cached}", _tone(item, roles)))
    if item.left and state.expires_at is not None:
        cached.add(f"  {item.left}", roles.muted)
    rows = [
        *wrap([(item.name, roles.strong)], width),
        Row(),
        Row().fit("cached", _LABEL, roles.muted).extend(cached).cut(width),
        *_line("why", state.why, width, roles),
        *_line("expires", _time(state.expires_at) or _unreported(state, now), width, roles),
        *_line("last used", _time(state.cached_at), width, roles),
        *_line("invalidated", _invalidated(state), width, roles),
        Row(),
        *_line("provider", " · ".join(filter(None, (provider_of(state), state.model))), width, roles),
        *_line("tokens", count(state.tokens_cached), width, roles),
        *_line("hits", f"{count(state.hits)} of {plural(state.calls, 'call')}", width, roles),
        *_line("named cache", state.cached_content, width, roles),
        *_line("prefix", state.prefix and f"sha256 {state.prefix}", width, roles),
        Row(),
        *_line("session", state.discussion_id, width, roles),
        *_line("transcript", entry.path or "deleted", width, roles),
    ]
    if state.sources:
        rows += [Row(), Row((f"The prefix is built from {plural(len(state.sources), 'file')}:", roles.muted))]
        for source in state.sources:
            rows += wrap([(first_line(source, 4000), roles.normal)], width, indent=2)
        rows += wrap([("A change to any of them invalidates the cache.", roles.faint)], width)
    return rows


def _line(label: str, value: str, width: int, roles: Roles) -> list[Row]:
    return labelled(label, value, width, _LABEL, roles.normal, tone=roles.muted) if value else []


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{local(at):%Y-%m-%d %H:%M:%S}"


def _unreported(state: DiscussionCacheState, now: datetime) -> str:
    return "not reported by the provider" if state.is_cached(now) else ""


def _invalidated(state: DiscussionCacheState) -> str:
    by_hand = f"{plural(state.generation, 'time')} by hand" if state.generation else ""
    return ", ".join(filter(None, (_time(state.invalidated_at), by_hand)))


class DiscussionsPanel(KeyedRows[DiscussionItem], panel="discussions", number="2"):
    """A line for each discussion; the lower border shows the reason for the selected one's last miss."""

    always_lit = True
    signs = (
        ("●", "cached, according to the provider's responses"),
        ("○", "not cached: expired or invalidated"),
        ("◌", "caching is disabled for this discussion"),
    )

    _columns = Columns()

    def show_discussions(self, items: Sequence[DiscussionItem], note: Note, about: object) -> None:
        """Shows a new state or time."""
        columns = Columns.of(items)
        if self.same_items(items):  # so that a time getting one digit shorter moves no column
            columns = columns.at_least(self._columns)
        if columns != self._columns:
            self._columns = columns
            self.forget_drawn()
        self.show_items(items, note, about)

    def key(self, item: DiscussionItem) -> str:
        return item.state.discussion_id

    def row(self, item: DiscussionItem, width: int, chosen: bool) -> Row:
        return draw_discussion(item, self._columns, width, self.roles, chosen=chosen)

    def summarise(self) -> None:
        """Shows the number cached beside the title; below, why the selected one's last call missed."""
        number = sum(item.sign == CACHED for item in self.items)
        beside = f"{count(number)} of {count(len(self.items))} cached" if self.items else ""
        selected = self.selected
        self.set_frame(beside, selected.note if selected is not None else "")

    def text_of(self, item: DiscussionItem) -> str:
        parts = (item.state.discussion_id, item.name, item.cached, item.expires, item.left, item.state.why)
        return " ".join(part for part in parts if part)


SLIM = 44
"""Width in cells below which numbers are abbreviated."""
BROAD = 90
"""Minimum width in cells to show the name of a culprit's layer."""
_CULPRIT_LABEL = 12
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
        rows += labelled(label, value, width, _CULPRIT_LABEL, roles.normal, tone=roles.muted)
    advice = (
        "A provider serves a cached prefix only up to the first difference. After an edit here, everything"
        " behind it is sent again in every discussion. Edits made while no cache is alive cost nothing, and"
        " several edits at once break the prefix only once."
    )
    return [*rows, Row(), *wrap([(advice, roles.muted)], width)]


class MissesPanel(KeyedRows[MissItem], panel="misses", number="4"):
    """The last miss, then the culprits, most expensive first; the frame shows the tally."""

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
