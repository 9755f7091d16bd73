"""Finding a message by its name on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import TranscriptError
from engine.live.messages import SpokenMessage, find_message

OLD = "conversations/2026-06-01-old.md"
NEW = "conversations/2026-06-12-new.md"
LONE = "conversations/2026-05-01-lone.md"
TALK = {
    OLD: "# Old\n\n## 09:00 — user\nFirst of all\n\n## 09:01 — agent\nYes\n",
    NEW: (
        "---\nsession_id: ses_new00001\n---\n\n# New\n\n## 10:00 — user\nOne\n\n## 10:01 — agent\nTwo\n\n"
        "## 10:02 — user [memory]\nKept\n\n## 10:03 — agent\nThree\n\n## 10:04 — user\nFour\n\n"
        "## 10:05 — agent\nFive\n"
    ),
    LONE: "# Lone\n\n## 08:00 — agent\nNobody is here\n",
}


@pytest.fixture
def talks(tmp_path: Path) -> Engine:
    (tmp_path / "memory-config.yaml").touch()
    (tmp_path / "conversations").mkdir()
    for path, text in TALK.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    return Engine.open(tmp_path)


@pytest.mark.parametrize(
    ("name", "session", "path", "turn"),
    [
        ("last", "", NEW, 5),
        ("last:1", "", NEW, 5),
        ("last:2", "", NEW, 1),
        ("last:3", "", OLD, 1),
        ("last", OLD, OLD, 1),
        ("last:2", NEW, NEW, 1),
        (NEW, "", NEW, 5),
        (OLD, "", OLD, 1),
        (f"{NEW}:1", "", NEW, 1),
        (f"{NEW}:2", "", NEW, 1),
        (f"{NEW}:4", "", NEW, 1),
        (f"{NEW}:6", "", NEW, 5),
        (f"{NEW}#0", "", NEW, 1),
        (f"{NEW}#5", "", NEW, 5),
    ],
)
def test_names_resolve_to_messages(talks: Engine, name: str, session: str, path: str, turn: int) -> None:
    found = find_message(talks, name, session)
    assert (found.path, found.turn, found.key) == (path, turn, f"{path}#{turn - 1}")


def test_a_message_has_its_path_turn_and_text(talks: Engine) -> None:
    found = find_message(talks, "last")
    assert found == SpokenMessage(f"{NEW}#4", NEW, "ses_new00001", 5, "Four")


def test_a_session_is_found_by_its_id(sample: Path) -> None:
    with Engine.open(sample) as engine:
        newest = find_message(engine, "last")
        assert newest.session_id and find_message(engine, newest.session_id) == newest
        assert find_message(engine, "last", newest.session_id) == newest
        assert find_message(engine, f"{newest.session_id}:{newest.turn}") == newest


@pytest.mark.parametrize(
    ("name", "session", "said"),
    [
        ("last:4", "", "cannot go back 4 messages: there are only 3"),
        ("last:3", NEW, "cannot go back 3 messages: there are only 2"),
        (f"{NEW}:7", "", "no turn 7; available: turns 1 to 6"),
        (f"{NEW}:0", "", "no turn 0; available: turns 1 to 6"),
        (f"{NEW}#6", "", "no turn 7"),
        (LONE, "", "no messages from a person yet"),
        (f"{LONE}:1", "", "no message from a person up to turn 1"),
        ("ses_nobody", "", "no such session: ses_nobody"),
        ("../../etc/passwd:3", "", "no such session"),
        ("../../etc/passwd#3", "", "no such session"),
        ("", "", "no such session"),
        ("last", "ses_nobody", "no such session: ses_nobody"),
    ],
)
def test_a_name_without_a_message_is_a_clear_error(talks: Engine, name: str, session: str, said: str) -> None:
    with pytest.raises(TranscriptError, match=said):
        find_message(talks, name, session)


def test_a_workspace_without_messages_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").touch()
    with Engine.open(tmp_path) as engine, pytest.raises(TranscriptError, match="no messages from a person"):
        find_message(engine, "last")


def test_turns_before_the_window_of_a_long_conversation_are_unavailable(
    talks: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.conversations.conversations.WINDOW", 500)
    turns = "".join(f"## 10:{number:02} — user\nQuestion {number} {'x' * 40}\n\n" for number in range(50))
    path = "conversations/2026-06-13-long.md"
    (talks.workspace.root / path).write_text(f"# Long\n\n{turns}", encoding="utf-8")
    assert find_message(talks, f"{path}:50").text.startswith("Question 49")
    with pytest.raises(TranscriptError, match=r"no turn 3; available: turns 4\d to 50"):
        find_message(talks, f"{path}:3")
