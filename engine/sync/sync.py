"""Keeps a user's machines in sync: fetch, merge, push.

Nothing changes on either side until all conflicts are decided, nothing is ever forced, and a failure leaves
the local commits as they are (G7). References of our own record the branches at the last sync, so that a
rewound remote branch can be distinguished from one that is merely behind.

Snapshots, tags that name states of the memory, are exchanged too. Only those of commits on the branch are
sent: others may hold what was taken out of the branch's history, such as a secret.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, RepositoryError
from engine.redaction.commits import CommitCheck, secrets_of
from engine.settings.file import CONFIG_FILE
from engine.store.change import commit_message
from engine.store.commits import LINK_MODE
from engine.store.faults import reach
from engine.store.git_folder import SNAPSHOTS
from engine.store.paths import shown
from engine.store.revisions import TreeEntry, contents
from engine.store.typed import typed
from engine.sync import plan, transport
from engine.sync.arrival import BranchMoved, apply_commit, resume
from engine.sync.contents import ContentMerger
from engine.sync.model import Conflict, Report, Side, Status, Uncommitted
from engine.sync.transport import Clock, commits_of, push_references

if TYPE_CHECKING:
    from engine.settings.trust import EffectiveSettings
    from engine.store.files import Files
    from engine.store.git import Git
    from engine.store.repository import Repository
    from engine.sync.plan import Plan
    from engine.sync.transport import Remote

_ATTEMPTS = 5
_SECONDS = "seconds"
_BEFORE = commit_message("memory", "before a sync")
_PLACES = (
    "knowledge", "topics", "presets", ".library", "raw", "conversations", "archive", "attachments", "logs",
    CONFIG_FILE, ".gitignore", ".gitattributes", ".gitmodules",
)  # fmt: skip
"""The parts of a workspace; the user commits any other files in the folder."""


@dataclass(eq=False)
class Sync:
    """Syncs one workspace. Safe across processes.

    ``settings`` returns the settings in effect: without trust there is no remote. ``fit`` separates changed
    files that may be committed from those that may not, such as an altered transcript.
    """

    files: Files
    repository: Repository
    settings: Callable[[], EffectiveSettings]
    clock: Callable[[], datetime]
    fit: Callable[[Sequence[str]], tuple[Sequence[str], Sequence[Uncommitted]]]
    total_s: float = transport.TOTAL_S
    """Total time limit for the remote, in seconds."""

    def run(
        self,
        name: str = "",
        *,
        dry_run: bool = False,
        take: Iterable[tuple[Side, str]] = (),
        rewound: bool = False,
    ) -> Report:
        """Fetches, merges and pushes.

        Args:
            name: The remote; defaults to ``git.remote``.
            dry_run: Only fetch, and report what would be done.
            take: Decisions about files in conflict: the side to take, and the path.
            rewound: Accept that the remote has lost commits it had before.

        Raises:
            RepositoryError: No sync is possible, or the remote refused; local commits are unchanged.
            WriteFailed, ReadOnly: A file was not written; the next sync resumes.
        """
        remote, clock = self._remote(name), transport.Clock(self.total_s)
        subject = commit_message("maintenance", f"sync with {remote.name}")
        self._ready()
        if not dry_run:
            resume(self.files, self.repository, subject)
        report = Report(remote.name, remote.shown, remote.branch, "equal")
        for _ in range(_ATTEMPTS):
            if not dry_run:
                committed, left = self._commit_local()
                report = replace(report, committed=(*report.committed, *committed), left=left)
            self._decide(remote, take)
            take = ()
            fetched = transport.fetch(self.repository, remote, clock, snapshots=True)
            theirs = fetched.newest
            self._note_seen(remote, theirs, rewound=rewound)
            ours = self.repository.revision()
            if ours is None:
                raise RepositoryError("no commits yet", where=str(self.repository.workspace.root))
            try:
                report = self._pull(report, remote, ours, theirs, subject, dry_run=dry_run)
            except BranchMoved:
                continue
            if dry_run or report.conflicts:
                return report
            ours = self.repository.revision() or ours
            try:
                report = self._push(report, remote, ours, theirs, clock)
            except transport.Rejected:
                continue
            return self._exchange(report, remote, fetched.snapshots, ours, clock)
        raise RepositoryError(
            "the local or remote branch kept moving",
            where=f"remote {remote.name}",
            hint="your commits are unchanged; sync again later",
        )

    def push(self) -> int:
        """Sends new commits without merging; returns their number.

        Raises:
            RepositoryError: As ``run``; also if the remote has commits that are not here.
        """
        remote = self._remote("")
        self._ready()
        theirs, ours = transport.resolved(self.repository, remote.seen), self.repository.revision()
        if ours is None or ours == theirs:
            return 0
        report = Report(remote.name, remote.shown, remote.branch, "equal")
        try:
            return self._push(report, remote, ours, theirs, transport.Clock(self.total_s)).sent
        except transport.Rejected as error:
            raise RepositoryError(
                "has commits that are not here", where=f"remote {remote.name}", hint="run: autopoiesis sync"
            ) from error

    def status(self, name: str = "", *, fetch: bool = False) -> Status:
        """Compares this machine with the remote; contacts it only with ``fetch``.

        Raises:
            RepositoryError: With ``fetch``, as ``run``; otherwise only if there is no such remote.
        """
        settings = self.settings().config.git
        if not settings.remote:
            return Status("", why=self._without_remote().what)
        remote = self._remote(name)
        if fetch:
            fetched = transport.fetch(self.repository, remote, transport.Clock(self.total_s))
            self._note_seen(remote, fetched.newest)
        known = _state_of(self.files, remote.seen)
        found = Status(remote.name, remote.shown, remote.branch, synced=known.synced, checked=known.checked)
        repository_state = self.repository.state(count=False)
        ours, theirs = self.repository.revision(), transport.resolved(self.repository, remote.seen)
        if ours is None or not repository_state.can_commit:
            return replace(found, why=repository_state.why or "no commits yet")
        found = replace(found, uncommitted=len(self.repository.changed(*_PLACES)))
        if theirs is None:
            return replace(found, ahead=self._count(ours, None))
        found = replace(found, ahead=self._count(ours, theirs), behind=self._count(theirs, ours))
        if found.ahead and found.behind and (base := self._base(ours, theirs)):
            return replace(found, conflicts=tuple(self._merge(remote, base, ours, theirs).conflicts))
        return found

    def _remote(self, name: str) -> Remote:
        settings = self.settings().config.git
        if not settings.remote:
            raise self._without_remote()
        return transport.remote_of(self.repository, name or settings.remote)

    def _without_remote(self) -> RepositoryError:
        """Why there is no remote, even if the command line names one."""
        trust = self.settings().trust
        if any(act.name == "git.remote" for act in trust.acts):
            return RepositoryError(
                "git.remote is ignored because the workspace is not trusted; nothing is sent or fetched",
                where=str(trust.root),
                hint="see what it asks for: autopoiesis trust --show",
            )
        return RepositoryError(
            "no remote is set; nothing is sent or fetched",
            where="git.remote",
            hint="set one: git remote add origin ADDRESS, then: autopoiesis config set git.remote origin",
        )

    def _ready(self) -> None:
        self.files.refuse_read_only(".git")
        found = self.repository.state(count=False)
        if not found.can_commit and found.kind != "locked":
            raise RepositoryError(found.why, where=str(self.repository.workspace.root), hint=found.hint)

    def _count(self, revision: str, beyond: str | None) -> int:
        if revision == beyond:  # most syncs, which ask this several times
            return 0
        options = ("rev-list", "--count", revision, *([f"^{beyond}"] if beyond else []))
        return int(self.repository.git.run(*options).text)

    def _base(self, ours: str, theirs: str) -> str:
        if ours == theirs:
            return ours
        return self.repository.git.run("merge-base", ours, theirs, accept=(0, 1)).text

    def _note_seen(self, remote: Remote, theirs: str | None, *, rewound: bool = False) -> None:
        """Records the remote's branch.

        Raises:
            RepositoryError: It lacks commits that it had before.
        """
        before = transport.resolved(self.repository, remote.seen)
        if before and not rewound and (theirs is None or self._base(before, theirs) != before):
            raise self._was_rewound(remote, before, theirs)
        if theirs and theirs != before:
            self._refer(remote, theirs)
        now = self.clock().isoformat(timespec=_SECONDS)
        _change(self.files, remote.seen, lambda known: replace(known, checked=now))

    def _was_rewound(self, remote: Remote, before: str, theirs: str | None) -> RepositoryError:
        if theirs is None:
            what = f"no longer has branch {remote.branch}, which was at {before[:8]} at the last sync"
        else:
            gone = self._count(before, theirs)
            what = f"was rewound or rewritten to {theirs[:8]}: \
{gone} commit{'s' * (gone != 1)} up to {before[:8]} {'is' if gone == 1 else 'are'} gone"
        return RepositoryError(
            f"{what}; nothing was merged or sent",
            where=f"remote {remote.name}",
            hint="merge and send yours again: autopoiesis sync --rewound; or drop yours: clone it again",
        )

    def _refer(self, remote: Remote, revision: str) -> None:
        lines = "".join(f"update {each} {revision}\n" for each in (remote.seen, remote.tracking))
        self.repository.git.run("update-ref", "--stdin", stdin=lines.encode(), reading=False)

    def _pull(
        self, report: Report, remote: Remote, ours: str, theirs: str | None, subject: str, *, dry_run: bool
    ) -> Report:
        """Merges the remote's commits; with conflicts, only reports them."""
        if theirs is None or theirs == ours:
            sent = self._count(ours, theirs)
            return replace(report, outcome="would" if dry_run and sent else "equal", sent=sent)
        report = replace(report, fetched=report.fetched + self._count(theirs, ours))
        base = self._base(ours, theirs)
        if not base:
            raise RepositoryError(
                "shares no history with this memory",
                where=f"remote {remote.name}",
                hint="sync with a clone of this memory or an empty repository",
            )
        if base == theirs:
            sent = self._count(ours, theirs)
            return replace(report, outcome="would" if dry_run else "equal", sent=sent)
        is_forward = base == ours
        made = (
            plan.forward(self.repository.git, ours, theirs)
            if is_forward
            else self._merge(remote, base, ours, theirs)
        )
        reach("sync:plan")
        if made.conflicts:
            return replace(report, outcome="conflicts", conflicts=tuple(made.conflicts))
        if dry_run:
            sent = 0 if is_forward else self._count(ours, theirs) + 1
            changed = tuple(sorted(made.puts))
            return replace(report, outcome="would", changed=changed, notes=tuple(made.notes), sent=sent)
        made.notes += [
            f"{path} is now recorded at {blob.name[:8]}; to check it out: autopoiesis share update --recorded"
            for path, blob in made.puts.items()
            if blob is not None and blob.mode == LINK_MODE
        ]
        commit = theirs
        if not is_forward:
            message = "\n\n".join([subject, *made.notes])
            commit = plan.commit_of(self.repository, made, ours, theirs, message)
        changed = apply_commit(self.files, self.repository, ours, commit, subject)
        return replace(
            report,
            outcome="done",
            changed=tuple(dict.fromkeys((*report.changed, *changed))),
            notes=(*report.notes, *made.notes),
            merge=report.merge if is_forward else commit,
        )

    def _merge(self, remote: Remote, base: str, ours: str, theirs: str) -> Plan:
        known = _state_of(self.files, remote.seen).decided
        decisions = {path: ((each.ours, each.theirs), each.take) for path, each in known.items()}
        with transport.isolated(self.repository) as (git, _):
            return plan.merge(self.repository, ContentMerger(git), base, ours, theirs, decisions)

    def _push(
        self, report: Report, remote: Remote, ours: str, theirs: str | None, clock: transport.Clock
    ) -> Report:
        sent = self._count(ours, theirs)
        if sent:
            check = CommitCheck(self.files.read)
            refuse_secrets(self.repository.git, check, theirs, ours, remote.name)
            transport.push(self.repository, remote, ours, clock)
            self._refer(remote, ours)
        now = self.clock().isoformat(timespec=_SECONDS)
        _change(self.files, remote.seen, lambda known: replace(known, synced=now, checked=now, decided={}))
        is_done = sent or report.outcome == "done" or report.committed
        return replace(report, outcome="done" if is_done else "equal", sent=sent)

    def _exchange(
        self, report: Report, remote: Remote, theirs: Mapping[str, str], ours: str, clock: transport.Clock
    ) -> Report:
        """Takes and sends snapshots; a failure is a note, because the memory itself is in sync."""
        made = exchange(self.repository, remote, theirs, ours, clock)
        return replace(
            report,
            outcome="done" if made.here or made.there else report.outcome,
            snapshots_taken=len(made.here),
            snapshots_sent=len(made.there),
            notes=(*report.notes, *made.notes),
        )

    def _commit_local(self) -> tuple[tuple[str, ...], tuple[Uncommitted, ...]]:
        """Commits the workspace's changed files, except those that may not be committed.

        Returns:
            The committed files, and the ones left out.

        Raises:
            RepositoryError: No commit can be made.
        """
        # A trailing slash marks a nested repository.
        paths, left = self.fit([path for path in self.repository.changed(*_PLACES) if not path.endswith("/")])
        made = self.repository.commit(paths, _BEFORE)
        return tuple(paths) if made else (), tuple(left)

    def _decide(self, remote: Remote, take: Iterable[tuple[Side, str]]) -> None:
        """Saves the user's decisions about pending conflicts.

        Raises:
            RepositoryError: A path is not in conflict.
        """
        wanted = {path.removeprefix("./"): side for side, path in take}
        pending = {each.path: each for each in self.status(remote.name).conflicts} if wanted else {}
        for path, side in wanted.items():
            if path not in pending:
                raise RepositoryError(
                    "not in conflict", where=shown(path), hint="see: autopoiesis sync status"
                )
            _change(self.files, remote.seen, partial(_decided, conflict=pending[path], take=side))


_MAX_LISTED = 5


def refuse_secrets(git: Git, check: CommitCheck, theirs: str | None, ours: str, name: str) -> None:
    """Checks every file version and commit message that only our side has.

    Manual commits bypass our own check, and a secret that was removed later is still in the history.

    Args:
        check: Knows what is allowed here.
        theirs: The newest commit of the remote.
        name: The remote's name.

    Raises:
        RepositoryError: Something looks like a secret; gives its location, not its text.
    """
    beyond = [ours, *([f"^{theirs}"] if theirs else [])]
    found = [f"{path} ({why})" for path, why in _secrets(git, check, theirs, beyond)]
    if not found:
        return
    more = f", and {len(found) - _MAX_LISTED} more" if len(found) > _MAX_LISTED else ""
    raise RepositoryError(
        f"nothing was sent: {'; '.join(found[:_MAX_LISTED])}{more}",
        where=f"remote {name}",
        hint="remove it from the history (git rebase); if it is no secret: autopoiesis secrets allow FILE",
    )


def _secrets(git: Git, check: CommitCheck, theirs: str | None, beyond: list[str]) -> list[tuple[str, str]]:
    paths: dict[str, str] = {}
    for line in git.run("rev-list", "--objects", *beyond).output.split(b"\n"):
        name, _, path = line.partition(b" ")
        if path:
            paths.setdefault(name.decode("ascii"), os.fsdecode(path))
    stdin = "".join(f"{name}\n" for name in paths).encode()
    output = git.run("cat-file", "--batch-check", stdin=stdin).text.split("\n") if paths else []
    files = [
        TreeEntry(paths[name], "file", name, int(size))
        for name, kind, size in (line.split(" ") for line in output if line.count(" ") == 2)
        if kind == "blob"
    ]
    found: list[tuple[str, str]] = []
    for entry, data in contents(git, files):

        def before(path: str = entry.path) -> bytes | None:
            if theirs is None:
                return None
            answer = git.run("cat-file", "blob", f"{theirs}:{path}", accept=(0, 128))
            return None if answer.code else answer.output

        found += [
            (
                shown(entry.path),
                f"{_commit_with(git, beyond, entry.name)}{f', line {line}' if line else ''}: {what}",
            )
            for line, what in check.refusals(entry.path, data, before)
        ]
    for line in git.run("log", "-z", "--format=%H %B", *beyond).output.split(b"\0"):
        name, _, message = line.partition(b" ")
        found += [
            (
                f"the message of {name[:8].decode()}",
                f"line {secret.line} contains what looks like a {secret.kind}",
            )
            for secret in secrets_of(message)
        ]
    return found


def _commit_with(git: Git, beyond: list[str], blob: str) -> str:
    """The first commit that contains a version of a file."""
    output = git.run("log", "--reverse", "--format=%h", f"--find-object={blob}", *beyond).text
    return output.partition("\n")[0]


PATH = "scratch/sync.json"


@dataclass(frozen=True, slots=True)
class Decision:
    """The side to take in a conflict, valid for the two versions shown."""

    ours: str
    theirs: str
    take: Side


@dataclass(frozen=True, slots=True)
class State:
    """State of one remote branch.

    It is kept in ``scratch/``: if lost, dates are unknown and decisions have to be made again.
    """

    synced: str = ""  # last time both were equal, ISO 8601, UTC
    checked: str = ""  # last contact with the remote
    decided: Mapping[str, Decision] = field(default_factory=dict)  # by path


def _state_of(files: Files, reference: str) -> State:
    """The state of a branch, by ``Remote.seen``; empty if the file cannot be read."""
    return _states(files).get(reference, State())


def _change(files: Files, reference: str, make: Callable[[State], State]) -> None:
    """Updates the state of a branch.

    Raises:
        WriteFailed, ReadOnly: It was not written.
    """
    with files.lock():
        states = _states(files)
        states[reference] = make(states.get(reference, State()))
        tree = {name: asdict(state) for name, state in states.items()}
        files.replace(PATH, json.dumps({"branches": tree}, indent=1).encode() + b"\n")


def _decided(state: State, conflict: Conflict, take: Side) -> State:
    """The state with a decision about a conflict added."""
    decision = Decision(*conflict.names, take)
    return replace(state, decided={**state.decided, conflict.path: decision})


def _states(files: Files) -> dict[str, State]:
    try:
        tree = json.loads(files.read(PATH))
        return {name: typed(State, each) for name, each in tree["branches"].items()}
    except (
        FileNotFoundError,
        AutopoiesisError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
    ):
        return {}


@dataclass
class Exchange:
    """The snapshots that an exchange adds: commits by reference."""

    here: dict[str, str] = field(default_factory=dict)
    there: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def exchange(
    repository: Repository, remote: Remote, theirs: Mapping[str, str], revision: str, clock: Clock
) -> Exchange:
    """Takes the remote's snapshots and sends those here. A name that both have keeps its meaning on each.

    Args:
        theirs: The remote's snapshots.
        revision: The branch's newest commit, which both sides have.

    Returns:
        What was added. A snapshot that could not be taken or sent is named in the notes.
    """
    git, found = repository.git, Exchange()
    ours, sendable = commits_of(git, SNAPSHOTS), commits_of(git, SNAPSHOTS, f"--merged={revision}")
    found.here = {name: commit for name, commit in theirs.items() if name not in ours}
    for name, commit in sendable.items():
        if secrets_of(os.fsencode(name)):
            found.notes.append("a snapshot was not sent: its name contains what looks like a secret")
        elif name not in theirs:
            found.there[name] = commit
    lines = "".join(f"create {name} {commit}\n" for name, commit in found.here.items())
    try:
        if lines:
            git.run("update-ref", "--stdin", stdin=os.fsencode(lines), reading=False)
    except RepositoryError as error:
        found.here.clear()
        found.notes = [f"the snapshots of {remote.name} were not taken: {error.what}"]
        return found
    try:
        refused = push_references(repository, remote, found.there, clock)
    except RepositoryError as error:
        found.there.clear()
        found.notes.append(f"the snapshots were not sent: {error.what}")
        return found
    for name, why in refused.items():
        del found.there[name]
        found.notes.append(f"snapshot {shown(name.removeprefix('refs/tags/'))} was not sent: {why}")
    return found
