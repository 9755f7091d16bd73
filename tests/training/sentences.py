"""Sentences for the teacher, from whose embeddings the static vectors are learned.

They come from the activation sets, from WordNet 3.0 (Princeton's licence, which allows any use) and from the
docstrings of Python's standard library (PSF licence). Many are recombined from parts of these, because word
pairs are learned too and no available corpus contains enough of them.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.training.sets import ActivationSet

WORDNET_LIMIT = 150_000
RECOMBINED = {"crossed": 30_000, "replaced": 20_000, "templates": 20_000}
DOCSTRINGS_LIMIT = 10_000

_TEMPLATES = (
    "how do i {v} the {n}|what is a {n}|can you {v} my {n}|please {v} the {a} {n}|i want to {v} a {n}|"
    "why is the {n} {a}|where can i find {n}|tell me about {n}|is there a {n} for {m}|my {n} does not {v}|"
    "the {n} failed to {v}|{v} {n} and {m}|when will the {n} {v}|{a} {n}|{n} {m}|{v} {n}|don't {v} the {n}|"
    "how many {n} are there in the {m}|who can {v} the {n}|i need help with the {n}|"
    "should i {v} {n} before {m}|show the {n} of the {m}|add a {n} to the {m}|remove {n} from {m}|"
    "check whether the {n} is {a}|write a {n} about {m}|update the {a} {n}|fix the {n}|review this {n}|"
    "{n} versus {m}"
)


def wordnet_texts(folder: Path, seed: int = 0) -> list[str]:
    """Glosses, examples and words of WordNet, shuffled.

    Args:
        folder: The folder with ``data.noun`` and the like (Debian: ``wordnet-base``, /usr/share/wordnet).
        seed: For the order.
    """
    found: dict[str, None] = {}
    for path in sorted(folder.glob("data.*")):
        for line in path.read_text("latin-1").split("\n"):
            if line and not line.startswith("  "):
                gloss = line.partition(" | ")[2]
                found[re.sub(r'"[^"]+"', "", gloss).strip(" ;")] = None
                found.update(dict.fromkeys(re.findall(r'"([^"]+)"', gloss)))
                found.update(dict.fromkeys(_words(line)))
    found.pop("", None)
    texts = list(found)
    random.Random(seed).shuffle(texts)
    return texts[:WORDNET_LIMIT]


def docstring_texts(seed: int = 0) -> list[str]:
    """Sentences of the standard library's docstrings, of 3 to 30 words."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_text("utf-8", errors="ignore"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                for part in re.split(r"(?<=[.!?])\s+|\n\n", ast.get_docstring(node) or "")[:6]:
                    if 3 <= len(part.split()) <= 30:
                        found[" ".join(part.split())] = None
    texts = list(found)
    random.Random(seed).shuffle(texts)
    return texts[:DOCSTRINGS_LIMIT]


def recombined_texts(sets: Sequence[ActivationSet], folder: Path, seed: int = 1) -> list[str]:
    """Synthetic messages: the start of one and the end of another, replaced words, filled templates."""
    rng = random.Random(seed)
    messages = [text for each in sets for text in each.messages]
    nouns, verbs, adjectives = (_common(folder, kinds) for kinds in ("1", "2", "35"))

    def crossed() -> str:
        first, second = rng.choice(messages).split(), rng.choice(messages).split()
        start = first[: rng.randint(1, max(1, len(first) - 1))]
        return " ".join(start + second[rng.randint(0, max(0, len(second) - 2)) :])

    def replaced() -> str:
        words = rng.choice(messages).split()
        place = rng.randrange(len(words))
        words[place] = rng.choice(nouns if rng.random() < 0.6 else verbs)
        return " ".join(words)

    def templates() -> str:
        return rng.choice(_TEMPLATES.split("|")).format(
            n=rng.choice(nouns), m=rng.choice(nouns), v=rng.choice(verbs), a=rng.choice(adjectives)
        )

    makers: dict[str, Callable[[], str]] = {
        "crossed": crossed,
        "replaced": replaced,
        "templates": templates,
    }
    texts: dict[str, None] = {}
    for name, count in RECOMBINED.items():
        end = len(texts) + count
        while len(texts) < end:
            texts[makers[name]()] = None
    return list(texts)


def _words(line: str) -> Iterator[str]:
    parts = line.split()
    for place in range(int(parts[3], 16)):
        yield re.sub(r"\(\w+\)$", "", parts[4 + 2 * place]).replace("_", " ")


def _common(folder: Path, kinds: str) -> list[str]:
    """The words of the given kinds (by number) that occur in WordNet's tagged texts."""
    found: dict[str, None] = {}
    for line in (folder / "cntlist.rev").read_text("latin-1").splitlines():
        word, _, rest = line.split()[0].partition("%")
        if rest[:1] in kinds:
            found[word.replace("_", " ")] = None
    return list(found)
