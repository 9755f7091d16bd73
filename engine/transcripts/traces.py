"""What sessions tell of the repository of their folder when it is gone: where they pushed to and opened pull
requests, and which files they named.

Only the lines of tools count, which say what a program printed, not what somebody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import ImportFailed
from engine.store.checkouts import place_of
from engine.transcripts.importers.lines import opened
from engine.transcripts.places import head_fields, read_head

_MAX_FILES = 2_000
"""Files of one folder that are remembered."""
_ENOUGH_FILES = 5
_SHARE = 3
"""One in so many of the files named must be in a checkout that is to be of the same repository. Sessions of a
repository that was moved name more than half, those of others at most one in seven, like ``package.json``."""
_CALL = re.compile(r"^> \[tool:[^\]\n]*\] (.*)", re.MULTILINE)
_ELSEWHERE = re.compile(r"\b(?:cd|pushd) |\s(?:-C|-R|--repo|--git-dir)\b")
_REMOTES = (
    (re.compile(r"\bgit push(?:\s+-\S+)*(?:\s+origin\b|\s*$|\s*[&|;2>])"), re.compile(r"To (\S+)")),
    (re.compile(r"\bgit remote -v"), re.compile(r"origin\s+(\S+)")),
    (re.compile(r"\bgit (?:remote get-url origin|config --get remote\.origin\.url)"), re.compile(r"(\S+)$")),
    (
        re.compile(r"\b(?:gh pr|glab mr) create\b"),
        re.compile(r"(?:.* )?(https://[^\s/]+/\S+?)(?:/-)?/(?:pull|merge_requests)/\d+"),
    ),
)
"""Commands that print the address of the repository, and where it stands in what they print."""


@dataclass
class Traces:
    """What the sessions of a folder tell."""

    repositories: set[str] = field(default_factory=set)  # keys, see ``engine.store.checkouts.Place``
    files: set[str] = field(default_factory=set)  # named, relative to the folder

    def read(self, transcript: Path) -> None:
        """Adds what a transcript tells; nothing if it cannot be read."""
        folder = head_fields(read_head(transcript), ("cwd",))["cwd"]
        text = ""
        with suppress(ImportFailed), opened(transcript) as stream:
            text = stream.read().decode("utf-8", "replace")
        self.add(folder, text)

    def add(self, folder: str, text: str) -> None:
        """Adds what the text of a transcript tells of the session's folder."""
        here = re.compile(rf"(?:\bcd|-C)\s+[\"']?{re.escape(folder)}(?=[\s\"'/]|$)(?!/\.\.)")
        for call in _CALL.finditer(text):
            command, _, result = call[1].partition(" → ")
            command = here.sub("", command)
            if _ELSEWHERE.search(command):
                break  # in a shell that stays open, all that follows may happen elsewhere
            for asks, says in _REMOTES:
                if asks.search(command) and (found := says.match(result)):
                    self._add(found[1])
        files = re.compile(rf"{re.escape(folder)}/([\w.@+-][\w./@+-]{{0,200}}\.\w+)").finditer(text)
        self.files.update(found[1] for found, _ in zip(files, range(_MAX_FILES), strict=False))

    def _add(self, address: str) -> None:
        place = place_of("", address)
        # A host without a dot is a name in the person's SSH settings.
        if place is not None and "." in place.key.partition("/")[0]:
            self.repositories.add(place.key)

    def are_of(self, checkouts: Iterable[Path]) -> bool:
        """Whether the files named are those of a checkout."""
        files = sorted(self.files)[:_MAX_FILES]
        return any(
            sum((top / name).is_file() for name in files) >= max(_ENOUGH_FILES, len(files) / _SHARE)
            for top in checkouts
        )
