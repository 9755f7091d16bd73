"""Builds turns from the records of a session log (spec 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from engine.startup.records import dataclass
from engine.transcripts.injected import strip_injected
from engine.transcripts.turn import Block, Role, Text, ToolCall, Turn


@dataclass(slots=True)
class TurnDraft:
    """A turn that may still grow."""

    role: Role
    day: str
    time: str
    kind: str
    blocks: list[Block] = field(default_factory=list)
    line: int = 0
    # Parts of the next text, joined only once: an agent's turn may span thousands of log lines.
    texts: list[str] = field(default_factory=list)

    def add(self, block: Block) -> None:
        """Add a block; consecutive texts become one."""
        if isinstance(block, Text):
            self.texts.append(block.text)
            return
        self.blocks += self._open_text()
        self.texts.clear()
        self.blocks.append(block)

    def turn(self) -> Turn:
        """The turn as it is now."""
        blocks = (*self.blocks, *self._open_text())
        return Turn(self.role, self.time, blocks, self.kind, self.line, self.day)

    def _open_text(self) -> list[Block]:
        return [Text("\n\n".join(self.texts))] if self.texts else []


class TurnBuilder:
    """Groups messages and tool calls into turns. Consecutive actions of the agent are one turn.

    ``finished`` is called with each turn that can no longer change. ``opened`` is called when a turn begins,
    after the previous one was finished; it returns the date (which can be empty) and time for the heading.
    ``ops`` is the number of messages and calls since ``begin``.
    """

    def __init__(self, finished: Callable[[Turn], None], opened: Callable[[], tuple[str, str]]) -> None:
        self._finished = finished
        self._opened = opened
        self._draft: TurnDraft | None = None
        self._pending: dict[str, tuple[int, ToolCall]] = {}
        self.ops = self._skip = 0

    def begin(self, skip: int = 0) -> None:
        """Start a record of the log, whose first ``skip`` messages and calls belong to finished turns."""
        self.ops, self._skip = 0, skip

    @property
    def current(self) -> Turn | None:
        """The last turn so far; it may still grow."""
        return self._draft.turn() if self._draft is not None else None

    @property
    def is_begun(self) -> bool:
        """Whether there is a turn."""
        return self._draft is not None

    def add_message(self, role: Role, blocks: Sequence[Block], kind: str = "") -> None:
        """Add a message. One by the user or the system opens a turn; the agent's may continue a turn."""
        self.ops += 1
        if self.ops <= self._skip:
            return
        kept = [block for block in map(_clean, blocks) if not isinstance(block, Text) or block.text.strip()]
        if not kept:
            return
        draft = self._turn_of(role, kind)
        for block in kept:
            draft.add(block)

    def append(self, *blocks: Block) -> None:
        """Append to the current turn, whatever its role."""
        if self._draft is not None:
            for block in blocks:
                self._draft.add(_clean(block))

    def add_call(self, call_id: str, name: str, summary: str, kind: str = "") -> None:
        """Add a tool call of the agent; its result may follow."""
        self.ops += 1
        if self.ops <= self._skip:
            return
        draft = self._turn_of("agent", kind)
        call = ToolCall(name, summary)
        draft.add(call)
        self._pending[call_id] = (len(draft.blocks) - 1, call)

    def is_open(self, role: Role, kind: str) -> bool:
        """Whether the current turn has this role and kind."""
        return self._draft is not None and (self._draft.role, self._draft.kind) == (role, kind)

    def pending_call(self, call_id: str) -> ToolCall | None:
        """The call of this turn with this id, if it has no result yet."""
        found = self._pending.get(call_id)
        return found[1] if found else None

    def set_result(self, call_id: str, result: str) -> None:
        """Set the result of a call of this turn; a result without a call is dropped."""
        found = self._pending.pop(call_id, None)
        if found is not None and self._draft is not None:
            place, call = found
            self._draft.blocks[place] = ToolCall(call.name, call.summary, result)

    def _turn_of(self, role: Role, kind: str) -> TurnDraft:
        draft = self._draft
        if draft is not None and role == draft.role == "agent" and kind == draft.kind:
            return draft
        if draft is not None:
            self._finished(draft.turn())
        self._pending.clear()
        self._draft = TurnDraft(role, *self._opened(), kind)
        return self._draft


def _clean(block: Block) -> Block:
    return Text(clean(block.text)) if isinstance(block, Text) else block


def clean(text: str) -> str:
    """Remove injected blocks, and blank lines at the edges."""
    return strip_injected(text.replace("\r\n", "\n")).strip("\ufeff\n").rstrip(" \t\n")
