"""``python -m tests.benchmarks`` compares every hot path with its raw peer, in the same run.

No figure passes or fails; only a comparison whose two sides disagree or a failing evaluator does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks import (
    caching,
    compile,
    evaluations,
    history,
    hooks,
    importing,
    pipeline,
    process,
    scale,
    search,
    search_scale,
    search_shared,
    store,
    tier1,
    tier2,
    told,
    tuning,
    workbench,
)
from tests.benchmarks.rows import Disagreement, Row, machine, table
from tests.benchmarks.setting import Setting

AREAS: dict[str, Callable[[Setting], Iterable[Row]]] = {
    "process": process.run,
    "hooks": hooks.run,
    "tier1": tier1.run,
    "tier2": tier2.run,
    "scale": scale.run,
    "pipeline": pipeline.run,
    "tuning": tuning.run,
    "search": search.run,
    "search_scale": search_scale.run,
    "search_shared": search_shared.run,
    "compile": compile.run,
    "caching": caching.run,
    "store": store.run,
    "history": history.run,
    "import": importing.run,
    "workbench": workbench.run,
}
EVALUATIONS = ("activation", "retrieval", told.NAME)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested benchmarks, and print and write the results.

    Returns:
        0, or 1 when two sides of a comparison disagreed or an evaluator failed.
    """
    options = _parser().parse_args(arguments)
    wanted = options.only or [*AREAS, *EVALUATIONS]
    results, failed = _measure([name for name in AREAS if name in wanted], options.quick, options.data)
    evaluated = []
    if told.NAME in wanted:
        outcome = told.run(options.data, quick=options.quick)
        evaluated.append(asdict(outcome))
        _print(outcome)
    if options.data is not None:
        for evaluation in evaluations.evaluations(options.data):
            if evaluation.name in wanted:
                try:
                    outcome = evaluations.run(evaluation, options.data)
                except subprocess.CalledProcessError as error:
                    failed.append(f"{evaluation.name}, {evaluation.label}: exit code {error.returncode}")
                    print(f"\n{failed[-1]}", flush=True)
                    continue
                evaluated.append(asdict(outcome))
                _print(outcome)
    if options.json is not None:
        tree = {"machine": machine(), "rows": results, "evaluations": evaluated, "failed": failed}
        options.json.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def _print(outcome: evaluations.Outcome) -> None:
    print(f"\n{outcome.name}, {outcome.label} ({outcome.seconds:.0f} s)")
    print("\n".join(outcome.lines), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="benchmark data; evaluators beside it are run"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to this file as well")
    parser.add_argument(
        "--only", nargs="+", choices=[*AREAS, *EVALUATIONS], metavar="NAME", help="only these"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes: to see that all of it runs")
    return parser


def _measure(
    names: Iterable[str], quick: bool, data: Path | None
) -> tuple[list[dict[str, object]], list[str]]:
    """The rows of some areas for JSON, printed as they arrive, and the disagreements."""
    results: list[dict[str, object]] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="autopoiesis-benchmarks-") as folder:
        setting = Setting(Path(folder), quick, data)
        for name in names:
            started = time.perf_counter()
            try:
                rows = list(AREAS[name](setting))
            except Disagreement as error:
                failed.append(f"{name}: {error}")
                print(f"\n{name}\n  the two sides disagree: {error}", flush=True)
                continue
            results += [row.tree(name) for row in rows]
            print(f"\n{name} ({time.perf_counter() - started:.0f} s)")
            print(table(row.cells() for row in rows), flush=True)
    return results, failed


if __name__ == "__main__":
    sys.exit(main())
