"""The engine, the one object that every user interface works with (design 1)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from engine.activation.trace import Direction, Event, Message, Trace
from engine.errors import AutopoiesisError, ConfigError, IndexBusy, Problem, TopicError, problem_of
from engine.live.questions import Questions
from engine.parts import Clock, Parts, part, utc_now
from engine.settings import trust
from engine.settings.model import IndexSettings
from engine.settings.trust import EffectiveSettings, read
from engine.store.files import Files
from engine.store.paths import Workspace

if TYPE_CHECKING:
    from engine.context.compiled import Compiled, Section
    from engine.context.request import ToolDefinition
    from engine.context.revisions import Revisions
    from engine.context.views import DigestView, LedgerView, StatusView
    from engine.discussions.discussions import Discussions
    from engine.events import EngineEvent
    from engine.lifecycle.schedule.schedule import Schedule
    from engine.live.feed import FeedEntry, Past
    from engine.live.live import Live
    from engine.recall.backtest import Backtest, ToldPrompt
    from engine.recall.labels import Place
    from engine.search.reports import IndexReport
    from engine.search.results import SearchResult
    from engine.settings.model import Config
    from engine.topics.library import TopicsDelta
    from engine.topics.model import Topic


_IF_COPIES = 4
"""How many times as many results are looked at if some have the same text."""
_INDEX_WAIT_S = 1.0
"""Seconds that a search waits for another writer of the index."""


class Engine(Parts):
    """An open workspace.

    Decision labels are in ``labels``, topic tuning in ``tuning``, messages to models in ``discussions``; see
    ``Parts``. Use ``Engine.open`` and close it, or use it as a context manager. Thread-safe.
    """

    def __init__(
        self, workspace: Workspace, settings: EffectiveSettings, *, files: Files, clock: Clock
    ) -> None:
        super().__init__(workspace, settings.config, files=files, clock=clock)
        self.settings = settings
        self._guard = threading.RLock()
        self._handlers: list[Callable[[EngineEvent], None]] = []
        self.questions = Questions(self.publish, lambda: bool(self._handlers), clock)
        self._live: Live | None = None
        self._past: Past | None = None
        self._filling = threading.Lock()

    @classmethod
    def open(
        cls, root: Path | str, *, read_only: bool = False, clock: Clock = utc_now, local: bool = False
    ) -> Self:
        """Opens a workspace.

        Args:
            read_only: Refuse every write. A workspace without write permission is always read-only.
            clock: Source of the current UTC time.
            local: Search with the bundled vectors and an index in the folder, whatever the settings say.

        Raises:
            WorkspaceError: The folder is not a workspace.
            ConfigError: A setting cannot be used.
        """
        workspace = Workspace.open(root)
        files = Files(workspace, read_only=read_only or not os.access(workspace.root, os.W_OK))
        settings = read(files)
        if local:
            config = settings.config
            config = replace(config, search=replace(config.search, embedding="local"), index=IndexSettings())
            settings = replace(settings, config=config)
        return cls(workspace, settings, files=files, clock=clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops watching, closes the index and the gate, and flushes the cost log."""
        self.stop()
        self.drop("index", "pipeline", "costs")

    # Events.

    def subscribe(self, handler: Callable[[EngineEvent], None]) -> Callable[[], None]:
        """Calls ``handler`` with every event, on the publishing thread. Returns the unsubscribe function."""
        with self._guard:
            self._handlers.append(handler)

        def unsubscribe() -> None:
            with self._guard:
                if handler in self._handlers:
                    self._handlers.remove(handler)

        return unsubscribe

    def publish(self, event: EngineEvent) -> None:
        """Publishes an event to every subscriber."""
        self.feed_log.take(event)
        with self._guard:
            handlers = tuple(self._handlers)
        for handler in handlers:
            handler(event)

    def report_error(self, text: str) -> None:
        """Publishes a non-fatal failure to every subscriber."""
        from engine.events import ErrorReported  # noqa: PLC0415 — rarely needed

        self.publish(ErrorReported(self.clock(), text))

    @part
    def schedule(self) -> Schedule:
        """Scheduled jobs. Anything other than the workbench sets the runner before ``start``."""
        from engine.jobs.table import schedule_of  # noqa: PLC0415 — only for scheduled jobs

        return schedule_of(self, self.publish)

    def start(self) -> None:
        """Starts the threads that watch the workspace, process changes and run scheduled jobs."""
        from engine.live.feed import KEPT_ENTRIES  # noqa: PLC0415 — only for a feed
        from engine.live.live import Live  # noqa: PLC0415 — imports the watcher

        self.recover()
        self.schedule.start("workbench")
        self.signals.start()
        with self._guard:
            if self._live is None:
                self._live = Live(self, self.publish)
                self._live.start()
                if self._past is not None:
                    self._live.trace_past(self.feed_log.recent(KEPT_ENTRIES))

    def stop(self) -> None:
        """Stops the threads started by ``start``."""
        self.drop("schedule", "signals")
        with self._guard:
            live, self._live = self._live, None
        if live is not None:
            live.stop()

    @property
    def is_live(self) -> bool:
        """True while the workspace is watched and new turns are traced."""
        return self._live is not None

    def rescan(self) -> None:
        """Rescans every file."""
        if self._live is not None:
            self._live.rescan()

    def answer(self, question_id: str, yes: bool) -> None:
        """Answers a ``GateAsked`` question; ignored if the question is already closed."""
        self.questions.answer(question_id, yes)

    # Traces.

    def trace(
        self,
        text: str,
        direction: Direction = "input",
        *,
        paths: Sequence[str] = (),
        event: str | None = None,
        record: bool = False,
    ) -> Trace:
        """Traces a message outside any transcript; ``record`` logs the decisions.

        ``direction`` is ``output`` for an agent's text. Instead of a message, ``event`` may be a webhook's
        ``source:event`` or ``cron:schedule``.
        """
        happened = Event(*event.partition(":")[::2]) if event else None
        message = Message(text, direction, at=self.clock(), paths=tuple(paths), event=happened)
        return self.pipeline.process(message, record=record)

    def trace_message(self, message: Message, *, key: str, record: bool, ask: bool) -> Trace:
        """Traces a message outside any transcript and stores it under a key for ``trace_of``."""
        return self.turns.trace_message(message, key=key, record=record, ask=ask)

    def trace_turn(self, key: str, *, record: bool, ask: bool) -> Trace | None:
        """Traces a new turn; ``None`` if there is nothing to trace."""
        return self.turns.trace_turn(key, record=record, ask=ask)

    def trace_of(self, key: str) -> Trace | None:
        """The trace of a message in the feed, computed now for an old one; never asks a person. It says
        whether the agent opened what it was offered.
        """
        trace = self.turns.trace_of(key)
        if trace is None or not trace.offered:
            return trace
        from engine.activation.candidates import with_openings  # noqa: PLC0415 — only if something was offered

        return with_openings(trace, self.injections.opened(key))

    def try_message(self, text: str, *, ask: bool = True) -> tuple[Trace, Compiled]:
        """Previews the effect of a message without storing it; leave ``ask`` off while it is being typed."""
        trace = self.pipeline.process(Message(text, at=self.clock()), record=False, ask=ask)
        return trace, self.prompts.compile(text, trace)

    # Prompts.

    def compile(
        self,
        text: str,
        *,
        budget: int | None = None,
        session_id: str = "",
        ask: bool = True,
        record: bool = False,
        tools: tuple[ToolDefinition, ...] | None = None,
    ) -> Compiled:
        """The prompt for a message.

        Args:
            budget: Tokens for the prompt and reply reserve; defaults to the workspace setting.
            session_id: The session whose earlier turns to include.
            record: Log the prompt's contents because it is really sent; the reply then shows what was useful.
            tools: As in ``CompileRequest``.

        Raises:
            BudgetError: The required sections exceed the budget.
            TranscriptError: No such session.
        """
        message, before = self.turns.next_message(text, session_id, self.clock())
        trace = self.pipeline.process(message, record=False, ask=ask)
        self.catch_up_index()
        compiled = self.prompts.compile(text, trace, before, budget=budget, tools=tools)
        if record:
            turn = f"{before.path}#{before.ordinal}" if before.path else ""
            # An unwritable log was already reported once; the other log would fail the same way.
            if self.injections.record(compiled, text, session_id=session_id, turn=turn):
                self.prefixes.note(compiled, session_id)
        return compiled

    @part
    def discussions(self) -> Discussions:
        """Messages sent to models, and their prompt caches."""
        from engine.discussions.discussions import Discussions  # noqa: PLC0415 — most commands call no model

        return Discussions(self)

    @property
    def revisions(self) -> Revisions:
        """The workspace at any commit, for compiling prompts of the past."""
        from engine.context.revisions import Revisions  # noqa: PLC0415 — most prompts use the current state

        # Texts of the past are never sent to a service, just as the gate is not asked about them.
        engines = partial(Engine.open, local=True)
        return Revisions(self.files, self.repository, engines=engines, now=self, clock=self.clock)

    def compile_of(
        self, key: str, *, budget: int | None = None, tools: tuple[ToolDefinition, ...] | None = None
    ) -> Compiled | None:
        """The prompt for a person's turn in the feed; for an agent's turn, the prompt it answered."""
        found = self.turns.asked_at(key)
        return None if found is None else self.prompts.compile(*found, budget=budget, tools=tools)

    def compile_before(self, key: str, *, budget: int | None = None) -> Compiled | None:
        """The prompt for the person's message before the one of ``compile_of``; ``None`` for the first."""
        found = self.turns.asked_before(key)
        return None if found is None else self.prompts.compile(*found, budget=budget)

    def lines_of(self, section: Section) -> tuple[int, ...]:
        """The source line of each line of a section, 0 for lines that are in no file; see ``lines``."""
        from engine.context.lines import source_lines  # noqa: PLC0415 — only for user interfaces

        return source_lines(section, self.files)

    def keep_prompt(self, path: str, text: str, *, replace: bool = False) -> bool:
        """Writes a prompt to ``scratch/``; False if the file exists and ``replace`` is off."""
        from engine.context.keeping import keep_prompt  # noqa: PLC0415 — rarely needed

        return keep_prompt(self.files, path, text, replace=replace)

    # Search.

    def search(self, query: str, *, category: str | None = None, limit: int = 10) -> list[SearchResult]:
        """Search results, best first, of equal texts only one. A question about past work is answered by the
        recaps of sessions.
        """
        from engine.context.recaps import with_recaps  # noqa: PLC0415 — not for a prompt
        from engine.search.results import without_copies  # noqa: PLC0415 — as above

        results = self.index.search(query, limit=limit, category=category)
        found = without_copies(results)
        if len(found) < len(results):
            found = without_copies(self.index.search(query, limit=_IF_COPIES * limit, category=category))
        is_wanted = category in (None, "journal")
        return (with_recaps(self.files, query, self.today, found) if is_wanted else found)[:limit]

    def what_if(
        self,
        changes: Mapping[str, str],
        last: int = 0,
        progress: Callable[[int, int], object] = lambda _done, _of: None,
    ) -> tuple[Backtest, Backtest]:
        """What agents would have been told in the past with this memory, some fifty prompts a second: with
        the settings as they are, and with some of them changed, by name. They are not written.

        Args:
            last: Plays only the last sessions; 0 for all.

        Raises:
            ConfigError, DocumentError: There is no such setting, or the value is not allowed.
        """
        now, then = self._backtests([self.config, self.configuration.tried(changes)], last, progress)
        return now, then

    def label_told(self, prompt: Place, useful: bool, numbers: Collection[int] = ()) -> ToldPrompt:
        """Labels what would have been told beside a past prompt as useful or noise.

        Args:
            numbers: Passages, from 1; all by default.

        Raises:
            AutopoiesisError: There is no such prompt, or no such passage would have been told beside it.
            WriteFailed, ReadOnly: It was not recorded.
        """
        (found,) = self._backtests([self.config], only=prompt.path)
        told = next((each for each in found.told if each.place == prompt), None)
        if told is None:
            raise AutopoiesisError(
                f"nothing would have been told at {prompt.path}:{prompt.line}",
                hint="list the prompts: autopoiesis backtest --all",
            )
        if any(not 0 < number <= len(told.passages) for number in numbers):
            raise AutopoiesisError(f"there are {len(told.passages)} passages, numbered from 1")
        passages = [told.passages[number - 1].place for number in numbers] or [
            each.place for each in told.passages
        ]
        self.recall.labels.label(prompt, passages, useful)
        return told.labelled(self.recall.labels.read())

    def _backtests(
        self,
        configs: Sequence[Config],
        last: int = 0,
        progress: Callable[[int, int], object] = lambda _done, _of: None,
        only: str = "",
    ) -> tuple[Backtest, ...]:
        from engine.recall.backtest import Plan, backtest  # noqa: PLC0415 — imports numpy

        own, rules = self.recall.own, self.rules
        return backtest(
            self.index,
            [Plan(own.of_mode(each.hooks.past_sessions), each.hooks.prompt_tokens) for each in configs],
            self.recall.labels.read(),
            rules.groups(),
            rules.book(),
            last=last,
            only=only,
            progress=progress,
        )

    def refresh_index(
        self,
        progress: Callable[[int, int], None] | None = None,
        paths: Iterable[str] | None = None,
        *,
        wait_s: float | None = None,
    ) -> IndexReport | None:
        """Updates the index; a read-only workspace keeps its current one.

        ``wait_s`` is as for ``SearchIndex.refresh``.
        """
        if self.files.read_only:
            return None
        return self.index.refresh(progress, paths, wait_s=wait_s)

    def catch_up_index(
        self, progress: Callable[[int, int], None] | None = None, *, wait_s: float = _INDEX_WAIT_S
    ) -> str:
        """Updates the index before a search.

        On failure the files are searched directly. While another writer is at work, what it has committed is
        searched.

        Args:
            wait_s: Seconds to wait for another writer.

        Returns:
            What another writer is doing, in one clause; ``""`` if the index is up to date or failed.
        """
        try:
            self.refresh_index(progress, wait_s=wait_s)
        except IndexBusy as error:
            return error.what
        except AutopoiesisError as error:
            self.report_error(f"{error}; searching the files directly instead")
        return ""

    # Topics and settings.

    def topic(self, name: str) -> Topic:
        """The topic with a name.

        Raises:
            TopicError: No such topic.
        """
        topic = self.library.get(name)
        if topic is None:
            raise TopicError(f"there is no topic {name}", hint="see: autopoiesis topics list")
        return topic

    def reload_topics(self, paths: Iterable[str] | None = None) -> TopicsDelta:
        """Reloads topics after their files changed."""
        return self.library.refresh(paths)

    def edited(self, path: str) -> None:
        """Reloads a topic file written by the engine itself and publishes the change."""
        from engine.events import TopicsReloaded  # noqa: PLC0415 — rarely needed

        delta = self.reload_topics([path])
        changed = (*delta.changed, *delta.removed)
        self.publish(TopicsReloaded(self.clock(), changed, len(self.library.topics), delta.problems))

    def reload_config(self) -> None:
        """Reloads memory-config.yaml. An invalid file leaves the settings unchanged.

        Raises:
            ConfigError: The file cannot be used.
        """
        try:
            settings = read(self.files)
        except ConfigError as error:
            self.settings = replace(self.settings, broken=(problem_of(error),))
            raise
        with self._guard:
            self.settings = settings
            if settings.config == self.config:
                return
            self.config = settings.config
            self.drop("compiler", "pipeline", "index")
        self.turns.forget()

    def decide_trust(self, *, trusted: bool, shown: Sequence[trust.Act] | None = None) -> None:
        """Trusts or distrusts this workspace's settings until they change; raises as ``trust.decide``."""
        try:
            trust.decide(self.files, trusted=trusted, shown=shown)
        finally:
            self.reload_config()

    # Views.

    def feed(self, limit: int) -> list[FeedEntry]:
        """The last ``limit`` feed entries, oldest first; the first says if there is more past."""
        with self._filling:
            if self._past is None:
                self._read_past()
        return self.feed_log.recent(limit)

    def read_older(self) -> None:
        """Adds older conversations to the feed."""
        with self._filling:
            self._read_past()

    def _read_past(self) -> None:
        from engine.live.feed import Past  # noqa: PLC0415 — only for a feed

        past = self._past or Past(self.conversations, self.repository)
        entries, rest = past.next_page()
        self.feed_log.add_past(entries, rest)
        self._past = past
        if self._live is not None:
            self._live.trace_past(entries)

    def digest(self) -> DigestView:
        """The current ``knowledge/digest.md``."""
        from engine.context.views import read_digest  # noqa: PLC0415 — only for user interfaces

        return read_digest(self.files)

    def ledger(self) -> LedgerView:
        """The current ``knowledge/ledger.json``."""
        return self.knowledge.ledger.view()

    def problems(self) -> tuple[Problem, ...]:
        """Problems found in settings and topics."""
        unusable = self.pipeline.problems if self.has("pipeline") else ()
        found = (*self.settings.problems, *self.library.problems, *unusable)
        return tuple(dict.fromkeys(found))

    def status(self) -> StatusView:
        """Summary of workspace and engine. Calls git, so it takes about 10 ms."""
        from engine.context.views import StatusView, count_waiting_rules  # noqa: PLC0415 — only for user interfaces

        state = self.repository.state()
        mode, why = self._live.watch_state if self._live is not None else ("off", "")
        provider = self.pipeline.gate.provider
        return StatusView(
            branch=state.branch or state.why,
            dirty=state.dirty,
            watch_mode=mode,
            watch_why=why,
            gate=provider.name,
            model=provider.model,
            topics=len(self.library.topics),
            problems=self.problems(),
            read_only=self.files.read_only,
            waiting_rules=count_waiting_rules(self.files),
            waiting_items=len(self.knowledge.review.queue.waiting()),
        )
