"""Adds our hooks and MCP server to an agent's settings, removes them, and reports their state.

The settings belong to the person: a backup is kept beside the file and is restored byte for byte if nothing
else has changed since. Symlinks are followed and stay symlinks; in a project, which may be a stranger's, only
if they stay inside it.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from engine.agents.contracts import Contract, Place
from engine.agents.entries import (
    HOOK,
    Entries,
    NotUnderstood,
    Section,
    programs_in,
    sections,
    wanted,
    with_entries,
)
from engine.agents.jsonc import JsonError
from engine.agents.trusted import untrusted
from engine.errors import AutopoiesisError, DocumentError, PathRefused, ReadOnly
from engine.store.named_file import NamedFile, make_folder_of, read_named, remove_named, replace_named
from engine.store.paths import shown
from engine.store.programs import find

MOST_BYTES = 16 * 1024 * 1024
"""Limit for a settings file; Claude Code keeps a lot in ``~/.claude.json``."""

KEPT = ".before-autopoiesis"
"""Suffix of a backup."""

_T = TypeVar("_T")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs the agent will run."""

    folder: Path  # absolute, with both programs in it
    workspace: Path | None = None  # ``None`` for the default workspace

    @classmethod
    def here(cls, workspace: Path | None) -> Programs:
        """The programs of this installation.

        Raises:
            PathRefused: They are neither in Python's scripts folder nor on PATH.
        """
        folder = Path(sysconfig.get_path("scripts"))
        if not (folder / HOOK).is_file():
            found = find(HOOK)
            if found is None:
                raise PathRefused(
                    f"{HOOK} not found",
                    where=str(folder),
                    hint="install the package: pipx install autopoiesis",
                )
            folder = Path(found).parent
        return cls(folder, workspace)

    @property
    def are_passing(self) -> bool:
        """Whether they are in uv's cache, which may be emptied at any time."""
        return "archive-v0" in self.folder.parts


@dataclass(frozen=True, slots=True)
class Where:
    """Whose settings: the person's or a project's."""

    home: Path
    variables: Mapping[str, str]
    project: Path | None = None  # ``None`` for the person's own

    def folder(self, contract: Contract) -> Path:
        """The agent's folder in the person's home."""
        named = self.variables.get(contract.variable)
        return Path(named, contract.below_variable) if named else self.home / contract.home

    def file(self, contract: Contract, place: Place) -> Path:
        """The settings file; it need not exist."""
        if self.project is not None:
            return _or_jsonc(self.project / place.project)
        folder = self.folder(contract)
        if place.user.startswith("~/"):
            folder = folder if self.variables.get(contract.variable) else self.home
        return _or_jsonc(folder / place.user.removeprefix("~/"))


def _or_jsonc(path: Path) -> Path:
    """opencode reads both ``.json`` and ``.jsonc``: whichever the person has."""
    other = path.with_name("opencode.jsonc")
    return other if path.name == "opencode.json" and other.exists() and not path.exists() else path


@dataclass(frozen=True, slots=True)
class Change:
    """The change to one file."""

    file: NamedFile
    data: bytes | None  # ``None`` to delete it: the installation created it
    what: tuple[str, ...]
    keep: NamedFile | None = None
    """Where the file is backed up first."""

    spent: NamedFile | None = None
    """A backup that is no longer needed, because the file is restored."""

    @property
    def is_none(self) -> bool:
        """Whether the file stays as it is."""
        return self.data == (None if self.file.seen is None else self.file.data)

    @property
    def diff(self) -> str:
        """The change, line by line."""
        old, new = (
            each.decode("utf-8", "replace").splitlines() for each in (self.file.data, self.data or b"")
        )
        path = str(self.file.path)
        return "\n".join(difflib.unified_diff(old, new, path, path, lineterm="", n=2))

    def apply(self) -> None:
        """Applies it; if interrupted, either the old or the new file is in place.

        Raises:
            WriteFailed, ReadOnly, PathRefused: Nothing was written, or the file changed in the meantime.
        """
        if self.data is None:
            remove_named(self.file)
            return
        make_folder_of(self.file.path)
        if self.keep is not None:
            replace_named(self.keep, self.file.data, like=self.file)
        replace_named(self.file, self.data)
        if self.spent is not None:
            remove_named(self.spent)


State = Literal["installed", "untrusted", "differs", "stale", "no", "unreadable"]


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of one kind of our entries."""

    state: State
    path: str = ""  # of the file
    why: str = ""  # names the file if it is about one
    hint: str = ""  # when reinstalling does not help


def installation(contract: Contract, where: Where, programs: Programs, *, mcp: bool) -> list[Change]:
    """The changes of an installation, including files that would stay the same.

    Raises:
        DocumentError: A file cannot be parsed.
        PathRefused, WriteFailed, ReadOnly: A file cannot be read or written.
    """
    changes = []
    for real, parts in _files(contract, where, programs, mcp=mcp).items():
        file = _read(real)
        mark, text, made = _text(file)
        is_first = not any(_ours(file, section) for section, _ in parts)
        for section, entries in parts:
            made = _understood(file, partial(with_entries, made, section, entries))
        data = file.data if made == text else mark + made.encode()
        keep = _kept(real) if is_first and file.seen is not None else None
        changes.append(Change(file, data, tuple(section.what for section, _ in parts), keep))
    return changes


def removal(contract: Contract, where: Where, *, mcp: bool) -> list[Change]:
    """The changes of an uninstallation. Raises as ``installation``."""
    changes = []
    for real, parts in _files(contract, where, Programs(Path("/")), mcp=mcp).items():
        file = _read(real)
        mark, text, _ = _text(file)
        ours = [(section, found) for section, _ in parts if (found := _ours(file, section))]
        if not ours:
            continue
        what = tuple(section.what for section, _ in ours)
        kept = _kept(real)
        before = _text(NamedFile(real, kept.data))[2]
        with contextlib.suppress(JsonError, NotUnderstood):
            for section, found in ours:
                before = with_entries(before, section, found)
        if before == text:  # nothing else has changed since
            back = None if kept.seen is None else kept.data
            changes.append(Change(file, back, what, spent=kept))
            continue
        for section, _ in ours:
            text = _understood(file, partial(with_entries, text, section, {}))
        is_gone = real.suffix == ".js" and not text  # an older version of our plugin
        changes.append(Change(file, None if is_gone else mark + text.encode(), what))
    return changes


def standing(contract: Contract, where: Where, programs: Programs | None) -> tuple[Standing, Standing]:
    """The state of the hooks and of the MCP server.

    Args:
        programs: What an installation would use now; ``None`` if unknown.
    """
    now = (None, None) if programs is None else wanted(contract, programs.folder, programs.workspace)
    hooks, server = sections(contract)
    stands = _standing(contract, where, contract.hooks, hooks, now[0])
    return (
        _trusted(contract, where, stands) if stands.state == "installed" and contract.trusted else stands,
        _standing(contract, where, contract.mcp, server, now[1]),
    )


def is_on_this_machine(contract: Contract, where: Where) -> bool:
    """Whether the agent's program or folder is present."""
    return where.folder(contract).is_dir() or find(contract.program) is not None


def _standing(
    contract: Contract, where: Where, place: Place, section: Section, now: Entries | None
) -> Standing:
    path = str(where.file(contract, place))
    try:
        ours = _ours(_read(_followed(Path(path), where), writes=False), section)
    except AutopoiesisError as error:
        return Standing("unreadable", path, str(error))
    gone = [each for each in programs_in(ours) if "\0" in each or not os.access(each, os.X_OK)]
    if not ours:
        return Standing("no", path)
    if gone:
        return Standing("stale", path, f"{shown(path)}: {', '.join(gone)} is gone")
    if now is not None and ours != now:
        return Standing("differs", path, f"{shown(path)}: runs {', '.join(programs_in(ours))}")
    return Standing("installed", path)


def _trusted(contract: Contract, where: Where, stands: Standing) -> Standing:
    """The state, or ``untrusted`` if the hooks are installed and not run."""
    try:
        texts = [_text(_read(Path(os.path.realpath(each)), writes=False))[1]
                 for each in (stands.path, where.folder(contract) / contract.trusted)]  # fmt: skip
    except AutopoiesisError:
        return stands  # unknown
    waiting, number = untrusted(Path(stands.path), *texts)
    if not waiting:
        return stands
    those = "none of these hooks" if waiting == number else f"only {number - waiting} of these {number} hooks"
    why = f"{shown(stands.path)}: {contract.title} runs {those} until you have trusted them"
    return replace(stands, state="untrusted", why=why, hint=contract.trust)


def _files(
    contract: Contract, where: Where, programs: Programs, *, mcp: bool
) -> dict[Path, list[tuple[Section, Entries]]]:
    """The files, symlinks resolved, with the entries that belong in each."""
    found: dict[Path, list[tuple[Section, Entries]]] = {}
    entries = wanted(contract, programs.folder, programs.workspace)
    places = (contract.hooks, contract.mcp)[: 1 + mcp]
    for place, section, each in zip(places, sections(contract), entries, strict=False):
        found.setdefault(_followed(where.file(contract, place), where), []).append((section, each))
    return found


def _followed(path: Path, where: Where) -> Path:
    real = Path(os.path.realpath(path))
    if where.project is not None and not real.is_relative_to(os.path.realpath(where.project)):
        hint = f"check it, and pass the real path: {shown(str(real))}"
        raise PathRefused("a symlink leads out of the project", where=shown(str(path)), hint=hint)
    return real


def _read(real: Path, *, writes: bool = True) -> NamedFile:
    file = read_named(real, MOST_BYTES) if real.parent.is_dir() else NamedFile(real)
    if writes and file.seen is not None and not file.seen.st_mode & stat.S_IWUSR:
        raise ReadOnly("is read-only", where=shown(str(real)), hint=f"chmod u+w {shown(str(real))}")
    return file


def _kept(real: Path) -> NamedFile:
    path = real.with_name(real.name + KEPT)
    return read_named(path, MOST_BYTES) if path.parent.is_dir() else NamedFile(path)


def _text(file: NamedFile) -> tuple[bytes, str, str]:
    """The byte order mark, the text, and the text to start from if it is blank."""
    mark = _BOM if file.data.startswith(_BOM) else b""
    try:
        text = file.data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8", where=shown(str(file.path)), hint="save it as UTF-8") from error
    is_json = file.path.suffix in (".json", ".jsonc")
    return mark, text, text if text.strip() or not is_json else "{}\n"


def _ours(file: NamedFile, section: Section) -> Entries:
    return _understood(file, partial(section.read, _text(file)[2]))


def _understood(file: NamedFile, work: Callable[[], _T]) -> _T:
    hint = "fix it and retry; nothing was changed"
    try:
        return work()
    except JsonError as error:
        raise DocumentError(str(error), where=f"{shown(str(file.path))}:{error.line}", hint=hint) from None
    except NotUnderstood as error:
        raise DocumentError(str(error), where=shown(str(file.path)), hint=hint) from None
