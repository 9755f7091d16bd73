"""Reads the session logs of Codex (JSONL, one ``{timestamp, type, payload}`` per event)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from engine.transcripts.brief import one_line
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import START, Checkpoint, SessionReader, number_of, text_of
from engine.transcripts.importers.tools import command_line, result_of, summary_of
from engine.transcripts.turn import Attachment, Block, Text, Turn

_HEAD_BYTES = 1024 * 1024
_DIALOGUE = re.compile(rb'"type"\s*:\s*"(?:user_message|agent_message)"')
_SURROUNDINGS = re.compile(
    r"<(environment_context|user_instructions|permissions instructions|collaboration_mode|turn_aborted|"
    r"skills_instructions)>.*?</\1>",
    re.DOTALL,
)
_INSTRUCTIONS = re.compile(r"\s*(?:# AGENTS\.md instructions|<INSTRUCTIONS>|<skill>)")
_REQUEST = re.compile(r".*^## My request for Codex:\s*", re.DOTALL | re.MULTILINE)
_EXITED = re.compile(r"^(?:Process exited with code|Exit code:)\s*(-?\d+)", re.MULTILINE)
_OUTPUT = re.compile(r"^Output:\n", re.MULTILINE)
_CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"}
)


def discover(home: Path | None = None) -> list[Path]:
    """The session logs, those in use before those that were archived, each in the order of their start.

    Args:
        home: Codex's folder; ``$CODEX_HOME`` or ``~/.codex`` by default.
    """
    archived = folder(home).parent / "archived_sessions"
    return [*sorted(folder(home).glob("*/*/*/rollout-*.jsonl")), *sorted(archived.rglob("rollout-*.jsonl"))]


def folder(home: Path | None = None) -> Path:
    """Where the session logs are; ``home`` as for ``discover``."""
    return (home or Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")) / "sessions"


def looks_like(record: Record) -> bool:
    """Whether a record is one of Codex's, of today's form or of the first one."""
    return "payload" in record or ("id" in record and "instructions" in record)


def tells_dialogue_as_events(stream: BinaryIO) -> bool:
    """Whether the dialogue of a log stands in its events.

    It is then repeated in the response items, together with what the model was told besides; logs of the
    first versions have the response items alone.
    """
    stream.seek(0)
    return _DIALOGUE.search(stream.read(_HEAD_BYTES)) is not None


class CodexReader(SessionReader):
    """Takes dialogue and tool calls; leaves out reasoning, instructions and the surroundings of a message.

    Args:
        finished: Called with each turn that can no longer change.
        since: Where the reading starts.
        by_events: Whether the dialogue is taken from events; from response items otherwise.
    """

    def __init__(
        self, finished: Callable[[Turn], None], since: Checkpoint = START, *, by_events: bool = True
    ) -> None:
        super().__init__(finished, since)
        self._by_events = by_events

    def remember(self, record: Record, offset: int) -> None:
        """Nothing to do: these logs have one writer, and repeat no record."""

    def resume(self, read: Callable[[int], Iterable[Record]]) -> None:
        """Nothing to do: what a line of these logs begins, it ends."""

    def _take(self, record: Record) -> None:
        payload = record.get("payload")
        if not isinstance(payload, dict):
            # The first versions wrote the items bare, below a line with the session's id.
            if "instructions" in record and not self.session_id:
                self._meta(record)
            else:
                self._item(record)
            return
        match record.get("type"):
            case "session_meta":
                self._meta(payload)
            case "turn_context":
                self.model = self.model or text_of(payload, "model")
                self.cwd = self.cwd or text_of(payload, "cwd")
            case "event_msg":
                self._event(payload)
            case "response_item":
                self._item(payload)
            case "compacted":
                self.turns.say("system", [Text(text_of(payload, "message"))], "summary")

    def _meta(self, meta: Record) -> None:
        self.session_id = self.session_id or text_of(meta, "id")
        self.cwd = self.cwd or text_of(meta, "cwd")
        if self.first is None:
            self._note_time(meta.get("timestamp"))

    def _event(self, event: Record) -> None:
        match event.get("type"):
            case "user_message" if self._by_events:
                images = event.get("images")
                blocks: list[Block] = [Text(_typed(text_of(event, "message")))]
                blocks += [_image(image) for image in images] if isinstance(images, list) else []
                local = event.get("local_images")
                paths = local if isinstance(local, list) else []
                blocks += [Attachment(one_line(path)) for path in paths if isinstance(path, str)]
                self._said(blocks)
            case "agent_message" if self._by_events:
                self.turns.say("agent", [Text(text_of(event, "message"))])
            case "turn_aborted":
                self.turns.say("system", [Text(f"[Turn aborted: {text_of(event, 'reason') or 'unknown'}]")])
            case "error" | "stream_error":
                self.turns.say("system", [Text(text_of(event, "message"))], "error")
            case "token_count":
                info = event.get("info")
                total = info.get("total_token_usage") if isinstance(info, dict) else None
                # The totals are those of the whole session, so the last ones hold.
                self.tokens_in = number_of(total, "input_tokens") or self.tokens_in
                self.tokens_out = number_of(total, "output_tokens") or self.tokens_out
            case "thread_name_updated":
                self.topic = text_of(event, "thread_name") or self.topic

    def _said(self, blocks: list[Block]) -> None:
        self.turns.say("user", blocks)
        if not self.question and self.turns.current is not None and self.turns.current.role == "user":
            self.question = self.turns.current.text

    def _item(self, item: Record) -> None:
        kind = text_of(item, "type")
        if kind == "message" and not self._by_events:
            self._message(item)
        elif kind in _CALLS:
            name, summary = _call(kind, item)
            self.turns.call(text_of(item, "call_id") or text_of(item, "id"), name, summary)
        elif kind.endswith("_output"):
            call_id = text_of(item, "call_id")
            call = self.turns.called(call_id)
            if call is not None:
                text, failed = _output(item.get("output"))
                self.turns.result(call_id, result_of(call.name, text, failed=failed))

    def _message(self, item: Record) -> None:
        content = item.get("content")
        parts = content if isinstance(content, list) else []
        texts = [text_of(part, "text") for part in parts]
        if item.get("role") == "assistant":
            self.turns.say("agent", [Text(text) for text in texts])
        elif item.get("role") == "user":
            blocks: list[Block] = [Text(_typed(text)) for text in texts if not _INSTRUCTIONS.match(text)]
            blocks += [
                _image(part.get("image_url")) for part in parts if text_of(part, "type") == "input_image"
            ]
            self._said(blocks)


def _typed(text: str) -> str:
    """What the person typed, without what an editor or the program put around it."""
    return _REQUEST.sub("", _SURROUNDINGS.sub("", text))


def _image(value: Any) -> Attachment:
    if isinstance(value, str) and not value.startswith("data:"):
        return Attachment(one_line(value))
    kind = value[5:].partition(";")[0] if isinstance(value, str) else "image"
    return Attachment(one_line(f"{kind} (not kept)"))


def _call(kind: str, item: Record) -> tuple[str, str]:
    if kind == "local_shell_call":
        action = item.get("action")
        command = action.get("command") if isinstance(action, dict) else None
        parts = [part for part in command if isinstance(part, str)] if isinstance(command, list) else []
        return "shell", one_line(command_line(parts))
    if kind == "web_search_call":
        action = item.get("action")
        return "web_search", one_line(text_of(action, "query") or text_of(action, "url"))
    name = one_line(text_of(item, "name"), 80) or kind.removesuffix("_call")
    arguments: Any = item.get("arguments", item.get("input"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return name, summary_of(name, arguments)
    return name, summary_of(name, arguments)


def _output(value: Any) -> tuple[str, bool]:
    """The text of a tool's output, and whether it failed."""
    if isinstance(value, list):
        return "\n".join(text_of(part, "text") for part in value), False
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value), False
    if isinstance(value, dict):
        metadata = value.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
        text = text_of(value, "output") or text_of(value, "content")
        return _with_code(text, code if isinstance(code, int) else 0, value.get("success") is False)
    if not isinstance(value, str):
        return "", False
    code_line = _EXITED.search(value[:2000])
    started = _OUTPUT.search(value[:2000])
    text = value[started.end() :] if started else value
    return _with_code(text, int(code_line[1]) if code_line else 0, False)


def _with_code(text: str, code: int, failed: bool) -> tuple[str, bool]:
    return (f"Exit code {code}\n{text}", True) if code else (text, failed)
