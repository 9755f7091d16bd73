"""Evaluators that live beside the benchmark data: how well topics are found, and how well memories are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
ACTIVATION = "bench_activation.py"
RETRIEVAL = "bench_retrieval.py"
BUDGETS = (2_048, 8_192)
QUERIES = "100"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run of an evaluator.

    Attributes:
        name: ``activation`` or ``retrieval``.
        script: The evaluator.
        arguments: What follows it.
    """

    name: str
    script: Path
    arguments: tuple[str, ...]


def evaluations(data: Path) -> Iterator[Evaluation]:
    """The evaluations that a data folder allows: none, where no evaluators stand beside it."""
    scripts = data.resolve().parent / "bench"
    activation, retrieval = scripts / ACTIVATION, scripts / RETRIEVAL
    if activation.is_file():
        for dataset in ("clinc150", "banking77"):
            scorer = ("--scorer", "tests.benchmarks.activation:make", "--split", "val")
            yield Evaluation("activation", activation, ("--dataset", dataset, "--k", "20", *scorer))
    if retrieval.is_file():
        place = ("--data", str(data.resolve() / "retrieval"), "--max-queries", QUERIES)
        yield Evaluation("retrieval", retrieval, ("tests.benchmarks.retrieval:make", *place))
        for budget in BUDGETS:
            target = ("tests.benchmarks.retrieval:compiler", "--compile", str(budget))
            yield Evaluation("retrieval", retrieval, (*target, *place))


def run(evaluation: Evaluation, data: Path) -> dict[str, object]:
    """Runs one evaluation.

    Returns:
        ``name``, ``arguments`` (those that tell runs apart), ``lines`` (what it printed) and ``seconds``.

    Raises:
        subprocess.CalledProcessError: The evaluator failed; its own words are on standard error.
    """
    environment = os.environ | {"ACT_DATA": str(data.resolve() / "activation")}
    command = [sys.executable, str(evaluation.script), *evaluation.arguments]
    started = time.perf_counter()
    done = subprocess.run(
        command, check=True, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True
    )
    return {
        "name": evaluation.name,
        "arguments": [word for word in evaluation.arguments if not os.path.isabs(word)],
        "lines": done.stdout.splitlines(),
        "seconds": time.perf_counter() - started,
    }
