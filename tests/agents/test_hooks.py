"""What hooks inject into an agent's session, and what they capture from it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.agents import hooks
from engine.agents.hooks import Hooks
from engine.context.compiled import Compiled
from engine.conversations.conversations import Conversation
from engine.engine import Engine
from engine.events import AgentTold, ErrorReported
from engine.knowledge.harvest.report import HarvestRequest
from engine.pipeline.prompts import Prompts
from engine.search.index import SearchIndex
from engine.search.results import SearchResult
from tests.agents.agent import INJECTED, Agent
from tests.cases import each_case
from tests.engine.conftest import Witness
from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump

REVIEW = "Can you review the PR that just came in?"


def call_hook(hooks: Hooks, **fields: Any) -> str:
    return hooks.answer("claude-code", json.dumps({"session_id": SESSION, **fields}).encode())


def captured(engine: Engine, session: str = SESSION) -> Conversation:
    return engine.conversations.of_session(session)


def texts(engine: Engine, session: str = SESSION) -> list[str]:
    return [turn.text for turn in captured(engine, session).turns]


def notes(hooks: Hooks) -> list[tuple[str, str]]:
    return [(run.moment, run.said) for run in hooks.log.backwards()][::-1]


def test_a_session_from_start_to_commit(engine: Engine, hooks: Hooks, agent: Agent) -> None:
    injected = agent.start()
    assert injected.startswith(INJECTED) and injected.endswith("{/autopoiesis}")
    assert (
        "Marit Oksanen" in injected
        and "# Core Memory" in injected
        and "<!-- project:context.md -->" in injected
    )

    injected = agent.prompt(REVIEW, "I looked at it.")
    assert "<!-- topic:github-pr-review -->" in injected and "code-review.md" in injected
    assert "_active.md" not in injected, "already injected at session start"
    again = agent.prompt(REVIEW, "I looked at it again.")
    assert "topic:github-pr-review" not in again and "code-review.md" not in again
    assert agent.prompt("ok, do it") == "" and ("prompt", "nothing relevant") in notes(hooks)

    assert texts(engine) == agent.messages, "every turn once, and no injected text"
    injection = engine.injections.log.last(10)[-1]
    assert injection.by == "claude-code" and injection.session_id == SESSION
    assert injection.is_claimed and injection.finished, "the outcome is recorded"
    decided = engine.decision_log.last(500)
    assert {each.topic for each in decided if each.session_id == SESSION} >= {"github-pr-review"}

    agent.end()
    path = captured(engine).path
    subject = git(engine, "log", "-1", "--format=%s", "--", path)
    assert subject.startswith("conversation: import 1 session")
    assert git(engine, "status", "--porcelain", "raw") == ""


def git(engine: Engine, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=engine.workspace.root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_resumed_session_does_not_get_the_start_injection_twice(hooks: Hooks, agent: Agent) -> None:
    assert agent.start("resume") != "", "a session from before the hooks has had no injection"
    assert agent.start("resume") == ""
    assert agent.start("clear") != ""


def test_a_session_resumed_at_once_is_not_injected_twice(hooks: Hooks, agent: Agent) -> None:
    agent.start()
    agent.prompt(REVIEW)
    for _ in range(2):
        assert agent.start("resume") == ""
        assert notes(hooks)[-1][1].startswith("resumed session")
        agent.end()


def test_a_fork_inherits_the_injections_of_its_session(hooks: Hooks, tmp_path: Path) -> None:
    first = Agent(hooks.answer, tmp_path, name="codex")
    fork = Agent(hooks.answer, tmp_path, name="codex", session_id=SESSION.replace("4", "5"))
    assert fork.session_id != SESSION and first.start() != ""
    fork.log.write_bytes(dump(Codex().record("session_meta", id=fork.session_id, forked_from_id=SESSION)))
    assert fork.start("fork") == "" and notes(hooks)[-1][1].startswith("resumed session")
    assert fork.prompt(REVIEW, "Two remarks.").count("Marit Oksanen") == 0
    assert fork.start("resume") == "" and fork.start("compact") != ""


def test_a_session_log_written_after_the_hook_call_is_waited_for(
    engine: Engine, hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Claude Code 2.1: no file at a session's first Stop, and no answer in it yet at the next."""
    log, claude = tmp_path / f"{SESSION}.jsonl", ClaudeCode(SESSION)
    writes = iter([dump(claude.user("Which ebb is it?")), dump(claude.says("Said.")), b""])

    def behind(_seconds: float) -> None:
        with log.open("ab") as file:
            file.write(next(writes))

    clock = SimpleNamespace(sleep=behind, monotonic=lambda: 0.0)
    monkeypatch.setattr("engine.agents.hooks.time", clock)
    stop = {
        "hook_event_name": "Stop",
        "transcript_path": str(log),
        "last_assistant_message": "Well…\n\nSaid.\n",
    }
    call_hook(hooks, **stop)
    assert texts(engine) == ["Which ebb is it?", "Said."]
    writes = iter([dump(claude.user("And now?")), dump(claude.says("Said."))])
    behind(0)
    call_hook(hooks, **stop)
    assert texts(engine)[2:] == ["And now?", "Said."], "an identical earlier answer is not taken for it"


@pytest.mark.parametrize("more", [" My key is sk-ant-api03-" + "a1B2c3D4e5F6g7H8" * 5, " and so on" * 4_000])
def test_what_a_prompt_was_given_is_matched_to_its_reply(
    more: str, engine: Engine, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.agents.call.MAX_CHARACTERS", 30_000)
    assert agent.prompt(REVIEW + more)
    assert agent.prompt("ok, do it") == ""
    assert [(each.is_claimed, each.finished) for each in engine.injections.log.last(5)] == [(True, True)]


def test_captures_that_are_late_do_not_wait(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Callable[[], None]] = []
    agent = Agent(Hooks(engine, waiting.append).answer, tmp_path / "claude")
    agent.start()
    for number in range(3):
        agent.prompt(f"What about number {number}?", f"It is number {number}.")
    clock = time.monotonic
    monkeypatch.setattr("engine.agents.hooks.time.monotonic", lambda: clock() + 2)
    monkeypatch.setattr("engine.agents.hooks.time.sleep", lambda _seconds: pytest.fail("it waits"))
    for job in waiting:
        job()
    assert texts(engine) == agent.messages


def test_hooks_configured_in_two_settings_files_inject_once(hooks: Hooks, agent: Agent) -> None:
    assert agent.start() != "" and agent.start() == ""
    assert hooks.log.known(SESSION).sections, "the second run does not hide what the first injected"
    assert agent.fire("UserPromptSubmit", prompt=REVIEW) != ""
    assert agent.fire("UserPromptSubmit", prompt=REVIEW) == ""
    assert notes(hooks)[-1][1].startswith("duplicate event")
    agent.fire("UserPromptSubmit", prompt=REVIEW, turn_id="2")
    assert not notes(hooks)[-1][1].startswith("duplicate event"), "the person sent it again"


def test_the_task_of_a_sub_agent_is_not_treated_as_a_prompt(hooks: Hooks, tmp_path: Path) -> None:
    agent = Agent(hooks.answer, tmp_path / "codex", name="codex")
    agent.start()
    fields = {"prompt": REVIEW, "turn_id": "1", "agent_id": "01a20adb-5dba", "agent_type": "default"}
    assert agent.fire("UserPromptSubmit", **fields) == ""
    assert "topic:github-pr-review" in agent.prompt(REVIEW), "the parent agent has not had it injected"
    assert [moment for moment, _ in notes(hooks)] == ["session_start", "prompt", "stop"]


@pytest.mark.parametrize("tag", ["task-notification", "agent-notification"])
def test_a_background_task_notification_is_not_treated_as_a_prompt(
    hooks: Hooks, agent: Agent, tag: str
) -> None:
    """The payload is what Claude Code 2.1 sends to the UserPromptSubmit hook."""
    agent.start()
    ended = f"<{tag}>\n<task-id>a1947a9</task-id>\n<result>{REVIEW}</result>\n</{tag}>"
    assert agent.fire("UserPromptSubmit", prompt=ended) == ""
    assert notes(hooks)[-1] == ("prompt", "not a person's prompt")
    assert "topic:github-pr-review" in agent.fire("UserPromptSubmit", prompt=f"<b> {REVIEW}")


def test_corrections_of_agent_output_are_injected_with_the_next_prompt(engine: Engine, agent: Agent) -> None:
    engine.files.replace(
        "topics/no-amend.md",
        b"---\ntype: topic\ndescription: Commits are not amended.\ntriggers:\n  - type: pattern\n"
        b"    match: 'git commit --amend'\n    scope: output\n    correction_hint: make a new commit\n"
        b"---\n\n",
    )
    engine.reload_topics()
    agent.start()
    agent.prompt("fix the typo", "Done with `git commit --amend`.")
    assert "make a new commit" in agent.prompt("and now the other one")


def test_rules_are_injected_once_and_held_for_every_prompt(engine: Engine, agent: Agent) -> None:
    (rule,) = engine.rules.add("Open pull requests as drafts, never as ready.").rules
    injected = agent.start()
    assert "{my-rules}" in injected and rule.text in injected
    agent.prompt(REVIEW)
    shown = engine.injections.log.last(1)[0].rules
    assert shown is not None and rule.id in shown.held


def test_a_rule_is_repeated_with_a_prompt_that_is_about_it(engine: Engine, agent: Agent) -> None:
    engine.rules.add("Never push to main without a review.")
    engine.rules.add(
        "Just check whether the branch works when a session goes on after a warning about the state."
    )
    agent.start()
    injected = agent.prompt("shall we push to main?")
    assert "push to main" in injected and "Just check" not in injected
    # Two incidental words of a long rule are not enough, nor is one very common word.
    assert "{my-rules}" not in agent.prompt("the branch has an old session")
    assert "{my-rules}" not in agent.prompt("the main window flickers")


@pytest.mark.parametrize(
    ("prompt", "is_searched"),
    [
        ("can you do the fix?", False),
        ("commit this, then let's do the other part", False),
        ("now double check again", False),
        ('@agent Continue: "Continue to iterate?"', False),
        ("@agent Try Again", False),
        (
            "[Terminal 4f0c2d1e-0a1b-4c2d-8e3f-0123456789ab notification: command completed with exit code 1."
            " Use send_to_terminal to send another command.]\nTerminal output:\nfix the flaky gauge test",
            False,
        ),
        ("how do we run the tests?", True),
        ("what did we change last?", True),
        ("fix the flaky gauge test", True),
    ],
)
def test_knowledge_is_searched_only_for_prompts_that_ask_something(
    prompt: str, is_searched: bool, engine: Engine
) -> None:
    made = engine.prompts.compile(prompt, None, part="message")
    reasons = [left.reason for left in made.left_out if left.label == "knowledge"]
    assert reasons == ([] if is_searched else ["not searched: the message asks nothing"])


def test_a_starter_file_is_not_memory(tmp_path: Path) -> None:
    from engine.workspace.initialise import initialise

    initialise(tmp_path / "new")
    prompt = "how can we know what the agent can use here?"
    with Engine.open(tmp_path / "new") as engine:
        assert Agent(Hooks(engine).answer, tmp_path / "claude").prompt(prompt) == ""
        tools = tmp_path / "new/knowledge/identity/TOOLS.md"
        tools.write_text(tools.read_text().replace("use here", "use here: ripgrep"))
        other = Agent(Hooks(engine).answer, tmp_path / "other", session_id="b" * 8)
        assert "ripgrep" in other.prompt(prompt)


@pytest.mark.parametrize(
    ("prompt", "is_review"),
    [
        ("let's review the code we've created for this branch", True),
        ("this is PR https://git.example/tides/pull/104\n\nLet's review this together", True),
        ("please look over my latest changes", True),
        ("Review the plan that deals with end-to-end tests. I am unclear on its order.", False),
        ("We need to review the overview files to check they still hold", False),
    ],
)
def test_the_starter_topic_is_about_reviews_of_changes(tmp_path: Path, prompt: str, is_review: bool) -> None:
    from engine.workspace.initialise import initialise

    initialise(tmp_path / "new")
    playbook = tmp_path / "new" / "topics" / "code-review.md"
    for activation, is_told in (("manual", False), ("gated", is_review)):  # an example until it is wanted
        playbook.write_text(playbook.read_text().replace("activation: manual", f"activation: {activation}"))
        with Engine.open(tmp_path / "new") as engine:
            injected = Agent(Hooks(engine).answer, tmp_path / "claude").prompt(prompt)
        assert ("topic:code-review" in injected) == is_told


def test_injections_fit_the_size_limit_of_the_agent(engine: Engine, agent: Agent) -> None:
    for name in ("memory/MEMORY.md", "identity/USER.md", "projects/tidemark/context.md"):
        engine.files.replace(f"knowledge/{name}", ("潮位計の記録を毎朝確認する。" * 900).encode())
    engine.files.replace(
        "topics/big.md",
        b"---\ntype: topic\ndescription: Tides.\ntriggers:\n  - type: keywords\n    words: [spring tide]\n"
        b"---\n\n## Instructions\n\n" + "満潮の前に確認する。\n".encode() * 200,
    )
    engine.reload_topics()
    injected = agent.start()  # the agent itself checks the size
    assert "潮位計" in injected and "[cut for length: " in injected
    assert "満潮" in agent.prompt("what about the spring tide?")


def test_a_prompt_that_is_cut_to_the_limit_of_the_agent_is_searched_for_once(
    engine: Engine, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    search, compile_ = SearchIndex.search, Prompts.compile

    def searched(index: SearchIndex, query: str, **options: Any) -> list[SearchResult]:
        asked.append(query)
        return search(index, query, **options)

    budgets = list[int]()

    def compiled(prompts: Prompts, *arguments: Any, **options: Any) -> Compiled:
        budgets.extend([options["budget"]] * (options["part"] == "message"))
        return compile_(prompts, *arguments, **options)

    monkeypatch.setattr(SearchIndex, "search", searched)
    monkeypatch.setattr(Prompts, "compile", compiled)
    monkeypatch.setattr(hooks, "_injected_text", lambda made, *_: "x" * (20_000 if len(budgets) == 1 else 9))
    agent.prompt("look at the spring tide at Nordersiel")
    assert len(budgets) > 1 and len(asked) == 1


def test_a_new_workspace_injects_nothing(tmp_path: Path) -> None:
    from engine.workspace.initialise import initialise

    initialise(tmp_path / "new")
    with Engine.open(tmp_path / "new") as engine:
        agent = Agent(Hooks(engine).answer, tmp_path / "claude")
        assert agent.start() == ""
        assert agent.prompt("hello, fix the build please", "It is fixed.") == ""
        assert texts(engine) == agent.messages


def test_codex_sessions_are_injected_and_captured_too(engine: Engine, hooks: Hooks, tmp_path: Path) -> None:
    agent = Agent(hooks.answer, tmp_path / "codex", name="codex")
    assert "# Core Memory" in agent.start()
    assert "topic:github-pr-review" in agent.prompt(REVIEW, "Two remarks.")
    assert texts(engine) == agent.messages
    assert project_of_last(hooks) == "tidemark"


def project_of_last(hooks: Hooks) -> str:
    return next(iter(hooks.log.backwards())).project


BLOCK = "{autopoiesis}\nnever mind the tests, said the memory\n{/autopoiesis}"
FORMS = {
    "an attachment": lambda log: log.record(
        "attachment", attachment={"type": "hook_additional_context", "content": [BLOCK]}
    ),
    "a reminder": lambda log: log.user(f"<system-reminder>\n{BLOCK}\n</system-reminder>"),
    "the hook's tag": lambda log: log.user(f"<user-prompt-submit-hook>{BLOCK}</user-prompt-submit-hook>"),
    "a part of the message": lambda log: log.user(
        [{"type": "text", "text": "fix it"}, {"type": "text", "text": BLOCK}]
    ),
    "below the message": lambda log: log.user(f"fix it\n\n{BLOCK}"),
    "a system record": lambda log: log.record("system", content=f"UserPromptSubmit hook success: {BLOCK}"),
    "quoted by the agent": lambda log: log.says(f"As you wish.\n\n{BLOCK}"),
}


@each_case("form", FORMS)
def test_injected_text_is_never_captured(form: str, engine: Engine, hooks: Hooks, tmp_path: Path) -> None:
    log = ClaudeCode()
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(dump(log.user("fix it"), FORMS[form](log), log.says("Fixed.")))
    call_hook(hooks, hook_event_name="Stop", transcript_path=str(path))
    data = engine.files.read(captured(engine).path).decode()
    assert "said the memory" not in data and "fix it" in data and "Fixed." in data


PROMPT = {"hook_event_name": "UserPromptSubmit"}
STOP = {"hook_event_name": "Stop", "session_id": "x"}
PAYLOADS: dict[str, object] = {
    "nothing": b"",
    "not JSON": b"{'hook_event_name': 1",
    "not an object": b"[1, 2]",
    "deep": b"[" * 200_000,
    "not text": b"\xff\xfe\x00",
    "no event": {},
    "an unknown event": {"hook_event_name": "Yawn"},
    "numbers instead of strings": {**STOP, "session_id": 7, "transcript_path": [], "cwd": {}},
    "no log": {**STOP, "transcript_path": "/nowhere/at/all.jsonl"},
    "a folder as log": {**STOP, "transcript_path": "/tmp"},
    "a device as log": {**STOP, "transcript_path": "/dev/zero"},
    "a session that is a path": {**PROMPT, "session_id": "../../x", "prompt": "hi"},
    "an empty prompt": {**PROMPT, "prompt": " "},
    "half a character": {**PROMPT, "prompt": "\ud800 review", "cwd": "\udfff/x"},
    "a huge prompt": {**PROMPT, "prompt": "tide " * 400_000},
}


@each_case("payload", PAYLOADS)
def test_malformed_payloads_never_block_the_agent(payload: str, engine: Engine, hooks: Hooks) -> None:
    sent = PAYLOADS[payload]
    answer = hooks.answer("claude-code", sent if isinstance(sent, bytes) else json.dumps(sent).encode())
    assert answer == "" or json.loads(answer)["hookSpecificOutput"]["additionalContext"]


def test_failures_are_logged_and_reported_to_subscribers(engine: Engine, hooks: Hooks) -> None:
    witness = Witness()
    engine.subscribe(witness)
    assert hooks.answer("nobody", b"{}") == "" and hooks.answer("claude-code", b"{") == ""
    engine.files.replace("knowledge/identity/SOUL.md", b"")  # any existing file
    call_hook(hooks, hook_event_name="Stop", transcript_path="")
    assert [run.failed for run in hooks.log.backwards()] == [False, True, True]
    assert "bytes that are not JSON" in witness.wait(ErrorReported, lambda event: "JSON" in event.text).text
    assert witness.wait(AgentTold, lambda event: event.moment == "stop").said.endswith(
        "did not name a session log"
    )


def test_settings_limit_injection_and_capture(engine: Engine, hooks: Hooks, agent: Agent) -> None:
    for setting, value in (("session_tokens", "0"), ("prompt_tokens", "0"), ("capture", "false")):
        engine.configuration.change(f"hooks.{setting}", value)
    assert agent.start() == "" and agent.prompt(REVIEW) == ""
    assert {what for _, what in notes(hooks)} == {
        "hooks.session_tokens is 0",
        "hooks.prompt_tokens is 0",
        "hooks.capture is off",
    }


def test_accepted_commands_answer_how_to_run_the_tests(engine: Engine, agent: Agent, tmp_path: Path) -> None:
    answer = "**Run the tests**: make test-fast"
    paths = []
    for project, command in (("tidemark", "make test-fast"), ("harbour", "make test-of-another-project")):
        head = f"session_id: ses_{project}\nstarted: 2026-06-10T18:00:00Z\nended: 2026-06-10T18:10:00Z"
        calls = 3 * f"> [tool:Bash] {command} → 12 passed\n"
        paths.append(f"raw/conversations/2026/06/10/1800-ses_{project}-tests.md")
        text = f"---\n{head}\ncwd: /home/robin/{project}\n---\n\n## 18:00 — user\ngo\n\n"
        text += f"## 18:01 — agent\n{calls}"
        engine.files.create(paths[-1], text.encode())
    engine.knowledge.harvest.run(HarvestRequest(tuple(paths), transcripts=True))
    commands = [each for each in engine.knowledge.review.queue.waiting() if each.group == "commands"]
    assert len(commands) == 2
    for each in commands:
        engine.knowledge.review.accept(each.id)
    for name in ("tasks.md", "playbooks.md", "memory/MEMORY.md", "projects/tidemark/context.md"):
        lines = "".join(f"- Task {number} is about the tests of gauge {number}.\n" for number in range(900))
        engine.files.replace(f"knowledge/{name}", f"# Many\n\n{lines}".encode())
    engine.knowledge.digest.regenerate(force=True)

    question = "how do I run the tests here?"
    injected = agent.start()
    assert answer in injected and "test-of-another-project" not in injected
    agent.prompt("hello")
    for budget in (2_048, 8_192):
        for message in (question, "the pump of gauge 7 reports nothing"):
            assert answer in engine.compile(message, session_id=SESSION, budget=budget).text
    assert answer not in engine.compile(question, session_id="ses_harbour").text.partition("{rag-context")[0]

    fresh = Agent(Hooks(engine).answer, tmp_path / "fresh", session_id=SESSION[:-1] + "0")
    assert answer in fresh.prompt(question), "the agent's program never announced the session"
