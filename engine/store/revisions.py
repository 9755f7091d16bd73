"""Resolves a revision or date to a commit, and reads a commit's contents (design 5, ``--as-of``).

Nothing is checked out: the tree is listed and its blobs are read raw, so no filter, attribute or hook applies
(G5). Names are passed to git as one argument after ``--end-of-options`` (G6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from engine.errors import RepositoryError
from engine.store import moments
from engine.store.git import Git, GitResult
from engine.store.paths import shown
from engine.store.repository import Commit, Repository, commit_of

NOW = "now"
"""Names the working tree instead of a commit."""

EntryKind = Literal["file", "symlink", "submodule"]

_GROUP_BYTES = 8 * 1024 * 1024
_GROUP_FILES = 2_000
_KINDS: dict[bytes, EntryKind] = {b"100": "file", b"120": "symlink", b"160": "submodule"}
ENVIRONMENT = {
    # Ignore refs/replace.
    "GIT_NO_REPLACE_OBJECTS": "1",
    # Do not fetch what a partial clone lacks: the remote and its helpers come from untrusted configuration.
    "GIT_ALLOW_PROTOCOL": "",
}
"""Environment of commands that read the history."""
_FORMAT = "%H%n%ct%n%an%n%s"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a commit's tree."""

    path: str
    """Path from the root, with forward slashes; bytes that are not UTF-8 are lone surrogates."""
    kind: EntryKind
    name: str
    """The object's name."""
    size: int
    """A file's stored size in bytes; 0 for anything else."""


def find(repository: Repository, text: str, now: datetime, zone: str = "UTC") -> Commit | None:
    """Resolve a revision, tag, branch, hash or date to a commit; ``None`` for ``now``, the working tree.

    Names known to git take precedence. A date means the last commit up to then along the current branch's
    first parents, so that a merge's content does not appear before the merge.

    Args:
        text: User input; dates as in ``moments``.
        now: Reference time of ``3 days ago``, UTC.
        zone: The time zone of dates.

    Raises:
        RepositoryError: No such commit exists, there are no commits, or there is no repository.
    """
    text = text.strip()
    if text.lower() == NOW:
        return None
    git = repository.git
    place = str(repository.workspace.root)
    if git.program() is None or not (repository.workspace.root / ".git").exists():
        state = repository.state(count=False)
        raise RepositoryError(f"no history: {state.why}", where=place, hint=f"{state.hint}, and commit")
    revision = commit_of(git, text, ENVIRONMENT)
    moment = moments.moment(text, now, zone) if revision is None else None
    if moment is not None and commit_of(git, "HEAD", ENVIRONMENT) is not None:
        until = f"--before=@{int(moment.timestamp())} +0000"
        revision = _run(git, "rev-list", "-1", "--first-parent", until, "HEAD").text or None
        if revision is None:
            raise _too_early(git, moment)
    if revision is None:
        raise _unknown(repository, text)
    return _commit(git, revision)


def entries(git: Git, revision: str) -> tuple[TreeEntry, ...]:
    """All entries of a commit's tree, recursively, in git's order.

    Args:
        revision: A commit's full object name.

    Raises:
        RepositoryError: The commit is damaged or incomplete in this clone.
    """
    listed = _run(git, "ls-tree", "-r", "-z", "-l", "--full-tree", revision)
    found: list[TreeEntry] = []
    for line in listed.output.split(b"\0"):
        head, _, path = line.partition(b"\t")
        fields = head.split()
        if len(fields) != 4:
            continue
        kind = _KINDS.get(fields[0][:3])
        if kind is not None:
            size = int(fields[3]) if kind == "file" and fields[3].isdigit() else 0
            found.append(TreeEntry(path.decode("utf-8", "surrogateescape"), kind, fields[2].decode(), size))
    return tuple(found)


def contents(git: Git, files: Sequence[TreeEntry]) -> Iterator[tuple[TreeEntry, bytes]]:
    """The stored bytes of files, in the order given, with about 8 MiB in memory at a time.

    Raises:
        RepositoryError: A file is damaged or missing from this clone.
    """
    for group in _groups(files):
        for entry, data in zip(group, blobs(git, [entry.name for entry in group]), strict=True):
            if data is None:
                raise RepositoryError(
                    "is damaged or missing from this clone",
                    where=shown(entry.path),
                    hint="run: git fsck; complete a partial clone with: git fetch --refetch",
                )
            yield entry, data


def blobs(git: Git, names: Sequence[str]) -> Iterator[bytes | None]:
    """The bytes of blobs by name, all in memory at once; ``None`` if not a blob or missing."""
    output = _run(git, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode()).output
    place = 0
    for _ in names:
        end = output.find(b"\n", place)
        fields = output[place : max(end, place)].split()
        if end < 0 or len(fields) != 3:
            yield None
            place = max(end + 1, place)
            continue
        place = end + 1 + int(fields[2])
        yield output[end + 1 : place] if fields[1] == b"blob" else None
        place += 1


def _groups(files: Sequence[TreeEntry]) -> Iterator[list[TreeEntry]]:
    group: list[TreeEntry] = []
    size = 0
    for entry in files:
        if group and (size + entry.size > _GROUP_BYTES or len(group) == _GROUP_FILES):
            yield group
            group, size = [], 0
        group.append(entry)
        size += entry.size
    if group:
        yield group


def _commit(git: Git, revision: str) -> Commit:
    output = _run(git, "log", "-1", f"--format={_FORMAT}", revision).output.decode("utf-8", "replace")
    name, seconds, author, subject = (*output.rstrip("\n").split("\n", 3), "", "", "")[:4]
    try:
        at = datetime.fromtimestamp(max(int(seconds), 0), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise RepositoryError(
            "the commit has no usable date", where=shown(revision[:8]), hint="choose another one"
        ) from error
    return Commit(name, at, author, subject)


def _too_early(git: Git, moment: datetime) -> RepositoryError:
    first = _commit(git, _run(git, "rev-list", "--first-parent", "--max-parents=0", "HEAD").text)
    what = f"no commit up to {day_and_time(moment)}: the first is {described(first)}"
    if _run(git, "rev-parse", "--is-shallow-repository").text == "true":
        return RepositoryError(
            f"{what}, because the clone is shallow",
            where=str(git.root),
            hint="run: git fetch --unshallow, or give a later date",
        )
    return RepositoryError(what, where=str(git.root), hint="give a later date")


def _unknown(repository: Repository, text: str) -> RepositoryError:
    place = str(repository.workspace.root)
    state = repository.state(count=False)
    if state.kind == "broken":
        return RepositoryError(state.why, where=place, hint=state.hint)
    if not repository.has_commits:
        return RepositoryError(
            "no history: nothing is committed yet",
            where=place,
            hint="commit the workspace with autopoiesis init or git",
        )
    return RepositoryError(
        f"no such revision or date: “{shown(text)}”",
        where=place,
        hint=f"give a commit, a tag or a branch, or a date such as {moments.FORMS}",
    )


def described(commit: Commit) -> str:
    """A commit in one line: ``1a2b3c4d of 2026-10-01 14:00 UTC “memory: first”``."""
    subject = shown(commit.subject)
    subject = subject if len(subject) <= 60 else f"{subject[:59]}…"
    return f"{commit.revision[:8]} of {day_and_time(commit.at)}" + (f" “{subject}”" if subject else "")


def day_and_time(at: datetime) -> str:
    """A time to the minute: ``2026-10-01 14:00 UTC``."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _run(git: Git, *arguments: str, stdin: bytes | None = None) -> GitResult:
    return git.run(*arguments, stdin=stdin, environment=ENVIRONMENT)
