"""Fake agents that call their hooks and write their session logs exactly as the real ones do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump

Hook = Callable[[str, bytes], str]
"""Takes the agent's name and the hook payload; returns what the hook prints."""

INJECTED = "{autopoiesis}"


class Agent:
    """A session of Claude Code or Codex; injected text is written to its log as the real ones do."""

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
        self.messages: list[str] = []
        """The texts of the person's and the agent's turns, in order."""

    def fire(self, event: str, **fields: Any) -> str:
        """Run the hook for an event and return the text it adds to the context."""
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

    def start(self, source: str = "startup") -> str:
        injected = self.fire("SessionStart", source=source)
        if self.name == "codex" and not self.log.exists():
            self._write(self._codex.meta() | {"payload": {**self._codex.meta()["payload"], "cwd": self.cwd}})
        self._log_injected(injected, "SessionStart")
        return injected

    def prompt(
        self,
        text: str,
        answer: str = "Done.",
        *,
        compacts: str = "",
        call: tuple[str, dict[str, Any]] | None = None,
        fails: bool = False,
    ) -> str:
        """Send a prompt: the agent calls its hook, answers and stops. Returns the injected text.

        Args:
            compacts: When it compacts on its own: ``before`` it begins to answer, or ``within`` its answer.
                With ``never`` it announces to compact before, but does not.
            call: A tool call before the answer: name and arguments; and whether it fails.
        """
        injected = self.fire("UserPromptSubmit", prompt=text)
        if self.name == "claude-code":
            self._write(self._claude.user(text, cwd=self.cwd))
        else:
            self._write(self._codex.event("user_message", message=text), self._codex.message("user", text))
        self._log_injected(injected, "UserPromptSubmit")
        if compacts in ("before", "never"):
            self.compact(is_refused=compacts == "never")
        if call and self.name == "claude-code":
            name, arguments = call
            self._write(
                self._claude.calls("toolu_1", name, **arguments),
                self._claude.result("toolu_1", "No such file." if fails else "ok", is_error=fails),
            )
        if compacts == "within":
            self.compact()
        if self.name == "claude-code":
            self._write(self._claude.says(answer))
        else:
            self._write(
                self._codex.event("agent_message", message=answer), self._codex.message("assistant", answer)
            )
        self.messages += [text, answer]
        self.fire("Stop", stop_hook_active=False, last_assistant_message=answer)
        return injected

    def compact(self, *, is_refused: bool = False) -> str:
        """Compact on its own, and return the text injected afterwards."""
        self.fire("PreCompact", trigger="auto")
        return "" if is_refused else self.start("compact")

    def end(self) -> None:
        self.fire("SessionEnd", reason="prompt_input_exit")

    def _log_injected(self, injected: str, event: str) -> None:
        if not injected:
            return
        if self.name == "codex":
            self._write(self._codex.message("developer", injected))
            return
        attachment = {
            "type": "hook_additional_context",
            "content": [injected],
            "hookName": event,
            "hookEvent": event,
        }
        self._write(self._claude.record("attachment", attachment=attachment, cwd=self.cwd))

    def _write(self, *records: dict[str, Any]) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as file:
            file.write(dump(*records))
