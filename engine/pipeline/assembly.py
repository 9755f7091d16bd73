"""Creates matcher, scorer and gate from the settings.

The activation package only knows providers as a protocol; this module connects the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from engine.activation.decisions import DecisionLog
from engine.activation.gate import (
    AgentGate,
    Asker,
    AskGate,
    Gate,
    GateCache,
    GateProvider,
    LocalGate,
    ModelGate,
)
from engine.activation.patterns import PatternMatcher
from engine.activation.pipeline import WatcherPipeline
from engine.activation.similarity import Scorer, TfidfScorer
from engine.errors import EmbeddingFailed, GateError
from engine.settings.model import Config, GateSettings, SearchSettings, WatcherSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.topics.library import TopicLibrary

if TYPE_CHECKING:
    from engine.costs.costs import Costs
    from engine.search.embeddings import Embedder
    from engine.search.index import SearchIndex


def assemble_pipeline(
    library: TopicLibrary,
    files: Files,
    config: Config,
    *,
    decisions: DecisionLog,
    asker: Asker,
    patient: bool = True,
    costs: Callable[[], Costs],
) -> WatcherPipeline:
    """The pipeline for the settings.

    Args:
        patient: Whether a message may wait for tier 2 to be fitted, which takes seconds.
        costs: Records the costs of the gate.

    Raises:
        GateError: The provider cannot be used, e.g. without a key.
    """
    return WatcherPipeline(
        lambda: library.topics,
        PatternMatcher(settings=config.watchers),
        scorer_for(config.watchers, files, decisions, patient=patient),
        Gate(gate_provider(config.gate, files, asker, costs=costs), config.gate, GateCache(files)),
        config.watchers,
        config.gate,
        decisions,
    )


def scorer_for(
    settings: WatcherSettings, files: Files, decisions: DecisionLog, *, patient: bool = True
) -> Scorer:
    """Tier 2 of the preset; labels in the log count as examples."""
    if settings.preset == "spec":
        return TfidfScorer()
    from engine.pipeline.calibrated import calibrated_scorer  # noqa: PLC0415 — imports numpy

    return calibrated_scorer(settings, files, decisions, patient=patient)


def gate_provider(
    settings: GateSettings, files: Files, asker: Asker, *, costs: Callable[[], Costs] | None = None
) -> GateProvider:
    """The provider of the gate."""
    match settings.provider:
        case "ask":
            return AskGate(asker)
        case "agent":
            return AgentGate()
        case "local":
            return LocalGate()
    from engine.providers.select import completer_for  # noqa: PLC0415 — for a question only

    completer = completer_for(settings)
    if completer is None:
        raise GateError(f"unknown gate provider {settings.provider}", where="gate.provider")
    spending = None if costs is None else costs().account("gate", completer, GateError)
    return ModelGate(completer, max_tokens=settings.max_tokens, spending=spending)


def assemble_index(
    workspace: Workspace,
    files: Files,
    settings: SearchSettings,
    *,
    url: str = "",
    references: Callable[[], Mapping[str, int]] = dict,
    zone: str = "",
    costs: Callable[[], Costs] | None = None,
) -> SearchIndex:
    """The search index with the embedding model of the settings, or with words alone if it is not installed.

    Args:
        url: As ``index.url`` in the settings.
        references: Number of useful references by path, for ranking.
        zone: The time zone of days.
        costs: Records the costs of a service.
    """
    from engine.search.index import SearchIndex  # noqa: PLC0415 — a trace needs no index

    embedder, reason = None, ""
    try:
        embedder = embedder_for(settings, costs)
    except EmbeddingFailed as error:
        reason = str(error)
    return SearchIndex(
        workspace,
        files,
        settings,
        embedder,
        without_vectors=reason,
        url=url,
        references=references,
        zone=zone,
        read_only=files.read_only,
    )


def embedder_for(settings: SearchSettings, costs: Callable[[], Costs] | None = None) -> Embedder:
    """The embedding model of search; nothing is loaded or connected yet."""
    from engine.search import embeddings  # noqa: PLC0415 — a trace needs no index

    match settings.embedding:
        case "openai":
            from engine.providers.embeddings import OpenAIEmbedder  # noqa: PLC0415 — only for this setting

            embedder = OpenAIEmbedder(
                settings.embedding_model,
                settings.embedding_dimensions,
                settings.embedding_base_url,
                deadline_s=settings.embedding_deadline_s,
            )
            if costs is not None:
                embedder.spending = costs().account("embedding", embedder, EmbeddingFailed)
            return embedder
        case "local":
            return embeddings.LocalEmbedder()
