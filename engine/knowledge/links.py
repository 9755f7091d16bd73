"""Resolves the references in knowledge files, forwards and backwards, and finds broken ones.

References are read in entries, skills, other files in ``knowledge/``, topics and presets. In entries and
skills a broken reference is an error. Elsewhere only links and wikilinks are checked, as warnings, because
journals and notes often name paths outside the workspace.

As in Obsidian, a name in a wikilink may be preceded by as many parent folders as needed to make it unique:
``[[people/maren]]``. Case is ignored. Shared knowledge matches only if the workspace itself has no such name;
within a share, its own files come first.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from engine.context.sources import FILE_LIMIT
from engine.errors import AutopoiesisError, EntryError, PathRefused, Problem
from engine.knowledge.entries import Entry, EntryScan, innermost, plain
from engine.knowledge.inventory import Inventory, hidden, take_inventory
from engine.knowledge.references import Reference, is_path, references, without_examples
from engine.store import sparse
from engine.store.documents import parse, sections
from engine.store.entry_files import KNOWLEDGE, SHELVES, folder_of
from engine.store.files import Files
from engine.store.paths import Workspace, is_shared, shown
from engine.topics.fields import near

_READ = ("knowledge/", ".library/", "topics/", "presets/")
_WITH_HEADER = ("topics/", "presets/")
"""Folders of files whose headers contain references, too."""

_GENERATED = "knowledge/digest.md"
_SUPPORTING = ("references", "scripts", "assets", "notes")
_MAX_SUGGESTIONS = 100
"""Broken references that get a suggestion; each costs a comparison with every name."""


@dataclass(frozen=True, slots=True)
class Link:
    """A resolved reference."""

    source: str  # workspace-relative
    line: int  # from 1
    target: str  # the file or folder it leads to; for an entry, its marker file
    reference: Reference
    also: tuple[str, ...] = ()  # other references to it on the same line, as written


@dataclass(frozen=True, slots=True)
class _Source:
    path: str
    references: tuple[Reference, ...]
    private: tuple[tuple[int, str], ...]


class Links:
    """The references in one state of the files; files are read once, on first use."""

    def __init__(self, files: Files, scan: EntryScan) -> None:
        self._files = files
        self._workspace = files.workspace
        self._scan = scan
        self._places = Places(files.workspace, scan)
        self._headings: dict[str, frozenset[str]] = {}
        self._suggested = 0
        self._names = NameIndex(scan.entries)
        self._problems: list[Problem] = []

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All resolved references, by source and position."""
        found: list[Link] = []
        for source in self._sources:
            seen: dict[tuple[int, str], int] = {}
            leaks = {line for line, _ in source.private}
            for line, what in source.private:
                self._report(source.path, line, what, "include it in the skill itself, or remove it")
            for reference in source.references:
                target = self._target(source.path, reference, is_leak=reference.line in leaks)
                if (at := seen.get((reference.line, target))) is not None:
                    found[at] = replace(found[at], also=(*found[at].also, reference.target))
                elif target and target != source.path:
                    seen[reference.line, target] = len(found)
                    found.append(Link(source.path, reference.line, target, reference))
                    self._check_skill_link(
                        source.path, reference, target, is_reported=reference.line in leaks
                    )
        return tuple(found)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Broken, ambiguous and forbidden references, and unreachable entries, by path and line."""
        links = self.links
        found = {*self._problems, *self._unindexed(links)}
        return tuple(sorted(found, key=lambda each: (each.path, each.line, each.what)))

    def to(self, path: str) -> tuple[Link, ...]:
        """The references to a file, or into a folder from outside it."""
        below = f"{path.rstrip('/')}/"
        if path in self._targets or path not in self._places.inventory.folders:
            return self._targets.get(path, ())
        return tuple(
            link
            for target, links in self._targets.items()
            if f"{target}/".startswith(below)
            for link in links
            if not link.source.startswith(below)
        )

    def of(self, path: str) -> tuple[Link, ...]:
        """The references in a file, or in the files of a folder."""
        below = f"{path.rstrip('/')}/"
        return tuple(link for link in self.links if link.source == path or link.source.startswith(below))

    def find(self, text: str) -> str:
        """Finds a file or folder by path or wikilink name; raises ``EntryError`` if there is none or
        several."""
        found = ""
        with suppress(OutsideWorkspace):
            found = self._places.existing("/".join(part for part in text.split("/") if part not in ("", ".")))
        several = (found,) if found else self._names.find(text.strip("[]")) if self._sources else ()
        if len(several) == 1:
            return several[0]
        if several:
            hint = f"use one of {', '.join(map(shown, several))}"
            raise EntryError(f"{len(several)} files are called {shown(text)}", hint=hint)
        raise EntryError(f"no such file or entry: {shown(text)}", hint=self._hint(self._similar_name(text)))

    @cached_property
    def _targets(self) -> dict[str, tuple[Link, ...]]:
        found: dict[str, list[Link]] = defaultdict(list)
        for link in self.links:
            found[link.target].append(link)
        return {target: tuple(links) for target, links in sorted(found.items())}

    # Reading.

    @cached_property
    def _sources(self) -> tuple[_Source, ...]:
        found = (self._read(path) for path in sorted(self._places.inventory.files) if self._is_read(path))
        return tuple(source for source in found if source is not None)

    @staticmethod
    def _is_read(path: str) -> bool:
        if not path.endswith(".md") or not path.startswith(_READ) or path == _GENERATED:
            return False
        return not path.startswith(f"{KNOWLEDGE.cold}/") and not hidden(path.removeprefix("."))

    def _read(self, path: str) -> _Source | None:
        try:
            data = self._files.read(path, limit=FILE_LIMIT)
        except FileNotFoundError:
            self._names.add(path, {})  # not checked out here, but its name is known
            return None
        except AutopoiesisError:
            # The scan reports marker files, the doctor the others.
            return None
        document = parse(data, path)
        self._names.add(path, document.header)
        text, line = document.body, document.body_line
        if path.startswith(_WITH_HEADER):
            text, line = data.decode("utf-8", "replace").replace("\r\n", "\n"), 1
        private = (
            private_points(text, line, self._places.inventory.files) if path.startswith(".library/") else []
        )
        return _Source(path, references(text, first_line=line), tuple(private))

    # Resolving.

    def _target(self, source: str, reference: Reference, *, is_leak: bool) -> str:
        """The target of a reference; empty if there is none, which is reported if it is a problem."""
        sure = self._is_sure(source, reference)
        try:
            if reference.kind == "machine":
                self._check_machine_path(source, reference)
                return ""
            if reference.kind == "name":
                return self._resolve_name(source, reference, sure=sure and not is_leak)
            if reference.kind == "wikilink":
                return self._resolve_wikilink(source, reference)
            found = self._places.find(source, reference.target)
        except OutsideWorkspace as error:
            if sure or self._places.owner(source):
                what = f"{shown(reference.target)} {error}"
                hint = "use a file in the workspace, or copy the file into it"
                self._report(source, reference.line, what, hint, "error" if sure else "warning")
            return ""
        may_be_archived = reference.sure or reference.target.startswith(f"{KNOWLEDGE.folders[0]}/")
        if not found and may_be_archived and not is_leak and self._report_if_archived(source, reference):
            return ""
        if not found and sure and not is_leak:
            hint = self._hint(self._similar_path(reference.target), "correct or remove it")
            self._report(source, reference.line, f"{shown(reference.target)} does not exist", hint)
        return found

    def _is_sure(self, source: str, reference: Reference) -> bool:
        owner = self._places.owner(source)
        if owner is None:
            return reference.sure and reference.kind in ("link", "wikilink")
        first, _, rest = reference.target.partition("/")
        is_supporting = (
            reference.kind == "path"
            and first in _SUPPORTING
            and "." in rest
            and f"{owner.folder}/{first}" in self._places.inventory.folders
        )
        return reference.sure or is_supporting

    def _resolve_wikilink(self, source: str, reference: Reference) -> str:
        target = reference.target
        for path in (target, f"{target}.md") if "/" in target or target.endswith(".md") else ():
            found = self._places.find(source, path)
            if found:
                self._check_heading(source, reference, found)
                return found
        several = self._names.find(target, source)
        if len(several) == 1:
            self._check_heading(source, reference, several[0])
            return several[0]
        severity: Literal["error", "warning"] = "error" if self._places.owner(source) else "warning"
        if several:
            what = f"[[{shown(target)}]] matches {len(several)} files: {', '.join(map(shown, several))}"
            self._report(source, reference.line, what, "use the path of one of them", severity)
        else:
            similar = self._similar_name(target.rpartition("/")[2])
            hint = f"did you mean [[{shown(similar)}]]?" if similar else "correct it, or create the file"
            self._report(source, reference.line, f"[[{shown(target)}]] is a broken link", hint, severity)
        return ""

    def _resolve_name(self, source: str, reference: Reference, *, sure: bool) -> str:
        found = self._names.entry(reference.target)
        if len(found) == 1:
            return found[0]
        if sure and self._places.owner(source) is not None:
            name = shown(reference.target)
            if found:
                what = f"{len(found)} entries are called {name}: {', '.join(map(shown, found))}"
                self._report(source, reference.line, what, "use the path of one of them")
            elif not self._names.find(reference.target):
                hint = self._hint(self._similar_name(reference.target), "correct or remove it")
                self._report(source, reference.line, f"no such entry: {name}", hint)
        several = self._names.find(reference.target) if reference.sure else ()
        return several[0] if len(several) == 1 and not found else ""

    def _check_heading(self, source: str, reference: Reference, target: str) -> None:
        """Warns if a wikilink refers to a heading that does not exist."""
        # Parent headings may precede the heading; ``#^id`` is an Obsidian block.
        wanted = reference.section.rpartition("#")[2]
        if not wanted or wanted.startswith("^") or not target.endswith(".md"):
            return
        if target not in self._headings:
            try:
                document = parse(self._files.read(target, limit=FILE_LIMIT), target)
            except (AutopoiesisError, FileNotFoundError):
                return
            self._headings[target] = frozenset(_heading(each.title) for each in sections(document.body))
        if _heading(wanted) not in self._headings[target]:
            what = f"{shown(target)} has no section {shown(reference.section)!r}"
            self._report(source, reference.line, what, "use one of its headings", "warning")

    # Problems.

    def _report(
        self, path: str, line: int, what: str, hint: str, severity: Literal["error", "warning"] = "error"
    ) -> None:
        if is_shared(path):
            return  # theirs to fix
        if not self._places.owner(path) and severity == "error" and not path.startswith(".library/"):
            severity = "warning"
        self._problems.append(Problem(shown(path), line, what, hint, severity))

    def _report_if_archived(self, source: str, reference: Reference) -> bool:
        """Reports a path that is broken because its target is archived; ``False`` if it is not."""
        for base in (folder_of(source), "", KNOWLEDGE.folders[0]):
            path = joined(base, reference.target) or ""
            below = path.removeprefix(f"{KNOWLEDGE.folders[0]}/")
            if below != path and self._places.existing(f"{KNOWLEDGE.cold}/{below}"):
                folder = below.removesuffix(f"/{KNOWLEDGE.marker}")
                what = f"{shown(reference.target)} is archived"
                hint = f"run: autopoiesis knowledge restore {shown(folder)}; or remove the reference"
                self._report(source, reference.line, what, hint)
                return True
        return False

    def _check_machine_path(self, source: str, reference: Reference) -> None:
        owner = self._places.owner(source)
        root = str(self._workspace.root)
        path = reference.target.removeprefix("file://")
        if path == root or path.startswith(f"{root}/"):
            what = f"{shown(reference.target)} is an absolute path into this workspace"
            inside = path.removeprefix(root).strip("/")
            self._report(source, reference.line, what, f"use {shown(inside) or 'a relative path'}", "warning")
        elif owner is not None and reference.sure:
            what = f"{shown(reference.target)} is an absolute path on one machine"
            hint = "say which machine, or use a relative path"
            self._report(source, reference.line, what, hint, "warning")

    def _check_skill_link(self, source: str, reference: Reference, target: str, *, is_reported: bool) -> None:
        """Reports a link from a skill to private knowledge that only shows when resolved."""
        if not source.startswith(".library/") or is_reported or is_layout(target):
            return
        if target.startswith(("knowledge/", "raw/", "conversations/", "logs/")) and reference.kind != "name":
            what = f"a skill refers to private knowledge: {shown(reference.target)}"
            self._report(source, reference.line, what, "include it in the skill itself, or remove it")

    def _unindexed(self, links: tuple[Link, ...]) -> Iterator[Problem]:
        """Nested entries missing from their index: a warning, or an error if they are unreachable."""
        named: set[tuple[str, str]] = set()
        onward: dict[str, set[str]] = defaultdict(set)
        for link in links:
            target = self._places.owner(link.target)
            owner = self._places.owner(link.source)
            if target is not None:
                named.add((link.source, target.location))
                onward[owner.location if owner else ""].add(target.location)
        reached = {"", *(entry.location for entry in self._scan.entries if not entry.parent)}
        queue = deque(reached)
        while queue:
            for each in onward[queue.popleft()] - reached:
                reached.add(each)
                queue.append(each)
        for entry in self._scan.entries:
            if not entry.parent or (entry.parent, entry.location) in named:
                continue
            path = entry.location.removeprefix(f"{folder_of(entry.parent)}/")
            hint = f"add a line with {shown(path)}"
            if entry.location in reached:
                what = f"its index does not list the nested entry {shown(entry.name)}"
                yield Problem(shown(entry.parent), 0, what, hint, "warning")
            else:
                what = "is in no index and no catalog"
                yield Problem(shown(entry.location), 0, what, f"{hint} to {shown(entry.parent)}")

    @staticmethod
    def _hint(similar: str, otherwise: str = "") -> str:
        return f"did you mean {shown(similar)}?" if similar else otherwise

    def _similar_path(self, target: str) -> str:
        """The path that was probably meant: the same file name elsewhere, or a similar one."""
        name = target.rstrip("/").rpartition("/")[2]
        same = [path for path in self._by_last.get(name, ()) if name not in _COMMON]
        if len(same) == 1:
            return same[0]
        # Many files have the marker's name; the folder distinguishes them.
        tail = "/".join(target.rstrip("/").split("/")[-2:])
        same = [path for path in self._by_last.get(name, ()) if path.endswith(f"/{tail}")]
        if len(same) == 1:
            return same[0]
        similar = self._similar_name(
            target.rstrip("/").split("/")[-2] if name in _COMMON and "/" in target else name
        )
        found = self._names.find(similar) if similar else ()
        return found[0] if len(found) == 1 else ""

    @cached_property
    def _by_last(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._places.inventory.files):
            if path.startswith(_READ):
                found[path.rpartition("/")[2]].append(path)
        return found

    def _similar_name(self, name: str) -> str:
        self._suggested += 1
        return near(name.removesuffix(".md"), self._names.all) if self._suggested <= _MAX_SUGGESTIONS else ""


_COMMON = frozenset(shelf.marker for shelf in SHELVES)


def _heading(title: str) -> str:
    """A heading normalised for comparison: letters and digits of any script."""
    return re.sub(r"[\W_]+", "-", title.casefold()).strip("-")


def all_problems(scan: EntryScan, links: Links) -> tuple[Problem, ...]:
    """All problems with entries and references, without duplicates, by path and line."""
    found = {replace(problem, path=shown(problem.path)) for problem in (*scan.problems, *links.problems)}
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.what)))


_PRIVATE = re.compile(
    r"(?<![\w/.@<>-])(?:\./|(?:\.\./)+)?((?:knowledge|raw|conversations|logs)/[\w@%+./-]+)(?![\w<{*$])"
)
_MAIL_ID = re.compile(
    r"\bmid:[^\s<>@]{1,200}@[^\s<>]{1,200}"
    r"|\b(?:message-id|in-reply-to)\s?:\s?<?[^\s<>@]{1,200}@[^\s<>]{1,200}>?"
    r"|<(?=[^\s<>@]{0,60}\d)[^\s<>@:/]{12,200}@[^\s<>@]{1,200}>",
    re.IGNORECASE,
)
_LAYOUT = re.compile(
    r"knowledge/(?:(?:facts|decisions|questions|playbooks|tasks|digest)\.md|ledger\.json|memory/MEMORY\.md"
    r"|projects/_active\.md|people/_index\.md|prompts/system\.md|identity/[A-Z]+\.md"
    r"|(?:archive|identity|memory|journal|projects|people|procedures|reference|files|prompts)/?)"
    r"|raw/conversations/?|logs/cleanup\.jsonl"
)


def private_points(text: str, first_line: int, known: Collection[str]) -> list[tuple[int, str]]:
    """Line and reason of every reference to private data in a skill.

    ``first_line`` is the line on which ``text`` starts. Fenced code counts as an example unless it names one
    of ``known``, the workspace's files.
    """
    breaks = [match.start() for match in re.finditer("\n", text)]
    prose = without_examples(text)
    found: dict[tuple[int, str], None] = {}
    for match in _PRIVATE.finditer(text):
        path = match[1].rstrip(".")
        is_example = prose[match.start() : match.end()] != match[0]
        if is_layout(path) or (is_example and path not in known) or not is_path(path):
            continue
        if path in known or _is_file_path(path):
            line = first_line + bisect_right(breaks, match.start())
            found[line, f"a skill refers to private knowledge: {path}"] = None
    for match in _MAIL_ID.finditer(prose):
        line = first_line + bisect_right(breaks, match.start())
        found[line, f"a skill contains a mail id: {match[0]}"] = None
    return sorted(found)


def is_layout(path: str) -> bool:
    """True if every workspace has this path, so that it reveals nothing about this one."""
    return _LAYOUT.fullmatch(path) is not None


def _is_file_path(path: str) -> bool:
    """True if a path is meant as a file, such as ``logs/x.jsonl`` but not ``logs/x``."""
    return path.endswith((".jsonl", ".log") if path.startswith("logs/") else (".jsonl", ".md"))


_ORDER = ("entry", "skill", "person", "project", "topic", "file", "shared")
_ENTRIES = {"knowledge": "entry", "skill": "skill"}
_OWN_NAME = ("person", "topic")


class NameIndex:
    """Maps names to files. If several kinds share a name, the first kind in ``_ORDER`` wins."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._known: dict[str, dict[str, dict[str, None]]] = {kind: defaultdict(dict) for kind in _ORDER}
        self._markers = set()
        self._tails: dict[str, dict[str, None]] = defaultdict(dict)
        for entry in entries:
            self._add_tails(entry.folder, entry.location)
            self._markers.add(entry.location)
            kind = "shared" if is_shared(entry.location) else _ENTRIES[entry.kind]
            for name in (entry.name, entry.folder.split("/")[-1]):
                self._known[kind][plain(name)][entry.location] = None

    def add(self, path: str, header: Mapping[str, object]) -> None:
        """Adds a file that is not an entry, by its own name and the name in its header."""
        kind, names = _kind_of(path)
        if path in self._markers:
            return
        self._add_tails(path.removesuffix(".md"), path)
        if not kind:
            return
        title = header.get("name")
        if kind in _OWN_NAME and isinstance(title, str) and title.strip():
            names = (*names, title)
        for name in names:
            self._known[kind][plain(name)][path] = None

    def find(self, name: str, source: str = "") -> tuple[str, ...]:
        """The files with a name, sorted; ``source`` is the file that refers to it."""
        key = "/".join(plain(part) for part in name.removesuffix(".md").strip("/").split("/"))
        tails = self._tails.get(key, ())
        if is_shared(source):
            around = "/".join(source.split("/")[:3]) + "/"
            if beside := sorted(path for path in tails if path.startswith(around)):
                return tuple(beside)
        if "/" in key:
            return tuple(sorted(path for path in tails if not is_shared(path)) or sorted(tails))
        for kind in _ORDER:
            if key in self._known[kind]:
                return tuple(sorted(self._known[kind][key]))
        return ()

    def entry(self, name: str) -> tuple[str, ...]:
        """The entries, or else the skills, with a name, sorted."""
        key = plain(name)
        return tuple(sorted(self._known["entry"].get(key) or self._known["skill"].get(key) or ()))

    def _add_tails(self, name: str, path: str) -> None:
        """Adds a file by its name with any number of parent folders."""
        parts = [plain(part) for part in name.split("/")]
        for first in range(len(parts)):
            self._tails["/".join(parts[first:])][path] = None

    @property
    def all(self) -> list[str]:
        """All names, sorted within their kind."""
        return [name for kind in _ORDER for name in sorted(self._known[kind])]


def _kind_of(path: str) -> tuple[str, tuple[str, ...]]:
    """The kind of a file and the names it gets from its path."""
    parts = path.split("/")
    stem = parts[-1].removesuffix(".md")
    if parts[0] == "topics":
        return "topic", (stem,)
    if parts[0] != "knowledge":
        return "", ()
    if parts[1] == "shared":
        return "shared", (stem,)
    if parts[1] == "people" and not stem.startswith("_"):
        return "person", (stem,)
    if parts[1] == "projects" and len(parts) == 4:
        return ("project", (parts[2],)) if stem == "context" else ("", ())
    return "file", (stem,)


FOLDERS = (
    "knowledge", ".library", "topics", "presets", "raw", "conversations", "archive", "attachments", "logs",
)  # fmt: skip


class OutsideWorkspace(Exception):
    """A reference, or a symlink on its path, leads out of the workspace."""


class Places:
    """The files, folders and entries in one state of a workspace."""

    def __init__(self, workspace: Workspace, scan: EntryScan) -> None:
        self._workspace = workspace
        self._folders = {entry.folder: entry for entry in scan.entries}
        self._owner = innermost(self._folders)

    @cached_property
    def inventory(self) -> Inventory:
        """Possible targets of references, including files that are not checked out here."""
        found = take_inventory(self._workspace, FOLDERS)
        for path in sparse.hidden(self._workspace.root) - found.files.keys():
            found.files[path] = 0
            parts = path.split("/")
            found.folders.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return found

    def find(self, source: str, target: str) -> str:
        """The file or folder at a path, relative to the source's folder, its entry or the workspace; empty if
        there is none.

        Raises:
            Outside: It leads out of the workspace.
        """
        here = folder_of(source)
        owner = self.owner(source)
        bases = [here]
        if not target.startswith(("./", "../")):
            bases += [owner.folder if owner else here, "", "knowledge"]
        for base in dict.fromkeys(bases):
            path = joined(base, target)
            if path is None:
                raise OutsideWorkspace("leads out of the workspace")
            found = self.existing(path)
            if found:
                return found
        return ""

    def existing(self, path: str) -> str:
        """The file or folder at a workspace path (for an entry, its marker file); empty if there is none."""
        places = self.inventory
        if path in places.files:
            return path
        if path in places.folders:
            if path in self._folders:
                return self._folders[path].location
            return f"{path}/context.md" if f"{path}/context.md" in places.files else path
        parts = path.split("/")
        through = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        if places.symlinks and any(part in places.symlinks for part in through):
            try:
                real = self._workspace.resolve(path)
            except PathRefused as error:
                raise OutsideWorkspace(f"is refused: {error.what}") from error
            return self._workspace.relative(real) if real.exists() else ""
        return ""

    def owner(self, path: str) -> Entry | None:
        """The entry whose folder contains a path."""
        folder = path if path in self._folders else folder_of(path)
        return self._folders.get(self._owner(folder))


def joined(base: str, target: str) -> str | None:
    """A normalised path from a folder; ``None`` if it leads out of the workspace."""
    path = posixpath.normpath(posixpath.join(base, target.lstrip("/")))
    if path == ".." or path.startswith("../"):
        return None
    return "" if path == "." else path
