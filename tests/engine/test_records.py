"""``engine.startup.records.dataclass`` creates the same classes as the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest

import engine.startup.records
from tests.cases import each_case

DECORATORS: dict[str, Any] = {"library": dataclasses.dataclass, "ours": engine.startup.records.dataclass}
OPTIONS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "eq": False},
    {"eq": False},
    {"order": True},
]


def make_point(kind: str, **options: bool) -> Any:
    @DECORATORS[kind](**options)
    class Point:
        x: int
        y: float = 1.5
        names: list[str] = dataclasses.field(default_factory=list)
        secret: str = dataclasses.field(default="", repr=False, compare=False)
        tag: str = dataclasses.field(default="t", kw_only=True)

    return Point


def outcome(action: Callable[[], Any]) -> Any:
    """The result of an action, or the error it raises."""
    try:
        return action()
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


BUILDS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, 2.5, ["a"], "s"), {"tag": "z"}),
    ((), {"x": 1, "y": float("nan")}),
    ((), {}),
    ((1, 2, 3, 4, 5), {}),
    ((1,), {"x": 2}),
    ((1,), {"other": 2}),
]


@each_case("options", OPTIONS)
def test_a_class_behaves_like_the_librarys(options: dict[str, bool]) -> None:
    theirs, ours = make_point("library", **options), make_point("ours", **options)
    assert [field.name for field in dataclasses.fields(ours)] == ["x", "y", "names", "secret", "tag"]
    assert ours.__match_args__ == theirs.__match_args__
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)
    for values, named in BUILDS:
        found = [outcome(lambda: repr(cls(*values, **named))) for cls in (theirs, ours)]  # noqa: B023
        assert found[0] == found[1], (values, named)
    for cls in (theirs, ours):
        assert cls(x=1).names is not cls(x=1).names
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"x": 1}, {"x": 1}),
        ({"x": 1}, {"x": 2}),
        ({"x": 1}, {"x": 1, "secret": "s"}),
    ]
    for one, other in pairs:
        assert (ours(**one) == ours(**other)) == (theirs(**one) == theirs(**other))
    assert ours(x=1) != theirs(x=1)
    assert dataclasses.asdict(ours(x=1)) == dataclasses.asdict(theirs(x=1))


@each_case("options", OPTIONS)
def test_setting_and_hashing_behave_like_the_librarys(options: dict[str, bool]) -> None:
    found = []
    for kind in DECORATORS:
        point = make_point(kind, **options)(x=1)
        results = [
            outcome(lambda: setattr(point, "x", 2)),  # noqa: B023
            outcome(lambda: delattr(point, "y")),  # noqa: B023
            outcome(lambda: setattr(point, "new", 2)) is None,  # noqa: B023
            type(point).__hash__ is None,
        ]
        found.append(results)
    assert found[0] == found[1]


def test_frozen_objects_with_hashable_values_hash_and_replace() -> None:
    @engine.startup.records.dataclass(frozen=True, slots=True)
    class Pair:
        a: int
        b: tuple[int, ...] = ()

    assert hash(Pair(1, (2,))) == hash((1, (2,))) == hash(Pair(1, (2,)))
    assert {Pair(1): "found"}[Pair(1)] == "found"
    assert dataclasses.replace(Pair(1), b=(3,)) == Pair(1, (3,))
    assert copy.copy(Pair(1)) == Pair(1) and copy.deepcopy(Pair(1, (2,))) == Pair(1, (2,))
    match Pair(4, ()):
        case Pair(number, ()):
            assert number == 4


@engine.startup.records.dataclass(frozen=True, slots=True)
class Module:
    """At module level, so that it can be pickled."""

    name: str
    size: int = 0


def test_instances_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Module("a", 2))) == Module("a", 2)
    assert repr(Module("a")) == "Module(name='a', size=0)"


def test_classes_with_one_field_or_none_work() -> None:
    @engine.startup.records.dataclass(frozen=True)
    class One:
        only: float

    @engine.startup.records.dataclass(frozen=True)
    class Empty:
        pass

    nan = float("nan")
    assert One(nan) == One(nan), "as in tuples, an object equals itself"
    assert hash(One(2.0)) == hash((2.0,)) and Empty() == Empty() and hash(Empty()) == hash(())
    assert Empty.__doc__


@each_case("kind", list(DECORATORS))
def test_inheritance_works(kind: str) -> None:
    dataclass = DECORATORS[kind]

    @dataclass(frozen=True)
    class Base:
        a: int = 1

        def __post_init__(self) -> None:
            seen.append(self.a)

    @dataclass(frozen=True)
    class Derived(Base):
        b: int = 2

        @cached_property
        def total(self) -> int:
            return self.a + self.b

    class Plain(Derived):
        pass

    seen: list[int] = []
    assert repr(Derived(3)).endswith("Derived(a=3, b=2)") and Derived(3).total == 5
    assert Base(1) != Derived(1) and Derived(1) == Derived(1)
    assert seen == [3, 3, 1, 1, 1, 1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived(1).a = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Plain(1).a = 2
    Plain(1).more = 2  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        dataclass(type("Loose", (Base,), {}))


@each_case("kind", list(DECORATORS))
def test_methods_defined_in_the_class_are_kept(kind: str) -> None:
    dataclass = DECORATORS[kind]

    @dataclass
    class Own:
        a: int = 1

        def __repr__(self) -> str:
            return "own"

    @dataclass(slots=True)
    class Inner:
        a: int = 1
        b: int = dataclasses.field(default=7, init=False)
        c: list[int] = dataclasses.field(default_factory=list, init=False)

    assert repr(Own(2)) == "own" and Own(2) == Own(2) and Own(2).a == 2
    assert (Inner().b, Inner().c) == (7, []) and Inner().c is not Inner().c
    with pytest.raises(TypeError):
        Inner(1, 2)  # type: ignore[call-arg]


def test_a_recursive_object_has_a_repr() -> None:
    @engine.startup.records.dataclass
    class Node:
        inner: Any = None

    node = Node()
    node.inner = node
    assert repr(node).endswith("Node(inner=...)")


def test_several_threads_can_create_the_first_instances() -> None:
    for _ in range(20):
        cls = make_point("ours", frozen=True, slots=True)
        built: list[Any] = []
        start = threading.Barrier(4)

        def build(cls: Any = cls, built: list[Any] = built, start: threading.Barrier = start) -> None:
            start.wait()
            built.append(cls(1))

        threads = [threading.Thread(target=build) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(built) == 4 and len({repr(point) for point in built}) == 1


def test_nothing_is_compiled_before_the_first_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "compile" and watching:
            compiled.append(arguments[0])

    watching = False
    sys.addaudithook(hook)
    watching = True
    cls = make_point("ours", frozen=True, slots=True)
    before = len(compiled)
    cls(1)
    after = len(compiled)
    cls(2)
    watching = False
    assert (before, after, len(compiled)) == (0, 1, 1)
