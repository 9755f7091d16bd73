"""Commands of a screen: methods that declare their keys, so keys, footer, help and palette agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

from textual.binding import Binding, BindingType

_LAST = 100
"""Sorts after every rank."""
Method = TypeVar("Method", bound=Callable[..., None])

_SHOWN = {
    "plus": "+",
    "underscore": "_",
    "slash": "/",
    "colon": ":",
    "question_mark": "?",
    "exclamation_mark": "!",
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "shift+left": "shift+←",
    "shift+right": "shift+→",
    "less_than_sign": "<",
    "delete": "del",
    "greater_than_sign": ">",
}


def key_named(shown: str) -> str:
    """Textual's name for a key as it is displayed."""
    return next((key for key, sign in _SHOWN.items() if sign == shown), shown)


class Here(Protocol):
    """A screen at the time of a key press; the preconditions of its commands ask it for more."""

    @property
    def panel_in_use(self) -> str:
        """What has the focus: a panel, or the prompt under its current name."""
        ...


Scope = Literal["panel", "screen", "everywhere"]
"""Where a command applies: in some panels, on one screen, or on every screen."""


@dataclass(frozen=True, slots=True)
class Need:
    """A precondition of a command."""

    met: Callable[[Any], object]
    """Asks the screen."""
    reason: str
    """The reason shown if it is not met, as one clause."""


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    """The name of the screen's method."""
    keys: tuple[str, ...]
    """Textual key names; the first one is displayed."""
    title: str
    """Its name in the palette."""
    help: str
    panels: frozenset[str]
    """Where the focus must be for its keys to work."""
    in_line: bool
    """Its keys also work while the prompt has the focus."""
    scope: Scope
    footer: str
    """Its label in the footer; empty leaves it out. Commands with the same label share one entry."""
    rank: int
    """Position in the footer; the highest are dropped first if there is no room."""
    palette: bool
    """Whether the palette lists it; cursor movement is not worth a search."""
    needs: tuple[Need, ...]
    """Preconditions; the first unmet one is given as the reason."""
    when: Callable[[Any], object] | None
    """Whether a temporary command, such as the answer to a question, exists now."""
    yields: bool = False
    """A temporary command that leaves its letters to any other command that can use them."""

    def applies(self, here: Here) -> bool:
        """Whether its keys trigger it here."""
        return here.panel_in_use in self.panels and (self.when is None or bool(self.when(here)))

    def refusal(self, here: Here) -> str:
        """Why it is unavailable, as one clause; empty if it is available."""
        return next((need.reason for need in self.needs if not need.met(here)), "")

    @property
    def shown_keys(self) -> tuple[str, ...]:
        return tuple(_SHOWN.get(key, key) for key in self.keys)


def command(
    keys: str,
    title: str,
    footer: str = "",
    rank: int = 50,
    *,
    panels: Sequence[str] = (),
    in_line: bool = False,
    palette: bool = True,
    needs: Sequence[Need] = (),
    when: Callable[[Any], object] | None = None,
    yields: bool = False,
) -> Callable[[Method], Method]:
    """Makes a method a command; its docstring is its help.

    Arguments are as in ``Command``, with spaces between the keys; without ``panels``, they work everywhere.
    """
    declared = Command(
        "", tuple(keys.split()), title, "", frozenset(panels), in_line, "panel" if panels else "screen",
        footer, rank, palette, tuple(needs), when, yields,
    )  # fmt: skip

    def mark(method: Method) -> Method:
        method.__dict__["declared"] = declared
        return method

    return mark


def command_of(
    does: str, do: Callable[[Any], None], keys: str, title: str, *more: Any, **declared: Any
) -> Callable[[Any], None]:
    """A command from a function of the screen, for commands that differ only in a value.

    Args:
        does: The help text.
        more: Passed to ``command``, as are the arguments after it.
    """

    def method(screen: Any) -> None:
        do(screen)

    method.__doc__ = does
    return command(keys, title, *more, **declared)(method)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The commands of one screen. If several share a key, the first that applies wins.

    Temporary commands come first, then the screen's own by rank, then those of every screen; help and palette
    use the same order.
    """

    panels: tuple[str, ...]
    lines: frozenset[str]
    """The names the prompt can have."""
    commands: tuple[Command, ...]

    @classmethod
    def of(cls, owner: type, base: type, panels: Sequence[str], lines: Sequence[str]) -> Catalog:
        """Collects the commands that a class declares or inherits; those of ``base`` are on every screen.

        A method that overrides a command without declaring one keeps its keys, and its help unless it has its
        own docstring.

        Raises:
            ValueError: A command names a panel that the screen does not have.
        """
        declared: dict[str, tuple[Command, type]] = {}
        names = dict.fromkeys(name for each in owner.__mro__ for name in vars(each))
        for name in names:
            for kind in owner.__mro__:
                found = getattr(vars(kind).get(name), "declared", None)
                if isinstance(found, Command):
                    declared[name] = (found, kind)
                    break
        commands = []
        for name, (each, by) in declared.items():
            unknown = set(each.panels) - {*panels, *lines}
            if unknown:
                raise ValueError(f"{owner.__name__}.{name} is a command of {unknown}, which it does not have")
            docs = (vars(kind)[name].__doc__ for kind in owner.__mro__ if name in vars(kind))
            everywhere = frozenset((*panels, *(lines if each.in_line else ())))
            commands.append(
                replace(
                    each,
                    name=name,
                    help=" ".join(next((doc for doc in docs if doc), "").split()),
                    panels=each.panels or everywhere,
                    scope="everywhere" if by is base and not each.panels else each.scope,
                )
            )
        commands.sort(
            key=lambda each: (each.when is None, _LAST if each.scope == "everywhere" else each.rank)
        )
        return cls(tuple(panels), frozenset(lines), tuple(commands))

    def __getitem__(self, name: str) -> Command:
        return next(each for each in self.commands if each.name == name)

    def __iter__(self) -> Iterator[Command]:
        return iter(self.commands)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for each in self.commands for key in each.keys))

    @property
    def bindings(self) -> list[BindingType]:
        """Bindings for the screen; each key is resolved when it is pressed."""
        return [Binding(key, f"press('{key}')", show=False, priority=True) for key in self.keys]

    def means(self, key: str, here: Here) -> bool:
        return any(key in each.keys and each.applies(here) for each in self.commands)

    def resolve(self, key: str, here: Here) -> Command | None:
        """The command a key triggers here, or ``None``.

        Answers get their letters only if no other command can use them: a user who moves between results or
        labels one must not accidentally answer a question that just came up.
        """
        found = [each for each in self.commands if key in each.keys and each.applies(here)]
        if len(found) > 1 and found[0].yields and len(key) == 1:
            found.sort(key=lambda each: each.yields or bool(each.refusal(here)))
        return found[0] if found else None

    def answers_by_letter(self, here: Here) -> bool:
        """Whether plain letters answer the gate here; otherwise only ctrl with the letter does."""
        answers = (self["answer_yes"], self["answer_no"])
        return all(self.resolve(each.keys[0], here) is each for each in answers)

    def footer(self, here: Here) -> list[tuple[str, str]]:
        """Keys and labels of the commands available now, most important first."""
        groups: dict[str, tuple[int, list[str]]] = {}
        for each in self.commands:
            if not each.footer or each.refusal(here):
                continue
            keyed = zip(each.keys, each.shown_keys, strict=True)
            shown = next((sign for key, sign in keyed if self.resolve(key, here) is each), "")
            if shown:
                groups.setdefault(each.footer, (each.rank, []))[1].append(shown)
        ordered = sorted(groups.items(), key=lambda group: group[1][0])
        return [(_joined(keys), words) for words, (_rank, keys) in ordered]

    def scoped(self, scope: Scope, here: Here) -> list[Command]:
        """The commands of a scope that apply here."""
        return [each for each in self.commands if each.scope == scope and each.applies(here)]


def _joined(keys: Sequence[str]) -> str:
    if len(keys) > 2 and all(key.isdigit() for key in keys):
        return f"{keys[0]}–{keys[-1]}"
    return " ".join(keys)
