"""The command line: the same engine without a screen (design 7)."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import click

from tui.cli.base import Group, directory_option, run

_COLLECT_EVERY = 50_000
"""Allocations between garbage collections; Python's default is 700."""

COMMANDS = {
    "open": "tui.cli.workspace:open_workbench",
    "init": "tui.cli.workspace:init",
    "demo": "tui.cli.workspace:demo",
    "doctor": "tui.cli.workspace:doctor",
    "config": "tui.cli.config:config",
    "trust": "tui.cli.config:trust",
    "secrets": "tui.cli.config:secrets",
    "index": "tui.cli.search:index",
    "watch": "tui.cli.watch:watch",
    "jobs": "tui.cli.jobs:jobs",
    "import": "tui.cli.import_sessions:import_sessions",
    "session": "tui.cli.session:session",
    "install": "tui.cli.install:install",
    "hook": "tui.cli.install:hook",
    "injections": "tui.cli.injections:injections",
    "backtest": "tui.cli.backtest:backtest",
    "mcp": "tui.cli.serve:mcp",
    "serve": "tui.cli.serve:serve",
    "access": "tui.cli.serve:access",
    "events": "tui.cli.jobs:events",
    "trace": "tui.cli.activation:trace",
    "topics": "tui.cli.activation:topics",
    "decisions": "tui.cli.activation:decisions",
    "tune": "tui.cli.tune:tune",
    "compile": "tui.cli.prompt:compile_prompt",
    "search": "tui.cli.search:search",
    "recall": "tui.cli.search:recall",
    "preset": "tui.cli.config:preset",
    "probe": "tui.cli.probe:probe",
    "send": "tui.cli.prompt:send",
    "cache": "tui.cli.cache:cache",
    "costs": "tui.cli.costs:costs",
    "rules": "tui.cli.rules:rules",
    "projects": "tui.cli.session:projects",
    "harvest": "tui.cli.harvest:harvest",
    "review": "tui.cli.ledger:review",
    "ledger": "tui.cli.ledger:ledger",
    "digest": "tui.cli.knowledge:digest",
    "notes": "tui.cli.knowledge:notes",
    "knowledge": "tui.cli.knowledge:knowledge",
    "commit": "tui.cli.upkeep:commit",
    "history": "tui.cli.history:history",
    "extract": "tui.cli.extract:extract",
    "condense": "tui.cli.upkeep:condense",
    "prune": "tui.cli.upkeep:prune",
    "archive": "tui.cli.upkeep:archive",
    "reconstruct": "tui.cli.reconstruct:reconstruct",
    "compare": "tui.cli.reconstruct:compare",
    "sync": "tui.cli.sync:sync",
    "share": "tui.cli.sync:share",
    "private": "tui.cli.sync:private",
}


class WorkbenchGroup(Group):
    """The top-level group: a folder in place of a command opens the workbench on it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command; ``autopoiesis DIR`` means ``autopoiesis open DIR``."""
        name = args[0]
        is_folder = "/" in name or Path(name).expanduser().is_dir()
        if name not in COMMANDS and not name.startswith("-") and is_folder:
            args = ["open", *args]
        return super().resolve_command(ctx, args)


@click.group(
    cls=WorkbenchGroup,
    late=COMMANDS,
    invoke_without_command=True,
    epilog="\b\nExample:\n  autopoiesis init\n  autopoiesis import\n  autopoiesis install claude-code\n"
    "  autopoiesis",
)
@directory_option
@click.version_option(package_name="autopoiesis", prog_name="autopoiesis")
@click.pass_context
def cli(context: click.Context) -> None:
    """A workbench for an agent's memory: which topics fire, what the prompt contains, and why.

    Without a command, opens the workbench on the workspace; given a folder, on that folder.
    """
    if context.invoked_subcommand is None:
        command = cli.get_command(context, "open")
        if command is not None:
            context.invoke(command)


def main() -> None:
    """The entry point of ``autopoiesis`` and ``apo``."""
    # The matrices here are small: numpy's threads cost more to start than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported modules live until exit; scanning them for garbage costs a short command a tenth of its time.
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)
    try:
        status = run(cli)
    finally:
        gc.freeze()  # spares the interpreter's last collection at exit
    sys.exit(status)
