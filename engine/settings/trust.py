"""Which workspaces the user trusts to send, receive or run what their settings say (design 3.16).

A workspace may come from a stranger, and so may the next pull. Settings that send data, bring data into the
workspace or cost money apply only if the user agreed. The agreement is stored outside the workspace, by its
path and a digest of these settings: a change of one in the file needs a new agreement, except a change by
``config set``, which is one itself.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.errors import ChangeRefused, Problem
from engine.settings import file as config_file
from engine.settings.base import ACTING, Acting
from engine.settings.file import CONFIG_FILE
from engine.settings.model import Config
from engine.startup.records import dataclass
from engine.store.by_workspace import ByWorkspace, Entry

if TYPE_CHECKING:
    from engine.store.files import Files

FILE = "trust.json"
"""In the user's settings folder."""
_DECISIONS = ByWorkspace(FILE)
VARIABLE = "AUTOPOIESIS_TRUST"
"""Environment variable; ``all`` trusts every workspace, for containers with only your own."""

_MAX_TRUSTED = 8
"""Trusted states stored per workspace: before and after changes made by the program."""

State = Literal["nothing", "trusted", "new", "changed", "declined"]
"""nothing: no setting needs trust; new: never asked; changed: an earlier state was trusted."""


@dataclass(frozen=True, slots=True)
class Act:
    """A setting that needs trust."""

    name: str  # such as ``gate.provider``
    value: object  # in the file
    does: str  # its effect, as a clause: ``sends …``


@dataclass(frozen=True, slots=True)
class TrustStatus:
    """Whether a workspace is trusted."""

    root: Path
    state: State
    acts: tuple[Act, ...]  # the settings that need trust, in definition order

    @property
    def applies(self) -> bool:
        """Whether these settings apply."""
        return self.state in ("nothing", "trusted")


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The settings in effect."""

    config: Config
    odd: tuple[Problem, ...]  # warnings about the file
    ignored: tuple[Problem, ...]  # a warning that names the ignored settings, if any
    trust: TrustStatus
    broken: tuple[Problem, ...] = ()  # why the file as it is now cannot be used, if so

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems of the file."""
        return (*self.broken, *self.odd, *self.ignored)


def read(files: Files) -> EffectiveSettings:
    """The settings in effect in a workspace; raises like ``engine.settings.file.read``."""
    written, odd = config_file.read(files)
    found = status(files.workspace.root, written)
    config, ignored = effective(found, written)
    return EffectiveSettings(config, odd, ignored, found)


def effective(found: TrustStatus, config: Config) -> tuple[Config, tuple[Problem, ...]]:
    """The settings without those that are not trusted, and a warning that names these."""
    if found.applies:
        return config, ()
    named = [act.name for act in found.acts]
    first = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    verb = "are" if len(named) > 1 else "is"
    is_changed = found.state == "changed"
    reason = (
        "settings changed since you trusted the workspace" if is_changed else "the workspace is not trusted"
    )
    what = f"{first} {verb} ignored: {reason}"
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


def status(root: Path, config: Config) -> TrustStatus:
    """Whether a workspace with these settings is trusted. Never raises: if unreadable, nothing is trusted."""
    found = acts(config)
    state: State = "nothing"
    if found and os.environ.get(VARIABLE) == "all":
        state = "trusted"
    elif found:
        known = _DECISIONS.entry(root)
        digest = _digest(config)
        if digest in _digests(known, "trusted"):
            state = "trusted"
        elif digest in _digests(known, "declined"):
            state = "declined"
        else:
            state = "changed" if _digests(known, "trusted") else "new"
    return TrustStatus(root, state, found)


def ignored(root: Path, config: Config) -> tuple[Act, ...]:
    """The settings that are ignored, because the workspace is not trusted."""
    found = status(root, config)
    return () if found.applies else found.acts


def trust(root: Path, config: Config) -> None:
    """Trusts a workspace until these settings change.

    Raises:
        WriteFailed: The decision cannot be stored.
    """
    digest = _digest(config)

    def change(entry: Entry) -> None:
        entry.clear()
        entry["trusted"] = [digest]

    _DECISIONS.change(root, change)


def decline(root: Path, config: Config) -> None:
    """Stores that the user declined, so that they are not asked again. Raises like ``trust``."""
    digest = _digest(config)

    _DECISIONS.change(root, lambda entry: entry.update(declined=[digest]))


def decide(files: Files, *, trusted: bool, shown: Sequence[Act] | None = None) -> None:
    """Stores the user's decision on the settings in the file.

    Args:
        shown: What the user was asked about; by default, whatever the file says now.

    Raises:
        ChangeRefused: The file asks for something else by now.
        WriteFailed, ConfigError: The decision cannot be stored; the file cannot be used.
    """
    written, _ = config_file.read(files)
    if shown is not None and tuple(shown) != acts(written):
        raise ChangeRefused("the settings have changed since they were shown", where=CONFIG_FILE)
    (trust if trusted else decline)(files.workspace.root, written)


def revoke(root: Path) -> bool:
    """Forgets a workspace; returns whether it was known. Raises like ``trust``."""
    known: list[bool] = []

    def change(entry: Entry) -> None:
        known.append(bool(entry))
        entry.clear()

    _DECISIONS.change(root, change)
    return known[0]


def renew(root: Path, before: Config, after: Config) -> None:
    """Extends trust to a change that the user makes through the program, if the settings before were trusted.

    The settings before stay trusted too. Raises like ``trust``.
    """
    old, new = _digest(before), _digest(after)
    if old == new or not status(root, before).applies:
        return

    def change(entry: Entry) -> None:
        known = [each for each in _digests(entry, "trusted") if each not in (old, new)]
        entry.clear()
        entry["trusted"] = [*known, old, new][-_MAX_TRUSTED:]

    _DECISIONS.change(root, change)


def _marked(config: Config) -> Iterator[tuple[str, Acting, object]]:
    for group in fields(Config):
        settings = getattr(config, group.name)
        for item in fields(settings):
            mark = item.metadata.get(ACTING)
            if mark is not None:
                yield f"{group.name}.{item.name}", mark, getattr(settings, item.name)


def acts(config: Config) -> tuple[Act, ...]:
    """The settings that need trust, in definition order."""
    return tuple(
        Act(name, value, mark.does)
        for name, mark, value in _marked(config)
        if mark.does and not mark.is_harmless(value)
    )


def _digest(config: Config) -> str:
    values = {name: value for name, _, value in _marked(config)}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _digests(known: Mapping[str, Any], name: str) -> list[str]:
    found = known.get(name)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
