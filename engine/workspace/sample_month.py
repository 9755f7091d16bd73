"""The sample's git history: a month of commits, each dated to the day of its content (spec 3.2 to 3.4).

Commit messages, digest, ledger and snapshot names come from the same code as in any workspace.
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
from engine.knowledge.harvest import reclaim, run
from engine.knowledge.harvest.classify import WORKING
from engine.knowledge.harvest.report import Result
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry, bytes_of, tree_of
from engine.lifecycle.condensing import weeks
from engine.store.change import commit_message, typed
from engine.store.past import PastCommit
from engine.store.zone import local_day
from engine.workspace.sample_lines import HAND, HARVEST, ROLL_UP, SESSION, TRASH, Calendar, CommitKey

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.workspace.sample_past import Past

_RECLAIMING = time(21, 45, tzinfo=UTC)
"""On Sundays, after the harvest; UTC."""
_MORNING = time(8, tzinfo=UTC)
_CATEGORIES = {file.path for file in CATEGORY_FILES}


def month_of(files: Files, paths: Sequence[str], past: Past, data: bytes) -> list[PastCommit]:
    """The commits of the sample's month, oldest first.

    Args:
        paths: The files to commit, including conversations that are removed later.
        data: ``sample/month.json``, with what the files do not contain: ``begins``, when files or folders
            start to exist, with the message of a separate commit; ``words``, more names to date lines by;
            ``changes``, earlier texts of files; and ``snapshots`` and ``branches`` made by hand.
    """
    month = _Month(files, past, json.loads(data))
    month.gather(paths)
    return month.commits()


class _Month:
    def __init__(self, files: Files, past: Past, data: Mapping[str, Any]) -> None:
        self._files = files
        self._past = past
        self._snapshot_data = data["snapshots"]
        self._calendar = Calendar(files, data, past.entries.values())
        self._trees = {name: tree_of(entry) for name, entry in past.entries.items()}
        self._changes: dict[CommitKey, dict[str, bytes | None]] = {}
        self._messages: dict[CommitKey, str] = {}
        self._branches = {
            CommitKey(datetime.fromisoformat(each["at"]), HAND, each["name"]): each
            for each in data["branches"]
        }

    def gather(self, paths: Sequence[str]) -> None:
        """Assigns files to commits."""
        known = {entry.path: entry for entry in self._past.entries.values()}
        pending = [path for path in paths if path.startswith(f"{WORKING}/")]
        for path, entry in known.items():
            if path in (*self._past.reclaimed, *self._past.removed):
                self._conversation(path, entry)
                pending.remove(path)
        self._pending(pending)
        for path in paths:
            if path.startswith(f"{WORKING}/") or path in (LEDGER, DIGEST, STATE):
                continue
            data = self._files.read(path)
            if path in self._calendar.ends:
                self._add(CommitKey(self._calendar.ends[path], SESSION, path), path, data, message_of(path))
                continue
            for when, version in self._calendar.versions(path, data):
                self._add(when, path, version)

    def _add(self, when: CommitKey, path: str, data: bytes | None, message: str = "") -> None:
        self._changes.setdefault(when, {})[path] = data
        if message:
            self._messages[when] = message

    def _conversation(self, path: str, entry: LedgerEntry) -> None:
        """A conversation is committed with its harvest and reclaimed on the next Sunday; one that is
        discarded or too large is committed first."""
        at = datetime.fromisoformat(entry.at)
        is_harvested = entry.status == "harvested"
        harvested = Result(path, entry.size, "harvested", entry, items=entry.items)
        message = run.message_of([harvested]) if is_harvested else reclaim.kept_message(path)
        self._add(CommitKey(at, HARVEST, path), path, self._files.read(path), message)
        if is_harvested:
            sunday = at.date() + timedelta(days=7 - at.isoweekday())
            night = min(datetime.combine(sunday, _RECLAIMING), self._calendar.last_harvest)
            self._add(CommitKey(night, TRASH), path, None)
        elif entry.status == "deleted-unharvested":
            self._add(CommitKey(at + timedelta(seconds=1), TRASH), path, None)
        else:
            what = f"{path} is moved away by hand, it is too large for a harvest"
            morning = datetime.combine(at.date() + timedelta(days=1), _MORNING)
            self._add(CommitKey(morning, HAND, path), path, None, commit_message("memory", what))

    def _pending(self, paths: Sequence[str]) -> None:
        """Conversations not harvested yet are committed by hand on the last evening."""
        evening = datetime.combine(self._calendar.last.date() - timedelta(days=1), _RECLAIMING)
        message = commit_message("conversation", f"{len(paths)} waiting for a harvest", sessions=paths)
        for path in paths:
            self._add(CommitKey(evening, HAND, WORKING), path, self._files.read(path), message)

    def commits(self) -> list[PastCommit]:
        """The commits of the gathered files, with digest, ledger and snapshots."""
        commits = list(self._commits())
        for name, last in self._snapshots(commits).items():
            commits[last] = replace(commits[last], tags=(*commits[last].tags, name))
        return commits

    def _commits(self) -> Iterator[PastCommit]:
        tree: dict[str, bytes] = {}
        parsed: dict[str, tuple[Entry, ...]] = {}
        for when in sorted((*self._changes, *self._branches)):
            if (branch := self._branches.get(when)) is not None:
                yield _branch_commit(when, branch, tree)
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

    def _ledger(self, when: CommitKey, tree: Mapping[str, bytes]) -> bytes:
        """The ledger at a commit."""
        found = {}
        for name, entry in self._past.entries.items():
            is_gone = entry.path in self._past.reclaimed and entry.path not in tree
            is_discarded = entry.status == "deleted-unharvested"
            if datetime.fromisoformat(entry.at) > when.at or (is_discarded and not is_gone):
                continue
            found[name] = {**self._trees[name], "deleted": is_gone}
            if entry.lines:
                found[name]["lines"] = [
                    {**line, "text": self._calendar.earlier(line["path"], line["text"], when)}
                    for line in self._trees[name]["lines"]
                ]
        return bytes_of(found)

    def _message(
        self, when: CommitKey, tree: Mapping[str, bytes], contents: Mapping[str, bytes | None]
    ) -> str:
        if when in self._messages:
            return self._messages[when]
        if when.kind == TRASH:
            return reclaim.gone_message([path for path, data in contents.items() if data is None])
        if when.kind == ROLL_UP:
            return commit_message("maintenance", weeks.summary_of(when.name))
        changes = [FileChange(path, tree.get(path), data) for path, data in contents.items()]
        kind, what = typed(when.name) if when.kind == HAND else (None, "")
        kind = kind or kind_of(changes)
        sessions = self._calendar.sessions_before(when)
        return commit_message(kind, what or summary_of(changes, kind), body_of(changes), sessions=sessions)

    def _snapshots(self, commits: Sequence[PastCommit]) -> dict[str, int]:
        """The index of a commit by tag: of every past day and week, and those made by hand."""
        found: dict[str, int] = {}
        today = local_day(commits[-1].at)
        for number, commit in enumerate(commits):
            if commit.branch:
                continue
            day = local_day(commit.at)
            if day < today:
                found[daily_tag(day)] = number
            if day.isocalendar()[:2] < today.isocalendar()[:2]:
                found[weekly_tag(day)] = number
        for each in self._snapshot_data:
            until = datetime.fromisoformat(each["at"])
            numbers = (n for n, commit in enumerate(commits) if commit.at <= until and not commit.branch)
            found[named_tag(each["kind"], each["name"])] = max(numbers)
        return found


def _branch_commit(when: CommitKey, branch: Mapping[str, str], tree: Mapping[str, bytes]) -> PastCommit:
    path, before, after = branch["path"], branch["was"].encode(), branch["is"].encode()
    message = commit_message("explore", branch["says"])
    return PastCommit(when.at, message, {path: tree[path].replace(before, after)}, branch=when.name)
