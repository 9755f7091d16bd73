"""Runs the evaluators next to the benchmark data, which measure how well topics and memories are found."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PROJECT = Path(__file__).parents[2]
ACTIVATION = "bench_activation.py"
RETRIEVAL = "bench_retrieval.py"
SCORERS = "tests.benchmarks.activation"
EXAMINED = "clinc150"
"""The set evaluated with several numbers of examples and with every scorer."""
EXAMPLES = ("20", "5", "0")
"""Numbers of examples per topic."""
RETRIEVERS = "tests.benchmarks.retrieval"
PEERS = ("make_fts5", "make_bm25s")
"""Other ways to search, by their adapters."""
BUDGETS = (2_048, 8_192)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run of an evaluator.

    Attributes:
        name: ``activation`` or ``retrieval``.
        label: Distinguishes it from others of the same name.
        script: The evaluator.
        arguments: The script's arguments.
    """

    name: str
    label: str
    script: Path
    arguments: tuple[str, ...]


def evaluations(data: Path) -> Iterator[Evaluation]:
    """The evaluations possible with a data folder; none if there are no evaluators next to it."""
    scripts = data.resolve().parent / "bench"
    activation, retrieval = scripts / ACTIVATION, scripts / RETRIEVAL
    if activation.is_file():
        for dataset in sorted(path.stem for path in (data / "activation").glob("*.json")):
            for examples in EXAMPLES if dataset == EXAMINED else EXAMPLES[:1]:
                yield _activation(activation, dataset, examples, "make")
            if dataset == EXAMINED:
                yield _activation(activation, dataset, EXAMPLES[0], "make_spec")
    if retrieval.is_file():
        place = ("--data", str(data.resolve() / "retrieval"))
        for peer in ("make", *(peer for peer in PEERS if peer != "make_bm25s" or find_spec("bm25s"))):
            yield Evaluation("retrieval", f"search, {peer}", retrieval, (f"{RETRIEVERS}:{peer}", *place))
        for compiler in ("compiler", "compiler_checked"):
            for budget in BUDGETS:
                target = (f"{RETRIEVERS}:{compiler}", "--compile", str(budget))
                label = f"{compiler}, {budget:,} tokens"
                yield Evaluation("retrieval", label, retrieval, (*target, *place))


def _activation(script: Path, dataset: str, examples: str, scorer: str) -> Evaluation:
    arguments = ("--dataset", dataset, "--k", examples, "--split", "val", "--scorer", f"{SCORERS}:{scorer}")
    return Evaluation("activation", f"{dataset}, {examples} examples, {scorer}", script, arguments)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The output of one evaluation.

    Attributes:
        name: As in ``Evaluation``.
        label: As in ``Evaluation``.
        lines: Its standard output.
        seconds: How long it took.
    """

    name: str
    label: str
    lines: tuple[str, ...]
    seconds: float


def run(evaluation: Evaluation, data: Path) -> Outcome:
    """Run one evaluation.

    Raises:
        subprocess.CalledProcessError: The evaluator failed; its message is on standard error.
    """
    environment = os.environ | {"ACT_DATA": str(data.resolve() / "activation")}
    command = [sys.executable, str(evaluation.script), *evaluation.arguments]
    started = time.perf_counter()
    done = subprocess.run(
        command, check=True, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True
    )
    seconds = time.perf_counter() - started
    return Outcome(evaluation.name, evaluation.label, tuple(done.stdout.splitlines()), seconds)
