"""Reads the session logs of Claude Code (JSONL, one object per event)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from engine.transcripts.brief import one_line
from engine.transcripts.importers.claude_said import (
    answers_of,
    attachment_of,
    command_of,
    content_of,
    edited_plan,
    interruptions,
    is_approval,
    is_plan,
    plan_of,
    result_text,
    sender_of,
    text_in,
    typed_of,
    words_of_rejection,
)
from engine.transcripts.importers.claude_typed import TypedAheadReader, still_open
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import (
    START,
    Checkpoint,
    number_of,
    object_of,
    text_of,
)
from engine.transcripts.importers.tools import is_rejection, is_shortened, result_of, summary_of
from engine.transcripts.injected import strip_injected
from engine.transcripts.turn import ANSWER, COMMAND, CORRECTION, PLAN, Block, Text, Turn

_TAG = "qu"
_QUESTION = "AskUserQuestion"
_BETWEEN = frozenset({"attachment", "progress", "system"})
_CONTINUED = "This session is being continued from a previous conversation"
_EMPTY_REPLIES = frozenset({"(no content)", "No response requested."})
_SYNTHETIC = "<synthetic>"


def looks_like(record: Record) -> bool:
    """Whether a record is one of Claude Code's."""
    return "sessionId" in record or "leafUuid" in record or record.get("type") == "file-history-snapshot"


class ClaudeCodeReader(TypedAheadReader):
    """Takes dialogue and tool calls; leaves out thinking, side chains and what the program told the model.

    Every word of the person becomes a turn of theirs: prompts, commands, messages typed while the agent was
    at work, the words with which a call or a plan was rejected, and answers to questions.
    """

    memory_bytes = 256 * 1024  # repeated records come from colliding writers, so they are near

    def __init__(self, finished: Callable[[Turn], None], since: Checkpoint = START) -> None:
        super().__init__(finished, since)
        self._recent: deque[tuple[int, str]] = deque()
        self._seen: dict[str, int] = {}
        # Calls that ask the person something, by id: the tool, and the line that has the call.
        self._asked: dict[str, tuple[str, int]] = {}
        self._command: tuple[str, datetime | None] | None = None

    def remember(self, record: Record, offset: int) -> None:
        """Take note of a record's id."""
        uuid = text_of(record, "uuid")
        if uuid:
            self._seen[uuid] = offset
            self._recent.append((offset, uuid))
        while self._recent and self._recent[0][0] < offset - self.memory_bytes:
            place, old = self._recent.popleft()
            if self._seen.get(old) == place:
                del self._seen[old]

    def resume(self, read: Callable[[int], Iterable[Record]]) -> None:
        """Resume the messages that wait, and the questions without an answer."""
        super().resume(read)
        for tag, offset in still_open(self._since):
            for record in read(offset) if tag == _TAG else ():
                for part in content_of(record) if record.get("type") == "assistant" else ():
                    self._note_question(part, offset)

    def _open(self) -> str:
        if not self._asked:
            return super()._open()
        asked = sorted({offset for _, offset in self._asked.values()})
        return ",".join((*filter(None, [super()._open()]), *(f"{_TAG}{offset}" for offset in asked)))

    def _knows(self, uuid: str) -> bool:
        return self._seen.get(uuid, -self.memory_bytes - 1) >= self._offset - self.memory_bytes

    def _take(self, record: Record) -> None:
        is_repeated = self._knows(text_of(record, "uuid"))
        self.remember(record, self._offset)
        if is_repeated:
            self._leave_out("repeated-records")
            return
        if record.get("isSidechain") is True:
            self._leave_out("sub-agents")
            return
        self.session_id = self.session_id or text_of(record, "sessionId")
        self.cwd = self.cwd or text_of(record, "cwd")
        match record.get("type"):
            case "user":
                self._user(record)
            case "assistant":
                self._assistant(record)
            case "attachment":
                self._attached(record.get("attachment"))
            case "queue-operation":
                self._moved(record)
            case "system" if text_of(record, "subtype") == "local_command":
                self._local_command(record)
            case "custom-title":
                self._name(text_of(record, "customTitle"), by_person=True)
            case "ai-title":
                self._name(text_of(record, "aiTitle"))
            case "summary" if self._knows(text_of(record, "leafUuid")):
                # A summary at the top of a log often describes another session: its leaf is not in this file.
                self._name(text_of(record, "summary"))
            case _:
                self._leave_out("system-records")
        if (
            self._command
            and record.get("type") in _BETWEEN
            and text_of(record, "parentUuid") == self._command[0]
        ):
            self._command = (text_of(record, "uuid"), self._command[1])

    def _name(self, topic: str, *, by_person: bool = False) -> None:
        if topic.strip() and (by_person or not self.renamed):
            self.topic, self.renamed = topic, by_person

    def _user(self, record: Record) -> None:
        content = content_of(record)
        results = [part for part in content if part.get("type") == "tool_result"]
        blocks: list[Block] = []
        for part in content:
            if part.get("type") == "text":
                blocks.append(Text(text_of(part, "text")))
            elif part.get("type") in ("image", "document"):
                blocks.append(attachment_of(part))
                self._leave_out("images")
        heard = [self._result(record, part) for part in results]
        for kind, words in filter(None, heard):
            self._say([Text(words)], kind)
        text = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
        if self._is_expansion(record):
            self.turns.add(*blocks)
        elif not blocks:
            return
        elif record.get("isMeta") is True:
            self._leave_out("injected")
        elif record.get("isCompactSummary") is True or text.startswith(_CONTINUED):
            self.turns.say("system", blocks, "summary")
        elif (sender := sender_of(record)) == "program":
            self._leave_out("injected")
        elif sender == "other":
            self.turns.say("system", blocks)
        else:
            self._prompt(record, text, [block for block in blocks if not isinstance(block, Text)])

    def _prompt(self, record: Record, text: str, others: list[Block]) -> None:
        """What a person entered, with what else stands in the record."""
        command = command_of(text)
        if command is not None:
            self._command = (text_of(record, "uuid"), self.last)
            typed, kind = command.typed, COMMAND
            others = [Text(command.rest), *others]
        else:
            marks, words = interruptions(text)
            for mark in marks:
                self.turns.say("system", [Text(mark)])
            typed = strip_injected(typed_of(words)).strip()
            kind = CORRECTION if marks else self._kind_of(typed)
            if typed != text.strip() and not marks:
                self._leave_out("injected")
            self._asked.clear()
        if typed or others:
            self._heard(typed, others, kind, has_words=command is None or command.has_arguments)

    def _is_expansion(self, record: Record) -> bool:
        """Whether a record is what the command before it expands to."""
        if self._command is None or not self.turns.is_open("user", COMMAND):
            return False
        uuid, at = self._command
        if not uuid or text_of(record, "parentUuid") != uuid or command_of(text_in(record)):
            return False
        # The first versions did not mark it: nobody types that fast.
        is_instant = at is not None and self.last is not None and (self.last - at).total_seconds() < 1
        return bool(typed_of(text_in(record)).strip()) and (record.get("isMeta") is True or is_instant)

    def _local_command(self, record: Record) -> None:
        command = command_of(text_of(record, "content"))
        if command is None:
            self._leave_out("system-records")
        else:
            self._heard(command.typed, [], COMMAND, has_words=command.has_arguments)

    def _assistant(self, record: Record) -> None:
        message = record.get("message")
        model = text_of(message, "model")
        if record.get("isApiErrorMessage") is True:
            self.turns.say("system", [Text(text_in(record))], "error")
            return
        if model != _SYNTHETIC:
            self.model = self.model or model
        for part in content_of(record):
            kind = text_of(part, "type")
            if kind == "text":
                text = text_of(part, "text")
                if text.strip() not in _EMPTY_REPLIES:
                    self.turns.say("agent", [Text(text)])
            elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                self._call(part)
            elif kind.endswith("tool_result"):
                self._result(record, part)
            elif kind in ("image", "document"):
                self.turns.say("agent", [attachment_of(part)])
                self._leave_out("images")
            elif kind.endswith("thinking"):
                self._leave_out("thinking")
        self.acted = self.acted or self.turns.ops > 0
        self._count(message)

    def _call(self, part: Record) -> None:
        name = one_line(text_of(part, "name"), 80) or "tool"
        arguments = part.get("input")
        self._note_question(part, self._offset)
        plan = text_of(arguments, "plan") if is_plan(name) else ""
        if plan:
            self.turns.say("agent", [Text(plan)], PLAN)
        summary = "" if plan else summary_of(name, arguments)
        self.turns.call(text_of(part, "id"), name, summary, PLAN if is_plan(name) else "")

    def _note_question(self, part: Record, offset: int) -> None:
        name = text_of(part, "name")
        if text_of(part, "type") == "tool_use" and (is_plan(name) or name == _QUESTION):
            self._asked[text_of(part, "id")] = (name, offset)

    def _result(self, record: Record, part: Record) -> tuple[str, str] | None:
        """Puts what came of a call beside it.

        Returns:
            What the person said in it, after the kind of turn that this is.
        """
        call_id = text_of(part, "tool_use_id")
        text = result_text(part.get("content"))
        data = record.get("toolUseResult")
        asked, _ = self._asked.pop(call_id, ("", 0))
        is_denied = text_of(record, "toolDenialKind") == "user-rejected"
        failed = part.get("is_error") is True
        is_rejected = (failed or is_denied) and is_rejection(text)
        is_approved = is_plan(asked) and is_approval(text)
        call = self.turns.called(call_id)
        if call is not None:
            outcome = "approved by the user" if is_approved else result_of(call.name, text, failed=failed)
            self.turns.result(call_id, outcome)
        self._leave_out("tool-output", not (is_rejected or is_approved) and is_shortened(text))
        if is_approved:
            current = self.turns.current
            if current is not None and current.kind == PLAN and not current.text:
                self.turns.add(Text(plan_of(text, data)))
            edited = edited_plan(text, data)
            return (CORRECTION, edited) if edited else None
        words = words_of_rejection(text) if is_rejected else ""
        if words:
            return CORRECTION, words
        answers = answers_of(text, data, is_rejected=is_rejected) if asked == _QUESTION else ""
        return (ANSWER, answers) if answers else None

    def _count(self, message: Any) -> None:
        """One reply is logged in several lines that repeat its usage, the last one with the final figures."""
        usage, message_id = object_of(message, "usage"), text_of(message, "id")
        if not usage or not message_id:
            return
        sent = sum(
            number_of(usage, key)
            for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        received = number_of(usage, "output_tokens")
        reply, reply_in, reply_out = self._reply
        if reply != message_id:
            reply_in = reply_out = 0
        self.tokens_in += sent - reply_in
        self.tokens_out += received - reply_out
        self._reply = (message_id, sent, received)
