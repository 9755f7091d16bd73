"""Fits the model that tells rules from other sentences (``engine.rules.judge``).

    python -m tests.training.rules [--onto MODEL.json] [--out FILE] [SENTENCES.jsonl …]

A line is ``{"text": …, "label": "standing" | "once" | "other"}``. ``--onto`` teaches a model more sentences:
its weights stay near what they are, and it judges the sentences of ``rules.jsonl`` as before. So a model that
was also fitted on text that is not part of the repository keeps what it learnt from it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.rules.judge import DATA, KINDS, features

SENTENCES = Path(__file__).parent / "rules.jsonl"
ELSEWHERE = Path(__file__).parent / "rules-elsewhere.jsonl"
"""Sentences in other languages than English."""
_STRENGTH = 1.0
"""Inverse of the regularization, as in scikit-learn."""
_LEAST_SEEN = 3
"""Sentences with a feature below which it is left out."""
_LEAST_WEIGHT = 0.03
_TAUGHT, _NO_RULE = 3.0, 3.0
"""What a sentence counts in ``taught``, and how much more one that is no rule, which does harm as one."""
_LEAST_TAUGHT, _COMMON = 2, 10
"""Sentences with a feature below which ``taught`` leaves it out, and English ones from which it keeps its
weight: what English text has too would change how that is judged.
"""


def fitted(rows: Sequence[tuple[str, str]], weights: Sequence[float] | None = None) -> dict[str, object]:
    """The model of some sentences and their labels, as in ``judge.json``."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    found = [features(text) for text, _ in rows]
    seen = Counter(name for each in found for name in each)
    table = DictVectorizer()
    values = table.fit_transform(
        [{k: v for k, v in each.items() if seen[k] >= _LEAST_SEEN} for each in found]
    )
    model = LogisticRegression(C=_STRENGTH, max_iter=2_000)
    model.fit(values, [KINDS.index(label) for _, label in rows], sample_weight=weights)
    learned = {name: model.coef_[:, place] for name, place in table.vocabulary_.items()}
    return {"weights": _rounded(learned), "base": [round(float(each), 3) for each in model.intercept_]}


def taught(
    rows: Sequence[tuple[str, str]], kept: Sequence[str], model: Mapping[str, Any]
) -> dict[str, object]:
    """A model after some sentences and their labels; it judges the sentences ``kept`` as before."""
    import numpy
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    old, bases = model["weights"], model["base"]
    found = [features(text) for text in (*(text for text, _ in rows), *kept)]
    seen = Counter(name for each in found[: len(rows)] for name in each)
    english = Counter(
        n for text, each in zip(kept, found[len(rows) :], strict=True) if text.isascii() for n in each
    )
    names = sorted(
        name
        for name, count in seen.items()
        if (count >= _LEAST_TAUGHT or name in old) and english[name] < _COMMON
    )
    places = {name: place for place, name in enumerate(names)}
    cells = [(row, places[n], v) for row, each in enumerate(found) for n, v in each.items() if n in places]
    row, column, value = zip(*cells, strict=True)
    table = csr_matrix((value, (row, column)), shape=(len(found), len(names)))
    nothing = (0.0,) * len(KINDS)
    before = numpy.array(
        [
            [
                base + sum(old.get(n, nothing)[kind] * v for n, v in each.items())
                for kind, base in enumerate(bases)
            ]
            for each in found
        ]
    )

    def chances(scores: Any) -> Any:
        raised = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    wanted = chances(before)
    wanted[: len(rows)] = numpy.eye(len(KINDS))[[KINDS.index(label) for _, label in rows]]
    counts = numpy.ones((len(found), 1))
    counts[: len(rows), 0] = [_TAUGHT * (1 if label == KINDS[0] else _NO_RULE) for _, label in rows]

    def loss(flat: Any) -> tuple[float, Any]:
        more = flat.reshape(len(names), len(KINDS))
        now = chances(before + table @ more)
        value = (more * more).sum() / 2 - (counts * wanted * numpy.log(now + 1e-300)).sum()
        return value, (table.T @ (counts * (now - wanted)) + more).ravel()

    more = minimize(loss, numpy.zeros(len(names) * len(KINDS)), jac=True, method="L-BFGS-B").x
    learned = more.reshape(len(names), len(KINDS))
    changed = {
        n: [a + b for a, b in zip(old.get(n, nothing), learned[places[n]], strict=True)] for n in names
    }
    return {"weights": _rounded({**old, **changed}), "base": bases}


def _rounded(weights: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """The weights that are not too small, sorted by feature."""
    return {
        name: [round(float(each), 3) for each in found]
        for name, found in sorted(weights.items())
        if max(map(abs, found)) >= _LEAST_WEIGHT
    }


def read(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """The sentences and labels of some files."""
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [(row["text"], row["label"]) for row in map(json.loads, lines)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sentences", nargs="*", type=Path)
    parser.add_argument("--onto", type=Path)
    parser.add_argument("--out", type=Path, default=DATA)
    asked = parser.parse_args()
    if asked.onto is None:
        rows = read(asked.sentences or [SENTENCES, ELSEWHERE])
        model = fitted(rows)
    else:
        rows = read(asked.sentences or [ELSEWHERE])
        kept = [text for text, _ in read([SENTENCES])]
        model = taught(rows, kept, json.loads(asked.onto.read_bytes()))
    asked.out.write_text(json.dumps(model, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    print(f"{len(rows)} sentences")


if __name__ == "__main__":
    main()
