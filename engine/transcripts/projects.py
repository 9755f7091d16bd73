"""The projects of a workspace: a project is its repository, or a folder without one.

A project's name is the base name of its repository. Where another project has that name already, the owner is
added, ``shop-acme``. So that names do not depend on what exists where, each is recorded when a session of the
project is first captured or imported: ``logs/projects/YYYY-MM.jsonl``, append-only, synchronized like all
logs. A name that stands for several projects belongs to none of them until a person decides: in workspaces
older than these names, and where two machines gave it to different projects.

A session's transcript names its repository. For transcripts that do not, their working folder counts; those
whose folder is gone belong to the project whose recorded folders contain it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ChangeRefused
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.checkouts import Place, exists, place_of
from engine.store.files import Files
from engine.store.monthly import MonthlyLog, Record, line_of
from engine.store.paths import CONFIG_NAME, Workspace, slugify
from engine.transcripts.days import iso
from engine.transcripts.places import REPOSITORY_FIELD, head_fields, read_head, session_files

if TYPE_CHECKING:
    from engine.store.monthly import LogStamp

FOLDER = "logs/projects"
_RULES = "knowledge/rules.md"
_SCOPE = expression(rb"\{#[0-9a-f]{7}[^{}\n]* project=([^\s{}]+)")
_LONGEST = 100
_FIELDS = ("project", REPOSITORY_FIELD, "cwd")
_NO_TOP = ("~", "/", ".")
"""Folders whose repository, if any, is not that of everything below."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project."""

    names: tuple[str, ...]  # slugs, the current one first; older ones still stand for it
    keys: tuple[str, ...]  # its repositories, or its folder, see ``Place``

    @property
    def name(self) -> str:
        """Its slug."""
        return self.names[0]


class Projects:
    """Names the projects of a workspace. Safe to use from several threads and processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._files = files
        self._clock = clock
        self._log = MonthlyLog(files, "projects/", clock)
        self._read: tuple[LogStamp, _Names] | None = None
        self._looked_for: set[str] = set()

    def names(self, folder: str, url: str = "") -> tuple[str, ...]:
        """The slugs of the project of a working folder, the current one first; empty if it is unknown.

        The folder need not exist. ``url`` is that of the remote, if known from elsewhere.
        """
        return self._names_of(place_of(folder, url))

    def names_of(self, transcript: Path) -> tuple[str, ...]:
        """Like ``names``, for the project of a transcript: the one in its header or that of its folder."""
        head = head_fields(read_head(transcript), _FIELDS)
        if head["project"]:
            return self.named(slugify(head["project"]))
        return self._names_of(_place_in(head))

    def named(self, name: str) -> tuple[str, ...]:
        """All names of the project with a name."""
        found = self._known().project(name)
        return found.names if found else (name,)

    def all(self) -> list[Project]:
        """The known projects, by name."""
        names = self._known()
        found = map(names.project_with, dict.fromkeys(names.leaders.values()))
        return sorted(found, key=lambda project: project.name)

    def disputed(self) -> dict[str, tuple[str, ...]]:
        """The names in use that stand for several projects, with the keys of these."""
        found = self._known().disputed()
        used = _in_use(self._files) if found else set()
        return {name: keys for name, keys in found.items() if name in used}

    def note(self, transcripts: Iterable[Path]) -> None:
        """Records the projects of transcripts that are new.

        Raises:
            WriteFailed, ReadOnly: They could not be recorded.
        """
        heads = (head_fields(read_head(path), _FIELDS) for path in transcripts)
        places = {place.key: place for head in heads if (place := _place_in(head)) and not head["project"]}
        if not any(place.key not in self._known().leaders for place in places.values()) and self._log.stamp():
            return
        with self._files.lock():
            names = self._known(again=True)
            added = [] if self._log.stamp() else list(names.records)
            for place in places.values():
                added += names.with_place(place)
            self._record(added)

    def assign(self, name: str, key: str) -> Project:
        """Decides, for a person, which project a name stands for, or that a repository belongs to a project.

        A name that no project has becomes the current one of the project with the key.

        Args:
            key: As in ``Project.keys``, another name of the project, or a folder's path.

        Raises:
            ChangeRefused: The name is no slug, or no project has the key.
            WriteFailed, ReadOnly: It was not recorded.
        """
        if not _is_slug(name):
            raise ChangeRefused("not a project's name", where=name, hint=f"use {slugify(name)}")
        with self._files.lock():
            names = self._known(again=True)
            if key not in names.leaders and len(names.owners.get(key, [])) == 1:
                key = names.owners[key][0]
            elif key not in names.leaders and (place := place_of(str(Path(key).expanduser().absolute()))):
                key = names.key_of(place)
            if key not in names.leaders:
                raise ChangeRefused(
                    "no project is known by it", where=key, hint="list them: autopoiesis projects"
                )
            added = [] if self._log.stamp() else list(names.records)
            owners = names.owners.get(name, [])
            if len(owners) == 1 and name not in names.disputed() and owners[0] != names.leaders[key]:
                added += names.take({"key": key, "same": owners[0]})
            else:
                # What was recorded under its name so far stays with it.
                added += [each for owner in owners for each in names.with_name(owner)]
                added += names.take({"name": name, "key": key, "settled": True})
            self._record(added)
            return names.project_with(key)

    def _record(self, added: Sequence[Record]) -> None:
        at = iso(self._clock())
        if added:
            self._files.append(self._log.path(), b"".join(line_of({"at": at} | each) for each in added))

    def _names_of(self, place: Place | None) -> tuple[str, ...]:
        if place is None:
            return ()
        names = self._known()
        if not self._log.stamp() and place.key not in names.leaders and place.key not in self._looked_for:
            names = self._known(again=True)  # nothing is recorded yet, and there may be more transcripts
            self._looked_for.add(place.key)
        return names.of(names.key_of(place))

    def _known(self, *, again: bool = False) -> _Names:
        stamp = self._log.stamp()
        if again or self._read is None or self._read[0] != stamp:
            records = sorted(self._log.records(), key=lambda record: str(record.get("at")))
            self._read = stamp, _Names(records) if stamp else self._first_names()
        return self._read[1]

    def _first_names(self) -> _Names:
        """The names in a workspace that has recorded none: those in use stand for the projects in whose
        sessions a folder was so called.
        """
        names, used = _Names(), _in_use(self._files)
        if not used:  # reading the heads of all transcripts would gain nothing
            return names
        called: dict[Place, dict[str, None]] = {}
        place_in = lru_cache(maxsize=None)(lambda *head: _place_in(dict(zip(_FIELDS, head, strict=True))))
        for path in reversed(tuple(session_files(self._files.workspace))):
            head = head_fields(read_head(path), _FIELDS)
            place = None if head["project"] else place_in(*map(head.__getitem__, _FIELDS))
            if place is not None:
                called.setdefault(place, {})[slugify(PurePosixPath(head["cwd"]).name)] = None
        # Folders without a repository last: a subfolder that is gone belongs to the repository it was in.
        for places in ([p for p in called if p.is_repository], [p for p in called if not p.is_repository]):
            for place in places:
                key = names.key_of(place)
                name = next(_candidates(key))
                if name in used and name in called[place]:
                    names.take({"name": name, "key": key})
            for place in places:
                names.with_place(place)
        for place, folders in called.items():  # names of subfolders and work trees
            for name in folders.keys() & used:
                names.take({"name": name, "key": names.key_of(place)})
        return names


@lru_cache(maxsize=8)
def projects_of(root: Path) -> Projects:
    """The projects of the workspace in a folder, to read them."""
    return Projects(Files(Workspace(root)))


def project_of(path: Path) -> str:
    """The slug of the project of a transcript in a workspace; empty if it is unknown."""
    root = next((folder for folder in path.parents if (folder / CONFIG_NAME).is_file()), None)
    names = projects_of(root).names_of(path) if root is not None else ()
    return names[0] if names else ""


def _place_in(head: dict[str, str]) -> Place | None:
    found, key = place_of(head["cwd"]), head[REPOSITORY_FIELD]
    if not key or (found is not None and found.key == key):
        return found
    is_gone = found is not None and not found.is_repository and not exists(found.key)
    return Place(key, top=found.key if found is not None and is_gone else "", is_repository=True)


def _in_use(files: Files) -> set[str]:
    """The project names in the workspace: of rules, and of folders with notes."""
    found: set[str] = set()
    with contextlib.suppress(OSError, AutopoiesisError):
        found.update(
            name.decode("utf-8", "replace") for name in _SCOPE.findall(files.read(_RULES, limit=None))
        )
    with contextlib.suppress(OSError):
        found.update(folder.name for folder in files.workspace.projects.iterdir() if folder.is_dir())
    return found


class _Names:
    """The names that records give.

    A record gives a key a name: ``{"name": …, "key": …, "top": …}``, with the checkout's path if it has one.
    With ``settled`` a person decided so; with ``same`` instead of a name it has the project of another key.

    Attributes:
        leaders: For each key the one that stands for its project.
        owners: The leaders of the projects that have a name.
        tops: The key of each recorded checkout.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.records: list[Record] = []
        self.leaders: dict[str, str] = {}
        self.owners: dict[str, list[str]] = {}
        self.tops: dict[str, str] = {}
        self._settled: dict[str, str] = {}  # the current name by leader, where a person chose it
        for record in records:
            self.take(record)

    def take(self, record: Record) -> list[Record]:
        """Applies a record; returns it in a list."""
        key, name, same, top = (str(record.get(field) or "") for field in ("key", "name", "same", "top"))
        if not key or not (_is_slug(name) or same):
            return []
        is_new = key not in self.leaders or (top and top not in self.tops)
        leader = self.leaders.setdefault(key, key)
        if same:
            self._join(leader, self.leaders.setdefault(same, same))
        elif record.get("settled"):
            self.owners[name] = [leader]
            self._settled[leader] = name
        elif leader not in self.owners.setdefault(name, []):
            self.owners[name].append(leader)
        elif not is_new:
            return []
        if top:
            self.tops.setdefault(top, key)
        self.records.append(record)
        return [record]

    def _join(self, leader: str, into: str) -> None:
        current = self._name(into)
        self.leaders = {key: into if each == leader else each for key, each in self.leaders.items()}
        for name, owners in self.owners.items():
            self.owners[name] = list(dict.fromkeys(into if each == leader else each for each in owners))
        if leader != into:
            self._settled.setdefault(into, current)
            self._settled.pop(leader, None)

    def key_of(self, place: Place) -> str:
        """The key under which a place is known: that of its checkout if its own is not, since the remote may
        have been added or removed; of a folder that is gone, that of the checkout that contained it.
        """
        if place.key in self.leaders:
            return place.key
        if place.is_repository:
            known = place.root if place.root in self.leaders else ""
            return known or (self.tops.get(place.root, place.key) if place.key == place.root else place.key)
        folders = [place.key, *map(str, PurePosixPath(place.key).parents)]
        inside = next((self.tops[each] for each in folders if each in self.tops and each not in _NO_TOP), "")
        return inside if inside and not exists(place.key) else place.key

    def of(self, key: str) -> tuple[str, ...]:
        """The names of the project with a key."""
        leader = self.leaders.get(key, key)
        found = [name for name, owners in self.owners.items() if owners == [leader]]
        found.sort(key=lambda name: name != self._settled.get(leader))
        return tuple(found) or (self._free(leader),)

    def _name(self, leader: str) -> str:
        return self.of(leader)[0]

    def _free(self, key: str) -> str:
        *names, last = _candidates(key)
        return next((name for name in names if self.owners.get(name, [key]) == [key]), last)

    def with_place(self, place: Place) -> list[Record]:
        """Adds the project of a place, if it is new; returns the new records."""
        known, found = self.key_of(place), list[Record]()
        if known != place.key:
            return self.take({"key": place.key, "same": known}) if place.is_repository else []
        for top in dict.fromkeys((place.root, place.top)):
            if (top and top not in self.tops) or known not in self.leaders:
                found += self.take({"name": self._name(known), "key": known, "top": top})
        return found or self.with_name(known)

    def with_name(self, key: str) -> list[Record]:
        """Records the name of a known project that it has only for lack of another."""
        name = self._name(self.leaders.get(key, key))
        return [] if name in self.owners else self.take({"name": name, "key": key})

    def project(self, name: str) -> Project | None:
        """The project with a name."""
        owners = self.owners.get(name, [])
        return self.project_with(owners[0]) if len(owners) == 1 else None

    def project_with(self, key: str) -> Project:
        """The project with a key."""
        leader = self.leaders[key]
        return Project(self.of(leader), tuple(key for key, each in self.leaders.items() if each == leader))

    def disputed(self) -> dict[str, tuple[str, ...]]:
        """The names of several projects, with their leaders."""
        return {name: tuple(owners) for name, owners in self.owners.items() if len(owners) > 1}


def _is_slug(name: str) -> bool:
    """Whether a text can name a project and its folder."""
    return slugify(name, _LONGEST) == name


def _candidates(key: str) -> Iterator[str]:
    """Names for a project, the preferred one first."""
    parts = PurePosixPath(key).parts
    name = "home" if key == "~" else slugify(parts[-1] if parts else "")
    yield name
    if len(parts) > 2:
        yield slugify(f"{name}-{parts[-2]}")
    yield f"{name}-{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:6]}"
