"""Finds the conversation something was learned from, by a line's provenance or a commit's trailers."""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from engine.context.views import LEDGER_PATH
from engine.errors import AutopoiesisError
from engine.history.model import Entry, Source, Taught
from engine.knowledge.category_files import provenance_of
from engine.knowledge.harvest.reading import safe_name
from engine.transcripts.places import FOLDER, SUFFIXES, session_files, session_of

if TYPE_CHECKING:
    from engine.knowledge.knowledge import Knowledge
    from engine.store.files import Files

_SAFE = re.compile(r"[A-Za-z0-9_.]+(?:-[A-Za-z0-9_.]+)*", re.ASCII)
_SESSIONS = 3
"""Maximum conversations given for a line without provenance: a commit may import hundreds."""


class Teachers:
    """Finds conversations by name or path. Create one per query: it caches file listings."""

    def __init__(self, files: Files, knowledge: Callable[[], Knowledge]) -> None:
        self._files = files
        self._knowledge = knowledge
        self._found: dict[tuple[str, str], Taught] = {}

    def of(self, line: str, entry: Entry | None) -> tuple[Taught, ...]:
        """The sources of a line: the conversation in its provenance, otherwise those of its commit."""
        provenance = provenance_of(line)
        if provenance is not None:
            return (self.named(*provenance),)
        return tuple(map(self.at, entry.sessions[:_SESSIONS])) if entry is not None else ()

    def at(self, path: str) -> Taught:
        """The conversation with a path, even if it was moved or deleted."""
        name = safe_name(path)
        if (known := self._found.get((name, path))) is None:
            known = self._found[name, path] = self._whereabouts(name, "", path)
        return known

    def named(self, name: str, day: str) -> Taught:
        """The conversation in a provenance: by its file name, its day and title, or its session id."""
        if (known := self._found.get((name, day))) is None:
            path = self._by_stem.get(name) or self._by_safe_name.get(name) or self._of_day(name)
            known = self._found[name, day] = self._whereabouts(name, day, path or self._of_session(name))
        return known

    def _of_day(self, name: str) -> str:
        """The transcript named by day and slug, such as ``2026-06-12-investigate-cache``."""
        day, slug = name[:10].replace("-", "/"), name[10:]
        found = [path for path in self._by_day.get(day, ()) if path.endswith(f"{slug}.md")] if slug else []
        return found[0] if len(found) == 1 else ""

    @cached_property
    def _by_day(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._transcripts:
            found.setdefault(path[len(FOLDER) + 1 :].rpartition("/")[0], []).append(path)
        return found

    def _whereabouts(self, name: str, day: str, path: str) -> Taught:
        return Taught(name, day, path, self._source(path))

    def _source(self, path: str) -> Source:
        if not path:
            return "unknown"
        if path in self._there:
            return "transcript" if path.startswith(f"{FOLDER}/") else "conversation"
        return self._reclaimed.get(path, "gone")

    @cached_property
    def _there(self) -> frozenset[str]:
        return frozenset((*self._transcripts, *self._waiting))

    @cached_property
    def _reclaimed(self) -> dict[str, Source]:
        """Conversations in the trash, and reclaimed ones that can be restored from history, by path."""
        found: dict[str, Source] = {}
        # A missing ledger would be searched for in the whole history.
        if self._files.workspace.root.joinpath(LEDGER_PATH).exists():
            with contextlib.suppress(AutopoiesisError):
                for entry in self._knowledge().ledger.entries().values():
                    found[entry.path] = "reclaimed" if entry.deleted else "gone"
        return found | {each.path: "trash" for each in self._knowledge().trash.all()}

    @cached_property
    def _by_stem(self) -> dict[str, str]:
        """Paths by file name without suffix; existing files win over reclaimed ones."""
        paths = (*self._reclaimed, *self._transcripts, *self._waiting)
        return {path.rpartition("/")[2].rpartition(".")[0]: path for path in paths}

    @cached_property
    def _by_safe_name(self) -> dict[str, str]:
        """The same by the name used in provenance, where it differs."""
        return {safe_name(path): path for stem, path in self._by_stem.items() if not _SAFE.fullmatch(stem)}

    @cached_property
    def _transcripts(self) -> list[str]:
        return [f"{FOLDER}/{'/'.join(path.parts[-4:])}" for path in session_files(self._files.workspace)]

    @cached_property
    def _by_session(self) -> list[tuple[str, str]]:
        """File names of transcripts without their time, sorted, with their paths."""
        return sorted((path.rpartition("/")[2][5:], path) for path in self._transcripts)

    def _of_session(self, name: str) -> str:
        """The newest transcript of a session, by file name and header."""
        start = bisect_left(self._by_session, (f"{name}-", ""))
        alike = takewhile(lambda each: each[0].startswith(f"{name}-"), islice(self._by_session, start, None))
        root = self._files.workspace.root
        return max((path for _, path in alike if session_of(root / path) == name), default="")

    @cached_property
    def _waiting(self) -> Sequence[str]:
        workspace = self._files.workspace
        if not workspace.holds("conversations"):
            return ()
        return [
            workspace.relative(path)
            for path in sorted(workspace.conversations.rglob("*"))
            if path.name.endswith(SUFFIXES) and path.is_file() and not path.is_symlink()
        ]
