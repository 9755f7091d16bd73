"""What the providers that are reached over the network have in common.

A provider says how to connect, how one request is made, what its errors mean, and which other form to give a
request that was refused. Deadline, retries and the words of errors are the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import CancelledError
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.errors import AutopoiesisError
from engine.providers.attempts import ServiceFailure, persist, said_by, seconds_to_wait
from engine.providers.base import Client, Completion, Connections
from engine.providers.keys import GATE, key_for, key_sent, shown_address
from engine.providers.pricing import cost_of, model_named

CLIENT_TIMEOUT_S = 600.0
"""A client's own limit, out of the way: its limits are for parts of a response, ours is for the whole."""

Form = TypeVar("Form")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: see ``CompletionProvider.complete``."""

    system: str
    prompt: str
    max_tokens: int
    temperature: float


class Service(ABC, Generic[Client]):
    """A server that is asked with a client of its own.

    Nothing is connected and no key is read before the first question.

    Args:
        model: The model, an alias, or empty for the default.
        address: Another server with the same interface (``gate.base_url``, ``chat.base_url``); empty for the
            provider's own, or the one that ``address_variable`` names.

    Attributes:
        name: As the settings call it.
        key_variable: Environment variable with the provider's own key.
        address_variable: Environment variable that moves the provider's own address.
        purpose: What it is asked for.
    """

    name = ""
    key_variable = ""
    address_variable = ""
    purpose = GATE

    def __init__(self, model: str = "", address: str = "") -> None:
        self.model = self._model_meant(model)
        self.address = address
        self._connections: Connections[Client] = Connections(self._connect)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, address={shown_address(self.address)!r})"

    async def aclose(self) -> None:
        """Closes the connections that were opened on the running event loop."""
        await self._connections.close()

    async def _tried(self, step: Awaitable[Result]) -> Result:
        """What a step of an attempt gives.

        Raises:
            ServiceFailure: In the place of whatever else the step raises.
            AutopoiesisError: As the step.
        """
        failure: ServiceFailure
        try:
            return await step
        except (AutopoiesisError, ServiceFailure, CancelledError):
            raise  # first: asking for the client's errors would wait for an import that is under way
        except (*self._errors(), *transport_errors()) as error:
            lost = isinstance(error, transport_errors())
            failure = transport_failure(error) if lost else self._failure(error)
        except OSError:
            failure = ServiceFailure(0)
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            failure = ServiceFailure(-1)  # a reply of another form than the interface promises
        raise failure

    def _key(self) -> str:
        return key_for(self.key_variable, self.address, self.address_variable, self.purpose)

    @abstractmethod
    def _model_meant(self, model: str) -> str:
        """The model that a setting means."""

    @abstractmethod
    def _connect(self) -> Client:
        """A client. Called in a thread, since importing the client's package takes long."""

    def _errors(self) -> tuple[type[Exception], ...]:
        """The client's own exceptions, where it has any beside those of the HTTP client under it."""
        return ()

    def _failure(self, error: Exception) -> ServiceFailure:
        """What one of them means; not asked where there are none."""
        raise error


class NetworkProvider(Service[Client], Generic[Form, Client]):
    """A ``CompletionProvider`` that asks a server; empty for ``model`` means the provider's cheapest."""

    def __init__(self, model: str = "", address: str = "") -> None:
        super().__init__(model, address)
        self._form = self._first_form()

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, temperature: float, timeout: float
    ) -> Completion:
        """As ``CompletionProvider.complete``. Models that think first are asked not to, where they can."""
        request = Request(system, prompt, max_tokens, temperature)

        async def answer(form: Form) -> Completion:
            return await self._completion(await self._connections.get(), form, request)

        async def attempt(form: Form) -> Completion:
            return await self._tried(answer(form))

        completion, self._form = await persist(
            attempt,
            self._form,
            self._adapt,
            provider=self,
            key_variable=self.key_variable,
            timeout=timeout,
            purpose=self.purpose,
        )
        return completion

    def _model_meant(self, model: str) -> str:
        return model_named(self.name, model)

    def _cost(self, sent: int, written: int, cached: int = 0, cache_written: int = 0) -> float | None:
        return cost_of(
            self.model,
            sent,
            written,
            cached_tokens=cached,
            cache_write_tokens=cache_written,
            elsewhere=bool(self.address),
        )

    @abstractmethod
    def _first_form(self) -> Form:
        """The form of a request that fits the model best, as far as that is known."""

    @abstractmethod
    async def _completion(self, client: Client, form: Form, request: Request) -> Completion:
        """One attempt. May raise ``ServiceFailure``, and whatever reading a reply of another form raises."""

    @abstractmethod
    def _adapt(self, form: Form, failure: ServiceFailure) -> Form | None:
        """Another form after a refusal; ``None`` when the refusal is not about the form."""


def refusal(
    status: int, body: object, sent: Mapping[str, str], received: Mapping[str, str]
) -> ServiceFailure:
    """A response that is an error.

    Args:
        status: HTTP status.
        body: The response's JSON.
        sent: The request's headers: what quotes the key in them is not passed on.
        received: The response's headers.
    """
    return ServiceFailure(status, said_by(body, key_sent(sent)), seconds_to_wait(received))


def transport_errors() -> tuple[type[Exception], ...]:
    """What the HTTP client under all clients raises; theirs let some of it through while a reply streams."""
    from httpx2 import HTTPError, InvalidURL, StreamError  # noqa: PLC0415 — imported with the client

    return (HTTPError, InvalidURL, StreamError)


def transport_failure(error: Exception) -> ServiceFailure:
    """What one of these means."""
    from httpx2 import DecodingError, SSEError, TransportError  # noqa: PLC0415 — imported with the client

    lost = isinstance(error, TransportError) and not isinstance(error, DecodingError | SSEError)
    return ServiceFailure(0 if lost else -1)
