"""Whether a tier-2 score alone may activate a topic, judged by the workspace's own labels.

A score without a trigger hit is a guess, calibrated on no workspace in particular. It therefore activates
nothing until it has been right on labelled messages on which no trigger fired, each scored by a tier 2 that
was fitted without that message. The proof takes ``LEAST_LABELS`` right activations at or above the topic's
threshold, and a precision of at least ``LEAST_PRECISION`` with 90 % confidence: 8 of 8, or 14 of 15. Labels
to the contrary revoke it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.numbers import format_threshold
from engine.errors import AutopoiesisError
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.topics.model import Topic

PROOFS_PATH = "scratch/proofs.json"
LEAST_LABELS = 8
"""Right held-out activations needed; nothing is tried before as many messages are labelled useful."""
LEAST_PRECISION = 0.8
"""Share of a topic's activations by score alone that must be right."""

_QUANTILE = 1.2816
"""90 % quantile of the normal distribution."""
_FORM = 1
_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProofStatus:
    """How far labels prove a topic's scores at a threshold."""

    useful: int = 0  # messages without a trigger hit that a person labelled useful
    fired: int = 0  # held-out labelled messages whose score reaches the threshold
    right: int = 0  # those of them for which the topic was useful

    @property
    def proven(self) -> bool:
        """Whether a score at or above the threshold alone may activate the topic."""
        return self.right >= LEAST_LABELS and lower_bound(self.right, self.fired) >= LEAST_PRECISION

    def __str__(self) -> str:
        """``3 of 8 labels``, ``right for 9 of 14 labels``."""
        if self.useful < LEAST_LABELS:
            return f"{self.useful} of {LEAST_LABELS} labels"
        text = f"right for {self.right} of {self.fired} labels"
        if self.proven or not self.fired or self.right / self.fired < LEAST_PRECISION:
            return text
        return f"{text}, too few to be sure of {format_threshold(LEAST_PRECISION)}"


@dataclass(frozen=True, slots=True)
class Proof:
    """What labels say about a topic's scores without a trigger hit."""

    useful: int = 0  # messages without a trigger hit that a person labelled useful
    held: tuple[tuple[float, bool], ...] = ()
    """For each labelled message its held-out score, and whether the topic was useful; empty with too few
    labels."""

    def status(self, threshold: float) -> ProofStatus:
        """The proof for scores at or above a threshold."""
        fired = [useful for score, useful in self.held if score >= threshold]
        return ProofStatus(self.useful, len(fired), sum(fired))


NO_PROOF = Proof()


@dataclass(frozen=True, slots=True)
class SimilarityAlone:
    """What a score alone may do for a topic none of whose triggers fired."""

    nominates: bool = True  # it may have any effect
    asks: bool = True  # it may have the gate asked
    activates: bool = True  # it may activate the topic without the gate
    status: ProofStatus | None = None  # what labels prove, where that decides


UNRESTRICTED = SimilarityAlone()
NO_EFFECT = SimilarityAlone(nominates=False, asks=False, activates=False)
"""For the agent's own output."""


def lower_bound(right: int, of: int) -> float:
    """Wilson's lower bound of a share at 90 % confidence, 0 to 1."""
    if not of:
        return 0.0
    share, square = right / of, _QUANTILE**2
    spread = _QUANTILE * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return (share + square / (2 * of) - spread) / (1 + square / of)


class Proofs:
    """Proofs stored under ``scratch/``, so that no message waits for them. Thread-safe.

    Args:
        embedding: The setting ``watchers.embedding``; proofs made with other vectors are ignored.
    """

    def __init__(self, files: Files, embedding: str) -> None:
        self._files = files
        self.embedding = embedding
        self._path = files.workspace.root / PROOFS_PATH
        self._stamp: tuple[int, int, int] | None = None
        self._kept: Mapping[str, tuple[str, Proof]] = {}

    def stamp(self) -> tuple[int, int, int] | None:
        """Changes whenever the file does; ``None`` without a file."""
        try:
            found = self._path.lstat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def __call__(self, topics: Sequence[Topic]) -> dict[str, Proof]:
        """The proofs of topics whose own texts are unchanged since, by name."""
        stamp = self.stamp()
        if stamp != self._stamp:
            self._kept, self._stamp = self._read()[1] if stamp is not None else {}, stamp
        kept = self._kept
        return {
            topic.name: kept[topic.name][1]
            for topic in topics
            if topic.name in kept and kept[topic.name][0] == _digest(topic)
        }

    def made_from(self) -> str:
        """The fingerprint of the labels and topics that were last tried; empty if none were."""
        return self._read()[0]

    def save(self, made_from: str, topics: Sequence[Topic], proofs: Mapping[str, Proof]) -> None:
        """Stores proofs with the fingerprint of what they were made from.

        Raises:
            WriteFailed, ReadOnly: They were not stored.
        """
        tree = {
            "form": _FORM,
            "embedding": self.embedding,
            "from": made_from,
            "topics": {
                topic.name: {
                    "own": _digest(topic),
                    "useful": proofs[topic.name].useful,
                    "held": [[round(score, 6), useful] for score, useful in proofs[topic.name].held],
                }
                for topic in topics
                if topic.name in proofs
            },
        }
        self._files.replace(PROOFS_PATH, json.dumps(tree).encode())

    def _read(self) -> tuple[str, Mapping[str, tuple[str, Proof]]]:
        """The fingerprint and the proofs; empty if the file is missing or damaged."""
        try:
            tree = json.loads(self._files.read(PROOFS_PATH, limit=_LIMIT))
            if tree["form"] != _FORM or tree["embedding"] != self.embedding:
                return "", {}
            return str(tree["from"]), {
                name: (
                    str(of["own"]),
                    Proof(
                        int(of["useful"]),
                        tuple((float(score), useful is True) for score, useful in of["held"]),
                    ),
                )
                for name, of in tree["topics"].items()
            }
        except (OSError, AutopoiesisError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return "", {}


def _digest(topic: Topic) -> str:
    whole = "\0".join((topic.name, topic.title, topic.description, topic.instructions, *topic.examples))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
