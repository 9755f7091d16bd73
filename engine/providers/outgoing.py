"""The one place that every request to a service passes: what looks like a secret does not leave (N3, X6).

Each HTTP client of a provider is made here, whatever package it is of, and looks through the body of every
request it sends, so that chats, the gate, embeddings, the flush and the harvest cannot differ. The ``claude``
command, which is asked through a pipe, gets its text from ``sendable`` too.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

from engine.redaction.detect import redacted, without_secrets

if TYPE_CHECKING:
    import httpx2

_JSON_LINE = re.compile(r"^(\{.*\})$", re.MULTILINE)
"""As in the file of a batch of requests."""


def sendable(text: str) -> str:
    """A text as it may leave: without what looks like a secret, and without lone surrogates."""
    return redacted(text.encode("utf-8", "replace").decode())


def guarded(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """The client, which from now on sends no request whose body was not looked through."""
    send = client.send

    async def send_clean(request: httpx2.Request, **options: Any) -> httpx2.Response:
        return await send(await _cleaned(request), **options)

    client.send = send_clean  # type: ignore[method-assign]
    return client


async def _cleaned(request: httpx2.Request) -> httpx2.Request:
    """The request, or one that differs from it in its body alone."""
    body = await request.aread()
    if not body:
        return request
    try:
        said = json.loads(body)
        clean = without_secrets(said)
        changed = b"" if clean == said else json.dumps(clean, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        shown = "".join(map(_line_cleaned, _JSON_LINE.split(text)))
        changed = b"" if shown == text else shown.encode()
    if not changed:
        return request
    from httpx2 import Request  # noqa: PLC0415 — imported with the client

    headers = [
        (name, value)
        for name, value in request.headers.raw
        if name.lower() not in (b"content-length", b"transfer-encoding")
    ]
    return Request(
        request.method, request.url, headers=headers, content=changed, extensions=request.extensions
    )


def _line_cleaned(text: str) -> str:
    """A text without secrets. A line of JSON stays one: what it holds is written with escapes."""
    if _JSON_LINE.fullmatch(text):
        with contextlib.suppress(ValueError, RecursionError):
            said = json.loads(text)
            clean = without_secrets(said)
            return text if clean == said else json.dumps(clean, ensure_ascii=False)
    return redacted(text)
