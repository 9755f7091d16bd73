"""Detecting hooks in Codex's settings that it does not run because the person has not trusted them."""

from __future__ import annotations

import json
from pathlib import Path

from engine.agents.contracts import CODEX
from engine.agents.entries import desired
from engine.agents.install import untrusted
from tests.cases import each_case

TRUSTED = {
    "pre_compact": "39b4338ff1bae1c352b28798a439ea3b16cddd973938ec1530c4d3f2fc1a3f61",
    "session_start": "095744de2aac238dd60fb6aba207893e75ec4029d3e18f6371ae5419b8440c73",
    "session_end": "a5de24a6cadb1c98cfe879fc6454a92941d9f7bf6990712f5977bb58c1c63604",
    "user_prompt_submit": "4c997c63f9f03acdd16d7b6d410d018742e2a59ca196e71bab9673424dc92559",
    "stop": "f5c6629e4d5f5cae5b442450875860c4f3db7c3a2cd787b8f454595e5776ec03",
}
"""The hashes that Codex 0.169 wrote when these hooks were trusted."""

HOOKS = {
    event: {"hooks": [{**group["hooks"][0], "command": "'/opt/my tools/größe/autopoiesis-hook' codex"}]}
    for event, group in desired(CODEX, Path("/opt/my tools/größe"), None)[0].items()
}
ALONE = {event: [group] for event, group in HOOKS.items()}


def text_of(events: object) -> str:
    return json.dumps({"hooks": events}, ensure_ascii=False)


def state_of(path: Path, at: str = "0:0", **more: str) -> str:
    return 'model = "x"\n' + "".join(
        f'\n[hooks.state."{path}:{label}:{at}"]\ntrusted_hash = "sha256:{more.get(label, hash_)}"\n'
        for label, hash_ in TRUSTED.items()
    )


def test_hooks_are_recognized_by_the_hashes_that_codex_wrote(tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.json"
    assert untrusted(hooks, text_of(ALONE), "") == (5, 5)
    assert untrusted(hooks, text_of(ALONE), state_of(hooks)) == (0, 5)
    assert untrusted(hooks, text_of(ALONE), state_of(hooks, stop="00")) == (1, 5), "changed since"
    assert untrusted(hooks, text_of(ALONE), state_of(tmp_path / "other/hooks.json")) == (5, 5)
    moved = {event: [group] for event, group in desired(CODEX, Path("/opt/moved"), None)[0].items()}
    assert untrusted(hooks, text_of(moved), state_of(hooks)) == (5, 5)


def test_hooks_behind_a_symlink_or_after_other_hooks_are_found(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    others = {"hooks": [{"type": "command", "command": "say done"}]}
    behind = text_of({event: [others, group] for event, group in HOOKS.items()})
    named = tmp_path / "link/hooks.json"
    assert untrusted(tmp_path / "real/hooks.json", behind, state_of(named, "1:0")) == (0, 5)
    assert untrusted(tmp_path / "real/hooks.json", behind, state_of(named, "0:0")) == (5, 5)


def test_a_hook_that_the_person_edited_counts_as_trusted(tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.json"
    changed = {event: [{**group, "matcher": "*"}] for event, group in HOOKS.items()}
    assert untrusted(hooks, text_of(changed), state_of(hooks)) == (0, 5)
    assert untrusted(hooks, text_of(changed), "") == (5, 5)


BROKEN = ["[hooks", "hooks = 1", "[hooks]\nstate = 2"]


@each_case("settings", BROKEN)
def test_unreadable_settings_report_nothing(settings: str, tmp_path: Path) -> None:
    assert untrusted(tmp_path / "hooks.json", text_of(ALONE), settings) == (0, 0)
