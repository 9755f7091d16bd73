"""Generates the static vectors of ``engine/meaning/data``.

    python -m tests.training --data DIR --wordnet DIR --cache DIR --out DIR

``--data`` contains clinc150.json, banking77.json and nlupp.json. ``--without SET`` excludes a set, to measure
how well the rest generalises to it. Vectors already in ``--out`` and ``--cache`` are reused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.training import sentences, vectors
from tests.training.sets import SETS, read_sets

GENERIC = 40_000
"""Number of generic sentences whose distances are preserved while the vectors are tuned."""


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
    if not (given.out / "vectors.npy").is_file():
        student = vectors.distill(pieces, alone, lesson)
        _report("distilled")
        to = list(sets.values())
        vectors.write(vectors.tune(student, to, generic[:GENERIC]) if to else student, given.out)
        _report(f"tuned to {', '.join(each.name for each in to) or 'nothing'}")


def _report(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
