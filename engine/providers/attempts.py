"""Handling of failed attempts: whether to retry, and the error with its hint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from engine.errors import AutopoiesisError
from engine.providers.chat import ModelService
from engine.providers.keys import NO_KEY, Purpose, sent_key, shown_address

RETRIES = 2
"""Retries after a transient failure: rate limit, service error, lost connection."""

_TRANSIENT = frozenset({-2, 0, 408, 409, 425, 429, 500, 502, 503, 504, 529})
_LASTING = frozenset({-1, 0, 401, 402, 403, 404})
"""Statuses that further requests would get too: the key, account, model or address is wrong."""
_FIRST_PAUSE_S = 0.3
_EXCERPT_CHARS = 160
_KEY_WINDOW = 8
_TOO_LONG_MESSAGE = re.compile(
    r"too (?:long|large|many tokens)|context[ _](?:length|size|window)"
    r"|exceed\w* .{0,60}\b(?:tokens?|context)\b",
    re.IGNORECASE,
)


class ServiceFailure(Exception):
    """One attempt failed.

    ``status`` is the HTTP status; 0 if there was no response, -1 if it could not be parsed, -2 if it was cut
    off. ``message`` is one printable line without the key, ``retry_after`` is in seconds. If ``is_final``, a
    retry would do harm: part of the reply has already been passed on.
    """

    def __init__(
        self, status: int, message: str = "", retry_after: float | None = None, *, is_final: bool = False
    ) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.message = message
        self.retry_after = retry_after
        self.is_final = is_final


def timeout_error(name: str, timeout: float, purpose: Purpose) -> AutopoiesisError:
    """The error for a timeout, worded the same wherever it is detected."""
    hint = f"raise {purpose.deadline}, or try again later" if purpose.deadline else "try again later"
    return purpose.error(f"no answer within {round(timeout, 2):g} s", where=name, hint=hint)


def pause_after(failure: ServiceFailure, retries: int) -> float | None:
    """Seconds to wait before the next attempt; ``None`` to give up."""
    if failure.status not in _TRANSIENT or failure.is_final or retries >= RETRIES:
        return None
    return _FIRST_PAUSE_S * 2**retries if failure.retry_after is None else failure.retry_after


def final_error(
    failure: ServiceFailure, service: ModelService, key_variable: str, retries: int, purpose: Purpose
) -> AutopoiesisError:
    """The purpose's error after the last attempt."""
    status = failure.status
    message = f": {failure.message}" if failure.message else ""
    times = "" if retries == 0 else f", {retries + 1} times"
    where = display_name(service)
    variable = purpose.key_variable if service.address else key_variable
    match status:
        case 401 | 403:
            what, hint = f"the key was refused ({status})", f"set {variable} to a key that is valid there"
        case 404:
            what = f"{service.model} was not found (404){message}"
            hint = f"set {purpose.model} to a model that it offers"
        case 402:
            what, hint = "the account has insufficient credit (402)", "see the provider's billing page"
        case 429:
            wait = "" if failure.retry_after is None else f"; retry after {failure.retry_after:.3g} s"
            what = f"too many requests (429){times}{wait}"
            hint = "wait"
        case 0:
            what, hint = f"cannot be reached{times}", f"check the network and {purpose.address}"
        case -2:
            what, hint = f"the reply was cut off{times}", "try again"
        case -1:
            what = "the reply could not be read"
            hint = f"check that {purpose.address} is a server of this kind"
        case 400 | 413 | 422 if purpose.shorten_hint and _TOO_LONG_MESSAGE.search(failure.message):
            what, hint = (
                f"{service.model} does not accept this much input ({status}){message}",
                purpose.shorten_hint,
            )
        case _ if status >= 500:
            what, hint = f"the service failed ({status}){times}", "try again later"
        case _:
            what = f"the request was refused ({status}){message}"
            hint = f"check {purpose.model} and {purpose.address}"
    error = purpose.error(what, where=where, hint=hint)
    return error.until_changed() if status in _LASTING else error


def display_name(service: ModelService) -> str:
    """The service's name for errors, with its address unless that is the provider's own."""
    place = shown_address(service.address)
    return f"{service.name} ({place})" if place else service.name


def http_failure(
    status: int, body: object, sent: Mapping[str, str], received: Mapping[str, str]
) -> ServiceFailure:
    """The failure in an error response; a message that quotes the key of the request is dropped."""
    return ServiceFailure(status, error_message(body, sent_key(sent)), retry_delay(received))


def stream_failure(body: object, code: object, sent: Mapping[str, str]) -> ServiceFailure:
    """The failure reported in the middle of a streamed reply; without a status code it counts as 500."""
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return http_failure(status, body, sent, {})


def error_message(body: object, key: str) -> str:
    """A service's error message as one short printable line; empty if it quotes the key."""
    error = body.get("error", body) if isinstance(body, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else error
    if not isinstance(message, str):
        return ""
    return excerpt(message, key)


def excerpt(text: str, *keys: str) -> str:
    """The start of an untrusted text as one short printable line; empty if it quotes one of the keys."""
    text = text[: 4 * _EXCERPT_CHARS]
    for key in keys:
        windows = range(len(key) - _KEY_WINDOW + 1) if key != NO_KEY else ()
        if any(key[start : start + _KEY_WINDOW] in text for start in windows):
            return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _EXCERPT_CHARS else f"{line[: _EXCERPT_CHARS - 1]}…"


def retry_delay(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by ``retry-after-ms``, or ``retry-after`` as seconds or a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * scale
        except ValueError:
            try:
                moment = parsedate_to_datetime(text)
            except ValueError:
                continue
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            seconds = (moment - datetime.now(UTC)).total_seconds()
        if seconds == seconds and seconds >= 0:  # not NaN
            return seconds
    return None
