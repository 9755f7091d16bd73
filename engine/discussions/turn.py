"""Sending a turn to a model: what it needs from the engine, and its result (spec 10.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from engine.activation.trace import Correction, Trace
    from engine.context.compiled import Compiled
    from engine.context.request import ToolDefinition
    from engine.conversations.conversations import Conversations
    from engine.costs.costs import Costs
    from engine.discussions.caches import DiscussionCaches, DiscussionCacheState
    from engine.injections.injections import Injections
    from engine.knowledge.knowledge_entries import KnowledgeEntries
    from engine.providers.chat import ChatReply
    from engine.settings.model import Config
    from engine.stability.log import PrefixLog
    from engine.store.files import Files
    from engine.store.paths import Workspace
    from engine.transcripts.capture import ConversationCapture

Step = Literal["said", "traced", "compiled", "asked", "answered", "watched"]
"""Completed steps."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Result of sending a message."""

    session_id: str
    path: str  # the transcript's
    key: str  # the turn of the message
    reply_key: str  # the turn of the reply; empty if there is none, or it only quotes memory
    trace: Trace
    compiled: Compiled
    provider: str
    reply: ChatReply  # incomplete if ``problem`` is not empty
    cost_usd: float | None  # ``None`` if no price is known
    cache: DiscussionCacheState
    corrections: tuple[Correction, ...]  # to be injected into the next prompt
    problem: str = ""  # why the reply is missing or incomplete; empty on success
    redacted: int = 0  # number of likely secrets removed before sending


class Sender(Protocol):
    """The engine, as needed for sending."""

    config: Config
    workspace: Workspace
    files: Files
    clock: Callable[[], datetime]

    @property
    def costs(self) -> Costs: ...

    @property
    def capture(self) -> ConversationCapture: ...

    @property
    def conversations(self) -> Conversations: ...

    @property
    def caches(self) -> DiscussionCaches: ...

    @property
    def injections(self) -> Injections: ...

    @property
    def prefixes(self) -> PrefixLog: ...

    def trace_turn(self, key: str, *, record: bool, ask: bool) -> Trace | None: ...

    @property
    def knowledge_entries(self) -> KnowledgeEntries: ...

    def compile(
        self,
        text: str,
        *,
        session_id: str = "",
        ask: bool = True,
        tools: tuple[ToolDefinition, ...] | None = None,
    ) -> Compiled: ...

    def compile_of(self, key: str, *, tools: tuple[ToolDefinition, ...] | None = None) -> Compiled | None: ...

    def catch_up_index(self) -> object: ...
