"""Proposals made without a model are few and worth reading."""

from __future__ import annotations

from engine.knowledge.harvest.proposals import commands_of, to_review
from engine.knowledge.item import CATEGORIES, Item
from engine.knowledge.proposed import GROUPS, TITLES, WHY, group_of, is_shown
from engine.transcripts.turn import COMMAND, Text, ToolCall, Turn
from tests.cases import each_case


def user(text: str, kind: str = "") -> Turn:
    return Turn("user", "10:00", (Text(text),), kind)


def agent(text: str, *tools: ToolCall, kind: str = "") -> Turn:
    return Turn("agent", "10:01", (*tools, *([Text(text)] if text else [])), kind)


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


def test_a_harvest_proposes_commands_and_marked_lines_but_no_rules() -> None:
    turns = [
        user("Remember: staging is rebuilt on Mondays"),
        user("Lesson: ask before the merge"),
        user("Fact: it is so\nDecision: and shall be"),
        user("/review\n\n- [ ] Run the tests\nDecision: stop at the first error", COMMAND),
        user("Implement the following plan:\n\n- [ ] Verify that telemetry is off"),
        agent("TODO: said while working", bash("make test").tools[0]),
        user("no, never amend commits in this repository"),
        agent("Added `f()`.\n\nTODO: a release note"),
    ]
    found = [(group_of(item.why, item.category), item.text) for item in to_review(turns)]
    assert found == [
        ("commands", "**Run the tests**: make test"),
        ("facts", "staging is rebuilt on Mondays"),
        ("lessons", "ask before the merge"),
        ("pasted", "it is so"),
        ("pasted", "and shall be"),
        ("tasks", "a release note"),
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
