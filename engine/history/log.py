"""Commits as one ``git log`` tells them, with the files they touched; and the time line made of them.

A message may hold any byte but NUL and a path likewise, so everything lies between NULs: five fields of the
commit, an empty one, and then, in pairs or threes, what is known of each file.
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

_FORMAT = "--format=%H%x00%P%x00%ct%x00%an%x00%B%x00"
_TRAILER = re.compile(r"^(?:Session|Conversation): *(\S.*?) *$", re.MULTILINE)
_CURSOR = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\+(\d{1,9})")
_MOST = 100_000
RAW = ("--raw", "--no-abbrev", "-M", "-l400")
"""Files as object names and paths, renamed ones found where a commit has not hundreds of them."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit and the files it touched."""

    entry: Entry
    files: tuple[ChangedFile, ...]


def commits(
    git: Git, *options: str, paths: Sequence[str] = (), stdin: bytes | None = None, raw: bool = True
) -> list[Logged]:
    """The commits that ``git log`` answers to options, in its order; without ``raw`` no file is looked at.

    Raises:
        RepositoryError: Git failed.
    """
    files = RAW if raw else ("--no-patch",)
    merges = (
        []
        if any(option.startswith("--diff-merges") for option in options)
        else ["--diff-merges=first-parent"]
    )
    asked = ("-z", *files, *merges, _FORMAT, "--encoding=UTF-8", *options)
    answer = git.run("log", *asked, paths=paths, stdin=stdin, environment=ENVIRONMENT)
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
    """The files of ``--raw -z`` from a place on, and the place behind them."""
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
        RepositoryError: There is none, or it is damaged.
    """
    found = commits(git, "-1", revision, raw=raw)
    if not found:
        raise RepositoryError(f"there is no revision {shown(revision)}", where=str(git.root))
    return found[0]


def authors(git: Git, head: str, folder: str) -> dict[str, str]:
    """The author of the commit that added each file below a folder, by its path today, in one call. Of what
    was there before a shallow clone begins the author is not known.

    Raises:
        RepositoryError: Git failed.
    """
    found: dict[str, str] = {}
    today: dict[str, str] = {}
    logged = commits(git, "--diff-filter=AR", head, paths=[folder])
    if any(not each.entry.parents for each in logged) and is_shallow(git):
        logged = [each for each in logged if each.entry.parents]
    for each in logged:  # newest first: the one that added a file has the last word
        for file in each.files:
            path = today.get(file.path, file.path)
            found[path] = each.entry.author.strip()
            if file.earlier:
                today[file.earlier] = path
    return found


def is_shallow(git: Git) -> bool:
    """Whether the clone lacks what was before its first commits."""
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
    """A page of the commits that led to a commit; arguments as ``History.timeline``, ``since`` as UTC.

    Raises:
        RepositoryError: ``before`` or ``kind`` is none, or git failed.
        PathRefused: The path leaves the workspace.
    """
    cursor = _CURSOR.fullmatch(before) if before else None
    if before and cursor is None:
        raise RepositoryError(f"{shown(before)} is no place in the time line", hint="give what `next` said")
    if kind and kind not in KINDS:
        raise RepositoryError(f"there is no type {shown(kind)}", hint=f"give one of {', '.join(KINDS)}")
    start, skipped = (cursor[1], int(cursor[2])) if cursor else (head, 0)
    limit = min(max(limit, 1), _MOST)
    options = [f"--since=@{int(since.timestamp())} +0000"] if since is not None else []
    paths = ["/".join(split_relative(path))] if path else []
    follows = bool(paths) and not (git.root / paths[0]).is_dir()
    # A merge brought nothing that the commits that it merged did not; git shows it all the same.
    options += ["--follow", "--diff-merges=off"] if follows else []
    options += [f"--grep=^{kind}:"] if kind and kind != "other" else []
    found: list[Entry] = []
    portion = limit + 1
    while len(found) <= limit:
        # With --follow, git counts commits to skip before it knows which of them it will show.
        asked = skipped + portion if follows else portion
        window = ["--skip=0" if follows else f"--skip={skipped}", f"--max-count={asked}"]
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
    """A commit's time; the beginning of all time where it has none that can be used."""
    try:
        return datetime.fromtimestamp(max(int(seconds), 0), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
