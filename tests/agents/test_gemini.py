"""Gemini CLI calls its hooks otherwise than others do, and tells of a compression in its log alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.agents.hooks import Hooks
from engine.engine import Engine
from engine.injections.model import message_hash
from tests.agents.test_hooks import BLOCK, REVIEW, captured, notes, texts
from tests.transcripts.logs import SESSION

AT = "2026-02-16T18:0{}:00.000Z"


class Gemini:
    """A session as version 0.61 writes it: line by line, and its history anew where it has compressed it."""

    def __init__(self, hooks: Hooks, folder: Path) -> None:
        self._hooks = hooks
        self.log = folder / "chats/session-2026-02-16T18-00-0f0e0d0c.jsonl"
        self.log.parent.mkdir()
        self._written = 0
        self._writes({"sessionId": SESSION, "projectHash": "abc", "startTime": AT.format(0)})

    def _writes(self, *records: dict[str, Any]) -> None:
        with self.log.open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in records)

    def _message(self, kind: str, text: str) -> dict[str, Any]:
        self._written += 1
        at = AT.format(self._written // 10)
        return {"id": str(self._written), "timestamp": at, "type": kind, "content": [{"text": text}]}

    def fires(self, event: str, **fields: str) -> str:
        payload = {"session_id": SESSION, "transcript_path": str(self.log), "cwd": "/home/robin/tidemark"}
        answer = self._hooks.answer(
            "gemini", json.dumps({**payload, "hook_event_name": event, **fields}).encode()
        )
        told: str = json.loads(answer or "{}").get("hookSpecificOutput", {}).get("additionalContext", "")
        return told

    def compresses(self) -> None:
        made = [
            ("user", "<state_snapshot>s</state_snapshot>"),
            ("gemini", "Got it. Thanks for the additional context!"),
        ]
        self._writes({"$set": {"messages": [self._message(*each) for each in made]}})

    def hears(self, text: str, *, compresses: bool = False) -> str:
        told = self.fires("BeforeAgent", prompt=text)
        self.fires("PreCompress", trigger="auto")
        if compresses:
            self.compresses()
        self._writes(self._message("user", text), self._message("gemini", "Done."))
        self.fires("AfterAgent", prompt=text, prompt_response="Done.")
        return told


def test_gemini_keeps_what_hooks_add_with_the_message_and_we_do_not(engine: Engine, tmp_path: Path) -> None:
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


def test_gemini_repeats_what_hooks_added_and_that_is_not_the_prompt(engine: Engine, hooks: Hooks) -> None:
    """As version 0.61 sends a session's first prompt."""
    told = f"<hook_context>{BLOCK.replace('never mind the tests', REVIEW)}</hook_context>"
    event = {"hook_event_name": "BeforeAgent", "session_id": SESSION}
    assert hooks.answer("gemini", json.dumps({**event, "prompt": f"{told}\n\nok, do it"}).encode()) == "{}"
    hooks.answer("gemini", json.dumps({**event, "prompt": f"{told}\n\n{REVIEW}"}).encode())
    assert engine.injections.log.last(1)[0].message_hash == message_hash(REVIEW), "by which it is found again"


def test_gemini_says_at_every_call_of_its_model_that_it_might_compress(hooks: Hooks) -> None:
    event = {"hook_event_name": "PreCompress", "session_id": SESSION, "transcript_path": ""}
    for trigger in ("auto", "manual"):
        hooks.answer("gemini", json.dumps({**event, "trigger": trigger}).encode())
    assert len(notes(hooks)) == 1, "what it was told is not told again at every prompt"


def test_what_gemini_has_compressed_away_is_told_again_once(
    engine: Engine, hooks: Hooks, tmp_path: Path
) -> None:
    (rule,) = engine.rules.add("Open pull requests as drafts, never as ready.").rules
    gemini = Gemini(hooks, tmp_path)
    assert rule.text in gemini.fires("SessionStart", source="startup")
    assert "topic:github-pr-review" in gemini.hears(REVIEW)
    assert gemini.hears(f"{REVIEW} Please!").count(rule.text) == 0
    assert gemini.hears("ok, do it", compresses=True) == "", "it compresses after its hook was asked"
    told = gemini.hears(REVIEW)
    assert told.count("From the user's own memory, for this session.") == told.count("Marit Oksanen") == 1
    assert rule.text in told and "topic:github-pr-review" in told and len(told.encode()) <= 9_500
    again = gemini.hears(REVIEW)
    assert "Marit Oksanen" not in again and "topic:github-pr-review" not in again
    assert hooks.log.known(SESSION).line > 1, "what it said before is found again"
    assert [each for each in texts(engine) if "state_snapshot" in each] == [
        "<state_snapshot>s</state_snapshot>"
    ]


def test_what_came_with_the_prompt_at_which_gemini_compressed_is_held(hooks: Hooks, tmp_path: Path) -> None:
    gemini = Gemini(hooks, tmp_path)
    gemini.fires("SessionStart", source="startup")
    assert "topic:github-pr-review" in gemini.hears(REVIEW, compresses=True)
    told = gemini.hears(REVIEW)
    assert "Marit Oksanen" in told and "topic:github-pr-review" not in told


def test_what_was_told_after_compress_was_typed_is_not_told_a_second_time(
    hooks: Hooks, tmp_path: Path
) -> None:
    gemini = Gemini(hooks, tmp_path)
    gemini.fires("SessionStart", source="startup")
    gemini.hears(REVIEW)
    gemini.fires("PreCompress", trigger="manual")
    gemini.compresses()
    told = gemini.hears(REVIEW)
    assert "Marit Oksanen" in told and "topic:github-pr-review" in told
    told = gemini.hears(REVIEW)
    assert "Marit Oksanen" not in told and "topic:github-pr-review" not in told
