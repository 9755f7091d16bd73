"""Fits a judge of sentences: ``engine.rules.judge`` or ``engine.lifecycle.recaps.replies``.

    python -m tests.training.judges rules|replies [--out FILE] [SENTENCES.jsonl …]

A line is ``{"text": …, "label": …}`` with one of the judge's kinds; a reply's sentence that is an item of a
list has ``"item": true``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.lifecycle.recaps import replies
from engine.meaning.wording import SentenceModel
from engine.rules import judge

_LEAST_SEEN = 3
"""Sentences with a feature below which it is left out."""
_LEAST_WEIGHT = 0.03

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Judge:
    """What is fitted."""

    sentences: Path
    model: SentenceModel
    kinds: Sequence[str]
    features: Callable[[Row], Mapping[str, float]]
    strength: float  # inverse of the regularization, as in scikit-learn


JUDGES = {
    "rules": Judge(
        Path(__file__).parent / "rules.jsonl",
        judge.MODEL,
        judge.KINDS,
        lambda row: judge.features(row["text"]),
        1.0,
    ),
    "replies": Judge(
        Path(__file__).parent / "replies.jsonl",
        replies.MODEL,
        replies.KINDS,
        lambda row: replies.features(row["text"], is_item=row.get("item", False)),
        0.3,
    ),
}


def fitted(rows: Sequence[Row], what: Judge) -> dict[str, object]:
    """The model of some sentences, as in the judge's file."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    found = list(map(what.features, rows))
    seen = Counter(name for each in found for name in each)
    table = DictVectorizer()
    values = table.fit_transform(
        [{k: v for k, v in each.items() if seen[k] >= _LEAST_SEEN} for each in found]
    )
    model = LogisticRegression(C=what.strength, max_iter=2_000)
    model.fit(values, [what.kinds.index(row["label"]) for row in rows])
    learned = {
        name: [round(float(model.coef_[kind][place]), 3) for kind in range(len(what.kinds))]
        for name, place in table.vocabulary_.items()
    }
    kept = {name: found for name, found in sorted(learned.items()) if max(map(abs, found)) >= _LEAST_WEIGHT}
    return {"weights": kept, "base": [round(float(each), 3) for each in model.intercept_]}


def read(paths: Iterable[Path]) -> list[Row]:
    """The sentences of some files."""
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line)
    return list(map(json.loads, lines))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("judge", choices=JUDGES)
    parser.add_argument("sentences", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    what = JUDGES[asked.judge]
    rows = read(asked.sentences or [what.sentences])
    tree = json.dumps(fitted(rows, what), ensure_ascii=False, separators=(",", ":"))
    (asked.out or what.model.path).write_text(tree, encoding="utf-8")
    print(f"{len(rows)} sentences")


if __name__ == "__main__":
    main()
