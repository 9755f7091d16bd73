"""What the workbench needs of an engine. ``engine.engine.Engine`` is one; tests bring their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.activation.trace import Trace
from engine.context.compiled import Compiled, Section
from engine.context.views import DigestView, LedgerView, StatusView
from engine.events import EngineEvent
from engine.live.feed import FeedEntry
from engine.settings.model import Config

if TYPE_CHECKING:
    from engine.activation.policy import Cuts
    from engine.activation.tuning.fit import Proposal
    from engine.activation.tuning.table import DecisionTable
    from engine.activation.tuning.tuning import Applied
    from engine.context.presets import PresetChange
    from engine.discussions.overview import CacheOverview
    from engine.discussions.state import DiscussionCacheState
    from engine.discussions.turn import Sent, Step
    from engine.search.reports import IndexStatus
    from engine.search.results import SearchResult
    from engine.settings.editing import SettingChange, SettingInfo
    from engine.settings.trust import Counting
    from tui.kit.knowledge_session import WorkbenchEntries, WorkbenchKnowledge


class HasRoot(Protocol):
    """A workspace, as far as the workbench looks at it."""

    @property
    def root(self) -> Path:
        """Its absolute folder."""
        ...


class WorkbenchTuning(Protocol):
    """What the tune screen needs of the engine (``engine.activation.tuning``); all of it may block."""

    def table(self) -> DecisionTable:
        """The decision log as it can be replayed; the same object until something changes."""
        ...

    def propose(self, topic: str) -> Proposal:
        """Cuts that fit the labels, or why there are none."""
        ...

    def apply(self, topic: str, cuts: Cuts) -> Applied:
        """Writes cuts into a topic's file and commits it."""
        ...

    def undo(self) -> Applied:
        """Takes the last such change back."""
        ...

    def label(self, index: int, useful: bool | None) -> None:
        """Labels a row of ``table()`` as a person, in the log and in the table; ``None`` takes it back."""
        ...


class WorkbenchLabels(Protocol):
    """What decisions are labelled with. Writes and fits, so it is called from worker threads."""

    def label(self, trace_key: str, topic: str, useful: bool) -> None:
        """Records a person's judgement on a row of a trace, and learns from it."""
        ...

    def learn(self) -> bool:
        """Takes over labels given since; whether anything is judged differently from now on."""
        ...


class WorkbenchIndex(Protocol):
    """The search index (``engine.search.index.SearchIndex``)."""

    def status(self) -> IndexStatus:
        """How it stands; never raises."""
        ...


class WorkbenchFiles(Protocol):
    """What reads files, confined to the workspace (``engine.store.files.Files``)."""

    def read(self, relative: str, *, limit: int | None = ...) -> bytes:
        """The bytes of a regular file, at most ``limit``."""
        ...


class WorkbenchPresets(Protocol):
    """Named sets of files for the prompt (``engine.context.presets.Presets``); called from worker threads."""

    def add(self, name: str, path: str, lines: str = "", note: str = "") -> PresetChange:
        """Adds lines of a file, such as ``3-9``, to a preset and commits it; a new name makes a new one."""
        ...


class WorkbenchSending(Protocol):
    """What sends a message (``engine.discussions.sending.Sending``); called from worker threads."""

    def send(
        self,
        text: str,
        *,
        session_id: str = "",
        on_text: Callable[[str], None] = ...,
        on_step: Callable[[Step], None] = ...,
    ) -> Sent:
        """Says a message in a session and has it answered."""
        ...

    def stop(self) -> None:
        """Ends the reply that is under way."""
        ...


class WorkbenchEnding(Protocol):
    """What gives caches up by hand (``engine.discussions.ending.Ending``); it may take seconds."""

    def invalidate(self, discussion_id: str, why: str) -> DiscussionCacheState:
        """Gives a discussion's cache up; the next call begins another one."""
        ...

    def disable(self, discussion_id: str) -> DiscussionCacheState:
        """Asks for no caches in a discussion any more."""
        ...

    def enable(self, discussion_id: str) -> DiscussionCacheState:
        """Asks for caches in a discussion again."""
        ...


class WorkbenchDiscussions(Protocol):
    """Discussions (``engine.discussions.discussions.Discussions``); called from worker threads."""

    def sending(self) -> WorkbenchSending:
        """What sends one message."""
        ...

    def to_continue(self, key: str) -> str:
        """The session that a message said after a turn belongs to; empty where a new one begins."""
        ...

    @property
    def ending(self) -> WorkbenchEnding:
        """What gives caches up by hand."""
        ...

    def overview(self, days: int = ...) -> CacheOverview:
        """What the caches of all discussions come to, with sums of so many days."""
        ...


class WorkbenchConfiguration(Protocol):
    """The settings (``engine.settings.editing.Configuration``); called from worker threads."""

    def settings(self) -> tuple[SettingInfo, ...]:
        """Every setting, with the line of the settings file that names it."""
        ...

    def change(self, name: str, value: object) -> SettingChange:
        """Writes one setting, such as ``cache.anthropic``, into the settings file and commits it."""
        ...


class WorkbenchEngine(Protocol):
    """An engine as the workbench uses it. Everything that may block is called from worker threads.

    Methods may raise ``AutopoiesisError`` and ``OSError``; the workbench shows their text.
    """

    @property
    def workspace(self) -> HasRoot:
        """The workspace that is open."""
        ...

    @property
    def config(self) -> Config:
        """Its settings."""
        ...

    @property
    def counting(self) -> Counting:
        """The settings that count, and how the workspace stands with the others."""
        ...

    def decide_trust(self, *, trusted: bool) -> None:
        """Lets the settings of this workspace act, or keeps that they are not to."""
        ...

    @property
    def labels(self) -> WorkbenchLabels:
        """What decisions are labelled with; made when it is first asked for."""
        ...

    @property
    def tuning(self) -> WorkbenchTuning:
        """What topics are tuned with; made when it is first asked for, so off the screen's thread."""
        ...

    @property
    def index(self) -> WorkbenchIndex:
        """The search index; made when it is first asked for."""
        ...

    @property
    def files(self) -> WorkbenchFiles:
        """What reads files."""
        ...

    @property
    def presets(self) -> WorkbenchPresets:
        """The presets; made when they are first asked for."""
        ...

    @property
    def discussions(self) -> WorkbenchDiscussions:
        """Messages put to models, and caches; made when they are first asked for."""
        ...

    @property
    def configuration(self) -> WorkbenchConfiguration:
        """What changes settings; made when it is first asked for."""
        ...

    @property
    def knowledge(self) -> WorkbenchKnowledge:
        """Knowledge that stays; made when it is first asked for."""
        ...

    @property
    def knowledge_entries(self) -> WorkbenchEntries:
        """Knowledge entries and skills; made when they are first asked for."""
        ...

    def search(self, query: str, *, category: str | None = None, limit: int = 10) -> list[SearchResult]:
        """What was said and written about a query, best first."""
        ...

    def subscribe(self, handler: Callable[[EngineEvent], None]) -> Callable[[], None]:
        """Calls ``handler`` with every event, from the engine's threads; the result ends it."""
        ...

    def start(self) -> None:
        """Begins to watch and to process, in background threads."""
        ...

    def stop(self) -> None:
        """Ends what ``start`` began."""
        ...

    def feed(self, limit: int) -> list[FeedEntry]:
        """The last ``limit`` things that happened, oldest first."""
        ...

    def trace_of(self, key: str) -> Trace | None:
        """What activation did with a message of the feed."""
        ...

    def compile_of(self, key: str) -> Compiled | None:
        """The prompt compiled for a message of the feed."""
        ...

    def compile_before(self, key: str) -> Compiled | None:
        """The prompt compiled for the person's message before that one in its conversation."""
        ...

    def lines_of(self, section: Section) -> tuple[int, ...]:
        """The line of its file for each line of a section, 0 for one that stands in none."""
        ...

    def keep_prompt(self, path: str, text: str, *, replace: bool = False) -> bool:
        """Writes a prompt into a file below ``scratch/``; ``False`` where the name is taken."""
        ...

    def try_message(self, text: str, *, ask: bool = True) -> tuple[Trace, Compiled]:
        """What a message would do, without it being said anywhere; ``ask`` lets the gate be asked."""
        ...

    def digest(self) -> DigestView:
        """``knowledge/digest.md`` as it is."""
        ...

    def ledger(self) -> LedgerView:
        """``knowledge/ledger.json`` as it is."""
        ...

    def status(self) -> StatusView:
        """The workspace and the engine at a glance."""
        ...

    def answer(self, question_id: str, yes: bool) -> None:
        """Answers a question of ``GateAsked``."""
        ...

    def rescan(self) -> None:
        """Looks at every file again."""
        ...
