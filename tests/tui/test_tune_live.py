"""The tune screen while the log is read, when it is unreadable, and when decisions arrive."""

from __future__ import annotations

import threading

from engine.activation.policy import Thresholds
from engine.errors import AutopoiesisError
from engine.events import FileChanged, TopicsReloaded, TurnTraced
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW, FakeEngine, review_trace, status_view
from tests.tui.screen_driven import open_tune
from tests.tui.tune_data import Kind, decision, decisions, topic


async def test_while_the_log_is_read_the_screen_says_so_and_refuses_commands(run: Run) -> None:
    release = threading.Event()
    async with open_tune(run, settle=False, blocked={"table": release}) as driven:
        await driven.until(lambda: bool(driven.tuning.calls_of("table")))
        assert "scoring the logged messages" in driven.text
        for key in ("right", "y", "f", "enter", "j", "s", "c"):
            await driven.send(key)
        await driven.pilot.pause()
        assert not driven.state.moved and not driven.tuning.calls_of("propose")
        release.set()
        await driven.settle()
        assert "2 scores  code-style · 311 labelled messages" in driven.text


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
        assert "code-style · 311 labelled messages" in driven.text
        # a later failure keeps what is shown
        driven.app.clear_notifications()
        driven.tuning.failing["table"] = broken
        await driven.press("ctrl+r")
        assert "cannot be read" in driven.toasts and "code-style · 311 labelled messages" in driven.text


async def test_new_decisions_are_shown_and_nothing_is_lost(run: Run, engine: FakeEngine) -> None:
    async with open_tune(run) as driven:
        await driven.press("L", "3", "j", "j", "j")
        selected = driven.screen.decisions.selected
        assert selected is not None
        before, reads = driven.state.overview["code-style"].messages, len(driven.tuning.calls_of("table"))
        driven.tuning.add([decision("code-style", 9000 + number, 0.7, None, "") for number in range(5)])
        driven.engine.publish(*(TurnTraced(f"t#{number}", review_trace()) for number in range(200)))
        await driven.settle()
        assert len(driven.tuning.calls_of("table")) == reads + 1, "a burst is read once"
        assert driven.state.overview["code-style"].messages == before + 5
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
        assert next(each for each in driven.tuning.log if each.message_hash == item.id).useful is True
        assert sum(each.useful is True for each in driven.tuning.log[:1]) == 0


async def test_a_topic_unaffected_by_thresholds_says_so(run: Run) -> None:
    topics = [topic("code-style", forced=True)]
    async with open_tune(run, log=decisions({"code-style": Kind(5, 5, 5)}), topics=topics) as driven:
        assert "thresholds do not affect its messages" in driven.text
        assert "Thresholds have no effect on this topic" in driven.text


async def test_figures_flattered_by_their_own_labels_are_marked_until_they_are_held_out(run: Run) -> None:
    release = threading.Event()
    async with open_tune(run, settle=False, held_out=False, blocked={"hold_out": release}) as driven:
        await driven.until(lambda: bool(driven.tuning.calls_of("hold_out")))
        await driven.until(lambda: "in-sample" in driven.line("changes"))
        await driven.send("L")
        await driven.until(lambda: driven.state.moved)
        release.set()
        await driven.settle()
        assert "in-sample" not in driven.text and driven.state.moved


async def test_an_agent_is_offered_what_a_gate_is_asked(run: Run) -> None:
    async with open_tune(run, provider="agent") as driven:
        await driven.press("L")
        assert "offered at" in driven.text and "offers/day" in driven.text and "◂ active .65 ▸" in driven.text
        assert "gate .25" not in driven.text and "asked" not in driven.text
