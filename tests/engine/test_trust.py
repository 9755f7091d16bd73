"""Settings that send, import or run something take effect only in workspaces that the person trusts."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import ChangeRefused, WriteFailed
from engine.settings import trust
from engine.settings.base import ACTING
from engine.settings.catalog import catalog
from engine.settings.editing import Configuration
from engine.settings.file import CACHE_FILE, CONFIG_FILE
from engine.settings.file import read as read_file
from engine.settings.model import Config
from engine.store.faults import fail, trip
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.user_folder import own_key, settings_folder
from engine.workspace.initialise import initialise

ACTS = """\
gate:
  provider: openai
  base_url: http://127.0.0.1:9/v1
  model: dear
imports:
  follow: [claude-code]
search:
  embedding: openai
chat:
  provider: anthropic
"""

LOCAL = frozenset(
    [
        "context_compiler",
        "hooks",
        "lifecycle.recaps",
        "rules.learn",
        "rules.max_tokens",
        "rules.deadline_s",
        "search.bm25_weight",
        "search.vector_weight",
        "search.half_life_days",
        "search.embedding_dimensions",
        "search.embedding_deadline_s",
        "watchers",
        "gate.max_tokens",
        "gate.deadline_s",
        "gate.ask_deadline_s",
        "gate.claude_code_deadline_s",
        "gate.on_failure",
        "flush.max_tokens",
        "flush.deadline_s",
        "flush.at",
        "harvest.max_tokens",
        "harvest.deadline_s",
        "harvest.idle_minutes",
        "harvest.most_reclaimed",
        "harvest.trash_days",
        "extraction.max_tokens",
        "extraction.deadline_s",
        "condensing.max_tokens",
        "condensing.deadline_s",
        "condensing.idle_project_days",
        "lifecycle.journal_retention_days",
        "lifecycle.memory_line_cap",
        "lifecycle.evict_after_days",
        "lifecycle.most_archived",
        "chat.max_tokens",
        "chat.deadline_s",
        "cache.anthropic",
        "cache.openai",
        "costs.warn_at",
        "git.auto_commit",
        "git.commit_interval_minutes",
        "git.commit_message_deadline_s",
        "git.auto_tag_daily",
        "days.time_zone",
    ]
)
"""Settings and groups of settings that send, import, run and cost nothing."""


@pytest.fixture(autouse=True)
def _nothing_is_trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(trust.VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A clone of someone else's workspace."""
    root = tmp_path / "clone"
    root.mkdir()
    (root / CONFIG_FILE).write_text(ACTS)
    return root


@pytest.fixture
def engine(root: Path) -> Iterator[Engine]:
    with Engine.open(root) as engine:
        yield engine


def files(root: Path) -> Files:
    return Files(Workspace.open(root))


def state(root: Path) -> str:
    return trust.read(files(root)).trust.state


def test_every_setting_is_marked_as_acting_or_known_to_be_local() -> None:
    marked = {
        f"{group.name}.{item.name}"
        for group in fields(Config)
        for item in fields(getattr(Config(), group.name))
        if ACTING in item.metadata
    }
    for name in catalog():
        is_local = name in LOCAL or name.partition(".")[0] in LOCAL
        assert is_local != (name in marked), f"{name}: mark it with acting(), or add it to LOCAL here"


def test_settings_of_a_stranger_have_no_effect_until_trusted(root: Path) -> None:
    settings = trust.read(files(root))
    assert settings.trust.state == "new"
    assert settings.config.gate.provider == "agent" and settings.config.gate.base_url == ""
    assert settings.config.imports.follow == () and settings.config.search.embedding == "local"
    assert settings.config.chat.provider == "local"
    assert settings.config.gate.model == "dear", "settings that send nothing are kept"
    (problem,) = settings.ignored
    assert problem.what == (
        "search.embedding, gate.provider, gate.base_url, chat.provider and imports.follow are ignored:"
        " the workspace is not trusted"
    )
    trust.trust(root, read_file(files(root))[0])
    settings = trust.read(files(root))
    assert settings.trust.state == "trusted" and not settings.ignored
    assert settings.config == read_file(files(root))[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("127.0.0.1:9", "evil.example"),
        ("model: dear", "model: dearer"),
        ("[claude-code]", "[claude-code, codex]"),
        ("chat:\n", "costs:\n  daily_usd: 5\nchat:\n"),
    ],
)
def test_a_pull_that_changes_an_acting_setting_requires_trust_again(root: Path, old: str, new: str) -> None:
    trust.trust(root, read_file(files(root))[0])
    (root / CONFIG_FILE).write_text(ACTS.replace(old, new))
    assert state(root) == "changed"
    assert trust.read(files(root)).config.gate.provider == "agent"
    (root / CONFIG_FILE).write_text(ACTS + "days:\n  time_zone: UTC\n")
    assert state(root) == "trusted", "settings that send nothing may change"


def test_trust_is_bound_to_a_path_and_can_be_revoked(root: Path, tmp_path: Path) -> None:
    trust.trust(root, read_file(files(root))[0])
    link = tmp_path / "link"
    link.symlink_to(root)
    assert state(link) == "trusted"
    moved = root.rename(tmp_path / "moved")
    assert state(moved) == "new"
    trust.trust(moved, read_file(files(moved))[0])
    assert trust.revoke(moved) and not trust.revoke(moved)
    assert state(moved) == "new"


@pytest.mark.parametrize(
    ("point", "then"),
    [
        ("lock:acquire", "new"),
        ("temp:create", "new"),
        ("temp:write", "new"),
        ("temp:fsync", "new"),
        ("replace:rename", "new"),
        ("replace:folder-fsync", "trusted"),
    ],
)
def test_a_write_error_is_reported_and_leaves_nothing_behind(
    root: Path, tmp_path: Path, point: str, then: str
) -> None:
    other = tmp_path / "other"
    trust.trust(other, Config())
    before = (settings_folder() / trust.FILE).read_bytes()
    with trip(point, fail(errno.EIO)), pytest.raises(WriteFailed, match="was not written"):
        trust.trust(root, read_file(files(root))[0])
    assert state(root) == then
    kept = json.loads((settings_folder() / trust.FILE).read_bytes())["workspaces"]
    assert json.loads(before)["workspaces"].items() <= kept.items()
    left = {path.name for path in settings_folder().iterdir()}
    assert left <= {"trust.json", "trust.lock", "key"}, left
    assert (settings_folder() / trust.FILE).stat().st_mode & 0o077 == 0


def test_a_declined_workspace_is_not_asked_about_until_something_changes(root: Path, engine: Engine) -> None:
    engine.decide_trust(trusted=False)
    assert engine.settings.trust.state == "declined"
    assert engine.config.imports.follow == ()
    (root / CONFIG_FILE).write_text(ACTS.replace("dear", "dearer"))
    assert state(root) == "new"
    engine.decide_trust(trusted=True)
    gate = engine.config.gate
    assert (gate.provider, gate.model) == ("openai", "dearer")


@pytest.mark.parametrize("trusted", [True, False])
def test_settings_that_were_not_shown_are_not_decided_on(root: Path, engine: Engine, trusted: bool) -> None:
    shown = engine.settings.trust.acts
    (root / CONFIG_FILE).write_text(ACTS.replace("127.0.0.1:9", "127.0.0.1:10"))
    with pytest.raises(ChangeRefused, match="have changed since they were shown"):
        engine.decide_trust(trusted=trusted, shown=shown)
    assert state(root) == "new" and engine.config.gate.provider != "openai"
    assert engine.settings.trust.acts != shown, "they can be shown now"
    engine.decide_trust(trusted=True, shown=engine.settings.trust.acts)
    assert engine.config.gate.base_url == "http://127.0.0.1:10/v1"


def test_a_harmless_value_needs_no_trust(root: Path) -> None:
    (root / CONFIG_FILE).write_text("gate:\n  provider: ask\n")
    settings = trust.read(files(root))
    assert settings.trust.state == "nothing" and settings.config.gate.provider == "ask"
    assert not (settings_folder() / trust.FILE).exists()


def test_settings_made_through_the_program_are_trusted(tmp_path: Path) -> None:
    initialise(tmp_path / "own")
    with Engine.open(tmp_path / "own") as engine:
        changed = engine.configuration.change("gate.provider", "openai")
        assert not changed.ignored and engine.config.gate.provider == "openai"
        engine.configuration.change("gate.model", "some")
    assert state(tmp_path / "own") == "trusted"


def test_changing_a_setting_does_not_trust_a_strangers_settings(engine: Engine) -> None:
    changed = engine.configuration.change("harvest.provider", "openai")
    assert changed.ignored and engine.config.harvest.provider == "markers"
    assert engine.config.imports.follow == ()
    shown: Configuration = engine.configuration
    assert shown.setting("gate.provider").ignored == "openai"
    assert shown.setting("gate.provider").value == "agent"


def test_init_on_a_clone_trusts_nothing(root: Path, tmp_path: Path) -> None:
    initialise(root)
    assert state(root) == "new"
    initialise(tmp_path / "own")
    kept = json.loads((settings_folder() / trust.FILE).read_bytes())["workspaces"]
    assert [*kept] == [str(tmp_path / "own")]


@pytest.mark.parametrize("damage", ["others write", "link", "folder", "nonsense", "list"])
def test_a_suspicious_trust_file_is_ignored(root: Path, tmp_path: Path, damage: str) -> None:
    trust.trust(root, read_file(files(root))[0])
    path = settings_folder() / trust.FILE
    kept = path.read_bytes()
    match damage:
        case "others write":
            path.chmod(0o666)
        case "link":
            (tmp_path / "elsewhere").write_bytes(kept)
            path.unlink()
            path.symlink_to(tmp_path / "elsewhere")
        case "folder":
            path.unlink()
            path.mkdir()
        case "nonsense":
            path.write_bytes(b"{" * 100_000)
        case _:
            path.write_bytes(b'{"workspaces": ["' + os.fsencode(root) + b'"]}')
    assert state(root) == "new"


def test_cached_settings_cannot_be_forged(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / CONFIG_FILE).write_text("gate:\n  max_tokens: 50\n")
    honest = read_file(files(root))[0]
    # A stranger with the same program and another key forges a cache entry for the same bytes.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "strangers"))
    (root / CACHE_FILE).unlink()
    read_file(files(root))
    stamp, _, kept = (root / CACHE_FILE).read_bytes().partition(b"\n")
    assert own_key() is not None
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for forged in (kept, kept.replace(b'"max_tokens": 50', b'"max_tokens": 60')):
        (root / CACHE_FILE).write_bytes(stamp + b"\n" + forged)
        assert read_file(files(root))[0] == honest
        assert (root / CACHE_FILE).read_bytes().partition(b"\n")[0] != stamp


def test_without_a_key_settings_are_not_cached(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    assert read_file(files(root))[0].gate.provider == "openai"
    assert not (root / CACHE_FILE).exists()
    assert state(root) == "new"


@pytest.mark.skipif(sys.platform != "linux", reason="platformdirs is used on other systems")
def test_the_settings_folder_is_the_system_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from platformdirs import user_config_path

    assert settings_folder() == user_config_path("autopoiesis", appauthor=False)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert settings_folder() == user_config_path("autopoiesis", appauthor=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.chdir(tmp_path)
    assert settings_folder() == Path.home() / ".config/autopoiesis"
