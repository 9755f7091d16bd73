"""Agents that call their hooks as the real ones do, and write their session's log as the real ones do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump

Hook = Callable[[str, bytes], str]
"""Given the agent's name and what it says, what the hook prints."""

INJECTED = "{autopoiesis}"


class Agent:
    """One session of Claude Code, or of Codex; what its hooks add stands in its log, as it does there."""

    def __init__(
        self,
        hook: Hook,
        folder: Path,
        *,
        session_id: str = SESSION,
        name: str = "claude-code",
        cwd: str = "/home/robin/tidemark",
    ) -> None:
        self.name = name
        self.session_id = session_id
        self.cwd = cwd
        self._hook = hook
        self._claude, self._codex = ClaudeCode(session_id), Codex()
        self.log = folder / (
            f"projects/-home-robin-tidemark/{session_id}.jsonl"
            if name == "claude-code"
            else f"sessions/2026/02/16/rollout-2026-02-16T18-00-00-{session_id}.jsonl"
        )
        self.said: list[str] = []
        """What the person and the agent have said, in turn."""

    def fires(self, event: str, **fields: Any) -> str:
        """Runs the hook of an event; gives what it adds to the context."""
        payload = {
            "session_id": self.session_id,
            "transcript_path": str(self.log),
            "cwd": self.cwd,
            "hook_event_name": event,
            "permission_mode": "default",
            **fields,
        }
        printed = self._hook(self.name, json.dumps(payload).encode())
        if not printed:
            return ""
        answer = json.loads(printed)["hookSpecificOutput"]
        assert set(answer) == {"hookEventName", "additionalContext"} and answer["hookEventName"] == event
        text: str = answer["additionalContext"]
        assert len(text.encode()) <= 9_500
        return text

    def starts(self, source: str = "startup") -> str:
        told = self.fires("SessionStart", source=source)
        if self.name == "codex" and not self.log.exists():
            self._write(self._codex.meta() | {"payload": {**self._codex.meta()["payload"], "cwd": self.cwd}})
        self._hears(told, "SessionStart")
        return told

    def hears(self, text: str, answer: str = "Done.", **call: Any) -> str:
        """The person says something; the agent calls its hook, answers and stops."""
        told = self.fires("UserPromptSubmit", prompt=text)
        if self.name == "claude-code":
            self._write(self._claude.user(text, cwd=self.cwd))
        else:
            self._write(self._codex.event("user_message", message=text), self._codex.message("user", text))
        self._hears(told, "UserPromptSubmit")
        if call and self.name == "claude-code":
            self._write(self._claude.calls("toolu_1", **call), self._claude.result("toolu_1", "ok"))
        if self.name == "claude-code":
            self._write(self._claude.says(answer))
        else:
            self._write(
                self._codex.event("agent_message", message=answer), self._codex.message("assistant", answer)
            )
        self.said += [text, answer]
        self.fires("Stop", stop_hook_active=False, last_assistant_message=answer)
        return told

    def ends(self) -> None:
        self.fires("SessionEnd", reason="prompt_input_exit")

    def _hears(self, told: str, event: str) -> None:
        if not told:
            return
        if self.name == "codex":
            self._write(self._codex.message("developer", told))
            return
        attachment = {
            "type": "hook_additional_context",
            "content": [told],
            "hookName": event,
            "hookEvent": event,
        }
        self._write(self._claude.record("attachment", attachment=attachment, cwd=self.cwd))

    def _write(self, *records: dict[str, Any]) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as file:
            file.write(dump(*records))
