"""Gemini CLI calls its hooks differently from other agents and reports a compression only in its log."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.agents.hooks import Hooks
from engine.engine import Engine
from engine.injections.log import message_hash
from tests.agents.test_hooks import BLOCK, REVIEW, captured, notes, texts
from tests.transcripts.logs import SESSION

AT = "2026-02-16T18:0{}:00.000Z"


class Gemini:
    """A session as version 0.61 writes it: line by line, with the history rewritten after a compression."""

    def __init__(self, hooks: Hooks, folder: Path) -> None:
        self._hooks = hooks
        self.log = folder / "chats/session-2026-02-16T18-00-0f0e0d0c.jsonl"
        self.log.parent.mkdir()
        self._written = 0
        self._write({"sessionId": SESSION, "projectHash": "abc", "startTime": AT.format(0)})

    def _write(self, *records: dict[str, Any]) -> None:
        with self.log.open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in records)

    def _message(self, kind: str, text: str) -> dict[str, Any]:
        self._written += 1
        at = AT.format(self._written // 10)
        return {"id": str(self._written), "timestamp": at, "type": kind, "content": [{"text": text}]}

    def fire(self, event: str, **fields: str) -> str:
        payload = {"session_id": SESSION, "transcript_path": str(self.log), "cwd": "/home/robin/tidemark"}
        answer = self._hooks.answer(
            "gemini", json.dumps({**payload, "hook_event_name": event, **fields}).encode()
        )
        injected: str = json.loads(answer or "{}").get("hookSpecificOutput", {}).get("additionalContext", "")
        return injected

    def say(self, kind: str, text: str) -> None:
        self._write(self._message(kind, text))

    def compress(self) -> None:
        made = [
            ("user", "<state_snapshot>s</state_snapshot>"),
            ("gemini", "Got it. Thanks for the additional context!"),
        ]
        now = {"timestamp": datetime.now(UTC).isoformat()}
        self._write({"$set": {"messages": [self._message(*each) | now for each in made]}})

    def prompt(self, text: str, *, compresses: bool = False) -> str:
        injected = self.fire("BeforeAgent", prompt=text)
        self.fire("PreCompress", trigger="auto")
        if compresses:
            self.compress()
        self._write(self._message("user", text), self._message("gemini", "Done."))
        self.fire("AfterAgent", prompt=text, prompt_response="Done.")
        return injected


def test_text_that_gemini_stores_from_hooks_is_not_captured(engine: Engine, tmp_path: Path) -> None:
    added = f"<hook_context>{BLOCK}</hook_context>"
    context = "<session_context>\nThis is the Gemini CLI.\n<x>\nours\n</x>\n</session_context>"
    messages = [
        {"id": "0", "timestamp": "2026-02-16T18:00:00.000Z", "type": "user", "content": [{"text": context}]},
        {"id": "1", "timestamp": "2026-02-16T18:00:00.000Z", "type": "user", "content": f"fix it\n\n{added}"},
        {"id": "2", "timestamp": "2026-02-16T18:01:00.000Z", "type": "gemini", "content": "Fixed."},
    ]
    log = tmp_path / "chats/session-2026-02-16T18-00-0f0e0d0c.json"
    log.parent.mkdir()
    head = {"sessionId": SESSION, "projectHash": "abc", "startTime": "2026-02-16T18:00:00.000Z"}
    log.write_text(json.dumps({**head, "lastUpdated": "2026-02-16T18:01:00.000Z", "messages": messages}))
    event = {
        "hook_event_name": "AfterAgent",
        "session_id": SESSION,
        "transcript_path": str(log),
        "cwd": "/home/x",
    }
    assert Hooks(engine).answer("gemini", json.dumps(event).encode()) == "{}"
    assert texts(engine) == ["fix it", "Fixed."]
    assert engine.files.read(captured(engine).path).decode().count("# fix it\n") == 1


def test_a_session_that_ends_before_anything_is_said_is_no_failure(hooks: Hooks, tmp_path: Path) -> None:
    gemini = Gemini(hooks, tmp_path)
    gemini.say("user", "<session_context>\nThis is the Gemini CLI.\n</session_context>")
    gemini.fire("SessionEnd", reason="exit")
    (run, *_) = hooks.log.backwards()
    assert (run.moment, run.said, run.failed) == ("session_end", "it has no dialogue yet", False)


def test_hook_context_that_gemini_repeats_is_not_taken_for_the_prompt(engine: Engine, hooks: Hooks) -> None:
    """The payload is what version 0.61 sends for a session's first prompt."""
    injected = f"<hook_context>{BLOCK.replace('never mind the tests', REVIEW)}</hook_context>"
    event = {"hook_event_name": "BeforeAgent", "session_id": SESSION}
    start = {"hook_event_name": "SessionStart", "session_id": SESSION, "source": "startup"}
    hooks.answer("gemini", json.dumps(start).encode())
    assert (
        hooks.answer("gemini", json.dumps({**event, "prompt": f"{injected}\n\nok, do it"}).encode()) == "{}"
    )
    hooks.answer("gemini", json.dumps({**event, "prompt": f"{injected}\n\n{REVIEW}"}).encode())
    assert engine.injections.log.last(1)[0].message_hash == message_hash(REVIEW), "links it to the message"


def test_repeated_precompress_events_are_recorded_once(hooks: Hooks) -> None:
    event = {"hook_event_name": "PreCompress", "session_id": SESSION, "transcript_path": ""}
    for trigger in ("auto", "manual"):
        hooks.answer("gemini", json.dumps({**event, "trigger": trigger}).encode())
    assert len(notes(hooks)) == 1, "PreCompress alone does not cause a new injection"


def test_context_lost_in_a_gemini_compression_is_injected_again_once(
    engine: Engine, hooks: Hooks, tmp_path: Path
) -> None:
    (rule,) = engine.rules.add("Open pull requests as drafts, never as ready.").rules
    gemini = Gemini(hooks, tmp_path)
    assert rule.text in gemini.fire("SessionStart", source="startup")
    assert "topic:github-pr-review" in gemini.prompt(REVIEW)
    assert gemini.prompt(f"{REVIEW} Please!").count(rule.text) == 0
    assert gemini.prompt("ok, do it", compresses=True) == "", "it compresses after calling its hook"
    injected = gemini.prompt(REVIEW)
    assert injected.count("From the user's own memory in ") == injected.count("Marit Oksanen") == 1
    assert rule.text in injected and "topic:github-pr-review" in injected and len(injected.encode()) <= 9_500
    again = gemini.prompt(REVIEW)
    assert "Marit Oksanen" not in again and "topic:github-pr-review" not in again
    assert hooks.log.known(SESSION).line > 1, "the earlier messages can be found again"
    assert [each for each in texts(engine) if "state_snapshot" in each] == [
        "<state_snapshot>s</state_snapshot>"
    ]


def test_an_injection_with_the_prompt_that_triggers_compression_is_kept(hooks: Hooks, tmp_path: Path) -> None:
    gemini = Gemini(hooks, tmp_path)
    gemini.fire("SessionStart", source="startup")
    assert "topic:github-pr-review" in gemini.prompt(REVIEW, compresses=True)
    injected = gemini.prompt(REVIEW)
    assert "Marit Oksanen" in injected and "topic:github-pr-review" not in injected


def test_an_injection_after_a_manual_compression_is_not_repeated(hooks: Hooks, tmp_path: Path) -> None:
    gemini = Gemini(hooks, tmp_path)
    gemini.fire("SessionStart", source="startup")
    gemini.prompt(REVIEW)
    gemini.fire("PreCompress", trigger="manual")
    gemini.compress()
    injected = gemini.prompt(REVIEW)
    assert "Marit Oksanen" in injected and "topic:github-pr-review" in injected
    injected = gemini.prompt(REVIEW)
    assert "Marit Oksanen" not in injected and "topic:github-pr-review" not in injected


def test_nothing_is_repeated_after_a_compression_that_gemini_refuses(hooks: Hooks, tmp_path: Path) -> None:
    """As when the summary would be longer than what it replaces: PreCompress has been sent by then."""
    gemini = Gemini(hooks, tmp_path)
    gemini.fire("SessionStart", source="startup")
    gemini.prompt(REVIEW)
    gemini.fire("PreCompress", trigger="manual")
    assert gemini.prompt(REVIEW) == ""
    gemini.fire("PreCompress", trigger="manual")
    assert gemini.fire("SessionStart", source="resume") == "" and gemini.prompt(REVIEW) == ""
    gemini.fire("PreCompress", trigger="manual")
    gemini.compress()
    assert "Marit Oksanen" in gemini.fire("SessionStart", source="resume")
    injected = gemini.prompt(REVIEW)
    assert "topic:github-pr-review" in injected and "Marit Oksanen" not in injected
    assert gemini.prompt(REVIEW) == ""
