"""Footer clicks, copying, and sums in explanations."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from engine.activation.trace import Contribution, TopicTrace
from engine.errors import AutopoiesisError
from tests.tui.conftest import Run
from tui.kit.bars import Footer, key_at
from tui.kit.clipboard import past_tmux
from tui.kit.rows import KeyedRows
from tui.render.evidence import for_and_against, signal_table
from tui.render.roles import PLAIN, Roles
from tui.screens.workbench.commandline import run_line


def test_click_picks_the_key_under_the_pointer() -> None:
    entries = [("1–5", "panel"), ("y n", "useful / noise")]
    roles = Roles.of({}, coloured=False)
    found = [key_at(entries, 100, roles, x) for x in (0, 2, 8, 13, 15, 20, 60)]
    assert found == ["", "1", "1", "y", "n", "y", ""]


@pytest.mark.parametrize("is_aligned", [True, False])
def test_a_change_of_one_row_redraws_all_if_they_are_aligned(
    monkeypatch: pytest.MonkeyPatch, is_aligned: bool
) -> None:
    class Words(KeyedRows[str]):
        name_of = "words"
        aligned = is_aligned

        def key(self, item: str) -> str:
            return item[:1]

        def summarise(self) -> None:
            """Without a frame, as it is not mounted."""

    words, redrawn = Words(), list[object]()
    words.items = ["a", "b", "c"]
    monkeypatch.setattr(words, "refresh", lambda: redrawn.append("all"))
    monkeypatch.setattr(words, "refresh_row", redrawn.append)
    words.show_items(["a", "b longer", "c"])
    assert redrawn == (["all"] if is_aligned else [1])


async def test_copy_is_saved_to_a_private_file_and_footer_clicks_press_keys(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    async with run() as driven:
        monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
        assert driven.app._driver is not None
        monkeypatch.setattr(driven.app._driver, "write", written.append)
        await driven.press("1", "Y")
        (file,) = home.rglob("copied.txt")
        assert file.read_text() == driven.app.clipboard != ""
        assert file.stat().st_mode & 0o777 == 0o600
        assert past_tmux(driven.app.clipboard) in written
        assert "copied.txt" in driven.text

        driven.app.clear_notifications()
        await driven.pilot.pause()
        footer = driven.bench.query_one(Footer)
        await driven.pilot.click(footer, offset=(driven.lines[-1].index("? help") + 3, 0))
        await driven.settle()
        assert driven.app.screen is not driven.bench and "Go to the digest" in driven.text


def test_a_tmux_sequence_carries_the_text() -> None:
    assert past_tmux("ö") == "\x1bPtmux;\x1b\x1b]52;c;w7Y=\x07\x1b\\"


def test_interactive_commands_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="serve needs its own terminal"):
        run_line(tmp_path, "serve --port 0", deadline_s=5)


def test_the_rows_of_an_explanation_add_up_to_the_score() -> None:
    weights = {"vectors": 2.9, "classifier": 2.7, "coverage": -0.1}
    parts = tuple(Contribution(name, weight) for name, weight in weights.items())
    row = TopicTrace("deploy", "medium", "auto", (), 0.04, 0.3, 0.6, 0.4, "", None, "dropped", "", "", parts)
    lines = [line.text.split() for line in signal_table(row, 60, PLAIN)[-2:]]
    ends = {name: float(number.replace("−", "-")) for name, number in lines}
    assert ends["sum"] == pytest.approx(math.log(0.04 / 0.96), abs=0.01)
    assert ends["rest"] + sum(weights.values()) == pytest.approx(ends["sum"], abs=0.01)
    _for, against = for_and_against(row, 60, PLAIN)
    assert "rest −8.7" in "".join(line.text for line in against[1])
