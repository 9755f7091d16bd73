"""What agents are told at their events, and what is taken in of their sessions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.agents.hooks import Hooks
from engine.agents.switches import Switches
from engine.conversations.conversations import Conversation
from engine.engine import Engine
from engine.events import AgentTold, ErrorReported
from tests.agents.agent import INJECTED, Agent
from tests.cases import each_case
from tests.engine.conftest import Witness
from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump

REVIEW = "Can you review the PR that just came in?"


@pytest.fixture
def agent(hooks: Hooks, tmp_path: Path) -> Agent:
    return Agent(hooks.answer, tmp_path / "claude")


def said(hooks: Hooks, **fields: Any) -> str:
    return hooks.answer("claude-code", json.dumps({"session_id": SESSION, **fields}).encode())


def captured(engine: Engine, session: str = SESSION) -> Conversation:
    return engine.conversations.of_session(session)


def texts(engine: Engine, session: str = SESSION) -> list[str]:
    return [turn.text for turn in captured(engine, session).turns]


def notes(hooks: Hooks) -> list[tuple[str, str]]:
    return [(run.moment, run.said) for run in hooks.log.backwards()][::-1]


def test_a_session_from_its_start_to_its_commit(engine: Engine, hooks: Hooks, agent: Agent) -> None:
    told = agent.starts()
    assert told.startswith(INJECTED) and told.endswith("{/autopoiesis}")
    assert "Marit Oksanen" in told and "# Core Memory" in told and "<!-- project:context.md -->" in told

    told = agent.hears(REVIEW, "I looked at it.")
    assert "<!-- topic:github-pr-review -->" in told and "code-review.md" in told
    assert "_active.md" not in told, "it was told when the session started"
    again = agent.hears(REVIEW, "I looked at it again.")
    assert "topic:github-pr-review" not in again and "code-review.md" not in again
    assert agent.hears("ok, do it") == "" and ("prompt", "nothing relevant") in notes(hooks)

    assert texts(engine) == agent.said, "every turn once, and nothing that was injected"
    injection = engine.injections.log.last(10)[-1]
    assert injection.by == "claude-code" and injection.session_id == SESSION
    assert injection.is_claimed and injection.finished, "what came of it is noted"
    decided = engine.decision_log.last(500)
    assert {each.topic for each in decided if each.session_id == SESSION} >= {"github-pr-review"}

    agent.ends()
    path = captured(engine).path
    subject = git(engine, "log", "-1", "--format=%s", "--", path)
    assert subject.startswith("conversation: import 1 session")
    assert git(engine, "status", "--porcelain", "raw") == ""


def git(engine: Engine, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=engine.workspace.root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_what_is_forgotten_is_told_again_and_found_again(engine: Engine, hooks: Hooks, agent: Agent) -> None:
    agent.starts()
    agent.hears(REVIEW)
    agent.hears("The zebra index of the quay ledger is 77-KLM; remember that for later.", "Noted: 77-KLM.")
    asked = "What is the zebra index of the quay ledger?"
    assert "77-KLM" not in agent.hears(asked, "77-KLM"), "it holds its own conversation"
    agent.fires("PreCompact", trigger="auto")
    assert agent.starts("compact").count("Marit Oksanen") == 1
    assert "topic:github-pr-review" in agent.hears(f"{REVIEW} Please!")
    assert "77-KLM" in agent.hears("Which zebra index does the quay ledger have?")


def test_a_session_that_goes_on_is_not_told_twice(hooks: Hooks, agent: Agent) -> None:
    assert agent.starts("resume") != "", "one from before the hooks has heard nothing"
    assert agent.starts("resume") == ""
    assert agent.starts("clear") != ""


def test_who_resumes_at_once_asks_no_second_time(hooks: Hooks, agent: Agent) -> None:
    agent.starts()
    agent.hears(REVIEW)
    for _ in range(2):
        assert agent.starts("resume") == ""
        assert notes(hooks)[-1][1].startswith("resumed session")
        agent.ends()


def test_what_was_told_after_a_compaction_is_held_although_its_notes_took_longer(
    engine: Engine, hooks: Hooks, tmp_path: Path
) -> None:
    (rule,) = engine.rules.add("Open pull requests as drafts, never as ready.").rules
    waiting: list[Callable[[], None]] = []
    agent = Agent(Hooks(engine, waiting.append).answer, tmp_path / "claude")
    agent.starts()
    agent.hears(REVIEW)
    waiting.pop()()
    agent.fires("PreCompact", trigger="auto")
    agent.starts("compact")
    waiting.pop()()
    assert [moment for moment, _ in notes(hooks)][-2:] == ["session_start", "pre_compact"]
    known = hooks.log.known(SESSION)
    assert rule.id in known.rules and known.sections and known.line > 1
    assert "topic:github-pr-review" in agent.hears(REVIEW), "that was forgotten"


def test_a_fork_holds_what_the_session_was_told(hooks: Hooks, tmp_path: Path) -> None:
    first = Agent(hooks.answer, tmp_path, name="codex")
    fork = Agent(hooks.answer, tmp_path, name="codex", session_id=SESSION.replace("4", "5"))
    assert fork.session_id != SESSION and first.starts() != ""
    fork.log.write_bytes(dump(Codex().record("session_meta", id=fork.session_id, forked_from_id=SESSION)))
    assert fork.starts("fork") == "" and notes(hooks)[-1][1].startswith("resumed session")
    assert fork.hears(REVIEW, "Two remarks.").count("Marit Oksanen") == 0
    assert fork.starts("resume") == "" and fork.starts("compact") != ""


def test_a_log_that_is_written_behind_the_hook_is_waited_for(
    engine: Engine, hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Claude Code 2.1 does it: at a session's first stop there is no file, at the next no answer yet."""
    log, claude = tmp_path / f"{SESSION}.jsonl", ClaudeCode(SESSION)
    writes = iter([dump(claude.user("Which ebb is it?")), dump(claude.says("Said.")), b""])

    def behind(_seconds: float) -> None:
        with log.open("ab") as file:
            file.write(next(writes))

    monkeypatch.setattr("engine.agents.log_wait.time.sleep", behind)
    stop = {
        "hook_event_name": "Stop",
        "transcript_path": str(log),
        "last_assistant_message": "Well…\n\nSaid.\n",
    }
    said(hooks, **stop)
    assert texts(engine) == ["Which ebb is it?", "Said."]
    writes = iter([dump(claude.user("And now?")), dump(claude.says("Said."))])
    behind(0)
    said(hooks, **stop)
    assert texts(engine)[2:] == ["And now?", "Said."], "the same answer of before is not taken for this one"


def test_hooks_in_two_files_of_settings_say_it_once(hooks: Hooks, agent: Agent) -> None:
    assert agent.starts() != "" and agent.starts() == ""
    assert agent.fires("UserPromptSubmit", prompt=REVIEW) != ""
    assert agent.fires("UserPromptSubmit", prompt=REVIEW) == ""
    assert notes(hooks)[-1][1].startswith("duplicate event")
    agent.fires("UserPromptSubmit", prompt=REVIEW, turn_id="2")
    assert not notes(hooks)[-1][1].startswith("duplicate event"), "the person has said it again"


def test_a_sub_agents_task_is_not_the_persons_words(hooks: Hooks, tmp_path: Path) -> None:
    agent = Agent(hooks.answer, tmp_path / "codex", name="codex")
    agent.starts()
    fields = {"prompt": REVIEW, "turn_id": "1", "agent_id": "01a20adb-5dba", "agent_type": "default"}
    assert agent.fires("UserPromptSubmit", **fields) == ""
    assert "topic:github-pr-review" in agent.hears(REVIEW), "the one that gave the task has not heard it"
    assert [moment for moment, _ in notes(hooks)] == ["session_start", "prompt", "stop"]


def test_what_a_task_in_the_background_ends_with_is_not_the_persons_words(hooks: Hooks, agent: Agent) -> None:
    """As Claude Code 2.1 sends it to the hook of a prompt."""
    agent.starts()
    ended = "<task-notification>\n<task-id>a1947a9</task-id>\n<result>{}</result>\n</task-notification>"
    assert agent.fires("UserPromptSubmit", prompt=ended.format(REVIEW)) == ""
    assert notes(hooks)[-1] == ("prompt", "not a person's prompt")
    assert "topic:github-pr-review" in agent.fires("UserPromptSubmit", prompt=f"<b> {REVIEW}")


def test_corrections_of_what_the_agent_wrote_come_with_the_next_prompt(engine: Engine, agent: Agent) -> None:
    engine.files.replace(
        "topics/no-amend.md",
        b"---\ntype: topic\ndescription: Commits are not amended.\ntriggers:\n  - type: pattern\n"
        b"    match: 'git commit --amend'\n    scope: output\n    correction_hint: make a new commit\n"
        b"---\n\n",
    )
    engine.reload_topics()
    agent.starts()
    agent.hears("fix the typo", "Done with `git commit --amend`.")
    assert "make a new commit" in agent.hears("and now the other one")


def test_rules_are_told_once_and_count_for_every_prompt(engine: Engine, agent: Agent) -> None:
    (rule,) = engine.rules.add("Open pull requests as drafts, never as ready.").rules
    told = agent.starts()
    assert "{my-rules}" in told and rule.text in told
    agent.hears(REVIEW)
    shown = engine.injections.log.last(1)[0].rules
    assert shown is not None and rule.id in shown.held


def test_a_rule_is_repeated_beside_a_prompt_that_is_about_it(engine: Engine, agent: Agent) -> None:
    engine.rules.add("Never push to main without a review.")
    engine.rules.add(
        "Just check whether the branch works when a session goes on after a warning about the state."
    )
    agent.starts()
    told = agent.hears("shall we push to main?")
    assert "push to main" in told and "Just check" not in told
    # Two words of a long rule in passing are no reason, nor is one that many sentences have.
    assert "{my-rules}" not in agent.hears("the branch has an old session")
    assert "{my-rules}" not in agent.hears("the main window flickers")


@pytest.mark.parametrize(
    ("prompt", "is_searched"),
    [
        ("can you do the fix?", False),
        ("commit this, then let's do the other part", False),
        ("now double check again", False),
        ("how do we run the tests?", True),
        ("what did we change last?", True),
        ("fix the flaky gauge test", True),
    ],
)
def test_an_order_about_what_is_at_hand_is_not_searched_for(
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
        assert Agent(Hooks(engine).answer, tmp_path / "claude").hears(prompt) == ""
        tools = tmp_path / "new/knowledge/identity/TOOLS.md"
        tools.write_text(tools.read_text().replace("use here", "use here: ripgrep"))
        other = Agent(Hooks(engine).answer, tmp_path / "other", session_id="b" * 8)
        assert "ripgrep" in other.hears(prompt)


def test_what_is_told_fits_what_the_agent_takes(engine: Engine, agent: Agent) -> None:
    for name in ("memory/MEMORY.md", "identity/USER.md", "projects/tidemark/context.md"):
        engine.files.replace(f"knowledge/{name}", ("潮位計の記録を毎朝確認する。" * 900).encode())
    engine.files.replace(
        "topics/big.md",
        b"---\ntype: topic\ndescription: Tides.\ntriggers:\n  - type: keywords\n    words: [spring tide]\n"
        b"---\n\n## Instructions\n\n" + "満潮の前に確認する。\n".encode() * 200,
    )
    engine.reload_topics()
    told = agent.starts()  # the agent itself checks the size
    assert "潮位計" in told and "[cut for length: " in told
    assert "満潮" in agent.hears("what about the spring tide?")


def test_a_new_workspace_says_nothing(tmp_path: Path) -> None:
    from engine.workspace.initialise import initialise

    initialise(tmp_path / "new")
    with Engine.open(tmp_path / "new") as engine:
        agent = Agent(Hooks(engine).answer, tmp_path / "claude")
        assert agent.starts() == ""
        assert agent.hears("hello, fix the build please", "It is fixed.") == ""
        assert texts(engine) == agent.said


def test_codex_is_told_and_captured_likewise(engine: Engine, hooks: Hooks, tmp_path: Path) -> None:
    agent = Agent(hooks.answer, tmp_path / "codex", name="codex")
    assert "# Core Memory" in agent.starts()
    assert "topic:github-pr-review" in agent.hears(REVIEW, "Two remarks.")
    assert texts(engine) == agent.said
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
def test_what_was_injected_is_never_captured(form: str, engine: Engine, hooks: Hooks, tmp_path: Path) -> None:
    log = ClaudeCode()
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(dump(log.user("fix it"), FORMS[form](log), log.says("Fixed.")))
    said(hooks, hook_event_name="Stop", transcript_path=str(path))
    data = engine.files.read(captured(engine).path).decode()
    assert "said the memory" not in data and "fix it" in data and "Fixed." in data


PROMPT = {"hook_event_name": "UserPromptSubmit"}
STOP = {"hook_event_name": "Stop", "session_id": "x"}
PAYLOADS: dict[str, object] = {
    "nothing": b"",
    "no JSON": b"{'hook_event_name': 1",
    "no object": b"[1, 2]",
    "deep": b"[" * 200_000,
    "no text": b"\xff\xfe\x00",
    "no event": {},
    "an event of tomorrow": {"hook_event_name": "Yawn"},
    "numbers for texts": {**STOP, "session_id": 7, "transcript_path": [], "cwd": {}},
    "no log": {**STOP, "transcript_path": "/nowhere/at/all.jsonl"},
    "a folder as log": {**STOP, "transcript_path": "/tmp"},
    "a device as log": {**STOP, "transcript_path": "/dev/zero"},
    "a session that is a path": {**PROMPT, "session_id": "../../x", "prompt": "hi"},
    "an empty prompt": {**PROMPT, "prompt": " "},
    "half a character": {**PROMPT, "prompt": "\ud800 review", "cwd": "\udfff/x"},
    "a huge prompt": {**PROMPT, "prompt": "tide " * 400_000},
}


@each_case("payload", PAYLOADS)
def test_whatever_an_agent_says_it_is_not_stopped(payload: str, engine: Engine, hooks: Hooks) -> None:
    sent = PAYLOADS[payload]
    answer = hooks.answer("claude-code", sent if isinstance(sent, bytes) else json.dumps(sent).encode())
    assert answer == "" or json.loads(answer)["hookSpecificOutput"]["additionalContext"]


def test_failures_are_told_in_the_log_and_to_faces(engine: Engine, hooks: Hooks) -> None:
    witness = Witness()
    engine.subscribe(witness)
    assert hooks.answer("nobody", b"{}") == "" and hooks.answer("claude-code", b"{") == ""
    engine.files.replace("knowledge/identity/SOUL.md", b"")  # anything that is there
    said(hooks, hook_event_name="Stop", transcript_path="")
    assert [run.failed for run in hooks.log.backwards()] == [False, True, True]
    assert "bytes that are not JSON" in witness.wait(ErrorReported, lambda event: "JSON" in event.text).text
    assert witness.wait(AgentTold, lambda event: event.moment == "stop").said.endswith(
        "did not name a session log"
    )


def test_hooks_are_switched_off_everywhere_in_a_project_or_in_a_session(
    engine: Engine, hooks: Hooks, agent: Agent
) -> None:
    switches = Switches()
    cases = {
        "off everywhere": ("everywhere", ""),
        "off in this project": ("projects", "/home/robin"),
        "off in this session": ("sessions", SESSION),
    }
    for why, (kind, name) in cases.items():
        assert switches.turn(kind, name, on=False) and not switches.turn(kind, name, on=False)
        assert agent.starts() == "" and agent.hears(REVIEW) == ""
        assert notes(hooks)[-1] == ("stop", why)
        assert switches.turn(kind, name, on=True)
    switches.turn("projects", "/home/rob", on=False)
    assert agent.starts() != "", "another folder's name may begin likewise"
    assert "off" not in {said for _, said in notes(hooks)[-1:]}


def test_settings_bound_what_is_told_and_taken_in(engine: Engine, hooks: Hooks, agent: Agent) -> None:
    for setting, value in (("session_tokens", "0"), ("prompt_tokens", "0"), ("capture", "false")):
        engine.configuration.change(f"hooks.{setting}", value)
    assert agent.starts() == "" and agent.hears(REVIEW) == ""
    assert {what for _, what in notes(hooks)} == {
        "hooks.session_tokens is 0",
        "hooks.prompt_tokens is 0",
        "hooks.capture is off",
    }
