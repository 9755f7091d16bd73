"""Decides, file by file and without touching one, what both sides' work comes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.context.fixed import DIGEST
from engine.errors import PathRefused, RepositoryError
from engine.knowledge.category_files import CATEGORY_FILES, entries
from engine.knowledge.digest import STATE, digest_of, state_bytes
from engine.store import crypt
from engine.store.blobs import store_blob
from engine.store.commits import ABSENT_MODE, LINK_MODE, Staged, commit_entries
from engine.store.encrypted import filters_of, opened, stored
from engine.store.git import Git
from engine.store.paths import is_shared, shown, split_relative
from engine.store.revisions import blobs
from engine.store.revisions import entries as tree_entries
from engine.sync.contents import Contents, kind_of
from engine.sync.model import Conflict, Did, Piece, Side
from engine.sync.transcripts import apart
from engine.sync.tree import Blob, Fate, changes, did
from engine.transcripts.places import FOLDER as TRANSCRIPTS
from engine.transcripts.places import head_fields

if TYPE_CHECKING:
    from engine.store.repository import Repository

Decisions = Mapping[str, tuple[tuple[str, str], Side]]
"""By path: the object names of both sides that were decided about, and the side that counts."""

_REGULAR = ("100644", "100755")
_NEVER = ("scratch/", "memory.db")
"""What belongs to one machine: it is not taken from another, whoever has committed it there."""


@dataclass
class Plan:
    """What is to be changed in our newest commit's tree."""

    puts: dict[str, Blob | None] = field(default_factory=dict)  # by path; ``None`` takes a file away
    conflicts: list[Conflict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def forward(git: Git, ours: str, theirs: str) -> Plan:
    """What changes where only the other side has worked."""
    plan = Plan()
    found = changes(git, ours, theirs, renames=False)
    plan.puts = {path: fate.blob for path, fate in found.fates.items()} | dict(found.added)
    _refuse_odd(plan.puts)
    return plan


def merge(
    repository: Repository, contents: Contents, base: str, ours: str, theirs: str, decisions: Decisions
) -> Plan:
    """What both sides' work comes to.

    Raises:
        RepositoryError: The other side holds what no workspace can take.
    """
    return _Merge(repository.git, contents, base, ours, theirs, decisions).run()


def commit_of(repository: Repository, made: Plan, ours: str, theirs: str, message: str) -> str:
    """The merge commit of a plan without conflicts; no branch and no file knows of it yet."""
    staged = [
        Staged(path, blob.mode, blob.name) if blob else Staged(path, ABSENT_MODE, "0" * len(ours))
        for path, blob in sorted(made.puts.items(), key=lambda each: each[1] is not None)
    ]
    return commit_entries(repository.git, repository.workspace, staged, (ours, theirs), message)


class _Merge:
    def __init__(
        self, git: Git, contents: Contents, base: str, ours: str, theirs: str, decisions: Decisions
    ) -> None:
        self._git, self._contents, self._decisions = git, contents, decisions
        self._base, self._ours, self._theirs = base, ours, theirs
        self._left, self._right = changes(git, base, ours), changes(git, base, theirs)
        # What stands here; only of what has changed is the mode known.
        self._tree = {entry.path: Blob("", entry.name) for entry in tree_entries(git, ours)}
        self._plan = Plan()

    def run(self) -> Plan:
        left, right = self._left, self._right
        for path, theirs in right.fates.items():
            ours = left.fates.get(path)
            if kind_of(path) == "digest" or (
                ours is not None and ours.path == theirs.path and ours.blob == theirs.blob
            ):
                continue
            if ours is None:
                self._follow(path, theirs)
            else:
                self._both(path, ours, theirs)
        for path, blob in right.added.items():
            mine = left.added.get(path)
            if kind_of(path) != "digest" and mine != blob:
                self._added(path, mine, blob)
        self._digest()
        self._sessions()
        self._refuse_clash()
        _refuse_odd(self._plan.puts)
        self._plan.conflicts.sort(key=lambda each: each.path)
        return self._plan

    def _put(self, path: str, blob: Blob | None) -> None:
        self._plan.puts[path] = blob

    def _follow(self, path: str, theirs: Fate) -> None:
        """What only they have changed."""
        if theirs.path == path:
            self._put(path, theirs.blob)
        elif theirs.blob is not None and self._is_free(theirs.path, theirs.blob, path):
            self._put(path, None)
            self._put(theirs.path, theirs.blob)

    def _added(self, path: str, ours: Blob | None, theirs: Blob) -> None:
        if ours is not None:
            self._content(path, path, None, ours, theirs)
        elif self._is_free(path, theirs, path):
            self._put(path, theirs)

    def _is_free(self, path: str, theirs: Blob, origin: str) -> bool:
        """Whether a file of theirs can have its name here; a conflict where ours has another one there."""
        here = self._tree.get(path)
        # What has moved away here leaves its name to the other side.
        if here is None or here.name == theirs.name or self._moved_away(path):
            return True
        if kind_of(path) in ("log", "ledger", "entries", "conversation"):
            self._content(path, path, None, Blob(theirs.mode, here.name), theirs)
            if origin != path:
                self._put(origin, None)
        else:
            names = here.name, theirs.name
            self._conflict(path, "each side put another file there", ("put there", "put there"), names)
        return False

    def _moved_away(self, path: str) -> bool:
        fate = self._left.fates.get(path)
        return fate is not None and fate.path != path

    def _both(self, path: str, ours: Fate, theirs: Fate) -> None:
        if ours.blob is None or theirs.blob is None:
            self._one_gone(path, ours, theirs)
            return
        moved = [fate.path for fate in (ours, theirs) if fate.path != path]
        if len(set(moved)) > 1:
            names = ours.blob.name, theirs.blob.name
            told = f"moved to {ours.path}", f"moved to {theirs.path}"
            take = self._conflict(path, "was moved to two places", told, names)
            if take is None:
                return
            if take == "theirs":
                self._put(ours.path, None)
            moved = [ours.path if take == "ours" else theirs.path]
        target = moved[0] if moved else path
        if target != ours.path:
            names = ours.blob.name, theirs.blob.name
            if target in self._tree and not self._moved_away(target):
                told = "put there", f"moved {path} there"
                self._conflict(target, "each side put another file there", told, names)
                return
            self._put(ours.path, None)
        self._content(path, target, ours.before, ours.blob, theirs.blob)

    def _one_gone(self, path: str, ours: Fate, theirs: Fate) -> None:
        """One side took a file away that the other one changed or moved."""
        if ours.blob is None and theirs.blob is None:
            return
        here = theirs if ours.blob is None else ours
        assert here.blob is not None
        # What is only moved is still wanted, and of a conversation what was said after the other side was
        # done with it.
        take: Side | None = "theirs" if here is theirs else "ours"
        if here.blob != here.before and kind_of(path) != "conversation":
            edited = "edited" if here.path == path else f"moved to {here.path} and edited"
            told = ("deleted", edited) if here is theirs else (edited, "deleted")
            names = (ours.blob.name if ours.blob else "", theirs.blob.name if theirs.blob else "")
            take = self._conflict(path, "one side deleted what the other edited", told, names)
        if take == "theirs":
            if here is theirs:
                self._put(here.path, here.blob)
            else:
                self._put(here.path, None)

    def _content(self, path: str, target: str, base: Blob | None, ours: Blob, theirs: Blob) -> None:
        """One file of two versions, put at a path; a conflict where a person has to make it."""
        modes = [each.mode or theirs.mode for each in (ours, theirs)]
        mode = modes[1] if base is not None and modes[0] == base.mode else modes[0]
        if ours.name == theirs.name or (base is not None and theirs.name == base.name):
            self._place(target, Blob(mode, ours.name))
            return
        if base is not None and ours.name == base.name:
            self._place(target, Blob(mode, theirs.name))
            return
        told = ("edited", "edited") if base is not None else ("added", "added")
        names = ours.name, theirs.name
        if any(each not in _REGULAR for each in modes):
            why = "is a link or a repository of its own on one side"
            if modes == [LINK_MODE, LINK_MODE]:
                why = "each side moved what others share to another commit"
                is_theirs = self._newer(path, ours.name, theirs.name)
            else:
                is_theirs = None
            if is_theirs is None:
                take = self._conflict(path, why, told, names)
                is_theirs = take == "theirs"
            if is_theirs:
                self._put(target, theirs)
            return
        take = self._decided(path, names)
        none = "0" * len(ours.name)
        data = blobs(self._git, [each.name if each else none for each in (base, ours, theirs)])
        was, mine, other = (each or b"" for each in data)
        filters: dict[str, str] = {}
        if any(map(crypt.is_encrypted, (was, mine, other))):
            filters = filters_of(self._git, [target])
            was, mine, other = (
                opened(self._git, each, filters.get(target, "")) for each in (was, mine, other)
            )
        found = self._contents.settle(target, was, mine, other, theirs.name, take)
        if found.is_open:
            self._conflict(path, found.why, told, names, found.pieces)
            return
        if found.beside is not None:
            self._put(found.beside[0], Blob(_REGULAR[0], self._stored(found.beside[1])))
            self._plan.notes.append(f"{shown(target)} {found.why}")
        self._place(target, Blob(mode, self._stored(stored(self._git, target, found.data, filters))))

    def _place(self, path: str, blob: Blob) -> None:
        here = self._tree.get(path)
        if here is None or here.name != blob.name or path in self._plan.puts:
            self._put(path, blob)

    def _stored(self, data: bytes) -> str:
        return store_blob(self._git, data)

    def _newer(self, path: str, ours: str, theirs: str) -> bool | None:
        """Whether their commit of a submodule builds on ours; ``None`` where neither does on the other, or
        that cannot be told here."""
        place = self._git.root / path
        if not (place / ".git").exists():
            return None
        git = Git(place)
        for earlier, later in ((ours, theirs), (theirs, ours)):
            if not git.run("merge-base", "--is-ancestor", earlier, later, accept=(0, 1, 128)).code:
                return later == theirs
        return None

    def _decided(self, path: str, names: tuple[str, str]) -> Side | None:
        known = self._decisions.get(path)
        return known[1] if known is not None and known[0] == names else None

    def _conflict(
        self,
        path: str,
        why: str,
        told: tuple[str, str],
        names: tuple[str, str],
        pieces: tuple[Piece, ...] = (),
    ) -> Side | None:
        """Notes a conflict; or gives the side that a person has decided for."""
        take = self._decided(path, names)
        if take is None:
            who = [
                self._did(side, path, what)
                for side, what in zip((self._ours, self._theirs), told, strict=True)
            ]
            self._plan.conflicts.append(Conflict(path, why, who[0], who[1], pieces, names))
        return take

    def _did(self, side: str, path: str, what: str) -> Did:
        return did(self._git, self._base, side, path, what)

    def _after(self, path: str) -> bytes | None:
        """A file as it will be."""
        blob = self._plan.puts[path] if path in self._plan.puts else self._tree.get(path)
        return next(blobs(self._git, [blob.name])) if blob is not None else None

    def _digest(self) -> None:
        """Makes the digest anew; where a side has turned it off, it stays off."""
        sides = self._left, self._right
        is_off = any((fate := each.fates.get(DIGEST)) and fate.blob is None for each in sides)
        is_there = DIGEST in self._tree or DIGEST in self._right.added
        if is_off:
            if DIGEST in self._tree:
                self._put(DIGEST, None)
        elif is_there:
            files = {file.path: self._after(file.path) for file in CATEGORY_FILES}
            data = digest_of({path: entries(found, path) for path, found in files.items() if found})
            if data is not None:
                self._place(DIGEST, Blob(_REGULAR[0], self._stored(data)))
            elif DIGEST in self._tree:
                self._put(DIGEST, None)
            self._place(STATE, Blob(_REGULAR[0], self._stored(state_bytes("made" if data else "empty"))))

    def _sessions(self) -> None:
        """Gives a session of theirs another id where one of ours has it, in another file."""
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
                target, edited = apart(path, data, blob.name)
                self._put(target, Blob(blob.mode, self._stored(edited)))
                del self._plan.puts[path]
                self._plan.notes.append(f"{shown(mine)} has its session's id; theirs is {shown(target)}")

    def _transcripts(self, found: Mapping[str, Blob]) -> Iterator[tuple[str, str, bytes]]:
        """Path, session and bytes of each."""
        data = blobs(self._git, [blob.name for blob in found.values()])
        for path, each in zip(found, data, strict=True):
            yield path, head_fields(each or b"", ("session_id",))["session_id"], each or b""

    def _refuse_clash(self) -> None:
        """A file cannot stand where the other side has a folder."""
        puts = self._plan.puts
        there = {path for path in self._tree if path not in puts}
        there |= {path for path, blob in puts.items() if blob is not None}
        for path in sorted(there):
            parts = path.split("/")
            above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
            if file := next((each for each in above if each in there), ""):
                raise RepositoryError(
                    f"is a file on one side and a folder on the other, for {shown(path)}",
                    where=shown(file),
                    hint="rename one of them and sync again",
                )


def _refuse_odd(puts: Mapping[str, Blob | None]) -> None:
    for path, blob in puts.items():
        why = ""
        try:
            split_relative(path)
        except PathRefused as error:
            why = error.what
        if blob is not None and blob.mode == LINK_MODE and is_shared(path) and path.count("/") == 2:
            continue  # only which commit is recorded; nothing is fetched for it
        if blob is not None and blob.mode not in _REGULAR:
            why = "is a link or a repository of its own"
        elif blob is not None and path.startswith(_NEVER):
            why = "belongs to one machine alone"
        if why:
            raise RepositoryError(
                f"was not taken from the remote: it {why}",
                where=shown(path),
                hint="take it out of the history there; nothing was changed here",
            )
