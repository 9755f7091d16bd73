"""Links in a message and file paths of tool calls (spec 4.2): hosts, URL globs and path globs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import urlsplit

from engine.activation.scan import Scan

MAX_PATHS = 500
"""Paths of one message that are looked at."""

_MOST_ALTERNATIVES = 64
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,15}://", re.IGNORECASE)
_WITH_SCHEME = re.compile(
    r"(?<![\w@])(?:(?:https?|ftp|ssh|git|wss?)://|www\.(?=[\w-]+\.))[^\s<>\"`\\^{}|]{1,2000}", re.IGNORECASE
)
_BARE = re.compile(
    r"(?<![\w@./:-])(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w@-])(?::\d{1,5})?(?:[/?#][^\s<>\"`\\^{}|]{0,2000})?"
)
_TRAILING = ".,;:!?'*_~…»”’“‘。，、！？；：）】」』"
_CLOSING = {")": "(", "]": "["}


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a message: its place in ``Scan.text``, its host, and host with path and query."""

    start: int
    end: int
    host: str
    address: str
    has_scheme: bool


def links(scan: Scan) -> list[Link]:
    """Every link of a message, in order. Without a scheme it counts where it looks like ``host.tld``."""
    found: list[Link] = []
    taken = 0
    matches = [(match, True) for match in _WITH_SCHEME.finditer(scan.text)]
    if "." in scan.text:
        matches += [(match, False) for match in _BARE.finditer(scan.text)]
    for match, has_scheme in sorted(matches, key=lambda pair: (pair[0].start(), not pair[1])):
        if match.start() < taken:
            continue
        text = _trimmed(match[0])
        taken = match.start() + len(text)
        host, rest = _host_and_rest(text)
        if host:
            found.append(Link(match.start(), taken, host, host + rest, has_scheme))
    return found


def link_matches(link: Link, wanted: Sequence[str]) -> bool:
    """Whether a link is one of those a ``url`` trigger names.

    A host stands for itself and its sub-domains; ``github.com/acme`` for everything below that path; a glob
    such as ``github.com/*/pull/*`` for all that it matches, ``*`` crossing slashes. Without anything named,
    every link with a scheme or ``www.`` matches.
    """
    if not wanted:
        return link.has_scheme
    return any(_fits(link, _SCHEME.sub("", entry.strip(), count=1).casefold()) for entry in wanted)


def _fits(link: Link, entry: str) -> bool:
    host, slash, path = entry.partition("/")
    host = _ascii_host(host.removeprefix("www."))
    if not host:
        return False
    if "*" in host or "?" in host:
        has_host = fnmatchcase(link.host, host)
    else:
        has_host = link.host == host or link.host.endswith(f".{host}")
    if not has_host or not slash or path in ("", "*", "**"):
        return has_host
    address = link.address[len(link.host) + 1 :].casefold()
    if any(sign in path for sign in "*?["):
        return fnmatchcase(address, path) or fnmatchcase(address, path.removesuffix("/") + "/*")
    path = path.removesuffix("/")
    return address == path or address.startswith((f"{path}/", f"{path}?", f"{path}#"))


def _host_and_rest(text: str) -> tuple[str, str]:
    if not _SCHEME.match(text):
        text = f"//{text}"
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return "", ""
    rest = parts.path + (f"?{parts.query}" if parts.query else "")
    return _ascii_host(host), rest


def _ascii_host(host: str) -> str:
    """A host name as it is registered, so that ``bücher.de`` and ``xn--bcher-kva.de`` are the same."""
    host = host.casefold().rstrip(".")
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def _trimmed(text: str) -> str:
    """A link without the punctuation of the sentence around it."""
    while text:
        last = text[-1]
        is_unopened = last in _CLOSING and text.count(last) > text.count(_CLOSING[last])
        if last not in _TRAILING and not is_unopened:
            break
        text = text[:-1]
    return text


def path_matches(path: str, glob: str) -> bool:
    """Whether a path of a tool call fits a glob.

    ``*`` and ``?`` stay within a name, ``**`` crosses folders, ``[ab]`` and ``{a,b}`` choose. A glob
    without a slash is compared with the last name, ``*.py`` thus fits in any folder; one with a slash fits
    at the end of a path from any folder on, or from the root where it starts with ``/``; one that ends
    with ``/`` fits everything below. Case does not matter, and ``\\`` counts as ``/``.
    """
    parts = [part for part in path.replace("\\", "/").casefold().split("/") if part not in ("", ".")]
    return any(_fits_parts(parts, pattern, anchored) for pattern, anchored in _alternatives(glob))


def _fits_parts(parts: list[str], pattern: tuple[str, ...], anchored: bool) -> bool:
    if not parts:
        return False
    # reachable[j]: the pattern's first j segments fit the path up to here.
    reachable = [True] + [False] * len(pattern)
    for index, segment in enumerate(pattern):
        if segment == "**" and reachable[index]:
            reachable[index + 1] = True
    for part in parts:
        following = [not anchored] + [False] * len(pattern)
        for index, segment in enumerate(pattern):
            if segment == "**":
                following[index + 1] = reachable[index] or reachable[index + 1] or following[index]
            else:
                following[index + 1] = reachable[index] and fnmatchcase(part, segment)
        reachable = following
    return reachable[-1]


@lru_cache(maxsize=1024)
def _alternatives(glob: str) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """The plain globs a glob stands for, as segments, each with whether it starts at the root."""
    result: list[tuple[tuple[str, ...], bool]] = []
    for plain in _braces(glob.strip().replace("\\", "/").casefold()):
        text = f"{plain}**" if plain.endswith("/") else plain
        segments = tuple(segment for segment in text.split("/") if segment not in ("", "."))
        if segments:
            result.append((segments, text.startswith("/")))
    return tuple(result)


def _braces(glob: str) -> list[str]:
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) + len(waiting) <= _MOST_ALTERNATIVES:
        text = waiting.pop(0)
        choice = _innermost(text)
        if choice is None:
            done.append(text)
        else:
            start, end = choice
            waiting += [text[:start] + option + text[end:] for option in text[start + 1 : end - 1].split(",")]
    return done + waiting


def _innermost(text: str) -> tuple[int, int] | None:
    """The place of the first ``{a,b}`` that holds no other."""
    found = re.search(r"\{[^{}]*,[^{}]*\}", text)
    return found.span() if found else None


def first_paths(paths: Sequence[str], glob: str) -> Iterator[str]:
    """The paths that fit a glob, among the first ``MAX_PATHS``."""
    return (path for path in paths[:MAX_PATHS] if path_matches(path, glob))
