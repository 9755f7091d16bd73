"""A topic's labelled decisions to fit thresholds to, in folds that share no message (spec 5.5)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.tuning.table import DecisionTable

    Numbers = NDArray[np.float64]
    Truths = NDArray[np.bool_]

Kind = Literal["both", "noise", "useful"]


@dataclass(frozen=True, slots=True)
class Samples:
    """Labelled decisions of one topic, by match and score."""

    scores: Numbers  # the deciding score; −∞ if no threshold activates it, ∞ if none keeps it out
    useful: Truths  # noise otherwise
    yes: Numbers  # the probability that the gate says yes, 0 to 1
    answered: Truths  # whether the gate gave an answer
    matched: Truths  # whether a trigger had fired
    messages: NDArray[np.object_]  # sha256

    @classmethod
    def of(cls, table: DecisionTable, topic: str) -> Samples:
        rows, scores = table.rows(topic), table.moved_scores(topic)
        matched = np.zeros(rows.size, dtype=bool)
        for part in table.segments(topic):
            if part.matched:
                matched[rows.size - (part.end - part.start) :] = True
        labelled = table.labels[rows] >= 0
        chosen = rows[labelled]
        return cls(
            scores=scores[labelled],
            useful=table.labels[chosen] == 1,
            yes=table.yes_of(topic)[labelled],
            answered=table.answers[chosen] >= 0,
            matched=matched[labelled],
            messages=np.array([table.decision(row).message_hash for row in chosen.tolist()], dtype=object),
        )

    def __len__(self) -> int:
        return int(self.scores.size)

    @property
    def moved(self) -> Truths:
        """Those that thresholds decide about."""
        return np.isfinite(self.scores)

    @property
    def kind(self) -> Kind:
        """The kinds of labels among those that thresholds decide about."""
        useful = self.useful[self.moved]
        return "noise" if not useful.any() else "useful" if useful.all() else "both"

    def where(self, chosen: Truths) -> Samples:
        return Samples(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def messages_of(self, *, useful: bool) -> int:
        """Number of different useful (or noise) messages that thresholds decide about."""
        return len(set(self.messages[self.moved & (self.useful == useful)]))

    def folds(self, count: int) -> list[Truths]:
        """Splits them into ``count`` ≥ 2 folds: equal messages together, useful ones and noise evenly.

        The folds depend only on the messages, dealt out in the order of their sha256. With few messages some
        may be empty.
        """
        kinds: dict[str, int] = {}
        for name, useful in zip(self.messages, self.useful.tolist(), strict=True):
            kinds[name] = kinds.get(name, 0) | (2 if useful else 1)
        dealt = {name: place % count for place, name in enumerate(sorted(kinds, key=lambda n: (kinds[n], n)))}
        part = np.array([dealt[name] for name in self.messages], dtype=np.intp)
        return [part == number for number in range(count)]
