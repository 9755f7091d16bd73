"""Reads the session logs of Codex (JSONL, one ``{timestamp, type, payload}`` per event).

The log of a forked session begins with the records of its parent, which say the same under other times. Only
the parent's log tells where the copy ends, so without it nothing counts as copied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from engine.errors import ImportFailed
from engine.startup.lazy import expression
from engine.transcripts.brief import one_line
from engine.transcripts.corrections import is_correction
from engine.transcripts.importers.claude_records import answer_of
from engine.transcripts.importers.lines import Record, opened, read_lines
from engine.transcripts.importers.session import (
    START,
    Checkpoint,
    SessionReader,
    json_in,
    list_of,
    number_of,
    object_of,
    text_of,
)
from engine.transcripts.importers.tools import command_line, is_shortened, result_of, summary_of
from engine.transcripts.injected import is_init, notice_in, prompt_in, without_context
from engine.transcripts.turn import ANSWER, COMMAND, CORRECTION, PLAN, Attachment, Block, Text, Turn

_CHUNK = 1024 * 1024
_LONGEST_MARK = 256
_DIALOGUE = expression(rb'"type"\s*:\s*"(?:user_message|UserMessage)"')
_INSTRUCTIONS = expression(
    r"\s*(?:# AGENTS\.md instructions for (?:[/~]|[A-Za-z]:)[^\n]*\n.*"
    r"|(?:# AGENTS\.md instructions\s*)?<INSTRUCTIONS>.*</INSTRUCTIONS>|<skill>.*</skill>)\s*",
    re.DOTALL,
)
_IMAGE_MARK = expression(r"</image>|<image(?: name=[^>\n]*)?>")
_EXIT_CODE = expression(r"^(?:Process exited with code|Exit code:)\s*(-?\d+)", re.MULTILINE)
_OUTPUT = expression(r"^Output:\n", re.MULTILINE)
_REJECTED = expression(r"\s*(?:(?:exec command|patch|apply_patch|command) )?rejected by user\.?\s*")
_PLAN = expression(r"<proposed_plan>\s*(.*?)\s*</proposed_plan>", re.DOTALL)
_SHELL = expression(
    r"\s*<user_shell_command>\s*<command>(.*?)</command>.*</user_shell_command>\s*", re.DOTALL
)
_NOTE = "user_note: "
_QUESTION = "request_user_input"
_WAS_REJECTED = "rejected"
_CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"}
)

_LOGS, _ARCHIVE = "sessions", "archived_sessions"


def looks_like(record: Record) -> bool:
    """Whether Codex wrote a record, in its current or its first format."""
    return "payload" in record or ("id" in record and "instructions" in record)


def dialogue_is_in_events(stream: BinaryIO) -> bool:
    """Whether a log records the dialogue as events.

    If so, the response items repeat it, mixed with injected context and the model's own summaries of the
    session. Events are messages or, where the history is paginated, completed items, never both. Logs of the
    first versions have only response items, and others have events of the agent alone, so that the person's
    words tell. The first event can be megabytes into the log, behind images.
    """
    stream.seek(0)
    edge = b""  # a mark can span two chunks
    while chunk := stream.read(_CHUNK):
        if _DIALOGUE.search(edge + chunk):
            return True
        edge = chunk[-_LONGEST_MARK:]
    return False


class CodexReader(SessionReader):
    """Keeps dialogue and tool calls; leaves out reasoning, instructions and injected context.

    ``finished`` is called with each turn that can no longer change. ``by_events`` reads the dialogue from
    events instead of response items. A fork begins with a copy of its parent's records, whose fingerprints
    are ``parents``.
    """

    def __init__(
        self,
        finished: Callable[[Turn], None],
        since: Checkpoint = START,
        *,
        by_events: bool = True,
        parents: Iterable[int] = (),
    ) -> None:
        super().__init__(finished, since)
        self._by_events = by_events
        self._parents: Iterator[int] | None = iter(parents) if parents else None

        # Unanswered questions by call id: the offset of the call's line, and the questions by their id.
        self._open_questions: dict[str, tuple[int, dict[str, str]]] = {}
        self._plan, self._plan_at = "", 0
        self._goal, self._goal_at = "", 0
        self._is_rejected = False
        self._is_sub_agent = False  # its task came from another agent, not from a person

    def remember(self, record: Record, offset: int) -> None:
        """Do nothing: these logs have a single writer, so no record is repeated."""

    def resume(self, read: Callable[[int], Iterable[Record]]) -> None:
        """Restore the unanswered questions, the last plan and goal, and a rejection whose text is to come."""
        for part in filter(None, self._since.open.split(",")):
            if part == _WAS_REJECTED:
                self._is_rejected = True
            elif part.isdecimal():
                for record in read(int(part)):
                    item = object_of(record, "payload") or record
                    self._note_question(item, int(part))
                    if text_of(item, "type") == "item_completed":
                        self._plan, self._plan_at = text_of(item.get("item"), "text").strip(), int(part)
                    elif goal := _goal_in(item):
                        self._goal, self._goal_at = goal, int(part)

    def _open(self) -> str:
        if not (self._open_questions or self._plan or self._goal or self._is_rejected):
            return ""
        places = [str(offset) for offset, _ in self._open_questions.values()]
        places += [str(self._plan_at)] if self._plan else []
        places += [str(self._goal_at)] if self._goal else []
        return ",".join(places + [_WAS_REJECTED] * self._is_rejected)

    def _handle(self, record: Record) -> None:
        payload = object_of(record, "payload")
        if self._is_copied(record):
            self._leave_out("repeated-records")
            self.acted = True
        elif self._is_sub_agent:
            self._leave_out("sub-agents")
        elif "payload" not in record:
            # The first versions wrote bare items after a line with the session's id.
            if "instructions" in record and not self.session_id:
                self._session_meta(record)
            else:
                self._response_item(record)
        else:
            self._dispatch(text_of(record, "type"), payload)

    def _is_copied(self, record: Record) -> bool:
        """Whether a record belongs to the copy of the parent's, which ends with the first that it has not."""
        if self._parents is None or not self.session_id:  # the first record is of the fork itself
            return False
        fingerprint = _fingerprint_of(record)
        if any(fingerprint == each for each in self._parents):
            return True
        self._parents = None
        return False

    def _dispatch(self, kind: str, payload: Record) -> None:
        match kind:
            case "session_meta":
                self._session_meta(payload)
            case "turn_context":
                self.model = self.model or text_of(payload, "model")
                self.cwd = self.cwd or text_of(payload, "cwd")
            case "event_msg":
                self._event(payload)
            case "response_item":
                self._response_item(payload)
            case "compacted":
                self.turns.add_message("system", [Text(text_of(payload, "message"))], "summary")

    def _session_meta(self, meta: Record) -> None:
        if not self.session_id:  # a log may repeat the head of the one it continues
            self._is_sub_agent = "subagent" in object_of(meta, "source")
        self.session_id = self.session_id or text_of(meta, "id")
        self.cwd = self.cwd or text_of(meta, "cwd")
        self.remote = self.remote or text_of(object_of(meta, "git"), "repository_url")
        if self.first is None:
            self._note_time(meta.get("timestamp"))

    def _event(self, event: Record) -> None:
        match event.get("type"):
            case "user_message" if self._by_events:
                images, paths = list_of(event, "images"), list_of(event, "local_images")
                blocks: list[Block] = [Text(without_context(text_of(event, "message")))]
                blocks += map(_image, images)
                blocks += [Attachment(one_line(path)) for path in paths if isinstance(path, str)]
                self._leave_out("images", len(images))
                self._user_message(blocks)
            case "agent_message" if self._by_events:
                self._agent_message(text_of(event, "message"))
            case "item_completed":
                self._completed_item(object_of(event, "item"))
            case "turn_aborted":
                self.turns.add_message(
                    "system", [Text(f"[Turn aborted: {text_of(event, 'reason') or 'unknown'}]")]
                )
            case "error" | "stream_error":
                self.turns.add_message("system", [Text(text_of(event, "message"))], "error")
            case "token_count":
                total = object_of(object_of(event, "info"), "total_token_usage")
                # These are totals of the whole session, so the last ones count.
                self.tokens_in = number_of(total, "input_tokens") or self.tokens_in
                self.tokens_out = number_of(total, "output_tokens") or self.tokens_out
            case "thread_goal_updated":
                if self._is_new_goal(event):
                    self._user_message([Text(f"/goal {self._goal}")], COMMAND)
            case "thread_name_updated":
                self.topic = text_of(event, "thread_name") or self.topic
            case "user_message" | "agent_message":
                pass
            case _:
                self._leave_out("system-records")

    def _completed_item(self, item: Record) -> None:
        parts = list_of(item, "content")
        match item.get("type"):
            case "Plan":
                self._add_plan(text_of(item, "text"))
                self._plan, self._plan_at = text_of(item, "text").strip(), self._offset
            case "UserMessage" if self._by_events:
                self._user_message([block for part in parts if (block := _content_block(part)) is not None])
            case "AgentMessage" if self._by_events:
                self._agent_message("".join(text_of(part, "text") for part in parts))
            case "UserMessage" | "AgentMessage":
                pass
            case _:
                self._leave_out("system-records")

    def _user_message(self, blocks: list[Block], kind: str = "") -> None:
        text = "\n\n".join(block.text for block in blocks if isinstance(block, Text)).strip()
        typed = prompt_in(text) if not kind else ""
        kind = COMMAND if typed or (not kind and is_init(text)) else kind
        if text and not kind and (self._is_rejected or (self.acted and is_correction(text))):
            kind = CORRECTION
        if text:
            self._is_rejected, self._plan = False, ""
        self._add_user_turn([Text(typed), *blocks], kind, is_question=not typed or " " in typed)

    def _agent_message(self, text: str) -> None:
        """Add the agent's text; a plan in it becomes its own turn, once."""
        place = 0
        for match in _PLAN.finditer(text):
            self._agent_text(text[place : match.start()])
            self._add_plan(match[1])
            place = match.end()
        self._agent_text(text[place:])

    def _agent_text(self, text: str) -> None:
        self.turns.add_message("agent", [Text(text)])
        self.acted = True

    def _add_plan(self, text: str) -> None:
        if text.strip() != self._plan:
            self.turns.add_message("agent", [Text(text)], PLAN)
        self.acted = True

    def _response_item(self, item: Record) -> None:
        kind = text_of(item, "type")
        if kind == "message":
            self._message_item(item)
        elif kind == "reasoning":
            self._leave_out("thinking")
        elif kind in _CALLS:
            self.acted = True
            self._note_question(item, self._offset)
            self._is_new_goal(item)  # one that the agent sets is not the person's
            name, summary = _name_and_summary(kind, item)
            self.turns.add_call(text_of(item, "call_id") or text_of(item, "id"), name, summary)
        elif kind.endswith("_output"):
            self._tool_result(item)
        else:
            self._leave_out("system-records")

    def _tool_result(self, item: Record) -> None:
        call_id = text_of(item, "call_id")
        call = self.turns.pending_call(call_id)
        text, failed = _output_text(item.get("output"))
        is_rejected = _REJECTED.fullmatch(text) is not None
        if call is not None:
            outcome = "rejected by the user" if is_rejected else result_of(call.name, text, failed=failed)
            self.turns.set_result(call_id, outcome)
        self._is_rejected = self._is_rejected or is_rejected
        self._leave_out("tool-output", is_shortened(text))
        _, questions = self._open_questions.pop(call_id, (0, {}))
        answers = _answers(questions, text_of(item, "output")) if questions else ""
        if answers:
            self._user_message([Text(answers)], ANSWER)

    def _note_question(self, item: Record, offset: int) -> None:
        if text_of(item, "name") != _QUESTION:
            return
        arguments = json_in(text_of(item, "arguments"))
        if isinstance(arguments, dict) and isinstance(asked := arguments.get("questions"), list):
            questions = {text_of(each, "id"): text_of(each, "question") for each in asked}
            self._open_questions[text_of(item, "call_id")] = (offset, questions)

    def _is_new_goal(self, record: Record) -> bool:
        """Note the goal in an event or a call; return whether it was neither set before nor just typed."""
        goal = _goal_in(record)
        if not goal or goal == self._goal:
            return False
        self._goal, self._goal_at = goal, self._offset
        current = self.turns.current
        return current is None or current.role != "user" or goal not in current.text

    def _message_item(self, item: Record) -> None:
        parts = list_of(item, "content")
        texts = [text_of(part, "text") for part in parts]
        shell = [match[1].strip() for text in texts if (match := _SHELL.fullmatch(text))]
        if shell and item.get("role") == "user":
            self._user_message([Text(f"! {command}") for command in shell])
        elif self._by_events:
            return
        elif item.get("role") not in ("assistant", "user"):
            self._leave_out("injected")
        elif item.get("role") == "assistant":
            for text in texts:
                self._agent_message(text)
        elif len(texts) == 1 and (kind := notice_in(texts[0])) is not None:
            self.turns.add_message("system", [Text(texts[0])], kind)
        elif item.get("role") == "user":
            images = [
                _image(part.get("image_url")) for part in parts if text_of(part, "type") == "input_image"
            ]
            if images:  # each stands between two marks, in parts of their own
                texts = [text for text in texts if not _IMAGE_MARK.fullmatch(text)]
            blocks: list[Block] = [
                Text(without_context(text)) for text in texts if not _INSTRUCTIONS.fullmatch(text)
            ]
            self._leave_out(
                "injected",
                sum(map(bool, texts)) - sum(bool(without_context(text).strip()) for text in texts),
            )
            blocks += images
            self._user_message(blocks)


def _goal_in(record: Record) -> str:
    """The goal that an event or a call sets; empty if none."""
    goal = object_of(record, "goal")
    if text_of(record, "name") == "create_goal":
        goal = json_in(text_of(record, "arguments"))
    return text_of(goal, "objective").strip()


def _answers(questions: dict[str, str], output: str) -> str:
    """The questions with the user's full answers; empty if nothing was answered."""
    pairs: list[str] = []
    for key, value in object_of(json_in(output), "answers").items():
        given = value.get("answers") if isinstance(value, dict) else value
        texts = [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str)]
        chosen = ", ".join(each for each in texts if not each.startswith(_NOTE))
        notes = [each.removeprefix(_NOTE) for each in texts if each.startswith(_NOTE)]
        if texts:
            pairs.append(answer_of(questions.get(key) or key, chosen, "\n".join(notes)))
    return "\n\n".join(pairs)


def _image(value: Any) -> Attachment:
    if isinstance(value, str) and not value.startswith("data:"):
        return Attachment(one_line(value))
    kind = value[5:].partition(";")[0] if isinstance(value, str) else "image"
    return Attachment(one_line(f"{kind} (not kept)"))


def _content_block(part: Any) -> Block | None:
    """A part of a message as a block: text, or an image by path or as data."""
    if text_of(part, "type") == "text":
        return Text(without_context(text_of(part, "text")))
    where = text_of(part, "path") or text_of(part, "image_url")
    return _image(where) if where else None


def _name_and_summary(kind: str, item: Record) -> tuple[str, str]:
    if kind == "local_shell_call":
        command = list_of(item.get("action"), "command")
        parts = [part for part in command if isinstance(part, str)]
        return "shell", one_line(command_line(parts))
    if kind == "web_search_call":
        action = item.get("action")
        return "web_search", one_line(text_of(action, "query") or text_of(action, "url"))
    name = one_line(text_of(item, "name"), 80) or kind.removesuffix("_call")
    if (server := one_line(text_of(item, "namespace"), 80)).startswith("mcp__"):
        name = f"{server}__{name}"  # a reader must see that the tool is not built into the agent
    arguments: Any = item.get("arguments", item.get("input"))
    if isinstance(arguments, str):
        found = json_in(arguments)
        arguments = arguments if found is None else found
    return name, summary_of(name, arguments)


def _output_text(value: Any) -> tuple[str, bool]:
    """The text of a tool's output, and whether the call failed."""
    if isinstance(value, list):
        return "\n".join(text_of(part, "text") for part in value), False
    if isinstance(value, str) and value.startswith("{"):
        found = json_in(value)
        if found is None:
            return value, False
        value = found
    if isinstance(value, dict):
        code = object_of(value, "metadata").get("exit_code")
        text = text_of(value, "output") or text_of(value, "content")
        return _with_exit_code(text, code if isinstance(code, int) else 0, value.get("success") is False)
    if not isinstance(value, str):
        return "", False
    code_line = _EXIT_CODE.search(value[:2000])
    started = _OUTPUT.search(value[:2000])
    text = value[started.end() :] if started else value
    return _with_exit_code(text, int(code_line[1]) if code_line else 0, False)


def _with_exit_code(text: str, code: int, failed: bool) -> tuple[str, bool]:
    return (f"Exit code {code}\n{text}", True) if code else (text, failed)


def parents_records(stream: BinaryIO, path: Path) -> tuple[int, ...]:
    """The fingerprints of the records of the session that a log continues, in order; empty if it continues
    none, or if that one's log is gone.
    """
    head = next(_records(stream), {})
    parent_id = text_of(object_of(head, "payload"), "forked_from_id")
    parent = _log_of(parent_id, path) if parent_id else None
    if parent is None:
        return ()
    try:
        with opened(parent) as source:
            return tuple(map(_fingerprint_of, _records(source)))
    except ImportFailed:
        return ()


def _fingerprint_of(record: Record) -> int:
    """A number that is the same for a record and its copy, within this process."""
    return hash(json.dumps([record.get("type"), record.get("payload")], sort_keys=True))


def _records(stream: BinaryIO) -> Iterator[Record]:
    for line in read_lines(stream):
        yield from line.records


def _log_of(session_id: str, path: Path) -> Path | None:
    """The log of a session in the same folders of Codex as another's."""
    home = next((each.parent for each in path.parents if each.name in (_LOGS, _ARCHIVE)), None)
    folders = [path.parent] if home is None else [home / _LOGS, home / _ARCHIVE]
    found = (log for folder in folders for log in folder.rglob(f"rollout-*-{session_id}.jsonl*"))
    return next(found, None)
