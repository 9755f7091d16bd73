"""The origin of each line of a file: its commit and conversation (spec 3.6, blame).

When something was first learned is found by the commits that added a text to the memory (``log -S``). Git
lists the commits that change how often the text occurs in a file. The text is literal, and case is
ignored by default. Git's plain locale knows no case beyond ASCII, so such letters become patterns of both
cases.
"""

from __future__ import annotations

import contextlib
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Literal

from engine.context.views import LEDGER_PATH
from engine.errors import AutopoiesisError, RepositoryError
from engine.history.log import Logged, commits, is_shallow
from engine.history.model import Blame, BlamedLine, ChangedFile, Entry, Hit, Learned, Source, Standing, Taught
from engine.knowledge.category_files import provenance_of
from engine.knowledge.harvest.reading import safe_name
from engine.store.files import READ_LIMIT, Files
from engine.store.git import Git
from engine.store.git_folder import repository_folder
from engine.store.paths import shown
from engine.store.revisions import ENVIRONMENT, blobs
from engine.transcripts.places import FOLDER, SUFFIXES, session_files, session_of

if TYPE_CHECKING:
    from engine.knowledge.knowledge import Knowledge

_HEAD = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")


def blame(
    git: Git, files: Files, path: str, teachers: Teachers, *, lines: tuple[int, int] | None, revision: str
) -> Blame:
    """See ``History.blame``; ``revision`` is a full object name, or empty for the file on disk.

    Raises:
        FileNotFoundError, PathRefused, DocumentError: The file cannot be read.
        RepositoryError: It has no such line, or git failed.
    """
    name = files.workspace.plain(path)
    texts = _lines_on_disk(files, name) if not revision else []
    if lines is not None and not revision and not 1 <= lines[0] <= lines[1] <= len(texts):
        raise RepositoryError(f"has only {len(texts):,} lines", where=shown(name), hint="choose one of them")
    if not revision and not texts:
        return Blame(name, (), ())
    span = [f"-L{lines[0]},{lines[1]}"] if lines is not None else []
    # Clear the repository's own list of revisions to ignore.
    fixed = ("--porcelain", "--encoding=UTF-8", "--ignore-revs-file=")
    options = (*fixed, *span, *([revision] if revision else []))
    # A person's own list of revisions to ignore cannot be cleared, and fails where it does not exist. Without
    # their settings git would not accept the folder of another owner, unless it is named.
    alone = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DIR": str(repository_folder(git.root)),
    }
    answer = git.run("blame", *options, paths=[name], environment={**ENVIRONMENT, **alone}, accept=(0, 128))
    if answer.code:
        if revision or not _is_new(git, name):
            raise RepositoryError(answer.message or "git cannot blame it", where=shown(name))
        first, last = lines or (1, len(texts))
        found = [BlamedLine(number, texts[number - 1], "", name, number) for number in range(first, last + 1)]
        return Blame(name, tuple(found), ())
    found = _read(answer.output, name)
    known = _commits(git, {each.revision for each in found if each.revision})
    by_name = {each.revision: each for each in known}
    taught = tuple(replace(each, taught=teachers.of(each.text, by_name.get(each.revision))) for each in found)
    shallow = any(not each.parents for each in known) and is_shallow(git)
    return Blame(name, taught, known, shallow)


def _lines_on_disk(files: Files, path: str) -> list[str]:
    text = files.read(path, limit=READ_LIMIT).decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _is_new(git: Git, path: str) -> bool:
    """True if a file is not in the newest commit."""
    return not git.run("ls-tree", "-z", "--full-tree", "HEAD", paths=[path], accept=(0, 128)).output


def _read(output: bytes, path: str) -> list[BlamedLine]:
    """Parses ``--porcelain`` output, which describes each commit only at its first line."""
    found: list[BlamedLine] = []
    names: dict[bytes, str] = {}
    revision, there, number, then = b"", 0, 0, path
    for line in output.split(b"\n"):
        if line.startswith(b"\t"):
            text = line[1:].decode("utf-8", "surrogateescape").removesuffix("\r")
            known = revision.decode() if revision.strip(b"0") else ""
            found.append(BlamedLine(number, text, known, then, there))
        elif head := _HEAD.fullmatch(line):
            revision, there, number = head[1], int(head[2]), int(head[3])
            then = names.get(revision, path)
        elif line.startswith(b"filename "):
            then = names[revision] = _unquoted(line.removeprefix(b"filename "))
    return found


def _unquoted(name: bytes) -> str:
    """A path from git's output, where unusual ones are quoted with C escapes."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return os.fsdecode(name)


def _commits(git: Git, revisions: set[str]) -> tuple[Entry, ...]:
    if not revisions:
        return ()
    stdin = "".join(f"{each}\n" for each in sorted(revisions)).encode()
    found = commits(git, "--no-walk", "--stdin", stdin=stdin, raw=False)
    return tuple(sorted((each.entry for each in found), key=lambda each: each.at, reverse=True))


def span_of(text: str) -> tuple[str, tuple[int, int] | None]:
    """Parses a file and lines as typed by the user: ``FILE``, ``FILE:12``, ``FILE:12-40``."""
    match = re.fullmatch(r"(.+):(\d{1,9})(?:-(\d{1,9}))?", text, re.DOTALL)
    if match is None:
        return text, None
    return match[1], (int(match[2]), int(match[3] or match[2]))


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
