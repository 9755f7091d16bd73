"""Embeddings from OpenAI or a compatible server, through the official client (spec 7.2).

``embed`` is called from threads that index and search. A response that trickles in can outlast every timeout
of the client, which only apply to parts of it (N1), so the requests run on a separate event loop, where one
deadline can end them. Its thread starts with the first text and lives as long as the embedder, which keeps
the connection open.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.errors import EmbeddingFailed
from engine.providers.attempts import ServiceFailure, display_name
from engine.providers.chat import ChatReply, Spending, Usage
from engine.providers.keys import SEARCH, Purpose, shown_address
from engine.providers.loop import LoopThread
from engine.providers.openai import OpenAIServer
from engine.providers.reply import count_of
from engine.redaction.detect import redacted
from engine.search.embeddings import Embedder

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from openai import AsyncOpenAI

    Floats = NDArray[numpy.float32]

REQUEST_TEXTS = 256
"""Maximum texts per request."""
REQUEST_CHARACTERS = 200_000
"""Maximum characters per request."""
TEXT_CHARACTERS = 8_000
"""Maximum characters sent of a text; fewer if the model reports that these are too many."""
BATCH_DEADLINE_S = 60.0
"""Seconds for one request and its retries when nobody is waiting for it."""
FIRST_BACKOFF_S, MAX_BACKOFF_S = 5.0, 60.0
"""Seconds without query requests after a failure; doubled with each further failure."""
_VERSION = 1
"""Bump when texts are truncated or sent differently."""
_INDEXING = replace(SEARCH, deadline="")
"""For indexing, whose deadline is not a setting."""
_MIN_CHARACTERS = 500
_HAS_DIMENSIONS = re.compile(r"text-embedding-[3-9]")
_TOO_LONG_MESSAGE = re.compile(
    r"too (?:long|large|many tokens)|context (?:length|size|window)|batch size|exceed"
    r"|max\w* (?:\w+ )?(?:length|tokens?|inputs?)\b"
)


class Backoff:
    """Keeps a failing model from being called for every query."""

    def __init__(self) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self._guard = threading.Lock()
        self._until = 0.0
        self._next_s = FIRST_BACKOFF_S
        self._why = ("", "", "")

    def check(self) -> None:
        """Raises the model's last error while backing off."""
        with self._guard:
            what, where, hint = self._why
            left = self._until - self.clock()
        if left > 0:
            raise EmbeddingFailed(f"{what}; next attempt in {left:.0f} s", where=where, hint=hint)

    def record_failure(self, failure: EmbeddingFailed) -> None:
        """Starts backing off."""
        with self._guard:
            self._why = (failure.what, failure.where, failure.hint)
            self._until = self.clock() + self._next_s
            self._next_s = min(2 * self._next_s, MAX_BACKOFF_S)

    def reset(self) -> None:
        """Forgets all failures."""
        with self._guard:
            self._until, self._next_s = 0.0, FIRST_BACKOFF_S


@dataclass(frozen=True, slots=True)
class Form:
    """What models and servers differ in: whether ``dimensions`` is accepted, and the length of a text."""

    dimensions: bool
    characters: int = TEXT_CHARACTERS


class OpenAIEmbedder(OpenAIServer[Form], Embedder):
    """Requests vectors from OpenAI or a compatible server. Safe to use from several threads.

    Nothing is connected and no key is read before the first text; ``keys`` decides which key is sent where.
    Likely secrets are redacted from the texts. ``deadline_s`` applies to queries.
    """

    is_slow = True
    spending: Spending | None = None

    def __init__(self, model: str, dimensions: int, address: str = "", *, deadline_s: float = 3.0) -> None:
        super().__init__(model, address, SEARCH)
        self.dimensions = dimensions
        server = shown_address(address or os.environ.get(self.address_variable, "")) or "api.openai.com"
        self.id = f"openai {model} {dimensions} {server} {_VERSION}"
        self._deadline_s = deadline_s
        self._loop = LoopThread("embedding requests")
        self._backoff = Backoff()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def embed(self, texts: Sequence[str]) -> Floats:
        """See ``engine.search.embeddings.Embedder.embed``; each request has its own deadline.

        Raises:
            EmbeddingFailed: There is no reply or an invalid one; the message never contains a key.
        """
        import numpy  # noqa: PLC0415 — as heavy as the client

        sent = [_prepare(text) for text in texts]
        found = numpy.zeros((len(sent), self.dimensions), dtype=numpy.float32)
        for places in _batches(sent):
            try:
                found[places] = self._request_vectors(
                    [sent[place] for place in places], BATCH_DEADLINE_S, _INDEXING
                )
            except EmbeddingFailed as error:
                self._backoff.record_failure(error)
                raise
        return found

    def embed_query(self, text: str) -> Floats:
        """See ``engine.search.embeddings.Embedder.embed_query``.

        Raises:
            EmbeddingFailed: As ``embed``; also for some seconds after a failure.
        """
        import numpy  # noqa: PLC0415 — as above

        sent = _prepare(text)
        if not sent:
            return numpy.zeros(self.dimensions, dtype=numpy.float32)
        self._backoff.check()
        try:
            found: Floats = self._request_vectors([sent], self._deadline_s, SEARCH)[0]
        except EmbeddingFailed as error:
            self._backoff.record_failure(error)
            raise
        self._backoff.reset()
        return found

    def close(self) -> None:
        """See ``engine.search.embeddings.Embedder.close``."""
        self._loop.close(self.aclose)

    def _request_vectors(self, texts: Sequence[str], seconds: float, purpose: Purpose) -> Floats:
        """The vectors of a request. Its cost is recorded even if it fails, if its tokens are known."""
        spending, used = self.spending, list[int]()
        if spending is not None:
            spending.allow()
        try:
            found = self._loop.run(self._ask(texts, seconds, purpose, used))
        finally:
            if spending is not None and any(used):
                spending.spent(ChatReply("", Usage(sum(used)), self.model), (), "")
        if found is None:
            raise EmbeddingFailed("the embedder was closed")
        return found

    async def _ask(self, texts: Sequence[str], seconds: float, purpose: Purpose, used: list[int]) -> Floats:
        async def ask(client: AsyncOpenAI, form: Form) -> Floats:
            from openai import omit  # noqa: PLC0415 — imported with the client

            response = await client.embeddings.with_raw_response.create(
                model=self.model,
                input=[text[: form.characters] for text in texts],
                dimensions=self.dimensions if form.dimensions else omit,
                encoding_format="float",
            )
            # The client would validate each of several hundred thousand numbers.
            reply = json.loads(response.http_response.content)
            used.append(_tokens_of(reply))
            return self._rows(reply, len(texts))

        return await self._request(ask, seconds, adapt=self._adapt, purpose=purpose)

    def _first_form(self) -> Form:
        return Form(dimensions=bool(self.address) or _HAS_DIMENSIONS.match(self.model) is not None)

    def _failure(self, error: Exception) -> ServiceFailure:
        failure = super()._failure(error)
        # llama.cpp reports a text that is too long as a server error.
        too_long = failure.status in (413, 500) and _TOO_LONG_MESSAGE.search(failure.message.lower())
        return ServiceFailure(400, failure.message) if too_long else failure

    def _adapt(self, form: Form, failure: ServiceFailure) -> Form | None:
        message = failure.message.lower()
        if form.dimensions and failure.status != 404 and ("dimension" in message or "matryoshka" in message):
            return replace(form, dimensions=False)
        if _TOO_LONG_MESSAGE.search(message) and form.characters > _MIN_CHARACTERS:
            return replace(form, characters=form.characters // 2)
        # Servers without this parameter do not always say so.
        if form.dimensions and self.address and failure.status != 404:
            return replace(form, dimensions=False)
        return None

    def _rows(self, reply: Any, count: int) -> Floats:
        """The vectors of a reply in the order of the texts, normalized to length 1."""
        import numpy  # noqa: PLC0415 — as above

        data = reply["data"]
        if len(data) != count:
            raise self._invalid(f"it returned {len(data)} vectors for {count} texts")
        places = [item["index"] for item in data]
        if sorted(places) != list(range(count)):
            raise self._invalid("it does not say which vector belongs to which text")
        vectors = [item["embedding"] for item in data]
        sizes = {len(vector) for vector in vectors}
        if sizes != {self.dimensions}:
            raise self._wrong_dimensions(sorted(sizes))
        numbers = numpy.asarray(vectors)
        if numbers.ndim != 2 or numbers.dtype.kind not in "fi" or not numpy.isfinite(numbers).all():
            raise self._invalid("its vectors contain invalid numbers")
        # The square of a very large number would overflow.
        numbers = numbers / numpy.maximum(numpy.abs(numbers).max(axis=1, keepdims=True), 1e-300)
        lengths = numpy.linalg.norm(numbers, axis=1, keepdims=True)
        found = numpy.zeros((count, self.dimensions), dtype=numpy.float32)
        found[places] = numpy.divide(numbers, lengths, out=numpy.zeros_like(numbers), where=lengths > 0)
        return found

    def _invalid(self, what: str) -> EmbeddingFailed:
        return EmbeddingFailed(
            what,
            where=display_name(self),
            hint=f"check that {SEARCH.address} is an embedding server and {SEARCH.model} an embedding model",
        )

    def _wrong_dimensions(self, sizes: Sequence[int]) -> EmbeddingFailed:
        given = ", ".join(map(str, sizes[:3]))
        usable = len(sizes) == 1 and 8 <= sizes[0] <= 8192 and sizes[0] % 8 == 0
        return EmbeddingFailed(
            f"{self.model} returns vectors of {given} dimensions, not {self.dimensions}",
            where="search.embedding_dimensions",
            hint=f"set it to {sizes[0]}" if usable else "choose another model",
        )


def _prepare(text: str) -> str:
    """The part of a text to send, without secrets and lone surrogates; empty if it is blank."""
    # Redact before truncating: a truncated key might not be recognized.
    return redacted(text[: 2 * TEXT_CHARACTERS])[:TEXT_CHARACTERS].encode("utf-8", "replace").decode().strip()


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """The indexes of the non-empty texts, in groups that fit into a request."""
    group: list[int] = []
    size = 0
    for place, text in enumerate(texts):
        if not text:
            continue
        if group and (len(group) == REQUEST_TEXTS or size + len(text) > REQUEST_CHARACTERS):
            yield group
            group, size = [], 0
        group.append(place)
        size += len(text)
    if group:
        yield group


def _tokens_of(reply: object) -> int:
    """The tokens used according to a reply; 0 if it does not report them."""
    usage = reply.get("usage") if isinstance(reply, dict) else None
    return count_of(usage.get("prompt_tokens")) if isinstance(usage, dict) else 0
