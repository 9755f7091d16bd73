"""Exact token counts with the o200k vocabulary, offline.

Special tokens such as ``<|endoftext|>`` count as plain text.
"""

from __future__ import annotations

import contextlib
import hashlib
import struct
import threading
import zlib
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from engine.startup.lazy import expression
from engine.store.user_folder import cache_folder, read_own, write_own

_CACHED_FROM = 256
"""Characters from which a cache look-up is cheaper than counting."""

_CACHE_SIZE = 16_384

_SENTENCE_END = expression(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？]")
_WORD_END = expression(r"(?<=\S)(?=\s)")
_LINE_END = expression(r"(?=\n)")

_cache: OrderedDict[tuple[int, int], int] = OrderedDict()
_guard = threading.Lock()
_before: Counted | None = None

NAME = "tokens"
"""File name in the cache folder."""
_MOST = 4_096
"""Maximum entries; the most recently used are kept."""
_ENTRY = struct.Struct("<16sI")
_HEAD = struct.Struct("<8sI")
_FORM = b"o200k 1\n"
"""Vocabulary and file format."""


def count(text: str) -> int:
    """Tokens of a text; lone surrogates count as ``?``. Counts of longer texts are cached."""
    if len(text) < _CACHED_FROM:
        return _count(text)
    # The hash is randomized in each process, so collisions cannot be crafted.
    key = (len(text), hash(text))
    with _guard:
        known = _cache.get(key)
        if known is not None:
            _cache.move_to_end(key)
            return known
    tokens = _count(text)
    with _guard:
        _cache[key] = tokens
        if len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
    return tokens


def fit(text: str, limit: int) -> str:
    """The longest beginning of a text within ``limit`` tokens that ends where a reader would pause.

    It ends at a line end; if that would waste more than half of the limit, at the end of a sentence, and in a
    very long sentence at the end of a word. Empty if not even one word fits.
    """
    if limit <= 0:
        return ""
    if count(text) <= limit:
        return text
    window = _window(text, limit)
    best = ""
    for ends in (_LINE_END, _SENTENCE_END, _WORD_END):
        found = _longest(window, [match.end() for match in ends.finditer(window)], limit)
        if len(found) > len(best):
            best = found
        if best and 2 * _count(best) >= limit:
            break
    return best


def fit_end(text: str, limit: int) -> str:
    """The longest end of a text within ``limit`` tokens that starts with a line, or else with a word."""
    if limit <= 0:
        return ""
    if count(text) <= limit:
        return text
    window = text[-8 * limit :]
    best = ""
    for starts in (_LINE_END, _WORD_END):
        places = [match.end() + 1 for match in starts.finditer(window)]
        # The later an end starts, the fewer tokens it has.
        index = bisect_left(places, -limit, key=lambda place: -_count(window[place:]))
        while index < len(places) and _count(window[places[index] :]) > limit:
            index += 1
        found = window[places[index] :] if index < len(places) else ""
        best = max(best, found, key=len)
        if best and 2 * _count(best) >= limit:
            break
    return best


def _window(text: str, limit: int) -> str:
    """A beginning that is certainly longer than what fits, so that a long file is not counted often."""
    size = max(64, 8 * limit)
    while size < len(text) and _count(text[:size]) <= limit:
        size *= 2
    return text[:size]


def _longest(text: str, ends: list[int], limit: int) -> str:
    # The count grows with the length except for a token or two at the end, hence the steps back.
    index = bisect_right(ends, limit, key=lambda end: _count(text[:end])) - 1
    while index >= 0 and _count(text[: ends[index]]) > limit:
        index -= 1
    return text[: ends[index]] if index >= 0 else ""


@contextlib.contextmanager
def remembering() -> Iterator[None]:
    """Uses the counts of earlier processes, and saves new ones for later processes.

    For a process that answers a single prompt; any other loads the vocabulary once.
    """
    global _before
    _before = Counted()
    try:
        yield
    finally:
        _before.keep()
        _before = None


def _count(text: str) -> int:
    before = _before
    known = None if before is None else before.get(text)
    if known is None:
        known = _counted(text)
        if before is not None:
            before.add(text, known)
    return known


def _counted(text: str) -> int:
    try:
        return _counter()(text)
    except UnicodeEncodeError:
        return _counter()(text.encode("utf-8", "replace").decode("utf-8"))


@lru_cache(maxsize=1)
def _counter() -> Callable[[str], int]:
    try:
        from rs_bpe import bpe  # noqa: PLC0415 — 50 ms, only for compiling

        counter: Callable[[str], int] = bpe.openai.o200k_base().count
        return counter
    except ImportError:
        pass
    try:
        import bpe_openai  # noqa: PLC0415 — slow, only without a wheel of rs-bpe
    except ImportError:
        raise ImportError("no tokenizer is installed; run: pip install rs-bpe (or bpe-openai)") from None
    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    return lambda text: len(encode(text))


class Counted:
    """The counts of earlier processes plus those of this one. Not thread-safe.

    With them a hook need not load the vocabulary, which takes half as long as everything else it does. The
    file is in the person's cache folder, outside any workspace, and can be deleted at any time. It holds
    digests of texts, not texts. A damaged file, or one that others can write, is ignored.
    """

    def __init__(self) -> None:
        self._path = cache_folder() / NAME
        self._before = _read(self._path)
        self._asked: dict[bytes, int] = {}
        self._is_new = False

    def get(self, text: str) -> int | None:
        """The token count of a text; ``None`` if unknown."""
        digest = _digest(text)
        found = self._asked.get(digest)
        if found is None and (found := self._before.get(digest)) is not None:
            self._asked[digest] = found
        return found

    def add(self, text: str, tokens: int) -> None:
        """Records a count."""
        self._asked[_digest(text)] = tokens
        self._is_new = True

    def keep(self) -> None:
        """Saves new counts; errors are ignored."""
        if not self._is_new:
            return
        entries = list({**self._asked, **self._before}.items())[:_MOST]
        data = b"".join(_ENTRY.pack(digest, tokens) for digest, tokens in entries)
        try:
            write_own(self._path, _HEAD.pack(_FORM, zlib.crc32(data)) + data)
        except OSError:
            return
        self._is_new = False


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _read(path: Path) -> dict[bytes, int]:
    try:
        data = read_own(path) or b""
    except OSError:
        return {}
    entries = data[_HEAD.size :]
    if data[: _HEAD.size] != _HEAD.pack(_FORM, zlib.crc32(entries)) or len(entries) % _ENTRY.size:
        return {}
    return dict(_ENTRY.iter_unpack(entries))
