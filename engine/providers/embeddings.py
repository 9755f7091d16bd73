"""Vectors from OpenAI, or any server with its embeddings interface, through OpenAI's own client (spec 7.2).

``embed`` is called from threads that index and search. One response may drip for longer than any limit that a
client has for the parts of it (N1), so the requests run on an event loop of their own, where one deadline can
end them; its thread starts with the first text and lives as long as the embedder, which keeps the connection.
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
from engine.providers.attempts import ServiceFailure, named
from engine.providers.chat import ChatReply, Spending, Usage
from engine.providers.keys import SEARCH, Purpose, shown_address
from engine.providers.loop import LoopThread
from engine.providers.openai import OpenAIServer
from engine.providers.reply import count_of
from engine.redaction.detect import redacted

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from openai import AsyncOpenAI

    Floats = NDArray[numpy.float32]

TEXTS = 256
"""Texts in a request, at most."""
CHARACTERS = 200_000
"""Characters in a request, at most."""
READ = 8_000
"""Characters of a text that are sent; fewer when the model says that these are too many."""
BATCH_DEADLINE_S = 60.0
"""Seconds for one request with its retries, where nobody waits for it."""
FIRST_REST_S, LONGEST_REST_S = 5.0, 60.0
"""Seconds for which a model that failed is asked for no query's vector; each time twice as long."""
_VERSION = 1
"""Of how texts are cut and sent."""
_INDEXING = replace(SEARCH, deadline="")
"""Search asked for the vectors of what is indexed, whose deadline is no setting."""
_LEAST_READ = 500
_CHOOSES = re.compile(r"text-embedding-[3-9]")
_TOO_LONG_SAID = re.compile(
    r"too (?:long|large|many tokens)|context (?:length|size|window)|batch size|exceed"
    r"|max\w* (?:\w+ )?(?:length|tokens?|inputs?)\b"
)


class Rest:
    """Keeps a model that failed from being asked for every query in a row."""

    def __init__(self) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self._guard = threading.Lock()
        self._until = 0.0
        self._next_s = FIRST_REST_S
        self._why = ("", "", "")

    def observe(self) -> None:
        """Does nothing, or fails as the model did while it rests."""
        with self._guard:
            what, where, hint = self._why
            left = self._until - self.clock()
        if left > 0:
            raise EmbeddingFailed(f"{what}; next attempt in {left:.0f} s", where=where, hint=hint)

    def note(self, failure: EmbeddingFailed) -> None:
        """Begins a rest."""
        with self._guard:
            self._why = (failure.what, failure.where, failure.hint)
            self._until = self.clock() + self._next_s
            self._next_s = min(2 * self._next_s, LONGEST_REST_S)

    def end(self) -> None:
        """Forgets that the model ever failed."""
        with self._guard:
            self._until, self._next_s = 0.0, FIRST_REST_S


@dataclass(frozen=True, slots=True)
class Form:
    """What models and servers differ in: whether they can choose dimensions, and how long a text may be."""

    dimensions: bool
    characters: int = READ


class OpenAIEmbedder(OpenAIServer[Form]):
    """Asks a model of OpenAI, or of a compatible server, for vectors.

    Nothing is connected and no key is read before the first text; see ``keys`` for which key goes where. What
    looks like a secret is taken out of the texts. May be called from several threads. The deadline is for the
    vector of a query.
    """

    spending: Spending | None = None

    def __init__(self, model: str, dimensions: int, address: str = "", *, deadline_s: float = 3.0) -> None:
        super().__init__(model, address, SEARCH)
        self.dimensions = dimensions
        server = shown_address(address or os.environ.get(self.address_variable, "")) or "api.openai.com"
        self.id = f"openai {model} {dimensions} {server} {_VERSION}"
        self._deadline_s = deadline_s
        self._loop = LoopThread("embedding requests")
        self._rest = Rest()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def embed(self, texts: Sequence[str]) -> Floats:
        """See ``engine.search.embeddings.Embedder.embed``; each request has a deadline of its own.

        Raises:
            EmbeddingFailed: The model does not answer, or not with what was asked for; never holds a key.
        """
        import numpy  # noqa: PLC0415 — as heavy as the client

        sent = [_sendable(text) for text in texts]
        found = numpy.zeros((len(sent), self.dimensions), dtype=numpy.float32)
        for places in _batches(sent):
            try:
                found[places] = self._paid([sent[place] for place in places], BATCH_DEADLINE_S, _INDEXING)
            except EmbeddingFailed as error:
                self._rest.note(error)
                raise
        return found

    def embed_query(self, text: str) -> Floats:
        """See ``engine.search.embeddings.Slow.embed_query``.

        Raises:
            EmbeddingFailed: As ``embed``; also for some seconds after the model failed.
        """
        import numpy  # noqa: PLC0415 — as above

        sent = _sendable(text)
        if not sent:
            return numpy.zeros(self.dimensions, dtype=numpy.float32)
        self._rest.observe()
        try:
            found: Floats = self._paid([sent], self._deadline_s, SEARCH)[0]
        except EmbeddingFailed as error:
            self._rest.note(error)
            raise
        self._rest.end()
        return found

    def close(self) -> None:
        """See ``engine.search.embeddings.Slow.close``."""
        self._loop.close(self.aclose)

    def _paid(self, texts: Sequence[str], seconds: float, purpose: Purpose) -> Floats:
        """The vectors of a request. It is put down however it ends, as far as the service says its tokens."""
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
            # The client would look at each of some hundred thousand numbers.
            reply = json.loads(response.http_response.content)
            used.append(_tokens_in(reply))
            return self._rows(reply, len(texts))

        return await self._asked(ask, seconds, adapt=self._adapt, purpose=purpose)

    def _first_form(self) -> Form:
        return Form(dimensions=bool(self.address) or _CHOOSES.match(self.model) is not None)

    def _failure(self, error: Exception) -> ServiceFailure:
        failure = super()._failure(error)
        # llama.cpp calls a text that is too long a failure of its own.
        too_long = failure.status in (413, 500) and _TOO_LONG_SAID.search(failure.said.lower())
        return ServiceFailure(400, failure.said) if too_long else failure

    def _adapt(self, form: Form, failure: ServiceFailure) -> Form | None:
        said = failure.said.lower()
        if form.dimensions and failure.status != 404 and ("dimension" in said or "matryoshka" in said):
            return replace(form, dimensions=False)
        if _TOO_LONG_SAID.search(said) and form.characters > _LEAST_READ:
            return replace(form, characters=form.characters // 2)
        # Servers that know no such parameter do not always say so.
        if form.dimensions and self.address and failure.status != 404:
            return replace(form, dimensions=False)
        return None

    def _rows(self, reply: Any, count: int) -> Floats:
        """The vectors of a reply in the order of the texts, of length 1."""
        import numpy  # noqa: PLC0415 — as above

        data = reply["data"]
        if len(data) != count:
            raise self._wrong(f"it returned {len(data)} vectors for {count} texts")
        places = [item["index"] for item in data]
        if sorted(places) != list(range(count)):
            raise self._wrong("it does not say which vector belongs to which text")
        vectors = [item["embedding"] for item in data]
        sizes = {len(vector) for vector in vectors}
        if sizes != {self.dimensions}:
            raise self._wrong_size(sorted(sizes))
        numbers = numpy.asarray(vectors)
        if numbers.ndim != 2 or numbers.dtype.kind not in "fi" or not numpy.isfinite(numbers).all():
            raise self._wrong("its vectors contain invalid numbers")
        # Of the largest numbers there are, the square is none.
        numbers = numbers / numpy.maximum(numpy.abs(numbers).max(axis=1, keepdims=True), 1e-300)
        lengths = numpy.linalg.norm(numbers, axis=1, keepdims=True)
        found = numpy.zeros((count, self.dimensions), dtype=numpy.float32)
        found[places] = numpy.divide(numbers, lengths, out=numpy.zeros_like(numbers), where=lengths > 0)
        return found

    def _wrong(self, what: str) -> EmbeddingFailed:
        return EmbeddingFailed(
            what,
            where=named(self),
            hint=f"check that {SEARCH.address} is an embedding server and {SEARCH.model} an embedding model",
        )

    def _wrong_size(self, sizes: Sequence[int]) -> EmbeddingFailed:
        given = ", ".join(map(str, sizes[:3]))
        usable = len(sizes) == 1 and 8 <= sizes[0] <= 8192 and sizes[0] % 8 == 0
        return EmbeddingFailed(
            f"{self.model} returns vectors of {given} dimensions, not {self.dimensions}",
            where="search.embedding_dimensions",
            hint=f"set it to {sizes[0]}" if usable else "choose another model",
        )


def _sendable(text: str) -> str:
    """What is sent of a text: no secrets, no lone surrogates; empty for one that says nothing."""
    # A key that is cut in two would not look like one.
    return redacted(text[: 2 * READ])[:READ].encode("utf-8", "replace").decode().strip()


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """The places of the texts that are not empty, in groups that fit into a request."""
    group: list[int] = []
    size = 0
    for place, text in enumerate(texts):
        if not text:
            continue
        if group and (len(group) == TEXTS or size + len(text) > CHARACTERS):
            yield group
            group, size = [], 0
        group.append(place)
        size += len(text)
    if group:
        yield group


def _tokens_in(reply: object) -> int:
    """The tokens that a reply says it took; 0 where it does not."""
    usage = reply.get("usage") if isinstance(reply, dict) else None
    return count_of(usage.get("prompt_tokens")) if isinstance(usage, dict) else 0
