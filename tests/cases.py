"""Many small cases in one test, because starting and reporting a test costs more than most of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Test = Callable[..., None]


def each_case(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test once per case; a failure names its case.

    Called like ``pytest.mark.parametrize``. All cases share the same fixture values, so use it only for
    tests that do not modify them.

    Args:
        names: Argument names.
        cases: Argument values; tuples if there is more than one name.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [dict(zip(keys, case if len(keys) > 1 else (case,), strict=True)) for case in cases]
    assert rows, "no cases"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **given: Any) -> None:
            for row in rows:
                try:
                    test(*args, **given, **row)
                except BaseException as error:
                    described = ", ".join(f"{name}={value!r:.200}" for name, value in row.items())
                    error.add_note(f"case: {described}")
                    raise

        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate
