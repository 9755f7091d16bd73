"""How a service is asked, the same for all: its connections, one deadline, retries, the words of errors.

A client says how to connect, what one request is, what its errors mean, and which other form to give one that
was refused. What leaves is looked through by ``outgoing``; what a failure leads to is for ``attempts``.
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
from engine.providers.attempts import ServiceFailure, explained, late, named, pause_after
from engine.providers.chat import ChatReply, ChatRequest, Usage
from engine.providers.keys import CHAT, Purpose, key_for, shown_address
from engine.providers.pricing import ALIASES, CHAT_MODELS, DEFAULT_MODELS
from engine.providers.reply import Pieces, Told

CLIENT_TIMEOUT_S = 600.0
"""A client's own limit, out of the way: its limits are for parts of a response, ours is for the whole."""
REPLY_LIMIT = 16_000_000
"""Characters of a reply that comes in pieces; the longest that models write have some hundred thousand."""
ADAPTATIONS = 6
"""Times a request is put in another form because the model refuses a parameter."""
LIMIT_SAID = re.compile(r"max_?(?:completion_?|output_?)?tokens")
_TOOLS_SAID = re.compile(r"function.?(?:call|declaration)|tool")
_NUMBER = re.compile(r"\d[\d,]*")
_LEAST_LIMITS = (16, 256)
"""Tokens that the shortest reply is given, one after the other, where a service refuses fewer."""

Answer = TypeVar("Answer")


class Closable(Protocol):
    """A client of a service."""

    def close(self) -> Awaitable[None]: ...


Client = TypeVar("Client", bound=Closable)


class Connections(Generic[Client]):
    """One client per event loop, made when it is first needed.

    A client's connections belong to the loop they were opened on. Making one imports its package and reads
    the system's certificates, which takes up to two seconds: that happens in a thread.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._clients: dict[asyncio.AbstractEventLoop, asyncio.Future[Client]] = {}

    async def get(self) -> Client:
        """The client of the running loop.

        Raises:
            AutopoiesisError: As ``connect``; it is tried again the next time.
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
    """A server that is asked with a client of its own.

    Nothing is connected and no key is read before the first question. ``address`` is another server with the
    same interface (``gate.base_url``, ``chat.base_url``); empty for the provider's own, or the one that the
    ``address_variable`` of the environment names. The errors name the settings of the ``purpose``.
    """

    name = ""  # as the settings call it
    key_variable = ""  # environment variable with the provider's own key
    address_variable = ""  # environment variable that moves the provider's own address

    def __init__(self, model: str, address: str, purpose: Purpose) -> None:
        self.model = model
        self.address = address
        self.purpose = purpose
        self._connections: Connections[Client] = Connections(self._connect)
        self._form = self._first_form()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, address={shown_address(self.address)!r})"

    async def aclose(self) -> None:
        """Closes the connections that were opened on the running event loop."""
        await self._connections.close()

    async def _asked(
        self,
        ask: Callable[[Client, Form], Awaitable[Answer]],
        timeout: float,
        *,
        adapt: Callable[[Form, ServiceFailure], Form | None] = lambda _form, _failure: None,
        purpose: Purpose | None = None,
    ) -> Answer:
        """The answer to a request.

        Raises:
            AutopoiesisError: That of the purpose: there is none.
        """

        async def connected(form: Form) -> Answer:
            return await ask(await self._connections.get(), form)

        return await self._persisted(lambda form: self._tried(connected(form)), adapt, timeout, purpose)

    async def _persisted(
        self,
        attempt: Callable[[Form], Awaitable[Answer]],
        adapt: Callable[[Form, ServiceFailure], Form | None],
        timeout: float,
        purpose: Purpose | None = None,
    ) -> Answer:
        """Attempts until there is an answer or no hope, all within ``timeout`` seconds.

        The form that got the answer is where the next request begins. Errors are raised anew, outside the
        handlers of those they stand for: a chained traceback would lead to frames that hold the key, and a
        crash report shows the variables of frames.

        Args:
            attempt: One attempt with the request in a given form; raises ``ServiceFailure``.
            adapt: Another form after a refusal, or ``None`` when the refusal is not about the form.

        Raises:
            AutopoiesisError: That of the purpose; the message says why and what to do, and holds no key.
        """
        purpose = purpose or self.purpose
        form = before = self._form
        verdict: AutopoiesisError | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout) as limit:
                adaptations = retries = 0
                while verdict is None:
                    try:
                        answer = await attempt(form)
                        if form != before:  # or what another request has found out meanwhile would be lost
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
                        verdict = explained(failure, self, self.key_variable, retries, purpose)
                    else:
                        retries += 1
                        await asyncio.sleep(pause)
        raise verdict or late(self.name, timeout, purpose)

    async def _tried(self, step: Awaitable[Answer]) -> Answer:
        """What a step of an attempt gives.

        Raises:
            ServiceFailure: In the place of whatever else the step raises.
            AutopoiesisError: As the step.
        """
        failure: ServiceFailure
        try:
            return await step
        except (AutopoiesisError, ServiceFailure, asyncio.CancelledError):
            raise  # first: asking for the client's errors would wait for an import that is under way
        except (*self._errors(), *_transport_errors()) as error:
            lost = isinstance(error, _transport_errors())
            failure = _transport_failure(error) if lost else self._failure(error)
        except OSError:
            failure = ServiceFailure(0)
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            failure = ServiceFailure(-1)  # a reply of another form than the interface promises
        raise failure

    def _key(self) -> str:
        return key_for(self.key_variable, self.address, self.address_variable, self.purpose)

    @abstractmethod
    def _connect(self) -> Client:
        """A client. Called in a thread, since importing the client's package takes long."""

    @abstractmethod
    def _first_form(self) -> Form:
        """The form of a request that fits the model best, as far as that is known."""

    def _errors(self) -> tuple[type[Exception], ...]:
        """The client's own exceptions, where it has any beside those of the HTTP client under it."""
        return ()

    def _failure(self, error: Exception) -> ServiceFailure:
        """What one of them means; not asked where there are none."""
        raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatForm:
    """What models and servers differ in, whichever service it is."""

    temperature: bool = True  # one may be given
    tools: bool = True  # functions may be offered
    least_tokens: int = 1  # the shortest reply that may be asked for
    most_tokens: int | None = None  # the longest; ``None`` where nothing is known of one

    def tokens(self, request: ChatRequest) -> int:
        """The longest reply to a request."""
        return min(max(request.max_tokens, self.least_tokens), self.most_tokens or sys.maxsize)

    def offers(self, request: ChatRequest) -> bool:
        """Whether functions are offered with a request."""
        return self.tools and bool(request.tools)


F = TypeVar("F", bound=ChatForm)


class ChatService(Service[Client, F]):
    """A ``ChatProvider`` that asks a server.

    ``model`` may be an alias; empty for the provider's default for chats, and its cheapest for all else.
    """

    def __init__(self, model: str = "", address: str = "", *, purpose: Purpose) -> None:
        default = (CHAT_MODELS if purpose is CHAT else DEFAULT_MODELS)[self.name]
        super().__init__(ALIASES.get(model, model) or default, address, purpose)

    @property
    def takes_tools(self) -> bool:
        """Whether tools may be offered: a server with the same interface may have models that take none."""
        return not self.address and self._form.tools

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        """As ``ChatProvider.chat``."""
        sent = without_surrogates(request)
        pieces = Pieces(on_text)
        failed: AutopoiesisError
        try:
            return await self._persisted(
                lambda form: self._attempt(form, sent, pieces),
                lambda form, failure: self._adapt(form, failure, sent),
                timeout,
            )
        except AutopoiesisError as error:
            failed = error
        if isinstance(failed, SendFailed):
            failed.partial = pieces.text
            failed.usage = pieces.told.usage if pieces.told.usage != Usage() else None
        raise failed

    async def _attempt(self, form: F, request: ChatRequest, pieces: Pieces) -> ChatReply:
        failure: ServiceFailure
        try:
            return await self._heard(form, request, pieces)
        except ServiceFailure as error:
            failure = error
        pieces.forget_half()
        if pieces.text:
            broke_off = failure.status in (0, -1)  # whatever ended it, there was a reply
            failure = ServiceFailure(
                -2 if broke_off else failure.status, failure.said, failure.retry_after, is_final=True
            )
        raise failure

    async def _heard(self, form: F, request: ChatRequest, pieces: Pieces) -> ChatReply:
        told = pieces.told = Told()
        client = await self._tried(self._connections.get())
        stream = self._stream(client, form, request, told)
        try:
            # What the listener raises is no failure of the service: it is called outside of ``_tried``.
            while (text := await self._tried(anext(stream, None))) is not None:
                pieces.add(text)
                if pieces.characters > REPLY_LIMIT and not request.at_once:
                    raise self._refuse(
                        f"wrote more than {REPLY_LIMIT:,} characters", "check which server answers"
                    )
        finally:
            with suppress(ServiceFailure):
                await self._tried(stream.aclose())
        if told.declined and not request.at_once:
            raise self._refuse(
                f"{self.model} declined to answer ({told.declined})",
                f"rephrase the message, or choose another {self.purpose.model}",
            )
        if not told.has_ended:
            raise ServiceFailure(-2 if told.has_begun else -1)
        pieces.end()
        return ChatReply(
            pieces.text,
            told.usage,
            told.model or self.model,
            told.cut,
            calls=tuple(told.calls),
            items=tuple(told.items) if told.calls else (),
        )

    def _refuse(self, what: str, hint: str) -> AutopoiesisError:
        return self.purpose.error(what, where=named(self), hint=hint)

    @abstractmethod
    def _stream(self, client: Client, form: F, request: ChatRequest, told: Told) -> AsyncGenerator[str, None]:
        """One attempt: the pieces of the text, of a reply at once a single one; all else goes to ``told``.

        May raise ``ServiceFailure``, and whatever reading events of another form raises.
        """

    def _adapt(self, form: F, failure: ServiceFailure, request: ChatRequest) -> F | None:
        """Another form after a refusal; ``None`` when the refusal is not about the form."""
        said = failure.said.lower()
        if request.at_once and form.temperature and "temperature" in said:
            return replace(form, temperature=False)
        if form.offers(request) and _TOOLS_SAID.search(said):
            return replace(form, tools=False)
        if LIMIT_SAID.search(said) is None:
            return None
        asked = form.tokens(request)
        allowed = lower_limit(said, asked)
        if allowed is not None:
            return replace(form, most_tokens=allowed)
        more = next((least for least in _LEAST_LIMITS if asked < least), None)
        return None if more is None else replace(form, least_tokens=more)


def lower_limit(said: str, asked: int) -> int | None:
    """The longest reply that a refusal of ``asked`` tokens allows; ``None`` where it names none."""
    if "context" in said:  # prompt and reply together: nothing is known of the reply alone
        return None
    numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(said)]
    allowed = max((number for number in numbers if _LEAST_LIMITS[0] <= number < asked), default=None)
    return allowed - 1 if allowed is not None and "exclusive" in said else allowed


def without_surrogates(request: ChatRequest) -> ChatRequest:
    """The request without lone surrogates, which no service takes."""
    rounds = (
        replace(each, answers=tuple((call, _characters(answer)) for call, answer in each.answers))
        for each in request.rounds
    )
    prefix = tuple(map(_characters, request.prefix))
    return replace(request, prefix=prefix, rest=_characters(request.rest), rounds=tuple(rounds))


def _characters(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _transport_errors() -> tuple[type[Exception], ...]:
    """What the HTTP client under all clients raises; theirs let some of it through while a reply streams."""
    from httpx2 import HTTPError, InvalidURL, StreamError  # noqa: PLC0415 — imported with the client

    return (HTTPError, InvalidURL, StreamError)


def _transport_failure(error: Exception) -> ServiceFailure:
    """What one of these means."""
    from httpx2 import DecodingError, SSEError, TransportError  # noqa: PLC0415 — imported with the client

    lost = isinstance(error, TransportError) and not isinstance(error, DecodingError | SSEError)
    return ServiceFailure(0 if lost else -1)
