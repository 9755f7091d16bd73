"""The projects of a workspace: a project is its repository, or a folder without one.

A project's name is the base name of its repository. Where another project has that name already, the owner is
added, ``shop-acme``. So that names do not depend on what exists where, each is recorded when a session of the
project is first captured or imported: ``logs/projects/YYYY-MM.jsonl``, append-only, synchronized like all
logs. A name that stands for several projects belongs to none of them until a person decides: in workspaces
older than these names, and where two machines gave it to different projects.

A session's transcript names its repository. For transcripts that do not, their working folder counts; those
whose folder is gone belong to the project whose recorded folders contain it. Agents make work trees and
delete them, and people move repositories: a folder that is gone also joins the repository to which its
sessions pushed, the one of its name whose files they named, or the one whose work trees were made there.
Where that is not certain, a person is asked.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ChangeRefused
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.checkouts import Place, exists, main_checkout, place_of, shown_path
from engine.store.files import Files
from engine.store.monthly import MonthlyLog, Record, line_of
from engine.store.paths import CONFIG_NAME, Workspace, slugify
from engine.transcripts.days import iso
from engine.transcripts.places import REPOSITORY_FIELD, head_fields, read_head, session_files

if TYPE_CHECKING:
    from engine.store.monthly import LogStamp
    from engine.transcripts.traces import Traces

FOLDER = "logs/projects"
_RULES = "knowledge/rules.md"
_SCOPE = expression(rb"\{#[0-9a-f]{7}[^{}\n]* project=([^\s{}]+)")
_LONGEST = 100
_FIELDS = ("project", REPOSITORY_FIELD, "cwd")
_TREES_OF = expression(r"worktrees/([^/]+)/")
"""Where people put work trees, though not everybody does: the repository's name, if there is one of it."""
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


@dataclass(frozen=True, slots=True)
class Offer:
    """Folders that are gone and look like work trees or an earlier place of a repository."""

    pattern: str  # of their keys; a key if it is one
    keys: tuple[str, ...]
    names: tuple[str, ...]  # of the projects that have them now
    of: tuple[str, ...]  # names of the projects of which they may be

    @property
    def text(self) -> str:
        """Says so, without full stop."""
        many = len(self.keys) > 1
        what = (
            f"{len(self.keys)} folders that are gone, {self.pattern},"
            if many
            else f"{self.pattern}, which is gone,"
        )
        return f"{what} {'look' if many else 'looks'} like {' or '.join(self.of)}, going by the name"

    @property
    def hint(self) -> str:
        """What decides it."""
        command = f"autopoiesis projects assign {self.of[0]} {shlex.quote(self.pattern)}"
        return f"if so: {command}; if not, with a name of {'their' if len(self.keys) > 1 else 'its'} own"


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

    def offers(self) -> list[Offer]:
        """The folders that are gone of which a person should say whether they are of another project."""
        names = self._known()
        found: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
        for key in names.gone():
            for pattern, leaders in names.alike(key):
                found[pattern, tuple(sorted(names.name(each) for each in leaders))].append(key)
                break
        return [
            Offer(pattern if len(keys) > 1 else keys[0], tuple(keys), tuple(map(names.name, keys)), of)
            for (pattern, of), keys in found.items()
        ]

    def doubtful(self, project: Collection[str]) -> list[str]:
        """The names of the projects that may be the same as one."""
        return sorted({name for each in self.offers() if set(each.of) & {*project} for name in each.names})

    def note(self, transcripts: Iterable[Path]) -> None:
        """Records the projects of transcripts that are new.

        Raises:
            WriteFailed, ReadOnly: They could not be recorded.
        """
        heads = (head_fields(read_head(path), _FIELDS) for path in transcripts)
        places = {place.key: place for head in heads if (place := _place_in(head)) and not head["project"]}
        known = self._known()
        if known.has_looked and self._log.stamp() and all(key in known.leaders for key in places):
            return
        with self._files.lock():
            names = self._known(again=True)
            added = [] if self._log.stamp() else list(names.records)
            new = sorted(
                (place for place in places.values() if names.key_of(place) not in names.leaders),
                # A repository gets the plain name before a folder that is gone does.
                key=lambda place: (not place.is_repository, not exists(place.top or place.key), place.key),
            )
            rest = [place for place in places.values() if place not in new]
            gone = [place for place in new if not (place.is_repository or exists(place.key))]
            for place in (*rest, *(place for place in new if place not in gone)):
                added += names.with_place(place)
            added += self._joined(names, {each.key for each in gone if names.key_of(each) == each.key}, new)
            for place in gone:
                added += names.with_place(place)
            self._record(added)

    def _joined(self, names: _Names, gone: set[str], new: Sequence[Place]) -> list[Record]:
        """Joins folders that are gone to the repositories of which their sessions tell; returns the records.

        Args:
            gone: Those that are new.
            new: All places that are new. A repository is looked for among the earlier folders of its name.
        """
        called = {name for place in new if place.is_repository for name in _called(place.key)}
        known = names.gone()
        gone |= {key for key in known if not names.has_looked or called.intersection(_called(key))}
        added = [] if names.has_looked else names.take({"looked": True})
        if not gone:
            return added
        traces = self._traces(names, gone)
        for key in sorted(gone, key=lambda each: (len(traces[each].repositories) != 1, each)):
            into = names.repository_of(key, traces[key])
            if into and into not in names.leaders:
                added += names.with_place(Place(into, is_repository=True))
            if into:
                added += names.take({"key": key, "same": into, "top": key, "found": True})
        return added

    def _traces(self, names: _Names, keys: Collection[str]) -> dict[str, Traces]:
        from engine.transcripts.traces import Traces  # noqa: PLC0415 — a hook on a prompt does without

        found: dict[str, Traces] = defaultdict(Traces)
        for path in session_files(self._files.workspace):
            place = _place_in(head_fields(read_head(path), _FIELDS))
            if place is not None and names.key_of(place) in keys:
                found[names.key_of(place)].read(path)
        return found

    def assign(self, name: str, key: str) -> Project:
        """Decides, for a person, which project a name stands for, or that a repository belongs to a project.

        A name that no project has becomes the current one of the project with the key.

        Args:
            key: As in ``Project.keys``, another name of the project, or a folder's path; or a pattern of
                folders that are gone, with ``*``.

        Raises:
            ChangeRefused: The name is no slug, or no project has the key.
            WriteFailed, ReadOnly: It was not recorded.
        """
        if not _is_slug(name):
            raise ChangeRefused("not a project's name", where=name, hint=f"use {slugify(name)}")
        with self._files.lock():
            names = self._known(again=True)
            added = [] if self._log.stamp() else list(names.records)
            gone = [each for each in names.leaders if each[0] in "~/" and not exists(each)]
            alike = [each for each in gone if fnmatchcase(each, shown_path(key))]
            for each in alike or [names.key_called(key)]:
                added += names.assigned(name, each)
            self._record(added)
            return names.project_with(names.owners[name][0])

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
    With ``settled`` a person decided so; with ``same`` instead of a name it has the project of another key;
    with ``found`` its sessions told so, and with ``apart`` it leaves the project that was so found. A record
    of a work tree that is gone counts for all that lay in the same place. ``{"looked": true}`` says that the
    sessions of the folders that were gone then were read.

    Attributes:
        leaders: For each key the one that stands for its project.
        owners: The leaders of the projects that have a name.
        tops: The key of each recorded checkout.
        has_looked: Whether the sessions of the folders that are gone were read.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.records: list[Record] = []
        self.leaders: dict[str, str] = {}
        self.owners: dict[str, list[str]] = {}
        self.tops: dict[str, str] = {}
        self.has_looked = False
        self._found: set[str] = set()
        self._apart: set[str] = set()
        self._settled: dict[str, str] = {}  # the current name by leader, where a person chose it
        for record in records:
            self.take(record)

    def take(self, record: Record) -> list[Record]:
        """Applies a record; returns it in a list."""
        key, name, same, top = (str(record.get(field) or "") for field in ("key", "name", "same", "top"))
        if record.get("looked"):
            self.has_looked = True
            self.records.append(record)
            return [record]
        if not key or not (_is_slug(name) or same):
            return []
        key, same = (_main(each) if each and not top else each for each in (key, same))
        is_new = key not in self.leaders or (top and top not in self.tops)
        if record.get("apart"):
            self.leaders[key] = key
            self._apart.add(key)
        leader = self.leaders.setdefault(key, key)
        if same:
            self._join(leader, self.leaders.setdefault(same, same), is_found=bool(record.get("found")))
            self._found |= {key} if record.get("found") else set()
        elif record.get("settled"):
            self.owners[name] = [leader]
            self._settled[leader] = name
        elif leader not in self.owners.setdefault(name, []):
            self.owners[name].append(leader)
        elif not is_new:
            return []
        if top:
            self.tops.setdefault(top, key)
            self.tops.setdefault(_main(top), key)
        self.records.append(record)
        return [record]

    def _join(self, leader: str, into: str, *, is_found: bool) -> None:
        current = self.name(into)
        self.leaders = {key: into if each == leader else each for key, each in self.leaders.items()}
        for name, owners in self.owners.items():
            self.owners[name] = list(dict.fromkeys(into if each == leader else each for each in owners))
        if leader != into:
            if not is_found:
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
        current = self._settled.get(leader) or next(_candidates(leader))
        found.sort(key=lambda name: name != current)
        return tuple(found) or (self._free(leader),)

    def name(self, key: str) -> str:
        """The current name of the project with a key."""
        return self.of(key)[0]

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
                found += self.take({"name": self.name(known), "key": known, "top": top})
        return found or self.with_name(known)

    def with_name(self, key: str) -> list[Record]:
        """Records the name of a known project that it has only for lack of another."""
        name = self.name(self.leaders.get(key, key))
        return [] if name in self.owners else self.take({"name": name, "key": key})

    def gone(self) -> list[str]:
        """The folders that are gone of which neither a person nor their sessions told the project."""
        return [
            key
            for key, leader in self.leaders.items()
            if key == leader
            and key[0] in "~/"
            and key not in _NO_TOP
            and not any(key in decided for decided in (self.tops, self._apart, self._settled))
            and not exists(key)
        ]

    def repository_of(self, key: str, traces: Traces) -> str:
        """The repository to which a folder that is gone belonged; empty if that is not certain."""
        if len(traces.repositories) == 1:
            return next(iter(traces.repositories))
        alike = self._called(_called(key))
        if traces.repositories or len(alike) != 1:
            return ""
        trees = _TREES_OF.search(key)
        if "*" in key or (trees and self._called([slugify(trees[1])]) == alike):
            return alike[0]
        tops = [top for top, each in self.tops.items() if self.leaders.get(each) == alike[0] and exists(top)]
        return alike[0] if traces.are_of(Path(top).expanduser() for top in tops) else ""

    def alike(self, key: str) -> Iterator[tuple[str, list[str]]]:
        """The projects to which a folder that is gone may have belonged, likelier ones first, each time with
        a pattern of such folders.
        """
        if found := self._called(_called(key)):
            yield key, found
        parent = str(PurePosixPath(key).parent)
        trees = f"{parent}/*"
        is_shared = any(fnmatchcase(each, trees) and exists(each) for each in (*self.tops, *self.leaders))
        if not is_shared and (found := self._called([slugify(PurePosixPath(parent).name)])):
            yield trees, found
        for top, of in self.tops.items():
            if key.startswith(top) and key[len(top)] in "-._" and "/" not in key[len(top) :]:
                yield f"{top}{key[len(top)]}*", [self.leaders[of]]

    def _called(self, names: Iterable[str]) -> list[str]:
        """The repositories with a folder or address of some names."""
        wanted, repositories = {*names}, {self.leaders[key] for key in self.tops.values()}
        found = (leader for key, leader in self.leaders.items() if wanted.intersection(_called(key)))
        return [leader for leader in dict.fromkeys(found) if leader in repositories]

    def key_called(self, text: str) -> str:
        """The key that a person means by a key, the name of a project, or a folder's path.

        Raises:
            ChangeRefused: There is none.
        """
        key = text
        if key not in self.leaders and len(self.owners.get(key, [])) == 1:
            key = self.owners[key][0]
        elif key not in self.leaders and (place := place_of(str(Path(key).expanduser().absolute()))):
            key = self.key_of(place)
        if key not in self.leaders:
            raise ChangeRefused(
                "no project is known by it", where=text, hint="list them: autopoiesis projects"
            )
        return key

    def assigned(self, name: str, key: str) -> list[Record]:
        """Gives a key the project with a name, or its project a new name, as a person decided; returns the
        records. A folder that was found to be of a project leaves it.
        """
        owners, apart = self.owners.get(name, []), {"apart": True} if key in self._found else {}
        if len(owners) == 1 and name not in self.disputed() and owners[0] != self.leaders[key]:
            return self.take({"key": key, "same": owners[0]} | apart)
        if owners == [self.leaders[key]] and self._settled.get(owners[0]) == name:
            return []
        # What was recorded under its name so far stays with it.
        added = [each for owner in owners for each in self.with_name(owner)]
        apart = {} if owners else apart
        return added + self.take({"name": name, "key": key, "settled": True} | apart)

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


def _main(key: str) -> str:
    """The key of the main checkout, for that of a work tree that is gone."""
    return (main_checkout(key) or key) if key[:1] in ("~", "/") else key


@lru_cache(maxsize=4096)
def _called(key: str) -> frozenset[str]:
    """How the repository of a key may be called elsewhere."""
    trees = _TREES_OF.search(key) if key[:1] in ("~", "/") else None
    return frozenset(filter(None, (next(_candidates(key)), slugify(trees[1]) if trees else "")))


def _candidates(key: str) -> Iterator[str]:
    """Names for a project, the preferred one first."""
    parts = [part for part in PurePosixPath(key).parts if part != "*"]
    name = "home" if key == "~" else slugify(parts[-1] if parts else "")
    yield name
    if len(parts) > 2:
        yield slugify(f"{name}-{parts[-2]}")
    yield f"{name}-{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:6]}"
