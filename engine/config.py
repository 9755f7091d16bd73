"""memory-config.yaml as validated values (spec 9.3, design 3 and 5); every setting has its meaning here.

The file may leave out anything; what it leaves out has the default below. Unknown settings are reported,
never fatal, so that a file written for a newer version still opens.

The settings are plain dataclasses, which pydantic fills and checks. Importing it takes longer than tracing a
message, so ``read`` keeps what it found under ``scratch/`` and asks it only for a file that it has not seen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping as AbcMapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from engine.errors import AutopoiesisError, ConfigError, Problem

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from engine.store.files import Files

CONFIG_FILE = "memory-config.yaml"
CACHE_FILE = "scratch/settings.json"

Priority = Literal["critical", "high", "medium", "low"]


class Limits:
    """The numbers a setting may have; used in its annotation.

    Args:
        bounds: ``ge``, ``gt``, ``le`` and ``lt``, as pydantic names them.
    """

    def __init__(self, **bounds: float) -> None:
        self._bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = handler(source)
        bounded: CoreSchema = {**schema, **self._bounds}
        return bounded


@dataclass(frozen=True)
class Settings:
    """A group of settings."""


@dataclass(frozen=True)
class CompilerSettings(Settings):
    """How much of what enters the prompt."""

    token_budget: Annotated[int, Limits(ge=256, le=2_000_000)] = 8192
    """Tokens the compiled prompt and the reply reserve may take together."""
    reply_reserve_tokens: Annotated[int, Limits(ge=0)] = 256
    """Tokens kept free for the reply; at most 1/32 of the budget is ever reserved."""
    system_budget_kb: Annotated[float, Limits(ge=0)] = 1
    """Cap for the system prompt (``knowledge/prompts/system.md``), KiB."""
    identity_budget_kb: Annotated[float, Limits(ge=0)] = 17
    """Size above which identity files are reported; they are never dropped."""
    memory_budget_kb: Annotated[float, Limits(ge=0)] = 3
    """Cap for MEMORY.md, KiB."""
    journal_budget_kb: Annotated[float, Limits(ge=0)] = 4
    """Cap for the journals of today and yesterday together, KiB."""
    projects_budget_kb: Annotated[float, Limits(ge=0)] = 1
    """Cap for ``projects/_active.md``, KiB."""
    topic_budget_kb: Annotated[float, Limits(ge=0)] = 6
    """Cap for the instructions and subscriptions of all active topics together, KiB."""
    knowledge_results: Annotated[int, Limits(ge=0, le=500)] = 60
    """How many search results are considered for the retrieved part of the prompt."""


@dataclass(frozen=True)
class SearchSettings(Settings):
    """How the index finds."""

    bm25_weight: Annotated[float, Limits(ge=0)] = 0.4
    """Weight of the word match in the merged score."""
    vector_weight: Annotated[float, Limits(ge=0)] = 0.6
    """Weight of the meaning match in the merged score."""


@dataclass(frozen=True)
class PolicyRow(Settings):
    """One row of the gate bypass table (spec 5.4): the tier-2 scores that decide about a topic."""

    activate: float | None = None
    """Score from which the topic activates without the gate; absent: never without the gate."""
    gate: float | None = None
    """Score from which the gate is asked; below it the topic is dropped. Absent: the gate is not asked."""
    matched: float | None = None
    """Score from which it activates when one of its triggers matched; absent: as ``activate``."""


Preset = Literal["calibrated", "spec"]

_TABLES: dict[Preset, dict[Priority, PolicyRow]] = {
    "calibrated": {
        "critical": PolicyRow(activate=0.4, gate=0.05, matched=0.0),
        "high": PolicyRow(activate=0.45, gate=0.1),
        "medium": PolicyRow(activate=0.5, gate=0.12),
        "low": PolicyRow(activate=0.6, gate=0.2),
    },
    "spec": {
        "critical": PolicyRow(activate=0.0),
        "high": PolicyRow(activate=0.3, gate=0.0),
        "medium": PolicyRow(gate=0.2),
        "low": PolicyRow(gate=0.3),
    },
}
"""The gate bypass table of each preset. With ``spec`` it is about topics with a tier-1 hit only; with
``calibrated`` a hit is part of the score, and the table is about every topic."""

_SPEC_THRESHOLD = 0.15


@dataclass(frozen=True)
class WatcherSettings(Settings):
    """How topics are nominated."""

    preset: Preset = "calibrated"
    """How tier 2 scores. ``calibrated``: the probability that the topic applies, from all signals and the
    trigger hits together. ``spec``: TF-IDF cosine over the instructions, beside the trigger hits."""
    embedding: Literal["shipped", "minilm"] = "shipped"
    """Vectors of the ``calibrated`` preset: those that ship, or these and the transformer of the ``minilm``
    extra, which is better and takes two seconds to load in every process."""
    nominate: Literal["either", "pattern"] = "either"
    """``pattern``: only a tier-1 hit makes a candidate. ``either``: a tier-2 score at or above the topic's
    threshold does as well; with the ``spec`` preset such a candidate always goes to the gate."""
    similarity_threshold: Annotated[float, Limits(ge=0, le=1)] | None = None
    """Tier-2 score from which a topic reaches the gate, where the topic names none itself. Absent: .15 with
    the ``spec`` preset, what the policy table says with ``calibrated``."""
    policy: dict[Priority, PolicyRow] = field(default_factory=dict)
    """Rows of the gate bypass table that differ from the preset's."""
    pattern_timeout_ms: Annotated[int, Limits(ge=1, le=1000)] = 20
    """Longest time one pattern may take on one message before it is stopped and reported."""

    def row(self, priority: Priority) -> PolicyRow:
        """The row of the gate bypass table for a priority."""
        return self.policy.get(priority) or _TABLES[self.preset][priority]

    def threshold(self, priority: Priority) -> float:
        """The tier-2 score from which a topic of this priority is similar, where it names none itself."""
        if self.similarity_threshold is not None:
            return self.similarity_threshold
        if self.preset == "spec":
            return _SPEC_THRESHOLD
        row = self.row(priority)
        marks = [mark for mark in (row.gate, row.activate) if mark is not None]
        return min(marks, default=1.0)


@dataclass(frozen=True)
class GateSettings(Settings):
    """Tier 3: who says yes or no."""

    provider: Literal["local", "ask", "anthropic", "openai", "gemini", "claude-code"] = "local"
    """``local`` needs nothing; ``ask`` asks the person; ``anthropic``, ``openai`` (or any compatible server)
    and ``gemini`` are asked over the network with the key from the environment; ``claude-code`` runs the
    ``claude`` command with whatever login that has."""
    mode: Literal["each", "list"] = "each"
    """``each``: one question per topic. ``list``: one question about up to ten topics at once, which costs
    one call and shows the model what the topics are to be told apart from. ``local`` and ``ask`` always
    answer one by one."""
    model: str = ""
    """Model of the provider; empty: the provider's cheapest known one."""
    base_url: str = ""
    """Address of a compatible server (Ollama, vLLM, llama.cpp); empty: the provider's own."""
    max_tokens: Annotated[int, Limits(ge=1, le=64)] = 1
    """Longest answer asked for, in tokens; raised where a model refuses so few or a list needs more."""
    max_calls_per_message: Annotated[int, Limits(ge=0, le=1000)] = 2
    """Calls that one message may cost; the least certain topics are asked about, the others are decided by
    their score. Remembered answers and ``local`` cost none. Between the cuts of the ``calibrated`` preset lie
    .2 to .35 topics a message and hardly ever more than two, so 2 leaves next to nothing unasked, and bounds
    what a message costs that is like everything."""
    deadline_s: Annotated[float, Limits(gt=0, le=600)] = 4.0
    """Total time for all questions of one message, seconds."""
    ask_deadline_s: Annotated[float, Limits(gt=0, le=3600)] = 30.0
    """The same where a person answers."""
    claude_code_deadline_s: Annotated[float, Limits(gt=0, le=600)] = 30.0
    """The same where ``claude`` is started for a question, which alone takes seconds."""
    concurrency: Annotated[int, Limits(ge=1, le=64)] = 8
    """Questions under way at once."""
    on_failure: Literal["skip", "activate"] = "skip"
    """What happens to a candidate whose question failed."""
    local_min_labels: Annotated[int, Limits(ge=10)] = 50
    """Labelled decisions from which the local gate learns; until then a fixed rule answers."""


@dataclass(frozen=True)
class GitSettings(Settings):
    """What is committed without asking."""

    auto_commit: bool = True
    """Commit a transcript when its session ends, and changes that commands make."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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

_PLANNED = frozenset(
    {
        "lifecycle",
        "auto_push",
        "auto_tag_daily",
        "commit_message_model",
        "embedding_model",
        "embedding_dimensions",
    }
)
"""Settings of the specification that this version reads without effect; ``doctor`` says so."""

_RULES = 1
"""Which way ``load`` reads a file, apart from what the definitions above say. What was kept under another
number does not count."""

_LOCK_WAIT_S = 1.0


def read(files: Files) -> tuple[Config, tuple[Problem, ...]]:
    """The settings of a workspace; see ``load`` for what is given and raised.

    A file that was found in order before is not checked again.
    """
    try:
        data = files.read(CONFIG_FILE)
    except FileNotFoundError:
        return Config(), ()
    if not data:
        return Config(), ()
    known = _recall(files, data)
    if known is None:
        known = load(data)
        _remember(files, data, *known)
    return known


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
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 — slow; a known file needs none of it

    from engine.store import yamltext  # noqa: PLC0415 — likewise

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
                value, target = watchers.pop(old), plain.setdefault(group, {})
                if isinstance(target, dict):
                    target.setdefault(name, value)
    try:
        config = TypeAdapter(Config).validate_python(plain)
    except ValidationError as error:
        first = error.errors()[0]
        location = [str(part) for part in first["loc"]]
        raise ConfigError(
            f"{'.'.join(location)}: {first['msg'].lower()} (it is {first.get('input')!r})",
            where=f"{path}:{_line(tree, location)}",
            cure="correct the value or remove the line to use the default",
        ) from error
    return config, tuple(_unknown(config, plain, tree, path, ()))


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
    from engine.store import yamltext  # noqa: PLC0415 — as in load

    line = 1
    for part in location:
        if not isinstance(tree, yamltext.Mapping) or part not in tree:
            break
        line, tree = tree.line_of(part, line), tree[part]
    return line


def _unknown(
    settings: Settings, plain: AbcMapping[str, Any], tree: object, path: str, above: tuple[str, ...]
) -> list[Problem]:
    import difflib  # noqa: PLC0415 — as in load

    problems: list[Problem] = []
    known = [item.name for item in fields(settings)]
    for key in plain:
        if key in known:
            continue
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
        if isinstance(value, Settings) and key in plain:
            problems.extend(_unknown(value, plain[key], tree, path, (*above, key)))
    return problems


def _recall(files: Files, data: bytes) -> tuple[Config, tuple[Problem, ...]] | None:
    """What ``_remember`` kept for these bytes; ``None`` when there is nothing, or it is damaged."""
    try:
        stamp, _, kept = files.read(CACHE_FILE, limit=1024 * 1024).partition(b"\n")
    except (AutopoiesisError, OSError):
        return None
    if stamp != _stamp(data, kept):
        return None
    tree = json.loads(kept)
    settings: dict[str, dict[str, Any]] = tree["settings"]
    policy, follow = settings["watchers"]["policy"], settings["imports"]["follow"]
    settings["watchers"]["policy"] = {priority: PolicyRow(**row) for priority, row in policy.items()}
    settings["imports"]["follow"] = tuple(follow)
    config = Config(**{name: group(**settings[name]) for name, group in _groups().items()})
    return config, tuple(Problem(**problem) for problem in tree["odd"])


def _remember(files: Files, data: bytes, config: Config, odd: tuple[Problem, ...]) -> None:
    """Keeps what was found. Where that is not possible, the file is checked again the next time."""
    if files.read_only:
        return
    tree = {"settings": asdict(config), "odd": [asdict(problem) for problem in odd]}
    kept = json.dumps(tree).encode()
    try:
        with files.lock(timeout=_LOCK_WAIT_S):
            files.replace(CACHE_FILE, _stamp(data, kept) + b"\n" + kept)
    except AutopoiesisError:
        return


def _groups() -> dict[str, type[Any]]:
    defaults = Config()
    return {item.name: type(getattr(defaults, item.name)) for item in fields(Config)}


def _stamp(data: bytes, kept: bytes) -> bytes:
    """Ties kept settings to the file's bytes and to the settings that there are: types, limits, defaults."""
    classes = (*_groups().values(), PolicyRow, Problem)
    known = [(item.name, item.type) for each in classes for item in fields(each)]
    rules = repr((_RULES, Priority, known, Config(), _MOVED, sorted(_PLANNED))).encode()
    parts = (rules, data, kept)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest().encode()
