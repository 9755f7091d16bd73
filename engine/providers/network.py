"""What the providers that are reached over the network have in common.

A provider says how to connect, how one request is made, what its errors mean, and which other form to give a
request that was refused. Deadline, retries and the words of errors are the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import CancelledError
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.errors import GateError
from engine.providers.attempts import ServiceFailure, persist, said_by, seconds_to_wait
from engine.providers.base import Client, Completion, Connections
from engine.providers.keys import key_for, key_sent, shown_address
from engine.providers.pricing import cost_of, model_named

CLIENT_TIMEOUT_S = 600.0
"""A client's own limit, out of the way: its limits are for parts of a response, ours is for the whole."""

Form = TypeVar("Form")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: see ``CompletionProvider.complete``."""

    system: str
    prompt: str
    max_tokens: int
    temperature: float


class NetworkProvider(ABC, Generic[Form, Client]):
    """A ``CompletionProvider`` that asks a server.

    Nothing is connected and no key is read before the first question.

    Args:
        model: The model, an alias, or empty for the provider's cheapest.
        address: Another server with the same interface (``gate.base_url``); empty for the provider's own, or
            the one that ``address_variable`` names.

    Attributes:
        name: As the settings call it.
        key_variable: Environment variable with the provider's own key.
        address_variable: Environment variable that moves the provider's own address.
    """

    name = ""
    key_variable = ""
    address_variable = ""

    def __init__(self, model: str = "", address: str = "") -> None:
        self.model = model_named(self.name, model)
        self.address = address
        self._form = self._first_form()
        self._connections: Connections[Client] = Connections(self._connect)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, address={shown_address(self.address)!r})"

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, temperature: float, timeout: float
    ) -> Completion:
        """As ``CompletionProvider.complete``. Models that think first are asked not to, where they can."""
        request = Request(system, prompt, max_tokens, temperature)

        async def attempt(form: Form) -> Completion:
            return await self._attempt(form, request)

        completion, self._form = await persist(
            attempt, self._form, self._adapt, provider=self, key_variable=self.key_variable, timeout=timeout
        )
        return completion

    async def aclose(self) -> None:
        """Closes the connections that were opened on the running event loop."""
        await self._connections.close()

    async def _attempt(self, form: Form, request: Request) -> Completion:
        failure: ServiceFailure
        try:
            return await self._completion(await self._connections.get(), form, request)
        except (GateError, ServiceFailure, CancelledError):
            raise  # first: asking for the client's errors would wait for an import that is under way
        except self._errors() as error:
            failure = self._failure(error)
        except OSError:
            failure = ServiceFailure(0)
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            failure = ServiceFailure(-1)  # a reply of another form than the interface promises
        raise failure

    def _key(self) -> str:
        return key_for(self.key_variable, self.address, self.address_variable)

    def _cost(self, sent: int, written: int) -> float | None:
        return None if self.address else cost_of(self.model, sent, written)

    @abstractmethod
    def _first_form(self) -> Form:
        """The form of a request that fits the model best, as far as that is known."""

    @abstractmethod
    def _connect(self) -> Client:
        """A client. Called in a thread, since importing the client's package takes long."""

    @abstractmethod
    async def _completion(self, client: Client, form: Form, request: Request) -> Completion:
        """One attempt. May raise ``ServiceFailure``, and whatever reading a reply of another form raises."""

    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """The client's own exceptions."""

    @abstractmethod
    def _failure(self, error: Exception) -> ServiceFailure:
        """What one of them means."""

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
