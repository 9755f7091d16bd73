"""The headings of files that topics subscribe to, cached by content in ``scratch/``, which may be deleted.

Every file is read each time, so no change is missed. Parsing takes longer than reading, so headings are
cached by the SHA-256 of the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.fusion.fitted import ABOUT_LIMIT
from engine.errors import AutopoiesisError
from engine.store import documents
from engine.store.markdown import sections

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.topics.model import Topic

HEADINGS_PATH = "scratch/headings.json"
SUBSCRIPTIONS_READ = 20
"""Maximum number of subscriptions of one topic whose headings count."""
SUBSCRIPTION_BYTES = 256 * 1024
"""Size of a subscription above which its headings are ignored."""
HEADINGS_LIMIT = 100
"""Maximum number of headings of one topic."""

_FORM = 1
"""Version of the cached form."""
_LIMIT = 16 * 1024 * 1024
_LOCK_WAIT_S = 1.0

_Known = dict[str, tuple[str, ...]]


class Headings:
    """Finds the headings of the Markdown files that topics subscribe to. Thread-safe."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: _Known | None = None

    def __call__(self, topics: Sequence[Topic]) -> dict[str, tuple[str, ...]]:
        """The distinct headings by topic; unreadable files have none."""
        known = self._known if self._known is not None else self._cached()
        used: _Known = {}
        found = {topic.name: self._of(topic, known, used) for topic in topics}
        if used.keys() - known.keys():
            self._save(used)
        self._known = used
        return found

    def _of(self, topic: Topic, known: Mapping[str, tuple[str, ...]], used: _Known) -> tuple[str, ...]:
        found: list[str] = []
        for path in topic.subscriptions[:SUBSCRIPTIONS_READ]:
            if path.endswith(".md"):
                try:
                    data = self._files.read(path, limit=SUBSCRIPTION_BYTES)
                except (AutopoiesisError, OSError):
                    continue
                name = hashlib.sha256(data).hexdigest()
                if name not in used:
                    used[name] = known[name] if name in known else headings_in(data, path)
                found += used[name]
        return tuple(dict.fromkeys(found))[:HEADINGS_LIMIT]

    def _cached(self) -> _Known:
        """The cached headings; empty if they are damaged."""
        try:
            tree = json.loads(self._files.read(HEADINGS_PATH, limit=_LIMIT))
            if tree["form"] != _FORM:
                return {}
            return {name: _titles(titles) for name, titles in tree["headings"].items()}
        except (OSError, AutopoiesisError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}

    def _save(self, found: _Known) -> None:
        """Caches headings; errors are ignored."""
        if self._files.read_only:
            return
        data = json.dumps({"form": _FORM, "headings": found}).encode()
        try:
            with self._files.lock(timeout=_LOCK_WAIT_S):
                self._files.replace(HEADINGS_PATH, data)
        except AutopoiesisError:
            return


def headings_in(data: bytes, path: str) -> tuple[str, ...]:
    """The distinct headings of a Markdown file: at most ``HEADINGS_LIMIT``, cut to ``ABOUT_LIMIT``."""
    body = documents.parse(data, path).body
    titles = (section.title[:ABOUT_LIMIT] for section in sections(body) if section.title)
    return tuple(dict.fromkeys(titles))[:HEADINGS_LIMIT]


def _titles(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(title, str) for title in value):
        raise ValueError
    return tuple(value)
