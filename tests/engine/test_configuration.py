"""Settings are shown and changed one at a time, and the rest of the file is never touched."""

from __future__ import annotations

import difflib
import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.engine import Engine
from engine.errors import AutopoiesisError, ConfigError, DocumentError, ReadOnly
from engine.settings.catalog import catalog, value_of
from engine.settings.editing import Configuration
from engine.settings.file import CONFIG_FILE, load
from engine.settings.model import Config
from engine.store.faults import VARIABLE, fail, trip
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository
from tests.store.write_steps import strays

COMMENTED = """\
# Settings of this memory.

gate:
  # who says yes or no
  provider: local      # no key needed
  model: 'opus'

cache:   # what providers keep

  # five minutes are enough
git:
  auto_commit: true    # at the end
# the end
"""


def no_repository() -> Repository:
    raise AutopoiesisError("there is no repository")


def configuration_of(root: Path, data: bytes | None = None, *, read_only: bool = False) -> Configuration:
    """The configuration of a workspace with nothing but a settings file."""
    file = root / CONFIG_FILE
    file.write_bytes(b"")
    workspace = Workspace.open(root)
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)
    files = Files(workspace, read_only=read_only)
    return Configuration(files, no_repository, Config, lambda: None)


def content_after_change(root: Path, data: bytes | None, name: str, value: object | None) -> bytes:
    """Change a setting and return the file's content."""
    configuration_of(root, data).change(name, value)
    file = root / CONFIG_FILE
    return file.read_bytes() if file.exists() else b""


def lines_changed(before: str, after: str) -> list[str]:
    """The lines that an edit removes and adds, marked with - and +."""
    found = list(difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm=""))[2:]
    return [f"{line[0]} {line[1:]}" for line in found if not line.startswith("@@")]


@pytest.mark.parametrize(
    ("name", "value", "lines"),
    [
        (
            "gate.provider",
            "ask",
            ["-   provider: local      # no key needed", "+   provider: ask      # no key needed"],
        ),
        ("gate.model", "haiku", ["-   model: 'opus'", "+   model: 'haiku'"]),
        ("gate.on_failure", "activate", ["+   on_failure: activate"]),
        ("gate.model", None, ["-   model: 'opus'"]),
        ("gate.model", "", ["-   model: 'opus'"]),
        (
            "git.auto_commit",
            "no",
            ["-   auto_commit: true    # at the end", "+   auto_commit: false    # at the end"],
        ),
        ("cache.anthropic_ttl", "1h", ["+   anthropic_ttl: 1h"]),
        ("costs.daily_usd", "2.50", ["+ costs:", "+   daily_usd: 2.5"]),
        ("costs.daily_usd", 3.0, ["+ costs:", "+   daily_usd: 3"]),
        ("costs.daily_usd", None, []),
        ("imports.follow", "[codex]", ["+ imports:", "+   follow:", "+     - codex"]),
        (
            "imports.follow",
            "codex, claude-code",
            ["+ imports:", "+   follow:", "+     - codex", "+     - claude-code"],
        ),
        ("imports.follow", ["codex"], ["+ imports:", "+   follow:", "+     - codex"]),
        ("chat.model", "no", ["+ chat:", '+   model: "no"']),
        (
            "watchers.policy",
            "{high: {activate: 0.5}}",
            ["+ watchers:", "+   policy:", "+     high:", "+       activate: 0.5"],
        ),
    ],
)
def test_only_the_lines_of_the_setting_change(
    tmp_path: Path, name: str, value: object, lines: list[str]
) -> None:
    after = content_after_change(tmp_path, COMMENTED.encode(), name, value).decode()
    assert lines_changed(COMMENTED, after) == lines


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"chat:\n  model: m\n"),
        (b"", b"chat:\n  model: m\n"),
        (b"# nothing", b"# nothing\nchat:\n  model: m"),
        (b"# nothing\n", b"# nothing\nchat:\n  model: m\n"),
        (b"\xef\xbb\xbf# bom\r\n", b"\xef\xbb\xbf# bom\r\nchat:\r\n  model: m\r\n"),
        (b"gate:\r\n  mode: list # x\r\n", b"gate:\r\n  mode: list # x\r\nchat:\r\n  model: m\r\n"),
        (b"chat:\r\n    deadline_s: 3", b"chat:\r\n    deadline_s: 3\r\n    model: m"),
        (b"chat:\n# end\n", b"chat:\n  model: m\n# end\n"),
        (b"chat:   # here\n\n# end", b"chat:   # here\n  model: m\n\n# end"),
        (b"chat: {}\n", b"chat: {model: m}\n"),
        (b"chat: {deadline_s: 3} # x\n", b"chat: {deadline_s: 3, model: m} # x\n"),
        (b"{chat: {deadline_s: 3}}", b"{chat: {deadline_s: 3, model: m}}"),
        (b"{gate: {\n  mode: list\n}}\n", b"{gate: {\n  mode: list\n}, chat: {model: m}}\n"),
        (b"chat:\n  model:\n  deadline_s: 3\n", b"chat:\n  model: m\n  deadline_s: 3\n"),
        (b"chat: {model: , deadline_s: 3}\n", b"chat: {model: m, deadline_s: 3}\n"),
        (b'"chat":\n  "model": "a" # x\n', b'"chat":\n  "model": "m" # x\n'),
        (b"---\nchat:\n  model: a\n...\n", b"---\nchat:\n  model: m\n...\n"),
        (b"unknown: [1,  2]\nchat:\n  model: a\n", b"unknown: [1,  2]\nchat:\n  model: m\n"),
    ],
)
def test_a_setting_can_be_added_to_files_of_any_shape(
    tmp_path: Path, before: bytes | None, after: bytes
) -> None:
    assert content_after_change(tmp_path, before, "chat.model", "m") == after


@pytest.mark.parametrize(
    "data",
    [b"", b"# nothing", b"gate:\r\n  mode: list\r\n", COMMENTED.encode(), b"{gate: {mode: list}}\n"],
)
def test_setting_and_unsetting_restores_every_byte(tmp_path: Path, data: bytes) -> None:
    for name, value in {
        "chat.model": "m",
        "watchers.policy": {"low": {"gate": 0.3}},
        "gate.base_url": "http://x",
    }.items():
        configuration = configuration_of(tmp_path, data)
        configuration.change(name, value)
        assert (tmp_path / CONFIG_FILE).read_bytes() != data
        configuration.change(name, None)
        assert (tmp_path / CONFIG_FILE).read_bytes() == data


def test_a_group_keeps_its_comments_when_its_last_setting_is_removed(tmp_path: Path) -> None:
    data = b"chat:\n  # mine\n  model: m # this one\ngate:\n  on_failure: activate\n"
    after = content_after_change(tmp_path, data, "chat.model", None)
    assert b"# mine" in after and b"# this one" in after and b"gate:\n  on_failure: activate\n" in after
    assert load(after) == load(b"gate:\n  on_failure: activate\n")


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("costs.daily_usd", b"costs: {\n  # kept, too\n  warn_at: .5, # half\n  monthly_usd: 9}\n"),
        ("costs.warn_at", b"costs: {daily_usd: 3,\n  # kept, too\n   # half\n  monthly_usd: 9}\n"),
        ("costs.monthly_usd", b"costs: {daily_usd: 3,\n  # kept, too\n  warn_at: .5, # half\n  }\n"),
    ],
)
def test_comments_between_brackets_are_kept(tmp_path: Path, name: str, after: bytes) -> None:
    data = b"costs: {daily_usd: 3,\n  # kept, too\n  warn_at: .5, # half\n  monthly_usd: 9}\n"
    assert content_after_change(tmp_path, data, name, None) == after
    assert value_of(load(after)[0], name) == catalog()[name].default


def test_the_old_name_of_a_setting_is_removed_with_it(tmp_path: Path) -> None:
    data = b"watchers:\n  gate_model: haiku # old\n  nominate: pattern\n"
    configuration = configuration_of(tmp_path, data)
    assert configuration.setting("gate.model").line == 2
    assert configuration.change("gate.model", "opus").before == "haiku"
    configuration.change("gate.model", None)
    assert (tmp_path / CONFIG_FILE).read_bytes() == b"watchers:\n  nominate: pattern\n"


def test_the_policy_table_is_one_setting(tmp_path: Path) -> None:
    configuration = configuration_of(tmp_path, b"watchers:\n  policy:\n    high: {activate: 0.6} # mine\n")
    before = load((tmp_path / CONFIG_FILE).read_bytes())[0]
    assert value_of(before, "watchers.policy") == {"high": {"activate": 0.6}}
    configuration.change("watchers.policy", {"high": {"activate": 0.6, "gate": 0.1}})
    row = load((tmp_path / CONFIG_FILE).read_bytes())[0].watchers.row("high")
    assert (row.activate, row.gate) == (0.6, 0.1)
    configuration.change("watchers.policy", None)
    assert load((tmp_path / CONFIG_FILE).read_bytes())[0] == Config()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("cache.anthropic_ttl", "2h", "cache.anthropic_ttl cannot be '2h'; allowed: 5m or 1h"),
        ("costs.daily_usd", -1, "costs.daily_usd cannot be -1; allowed: a number of at least 0"),
        ("costs.daily_usd", "much", "allowed: a number of at least 0"),
        ("costs.daily_usd", True, "costs.daily_usd cannot be True"),
        ("context_compiler.token_budget", 3, "allowed: a whole number from 256 to 2,000,000"),
        ("search.embedding_dimensions", 100, "from 8 to 8,192, a multiple of 8"),
        ("git.auto_commit", "perhaps", "allowed: true or false"),
        ("imports.follow", "cursor", "allowed: a list of claude-code or codex"),
        ("imports.follow", "[codex", "imports.follow cannot be '[codex'"),
        ("watchers.policy", "{high: {gate: always}}", "names, each with any of activate, gate, matched"),
        ("chat.model", ["a"], "chat.model cannot be ['a']; allowed: a text"),
        ("chat.modle", "m", "no setting named chat.modle; did you mean chat.model?"),
        ("anthropic_ttl", "1h", "did you mean cache.anthropic_ttl?"),
        ("cache.anthropic-ttl", "1h", "did you mean cache.anthropic_ttl?"),
        ("cache", "1h", "cache is a group of settings; name one of them, such as cache.anthropic"),
        ("watchers.policy.high", 1, "no setting named watchers.policy.high; did you mean watchers.policy?"),
        ("watchers.gate_model", "m", "it was renamed to gate.model"),
        ("zzzzzzzz", "m", "see: autopoiesis config list"),
        ("", "m", "no setting named"),
    ],
)
def test_invalid_values_are_refused_and_nothing_is_written(
    tmp_path: Path, name: str, value: object, said: str
) -> None:
    configuration = configuration_of(tmp_path, COMMENTED.encode())
    with pytest.raises(ConfigError) as caught:
        configuration.change(name, value)
    assert said in str(caught.value)
    assert (tmp_path / CONFIG_FILE).read_bytes() == COMMENTED.encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"gate:\n  mode: list\n  mode: each\n", "memory-config.yaml:3: repeats the key 'mode' of line 2"),
        (b"gate: &all\n  mode: list\n", "memory-config.yaml:1: uses a YAML anchor"),
        (b"gate: [\n", "is not valid YAML"),
        (b"gate: \xff\n", "is not UTF-8 text"),
        (b"gate: local\n", "memory-config.yaml:1: gate"),
        (b"chat: m\n", "memory-config.yaml:1: chat"),
        (b"- a\n", "no 'key: value' lines"),
        (b"search:\n  embedding: best\n", "memory-config.yaml:2: search.embedding"),
        (b"# " + b"x" * 256 * 1024, "larger than 256 KB"),
    ],
)
def test_a_broken_file_is_never_rewritten(tmp_path: Path, data: bytes, said: str) -> None:
    configuration = configuration_of(tmp_path, data)
    for value in ("m", None):
        with pytest.raises((ConfigError, DocumentError)) as caught:
            configuration.change("chat.model", value)
        assert said in str(caught.value)
    assert (tmp_path / CONFIG_FILE).read_bytes() == data


def test_an_invalid_value_can_be_replaced_or_removed(tmp_path: Path) -> None:
    data = b"watchers:\n  preset: best # ?\n"
    assert (
        content_after_change(tmp_path, data, "watchers.preset", "spec") == b"watchers:\n  preset: spec # ?\n"
    )
    assert content_after_change(tmp_path, data, "watchers.preset", None) == b"watchers: {} # ?\n"


def test_a_file_cannot_grow_beyond_the_readable_size(tmp_path: Path) -> None:
    full = b"# " + b"x" * (256 * 1024 - 10) + b"\n"
    with pytest.raises(AutopoiesisError, match="more than 262144"):
        configuration_of(tmp_path, full).change("chat.model", "m")
    large = b"# " + b"x" * 200_000 + b"\n"
    assert content_after_change(tmp_path, large, "chat.model", "m") == large + b"chat:\n  model: m\n"


def values_of(name: str) -> st.SearchStrategy[object]:
    """Values a setting may have, or ``None`` to remove it."""
    allowed = catalog()[name].allowed
    values: st.SearchStrategy[object]
    if name == "watchers.policy":
        rows = st.dictionaries(st.sampled_from(["activate", "gate"]), st.floats(0.1, 1), min_size=1)
        values = st.dictionaries(st.sampled_from(["high", "low"]), rows, min_size=1)
    elif name == "lifecycle.schedule":
        values = st.dictionaries(st.sampled_from(["index", "recaps"]), st.just("off"), min_size=1)
    elif name == "days.time_zone":
        values = st.sampled_from(["", "UTC", "Europe/Brussels", "America/New_York"])
    elif allowed.startswith("a cron expression"):
        values = st.sampled_from(["off", "0 4 * * 1-5"])
    elif allowed.startswith("a list of "):
        values = st.lists(st.sampled_from(["codex", "claude-code"]), unique=True, max_size=2).map(tuple)
    elif allowed == "true or false":
        values = st.booleans()
    elif allowed == "a text":
        values = st.text(st.characters(codec="utf-8"), max_size=20)
    elif allowed.startswith("a whole number"):
        least, *most = (int(figure.replace(",", "")) for figure in re.findall(r"[\d,]*\d", allowed))
        step = most[1] if len(most) > 1 else 1
        values = st.integers(least // step, (most[0] if most else 10**9) // step).map(
            lambda each: each * step
        )
    elif allowed.startswith("a number"):
        values = st.floats(0, 1, exclude_min=True).filter(lambda number: number > 1e-9)
    else:
        values = st.sampled_from(allowed.replace(" or ", ", ").split(", "))
    return st.none() | values


FILES = [
    b"",
    COMMENTED.encode(),
    COMMENTED.replace("\n", "\r\n").encode("utf-8-sig"),
    b"{gate: {mode: list}, watchers: {policy: {high: {activate: 0.9}}}}",
    b"watchers:\n    preset: spec\n    policy:\n        low: {gate: 0.5}\nimports: {follow: [codex]}\n",
    b"watchers:\n  gate_model: haiku\ncosts: {daily_usd: 3,\n  # kept\n  warn_at: .5}\n",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("settings")


@given(data=st.data(), file=st.sampled_from(FILES), as_text=st.booleans())
def test_any_setting_accepts_any_valid_value_and_all_others_are_unchanged(
    folder: Path, data: st.DataObject, file: bytes, as_text: bool
) -> None:
    name = data.draw(st.sampled_from(list(catalog())))
    value = data.draw(values_of(name))
    given = str(value) if as_text and isinstance(value, int | float) else value
    after = content_after_change(folder, file, name, given)
    before, config = load(file)[0], load(after)[0]
    assert value_of(config, name) == (value if value is not None and value != "" else catalog()[name].default)
    others = [each for each in catalog() if each != name]
    assert [value_of(config, each) for each in others] == [value_of(before, each) for each in others]
    kept = [line for line in file.splitlines() if line.strip().startswith(b"#")]
    assert [line for line in after.splitlines() if line.strip().startswith(b"#")] == kept
    assert after.startswith(b"\xef\xbb\xbf") == file.startswith(b"\xef\xbb\xbf")
    if b"\r\n" in file:
        assert after.count(b"\r\n") == after.count(b"\n")


def test_every_setting_is_shown_with_its_documentation(tmp_path: Path) -> None:
    found = {each.name: each for each in configuration_of(tmp_path, COMMENTED.encode()).settings()}
    assert list(found) == list(catalog())
    assert all(each.doc and each.allowed for each in found.values())
    assert found["gate.provider"].line == 5 and found["gate.provider"].is_set
    assert found["cache.anthropic_ttl"].line == 0 and not found["cache.anthropic_ttl"].is_set
    assert found["cache.anthropic_ttl"].allowed == "5m or 1h"
    assert found["cache.anthropic_ttl"].doc.startswith("How long the cache lives after its last use;")


def test_the_engine_uses_the_new_setting_and_the_change_is_committed(engine: Engine) -> None:
    compiler, root = engine.compiler, engine.workspace.root
    done = engine.configuration.change("cache.anthropic_ttl", "1h")
    assert (done.before, done.after, done.path) == ("5m", "1h", CONFIG_FILE)
    assert engine.config.cache.anthropic_ttl == "1h" and engine.compiler is not compiler
    assert (root / CONFIG_FILE).read_text().splitlines()[done.line - 1] == "  anthropic_ttl: 1h"
    log = subprocess.run(
        ["git", "log", "-1", "--format=%H %s", "--name-only"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert log == [done.commit, "maintenance:", "config", "set", "cache.anthropic_ttl", CONFIG_FILE]
    again = engine.configuration.change("cache.anthropic_ttl", "1h")
    assert (again.commit, again.why) == ("", "already set")
    assert engine.configuration.change("git.auto_commit", False).why == "git.auto_commit is off"
    back = engine.configuration.change("cache.anthropic_ttl", None)
    assert back.after == value_of(engine.config, "cache.anthropic_ttl") == "5m"


def test_a_read_only_workspace_refuses_changes(tmp_path: Path) -> None:
    configuration = configuration_of(tmp_path, COMMENTED.encode(), read_only=True)
    with pytest.raises(ReadOnly, match=r"memory-config\.yaml: the workspace is read-only"):
        configuration.change("chat.model", "m")
    assert configuration.setting("gate.model").is_set


SETTER = """
import sys
from pathlib import Path
from tests.engine.test_configuration import no_repository
from engine.settings.model import Config
from engine.settings.editing import Configuration
from engine.store.files import Files
from engine.store.paths import Workspace
files = Files(Workspace.open(sys.argv[1]))
configuration = Configuration(files, no_repository, Config, lambda: None)
print("ready", flush=True)
sys.stdin.readline()
for value in range(1, 21):
    configuration.change(sys.argv[2], value * 8)
"""


def test_two_processes_keep_each_others_changes(tmp_path: Path) -> None:
    configuration_of(tmp_path, COMMENTED.encode())
    names = ("gate.ask_deadline_s", "costs.daily_usd")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", SETTER, str(tmp_path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for name in names
    ]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    for child in children:
        child.communicate(b"go\n", timeout=60)
    assert [child.returncode for child in children] == [0, 0]
    config = load((tmp_path / CONFIG_FILE).read_bytes())[0]
    assert [value_of(config, name) for name in names] == [160, 160]


POINTS = ("lock:acquire", "temp:create", "temp:write", "temp:fsync", "replace:rename", "replace:folder-fsync")
AFTER = COMMENTED.replace("'opus'", "'haiku'")


@pytest.mark.parametrize("point", POINTS)
def test_a_full_disk_leaves_the_old_or_the_new_file(tmp_path: Path, point: str) -> None:
    configuration = configuration_of(tmp_path, COMMENTED.encode())
    file = tmp_path / CONFIG_FILE
    with trip(point, fail(errno.ENOSPC)), pytest.raises(AutopoiesisError) as caught:
        configuration.change("gate.model", "haiku")
    assert "free some disk space" in str(caught.value)
    assert file.read_text() in (COMMENTED, AFTER) and strays(tmp_path) == []
    configuration.change("gate.model", "haiku")
    assert file.read_text() == AFTER


@pytest.mark.parametrize(
    "point",
    [
        "temp:write",
        *(pytest.param(each, marks=pytest.mark.thorough) for each in POINTS if each != "temp:write"),
    ],
)
def test_a_killed_process_leaves_the_old_or_the_new_file(tmp_path: Path, point: str) -> None:
    configuration = configuration_of(tmp_path, COMMENTED.encode())
    program = SETTER.split("print(")[0] + 'configuration.change("gate.model", "haiku")\n'
    child = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, VARIABLE: f"{point}:kill"},
        capture_output=True,
        check=False,
    )
    assert child.returncode == -9, child.stderr
    file = tmp_path / CONFIG_FILE
    assert file.read_text() in (COMMENTED, AFTER)
    configuration.change("gate.model", "haiku")
    assert file.read_text() == AFTER
