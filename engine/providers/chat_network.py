"""What chats over the network have in common: one deadline, the text in pieces, no other try after the first.

A provider says which request a chat makes and what its stream of events means; everything else is the same
for all.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from engine.errors import SendFailed
from engine.providers.attempts import ServiceFailure, persist
from engine.providers.base import Client
from engine.providers.chat import ChatReply, ChatRequest, ToolUse, Usage
from engine.providers.keys import CHAT, shown_address
from engine.providers.network import Service
from engine.providers.pricing import ALIASES, CHAT_MODELS

REPLY_LIMIT = 16_000_000
"""Characters of a reply; the longest that models write have some hundred thousand."""

_NUMBER = re.compile(r"\d[\d,]*")
_LEAST_LIMIT = 16

Form = TypeVar("Form")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Told:
    """What a stream of events has told beside the text.

    Attributes:
        usage: Tokens, as far as they are known.
        model: The model that answers; empty where nobody says.
        has_begun: Anything came at all that belongs to a reply.
        has_ended: The mark of its end came.
        cut: It ended at the token limit.
        declined: Why the model or the service would not answer, in one word or some; empty otherwise.
        calls: The tools that the model waits for.
        items: The reply in the service's own form, to be sent back with their answers.
    """

    usage: Usage = field(default_factory=Usage)
    model: str = ""
    has_begun: bool = False
    has_ended: bool = False
    cut: bool = False
    declined: str = ""
    calls: list[ToolUse] = field(default_factory=list)
    items: list[Mapping[str, Any]] = field(default_factory=list)


class Pieces:
    """The text of one reply as it comes, in characters that can be written down.

    A character beyond the first 65,536 may arrive as two halves in two pieces: they are joined. A half that
    stays alone becomes U+FFFD. All else passes through unchanged.

    Args:
        on_text: Gets each piece.

    Attributes:
        told: What the last attempt has told beside the text.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self.told = Told()
        self._said: list[str] = []
        self._half = ""
        self._characters = 0

    @property
    def text(self) -> str:
        """All pieces so far."""
        return "".join(self._said)

    @property
    def is_too_long(self) -> bool:
        """Whether no model writes so much."""
        return self._characters > REPLY_LIMIT

    def add(self, text: str) -> None:
        """Takes a piece over."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._pass_on(text[: len(text) - len(self._half)])

    def end(self) -> None:
        """Nothing more comes: what was kept back is passed on."""
        half, self._half = self._half, ""
        self._pass_on(half)

    def forget_half(self) -> None:
        """What was kept back belonged to an attempt that failed."""
        self._half = ""

    def _pass_on(self, text: str) -> None:
        if text:
            whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            self._characters += len(whole)
            self._said.append(whole)
            self._on_text(whole)


class ChatNetwork(Service[Client], Generic[Form, Client]):
    """A ``ChatProvider`` that asks a server; empty for ``model`` means the provider's default for chats."""

    purpose = CHAT

    def __init__(self, model: str = "", address: str = "") -> None:
        super().__init__(model, address)
        self._form = self._first_form()

    @property
    def takes_tools(self) -> bool:
        """Whether tools may be offered: a server with the same interface may have models that take none."""
        return not self.address and self._offers(self._form)

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        """As ``ChatProvider.chat``."""
        sent = _sendable(request)
        pieces = Pieces(on_text)
        before = self._form

        async def attempt(form: Form) -> ChatReply:
            return await self._attempt(form, sent, pieces)

        failed: SendFailed
        try:
            reply, form = await persist(
                attempt,
                before,
                lambda form, failure: self._adapt(form, failure, sent),
                provider=self,
                key_variable=self.key_variable,
                timeout=timeout,
                purpose=self.purpose,
            )
            if form != before:  # or what another chat has found out meanwhile would be forgotten
                self._form = form
            return reply
        except SendFailed as error:
            failed = error
        failed.partial = pieces.text
        failed.usage = pieces.told.usage if pieces.told.usage != Usage() else None
        raise failed

    async def count(self, request: ChatRequest, *, timeout: float) -> int | None:
        """As ``ChatProvider.count``: this service cannot tell."""
        return None

    async def _asked(self, ask: Callable[[Client], Awaitable[Answer]], timeout: float) -> Answer:
        """The answer to something else than a chat, with the same retries.

        Raises:
            SendFailed: There is none.
        """

        async def answer() -> Answer:
            return await ask(await self._connections.get())

        async def attempt(_form: None) -> Answer:
            return await self._tried(answer())

        found, _ = await persist(
            attempt,
            None,
            lambda _form, _failure: None,
            provider=self,
            key_variable=self.key_variable,
            timeout=timeout,
            purpose=self.purpose,
        )
        return found

    async def _attempt(self, form: Form, request: ChatRequest, pieces: Pieces) -> ChatReply:
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

    async def _heard(self, form: Form, request: ChatRequest, pieces: Pieces) -> ChatReply:
        told = pieces.told = Told()
        stream = self._stream(form, request, told)
        try:
            # What the listener raises is no failure of the service: it is called outside of ``_tried``.
            while (text := await self._tried(anext(stream, None))) is not None:
                pieces.add(text)
                if pieces.is_too_long:
                    raise self._refuse(f"wrote more than {REPLY_LIMIT:,} characters", "check what it is")
        finally:
            with suppress(ServiceFailure):
                await self._tried(stream.aclose())
        if told.declined:
            raise self._refuse(
                f"{self.model} declined to answer ({told.declined})",
                f"put the message differently, or choose another {self.purpose.model}",
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

    def _refuse(self, what: str, cure: str) -> SendFailed:
        place = shown_address(self.address)
        return SendFailed(what, where=f"{self.name} ({place})" if place else self.name, cure=cure)

    def _model_meant(self, model: str) -> str:
        return ALIASES.get(model, model) if model else CHAT_MODELS[self.name]

    @abstractmethod
    def _first_form(self) -> Form:
        """The form of a request that fits the model best, as far as that is known."""

    @abstractmethod
    def _offers(self, form: Form) -> bool:
        """Whether requests of this form offer tools: not once they were refused."""

    @abstractmethod
    def _stream(self, form: Form, request: ChatRequest, told: Told) -> AsyncGenerator[str, None]:
        """One attempt: the pieces of the text; all else goes to ``told``.

        May raise ``ServiceFailure``, and whatever reading events of another form raises.
        """

    @abstractmethod
    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        """Another form after a refusal; ``None`` when the refusal is not about the form."""


def tool_use(name: str, arguments: str, id: str) -> ToolUse:
    """A call whose arguments are the JSON that a model wrote."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    return ToolUse(name, given, id)


def lower_limit(said: str, asked: int) -> int | None:
    """The longest reply that a refusal of a longer one allows; ``None`` where it names none.

    Args:
        said: The service's words.
        asked: The tokens that were too many.
    """
    if "context" in said:  # prompt and reply together: nothing is known of the reply alone
        return None
    named = [int(number.replace(",", "")) for number in _NUMBER.findall(said)]
    allowed = max((number for number in named if _LEAST_LIMIT <= number < asked), default=None)
    return allowed - 1 if allowed is not None and "exclusive" in said else allowed


def _sendable(request: ChatRequest) -> ChatRequest:
    """The request without lone surrogates, which no service takes."""
    rounds = (
        replace(each, answers=tuple((call, _characters(answer)) for call, answer in each.answers))
        for each in request.rounds
    )
    prefix = tuple(map(_characters, request.prefix))
    return replace(request, prefix=prefix, rest=_characters(request.rest), rounds=tuple(rounds))


def _characters(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
