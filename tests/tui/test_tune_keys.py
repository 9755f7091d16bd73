"""The keys of the tune screen: each does what help and footer say, or says why it cannot."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from engine.activation.policy import Thresholds
from engine.activation.tuning.tuning import Applied
from engine.errors import AutopoiesisError
from engine.events import GateAsked
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW, FakeEngine
from tests.tui.screen_driven import TuneDriven, open_tune
from tests.tui.tune_data import SMALLTALK, TOPICS, Kind, decisions, topic
from tui.kit.overlays import ConfirmScreen, PageScreen
from tui.screens.tune.draw import cost_per_day, per_day

TODAY = Thresholds(0.25, 0.6)
MORE = Thresholds(0.25, 0.65)


@pytest.fixture(autouse=True)
def topic_files(engine: FakeEngine) -> None:
    for name in (*TOPICS, "smalltalk"):
        (engine.root / "topics" / f"{name}.md").write_text(f"{name}\n", encoding="utf-8")


async def test_t_opens_the_screen_on_the_topic_selected_in_the_trace(run: Run) -> None:
    async with run() as driven:
        await driven.press("2", "j")
        assert driven.bench.activation.selected is not None
        tune = TuneDriven(driven.app, driven.pilot, driven.engine)
        await tune.press("t")
        assert tune.state.topic == "code-style" and "2 scores  code-style" in tune.text


async def test_an_unknown_topic_falls_back_to_the_worst(run: Run) -> None:
    async with open_tune(run, topic="nobody-knows-me") as driven:
        assert driven.state.topic == "deploy"


# Thresholds.


MOVES = {
    "right": 0.61, "left": 0.59, "l": 0.61, "h": 0.59, "shift+right": 0.65, "L": 0.65,
    "greater_than_sign": 0.65, "shift+left": 0.55, "H": 0.55, "less_than_sign": 0.55,
}  # fmt: skip


async def test_keys_move_the_held_threshold_whatever_has_the_focus(run: Run) -> None:
    async with open_tune(run) as driven:
        for panel in ("1", "2", "3"):
            await driven.press(panel)
            for key, after in list(MOVES.items())[:: 1 if panel == "1" else 4]:
                await driven.press(key)
                assert driven.now == Thresholds(0.25, after), (panel, key)
                assert f".60 ▸ .{round(after * 100)}" in driven.line("active at")
                await driven.press("escape")
        # c selects the other threshold
        await driven.press("c", "right", "right")
        assert driven.now == Thresholds(0.27, 0.6) and "◂ gate .27 ▸" in driven.text
        await driven.press("c", "left")
        assert driven.now == Thresholds(0.27, 0.59) and "◂ active .59 ▸" in driven.text
        # moving back to the current value is not a move
        await driven.press("escape", *["right"] * 7, *["left"] * 7)
        assert not driven.state.moved and "◂▸" not in driven.text
        assert not driven.tuning.calls_of("apply")


async def test_figures_and_flips_update_and_moves_of_other_topics_are_kept(run: Run) -> None:
    async with open_tune(run) as driven:
        before = len(driven.tuning.calls)
        nearest = driven.line("3 messages")
        await driven.press("L", "L")
        assert "current ▸ new" in driven.text and "flip: " in driven.line("3 messages")
        assert any(sign in driven.text for sign in ("+ fixed", "− lost", "~ changed"))
        await driven.press("H", "H")
        assert driven.now == TODAY and not driven.state.moved
        assert driven.line("3 messages") == nearest and "current ▸ new" not in driven.text
        assert len(driven.tuning.calls) == before, "the engine is not called"
        # fast keys act on the topic selected before them
        other = driven.state.names[driven.state.names.index("code-style") + 1]
        await driven.send("j", "right", "k", "left", "left")
        await driven.settle()
        assert driven.state.moves == {other: Thresholds(0.25, 0.61), "code-style": Thresholds(0.25, 0.58)}
        assert driven.text.count(" ◂▸") == 2
        # esc discards the move of the selected topic, then leaves and names other discarded moves
        await driven.press("escape")
        assert driven.is_open() and driven.now == TODAY and not driven.state.moved
        await driven.press("escape")
        assert not driven.is_open() and driven.panel() == "feed"
        assert f"discarded moved thresholds of {other}" in driven.text


async def test_enter_applies_and_z_asks_before_undoing(run: Run) -> None:
    async with open_tune(run) as driven:
        await driven.press("L", "enter")
        assert driven.tuning.calls_of("apply") == [("apply", "code-style", MORE)]
        assert not driven.state.moved and driven.state.today == MORE
        assert "code-style: applied, gate .25, active .65" in driven.text and "a81f2c0" in driven.text
        assert "z undoes it" in driven.text and "active at     .65" in driven.text
        await driven.press("z")
        assert isinstance(driven.app.screen, ConfirmScreen) and "▸ Cancel ◂" in driven.text
        assert "gate .25, active .65 ▸ gate .25, active .60" in driven.text
        await driven.press("enter")
        assert not driven.tuning.calls_of("undo")
        for keys in (
            ("z", "escape"),
            ("z", "right", "left", "enter"),
            ("z", "tab", "tab", "enter"),
            ("z", "n"),
        ):
            await driven.press(*keys)
            assert not driven.tuning.calls_of("undo") and driven.is_open()
        await driven.press("z", "y")
        assert isinstance(driven.app.screen, ConfirmScreen)
        await driven.press("right", "enter")
        (call,) = driven.tuning.calls_of("undo")
        assert isinstance(call[1], Applied) and (call[1].topic, call[1].after) == ("code-style", MORE)
        assert driven.state.today == TODAY and "undone, gate .25, active .60" in driven.text
        await driven.press("z", "tab", "enter")
        assert "no threshold change to undo" in driven.text


async def test_refused_commands_say_why(run: Run) -> None:
    async with open_tune(run) as driven:
        await driven.press("enter", "u")
        assert "no threshold is moved" in driven.text and "no label to undo" in driven.text
        driven.tuning.failing["apply"] = AutopoiesisError(
            "was changed in the meantime", where="topics/code-style.md"
        )
        await driven.press("L", "enter")
        assert "topics/code-style.md: was changed in the meantime" in driven.text and driven.now == MORE
        (driven.engine.root / "topics" / "code-style.md").unlink()
        await driven.press("enter")
        assert "the topic's file no longer exists" in driven.text
        assert len(driven.tuning.calls_of("apply")) == 1


async def test_keys_never_wait_for_writes_or_fits(run: Run) -> None:
    async with open_tune(run) as driven:
        release = driven.tuning.blocked["apply"] = threading.Event()
        await driven.send("L", "enter", "right", "j")
        await driven.until(lambda: driven.state.topic != "code-style")
        release.set()
        await driven.settle()
        assert driven.state.table is not None and driven.state.table.today("code-style") == MORE
        assert driven.state.moves == {"code-style": Thresholds(0.25, 0.66)}, (
            "it was moved again in the meantime"
        )
        # labels are shown before they are saved
        release = driven.tuning.blocked["label"] = threading.Event()
        await driven.send("y", "y", "n")
        await driven.until(lambda: driven.screen.decisions.cursor == 3)
        assert [item.useful for item in driven.screen.decisions.items[:3]] == [True, True, False]
        assert all(item.saving for item in driven.screen.decisions.items[:3])
        release.set()
        await driven.settle()
        assert len(driven.tuning.calls_of("label")) == 3
        assert not any(item.saving for item in driven.screen.decisions.items)
        # a fit does not move thresholds of a topic that is no longer selected
        release = driven.tuning.blocked["propose"] = threading.Event()
        fitted = driven.state.topic
        await driven.send("f")
        await driven.until(lambda: "fitting the thresholds" in driven.text)
        await driven.send("f", "1", "j", "right")
        await driven.until(lambda: driven.state.topic != fitted and driven.state.moved)
        release.set()
        await driven.settle()
        assert driven.state.topic != fitted and fitted not in driven.state.moves
        assert list(driven.state.proposals) == [fitted] and len(driven.tuning.calls_of("propose")) == 1


# Labels.


async def test_y_and_n_label_the_selected_decision_and_u_undoes(run: Run) -> None:
    async with open_tune(run) as driven:
        first, second = (item.id for item in driven.screen.decisions.items[:2])
        labelled = driven.state.overview["code-style"].labelled
        await driven.press("y", "n")
        table = driven.state.table
        assert table is not None and driven.screen.decisions.cursor == 2
        assert [call[2] for call in driven.tuning.calls_of("label")] == [True, False]
        labels = {
            each.message_hash: each.useful
            for each in driven.tuning.log
            if each.message_hash in (first, second)
        }
        assert labels == {first: True, second: False}
        assert driven.state.overview["code-style"].labelled == labelled + 2
        assert [item.id for item in driven.screen.decisions.items[:2]] == [first, second]
        assert "labelled messages" in driven.text and f"{labelled + 2} labelled" in driven.text
        rows = [line for line in driven.lines if line.count("you")]
        assert any("useful you" in line for line in rows) and any("noise  you" in line for line in rows)
        assert ".71" in driven.toasts and "▸.71" in driven.text, "the scores before and after"
        await driven.press("u", "u")
        assert [useful for _name, _index, useful in driven.tuning.calls_of("label")] == [
            True,
            False,
            None,
            None,
        ]
        again = driven.screen.decisions.selected
        assert again is not None and (again.id, again.useful) == (first, None)
        await driven.press("u")
        assert "no label to undo" in driven.text
        # a refused label disappears again
        driven.tuning.failing["label"] = AutopoiesisError("the disk is full")
        await driven.press("y")
        assert "the disk is full" in driven.text
        assert next(item for item in driven.screen.decisions.items if item.id == first).useful is None


async def test_u_restores_the_previous_label(run: Run) -> None:
    async with open_tune(run, log=decisions({"code-style": Kind(4, 4, 1)})) as driven:
        await driven.press("y", "g", "3", "g", "n", "u")
        assert driven.tuning.calls_of("label")[-1][2] is True


async def test_a_label_changes_the_kind_of_a_flip_in_place(run: Run) -> None:
    async with open_tune(run) as driven:
        await driven.press("L", "3")
        item = driven.screen.decisions.items[0]
        assert item.kind == "fixed" and item.useful is False
        assert "4 fixed" in driven.line("3 messages")
        await driven.press("y")
        again = driven.screen.decisions.items[0]
        assert (again.id, again.kind, again.useful) == (item.id, "lost", True)
        assert "3 fixed" in driven.line("3 messages")
        await driven.press("G")
        last = driven.screen.decisions.selected
        assert last is not None and last.kind
        await driven.press("n")
        assert driven.state.moved and driven.now == MORE
        assert next(each for each in driven.screen.decisions.items if each.id == last.id).useful is False


async def test_leaving_frees_the_log(run: Run) -> None:
    gc.unfreeze()  # data shared by the tests is frozen too
    async with open_tune(run) as driven:
        assert gc.get_freeze_count()
        await driven.press("escape")
        assert not gc.get_freeze_count()


# Fitting.


async def test_f_toggles_between_fitted_and_previous_thresholds(run: Run) -> None:
    async with open_tune(run) as driven:
        driven.tuning.failing["propose"] = AutopoiesisError("out of memory")
        await driven.press("f")
        assert "! out of memory" in driven.text and not driven.state.fitting
        driven.tuning.failing.clear()
        await driven.press("right", "f")
        proposal = driven.state.proposals["code-style"]
        assert proposal.thresholds == driven.now and "held out, 5 folds: precision" in driven.text
        await driven.press("f")
        assert driven.now == Thresholds(0.25, 0.61) and "f shows the fit" in driven.text
        await driven.press("f")
        assert driven.now == proposal.thresholds and len(driven.tuning.calls_of("propose")) == 2
        # a new label makes the fit out of date
        await driven.press("y")
        assert "code-style" not in driven.state.proposals
        await driven.press("f", "enter")
        assert len(driven.tuning.calls_of("propose")) == 3
        assert driven.tuning.calls_of("apply") == [("apply", "code-style", driven.state.today)]
        assert driven.state.today not in (TODAY, Thresholds(0.25, 0.61))


async def test_a_fit_is_reported_once_and_a_refusal_moves_nothing(run: Run) -> None:
    async with open_tune(run, (80, 24)) as driven:
        await driven.press("f")
        assert "fit held out" in driven.text and not driven.toasts
        await driven.press("escape", "slash")
        await driven.type("journal")
        await driven.press("enter")
        await driven.resize(60, 16)
        await driven.press("f")
        assert "! no proposal: " in driven.toasts
        driven.app.clear_notifications()
        await driven.resize(120, 40)
        assert driven.state.topic == "journal-daily" and not driven.state.moved
        assert "! no proposal: " in driven.text


SWITCHES_OFF: dict[str, Any] = {
    "topic": "smalltalk",
    "log": decisions({"smalltalk": SMALLTALK}),
    "topics": [topic("smalltalk")],
}
OFF = Thresholds(1.0, 1.0)
CAUTION = "! hardly any message"


async def test_a_fit_that_switches_a_topic_off_says_so_at_every_size(run: Run) -> None:
    async with open_tune(run, (80, 24), **SWITCHES_OFF) as driven:
        for size in ((80, 24), (120, 40)):
            await driven.resize(*size)
            assert CAUTION not in driven.text
            await driven.press("f")
            assert driven.now == OFF and CAUTION in driven.text and "triggers" in driven.text
            assert "quiet" in driven.text and "enter asks, then applies" in driven.text
            assert driven.screen.decisions.size.height >= 3
            await driven.press("c", "left")
            assert driven.now == Thresholds(0.99, 1.0) and CAUTION in driven.text
            await driven.press("H")
            assert CAUTION not in driven.text and "enter applies and commits" in driven.text
            await driven.press("f")
            assert driven.now == OFF and CAUTION in driven.text
            await driven.press("escape", "c")
            assert driven.now == TODAY and CAUTION not in driven.text
        assert not driven.toasts
        # a notification if its panel is hidden
        for size, enlarged in (((60, 16), ()), ((80, 24), ("1", "plus")), ((80, 24), ("3", "plus"))):
            await driven.resize(*size)
            await driven.press(*enlarged, "f")
            assert CAUTION in driven.toasts and "quiet 1.00, today .00" in driven.toasts
            driven.app.clear_notifications()
            await driven.press("enter")
            assert isinstance(driven.app.screen, ConfirmScreen) and "▸ Cancel ◂" in driven.text
            assert "Apply" in driven.text
            await driven.press("escape", "escape", "underscore")
            assert driven.now == TODAY and driven.zoomed() is None
        # applying asks with the focus on cancel; thresholds moved away from the fit need no question
        await driven.resize(120, 40)
        assert not driven.tuning.calls_of("apply")
        await driven.press("f", "c", "H", "enter")
        assert driven.tuning.calls_of("apply") == [("apply", "smalltalk", Thresholds(0.95, 1.0))]
        await driven.press("z", "right", "enter")
        assert driven.state.today == TODAY
        driven.tuning.calls.clear()
        # the caution outlives the proposal
        await driven.press("f", "y")
        assert not driven.state.proposals and driven.now == OFF and CAUTION in driven.text
        await driven.press("enter")
        assert isinstance(driven.app.screen, ConfirmScreen) and "▸ Cancel ◂" in driven.text
        assert "smalltalk: gate .25, active .60 ▸ gate 1.0, active 1.0" in driven.text
        assert "Hardly any message would reach the topic" in driven.text
        for keys in (("enter",), ("enter", "escape"), ("enter", "right", "left", "enter")):
            await driven.press(*keys)
            assert "▸ Cancel ◂" not in driven.text and driven.now == OFF
        assert not driven.tuning.calls_of("apply")
        await driven.press("enter", "right", "enter")
        assert driven.tuning.calls_of("apply") == [("apply", "smalltalk", OFF)]
        assert driven.state.today == OFF and CAUTION not in driven.text


# Navigation.


async def test_motions_and_the_mouse_select_topics_and_decisions(run: Run) -> None:
    async with open_tune(run) as driven:
        for panel in ("1", "2"):
            await driven.press(panel, "g")
            assert driven.state.topic == driven.state.names[0]
            await driven.press("j", "down", "up")
            assert driven.state.topic == driven.state.names[1]
            await driven.press("G")
            assert driven.state.topic == driven.state.names[-1]
        await driven.press("g")
        for name in driven.state.names:
            assert driven.state.topic == name and name in driven.line("2 scores")
            await driven.press("j")
        await driven.press("3", "j", "j", "k")
        assert driven.screen.decisions.cursor == 1 and driven.state.topic == driven.state.names[-1]
        # the mouse selects them too
        await driven.pilot.click("#topics", offset=(10, 3))
        await driven.settle()
        assert driven.state.topic == driven.state.names[0]
        await driven.pilot.click("#decisions", offset=(10, 3))
        await driven.settle()
        assert driven.screen.decisions.cursor == 2


async def test_s_cycles_the_sort_order_and_a_filter_narrows_the_list(run: Run) -> None:
    async with open_tune(run) as driven:
        titles = []
        for _press in range(5):
            await driven.press("s")
            titles.append(driven.lines[1][:40].split("topics  ")[1].split(" ─")[0])
        assert titles == ["most offers", "highest cost", "most labels", "by name", "worst first"]
        assert driven.state.topic == "code-style" and not driven.toasts
        await driven.press("3", "plus", "s")
        assert "topics: most offers" in driven.toasts, "no title shows the order"
        await driven.press("s", "s", "s", "s", "underscore", "2")
        # a filter narrows the list while typing, and esc backs out
        await driven.press("slash")
        await driven.type("zzz")
        assert "no matching topics" in driven.text and driven.state.topic == "code-style"
        await driven.press("escape")
        await driven.send("slash", *"re")
        await driven.settle()
        assert driven.state.names == ("release-notes", "github-pr-review")
        assert driven.state.topic == "release-notes" and not driven.state.moved, "letters do not act as keys"
        await driven.press("enter")
        assert driven.screen.panel_in_use == "scores" and "/re" in driven.text
        await driven.press("slash", "escape")
        assert driven.state.query == "" and len(driven.state.names) == len(TOPICS)
        await driven.press("plus", "slash")
        await driven.type("e")
        await driven.press("enter", "escape")
        assert driven.state.query == "" and driven.zoomed() == "scores"
        await driven.press("escape")
        assert driven.zoomed() is None and driven.is_open()
        await driven.press("q")
        assert not driven.is_open() and driven.app.is_running


async def test_q_asks_before_it_discards_moved_thresholds(run: Run) -> None:
    async with open_tune(run) as driven:
        await driven.press("L", "q")
        assert isinstance(driven.app.screen, ConfirmScreen)
        assert f"The moved thresholds of {driven.state.topic} are not applied yet." in driven.text
        await driven.press("enter")  # the focus is on Cancel
        assert driven.is_open() and driven.state.moved
        await driven.press("q", "right", "enter")
        assert not driven.is_open() and driven.app.is_running


async def test_on_a_small_terminal_everything_is_reachable(run: Run) -> None:
    async with open_tune(run, (80, 24)) as driven:
        assert "? help" in driven.lines[-1]
        figures = driven.state.overview["code-style"]
        calls, cost = per_day(figures.offers_per_day), cost_per_day(figures.cost_usd_per_day)
        assert calls in driven.line("calls/d") and cost in driven.line("cost/d")
        await driven.press("L")
        assert f"{calls}▸" in driven.line("calls/d")
        for column, amount in (("asks", calls), ("cost/d", cost)):
            await driven.press("s")
            assert column in driven.lines[2] and amount in driven.line("▌code-style")[:34]
        await driven.press("escape", "s", "s", "s")
        # a zoomed list shows the thresholds
        for panel, more in (("1", "1,014 labels"), ("3", "200 of 1,475 shown")):
            await driven.press(panel, "plus")
            assert f"code-style · gate .25, active .60 · {more}" in driven.text
            await driven.press("L")
            assert "code-style · gate .25, active .60 ▸ gate .25, active .65" in driven.text
            await driven.press("escape", "underscore")
            assert "code-style · gate .25" not in driven.text
        await driven.press("1", "plus")
        assert driven.screen.topics.size.width > 70 and "cost/d" in driven.text
        await driven.press("3")
        assert driven.zoomed() == "decisions" and driven.screen.decisions.size.height > 15
        await driven.press("underscore")
        assert driven.zoomed() is None and driven.screen.scores.region.area


async def test_common_commands_work_on_this_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "true")
    async with open_tune(run, (120, 60)) as driven:
        await driven.press("3", "o")
        page = driven.app.screen
        assert isinstance(page, PageScreen) and "label     none" in driven.text
        await driven.press("escape")
        assert driven.is_open() and not page.is_attached
        await driven.press("question_mark")
        assert "on this screen" in driven.text and "Move the selected threshold down by .01" in driven.text
        assert "Not now: no threshold is moved." in " ".join(driven.text.replace("│", " ").split())
        await driven.press("escape", "1", "Y")
        assert driven.app.clipboard.startswith("code-style ")
        await driven.press("3", "Y")
        first = driven.screen.decisions.items[0]
        assert first.id in driven.app.clipboard and first.message in driven.app.clipboard
        assert driven.screen.file == "topics/code-style.md"
        await driven.press("e")
        assert "cannot run an editor" in driven.text
        await driven.press("ctrl+p")
        await driven.type("other threshold")
        await driven.press("enter")
        assert driven.state.held == "gate"
        driven.engine.publish(GateAsked(NOW, "q1", "code-style", "Is this tidy?", "House rules", 30.0))
        await driven.settle()
        assert "does code-style apply to" in driven.text
        await driven.press("ctrl+y")
        assert driven.engine.calls_of("answer") == [("answer", "q1", True)]
        assert not driven.tuning.calls_of("label") and "does code-style" not in driven.text


async def test_topic_names_and_messages_from_the_log_are_shown_only_as_text(run: Run) -> None:
    name = "[@x=y]z[/]\x1b]0;\x07"
    log = decisions({name: Kind(5, 5, 5)})
    log = [each._replace(message="[/etc/passwd] \x1b[2J ‮abc") for each in log]
    async with open_tune(run, topic=name, log=log, topics=[topic(name, path="topics/deploy.md")]) as driven:
        await driven.press("1", "g", "L", "enter", "3", "o")
        assert "[@x=y]z[/]" in driven.text and "[/etc/passwd]" in driven.text
        assert "\x1b" not in driven.text and "\u202e" not in driven.text
