"""Shows settings and changes them one at a time, without touching the rest of the file.

The changed file is validated before it is written, so that no change leaves settings that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ConfigError, DocumentError, Problem
from engine.settings import trust
from engine.settings.catalog import catalog, value_of
from engine.settings.file import CONFIG_FILE, MAX_BYTES, MOVED, load
from engine.store import yamltext
from engine.store.change import ChangeCommit, commit_change, commit_message
from engine.store.documents import edit_yaml
from engine.topics.fields import near, shown

if TYPE_CHECKING:
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository

_ZONE = "days.time_zone"
_ADDRESS = "index.url"
"""Its own error does not repeat a password."""
_MAX_WHOLE = 1e15
"""Whole floats below this are written without a decimal point."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A changed setting."""

    name: str  # such as ``cache.anthropic_ttl``
    before: object
    after: object
    path: str  # of the file, workspace-relative
    line: int  # the line that sets it now, from 1; 0 for none
    commit: str  # object name; empty if there is none
    why: str = ""  # why there is no commit
    ignored: bool = False  # True if the new value is ignored, because the workspace is not trusted


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """A setting and its current value."""

    name: str  # such as ``cache.anthropic_ttl``
    value: object  # the effective value; None if absent
    default: object
    is_set: bool  # whether the file sets it
    line: int  # the line that does, from 1; 0 for none
    doc: str
    allowed: str  # allowed values in words: ``5m or 1h``
    ignored: object = None  # the file's value, if it is ignored because the workspace is not trusted


class Configuration:
    """Shows and changes the settings of a workspace. Safe to use from several threads and processes.

    Args:
        repository: Opened when there is something to commit.
        reload: Makes the engine read the file again.
    """

    def __init__(
        self,
        files: Files,
        repository: Callable[[], Repository],
        config: Callable[[], Config],
        reload: Callable[[], None],
    ) -> None:
        self._files = files
        self._repository = repository
        self._config = config
        self._reload = reload

    def settings(self) -> tuple[SettingInfo, ...]:
        """All settings, in definition order."""
        config = self._config()
        data = self._data() or b""
        lines = _lines(data)
        ignored = self._ignored(data)
        return tuple(
            SettingInfo(
                name,
                value_of(config, name),
                setting.default,
                name in lines,
                lines.get(name, 0),
                setting.doc,
                setting.allowed,
                ignored.get(name),
            )
            for name, setting in catalog().items()
        )

    def setting(self, name: str) -> SettingInfo:
        """One setting.

        Raises:
            ConfigError: There is no such setting.
        """
        _check_name(name)
        return next(setting for setting in self.settings() if setting.name == name)

    def change(self, name: str, value: object | None) -> SettingChange:
        """Sets a setting or removes it from the file; every other byte of the file stays.

        The file is created if missing.

        Args:
            name: Such as ``cache.anthropic_ttl``.
            value: The value, or its text as written in the file. ``None`` or an empty text removes the
                setting, so that the default applies.

        Raises:
            ConfigError: There is no such setting, the value is not allowed, or the file is already broken;
                nothing was written.
            DocumentError: The file cannot be changed without touching other lines; nothing was written.
            WriteFailed, ReadOnly: Nothing was written.
        """
        _check_name(name)
        wanted = None if value == "" else value
        done: list[_FileChange] = []
        root = self._files.workspace.root

        def change(data: bytes | None) -> bytes | None:
            done[:] = [self._changed(data or b"", name, wanted)]
            # Before the file, so that a crash in between never leaves a new value that is ignored.
            trust.renew(root, done[0].before, done[0].after)
            return done[0].data if data is not None or done[0].data else None

        self._files.update(CONFIG_FILE, change)
        changed = done[0]
        self._reload()
        what = f"config {'unset' if wanted is None else 'set'} {name}"
        # Even if the file did not change: an earlier run may have been interrupted before its commit.
        commit = commit_change(
            self._repository,
            [CONFIG_FILE],
            commit_message("maintenance", what),
            wanted=changed.after.git.auto_commit,
        )
        if changed.data == changed.data_before and not commit.revision:
            commit = ChangeCommit(why="already set")
        return SettingChange(
            name,
            value_of(changed.before, name),
            value_of(changed.after, name),
            CONFIG_FILE,
            _lines(changed.data).get(name, 0),
            commit.revision,
            commit.why,
            any(act.name == name for act in trust.ignored(root, changed.after)),
        )

    def tried(self, changes: Mapping[str, str]) -> Config:
        """The settings as they would be with some of them changed, by name; the file stays as it is.

        Raises:
            ConfigError, DocumentError: As ``change``.
        """
        config, data = self._config(), self._data() or b""
        for name, value in changes.items():
            _check_name(name)
            done = self._changed(data, name, value or None)
            config, data = done.after, done.data
        return config

    def _ignored(self, data: bytes) -> dict[str, object]:
        """The file's values that are ignored, by setting."""
        try:
            written, _ = load(data)
        except ConfigError:
            return {}
        return {act.name: act.value for act in trust.ignored(self._files.workspace.root, written)}

    def _changed(self, data: bytes, name: str, value: object | None) -> _FileChange:
        broken: ConfigError | None = None
        try:
            before, _ = load(data)
        except ConfigError as error:
            broken, before = error, self._config()
        try:
            if value is None:
                new = _without(data, name)
            else:
                first = _edited(data, {name: _listed(name, value)})
                # Written as it is read back, so that a number given as text gets no quotes.
                new = _edited(data, {name: _written(value_of(load(first)[0], name))})
            after, odd = load(new)
            if value is not None:
                _check_zone(name, odd)
        except ConfigError as error:
            if broken is not None:
                raise broken from error
            if value is None:
                raise
            if name in (_ZONE, _ADDRESS):
                raise
            text = shown(value) if isinstance(value, str) else repr(value)
            hint = f"allowed: {catalog()[name].allowed}"
            raise ConfigError(f"{name} cannot be {text}", where=CONFIG_FILE, hint=hint) from error
        except DocumentError as error:
            raise (broken or error) from error
        return _FileChange(data, new, before, after)

    def _data(self) -> bytes | None:
        try:
            return self._files.read(CONFIG_FILE)
        except (FileNotFoundError, AutopoiesisError):
            return None


@dataclass(frozen=True, slots=True)
class _FileChange:
    """A file before and after a change, and the settings it holds."""

    data_before: bytes
    data: bytes
    before: Config
    after: Config


def _check_zone(name: str, odd: Iterable[Problem]) -> None:
    """Raises ``ConfigError`` for an unknown time zone, which is only a warning when reading a file."""
    for problem in odd:
        if name == _ZONE and problem.what.startswith(f"{_ZONE}:"):
            raise ConfigError(problem.what.partition(", so")[0], where=CONFIG_FILE, hint=problem.hint)


def _check_name(name: str) -> None:
    """Raises ``ConfigError`` for an unknown setting."""
    known = catalog()
    if name in known:
        return
    last = name.rpartition(".")[2]
    if name in MOVED:
        hint = f"it was renamed to {MOVED[name]}"
    elif inside := [each for each in known if each.startswith(f"{name}.")]:
        raise ConfigError(f"{name} is a group of settings", hint=f"name one of them, such as {inside[0]}")
    else:
        alike = [each for each in known if each.rpartition(".")[2] == last]
        guess = near(name, known) or (alike[0] if alike else "")
        hint = f"did you mean {guess}?" if guess else "see: autopoiesis config list"
    raise ConfigError(f"no setting named {shown(name)[1:-1]}", hint=hint)


def _without(data: bytes, name: str) -> bytes:
    """The file without a setting, and without its group if that would be empty."""
    for key in (name, *(each for each, place in MOVED.items() if place == name)):
        data = _without_entry(data, key)
    return data


def _without_entry(data: bytes, key: str) -> bytes:
    """The file without an entry and the groups that would be empty; comments are never removed."""
    new = _edited(data, {key: None})
    above, here = key.rpartition(".")[0], _tree(data)
    for each in key.split(".")[:-1]:
        inside = here.get(each)
        here = inside if isinstance(inside, yamltext.Mapping) else yamltext.Mapping()
    if above and list(here) == [key.rpartition(".")[2]]:
        shorter = _without_entry(data, above)
        if shorter.count(b"#") == data.count(b"#"):
            return shorter
    return new


def _edited(data: bytes, entries: Mapping[str, object | None]) -> bytes:
    return edit_yaml(data, entries, CONFIG_FILE, max_bytes=MAX_BYTES)


def _listed(name: str, value: object) -> object:
    """Parses a list given as text: ``[codex]`` or ``codex, claude-code``; or a mapping: ``{index: off}``."""
    kind = type(catalog()[name].default)
    if kind not in (tuple, dict) or not isinstance(value, str):
        return value
    try:
        node = yamltext.compose(value)
    except yamltext.YamlError as error:
        raise ConfigError(error.what) from error
    if kind is dict or (node is not None and node.kind == "sequence"):
        return None if node is None else yamltext.to_value(node)
    return [item.strip() for item in value.split(",") if item.strip()]


def _written(value: object) -> object:
    """A value as it is written in the file."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_WHOLE:
        return int(value)
    return value


def _tree(data: bytes) -> yamltext.Mapping:
    """The parsed file; empty if it cannot be parsed."""
    try:
        return yamltext.parse(data.decode("utf-8-sig"), max_bytes=MAX_BYTES)
    except (UnicodeDecodeError, yamltext.YamlError):
        return yamltext.Mapping()


def _lines(data: bytes) -> dict[str, int]:
    """The line of every setting in a file."""
    tree = _tree(data)
    moved = {place: old for old, place in MOVED.items()}
    found: dict[str, int] = {}
    for name in catalog():
        line = _line(tree, name) or _line(tree, moved.get(name, ""))
        if line:
            found[name] = line
    return found


def _line(tree: yamltext.Mapping, name: str) -> int:
    """The line that gives a setting a value; 0 for none or an empty value."""
    line = 0
    here: object = tree
    for part in name.split("."):
        if not isinstance(here, yamltext.Mapping) or part not in here:
            return 0
        line, here = here.line_of(part), here[part]
    return 0 if here == "" else line
