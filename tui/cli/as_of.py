"""Shared by commands that read a past state of the workspace."""

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
    help="Use the state at a commit, tag, branch or date: 2026-10-01, '2026-10-01 14:00' (UTC), '3 days ago',"
    " 'last week'; `now` is the working tree.",
)


@contextmanager
def checkout_progress() -> Iterator[Callable[[int, int], None]]:
    """A progress bar that appears with the first step; none for a state that is already checked out."""
    with ExitStack() as shown:
        bars: list[Callable[[int, int], None]] = []

        def report(done: int, total: int) -> None:
            if not bars:
                from tui.cli.search import progress  # noqa: PLC0415 — only for a past state

                bars.append(shown.enter_context(progress("checking out the past")))
            bars[0](done, total)

        yield report


def print_commit(commit: Commit) -> None:
    """Prints on standard error which commit a date or name resolved to."""
    from engine.store.revisions import described  # noqa: PLC0415 — only for a past state

    click.echo(visible(f"as of {described(commit)}"), err=True)
