"""The model of what is worth telling: the one that ships, or one learned from the person's own past sessions.

Learning is a job, and a part of imports. The own model is used only if it predicts the last third of the
prompts better, after being fitted on the first two thirds; the past then decides again, with all of it. What
the person labelled counts more than what came up later. The past also decides how sure the model has to be:
people differ much in how often earlier sessions help.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy

from engine.errors import AutopoiesisError
from engine.recall.features import FEWEST_SESSIONS, MANY_SESSIONS
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
FLOORS = (0.085, 0.12, 0.17, 0.24, 0.34, 0.48)
"""Probabilities from which a passage may be told, as ``Model.floor``."""
_COMES_UP = 0.2
"""Share of the prompts told something after which it has to come up."""
_DOUBTED = 5
"""Prompts told something in vain that are added to those counted, since a few may be chance."""
_MOST_PROMPTS = 4_000
"""The latest ones; more would not change the model."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Result of learning."""

    prompts: int  # for which there was something to tell
    shipped: float = 0.0  # average precision on the last third; 0 if there were too few prompts
    own: float = 0.0
    is_used: bool = False
    floor: float = 0.0  # of the model in use; 0 if the past cannot tell

    @property
    def said(self) -> str:
        """The result in one clause."""
        floor = f"; what is told has to be worth {self.floor:g}" if self.floor else ""
        if not self.shipped and not self.own:
            few = f"too few prompts to learn from: {self.prompts:,}, at least {FEWEST_PROMPTS} needed"
            return f"{few}{floor}"
        which = "your own past is used" if self.is_used else "the model that ships is used"
        figures = f"average precision {self.own:.2f} learned, {self.shipped:.2f} as shipped"
        return f"{self.prompts:,} prompts: {figures}; {which}{floor}"


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
        """Fits a model to the past, keeps it if it is the better one, and decides from which worth it tells.

        Raises:
            WriteFailed, ReadOnly: It could not be kept.
        """
        from engine.recall.fitting import fitted  # noqa: PLC0415 — imports scikit-learn

        played = list(_played(index, self._labels.read(), progress))
        model, judge, unseen = shipped(), shipped(), played
        own = other = 0.0
        if len(played) >= FEWEST_PROMPTS and sum(int(each.useful.sum()) for each in played) >= _FEWEST_USEFUL:
            cut = round(len(played) * _FITTED_PART)
            trial = fitted([played[:cut]], model.floor)
            if trial is not None:
                own, other = (_precision(each, played[cut:]) for each in (trial, model))
            final = fitted([played], model.floor, is_own=True) if own > other else None
            if trial is not None and final is not None:
                model, judge, unseen = final, trial, played[cut:]
        floor = _floor(judge, unseen)
        if floor or model.is_own:
            self._files.replace(PATH, to_json(replace(model, floor=floor or model.floor)).encode())
        else:
            with contextlib.suppress(FileNotFoundError):
                self._files.remove(PATH)
        return Learned(len(played), other, own, model.is_own, floor)

    def _own(self) -> Model | None:
        with contextlib.suppress(OSError, AutopoiesisError):
            status = (self._files.workspace.root / PATH).stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._known[0] != stamp:
                found = of_json(self._files.read(PATH))
                if found is not None and not found.is_own:
                    found = replace(shipped(), floor=found.floor)
                self._known = (stamp, found)
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


def _floor(model: Model, played: Sequence[Played]) -> float:
    """The lowest floor at which enough of what is told comes up later, or else the highest; 0 if nothing can
    be told.
    """
    told = [each for each in played if each.candidates.sessions >= MANY_SESSIONS]
    worth = [model.worth(each.candidates.values) for each in told]
    best = numpy.array([each.max() for each in worth])
    useful = numpy.array([each.useful[place.argmax()] for each, place in zip(told, worth, strict=True)])
    for floor in FLOORS if told else ():
        if useful[best >= floor].sum() >= _COMES_UP * ((best >= floor).sum() + _DOUBTED):
            return floor
    return FLOORS[-1] if told else 0.0
