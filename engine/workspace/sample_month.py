"""The sample's month on git: everything in a commit of the day that it tells of (spec 3.2 to 3.4).

What commits say, what digest and ledger hold, and what snapshots are called comes from the code that does it
in every workspace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from engine.commits.describe import body_of, summary_of
from engine.commits.kinds import FileChange, kind_of
from engine.context.fixed import DIGEST
from engine.conversations.sessions import message_of
from engine.history.snapshots import daily_tag, named_tag, weekly_tag
from engine.knowledge.category_files import CATEGORY_FILES, Entry, entries
from engine.knowledge.digest import STATE, digest_of, state_bytes
from engine.knowledge.harvest import reclaim, settle
from engine.knowledge.harvest.classify import WORKING
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry, bytes_of, tree_of
from engine.lifecycle.condensing import weeks
from engine.store.commit_message import commit_message, typed
from engine.store.past import PastCommit
from engine.store.zone import local_day
from engine.workspace.sample_lines import HAND, HARVEST, ROLL_UP, TALK, TRASH, Calendar, When

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.workspace.sample_past import Past

_RECLAIMING = time(21, 45, tzinfo=UTC)
"""On Sundays, after the harvest."""
_MORNING = time(8, tzinfo=UTC)
_CATEGORIES = {file.path for file in CATEGORY_FILES}


def month_of(files: Files, paths: Sequence[str], past: Past, told: bytes) -> list[PastCommit]:
    """The commits of the sample's month, oldest first.

    Args:
        paths: The files that they are made of, every conversation that has gone meanwhile among them.
        told: What no file tells, ``sample/month.json``: in ``begins`` the moment or day with which files, or
            those below a folder, begin, and what a commit of their own says; in ``words`` further names that
            nobody used before somebody had said them; in ``changes`` what files said before a moment; and
            ``snapshots`` and ``branches`` that people have made.
    """
    month = _Month(files, past, json.loads(told))
    month.gather(paths)
    return month.commits()


class _Month:
    def __init__(self, files: Files, past: Past, told: Mapping[str, Any]) -> None:
        self._files = files
        self._past = past
        self._told = told
        self._calendar = Calendar(files, told, past.entries.values())
        self._trees = {name: tree_of(entry) for name, entry in past.entries.items()}
        self._changes: dict[When, dict[str, bytes | None]] = {}
        self._said: dict[When, str] = {}
        self._branches = {
            When(datetime.fromisoformat(each["at"]), HAND, each["name"]): each for each in told["branches"]
        }

    # What came and went, and when.

    def gather(self, paths: Sequence[str]) -> None:
        """Finds the commits to which files belong."""
        known = {entry.path: entry for entry in self._past.entries.values()}
        waiting = [path for path in paths if path.startswith(f"{WORKING}/")]
        for path, entry in known.items():
            if path in (*self._past.reclaimed, *self._past.removed):
                self._conversation(path, entry)
                waiting.remove(path)
        self._waiting(waiting)
        for path in paths:
            if path.startswith(f"{WORKING}/") or path in (LEDGER, DIGEST, STATE):
                continue
            data = self._files.read(path)
            if path in self._calendar.ends:
                self._add(When(self._calendar.ends[path], TALK, path), path, data, message_of(path))
                continue
            for when, version in self._calendar.versions(path, data):
                self._add(when, path, version)

    def _add(self, when: When, path: str, data: bytes | None, said: str = "") -> None:
        self._changes.setdefault(when, {})[path] = data
        if said:
            self._said[when] = said

    def _conversation(self, path: str, entry: LedgerEntry) -> None:
        """A conversation comes with its harvest and is reclaimed on the next Sunday; one that is given up or
        was too large is in the history first.
        """
        at = datetime.fromisoformat(entry.at)
        is_harvested = entry.status == "harvested"
        said = settle.message_of(path, entry) if is_harvested else reclaim.kept_message(path)
        self._add(When(at, HARVEST, path), path, self._files.read(path), said)
        if is_harvested:
            sunday = at.date() + timedelta(days=7 - at.isoweekday())
            night = min(datetime.combine(sunday, _RECLAIMING), self._calendar.last_harvest)
            self._add(When(night, TRASH), path, None)
        elif entry.status == "deleted-unharvested":
            self._add(When(at + timedelta(seconds=1), TRASH), path, None)
        else:
            said = f"{path} is moved away by hand, it is too large for a harvest"
            morning = datetime.combine(at.date() + timedelta(days=1), _MORNING)
            self._add(When(morning, HAND, path), path, None, commit_message("memory", said))

    def _waiting(self, paths: Sequence[str]) -> None:
        """Conversations that wait for a harvest are committed by hand on the last evening."""
        evening = datetime.combine(self._calendar.last.date() - timedelta(days=1), _RECLAIMING)
        said = commit_message("conversation", f"{len(paths)} that wait for a harvest", sessions=paths)
        for path in paths:
            self._add(When(evening, HAND, WORKING), path, self._files.read(path), said)

    # What that makes.

    def commits(self) -> list[PastCommit]:
        """The commits of all that was gathered, with what follows from it and the snapshots."""
        made = list(self._made())
        for name, last in self._snapshots(made).items():
            made[last] = replace(made[last], tags=(*made[last].tags, name))
        return made

    def _made(self) -> Iterator[PastCommit]:
        tree: dict[str, bytes] = {}
        parsed: dict[str, tuple[Entry, ...]] = {}
        for when in sorted((*self._changes, *self._branches)):
            if (tried := self._branches.get(when)) is not None:
                yield _beside(when, tried, tree)
                continue
            contents = dict(self._changes[when])
            after = {path: data for path, data in {**tree, **contents}.items() if data is not None}
            if changed := _CATEGORIES & contents.keys():
                parsed |= {path: entries(after[path], path) for path in changed}
                contents |= {DIGEST: digest_of(parsed), STATE: state_bytes("made")}
            if changed or when.kind in (HARVEST, TRASH):
                contents[LEDGER] = self._ledger(when, after)
            contents = {path: data for path, data in contents.items() if data != tree.get(path)}
            yield PastCommit(when.at, self._message(when, tree, contents), contents)
            for path, data in contents.items():
                if data is None:
                    del tree[path]
                else:
                    tree[path] = data

    def _ledger(self, when: When, tree: Mapping[str, bytes]) -> bytes:
        """The ledger as a commit holds it."""
        found = {}
        for name, entry in self._past.entries.items():
            is_gone = entry.path in self._past.reclaimed and entry.path not in tree
            is_given_up = entry.status == "deleted-unharvested"
            if datetime.fromisoformat(entry.at) > when.at or (is_given_up and not is_gone):
                continue
            found[name] = {**self._trees[name], "deleted": is_gone}
            if entry.lines:
                found[name]["lines"] = [
                    {**line, "text": self._calendar.earlier(line["path"], line["text"], when)}
                    for line in self._trees[name]["lines"]
                ]
        return bytes_of(found)

    def _message(self, when: When, tree: Mapping[str, bytes], contents: Mapping[str, bytes | None]) -> str:
        if when in self._said:
            return self._said[when]
        if when.kind == TRASH:
            return reclaim.gone_message([path for path, data in contents.items() if data is None])
        if when.kind == ROLL_UP:
            return commit_message("maintenance", weeks.summary_of(when.name))
        changes = [FileChange(path, tree.get(path), data) for path, data in contents.items()]
        kind, what = typed(when.name) if when.kind == HAND else (None, "")
        kind = kind or kind_of(changes)
        sessions = self._calendar.followed(when)
        return commit_message(kind, what or summary_of(changes, kind), body_of(changes), sessions=sessions)

    def _snapshots(self, made: Sequence[PastCommit]) -> dict[str, int]:
        """The number of a commit by the tag that names it: of every day and week that is over by the last
        commit, and those that a person has made.
        """
        found: dict[str, int] = {}
        today = local_day(made[-1].at)
        for number, commit in enumerate(made):
            if commit.branch:
                continue
            day = local_day(commit.at)
            if day < today:
                found[daily_tag(day)] = number
            if day.isocalendar()[:2] < today.isocalendar()[:2]:
                found[weekly_tag(day)] = number
        for each in self._told["snapshots"]:
            until = datetime.fromisoformat(each["at"])
            numbers = (n for n, commit in enumerate(made) if commit.at <= until and not commit.branch)
            found[named_tag(each["kind"], each["name"])] = max(numbers)
        return found


def _beside(when: When, tried: Mapping[str, str], tree: Mapping[str, bytes]) -> PastCommit:
    """The commit of a branch on which something is tried."""
    path, now, then = tried["path"], tried["was"].encode(), tried["is"].encode()
    said = commit_message("explore", tried["says"])
    return PastCommit(when.at, said, {path: tree[path].replace(now, then)}, branch=when.name)
