"""``injections``: the sections of recorded prompts, and the files that were useful."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.agents.hooks import Hooks
from engine.engine import Engine
from engine.transcripts.capture import ConversationCapture
from tests.agents.agent import Agent
from tests.cli.conftest import Command

SESSION = "ses_cli00001"
ODILE = "knowledge/people/odile-ferrand.md"
REPLY = "She waits for her list of neighbour pairs with expected ratios, and may use as_of on staging then."


@pytest.fixture
def used(sample: Path) -> Path:
    """The sample workspace after a prompt with a reply and a prompt without one."""
    with Engine.open(sample) as engine:
        agent = ConversationCapture(engine.files, clock=engine.clock)
        path = agent.start(SESSION, title="Odile")
        question = "What is Odile Ferrand waiting for?"
        engine.compile(question, session_id=SESSION, ask=False, record=True)
        agent.message(SESSION, "user", question)
        agent.message(SESSION, "agent", REPLY)
        agent.message(SESSION, "user", "Thanks.")
        assert engine.injections.learn_from_use(path, 0) == 1
        engine.compile("And what else does Odile Ferrand want?", ask=False, record=True)
    return sample


def test_an_empty_log_shows_how_to_record_a_prompt(apo: Command, sample: Path) -> None:
    for command in ("list", "top"):
        ran = apo("-C", sample, "injections", command)
        assert ran.code == 0 and ran.out.startswith(
            "no injections yet: record a prompt with `autopoiesis compile --record TEXT`"
        )
        assert apo("-C", sample, "injections", command, "--json").json == []


def test_prompts_are_listed_newest_first(apo: Command, used: Path) -> None:
    lines = apo("-C", used, "injections", "list").out.splitlines()
    assert " ".join(lines[0].split()) == "id when agent session tokens sections useful useful files"
    assert lines[1].endswith("not known yet") and SESSION in lines[2]
    assert f"{ODILE}:" in lines[2]
    assert len(apo("-C", used, "injections", "list", "--limit", "1").out.splitlines()) == 2


def test_every_section_can_be_listed(apo: Command, used: Path) -> None:
    out = apo("-C", used, "injections", "list", "--sections").out
    assert out.count("autopoiesis  prompt · ") == 2
    marks = {line[3] for line in out.splitlines() if line[:1].isdigit() and line[1:3] == "  "}
    assert marks == {"●", "○", "·"}
    assert any(f"  ● {ODILE}:" in line for line in out.splitlines())


def test_the_most_useful_files_come_first(apo: Command, used: Path) -> None:
    lines = apo("-C", used, "injections", "top", "--limit", "2").out.splitlines()
    assert lines[1].split()[0] == "1" and lines[-1].startswith("2 of ")
    top = apo("-C", used, "injections", "top", "--json").json
    assert top[0].keys() == {"path", "useful", "injected", "tokens", "last_useful"}
    assert ODILE in {use["path"] for use in top if use["useful"]}
    assert top == sorted(top, key=lambda use: (-use["useful"], -use["injected"], use["path"]))


def test_json_has_every_section(apo: Command, used: Path) -> None:
    newest, first = apo("-C", used, "injections", "list", "--json").json
    assert newest.keys() == {
        *("id", "at", "session_id", "turn", "message_hash", "tokens", "budget", "sections", "finished"),
        *("is_claimed", "rules", "by"),
    }
    section = {"path", "lines", "priority", "tokens", "score", "was_useful", "why", "judged"}
    assert first["sections"][0].keys() == section
    assert first["finished"] and not newest["finished"]


def test_terminal_sequences_in_a_logged_path_are_escaped(apo: Command, used: Path) -> None:
    (month,) = (used / "logs").glob("injections-*.jsonl")
    month.write_bytes(month.read_bytes().replace(ODILE.encode(), b"[red]\\u001b]52;c;x\\u0007.md"))
    for words in (("list",), ("list", "--sections"), ("top",)):
        ran = apo("-C", used, "injections", *words)
        assert "[red]␛" in ran.out and "\x1b" not in ran.out


@pytest.fixture
def injected(sample: Path, tmp_path: Path) -> Path:
    """The sample workspace after an agent session with one injection by the hooks."""
    with Engine.open(sample) as engine:
        agent = Agent(Hooks(engine).answer, tmp_path / "claude")
        agent.start()
        agent.prompt(
            "Can you review the PR that just came in?", "By knowledge/procedures/code-review.md: fine."
        )
        agent.prompt("Thanks.")
    return sample


def test_hook_injections_are_listed_shown_rated_and_summarised(apo: Command, injected: Path) -> None:
    for option, value in (("agent", "claude-code"), ("project", "tidemark"), ("session", "0f0e0d0c")):
        assert len(apo("-C", injected, "injections", "list", f"--{option}", value, "--json").json) == 1
        nothing = apo("-C", injected, "injections", "list", f"--{option}", "other")
        assert nothing.out == "no matching injections\n"
    (prompt,) = apo("-C", injected, "injections", "list", "--json").json
    name = prompt["id"][:8]
    shown = apo("-C", injected, "injections", "show", name, "--text").out
    assert "1  ○ topic github-pr-review · " in shown and "matched “review”, “PR”" in shown
    assert "2  ● knowledge/procedures/code-review.md · " in shown and "Quote file and line" in shown
    assert "knowledge/identity/USER.md" in apo("-C", injected, "injections", "show", prompt["session_id"]).out
    tree = apo("-C", injected, "injections", "show", name, "--json").json
    assert tree["pieces"][0]["topic"] == "github-pr-review" and tree["tokens"] == prompt["tokens"]

    ran = apo("-C", injected, "injections", "noise", name, "1", "2")
    assert ran.out.splitlines() == [
        "marked as noise: section 1, 2",
        "labelled as noise: topic github-pr-review; see: autopoiesis tune github-pr-review",
    ]
    assert apo("-C", injected, "injections", "show", name).out.count("labelled noise") == 2
    assert apo("-C", injected, "injections", "useful", name, "99").code == 1
    (decision,) = apo("-C", injected, "decisions", "list", "--topic", "github-pr-review", "--json").json[-1:]
    assert decision["useful"] is False

    week = apo("-C", injected, "injections", "week", "--since", "2020-01-01").out
    assert week.startswith("2 prompts since 2020-01-01, 1 with injections: ")
    assert "  github-pr-review: injected 1×, " in week and "none failed" in week
    assert apo("-C", injected, "injections", "week", "--since", "2999-01-01").out.startswith(
        "no hooks have run"
    )
    assert apo("-C", injected, "injections", "week", "--json").json["answered"] == 1
