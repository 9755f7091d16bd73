"""Snapshots: tags below ``memory/`` (spec 3.4), plain references, so that no hook or signer runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args

from engine.errors import RepositoryError
from engine.redaction.detect import secrets_in
from engine.store.faults import reach
from engine.store.git import Git
from engine.store.git_folder import SNAPSHOTS
from engine.store.paths import shown
from engine.store.repository import commit_of
from engine.store.revisions import ENVIRONMENT
from engine.store.zone import moment_of

SnapshotKind = Literal["milestone", "before", "extract", "daily", "weekly"]
NAMED: tuple[SnapshotKind, ...] = get_args(SnapshotKind)[:3]
"""The kinds the user names; the others are named by date."""

_NAME = re.compile(r"[^\W_](?:[\w.+-]{0,98}[\w+-])?")
_MAX_BYTES = 200
_FORMAT = "%(refname)%00%(objectname)%00%(*objectname)%00%(committerdate:unix)%00%(*committerdate:unix)"
_SEPARATED = "%00%(contents:subject)%00%(*contents:subject)%00"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A tagged state of the memory."""

    tag: str  # ``memory/milestone/one-year``
    kind: str  # a ``SnapshotKind``, or any other word in a tag made by hand
    name: str  # the rest of the tag
    revision: str  # full object name of its commit
    at: datetime  # commit time, UTC
    subject: str


def snapshots(git: Git) -> tuple[Snapshot, ...]:
    """All snapshots, newest first.

    Raises:
        RepositoryError: Git failed.
    """
    listed = git.run("for-each-ref", f"--format={_FORMAT}{_SEPARATED}", SNAPSHOTS, environment=ENVIRONMENT)
    fields = listed.output.decode("utf-8", "replace").split("\0")
    found: list[Snapshot] = []
    for place in range(0, len(fields) - 7, 7):
        name, own, of_tag, at, at_of_tag, subject, subject_of_tag = fields[place : place + 7]
        tag = name.strip("\n").removeprefix("refs/tags/")
        _, kind, rest = (*tag.split("/", 2), "", "")[:3]
        seconds = at_of_tag or at
        if seconds:  # otherwise the tag is not of a commit
            moment = datetime.fromtimestamp(max(int(seconds), 0), UTC)
            found.append(Snapshot(tag, kind, rest, of_tag or own, moment, subject_of_tag or subject))
    return tuple(sorted(found, key=lambda each: (each.at, each.tag), reverse=True))


def create(git: Git, kind: SnapshotKind, name: str, revision: str) -> str:
    """Tags a commit and returns the tag, which may already exist for this commit.

    Raises:
        RepositoryError: The name is invalid or taken by another commit, or git failed.
    """
    tag = named_tag(kind, name)
    there = _commit_of(git, tag)
    if there is None:
        _put(git, tag, revision, "")
    elif there != revision:
        raise RepositoryError(
            f"{tag} exists, at {there[:8]}",
            where=str(git.root),
            hint="choose another name, or delete it with git tag -d",
        )
    return tag


def named_tag(kind: SnapshotKind, name: str) -> str:
    """The tag of a snapshot named by the user.

    Raises:
        RepositoryError: The kind or name is invalid.
    """
    if kind not in NAMED:
        raise RepositoryError(f"no snapshot kind {shown(str(kind))}", hint=f"use {' or '.join(NAMED)}")
    check_name(name)
    return f"memory/{kind}/{name}"


def daily_tag(day: date) -> str:
    """The tag of a day: ``memory/daily/2026-02-16``."""
    return f"memory/daily/{day.isoformat()}"


def weekly_tag(day: date) -> str:
    """The tag of the week of a day, Monday to Sunday: ``memory/weekly/2026-W07``."""
    year, week, _ = day.isocalendar()
    return f"memory/weekly/{year}-W{week:02}"


def check_name(name: str) -> None:
    """Checks that a name can be part of a tag or branch name.

    Raises:
        RepositoryError: It cannot.
    """
    too_long = len(name.encode("utf-8", "surrogateescape")) > _MAX_BYTES
    if too_long or not _NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        raise RepositoryError(
            f"{shown(name)} is not a valid name for a snapshot or branch",
            hint="use letters, digits, and . _ - + between them",
        )
    if secrets_in(name):
        raise RepositoryError(
            "the name contains what looks like a secret",
            hint="choose another: names are synced to other machines",
        )


def tag_daily(git: Git, head: str, day: date, zone: str) -> str:
    """Tags the last commit of a day and returns the tag; empty if there is no commit. See ``_tag_span``."""
    return _tag_span(git, head, daily_tag(day), day, day, zone)


def tag_weekly(git: Git, head: str, day: date, zone: str) -> str:
    """Tags the last commit of the week of a day; as ``tag_daily``."""
    first = day - timedelta(days=day.weekday())
    return _tag_span(git, head, weekly_tag(day), first, first + timedelta(days=6), zone)


def _tag_span(git: Git, head: str, tag: str, first: date, last: date, zone: str) -> str:
    """Tags the last first-parent commit of a span of days. A repeated call moves the tag forward to newer
    commits of the span; it never moves otherwise.
    """
    try:
        start, end = moment_of(first, time.min, zone), moment_of(last, time.max, zone)
    except OverflowError:
        return ""
    if end.timestamp() < 0:
        return ""  # before the epoch
    options = ("-1", "--first-parent", "--no-patch", "--format=%H %ct")
    until = f"--before=@{int(end.timestamp())} +0000"
    found = git.run("log", *options, until, head, environment=ENVIRONMENT).text.split()
    if len(found) != 2 or int(found[1]) < start.timestamp():
        return ""
    there = _commit_of(git, tag)
    if there == found[0]:
        return tag
    if there is not None and git.run("merge-base", "--is-ancestor", there, found[0], accept=(0, 1)).code:
        return tag  # from another branch, or made by hand
    _put(git, tag, found[0], there or "")
    return tag


def _commit_of(git: Git, tag: str) -> str | None:
    return commit_of(git, f"refs/tags/{tag}", ENVIRONMENT)


def _put(git: Git, tag: str, revision: str, old: str) -> None:
    before = old or "0" * len(revision)
    reach("tag:reference")
    git.run("update-ref", f"refs/tags/{tag}", revision, before, reading=False)
