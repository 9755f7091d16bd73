"""Installing into and removing from agents' settings leaves everything else unchanged, byte for byte."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agents import entries, jsonc
from engine.agents.contracts import CLAUDE_CODE, CODEX, CONTRACTS, GEMINI, OPENCODE, Contract
from engine.agents.install import BACKUP_SUFFIX, Change, Programs, Where, install_state, installation, removal
from engine.errors import DocumentError, PathRefused, ReadOnly, WriteFailed
from engine.store.faults import FAULT_POINTS, trip
from tests.cases import each_case

SOME = '{ "type": "command", "command": "say done" }'
OTHERS = f'{{ "matcher": "x", "hooks": [{SOME}] }}'
OURS = '{"type": "command", "command": "\'/old place/autopoiesis-hook\' claude-code"}'

SETTINGS = {
    "absent": None,
    "blank": b"\n",
    "nothing": b"{}",
    "on one line": b'{"model": "opus"}',
    "tabs and no newline at the end": b'{\n\t"model":\t"opus"\n}',
    "windows": b'\xef\xbb\xbf{\r\n    "model": "opus",\r\n    "env": {}\r\n}\r\n',
    "remarks": b'// mine\n{\n  // "hooks": {\n  "url": "http://x//y", // why: {[\n'
    b'  /* , */ "n": 1 /* } */ // last\n}\n',
    "comma at the end": b'{\n  "model": "opus", // my model\n}\n',
    "hooks of others": f'{{\n  "hooks": {{\n    "Stop": [\n      {OTHERS},\n    ],\n'
    '    "X": []\n  }\n}\n'.encode(),
    "a hook in one line": f'{{"hooks":{{"Stop":[{OTHERS}]}},"a":[]}}'.encode(),
    "a key twice": f'{{"hooks": 1, "hooks": {{"Stop": [{OTHERS}]}}}}\n'.encode(),
    "an event without hooks": b'{"hooks": {\n  "Stop": [ ], // none yet\n  "X": 1\n}}\n',
    "unknown words": '{\n  "größe": "ﷺ \\ud83d\\ude00 \\/",\n  "n": -1.50e+10\n}\n'.encode(),
}  # fmt: skip


@pytest.fixture
def where(tmp_path: Path) -> Where:
    return Where(tmp_path / "my home", {})


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    folder = tmp_path / "pro grams"
    folder.mkdir()
    for name in ("autopoiesis", "autopoiesis-hook"):
        (folder / name).touch(0o755)
    return Programs(folder)


def install(contract: Contract, where: Where, programs: Programs, *, mcp: bool = False) -> list[Change]:
    changes = installation(contract, where, programs, mcp=mcp)
    for change in changes:
        change.apply()
    return changes


def uninstall(contract: Contract, where: Where, *, mcp: bool = False) -> None:
    for change in removal(contract, where, mcp=mcp):
        change.apply()


def settings_of(where: Where, data: bytes | None) -> Path:
    path = where.home / ".claude/settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if data is not None:
        path.write_bytes(data)
    return path


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@each_case("data", SETTINGS.values())
def test_uninstalling_restores_the_settings_byte_for_byte(
    data: bytes | None, where: Where, programs: Programs
) -> None:
    path = settings_of(where, data)
    (change,) = install(CLAUDE_CODE, where, programs)
    kept = path.with_name(path.name + BACKUP_SUFFIX)
    assert content(kept) == data and (change.backup is None) == (data is None)
    tree = jsonc.parse(path.read_bytes().decode("utf-8-sig")).value
    for event in CLAUDE_CODE.events:
        (handler,) = tree["hooks"][event.name][-1]["hooks"]
        assert entries.parse_command(handler["command"]) == [
            str(programs.folder / "autopoiesis-hook"),
            "claude-code",
        ]
        assert handler["timeout"] == event.seconds and "async" not in handler
    assert installation(CLAUDE_CODE, where, programs, mcp=False)[0].is_noop
    install(CLAUDE_CODE, where, Programs(programs.folder, Path("/another/workspace")))
    assert b"/another/workspace" in path.read_bytes() and content(kept) == data
    uninstall(CLAUDE_CODE, where)
    assert content(path) == data and not kept.exists()


def _written(value: object, style: random.Random) -> str:
    """Serialize a value as sloppily as JSONC allows: random whitespace, comments and trailing commas."""
    gaps = [" ", "", "\n  ", "\r\n\t", " /* a, { */ ", "\n  // b \"}\n    "]  # fmt: skip
    used = style.sample(gaps, 3)

    def gap() -> str:
        return style.choice(used)

    if not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=style.random() < 0.5)
    items = value.items() if isinstance(value, dict) else enumerate(value)
    parts = [
        gap() + (f"{json.dumps(key)}{gap()}:{gap()}" if isinstance(value, dict) else "")
        + _written(each, style) + gap()
        for key, each in items
    ]  # fmt: skip
    end = f",{gap()}" if parts and style.random() < 0.3 else ""
    left, right = "{}" if isinstance(value, dict) else "[]"
    return left + ",".join(parts) + end + right


GROUP = st.fixed_dictionaries({"hooks": st.lists(st.just(json.loads(SOME)), min_size=1, max_size=2)})
TREES = st.dictionaries(st.sampled_from(["model", "env", "permissions"]), st.recursive(
    st.sampled_from(["opus", "// no", "}", 1, None]), lambda inner: st.lists(inner, max_size=3))).flatmap(
    lambda tree: st.dictionaries(st.sampled_from(["Stop", "SessionStart", "PreToolUse"]),
                                 st.lists(GROUP, min_size=1, max_size=2), max_size=2).map(
        lambda hooks: {**tree, "hooks": hooks} if hooks else tree))  # fmt: skip


@given(TREES, st.integers(0, 10**6))
def test_generated_settings_survive_install_and_uninstall(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, object], seed: int
) -> None:
    style = random.Random(seed)
    data = (_written(tree, style) + style.choice(["", "\n", "\r\n"])).encode()
    where, programs = Where(tmp_path_factory.mktemp("h"), {}), Programs(Path("/opt/a b"), Path("/my memory"))
    path = settings_of(where, data)
    install(CLAUDE_CODE, where, programs)
    installed = path.read_bytes()
    uninstall(CLAUDE_CODE, where)
    assert path.read_bytes() == data
    # The same after an edit in between, so that the backup cannot be restored.
    path.write_bytes(installed + b"\n// a word\n")
    uninstall(CLAUDE_CODE, where)
    if tree:  # whitespace and comments inside an empty object may be lost
        assert path.read_bytes() == data + b"\n// a word\n"
    else:
        assert jsonc.parse(path.read_text()).value == tree


@each_case("contract", [CLAUDE_CODE, CODEX, GEMINI, OPENCODE])
def test_every_agent_gets_hooks_and_an_mcp_server(
    contract: Contract, where: Where, programs: Programs
) -> None:
    assert [each.state for each in install_state(contract, where, programs)] == ["no", "no"]
    files = [change.file.path for change in install(contract, where, programs, mcp=True)]
    hooks = "untrusted" if contract.trust_file else "installed"
    assert [each.state for each in install_state(contract, where, programs)] == [hooks, "installed"]
    text = files[-1].read_text()
    tree = tomllib.loads(text) if files[-1].suffix == ".toml" else json.loads(text)
    server = tree[contract.mcp_key]["autopoiesis"]
    run = server["command"] if contract is OPENCODE else [server["command"], *server["args"]]
    assert run == [str(programs.folder / "autopoiesis"), "mcp"]
    elsewhere = Programs(programs.folder, Path("/else where"))
    assert [each.state for each in install_state(contract, where, elsewhere)] == ["differs", "differs"]
    (programs.folder / "autopoiesis-hook").rename(programs.folder / "gone")
    assert install_state(contract, where, programs)[0].state == "stale"
    (programs.folder / "gone").rename(programs.folder / "autopoiesis-hook")
    uninstall(contract, where, mcp=True)
    assert not any(path.exists() for path in files)


def test_hooks_do_nothing_once_the_program_is_uninstalled(where: Where, programs: Programs) -> None:
    hook = programs.folder / "autopoiesis-hook"
    hook.write_text('#!/bin/sh\necho "$@"; exit 3\n')
    path = settings_of(where, None)
    install(CLAUDE_CODE, where, programs)
    (handler,) = json.loads(path.read_text())["hooks"]["Stop"][-1]["hooks"]

    def run() -> tuple[int, str, str]:
        done = subprocess.run(["sh", "-c", handler["command"]], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    assert run() == (3, "claude-code\n", "")
    hook.unlink()
    assert run() == (0, "", "")


def test_timeouts_and_answers_use_the_units_and_format_of_the_agent() -> None:
    assert {each.agent: each.ticks for each in CONTRACTS.values() if each.ticks > 1} == {"gemini": 1_000}
    assert json.loads(CODEX.answer("UserPromptSubmit", "hä")) == {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "hä"}
    }
    assert CODEX.answer("Stop", "text") == CODEX.answer("Unknown", "text") == ""
    assert GEMINI.answer("AfterAgent", "text") == GEMINI.answer("BeforeAgent", "") == "{}"
    hooks, _ = entries.desired(GEMINI, Path("/bin"), None)
    # It would start a process before each call of the model.
    assert {name: each["matcher"] for name, each in hooks.items() if "matcher" in each} == {
        "PreCompress": "manual"
    }


TOML = {
    "absent": None,
    "no newline at the end": b'model = "o"  # mine',
    "windows": b'# top\r\nmodel = "o"\r\n\r\n[features]\r\nhooks = true\r\n',
    "other servers": b'[mcp_servers.other]\ncommand = "x"\n\n\n',
}


@each_case("data", TOML.values())
def test_other_toml_content_is_unchanged(data: bytes | None, where: Where, programs: Programs) -> None:
    path = where.home / ".codex/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    if data is not None:
        path.write_bytes(data)
    install(CODEX, where, programs, mcp=True)
    installed = path.read_bytes()
    uninstall(CODEX, where, mcp=True)
    assert content(path) == data
    # Codex writes trust entries after our table, and a person adds settings of the server below it.
    later = b'\n[projects."/p"]\ntrust_level = "trusted"\n'
    path.write_bytes(installed + b'\nenabled = true\n[mcp_servers.autopoiesis.env]\nA = "1"\n' + later)
    uninstall(CODEX, where, mcp=True)
    assert tomllib.loads(path.read_text()) == tomllib.loads((data or b"").decode() + later.decode())
    assert path.read_bytes().startswith(data or b"")


def test_entries_that_codex_adds_next_to_ours_are_kept(where: Where, programs: Programs) -> None:
    """Trusted hooks and pre-approved tools, as Codex 0.169 writes them to its settings."""
    install(CODEX, where, programs, mcp=True)
    path = where.home / ".codex/config.toml"
    key = where.home / ".codex/hooks.json:stop:0:0"
    trusted = f'\n[hooks.state]\n\n[hooks.state."{key}"]\ntrusted_hash = "sha256:00"\n'
    allowed = '\n[mcp_servers.autopoiesis.tools.remember]\napproval_mode = "approve"\n'
    path.write_text(path.read_text() + trusted + allowed)
    hooks, server = install_state(CODEX, where, programs)
    assert (hooks.state, server.state) == ("untrusted", "installed") and "/hooks" in hooks.hint
    assert all(each.is_noop for each in installation(CODEX, where, programs, mcp=True))
    uninstall(CODEX, where, mcp=True)
    assert path.read_text() == trusted


OFF = [
    (CLAUDE_CODE, ".claude/settings.json", {"disableAllHooks": True}),
    (GEMINI, ".gemini/settings.json", {"hooksConfig": {"enabled": False}}),
    (GEMINI, ".gemini/settings.json", {"tools": {"enableHooks": False}}),
    (CODEX, ".codex/config.toml", {"features": {"hooks": False}}),
]


@pytest.mark.parametrize(("contract", "name", "setting"), OFF)
def test_hooks_that_a_setting_turns_off_are_not_said_to_be_connected(
    contract: Contract, name: str, setting: dict[str, Any], where: Where, programs: Programs
) -> None:
    path = where.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[features]\nhooks = false\n" if path.suffix == ".toml" else json.dumps(setting))
    assert install_state(contract, where, programs)[0].state == "no"
    install(contract, where, programs, mcp=True)
    hooks, server = install_state(contract, where, programs)
    assert (hooks.state, server.state) == ("off", "installed")
    assert hooks.why.startswith(f"{path}: {contract.title} runs no hooks, because ")


def test_the_settings_that_count_most_decide_whether_hooks_are_off(
    tmp_path: Path, where: Where, programs: Programs
) -> None:
    here = Where(where.home, {}, tmp_path)
    install(CLAUDE_CODE, here, programs, mcp=False)
    shared, local = tmp_path / ".claude/settings.json", tmp_path / ".claude/settings.local.json"
    shared.write_text('{"disableAllHooks": true} // for all of us')
    assert install_state(CLAUDE_CODE, here, programs)[0].state == "off"
    local.write_text(local.read_text().replace("{", '{"disableAllHooks": false,', 1))
    assert install_state(CLAUDE_CODE, here, programs)[0].state == "installed"
    shared.write_text('{"disableAllHooks": tru')
    assert install_state(CLAUDE_CODE, here, programs)[0].state == "installed"


def test_what_a_person_added_to_our_server_survives_an_update(where: Where, programs: Programs) -> None:
    codex, claude = where.home / ".codex/config.toml", where.home / ".claude.json"
    codex.parent.mkdir(parents=True, exist_ok=True)
    added = {"env": {"TOKEN": 'a "b"', "a.b": "x"}, "startup_timeout_sec": 20}
    codex.write_text(
        'model = "o"\n\n[mcp_servers.autopoiesis]\ncommand = "/old/autopoiesis"\nargs = ["mcp"]\n'
        'startup_timeout_sec = 20\n\n[mcp_servers.autopoiesis.env]\nTOKEN = \'a "b"\'\n"a.b" = "x"\n'
    )
    claude.write_text(json.dumps({"mcpServers": {"autopoiesis": {"command": "/old/autopoiesis", **added}}}))
    install(CODEX, where, programs, mcp=True)
    install(CLAUDE_CODE, where, programs, mcp=True)
    for server in (
        tomllib.loads(codex.read_text())["mcp_servers"]["autopoiesis"],
        json.loads(claude.read_text())["mcpServers"]["autopoiesis"],
    ):
        assert server.pop("command") == str(programs.folder / "autopoiesis")
        assert {key: server[key] for key in added} == added
    assert install_state(CODEX, where, programs)[1].state == "installed"
    uninstall(CODEX, where, mcp=True)
    assert tomllib.loads(codex.read_text()) == {"model": "o"}


def test_a_plugin_and_its_server_are_installed_and_removed(
    tmp_path: Path, where: Where, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Where(where.home, {}, tmp_path)
    settings, plugin = tmp_path / "opencode.jsonc", tmp_path / ".opencode/plugins/autopoiesis.js"
    before = b'{\n  // mine\n  "mcp": { "servers": { "x": { "type": "local", "command": ["x"] } }, },\n}\n'
    settings.write_bytes(before)
    named = Programs(programs.folder, Path('/a "\n*/ ${x}\u2028'))
    install(OPENCODE, here, named, mcp=True)
    (line,) = [each for each in plugin.read_text().split("\n") if each.startswith("const COMMAND = ")]
    run = [str(programs.folder / "autopoiesis-hook"), "opencode", "-C", str(named.workspace)]
    assert json.loads(line.partition(" = ")[2]) == run
    assert '"autopoiesis": {"type": "local", "command": [' in settings.read_text()
    assert all(change.is_noop for change in installation(OPENCODE, here, named, mcp=True))
    with monkeypatch.context() as later:
        shipped = entries._shipped() + "// of a later version\n"
        later.setattr(entries, "_shipped", lambda: shipped)
        assert install_state(OPENCODE, here, named)[0].state == "differs"
        install(OPENCODE, here, named)
        assert plugin.read_text().endswith("// of a later version\n")
    uninstall(OPENCODE, here, mcp=True)
    assert settings.read_bytes() == before and not plugin.parents[1].exists()
    plugin.parent.mkdir(parents=True)
    plugin.write_text("export const mine = 1\n")
    uninstall(OPENCODE, here)
    with pytest.raises(DocumentError, match="another plugin has this file name"):
        install(OPENCODE, here, named)
    assert os.listdir(plugin.parent) == [plugin.name]
    plugin.write_text(shipped.replace('["autopoiesis-hook", "opencode"]', '["\\u0000/autopoiesis-hook"]'))
    assert install_state(OPENCODE, here, named)[0].state == "stale"


def test_entries_with_an_old_program_path_are_replaced(where: Where, programs: Programs) -> None:
    path = settings_of(where, f'{{"hooks": {{"Stop": [{{"hooks": [{OURS}, {SOME}]}}]}}}}'.encode())
    assert (
        install_state(CLAUDE_CODE, where, programs)[0].why == f"{path}: /old place/autopoiesis-hook is gone"
    )
    assert install(CLAUDE_CODE, where, programs)[0].backup is None
    assert b"/old place" not in path.read_bytes() and SOME.encode() in path.read_bytes()
    uninstall(CLAUDE_CODE, where)
    assert path.read_bytes() == f'{{"hooks": {{"Stop": [{{"hooks": [ {SOME}]}}]}}}}'.encode()


@each_case(
    ("data", "said"),
    [
        (b'{\n  "a": 1\n  "b": 2\n}', ":3: expected a comma or }"),
        (b'{"a": tru}', ":1: expected a value"),
        (b"[]", "is not a JSON object"),
        (b"{} {}", ":1: unexpected text after"),
        (b'{"hooks": []}', "hooks is not an object"),
        (b'{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
        (b"\xff\xfe{\x00}\x00", "is not UTF-8"),
        (b'{"a":' + b"[" * 5_000, "nested more than 100 levels deep"),
    ],
)
def test_invalid_settings_are_refused_and_left_unchanged(
    data: bytes, said: str, where: Where, programs: Programs
) -> None:
    path = settings_of(where, data)
    with pytest.raises(DocumentError, match=r"nothing was changed|save it as UTF-8") as error:
        install(CLAUDE_CODE, where, programs)
    assert said in str(error.value) and str(path) in str(error.value)
    assert os.listdir(path.parent) == [path.name] and path.read_bytes() == data


def test_a_symlink_is_followed_unless_it_leaves_the_project(where: Where, programs: Programs) -> None:
    path, target = settings_of(where, None), where.home / "dotfiles/claude.json"
    target.parent.mkdir()
    target.write_bytes(b"{}")
    target.chmod(0o600)
    path.symlink_to(target)
    install(CLAUDE_CODE, where, programs)
    assert path.is_symlink() and b"autopoiesis-hook" in target.read_bytes()
    assert {file.stat().st_mode & 0o777 for file in target.parent.iterdir()} == {0o600}
    project = where.home / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude/settings.local.json").symlink_to(target)
    with pytest.raises(PathRefused, match="out of the project"):
        install(CLAUDE_CODE, Where(where.home, {}, project), programs)


def test_read_only_settings_are_reported(where: Where, programs: Programs) -> None:
    settings_of(where, b"{}").chmod(0o444)
    with pytest.raises(ReadOnly, match=r"is read-only; chmod u\+w"):
        install(CLAUDE_CODE, where, programs)
    variables = {"CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d", "GEMINI_CLI_HOME": "/g"}
    named = Where(where.home, variables)
    files = [
        named.file(each, place) for each in (CLAUDE_CODE, CODEX, GEMINI) for place in (each.hooks, each.mcp)
    ]
    assert list(map(str, files)) == ["/d/settings.json", "/d/.claude.json", "/c/hooks.json", "/c/config.toml",
                                     "/g/.gemini/settings.json", "/g/.gemini/settings.json"]  # fmt: skip


def test_several_folders_of_an_agent_are_all_given_the_memory(where: Where, programs: Programs) -> None:
    work = where.home / ".config/claude"
    work.mkdir(parents=True)
    install(CLAUDE_CODE, where, programs, mcp=True)
    files = [".claude/settings.json", ".config/claude/settings.json", ".claude.json"]
    assert all("autopoiesis" in (where.home / each).read_text() for each in files)
    states = [install_state(CLAUDE_CODE, one, programs) for one in where.each(CLAUDE_CODE)]
    assert [each.state for pair in states for each in pair] == ["installed"] * 4
    uninstall(CLAUDE_CODE, where, mcp=True)
    assert not any((where.home / each).exists() for each in files)

    named = replace(where, variables={"CLAUDE_CONFIG_DIR": f"{where.home}/one, {where.home}/two"})
    install(CLAUDE_CODE, named, programs, mcp=True)
    for each in ("one/settings.json", "one/.claude.json", "two/settings.json", "two/.claude.json"):
        assert "autopoiesis" in (where.home / each).read_text()


class Died(BaseException):
    """Simulates the death of the process."""


def test_a_crash_at_any_step_leaves_the_old_or_the_new_file(where: Where, programs: Programs) -> None:
    old = SETTINGS["hooks of others"]
    path = settings_of(where, old)

    def do_install() -> None:
        install(CLAUDE_CODE, where, programs)

    def do_uninstall() -> None:
        uninstall(CLAUDE_CODE, where)

    def killed(point: str, hit: int, work: Callable[[], None]) -> bool:
        hits = itertools.count(1)

        def die() -> None:
            if next(hits) == hit:
                raise Died

        with trip(point, die), contextlib.suppress(Died):
            work()
            return False
        assert path.read_bytes() in (old, new), point
        return True

    do_install()
    new, deaths = path.read_bytes(), 0
    do_uninstall()
    for point in sorted(FAULT_POINTS):
        for hit in itertools.count(1):
            if not killed(point, hit, do_install):
                break
            do_install()
            assert path.read_bytes() == new, point
            do_uninstall()
            assert path.read_bytes() == old, point
            deaths += 1
        for hit in itertools.count(1):
            if not killed(point, hit, do_uninstall):
                break
            do_install()
            assert path.read_bytes() == new, point
            deaths += 1
    assert deaths >= 15


def test_a_concurrent_edit_is_not_overwritten(where: Where, programs: Programs) -> None:
    path = settings_of(where, b"{}")
    (change,) = installation(CLAUDE_CODE, where, programs, mcp=False)
    path.write_bytes(b'{"model": "haiku"}')
    with pytest.raises(WriteFailed, match="changed since it was read"):
        change.apply()
    assert path.read_bytes() == b'{"model": "haiku"}'
