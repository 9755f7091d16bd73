"""memory-config.yaml as validated values (spec 9.3, design 3 and 5).

The docstring of each setting is shown by ``config show`` and in the workbench. Settings that the file leaves
out have the defaults below. ``engine.settings.file`` reads the file.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

from engine.settings.base import Cron, Limits, ServerUrl, Settings, acting
from engine.startup.records import dataclass

EXTRACTORS = ("decisions", "lessons", "people", "procedures", "facts", "journal")
"""The extractors that ship with the program."""

Priority = Literal["critical", "high", "medium", "low"]

_BUDGET_KB = {
    "system": 1.0,
    "identity": 17.0,
    "memory": 3.0,
    "journal": 4.0,
    "projects": 1.0,
    "preset": 4.0,
    "topic": 6.0,
}
"""The caps of spec 6.2 in KiB; other slots take what remains."""


@dataclass(frozen=True)
class EventSettings(Settings):
    """What happens when a topic's schedule comes due or a webhook arrives."""

    github_secret: str = acting("", "accepts webhooks signed with the secret in an environment variable")
    """The environment variable with the secret of GitHub's webhooks; empty:
    ``AUTOPOIESIS_WEBHOOK_SECRET_GITHUB``."""


@dataclass(frozen=True)
class WordingSettings:
    """The service that writes commit messages."""

    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"]
    model: str
    base_url: str


@dataclass(frozen=True)
class GitSettings(Settings):
    """What is committed automatically, and where it is pushed."""

    auto_commit: bool = True
    """Commit transcripts when sessions end, notes taken by flushes, changes made by commands, and, every
    ``git.commit_interval_minutes``, what you and agents change in knowledge."""
    commit_interval_minutes: Annotated[int, Limits(ge=0, le=10_080)] = 30
    """How often the workbench, ``watch`` and ``serve`` commit changes in knowledge, topics, presets, archive,
    attachments, skills, probes and settings; they also do so on exit. 0: never."""
    commit_message_provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends changes in knowledge to a model that writes commit messages"
    )
    """The model that writes the messages of these commits, and of ``commit``. ``none``: no model; messages
    list what changed. Others as for ``gate.provider``."""
    commit_message_model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    commit_message_base_url: str = acting("", "sets the server of the model that writes commit messages")
    """As ``gate.base_url``, with the same key."""
    commit_message_deadline_s: Annotated[float, Limits(gt=0, le=60)] = 10.0
    """Seconds for a message; after that the message lists what changed."""
    auto_tag_daily: bool = True
    """Tag the last commit of each day and week, as ``memory/daily/2026-02-16`` and
    ``memory/weekly/2026-W07``. """
    remote: str = acting("", "pushes the whole memory to a git remote, and merges its commits")
    """The git remote that ``sync`` uses to synchronise your machines, such as ``origin``; empty: none. Its
    address is set on each machine with ``git remote add``."""
    auto_push: bool = acting(False, "pushes new commits to the remote automatically")
    """Push new commits to ``remote`` as they are made, while the workbench, ``watch`` or ``serve`` is
    running. Nothing is merged automatically; commits that the remote rejects wait for ``sync``."""

    shared: tuple[str, ...] = acting((), "fetches other people's knowledge into prompts")
    """The addresses that ``share update`` fetches shared knowledge from; changed by ``share add`` and ``share
    remove``. Other addresses in ``.gitmodules`` are never fetched."""
    private: Literal["none", "git-crypt"] = acting("none", "runs git-crypt, which encrypts private files")
    """``git-crypt``: files in ``knowledge/private/`` are committed encrypted, or not at all; set up with
    ``private setup``."""

    @property
    def wording(self) -> WordingSettings:
        """The service that writes commit messages."""
        return WordingSettings(
            self.commit_message_provider, self.commit_message_model, self.commit_message_base_url
        )


@dataclass(frozen=True)
class ExtractionSettings(Settings):
    """What is extracted from sessions into knowledge (spec 8.3)."""

    extractors: tuple[str, ...] = acting(EXTRACTORS, "runs extractors from other packages")
    """The extractors to run, in this order. Installed packages can add more with entry points of the group
    ``autopoiesis.extractors``; their code runs with all permissions of this program."""
    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends whole sessions to a model that extracts knowledge"
    )
    """The model that reads sessions. ``none``: no model; only marked lines are taken. Others as for
    ``gate.provider``."""
    model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    base_url: str = acting("", "sets the server of the model that extracts")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 4096
    """Maximum tokens of a reply, for each window and extractor. The complete part of a truncated reply is
    kept, and the rest is requested again with twice the limit."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 120.0
    """Seconds for one request."""


@dataclass(frozen=True)
class CondensingSettings(Settings):
    """How weeks are condensed into MEMORY.md, months into proposals (spec 8.4)."""

    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends journals and MEMORY.md to a model that condenses them"
    )
    """The model that writes MEMORY.md. ``none``: no model; decisions and lessons are copied as they are.
    Others as for ``gate.provider``; their text waits for your review."""
    model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    base_url: str = acting("", "sets the server of the model that condenses")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 8192
    """Maximum tokens of a reply; a truncated reply is discarded."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 120.0
    """Seconds for one request."""
    idle_project_days: Annotated[int, Limits(ge=7, le=3650)] = 60
    """Days without a change or mention after which removing a project from ``_active.md`` is proposed."""


@dataclass(frozen=True)
class RulesSettings(Settings):
    """Your rules for agents, stored in ``knowledge/rules.md``."""

    learn: bool = True
    """Learn rules from sessions automatically: after an import, when a session ends, and hourly. Only your
    own words count. ``autopoiesis rules learn`` works in any case.
    """


@dataclass(frozen=True)
class LifecycleSettings(Settings):
    """When memory is maintained automatically, and what leaves the working set (spec 8.5, 9.3).

    Times are cron expressions of five fields (minute, hour, day, month, weekday) in ``days.time_zone``, or
    ``off``; they apply while the workbench, ``watch`` or ``serve`` is running.
    """

    extraction_trigger: Literal["on_session_end", "hourly", "manual"] = acting("manual", "")
    """When sessions are extracted. ``manual``: only by ``extract --apply``, so that knowledge never changes
    unasked. ``on_session_end``: when ``session end`` ends one. ``hourly``: once an hour, for sessions ended
    since. With ``extraction.provider``, the last two send data and cost money without further
    confirmation."""
    recaps: bool = True
    """Write three to six lines on each session to its day's journal when it ends or is imported: what was
    asked, decided, changed, done and left open, in the words of the session, without a model. With
    ``extraction.provider``, extraction words them anew."""
    condensation_schedule: Annotated[str, Cron()] = acting("0 23 * * *", "")
    """When the day is condensed."""
    pruning_schedule: Annotated[str, Cron()] = acting("0 0 * * 0", "")
    """When stale files are pruned."""
    schedule: dict[str, Annotated[str, Cron()]] = acting({}, "")
    """Changed times of jobs, by name (listed by ``autopoiesis jobs``): ``{index: off}``."""
    journal_retention_days: Annotated[int, Limits(ge=2, le=36_500)] = 90
    """Days after which a journal moves to ``archive/journal/``."""
    memory_line_cap: Annotated[int, Limits(ge=20, le=200)] = 200
    """Maximum lines of MEMORY.md, which is pruned to this; there is a warning from 90 % of it."""
    evict_after_days: Annotated[int, Limits(ge=7, le=36_500)] = 30
    """Days without a change before a file may be archived, however low its score."""
    most_archived: Annotated[int, Limits(ge=1, le=10_000)] = 50
    """Archiving more files than this, or more than five that are over half of all, requires confirming their
    number."""


@dataclass(frozen=True)
class PolicyRow(Settings):
    """One row of the gate bypass table (spec 5.4): thresholds for a topic's tier-2 score."""

    activate: float | None = None
    """The topic activates without the gate from this score; absent: never without the gate."""
    gate: float | None = None
    """The gate is asked from this score; below it the topic is dropped. Absent: the gate is not asked."""
    matched: float | None = None
    """The topic activates from this score if one of its triggers matched; absent: as ``activate``."""


Preset = Literal["calibrated", "spec"]

_TABLES: dict[Preset, dict[Priority, PolicyRow]] = {
    "calibrated": {
        "critical": PolicyRow(activate=0.22, gate=0.05, matched=0.0),
        "high": PolicyRow(activate=0.24, gate=0.06),
        "medium": PolicyRow(activate=0.27, gate=0.07),
        "low": PolicyRow(activate=0.4, gate=0.2),
    },
    "spec": {
        "critical": PolicyRow(activate=0.0),
        "high": PolicyRow(activate=0.3, gate=0.0),
        "medium": PolicyRow(gate=0.2),
        "low": PolicyRow(gate=0.3),
    },
}
"""The gate bypass table of each preset. With ``spec`` it applies to topics with a tier-1 hit only; with
``calibrated`` a hit is part of the score, and the table applies to all topics."""

_SPEC_THRESHOLD = 0.15


@dataclass(frozen=True)
class WatcherSettings(Settings):
    """How topics are nominated."""

    preset: Preset = "calibrated"
    """How tier 2 scores. ``calibrated``: the probability that the topic applies, from all signals and
    trigger hits combined. ``spec``: TF-IDF cosine over the instructions, separate from trigger hits."""
    nominate: Literal["either", "pattern"] = "either"
    """``pattern``: only a tier-1 hit nominates a topic. ``either``: so does a tier-2 score at or above the
    topic's threshold; such candidates go to the gate if that is a model or a person."""
    similarity_threshold: Annotated[float, Limits(ge=0, le=1)] | None = None
    """Tier-2 score from which a topic reaches the gate, unless the topic sets its own. Absent: .15 with the
    ``spec`` preset, the policy table's with ``calibrated``."""
    policy: dict[Priority, PolicyRow] = field(default_factory=dict)
    """Rows of the gate bypass table that differ from the preset's."""
    pattern_timeout_ms: Annotated[int, Limits(ge=1, le=1000)] = 20
    """Milliseconds that one pattern may take on one message before it is stopped and reported."""

    def row(self, priority: Priority) -> PolicyRow:
        """The row of the gate bypass table for a priority."""
        return self.policy.get(priority) or _TABLES[self.preset][priority]

    def threshold(self, priority: Priority) -> float:
        """The tier-2 score from which a topic of this priority is similar, unless it sets its own."""
        if self.similarity_threshold is not None:
            return self.similarity_threshold
        if self.preset == "spec":
            return _SPEC_THRESHOLD
        row = self.row(priority)
        marks = [mark for mark in (row.gate, row.activate) if mark is not None]
        return min(marks, default=1.0)


@dataclass(frozen=True)
class CompilerSettings(Settings):
    """How much of each part enters the prompt.

    Each slot of the budget has a cap, in KiB of its text or in tokens including its markers; if both are set,
    the tighter one applies. What a slot does not use goes to the slots after it.
    """

    token_budget: Annotated[int, Limits(ge=256, le=2_000_000)] = 8192
    """Tokens for the compiled prompt and the reply reserve together."""
    reply_reserve_tokens: Annotated[int, Limits(ge=0)] = 256
    """Tokens kept free for the reply; at most 1/32 of the budget is ever reserved."""
    system_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for ``prompts/system.md``; larger files are reported, never cut; 1 unless capped in tokens."""
    system_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    identity_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for the identity files; larger files are reported, never cut; 17 unless capped in tokens."""
    identity_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    rules_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for your rules; absent: no limit in KiB."""
    rules_budget_tokens: Annotated[int, Limits(ge=0)] | None = 1200
    """The same in tokens; at most half of the room in a small prompt. The prompt names what did not
    fit."""
    memory_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for MEMORY.md; 3 unless capped in tokens."""
    memory_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    journal_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for the journals of today and yesterday together; 4 unless capped in tokens."""
    journal_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    projects_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for ``projects/_active.md``; 1 unless capped in tokens."""
    projects_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    preset_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for the files and notes of all active presets together; 4 unless capped in tokens."""
    preset_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    topic_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for instructions and subscriptions of all active topics; 6 unless capped in tokens."""
    topic_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    knowledge_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for catalogs, digest and search results together; absent: what remains."""
    knowledge_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    history_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for the day, the session and its earlier turns together; absent: what remains."""
    history_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    knowledge_results: Annotated[int, Limits(ge=0, le=500)] = 420
    """Search results considered for the retrieved part of the prompt."""

    def cap(self, part: str) -> tuple[float | None, int | None]:
        """The limits of a part in KiB and tokens, None for no limit; ``part`` as in ``PART_budget_kb``."""
        kib: float | None = getattr(self, f"{part}_budget_kb")
        tokens: int | None = getattr(self, f"{part}_budget_tokens")
        return (_BUDGET_KB.get(part) if kib is None and tokens is None else kib), tokens


@dataclass(frozen=True)
class SearchSettings(Settings):
    """How search ranks."""

    bm25_weight: Annotated[float, Limits(ge=0)] = 1.0
    """Weight of the word match."""
    vector_weight: Annotated[float, Limits(ge=0)] = 0.8
    """Weight of the vector match."""
    half_life_days: Annotated[float, Limits(ge=0)] = 30
    """Days after which a conversation or journal loses half of the age penalty, which is at most a tenth of
    its score; other files and undated text lose nothing. 0: age is ignored."""
    embedding: Literal["local", "openai"] = acting(
        "local", "sends the text of every file to an embedding service"
    )
    """The vectors to compare. ``local``: the built-in ones. ``openai``: a model of OpenAI or any
    compatible server, which receives the text of every file, with possible keys removed. After a change, new
    vectors are computed in the background."""
    embedding_model: str = acting("text-embedding-3-small", "")
    """Model of ``openai``."""
    embedding_dimensions: Annotated[int, Limits(ge=8, le=8192, multiple_of=8)] = 1536
    """Dimensions of ``openai`` vectors: requested from models that can choose, the size of others'
    vectors."""
    embedding_base_url: str = acting("", "sets the server that computes embeddings")
    """Address of a compatible server (Ollama, vLLM, llama.cpp); empty: OpenAI's own."""
    embedding_deadline_s: Annotated[float, Limits(gt=0, le=60)] = 3.0
    """Seconds that a search waits for the query's ``openai`` vector; then it uses words only."""


@dataclass(frozen=True)
class IndexSettings(Settings):
    """Where the search index is kept."""

    url: Annotated[str, ServerUrl()] = acting(
        "", "sends the text of every file to a server, where other clones search it"
    )
    """Address of a PostgreSQL with pgvector in which all clones of this memory share one index, such as
    ``postgresql://host/database``; needs the ``postgresql`` extra. The password comes from ``PGPASSWORD``,
    ``~/.pgpass`` or ``?service=``. Empty: memory.db in this folder."""


@dataclass(frozen=True)
class GateSettings(Settings):
    """Tier 3: the gate, which says yes or no."""

    provider: Literal["agent", "local", "ask", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "agent", "sends messages and topics to a model for the gate", harmless=("local", "ask")
    )
    """``agent``: the agent itself is told of up to two topics that may apply, in a line each, and opens them
    if they do; ``local`` decides by the score alone; ``ask`` asks you; ``anthropic``, ``openai`` (or any
    compatible server) and ``gemini`` are called over the network with the key from the environment;
    ``claude-code`` runs the ``claude`` command with its login. You and a model are asked about the two
    likeliest uncertain topics of a message, in one call each."""
    model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    base_url: str = acting("", "sets the server of the gate's model")
    """Address of a compatible server (Ollama, vLLM, llama.cpp); empty: the provider's own."""
    max_tokens: Annotated[int, Limits(ge=1, le=64)] = 1
    """Maximum tokens of an answer; raised if a model requires more."""
    deadline_s: Annotated[float, Limits(gt=0, le=600)] = 4.0
    """Seconds for all questions of one message."""
    ask_deadline_s: Annotated[float, Limits(gt=0, le=3600)] = 30.0
    """The same when a person answers."""
    claude_code_deadline_s: Annotated[float, Limits(gt=0, le=600)] = 30.0
    """The same for ``claude-code``, where starting ``claude`` alone takes seconds."""
    on_failure: Literal["skip", "activate"] = "skip"
    """What happens to a candidate whose question failed."""


@dataclass(frozen=True)
class FlushSettings(Settings):
    """Notes taken of turns before they leave the sliding window (spec 6.4)."""

    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends turns of conversations to a model that takes notes"
    )
    """The model that takes notes. ``none``: no model, and no conversation is sent anywhere; turns that drop
    without notes are recorded. Others as for ``gate.provider``."""
    model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    base_url: str = acting("", "sets the server of the model that takes notes")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=64, le=16_384)] = 2048
    """Maximum tokens of a reply; a truncated reply is discarded."""
    deadline_s: Annotated[float, Limits(gt=0, le=600)] = 60.0
    """Seconds for one flush, which runs in the background."""
    at: Annotated[float, Limits(ge=0, le=1)] = 0.8
    """Share of the history's room beyond which turns are about to leave, and are flushed before they drop."""


@dataclass(frozen=True)
class HarvestSettings(Settings):
    """How knowledge is harvested from conversations (``knowledge-curation.md`` 5)."""

    provider: Literal["markers", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "markers", "sends whole conversations to a model that harvests them"
    )
    """The model that harvests conversations. ``markers``: no model; commands that succeeded again and again
    and lines you marked with, for example, ``Decision:`` are proposed for review. Others as for
    ``gate.provider``."""
    model: str = acting("", "")
    """The provider's model; empty: its cheapest known one."""
    base_url: str = acting("", "sets the server of the model that harvests")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 8192
    """Maximum tokens of a reply. The complete part of a truncated reply is kept, and the rest is requested
    again with twice the limit."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 120.0
    """Seconds for one request."""
    idle_minutes: Annotated[int, Limits(ge=0, le=10_080)] = 60
    """Conversations changed more recently than this count as live and are skipped, unless they are marked as
    ended or you name them."""
    most_reclaimed: Annotated[int, Limits(ge=1, le=10_000)] = 20
    """Moving more conversations than this to the trash, or more than five that are over half of all, requires
    confirming their number."""
    trash_days: Annotated[int, Limits(ge=1, le=365)] = 7
    """Days that the trash keeps a harvested conversation."""


ChatProviderName = Literal["local", "anthropic", "openai", "gemini", "claude-code"]
"""Providers that can answer a prompt."""


@dataclass(frozen=True)
class ChatSettings(Settings):
    """The model that answers prompts (``send``, and ctrl+enter in the workbench)."""

    provider: ChatProviderName = acting("local", "sends prompts to a model when you send a message")
    """``local``: no model; the answer consists of the prompt's lines that are nearest to the message. Others
    as for ``gate.provider``."""
    model: str = acting("", "")
    """The provider's model; empty: its default for conversations."""
    base_url: str = acting("", "sets the server of the model that answers")
    """As ``gate.base_url``; a server set here gets ``AUTOPOIESIS_CHAT_API_KEY``."""
    max_tokens: Annotated[int, Limits(ge=1, le=131_072)] = 4096
    """Maximum tokens of a reply."""
    deadline_s: Annotated[float, Limits(gt=0, le=3600)] = 300.0
    """Seconds for a reply, including retries."""


_LONG_MINUTES = 60


@dataclass(frozen=True)
class CacheSettings(Settings):
    """How providers cache the stable prefix (``cache-friendly-context.md`` 5)."""

    anthropic: bool = True
    """Mark the prefix for Anthropic's cache."""
    anthropic_ttl: Literal["5m", "1h"] = acting("5m", "")
    """How long the cache lives after its last use; writing it for ``1h`` costs more."""
    gemini: bool = acting(True, "")
    """Cache the prefix at Gemini, which charges for storage while the cache exists."""
    gemini_ttl_minutes: Annotated[int, Limits(ge=1, le=10_080)] = acting(60, "")
    """How long such a cache lives; over 60 only with ``gemini_long``."""
    gemini_long: bool = acting(False, "")
    """Allow Gemini caches that live longer than an hour."""
    openai: bool = True
    """Send OpenAI a key that routes requests with the same prefix to the same cache."""

    @property
    def gemini_ttl_s(self) -> int:
        """Seconds that Gemini's caches live."""
        minutes = self.gemini_ttl_minutes
        return 60 * (minutes if self.gemini_long else min(minutes, _LONG_MINUTES))


@dataclass(frozen=True)
class CostSettings(Settings):
    """Limits on the cost of model calls. Without a limit nothing is refused."""

    daily_usd: Annotated[float, Limits(ge=0)] = acting(0.0, "")
    """US dollars per day (UTC); 0: no limit. Once they are spent, no paid calls are made."""
    monthly_usd: Annotated[float, Limits(ge=0)] = acting(0.0, "")
    """The same per calendar month."""
    warn_at: Annotated[float, Limits(ge=0, le=1)] = 0.8
    """Share of a limit from which there is a warning."""


@dataclass(frozen=True)
class CaptureSettings(Settings):
    """How sessions are recorded."""

    redact: bool = acting(True, "writes keys and passwords that you type into transcripts")
    """Replace possible keys and passwords with ``[secret]``. If off, they are kept, and the files are left
    out of commits."""


@dataclass(frozen=True)
class ImportSettings(Settings):
    """Where other agents store their sessions."""

    claude_code_dir: str = acting("", "reads sessions of Claude Code from a given folder")
    """Claude Code's folder, or several separated by commas; empty: ``$CLAUDE_CONFIG_DIR``, or ``~/.claude``
    and ``~/.config/claude``."""
    codex_dir: str = acting("", "reads sessions of Codex from a given folder")
    """Codex's folder, or several separated by commas; empty: ``$CODEX_HOME`` or ``~/.codex``."""
    gemini_dir: str = acting("", "reads sessions of Gemini CLI from a given folder")
    """Gemini CLI's folder; empty: ``~/.gemini``."""
    follow: tuple[Literal["claude-code", "codex"], ...] = acting(
        (), "imports your sessions with other agents into the workspace"
    )
    """Agents whose sessions the workbench, ``watch`` and ``serve`` import continuously: existing ones, then
    each new turn."""

    def home(self, kind: Literal["claude-code", "codex", "gemini", "specstory"]) -> Path | None:
        """The folder of an agent; None for its default."""
        folders = {"claude-code": self.claude_code_dir, "codex": self.codex_dir, "gemini": self.gemini_dir}
        folder = folders.get(kind)
        return Path(folder).expanduser() if folder else None


@dataclass(frozen=True)
class HookSettings(Settings):
    """What hooks inject into agents' sessions (`autopoiesis install`)."""

    session_tokens: Annotated[int, Limits(ge=0, le=8_000)] = 2_000
    """Maximum tokens injected when a session starts: rules, identity, the project, MEMORY.md; 0: none."""
    prompt_tokens: Annotated[int, Limits(ge=0, le=8_000)] = 1_500
    """Maximum tokens injected with a message: playbooks, corrections, search results; 0: none."""
    past_sessions: Literal["learned", "shipped", "off"] = "learned"
    """Whether a message comes with what earlier sessions found out about the same work, and what decides that
    it is worth telling: a model learned from your own past once it predicts better, only the one that ships,
    or nothing."""
    linger_minutes: Annotated[int, Limits(ge=0, le=1_440)] = 15
    """Minutes that a background process stays alive after the last hook while no workbench is open, so that
    the next prompt need not wait for the engine to load; 0: none."""
    capture: bool = True
    """Record each turn of a session when it ends, and commit it with the session."""


@dataclass(frozen=True)
class DaySettings(Settings):
    """The calendar."""

    time_zone: str = ""
    """The time zone, such as ``Europe/Brussels`` or ``UTC``: for ``today``, ``yesterday`` and ``last week``,
    for the days of journals, and for times on screen. Empty: the machine's. Transcripts use UTC."""


@dataclass(frozen=True)
class Config(Settings):
    """All settings of memory-config.yaml."""

    context_compiler: CompilerSettings = CompilerSettings()
    search: SearchSettings = SearchSettings()
    index: IndexSettings = IndexSettings()
    watchers: WatcherSettings = WatcherSettings()
    gate: GateSettings = GateSettings()
    flush: FlushSettings = FlushSettings()
    harvest: HarvestSettings = HarvestSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    condensing: CondensingSettings = CondensingSettings()
    rules: RulesSettings = RulesSettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    chat: ChatSettings = ChatSettings()
    cache: CacheSettings = CacheSettings()
    costs: CostSettings = CostSettings()
    git: GitSettings = GitSettings()
    capture: CaptureSettings = CaptureSettings()
    imports: ImportSettings = ImportSettings()
    hooks: HookSettings = HookSettings()
    events: EventSettings = EventSettings()
    days: DaySettings = DaySettings()
