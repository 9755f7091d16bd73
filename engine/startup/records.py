"""A drop-in ``dataclass`` for modules that every hook loads.

The standard library generates and compiles six functions as each class is defined. A hook loads nearly two
hundred such classes and instantiates only some of them; the compiling took a quarter of its time. Here
``__init__`` is compiled when the first object is created, and the other methods are closures. Everything else
(fields, slots, ``replace``, ``asdict``) is the standard library's. Tests compare the two.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """Defines the same class as the standard library's ``dataclass``, in less time."""
        return (lambda cls: _defined(cls, options)) if cls is None else _defined(cls, options)


_OPTIONS = {"frozen", "slots", "kw_only", "eq"}
_METHODS = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__setstate__"}
_KNOWN = "__dataclass_params__"
_NOT_GIVEN = object()


def _defined(cls: Any, options: dict[str, bool]) -> Any:
    if not options.keys() <= _OPTIONS or not _METHODS.isdisjoint(vars(cls)):
        return dataclasses.dataclass(**options)(cls)
    frozen, eq, slots = (options.get(name, name == "eq") for name in ("frozen", "eq", "slots"))
    # The standard library checks that frozen classes inherit only from frozen ones.
    above = frozen and any(vars(base)[_KNOWN].frozen for base in cls.__mro__ if _KNOWN in vars(base))
    cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise it would compute a signature, which is slow
    bare: dict[str, Any] = {**options, "init": False, "repr": False, "eq": False, "frozen": above}
    made: Any = dataclasses.dataclass(**bare)(cls)
    known = made.__dataclass_params__
    known.init, known.repr, known.eq, known.frozen = True, True, eq, frozen
    _give(made, _first_init(made, frozen=frozen, slots=slots), _repr(made))
    if eq:
        _give(made, *_comparison(made, hashed=frozen))
    if eq and not frozen:
        made.__hash__ = None
    if frozen and not above:
        _give(made, *_refusals(made), *(_state(made) if slots else ()))
    return made


def _give(cls: Any, *methods: Any) -> None:
    for method in methods:
        method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
        setattr(cls, method.__name__, method)


def _first_init(cls: Any, *, frozen: bool, slots: bool) -> Callable[..., None]:
    def __init__(self: Any, /, *values: Any, **named: Any) -> None:
        _give(cls, _init(cls, frozen=frozen, slots=slots))
        cls.__init__(self, *values, **named)

    return __init__


def _init(cls: Any, *, frozen: bool, slots: bool) -> Any:
    """The ``__init__`` the standard library would have generated."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_not_given": _NOT_GIVEN}
    taken: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(cls):
        default, factory, value = f"_default_{field.name}", f"_factory_{field.name}", field.name
        parameter = field.name
        if field.default is not dataclasses.MISSING:
            names[default], parameter = field.default, f"{field.name}={default}"
            value = field.name if field.init else default
        elif field.default_factory is not dataclasses.MISSING:
            names[factory], parameter = field.default_factory, f"{field.name}=_not_given"
            made = f"{factory}()"
            value = f"{made} if {field.name} is _not_given else {field.name}" if field.init else made
        if field.init:
            (by_name if field.kw_only else taken).append(parameter)
        elif value == field.name or (value == default and not slots):
            continue  # no value, or a class attribute
        body.append(f"_set(_self, {field.name!r}, {value})" if frozen else f"_self.{field.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("_self.__post_init__()")
    parameters = ", ".join(("_self", *taken, *(("*", *by_name) if by_name else ())))
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names)
    written = names["__init__"]
    written.__module__ = cls.__module__
    written.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init}
    written.__annotations__["return"] = None
    return written


def _repr(cls: Any) -> Any:
    shown = [field.name for field in dataclasses.fields(cls) if field.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({values})"

    return __repr__


def _comparison(cls: Any, *, hashed: bool) -> Iterable[Any]:
    compared = [field for field in dataclasses.fields(cls) if field.compare]
    values = _values([field.name for field in compared])

    def __eq__(self: Any, other: Any) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    yield __eq__
    if hashed:
        hash_of = [field.name for field in dataclasses.fields(cls) if _counts(field)]
        hashed_values = values if hash_of == [field.name for field in compared] else _values(hash_of)

        def __hash__(self: Any) -> int:
            return hash(hashed_values(self))

        yield __hash__


def _counts(field: dataclasses.Field[Any]) -> bool:
    return field.compare if field.hash is None else field.hash


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Gives the values of attributes, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _refusals(cls: Any) -> Iterable[Any]:
    names = {field.name for field in dataclasses.fields(cls)}

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _state(cls: Any) -> Iterable[Any]:
    """For copies of frozen objects, whose attributes cannot be set one by one."""

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

    return __getstate__, __setstate__
