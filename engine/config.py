"""memory-config.yaml as one validated model (spec 9.3, design 3 and 5); every setting has its meaning here.

The file may leave out anything; what it leaves out has the default below. Unknown settings are reported,
never fatal, so that a file written for a newer version still opens.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping as AbcMapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.errors import ConfigError, Problem
from engine.store import yamltext

CONFIG_FILE = "memory-config.yaml"

Priority = Literal["critical", "high", "medium", "low"]


class Settings(BaseModel):
    """A group of settings. Unknown keys are kept aside and reported by ``load``."""

    model_config = ConfigDict(extra="allow", frozen=True)


class CompilerSettings(Settings):
    """How much of what enters the prompt."""

    token_budget: int = Field(8192, ge=256, le=2_000_000)
    """Tokens the compiled prompt and the reply reserve may take together."""
    reply_reserve_tokens: int = Field(256, ge=0)
    """Tokens kept free for the reply; at most 1/32 of the budget is ever reserved."""
    system_budget_kb: float = Field(1, ge=0)
    """Cap for the system prompt (``knowledge/prompts/system.md``), KiB."""
    identity_budget_kb: float = Field(17, ge=0)
    """Size above which identity files are reported; they are never dropped."""
    memory_budget_kb: float = Field(3, ge=0)
    """Cap for MEMORY.md, KiB."""
    journal_budget_kb: float = Field(4, ge=0)
    """Cap for the journals of today and yesterday together, KiB."""
    projects_budget_kb: float = Field(1, ge=0)
    """Cap for ``projects/_active.md``, KiB."""
    topic_budget_kb: float = Field(6, ge=0)
    """Cap for the instructions and subscriptions of all active topics together, KiB."""
    knowledge_results: int = Field(60, ge=0, le=500)
    """How many search results are considered for the retrieved part of the prompt."""


class SearchSettings(Settings):
    """How the index finds."""

    bm25_weight: float = Field(0.4, ge=0)
    """Weight of the word match in the merged score."""
    vector_weight: float = Field(0.6, ge=0)
    """Weight of the meaning match in the merged score."""
    embedding_model: str = "local"
    """``local`` (256 dimensions, offline) or the name of a model that a provider serves."""
    embedding_dimensions: int = Field(256, ge=8, le=4096)
    """Dimensions of the vectors; must be what the model gives."""


class PolicyRow(Settings):
    """One row of the gate bypass table (spec 5.4): the tier-2 scores that decide after a tier-1 hit."""

    activate: float | None = None
    """Score from which the topic activates without the gate; absent: never without the gate."""
    gate: float | None = None
    """Score from which the gate is asked; below it the topic is dropped. Absent: the gate is not asked."""


def _spec_policy() -> dict[Priority, PolicyRow]:
    return {
        "critical": PolicyRow(activate=0.0),
        "high": PolicyRow(activate=0.3, gate=0.0),
        "medium": PolicyRow(gate=0.2),
        "low": PolicyRow(gate=0.3),
    }


class WatcherSettings(Settings):
    """How topics are nominated."""

    preset: Literal["spec"] = "spec"
    """Which tier 2 scores: ``spec`` is TF-IDF cosine over the instructions."""
    nominate: Literal["either", "pattern"] = "either"
    """``pattern``: only a tier-1 hit makes a candidate. ``either``: a tier-2 score at or above the topic's
    threshold does as well; such a candidate always goes to the gate."""
    similarity_threshold: float = Field(0.15, ge=0, le=1)
    """Tier-2 score from which a topic counts as similar, where the topic names none itself."""
    policy: dict[Priority, PolicyRow] = Field(default_factory=_spec_policy)
    """The gate bypass table; priorities left out keep the default row."""
    pattern_timeout_ms: int = Field(20, ge=1, le=1000)
    """Longest time one pattern may take on one message before it is stopped and reported."""


class GateSettings(Settings):
    """Tier 3: who says yes or no."""

    provider: Literal["local", "ask", "anthropic", "openai"] = "local"
    """``local`` needs nothing; ``ask`` asks the person; ``anthropic`` and ``openai`` (or any compatible
    server) are asked over the network with the key from the environment."""
    model: str = ""
    """Model of the provider; empty: the provider's cheapest known one."""
    base_url: str = ""
    """Address of a compatible server (Ollama, vLLM, llama.cpp); empty: the provider's own."""
    max_tokens: int = Field(1, ge=1, le=64)
    """Longest answer asked for; raised where a model refuses so few."""
    deadline_s: float = Field(4.0, gt=0, le=600)
    """Total time for all questions of one message, seconds."""
    ask_deadline_s: float = Field(30.0, gt=0, le=3600)
    """The same where a person answers."""
    concurrency: int = Field(8, ge=1, le=64)
    """Questions under way at once."""
    on_failure: Literal["skip", "activate"] = "skip"
    """What happens to a candidate whose question failed."""
    local_min_labels: int = Field(50, ge=10)
    """Labelled decisions from which the local gate learns; until then a fixed rule answers."""


class GitSettings(Settings):
    """What is committed without asking."""

    auto_commit: bool = True
    """Commit a transcript when its session ends, and changes that commands make."""


class ImportSettings(Settings):
    """Where other agents keep their sessions."""

    claude_code_dir: str = ""
    """Claude Code's folder; empty: ``$CLAUDE_CONFIG_DIR`` or ``~/.claude``."""
    codex_dir: str = ""
    """Codex's folder; empty: ``$CODEX_HOME`` or ``~/.codex``."""
    follow: tuple[Literal["claude-code", "codex"], ...] = ()
    """Agents whose new turns the workbench and ``watch`` import as they are written."""

    def home(self, kind: Literal["claude-code", "codex"]) -> Path | None:
        """The folder of an agent; ``None`` for where it is by default."""
        folder = self.claude_code_dir if kind == "claude-code" else self.codex_dir
        return Path(folder).expanduser() if folder else None


class Config(Settings):
    """The whole of memory-config.yaml."""

    context_compiler: CompilerSettings = CompilerSettings()
    search: SearchSettings = SearchSettings()
    watchers: WatcherSettings = WatcherSettings()
    gate: GateSettings = GateSettings()
    git: GitSettings = GitSettings()
    imports: ImportSettings = ImportSettings()


_MOVED = {"gate_model": ("gate", "model"), "gate_max_tokens": ("gate", "max_tokens")}
"""Settings of the watchers group that moved to a group of their own; the old place is still read."""

_PLANNED = frozenset({"lifecycle", "auto_push", "auto_tag_daily", "commit_message_model"})
"""Settings of the specification that this version reads without effect; ``doctor`` says so."""


def load(data: bytes | None, path: str = CONFIG_FILE) -> tuple[Config, tuple[Problem, ...]]:
    """Reads memory-config.yaml.

    Args:
        data: The file's bytes, or ``None`` where there is no file.
        path: Its name, for messages.

    Returns:
        The settings, and what is odd about the file without being wrong (unknown settings).

    Raises:
        ConfigError: A value cannot be used; the message names file, line, setting and what is allowed.
    """
    if not data:
        return Config(), ()
    try:
        tree = yamltext.parse(data.decode("utf-8-sig"), max_bytes=256 * 1024)
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text", where=path, cure="save it as UTF-8") from error
    except yamltext.YamlError as error:
        raise ConfigError(error.what, where=f"{path}:{error.line}", cure=error.cure) from error
    plain = _plain(tree)
    watchers = plain.get("watchers")
    if isinstance(watchers, dict):
        for old, (group, name) in _MOVED.items():
            if old in watchers:
                plain.setdefault(group, {}).setdefault(name, watchers.pop(old))
        policy = watchers.get("policy")
        if isinstance(policy, dict):
            watchers["policy"] = {name: row.model_dump() for name, row in _spec_policy().items()} | policy
    try:
        config = Config.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        location = [str(part) for part in first["loc"]]
        raise ConfigError(
            f"{'.'.join(location)}: {first['msg'].lower()} (it is {first.get('input')!r})",
            where=f"{path}:{_line(tree, location)}",
            cure="correct the value or remove the line to use the default",
        ) from error
    return config, tuple(_unknown(config, tree, path, ()))


def _plain(tree: AbcMapping[str, object]) -> dict[str, Any]:
    """The tree as plain containers; an empty value counts as absent, as a person means it."""
    plain: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, AbcMapping):
            plain[key] = _plain(value)
        elif isinstance(value, list):
            plain[key] = [_plain(item) if isinstance(item, AbcMapping) else item for item in value]
        elif value != "":
            plain[key] = value
    return plain


def _line(tree: object, location: list[str]) -> int:
    line = 1
    for part in location:
        if not isinstance(tree, yamltext.Mapping) or part not in tree:
            break
        line, tree = tree.line_of(part, line), tree[part]
    return line


def _unknown(settings: Settings, tree: object, path: str, above: tuple[str, ...]) -> list[Problem]:
    problems: list[Problem] = []
    known = list(type(settings).model_fields)
    for key in settings.model_extra or {}:
        name = ".".join((*above, key))
        near = difflib.get_close_matches(key, known, n=1)
        planned = key in _PLANNED
        problems.append(
            Problem(
                path=path,
                line=_line(tree, [*above, key]),
                what=f"{name} has no effect in this version" if planned else f"unknown setting {name}",
                cure="" if planned else (f"did you mean {near[0]}?" if near else "remove it"),
                severity="warning",
            )
        )
    for key in known:
        value = getattr(settings, key)
        if isinstance(value, Settings):
            problems.extend(_unknown(value, tree, path, (*above, key)))
    return problems
