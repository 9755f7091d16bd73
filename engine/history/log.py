"""Parses ``git log`` into commits with their files, and builds the timeline.

Messages and paths may contain any byte but NUL, so the output is NUL-separated: five fields of the commit, an
empty one, and then two or three for each file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from engine.errors import RepositoryError
from engine.history.model import KINDS, ChangedFile, Entry, Letter, Timeline
from engine.store.git import Git
from engine.store.paths import shown, split_relative
from engine.store.revisions import ENVIRONMENT
from engine.store.spelling import spelled

_FORMAT = "--format=%H%x00%P%x00%ct%x00%an%x00%B%x00"
_TRAILER = re.compile(r"^(?:Session|Conversation): *(\S.*?) *$", re.MULTILINE)
_CURSOR = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\+(\d{1,9})")
_MAX_LIMIT = 100_000
RAW = ("--raw", "--no-abbrev", "-M", "-l400")
"""Files as object names and paths, with renames detected in commits of up to 400 candidates."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit and the files it changed."""

    entry: Entry
    files: tuple[ChangedFile, ...]


def commits(
    git: Git, *options: str, paths: Sequence[str] = (), stdin: bytes | None = None, raw: bool = True
) -> list[Logged]:
    """The commits that ``git log`` lists for some options, in its order; without ``raw``, without files.

    Raises:
        RepositoryError: Git failed.
    """
    files = RAW if raw else ("--no-patch",)
    merges = (
        []
        if any(option.startswith("--diff-merges") for option in options)
        else ["--diff-merges=first-parent"]
    )
    command = ("-z", *files, *merges, _FORMAT, "--encoding=UTF-8", *options)
    answer = git.run("log", *command, paths=paths, stdin=stdin, environment=ENVIRONMENT)
    return list(_read(answer.output))


def _read(output: bytes) -> Iterator[Logged]:
    parts = output.split(b"\0")
    place = 0
    while place + 5 < len(parts):
        revision, parents, seconds, author, message = parts[place : place + 5]
        place += 6
        files, place = raw_files(parts, place)
        text = message.decode("utf-8", "replace").strip("\n")
        subject, _, body = text.partition("\n")
        yield Logged(
            Entry(
                revision.decode(),
                _moment(seconds),
                author.decode("utf-8", "replace"),
                subject.strip(),
                body.strip(),
                tuple(dict.fromkeys(_TRAILER.findall(body))),
                tuple(parents.decode().split()),
                len(files),
            ),
            files,
        )


def raw_files(parts: Sequence[bytes], place: int = 0) -> tuple[tuple[ChangedFile, ...], int]:
    """The files in ``--raw -z`` output from a position on, and the position after them."""
    found: list[ChangedFile] = []
    while place + 1 < len(parts) and parts[place].lstrip(b"\n").startswith(b":"):
        *modes, old, new, letter = parts[place].decode().strip().removeprefix(":").split()
        paths = [os.fsdecode(path) for path in parts[place + 1 : place + (3 if letter[0] in "RC" else 2)]]
        found.append(
            ChangedFile(
                cast("Letter", letter[0]),
                paths[-1],
                paths[0] if len(paths) > 1 else "",
                old if old.strip("0") else "",
                new if new.strip("0") else "",
                not all(mode.startswith(("100", "000000")) for mode in modes),
            )
        )
        place += 1 + len(paths)
    return tuple(found), place


def one(git: Git, revision: str, *, raw: bool = True) -> Logged:
    """The commit with an object name.

    Raises:
        RepositoryError: No such commit, or it is damaged.
    """
    found = commits(git, "-1", revision, raw=raw)
    if not found:
        raise RepositoryError(f"no revision {shown(revision)}", where=str(git.root))
    return found[0]


def authors(git: Git, head: str, folder: str) -> dict[str, str]:
    """The author of the commit that added each file below a folder, by current path, in one call. For files
    older than a shallow clone the author is unknown.

    Raises:
        RepositoryError: Git failed.
    """
    found: dict[str, str] = {}
    today: dict[str, str] = {}
    logged = commits(git, "--diff-filter=AR", head, paths=[folder])
    if any(not each.entry.parents for each in logged) and is_shallow(git):
        logged = [each for each in logged if each.entry.parents]
    for each in logged:  # newest first, so that the commit that added a file wins
        for file in each.files:
            path = today.get(file.path, file.path)
            found[path] = each.entry.author.strip()
            if file.earlier:
                today[file.earlier] = path
    return found


def is_shallow(git: Git) -> bool:
    """True for a shallow clone."""
    return git.run("rev-parse", "--is-shallow-repository").text == "true"


def timeline(
    git: Git,
    head: str,
    limit: int,
    *,
    before: str = "",
    path: str = "",
    kind: str = "",
    since: datetime | None = None,
) -> Timeline:
    """A page of a commit's history; arguments as ``History.timeline``, ``since`` in UTC.

    Raises:
        RepositoryError: ``before`` or ``kind`` is invalid, or git failed.
        PathRefused: The path is outside the workspace.
    """
    cursor = _CURSOR.fullmatch(before) if before else None
    if before and cursor is None:
        raise RepositoryError(f"{shown(before)} is not a cursor", hint="use the value of `next`")
    if kind and kind not in KINDS:
        raise RepositoryError(f"no type {shown(kind)}", hint=f"use one of {', '.join(KINDS)}")
    start, skipped = (cursor[1], int(cursor[2])) if cursor else (head, 0)
    limit = min(max(limit, 1), _MAX_LIMIT)
    options = [f"--since=@{int(since.timestamp())} +0000"] if since is not None else []
    paths = ["/".join(spelled(git.root, split_relative(path)))] if path else []
    follows = bool(paths) and not (git.root / paths[0]).is_dir()
    # Without merges: they add nothing to the commits they merged, but git would show them.
    options += ["--follow", "--diff-merges=off"] if follows else []
    options += [f"--grep=^{kind}:"] if kind and kind != "other" else []
    found: list[Entry] = []
    portion = limit + 1
    while len(found) <= limit:
        # With --follow, --skip also counts commits that git will not show.
        count = skipped + portion if follows else portion
        window = ["--skip=0" if follows else f"--skip={skipped}", f"--max-count={count}"]
        page = commits(git, *options, *window, start, paths=paths)[skipped if follows else 0 :]
        for each in page:
            if len(found) <= limit and (not kind or each.entry.kind == kind):
                found.append(each.entry)
            if len(found) <= limit:
                skipped += 1
        if len(page) < portion:
            break
        portion = min(portion * 4, 5_000)
    more = len(found) > limit
    return Timeline(tuple(found[:limit]), f"{start}+{skipped}" if more else "")


def _moment(seconds: bytes) -> datetime:
    """A commit's time; the epoch if it is invalid."""
    try:
        return datetime.fromtimestamp(max(int(seconds), 0), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
