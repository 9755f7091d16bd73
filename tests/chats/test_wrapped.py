"""Prompts that Cursor, Cline, Roo Code and Gemini CLI have wrapped: only what was typed is the person's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.transcripts.chats.chat import Chat
from engine.transcripts.chats.read import read_chats
from tests.cases import each_case

_ENVIRONMENT = "<environment_details>\n# Visible Files\nsrc/a.py\n</environment_details>"


def message(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def chat(*messages: dict[str, Any]) -> Chat:
    (found,) = read_chats(json.dumps(messages).encode(), "api_conversation_history.json")
    return found


def typed(*messages: dict[str, Any]) -> list[str]:
    return [turn.text for turn in chat(*messages, message("assistant", "ok")).turns if turn.role == "user"]


def test_cursors_prompts_are_read_with_their_time() -> None:
    lines: list[dict[str, Any]] = [
        message(
            "user",
            "<timestamp>Tuesday, Jul 21, 2026, 12:11 AM (UTC+3)</timestamp>\n"
            "<attached_files>\na <user_query> in a file\n</attached_files>\n"
            "<user_query>\nfix the login\n\nWhat is </user_query> for?\n</user_query>",
        ),
        message("assistant", "Fixed.\n\n[REDACTED]"),
        {"type": "turn_ended", "status": "success"},
        message(
            "user", "<user_query>\nthanks\n</user_query>\n<system_reminder>\nbe brief\n</system_reminder>"
        ),
    ]
    nested = [{"role": each["role"], "message": each} if "role" in each else each for each in lines]
    (found,) = read_chats("\n".join(map(json.dumps, nested)).encode(), "x.jsonl")
    assert [(turn.role, turn.text) for turn in found.turns] == [
        ("user", "fix the login\n\nWhat is </user_query> for?"),
        ("agent", "Fixed."),
        ("user", "thanks"),
    ]
    assert found.started == datetime(2026, 7, 20, 21, 11, tzinfo=UTC)


def test_clines_prompts_answers_and_feedback_are_read_without_results_and_environment() -> None:
    found = typed(
        message(
            "user", "<task>\nbuild it\n</task>\n\n<file_content path='a'>\nx\n</file_content>", _ENVIRONMENT
        ),
        message(
            "user", "[ask_followup_question for 'Which?'] Result:", "<answer>\nblue\n</answer>", _ENVIRONMENT
        ),
        message("user", "[read_file for 'a'] Result:", "<feedback>in a file</feedback> of it", _ENVIRONMENT),
        message(
            "user",
            "[attempt_completion] Result:",
            "The user has provided feedback on the results.\n<feedback>\nnot like that\n</feedback>",
            _ENVIRONMENT,
        ),
        message("user", "[ERROR] You did not use a tool in your previous response! Please retry."),
        message("user", "[execute_command for 'ls'] Result:", "a.py\nb.py"),
        message("user", "typed without a tag", _ENVIRONMENT),
    )
    assert found == ["build it", "blue", "not like that", "typed without a tag"]


@each_case(
    "now",
    [
        "1/22/2026, 6:47:34 AM (UTC, UTC+0:00)",
        "1/21/2026, 10:47:34\u202fPM (America/Los_Angeles, UTC-8:00)",
        "Current time in ISO 8601 UTC format: 2026-01-22T06:47:34.120Z",
    ],
)
def test_cline_says_when_and_where_it_was_asked(now: str) -> None:
    details = f"# Current Time\n{now}\n\n# Current Working Directory (/srv/my app) Files\na.py"
    asked = message(
        "user", "<task>\nbuild it\n</task>", f"<environment_details>\n{details}\n</environment_details>"
    )
    found = chat(asked, message("assistant", "ok"))
    assert found.cwd == "/srv/my app" and found.started is not None
    assert f"{found.started:%F %R}" == "2026-01-22 06:47" and found.turns[0].time == "06:47"
    assert (
        chat(message("user", "<task>\nbuild it\n</task>", _ENVIRONMENT), message("assistant", "ok")).cwd == ""
    )


@each_case(
    "text",
    [
        "What does <user_query> do?\nAnd </user_query>?",
        "<user_query>\nis a tag\n</user_query>\nwhy?",
        "<task>one</task> and another",
        "[deploy] Result: it failed again",
        "Our log says <environment_details>, why?",
    ],
)
def test_a_person_may_mention_the_tags(text: str) -> None:
    assert typed(message("user", text)) == [text]


def test_files_that_a_prompt_of_gemini_mentions_are_not_the_persons() -> None:
    parts = [
        "explain @src/a.py",
        "\n--- Content from referenced files ---",
        "\nContent from @src/a.py:\n",
        "always = 1",
        "\n--- End of content ---",
    ]
    session = {
        "sessionId": "g",
        "projectHash": "h",
        "messages": [{"id": "1", "type": "user", "content": [{"text": part} for part in parts]}],
    }
    (found,) = read_chats(json.dumps(session).encode(), "session-1.json")
    assert [turn.text for turn in found.turns] == ["explain @src/a.py"]
    assert found.left_out == {"injected": 1}


def test_what_cline_says_of_a_switch_and_of_a_resumption_is_not_the_persons() -> None:
    resumed = "[TASK RESUMPTION] This task was interrupted just now. Be aware that"
    new = "New message to respond to with plan_mode_respond tool (be sure to provide your response):"
    again = "New instructions for task continuation:\n<user_message>\nfour\n</user_message>"
    switched = "[The user has switched to ACT MODE, so you may now proceed.]\n\nThe user also provided:"
    content = '\n\n<file_content path="a.py">\nx\n</file_content>'
    assert typed(
        message("user", "<task>\none\n</task>", _ENVIRONMENT),
        message("user", resumed, f"{new}\n<user_message>\ntwo\n</user_message>", _ENVIRONMENT),
        message("user", f"{switched}\n<user_message>\nthree\n</user_message>{content}", _ENVIRONMENT),
        message("user", resumed, again, _ENVIRONMENT),
    ) == ["one", "two", "three", "four"]


def test_what_opencode_has_read_for_a_prompt_is_not_the_persons() -> None:
    read = 'Called the Read tool with the following input: {"filePath":"/w/a.py"}'
    text = f"### 1. user\n\nsee @a.py\n\n{read}\n\n<path>/w/a.py</path>\n\n### 2. assistant\n\nok\n"
    (found,) = read_chats(text.encode(), "x.md")
    assert [turn.text for turn in found.turns] == ["see @a.py", "ok"]
    assert found.left_out == {"injected": 1}


def test_an_export_of_claude_dev_is_read_without_results_and_environment() -> None:
    saved = "[write_to_file]\nThe content was successfully saved to a.py."
    resumed = (
        "Task resumption: This autonomous coding task was interrupted 1 minute ago.\n\nNew instructions:"
    )
    automated = (
        "If you have completed the user's task, use the attempt_completion tool. "
        "(This is an automated message, so do not respond.)"
    )
    feedback = (
        "The user has provided feedback.\n<feedback>\ntwo\n</feedback>\n\n<diagnostics>\nx\n</diagnostics>"
    )
    asked = [
        "<task>\none\n</task>", saved, automated,
        f"[attempt_completion]\n{feedback}",
        "[ask_followup_question]\n<answer>\nthree\n</answer>",
        f"[execute_command]\nls\n{_ENVIRONMENT}\n{resumed}\n<user_message>\nfour\n</user_message>",
    ]  # fmt: skip
    turns = "".join(
        f"**User:**\n\n{each}\n{_ENVIRONMENT}\n\n---\n\n**Assistant:**\n\nok\n\n---\n\n" for each in asked
    )
    (found,) = read_chats(turns.encode(), "claude_dev_task.md")
    assert [turn.text for turn in found.turns if turn.role == "user"] == ["one", "two", "three", "four"]


@pytest.mark.parametrize("end", ["</ADDITIONAL_METADATA>", "<truncated 23 bytes>"])
def test_what_antigravity_adds_below_a_prompt_is_not_the_persons(end: str) -> None:
    head = "<ADDITIONAL_METADATA>"
    state = f"{head}\nThe current local time is: 2026-05-09T14:50:33+08:00.\n\nNothing is open.\n{end}"
    mine = f"{state}\n\nis what I see"
    text = f"## User\n\none\n{state}\n\n## Assistant\n\nok\n\n## User\n\n{mine}\n\n## Assistant\n\nok\n"
    (found,) = read_chats(text.encode(), "x.md")
    assert [turn.text for turn in found.turns] == ["one", "ok", mine, "ok"]


def test_an_answer_to_a_question_of_several_lines_is_the_persons_alone() -> None:
    question = "## Done\n\nIt's in `a.py`.\n\nGo on?"
    asked = f"[ask_followup_question for '{question}'] Result:\n<answer>\nYes, go on\n</answer>"
    attached = 'Files attached by the user:\n\n<file_content path="a.md">\nx\n</file_content>'
    assert typed(
        message("user", "<task>\none\n</task>", attached, _ENVIRONMENT), message("user", asked, _ENVIRONMENT)
    ) == ["one", "Yes, go on"]
