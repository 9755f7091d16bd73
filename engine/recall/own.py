"""The model of what is worth telling: the one that ships, or one learned from the person's own past sessions.

Learning is a job. The own model is used only if it predicts the last third of the prompts better, after being
fitted on the first two thirds; the past then decides again, with all of it. What the person labelled counts
more than what came up later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy

from engine.errors import AutopoiesisError
from engine.recall.features import FEWEST_SESSIONS
from engine.recall.labels import Place
from engine.recall.model import Model, of_json, shipped, to_json
from engine.recall.passages import passage_of, place_of
from engine.recall.replay import MOST_PROMPTS, Played, prompts
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.recall.labels import LabelLog, Labels
    from engine.search.index import SearchIndex
    from engine.search.past import Past
    from engine.store.files import Files

PATH = "scratch/worth.json"
FEWEST_PROMPTS = 300
"""Prompts for which there was something to tell, from which it is worth learning."""
_FEWEST_USEFUL = 60
_FITTED_PART = 2 / 3
_PROMPTS_OF_SESSION = 12
LABEL_WEIGHT = 20.0
"""How many passages without a label one with a label counts: about all that compete beside a prompt."""
_MOST_PROMPTS = 4_000
"""The latest ones; more would not change the model."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Result of learning."""

    prompts: int  # for which there was something to tell
    shipped: float = 0.0  # average precision on the last third; 0 if there were too few prompts
    own: float = 0.0
    is_used: bool = False

    @property
    def said(self) -> str:
        """The result in one clause."""
        if not self.shipped and not self.own:
            return f"too few prompts to learn from: {self.prompts:,}, at least {FEWEST_PROMPTS} needed"
        which = "your own past is used" if self.is_used else "the model that ships is used"
        figures = f"average precision {self.own:.2f} learned, {self.shipped:.2f} as shipped"
        return f"{self.prompts:,} prompts: {figures}; {which}"


class OwnModel:
    """Reads and learns the model of a workspace. Thread-safe.

    Args:
        mode: ``hooks.past_sessions``.
    """

    def __init__(self, files: Files, mode: Callable[[], str], labels: LabelLog) -> None:
        self._files = files
        self._mode = mode
        self._labels = labels
        self._known: tuple[object, Model | None] = (None, None)

    def model(self) -> Model | None:
        """The model in use; ``None`` if nothing is to be told of past sessions."""
        return self.of_mode(self._mode())

    def of_mode(self, mode: str) -> Model | None:
        """The model that a value of ``hooks.past_sessions`` uses."""
        if mode == "off":
            return None
        return (self._own() if mode == "learned" else None) or shipped()

    def learn(self, index: SearchIndex, progress: Callable[[int, int], object]) -> Learned:
        """Fits a model to the past and keeps it if it is the better one.

        Raises:
            WriteFailed, ReadOnly: It could not be kept.
        """
        from engine.recall.fitting import fitted  # noqa: PLC0415 — imports scikit-learn

        played = list(_played(index, self._labels.read(), progress))
        useful = sum(int(each.useful.sum()) for each in played)
        if len(played) < FEWEST_PROMPTS or useful < _FEWEST_USEFUL:
            return Learned(len(played))
        cut = round(len(played) * _FITTED_PART)
        trial = fitted([played[:cut]], shipped().floor)
        if trial is None:
            return Learned(len(played))
        own, other = (_precision(model, played[cut:]) for model in (trial, shipped()))
        final = fitted([played], _same_share(shipped(), trial, played[cut:])) if own > other else None
        if final is not None:
            self._files.replace(PATH, to_json(replace(final, is_own=True)).encode())
        else:
            with contextlib.suppress(FileNotFoundError):
                self._files.remove(PATH)
        return Learned(len(played), other, own, final is not None)

    def _own(self) -> Model | None:
        with contextlib.suppress(OSError, AutopoiesisError):
            status = (self._files.workspace.root / PATH).stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._known[0] != stamp:
                self._known = (stamp, of_json(self._files.read(PATH)))
            return self._known[1]
        return None


def _played(index: SearchIndex, labels: Labels, progress: Callable[[int, int], object]) -> Iterator[Played]:
    """The prompts with something to tell, oldest first."""
    past = index.past()
    count = len(past.sessions)
    first = max(FEWEST_SESSIONS, count - _MOST_PROMPTS // _PROMPTS_OF_SESSION)
    for session in range(first, count):
        progress(session - first, count - first)
        most = MOST_PROMPTS if past.sessions[session].path in labels.sessions else _PROMPTS_OF_SESSION
        for number, each in enumerate(prompts(index, past, session, most)):
            labelled = labels.of_prompt(Place(past.sessions[session].path, each.line))
            if len(each.candidates.places) and (labelled or number < _PROMPTS_OF_SESSION):
                yield _judged(index, past, each, labelled) if labelled else each


def _judged(index: SearchIndex, past: Past, played: Played, labelled: dict[Place, bool]) -> Played:
    """A prompt with what the person said of its passages."""
    useful, weights = played.useful.copy(), played.weights.copy()
    for number, row in enumerate(played.candidates.places.tolist()):
        passage = passage_of(index, past, row)
        if passage is not None and (place := place_of(passage)) in labelled:
            useful[number], weights[number] = labelled[place], LABEL_WEIGHT
    return replace(played, useful=useful, weights=weights)


def _precision(model: Model, played: Sequence[Played]) -> float:
    """Average precision over all candidates."""
    from sklearn.metrics import average_precision_score  # noqa: PLC0415 — takes a second

    useful = numpy.concatenate([each.useful for each in played])
    worth = numpy.concatenate([model.worth(each.candidates.values) for each in played])
    weights = numpy.concatenate([each.weights for each in played])
    return float(average_precision_score(useful, worth, sample_weight=weights)) if useful.any() else 0.0


def _same_share(model: Model, other: Model, played: Sequence[Played]) -> float:
    """The floor at which another model tells something beside as many prompts as this one."""
    best = numpy.array([model.worth(each.candidates.values).max() for each in played])
    bests = numpy.sort([other.worth(each.candidates.values).max() for each in played])[::-1]
    told = int((best >= model.floor).sum())
    return round(float(bests[min(told, len(bests) - 1)]), 5)
