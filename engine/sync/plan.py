"""Plans a merge file by file, without writing any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.context.fixed import DIGEST
from engine.errors import PathRefused, RepositoryError
from engine.knowledge.category_files import CATEGORY_FILES, entries
from engine.knowledge.digest import STATE, digest_of, state_bytes
from engine.store import crypt
from engine.store.commits import ABSENT_MODE, LINK_MODE, Staged, commit_entries
from engine.store.encrypted import filters_of, opened, stored
from engine.store.git import Git, store_blob
from engine.store.paths import is_shared, shown, split_relative
from engine.store.revisions import blobs
from engine.store.revisions import entries as tree_entries
from engine.sync.arrival import Blob, FileChange, changes, last_change, versions
from engine.sync.contents import ContentMerger, as_own_session, kind_of
from engine.sync.model import Conflict, Hunk, Side
from engine.sync.rules import Histories
from engine.transcripts.places import FOLDER as TRANSCRIPTS
from engine.transcripts.places import head_fields

if TYPE_CHECKING:
    from engine.store.repository import Repository

Decisions = Mapping[str, tuple[tuple[str, str], Side]]
"""By path: the blob names of both sides the decision is about, and the side to take."""

_REGULAR = ("100644", "100755")
_NEVER = ("scratch/", "memory.db")
"""Local to one machine: never taken from another, even if committed there."""


@dataclass
class Plan:
    """Changes to make in the tree of our newest commit."""

    puts: dict[str, Blob | None] = field(default_factory=dict)  # by path; ``None`` deletes the file
    conflicts: list[Conflict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def forward(git: Git, ours: str, theirs: str) -> Plan:
    """A fast-forward to the other side."""
    found = changes(git, ours, theirs, renames=False)
    plan = Plan({path: each.blob for path, each in found.changed.items()} | dict(found.added))
    _refuse_unsafe(plan.puts)
    return plan


def merge(
    repository: Repository, merger: ContentMerger, base: str, ours: str, theirs: str, decisions: Decisions
) -> Plan:
    """A three-way merge.

    Raises:
        RepositoryError: The other side contains something no workspace may have.
    """
    return _Merge(repository.git, merger, base, ours, theirs, decisions).run()


def commit_of(repository: Repository, made: Plan, ours: str, theirs: str, message: str) -> str:
    """Creates the merge commit of a plan without conflicts; branch and files do not change."""
    staged = [
        Staged(path, blob.mode, blob.name) if blob else Staged(path, ABSENT_MODE, "0" * len(ours))
        for path, blob in sorted(made.puts.items(), key=lambda each: each[1] is not None)
    ]
    return commit_entries(repository.git, repository.workspace, staged, (ours, theirs), message)


class _Merge:
    def __init__(
        self, git: Git, merger: ContentMerger, base: str, ours: str, theirs: str, decisions: Decisions
    ) -> None:
        self._git, self._merger, self._decisions = git, merger, decisions
        self._base, self._ours, self._theirs = base, ours, theirs
        self._left, self._right = changes(git, base, ours), changes(git, base, theirs)
        # Our files, without their modes.
        self._tree = {entry.path: Blob("", entry.name) for entry in tree_entries(git, ours)}
        self._plan = Plan()

    def run(self) -> Plan:
        left, right = self._left, self._right
        for path, theirs in right.changed.items():
            ours = left.changed.get(path)
            if kind_of(path) == "digest" or (
                ours is not None and ours.path == theirs.path and ours.blob == theirs.blob
            ):
                continue
            if ours is None:
                self._apply_theirs(path, theirs)
            else:
                self._merge_changed(path, ours, theirs)
        for path, blob in right.added.items():
            mine = left.added.get(path)
            if kind_of(path) != "digest" and mine != blob:
                self._merge_added(path, mine, blob)
        self._digest()
        self._sessions()
        self._refuse_clash()
        _refuse_unsafe(self._plan.puts)
        self._plan.conflicts.sort(key=lambda each: each.path)
        return self._plan

    def _put(self, path: str, blob: Blob | None) -> None:
        self._plan.puts[path] = blob

    def _apply_theirs(self, path: str, theirs: FileChange) -> None:
        """Applies a change that only they made."""
        if theirs.path == path:
            self._put(path, theirs.blob)
        elif theirs.blob is not None and self._is_free(theirs.path, theirs.blob, path):
            self._put(path, None)
            self._put(theirs.path, theirs.blob)

    def _merge_added(self, path: str, ours: Blob | None, theirs: Blob) -> None:
        if ours is not None:
            self._content(path, path, None, ours, theirs)
        elif self._is_free(path, theirs, path):
            self._put(path, theirs)

    def _is_free(self, path: str, theirs: Blob, origin: str) -> bool:
        """True if a new file of theirs can have its path here; otherwise merges it or notes a conflict."""
        here = self._tree.get(path)
        if here is None or here.name == theirs.name or self._moved_away(path):
            return True
        if kind_of(path) in ("log", "ledger", "entries", "conversation"):
            self._content(path, path, None, Blob(theirs.mode, here.name), theirs)
            if origin != path:
                self._put(origin, None)
        else:
            names = here.name, theirs.name
            what = "put there", "put there"
            return self._conflict(path, "each side put a different file there", what, names) == "theirs"
        return False

    def _moved_away(self, path: str) -> bool:
        change = self._left.changed.get(path)
        return change is not None and change.path != path

    def _merge_changed(self, path: str, ours: FileChange, theirs: FileChange) -> None:
        """Merges a file that both sides changed."""
        if ours.blob is None or theirs.blob is None:
            self._merge_deleted(path, ours, theirs)
            return
        moved = [each.path for each in (ours, theirs) if each.path != path]
        if len(set(moved)) > 1:
            names = ours.blob.name, theirs.blob.name
            what = f"moved to {ours.path}", f"moved to {theirs.path}"
            take = self._conflict(path, "each side moved it to a different place", what, names)
            if take is None:
                return
            if take == "theirs":
                self._put(ours.path, None)
            moved = [ours.path if take == "ours" else theirs.path]
        target = moved[0] if moved else path
        if target != ours.path:
            names = ours.blob.name, theirs.blob.name
            if target in self._tree and not self._moved_away(target):
                what = "put there", f"moved {path} there"
                take = self._conflict(target, "each side put a different file there", what, names)
                if take is None:
                    return
                target = ours.path if take == "ours" else target
        if target != ours.path:
            self._put(ours.path, None)
        self._content(path, target, ours.before, ours.blob, theirs.blob)

    def _merge_deleted(self, path: str, ours: FileChange, theirs: FileChange) -> None:
        """Merges a file that one side deleted and the other edited or moved."""
        if ours.blob is None and theirs.blob is None:
            return
        if kind_of(path) == "rules":
            self._merge_deleted_rules(path, ours, theirs)
            return
        here = theirs if ours.blob is None else ours
        assert here.blob is not None
        # A file that was only moved is still wanted, and so is a conversation that went on after the other
        # side deleted it.
        take: Side | None = "theirs" if here is theirs else "ours"
        if here.blob != here.before and kind_of(path) != "conversation":
            edited = "edited" if here.path == path else f"moved to {here.path} and edited"
            what = ("deleted", edited) if here is theirs else (edited, "deleted")
            names = (ours.blob.name if ours.blob else "", theirs.blob.name if theirs.blob else "")
            take = self._conflict(path, "one side deleted what the other edited", what, names)
        if take == "theirs" and here is ours:
            self._put(here.path, None)
        elif take == "theirs" and self._is_free(here.path, here.blob, here.path):
            self._put(here.path, here.blob)

    def _merge_deleted_rules(self, path: str, ours: FileChange, theirs: FileChange) -> None:
        """Whoever deletes the file deletes the rules they knew."""
        nothing = self._blob(b"")
        self._content(path, path, ours.before, ours.blob or nothing, theirs.blob or nothing)
        made = self._plan.puts.get(path)
        if made is not None and made.name == nothing.name:
            self._put(path, None)

    def _content(self, path: str, target: str, base: Blob | None, ours: Blob, theirs: Blob) -> None:
        """Merges two versions of a file into ``target``, or notes a conflict."""
        modes = [each.mode or theirs.mode for each in (ours, theirs)]
        mode = modes[1] if base is not None and modes[0] == base.mode else modes[0]
        if ours.name == theirs.name or (base is not None and theirs.name == base.name):
            self._place(target, Blob(mode, ours.name))
            return
        if base is not None and ours.name == base.name:
            self._place(target, Blob(mode, theirs.name))
            return
        what = ("edited", "edited") if base is not None else ("added", "added")
        names = ours.name, theirs.name
        if any(each not in _REGULAR for each in modes):
            reason, is_theirs = "is a symlink or submodule on one side", None
            if modes == [LINK_MODE, LINK_MODE]:
                reason = "each side moved the shared knowledge to a different commit"
                is_theirs = self._is_newer(path, ours.name, theirs.name)
            if is_theirs is None:
                take = self._conflict(path, reason, what, names)
                is_theirs = take == "theirs"
            if is_theirs:
                self._put(target, theirs)
            return
        take = self._decision(path, names)
        none = "0" * len(ours.name)
        data = blobs(self._git, [each.name if each else none for each in (base, ours, theirs)])
        was, mine, other = (each or b"" for each in data)
        filters: dict[str, str] = {}
        if any(map(crypt.is_encrypted, (was, mine, other))):
            filters = filters_of(self._git, [target])
            was, mine, other = (
                opened(self._git, each, filters.get(target, "")) for each in (was, mine, other)
            )
        found = self._merger.merge(target, was, mine, other, theirs.name, take, lambda: self._histories(path))
        if found.is_conflict:
            self._conflict(path, found.reason, what, names, found.hunks)
            return
        if found.second is not None:
            self._put(found.second[0], self._blob(found.second[1]))
            self._plan.notes.append(f"{shown(target)} {found.reason}")
        self._place(target, self._blob(stored(self._git, target, found.data, filters), mode))

    def _histories(self, path: str) -> Histories:
        """Each side's versions of a file since the base."""
        left, right = (versions(self._git, self._base, side, path) for side in (self._ours, self._theirs))
        return left, right

    def _place(self, path: str, blob: Blob) -> None:
        """Puts a file, unless our tree has it already."""
        here = self._tree.get(path)
        if here is None or here.name != blob.name or path in self._plan.puts:
            self._put(path, blob)

    def _blob(self, data: bytes, mode: str = _REGULAR[0]) -> Blob:
        return Blob(mode, store_blob(self._git, data))

    def _is_newer(self, path: str, ours: str, theirs: str) -> bool | None:
        """True if their commit of a submodule builds on ours; ``None`` if they diverged or it is unknown."""
        place = self._git.root / path
        if not (place / ".git").exists():
            return None
        git = Git(place)
        for earlier, later in ((ours, theirs), (theirs, ours)):
            if not git.run("merge-base", "--is-ancestor", earlier, later, accept=(0, 1, 128)).code:
                return later == theirs
        return None

    def _decision(self, path: str, names: tuple[str, str]) -> Side | None:
        known = self._decisions.get(path)
        return known[1] if known is not None and known[0] == names else None

    def _conflict(
        self,
        path: str,
        reason: str,
        what: tuple[str, str],
        names: tuple[str, str],
        hunks: tuple[Hunk, ...] = (),
    ) -> Side | None:
        """Notes a conflict, or returns the side the user decided for.

        Args:
            what: What each side did, such as ``edited``.
            names: The blob names of both sides.
        """
        take = self._decision(path, names)
        if take is None:
            ours = last_change(self._git, self._base, self._ours, path, what[0])
            theirs = last_change(self._git, self._base, self._theirs, path, what[1])
            self._plan.conflicts.append(Conflict(path, reason, ours, theirs, hunks, names))
        return take

    def _after(self, path: str) -> bytes | None:
        """A file after the merge."""
        blob = self._plan.puts[path] if path in self._plan.puts else self._tree.get(path)
        return next(blobs(self._git, [blob.name])) if blob is not None else None

    def _digest(self) -> None:
        """Rebuilds the digest; if a side has turned it off, it stays off."""
        sides = self._left, self._right
        is_off = any((change := each.changed.get(DIGEST)) and change.blob is None for each in sides)
        is_there = DIGEST in self._tree or DIGEST in self._right.added
        if is_off:
            if DIGEST in self._tree:
                self._put(DIGEST, None)
        elif is_there:
            files = {file.path: self._after(file.path) for file in CATEGORY_FILES}
            data = digest_of({path: entries(found, path) for path, found in files.items() if found})
            if data is not None:
                self._place(DIGEST, self._blob(data))
            elif DIGEST in self._tree:
                self._put(DIGEST, None)
            self._place(STATE, self._blob(state_bytes("made" if data else "empty")))

    def _sessions(self) -> None:
        """Gives a session of theirs a new id if another file of ours has the same one."""
        if self._plan.conflicts:
            return
        new = [
            {path: blob for path, blob in side.added.items() if path.startswith(f"{TRANSCRIPTS}/")}
            for side in (self._left, self._right)
        ]
        if not all(new):
            return
        ours = {session: path for path, session, _ in self._transcripts(new[0]) if session}
        for path, session, data in self._transcripts(new[1]):
            mine, blob = ours.get(session, path), new[1][path]
            if mine != path and path in self._plan.puts:
                target, edited = as_own_session(path, data, blob.name)
                self._put(target, self._blob(edited, blob.mode))
                del self._plan.puts[path]
                self._plan.notes.append(
                    f"{shown(mine)} has the same session id; theirs is now {shown(target)}"
                )

    def _transcripts(self, found: Mapping[str, Blob]) -> Iterator[tuple[str, str, bytes]]:
        """Path, session id and bytes of each."""
        data = blobs(self._git, [blob.name for blob in found.values()])
        for path, each in zip(found, data, strict=True):
            yield path, head_fields(each or b"", ("session_id",))["session_id"], each or b""

    def _refuse_clash(self) -> None:
        """Refuses a file whose path is a folder on the other side."""
        puts = self._plan.puts
        there = {path for path in self._tree if path not in puts}
        there |= {path for path, blob in puts.items() if blob is not None}
        for path in sorted(there):
            parts = path.split("/")
            above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
            if file := next((each for each in above if each in there), ""):
                raise RepositoryError(
                    f"is a file on one side and the folder of {shown(path)} on the other",
                    where=shown(file),
                    hint="rename one of them and sync again",
                )


def _refuse_unsafe(puts: Mapping[str, Blob | None]) -> None:
    for path, blob in puts.items():
        reason = ""
        try:
            split_relative(path)
        except PathRefused as error:
            reason = error.what
        if blob is not None and blob.mode == LINK_MODE and is_shared(path) and path.count("/") == 2:
            continue  # only records a commit; nothing is fetched for it
        if blob is not None and blob.mode not in _REGULAR:
            reason = "is a symlink or submodule"
        elif blob is not None and path.startswith(_NEVER):
            reason = "belongs to one machine only"
        if reason:
            raise RepositoryError(
                f"was not taken from the remote: it {reason}",
                where=shown(path),
                hint="remove it from the history there; nothing was changed here",
            )
