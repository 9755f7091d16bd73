"""Reads the session logs of Claude Code (JSONL, one object per event)."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engine.transcripts.brief import one_line
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import START, Checkpoint, SessionReader, number_of, text_of
from engine.transcripts.importers.tools import result_of, summary_of
from engine.transcripts.turn import Attachment, Block, Text, Turn

_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_TYPED = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)
_HARNESS = re.compile(
    r"<(bash-stdout|bash-stderr|ide_[a-z_]+|task-notification|user-prompt-submit-hook|new-diagnostics|"
    r"user-memory-input|post-tool-use-hook)\b[^>\n]*>.*?</\1>",
    re.DOTALL,
)
_CONTINUED = "This session is being continued from a previous conversation"
_INTERRUPTED = re.compile(r"\s*\[Request interrupted by user[^\]]*\]\s*")
_EMPTY_REPLIES = frozenset({"(no content)", "No response requested."})
_SYNTHETIC = "<synthetic>"


def discover(home: Path | None = None) -> list[Path]:
    """The session logs of the main conversations, in the order of their paths.

    Args:
        home: Claude Code's folder; ``$CLAUDE_CONFIG_DIR`` or ``~/.claude`` by default.
    """
    return sorted(path for path in folder(home).glob("*/*.jsonl") if not path.name.startswith("agent-"))


def folder(home: Path | None = None) -> Path:
    """Where the session logs are; ``home`` as for ``discover``."""
    return (home or Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")) / "projects"


def looks_like(record: Record) -> bool:
    """Whether a record is one of Claude Code's."""
    return "sessionId" in record or "leafUuid" in record or record.get("type") == "file-history-snapshot"


class ClaudeCodeReader(SessionReader):
    """Takes dialogue and tool calls; leaves out thinking, side chains and what the program told the model."""

    memory_bytes = 256 * 1024  # Repeated records come from writers that collide, so they are near.

    def __init__(self, finished: Callable[[Turn], None], since: Checkpoint = START) -> None:
        super().__init__(finished, since)
        self._recent: deque[tuple[int, str]] = deque()
        self._seen: dict[str, int] = {}

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

    def _knows(self, uuid: str) -> bool:
        return self._seen.get(uuid, -self.memory_bytes - 1) >= self._offset - self.memory_bytes

    def _take(self, record: Record) -> None:
        is_repeated = self._knows(text_of(record, "uuid"))
        self.remember(record, self._offset)
        if is_repeated:
            return
        if record.get("isSidechain") is True:
            return
        self.session_id = self.session_id or text_of(record, "sessionId")
        self.cwd = self.cwd or text_of(record, "cwd")
        match record.get("type"):
            case "user":
                self._user(record)
            case "assistant":
                self._assistant(record)
            case "attachment":
                self._queued(record.get("attachment"))
            case "custom-title":
                self._name(text_of(record, "customTitle"), by_person=True)
            case "ai-title":
                self._name(text_of(record, "aiTitle"))
            case "summary" if self._knows(text_of(record, "leafUuid")):
                # A summary at the top of a log often describes another session: its leaf is not in this file.
                self._name(text_of(record, "summary"))

    def _name(self, topic: str, *, by_person: bool = False) -> None:
        if topic.strip() and (by_person or not self.renamed):
            self.topic, self.renamed = topic, by_person

    def _user(self, record: Record) -> None:
        content = _content(record)
        blocks: list[Block] = []
        has_results = False
        for part in content:
            match part.get("type"):
                case "text":
                    blocks.append(Text(text_of(part, "text")))
                case "tool_result":
                    has_results = True
                    self._result(part)
                case "image" | "document":
                    blocks.append(_attachment(part))
        if record.get("isMeta") is True or not blocks:
            return
        text = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
        if record.get("isCompactSummary") is True or text.startswith(_CONTINUED):
            self.turns.say("system", blocks, "summary")
            return
        if has_results or _INTERRUPTED.fullmatch(text):
            self.turns.say("system", blocks)
            return
        self._said([Text(_typed(block.text)) if isinstance(block, Text) else block for block in blocks])

    def _said(self, blocks: list[Block]) -> None:
        self.turns.say("user", blocks)
        if not self.question and self.turns.current is not None and self.turns.current.role == "user":
            self.question = self.turns.current.text

    def _queued(self, attachment: Any) -> None:
        """What the person typed while the agent was at work."""
        if text_of(attachment, "type") != "queued_command":
            return
        if text_of(attachment, "commandMode") not in ("", "prompt"):
            return
        prompt = attachment.get("prompt")
        parts = prompt if isinstance(prompt, list) else [{"type": "text", "text": prompt}]
        blocks: list[Block] = [Text(_typed(text_of(part, "text"))) for part in parts]
        self._said(blocks)

    def _assistant(self, record: Record) -> None:
        message = record.get("message")
        model = text_of(message, "model")
        if record.get("isApiErrorMessage") is True:
            self.turns.say("system", [Text(text_of(part, "text")) for part in _content(record)], "error")
            return
        if model != _SYNTHETIC:
            self.model = self.model or model
        for part in _content(record):
            kind = text_of(part, "type")
            if kind == "text":
                text = text_of(part, "text")
                if text.strip() not in _EMPTY_REPLIES:
                    self.turns.say("agent", [Text(text)])
            elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                name = one_line(text_of(part, "name"), 80) or "tool"
                self.turns.call(text_of(part, "id"), name, summary_of(name, part.get("input")))
            elif kind.endswith("tool_result"):
                self._result(part)
            elif kind in ("image", "document"):
                self.turns.say("agent", [_attachment(part)])
        self._count(message)

    def _result(self, part: Record) -> None:
        call_id = text_of(part, "tool_use_id")
        call = self.turns.called(call_id)
        if call is not None:
            text = _result_text(part.get("content"))
            self.turns.result(call_id, result_of(call.name, text, failed=part.get("is_error") is True))

    def _count(self, message: Any) -> None:
        """One reply is logged in several lines that repeat its usage, the last one with the final figures."""
        usage = message.get("usage") if isinstance(message, dict) else None
        message_id = text_of(message, "id")
        if not isinstance(usage, dict) or not message_id:
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


def _content(record: Record) -> list[Record]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _typed(text: str) -> str:
    """What the person typed: commands as they were entered, nothing of what the program put around them."""
    command, arguments, shell = _COMMAND.search(text), _ARGUMENTS.search(text), _TYPED.search(text)
    if shell:
        return f"! {shell[1].strip()}"
    if command:
        asked = arguments[1].strip() if arguments else ""
        return f"{command[1].strip()} {asked}" if asked else ""
    return _HARNESS.sub("", text)


def _attachment(part: Record) -> Attachment:
    source = part.get("source")
    address = text_of(source, "url") or text_of(source, "file_id")
    if address:
        return Attachment(one_line(address))
    kind = text_of(source, "media_type") or text_of(part, "type")
    size = len(text_of(source, "data")) * 3 // 4
    return Attachment(one_line(f"{text_of(part, 'title') or kind} ({_size(size)}, not kept)"))


def _size(number: int) -> str:
    return f"{number} B" if number < 1024 else f"{number / 1024:.0f} KB"


def _result_text(content: Any) -> str:
    return "\n".join(_result_parts(content))


def _result_parts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        yield text_of(content, "text") or text_of(content, "error_code") or text_of(content, "stdout")
    elif isinstance(content, list):
        for part in content:
            if text_of(part, "type") in ("image", "document"):
                yield f"[{_attachment(part).path}]"
            elif isinstance(part, dict):
                yield text_of(part, "text") or text_of(part, "title") or text_of(part, "tool_name")
