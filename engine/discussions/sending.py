"""A message put to a model: said, answered, written down, watched (spec 10.1).

Each step is on disk before the next begins, so that whatever ends the work in between, the transcript says
how far it came: the message before the model is asked, the reply, or as much of it as there was, before it
is watched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.context.stability import compare
from engine.conversations.conversations import TurnKey
from engine.conversations.sessions import new_session_id
from engine.discussions.call import Call
from engine.discussions.named import NamedCache
from engine.discussions.request import prefix_hash, request_for, without_secrets
from engine.discussions.turn import Money, Sender, Sent, Step
from engine.errors import CostLimit, SendFailed, TranscriptError
from engine.providers.chat import TTL_SECONDS, ChatReply, Usage
from engine.stability.places import located
from engine.transcripts.turn import QUOTED

if TYPE_CHECKING:
    from datetime import datetime

    from engine.activation.trace import Correction
    from engine.context.compiled import Compiled
    from engine.discussions.state import DiscussionCacheState
    from engine.providers.chat import ChatProvider, ChatRequest, Ttl

CHANNEL = "send"
"""What the transcripts of sessions that begin here name as their channel."""

_TITLE = 80
_BILLED_BY_TOKENS = frozenset({"anthropic", "openai", "gemini"})
"""Providers that charge for what was sent and written, also when the rest never came."""


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
            CostLimit: The budget is spent, or the call could take more than is left of it; nothing was said
                or sent.
            BudgetError: What may never be dropped exceeds the prompt's budget; the message is written down.
            WriteFailed, ReadOnly: The message was not written down, and so not sent.
        """
        if not text.strip():
            raise TranscriptError("nothing is said", cure="write a message")
        engine, provider = self._engine, self._provider()
        self._affordable(provider, text, session_id)
        session, path, key = self._say(text, session_id, provider.model)
        on_step("said")
        trace = engine.trace_turn(key, record=True, ask=True)
        on_step("traced")
        engine.catch_up_index()
        compiled = engine.compile_of(key)
        if trace is None or compiled is None:
            raise TranscriptError("the message was changed while it was read", where=path, cure="try again")
        on_step("compiled")
        engine.injections.record(compiled, text, session_id=session, turn=key)
        broken = self._prefix_used(compiled, session)
        state = engine.caches.get(session)
        request, redacted = self._request(compiled, provider, state)
        ttl_s = self._named_ttl_s(provider, state, request)
        named = NamedCache(provider, engine.caches, state, ttl_s, engine.clock())
        on_step("asked")
        reply, problem = self._ask(provider, request, named, on_text)
        cost = self._paid(session, provider, request, named, reply, problem)
        cache = self._noted(session, provider, request, compiled, reply, named, broken)
        on_step("answered")
        reply_key, corrections = self._written(session, path, provider, reply, problem)
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
            redacted=redacted,
        )

    def stop(self) -> None:
        """Ends the call that is under way, from any thread; what has come is written down."""
        with self._guard:
            self._stopped = True
            call = self._call
        if call is not None:
            call.cancel()

    def _affordable(self, provider: ChatProvider, text: str, session_id: str) -> None:
        """Does nothing while the call may be paid for, however long its prompt and its reply become.

        Asked before the message is written down, so that one that is not sent is not said. Only where a
        prompt of the full budget would be too dear is a prompt made to see how long this one is, as it would
        be if the gate were not asked.

        Raises:
            CostLimit: It may not.
        """
        settings = self._engine.config
        most, reply = settings.context_compiler.token_budget, settings.chat.max_tokens
        try:
            self._money.allow(provider, most, reply)
        except CostLimit:
            self._money.allow(provider)
            compiled = self._engine.compile(text, session_id=session_id, ask=False)
            self._money.allow(provider, self._count(compiled.text), reply)

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

    def _prefix_used(self, compiled: Compiled, session: str) -> str:
        """Records the prefix; says where it is another than the discussion's last one, empty for nowhere."""
        engine = self._engine
        before = engine.prefixes.last(1, session)
        after = engine.prefixes.note(compiled, session)
        found = compare(before[0].prefix, after) if before and after is not None else None
        if found is None:
            return ""
        found = located(found, engine.files.read)
        place = f"{found.source}:{found.line}" if found.source and found.line else found.source or found.label
        return f"the stable prefix changed: {place or 'its text'} {found.what}"

    def _last(self, path: str, role: str) -> str:
        """The key of the last dialogue turn of a role; empty where there is none."""
        conversation = self._engine.conversations.read(path)
        if conversation is not None:
            for ordinal in range(conversation.end - 1, conversation.first - 1, -1):
                turn = conversation.turn(ordinal)
                if turn is not None and turn.role == role and turn.is_dialogue:
                    return str(TurnKey(path, ordinal))
        return ""

    def _request(
        self, compiled: Compiled, provider: ChatProvider, state: DiscussionCacheState
    ) -> tuple[ChatRequest, int]:
        """What is sent, and in how many places something that looks like a secret was taken out of it."""
        settings = self._engine.config
        ttl: Ttl | None = None
        if state.enabled and provider.name == "anthropic" and settings.cache.anthropic:
            ttl = settings.cache.anthropic_ttl
        keyed = state.enabled and provider.name == "openai" and settings.cache.openai
        request = request_for(
            compiled,
            least=self._money.least_cacheable(provider),
            count=self._count,
            max_tokens=settings.chat.max_tokens,
            ttl=ttl,
            cache_key=f"{state.discussion_id}.{state.generation}" if keyed else "",
        )
        return (request, 0) if provider.name == "local" else without_secrets(request)

    def _ask(
        self,
        provider: ChatProvider,
        request: ChatRequest,
        named: NamedCache,
        on_text: Callable[[str], None],
    ) -> tuple[ChatReply, str]:
        """The reply, and why it is not whole."""
        timeout = self._engine.config.chat.deadline_s

        def ask(take: Callable[[str], None]) -> Coroutine[Any, Any, ChatReply]:
            if named.ttl_s:
                return named.chat(request, timeout, take)
            return provider.chat(request, timeout=timeout, on_text=take)

        call = Call(provider, ask, on_text=on_text)
        with self._guard:
            stopped, self._call = self._stopped, call
        if stopped:
            call.cancel()
        try:
            reply = call.wait()
        except SendFailed as error:
            # What had come is paid for.
            return ChatReply(error.partial, error.usage or Usage(), provider.model), str(error)
        finally:
            with self._guard:
                self._call, self._stopped = None, False
        return reply, "" if reply.text.strip() else "the reply is empty"

    def _named_ttl_s(self, provider: ChatProvider, state: DiscussionCacheState, request: ChatRequest) -> int:
        """Seconds for which the service is asked to keep the prefix under a name; 0 for not at all."""
        settings = self._engine.config.cache
        if provider.name != "gemini" or not (settings.gemini and state.enabled):
            return 0
        if self._count("".join(request.prefix)) < max(1, self._money.least_cacheable(provider)):
            return 0
        return settings.gemini_ttl_s

    def _paid(
        self,
        session: str,
        provider: ChatProvider,
        request: ChatRequest,
        named: NamedCache,
        reply: ChatReply,
        problem: str,
    ) -> float | None:
        """Records what was spent; gives what it came to, where that is known."""
        cost, usage = None, reply.usage
        if problem and reply.text and provider.name in _BILLED_BY_TOKENS:
            usage = self._used_at_least(request, named, reply)
        if usage.input_tokens or usage.output_tokens:
            estimated = usage != reply.usage
            cost = self._money.spent(
                provider, reply.model, session, usage, reply.cost_usd, estimated=estimated
            )
        if named.stored_s:
            tokens = self._count("".join(request.prefix))
            kept = self._money.stored(provider, session, tokens, named.stored_s)
            cost = None if cost is None or kept is None else cost + kept
        return cost

    def _used_at_least(self, request: ChatRequest, named: NamedCache, reply: ChatReply) -> Usage:
        """The tokens of a reply that broke off.

        They are those that the service told of, and where it did not come to that, those of what was sent
        and of what had come. Thinking that was never shown is not in them.
        """
        usage = reply.usage
        if not usage.input_tokens:
            kept = self._count("".join(request.prefix))
            sent = kept + self._count(request.rest)
            usage = replace(usage, input_tokens=sent, cached_tokens=kept if named.held is not None else 0)
        return replace(usage, output_tokens=max(usage.output_tokens, self._count(reply.text)))

    def _noted(
        self,
        session: str,
        provider: ChatProvider,
        request: ChatRequest,
        compiled: Compiled,
        reply: ChatReply,
        named: NamedCache,
        broken: str,
    ) -> DiscussionCacheState:
        caches = self._engine.caches
        state = caches.get(session)
        if provider.name == "local" or (not reply.usage.input_tokens and named.held is None):
            return state  # there was no call, or the service did not say
        now, held = self._engine.clock(), named.held
        ttl_s: float | None = TTL_SECONDS[request.ttl] if request.ttl else None
        return caches.note(
            session,
            provider=provider.name,
            model=reply.model,
            usage=reply.usage,
            prefix=prefix_hash(request),
            sources=(
                section.source for section in compiled.sections if section.layer <= 7 and section.source
            ),
            ttl_s=ttl_s if held is None else (held.expires_at - now).total_seconds(),
            cached_content="" if held is None else held.name,
            why=named.trouble or _why_not_read(state, broken, now, self._money.least_cacheable(provider)),
        )

    def _written(
        self, session: str, path: str, provider: ChatProvider, reply: ChatReply, problem: str
    ) -> tuple[str, tuple[Correction, ...]]:
        """Writes the reply down and watches it; gives the key of its turn, and what the watchers found."""
        text = reply.text.strip()
        if not text:
            return "", ()
        engine = self._engine
        if problem:
            text = f"{text}\n\n[cut off: {problem}]"
        # What only quotes memory is no dialogue: found again, it would be quoted once more.
        quoted = provider.name == "local"
        engine.capture.message(session, "agent", text, kind=QUOTED if quoted else "")
        key = "" if quoted else self._last(path, "agent")
        trace = engine.trace_turn(key, record=True, ask=True) if key else None
        return key, trace.corrections if trace is not None else ()


def _why_not_read(state: DiscussionCacheState, broken: str, now: datetime, least: int) -> str:
    """Why nothing was read from a cache, as far as that can be told from here."""
    if not state.enabled:
        return "caching is switched off for this discussion"
    if not state.calls:
        return "the first call of the discussion"
    given_up = state.why if state.invalidated_at is not None and state.cached_at is None else ""
    if broken:
        return broken
    if state.expires_at is not None and state.expires_at <= now:
        return "it had expired"
    return given_up or f"the provider kept none; it keeps prefixes from {least:,} tokens"
