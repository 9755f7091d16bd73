"""Sends a message to a model: store it, get the reply, store that, run the watchers (spec 10.1).

Each step is on disk before the next begins, so after an interruption the transcript shows how far it got:
the message is written before the model is asked, the reply (or its beginning) before the watchers run.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from engine.context.stability import compare
from engine.conversations.conversations import TurnKey
from engine.conversations.sessions import new_session_id
from engine.discussions.named import NamedCache, request_for, without_secrets
from engine.discussions.turn import Sender, Sent, Step
from engine.errors import AutopoiesisError, CostLimit, SendFailed, TranscriptError
from engine.providers.chat import ChatReply, Round, Usage
from engine.providers.loop import LoopThread
from engine.transcripts.turn import QUOTED

if TYPE_CHECKING:
    from engine.activation.trace import Correction
    from engine.context.compiled import Compiled
    from engine.context.request import ToolDefinition
    from engine.costs.costs import Costs
    from engine.discussions.caches import DiscussionCacheState
    from engine.providers.chat import ChatProvider, ChatRequest, ModelService, ToolUse, Ttl

CHANNEL = "send"
"""Channel name in the transcripts of sessions started here."""

_TITLE = 80
_BILLED_BY_TOKENS = frozenset({"anthropic", "openai", "gemini"})
"""Providers that charge for the tokens of an incomplete reply."""


@dataclass(eq=False)
class Sending:
    """Sends messages, one at a time per object. ``provider`` creates the chat provider."""

    engine: Sender
    provider: Callable[[], ChatProvider]
    money: Bills
    count: Callable[[str], int]
    _exchange: Exchange | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)

    def send(
        self,
        text: str,
        *,
        session_id: str = "",
        on_text: Callable[[str], None] = lambda _text: None,
        on_step: Callable[[Step], None] = lambda _step: None,
    ) -> Sent:
        """Stores a message in a session and gets a reply.

        Args:
            session_id: The message's session; a new one by default.
            on_text: Gets the reply piece by piece, on this thread.
            on_step: Called after each step.

        Returns:
            The result. A missing or incomplete reply is not an exception: what arrived is stored, and
            ``Sent.problem`` explains.

        Raises:
            TranscriptError: No such session, it has ended, or the message is empty.
            CostLimit: The budget is spent, or the call could exceed the rest of it; nothing was stored or
                sent.
            BudgetError: The required sections exceed the prompt's budget; the message is stored.
            WriteFailed, ReadOnly: The message could not be stored and was not sent.
        """
        if not text.strip():
            raise TranscriptError("nothing is said", hint="write a message")
        engine, provider = self.engine, self.provider()
        self._affordable(provider, text, session_id)
        session, path, key = self._say(text, session_id, provider.model)
        on_step("said")
        trace = engine.trace_turn(key, record=True, ask=True)
        on_step("traced")
        engine.catch_up_index()
        compiled = engine.compile_of(key, tools=self._tools(provider))
        if trace is None or compiled is None:
            raise TranscriptError("the message changed while it was being read", where=path, hint="try again")
        on_step("compiled")
        engine.injections.record(compiled, text, session_id=session, turn=key)
        broken = self._prefix_used(compiled, session)
        state = engine.caches.get(session)
        request, redacted = self._request(compiled, provider, state)
        ttl_s = self._named_ttl_s(provider, state, request)
        named = NamedCache(provider, engine.caches, state, ttl_s, engine.clock())
        on_step("asked")
        keys: list[str] = []
        exchange, problem = self._ask(
            provider, request, named, on_text, partial(self._called, session, path, keys)
        )
        cost = self._paid(session, provider, exchange, named, problem)
        cache = named.noted(exchange, compiled, broken, self.money.least_cacheable(provider))
        on_step("answered")
        reply_key, corrections = self._written(session, path, provider, exchange[-1][1], problem, keys)
        on_step("watched")
        return Sent(
            session_id=session,
            path=path,
            key=key,
            reply_key=reply_key,
            trace=trace,
            compiled=compiled,
            provider=provider.name,
            reply=_whole([reply for _, reply in exchange]),
            cost_usd=cost,
            cache=cache,
            corrections=corrections,
            problem=problem,
            redacted=redacted,
        )

    def stop(self) -> None:
        """Cancels the call in progress, from any thread; the text received so far is stored."""
        self._stopped = True
        if (exchange := self._exchange) is not None:
            exchange.cancel()

    def _affordable(self, provider: ChatProvider, text: str, session_id: str) -> None:
        """Checks that the budget covers the call, however long its prompt and reply become.

        Runs before the message is stored, so that an unsent message is not stored. Only if a prompt of the
        full token budget would be too expensive is the actual prompt compiled (without asking the gate) to
        learn its length.

        Raises:
            CostLimit: The budget does not cover the call.
        """
        settings = self.engine.config
        most, reply = settings.context_compiler.token_budget, settings.chat.max_tokens
        try:
            self.money.allow(provider, most, reply)
        except CostLimit:
            self.money.allow(provider)
            tools = self._tools(provider)
            compiled = self.engine.compile(text, session_id=session_id, ask=False, tools=tools)
            self.money.allow(provider, self.count(compiled.text), reply)

    def _say(self, text: str, session_id: str, model: str) -> tuple[str, str, str]:
        """Stores the message; returns the session, the transcript path and the turn's key."""
        capture = self.engine.capture
        session = session_id or new_session_id()
        if not session_id:
            title = next(line.strip() for line in text.splitlines() if line.strip())[:_TITLE]
            capture.start(session, title=title, channel=CHANNEL, model=model)
        capture.message(session, "user", text)
        path = capture.find(session) or ""
        return session, path, self._last(path, "user")

    def _prefix_used(self, compiled: Compiled, session: str) -> str:
        """Records the prefix; returns where it differs from the discussion's last one, or an empty string."""
        engine = self.engine
        before = engine.prefixes.last(1, session)
        after = engine.prefixes.note(compiled, session)
        found = compare(before[0].prefix, after) if before and after is not None else None
        if found is None:
            return ""
        return f"the stable prefix changed: {found.source or found.label or 'its text'} {found.what}"

    def _last(self, path: str, role: str) -> str:
        """The key of the last dialogue turn of a role; empty if there is none."""
        conversation = self.engine.conversations.read(path)
        if conversation is not None:
            for ordinal in range(conversation.end - 1, conversation.first - 1, -1):
                turn = conversation.turn(ordinal)
                if turn is not None and turn.role == role and turn.is_dialogue:
                    return str(TurnKey(path, ordinal))
        return ""

    def _request(
        self, compiled: Compiled, provider: ChatProvider, state: DiscussionCacheState
    ) -> tuple[ChatRequest, int]:
        """The request, and the number of likely secrets redacted from it."""
        settings = self.engine.config
        ttl: Ttl | None = None
        if state.enabled and provider.name == "anthropic" and settings.cache.anthropic:
            ttl = settings.cache.anthropic_ttl
        keyed = state.enabled and provider.name == "openai" and settings.cache.openai
        request = request_for(
            compiled,
            least=self.money.least_cacheable(provider),
            count=self.count,
            max_tokens=settings.chat.max_tokens,
            ttl=ttl,
            generation=state.generation if keyed else None,
            tools=self._tools(provider),
        )
        return (request, 0) if provider.name == "local" else without_secrets(request)

    def _tools(self, provider: ChatProvider) -> tuple[ToolDefinition, ...]:
        return self.engine.knowledge_entries.tools if provider.takes_tools else ()

    def _ask(
        self,
        provider: ChatProvider,
        request: ChatRequest,
        named: NamedCache,
        on_text: Callable[[str], None],
        called: Callable[[ChatReply, Round], None],
    ) -> tuple[list[tuple[ChatRequest, ChatReply]], str]:
        """The requests with their replies, and why the last reply is incomplete."""
        entries = self.engine.knowledge_entries

        def on_round(reply: ChatReply, answered: Round, following: ChatRequest) -> None:
            called(reply, answered)
            self.money.allow(provider, self._tokens(following), following.max_tokens)

        exchange = self._exchange = Exchange(
            provider,
            request,
            named.chat,
            on_text=on_text,
            answer=lambda use: entries.answer(use.name, use.arguments),
            on_round=on_round,
        )
        if self._stopped:
            exchange.cancel()
        try:
            return exchange.done, exchange.run(self.engine.config.chat.deadline_s)
        finally:
            self._exchange, self._stopped = None, False

    def _called(self, session: str, path: str, keys: list[str], reply: ChatReply, answered: Round) -> None:
        """Stores a model's text and tool calls before the calls are answered."""
        capture = self.engine.capture
        if reply.text.strip():
            capture.message(session, "agent", reply.text.strip())
        for call, answer in answered.answers:
            arguments = json.dumps(call.arguments, ensure_ascii=False)
            capture.tool_call(session, call.name, arguments, f"{len(answer):,} characters")
        keys.append(self._last(path, "agent"))

    def _named_ttl_s(self, provider: ChatProvider, state: DiscussionCacheState, request: ChatRequest) -> int:
        """Requested lifetime of a named cache for the prefix in seconds; 0 for no cache."""
        settings = self.engine.config.cache
        if provider.name != "gemini" or not (settings.gemini and state.enabled):
            return 0
        if self.count("".join(request.prefix)) < max(1, self.money.least_cacheable(provider)):
            return 0
        return settings.gemini_ttl_s

    def _paid(
        self,
        session: str,
        provider: ChatProvider,
        exchange: Sequence[tuple[ChatRequest, ChatReply]],
        named: NamedCache,
        problem: str,
    ) -> float | None:
        """Records the costs; returns their sum, if known."""
        costs: list[float | None] = []
        for request, reply in exchange:
            usage = reply.usage
            is_broken = bool(problem) and reply is exchange[-1][1]
            if is_broken and reply.text and provider.name in _BILLED_BY_TOKENS:
                usage = self._used_at_least(request, named, reply)
            if usage.input_tokens or usage.output_tokens:
                used = replace(reply, usage=usage)
                costs.append(self.money.spent(provider, used, session, estimated=usage != reply.usage))
        if named.stored_s:
            tokens = self.count("".join(exchange[0][0].prefix))
            costs.append(self.money.stored(provider, session, tokens, named.stored_s))
        known = [cost for cost in costs if cost is not None]
        return math.fsum(known) if known and len(known) == len(costs) else None

    def _tokens(self, request: ChatRequest) -> int:
        """Tokens of a request including tool answers."""
        answers = sum(self.count(answer) for each in request.rounds for _, answer in each.answers)
        return self.count("".join(request.prefix)) + self.count(request.rest) + answers

    def _used_at_least(self, request: ChatRequest, named: NamedCache, reply: ChatReply) -> Usage:
        """A lower bound of the tokens of an incomplete reply.

        Taken from the service if it reported them, else counted from the request and the text received.
        Hidden thinking is not included.
        """
        usage = reply.usage
        if not usage.input_tokens:
            kept = self.count("".join(request.prefix)) if named.held is not None else 0
            usage = replace(usage, input_tokens=self._tokens(request), cached_tokens=kept)
        return replace(usage, output_tokens=max(usage.output_tokens, self.count(reply.text)))

    def _written(
        self,
        session: str,
        path: str,
        provider: ChatProvider,
        reply: ChatReply,
        problem: str,
        keys: list[str],
    ) -> tuple[str, tuple[Correction, ...]]:
        """Stores the reply and runs the watchers on it and on the text before tool calls.

        Returns the key of the reply's turn and the corrections found.
        """
        text = reply.text.strip()
        engine, key = self.engine, ""
        if text:
            if problem:
                text = f"{text}\n\n[cut off: {problem}]"
            # A reply that only quotes memory is not dialogue; otherwise search would find and quote it again.
            quoted = provider.name == "local"
            engine.capture.message(session, "agent", text, kind=QUOTED if quoted else "")
            key = "" if quoted else self._last(path, "agent")
        traces = [
            engine.trace_turn(each, record=True, ask=True) for each in dict.fromkeys((*keys, key)) if each
        ]
        return key, tuple(found for trace in traces if trace is not None for found in trace.corrections)


def _whole(replies: Sequence[ChatReply]) -> ChatReply:
    """All replies to one message as one, with their total usage."""
    if len(replies) == 1:
        return replies[0]
    used = [reply.usage for reply in replies]
    return replace(
        replies[-1],
        text="\n\n".join(reply.text for reply in replies if reply.text),
        usage=Usage(*(sum(values) for values in zip(*map(astuple, used), strict=True))),
    )


MOST = 4
"""Maximum number of tool rounds before the model has to reply."""

_ENOUGH = "\n\nNo further tool calls will be answered: reply to the message now."

Chat = Callable[["ChatRequest", float, Callable[[str], None]], Coroutine[Any, Any, "ChatReply"]]
"""Asks a model, on the loop: takes the request, the timeout in seconds and a callback for text pieces."""


class Exchange:
    """The model calls of one message; the provider's connections are closed afterwards.

    ``on_text`` gets each piece of text, on the waiting thread. ``answer`` runs a tool call. ``on_round`` gets
    a reply that called tools, their answers, and the next request before it is sent; an exception raised by
    it ends the exchange.
    """

    def __init__(
        self,
        provider: ChatProvider,
        request: ChatRequest,
        chat: Chat,
        *,
        on_text: Callable[[str], None],
        answer: Callable[[ToolUse], str],
        on_round: Callable[[ChatReply, Round, ChatRequest], None],
    ) -> None:
        self.done: list[tuple[ChatRequest, ChatReply]] = []
        """Requests and replies; the last reply may be incomplete."""
        self._provider = provider
        self._request = request
        self._chat = chat
        self._on_text = on_text
        self._answer = answer
        self._on_round = on_round
        self._said: list[str] = []  # of the reply in progress
        self._joint = ""  # separator before the next reply
        self._loop = LoopThread()
        self._cancelled = threading.Event()
        self._running: Future[ChatReply] | None = None

    def run(self, timeout: float) -> str:
        """Asks until the model calls no more tools, ``timeout`` seconds in all.

        Returns:
            Why the last reply is missing or incomplete; empty if it is complete.
        """
        ends = time.monotonic() + timeout
        try:
            while self._goes_on(max(0.0, ends - time.monotonic())):
                pass
        except CancelledError:
            failure = SendFailed("stopped", where=self._provider.name)
        except SendFailed as error:
            failure = error
        except AutopoiesisError as error:
            failure = SendFailed(error.what, where=error.where, hint=error.hint)
        except Exception as error:  # noqa: BLE001 — whatever a client's package raises, the reply so far is kept
            # The exception's text may quote its input, including a key, so only its type is reported.
            failure = SendFailed(f"unexpected {type(error).__name__}", where=self._provider.name)
        else:
            if self.done[-1][1].calls:
                return f"the model called tools {len(self.done)} times and did not reply"
            return "" if any(reply.text.strip() for _, reply in self.done) else "the reply is empty"
        finally:
            self._loop.close(self._provider.aclose)
        # What had come is paid for.
        text = failure.partial or "".join(self._said)
        broken = ChatReply(text, failure.usage or Usage(), self._provider.model)
        self.done.append((self._request, broken))
        return str(failure)

    def cancel(self) -> None:
        """Cancels the exchange, from any thread."""
        self._cancelled.set()
        if self._running is not None:
            self._running.cancel()

    def _goes_on(self, timeout: float) -> bool:
        """Asks once; returns whether to ask the model again."""
        request = self._request
        reply = self._reply(request, timeout)
        self.done.append((request, reply))
        count = len(request.rounds)
        if not reply.calls or not request.tools or count == MOST:
            return False
        last = _ENOUGH if count == MOST - 1 else ""
        answered = Round(reply.items, tuple((call, self._answer(call) + last) for call in reply.calls))
        following = replace(request, rounds=(*request.rounds, answered))
        self._said.clear()
        self._on_round(reply, answered, following)
        self._joint = "\n\n" if reply.text else self._joint
        self._request = following
        return True

    def _reply(self, request: ChatRequest, timeout: float) -> ChatReply:
        pieces: SimpleQueue[str | None] = SimpleQueue()
        if self._cancelled.is_set():
            raise CancelledError
        running = self._running = self._loop.start(self._chat(request, timeout, pieces.put))
        if self._cancelled.is_set():  # in the meantime; no lock, as a signal may cancel on this thread
            running.cancel()
        running.add_done_callback(lambda _done: pieces.put(None))
        while (text := pieces.get()) is not None:
            text, self._joint = self._joint + text, ""
            self._said.append(text)
            self._on_text(text)
        return running.result()


class Bills:
    """The costs of a workspace, as needed for sending."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs

    def allow(self, service: ModelService, input_tokens: int = 0, output_tokens: int = 0) -> None:
        """Checks that the budget covers a call of at most so many tokens.

        Raises:
            CostLimit: The budget is spent, or the call could exceed the rest of it.
        """
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        self._costs.account("chat", service).allow(usage)

    def least_cacheable(self, service: ModelService) -> int:
        """Minimum cacheable prefix of the service's model, in tokens."""
        return self._costs.prices.least_cacheable(service.model, service.name)

    def stored(self, service: ModelService, discussion: str, tokens: int, seconds: float) -> float | None:
        """Records cache storage; returns its cost, if known."""
        usage = Usage(cache_write_tokens=tokens)
        cost = None if service.address else self._costs.prices.storage(service.model, tokens, seconds)
        self._costs.log.record(
            "cache",
            service.name,
            service.model,
            usage,
            cost_usd=cost,
            address=service.address,
            discussion=discussion,
        )
        return cost

    def spent(
        self, service: ModelService, reply: ChatReply, discussion: str, *, estimated: bool = False
    ) -> float | None:
        """Records a call; returns its cost in US dollars, if known.

        ``estimated``: the tokens were counted here because the service did not report them.
        """
        return self._costs.account("chat", service).spent(reply, (), discussion, estimated=estimated)
