"""Links in a message and file paths of tool calls (spec 4.2): hosts, URL globs and path globs.

A link has a scheme, begins with ``www.`` or looks like ``host.tld``; a clone address such as
``git@github.com:acme/tool.git`` is one too. It ends before brackets and quotes that it did not open, before
Chinese punctuation, and before a comma followed by another link. Host names are compared in their registered
form, so ``bücher.de`` equals ``xn--bcher-kva.de``.

Limits: a bare host name cannot be distinguished from a file name, so ``main.py`` is a link to Paraguay; this
only affects triggers for such a host. Short links are not resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from engine.activation.scan import Scan, compiled
from engine.startup.records import dataclass

MAX_PATHS = 500
"""Maximum number of paths checked in one message."""

_MAX_ALTERNATIVES = 64
_WEB = ("http", "https", "ftp", "ssh", "git", "ws", "wss")
_SCHEME = r"(?i)[a-z][a-z0-9+.-]{1,15}://"
# A link ends at white space, quotes, markup brackets, invisible characters, and the punctuation of scripts
# that put no space after it.
_REST = r"(?:(?![,;](?:https?://|www\.))[^\s<>\"`\\^{}|\u200b-\u200f\u2060\ufeff“”„‟«»，。、；：！？（）【】「」『』《》〈〉…]){0,2000}"
_HOST = r"(?:\[[\da-fA-F:.]{2,45}\]|[\w%-]{1,63}(?:\.[\w%-]{1,63}){0,9}\.?)"
_WITH_SCHEME = (
    rf"(?i)(?<![A-Za-z0-9@])(?:(?P<scheme>[a-zA-Z][a-zA-Z0-9+-]{{1,15}})://(?:[^\s/?#@<>\"`\\]{{1,200}}@)?|(?=www\.[\w-]+\.))"
    rf"(?P<host>{_HOST})(?P<port>:\d{{1,5}})?(?P<rest>[/?#]{_REST})?"
)
_CLONE = rf"(?<![\w.@-])(?:git|hg)@(?P<host>{_HOST}):(?P<rest>[\w~.-]+/[\w./~-]+)"
_BARE = (
    r"(?<![\w@./:-])(?P<host>(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}|localhost(?=:\d)|\d{1,3}(?:\.\d{1,3}){3}(?=[:/]))"
    rf"(?![\w@+-])(?P<port>:\d{{1,5}})?(?P<rest>[/?#]{_REST})?"
)
_TRAILING = ".,;:!?'*_~…»”’“‘"
_CLOSING = {")": "(", "]": "["}


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a message."""

    start: int  # offset in ``Scan.text``
    end: int
    host: str  # in its registered form, lower case
    port: str  # as written, or empty
    address: str  # host with path and query, as written
    has_scheme: bool  # whether it is clearly a link, with a web scheme or ``www.``


def links(scan: Scan) -> list[Link]:
    """Every link of a message, in order."""
    text = scan.text
    found: list[Link] = []
    if "://" in text or "www." in text.lower():
        found += _found(_WITH_SCHEME, text)
    if "@" in text:
        found += _found(_CLONE, text)
    if "localhost:" in text or any(part[:1].isalnum() for part in text.split(".")[1:]):
        found += _found(_BARE, text)
    found.sort(key=lambda link: link.start)
    return _apart(found)


def _apart(found: list[Link]) -> list[Link]:
    """Links without overlapping ones, preferring those with a scheme."""
    kept: list[Link] = []
    for link in found:
        if kept and link.start < kept[-1].end:
            if link.has_scheme and not kept[-1].has_scheme:
                kept[-1] = link
            continue
        kept.append(link)
    return kept


def _found(pattern: str, text: str) -> Iterator[Link]:
    for match in compiled(pattern).finditer(text):
        parts = match.groupdict()
        name = _registered_part(match["host"])
        host = _ascii_host(name.strip("[]"))
        whole = name == match["host"]
        port = (parts.get("port") or "") if whole else ""
        rest = _trimmed(match["rest"] or "") if whole else ""
        end = match.start("host") + len(name) + len(port) + len(rest)
        if pattern == _CLONE:
            end, rest = match.end("host") + 1 + len(rest), f"/{rest}"
        elif not rest and not port:
            end -= len(name) - len(name.rstrip("."))
        if host:
            scheme = parts.get("scheme")
            meant = pattern != _BARE and (scheme is None or scheme.lower() in _WEB)
            address = host + rest.partition("#")[0]
            yield Link(match.start(), end, host, port[1:], address, meant)


def _registered_part(host: str) -> str:
    """A host without text that follows it without a space: ``github.com`` of ``github.com看看``."""
    host = host.rstrip("_")
    label = host.rstrip(".").rpartition(".")[2]
    ascii_part = re.match(r"[A-Za-z0-9-]+", label)
    if ascii_part is None or label.isascii():
        return host
    return host[: host.rindex(label) + ascii_part.end()]


def link_matches(link: Link, wanted: Sequence[str]) -> bool:
    """Whether a link matches an entry of a ``url`` trigger.

    A host matches itself and its sub-domains, with a port only that port; ``github.com/acme`` matches
    everything below that path; in a glob such as ``github.com/*/pull/*``, ``*`` also matches slashes. Without
    entries, every link with a web scheme or ``www.`` matches.
    """
    if not wanted:
        return link.has_scheme
    return any(_fits(link, _plain(entry)) for entry in wanted)


def _plain(entry: str) -> str:
    entry = entry.strip()
    return (compiled(_SCHEME).sub("", entry, count=1) if "://" in entry else entry).casefold()


@lru_cache(maxsize=4096)
def _parts(entry: str) -> tuple[str, str, str, str]:
    """Host, port, whether a path follows, and the path."""
    place, slash, path = entry.partition("/")
    host, _, port = place.removeprefix("www.").partition(":")
    return _ascii_host(host), port, slash, path


def _fits(link: Link, entry: str) -> bool:
    host, port, slash, path = _parts(entry)
    if not host or (port and port != link.port):
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


def _ascii_host(host: str) -> str:
    """A host name in its registered form."""
    host = host.casefold().rstrip(".")
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def _trimmed(text: str) -> str:
    """A link without the punctuation of the surrounding sentence."""
    while text:
        last = text[-1]
        is_unopened = last in _CLOSING and text.count(last) > text.count(_CLOSING[last])
        if last not in _TRAILING and not is_unopened:
            break
        text = text[:-1]
    return text


def path_matches(path: str, glob: str) -> bool:
    """Whether a path of a tool call matches a glob.

    ``*`` and ``?`` stay within a name, ``**`` crosses folders, ``[ab]`` and ``{a,b}`` are alternatives. A
    glob without a slash is compared with the file name, so ``*.py`` matches in any folder; one with a slash
    matches the end of a path, or the whole path if it starts with ``/``; one that ends with ``/`` matches
    everything below. Case does not matter, and ``\\`` counts as ``/``.
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
    """The globs without braces that a glob stands for, as segments, each with whether it is anchored at the
    root.
    """
    result: list[tuple[tuple[str, ...], bool]] = []
    for plain in _braces(glob.strip().replace("\\", "/").casefold()):
        text = f"{plain}**" if plain.endswith("/") else plain
        segments = tuple(segment for segment in text.split("/") if segment not in ("", "."))
        if segments:
            result.append((segments, text.startswith("/")))
    return tuple(result)


def _braces(glob: str) -> list[str]:
    done: list[str] = []
    pending = [glob]
    while pending and len(done) + len(pending) <= _MAX_ALTERNATIVES:
        text = pending.pop(0)
        innermost = re.search(r"\{[^{}]*,[^{}]*\}", text)
        if innermost is None:
            done.append(text)
        else:
            start, end = innermost.span()
            pending += [text[:start] + option + text[end:] for option in text[start + 1 : end - 1].split(",")]
    return done + pending


def glob_literals(glob: str) -> frozenset[str] | None:
    """Texts of which a path in lower case must contain one to match a glob; ``None`` if there are none."""
    literals: set[str] = set()
    for segments, _ in _alternatives(glob):
        longest = max(
            (run for each in segments for run in re.split(r"[*?]", each.partition("[")[0])), key=len
        )
        if len(longest) < 2:
            return None
        literals.add(longest)
    return frozenset(literals)
