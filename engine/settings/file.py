"""Reads memory-config.yaml (spec 9.3, design 3 and 5).

Unknown settings are warnings, so that a file for a newer version can still be read.

The settings are plain dataclasses, filled and validated by pydantic. Importing pydantic takes longer than
tracing a message, so ``read`` caches the result under ``scratch/`` and only validates files it has not seen.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping as AbcMapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from engine.errors import AutopoiesisError, ConfigError, Problem
from engine.settings.base import SECRET, Settings
from engine.settings.model import Config, PolicyRow, Priority
from engine.store.user_folder import own_key
from engine.store.zone import is_zone

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from engine.store.files import Files

CONFIG_FILE = "memory-config.yaml"
CACHE_FILE = "scratch/settings.json"
MAX_BYTES = 256 * 1024
"""Larger files are not read."""

MOVED = {
    "watchers.gate_model": "gate.model",
    "watchers.gate_max_tokens": "gate.max_tokens",
    "lifecycle.commit_interval_minutes": "git.commit_interval_minutes",
}
"""Settings that have moved to another group; the old name is still read."""
GONE = frozenset(
    {
        "gate.mode",
        "gate.max_calls_per_message",
        "gate.concurrency",
        "search.ranking",
        "events.command",
        "events.command_deadline_s",
        "context_compiler.model",
        "context_compiler.model_window",
    }
)
"""Settings of earlier builds that no other one replaces."""

_VERSION = 1
"""Of how ``load`` reads a file, apart from the definitions. A cache with another version is ignored."""

_LOCK_WAIT_S = 1.0


def read(files: Files) -> tuple[Config, tuple[Problem, ...]]:
    """The settings of a workspace, cached; otherwise like ``load``."""
    try:
        data = files.read(CONFIG_FILE)
    except FileNotFoundError:
        return Config(), ()
    if not data:
        return Config(), ()
    known = _load_cache(files, data)
    if known is None:
        known = load(data)
        _save_cache(files, data, *known)
    return known


def load(data: bytes | None, path: str = CONFIG_FILE) -> tuple[Config, tuple[Problem, ...]]:
    """Reads memory-config.yaml.

    Args:
        data: The file's bytes; None for no file.
        path: For messages.

    Returns:
        The settings, and warnings such as unknown settings.

    Raises:
        ConfigError: The file is invalid; the message names file, line, setting and allowed values.
    """
    if not data:
        return Config(), ()
    from pydantic import ValidationError  # noqa: PLC0415 — slow; not needed for a cached file

    from engine.store import yamltext  # noqa: PLC0415 — as above

    try:
        tree = yamltext.parse(data.decode("utf-8-sig"), max_bytes=MAX_BYTES)
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text", where=path, hint="save it as UTF-8") from error
    except yamltext.YamlError as error:
        raise ConfigError(error.what, where=f"{path}:{error.line}", hint=error.hint) from error
    plain = _plain(tree)
    _rename_moved(plain)
    try:
        config = _adapter().validate_python(plain)
    except ValidationError as error:
        first = error.errors()[0]
        location = [str(part) for part in first["loc"]]
        is_secret = first["type"] == SECRET
        found = "" if is_secret else f" (found {first.get('input')!r})"
        hint = "correct the value, or remove the line to use the default"
        raise ConfigError(
            f"{'.'.join(location)}: {first['msg'].lower()}{found}",
            where=f"{path}:{_line(tree, location)}",
            hint="keep it in ~/.pgpass or PGPASSWORD" if is_secret else hint,
        ) from error
    return config, (*_unknown(config, plain, tree, path, ()), *_odd_zone(config, tree, path))


@functools.cache
def _adapter() -> TypeAdapter[Config]:
    """Pydantic's validator; building it takes longer than reading ten files."""
    from pydantic import TypeAdapter  # noqa: PLC0415 — as in load

    return TypeAdapter(Config)


def _plain(tree: AbcMapping[str, object]) -> dict[str, Any]:
    """The tree as plain containers, without empty values, which count as absent."""
    plain: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, AbcMapping):
            plain[key] = _plain(value)
        elif isinstance(value, list):
            plain[key] = [_plain(item) if isinstance(item, AbcMapping) else item for item in value]
        elif value != "":
            plain[key] = value
    return plain


def _rename_moved(plain: dict[str, Any]) -> None:
    """Moves settings from their old group to the new one, unless it is set there."""
    for old, new in MOVED.items():
        (before, key), (group, name) = old.split("."), new.split(".")
        source = plain.get(before)
        if not isinstance(source, dict) or key not in source:
            continue
        value, target = source.pop(key), plain.setdefault(group, {})
        if isinstance(target, dict):
            target.setdefault(name, value)
        if not source:
            del plain[before]


def _line(tree: object, location: list[str]) -> int:
    from engine.store import yamltext  # noqa: PLC0415 — as in load

    line = 1
    for part in location:
        if not isinstance(tree, yamltext.Mapping) or part not in tree:
            break
        line, tree = tree.line_of(part, line), tree[part]
    return line


def _unknown(
    settings: Settings, plain: AbcMapping[str, Any], tree: object, path: str, above: tuple[str, ...]
) -> list[Problem]:
    import difflib  # noqa: PLC0415 — as in load

    problems: list[Problem] = []
    known = [item.name for item in fields(settings)]
    for key in plain:
        if key in known:
            continue
        name = ".".join((*above, key))
        near = difflib.get_close_matches(key, known, n=1) if name not in GONE else []
        problems.append(
            Problem(
                path=path,
                line=_line(tree, [*above, key]),
                what=f"unknown setting {name}",
                hint=f"did you mean {near[0]}?" if near else "remove it",
                severity="warning",
            )
        )
    for key in known:
        value = getattr(settings, key)
        if isinstance(value, Settings) and key in plain:
            problems.extend(_unknown(value, plain[key], tree, path, (*above, key)))
    return problems


def _odd_zone(config: Config, tree: object, path: str) -> list[Problem]:
    name = config.days.time_zone
    if not name or is_zone(name):
        return []
    import difflib  # noqa: PLC0415 — as in load
    from zoneinfo import available_timezones  # noqa: PLC0415 — rarely needed

    known = {each.lower(): each for each in available_timezones()}
    last = {each.rpartition("/")[2]: each for each in sorted(known)}
    near = difflib.get_close_matches(name.lower(), known, n=1) or [
        last[each] for each in difflib.get_close_matches(name.lower().replace(" ", "_"), last, n=1)
    ]
    hint = f"did you mean {known[near[0]]}?" if near else "use a name such as Europe/Brussels, or UTC"
    what = f"days.time_zone: unknown time zone {name!r}, so the machine's is used"
    return [Problem(path, _line(tree, ["days", "time_zone"]), what, hint, "warning")]


def _load_cache(files: Files, data: bytes) -> tuple[Config, tuple[Problem, ...]] | None:
    """The cached result for these bytes; None if there is none, or it is damaged or forged."""
    key = own_key()
    try:
        stamp, _, cached = files.read(CACHE_FILE, limit=1024 * 1024).partition(b"\n")
    except (AutopoiesisError, OSError):
        return None
    if key is None or stamp != _stamp(key, data, cached):
        return None
    tree = json.loads(cached)
    settings: dict[str, dict[str, Any]] = tree["settings"]
    policy = settings["watchers"]["policy"]
    settings["watchers"]["policy"] = {priority: PolicyRow(**row) for priority, row in policy.items()}
    for group in settings.values():
        group |= {name: tuple(value) for name, value in group.items() if isinstance(value, list)}
    config = Config(**{name: group(**settings[name]) for name, group in _groups().items()})
    return config, tuple(Problem(**problem) for problem in tree["odd"])


def _save_cache(files: Files, data: bytes, config: Config, odd: tuple[Problem, ...]) -> None:
    """Caches the result, if possible."""
    if files.read_only or (key := own_key(make=True)) is None:
        return
    tree = {"settings": asdict(config), "odd": [asdict(problem) for problem in odd]}
    cached = json.dumps(tree).encode()
    try:
        with files.lock(timeout=_LOCK_WAIT_S):
            files.replace(CACHE_FILE, _stamp(key, data, cached) + b"\n" + cached)
    except AutopoiesisError:
        return


def _groups() -> dict[str, type[Any]]:
    defaults = Config()
    return {item.name: type(getattr(defaults, item.name)) for item in fields(Config)}


def _stamp(key: bytes, data: bytes, cached: bytes) -> bytes:
    """A signature over the cache, the file's bytes and the definitions of settings (types, limits, defaults).

    The key is private to this user, because the workspace with the cache may come from a stranger.
    """
    classes = (*_groups().values(), PolicyRow, Problem)
    known = [(item.name, item.type) for each in classes for item in fields(each)]
    rules = repr((_VERSION, Priority, known, Config(), MOVED)).encode()
    parts = (rules, data, cached)
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    return hashlib.blake2b(digests, key=key).hexdigest().encode()
