"""The transcript of an imported Claude Code session."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine.store.documents import parse as parse_document
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.schema import validate
from engine.transcripts.importers.drafts import IDLE_S, ImportResult
from engine.transcripts.importers.run import discover, import_file
from engine.transcripts.turn import Attachment, Text, ToolCall, Transcript, Turn
from tests.transcripts.logs import SESSION, ClaudeCode, read_transcript, write


class Importing:
    def __init__(self, folder: Path, workspace: Workspace, files: Files) -> None:
        self.log = folder / f"{SESSION}.jsonl"
        self.workspace = workspace
        self.files = files

    def __call__(self, *records: dict[str, Any] | bytes) -> ImportResult:
        write(self.log, *records)
        return import_file(
            "claude-code", self.log, self.workspace, self.files, clock=lambda: self.log.stat().st_mtime
        )

    def read(self, *records: dict[str, Any] | bytes) -> Transcript:
        return read_transcript(self.files, self(*records).target)

    def turns(self, *records: dict[str, Any] | bytes) -> tuple[Turn, ...]:
        return self.read(*records).turns


@pytest.fixture
def importing(tmp_path: Path, workspace: Workspace, files: Files) -> Importing:
    return Importing(tmp_path / "logs", workspace, files)


@pytest.fixture
def log() -> ClaudeCode:
    return ClaudeCode()


def test_a_whole_session_is_imported(importing: Importing, log: ClaudeCode) -> None:
    result = importing(
        {
            "type": "file-history-snapshot",
            "messageId": "m",
            "snapshot": {"timestamp": "2026-02-16T17:00:00Z"},
        },
        log.user("the linter fails, can you look?"),
        log.thinks("I should run it."),
        log.says("I'll run it."),
        log.calls("t1", "Bash", command="make lint", description="Run the linter"),
        log.result("t1", "Exit code 1\nshop/cart.py:3: unused import\n1 problem", is_error=True),
        log.calls("t2", "Read", file_path="/home/robin/shop/cart.py"),
        log.calls("t3", "Edit", file_path="/home/robin/shop/cart.py", old_string="import os", new_string=""),
        log.result("t3", "The file /home/robin/shop/cart.py has been updated. Here's the result…"),
        log.result("t2", "     1→import os\n     2→\n     3→x = 1"),
        log.says("Fixed."),
        log.record("system", subtype="turn_duration", durationMs=5),
        log.user("thanks"),
    )
    assert result == ImportResult(
        source=importing.log,
        target=f"raw/conversations/2026/02/16/1801-{SESSION}-the-linter-fails-can-you-look.md",
        session_id=SESSION,
        turns_new=3,
        turns_total=3,
        odd_lines=0,
        status="new",
    )
    data = importing.files.read(result.target)
    head, body = data.decode().split("---\n")[1:]
    assert body == (
        "\n# the linter fails, can you look?\n\n"
        "## 18:01 — user\nthe linter fails, can you look?\n\n"
        "## 18:03 — agent\nI'll run it.\n\n"
        "> [tool:Bash] make lint → exit 1: shop/cart.py:3: unused import … 1 problem\n"
        "> [tool:Read] /home/robin/shop/cart.py → 3 lines\n"
        "> [tool:Edit] /home/robin/shop/cart.py → updated\n\n"
        "Fixed.\n\n"
        "## 18:12 — user\nthanks\n"
    )
    assert head.startswith(
        f"session_id: {SESSION}\n"
        "started: 2026-02-16T18:01:00Z\n"
        "ended: 2026-02-16T18:12:00Z\n"
        "model: claude-opus-4-5-20251101\n"
        "channel: claude-code\n"
        "cwd: /home/robin/shop\n"
        "tokens_in: 600\n"
        "tokens_out: 30\n"
        "tags: []\n"
    )
    assert validate(parse_document(data, result.target)) == ()


def test_messages_from_the_program_to_the_model_are_left_out(importing: Importing, log: ClaudeCode) -> None:
    found = importing.turns(
        log.user("<local-command-caveat>Caveat: …</local-command-caveat>", isMeta=True),
        log.user(
            "<command-name>/ide</command-name>\n  <command-message>ide</command-message>\n"
            "  <command-args></command-args>"
        ),
        log.user("<local-command-stdout>Connected.</local-command-stdout>"),
        log.user([{"type": "text", "text": "Base directory for this skill: …"}], isMeta=True),
        log.user(
            "<ide_selection>x</ide_selection>\nreal words\n"
            "<system-reminder>todo list is empty</system-reminder>"
        ),
        log.user("<bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>"),
        log.reply({"type": "redacted_thinking", "data": "x"}),
        log.says("{rag-context}\nold\n{/rag-context}\nanswer"),
        log.reply({"type": "text", "text": "No response requested."}),
        log.record("progress", data={"type": "hook_progress"}),
    )
    assert [(turn.role, turn.kind, turn.text) for turn in found] == [
        ("user", "command", "/ide"),
        ("user", "", "real words"),
        ("agent", "", "answer"),
    ]


def test_commands_keep_the_arguments_of_the_user(importing: Importing, log: ClaudeCode) -> None:
    found = importing.turns(
        log.user(
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
            "<command-args>only the cart</command-args>"
        ),
        log.user("<bash-input>git status</bash-input>"),
    )
    assert [turn.text for turn in found] == ["/review only the cart", "! git status"]


def test_side_chains_are_left_out(importing: Importing, log: ClaudeCode) -> None:
    found = importing.turns(
        log.user("go"),
        log.user("sub task", isSidechain=True),
        log.says("sub answer", isSidechain=True),
        log.says("done"),
    )
    assert [turn.text for turn in found] == ["go", "done"]


def test_a_repeated_record_is_imported_once(importing: Importing, log: ClaudeCode) -> None:
    record = log.says("done")
    found = importing.turns(log.user("go"), record, record)
    assert [turn.text for turn in found] == ["go", "done"]


def test_two_records_on_one_line_are_both_read(importing: Importing, log: ClaudeCode) -> None:
    import json

    first, second = log.says("one"), log.user("two")
    glued = json.dumps(first).encode() + json.dumps(second).encode()
    result = importing(log.user("go"), glued, first, second)
    assert result.odd_lines == 1
    assert [turn.text for turn in read_transcript(importing.files, result.target).turns] == [
        "go",
        "one",
        "two",
    ]


def test_summaries_of_a_long_session_are_marked(importing: Importing, log: ClaudeCode) -> None:
    text = "This session is being continued from a previous conversation that ran out of context. …"
    found = importing.turns(
        log.user("go"), log.user(text), log.user("and more", isCompactSummary=True), log.user("on")
    )
    assert [(turn.role, turn.kind) for turn in found] == [
        ("user", ""),
        ("system", "summary"),
        ("system", "summary"),
        ("user", ""),
    ]


def test_service_errors_are_not_agent_turns(importing: Importing, log: ClaudeCode) -> None:
    error = log.says("API Error: 529 Overloaded", isApiErrorMessage=True)
    error["message"]["model"] = "<synthetic>"
    found = importing.read(log.user("go"), error, log.says("hello"))
    assert [(turn.role, turn.kind, turn.text) for turn in found.turns] == [
        ("user", "", "go"),
        ("system", "error", "API Error: 529 Overloaded"),
        ("agent", "", "hello"),
    ]
    assert found.header["model"] == "claude-opus-4-5-20251101"


def test_interruptions_are_system_turns(importing: Importing, log: ClaudeCode) -> None:
    found = importing.turns(
        log.user("go"),
        log.calls("t", "Edit", file_path="a.py"),
        log.result("t", "The user doesn't want to proceed with this tool use. …", is_error=True),
        log.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        log.user("why?"),
    )
    assert found[1].tools == (ToolCall("Edit", "a.py", "rejected by the user"),)
    assert (found[2].role, found[2].text) == ("system", "[Request interrupted by user for tool use]")


def test_messages_typed_during_a_turn_are_user_turns(importing: Importing, log: ClaudeCode) -> None:
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "also the tests"}
    other = {"type": "queued_command", "commandMode": "task-notification", "prompt": "x"}
    found = importing.turns(
        log.user("go"),
        log.says("yes"),
        log.record("attachment", attachment=queued),
        log.record("attachment", attachment=other),
    )
    assert [(turn.role, turn.text) for turn in found] == [
        ("user", "go"),
        ("agent", "yes"),
        ("user", "also the tests"),
    ]


def test_images_are_mentioned_but_not_stored(importing: Importing, log: ClaudeCode) -> None:
    data = "iVBORw0KGgo" * 1000
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    result = importing(
        log.user([{"type": "text", "text": "see"}, picture, linked]),
        log.calls("t", "Read", file_path="a.png"),
        log.result("t", [picture, {"type": "text", "text": "a picture"}]),
    )
    user, agent = read_transcript(importing.files, result.target).turns
    assert user.blocks == (
        Text("see"),
        Attachment("image/png (8 KB, not kept)"),
        Attachment("https://example.org/a.png"),
    )
    assert agent.tools == (ToolCall("Read", "a.png", "2 lines"),)
    assert data[:50].encode() not in importing.files.read(result.target)


def test_calls_without_a_result_are_imported_without_one(importing: Importing, log: ClaudeCode) -> None:
    found = importing.turns(
        log.user("go"), log.calls("t", "Bash", command="sleep 9"), log.result("other", "x"), log.user("stop")
    )
    assert found[1].tools == (ToolCall("Bash", "sleep 9"),)


def test_the_title_is_the_request_below_a_programs_block(importing: Importing, log: ClaudeCode) -> None:
    block = "<repo_rules>\nNever push to main.\n</repo_rules>"
    found = importing.read(log.user(f"{block}\n\nAdd a tide table."), log.says("Done."))
    assert found.title == "Add a tide table."
    assert found.turns[0].text == f"{block}\n\nAdd a tide table."


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([{"type": "custom-title", "customTitle": "Mine"}, {"type": "ai-title", "aiTitle": "Other"}], "Mine"),
        ([{"type": "ai-title", "aiTitle": "Theirs"}], "Theirs"),
        ([{"type": "summary", "summary": "Of this log", "leafUuid": "uuid-1"}], "Of this log"),
        (
            [{"type": "summary", "summary": "Of another log", "leafUuid": "elsewhere"}],
            "- fix the cart, please",
        ),
    ],
)
def test_the_title_comes_from_the_records(
    importing: Importing, log: ClaudeCode, records: list[dict[str, Any]], title: str
) -> None:
    found = importing.read(log.user("- fix the cart, please\nand more"), *records)
    assert found.title == title.removeprefix("- ")
    assert found.header.get("topic", "") == ("" if title.startswith("-") else title)


def test_turn_headings_within_a_message_are_not_turns(importing: Importing, log: ClaudeCode) -> None:
    text = "A transcript:\n\n## 18:47 — user\nhi\n\n```\nopen"
    found = importing.turns(log.user("show"), log.says(text), log.user("ok"))
    assert [turn.text for turn in found] == ["show", text, "ok"]


def test_a_session_silent_for_long_has_ended(importing: Importing, log: ClaudeCode) -> None:
    write(importing.log, log.user("go"), log.says("done"))
    written = datetime(2026, 2, 16, 18, 2, tzinfo=UTC).timestamp()
    os.utime(importing.log, (written, written))

    def run(now: float) -> ImportResult:
        return import_file(
            "claude-code", importing.log, importing.workspace, importing.files, clock=lambda: now
        )

    first = run(written)
    assert read_transcript(importing.files, first.target).ended == ""
    later = run(written + IDLE_S + 1)
    assert (later.status, later.turns_new) == ("unchanged", 0)
    assert read_transcript(importing.files, first.target).ended == "2026-02-16T18:02:00Z"
    before = importing.files.read(first.target)
    run(written + 10 * IDLE_S)
    assert importing.files.read(first.target) == before
    with importing.log.open("ab") as stream:
        stream.write(write(importing.log.with_name("more"), log.user("again")).read_bytes())
    os.utime(importing.log, (written + 60, written + 60))
    assert run(written + 60).status == "grown"
    assert read_transcript(importing.files, first.target).ended == ""


def test_a_fresh_copy_of_an_old_log_has_ended(importing: Importing, log: ClaudeCode) -> None:
    result = importing(log.user("go"), log.says("done"))
    assert read_transcript(importing.files, result.target).ended == "2026-02-16T18:02:00Z"


def test_a_log_without_dialogue_gives_no_transcript(importing: Importing, log: ClaudeCode) -> None:
    result = importing(log.record("progress"), {"type": "summary", "summary": "x", "leafUuid": "y"})
    assert (result.status, result.target, result.why) == ("skipped", "", "it has no dialogue yet")
    assert not importing.workspace.transcripts.exists()


def test_without_an_id_in_the_file_name_the_session_id_comes_from_the_log(
    importing: Importing, log: ClaudeCode
) -> None:
    importing.log = importing.log.with_name("session-1.jsonl")
    assert importing(log.user("go")).session_id == SESSION
    importing.log = importing.log.with_name("odd.jsonl")
    odd = importing(ClaudeCode("../../etc").user("go"))
    assert odd.session_id.startswith("claude-code-")
    assert odd.target.startswith("raw/conversations/2026/02/16/")


def test_logs_are_found_in_the_agents_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "claude"
    kept = [
        write(home / "projects" / folder / f"{name}.jsonl")
        for folder in ("-home-a", "-home-b")
        for name in ("x", "y")
    ]
    write(home / "projects" / "-home-a" / "agent-1234.jsonl")
    write(home / "projects" / "-home-a" / "x" / "subagents" / "agent-1.jsonl")
    write(home / "projects" / "-home-a" / "tool-results" / "z.jsonl")
    write(home / "projects" / "stray.jsonl")
    write(home / "history.jsonl")
    assert discover("claude-code", home) == kept
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    assert discover("claude-code") == kept
    assert discover("claude-code", tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    "text",
    [
        "The viewer shows <bash-input>ls</bash-input> as raw XML. Fix that before the release.",
        "<bash-input>ls</bash-input> and <bash-input>pwd</bash-input>",
        "<command-name>/ide</command-name> is shown as raw XML",
        "<local-command-stdout> leaks, and so does `</local-command-stdout>`.",
        "Tag <ide_selection> leaks. Its middle matters. Closing </ide_selection> leaks too.",
        "Caveat: The messages below were generated by the user while running local commands\nleaks. Hide it.",
        "Why does it say [Request interrupted by user] twice?",
        "Is <user-memory-input>x</user-memory-input> written to CLAUDE.md?",
    ],
)
def test_a_prompt_may_mention_what_the_program_writes(
    importing: Importing, log: ClaudeCode, text: str
) -> None:
    (turn,) = importing.turns(log.user(text))
    assert (turn.role, turn.kind, turn.text) == ("user", "", text)


def test_arguments_of_a_command_may_mention_tags(importing: Importing, log: ClaudeCode) -> None:
    command = (
        "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n"
        "<command-args>that <command-args>x</command-args> is cut</command-args>"
    )
    (turn,) = importing.turns(log.user(command))
    assert turn.text == "/fix that <command-args>x</command-args> is cut"


@pytest.mark.parametrize("queued", [False, True])
def test_a_notification_is_not_a_user_turn(importing: Importing, log: ClaudeCode, queued: bool) -> None:
    ended = (
        "<agent-notification>\n<agent-id>a8caf00</agent-id>\n<status>completed</status>\n"
        "Read the output file to retrieve the full result.\n</agent-notification>"
    )
    told = log.record("queue-operation", operation="enqueue", content=ended) if queued else log.user(ended)
    found = importing.turns(log.user("go"), told, log.says("The agent is done."))
    assert [(turn.role, turn.text) for turn in found] == [("user", "go"), ("agent", "The agent is done.")]


def test_a_whole_record_is_read_after_a_damaged_one_with_its_id(
    importing: Importing, log: ClaudeCode
) -> None:
    whole = log.user("every word of this")
    damaged = {**whole, "message": {"role": "user", "content": None}}
    assert [turn.text for turn in importing.turns(damaged, whole, whole)] == ["every word of this"]


def test_logs_are_found_in_all_of_several_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def log(folder: str) -> Path:
        return write(tmp_path / folder / "projects" / "-home-a" / "x.jsonl")

    one, two, comma = log("one"), log("two"), log("one,more")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path}/one, {tmp_path}/two")
    assert discover("claude-code") == [one, two]
    assert discover("claude-code", Path(f"{tmp_path}/two,{tmp_path}/one")) == [two, one]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path}/one,more")
    assert discover("claude-code") == [comma, one], "a folder whose name has a comma, and one of that name"


@pytest.mark.parametrize("variable", ["", "XDG_CONFIG_HOME"])
def test_logs_are_found_in_both_default_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    settings = tmp_path / ("elsewhere" if variable else ".config")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if variable:
        monkeypatch.setenv(variable, str(settings))
    usual = write(tmp_path / ".claude" / "projects" / "-home-a" / "x.jsonl")
    assert discover("claude-code") == [usual]
    other = write(settings / "claude" / "projects" / "-home-a" / "y.jsonl")
    assert discover("claude-code") == [usual, other]


@pytest.mark.parametrize(
    "notice",
    [
        'Another Claude session sent a message:\n<teammate-message teammate_id="rev">\nAlways push.\n'
        "</teammate-message>\n\nThis came from another Claude session.",
        "Stop hook feedback:\n[./check.sh]: Always run the tests.",
        "Unknown skill: refactor-views",
    ],
)
def test_what_another_session_or_a_hook_says_is_not_the_persons(
    importing: Importing, log: ClaudeCode, notice: str
) -> None:
    queued = log.record("attachment", attachment={"type": "queued_command", "prompt": notice})
    found = importing.turns(log.user("go"), log.says("ok"), log.user(notice), queued, log.user("next"))
    assert [(turn.role, turn.text) for turn in found] == [
        ("user", "go"),
        ("agent", "ok"),
        ("system", notice),
        ("user", "next"),
    ]


def test_a_prompt_that_mentions_a_notice_is_the_persons(importing: Importing, log: ClaudeCode) -> None:
    text = 'Why does it say "Another Claude session sent a message:"?\nAnd "Stop hook feedback:\n"?'
    told = "Unknown skill: refactor-views\nwhy is it not found?"
    found = importing.turns(log.user(text), log.says("ok"), log.user(told))
    assert [turn.text for turn in found if turn.role == "user"] == [text, told]


def queue(log: ClaudeCode, operation: str, content: str | None = None, second: int = 0) -> dict[str, Any]:
    about = {"type": "queue-operation", "operation": operation, "sessionId": log.session_id}
    at = {"timestamp": f"2026-02-16T18:30:{second:02}.5Z"}
    return about | at | ({} if content is None else {"content": content})


@pytest.mark.parametrize(
    "text",
    [
        '{"task_id":"b1c2","tool_use_id":"toolu_1","description":"say \\"x\\"","task_type":"local_bash"}',
        "<bash-notification>\n<shell-id>2d</shell-id>\n<status>failed</status>\n</bash-notification>",
        "<ci-monitor-event>A check failed.\n\nPlease fix it.</ci-monitor-event>",
    ],
)
def test_what_the_program_queues_is_not_the_persons(importing: Importing, log: ClaudeCode, text: str) -> None:
    put, sent = queue(log, "enqueue", text), queue(log, "dequeue")
    found = importing.turns(log.user("go"), put, log.says("ok"), queue(log, "enqueue", text), sent)
    assert [(turn.role, turn.text) for turn in found] == [("user", "go"), ("agent", "ok")]


def test_a_person_may_queue_a_task_with_words_around_it(importing: Importing, log: ClaudeCode) -> None:
    text = 'Why {"task_id":"b1c2","task_type":"local_bash"}'
    assert [turn.text for turn in importing.turns(log.user("go"), queue(log, "enqueue", text))] == [
        "go",
        text,
    ]


def test_a_queued_message_that_is_put_back_is_one(importing: Importing, log: ClaudeCode) -> None:
    tries = [
        queue(log, operation, "add a todo" if operation == "enqueue" else None, second)
        for second in (0, 20, 40)
        for operation in ("enqueue", "dequeue")
    ]
    found = importing.turns(
        log.user("go"), log.says("ok"), *tries, log.user("add a todo"), log.says("Added.")
    )
    assert [turn.text for turn in found] == ["go", "ok", "add a todo", "Added."]


def test_a_prompt_whose_record_a_summary_replaced_stands_above_the_reply(
    importing: Importing, log: ClaudeCode
) -> None:
    asked, later = "write the change note for each branch", "now push it"
    found = importing.turns(
        log.user("go"),
        log.says("ok"),
        queue(log, "enqueue", asked),
        queue(log, "dequeue"),
        log.user("This session is being continued from a previous conversation", isCompactSummary=True),
        log.says("The note is there."),
        queue(log, "enqueue", later),
        queue(log, "dequeue"),
        log.user(later),
    )
    said = [(turn.role, turn.text) for turn in found if turn.kind != "summary"]
    assert said[2:] == [("user", asked), ("agent", "The note is there."), ("user", later)]


def test_a_queued_command_is_a_command(importing: Importing, log: ClaudeCode) -> None:
    put = [queue(log, "enqueue", text) for text in ("/clear", "/plan the shop", "/home/robin is full")]
    found = importing.turns(*put, log.user("go"), log.says("ok"))
    kinds = [(turn.kind, turn.text) for turn in found if turn.role == "user"]
    assert kinds == [
        ("command", "/clear"),
        ("command", "/plan the shop"),
        ("", "/home/robin is full"),
        ("", "go"),
    ]


def test_an_approved_plan_that_begins_a_session_is_the_agents(importing: Importing, log: ClaudeCode) -> None:
    plan, hint = (
        "# Sort the shop\n\nFirst the till.",
        "\n\nIf you need details, read the transcript at: /h/x.jsonl",
    )
    told = f"Implement the following plan:\n\n{plan}{hint}"
    found = importing.turns(
        log.user(told, planContent=plan), log.says("ok"),
        log.user(f"{told}\n\nUser feedback on this plan: no emoji", planContent=plan), log.says("Done."),
    )  # fmt: skip
    assert [(turn.role, turn.kind, turn.text) for turn in found] == [
        ("agent", "plan", plan), ("agent", "", "ok"), ("agent", "plan", plan),
        ("user", "correction", "no emoji"), ("agent", "", "Done."),
    ]  # fmt: skip
    assert [turn.text for turn in importing.turns(log.user(told))][-1] == told


def test_a_session_in_a_programs_own_folder_is_not_the_persons(importing: Importing, log: ClaudeCode) -> None:
    at = {"cwd": "/home/robin/.claude-mem/observer-sessions"}
    told = (
        queue(log, "enqueue", "Hello memory agent"),
        log.user("Hello memory agent", **at),
        log.says("ok", **at),
    )
    result = importing(*told)
    assert (result.status, result.why) == ("skipped", "nobody but claude-mem speaks in it")
    found = importing.turns(
        log.user("Why is /home/robin/.claude-mem/observer-sessions full?"), log.says("ok")
    )
    assert [turn.role for turn in found] == ["user", "agent"]


def test_a_time_that_lies_ahead_dates_no_session(importing: Importing, log: ClaudeCode) -> None:
    ahead = log.user("always use tabs from now on") | {"timestamp": "9999-12-31T23:59:59Z"}
    result = importing(ahead, log.says("Understood."))
    assert result.target.startswith("raw/conversations/2026/02/16/")
