"""Handling of failed attempts: whether to retry, and the error with its hint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from engine.errors import AutopoiesisError
from engine.providers.chat import Asked
from engine.providers.keys import NO_KEY, Purpose, key_sent, shown_address

RETRIES = 2
"""Retries after a transient failure: rate limit, service error, lost connection."""

_PASSING = frozenset({-2, 0, 408, 409, 425, 429, 500, 502, 503, 504, 529})
_LASTING = frozenset({-1, 0, 401, 402, 403, 404})
"""Statuses that every further request would get too: key, account, model or address."""
_FIRST_PAUSE_S = 0.3
_QUOTED = 160
_KEY_WINDOW = 8
_TOO_LONG_SAID = re.compile(
    r"too (?:long|large|many tokens)|context[ _](?:length|size|window)"
    r"|exceed\w* .{0,60}\b(?:tokens?|context)\b",
    re.IGNORECASE,
)


class ServiceFailure(Exception):
    """One attempt failed.

    ``status`` is the HTTP status; 0 when there was no response, -1 when it could not be read, -2 when it
    broke off before its end. ``said`` is one printable line without the key, ``retry_after`` seconds. After
    one that ``is_final``, another attempt would do harm: part of the answer has been passed on.
    """

    def __init__(
        self, status: int, said: str = "", retry_after: float | None = None, *, is_final: bool = False
    ) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.said = said
        self.retry_after = retry_after
        self.is_final = is_final


def late(name: str, timeout: float, purpose: Purpose) -> AutopoiesisError:
    """The error for a timeout, worded the same wherever it is noticed."""
    hint = f"raise {purpose.deadline}, or try again later" if purpose.deadline else "try again later"
    return purpose.error(f"no answer within {round(timeout, 2):g} s", where=name, hint=hint)


def pause_after(failure: ServiceFailure, retries: int) -> float | None:
    """Seconds to wait before the next attempt; ``None`` to give up."""
    if failure.status not in _PASSING or failure.is_final or retries >= RETRIES:
        return None
    return _FIRST_PAUSE_S * 2**retries if failure.retry_after is None else failure.retry_after


def explained(
    failure: ServiceFailure, service: Asked, key_variable: str, retries: int, purpose: Purpose
) -> AutopoiesisError:
    """The purpose's error for the last attempt."""
    status = failure.status
    said = f": {failure.said}" if failure.said else ""
    times = "" if retries == 0 else f", {retries + 1} times"
    where = named(service)
    variable = purpose.key_variable if service.address else key_variable
    match status:
        case 401 | 403:
            what, hint = f"the key was refused ({status})", f"set {variable} to a key that is valid there"
        case 404:
            what = f"{service.model} was not found (404){said}"
            hint = f"set {purpose.model} to a model it has"
        case 402:
            what, hint = "the account has insufficient credit (402)", "see the provider's billing page"
        case 429:
            wait = "" if failure.retry_after is None else f"; retry after {failure.retry_after:.3g} s"
            what = f"too many requests (429){times}{wait}"
            hint = f"wait, or {purpose.less}" if purpose.less else "wait"
        case 0:
            what, hint = f"cannot be reached{times}", f"check the network and {purpose.address}"
        case -2:
            what, hint = f"the reply broke off{times}", "try again"
        case -1:
            what = "the reply could not be read"
            hint = f"check that {purpose.address} is a server of this kind"
        case 400 | 413 | 422 if purpose.shorter and _TOO_LONG_SAID.search(failure.said):
            what, hint = f"{service.model} does not accept this much input ({status}){said}", purpose.shorter
        case _ if status >= 500:
            what, hint = f"the service failed ({status}){times}", "try again later"
        case _:
            what = f"the request was refused ({status}){said}"
            hint = f"check {purpose.model} and {purpose.address}"
    error = purpose.error(what, where=where, hint=hint)
    return error.until_changed() if status in _LASTING else error


def named(service: Asked) -> str:
    """The service's name for errors, with its address unless it is the provider's own."""
    place = shown_address(service.address)
    return f"{service.name} ({place})" if place else service.name


def refusal(
    status: int, body: object, sent: Mapping[str, str], received: Mapping[str, str]
) -> ServiceFailure:
    """A response that is an error, by its JSON; what quotes the key of the headers is not passed on."""
    return ServiceFailure(status, said_by(body, key_sent(sent)), seconds_to_wait(received))


def told_within(body: object, code: object, sent: Mapping[str, str]) -> ServiceFailure:
    """An error that was told within a reply that had begun; without a status it is the service's own."""
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return refusal(status, body, sent, {})


def said_by(body: object, key: str) -> str:
    """A service's own words about an error: one short printable line, empty if it quotes the key."""
    error = body.get("error", body) if isinstance(body, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else error
    if not isinstance(message, str):
        return ""
    return quoted(message, key)


def quoted(text: str, *keys: str) -> str:
    """The start of a text from outside as one short printable line; empty if it quotes one of the keys."""
    text = text[: 4 * _QUOTED]
    for key in keys:
        windows = range(len(key) - _KEY_WINDOW + 1) if key != NO_KEY else ()
        if any(key[start : start + _KEY_WINDOW] in text for start in windows):
            return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _QUOTED else f"{line[: _QUOTED - 1]}…"


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """What a response asks to wait: ``retry-after-ms``, or ``retry-after`` as seconds or as a date."""
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
