"""Finds when something was first learned: the commits that added a text to the memory (spec 3.6, ``log -S``).

Git lists the commits that change how often the text occurs in a file. The text is literal, and case is
ignored by default. Git's plain locale knows no case beyond ASCII, so such letters become patterns of both
cases.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from engine.errors import RepositoryError
from engine.history.blame import Teachers
from engine.history.log import Logged, commits, is_shallow
from engine.history.model import ChangedFile, Entry, Hit, Learned, Standing
from engine.store.git import Git
from engine.store.revisions import blobs

_PLACES: tuple[tuple[Literal["knowledge", "conversations"], tuple[str, ...]], ...] = (
    ("knowledge", ("knowledge", "archive", "topics")),
    ("conversations", ("raw", "conversations")),
)
"""Knowledge is searched before conversations, with the archive, so that archiving is not learning."""
_MAX_CHARACTERS = 500
_MAX_OCCURRENCES = 200
_LINE_CHARACTERS = 2_000
_BINARY_CHECK_BYTES = 8_000
_GROUP = 200
_LAST = 5
"""Newest commits to check for the one that last removed a text."""
_GREPPED = re.compile(rb"([^\0]+)\0(\d+)[\0:]([^\n]*)\n")
_SPECIAL = re.compile(r"[][\\^$.|?*+(){}]")


def when(
    git: Git,
    head: str,
    text: str,
    teachers: Teachers,
    *,
    every: bool,
    case: bool,
    excluded: frozenset[str] = frozenset(),
) -> Learned:
    """See ``History.when``; ``excluded`` are paths to ignore.

    Raises:
        RepositoryError: The text cannot be searched for, or git failed.
    """
    if not text.strip() or len(text) > _MAX_CHARACTERS or re.search(r"[\0\n\r]", text):
        raise RepositoryError(
            "this text cannot be searched for", hint=f"use up to {_MAX_CHARACTERS} characters on one line"
        )
    needle = _Needle(text, case=case, excluded=excluded)
    for where, places in _PLACES:
        now = needle.occurrences(git, places)
        found = needle.changes(git, head, places)
        if not found and any(each.committed for each in now):
            # Added by a merge itself, not by the commits it merged.
            found = needle.changes(git, head, places, "--diff-merges=separate")
        if found or now:
            return _learned(git, needle, text, where, found, now, teachers, every)
    return Learned(text, "")


def _learned(
    git: Git,
    needle: _Needle,
    text: str,
    where: Literal["knowledge", "conversations"],
    found: Sequence[Logged],
    now: tuple[Standing, ...],
    teachers: Teachers,
    every: bool,
) -> Learned:
    # The first commit added it; if it no longer occurs, one of the last removed it.
    wanted = found if every else [*found[:1], *([] if now else found[1:][-_LAST:])]
    hits = list(_hits(git, needle, wanted, teachers))
    added = [each for each in hits if not each.removed]
    went = next((each for each in reversed(hits) if each.removed), None) if not now else None
    first = found[0].entry if found else None
    shallow = first is not None and not first.parents and is_shallow(git)
    return Learned(text, where, tuple(hits if every else added[:1]), now, went, shallow)


class _Needle:
    """The text to search for."""

    def __init__(self, text: str, *, case: bool, excluded: frozenset[str]) -> None:
        self._excluded = excluded
        self._text = text
        self._case = case
        self._letters = not case and not text.isascii()
        self._pattern = "".join(map(_cases, text)) if self._letters else text
        pattern = self._pattern if self._letters else re.escape(text)
        self._found = re.compile(pattern, 0 if case else re.IGNORECASE)

    def changes(self, git: Git, head: str, places: Sequence[str], *merges: str) -> list[Logged]:
        """The commits that added or removed it, oldest first, with those files."""
        how = (["--pickaxe-regex"] if self._letters else []) + ([] if self._case else ["-i"])
        how += [f"-S{self._pattern}", "--reverse", *(merges or ("--diff-merges=off",))]
        found = [
            replace(each, files=tuple(file for file in each.files if file.path not in self._excluded))
            for each in commits(git, *how, head, paths=places)
        ]
        return [each for each in found if each.files]

    def occurrences(self, git: Git, places: Sequence[str]) -> tuple[Standing, ...]:
        """Occurrences in the files on disk, except ignored ones."""
        how = ["-E" if self._letters else "-F", *([] if self._case else ["-i"])]
        options = ("-I", "-n", "-z", "--untracked", "--no-color", "--full-name", "--no-recurse-submodules")
        there = [place for place in places if (git.root / place).is_dir()]
        if not there:
            return ()
        answer = git.run("grep", *options, *how, "-e", self._pattern, paths=there, accept=(0, 1))
        found = [
            (os.fsdecode(path), int(number), line.decode("utf-8", "replace"))
            for path, number, line in (match.groups() for match in _GREPPED.finditer(answer.output))
            if os.fsdecode(path) not in self._excluded
        ][:_MAX_OCCURRENCES]
        changed = _uncommitted(git, list(dict.fromkeys(path for path, _, _ in found)))
        return tuple(
            Standing(path, number, line[:_LINE_CHARACTERS], path not in changed)
            for path, number, line in found
        )

    def hit(self, entry: Entry, file: ChangedFile, old: bytes, new: bytes, teachers: Teachers) -> Hit:
        """What a commit did with the text in a file, from the file's bytes before and after."""
        before, after = (data.decode("utf-8", "replace") for data in (old, new))
        removed = len(self._found.findall(before)) > len(self._found.findall(after))
        text, other = (before, after) if removed else (after, before)
        lines = [
            (number, line) for number, line in enumerate(text.split("\n"), 1) if self._found.search(line)
        ]
        known = set(other.split("\n"))
        number, line = next((each for each in lines if each[1] not in known), (lines or [(0, "")])[0])
        path = file.earlier or file.path if removed else file.path
        if b"\0" in (old if removed else new)[:_BINARY_CHECK_BYTES]:
            number, line = 0, ""
        line = line.rstrip("\r")
        return Hit(entry, path, number, line[:_LINE_CHARACTERS], removed, teachers.of(line, entry))


def _hits(git: Git, needle: _Needle, found: Sequence[Logged], teachers: Teachers) -> Iterator[Hit]:
    pairs = [(each.entry, file) for each in found for file in each.files]
    for start in range(0, len(pairs), _GROUP):
        group = pairs[start : start + _GROUP]
        names = [name for _, file in group for name in (file.old, file.new) if name]
        contents = dict(zip(names, blobs(git, names), strict=True))
        for entry, file in group:
            old, new = (contents.get(name) or b"" for name in (file.old, file.new))
            yield needle.hit(entry, file, old, new, teachers)


def _uncommitted(git: Git, paths: list[str]) -> frozenset[str]:
    """The files that differ from the newest commit."""
    if not paths:
        return frozenset()
    options = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    listed = git.run("status", *options, paths=paths).output.split(b"\0")
    return frozenset(os.fsdecode(line[3:]) for line in listed)


def _cases(character: str) -> str:
    """A pattern for a letter in any case, valid in git and Python."""
    if character.isascii():
        return _SPECIAL.sub(r"\\\g<0>", character)
    forms = dict.fromkeys((character, character.lower(), character.upper()))
    return f"({'|'.join(forms)})" if len(forms) > 1 else character
