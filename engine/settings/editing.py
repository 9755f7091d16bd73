"""The settings as a face shows and changes them: one at a time, whatever else stands in the file kept.

What the file would say is read as any other before it is written, so that no change leaves settings that
cannot be opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ConfigError, DocumentError, Problem
from engine.settings import trust
from engine.settings.catalog import NONE, catalog, is_threshold, value_of
from engine.settings.file import CONFIG_FILE, MAX_BYTES, MOVED, load
from engine.settings.watchers import PolicyRow, Priority, WatcherSettings
from engine.store import yamltext
from engine.store.change import ChangeCommit, commit_change
from engine.store.commit_message import commit_message
from engine.store.documents import edit_yaml
from engine.topics.fields import near, shown

if TYPE_CHECKING:
    from engine.settings.model import Config
    from engine.store.files import Files
    from engine.store.repository import Repository

_ZONE = "days.time_zone"
_SAFE_WHOLE = 1e15
"""Numbers below which a float that is whole is written without its point."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that was changed."""

    name: str
    """As ``cache.anthropic_ttl``."""
    before: object
    after: object
    path: str
    """The file, workspace-relative."""
    line: int
    """The 1-based line that names it now; 0 where none does."""
    commit: str
    """The commit's object name; empty where none was made."""
    why: str = ""
    """Why none was made."""
    ignored: bool = False
    """Whether the new value does not count, because the workspace is not trusted."""


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """A setting as it is."""

    name: str
    """As ``cache.anthropic_ttl``."""
    value: object
    """What counts; ``None`` for what is absent."""
    default: object
    """What would count if the file did not name it."""
    is_set: bool
    """Whether the file names it."""
    line: int
    """The 1-based line that does; 0 for none."""
    doc: str
    allowed: str
    """What it may be, in words: ``5m or 1h``."""
    ignored: object = None
    """What the file says, where that does not count because the workspace is not trusted; ``None`` elsewhere.
    """


class Configuration:
    """Shows and changes the settings of a workspace. Safe to use from several threads and processes.

    Args:
        repository: Where changes are committed; asked for when there is something to commit.
        reload: Takes over what the file says now.
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
        """Every setting, in the order in which they are defined."""
        config = self._config()
        data = self._data() or b""
        lines = _lines(data)
        ignored = self._ignored(data)
        return tuple(
            SettingInfo(
                name,
                value_of(config, name),
                _default(config, name),
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
            ConfigError: There is none of that name.
        """
        _check_name(name)
        return next(setting for setting in self.settings() if setting.name == name)

    def change(self, name: str, value: object | None) -> SettingChange:
        """Sets a setting, or takes it out of the file; every other byte of the file stays.

        The file is made where there is none. A threshold of ``watchers.policy`` is written together with the
        rest of its row as it is in force, since a row that the file names counts as a whole.

        Args:
            name: As ``cache.anthropic_ttl``.
            value: The value, or what a person would write for it in the file; ``none`` for a threshold that
            there
                is not to be. ``None``, or an empty text, takes it out, so that the default counts.

        Raises:
            ConfigError: There is no such setting, it cannot have this value, or the file is broken already;
                nothing was written.
            DocumentError: The file cannot be changed there without touching other lines; likewise.
            WriteFailed, ReadOnly: The file is as it was.
        """
        _check_name(name)
        wanted = None if value == "" else value
        done: list[_Changed] = []
        root = self._files.workspace.root

        def change(data: bytes | None) -> bytes | None:
            done[:] = [self._changed(data or b"", name, wanted)]
            # Before the file, so that a kill in between leaves nothing that was set and does not count.
            trust.renew(root, done[0].before, done[0].after)
            return done[0].data if data is not None or done[0].data else None

        self._files.update(CONFIG_FILE, change)
        changed = done[0]
        self._reload()
        what = f"config {'unset' if wanted is None else 'set'} {name}"
        is_wanted = changed.after.git.auto_commit
        # Also where the file says so already: a run before may have been interrupted before its commit.
        commit = commit_change(
            self._repository, [CONFIG_FILE], commit_message("maintenance", what), wanted=is_wanted
        )
        if changed.data == changed.data_before and not commit.revision:
            commit = ChangeCommit(why="it was so already")
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

    def _ignored(self, data: bytes) -> dict[str, object]:
        """What the file says and does not count, by setting."""
        try:
            written, _ = load(data)
        except ConfigError:
            return {}
        return {act.name: act.value for act in trust.ignored(self._files.workspace.root, written)}

    def _changed(self, data: bytes, name: str, value: object | None) -> _Changed:
        """The file with a setting changed, and what it meant before and means then."""
        broken: ConfigError | None = None
        try:
            before, _ = load(data)
        except ConfigError as error:
            broken, before = error, self._config()
        try:
            if value is None:
                new = _without(data, name, before)
            else:
                first = _edited(data, _entries(name, _listed(name, value), before))
                # What it is read as is what is written: a number given as a text has no quotes.
                new = _edited(data, _entries(name, _written(value_of(load(first)[0], name)), before))
            after, odd = load(new)
            if value is not None:
                _check_zone(name, odd)
        except ConfigError as error:
            if broken is not None:
                raise broken from error
            if value is None:
                raise
            if name == _ZONE:
                raise
            said = shown(value) if isinstance(value, str) else repr(value)
            hint = f"it is {catalog()[name].allowed}"
            raise ConfigError(f"{name} cannot be {said}", where=CONFIG_FILE, hint=hint) from error
        except DocumentError as error:
            raise (broken or error) from error
        return _Changed(data, new, before, after)

    def _data(self) -> bytes | None:
        try:
            return self._files.read(CONFIG_FILE)
        except (FileNotFoundError, AutopoiesisError):
            return None


@dataclass(frozen=True, slots=True)
class _Changed:
    """A file before and after a change, with the settings that it means."""

    data_before: bytes
    data: bytes
    before: Config
    after: Config


def _check_zone(name: str, odd: Iterable[Problem]) -> None:
    """Raises ``ConfigError`` where a time zone is set that there is not; a file that names one is read."""
    for problem in odd:
        if name == _ZONE and problem.what.startswith(f"{_ZONE}:"):
            raise ConfigError(problem.what.partition(", so")[0], where=CONFIG_FILE, hint=problem.hint)


def _check_name(name: str) -> None:
    """Raises ``ConfigError`` where there is no setting of a name."""
    known = catalog()
    if name in known:
        return
    last = name.rpartition(".")[2]
    if name in MOVED:
        hint = f"it is {MOVED[name]} now"
    elif inside := [each for each in known if each.startswith(f"{name}.")]:
        raise ConfigError(f"{name} is a group of settings", hint=f"name one of them, as {inside[0]}")
    else:
        alike = [each for each in known if each.rpartition(".")[2] == last]
        guess = near(name, known) or (alike[0] if alike else "")
        hint = f"did you mean {guess}?" if guess else "see: autopoiesis config list"
    raise ConfigError(f"there is no setting {shown(name)[1:-1]}", hint=hint)


def _default(config: Config, name: str) -> object:
    """What would count if the file did not name a setting."""
    if not is_threshold(name):
        return catalog()[name].default
    _, _, priority, threshold = name.split(".")
    return getattr(WatcherSettings(preset=config.watchers.preset).row(_priority(priority)), threshold)


def _priority(name: str) -> Priority:
    return name  # type: ignore[return-value]  # one of the catalog's names


def _entries(name: str, value: object, config: Config) -> dict[str, object | None]:
    """What is to stand in the file for a setting to have a value, by key."""
    if not is_threshold(name):
        return {name: value}
    key, _, threshold = name.rpartition(".")
    row = asdict(config.watchers.row(_priority(key.rpartition(".")[2])))
    row[threshold] = None if value is None or value == NONE else value
    return {key: {each: item for each, item in row.items() if item is not None}}


def _without(data: bytes, name: str, config: Config) -> bytes:
    """The file without a setting, and without its group where that holds nothing else."""
    if not is_threshold(name):
        old = [each for each, place in MOVED.items() if place == name]
        for key in (name, *old):
            data = _threshold(data, key)
        return data
    key = name.rpartition(".")[0]
    priority = _priority(key.rpartition(".")[2])
    default = WatcherSettings(preset=config.watchers.preset).row(priority)
    if name not in _lines(data) and config.watchers.row(priority) == default:
        return data
    threshold = name.rpartition(".")[2]
    row: PolicyRow = replace(config.watchers.row(priority), **{threshold: getattr(default, threshold)})
    if row == default:
        return _threshold(data, key)
    return _edited(data, _entries(name, getattr(default, threshold), config))


def _threshold(data: bytes, key: str) -> bytes:
    """A file without an entry, and without what would be left empty; comments are never taken out."""
    new = _edited(data, {key: None})
    above, here = key.rpartition(".")[0], _tree(data)
    for each in key.split(".")[:-1]:
        inside = here.get(each)
        here = inside if isinstance(inside, yamltext.Mapping) else yamltext.Mapping()
    if above and list(here) == [key.rpartition(".")[2]]:
        shorter = _threshold(data, above)
        if shorter.count(b"#") == data.count(b"#"):
            return shorter
    return new


def _edited(data: bytes, entries: Mapping[str, object | None]) -> bytes:
    return edit_yaml(data, entries, CONFIG_FILE, max_bytes=MAX_BYTES)


def _listed(name: str, value: object) -> object:
    """A list that was given as a text: ``[codex]``, or ``codex, claude-code``; likewise ``{index: off}``."""
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
    """A value as a person would write it."""
    if value is None:
        return NONE
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _SAFE_WHOLE:
        return int(value)
    return value


def _tree(data: bytes) -> yamltext.Mapping:
    """The file as it is written; empty where it cannot be read."""
    try:
        return yamltext.parse(data.decode("utf-8-sig"), max_bytes=MAX_BYTES)
    except (UnicodeDecodeError, yamltext.YamlError):
        return yamltext.Mapping()


def _lines(data: bytes) -> dict[str, int]:
    """The line of every setting that a file names."""
    tree = _tree(data)
    moved = {place: old for old, place in MOVED.items()}
    found: dict[str, int] = {}
    for name in catalog():
        line = _line(tree, name) or _line(tree, moved.get(name, ""))
        if line:
            found[name] = line
    return found


def _line(tree: yamltext.Mapping, name: str) -> int:
    """The line that gives a setting a value; 0 for none, as an empty value is none."""
    line = 0
    here: object = tree
    for part in name.split("."):
        if not isinstance(here, yamltext.Mapping) or part not in here:
            return 0
        line, here = here.line_of(part), here[part]
    return 0 if here == "" else line
