"""The parts of an open workspace that process a message and compile its prompt, each created on first use.

A command that only traces a message never pays for the search index, and one that only lists topics never
pays for the gate.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from engine.live.questions import Questions
from engine.settings.model import Config, HarvestSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.zone import local_day
from engine.topics.library import TopicLibrary

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.activation.pipeline import WatcherPipeline
    from engine.context.budget import Candidate
    from engine.context.compiler import ContextCompiler
    from engine.conversations.conversations import Conversations
    from engine.conversations.turns import Turns
    from engine.costs.costs import Costs
    from engine.discussions.caches import DiscussionCaches
    from engine.flush.flush import Flusher
    from engine.flush.log import FlushLog
    from engine.injections.injections import Injections
    from engine.knowledge.knowledge import Knowledge
    from engine.live.feed import FeedLog
    from engine.pipeline.labels import Labels
    from engine.pipeline.prompts import Prompts
    from engine.providers.chat import ChatProvider
    from engine.recall.recall import Recall
    from engine.search.index import SearchIndex
    from engine.stability.log import PrefixLog
    from engine.store.repository import Repository
    from engine.transcripts.capture import ConversationCapture
    from engine.transcripts.projects import Projects

Clock = Callable[[], datetime]
Made = TypeVar("Made")


def utc_now() -> datetime:
    """The engine's default clock."""
    return datetime.now(UTC)


class part(Generic[Made]):
    """A lazy property: created once (thread-safe) and kept until dropped."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__
        self._name = make.__name__

    @overload
    def __get__(self, parts: None, owner: type) -> part[Made]: ...

    @overload
    def __get__(self, parts: BasicParts, owner: type) -> Made: ...

    def __get__(self, parts: BasicParts | None, owner: type) -> Made | part[Made]:
        if parts is None:
            return self
        made: dict[str, Made] = parts.made  # type: ignore[assignment]
        found = made.get(self._name)
        if found is None:
            with parts.making:
                found = made.get(self._name)
                if found is None:
                    found = made[self._name] = self._make(parts)
        return found


class BasicParts:
    """The basic parts of an engine. ``clock`` gives the current UTC time."""

    questions: Questions

    def __init__(self, workspace: Workspace, config: Config, *, files: Files, clock: Clock) -> None:
        self.workspace = workspace
        self.config = config
        self.files = files
        self.clock = clock
        self.pace: Callable[[float], object] = lambda _worked_s: None
        """Called by background work with the seconds it just worked; a server uses it for throttling."""
        self.is_patient = True
        """Whether a message may wait for tier 2 to be fitted; an agent's hook may not."""
        self.made: dict[str, object] = {}
        self.making = threading.RLock()

    @property
    def today(self) -> date:
        """The current day in the configured time zone."""
        return local_day(self.clock(), self.config.days.time_zone)

    def report_error(self, text: str) -> None:
        """Reports a non-fatal failure."""
        raise RuntimeError(text)

    def edited(self, path: str) -> None:
        """Reloads a topic file written by the engine itself."""
        self.library.refresh([path])

    def reload_config(self) -> None:
        """Reloads memory-config.yaml."""
        from engine.settings.trust import read  # noqa: PLC0415 — only after a change

        self.config = read(self.files).config

    def look_again(self) -> None:
        """Reloads changed settings and topics when nothing is watching them."""
        from engine.errors import ConfigError  # noqa: PLC0415 — as above

        try:
            self.reload_config()
        except ConfigError as error:
            self.report_error(str(error))
        if self.has("library"):
            self.library.catch_up()

    def has(self, name: str) -> bool:
        """True if the part was created."""
        return name in self.made

    def drop(self, *names: str) -> None:
        """Closes parts; they are recreated on next use."""
        for name in names:
            with self.making:
                dropped = self.made.pop(name, None)
            close = getattr(dropped, "close", None)
            if callable(close):
                close()

    @part
    def library(self) -> TopicLibrary:
        """The topics."""
        library = TopicLibrary(self.workspace, self.files)
        library.load()
        return library

    @part
    def feed_log(self) -> FeedLog:
        """Events since the workspace was opened; earlier ones are added on request."""
        from engine.live.feed import FeedLog  # noqa: PLC0415 — not needed until something happens

        return FeedLog()

    @part
    def conversations(self) -> Conversations:
        """Reads transcripts and working conversations."""
        from engine.conversations.conversations import Conversations  # noqa: PLC0415 — not needed for a test message

        return Conversations(self.workspace, self.files)

    @part
    def turns(self) -> Turns:
        """Traces conversation turns."""
        from engine.conversations.turns import Turns  # noqa: PLC0415 — not needed for a test message

        return Turns(
            self.conversations,
            lambda message, record, ask: self.pipeline.process(message, record=record, ask=ask),
            lambda: self.library.version,
        )

    @part
    def capture(self) -> ConversationCapture:
        """Writes session transcripts."""
        from engine.transcripts.capture import ConversationCapture  # noqa: PLC0415 — only for writing transcripts

        return ConversationCapture(self.files, clock=self.clock, redact=self.config.capture.redact)

    @part
    def projects(self) -> Projects:
        """Names the projects of sessions."""
        from engine.transcripts.projects import Projects  # noqa: PLC0415 — only for sessions of agents

        return Projects(self.files, self.clock)

    @part
    def repository(self) -> Repository:
        """The workspace's git repository, if any."""
        from engine.redaction.commits import CommitCheck  # noqa: PLC0415 — only for commits
        from engine.store.repository import Repository  # noqa: PLC0415 — imports subprocess

        return Repository(
            self.workspace,
            guard=CommitCheck(self.files.read),
            private=lambda: self.config.git.private == "git-crypt",
        )

    @part
    def decision_log(self) -> DecisionLog:
        """Activation decisions and their labels."""
        from engine.activation.decisions import DecisionLog  # noqa: PLC0415 — only if decisions are logged

        return DecisionLog(self.files, clock=self.clock, on_problem=self.report_error)

    @part
    def labels(self) -> Labels:
        """Labels decisions and learns from the labels."""
        from engine.pipeline.labels import Labels  # noqa: PLC0415 — not needed for a test message

        return Labels(
            self.files,
            self.decision_log,
            self.library,
            self.turns,
            pipeline=lambda: self.pipeline if self.has("pipeline") else None,
            offered=lambda exchange: self.injections.offered(exchange),
            opened=lambda: self.pipeline,
        )

    @part
    def injections(self) -> Injections:
        """Prompts that were sent, and which of their files were useful."""
        from engine.injections.injections import Injections  # noqa: PLC0415 — only if injections are used or ranked

        return Injections(self.files, lambda: self.turns, self.clock, self.report_error)

    @part
    def caches(self) -> DiscussionCaches:
        """Provider-side prompt caches by discussion."""
        from engine.discussions.caches import DiscussionCaches  # noqa: PLC0415 — only for discussions

        return DiscussionCaches(self.files, self.clock, self.report_error)

    @part
    def prefixes(self) -> PrefixLog:
        """Stable prefixes of the prompts that were sent."""
        from engine.stability.log import PrefixLog  # noqa: PLC0415 — only if prefixes are used or checked

        return PrefixLog(self.files, self.clock, self.report_error)

    @part
    def costs(self) -> Costs:
        """Costs of model calls, and budgets."""
        from engine.costs.costs import Costs  # noqa: PLC0415 — only for model calls

        return Costs(self.files, lambda: self.config.costs, self.clock, self.report_error)

    @part
    def knowledge(self) -> Knowledge:
        """Category files, file notes, digest, ledger, harvest and review."""
        from engine.knowledge.knowledge import Knowledge  # noqa: PLC0415 — not needed for a test message

        return Knowledge(
            self.files,
            self.repository,
            lambda: self.config,
            lambda: self.costs,
            self.clock,
            self.report_error,
            model=_harvest_model,
        )

    @part
    def pipeline(self) -> WatcherPipeline:
        """The three activation tiers."""
        from engine.pipeline.assembly import assemble_pipeline  # noqa: PLC0415 — not needed for a search

        return assemble_pipeline(
            self.library,
            self.files,
            self.config,
            decisions=self.decision_log,
            asker=self.questions.ask,
            patient=self.is_patient,
            costs=lambda: self.costs,
        )

    @part
    def index(self) -> SearchIndex:
        """The search index, a cache of the files."""
        from engine.pipeline.assembly import assemble_index  # noqa: PLC0415 — not needed for a trace

        return assemble_index(
            self.workspace,
            self.files,
            self.config.search,
            url=self.config.index.url,
            references=lambda: self.injections.references(),
            zone=self.config.days.time_zone,
            costs=lambda: self.costs,
        )

    @part
    def compiler(self) -> ContextCompiler:
        """Compiles prompts from the current files."""
        from engine.context.compiler import ContextCompiler, WorkspaceSource  # noqa: PLC0415 — not for a trace

        return ContextCompiler(WorkspaceSource(self.files), self.config.context_compiler)

    @part
    def prompts(self) -> Prompts:
        """Compiles prompts for traced messages."""
        from engine.pipeline.prompts import Prompts  # noqa: PLC0415 — not for a trace

        return Prompts(
            self.library,
            lambda: self.compiler,
            lambda: self.index,
            self.clock,
            lambda before: self.flush_log.flushed(self.conversations.read(before.path), before.turns),
            self._file_notes,
            lambda: self.config.days.time_zone,
            lambda path: self.projects.names_of(self.workspace.root / path),
            lambda: self.recall,
            lambda names: self.projects.doubtful(names),
            self._records,
        )

    @part
    def recall(self) -> Recall:
        """What past sessions can tell the one at work."""
        from engine.recall.recall import Recall  # noqa: PLC0415 — not needed for a test message

        return Recall(lambda: self.index, self.files, lambda: self.config.hooks.past_sessions, self.clock)

    def _records(self, message: str, project: tuple[str, ...], own: str) -> tuple[Candidate, ...]:
        """The commands that worked in a project, if a message asks for them."""
        from engine.knowledge.commands import kinds_asked  # noqa: PLC0415 — not needed for a test message

        if not (kinds := kinds_asked(message)):
            return ()
        from engine.knowledge.ran import answer  # noqa: PLC0415 — rarely asked for

        return answer(self.files, self.projects, kinds, project, own)

    def _file_notes(self, paths: Sequence[str]) -> tuple[str, ...]:
        """The note files that apply to some paths; loads nothing if there are no notes."""
        if not paths or not self.workspace.root.joinpath("knowledge/files").is_dir():
            return ()
        from engine.knowledge.bindings import in_scope  # noqa: PLC0415 — only if there are notes

        notes = {each.path: each.notes for each in self.knowledge.notes.all()}
        return in_scope(paths, notes, self.workspace)

    @part
    def flush_log(self) -> FlushLog:
        """The flush log."""
        from engine.flush.log import FlushLog  # noqa: PLC0415 — not needed for a test message

        return FlushLog(self.files, self.clock)

    @part
    def flush(self) -> Flusher:
        """Takes notes of turns before they leave the window."""
        from engine.flush.flush import Flusher  # noqa: PLC0415 — only if turns leave the window
        from engine.providers.select import completer_for  # noqa: PLC0415 — likewise
        from engine.store.change import commit_change  # noqa: PLC0415 — likewise

        return Flusher(
            self.files,
            self.conversations,
            self.flush_log,
            lambda: self.config.flush,
            completer_for,
            commit=lambda paths, message: commit_change(
                lambda: self.repository, paths, message, wanted=self.config.git.auto_commit
            ),
            clock=self.clock,
            on_problem=self.report_error,
            review=lambda: self.knowledge.review.queue,
            spending=lambda completer: self.costs.account("flush", completer),
            zone=lambda: self.config.days.time_zone,
        )


def _harvest_model(settings: HarvestSettings) -> ChatProvider | None:
    """The model that harvests conversations, if one is configured."""
    from engine.providers.select import completer_for  # noqa: PLC0415 — only if a model is set

    return completer_for(settings)
