"""Batches: many requests at once, answered within a day at half the price.

If the response to a submission is lost, look for the batch with ``find`` before submitting again: an accepted
batch is billed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from engine.providers.attempts import ServiceFailure, display_name
from engine.providers.chat import ChatReply, ChatRequest
from engine.providers.loop import LoopThread
from engine.providers.pricing import BATCH_SHARE, current
from engine.providers.reply import Pieces, ReplyInfo
from engine.providers.transport import ChatService, Client, F, without_surrogates

MOST_REQUESTS = 10_000
MOST_BYTES = 32 * 1024 * 1024
"""Limits for the requests in one batch; the services accept more of both."""
EXPIRED, CANCELED = "expired", "canceled"
"""Result of a request that was neither processed nor billed."""
Outcome = ChatReply | str
"""The outcome of a request: a reply, or why there is none, in one or two words."""

_ASK_S, _TRANSFER_S = 60.0, 600.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Progress of a batch."""

    done: int  # requests; some services count only at the end
    total: int
    ended: bool
    refused: str = ""  # why the service rejected the whole batch, which then costs nothing


class BatchService(ChatService[Client, F]):
    """A service that accepts batches, with the same client. Every method raises the purpose's error."""

    async def submit(self, requests: Mapping[str, ChatRequest], label: str) -> str:
        """Submits a batch; returns its id.

        Args:
            requests: By custom id: letters and digits, at most 64.
            label: For ``find``; in the same format.
        """
        wanted = {key: without_surrogates(request) for key, request in requests.items()}
        return await self._request(
            lambda client, form: self._submit(client, form, wanted, label),
            _TRANSFER_S,
            adapt=self._reject_unsupported,
        )

    async def find(self, label: str, since: datetime, size: int, known: Collection[str]) -> str:
        """The id of a batch of ``size`` requests accepted since then; empty if there is none.

        Args:
            known: Ids of other batches, to exclude.
        """
        return await self._request(
            lambda client, _form: self._find(client, label, since, size, known),
            _ASK_S,
            adapt=self._reject_unsupported,
        )

    async def progress(self, batch: str) -> BatchProgress:
        """Progress of a batch."""
        return await self._request(
            lambda client, _form: self._progress(client, batch), _ASK_S, adapt=self._reject_missing(batch)
        )

    async def outcomes(self, batch: str) -> dict[str, Outcome]:
        """The results of a finished batch; may be called repeatedly."""
        return await self._request(
            lambda client, _form: self._outcomes(client, batch),
            _TRANSFER_S,
            adapt=self._reject_missing(batch),
        )

    # Implemented by each service.

    @abstractmethod
    async def _submit(
        self, client: Client, form: F, requests: Mapping[str, ChatRequest], label: str
    ) -> str: ...

    @abstractmethod
    async def _find(
        self, client: Client, label: str, since: datetime, size: int, known: Collection[str]
    ) -> str: ...

    @abstractmethod
    async def _progress(self, client: Client, batch: str) -> BatchProgress: ...

    @abstractmethod
    async def _outcomes(self, client: Client, batch: str) -> dict[str, Outcome]: ...

    # Shared by all services.

    async def _once(self, step: Awaitable[T]) -> T:
        """The result of a step that must not be retried."""
        try:
            return await self._translated(step)
        except ServiceFailure as error:
            failure = error
        self._reject_unsupported(None, failure)
        raise ServiceFailure(failure.status, failure.message, failure.retry_after, is_final=True)

    def _reply(self, text: str, info: ReplyInfo) -> ChatReply:
        """A reply in a batch, with its cost if the price is known."""
        pieces = Pieces(lambda _text: None)
        pieces.add(text)
        pieces.end()
        cost = current().cost(self.model, info.usage, elsewhere=bool(self.address))
        cost = None if cost is None else BATCH_SHARE * cost
        return ChatReply(pieces.text, info.usage, info.model or self.model, info.cut, cost)

    def _reject_unsupported(self, _form: object, failure: ServiceFailure) -> None:
        if failure.status in (404, 405):
            raise self.purpose.error(
                f"does not support batches ({failure.status})",
                where=display_name(self),
                hint="run it without a batch",
            ).until_changed()

    def _reject_missing(self, batch: str) -> Any:
        def refuse(_form: object, failure: ServiceFailure) -> None:
            if failure.status == 404:
                raise self.purpose.error(
                    f"the batch {batch} no longer exists (404)",
                    where=display_name(self),
                    hint="start over with --anew",
                ).until_changed()

        return refuse


class Batches:
    """A blocking interface to a batch service; must be closed."""

    def __init__(self, service: BatchService[Any, Any]) -> None:
        self.service = service
        self._loop = LoopThread()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a method of the service; raises what the method raises."""
        return self._loop.start(work).result()

    def close(self) -> None:
        """Closes the connections."""
        self._loop.close(self.service.aclose)


def batches_of(service: object) -> Batches | None:
    """The batch interface of a service; ``None`` if it has none."""
    return Batches(service) if isinstance(service, BatchService) else None
