"""What all services share: connections, one deadline, retries, error messages.

A subclass defines how to connect, a single request, the meaning of its client's errors, and how to adapt a
rejected request. ``outgoing`` redacts what is sent; ``attempts`` decides what follows a failure.
"""

from __future__ import annotations

import asyncio
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from engine.errors import AutopoiesisError, SendFailed
from engine.providers.attempts import ServiceFailure, display_name, final_error, pause_after, timeout_error
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.providers.keys import CHAT, Purpose, key_for, shown_address
from engine.providers.pricing import ALIASES, CHAT_MODELS, DEFAULT_MODELS
from engine.providers.reply import Pieces, ReplyInfo

CLIENT_TIMEOUT_S = 600.0
"""Timeout of the client, long enough never to apply: it limits parts of a response, ours all of it."""
REPLY_LIMIT = 16_000_000
"""Maximum characters of a streamed reply; models write a few hundred thousand at most."""
ADAPTATIONS = 6
"""How often a request is adapted because the model rejects a parameter."""
LIMIT_MESSAGE = re.compile(r"max_?(?:completion_?|output_?)?tokens")
_TOOLS_MESSAGE = re.compile(r"function.?(?:call|declaration)|tool")
_NUMBER = re.compile(r"\d[\d,]*")
_MIN_LIMITS = (16, 256)
"""Token limits to try, in this order, if a service rejects a smaller one."""

T = TypeVar("T")


class Closable(Protocol):
    """A client of a service."""

    def close(self) -> Awaitable[None]: ...


Client = TypeVar("Client", bound=Closable)


class Connections(Generic[Client]):
    """One client per event loop, created on first use.

    A client's connections belong to the loop they were opened on. Creating one imports its package and reads
    the system's certificates, which takes up to two seconds, so it happens in a thread.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._clients: dict[asyncio.AbstractEventLoop, asyncio.Future[Client]] = {}

    async def get(self) -> Client:
        """The client of the running loop.

        Raises:
            AutopoiesisError: As ``connect``, which is called again the next time.
        """
        loop = asyncio.get_running_loop()
        for other in [other for other in self._clients if other.is_closed()]:
            del self._clients[other]
        making = self._clients.get(loop)
        if making is None or (making.done() and (making.cancelled() or making.exception() is not None)):
            making = self._clients[loop] = asyncio.ensure_future(asyncio.to_thread(self._connect))
        return await asyncio.shield(making)

    async def close(self) -> None:
        """Closes the connections of the running loop."""
        made = self._clients.pop(asyncio.get_running_loop(), None)
        if made is not None and made.done() and not made.cancelled() and made.exception() is None:
            await made.result().close()


Form = TypeVar("Form")


class Service(ABC, Generic[Client, Form]):
    """A server and its client.

    Nothing is connected and no key is read before the first request. ``address`` is another server with the
    same API (``gate.base_url``, ``chat.base_url``); empty for the provider's own, or the one named by the
    environment variable ``address_variable``. Errors name the settings of the ``purpose``.
    """

    name = ""  # the provider's name in the settings
    key_variable = ""  # environment variable with the provider's own key
    address_variable = ""  # environment variable that overrides the provider's own address

    def __init__(self, model: str, address: str, purpose: Purpose) -> None:
        self.model = model
        self.address = address
        self.purpose = purpose
        self._connections: Connections[Client] = Connections(self._connect)
        self._form = self._first_form()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, address={shown_address(self.address)!r})"

    async def aclose(self) -> None:
        """Closes the connections opened on the running event loop."""
        await self._connections.close()

    async def _request(
        self,
        ask: Callable[[Client, Form], Awaitable[T]],
        timeout: float,
        *,
        adapt: Callable[[Form, ServiceFailure], Form | None] = lambda _form, _failure: None,
        purpose: Purpose | None = None,
    ) -> T:
        """The response to a request.

        Raises:
            AutopoiesisError: The purpose's error: there is none.
        """

        async def connected(form: Form) -> T:
            return await ask(await self._connections.get(), form)

        return await self._with_retries(
            lambda form: self._translated(connected(form)), adapt, timeout, purpose
        )

    async def _with_retries(
        self,
        attempt: Callable[[Form], Awaitable[T]],
        adapt: Callable[[Form, ServiceFailure], Form | None],
        timeout: float,
        purpose: Purpose | None = None,
    ) -> T:
        """Retries until there is a response or no hope of one, within ``timeout`` seconds in total.

        The next request starts with the form that succeeded. Errors are raised outside the handlers of the
        errors that caused them: a chained traceback would lead to frames that hold the key, and crash reports
        show the variables of frames.

        Args:
            attempt: One attempt with the request in a given form; raises ``ServiceFailure``.
            adapt: Another form after a rejected request; ``None`` if the form is not the reason.

        Raises:
            AutopoiesisError: The purpose's error; the message says why and what to do, and contains no key.
        """
        purpose = purpose or self.purpose
        form = before = self._form
        final: AutopoiesisError | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout) as limit:
                adaptations = retries = 0
                while final is None:
                    try:
                        answer = await attempt(form)
                        if form != before:  # do not overwrite what a concurrent request has found out
                            self._form = form
                        return answer
                    except ServiceFailure as error:
                        failure = error
                    refused = failure.status in (400, 404, 405, 422) and not failure.is_final
                    other = adapt(form, failure) if refused else None
                    if other is not None and adaptations < ADAPTATIONS:
                        adaptations += 1
                        form = other
                        continue
                    pause = pause_after(failure, retries)
                    left = (limit.when() or 0.0) - asyncio.get_running_loop().time()
                    if pause is None or pause >= left:
                        final = final_error(failure, self, self.key_variable, retries, purpose)
                    else:
                        retries += 1
                        await asyncio.sleep(pause)
        raise final or timeout_error(self.name, timeout, purpose)

    async def _translated(self, step: Awaitable[T]) -> T:
        """The result of a step of an attempt, with errors translated.

        Raises:
            ServiceFailure: Instead of any other error of the step.
            AutopoiesisError: As the step.
        """
        failure: ServiceFailure
        try:
            return await step
        except (AutopoiesisError, ServiceFailure, asyncio.CancelledError):
            raise  # first: looking up the client's errors would wait for an import in progress
        except (*self._errors(), *_transport_errors()) as error:
            lost = isinstance(error, _transport_errors())
            failure = _transport_failure(error) if lost else self._failure(error)
        except OSError:
            failure = ServiceFailure(0)
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            failure = ServiceFailure(-1)  # the reply does not have the documented format
        raise failure

    def _key(self) -> str:
        return key_for(self.key_variable, self.address, self.address_variable, self.purpose)

    @abstractmethod
    def _connect(self) -> Client:
        """Creates a client. Called in a thread, since importing the client's package is slow."""

    @abstractmethod
    def _first_form(self) -> Form:
        """The form of a request most likely to be accepted by the model."""

    def _errors(self) -> tuple[type[Exception], ...]:
        """The client's own exceptions, besides those of the underlying HTTP client."""
        return ()

    def _failure(self, error: Exception) -> ServiceFailure:
        """Translates one of ``_errors``; not called if there are none."""
        raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatForm:
    """What models and servers of any service differ in."""

    temperature: bool = True  # accepted
    tools: bool = True  # accepted
    min_tokens: int = 1  # lowest accepted token limit of the reply
    max_tokens: int | None = None  # highest accepted token limit; ``None`` if unknown

    def max_tokens_for(self, request: ChatRequest) -> int:
        """The token limit for the reply to a request."""
        return min(max(request.max_tokens, self.min_tokens), self.max_tokens or sys.maxsize)

    def offers_tools(self, request: ChatRequest) -> bool:
        """Whether a request offers tools."""
        return self.tools and bool(request.tools)


F = TypeVar("F", bound=ChatForm)


class ChatService(Service[Client, F]):
    """A ``ChatProvider`` that calls a server.

    ``model`` may be an alias; if empty, chats use the provider's default chat model, everything else its
    cheapest one.
    """

    def __init__(self, model: str = "", address: str = "", *, purpose: Purpose) -> None:
        default = (CHAT_MODELS if purpose is CHAT else DEFAULT_MODELS)[self.name]
        super().__init__(ALIASES.get(model, model) or default, address, purpose)

    @property
    def takes_tools(self) -> bool:
        """Whether tools may be offered; models on a compatible server may not support them."""
        return not self.address and self._form.tools

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        """As ``ChatProvider.chat``."""
        sent = without_surrogates(request)
        pieces = Pieces(on_text)
        failed: AutopoiesisError
        try:
            return await self._with_retries(
                lambda form: self._attempt(form, sent, pieces),
                lambda form, failure: self._adapt(form, failure, sent),
                timeout,
            )
        except AutopoiesisError as error:
            failed = error
        if isinstance(failed, SendFailed):
            failed.partial = pieces.text
            failed.usage = pieces.info.usage if pieces.info.usage != Usage() else None
        raise failed

    async def _attempt(self, form: F, request: ChatRequest, pieces: Pieces) -> ChatReply:
        failure: ServiceFailure
        try:
            return await self._receive(form, request, pieces)
        except ServiceFailure as error:
            failure = error
        pieces.discard_half()
        if pieces.text:
            was_cut_off = failure.status in (0, -1)  # whatever ended it, there was a reply
            failure = ServiceFailure(
                -2 if was_cut_off else failure.status, failure.message, failure.retry_after, is_final=True
            )
        raise failure

    async def _receive(self, form: F, request: ChatRequest, pieces: Pieces) -> ChatReply:
        info = pieces.info = ReplyInfo()
        client = await self._translated(self._connections.get())
        stream = self._stream(client, form, request, info)
        try:
            # An error of the callback is not a failure of the service: call it outside ``_translated``.
            while (text := await self._translated(anext(stream, None))) is not None:
                pieces.add(text)
                if pieces.characters > REPLY_LIMIT and not request.at_once:
                    raise self._error(
                        f"wrote more than {REPLY_LIMIT:,} characters", "check which server answers"
                    )
        finally:
            with suppress(ServiceFailure):
                await self._translated(stream.aclose())
        if info.declined and not request.at_once:
            raise self._error(
                f"{self.model} declined to answer ({info.declined})",
                f"rephrase the message, or choose another {self.purpose.model}",
            )
        if not info.has_ended:
            raise ServiceFailure(-2 if info.has_begun else -1)
        pieces.end()
        return ChatReply(
            pieces.text,
            info.usage,
            info.model or self.model,
            info.cut,
            calls=tuple(info.calls),
            items=tuple(info.items) if info.calls else (),
        )

    def _error(self, what: str, hint: str) -> AutopoiesisError:
        return self.purpose.error(what, where=display_name(self), hint=hint)

    @abstractmethod
    def _stream(
        self, client: Client, form: F, request: ChatRequest, info: ReplyInfo
    ) -> AsyncGenerator[str, None]:
        """One attempt: yields the text in pieces, or at once; everything else is stored in ``info``.

        May raise ``ServiceFailure``, and whatever reading malformed events raises.
        """

    def _adapt(self, form: F, failure: ServiceFailure, request: ChatRequest) -> F | None:
        """Another form after a rejected request; ``None`` if the form is not the reason."""
        message = failure.message.lower()
        if request.at_once and form.temperature and "temperature" in message:
            return replace(form, temperature=False)
        if form.offers_tools(request) and _TOOLS_MESSAGE.search(message):
            return replace(form, tools=False)
        if LIMIT_MESSAGE.search(message) is None:
            return None
        asked = form.max_tokens_for(request)
        allowed = lower_limit(message, asked)
        if allowed is not None:
            return replace(form, max_tokens=allowed)
        more = next((least for least in _MIN_LIMITS if asked < least), None)
        return None if more is None else replace(form, min_tokens=more)


def lower_limit(message: str, asked: int) -> int | None:
    """The highest token limit allowed by a rejection of ``asked`` tokens; ``None`` if it names none."""
    if "context" in message:  # prompt and reply together: it says nothing about the reply alone
        return None
    numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(message)]
    allowed = max((number for number in numbers if _MIN_LIMITS[0] <= number < asked), default=None)
    return allowed - 1 if allowed is not None and "exclusive" in message else allowed


def without_surrogates(request: ChatRequest) -> ChatRequest:
    """The request without lone surrogates, which no service accepts."""
    rounds = (
        replace(each, answers=tuple((call, _encodable(answer)) for call, answer in each.answers))
        for each in request.rounds
    )
    prefix = tuple(map(_encodable, request.prefix))
    return replace(request, prefix=prefix, rest=_encodable(request.rest), rounds=tuple(rounds))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _transport_errors() -> tuple[type[Exception], ...]:
    """Errors of the HTTP client that all clients use, some of which they let through while streaming."""
    from httpx2 import HTTPError, InvalidURL, StreamError  # noqa: PLC0415 — imported with the client

    return (HTTPError, InvalidURL, StreamError)


def _transport_failure(error: Exception) -> ServiceFailure:
    """Translates one of ``_transport_errors``."""
    from httpx2 import DecodingError, SSEError, TransportError  # noqa: PLC0415 — imported with the client

    lost = isinstance(error, TransportError) and not isinstance(error, DecodingError | SSEError)
    return ServiceFailure(0 if lost else -1)
