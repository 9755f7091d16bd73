"""memory-config.yaml as validated values (spec 9.3, design 3 and 5); every setting has its meaning here,
those of ``watchers`` in a module of their own.

The file may leave out anything; what it leaves out has the default below. ``engine.settings.file`` reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from engine.settings.base import Limits, Settings, acting
from engine.settings.events import EventSettings as EventSettings
from engine.settings.git import GitSettings
from engine.settings.lifecycle import CondensingSettings as CondensingSettings
from engine.settings.lifecycle import ExtractionSettings as ExtractionSettings
from engine.settings.lifecycle import LifecycleSettings as LifecycleSettings
from engine.settings.lifecycle import RulesSettings as RulesSettings
from engine.settings.watchers import PolicyRow as PolicyRow
from engine.settings.watchers import Priority as Priority
from engine.settings.watchers import WatcherSettings as WatcherSettings
from engine.startup.records import dataclass

_BUDGET_KB = {
    "system": 1.0,
    "identity": 17.0,
    "memory": 3.0,
    "journal": 4.0,
    "projects": 1.0,
    "preset": 4.0,
    "topic": 6.0,
}
"""The caps of spec 6.2 in KiB; slots that are not here take what remains."""


@dataclass(frozen=True)
class CompilerSettings(Settings):
    """How much of what enters the prompt.

    Every slot of the budget has a cap, in KiB of its text or in tokens with the markers above it; where both
    are named the tighter binds. What a slot leaves of its cap goes to the slots after it.
    """

    token_budget: Annotated[int, Limits(ge=256, le=2_000_000)] = 8192
    """Tokens the compiled prompt and the reply reserve may take together."""
    reply_reserve_tokens: Annotated[int, Limits(ge=0)] = 256
    """Tokens kept free for the reply; at most 1/32 of the budget is ever reserved."""
    system_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for ``prompts/system.md``; beyond it reported, never cut; 1 unless it is capped in tokens."""
    system_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    identity_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for the identity files; beyond it reported, never cut; 17 unless it is capped in tokens."""
    identity_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    rules_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for the person's rules; absent: no limit in KiB."""
    rules_budget_tokens: Annotated[int, Limits(ge=0)] | None = 1200
    """The same in tokens; at most a third of what a small prompt has room for. What did not fit is named."""
    memory_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for MEMORY.md; 3 unless it is capped in tokens."""
    memory_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    journal_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for the journals of today and yesterday together; 4 unless it is capped in tokens."""
    journal_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    projects_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for ``projects/_active.md``; 1 unless it is capped in tokens."""
    projects_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    preset_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for the files and notes of all active presets together; 4 unless it is capped in tokens."""
    preset_budget_tokens: Annotated[int, Limits(ge=0)] | None = None
    """The same in tokens; absent: no limit in tokens."""
    topic_budget_kb: Annotated[float, Limits(ge=0)] | None = None
    """KiB for instructions and subscriptions of all active topics; 6 unless it is capped in tokens."""
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
    """How many search results are considered for the retrieved part of the prompt."""
    model: str = ""
    """The model that prompts are meant for, e.g. ``claude-haiku-4-5``. A ``token_budget`` above its window is
    reported, and lowered to it; the tokens counted are those of o200k, and a model's own may be some more."""
    model_window: Annotated[int, Limits(ge=256)] | None = None
    """Tokens that the model takes; absent: what is known of it (``engine.context.windows``)."""

    def cap(self, part: str) -> tuple[float | None, int | None]:
        """KiB and tokens that a part may take, ``None`` for a unit without a limit.

        Args:
            part: What a setting's name has before ``_budget_kb``.
        """
        kib: float | None = getattr(self, f"{part}_budget_kb")
        tokens: int | None = getattr(self, f"{part}_budget_tokens")
        return (_BUDGET_KB.get(part) if kib is None and tokens is None else kib), tokens


@dataclass(frozen=True)
class SearchSettings(Settings):
    """How the index finds."""

    ranking: Literal["context", "spec"] = "context"
    """``context`` also counts what stands around a chunk (neighbours, its file as a whole), who speaks
    and the days that the query speaks of. ``spec`` is the specification's merge of two lists."""
    bm25_weight: Annotated[float, Limits(ge=0)] | None = None
    """Weight of the word match; absent: 1, and with ``ranking: spec`` .4."""
    vector_weight: Annotated[float, Limits(ge=0)] | None = None
    """Weight of the meaning match; absent: .8, and with ``ranking: spec`` .6."""
    half_life_days: Annotated[float, Limits(ge=0)] = 30
    """Days after which a conversation or journal has lost half of what age can cost it, a tenth of its score;
    other files and undated text lose nothing. 0: age does not count."""
    embedding: Literal["local", "minilm", "openai"] = acting(
        "local", "sends the text of every file to an embedding service", harmless=("minilm",)
    )
    """Whose vectors the meaning match compares. ``local``: those that ship. ``minilm``: these and the
    transformer of the ``minilm`` extra, which is better, and takes two seconds to load in every process.
    ``openai``: a model of OpenAI or of any compatible server, to which the text of every file is sent, with
    what looks like a key taken out. Another model means other vectors, which are made in the background."""
    embedding_model: str = acting("text-embedding-3-small", "")
    """Model of ``openai``."""
    embedding_dimensions: Annotated[int, Limits(ge=8, le=8192, multiple_of=8)] = 1536
    """Numbers in a vector of ``openai``; asked of models that can choose, the size of the others' vectors."""
    embedding_base_url: str = acting("", "names the server that embeds")
    """Address of a compatible server (Ollama, vLLM, llama.cpp); empty: OpenAI's own."""
    embedding_deadline_s: Annotated[float, Limits(gt=0, le=60)] = 3.0
    """Seconds that a search waits for the query's vector of ``openai``; then it goes by words alone."""

    @property
    def weights(self) -> tuple[float, float]:
        """Of the word match and of the meaning match."""
        words, meaning = (0.4, 0.6) if self.ranking == "spec" else (1.0, 0.8)
        return (
            words if self.bm25_weight is None else self.bm25_weight,
            meaning if self.vector_weight is None else self.vector_weight,
        )


@dataclass(frozen=True)
class GateSettings(Settings):
    """Tier 3: who says yes or no."""

    provider: Literal["local", "ask", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "local", "sends messages and topics to a model for the gate", harmless=("ask",)
    )
    """``local`` needs nothing; ``ask`` asks the person; ``anthropic``, ``openai`` (or any compatible server)
    and ``gemini`` are asked over the network with the key from the environment; ``claude-code`` runs the
    ``claude`` command with whatever login that has."""
    mode: Literal["each", "list"] = "each"
    """``each``: one question per topic. ``list``: one question about up to ten topics at once, which costs
    one call and shows the model what the topics are to be told apart from. ``local`` and ``ask`` always
    answer one by one."""
    model: str = acting("", "")
    """Model of the provider; empty: the provider's cheapest known one."""
    base_url: str = acting("", "names the server of the gate's model")
    """Address of a compatible server (Ollama, vLLM, llama.cpp); empty: the provider's own."""
    max_tokens: Annotated[int, Limits(ge=1, le=64)] = 1
    """Longest answer asked for, in tokens; raised where a model refuses so few or a list needs more."""
    max_calls_per_message: Annotated[int, Limits(ge=0, le=1000)] = acting(2, "")
    """Calls that one message may cost; the least certain topics are asked about, the others are decided by
    their score. Remembered answers and ``local`` cost none. Between the thresholds of the ``calibrated``
    preset lie .2 to .35 topics a message and hardly ever more than two, so 2 leaves next to nothing unasked,
    and bounds what a message costs that is like everything."""
    deadline_s: Annotated[float, Limits(gt=0, le=600)] = 4.0
    """Total time for all questions of one message, seconds."""
    ask_deadline_s: Annotated[float, Limits(gt=0, le=3600)] = 30.0
    """The same where a person answers."""
    claude_code_deadline_s: Annotated[float, Limits(gt=0, le=600)] = 30.0
    """The same where ``claude`` is started for a question, which alone takes seconds."""
    concurrency: Annotated[int, Limits(ge=1, le=64)] = 8
    """Questions under way at once."""
    on_failure: Literal["skip", "activate"] = "skip"
    """What happens to a candidate whose question failed. One without a trigger hit whose score labels have
    not proven stays out in any case."""
    local_min_labels: Annotated[int, Limits(ge=10)] = 50
    """Labelled decisions from which the local gate learns; until then a fixed rule answers."""


@dataclass(frozen=True)
class FlushSettings(Settings):
    """Notes of turns before they leave the sliding window (spec 6.4)."""

    provider: Literal["none", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "none", "sends turns of conversations to a model that takes notes"
    )
    """Who takes notes. ``none``: no one, and nothing of a conversation is sent anywhere; that turns dropped
    without notes is recorded. The others as ``gate.provider``."""
    model: str = acting("", "")
    """Model of the provider; empty: the provider's cheapest known one."""
    base_url: str = acting("", "names the server of the model that takes notes")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=64, le=16_384)] = 2048
    """Longest reply asked for, in tokens; one that is cut off there is not used."""
    deadline_s: Annotated[float, Limits(gt=0, le=600)] = 60.0
    """Total time for one flush, seconds; nothing waits for it."""
    at: Annotated[float, Limits(ge=0, le=1)] = 0.8
    """Share of the history's room behind which a turn counts as about to leave, so that it is flushed before
    it drops."""


@dataclass(frozen=True)
class HarvestSettings(Settings):
    """What conversations taught is moved into knowledge (``knowledge-curation.md`` 5)."""

    provider: Literal["markers", "anthropic", "openai", "gemini", "claude-code"] = acting(
        "markers", "sends whole conversations to a model that harvests them"
    )
    """Who takes knowledge out of a conversation. ``markers`` uses no model: it takes what a conversation
    marks itself, such as ``Decision:`` at the start of a line, and proposes corrections of yours, plans you
    approved and commands that succeeded for review. The others as ``gate.provider``."""
    model: str = acting("", "")
    """Model of the provider; empty: the provider's cheapest known one."""
    base_url: str = acting("", "names the server of the model that harvests")
    """As ``gate.base_url``, with the same key."""
    max_tokens: Annotated[int, Limits(ge=256, le=65_536)] = 8192
    """Longest reply asked for, in tokens. Of one that is cut off there what is whole is kept, and the rest is
    asked for with twice the room."""
    deadline_s: Annotated[float, Limits(gt=0, le=1800)] = 120.0
    """Total time for one question, seconds."""
    idle_minutes: Annotated[int, Limits(ge=0, le=10_080)] = 60
    """A conversation that was written to less long ago is taken to be live and left alone, unless it says
    itself that it ended before, or you name it."""
    most_reclaimed: Annotated[int, Limits(ge=1, le=10_000)] = 20
    """More conversations than this, or more than five that are over half of all, are moved to the trash only
    after their number was typed."""
    trash_days: Annotated[int, Limits(ge=1, le=365)] = 7
    """How long the trash keeps a conversation whose knowledge was harvested."""


ChatProviderName = Literal["local", "anthropic", "openai", "gemini", "claude-code"]
"""Who may answer a prompt."""


@dataclass(frozen=True)
class ChatSettings(Settings):
    """Who answers a prompt that is sent (``send``, and ctrl+enter in the workbench)."""

    provider: ChatProviderName = acting("local", "sends prompts to a model when you send a message")
    """``local`` asks no model: it answers with the lines of the prompt that are nearest to the message. The
    others as ``gate.provider``."""
    model: str = acting("", "")
    """Model of the provider; empty: the provider's default for conversations."""
    base_url: str = acting("", "names the server of the model that answers")
    """As ``gate.base_url``; a server named here gets ``AUTOPOIESIS_CHAT_API_KEY``."""
    max_tokens: Annotated[int, Limits(ge=1, le=131_072)] = 4096
    """Longest reply asked for, in tokens."""
    deadline_s: Annotated[float, Limits(gt=0, le=3600)] = 300.0
    """Total time for a reply, retries included, seconds."""


_LONG_MINUTES = 60


@dataclass(frozen=True)
class CacheSettings(Settings):
    """What providers are told about keeping the stable prefix (``cache-friendly-context.md`` 5)."""

    anthropic: bool = True
    """Mark the prefix for Anthropic's cache."""
    anthropic_ttl: Literal["5m", "1h"] = acting("5m", "")
    """How long it is asked to stay after its last use; writing it for ``1h`` costs more."""
    gemini: bool = acting(True, "")
    """Keep the prefix in a cache of its own at Gemini, for which storage is charged while it stays."""
    gemini_ttl_minutes: Annotated[int, Limits(ge=1, le=10_080)] = acting(60, "")
    """How long such a cache stays; over 60 only with ``gemini_long``."""
    gemini_long: bool = acting(False, "")
    """Allow Gemini caches for more than an hour."""
    openai: bool = True
    """Send OpenAI a key that leads requests with the same prefix to the same cache."""

    @property
    def gemini_ttl_s(self) -> int:
        """How long Gemini's caches stay, seconds."""
        minutes = self.gemini_ttl_minutes
        return 60 * (minutes if self.gemini_long else min(minutes, _LONG_MINUTES))


@dataclass(frozen=True)
class CostSettings(Settings):
    """What calls of models may cost. Without a limit nothing is refused."""

    daily_usd: Annotated[float, Limits(ge=0)] = acting(0.0, "")
    """US dollars a day, UTC; 0: no limit. When they are spent, no paid call is made any more."""
    monthly_usd: Annotated[float, Limits(ge=0)] = acting(0.0, "")
    """The same for a calendar month."""
    warn_at: Annotated[float, Limits(ge=0, le=1)] = 0.8
    """Share of a limit from which it is said."""


@dataclass(frozen=True)
class CaptureSettings(Settings):
    """How sessions are written down."""

    redact: bool = acting(True, "writes keys and passwords that you type into transcripts")
    """Write ``[secret]`` in the place of what looks like a key or password. Off keeps what was said, in files
    that are then left out of commits."""


@dataclass(frozen=True)
class ImportSettings(Settings):
    """Where other agents keep their sessions."""

    claude_code_dir: str = acting("", "reads sessions of Claude Code from a folder that it names")
    """Claude Code's folder; empty: ``$CLAUDE_CONFIG_DIR`` or ``~/.claude``."""
    codex_dir: str = acting("", "reads sessions of Codex from a folder that it names")
    """Codex's folder; empty: ``$CODEX_HOME`` or ``~/.codex``."""
    gemini_dir: str = acting("", "reads sessions of Gemini CLI from a folder that it names")
    """Gemini CLI's folder; empty: ``~/.gemini``."""
    follow: tuple[Literal["claude-code", "codex"], ...] = acting(
        (), "takes your sessions with other agents into the workspace"
    )
    """Agents whose sessions the workbench, ``watch`` and ``serve`` take in: those there are, then each
    new turn."""

    def home(self, kind: Literal["claude-code", "codex", "gemini", "specstory"]) -> Path | None:
        """The folder of an agent; ``None`` for where it is by default."""
        folders = {"claude-code": self.claude_code_dir, "codex": self.codex_dir, "gemini": self.gemini_dir}
        folder = folders.get(kind)
        return Path(folder).expanduser() if folder else None


@dataclass(frozen=True)
class HookSettings(Settings):
    """What agents are told by their hooks (`autopoiesis install`)."""

    session_tokens: Annotated[int, Limits(ge=0, le=8_000)] = 2_000
    """The most that is said when a session starts: rules, who you are, the project, MEMORY.md; 0: nothing."""
    prompt_tokens: Annotated[int, Limits(ge=0, le=8_000)] = 1_500
    """The most that is said beside a message: playbooks, corrections, what was found; 0: nothing."""
    linger_minutes: Annotated[int, Limits(ge=0, le=1_440)] = 15
    """How long a process stays behind the last hook, where no workbench is open, so that the next prompt need
    not wait for the engine to be loaded; 0: not at all."""
    capture: bool = True
    """Take each turn of the session into the workspace when it ends, and commit it with the session."""


@dataclass(frozen=True)
class DaySettings(Settings):
    """Which day it is."""

    time_zone: str = ""
    """The zone whose days count, as ``Europe/Brussels`` or ``UTC``: what ``today``, ``yesterday`` and
    ``last week`` mean, which day a journal belongs to, and the times that screens show. Empty: the machine's.
    Transcripts keep UTC."""


@dataclass(frozen=True)
class Config(Settings):
    """The whole of memory-config.yaml."""

    context_compiler: CompilerSettings = CompilerSettings()
    search: SearchSettings = SearchSettings()
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
