"""The topics screen: the past is played, labelled and judged, and topics are made."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from engine.errors import WriteFailed
from engine.playbooks.draft import drafted, text_of
from engine.playbooks.playbooks import Quote
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine, status_view
from tests.tui.playbooks_data import ROWS
from tests.tui.screen_driven import ScreenDriven
from tui.screens.topics.screen import TopicsScreen

TAGGED = drafted("Tagging", "A version is tagged.", "Sign it.", ["tag 0.15"])


class TopicsDriven(ScreenDriven[TopicsScreen]):
    kind, key = TopicsScreen, "P"

    def editing(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Replaces the editor by one that changes nothing; returns the files it is opened with."""
        edited: list[str] = []
        monkeypatch.setattr(self.screen, "edit_file", lambda path: edited.append(path))
        return edited


@pytest.fixture
def engine(engine: FakeEngine) -> FakeEngine:
    (engine.root / "topics").mkdir(exist_ok=True)
    for name, when in (("code-review", "A change needs a review."), ("release", "A version is prepared.")):
        text = text_of(drafted(name, when, "Do it.", ["do it"]))
        (engine.root / f"topics/{name}.md").write_bytes(text)
    return engine


@asynccontextmanager
async def open_topics(
    run: Run, size: tuple[int, int] = (120, 40), **changes: object
) -> AsyncIterator[TopicsDriven]:
    """Opens the screen on the topic code-review."""
    async with run(size, **changes) as workbench:
        driven = TopicsDriven(workbench.app, workbench.pilot, workbench.engine)
        await driven.press("P")
        driven.screen.select("code-review")
        await driven.settle()
        yield driven


async def test_each_topic_says_how_it_would_have_done(run: Run, engine: FakeEngine) -> None:
    async with open_topics(run) as driven:
        for size in SIZES.values():
            await driven.resize(*size)
            assert driven.line("▌  code-review").split()[3:7] == ["4", "1", "1.0", "1.0"]
            assert driven.line("release").split()[2:6] == ["0", "0", "–", "–"]
            assert "? tide-tables" in driven.text and "proposed by an agent" in driven.text
            assert "●  .29" in driven.line("review what we did") and "○  .24" in driven.line(
                "think of the plan"
            )
            assert "useful" in driven.line("Please look over this diff")
            assert "fires on 4 of the newest 200 of 240" in driven.text
        await driven.press("j")
        assert "would not have fired on any past message" in driven.text


async def test_the_past_is_played_in_the_background(run: Run, engine: FakeEngine) -> None:
    engine.blocked["replay_all"] = threading.Event()
    async with run((120, 40)) as workbench:
        driven = TopicsDriven(workbench.app, workbench.pilot, workbench.engine)
        await driven.send("P")
        await driven.until(
            lambda: "playing your past: 100 of 200 messages" in driven.text and "code-review" in driven.text
        )
        engine.blocked["replay_all"].set()
        await driven.settle()
        assert "playing" not in driven.text
        engine.blocked["replay_all"].clear()
        await driven.press("escape")
        await driven.send("P")
        await driven.until(lambda: re.search(r"code-review +4 +1 (?s:.*)past: 100", driven.text))
        engine.blocked["replay_all"].set()
        await driven.settle()


async def test_labels_are_shown_at_once_written_and_undone(run: Run, engine: FakeEngine) -> None:
    async with open_topics(run) as driven:
        await driven.press("enter", "n")
        assert "noise" in driven.line("review what we did") and "precision .50, recall 1.0" in driven.text
        await driven.press("y")
        assert "useful" in driven.line("is the branch any good") and "precision .67" in driven.text
        await driven.press("u")
        assert driven.line("is the branch any good").rstrip("│ ").endswith("? y n")
        assert engine.calls_of("label_row") == [
            ("label_row", "code-review", ROWS[0].id, False),
            ("label_row", "code-review", ROWS[1].id, True),
            ("label_row", "code-review", ROWS[1].id, None),
        ]
        await driven.press("escape", "escape")
        assert not driven.is_open()
        await driven.settle()
        assert engine.calls_of("learn")


async def test_a_label_that_cannot_be_written_is_reported(run: Run, engine: FakeEngine) -> None:
    engine.failing["label_row"] = WriteFailed("the disk is full")
    async with open_topics(run) as driven:
        await driven.press("enter", "y")
        assert "the disk is full" in driven.toasts
        assert driven.line("review what we did").rstrip("│ ").endswith("?") and "useful" not in driven.line(
            "review what"
        )


async def test_a_message_opens_in_full(run: Run) -> None:
    async with open_topics(run) as driven:
        await driven.press("enter", "o")
        assert (
            "“review”" in driven.text and ".29, fires from .27" in driven.text and ROWS[0].path in driven.text
        )


async def test_a_new_topic_is_filled_in_in_the_editor(
    run: Run, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_topics(run) as driven:
        edited = driven.editing(monkeypatch)
        await driven.press("a")
        assert edited == ["scratch/new-playbook.md"] and not engine.calls_of("create")
        assert "what you wrote is kept in scratch/new-playbook.md" in driven.toasts
        engine.playbooks.form = TAGGED
        await driven.press("a")
        assert engine.calls_of("create") == [("create", TAGGED, True)]
        assert "topics/tagging.md: commit a81f2c0" in driven.toasts


async def test_a_model_is_asked_for_ways_to_ask_only_after_its_price_was_agreed_to(
    run: Run, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.playbooks.form, engine.playbooks.price = TAGGED, Quote("anthropic", "claude-haiku-4-5", 0.0021)
    async with open_topics(run) as driven:
        edited = driven.editing(monkeypatch)
        await driven.press("a")
        assert "claude-haiku-4-5" in driven.text and "at most $0.0021" in driven.text
        await driven.press("escape")
        assert not engine.calls_of("utterances") and engine.calls_of("create") == [("create", TAGGED, True)]
        await driven.press("a")
        await driven.press("right", "enter")
        assert engine.calls_of("utterances") == [("utterances", "tagging")] and len(edited) == 3
        written = replace(TAGGED, examples=("tag 0.15", "tag it", "cut the version"))
        assert engine.calls_of("create")[-1] == ("create", written, True)


async def test_what_an_agent_proposed_is_read_and_written_or_turned_down(
    run: Run, engine: FakeEngine
) -> None:
    async with open_topics(run) as driven:
        await driven.press("w", "x")
        assert "no agent proposed it" in driven.toasts and not engine.calls_of("accept")
        await driven.press("k", "o")
        assert "load the 2027 tables" in driven.text and "Compare with last year" in driven.text
        await driven.press("escape", "w")
        assert not engine.calls_of("accept")
        await driven.press("right", "enter")
        assert engine.calls_of("accept") == [("accept", "tide-tables")]
        assert "topics/tide-tables.md: commit a81f2c0" in driven.toasts
    engine.playbooks.waiting = engine.playbooks.__class__(engine).waiting
    async with open_topics(run) as driven:
        await driven.press("k", "x")
        assert engine.calls_of("reject") == [("reject", "tide-tables")]


async def test_a_read_only_workspace_is_looked_at_only(run: Run, engine: FakeEngine) -> None:
    async with open_topics(run, status_value=status_view(read_only=True)) as driven:
        await driven.press("a", "enter", "y")
        assert "the workspace is read-only" in driven.toasts
        assert not engine.calls_of("open_form") and not engine.calls_of("label_row")


async def test_hostile_text_is_shown_as_text(run: Run, engine: FakeEngine) -> None:
    hostile = "[/] [@click=app.quit]x[/] \x1b]52;c;aGk=\x07"
    engine.playbooks.past = {"code-review": (replace(ROWS[0], message=hostile, hits=(hostile,)),)}
    engine.playbooks.waiting = [replace(TAGGED, title=hostile, when=hostile, instructions=hostile)]
    async with open_topics(run) as driven:
        assert "\x1b" not in driven.text and "[@click=app.quit]x[/]" in driven.text
        await driven.press("enter", "o")
        assert "\x1b" not in driven.text and "[@click=app.quit]x[/]" in driven.text


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_pictures(run: Run, picture: Callable[[Driven, str], None], size: str) -> None:
    async with open_topics(run, SIZES[size]) as driven:
        await driven.press("enter")
        picture(driven, f"topics/{size}")
