"""memory-config.yaml: the defaults, the specification's file, and everything that can be wrong with it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import ConfigError
from engine.settings import file as config_file
from engine.settings.file import CACHE_FILE, CONFIG_FILE, load, read
from engine.settings.model import Config, PolicyRow, WatcherSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.cases import each_case

SPECIFIED = """\
context_compiler:
  token_budget: 8192
  identity_budget_kb: 17
  memory_budget_kb: 3
  journal_budget_kb: 4
  topic_budget_kb: 6
search:
  bm25_weight: 0.4
  vector_weight: 0.6
  embedding_model: text-embedding-3-small
  embedding_dimensions: 1536
watchers:
  similarity_threshold: 0.15
  gate_model: haiku
  gate_max_tokens: 1
lifecycle:
  commit_interval_minutes: 45
  memory_line_cap: 200
git:
  auto_commit: true
  auto_push: true
  commit_message_model: haiku
"""


def test_no_file_and_an_empty_file_mean_the_defaults() -> None:
    assert load(None) == load(b"") == (Config(), ())
    assert load(b"# nothing here\n")[0] == Config()


def test_the_specifications_file_is_read_and_settings_without_effect_are_reported() -> None:
    config, odd = load(SPECIFIED.encode())
    named, default = config.context_compiler, Config().context_compiler
    assert named.token_budget == default.token_budget
    for part in ("identity", "memory", "journal", "topic"):
        assert named.cap(part) == default.cap(part)
    assert config.gate.model == "haiku" and config.gate.max_tokens == 1
    assert config.git.commit_interval_minutes == 45 and not odd
    assert all(problem.severity == "warning" and problem.line for problem in odd)
    only_moved, odd = load(b"lifecycle:\n  commit_interval_minutes: 5\ngit:\n  commit_interval_minutes: 7\n")
    assert (only_moved.git.commit_interval_minutes, odd) == (7, ()), "the new name takes precedence"


@each_case(
    ("text", "line", "named"),
    [
        ("context_compiler:\n  token_budget: plenty\n", 2, "token_budget"),
        ("context_compiler:\n  token_budget: 3\n", 2, "token_budget"),
        ("gate:\n\n  provider: oracle\n", 3, "gate.provider"),
        ("watchers:\n  policy:\n    high:\n      activate: much\n", 4, "activate"),
        ("watchers: [a, b]\n", 1, "watchers"),
        ("git:\n  auto_commit: perhaps\n", 2, "auto_commit"),
        ("lifecycle:\n  pruning_schedule: weekly\n", 2, "write five fields"),
        ("lifecycle:\n  schedule:\n    index: 0 0 31 2 *\n", 3, "lifecycle.schedule.index: is not valid"),
        ("context_compiler:\n  knowledge_results: 5000\n", 2, "less than or equal to 500"),
        ("watchers:\n  similarity_threshold: -0.1\n", 2, "greater than or equal to 0"),
        ("search:\n  embedding_dimensions: 100\n", 2, "multiple of 8"),
        ("search:\n  embedding: word2vec\n", 2, "search.embedding"),
        ("gate:\n  deadline_s: 0\n", 2, "greater than 0"),
        ("watchers:\n  gate_model: haiku\ngate: local\n", 3, "gate"),
    ],
)
def test_a_wrong_value_names_line_setting_and_value(text: str, line: int, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text.encode())
    assert f"memory-config.yaml:{line}" in str(caught.value) and named in str(caught.value)


def test_broken_yaml_names_the_line() -> None:
    with pytest.raises(ConfigError, match=r"memory-config\.yaml:[23]: is not valid YAML"):
        load(b"gate:\n  provider: [local\n")
    with pytest.raises(ConfigError, match="UTF-8"):
        load(b"gate:\n  provider: \xff\xfe\n")


def test_a_misspelt_setting_is_reported_with_a_suggestion() -> None:
    config, odd = load(b"watchers:\n  similarity_treshold: 0.5\n")
    assert config.watchers.similarity_threshold is None
    (problem,) = odd
    assert (problem.line, problem.what) == (2, "unknown setting watchers.similarity_treshold")
    assert problem.hint == "did you mean similarity_threshold?"


def test_setting_one_policy_row_leaves_the_others_unchanged() -> None:
    config, odd = load(
        b"watchers:\n  preset: spec\n  policy:\n    high:\n      activate: 0.62\n      gate: 0.34\n"
    )
    assert odd == ()
    assert config.watchers.row("high").activate == 0.62
    assert config.watchers.row("medium").gate == 0.2
    assert config.watchers.row("critical").activate == 0.0


def test_a_preset_has_its_own_policy_table() -> None:
    calibrated, spec = WatcherSettings(preset="calibrated"), WatcherSettings(preset="spec")
    assert spec.row("medium") == PolicyRow(gate=0.2)
    assert calibrated.row("medium").activate is not None
    assert calibrated.row("critical").matched == 0.0
    assert spec.threshold("high") == 0.15
    assert calibrated.threshold("high") == calibrated.row("high").gate
    assert WatcherSettings(preset="calibrated", similarity_threshold=0.4).threshold("high") == 0.4


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().gate.model = "haiku"  # type: ignore[misc]


ODD = """\
context_compiler: {token_budget: "4096", memory_budget_kb: 2.5}
search: {bm25_weight: 0.5, words: 3}
watchers:
  gate_model: haiku
  policy: {high: {activate: 0.62}, low: {}}
imports: {follow: [codex, claude-code], codex_dir: ~/größer}
lifecycle: {memory_line_cap: 200}
"""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A workspace with nothing but unusual settings."""
    (tmp_path / CONFIG_FILE).write_text(ODD, encoding="utf-8")
    return Files(Workspace.open(tmp_path))


def fail_if_loaded(_data: bytes | None, _path: str = CONFIG_FILE) -> None:
    pytest.fail("a valid file was validated again")


def test_a_valid_file_is_validated_once(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load(ODD.encode())
    assert expected[0].context_compiler.token_budget == 4096
    assert {problem.what.split()[-1] for problem in expected[1]} == {"search.words"}
    assert read(files) == expected
    monkeypatch.setattr(config_file, "load", fail_if_loaded)
    again = read(files)
    assert again == expected
    assert repr(again) == repr(expected), "numbers and tuples keep their types"


def test_a_changed_file_is_reread_and_an_invalid_one_every_time(files: Files) -> None:
    read(files)
    path = files.workspace.root / CONFIG_FILE
    for _ in range(2):
        path.write_text("gate:\n  provider: oracle\n")
        with pytest.raises(ConfigError, match=r"memory-config\.yaml:2: gate\.provider"):
            read(files)
    path.write_text("gate:\n  provider: ask\n")
    assert read(files)[0].gate.provider == "ask"
    path.unlink()
    assert read(files) == (Config(), ())


def test_damaged_cached_settings_are_replaced(files: Files) -> None:
    expected = load(ODD.encode())
    read(files)
    kept = files.workspace.root / CACHE_FILE
    good = kept.read_bytes()
    for damaged in (
        b"",
        b"\xff\x00",
        good[:-1],
        good.replace(b"4096", b"9999"),
        good.partition(b"\n")[0] + b"\n{}",
        b"0" * 64 + b"\n" + good.partition(b"\n")[2],
        good * 20_000,
    ):
        kept.write_bytes(damaged)
        assert read(files) == expected
        assert kept.read_bytes() == good, "the damaged cache is replaced"
    kept.unlink()
    kept.mkdir()
    assert read(files) == expected


def test_settings_cached_by_another_version_are_ignored(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(files)
    monkeypatch.setattr(config_file, "MOVED", {})
    assert {problem.what for problem in read(files)[1]} == {
        "unknown setting search.words",
        "unknown setting watchers.gate_model",
    }


def test_settings_are_read_from_a_read_only_workspace(files: Files) -> None:
    assert read(Files(files.workspace, read_only=True)) == load(ODD.encode())
    assert not (files.workspace.root / "scratch").exists()


def test_an_unknown_setting_that_appears_while_the_engine_runs_is_reported(engine: Engine) -> None:
    path = engine.workspace.root / CONFIG_FILE
    before, known = engine.config, engine.problems()
    path.write_text(path.read_text() + "gaet: {}\n")
    engine.reload_config()
    assert engine.config == before
    (new,) = set(engine.problems()) - set(known)
    assert (new.what, new.hint) == ("unknown setting gaet", "did you mean gate?")


def test_a_setting_that_is_gone_is_to_be_removed_not_respelled() -> None:
    (problem,) = load(b"gate:\n  mode: each\n")[1]
    assert (problem.line, problem.what, problem.hint) == (2, "unknown setting gate.mode", "remove it")
