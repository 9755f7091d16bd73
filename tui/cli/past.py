"""What the commands share that go back to a past state of the workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from tui.cli.base import visible

if TYPE_CHECKING:
    from engine.store.repository import Commit

as_of_option = click.option(
    "--as-of",
    metavar="REV|DATE",
    help="As it would have been at a commit, tag, branch or date: 2026-10-01, '2026-10-01 14:00' (UTC),"
    " '3 days ago', 'last week'; `now` is the working tree.",
)


@contextmanager
def laying_out() -> Iterator[Callable[[int, int], None]]:
    """A progress bar from the first step on; a state that lies ready shows none."""
    with ExitStack() as shown:
        bars: list[Callable[[int, int], None]] = []

        def report(done: int, total: int) -> None:
            if not bars:
                from tui.cli.search import progress  # noqa: PLC0415 — a prompt of now needs no bar

                bars.append(shown.enter_context(progress("laying out the past")))
            bars[0](done, total)

        yield report


def say_commit(commit: Commit) -> None:
    """Says on standard error which commit a date or name has led to."""
    from engine.store.revisions import described  # noqa: PLC0415 — only for the past

    click.echo(visible(f"as of {described(commit)}"), err=True)
