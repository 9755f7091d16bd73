"""A message is handled the same before and after it is in the transcript, including files and context."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine

GLOB = """---
type: topic
description: Work on SQL.
triggers:
  - type: glob
    match: '**/*.sql'
activation: auto
priority: high
---

# SQL

## Instructions

Write migrations that can be undone.
"""

HINT = """---
type: topic
description: The agent excuses itself.
triggers:
  - type: pattern
    match: 'sorry'
    scope: output
    correction_hint: Do not excuse yourself.
activation: auto
priority: high
---

# Tone

## Instructions

Be brief.
"""

OWN = "raw/conversations/2026/06/12/1000-ses_own-talk.md"


@pytest.fixture
def space(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    for folder in ("topics", "raw/conversations/2026/06/12"):
        (root / folder).mkdir(parents=True)
    (root / "memory-config.yaml").write_text("")
    (root / "topics" / "sql.md").write_text(GLOB)
    (root / "topics" / "tone.md").write_text(HINT)
    return root


def talk(root: Path, *turns: tuple[str, str]) -> None:
    body = "".join(f"\n## 10:{minute:02} — {role}\n\n{text}\n" for minute, (role, text) in enumerate(turns))
    header = "---\nsession_id: ses_own\nstarted: 2026-06-12T10:00:00Z\n---\n\n# Talk\n"
    (root / OWN).write_text(header + body)


def test_files_in_use_activate_their_topics_in_compile_and_in_traces(space: Path) -> None:
    talk(space, ("user", "Add a column."), ("agent", "> [tool:Edit] db/007_users.sql → updated"))
    with Engine.open(space) as engine:
        assert engine.compile("And an index?", session_id="ses_own").active_topics == ("sql",)
        assert engine.compile("And an index?").active_topics == ()
        trace = engine.trace_message(
            engine.turns.next_message("And an index?", "ses_own", engine.clock())[0],
            key="x", record=False, ask=False,
        )  # fmt: skip
        assert trace.active == ("sql",)


def test_all_agent_turns_since_the_last_message_can_steer(space: Path) -> None:
    talk(
        space,
        ("user", "Add a column."),
        ("agent", "I am sorry, I read the wrong file."),
        ("system", "[interrupted]"),
        ("agent", "Here it is."),
    )
    with Engine.open(space) as engine:
        compiled = engine.compile("Thank you.", session_id="ses_own")
        assert "tone" in compiled.active_topics
        assert "Do not excuse yourself." in compiled.text
    talk(space, ("user", "x"), ("agent", "I am sorry."), ("user", "Never mind."), ("agent", "Here it is."))
    with Engine.open(space) as engine:
        assert "tone" not in engine.compile("Thank you.", session_id="ses_own").active_topics


@pytest.mark.parametrize("message", ["Where is the heron?", "Where is  the heron?\n"])
def test_a_captured_message_is_not_repeated_in_the_prompt(space: Path, message: str) -> None:
    talk(space, ("user", "Hello"), ("agent", "Hello!"))
    with Engine.open(space) as engine:
        before = engine.compile(message, session_id="ses_own").text
    talk(space, ("user", "Hello"), ("agent", "Hello!"), ("user", "Where is the heron?"))
    with Engine.open(space) as engine:
        after = engine.compile(message, session_id="ses_own").text
    assert after == before
    assert " ".join(after.split()).count("Where is the heron?") == 1


def test_the_same_text_after_an_answer_is_another_message(space: Path) -> None:
    talk(space, ("user", "Where is the heron?"), ("agent", "By the river."))
    with Engine.open(space) as engine:
        text = engine.compile("Where is the heron?", session_id="ses_own").text
    assert text.count("Where is the heron?") == 2


def test_turns_dropped_from_the_history_are_retrieved_by_search(space: Path) -> None:
    idle = [
        ("user" if number % 2 else "agent", f"About step {number}. " + "word " * 150) for number in range(40)
    ]
    talk(space, ("user", "The rotation is on Tuesday 07:40, codename Walrus."), ("agent", "Noted."), *idle)
    with Engine.open(space) as engine:
        compiled = engine.compile("When is the Walrus rotation?", session_id="ses_own", budget=4096)
    [found] = [section for section in compiled.sections if section.layer == 10 and "Walrus" in section.text]
    assert found.source == OWN
    assert "earlier in this conversation" in compiled.text
    assert [section.label for section in compiled.sections if section.layer == 11][-1] == "history:42"
    assert compiled.text.count("codename Walrus") == 1


def test_a_message_is_not_retrieved_as_its_own_context(space: Path) -> None:
    talk(space, ("user", "Hello"), ("agent", "Hello!"), ("user", "Where does the walrus sleep?"))
    other = space / "raw/conversations/2026/06/11/0900-ses_other-talk.md"
    other.parent.mkdir(parents=True)
    other.write_text("---\nsession_id: ses_other\n---\n\n## 09:00 — user\n\nThe build fails on arm64.\n")
    with Engine.open(space) as engine:
        engine.refresh_index()
        for compiled in (
            engine.compile("Where does the walrus sleep?", session_id="ses_own"),
            engine.compile_of(f"{OWN}#2"),
        ):
            assert compiled is not None
            assert not [section for section in compiled.sections if section.layer == 10]
