"""The one object that every face uses: an open workspace and what can be done with it (design 1)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from engine.activation.trace import Direction, Event, Message, Trace
from engine.errors import AutopoiesisError, Problem, TopicError
from engine.live.questions import Questions
from engine.parts import Clock, Parts, part, utc_now
from engine.settings import file as config_file
from engine.settings import trust
from engine.settings.trust import Counting, read
from engine.store.files import Files
from engine.store.paths import Workspace

if TYPE_CHECKING:
    from engine.context.compiled import Compiled, Section
    from engine.context.revisions import Revisions
    from engine.context.tools import ToolDefinition
    from engine.context.views import DigestView, LedgerView, StatusView
    from engine.discussions.discussions import Discussions
    from engine.events import EngineEvent
    from engine.lifecycle.schedule.schedule import Schedule
    from engine.live.feed import FeedEntry
    from engine.live.live import Live
    from engine.search.reports import IndexReport
    from engine.search.results import SearchResult
    from engine.topics.library import TopicsDelta
    from engine.topics.model import Topic


class Engine(Parts):
    """An open workspace.

    What is said of decisions and learned from it is the part ``labels``, what topics are tuned with the part
    ``tuning``, what puts messages to models the part ``discussions``; see ``Parts``.

    Use ``Engine.open`` and close it, or use it as a context manager. Safe to call from several threads.
    """

    def __init__(self, workspace: Workspace, counting: Counting, *, files: Files, clock: Clock) -> None:
        super().__init__(workspace, counting.config, files=files, clock=clock)
        self.counting = counting
        self._guard = threading.RLock()
        self._handlers: list[Callable[[EngineEvent], None]] = []
        self.questions = Questions(self.publish, lambda: bool(self._handlers), clock)
        self._live: Live | None = None
        self._feed_filled = False
        self._filling = threading.Lock()

    @classmethod
    def open(
        cls, root: Path | str, *, read_only: bool = False, clock: Clock = utc_now, local_vectors: bool = False
    ) -> Self:
        """Opens a workspace.

        Args:
            read_only: Refuse every write. A workspace that the system does not let be written is read-only by
                itself.
            clock: Where the time comes from, UTC.
            local_vectors: Search with the vectors that ship with the program, whatever the settings say.

        Raises:
            WorkspaceError: The folder is not a workspace.
            ConfigError: A setting cannot be used.
        """
        workspace = Workspace.open(root)
        files = Files(workspace, read_only=read_only or not os.access(workspace.root, os.W_OK))
        counting = read(files)
        if local_vectors:
            config = counting.config
            config = replace(config, search=replace(config.search, embedding="local"))
            counting = replace(counting, config=config)
        return cls(workspace, counting, files=files, clock=clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops watching; lets go of the index and of the gate, and writes down what they have cost."""
        self.stop()
        self.drop("index", "pipeline", "costs")

    # Events.

    def subscribe(self, handler: Callable[[EngineEvent], None]) -> Callable[[], None]:
        """Calls ``handler`` with every event, on the thread on which it happens; the result ends that."""
        with self._guard:
            self._handlers.append(handler)

        def unsubscribe() -> None:
            with self._guard:
                if handler in self._handlers:
                    self._handlers.remove(handler)

        return unsubscribe

    def publish(self, event: EngineEvent) -> None:
        """Tells every face of something that happened."""
        self.lately.take(event)
        with self._guard:
            handlers = tuple(self._handlers)
        for handler in handlers:
            handler(event)

    def report_error(self, text: str) -> None:
        """Tells every face of something that failed without stopping the work."""
        from engine.events import ErrorReported  # noqa: PLC0415 — most commands end without one

        self.publish(ErrorReported(self.clock(), text))

    @part
    def schedule(self) -> Schedule:
        """What is done by the clock; who runs it says so before ``start``, or it is the workbench."""
        from engine.jobs.table import schedule_of  # noqa: PLC0415 — only where something runs by the clock

        return schedule_of(self, self.publish, lambda: self.counting.standing.counts)

    def start(self) -> None:
        """Begins to watch the workspace and to work on what happens in it and by the clock, in threads."""
        from engine.live.live import Live  # noqa: PLC0415 — brings the watcher

        self.recover()
        self.schedule.start("workbench")
        self.signals.start()
        with self._guard:
            if self._live is None:
                self._live = Live(self, self.publish)
                self._live.start()
                if self._feed_filled:
                    self._live.trace_the_past()

    def stop(self) -> None:
        """Ends what ``start`` began."""
        self.drop("schedule", "signals")
        with self._guard:
            live, self._live = self._live, None
        if live is not None:
            live.stop()

    @property
    def is_live(self) -> bool:
        """Whether it watches the workspace and traces what arrives."""
        return self._live is not None

    def rescan(self) -> None:
        """Looks at every file again."""
        if self._live is not None:
            self._live.rescan()

    def answer(self, question_id: str, yes: bool) -> None:
        """Answers a question of ``GateAsked``; one that is settled stays as it is."""
        self.questions.answer(question_id, yes)

    # A message goes in, a trace comes out.

    def trace(
        self,
        text: str,
        direction: Direction = "input",
        *,
        paths: Sequence[str] = (),
        event: str | None = None,
        record: bool = False,
    ) -> Trace:
        """The trace of a message that stands in no transcript; with ``record`` the decisions are logged.

        ``direction`` is ``output`` for what the agent wrote, ``event`` is ``source:event`` of a webhook, or
        ``cron:schedule``, in place of a message.
        """
        happened = Event(*event.partition(":")[::2]) if event else None
        message = Message(text, direction, at=self.clock(), paths=tuple(paths), event=happened)
        return self.pipeline.process(message, record=record)

    def trace_message(self, message: Message, *, key: str, record: bool, ask: bool) -> Trace:
        """The trace of a message from no transcript, under a key for ``trace_of``."""
        return self.turns.trace_message(message, key=key, record=record, ask=ask)

    def trace_turn(self, key: str, *, record: bool, ask: bool) -> Trace | None:
        """The trace of a turn that arrived; ``None`` where there is nothing to trace."""
        return self.turns.trace_turn(key, record=record, ask=ask)

    def trace_of(self, key: str) -> Trace | None:
        """What activation did with a message of the feed, or would do with an old one. Asks no one."""
        return self.turns.trace_of(key)

    def try_message(self, text: str, *, ask: bool = True) -> tuple[Trace, Compiled]:
        """What a message would do, without it being said anywhere; no ``ask`` while it is being typed."""
        trace = self.pipeline.process(Message(text, at=self.clock()), record=False, ask=ask)
        return trace, self.prompts.compile(text, trace)

    # A prompt comes out.

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
            budget: Tokens for prompt and reply reserve; the workspace's setting when left out.
            session_id: The session whose earlier turns belong to it.
            record: Log what the prompt holds, because it is really sent; its reply shows what was of use.
            tools: As in ``CompileRequest``.

        Raises:
            BudgetError: What may never be dropped exceeds the budget.
            TranscriptError: There is no such session.
        """
        message, before = self.turns.next_message(text, session_id, self.clock())
        trace = self.pipeline.process(message, record=False, ask=ask)
        self.catch_up_index()
        compiled = self.prompts.compile(text, trace, before, budget=budget, tools=tools)
        if record:
            turn = f"{before.path}#{before.ordinal}" if before.path else ""
            # A log that cannot be written has been told once; the other one would fail likewise.
            if self.injections.record(compiled, text, session_id=session_id, turn=turn):
                self.prefixes.note(compiled, session_id)
        return compiled

    @part
    def discussions(self) -> Discussions:
        """Messages put to models, and the caches of their prompts."""
        from engine.discussions.discussions import Discussions  # noqa: PLC0415 — most commands ask no model

        return Discussions(self)

    @property
    def revisions(self) -> Revisions:
        """The workspace as it was at any commit: prompts of the past."""
        from engine.context.revisions import Revisions  # noqa: PLC0415 — most prompts are made from what is there now

        # No service is sent the texts of the past, as the gate is not asked about it.
        engines = partial(Engine.open, local_vectors=True)
        return Revisions(self.files, self.repository, engines=engines, now=self, clock=self.clock)

    def compile_of(
        self, key: str, *, budget: int | None = None, tools: tuple[ToolDefinition, ...] | None = None
    ) -> Compiled | None:
        """The prompt for a person's turn of the feed; for an agent's turn, the one it answered."""
        found = self.turns.asked_at(key)
        return None if found is None else self.prompts.compile(*found, budget=budget, tools=tools)

    def compile_before(self, key: str, *, budget: int | None = None) -> Compiled | None:
        """The prompt for the person's message before the one of ``compile_of``; ``None`` for the first."""
        found = self.turns.asked_before(key)
        return None if found is None else self.prompts.compile(*found, budget=budget)

    def lines_of(self, section: Section) -> tuple[int, ...]:
        """The line of its file for each line of a section, 0 for one that stands in none; see ``lines``."""
        from engine.context.lines import source_lines  # noqa: PLC0415 — only a face shows them

        return source_lines(section, self.files)

    def keep_prompt(self, path: str, text: str, *, replace: bool = False) -> bool:
        """Writes a prompt into a file below ``scratch/``; whether the name was free, or ``replace`` is on."""
        from engine.context.keeping import keep_prompt  # noqa: PLC0415 — hardly ever needed

        return keep_prompt(self.files, path, text, replace=replace)

    # Finding.

    def search(self, query: str, *, category: str | None = None, limit: int = 10) -> list[SearchResult]:
        """What was said and written about a query, best first."""
        return self.index.search(query, limit=limit, category=category)

    def refresh_index(
        self, progress: Callable[[int, int], None] | None = None, paths: Iterable[str] | None = None
    ) -> IndexReport | None:
        """Brings the index up to date; a workspace that cannot be written keeps the one it has."""
        if self.files.read_only:
            return None
        return self.index.refresh(progress, paths)

    def catch_up_index(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Brings the index up to date before it is asked; where that fails, the files are searched."""
        try:
            self.refresh_index(progress)
        except AutopoiesisError as error:
            self.report_error(f"{error}; meanwhile the files themselves are searched")

    def seed_index(self, database: Path) -> None:
        """Begins the index, where there is none yet, with a copy of another workspace's."""
        self.index.seed(database)

    # Topics and settings.

    def topic(self, name: str) -> Topic:
        """The topic with a name.

        Raises:
            TopicError: There is none.
        """
        topic = self.library.get(name)
        if topic is None:
            raise TopicError(f"there is no topic {name}", hint="see: autopoiesis topics list")
        return topic

    def reload_topics(self, paths: Iterable[str] | None = None) -> TopicsDelta:
        """Reads topics again after their files changed."""
        return self.library.refresh(paths)

    def edited(self, path: str) -> None:
        """Reads a topic's file again that the engine itself has written, and tells every face."""
        from engine.events import TopicsReloaded  # noqa: PLC0415 — most commands end without one

        delta = self.reload_topics([path])
        changed = (*delta.changed, *delta.removed)
        self.publish(TopicsReloaded(self.clock(), changed, len(self.library.topics), delta.problems))

    def reload_config(self) -> None:
        """Reads memory-config.yaml again. A broken file leaves the settings as they were, and says so.

        Raises:
            ConfigError: The file cannot be used.
        """
        counting = read(self.files)
        with self._guard:
            self.counting = counting
            if counting.config == self.config:
                return
            self.config = counting.config
            self.drop("compiler", "pipeline", "index")
        self.turns.forget()

    def decide_trust(self, *, trusted: bool) -> None:
        """Lets the settings of this workspace act, or keeps that they are not to, until they change.

        Raises:
            WriteFailed, ConfigError: It cannot be kept; the file cannot be used.
        """
        written, _ = config_file.read(self.files)
        (trust.trust if trusted else trust.decline)(self.workspace.root, written)
        self.reload_config()

    # What a face shows.

    def feed(self, limit: int) -> list[FeedEntry]:
        """The last ``limit`` things that happened, oldest first."""
        with self._filling:
            if not self._feed_filled:
                from engine.live.feed import KEPT_ENTRIES, recent_past  # noqa: PLC0415 — only a face with a feed needs it

                self.lately.fill(recent_past(self.conversations, self.repository, KEPT_ENTRIES))
                self._feed_filled = True
                if self._live is not None:
                    self._live.trace_the_past()
        return self.lately.recent(limit)

    def digest(self) -> DigestView:
        """``knowledge/digest.md`` as it is."""
        from engine.context.views import read_digest  # noqa: PLC0415 — only a face shows it

        return read_digest(self.files)

    def ledger(self) -> LedgerView:
        """``knowledge/ledger.json`` as it is."""
        return self.knowledge.ledger.view()

    def problems(self) -> tuple[Problem, ...]:
        """What was found wrong with settings and topics, while they were read or since."""
        unusable = self.pipeline.problems if self.has("pipeline") else ()
        found = (*self.counting.problems, *self.library.problems, *unusable)
        return tuple(dict.fromkeys(found))

    def status(self) -> StatusView:
        """The workspace and the engine at a glance. Asks git, so it takes some ten milliseconds."""
        from engine.context.views import StatusView, read_told_again  # noqa: PLC0415 — only a face shows it

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
            told_again=read_told_again(self.files),
        )
