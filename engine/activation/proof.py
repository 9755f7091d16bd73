"""What this workspace's own labels prove of tier 2: whether a score may decide about a topic by itself.

A score without a trigger hit is a guess that sounds the same for every topic and every workspace. So it
activates nothing until it was right on messages that people labelled: those on which no trigger fired, each
scored by a tier 2 that was fitted without it. Enough is ``LEAST_LABELS`` right ones at or above the topic's
threshold, and a share of right ones that is ``LEAST_PRECISION`` or more with nine chances in ten: 8 of 8, 14
of 15. A topic that labels speak against loses it again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.numbers import limit
from engine.errors import AutopoiesisError
from engine.records import dataclass

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.topics.model import Topic

PROOFS_PATH = "scratch/proofs.json"
LEAST_LABELS = 8
"""Right activations that must be held out; before as many messages are labelled useful none is tried."""
LEAST_PRECISION = 0.8
"""Share of right ones among a topic's activations by score alone."""

_QUANTILE = 1.2816
"""Of the normal distribution: nine in ten lie below it."""
_FORM = 1
_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Standing:
    """How a topic's scores stand at a threshold."""

    useful: int = 0  # messages without a trigger hit that a person labelled useful
    fired: int = 0  # held-out labelled messages whose score reaches the threshold
    right: int = 0  # those of them for which the topic was useful

    @property
    def proven(self) -> bool:
        """Whether a score from the threshold on may activate the topic by itself."""
        return self.right >= LEAST_LABELS and lower_bound(self.right, self.fired) >= LEAST_PRECISION

    def __str__(self) -> str:
        """``3 of 8 labels``, ``right for 9 of 14 labels``."""
        if self.useful < LEAST_LABELS:
            return f"{self.useful} of {LEAST_LABELS} labels"
        told = f"right for {self.right} of {self.fired} labels"
        if self.proven or not self.fired or self.right / self.fired < LEAST_PRECISION:
            return told
        return f"{told}, too few to be sure of {limit(LEAST_PRECISION)}"


@dataclass(frozen=True, slots=True)
class Proof:
    """What labels say of a topic's scores without a trigger hit."""

    useful: int = 0  # messages without a trigger hit that a person labelled useful
    held: tuple[tuple[float, bool], ...] = ()
    """Per labelled message its score by a tier 2 that did not know it, and whether the topic was useful;
    empty where there are too few labels to try."""

    def at(self, threshold: float) -> Standing:
        """How the scores stand that reach a threshold."""
        fired = [useful for score, useful in self.held if score >= threshold]
        return Standing(self.useful, len(fired), sum(fired))


NO_PROOF = Proof()


@dataclass(frozen=True, slots=True)
class Alone:
    """What a score may do for a topic none of whose triggers fired."""

    nominates: bool = True  # it may do anything at all
    asks: bool = True  # it may put the topic to the gate
    activates: bool = True  # it may activate the topic without the gate
    standing: Standing | None = None  # what labels say of that, where they decide it


FREELY = Alone()
"""What it may do where the settings say so."""
NOTHING = Alone(nominates=False, asks=False, activates=False)
"""What it may do for the agent's own output."""


def lower_bound(right: int, of: int) -> float:
    """The share that is exceeded with nine chances in ten (Wilson's bound), 0 to 1."""
    if not of:
        return 0.0
    share, square = right / of, _QUANTILE**2
    spread = _QUANTILE * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return (share + square / (2 * of) - spread) / (1 + square / of)


class Proofs:
    """Keeps them in ``scratch/``, so that no message waits for them; safe to use from several threads.

    Args:
        embedding: The setting ``watchers.embedding``: what other vectors prove counts for nothing.
    """

    def __init__(self, files: Files, embedding: str) -> None:
        self._files = files
        self.embedding = embedding
        self._path = files.workspace.root / PROOFS_PATH
        self._stamp: tuple[int, int, int] | None = None
        self._kept: Mapping[str, tuple[str, Proof]] = {}

    def stamp(self) -> tuple[int, int, int] | None:
        """Another value when the file has changed; ``None`` where there is none."""
        try:
            found = self._path.lstat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def __call__(self, topics: Sequence[Topic]) -> dict[str, Proof]:
        """What is proven of topics, by name; of one whose own texts have changed since, nothing."""
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
        """The fingerprint of the labels and topics that were tried last; empty where none were."""
        return self._read()[0]

    def save(self, made_from: str, topics: Sequence[Topic], proofs: Mapping[str, Proof]) -> None:
        """Keeps proofs.

        Args:
            made_from: Names what they were made from.

        Raises:
            WriteFailed, ReadOnly: They did not reach the disk.
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
        """What was made from what; nothing where there is no file, or it is damaged."""
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
    """sha256 over what a topic's own file says of what it is for."""
    whole = "\0".join((topic.name, topic.title, topic.description, topic.instructions, *topic.examples))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
