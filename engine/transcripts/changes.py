"""The memory operations of a session, as its header lists them when it has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.transcripts.brief import one_line
from engine.transcripts.format import parse
from engine.transcripts.turn import KnowledgeChange

_MOST_BYTES = 8 * 1024


def changes_field(changes: Iterable[KnowledgeChange | Mapping[str, str]], data: bytes) -> dict[str, object]:
    """The header fields: as many changes as a header takes; the rest is counted, and stands in the turns.

    The memory turns of ``data`` are listed when there are no ``changes``.
    """
    listed = [_fields(change) for change in changes]
    if not listed:
        blocks = (block for turn in parse(data, "").turns for block in turn.blocks)
        listed = [_fields(block) for block in blocks if isinstance(block, KnowledgeChange)]
    kept: list[dict[str, str]] = []
    size = 0
    for change in listed:
        size += 24 + sum(
            len(key) + len(value.encode("utf-8", "replace")) + 8 for key, value in change.items()
        )
        if size > _MOST_BYTES:
            return {"knowledge_changes": kept, "knowledge_changes_left_out": len(listed) - len(kept)}
        kept.append(change)
    return {"knowledge_changes": kept} if kept else {}


def _fields(change: KnowledgeChange | Mapping[str, str]) -> dict[str, str]:
    if isinstance(change, KnowledgeChange):
        change = {"path": change.path, "action": change.action, "summary": change.summary}
    return {key: one_line(str(value)) for key, value in change.items() if value}
