"""One class per action. Keys, footer, help and palette are all made from it, so they cannot disagree."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar, get_args

BenchPanel = Literal["feed", "activation", "digest", "ledger", "budget", "try"]
TunePanel = Literal["topics", "scores", "decisions", "filter"]
SearchPanel = Literal["results", "preview", "why", "query", "preset"]
ContextPanel = Literal["sections", "text", "left-out", "slots", "name"]
CachePanel = Literal["providers", "discussions", "settings", "misses"]
RecordPanel = Literal["entries", "record", "entries-filter"]
HarvestPanel = Literal["survey", "pick", "switches", "progress", "outcome", "survey-filter", "number"]
ReviewPanel = Literal["queue", "item", "wording"]
KnowledgePanel = Literal["groups", "pieces", "reading", "within"]
PanelName = (
    BenchPanel
    | TunePanel
    | SearchPanel
    | ContextPanel
    | CachePanel
    | RecordPanel
    | HarvestPanel
    | ReviewPanel
    | KnowledgePanel
)
Name = TypeVar("Name", bound=PanelName)
"""The panels of one screen."""
PANELS: tuple[BenchPanel, ...] = get_args(BenchPanel)
"""The panels of the workbench."""
TUNE_PANELS: tuple[TunePanel, ...] = get_args(TunePanel)
"""The panels of the tune screen; ``filter`` is its line to type in, as ``try`` is the workbench's."""
SEARCH_PANELS: tuple[SearchPanel, ...] = get_args(SearchPanel)
"""The panels of the search screen; ``query`` and ``preset`` are its line, by what is typed there."""
CONTEXT_PANELS: tuple[ContextPanel, ...] = get_args(ContextPanel)
"""The panels of the context screen; ``name`` is its line, for a filter or a file's name."""
CACHE_PANELS: tuple[CachePanel, ...] = get_args(CachePanel)
"""The panels of the cache screen; it has no line to type in."""
RECORD_PANELS: tuple[RecordPanel, ...] = get_args(RecordPanel)
"""The panels of the ledger screen; ``entries-filter`` is its line."""
HARVEST_PANELS: tuple[HarvestPanel, ...] = get_args(HarvestPanel)
"""The panels of the harvest screen; ``survey-filter`` and ``number`` are its line, by what is typed there."""
REVIEW_PANELS: tuple[ReviewPanel, ...] = get_args(ReviewPanel)
"""The panels of the review screen; ``wording`` is its line, for a filter or an item as it is edited."""
KNOWLEDGE_PANELS: tuple[KnowledgePanel, ...] = get_args(KnowledgePanel)
"""The panels of the knowledge screen; ``within`` is its line, for a filter."""
EVERYWHERE: frozenset[PanelName] = frozenset(
    (
        *PANELS,
        *TUNE_PANELS,
        *SEARCH_PANELS,
        *CONTEXT_PANELS,
        *CACHE_PANELS,
        *RECORD_PANELS,
        *HARVEST_PANELS,
        *REVIEW_PANELS,
        *KNOWLEDGE_PANELS,
    )
)
LINES: frozenset[PanelName] = frozenset(
    {
        "try",
        "filter",
        "query",
        "preset",
        "name",
        "entries-filter",
        "survey-filter",
        "number",
        "wording",
        "within",
    }
)
LISTS: frozenset[PanelName] = EVERYWHERE - LINES
FOLDED: frozenset[PanelName] = frozenset({"digest", "ledger", "budget"})
"""Panels that share a line each where there is no room for them."""

_SHOWN = {
    "plus": "+",
    "underscore": "_",
    "slash": "/",
    "colon": ":",
    "question_mark": "?",
    "exclamation_mark": "!",
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "shift+left": "shift+←",
    "shift+right": "shift+→",
    "less_than_sign": "<",
    "delete": "del",
    "greater_than_sign": ">",
}


def key_named(shown: str) -> str:
    """A key as textual spells it, from how a person reads it."""
    return next((key for key, sign in _SHOWN.items() if sign == shown), shown)


@dataclass(frozen=True, slots=True)
class Situation:
    """What the screen is like when a key is pressed: all that a command needs to know whether it applies.

    Attributes:
        panel: What has the focus.
        compact: Panels 3 to 5 are folded into one.
        zoomed: One panel has the whole area.
        filtered: The focused list is narrowed by a filter.
        trying: A message tried by hand is shown, not one of the feed.
        question: The gate waits for an answer.
        read_only: Nothing can be written.
        rows: Rows of the focused list.
        topic: The selected topic; empty where none is.
        key: The feed key of the message shown; empty for a tried one and where nothing is shown.
        file: What the editor would open, relative to the workspace; empty where nothing.
        problems: How many problems were found in files.
        loading: The decision log is being read.
        moved: A cut stands elsewhere than it does today.
        decision: A decision is selected.
        fitting: A fit is under way.
        result: A search result is selected.
        asked: There is a query.
        prompt: A compiled prompt is shown.
        discussion: The selected discussion's id; empty where none is.
        cached: It has a cache now.
        caching: It may have one.
        record: The sha256 of the selected ledger entry; empty where none is.
        kept_in: Where its conversation is, as far as that was looked up.
        broken: The ledger is damaged or gone.
        failures: How many harvests failed.
        selectable: The selected conversation can be harvested or reclaimed.
        chosen: How many conversations a harvest would look at.
        harvesting: A harvest is under way.
        brake: How many conversations go to the trash only if a person types their number.
        held: An item that was held for review is selected.
        waits: It is not settled, nor being settled.
        listed_waiting: How many of the items that are listed wait.
        digest: There is a digest.
        unclear: The selected notes may belong to several files.
        candidates: How many files those are.
    """

    panel: PanelName
    compact: bool = False
    zoomed: bool = False
    filtered: bool = False
    trying: bool = False
    question: bool = False
    read_only: bool = False
    rows: int = 0
    topic: str = ""
    key: str = ""
    file: str = ""
    problems: int = 0
    loading: bool = False
    moved: bool = False
    decision: bool = False
    fitting: bool = False
    result: bool = False
    asked: bool = False
    prompt: bool = False
    discussion: str = ""
    cached: bool = False
    caching: bool = False
    record: str = ""
    kept_in: str = ""
    broken: bool = False
    failures: int = 0
    selectable: bool = False
    chosen: int = 0
    harvesting: bool = False
    brake: int = 0
    held: bool = False
    waits: bool = False
    listed_waiting: int = 0
    digest: bool = False
    unclear: bool = False
    candidates: int = 0


@dataclass(frozen=True, slots=True)
class Need:
    """Something without which a command can do nothing.

    Attributes:
        met: Whether it is there.
        otherwise: What to say where it is not, in one clause.
    """

    met: Callable[[Situation], object]
    otherwise: str


class Command:
    """The base of all actions; the docstring of each is its help."""

    keys: ClassVar[tuple[str, ...]]
    """Key names as textual spells them; the first is the one that is shown."""
    title: ClassVar[str]
    """What the palette calls it."""
    panels: ClassVar[frozenset[PanelName]] = EVERYWHERE
    """Where the focus must be for the keys to mean this."""
    footer: ClassVar[str] = ""
    """The footer's words; empty keeps it out. Commands with the same words share one entry."""
    rank: ClassVar[int] = 50
    """Order in the footer; the highest give way first where there is no room."""
    palette: ClassVar[bool] = True
    """Whether the palette lists it; plain movement is not worth a search."""
    needs: ClassVar[tuple[Need, ...]] = ()
    """What it cannot be done without; the first that is missing is the reason that is given."""
    passing: ClassVar[bool] = False
    """Whether it is there for moments only, such as an answer; the palette hides it at other times."""

    @classmethod
    def applies(cls, situation: Situation) -> bool:
        """Whether its keys mean this command here."""
        return situation.panel in cls.panels

    @classmethod
    def refusal(cls, situation: Situation) -> str:
        """Why it cannot be done just now, in one clause; empty when it can."""
        return next((need.otherwise for need in cls.needs if not need.met(situation)), "")

    @classmethod
    def help(cls) -> str:
        """What it does, in one paragraph."""
        return " ".join((inspect.getdoc(cls) or "").split())

    @classmethod
    def shown_keys(cls) -> tuple[str, ...]:
        """The keys as a person reads them."""
        return tuple(_SHOWN.get(key, key) for key in cls.keys)
