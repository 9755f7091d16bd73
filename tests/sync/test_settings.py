"""memory-config.yaml of two machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.settings.file import load
from engine.sync import contents
from tests.sync.machines import Machine

BASE = b"git:\n  remote: origin\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "wanted"),
    [
        pytest.param(
            BASE,
            BASE + b"  auto_push: true  # mine\n",
            BASE + b"  commit_interval_minutes: 5\n",
            BASE + b"  auto_push: true  # mine\n  commit_interval_minutes: 5\n",
            id="of one group",
        ),
        pytest.param(
            BASE,
            BASE + b"gate:\n  provider: local\n",
            BASE + b"flush:\n  provider: none\n",
            BASE + b"gate:\n  provider: local\nflush:\n  provider: none\n",
            id="of two groups",
        ),
        pytest.param(
            BASE + b"gate:\n  provider: local\n",
            BASE + b"gate:\n  provider: ask\n",
            BASE,
            None,
            id="changed and removed",
        ),
        pytest.param(
            BASE + b"gate:\n  provider: local\n  model: a\n",
            BASE + b"gate:\n  provider: local\n  model: b\n",
            BASE + b"gate:\n  model: a\n",
            BASE + b"gate:\n  model: b\n",
            id="another one removed",
        ),
        pytest.param(BASE, b"git: [\n", BASE + b"a: b\n", None, id="not YAML"),
        pytest.param(BASE, b"git:\n  remote: a\n", b"git:\n  remote: b\n", None, id="the same one"),
    ],
)
def test_settings_are_merged_one_by_one(
    base: bytes, ours: bytes, theirs: bytes, wanted: bytes | None
) -> None:
    assert contents.merged_settings(base, ours, theirs, None) == wanted


def test_two_machines_that_each_set_another_setting_do_not_conflict(
    machines: tuple[Machine, Machine, Path],
) -> None:
    desk, laptop, _ = machines
    desk.add("memory-config.yaml", "  auto_tag_daily: false\n")
    laptop.add("memory-config.yaml", "  commit_interval_minutes: 5\n")
    desk.sync()
    assert laptop.sync().conflicts == ()
    desk.sync()
    expected = "git:\n  remote: origin\n  commit_interval_minutes: 5\n  auto_tag_daily: false\n"
    assert desk.text("memory-config.yaml") == laptop.text("memory-config.yaml") == expected


def test_a_decision_about_a_setting_keeps_what_the_other_side_set_elsewhere(
    machines: tuple[Machine, Machine, Path],
) -> None:
    desk, laptop, _ = machines
    desk.add("memory-config.yaml", "  commit_interval_minutes: 7\n  auto_tag_daily: false\n")
    laptop.add("memory-config.yaml", "  commit_interval_minutes: 5\n")
    desk.sync()
    (conflict,) = laptop.sync().conflicts
    assert conflict.path == "memory-config.yaml"
    laptop.sync(take=[("ours", "memory-config.yaml")])
    git = load(laptop.text("memory-config.yaml").encode())[0].git
    assert (git.commit_interval_minutes, git.auto_tag_daily) == (5, False)


def test_comments_that_both_sides_added_at_one_place_are_both_kept(
    machines: tuple[Machine, Machine, Path],
) -> None:
    desk, laptop, _ = machines
    desk.add("memory-config.yaml", "# from the desk\n")
    laptop.add("memory-config.yaml", "# from the laptop\n")
    desk.sync()
    assert laptop.sync().conflicts == ()
    text = laptop.text("memory-config.yaml")
    assert "# from the desk\n" in text and "# from the laptop\n" in text
