"""The first questions of a session, through the hooks: answered from the recap of the right session."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from engine.agents.hooks import Hooks
from engine.context import tokens
from engine.context.recaps import Recap, is_recap, section_of
from engine.engine import Engine
from engine.workspace.initialise import initialise
from tests.agents.agent import Agent
from tests.cases import each_case
from tests.conftest import made_or_copied
from tests.transcripts.logs import ClaudeCode, dump

WEDNESDAY = datetime(2026, 2, 18, 9, tzinfo=UTC)
HOUR_AGO = WEDNESDAY - timedelta(hours=1)
WORK = [
    # days ago, project, request, closing words
    (9, "tidemark", "Please print the tide tables of next week.", "Printed the tide tables to `tables.pdf`."),
    (2, "tidemark", "Please add a retry to the uploader.", "Added a retry to the uploader in `client.py`."),
    (1, "harbour", "Please paint the crane of the harbour red.", "Updated `crane.css`: it is red now."),
    (1, "tidemark", "The alarms are too loud at night, please fix it.",
     "Fixed the alarms in `alarm.py`. The printed manual still needs to be updated."),
]  # fmt: skip
TABLES, RETRY, CRANE, ALARMS = (closing for *_, closing in WORK)


@pytest.fixture
def memory(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Hooks]]:
    """A memory with four sessions, the last one of yesterday."""
    made_or_copied(tmp_path_factory, "four-sessions", tmp_path / "memory", four_sessions)
    with Engine.open(tmp_path / "memory", clock=lambda: WEDNESDAY) as engine:
        yield engine, Hooks(engine)


def four_sessions(root: Path) -> None:
    now = [WEDNESDAY]
    initialise(root)
    with Engine.open(root, clock=lambda: now[0]) as engine:
        for number, (days, project, request, closing) in enumerate(WORK, 1):
            now[0] = WEDNESDAY - timedelta(days=days)
            agent = agent_of(Hooks(engine), root.parent, number, project)
            write_log(agent, now[0] + timedelta(minutes=number), request, closing)
            agent.end()


def agent_of(hooks: Hooks, folder: Path, number: int, project: str = "tidemark") -> Agent:
    session = str(UUID(int=number))
    return Agent(hooks.answer, folder / "claude", session_id=session, cwd=f"/home/robin/{project}")


def write_log(agent: Agent, at: datetime, request: str, closing: str) -> None:
    """Writes the log of a session with one request and its answer."""
    claude = ClaudeCode(agent.session_id)
    records = [claude.user(request, cwd=agent.cwd), claude.says(closing, cwd=agent.cwd)]
    agent.log.parent.mkdir(parents=True, exist_ok=True)
    agent.log.write_bytes(dump(*({**each, "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.000Z"} for each in records)))


def stop(engine: Engine, agent: Agent, at: datetime) -> None:
    """Captures a session whose end no one announces."""
    agent.fire("Stop", stop_hook_active=False, last_assistant_message="")
    place = engine.workspace.root / engine.conversations.of_session(agent.session_id).path
    os.utime(place, (at.timestamp(), at.timestamp()))


@each_case(
    ("question", "told"),
    [
        ("what did we do in the last session?", [ALARMS]),
        ("Where did we leave off?", [ALARMS]),
        ("continue where we left off yesterday", [ALARMS]),
        ("was haben wir gestern gemacht?", [ALARMS]),
        ("what did I work on yesterday?", [ALARMS, CRANE]),
        ("what did I work on on February 16?", [RETRY]),
        ("what did we do last week", [TABLES]),
        ("¿qué hicimos esta semana?", [ALARMS, RETRY]),
        ("what was the alarms bug yesterday?", []),
        ("what did we change in the uploader this week?", [RETRY]),
    ],
)
def test_the_first_question_is_answered_from_the_right_session(
    memory: tuple[Engine, Hooks], tmp_path: Path, question: str, told: list[str]
) -> None:
    agent = agent_of(memory[1], tmp_path, 1_000 + len(question))
    agent.start()
    injected = agent.fire("UserPromptSubmit", prompt=question)
    places = [injected.find(words.split(".")[0]) for words in told]
    assert places == sorted(places) and -1 not in places, injected
    others = {TABLES, RETRY, CRANE, ALARMS} - set(told)
    assert not told or not any(words.split(".")[0] in injected for words in others), injected
    assert "rag-context" not in injected or not told


@pytest.mark.parametrize("question", ["what did we do on February 14?", "2月14日做了什么？"])
def test_of_a_day_without_work_it_is_said_that_there_was_none_and_what_was_done_before(
    memory: tuple[Engine, Hooks], tmp_path: Path, question: str
) -> None:
    agent = agent_of(memory[1], tmp_path, 77)
    agent.start()
    injected = agent.fire("UserPromptSubmit", prompt=question)
    assert "No session of 2026-02-14 is in the journal. The last one before that:\n- 2026-02-09" in injected
    assert "rag-context" not in injected
    later = agent_of(memory[1], tmp_path, 78)
    later.start()
    today = later.fire("UserPromptSubmit", prompt="what did we do today?")
    assert "No session of 2026-02-18 is in the journal. The last one before that:\n- 2026-02-17" in today
    assert ALARMS.split(".")[0] in today and CRANE not in today


def test_a_session_starts_with_the_last_ones_of_its_project(
    memory: tuple[Engine, Hooks], tmp_path: Path
) -> None:
    injected = agent_of(memory[1], tmp_path, 99).start()
    (block,) = [part for part in injected.split("<!-- ") if part.startswith("journal:last sessions")]
    lines = block.split("\n")
    assert lines[1] == "Last sessions in tidemark, newest first (a record, not instructions):"
    assert lines[2] == (
        "- 2026-02-17 09:04 The alarms are too loud at night, please fix it. → Fixed the alarms in"
        " `alarm.py`. → left open: The printed manual still needs to be updated."
    )
    assert [line[2:12] for line in lines[3:5]] == ["2026-02-16", "2026-02-09"] and CRANE not in injected
    assert tokens.count(block) <= 220
    assert injected.count("too loud at night") == 1, "the journal of yesterday does not repeat it"
    other = agent_of(memory[1], tmp_path, 98, "harbour").start()
    assert "Please paint the crane" in other and "alarms" not in other


def test_a_session_is_not_answered_by_itself(memory: tuple[Engine, Hooks], tmp_path: Path) -> None:
    last = agent_of(memory[1], tmp_path, len(WORK))
    assert RETRY in last.fire("UserPromptSubmit", prompt="what did we do in the last session?")
    assert ALARMS.split(".")[0] not in last.start("clear")


def test_where_were_we_means_the_running_session_once_it_has_begun(
    memory: tuple[Engine, Hooks], tmp_path: Path
) -> None:
    agent = agent_of(memory[1], tmp_path, 99)
    agent.prompt("Please write the manual of the alarms anew.", "I wrote the first chapter.")
    assert "Session of" not in agent.prompt("where were we?")
    assert "Fixed the alarms" in agent.prompt("what did we do in the last session?")
    assert "Session of" not in agent.prompt("What did we do in the last session?"), "the agent has it already"


def test_a_session_in_a_closed_terminal_is_written_down_by_the_next(
    memory: tuple[Engine, Hooks], tmp_path: Path
) -> None:
    engine, hooks = memory
    closed = agent_of(hooks, tmp_path, 50)
    write_log(closed, HOUR_AGO, "Please sound the horn at noon.", "Added `horn.py` for noon.")
    stop(engine, closed, HOUR_AGO)
    assert "Please sound the horn at noon." in agent_of(hooks, tmp_path, 99).start()
    running = agent_of(hooks, tmp_path, 51)
    write_log(running, WEDNESDAY - timedelta(minutes=2), "Please sound the bell too.", "Added `bell.py`.")
    stop(engine, running, WEDNESDAY - timedelta(minutes=2))
    assert "sound the bell" not in agent_of(hooks, tmp_path, 98).start(), "it may still be running"
    assert engine.files.read("knowledge/journal/2026-02-18.md").count(b"####") == 1


def test_search_and_a_prompt_are_answered_too(memory: tuple[Engine, Hooks]) -> None:
    engine = memory[0]
    engine.refresh_index()
    found = engine.search("what did we do last week?")
    assert found[0].heading == "2026-02-09 › tidemark › 09:01–09:01" and TABLES in found[0].text
    assert not any(TABLES in each.text for each in found[1:] if each.path == found[0].path)
    by_words, *_ = [each for each in engine.search("alarms too loud at night") if each.category == "journal"]
    assert is_recap(by_words) and "<!--" not in by_words.heading
    assert TABLES in engine.compile("what did we do last week?").text
    assert "Session of 2026-02-09" not in engine.compile("what did we do yesterday?").text


def test_recaps_can_be_turned_off(memory: tuple[Engine, Hooks], tmp_path: Path) -> None:
    engine, hooks = memory
    engine.configuration.change("lifecycle.recaps", value=False)
    agent = agent_of(hooks, tmp_path, 50)
    write_log(agent, HOUR_AGO, "Please sound the horn at noon.", "Added `horn.py` for noon.")
    agent.end()
    assert not (engine.workspace.root / "knowledge/journal/2026-02-18.md").exists()


def test_a_day_without_a_year_is_that_of_the_last_year_with_sessions(memory: tuple[Engine, Hooks]) -> None:
    engine = memory[0]
    lines = ("Asked: Please paint the buoys.", "Done: Painted the buoys yellow.")
    recap = Recap("2025-02-10", "tidemark", "10:00", "10:09", "ses_buoys", lines)
    journal = f"## 2025-02-10\n\n### {section_of('tidemark')}\n\n{recap.text}\n"
    (engine.workspace.root / "knowledge/journal/2025-02-10.md").write_text(journal)
    for question in ("what did I work on on February 10?", "What did we do on 10 February 2025?"):
        assert "Session of 2025-02-10" in engine.compile(question).text
    for question in ("what did I work on on February 9?", "What did we do on 10 February 2026?"):
        assert "Session of 2025-02-10" not in engine.compile(question).text
    assert TABLES in engine.compile("what did I work on on February 9?").text


def test_an_answer_names_the_projects_that_may_be_this_one_but_are_left_out(
    memory: tuple[Engine, Hooks], tmp_path: Path
) -> None:
    engine, hooks = memory
    repository = tmp_path / "src/tidemark"
    repository.mkdir(parents=True)
    for words in (["init", "-q"], ["remote", "add", "origin", "https://github.com/acme/tidemark"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    there = Agent(hooks.answer, tmp_path / "claude", session_id=str(UUID(int=60)), cwd=str(repository))
    write_log(there, HOUR_AGO, "Please sound the horn at noon.", "Added `horn.py` for noon.")
    there.end()
    asking = Agent(hooks.answer, tmp_path / "claude", session_id=str(UUID(int=61)), cwd=str(repository))
    told = asking.fire("UserPromptSubmit", prompt="what did we do in the last session?")
    assert "sound the horn" in told and "Sessions of tidemark may be of this project, too" in told
    asking = Agent(hooks.answer, tmp_path / "claude", session_id=str(UUID(int=62)), cwd=str(repository))
    assert "may be of this project" not in asking.fire("UserPromptSubmit", prompt="what did I do yesterday?")
    engine.projects.assign("tidemark", "tidemark-acme")
    asking = Agent(hooks.answer, tmp_path / "claude", session_id=str(UUID(int=63)), cwd=str(repository))
    told = asking.fire("UserPromptSubmit", prompt="what did we do this week?")
    assert "sound the horn" in told and "too loud at night" in told and "may be of this" not in told


def test_sessions_that_begin_with_the_same_words_are_all_told(
    memory: tuple[Engine, Hooks], tmp_path: Path
) -> None:
    engine, hooks = memory
    for number in (1, 2):
        agent = agent_of(hooks, tmp_path, 50 + number)
        at = HOUR_AGO + timedelta(minutes=number)
        write_log(agent, at, "Create a PR", f"Opened number {number}.")
        agent.end()
    told = engine.compile("what did we do today?").text
    assert "Opened number 1" in told and "Opened number 2" in told
