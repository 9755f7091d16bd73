"""Reads the session logs of Claude Code (JSONL, one object per event)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from engine.transcripts.brief import one_line
from engine.transcripts.importers.claude_prompts import PromptReader, open_places
from engine.transcripts.importers.claude_records import (
    answers_of,
    attachment_of,
    command_of,
    content_of,
    edited_plan,
    feedback_of,
    is_approval,
    is_plan,
    message_text,
    plan_of,
    rejection_reason,
    result_text,
    sender_of,
    split_interruptions,
    typed_text,
)
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import (
    START,
    Checkpoint,
    number_of,
    object_of,
    program_in,
    text_of,
)
from engine.transcripts.importers.tools import (
    is_persons_rejection,
    is_shortened,
    result_of,
    summary_of,
)
from engine.transcripts.injected import notice_in
from engine.transcripts.turn import ANSWER, COMMAND, CORRECTION, PLAN, Block, Text, Turn

_QUESTION_TAG = "qu"
_QUESTION = "AskUserQuestion"
_INTERVENING_TYPES = frozenset({"attachment", "progress", "system"})
_EMPTY_REPLIES = frozenset({"(no content)", "No response requested."})
_SYNTHETIC = "<synthetic>"
_SAYS_DENIALS = [2, 1, 205]


def _says_denials(version: str) -> bool:
    """Whether a version of Claude Code records every call that the person rejected as such."""
    parts = version.split(".")
    return all(part.isdecimal() for part in parts) and [*map(int, parts)] >= _SAYS_DENIALS


def looks_like(record: Record) -> bool:
    """Whether Claude Code wrote a record."""
    kind = text_of(record, "type")
    return kind == "file-history-snapshot" or bool(kind and record.keys() & {"sessionId", "leafUuid"})


class ClaudeCodeReader(PromptReader):
    """Keeps dialogue and tool calls; leaves out thinking, side chains and injected context.

    Everything the user writes becomes a user turn: prompts, commands, messages typed while the agent was
    working, reasons for rejecting a call or a plan, and answers to questions.
    """

    memory_bytes = 256 * 1024  # duplicates come from concurrent writers, so they are close together

    def __init__(self, finished: Callable[[Turn], None], since: Checkpoint = START) -> None:
        super().__init__(finished, since)
        self._recent: deque[tuple[int, str]] = deque()
        self._seen: dict[str, int] = {}
        self._called: dict[str, tuple[int, str]] = {}  # the offset and the tool of recent calls, by id
        # Unanswered calls that ask the user something, by id: the tool and the offset of the call's line.
        self._open_questions: dict[str, tuple[str, int]] = {}
        self._command: tuple[str, datetime | None] | None = None

    def remember(self, record: Record, offset: int) -> None:
        uuid = text_of(record, "uuid")
        if uuid and (record.get("type") not in ("user", "assistant") or content_of(record)):
            self._seen[uuid] = offset
            self._recent.append((offset, uuid))
        while self._recent and self._recent[0][0] < offset - self.memory_bytes:
            seen_at, old = self._recent.popleft()
            if self._seen.get(old) == seen_at:
                del self._seen[old]
        for part in content_of(record) if record.get("type") == "assistant" else ():
            if text_of(part, "type") == "tool_use":
                self._called[text_of(part, "id")] = offset, text_of(part, "name")
        while self._called and next(iter(self._called.values()))[0] < offset - self.memory_bytes:
            del self._called[next(iter(self._called))]

    def resume(self, read: Callable[[int], Iterable[Record]]) -> None:
        """Restore the queued messages and the unanswered questions."""
        super().resume(read)
        for tag, offset in open_places(self._since):
            for record in read(offset) if tag == _QUESTION_TAG else ():
                for part in content_of(record) if record.get("type") == "assistant" else ():
                    self._note_question(part, offset)

    def _open(self) -> str:
        if not self._open_questions:
            return super()._open()
        asked = sorted({offset for _, offset in self._open_questions.values()})
        return ",".join((*filter(None, [super()._open()]), *(f"{_QUESTION_TAG}{offset}" for offset in asked)))

    def _knows(self, uuid: str) -> bool:
        return self._seen.get(uuid, -self.memory_bytes - 1) >= self._offset - self.memory_bytes

    def _handle(self, record: Record) -> None:
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
        if program_in(self.cwd):
            self._queue.clear()
            self._leave_out("sub-agents")
            return
        match record.get("type"):
            case "user":
                self._user_record(record)
            case "assistant":
                self._assistant_record(record)
            case "attachment":
                self._queued_attachment(record.get("attachment"))
            case "queue-operation":
                self._queue_operation(record)
            case "system" if text_of(record, "subtype") == "local_command":
                self._local_command(record)
            case "custom-title":
                self._set_topic(text_of(record, "customTitle"), by_user=True)
            case "ai-title":
                self._set_topic(text_of(record, "aiTitle"))
            case "summary" if self._knows(text_of(record, "leafUuid")):
                # A summary at the top of a log often describes another session: its leaf is not in this file.
                self._set_topic(text_of(record, "summary"))
            case _:
                self._leave_out("system-records")
        if (
            self._command
            and record.get("type") in _INTERVENING_TYPES
            and text_of(record, "parentUuid") == self._command[0]
        ):
            self._command = (text_of(record, "uuid"), self._command[1])

    def _set_topic(self, topic: str, *, by_user: bool = False) -> None:
        if topic.strip() and (by_user or not self.renamed):
            self.topic, self.renamed = topic, by_user

    def _user_record(self, record: Record) -> None:
        content = content_of(record)
        results = [part for part in content if part.get("type") == "tool_result"]
        blocks: list[Block] = []
        for part in content:
            if part.get("type") == "text":
                blocks.append(Text(text_of(part, "text")))
            elif part.get("type") in ("image", "document"):
                blocks.append(attachment_of(part))
                self._leave_out("images")
        replies = [self._tool_result(record, part) for part in results]
        for kind, reply in filter(None, replies):
            self._add_user_turn([Text(reply)], kind)
        text = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
        self._queue.left_by_program(text)
        if self._is_expansion(record):
            self.turns.append(*blocks)
        elif not blocks:
            return
        elif record.get("isMeta") is True:
            self._leave_out("injected")
        elif record.get("isCompactSummary") is True or (notice := notice_in(text)) == "summary":
            self._compacted()
            self.turns.add_message("system", blocks, "summary")
        elif plan := text_of(record, "planContent"):
            self._approved_plan(plan, feedback_of(text, plan))
        elif (sender := sender_of(record)) == "program":
            self._leave_out("injected")
        elif sender == "other" or notice is not None:
            self.turns.add_message("system", blocks)
        else:
            self._handle_prompt(record, text, [block for block in blocks if not isinstance(block, Text)])

    def _approved_plan(self, plan: str, feedback: str) -> None:
        """Add the agent's plan, with which Claude Code begins a new session, and the person's words on it."""
        self.question = self.question or plan
        self.turns.add_message("agent", [Text(plan)], PLAN)
        self._add_user_turn([Text(feedback)], CORRECTION)

    def _handle_prompt(self, record: Record, text: str, others: list[Block]) -> None:
        """Add what the user entered; ``others`` are the record's other blocks."""
        command = command_of(text)
        if command is not None:
            self._command = (text_of(record, "uuid"), self.last)
            typed, kind = command.typed, COMMAND
            others = [Text(command.rest), *others]
        else:
            marks, rest = split_interruptions(text)
            for mark in marks:
                self.turns.add_message("system", [Text(mark)])
            typed = typed_text(rest).strip()
            kind = CORRECTION if marks else self._kind_of(typed)
            if typed != text.strip() and not marks:
                self._leave_out("injected")
            self._open_questions.clear()
        if typed or others:
            self._add_prompt(typed, others, kind, is_question=command is None or command.has_arguments)

    def _is_expansion(self, record: Record) -> bool:
        """Whether a record is the expansion of the preceding command."""
        if self._command is None or not self.turns.is_open("user", COMMAND):
            return False
        uuid, at = self._command
        if not uuid or text_of(record, "parentUuid") != uuid or command_of(message_text(record)):
            return False
        # The first versions do not mark it, but nobody types that fast.
        is_instant = at is not None and self.last is not None and (self.last - at).total_seconds() < 1
        return bool(typed_text(message_text(record)).strip()) and (record.get("isMeta") is True or is_instant)

    def _local_command(self, record: Record) -> None:
        command = command_of(text_of(record, "content"))
        if command is None:
            self._leave_out("system-records")
        else:
            self._add_prompt(command.typed, [], COMMAND, is_question=command.has_arguments)

    def _assistant_record(self, record: Record) -> None:
        message = record.get("message")
        model = text_of(message, "model")
        if record.get("isApiErrorMessage") is True:
            self.turns.add_message("system", [Text(message_text(record))], "error")
            return
        if model != _SYNTHETIC:
            self.model = self.model or model
        for part in content_of(record):
            kind = text_of(part, "type")
            if kind == "text":
                text = text_of(part, "text")
                if text.strip() not in _EMPTY_REPLIES:
                    self.turns.add_message("agent", [Text(text)])
            elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                self._tool_call(part)
            elif kind.endswith("tool_result"):
                self._tool_result(record, part)
            elif kind in ("image", "document"):
                self.turns.add_message("agent", [attachment_of(part)])
                self._leave_out("images")
            elif kind.endswith("thinking"):
                self._leave_out("thinking")
        self.acted = self.acted or self.turns.ops > 0
        self._count_tokens(message)

    def _tool_call(self, part: Record) -> None:
        name = one_line(text_of(part, "name"), 80) or "tool"
        arguments = part.get("input")
        self._note_question(part, self._offset)
        plan = text_of(arguments, "plan") if is_plan(name) else ""
        if plan:
            self.turns.add_message("agent", [Text(plan)], PLAN)
        summary = "" if plan else summary_of(name, arguments)
        self.turns.add_call(text_of(part, "id"), name, summary, PLAN if is_plan(name) else "")

    def _note_question(self, part: Record, offset: int) -> None:
        name = text_of(part, "name")
        if text_of(part, "type") == "tool_use" and (is_plan(name) or name == _QUESTION):
            self._open_questions[text_of(part, "id")] = (name, offset)

    def _tool_result(self, record: Record, part: Record) -> tuple[str, str] | None:
        """Attach a result to its call.

        Returns:
            The kind and text of the user turn that the result contains, if any.
        """
        call_id = text_of(part, "tool_use_id")
        text = result_text(part.get("content"))
        data = record.get("toolUseResult")
        asked, _ = self._open_questions.pop(call_id, ("", 0))
        denial = text_of(record, "toolDenialKind")
        failed = part.get("is_error") is True
        is_approved = is_plan(asked) and is_approval(text)
        call = self.turns.pending_call(call_id)
        # A message of the person's may stand between a call and its result.
        name = call.name if call is not None else asked or self._called.get(call_id, (0, ""))[1]
        is_rejected = (failed or bool(denial)) and is_persons_rejection(
            name,
            text,
            failed=failed,
            denial=denial,
            says_denials=_says_denials(text_of(record, "version")),
        )
        if call is not None:
            outcome = "rejected by the user" if is_rejected else result_of(name, text, failed=failed)
            self.turns.set_result(call_id, "approved by the user" if is_approved else outcome)
        self._leave_out("tool-output", not (is_rejected or is_approved) and is_shortened(text))
        if is_approved:
            current = self.turns.current
            if current is not None and current.kind == PLAN and not current.text:
                self.turns.append(Text(plan_of(text, data)))
            edited = edited_plan(text, data)  # most of it is what the agent had proposed
            return (PLAN, edited) if edited else None
        reason = rejection_reason(text) if is_rejected else ""
        if reason:
            return CORRECTION, reason
        answers = answers_of(text, data, is_rejected=is_rejected) if asked == _QUESTION else ""
        return (ANSWER, answers) if answers else None

    def _count_tokens(self, message: Any) -> None:
        """Add a reply's usage. Each line of a reply repeats it, and only the last has the final figures."""
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
