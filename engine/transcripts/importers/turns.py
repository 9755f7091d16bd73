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
    # What becomes the next text: joined once, since an agent may go on for thousands of lines of its log.
    texts: list[str] = field(default_factory=list)

    def add(self, block: Block) -> None:
        """Go on with a block; texts that follow each other are one."""
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
    """Puts what was said and done in order. Whatever the agent does in a row is one turn.

    ``finished`` is called with each turn that can no longer change. ``opened`` is called when a turn begins,
    after the one before it was finished; it gives the date, which can be empty, and the time of its heading.
    ``ops`` is what was said and called since ``begin``.
    """

    def __init__(self, finished: Callable[[Turn], None], opened: Callable[[], tuple[str, str]]) -> None:
        self._finished = finished
        self._opened = opened
        self._draft: TurnDraft | None = None
        self._waiting: dict[str, tuple[int, ToolCall]] = {}
        self.ops = self._skip = 0

    def begin(self, skip: int = 0) -> None:
        """A record of the log begins.

        As much as ``skip`` of what it says and calls belongs to finished turns, and is passed over.
        """
        self.ops, self._skip = 0, skip

    @property
    def current(self) -> Turn | None:
        """The last turn as it is now; it may still grow."""
        return self._draft.turn() if self._draft is not None else None

    @property
    def is_begun(self) -> bool:
        """Whether there is a turn."""
        return self._draft is not None

    def say(self, role: Role, blocks: Sequence[Block], kind: str = "") -> None:
        """Add content. A user's or the system's opens a turn, the agent's goes on with the agent's turn."""
        self.ops += 1
        if self.ops <= self._skip:
            return
        kept = [block for block in map(_clean, blocks) if not isinstance(block, Text) or block.text.strip()]
        if not kept:
            return
        draft = self._turn_of(role, kind)
        for block in kept:
            draft.add(block)

    def add(self, *blocks: Block) -> None:
        """Add to the current turn, whatever its role."""
        if self._draft is not None:
            for block in blocks:
                self._draft.add(_clean(block))

    def call(self, call_id: str, name: str, summary: str, kind: str = "") -> None:
        """Add a tool call of the agent; its result may follow."""
        self.ops += 1
        if self.ops <= self._skip:
            return
        draft = self._turn_of("agent", kind)
        call = ToolCall(name, summary)
        draft.add(call)
        self._waiting[call_id] = (len(draft.blocks) - 1, call)

    def is_open(self, role: Role, kind: str) -> bool:
        """Whether the current turn is of a role and a kind."""
        return self._draft is not None and (self._draft.role, self._draft.kind) == (role, kind)

    def called(self, call_id: str) -> ToolCall | None:
        """The call of this turn that waits for the result ``call_id``."""
        found = self._waiting.get(call_id)
        return found[1] if found else None

    def result(self, call_id: str, result: str) -> None:
        """Add the result of a call of this turn; one that belongs to no such call is dropped."""
        found = self._waiting.pop(call_id, None)
        if found is not None and self._draft is not None:
            place, call = found
            self._draft.blocks[place] = ToolCall(call.name, call.summary, result)

    def _turn_of(self, role: Role, kind: str) -> TurnDraft:
        draft = self._draft
        if draft is not None and role == draft.role == "agent" and kind == draft.kind:
            return draft
        if draft is not None:
            self._finished(draft.turn())
        self._waiting.clear()
        self._draft = TurnDraft(role, *self._opened(), kind)
        return self._draft


def _clean(block: Block) -> Block:
    return Text(clean(block.text)) if isinstance(block, Text) else block


def clean(text: str) -> str:
    """A text as a turn holds it: nothing that was injected, no blank lines at its edges."""
    return strip_injected(text.replace("\r\n", "\n")).strip("\ufeff\n").rstrip(" \t\n")
