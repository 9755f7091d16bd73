"""Links in a message and file paths of tool calls (spec 4.2): hosts, URL globs and path globs.

A link has a scheme, begins with ``www.``, or is a host with a path (``github.com/acme``); a clone address
such as ``git@github.com:acme/tool.git`` is one too. It ends before brackets and quotes that it did not open,
before Chinese punctuation, and before a comma followed by another link. Short links are not resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice

from engine.startup.lazy import expression
from engine.startup.records import dataclass

MAX_PATHS = 500
"""Maximum number of paths checked in one message."""

_MAX_ALTERNATIVES = 64
# A link ends at white space, quotes, markup brackets, invisible characters, and the punctuation of scripts
# that put no space after it.
_REST = r"(?:(?![,;](?:https?://|www\.))[^\s<>\"`\\^{}|\u200b-\u200f\u2060\ufeff“”„‟«»，。、；：！？（）【】「」『』《》〈〉…]){0,2000}"
# Text in another script may follow the last part without a space.
_HOST = r"(?:\[[\da-fA-F:.]{2,45}\]|(?:[\w%-]{1,63}\.){0,9}(?:[A-Za-z0-9%-]{1,63}|[^\W\x00-\x7f]{1,63}))"
_LINK = expression(
    r"(?:(?<![A-Za-z0-9@])(?:(?P<scheme>[a-zA-Z][a-zA-Z0-9+-]{1,15}://)(?:[^\s/?#@<>\"`\\]{1,200}@)?|(?=www\.[\w-]+\.))"
    r"|(?<![\w.@-])(?P<clone>(?:git|hg)@)|(?<![\w@./:-])(?P<bare>(?=(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}/)))"
    rf"(?P<host>{_HOST})(?(clone):(?P<repository>[\w~.-]+/[\w./~-]+)|(?P<port>:\d{{1,5}})?(?P<rest>[/?#]{_REST})?)"
)
_TRAILING = ".,;:!?'*_~…»”’“‘"
_CLOSING = {")": "(", "]": "["}


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a message."""

    start: int
    end: int
    host: str  # lower case
    port: str  # as written, or empty
    path: str  # path and query, as written
    is_clear: bool  # whether it has a scheme or ``www.``, or is a clone address


def links_in(text: str) -> list[Link]:
    """Every link of a text, in order."""
    found = []
    for match in _LINK.finditer(text):
        host = match["host"].strip("[]").casefold().rstrip(".")
        rest = _trimmed(match["rest"] or match["repository"] or "")
        end = match.start("rest") if match["rest"] else match.end() - len(match["repository"] or "")
        port, path = (match["port"] or "")[1:], rest.partition("#")[0]
        is_clear = match["bare"] is None
        found.append(Link(match.start(), end + len(rest), host, port, path.removeprefix("/"), is_clear))
    return found


def link_matches(link: Link, wanted: Sequence[str]) -> bool:
    """Whether a link matches an entry of a ``url`` trigger.

    A host matches itself and its sub-domains, with a port only that port; ``github.com/acme`` matches
    everything below that path; in a glob such as ``github.com/*/pull/*``, ``*`` also matches slashes. Without
    entries, every link with a scheme or ``www.`` matches.
    """
    if not wanted:
        return link.is_clear
    return any(_fits(link, *_parts(entry)) for entry in wanted)


@lru_cache(maxsize=4096)
def _parts(entry: str) -> tuple[str, str, str]:
    """Host, port and path."""
    place, _, path = entry.strip().casefold().rpartition("://")[2].partition("/")
    host, _, port = place.removeprefix("www.").partition(":")
    return host.rstrip("."), port, path


def _fits(link: Link, host: str, port: str, path: str) -> bool:
    if not host or (port and port != link.port):
        return False
    if not (fnmatchcase(link.host, host) or link.host.endswith(f".{host}")):
        return False
    found, path = link.path.casefold(), path.removesuffix("/")
    if any(sign in path for sign in "*?["):
        return path in ("*", "**") or fnmatchcase(found, path) or fnmatchcase(found, f"{path}/*")
    return not path or found == path or found.startswith((f"{path}/", f"{path}?"))


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
    return bool(parts) and any(_fits_parts(parts, pattern) for pattern in _alternatives(glob))


def _fits_parts(parts: list[str], pattern: tuple[str, ...]) -> bool:
    ends = {0}  # the numbers of the path's first parts that the pattern up to here can stand for
    for segment in pattern:
        if segment == "**":
            ends = set(range(min(ends, default=len(parts) + 1), len(parts) + 1))
        else:
            ends = {at + 1 for at in ends if at < len(parts) and fnmatchcase(parts[at], segment)}
    return len(parts) in ends


@lru_cache(maxsize=1024)
def _alternatives(glob: str) -> tuple[tuple[str, ...], ...]:
    """The globs without braces that a glob stands for, as segments from the root."""
    result = []
    for plain in islice(_braces(glob.strip().replace("\\", "/").casefold()), _MAX_ALTERNATIVES):
        text = f"{plain}**" if plain.endswith("/") else plain
        segments = tuple(segment for segment in text.split("/") if segment not in ("", "."))
        if segments:
            result.append(segments if text.startswith("/") else ("**", *segments))
    return tuple(result)


def _braces(glob: str) -> Iterator[str]:
    found = re.search(r"\{([^{}]*,[^{}]*)\}", glob)
    if found is None:
        yield glob
        return
    for option in found[1].split(","):
        yield from _braces(glob[: found.start()] + option + glob[found.end() :])


def glob_literals(glob: str) -> frozenset[str] | None:
    """Texts of which a path in lower case must contain one to match a glob; ``None`` if there are none."""
    found = [
        max((run for each in segments for run in re.split(r"[*?]", each.partition("[")[0])), key=len)
        for segments in _alternatives(glob)
    ]
    return frozenset(found) if all(len(each) > 1 for each in found) else None
