"""A message put to a model: said, answered, written down, watched (spec 10.1).

Each step is on disk before the next begins, so that whatever ends the work in between, the transcript says
how far it came: the message before the model is asked, the reply, or as much of it as there was, before it
is watched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from engine.conversations import TurnKey
from engine.discussions.call import Call
from engine.discussions.request import prefix_hash, request_for
from engine.errors import SendFailed, TranscriptError
from engine.sessions import new_session_id

if TYPE_CHECKING:
    from datetime import datetime

    from engine.activation.trace import Correction, Trace
    from engine.config import Config
    from engine.context.compiled import Compiled
    from engine.conversations import Conversations
    from engine.discussions.caches import DiscussionCaches
    from engine.discussions.state import DiscussionCacheState
    from engine.injections.injections import Injections
    from engine.providers.chat import ChatProvider, ChatReply, ChatRequest, Ttl, Usage
    from engine.transcripts.capture import ConversationCapture

CHANNEL = "send"
"""What the transcripts of sessions that begin here name as their channel."""

_TITLE = 80

Step = Literal["said", "traced", "compiled", "asked", "answered", "watched"]


@dataclass(frozen=True, slots=True)
class Sent:
    """A message and what became of it.

    Attributes:
        session_id: The session.
        path: Its transcript.
        key: The turn of the message.
        reply_key: The turn of the reply; empty where nothing came.
        trace: What activation did with the message.
        compiled: The prompt.
        provider: Who was asked.
        reply: The reply; where ``problem`` is not empty, as much of it as came.
        cost_usd: What the call cost; ``None`` where no price is known.
        cache: What is known of the discussion's cache now.
        corrections: What the watchers of replies will say to the next prompt.
        problem: Why the reply is not whole, or not there; empty when all is well.
    """

    session_id: str
    path: str
    key: str
    reply_key: str
    trace: Trace
    compiled: Compiled
    provider: str
    reply: ChatReply
    cost_usd: float | None
    cache: DiscussionCacheState
    corrections: tuple[Correction, ...]
    problem: str = ""


class Sender(Protocol):
    """What sending needs of an engine."""

    config: Config
    clock: Callable[[], datetime]

    @property
    def capture(self) -> ConversationCapture: ...

    @property
    def conversations(self) -> Conversations: ...

    @property
    def caches(self) -> DiscussionCaches: ...

    @property
    def injections(self) -> Injections: ...

    def trace_turn(self, key: str, *, record: bool, ask: bool) -> Trace | None: ...

    def compile_of(self, key: str) -> Compiled | None: ...

    def refresh_index(self) -> object: ...


class Money(Protocol):
    """What sending needs to know of prices and budgets."""

    def allow(self) -> None:
        """Raises ``CostLimit`` when nothing may be spent any more."""
        ...

    def least_cacheable(self, provider: str, model: str) -> int:
        """Tokens below which a model caches nothing."""
        ...

    def spent(
        self, provider: str, model: str, discussion: str, usage: Usage, told_usd: float | None
    ) -> float | None:
        """Records a call; gives what it cost, where that is known."""
        ...


class Sending:
    """Sends messages, one at a time for each object.

    Args:
        engine: Captures, traces, compiles.
        provider: Makes the provider that is asked.
        money: Prices, budgets, the log of costs.
        count: Counts tokens.
    """

    def __init__(
        self,
        engine: Sender,
        provider: Callable[[], ChatProvider],
        money: Money,
        count: Callable[[str], int],
    ) -> None:
        self._engine = engine
        self._provider = provider
        self._money = money
        self._count = count
        self._guard = threading.Lock()
        self._call: Call | None = None
        self._stopped = False

    def send(
        self,
        text: str,
        *,
        session_id: str = "",
        on_text: Callable[[str], None] = lambda _text: None,
        on_step: Callable[[Step], None] = lambda _step: None,
    ) -> Sent:
        """Says a message in a session and has it answered.

        Args:
            text: The message.
            session_id: The session it belongs to; a new one when left out.
            on_text: Gets the reply piece by piece, on this thread.
            on_step: Told what has been done.

        Returns:
            What became of it. A reply that did not come, or not to its end, is no error here: what came is
            written down, and ``Sent.problem`` says the rest.

        Raises:
            TranscriptError: There is no such session, it has ended, or nothing is said.
            CostLimit: The budget is spent; nothing was said or sent.
            BudgetError: What may never be dropped exceeds the prompt's budget; the message is written down.
            WriteFailed, ReadOnly: The message was not written down, and so not sent.
        """
        if not text.strip():
            raise TranscriptError("nothing is said", cure="write a message")
        engine, provider = self._engine, self._provider()
        if provider.name != "local":
            self._money.allow()
        session, path, key = self._say(text, session_id, provider.model)
        on_step("said")
        trace = engine.trace_turn(key, record=True, ask=True)
        on_step("traced")
        engine.refresh_index()
        compiled = engine.compile_of(key)
        if trace is None or compiled is None:
            raise TranscriptError("the message was changed while it was read", where=path, cure="try again")
        on_step("compiled")
        engine.injections.record(compiled, text, session_id=session, turn=key)
        request = self._request(compiled, provider, engine.caches.get(session))
        on_step("asked")
        reply, problem = self._ask(provider, request, on_text)
        cost = self._money.spent(provider.name, reply.model, session, reply.usage, reply.cost_usd)
        cache = self._noted(session, provider, request, compiled, reply)
        on_step("answered")
        reply_key, corrections = self._written(session, path, reply, problem)
        on_step("watched")
        return Sent(
            session_id=session,
            path=path,
            key=key,
            reply_key=reply_key,
            trace=trace,
            compiled=compiled,
            provider=provider.name,
            reply=reply,
            cost_usd=cost,
            cache=cache,
            corrections=corrections,
            problem=problem,
        )

    def stop(self) -> None:
        """Ends the call that is under way, from any thread; what has come is written down."""
        with self._guard:
            self._stopped = True
            call = self._call
        if call is not None:
            call.cancel()

    def _say(self, text: str, session_id: str, model: str) -> tuple[str, str, str]:
        """Writes the message down; gives session, transcript and the key of the turn."""
        capture = self._engine.capture
        session = session_id or new_session_id()
        if not session_id:
            title = next(line.strip() for line in text.splitlines() if line.strip())[:_TITLE]
            capture.start(session, title=title, channel=CHANNEL, model=model)
        capture.message(session, "user", text)
        path = capture.find(session) or ""
        return session, path, self._last(path, "user")

    def _last(self, path: str, role: str) -> str:
        """The key of the last dialogue turn of a role; empty where there is none."""
        conversation = self._engine.conversations.read(path)
        if conversation is not None:
            for ordinal in range(conversation.end - 1, conversation.first - 1, -1):
                turn = conversation.turn(ordinal)
                if turn is not None and turn.role == role and not turn.kind:
                    return str(TurnKey(path, ordinal))
        return ""

    def _request(
        self, compiled: Compiled, provider: ChatProvider, state: DiscussionCacheState
    ) -> ChatRequest:
        settings = self._engine.config
        ttl: Ttl | None = None
        if state.enabled and provider.name == "anthropic" and settings.cache.anthropic:
            ttl = settings.cache.anthropic_ttl
        keyed = state.enabled and provider.name == "openai" and settings.cache.openai
        return request_for(
            compiled,
            least=self._money.least_cacheable(provider.name, provider.model),
            count=self._count,
            max_tokens=settings.chat.max_tokens,
            ttl=ttl,
            cache_key=f"{state.discussion_id}.{state.generation}" if keyed else "",
        )

    def _ask(
        self, provider: ChatProvider, request: ChatRequest, on_text: Callable[[str], None]
    ) -> tuple[ChatReply, str]:
        """The reply, and why it is not whole."""
        from engine.providers.chat import ChatReply, Usage  # noqa: PLC0415 — only what was asked has an answer

        call = Call(provider, request, timeout=self._engine.config.chat.deadline_s, on_text=on_text)
        with self._guard:
            stopped, self._call = self._stopped, call
        if stopped:
            call.cancel()
        try:
            reply = call.wait()
        except SendFailed as error:
            return ChatReply(error.partial, Usage(), provider.model), str(error)
        finally:
            with self._guard:
                self._call, self._stopped = None, False
        return reply, "" if reply.text.strip() else "the reply is empty"

    def _noted(
        self,
        session: str,
        provider: ChatProvider,
        request: ChatRequest,
        compiled: Compiled,
        reply: ChatReply,
    ) -> DiscussionCacheState:
        from engine.providers.chat import TTL_SECONDS  # noqa: PLC0415 — as above

        caches = self._engine.caches
        state = caches.get(session)
        if not reply.usage.input_tokens:
            return state  # the service did not say, or there was no call
        return caches.note(
            session,
            provider=provider.name,
            model=reply.model,
            usage=reply.usage,
            prefix=prefix_hash(request),
            sources=(
                section.source for section in compiled.sections if section.layer <= 7 and section.source
            ),
            ttl_s=TTL_SECONDS[request.ttl] if request.ttl else None,
            why=_why_not_read(
                state,
                request,
                self._engine.clock(),
                self._money.least_cacheable(provider.name, provider.model),
            ),
        )

    def _written(
        self, session: str, path: str, reply: ChatReply, problem: str
    ) -> tuple[str, tuple[Correction, ...]]:
        """Writes the reply down and watches it; gives the key of its turn, and what the watchers found."""
        text = reply.text.strip()
        if not text:
            return "", ()
        engine = self._engine
        if problem:
            text = f"{text}\n\n[cut off: {problem}]"
        engine.capture.message(session, "agent", text)
        key = self._last(path, "agent")
        trace = engine.trace_turn(key, record=True, ask=True) if key else None
        return key, trace.corrections if trace is not None else ()


def _why_not_read(state: DiscussionCacheState, request: ChatRequest, now: datetime, least: int) -> str:
    """Why nothing was read from a cache, as far as that can be told from here."""
    if not state.enabled:
        return "caching is switched off for this discussion"
    if not state.calls:
        return "the first call of the discussion"
    given_up = state.why if state.invalidated_at is not None and state.cached_at is None else ""
    if state.prefix and state.prefix != prefix_hash(request):
        return given_up or "the stable prefix changed"
    if state.expires_at is not None and state.expires_at <= now:
        return "it had expired"
    return given_up or (
        "the prefix is too short to be cached" if not request.ttl else "the provider kept none"
    )
