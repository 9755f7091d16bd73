"""Proposals made without a model are few and worth reading."""

from __future__ import annotations

import json
from pathlib import Path

from engine.knowledge.harvest.proposals import commands_of, proposed, to_review
from engine.knowledge.item import CATEGORIES, Item
from engine.knowledge.proposed import GROUPS, TITLES, WHY, Reason, group_of, is_shown
from engine.transcripts.turn import COMMAND, PLAN, Text, ToolCall, Turn
from tests.cases import each_case
from tests.knowledge.extract_support import source_of


def user(text: str, kind: str = "") -> Turn:
    return Turn("user", "10:00", (Text(text),), kind)


def agent(text: str, *tools: ToolCall, kind: str = "") -> Turn:
    return Turn("agent", "10:01", (*tools, *([Text(text)] if text else [])), kind)


def texts_of(reason: Reason, *turns: Turn) -> list[str]:
    return [item.text for item in proposed(turns) if item.why == WHY[reason]]


def test_only_an_approved_plan_is_proposed() -> None:
    plan = "# Plan: move the cache to Redis\n\n## Goal\n\nOne cache for all four workers of the API.\n"
    outcome = ToolCall("ExitPlanMode", "", "approved by the user")
    wanted = "move the cache to Redis: One cache for all four workers of the API."
    assert texts_of("plan", user("plan it"), agent(plan, outcome, kind=PLAN)) == [wanted]
    assert texts_of("plan", agent(plan, kind=PLAN), agent("On it.", outcome)) == [wanted]
    refused = ToolCall("ExitPlanMode", "", "rejected by the user")
    assert texts_of("plan", agent(plan, refused, kind=PLAN)) == []
    assert texts_of("plan", agent(plan, kind=PLAN), user("hm")) == []


def test_the_cause_that_the_agent_named_at_the_end_is_proposed() -> None:
    last = (
        "All tests pass.\n\n**Root cause:** the hook reads `config.yaml` before it is written.\n\n"
        "Changed `load()` to wait for the lock.\n\n```py\nAdded nothing()\n```"
    )
    found = proposed([user("fix it"), agent("Looking."), user("go on"), agent(last), user("thanks!")])
    assert [(item.category, item.text) for item in found] == [
        ("facts", "The cause was: the hook reads `config.yaml` before it is written."),
    ]


@each_case(
    "last",
    [
        "Cause: all tests pass and lint is clean with 0 issues in `app.py`.",
        "Cause: the section that documents these:",
        "Cause: `retry: 1` is set in two files.\n\nWhich of the two files should hold the timeout?",
        "Cause: unknown.",
        "The cause is in `hooks_test.go`, which reads a file that is not there.",
        "Issue: changed it to `fmt.Sprintf` to match the handler above it.",
    ],
)
def test_vague_messages_and_questions_are_not_a_cause(last: str) -> None:
    assert texts_of("summary", user("do it"), agent(last)) == []


def test_a_cause_the_person_objects_to_is_not_proposed() -> None:
    done = agent("Cause: `--all` reads the list command's file before it is written.")
    assert texts_of("summary", user("go"), done) != []
    assert texts_of("summary", user("go"), done, user("no, use the old name, people know it")) == []


def bash(command: str, result: str = "ok") -> Turn:
    return agent("", ToolCall("Bash", command, result))


def test_successful_commands_become_playbooks_with_their_count() -> None:
    turns = [
        bash("cd /srv/app && make test 2>&1 | tail -20"),
        bash("make test", "12 passed"),
        bash("make test && make lint", "ok"),
        bash("make test", "exit 2: 1 failed"),
    ]
    found = commands_of(turns)
    assert [(item.text, item.times) for item in found] == [
        ("**Run the tests**: make test", 3),
        ("**Lint**: make lint", 1),
    ]
    assert {item.why for item in found} == {WHY["command"]}


@each_case(
    "command",
    [
        "ls -la", "git status", "cat Makefile", "echo make test", "grep -rn test src",
        "go test ./cmd/... -run TestOne", "pytest tests/test_one.py", "pytest tests/test_one.py::test_it",
        "python3 /tmp/x.py", "make test $TARGET", "npm run build -- --filter app",
    ],
)  # fmt: skip
def test_one_off_commands_are_not_proposed(command: str) -> None:
    assert commands_of([bash(command)]) == []


@each_case("result", ["exit 1: FAIL", "error: no such file", "", "2 failed, 3 passed", "refused by the user"])
def test_failed_commands_are_not_proposed(result: str) -> None:
    assert commands_of([bash("make test", result)]) == []


def test_other_tools_and_other_voices_propose_nothing() -> None:
    assert commands_of([agent("", ToolCall("Read", "make test", "ok"))]) == []
    memory = Turn("user", "", (Text("TODO: x y"),), "memory")
    others = Turn("system", "", (Text("TODO: obey the page"),)), memory
    assert to_review(others) == ()


def test_a_secret_is_never_proposed() -> None:
    key = "sk-ant-api03-" + "aZ3" * 20
    assert to_review([user(f"Remember: the staging server takes the key {key}")]) == ()


def test_groups_have_a_title_and_say_what_kind_of_item_it_is() -> None:
    assert list(TITLES) == list(GROUPS) and {group_of(why) for why in WHY.values()} <= set(GROUPS)
    assert group_of("comes from tool output") == "repeated"
    assert group_of("may be based on text from outside") == "outside"
    assert group_of("is longer than 600 characters") == "other"
    assert group_of("looks like an instruction to a model") == group_of("a reason of tomorrow") == "risky"
    assert [group_of(WHY["marked"], category) for category in CATEGORIES] == [
        "facts", "decisions", "tasks", "tasks", "questions", "procedures", "facts",
    ]  # fmt: skip
    assert group_of(WHY["command"], "pages") == group_of(WHY["command"], "playbooks") == "commands"
    assert group_of(WHY["correction"], "decisions") == "decisions" and group_of(WHY["lesson"]) == "lessons"
    assert not is_shown(WHY["command"], 2) and is_shown(WHY["command"], 3) and is_shown("anything", 1)


def test_a_harvest_proposes_commands_marked_lines_and_causes_but_no_rules() -> None:
    turns = [
        user("Remember: staging is rebuilt on Mondays"),
        user("Lesson: ask before the merge"),
        user("Fact: it is so\nDecision: and shall be"),
        user("/review\n\n- [ ] Run the tests\nDecision: stop at the first error", COMMAND),
        user("Implement the following plan:\n\n- [ ] Verify that telemetry is off"),
        agent("TODO: said while working", bash("make test").tools[0]),
        user("no, never amend commits in this repository"),
        agent("**Root cause:** the hook reads `config.yaml` first.\n\nAdded `f()`.\n\nTODO: a release note"),
    ]
    found = [(group_of(item.why, item.category), item.text) for item in to_review(turns)]
    assert found == [
        ("commands", "**Run the tests**: make test"),
        ("facts", "staging is rebuilt on Mondays"),
        ("lessons", "ask before the merge"),
        ("pasted", "it is so"),
        ("pasted", "and shall be"),
        ("tasks", "a release note"),
        ("lessons", "The cause was: the hook reads `config.yaml` first."),
    ]


def test_commands_of_a_project_are_lines_of_its_page() -> None:
    turns = [bash("make test"), bash("make test"), bash("make lint")]
    assert to_review(turns, "tide-gauges") == tuple(
        Item(
            "pages", text, "knowledge/projects/tide-gauges/commands.md", "agent",
            why=WHY["command"], times=times, subject="Commands of tide-gauges",
        )
        for text, times in (("**Run the tests**: make test", 2), ("**Lint**: make lint", 1))
    )  # fmt: skip


def test_a_claude_code_log_gives_approved_plans_and_the_cause(tmp_path: Path) -> None:
    plan = "# Plan: Move the cache to Redis\n\nOne cache for all four workers, with a TTL of 15 min.\n"

    def call(name: str, **given: str) -> dict[str, object]:
        return {"content": [{"type": "tool_use", "id": name, "name": name, "input": given}]}

    def result(name: str, text: str, *, failed: bool = False) -> dict[str, object]:
        part = {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": failed}
        return {"role": "user", "content": [part]}

    messages: list[tuple[str, dict[str, object]]] = [
        ("user", {"role": "user", "content": "plan the move of the cache"}),
        ("assistant", call("ExitPlanMode", plan=plan)),
        ("user", result("ExitPlanMode", "User has approved your plan. You can now start coding.")),
        ("assistant", {"role": "assistant", "content": "Cause: `cache.py` opens one file per worker."}),
    ]
    lines = [
        {"sessionId": "s", "uuid": f"{at}", "timestamp": f"2026-06-12T10:{at:02}:00Z"}
        | {"type": kind, "message": message}
        for at, (kind, message) in enumerate(messages)
    ]
    source = source_of(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "log.jsonl")
    assert [(item.why, item.text) for item in proposed(source.turns)] == [
        (
            WHY["plan"],
            "Move the cache to Redis: One cache for all four workers, with a TTL of 15 min.",
        ),
        (WHY["summary"], "The cause was: `cache.py` opens one file per worker."),
    ]
