"""All topics of a workspace, reloaded as their files change (spec 2.2, design 1).

While a file is broken, its last valid version stays in use and a problem is reported, so that saving a
half-edited file does not switch a topic off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, Problem, TopicError
from engine.startup.records import dataclass
from engine.store import documents
from engine.store.conflict_copies import copy_problem
from engine.store.leftovers import is_leftover
from engine.store.spelling import composed, folded
from engine.topics import forced
from engine.topics.fields import near
from engine.topics.kept import Stamp, is_settled, keep, load_kept
from engine.topics.loader import is_broken, load_topic
from engine.topics.patterncheck import trigger_problems

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.paths import Workspace
    from engine.topics.model import Topic

FOLDER = "topics"
MAX_TOPIC_BYTES = 1024 * 1024
_STALE_PART = 50
"""The cache is rewritten once more than 1/50 of the topics are missing from it."""
_STAYS = "until then the last valid version stays in use"


@dataclass(frozen=True, slots=True)
class TopicsDelta:
    """The result of a refresh."""

    changed: tuple[str, ...] = ()
    """Names of new or changed topics, sorted, including those switched by hand or without problems now."""
    removed: tuple[str, ...] = ()  # names of removed topics and broken files, sorted
    problems: tuple[Problem, ...] = ()  # of the files that were read


@dataclass(frozen=True, slots=True)
class _Entry:
    """One file: its last valid topic and its current problems."""

    topic: Topic | None
    problems: tuple[Problem, ...]


class TopicLibrary:
    """The topics of a workspace. Thread-safe: readers see the topics before or after a refresh.

    ``check_patterns`` checks patterns and schedules as topics are read; a process for a single message does
    not need it.

    Attributes:
        topics: All topics, sorted by name.
        problems: All problems of the files in ``topics/``, by file and line.
        version: A digest of all topic files, which changes whenever they do.
    """

    def __init__(self, workspace: Workspace, files: Files, *, check_patterns: bool = True) -> None:
        self._workspace = workspace
        self._files = files
        self._check_patterns = check_patterns
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._kept: dict[str, tuple[Stamp, Topic]] = {}
        self._forced: dict[str, bool] = {}
        self._stamps: dict[str, Stamp] = {}
        self._state_problems: tuple[Problem, ...] = ()
        self._by_name: dict[str, Topic] = {}
        self.topics: tuple[Topic, ...] = ()
        self.problems: tuple[Problem, ...] = ()
        self.version = _digest(())

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(composed(name))

    def load(self) -> TopicsDelta:
        """Reads all topics, unchanged ones from the cache."""
        with self._lock:
            self._stamps = self._read_stamps()
            known = self._kept = load_kept(self._files) if self._check_patterns else {}
            try:
                delta = self.refresh(None)
            finally:
                self._kept = {}
            self._keep(known)
            return delta

    def _keep(self, known: Mapping[str, tuple[Stamp, Topic]]) -> None:
        """Caches the topics without problems, if enough of them are not cached yet."""
        if not self._check_patterns or self._files.read_only:
            return
        sound = {
            path: (self._stamps[path], entry.topic)
            for path, entry in self._entries.items()
            if entry.topic is not None and not entry.problems and path in self._stamps
            if is_settled(self._stamps[path])
        }
        new = sum(path not in known or known[path][0] != stamp for path, (stamp, _) in sound.items())
        if new > len(sound) // _STALE_PART:
            keep(self._files, sound.values())

    def refresh(self, paths: Iterable[str] | None = None) -> TopicsDelta:
        """Reads files again.

        ``paths`` are relative paths of files or folders that may have changed, inside ``topics/`` or not;
        ``None`` for all of ``topics/``.
        """
        with self._lock:
            before, problems_before = self._by_name, {problem.path for problem in self.problems}
            read = self._read_all() if paths is None else self._read_some(paths)
            clashes = self._assemble()
            after, problems_after = self._by_name, {problem.path for problem in self.problems}
            changed = {name for name, topic in after.items() if not _is_same(before.get(name), topic)}
            removed = set(before.keys() - after.keys())
            for path in problems_before - problems_after:
                name = composed(PurePosixPath(path).stem)
                (changed if name in after else removed).add(name)
            return TopicsDelta(
                changed=tuple(sorted(changed)),
                removed=tuple(sorted(removed)),
                problems=tuple(
                    problem for problem in self.problems if problem.path in read or problem in clashes
                ),
            )

    def catch_up(self) -> None:
        """Reloads if any file has changed, for processes without a file watcher."""
        with self._lock:
            if self._read_stamps() != self._stamps:
                self.load()

    def _read_stamps(self) -> dict[str, Stamp]:
        """The stamp of every topic file and of the state file."""
        stamps: dict[str, Stamp] = {}
        for path in (forced.STATE_FILE, *_topic_files(self._workspace)[0]):
            with contextlib.suppress(OSError):
                found = os.lstat(f"{self._workspace.root}/{path}")
                stamps[path] = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        return stamps

    def force(self, name: str, on: bool | None) -> Topic:
        """Switches a topic on or off by hand, or (``None``) back to its triggers; returns the new topic.

        The state is stored in ``topics/.state.yaml``.

        Raises:
            TopicError: There is no such topic, or the state file is invalid.
            WriteFailed, ReadOnly: The state file cannot be written; nothing is changed.
        """
        with self._lock:
            name = composed(name)
            if name not in self._by_name:
                guess = near(name, self._by_name)
                hint = f"did you mean {guess}?" if guess else "see: autopoiesis topics list"
                raise TopicError(f"there is no topic {name!r}", where=f"{FOLDER}/", hint=hint)
            self._forced = forced.write(self._files, name, on)
            self._state_problems = ()
            self._assemble()
            return self._by_name[name]

    def _read_all(self) -> set[str]:
        self._read_state()
        found, closed = _topic_files(self._workspace)
        gone = self._entries.keys() - set(found)
        for path in gone:
            if not path.startswith(tuple(f"{folder}/" for folder in closed)):
                del self._entries[path]
        for path in found:
            self._read(path)
        for folder in closed:
            problem = Problem(folder, 0, "this folder cannot be read", "check its permissions")
            self._entries[folder] = _Entry(None, (problem,))
        return {forced.STATE_FILE, *found, *closed}

    def _read_some(self, paths: Iterable[str]) -> set[str]:
        read: set[str] = set()
        for path in dict.fromkeys(paths):
            if path == forced.STATE_FILE:
                self._read_state()
                read.add(path)
            elif path == FOLDER:
                return self._read_all()
            elif path.startswith(f"{FOLDER}/") and is_topic_path(path):
                if self._is_folder(path):
                    return self._read_all()
                self._read(path)
                read.add(path)
        return read

    def _is_folder(self, path: str) -> bool:
        inside = any(entry.startswith(f"{path}/") for entry in self._entries)
        return inside or self._workspace.root.joinpath(path).is_dir()

    def _read_state(self) -> None:
        self._forced, self._state_problems = forced.read(self._files)

    def _read(self, path: str) -> None:
        """Reads one file into its entry, or removes the entry if the file no longer exists."""
        known = self._entries.get(path)
        good = known.topic if known else None
        if not path.endswith(".md"):
            what, hint = "is not Markdown, so it is not a topic", "name it *.md, or move it out of topics/"
            self._entries[path] = _Entry(None, (Problem(path, 0, what, hint, "warning"),))
            return
        folder, _, name = str(self._workspace.root / path).rpartition("/")
        if copy := copy_problem(folder, name, path):
            self._entries[path] = _Entry(None, (copy,))
            return
        kept = self._kept.get(path)
        if kept is not None and kept[0] == self._stamps.get(path) and self._has_all(kept[1]):
            self._entries[path] = _Entry(kept[1], ())
            return
        try:
            data = self._files.read(path, limit=MAX_TOPIC_BYTES)
        except FileNotFoundError:
            self._entries.pop(path, None)
            return
        except AutopoiesisError as error:
            problem = Problem(path, 0, f"cannot be read: {error.what}", error.hint)
            self._entries[path] = _Entry(good, (_still_used(problem) if good else problem,))
            return
        document = documents.parse(data, path)
        topic, problems = load_topic(document, self._workspace)
        if topic is None and good is not None and is_broken(document):
            first, *others = problems
            self._entries[path] = _Entry(good, (_still_used(first), *others))
            return
        if topic is not None and self._check_patterns:
            problems = (*problems, *trigger_problems(topic))
        self._entries[path] = _Entry(topic, problems)

    def _has_all(self, topic: Topic) -> bool:
        """Whether all files that a topic subscribes to exist; otherwise its own file has a problem."""
        try:
            return all(self._workspace.resolve(path).is_file() for path in topic.subscriptions)
        except AutopoiesisError:
            return False

    def _assemble(self) -> tuple[Problem, ...]:
        """Builds topics, problems and version from the entries, and returns the name clashes."""
        taken: dict[str, Topic] = {}
        clashes: list[Problem] = []
        for path in sorted(self._entries):
            topic = self._entries[path].topic
            if topic is None:
                continue
            first = taken.setdefault(folded(topic.name), topic)
            if first is not topic:
                what = f"topic {topic.name!r} has the same name as {first.path}, so this file is ignored"
                clashes.append(Problem(path, 0, what, "rename one of the two files"))
        topics = sorted(taken.values(), key=lambda topic: topic.name)
        forced_now = self._forced
        self.topics = tuple(
            replace(topic, forced=forced_now[topic.name]) if topic.name in forced_now else topic
            for topic in topics
        )
        self._by_name = {topic.name: topic for topic in self.topics}
        found = [problem for entry in self._entries.values() for problem in entry.problems]
        self.problems = tuple(
            sorted(
                (*found, *clashes, *self._state_problems),
                key=lambda problem: (problem.path, problem.line, problem.what),
            )
        )
        self.version = _digest(self.topics)
        return tuple(clashes)


def _is_same(before: Topic | None, after: Topic) -> bool:
    # The digest is not part of a topic's value, but an edit that changes no value is still an edit.
    return before is not None and before == after and before.digest == after.digest


def _still_used(problem: Problem) -> Problem:
    return replace(problem, hint=f"{problem.hint}; {_STAYS}" if problem.hint else _STAYS)


def _digest(topics: Iterable[Topic]) -> str:
    lines = "\n".join(f"{topic.path} {topic.digest}" for topic in topics)
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def is_topic_path(path: str) -> bool:
    """Whether a path can be a topic's file, not a hidden or temporary one."""
    parts = path.split("/")
    name = parts[-1]
    is_hidden = any(part.startswith(".") for part in parts)
    return not is_hidden and not is_leftover(name) and name.lower() != "readme.md"


def _topic_files(workspace: Workspace) -> tuple[list[str], list[str]]:
    """The files in ``topics/`` and its folders, and unreadable folders; symlinks are not followed."""
    found: list[str] = []
    closed: list[str] = []

    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            closed.append(Path(error.filename).relative_to(workspace.root).as_posix())

    if not workspace.holds(workspace.topics.name):
        return [], [workspace.topics.name]
    for folder, folders, names in os.walk(workspace.topics, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        relative = Path(folder).relative_to(workspace.root).as_posix()
        found += [path for name in sorted(names) if is_topic_path(path := f"{relative}/{name}")]
    return sorted(found), closed
