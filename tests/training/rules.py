"""Fits the model that tells rules from other sentences (``engine.rules.judge``).

    python -m tests.training.rules [--out FILE] [SENTENCES.jsonl …]

A line is ``{"text": …, "label": "standing" | "once" | "other"}``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.rules.judge import DATA, KINDS, features

SENTENCES = Path(__file__).parent / "rules.jsonl"
_STRENGTH = 1.0
"""Inverse of the regularization, as in scikit-learn."""
_LEAST_SEEN = 3
"""Sentences with a feature below which it is left out."""
_LEAST_WEIGHT = 0.03


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
    learned = {
        name: [round(float(model.coef_[kind][place]), 3) for kind in range(len(KINDS))]
        for name, place in table.vocabulary_.items()
    }
    kept = {name: found for name, found in sorted(learned.items()) if max(map(abs, found)) >= _LEAST_WEIGHT}
    return {"weights": kept, "base": [round(float(each), 3) for each in model.intercept_]}


def read(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """The sentences and labels of some files."""
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [(row["text"], row["label"]) for row in map(json.loads, lines)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sentences", nargs="*", type=Path, default=[SENTENCES])
    parser.add_argument("--out", type=Path, default=DATA)
    asked = parser.parse_args()
    rows = read(asked.sentences)
    asked.out.write_text(
        json.dumps(fitted(rows), ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )
    print(f"{len(rows)} sentences")


if __name__ == "__main__":
    main()
