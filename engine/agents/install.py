"""Adds our hooks and MCP server to an agent's settings, removes them, and reports their state.

The settings belong to the person: a backup is kept next to the file and restored byte for byte if nothing
else has changed since. Symlinks are followed and preserved; in a project, which may come from a stranger,
only if they stay inside it.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import stat
import sysconfig
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

from engine.agents import jsonc
from engine.agents.contracts import Contract, Off, Place
from engine.agents.entries import (
    HOOK,
    CannotEdit,
    Entries,
    Section,
    desired,
    hooks_in,
    programs_in,
    sections,
    with_entries,
)
from engine.agents.jsonc import JsonError
from engine.errors import AutopoiesisError, DocumentError, PathRefused, ReadOnly
from engine.store.named_file import NamedFile, make_folder_of, read_named, remove_named, replace_named
from engine.store.paths import shown
from engine.store.programs import find
from engine.transcripts.importers.log import Kind, agent_folders

_MAX_BYTES = 16 * 1024 * 1024
"""Size limit of a settings file; Claude Code stores a lot in ``~/.claude.json``."""

BACKUP_SUFFIX = ".before-autopoiesis"
"""Suffix of a backup."""

_T = TypeVar("_T")
_Parts = list[tuple[Section, Entries]]
_BOM = b"\xef\xbb\xbf"

# What Codex writes of a hook that is trusted: its file and place, the event in snake case, and a hash of it.
_KEY = re.compile(r"(?P<path>.+):(?P<place>\w+:\d+:\d+)", re.DOTALL)
_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_OURS = {"type", "command", "timeout"}


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs for the agent to run."""

    folder: Path  # absolute; contains both programs
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
    def are_temporary(self) -> bool:
        """Whether they are in uv's cache, which may be emptied at any time."""
        return "archive-v0" in self.folder.parts


@dataclass(frozen=True, slots=True)
class Where:
    """Whose settings: the person's or a project's."""

    home: Path
    variables: Mapping[str, str]
    project: Path | None = None  # ``None`` for the person's own
    at: Path | None = None  # one of the agent's folders (``each``)
    at_work: Path | None = None
    """The project the person works in, whose settings also decide whether their own hooks run."""

    def each(self, contract: Contract) -> tuple[Where, ...]:
        """One for each of the agent's folders, of which there may be several."""
        if self.project is not None or contract.agent not in get_args(Kind):
            return (self,)
        kind = cast("Kind", contract.agent)
        folders = agent_folders(kind, home=self.home, variables=self.variables)
        return tuple(replace(self, at=folder) for folder in folders)

    def folder(self, contract: Contract) -> Path:
        """The agent's folder in the person's home."""
        if self.at is not None:
            return self.at
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

    def off_files(self, contract: Contract) -> list[Path]:
        """The settings that may turn all hooks off, the ones that count most first."""
        project, found = self.project or self.at_work, []
        for each in contract.off_files:
            if not each.startswith("./"):
                found.append(self.folder(contract) / each)
            elif project is not None:
                found.append(project / each)
        return found


def _or_jsonc(path: Path) -> Path:
    """opencode reads both ``.json`` and ``.jsonc``: whichever the person has."""
    other = path.with_name("opencode.jsonc")
    return other if path.name == "opencode.json" and other.exists() and not path.exists() else path


@dataclass(frozen=True, slots=True)
class Change:
    """The change to one file."""

    file: NamedFile
    data: bytes | None  # ``None`` to delete it, because the installation created it
    what: tuple[str, ...]
    backup: NamedFile | None = None
    """Where to back up the file first."""

    old_backup: NamedFile | None = None
    """A backup that is no longer needed once the file is restored."""

    folders: int = 0
    """How many folders above the file are deleted with it if nothing else is in them."""

    @property
    def is_noop(self) -> bool:
        """Whether the file stays the same."""
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
        """Writes the file; if interrupted, either the old or the new file is in place.

        Raises:
            WriteFailed, ReadOnly, PathRefused: Nothing was written, or the file changed in the meantime.
        """
        if self.data is None:
            remove_named(self.file)
            with contextlib.suppress(OSError):
                for folder in [*self.file.path.parents][: self.folders]:
                    folder.rmdir()
            return
        make_folder_of(self.file.path)
        if self.backup is not None:
            replace_named(self.backup, self.file.data, like=self.file)
        replace_named(self.file, self.data)
        if self.old_backup is not None:
            remove_named(self.old_backup)


State = Literal["installed", "off", "untrusted", "differs", "stale", "no", "unreadable"]


@dataclass(frozen=True, slots=True)
class InstallState:
    """The state of one kind of our entries."""

    state: State
    path: str = ""  # of the file
    why: str = ""  # names the file if it is about one
    hint: str = ""  # if reinstalling does not help


def installation(contract: Contract, where: Where, programs: Programs, *, mcp: bool) -> list[Change]:
    """The changes of an installation, including files that would stay the same.

    Raises:
        DocumentError: A file cannot be parsed.
        PathRefused, WriteFailed, ReadOnly: A file cannot be read or written.
    """
    changes = []
    for real, parts in _files(contract, where, programs, mcp=mcp).items():
        file = _read(real)
        mark, text, made = _decode(file)
        ours, kept = _ours(file, parts), _backup(real)
        if ours and _is_as_installed(text, kept, ours):
            # Replacing our entries would remove an empty list of the person's that they are in.
            made = _decode(kept)[2]
        for section, entries in parts:
            made = _explaining(file, partial(with_entries, made, section, entries))
        data = file.data if made == text else mark + made.encode()
        backup = kept if not ours and file.seen is not None else None
        changes.append(Change(file, data, tuple(section.what for section, _ in parts), backup))
    return changes


def removal(contract: Contract, where: Where, *, mcp: bool) -> list[Change]:
    """The changes of an uninstallation. Raises as ``installation``."""
    changes = []
    for real, parts in _files(contract, where, Programs(Path("/")), mcp=mcp).items():
        file = _read(real)
        mark, text, _ = _decode(file)
        ours = _ours(file, parts)
        if not ours:
            continue
        what = tuple(section.what for section, _ in ours)
        kept = _backup(real)
        if _is_as_installed(text, kept, ours):
            back = None if kept.seen is None else kept.data
            changes.append(
                Change(file, back, what, old_backup=kept, folders=_own_folders(contract, where, real))
            )
            continue
        for section, _ in ours:
            text = _explaining(file, partial(with_entries, text, section, {}))
        is_gone = real.suffix == ".js" and not text  # an older version of our plugin
        data = None if is_gone else mark + text.encode()
        changes.append(Change(file, data, what, folders=_own_folders(contract, where, real)))
    return changes


def install_state(
    contract: Contract, where: Where, programs: Programs | None
) -> tuple[InstallState, InstallState]:
    """The state of the hooks and of the MCP server, in one of the agent's folders.

    Args:
        programs: What an installation would use now; ``None`` if unknown.
    """
    now = (None, None) if programs is None else desired(contract, programs.folder, programs.workspace)
    hooks, server = sections(contract)
    state = _state_of(contract, where, contract.hooks, hooks, now[0])
    if state.state == "installed" and contract.trust_file:
        state = _with_trust(contract, where, state)
    return (
        state if state.state in ("no", "unreadable") else _unless_off(contract, where, state),
        _state_of(contract, where, contract.mcp, server, now[1]),
    )


def is_on_this_machine(contract: Contract, where: Where) -> bool:
    """Whether the agent's program or folder is present."""
    return (
        any(one.folder(contract).is_dir() for one in where.each(contract))
        or find(contract.program) is not None
    )


def _state_of(
    contract: Contract, where: Where, place: Place, section: Section, now: Entries | None
) -> InstallState:
    path = str(where.file(contract, place))
    try:
        ours = _our_entries(_read(_resolved(Path(path), where), writes=False), section)
    except AutopoiesisError as error:
        return InstallState("unreadable", path, str(error))
    gone = [each for each in programs_in(ours) if "\0" in each or not os.access(each, os.X_OK)]
    if not ours:
        return InstallState("no", path)
    if gone:
        return InstallState("stale", path, f"{shown(path)}: {', '.join(gone)} is gone")
    if now is not None and ours != now:
        return InstallState("differs", path, f"{shown(path)}: runs {', '.join(programs_in(ours))}")
    return InstallState("installed", path)


def _unless_off(contract: Contract, where: Where, state: InstallState) -> InstallState:
    """The state, or ``off`` if a setting keeps the agent from running any hook."""
    found = _setting_off(contract.off, where.off_files(contract))
    if found is None:
        return state
    path, setting = found
    why = f"{shown(str(path))}: {contract.title} runs no hooks, because {setting}"
    return replace(state, state="off", why=why, hint="remove that setting, then start a new session")


def _with_trust(contract: Contract, where: Where, state: InstallState) -> InstallState:
    """The state, or ``untrusted`` if the agent does not run the installed hooks."""
    try:
        texts = [_decode(_read(Path(os.path.realpath(each)), writes=False))[1]
                 for each in (state.path, where.folder(contract) / contract.trust_file)]  # fmt: skip
    except AutopoiesisError:
        return state  # unknown
    waiting, number = untrusted(Path(state.path), *texts)
    if not waiting:
        return state
    those = "none of these hooks" if waiting == number else f"only {number - waiting} of these {number} hooks"
    why = f"{shown(state.path)}: {contract.title} runs {those} until you have trusted them"
    return replace(state, state="untrusted", why=why, hint=contract.trust_hint)


def _files(contract: Contract, where: Where, programs: Programs, *, mcp: bool) -> dict[Path, _Parts]:
    """The files, with symlinks resolved, and the entries that belong in each."""
    found: dict[Path, _Parts] = {}
    entries = desired(contract, programs.folder, programs.workspace)
    places = (contract.hooks, contract.mcp)[: 1 + mcp]
    parts = [*zip(places, sections(contract), entries, strict=False)]
    for one in where.each(contract):
        for place, section, each in parts:
            those = found.setdefault(_resolved(one.file(contract, place), one), [])
            if (section, each) not in those:
                those.append((section, each))
    return found


def _own_folders(contract: Contract, where: Where, real: Path) -> int:
    """The number of folders above a settings file that an installation may have created for it."""
    for place in (contract.hooks, contract.mcp):
        if any(one.file(contract, place) == real for one in where.each(contract)):
            relative = place.user.removeprefix("~/") if where.project is None else place.project
            return len(Path(relative).parent.parts)
    return 0  # behind a symlink


def _resolved(path: Path, where: Where) -> Path:
    real = Path(os.path.realpath(path))
    if where.project is not None and not real.is_relative_to(os.path.realpath(where.project)):
        hint = f"check it, and pass the real path: {shown(str(real))}"
        raise PathRefused("a symlink leads out of the project", where=shown(str(path)), hint=hint)
    return real


def _read(real: Path, *, writes: bool = True) -> NamedFile:
    file = read_named(real, _MAX_BYTES) if real.parent.is_dir() else NamedFile(real)
    if writes and file.seen is not None and not file.seen.st_mode & stat.S_IWUSR:
        raise ReadOnly("is read-only", where=shown(str(real)), hint=f"chmod u+w {shown(str(real))}")
    return file


def _backup(real: Path) -> NamedFile:
    path = real.with_name(real.name + BACKUP_SUFFIX)
    return read_named(path, _MAX_BYTES) if path.parent.is_dir() else NamedFile(path)


def _is_as_installed(text: str, kept: NamedFile, ours: _Parts) -> bool:
    """Whether a text is that of the backup with our entries: nothing else has changed since."""
    before = _decode(kept)[2]
    with contextlib.suppress(JsonError, CannotEdit):
        for section, found in ours:
            before = with_entries(before, section, found)
    return before == text


def _decode(file: NamedFile) -> tuple[bytes, str, str]:
    """The byte order mark, the text, and the text to edit, which is never blank for JSON."""
    mark = _BOM if file.data.startswith(_BOM) else b""
    try:
        text = file.data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise DocumentError("is not UTF-8", where=shown(str(file.path)), hint="save it as UTF-8") from error
    is_json = file.path.name.removesuffix(BACKUP_SUFFIX).endswith((".json", ".jsonc"))
    return mark, text, text if text.strip() or not is_json else "{}\n"


def _ours(file: NamedFile, parts: _Parts) -> _Parts:
    """Our entries that are in a file."""
    return [(section, found) for section, _ in parts if (found := _our_entries(file, section))]


def _our_entries(file: NamedFile, section: Section) -> Entries:
    return _explaining(file, partial(section.read, _decode(file)[2]))


def _explaining(file: NamedFile, work: Callable[[], _T]) -> _T:
    hint = "fix it and retry; nothing was changed"
    try:
        return work()
    except JsonError as error:
        raise DocumentError(str(error), where=f"{shown(str(file.path))}:{error.line}", hint=hint) from None
    except CannotEdit as error:
        raise DocumentError(str(error), where=shown(str(file.path)), hint=hint) from None


def _setting_off(switches: Iterable[Off], files: Iterable[Path]) -> tuple[Path, str] | None:
    """The file and setting that turn all hooks off; ``None`` if nothing does.

    Args:
        files: The settings, the ones that count most first. One that is missing or cannot be parsed sets
            nothing.
    """
    trees = [(path, _tree(path)) for path in files]
    for switch in switches:
        for path, tree in trees:
            found = tree
            for key in switch.keys:
                found = found.get(key) if isinstance(found, dict) else None
            if found is switch.off:
                return path, f"{'.'.join(switch.keys)} is {str(switch.off).lower()}"
            if found is not None:
                break
    return None


def _tree(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
        return tomllib.loads(text) if path.suffix == ".toml" else jsonc.parse(text).value
    except (OSError, ValueError, RecursionError):
        return None


def untrusted(hooks: Path, text: str, settings: str) -> tuple[int, int]:
    """The number of our hooks that the person still has to trust, and the number of all our hooks.

    Codex runs a hook only after the person has trusted that version of it.

    Args:
        hooks: The file that contains them.
        text: Its text, which must be valid.
        settings: The text of the settings that list trusted hooks in ``[hooks.state]``. If it is invalid,
            trust is unknown and both numbers are 0.
    """
    try:
        state = tomllib.loads(settings).get("hooks", {}).get("state", {})
        kept = {
            found["place"]: each.get("trusted_hash")
            for key, each in state.items()
            if (found := _KEY.fullmatch(key)) and os.path.realpath(found["path"]) == os.path.realpath(hooks)
        }
    except (tomllib.TOMLDecodeError, AttributeError):
        return 0, 0
    waiting = number = 0
    for event, at, place, group in hooks_in(text):
        label = _WORD.sub("_", event).lower()
        hash_kept, hook = kept.get(f"{label}:{at}:{place}"), group["hooks"][place]
        # The hash of a hook with additional keys cannot be computed here.
        is_known = group.keys() == {"hooks"} and hook.keys() == _OURS
        waiting += hash_kept is None or (is_known and hash_kept != _hash_of(label, hook))
        number += 1
    return waiting, number


def _hash_of(label: str, hook: dict[str, Any]) -> str:
    """The hash as computed by Codex 0.169: of the hook with defaults filled in, as JSON with sorted keys."""
    identity = {"event_name": label, "hooks": [{**hook, "async": False}]}
    text = json.dumps(identity, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"sha256:{sha256(text.encode()).hexdigest()}"
