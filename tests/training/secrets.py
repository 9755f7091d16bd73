"""Fits the model that finds secrets (``engine.redaction.judge``).

    python -m tests.training.secrets [--out FILE]

Names, values and the lines around them are made up here by chance, or stand in the sources and documents of
installed packages (``found_lines``); what is no secret also comes from Python's library. Nothing of
``tests/redaction`` is used, which measures the model.
"""

# ruff: noqa: E501 — as the lines it reads
from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
from array import array
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.redaction import judge, names, places, shapes
from tests.training import found_lines, secret_lines, secret_names

_LEAST_SEEN = 3
_LEAST_WEIGHT = 0.12
_TREES = 110
_DEPTH = 5
_STEMS = re.compile(
    r"pass|pwd|key|token|secret|cred|auth|cookie|crypt|priv|signing|salt|hmac|otp|^pw|pw$|^(?:pat|pin|sig|seed|id|dsn)s?$"
    r"|hash|digest|md5|sha\d|uuid"
)
"""In words of code that may name a secret or a hash."""


def _names_secret(word: str) -> bool:
    """True if it may be the name of a secret."""
    lowered = word.lower()
    if word.isascii():
        return _STEMS.search(lowered) is not None or lowered in (*secret_names.PASSWORDS, *secret_names.KEYS)
    return any(
        each in lowered for each in (*secret_names.PASSWORDS, *secret_names.KEYS) if not each.isascii()
    )


def documents() -> Iterator[str]:
    """What this project says of itself."""
    folder = Path(__file__).parents[2]
    for path in sorted((*folder.glob("*.md"), *folder.glob("docs/**/*.md"))):
        yield path.read_text(encoding="utf-8")


def fit_names(draw: random.Random, neutral: list[str]) -> tuple[dict[int, list[float]], list[float]]:
    """The weights of the features of names, and those that every name has."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    rows, labels = [], []
    elsewhere = Counter(word for text in found_lines.typed() for word in places.identifiers(text))
    plain = [
        word for word, n in elsewhere.items() if (n > 1 or not word.isascii()) and not _names_secret(word)
    ]
    for name, kind in (*secret_names.names(draw, neutral), *((word, 0) for word in plain)):
        parts = names.words(name)[-names._MOST_WORDS :]
        if parts:
            found: Counter[int] = Counter()
            for at, word in enumerate(parts, 1):
                found.update(names.features(word, names.place_of(at, len(parts))))
            rows.append(found)
            labels.append(kind)
    seen = Counter(each for row in rows for each in row)
    table = DictVectorizer()
    values = table.fit_transform([{k: v for k, v in r.items() if seen[k] >= _LEAST_SEEN} for r in rows])
    model = LogisticRegression(C=3.0, max_iter=600)
    model.fit(values, labels)
    print("names", len(rows), "features", len(table.vocabulary_), "accuracy", model.score(values, labels))
    learned = {
        name: [round(float(model.coef_[kind][place]), 2) for kind in range(len(names.KINDS))]
        for name, place in sorted(table.vocabulary_.items())
    }
    kept = {k: v for k, v in learned.items() if max(map(abs, v)) >= _LEAST_WEIGHT}
    print("kept", len(kept))
    return kept, [round(float(each), 3) for each in model.intercept_]


def samples(draw: random.Random, neutral: list[str], texts: list[str]) -> Iterator[tuple[str, str, float]]:
    """Texts, the secret in each or nothing, and a weight."""
    found = found_lines.pairs(draw, texts[1::2])
    values = [each.value for each in found if not secret_lines.may_be_key(each.value)]
    values += found_lines.numbered(texts[1::2])
    print(len(found), "lines found", len(values), "values")
    for text, value in secret_lines.secrets(draw, neutral):
        yield text, value, 1.0
    for text, value in found_lines.secrets(draw, found, lambda: secret_lines.named_secret(draw, neutral)):
        yield text, value, 1.0
    for text in secret_lines.innocent(draw, neutral, values):
        yield text, "", 1.0
    keys = [each for each in secret_names.KEYS if each.isascii()]
    every = [each for each in secret_names.PASSWORDS if each.isascii()] + keys
    typed = found_lines.typed()
    lines = ("".join(each) for each in found)
    for text in (
        *found_lines.innocent(draw, found, lambda: secret_lines.named(draw, neutral, tuple(keys))),
        *found_lines.renamed(draw, (*lines, *typed), lambda: secret_lines.named(draw, neutral, tuple(every))),
        *typed,
        *texts,
        *documents(),
    ):
        yield text, "", 1.0


def _pairs(words: list[str]) -> list[int]:
    """Tenths of a bit by which a letter is less likely after another, or (27th) at the start, than by chance."""
    seen = [[0.5] * 26 for _ in range(27)]
    for word in words:
        before = 26
        for letter in word:
            at = shapes._ALPHABET.find(letter)
            if at < 0:
                break
            seen[before][at] += 1
            before = at
    return [round(-10 * math.log2(26 * each / sum(row))) for row in seen for each in row]


def main() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=names.DATA)
    asked = parser.parse_args()
    draw = random.Random(17)
    sources = list(found_lines.library())
    seen = Counter(word for source in sources for word in names.words(source) if word.isascii())
    texts = [*sources, *found_lines.packages()]
    neutral = [w for w, n in seen.items() if n >= 5 and len(w) > 2 and not _STEMS.search(w)]
    weights, base = fit_names(draw, neutral)
    every = [w for w, n in seen.items() if n >= 3]
    fitted: dict[str, Any] = {
        "names": list(weights),
        "weights": [round(100 * weight) for each in weights.values() for weight in each],
        "base": base,
        "pairs": _pairs(every),
        "numbered": " ".join(found_lines.numbered(texts[::2])),
        "start": 0.0,
        **dict.fromkeys(("roots", "column", "limit", "low", "high"), ()),
    }
    tree = names.unpacked(_packed(fitted))
    names.model = lambda: tree  # type: ignore[assignment]
    shapes.model = judge.model = names.model
    names.meaning.cache_clear()
    names._weight.cache_clear()
    places._naming.cache_clear()
    rows, labels, importance, missed, total = [], [], [], 0, 0
    lost = Counter[str]()
    for text, value, weight in samples(draw, neutral, texts):
        spans = {(start, end) for start, end, name in places.proposed(text) if not name}
        at = text.find(value) if value else -1
        end = at + len(value)
        hit = False
        for start, last in sorted(spans):
            found = text[start:last]
            if judge.ruled_out(found, quoted=start > 0 and text[start - 1] in judge.QUOTES):
                continue
            same = bool(value) and start == at and abs(last - end) <= 1
            if value and not same and start < end and last > at:
                continue
            hit |= same
            rows.append(judge.features(text, start, last))
            labels.append(int(same))
            importance.append(weight)
        if value:
            total += 1
            missed += not hit
            if not hit:
                lost[re.sub(re.escape(value), "VALUE", text)[:60]] += 1
    print(f"{len(rows)} candidates, {sum(labels)} secrets, {missed} of {total} not proposed")
    for text, n in lost.most_common(60):
        print("   not proposed:", n, repr(text))
    model = HistGradientBoostingClassifier(
        max_iter=_TREES,
        max_leaf_nodes=2**_DEPTH // 2,
        max_depth=_DEPTH,
        learning_rate=0.15,
        min_samples_leaf=20,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=3,
        monotonic_cst=_monotonic(),
    )
    model.fit(rows, labels, sample_weight=importance)
    fitted["start"] = round(float(model._baseline_prediction.ravel()[0]), 4)
    fitted |= _flat([each[0].nodes for each in model._predictors])
    asked.out.write_text(json.dumps(_packed(fitted), separators=(",", ":")), encoding="utf-8")
    print("size", asked.out.stat().st_size, "train accuracy", model.score(rows, labels))


def _packed(fitted: dict[str, Any]) -> dict[str, Any]:
    """The model as it is kept, which ``names.unpacked`` reads: a tenth of the time that lists of numbers take."""
    tables = {each: array(kind, fitted[each]) for each, kind in names.PACKED.items()}
    if sys.byteorder == "big":
        for items in tables.values():
            items.byteswap()
    return fitted | {each: b64encode(items.tobytes()).decode() for each, items in tables.items()}


def _monotonic() -> list[int]:
    """More of a name's being a password's or key's never speaks against a secret, nor its being another's for one."""
    more = {
        "password",
        "key",
        "password by one word",
        "key by one word",
        "strongest password",
        "strongest key",
    }
    less = {"other", "other by one word"}
    return [(each in more) - (each in less) for each in judge.FEATURES]


def _flat(trees: list[Any]) -> dict[str, list[Any]]:
    """All nodes in one table: a column of the features and its limit, or -1 and the value of a leaf."""
    table: dict[str, list[Any]] = {"roots": [], "column": [], "limit": [], "low": [], "high": []}
    for nodes in trees:
        first = len(table["column"])
        table["roots"].append(first)
        for node in nodes:
            leaf = bool(node["is_leaf"])
            table["column"].append(-1 if leaf else int(node["feature_idx"]))
            table["limit"].append(round(float(node["value"] if leaf else node["num_threshold"]), 3))
            table["low"].append(0 if leaf else first + int(node["left"]))
            table["high"].append(0 if leaf else first + int(node["right"]))
    return table


if __name__ == "__main__":
    main()
