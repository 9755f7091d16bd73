"""What a harvest has found in one conversation, as its journal keeps it until it is written (design 6.2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from engine.knowledge.edit import Edit
from engine.knowledge.ledger import LedgerEntry, entry_of
from engine.knowledge.ledger import tree_of as ledger_tree
from engine.knowledge.review import Waiting, tree_of, waiting_of
from engine.store.typed import typed


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be written."""

    sha256: str  # of the conversation's bytes
    path: str  # workspace-relative
    entry: LedgerEntry  # without its lines, which are known only once they are written
    edits: tuple[Edit, ...]
    waiting: tuple[Waiting, ...]  # what is put up for review


def encoded(finding: Finding) -> bytes:
    """A finding as its journal holds it."""
    tree = {
        "sha256": finding.sha256,
        "path": finding.path,
        "entry": ledger_tree(finding.entry),
        **work_tree(finding.edits, finding.waiting),
    }
    return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> Finding | None:
    """The finding in a journal; ``None`` if it holds none."""
    try:
        tree = json.loads(data)
        if not isinstance(tree["sha256"], str) or not isinstance(tree["path"], str):
            return None
        return Finding(tree["sha256"], tree["path"], entry_of(tree["entry"]), *work_of(tree))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def work_tree(edits: Iterable[Edit], waiting: Iterable[Waiting]) -> dict[str, Any]:
    """What is to be written and put up, as a journal holds it."""
    return {"edits": [asdict(edit) for edit in edits], "waiting": [tree_of(each) for each in waiting]}


def work_of(tree: Mapping[str, Any]) -> tuple[tuple[Edit, ...], tuple[Waiting, ...]]:
    """What a journal says is to be written and put up.

    Raises:
        KeyError, ValueError, TypeError: It holds neither.
    """
    waiting = [waiting_of(each) for each in tree["waiting"]]
    if None in waiting:
        raise ValueError("what waits is damaged")
    return tuple(typed(Edit, each) for each in tree["edits"]), cast("tuple[Waiting, ...]", tuple(waiting))
