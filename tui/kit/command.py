"""Commands of a screen: methods that name their keys, so that keys, footer, help and palette agree."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from textual.binding import Binding, BindingType

_LAST = 100
"""Behind every rank."""
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
    """A key as textual spells it, from how a person reads it."""
    return next((key for key, sign in _SHOWN.items() if sign == shown), shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a screen is like when a key is pressed. A screen whose commands depend on more adds its fields."""

    panel: str
    """What has the focus: a panel, or the line by what is typed in it."""
    zoomed: bool = False
    filtered: bool = False
    question: bool = False
    """The gate waits for an answer."""
    read_only: bool = False
    rows: int = 0
    """Rows of the focused list."""
    problems: int = 0
    """How many problems were found in files."""
    file: str = ""
    """What the editor would open, relative to the workspace; empty where nothing."""


Scope = Literal["panel", "screen", "everywhere"]
"""Where a command means the same: in some panels, in all of a screen, on every screen."""
AnySituation = TypeVar("AnySituation", bound=Situation, contravariant=True)


@dataclass(frozen=True, slots=True)
class Need(Generic[AnySituation]):
    """Something without which a command can do nothing."""

    met: Callable[[AnySituation], object]
    otherwise: str
    """What to say where it is not there, in one clause."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something a person can do on a screen."""

    name: str
    """The screen's method that does it."""
    keys: tuple[str, ...]
    """As textual spells them; the first is the one that is shown."""
    title: str
    """What the palette calls it."""
    help: str
    panels: frozenset[str]
    """Where the focus must be for the keys to mean this."""
    scope: Scope
    footer: str
    """The footer's words; empty keeps it out. Commands with the same words share one entry."""
    rank: int
    """Order in the footer; the highest give way first where there is no room."""
    palette: bool
    """Whether the palette lists it; plain movement is not worth a search."""
    needs: tuple[Need[Any], ...]
    """What it cannot be done without; the first that is missing is the reason that is given."""
    when: Callable[[Any], object] | None
    """Whether it is there just now, of one that comes and goes, such as an answer."""

    def applies(self, situation: Situation) -> bool:
        """Whether its keys mean this command here."""
        return situation.panel in self.panels and (self.when is None or bool(self.when(situation)))

    def refusal(self, situation: Situation) -> str:
        """Why it cannot be done just now, in one clause; empty when it can."""
        return next((need.otherwise for need in self.needs if not need.met(situation)), "")

    @property
    def shown_keys(self) -> tuple[str, ...]:
        """The keys as a person reads them."""
        return tuple(_SHOWN.get(key, key) for key in self.keys)


@dataclass(frozen=True, slots=True)
class _Declared:
    """A command as its method declares it, before the panels of the screen are known."""

    keys: tuple[str, ...]
    title: str
    panels: tuple[str, ...]
    in_line: bool
    footer: str
    rank: int
    palette: bool
    needs: tuple[Need[Any], ...]
    when: Callable[[Any], object] | None


def command(
    *keys: str,
    title: str,
    panels: Sequence[str] = (),
    in_line: bool = False,
    footer: str = "",
    rank: int = 50,
    palette: bool = True,
    needs: Sequence[Need[Any]] = (),
    when: Callable[[Any], object] | None = None,
) -> Callable[[Method], Method]:
    """Makes a method a command; its docstring is its help.

    Args:
        keys: See ``Command``, as for those left out here.
        panels: Where its keys mean this; every panel when left out.
        in_line: In the line to type in as well, whatever is typed.
    """
    declared = _Declared(keys, title, tuple(panels), in_line, footer, rank, palette, tuple(needs), when)

    def mark(method: Method) -> Method:
        method.__dict__["declared"] = declared
        return method

    return mark


def command_of(
    does: str, do: Callable[[Any], None], *keys: str, title: str, **declared: Any
) -> Callable[[Any], None]:
    """A method that is a command, for those that differ in little and are listed.

    Args:
        does: Its help.
        do: Takes the screen.
        declared: As ``command`` takes it.
    """

    def method(screen: Any) -> None:
        do(screen)

    method.__doc__ = does
    return command(*keys, title=title, **declared)(method)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The commands of one screen. Where two share a key, the first that applies has it.

    Those that come and go are first, then the screen's own by rank, then those of every screen: the order of
    help and palette.
    """

    panels: tuple[str, ...]
    lines: frozenset[str]
    """What the line is called, by what is typed in it."""
    commands: tuple[Command, ...]

    @classmethod
    def of(cls, owner: type, base: type, panels: Sequence[str], lines: Sequence[str]) -> Catalog:
        """The commands that a class declares or inherits, its own first, those of ``base`` last.

        A method that overrides a command without declaring one keeps its keys; its docstring, where it has
        one, is the help.

        Raises:
            ValueError: A command names a panel that the screen does not have.
        """
        declared: dict[str, tuple[_Declared, type]] = {}
        names = dict.fromkeys(name for each in owner.__mro__ for name in vars(each))
        for name in names:
            for kind in owner.__mro__:
                found = getattr(vars(kind).get(name), "declared", None)
                if isinstance(found, _Declared):
                    declared[name] = (found, kind)
                    break
        made = []
        for name, (each, by) in declared.items():
            unknown = set(each.panels) - {*panels, *lines}
            if unknown:
                raise ValueError(f"{owner.__name__}.{name} is a command of {unknown}, which it does not have")
            where = each.panels or (*panels, *(lines if each.in_line else ()))
            made.append(
                Command(
                    name,
                    each.keys,
                    each.title,
                    " ".join((inspect.getdoc(getattr(owner, name)) or "").split()),
                    frozenset(where),
                    "panel" if each.panels else "everywhere" if by is base else "screen",
                    each.footer,
                    each.rank,
                    each.palette,
                    each.needs,
                    each.when,
                )
            )
        made.sort(key=lambda each: (each.when is None, _LAST if each.scope == "everywhere" else each.rank))
        return cls(tuple(panels), frozenset(lines), tuple(made))

    def __getitem__(self, name: str) -> Command:
        return next(each for each in self.commands if each.name == name)

    def __iter__(self) -> Iterator[Command]:
        return iter(self.commands)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that means something somewhere on the screen."""
        return tuple(dict.fromkeys(key for each in self.commands for key in each.keys))

    @property
    def bindings(self) -> list[BindingType]:
        """The bindings of the screen: each key is looked up when it is pressed."""
        return [Binding(key, f"press('{key}')", show=False, priority=True) for key in self.keys]

    def means(self, key: str, situation: Situation) -> bool:
        """Whether a key means anything here."""
        return any(key in each.keys and each.applies(situation) for each in self.commands)

    def resolve(self, key: str, situation: Situation) -> Command | None:
        """The command a key means here, or ``None``.

        What comes and goes has its letters only where nothing else can be done with them: a person who goes
        from result to result, or labels one, has not answered a question that came up meanwhile.
        """
        found = [each for each in self.commands if key in each.keys and each.applies(situation)]
        if len(found) > 1 and found[0].when is not None and len(key) == 1:
            found.sort(key=lambda each: each.when is not None or bool(each.refusal(situation)))
        return found[0] if found else None

    def answers_by_letter(self, situation: Situation) -> bool:
        """Whether the letters answer the gate here; else only those with ctrl do."""
        answers = (self["answer_yes"], self["answer_no"])
        return all(self.resolve(each.keys[0], situation) is each for each in answers)

    def footer(self, situation: Situation) -> list[tuple[str, str]]:
        """Keys and words for the footer, most important first: what can be done here and now."""
        groups: dict[str, tuple[int, list[str]]] = {}
        for each in self.commands:
            if (
                not each.footer
                or each.refusal(situation)
                or self.resolve(each.keys[0], situation) is not each
            ):
                continue
            _rank, keys = groups.setdefault(each.footer, (each.rank, []))
            keys.append(each.shown_keys[0])
        ordered = sorted(groups.items(), key=lambda group: group[1][0])
        return [(_joined(keys), words) for words, (_rank, keys) in ordered]

    def scoped(self, scope: Scope, situation: Situation) -> list[Command]:
        """The commands of a scope that mean something here."""
        return [each for each in self.commands if each.scope == scope and each.applies(situation)]


def _joined(keys: Sequence[str]) -> str:
    if len(keys) > 2 and all(key.isdigit() for key in keys):
        return f"{keys[0]}–{keys[-1]}"
    return " ".join(keys)
