"""Generates the data files of tier 2.

    python -m tests.training --data DIR --wordnet DIR --cache DIR --out DIR

``--data`` contains clinc150.json, banking77.json and nlupp.json. The combiner must learn how vectors behave
on topics they were not tuned to, so half of the synthetic workspaces of a set use vectors tuned only to the
other sets; the other half use the shipped vectors, which are tuned to all three. The similarity of a topic's
own examples tells the combiner which of the two it has. ``--without SET`` excludes a set from everything, to
measure how well the rest generalises to it. Vectors already in ``--out`` and ``--cache`` are reused.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from engine.activation.fusion.fitted import Embedding
from engine.meaning.minilm import SHARE
from engine.meaning.vectors import TokenVectors
from tests.training import network, sentences, vectors
from tests.training.sets import SETS, ActivationSet, read_sets
from tests.training.workspaces import SHARES, Lessons, lessons, workspaces

VERSION = "2"
WORKSPACES = 400
GENERIC = 40_000
"""Number of generic sentences whose distances are preserved while the vectors are tuned."""
FAMILIES = (("clinc150",), ("banking77", "nlupp"))
"""Sets with the same kind of topics: vectors tuned to one of them are also tuned to the other."""


class _Joined:
    """Like ``minilm.JoinedVectors``, but reuses vectors the teacher has already computed."""

    version = "training"

    def __init__(self, shipped: TokenVectors, lesson: vectors.Lesson, teacher: Any) -> None:
        self._shipped, self._teacher = shipped, teacher
        self._known = dict(zip(lesson.texts, lesson.aims, strict=True))
        self.dimensions = lesson.aims.shape[1] + shipped.dimensions

    def embed(self, texts: Sequence[str]) -> vectors.Floats:
        if not texts:
            return numpy.zeros((0, self.dimensions), dtype=numpy.float32)
        unknown = [text for text in dict.fromkeys(texts) if text not in self._known]
        if unknown:
            found = self._teacher.encode(unknown, normalize_embeddings=True, show_progress_bar=False)
            self._known.update(zip(unknown, found, strict=True))
        teacher = numpy.stack([self._known[text] for text in texts])
        joined = [teacher * SHARE**0.5, self._shipped.embed(texts) * (1 - SHARE) ** 0.5]
        return numpy.hstack(joined).astype(numpy.float32)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the whole generation; it takes an hour on two cores, most of it in the teacher."""
    parser = argparse.ArgumentParser(prog="python -m tests.training", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without", choices=SETS, action="append", default=[])
    given = parser.parse_args(arguments)
    given.cache.mkdir(parents=True, exist_ok=True)
    sets = {name: each for name, each in read_sets(given.data).items() if name not in given.without}
    teacher = vectors.load_teacher()
    pieces = vectors.pieces_of(teacher)
    generic = sentences.wordnet_texts(given.wordnet)
    messages = [text for each in sets.values() for text in each.messages]
    generic += sentences.docstring_texts()
    generic += sentences.recombined_texts(list(sets.values()), given.wordnet)
    lesson = vectors.embed_texts(teacher, list(dict.fromkeys([*messages, *generic])), given.cache)
    alone = vectors.embed_texts(teacher, [piece.removeprefix("##") for piece in pieces], given.cache)
    student: list[vectors.Student] = []

    def tuned(folder: Path, to: Sequence[ActivationSet]) -> TokenVectors:
        if not (folder / "vectors.npy").is_file():
            if not student:
                student.append(vectors.distill(pieces, alone, lesson))
                _report("distilled")
            vectors.write(vectors.tune(student[0], to, generic[:GENERIC]) if to else student[0], folder)
            _report(f"tuned to {', '.join(each.name for each in to) or 'nothing'}")
        return TokenVectors(folder)

    final = tuned(given.out, list(sets.values()))
    learned, joined = [], []
    for family in FAMILIES:
        if any(name in sets for name in family):
            others = [each for name, each in sets.items() if name not in family]
            strange = tuned(given.cache / f"to-{'-'.join(each.name for each in others)}", others)
            for seed, shipped in enumerate((strange, final)):
                learned += _lessons(sets, family, generic, shipped, seed)
                joined += _lessons(sets, family, generic, _Joined(shipped, lesson, teacher), seed)
    for name, what in (("combiner.json", learned), ("combiner-minilm.json", joined)):
        tree = {"version": VERSION, "from": sorted(sets), **network.fit_network(what)}
        (given.out / name).write_text(json.dumps(tree, separators=(",", ":")) + "\n", "utf-8")
        _report(name)


def _lessons(
    sets: Mapping[str, ActivationSet],
    family: Sequence[str],
    generic: Sequence[str],
    embedding: Embedding,
    seed: int,
) -> list[Lessons]:
    """The combiner's inputs for synthetic workspaces from some of the sets."""
    share = sum(SHARES[name] for name in family if name in sets) / sum(SHARES[name] for name in sets)
    order = numpy.random.RandomState(seed)
    made = workspaces(sets, family, generic, round(WORKSPACES * share / 2), seed=10 * len(family) + seed)
    return [lessons(workspace, embedding, order) for workspace in made]


def _report(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
