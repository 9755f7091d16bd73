"""Embedding over HTTP gives all vectors, in order and valid, or one clear error within the deadline."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from engine.errors import EmbeddingFailed
from engine.providers import attempts, embeddings
from engine.providers.embeddings import REQUEST_CHARACTERS, REQUEST_TEXTS, TEXT_CHARACTERS, OpenAIEmbedder
from engine.providers.keys import SEARCH, key_for
from engine.settings.model import SearchSettings
from tests.providers.conftest import KEY, json_response
from tests.providers.deadlines import LATER, passed_once
from tests.providers.test_keys import everything_shown

SIZE = 8
Answer = Callable[[Request], Response]


def numbers_of(text: str) -> list[float]:
    """A vector that identifies a text by its length and first letter."""
    return [float(len(text)), float(ord(text[0])), *[1.0] * (SIZE - 2)]


def unit(values: list[float]) -> Any:
    return numpy.array(values) / numpy.linalg.norm(values)


@dataclass
class Server:
    """A fake server with the embeddings interface."""

    http: HTTPServer
    release: threading.Event
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    made: list[OpenAIEmbedder] = field(default_factory=list)

    @property
    def address(self) -> str:
        return self.http.url_for("").rstrip("/") + "/v1"

    def embedder(
        self, address: str = "", model: str = "some-model", deadline_s: float = 20
    ) -> OpenAIEmbedder:
        self.made.append(OpenAIEmbedder(model, SIZE, address or self.address, deadline_s=deadline_s))
        return self.made[-1]

    def respond_with(self, *answers: Response | Answer) -> None:
        """Respond to each request with the next response; the last one is repeated."""
        waiting = list(answers)

        def handle(request: Request) -> Response:
            self.bodies.append(request.get_json(force=True))
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            return answer if isinstance(answer, Response) else answer(request)

        self.http.expect_request("/v1/embeddings", method="POST").respond_with_handler(handle)

    def hang(self, _: Request) -> Response:
        """Send no response until the test ends."""
        self.release.wait(100)
        return Response("{}", content_type="application/json")

    def drip_forever(self, _: Request) -> Response:
        """A response whose body never ends, one space at a time."""

        def drip() -> Iterator[bytes]:
            while not self.release.wait(0.02):
                yield b" "

        return Response(drip(), content_type="application/json")


def embedded(request: Request) -> Response:
    """The vectors of the texts of a request, in reverse order."""
    return vectors([numbers_of(text) for text in request.get_json(force=True)["input"]])


def vectors(rows: list[Any]) -> Response:
    data = [
        {"object": "embedding", "index": place, "embedding": row}
        for place, row in reversed(list(enumerate(rows)))
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json_response({"object": "list", "data": data, "model": "some-model", "usage": usage})


def refused(message: str, status: int = 400, headers: dict[str, str] | None = None) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return json_response({"error": error}, status, headers)


@pytest.fixture
def server(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A local server, with its key in the environment."""
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("OPENAI_BASE_URL", "AUTOPOIESIS_SEARCH_API_KEY", "AUTOPOIESIS_GATE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(attempts, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url_for("/"))
    found = Server(server, threading.Event())
    yield found
    found.release.set()
    for embedder in found.made:
        embedder.close()


def test_vectors_are_in_the_order_of_the_texts_and_have_length_one(server: Server) -> None:
    server.respond_with(embedded)
    texts = ["beta", "alpha beta", "c"]
    rows = server.embedder().embed(texts)
    assert rows.shape == (3, SIZE) and rows.dtype == numpy.float32
    for row, text in zip(rows, texts, strict=True):
        assert numpy.allclose(row, unit(numbers_of(text)), atol=1e-6)
    (body,) = server.bodies
    assert (body["model"], body["input"], body["dimensions"]) == ("some-model", texts, SIZE)
    assert body["encoding_format"] == "float"


def test_blank_texts_are_not_sent(server: Server) -> None:
    server.respond_with(embedded)
    embedder = server.embedder()
    assert not embedder.embed(["", "  \n"]).any()
    assert not embedder.embed_query(" ").any()
    assert embedder.embed([]).shape == (0, SIZE)
    assert server.bodies == []
    rows = embedder.embed(["", "word", " "])
    assert [bool(row.any()) for row in rows] == [False, True, False]
    assert server.bodies[0]["input"] == ["word"]


def test_many_texts_are_sent_in_several_requests(server: Server) -> None:
    server.respond_with(embedded)
    texts = [f"{number} text" for number in range(REQUEST_TEXTS + 10)]
    rows = server.embedder().embed(texts)
    assert [len(body["input"]) for body in server.bodies] == [REQUEST_TEXTS, 10]
    assert numpy.allclose(rows[-1], unit(numbers_of(texts[-1])), atol=1e-6)


def test_long_texts_are_truncated_and_sent_in_smaller_requests(server: Server) -> None:
    server.respond_with(embedded)
    server.embedder().embed(["x" * 3 * TEXT_CHARACTERS] * 30)
    assert {len(text) for body in server.bodies for text in body["input"]} == {TEXT_CHARACTERS}
    assert [len(body["input"]) for body in server.bodies] == [
        REQUEST_CHARACTERS // TEXT_CHARACTERS,
        30 - REQUEST_CHARACTERS // TEXT_CHARACTERS,
    ]


def test_odd_texts_can_be_sent(server: Server) -> None:
    server.respond_with(embedded)
    assert server.embedder().embed(["lone \ud800", "\0", "🙂" * 50]).any(axis=1).all()


def test_secrets_are_not_sent(server: Server) -> None:
    server.respond_with(embedded)
    embedder = server.embedder()
    secret = f"sk-proj-{KEY}"
    embedder.embed([f"use {secret} please", "x" * (TEXT_CHARACTERS - 20) + f" {secret}"])
    embedder.embed_query(f"who knows {secret}?")
    assert secret[:12] not in json.dumps(server.bodies)
    assert server.bodies[0]["input"][0] == "use [secret] please"


@pytest.mark.parametrize(
    "message",
    [
        "This model does not support specifying dimensions.",
        'Model "x" does not support matryoshka representation',
        "unknown field",
    ],
)
def test_dimensions_are_dropped_if_the_server_rejects_them(server: Server, message: str) -> None:
    server.respond_with(refused(message), embedded)
    embedder = server.embedder()
    embedder.embed(["one"])
    embedder.embed(["two"])
    assert ["dimensions" in body for body in server.bodies] == [True, False, False]


def test_dimensions_are_not_sent_to_models_with_fixed_dimensions() -> None:
    assert not OpenAIEmbedder("text-embedding-ada-002", 1536)._form.dimensions
    assert OpenAIEmbedder("text-embedding-3-large", 1536)._form.dimensions


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("This model's maximum context length is 512 tokens, however you requested 2000 tokens", 400),
        ("input is too large to process. increase the physical batch size", 500),
        ("Input text exceeds the limit", 413),
    ],
)
def test_texts_the_server_finds_too_long_are_truncated_further(
    server: Server, message: str, status: int
) -> None:
    def picky(request: Request) -> Response:
        texts = request.get_json(force=True)["input"]
        return refused(message, status) if any(len(text) > 1000 for text in texts) else embedded(request)

    server.respond_with(picky)
    embedder = server.embedder()
    embedder.embed(["x" * 3000, "short"])
    assert [max(map(len, body["input"])) for body in server.bodies] == [3000, 3000, 2000, 1000]
    embedder.embed(["y" * 3000])
    assert len(server.bodies) == 5, "the shorter limit was not remembered"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_temporary_errors_are_retried(server: Server, status: int) -> None:
    server.respond_with(refused("later", status, {"Retry-After": "0.05"}), embedded)
    assert server.embedder().embed(["one"]).any()
    assert len(server.bodies) == 2


def test_a_failing_service_is_tried_three_times(server: Server) -> None:
    server.respond_with(refused("boom", 500))
    with pytest.raises(EmbeddingFailed, match=r"the service failed \(500\), 3 times; try again later"):
        server.embedder().embed(["one"])
    assert len(server.bodies) == 3


def test_a_wait_beyond_the_deadline_fails_at_once(server: Server) -> None:
    server.respond_with(refused("slow down", 429, {"Retry-After": "120"}))
    with pytest.raises(EmbeddingFailed, match=r"too many requests \(429\); retry after 120 s; wait$"):
        server.embedder().embed(["one"])
    assert len(server.bodies) == 1


@pytest.mark.parametrize("error", ["silence", "drip"])
def test_a_query_ends_at_its_own_deadline(server: Server, error: str) -> None:
    server.respond_with(server.hang if error == "silence" else server.drip_forever)
    embedder = server.embedder(deadline_s=0.3)
    with pytest.raises(EmbeddingFailed, match=r"no answer within 0\.3 s; raise search\.embedding_deadline_s"):
        embedder.embed_query("one")
    assert not server.release.is_set()


def test_a_batch_ends_at_its_deadline(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "BATCH_DEADLINE_S", 0.3)
    server.respond_with(server.drip_forever)
    with pytest.raises(EmbeddingFailed, match=r"no answer within 0\.3 s; try again later"):
        server.embedder().embed(["one"])


def test_a_failed_model_is_not_called_for_a_while(server: Server) -> None:
    now = [1000.0]
    server.respond_with(refused("no", 403), refused("no", 403), embedded)
    embedder = server.embedder()
    embedder._backoff.clock = lambda: now[0]
    with pytest.raises(EmbeddingFailed, match=r"the key was refused \(403\); set AUTOPOIESIS_SEARCH_API_KEY"):
        embedder.embed_query("one")
    with pytest.raises(EmbeddingFailed, match=r"refused \(403\); next attempt in 5 s; set AUTOPOIESIS"):
        embedder.embed_query("two")
    assert len(server.bodies) == 1
    now[0] += 5.1
    with pytest.raises(EmbeddingFailed, match=r"refused \(403\); set"):
        embedder.embed_query("three")
    now[0] += 5.1
    with pytest.raises(EmbeddingFailed, match="next attempt in 5 s"):
        embedder.embed_query("four")
    now[0] += 5
    assert embedder.embed_query("five").any()
    assert embedder.embed_query("six").any()
    assert [body["input"] for body in server.bodies] == [["one"], ["three"], ["five"], ["six"]]


def test_after_a_failed_batch_queries_fail_at_once(server: Server) -> None:
    server.respond_with(refused("no", 403), embedded)
    embedder = server.embedder()
    with pytest.raises(EmbeddingFailed):
        embedder.embed(["one"])
    with pytest.raises(EmbeddingFailed, match="next attempt in"):
        embedder.embed_query("two")
    assert embedder.embed(["three"]).any(), "the pause after a failure applied to a batch"
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1.0] * SIZE], "it returned 1 vectors for 2 texts"),
        ([[1.0] * SIZE] * 3, "it returned 3 vectors for 2 texts"),
        ([[1.0] * 16] * 2, "some-model returns vectors of 16 dimensions, not 8; set it to 16"),
        ([[1.0] * 9] * 2, "some-model returns vectors of 9 dimensions, not 8; choose another model"),
        (
            [[1.0] * 8, [1.0] * 16],
            "some-model returns vectors of 8, 16 dimensions, not 8; choose another model",
        ),
        ([[float("nan")] * SIZE] * 2, "its vectors contain invalid numbers"),
        ([[float("inf")] * SIZE] * 2, "its vectors contain invalid numbers"),
        ([["1.0"] * SIZE] * 2, "its vectors contain invalid numbers"),
        ([[None] * SIZE] * 2, "its vectors contain invalid numbers"),
        ([[10**400] * SIZE] * 2, "its vectors contain invalid numbers"),
        ([[[1.0]] * SIZE] * 2, "its vectors contain invalid numbers"),
        (["x" * SIZE] * 2, "its vectors contain invalid numbers"),
    ],
)
def test_a_reply_with_invalid_vectors_is_rejected(server: Server, rows: list[Any], expected: str) -> None:
    server.respond_with(vectors(rows))
    with pytest.raises(EmbeddingFailed, match=expected):
        server.embedder().embed(["one", "two"])
    assert len(server.bodies) == 1


@pytest.mark.parametrize("places", [[0, 0], [1, 2], [0, -1]])
def test_a_reply_with_wrong_indexes_is_rejected(server: Server, places: list[int]) -> None:
    data = [{"index": place, "embedding": [1.0] * SIZE} for place in places]
    server.respond_with(json_response({"data": data}))
    with pytest.raises(EmbeddingFailed, match="it does not say which vector belongs to which text"):
        server.embedder().embed(["one", "two"])


@pytest.mark.parametrize(
    "body",
    [
        b'{"data": [{"index": 0, "embe',
        b"<html>It works!</html>",
        b"null",
        b'{"data": null}',
        b'{"data": [7]}',
        b'{"data": [{"embedding": [1, 1, 1, 1, 1, 1, 1, 1]}]}',
        b'{"data": [{"index": "0", "embedding": 7}]}',
        b'{"data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=["cut", "html", "null", "nothing", "number", "no-index", "types", "deep"],
)
def test_an_invalid_reply_is_an_error(server: Server, body: bytes) -> None:
    server.respond_with(Response(body, content_type="application/json"))
    with pytest.raises(EmbeddingFailed, match="openai"):
        server.embedder().embed(["one"])


def test_vectors_are_normalised(server: Server) -> None:
    server.respond_with(vectors([[1e300] * SIZE, [1e-300] * SIZE, [0] * SIZE]))
    rows = server.embedder().embed(["one", "two", "three"])
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), [1, 1, 0])


def test_an_unreachable_server_is_reported_with_its_setting(server: Server, nowhere: str) -> None:
    with pytest.raises(EmbeddingFailed, match="cannot be reached, 3 times") as caught:
        server.embedder(f"{nowhere}/v1").embed(["one"])
    assert caught.value.hint == "check the network and search.embedding_base_url"


def test_an_unknown_model_is_reported_with_its_setting(server: Server) -> None:
    server.respond_with(refused("model not found, try pulling it first", 404))
    with pytest.raises(EmbeddingFailed, match=r"some-model was not found \(404\): model not found") as caught:
        server.embedder().embed(["one"])
    assert caught.value.hint == "set search.embedding_model to a model that it offers"
    assert len(server.bodies) == 1


def test_an_invalid_address_is_reported_with_its_setting(server: Server) -> None:
    with pytest.raises(EmbeddingFailed, match="is not a server address") as caught:
        server.embedder("ftp://host").embed(["one"])
    assert caught.value.where == "search.embedding_base_url"


def test_a_missing_key_is_reported_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    embedder = OpenAIEmbedder("text-embedding-3-small", 1536)
    try:
        with pytest.raises(
            EmbeddingFailed,
            match=r"no key found; set OPENAI_API_KEY, or search\.embedding: local, which needs no key",
        ):
            embedder.embed(["one"])
    finally:
        embedder.close()


def test_a_workspace_cannot_redirect_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for variable in ("OPENAI_BASE_URL", "AUTOPOIESIS_SEARCH_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AUTOPOIESIS_GATE_API_KEY", "gate-key")

    def sent_to(address: str) -> str:
        return key_for("OPENAI_API_KEY", address, "OPENAI_BASE_URL", SEARCH)

    assert sent_to("") == KEY
    assert sent_to("http://localhost:11434/v1") == "none", "another program may be listening there"
    assert sent_to("https://evil.example/v1") == "none", "the gate's key was sent"
    monkeypatch.setenv("AUTOPOIESIS_SEARCH_API_KEY", "search-key")
    assert sent_to("https://evil.example/v1") == "search-key"
    assert sent_to("") == KEY


def test_a_server_gets_its_own_key(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.respond_with(embedded)
    monkeypatch.setenv("AUTOPOIESIS_SEARCH_API_KEY", "search-key")
    server.embedder().embed(["one"])
    assert server.headers[0]["authorization"] == "Bearer search-key"


@pytest.mark.parametrize("error", ["400", "401", "429", "500", "drip", "nonsense", "gone", "wrong"])
def test_no_failure_shows_the_key(
    server: Server, error: str, nowhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.respond_with(
        refused(f"Incorrect API key provided: {KEY}.", int(error))
        if error.isdecimal()
        else server.drip_forever
        if error == "drip"
        else vectors([[1.0]])
        if error == "wrong"
        else json_response([KEY])
    )
    embedder = server.embedder(f"{nowhere}/v1" if error == "gone" else "", deadline_s=LATER)
    with passed_once(lambda: error == "drip" and server.headers), pytest.raises(EmbeddingFailed) as caught:
        embedder.embed_query("one")
    if error != "gone":
        assert KEY in str(server.headers), "the test would prove nothing if the key had not been sent"
    shown = everything_shown(caught.value, caplog)
    assert KEY not in shown and KEY[:16] not in shown
    assert KEY not in repr(embedder) and KEY not in str(vars(embedder))
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_the_id_names_model_server_dimensions_and_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    made = OpenAIEmbedder("m", 64, f"https://user:{KEY}@host:8000/v1/?key={KEY}")
    assert made.id == "openai m 64 https://host:8000/v1 1"
    assert KEY not in repr(made)
    own = OpenAIEmbedder("m", 64)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    moved = OpenAIEmbedder("m", 64)
    assert len({made.id, own.id, moved.id, OpenAIEmbedder("m", 128).id, OpenAIEmbedder("n", 64).id}) == 5


def test_the_default_settings_are_those_of_the_specification() -> None:
    settings = SearchSettings()
    assert (settings.embedding_model, settings.embedding_dimensions) == ("text-embedding-3-small", 1536)


def test_closing_cancels_running_calls(server: Server) -> None:
    server.respond_with(server.hang)
    embedder = server.embedder()
    assert embedder.is_slow
    caught: list[EmbeddingFailed] = []

    def ask() -> None:
        try:
            embedder.embed(["one"])
        except EmbeddingFailed as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not server.bodies:
        time.sleep(0.01)
    embedder.close()
    thread.join(60)
    assert not thread.is_alive()
    assert str(caught[0]) == "the embedder was closed"
    with pytest.raises(EmbeddingFailed, match="the embedder was closed"):
        embedder.embed_query("two")
    embedder.close()


def test_threads_share_one_connection_loop(server: Server) -> None:
    server.respond_with(embedded)
    embedder, before = server.embedder(), threading.enumerate()
    found: list[Any] = []

    def ask(text: str) -> None:
        with suppress(EmbeddingFailed):
            found.append((text, embedder.embed_query(text)))

    threads = [threading.Thread(target=ask, args=("x" * number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for text, row in found:
        assert numpy.allclose(row, unit(numbers_of(text)), atol=1e-6)
    named = [thread for thread in threading.enumerate() if thread.name == "embedding requests"]
    assert len([thread for thread in named if thread not in before]) == 1
