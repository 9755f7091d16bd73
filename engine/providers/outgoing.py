"""Redacts likely secrets from every outgoing request (N3, X6).

Every provider's HTTP client, from whatever package, is wrapped here and redacts the body of each request it
sends, so that chats, the gate, embeddings, the flush and the harvest cannot differ. The ``claude`` command,
which reads from a pipe, gets its text from ``sendable`` too.
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
"""As in the input file of a batch."""


def sendable(text: str) -> str:
    """The text without likely secrets and lone surrogates."""
    return redacted(text.encode("utf-8", "replace").decode())


def redacting(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Makes a client redact the body of every request; returns it."""
    send = client.send

    async def send_clean(request: httpx2.Request, **options: Any) -> httpx2.Response:
        return await send(await _redact_body(request), **options)

    client.send = send_clean  # type: ignore[method-assign]
    return client


async def _redact_body(request: httpx2.Request) -> httpx2.Request:
    """The request, or a copy with a redacted body."""
    body = await request.aread()
    if not body:
        return request
    try:
        parsed = json.loads(body)
        redacted_value = without_secrets(parsed)
        changed = (
            b""
            if redacted_value == parsed
            else json.dumps(redacted_value, ensure_ascii=False).encode("utf-8", "replace")
        )
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        redacted_text = "".join(map(_redact_line, _JSON_LINE.split(text)))
        changed = b"" if redacted_text == text else redacted_text.encode()
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


def _redact_line(text: str) -> str:
    """Redacts a line of text; JSON stays valid, because its strings are redacted unescaped."""
    if _JSON_LINE.fullmatch(text):
        with contextlib.suppress(ValueError, RecursionError):
            parsed = json.loads(text)
            redacted_value = without_secrets(parsed)
            return text if redacted_value == parsed else json.dumps(redacted_value, ensure_ascii=False)
    return redacted(text)
