"""What is to be written and put up for review, as its journal keeps it until that is done (design 6.2)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from engine.knowledge.edit import Edit
from engine.knowledge.review import Waiting, tree_of, waiting_of
from engine.store.typed import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What came of one conversation; what it is about is for those who make it to add."""

    edits: tuple[Edit, ...]
    waiting: tuple[Waiting, ...] = ()  # what is put up for review


W = TypeVar("W", bound=Work)


def encoded(work: Work) -> bytes:
    """Some work as its journal holds it."""
    tree = asdict(work) | {"waiting": [tree_of(each) for each in work.waiting]}
    return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")


def decoded(kind: type[W], data: bytes) -> W | None:
    """The work in a journal; ``None`` if it holds none."""
    try:
        tree = json.loads(data)
        waiting = tuple(waiting_of(each) for each in tree.pop("waiting"))
        work = typed(kind, tree)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    known = tuple(each for each in waiting if each is not None)
    return replace(work, waiting=known) if known == waiting else None
