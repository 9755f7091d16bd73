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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from engine.context.sources import FILE_LIMIT
from engine.errors import AutopoiesisError, EntryError, PathRefused, Problem
from engine.knowledge.entries import Entry, EntryScan, Inventory, hidden, innermost, plain, take_inventory
from engine.knowledge.references import Reference, references, without_examples
from engine.store import sparse
from engine.store.documents import parse
from engine.store.entry_files import KNOWLEDGE, folder_of
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


@dataclass(frozen=True, slots=True)
class _Source:
    path: str
    references: tuple[Reference, ...]
    mails: tuple[tuple[int, str], ...]  # the mail ids in a skill, with their lines


class Links:
    """The references in one state of the files; files are read once, on first use."""

    def __init__(self, files: Files, scan: EntryScan) -> None:
        self._files = files
        self._workspace = files.workspace
        self._scan = scan
        self._places = Places(files.workspace, scan)
        self._suggested = 0
        self._names = NameIndex(scan.entries)
        self._problems: list[Problem] = []

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All resolved references, by source and position."""
        found: list[Link] = []
        for source in self._sources:
            seen: set[tuple[int, str]] = set()
            for line, mail in source.mails:
                what = f"a skill contains a mail id: {mail}"
                self._report(source.path, line, what, "include it in the skill itself, or remove it")
            for reference in source.references:
                target = self._target(source.path, reference)
                if target and target != source.path and (reference.line, target) not in seen:
                    seen.add((reference.line, target))
                    found.append(Link(source.path, reference.line, target, reference))
                    self._check_skill_link(source.path, reference, target)
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
        found = list(references(text, first_line=line))
        mails: list[tuple[int, str]] = []
        if path.startswith(".library/"):
            # A skill must not refer to private knowledge, not even in an example that exists.
            bare = re.sub("`{3}|~{3}", "   ", text)
            known = {(each.start, each.target) for each in found}
            more = (each for each in references(bare, first_line=line) if each.kind == "path")
            found += [replace(each, sure=False) for each in more if (each.start, each.target) not in known]
            lines = enumerate(without_examples(text).split("\n"), line)
            mails = [(at, match[0]) for at, each in lines for match in _MAIL_ID.finditer(each)]
        return _Source(path, tuple(found), tuple(mails))

    # Resolving.

    def _target(self, source: str, reference: Reference) -> str:
        """The target of a reference; empty if there is none, which is reported if it is a problem."""
        sure = self._is_sure(source, reference)
        try:
            if reference.kind == "name":
                return self._resolve_name(source, reference, sure=sure)
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
        if not found and may_be_archived and self._report_if_archived(source, reference):
            return ""
        if not found and sure:
            what = f"{shown(reference.target)} does not exist"
            self._report(source, reference.line, what, "correct or remove it")
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
                return found
        several = self._names.find(target, source)
        if len(several) == 1:
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
            cold = f"archive/{below}".removesuffix(f"/{KNOWLEDGE.marker}")
            if below != path and (self._workspace.root / cold).exists():
                what = f"{shown(reference.target)} is archived"
                hint = f"run: autopoiesis archive restore {shown(cold)} --apply; or remove the reference"
                self._report(source, reference.line, what, hint)
                return True
        return False

    def _check_skill_link(self, source: str, reference: Reference, target: str) -> None:
        """Reports a reference from a skill to private knowledge."""
        is_private = target.startswith(("knowledge/", "raw/", "conversations/", "logs/"))
        is_named = reference.kind == "name" or _LAYOUT.fullmatch(target) is not None
        if source.startswith(".library/") and is_private and not is_named:
            what = f"a skill refers to private knowledge: {shown(reference.target)}"
            self._report(source, reference.line, what, "include it in the skill itself, or remove it")

    def _unindexed(self, links: tuple[Link, ...]) -> Iterator[Problem]:
        """Nested entries missing from their index: a warning, or an error if nothing leads to them."""
        named: dict[str, set[str]] = defaultdict(set)
        for link in links:
            target, owner = self._places.owner(link.target), self._places.owner(link.source)
            if target is not None and target != owner:
                named[target.location].add(link.source)
        for entry in self._scan.entries:
            if not entry.parent or entry.parent in named[entry.location]:
                continue
            path = entry.location.removeprefix(f"{folder_of(entry.parent)}/")
            hint = f"add a line with {shown(path)}"
            if named[entry.location]:
                what = f"its index does not list the nested entry {shown(entry.name)}"
                yield Problem(shown(entry.parent), 0, what, hint, "warning")
            else:
                what = "is in no index and no catalog"
                yield Problem(shown(entry.location), 0, what, f"{hint} to {shown(entry.parent)}")

    @staticmethod
    def _hint(similar: str, otherwise: str = "") -> str:
        return f"did you mean {shown(similar)}?" if similar else otherwise

    def _similar_name(self, name: str) -> str:
        self._suggested += 1
        return near(name.removesuffix(".md"), self._names.all) if self._suggested <= _MAX_SUGGESTIONS else ""


def all_problems(scan: EntryScan, links: Links) -> tuple[Problem, ...]:
    """All problems with entries and references, without duplicates, by path and line."""
    found = {replace(problem, path=shown(problem.path)) for problem in (*scan.problems, *links.problems)}
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.what)))


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
"""What every workspace has, so that it reveals nothing about this one."""


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
