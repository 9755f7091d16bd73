"""The tune screen while the log is read, when it is unreadable, and when decisions arrive."""

from __future__ import annotations

import threading

import pytest

from engine.activation.policy import Thresholds
from engine.errors import AutopoiesisError
from engine.events import FileChanged, TopicsReloaded, TurnTraced
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW, FakeEngine, review_trace, status_view
from tests.tui.tune_data import Kind, decision, decisions, topic
from tests.tui.tune_driven import open_tune


async def test_while_the_log_is_read_the_screen_says_so_and_refuses_commands(run: Run) -> None:
    release = threading.Event()
    async with open_tune(run, settle=False, blocked={"table": release}) as driven:
        await driven.until(lambda: bool(driven.tuning.calls_of("table")))
        assert "reading the decision log" in driven.text
        for key in ("right", "y", "f", "enter", "j", "s", "c"):
            await driven.send(key)
        await driven.pilot.pause()
        assert not driven.state.moved and not driven.tuning.calls_of("propose")
        release.set()
        await driven.settle()
        assert "2 scores  code-style · 311 labelled decisions" in driven.text


async def test_leaving_does_not_wait_and_labels_are_still_written(run: Run) -> None:
    release = threading.Event()
    async with open_tune(run, settle=False, blocked={"table": release}) as driven:
        await driven.until(lambda: bool(driven.tuning.calls_of("table")))
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open())
        release.set()
        await driven.settle()
        assert driven.panel() == "feed"
        await driven.press("t")
        release = driven.tuning.blocked["label"] = threading.Event()
        await driven.send("y", "y", "escape")
        await driven.until(lambda: not driven.is_open() and driven.tuning.calls_of("label"))
        assert len(driven.tuning.calls_of("label")) == 1, "the second one waits"
        release.set()
        await driven.until(lambda: len(driven.tuning.calls_of("label")) == 2)


async def test_an_unreadable_log_is_reported_and_ctrl_r_tries_again(run: Run) -> None:
    broken = AutopoiesisError(
        "cannot be read", where="logs/decisions/2026-06.jsonl", hint="check its permissions"
    )
    async with open_tune(run, failing={"table": broken}) as driven:
        assert "logs/decisions/2026-06.jsonl" in driven.text and "ctrl+r tries again" in driven.text
        await driven.press("right", "y", "f", "enter", "3", "j")
        assert driven.is_open()
        driven.tuning.failing.clear()
        await driven.press("ctrl+r")
        assert "code-style · 311 labelled decisions" in driven.text
        # a later failure keeps what is shown
        driven.app.clear_notifications()
        driven.tuning.failing["table"] = broken
        await driven.press("ctrl+r")
        assert "cannot be read" in driven.toasts and "code-style · 311 labelled decisions" in driven.text


async def test_new_decisions_are_shown_and_nothing_is_lost(run: Run, engine: FakeEngine) -> None:
    async with open_tune(run) as driven:
        await driven.press("L", "3", "j", "j", "j")
        selected = driven.screen.decisions.selected
        assert selected is not None
        before, reads = driven.state.overview["code-style"].decisions, len(driven.tuning.calls_of("table"))
        driven.tuning.add([decision("code-style", 9000 + number, 0.7, None, "") for number in range(5)])
        driven.engine.publish(*(TurnTraced(f"t#{number}", review_trace()) for number in range(200)))
        await driven.settle()
        assert len(driven.tuning.calls_of("table")) == reads + 1, "a burst is read once"
        assert driven.state.overview["code-style"].decisions == before + 5
        assert driven.now == Thresholds(0.25, 0.65) and driven.state.topic == "code-style"
        again = driven.screen.decisions.selected
        assert again is not None and again.id == selected.id
        assert driven.screen.panel_in_use == "decisions"
        # events that change no decision draw nothing
        table = driven.state.table
        driven.engine.publish(FileChanged(NOW, "knowledge/facts.md", "changed"))
        await driven.settle()
        assert driven.state.table is table
        # the header follows the workbench
        engine.status_value = status_view(read_only=True)
        driven.engine.publish(TopicsReloaded(NOW, (), 9, ()))
        await driven.settle()
        assert "read-only" in driven.lines[0]


async def test_thresholds_written_elsewhere_are_picked_up(run: Run) -> None:
    async with open_tune(run) as driven:
        await driven.press("1", "j", "L", "k")
        driven.tuning.apply("code-style", Thresholds(0.3, 0.7))
        driven.engine.publish(TopicsReloaded(NOW, ("code-style",), 9, ()))
        await driven.settle()
        assert driven.now == Thresholds(0.3, 0.7) and not driven.state.moved
        assert len(driven.state.moves) == 1
        # a move to the current values is no longer a move
        await driven.press("L")
        assert len(driven.state.moves) == 2
        driven.tuning.apply("code-style", Thresholds(0.3, 0.75))
        driven.engine.publish(TopicsReloaded(NOW, ("code-style",), 9, ()))
        await driven.settle()
        assert not driven.state.moved and driven.state.today == Thresholds(0.3, 0.75)


async def test_a_label_finds_its_decision_in_a_newer_table(run: Run) -> None:
    async with open_tune(run) as driven:
        item = driven.screen.decisions.items[4]
        await driven.press("3", "j", "j", "j", "j")
        driven.tuning.log = [decision("code-style", 7777, 0.5, None, ""), *driven.tuning.log]
        driven.tuning._table = None
        await driven.press("y")
        assert next(each for each in driven.tuning.log if each.id == item.id).useful is True
        assert sum(each.useful is True for each in driven.tuning.log[:1]) == 0


async def test_a_topic_unaffected_by_thresholds_says_so(run: Run) -> None:
    topics = [topic("code-style", forced=True)]
    async with open_tune(run, log=decisions({"code-style": Kind(5, 5, 5)}), topics=topics) as driven:
        assert "thresholds do not affect its decisions" in driven.text
        assert "Thresholds do not affect this topic's decisions" in driven.text


async def test_decisions_of_another_preset_are_counted_and_explained(run: Run) -> None:
    log = [each._replace(scores={"tfidf": each.score}) for each in decisions({"code-style": Kind(5, 5, 5)})]
    async with open_tune(run, log=log, topics=[topic("code-style")]) as driven:
        assert "15 decisions were logged under another preset" in driven.text
        assert "15 not replayed" in driven.text


async def test_a_moved_threshold_reads_no_more_decisions_than_it_lists(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"code-style": Kind(3000, 3000, 1500)}
    async with open_tune(run, log=decisions(kinds), topics=[topic("code-style")]) as driven:
        table = driven.state.table
        assert table is not None
        read: list[int] = []
        decision_at = table.decision

        def recording_decision(index: int) -> object:
            read.append(index)
            return decision_at(index)

        monkeypatch.setattr(table, "decision", recording_decision)
        await driven.press("L")
        assert 0 < len(read) <= 2 * len(driven.screen.decisions.items)
        assert "200 of " in driven.text
