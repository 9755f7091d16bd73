"""Batches: many requests at once, answered within a day for half the price.

After a lost response to a submission, look for the batch with ``find`` before submitting again: an accepted
batch is billed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from engine.providers.attempts import ServiceFailure, named
from engine.providers.chat import ChatReply, ChatRequest
from engine.providers.loop import LoopThread
from engine.providers.pricing import BATCH_SHARE, current
from engine.providers.reply import Pieces, Told
from engine.providers.transport import ChatService, Client, F, without_surrogates

MOST_REQUESTS = 10_000
MOST_BYTES = 32 * 1024 * 1024
"""Of questions in one batch; the services take more of both."""
EXPIRED, CANCELED = "expired", "canceled"
"""Result of a request that was neither processed nor billed."""
Outcome = ChatReply | str
"""What came of a request: a reply, or why there is none, in one or two words."""

_ASK_S, _TRANSFER_S = 60.0, 600.0
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Standing:
    """Progress of a batch."""

    done: int  # requests; some services count only at the end
    total: int
    ended: bool
    refused: str = ""  # why the service took none of it; it costs nothing then


class BatchService(ChatService[Client, F]):
    """A service that takes batches, by the same client. Every method raises the error of the purpose."""

    async def submit(self, requests: Mapping[str, ChatRequest], label: str) -> str:
        """Asks for a batch; gives its id.

        Args:
            requests: By what their replies are told apart by: letters and digits, at most 64.
            label: What ``find`` knows it by; likewise.
        """
        wanted = {key: without_surrogates(request) for key, request in requests.items()}
        return await self._asked(
            lambda client, form: self._submit(client, form, wanted, label), _TRANSFER_S, adapt=self._none
        )

    async def find(self, label: str, since: datetime, size: int, known: Collection[str]) -> str:
        """The id of a batch that may have been accepted since, of so many requests; empty for none.

        Args:
            known: Ids of others.
        """
        return await self._asked(
            lambda client, _form: self._find(client, label, since, size, known), _ASK_S, adapt=self._none
        )

    async def standing(self, batch: str) -> Standing:
        """Progress of a batch."""
        return await self._asked(
            lambda client, _form: self._standing(client, batch), _ASK_S, adapt=self._gone(batch)
        )

    async def outcomes(self, batch: str) -> dict[str, Outcome]:
        """The results of a finished batch; may be called repeatedly."""
        return await self._asked(
            lambda client, _form: self._outcomes(client, batch), _TRANSFER_S, adapt=self._gone(batch)
        )

    # What each service does in its own way.

    @abstractmethod
    async def _submit(
        self, client: Client, form: F, requests: Mapping[str, ChatRequest], label: str
    ) -> str: ...

    @abstractmethod
    async def _find(
        self, client: Client, label: str, since: datetime, size: int, known: Collection[str]
    ) -> str: ...

    @abstractmethod
    async def _standing(self, client: Client, batch: str) -> Standing: ...

    @abstractmethod
    async def _outcomes(self, client: Client, batch: str) -> dict[str, Outcome]: ...

    # What they share.

    async def _once(self, step: Awaitable[Answer]) -> Answer:
        """What a step gives that is not to be tried again."""
        try:
            return await self._tried(step)
        except ServiceFailure as error:
            failure = error
        self._none(None, failure)
        raise ServiceFailure(failure.status, failure.said, failure.retry_after, is_final=True)

    def _reply(self, text: str, told: Told) -> ChatReply:
        """A reply in a batch, with what it cost where a price is known."""
        pieces = Pieces(lambda _text: None)
        pieces.add(text)
        pieces.end()
        cost = current().cost(self.model, told.usage, elsewhere=bool(self.address))
        cost = None if cost is None else BATCH_SHARE * cost
        return ChatReply(pieces.text, told.usage, told.model or self.model, told.cut, cost)

    def _none(self, _form: object, failure: ServiceFailure) -> None:
        if failure.status in (404, 405):
            raise self.purpose.error(
                f"does not support batches ({failure.status})",
                where=named(self),
                hint="run it without a batch",
            ).until_changed()

    def _gone(self, batch: str) -> Any:
        def refuse(_form: object, failure: ServiceFailure) -> None:
            if failure.status == 404:
                raise self.purpose.error(
                    f"the batch {batch} no longer exists (404)",
                    where=named(self),
                    hint="start over with --anew",
                ).until_changed()

        return refuse


class Batches:
    """The same for threads, which cannot await; to be closed."""

    def __init__(self, service: BatchService[Any, Any]) -> None:
        self.service = service
        self._loop = LoopThread()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """What a method of the service gives.

        Raises:
            AutopoiesisError: As that.
        """
        return self._loop.start(work).result()

    def close(self) -> None:
        """Closes the connections."""
        self._loop.close(self.service.aclose)


def batches_of(service: object) -> Batches | None:
    """The batch interface of a service; ``None`` if it has none."""
    return Batches(service) if isinstance(service, BatchService) else None
