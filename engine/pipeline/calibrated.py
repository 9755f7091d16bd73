"""Creates tier 2 of the ``calibrated`` preset and the proofs of its scores. Imports numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.fusion.combiner import MINILM_WEIGHTS, Combiner
from engine.activation.fusion.fitted import texts_of
from engine.activation.fusion.headings import Headings
from engine.activation.fusion.proving import prove
from engine.activation.fusion.scorer import CalibratedScorer
from engine.activation.fusion.store import FitStore, fingerprint
from engine.activation.labelled import Labelled, LabelledMessages
from engine.activation.proof import Proofs
from engine.errors import EmbeddingFailed
from engine.meaning.vectors import TokenVectors

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.activation.fusion.fitted import Embedding
    from engine.activation.similarity import Scorer
    from engine.settings.model import WatcherSettings
    from engine.store.files import Files
    from engine.topics.model import Topic


def calibrated_scorer(settings: WatcherSettings, files: Files, decisions: DecisionLog) -> CalibratedScorer:
    """The scorer with the embedding of the settings; labels in the log count as examples.

    Raises:
        EmbeddingFailed: The embedding is not installed.
    """
    vectors, combiner = _meaning(settings)
    return CalibratedScorer(
        vectors=vectors,
        combiner=combiner,
        store=FitStore(files),
        labelled=LabelledMessages(decisions, files),
        headings=Headings(files),
    )


def prove_topics(topics: Sequence[Topic], log: DecisionLog, files: Files, settings: WatcherSettings) -> bool:
    """Updates what labels prove about topics' scores, if labels or topics have changed.

    Takes several fits of tier 2 if a topic has enough labels.

    Returns:
        Whether the proofs have changed; ``False`` if the embedding is not installed, which the next message
        reports.

    Raises:
        WriteFailed: The proofs were not stored.
    """
    if settings.preset == "spec" or settings.similarity_alone == "always" or files.read_only:
        return False
    proofs = Proofs(files, settings.embedding)
    labelled = LabelledMessages(log, files)()
    if not labelled and proofs.stamp() is None:
        return False
    try:
        vectors, combiner = _meaning(settings)
    except EmbeddingFailed:
        return False
    read = Headings(files)
    headings = read(topics)
    texts = [texts_of(topic, labelled.get(topic.name), headings.get(topic.name, ())) for topic in topics]
    matched = sorted((name, *of.matched) for name, of in labelled.items())
    made_from = fingerprint(texts, f"{vectors.version} {combiner.version} {matched}")
    if made_from == proofs.made_from():
        return False

    def fitted(some: Mapping[str, Labelled]) -> Scorer:
        scorer = CalibratedScorer(vectors=vectors, combiner=combiner, labelled=lambda: some, headings=read)
        scorer.update(topics)
        return scorer

    before, after = proofs(topics), prove(topics, labelled, fitted)
    proofs.save(made_from, topics, after)
    return before != after


def _meaning(settings: WatcherSettings) -> tuple[Embedding, Combiner]:
    """The vectors and weights of tier 2 for the settings."""
    if settings.embedding != "minilm":
        return TokenVectors(), Combiner.load()
    from engine.activation.fusion.minilm import JoinedVectors  # noqa: PLC0415 — an extra

    return JoinedVectors(), Combiner.load(MINILM_WEIGHTS)
