"""Which workspaces a person trusts to send, take in or run what their settings say (design 3.16).

A workspace can come from a stranger, and so can the next pull. Settings by which something leaves the
machine, comes into the workspace, or costs money count only where the person said so. That is kept outside
the workspace, by its path and by a digest of these settings: whatever changes one of them in the file is
asked about again, whereas ``config set`` is the person's word itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.errors import Problem
from engine.settings import file as config_file
from engine.settings.base import ACTING, Acting
from engine.settings.file import CONFIG_FILE
from engine.settings.model import Config
from engine.startup.records import dataclass
from engine.store.faults import reach
from engine.store.files import reported
from engine.store.user_folder import read_own, settings_folder, write_own

if TYPE_CHECKING:
    from engine.store.files import Files

FILE = "trust.json"
"""In the person's settings folder."""
VARIABLE = "AUTOPOIESIS_TRUST"
"""Environment variable; ``all`` trusts every workspace, as in a container that holds only one's own."""

_KEPT = 8
"""Trusted states of one workspace that are kept: before and after changes made through the program."""

State = Literal["nothing", "trusted", "new", "changed", "declined"]
"""Nothing acts; all that acts is trusted; it was never asked about; something else was trusted; declined."""


@dataclass(frozen=True, slots=True)
class Act:
    """A setting that acts."""

    name: str
    """As ``gate.provider``."""
    value: object
    """What the file says."""
    does: str
    """What it does with that value, as a clause: ``sends …``."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a workspace stands."""

    root: Path
    state: State
    """Whether what it asks for counts."""
    acts: tuple[Act, ...]
    """The settings that act, in the order of their definition."""

    @property
    def counts(self) -> bool:
        """Whether these settings are in force."""
        return self.state in ("nothing", "trusted")


@dataclass(frozen=True, slots=True)
class Counting:
    """The settings that count."""

    config: Config
    odd: tuple[Problem, ...]
    """What is odd about the file, as ``engine.settings.file.read`` gives it."""
    ignored: tuple[Problem, ...]
    """A line that says which settings of the file do not count, or nothing."""
    standing: Standing

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Both."""
        return (*self.odd, *self.ignored)


def read(files: Files) -> Counting:
    """The settings of a workspace that count; raises as ``config_file.read``."""
    written, odd = config_file.read(files)
    found = standing(files.workspace.root, written)
    config, ignored = in_force(found, written)
    return Counting(config, odd, ignored, found)


def in_force(found: Standing, config: Config) -> tuple[Config, tuple[Problem, ...]]:
    """The settings without those that are not trusted, and a line that says which these are."""
    if found.counts:
        return config, ()
    named = [act.name for act in found.acts]
    first = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    verb = "are" if len(named) > 1 else "is"
    why = "changed since you trusted this workspace, so" if found.state == "changed" else ""
    what = f"{first} {why} {verb} ignored" if why else f"{first} {verb} ignored: the workspace is not trusted"
    problem = Problem(CONFIG_FILE, 0, what, "see what it asks for: autopoiesis trust --show", "warning")
    changed: dict[str, dict[str, object]] = {}
    defaults = Config()
    for name in named:
        group, _, last = name.partition(".")
        changed.setdefault(group, {})[last] = getattr(getattr(defaults, group), last)
    groups: dict[str, Any] = {
        group: replace(getattr(config, group), **values) for group, values in changed.items()
    }
    return replace(config, **groups), (problem,)


def standing(root: Path, config: Config) -> Standing:
    """How a workspace stands with these settings. Never raises: what cannot be read trusts nothing."""
    found = acts(config)
    state: State = "nothing"
    if found and os.environ.get(VARIABLE) == "all":
        state = "trusted"
    elif found:
        known = _known(_load(settings_folder() / FILE), root)
        digest = _digest(config)
        if digest in _digests(known, "trusted"):
            state = "trusted"
        elif digest in _digests(known, "declined"):
            state = "declined"
        else:
            state = "changed" if _digests(known, "trusted") else "new"
    return Standing(root, state, found)


def ignored(root: Path, config: Config) -> tuple[Act, ...]:
    """The settings that do not count, because the workspace is not trusted."""
    found = standing(root, config)
    return () if found.counts else found.acts


def trust(root: Path, config: Config) -> None:
    """Lets the settings of a workspace act, until they change.

    Raises:
        WriteFailed: It cannot be kept.
    """
    digest = _digest(config)
    _change(lambda workspaces: workspaces.__setitem__(_name(root), {"trusted": [digest]}))


def decline(root: Path, config: Config) -> None:
    """Keeps that these settings are not to act, so that no one is asked again. Raises as ``trust``."""
    digest = _digest(config)

    def change(workspaces: dict[str, Any]) -> None:
        workspaces[_name(root)] = {**_known(workspaces, root), "declined": [digest]}

    _change(change)


def revoke(root: Path) -> bool:
    """Forgets a workspace; gives whether it was known. Raises as ``trust``."""
    known: list[bool] = []
    _change(lambda workspaces: known.append(workspaces.pop(_name(root), None) is not None))
    return known[0]


def renew(root: Path, before: Config, after: Config) -> None:
    """Lets a change act that the person is making through the program, where everything before it did too.

    What stands in the file until then counts on. Raises as ``trust``.
    """
    old, new = _digest(before), _digest(after)
    if old == new or not standing(root, before).counts:
        return

    def change(workspaces: dict[str, Any]) -> None:
        known = [each for each in _digests(_known(workspaces, root), "trusted") if each not in (old, new)]
        workspaces[_name(root)] = {"trusted": [*known, old, new][-_KEPT:]}

    _change(change)


def _marked(config: Config) -> Iterator[tuple[str, Acting, object]]:
    for group in fields(Config):
        settings = getattr(config, group.name)
        for item in fields(settings):
            mark = item.metadata.get(ACTING)
            if mark is not None:
                yield f"{group.name}.{item.name}", mark, getattr(settings, item.name)


def acts(config: Config) -> tuple[Act, ...]:
    """The settings that act, in the order of their definition."""
    return tuple(
        Act(name, value, mark.does)
        for name, mark, value in _marked(config)
        if mark.does and not mark.is_harmless(value)
    )


def _digest(config: Config) -> str:
    told = {name: value for name, _, value in _marked(config)}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _name(root: Path) -> str:
    return os.path.realpath(root)


def _digests(known: Mapping[str, Any], name: str) -> list[str]:
    found = known.get(name)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _known(workspaces: Mapping[str, Any], root: Path) -> Mapping[str, Any]:
    found = workspaces.get(_name(root))
    return found if isinstance(found, dict) else {}


def _load(path: Path) -> dict[str, Any]:
    """What was kept; nothing where it cannot be read, or others may write it."""
    try:
        tree = json.loads(read_own(path) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    found = tree.get("workspaces") if isinstance(tree, dict) else None
    return found if isinstance(found, dict) else {}


def _change(change: Callable[[dict[str, Any]], object]) -> None:
    path = settings_folder() / FILE
    with reported(str(path)), _alone(path.with_suffix(".lock")):
        workspaces = _load(path)
        change(workspaces)
        tree = {"form": 1, "workspaces": workspaces}
        write_own(path, json.dumps(tree, indent=1, sort_keys=True).encode() + b"\n")


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        reach("lock:acquire")
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
