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

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Workspace": {
        "open": ("tui.cli.workspace:open_workbench", "open the workbench"),
        "init": ("tui.cli.workspace:init", "create a workspace"),
        "demo": ("tui.cli.workspace:demo", "open the workbench on a sample workspace"),
        "doctor": ("tui.cli.workspace:doctor", "check the workspace and this machine; suggest fixes"),
        "config": ("tui.cli.config:config", "show and change settings"),
        "trust": ("tui.cli.config:trust", "let this workspace's settings send, import or run anything"),
        "secrets": ("tui.cli.config:secrets", "find keys and passwords in files and in the history"),
        "index": ("tui.cli.search:index", "update, verify or rebuild the search index"),
        "watch": ("tui.cli.watch:watch", "print what happens in the workspace as it happens"),
        "jobs": ("tui.cli.jobs:jobs", "scheduled jobs: when each is due, how it went"),
    },
    "Conversations and agents": {
        "import": (
            "tui.cli.import_sessions:import_sessions",
            "take in the sessions your agents have written",
        ),
        "session": ("tui.cli.session:session", "capture a conversation call by call"),
        "install": ("tui.cli.install:install", "set up hooks and the MCP server in an agent"),
        "hook": ("tui.cli.install:hook", "what agents were told at each event; the off switch"),
        "injections": (
            "tui.cli.injections:injections",
            "what prompts contained, why, and whether it was used",
        ),
        "backtest": ("tui.cli.backtest:backtest", "what agents would have been told in your past sessions"),
        "mcp": ("tui.cli.serve:mcp", "serve the memory to one agent over MCP"),
        "serve": ("tui.cli.serve:serve", "serve the memory over HTTP"),
        "access": ("tui.cli.serve:access", "who else may use a served memory"),
        "events": ("tui.cli.jobs:events", "schedules and webhooks for agents to take"),
    },
    "Topics": {
        "trace": ("tui.cli.activation:trace", "which topics a message activates, and why"),
        "topics": ("tui.cli.activation:topics", "list, make, check, suggest and import playbooks"),
        "decisions": ("tui.cli.activation:decisions", "show and label the decision log"),
        "tune": ("tui.cli.tune:tune", "measure how well topics fire; fit their thresholds"),
    },
    "Prompt and search": {
        "compile": ("tui.cli.prompt:compile_prompt", "the prompt for a message, and what was left out"),
        "search": ("tui.cli.search:search", "search everything"),
        "recall": ("tui.cli.search:recall", "what an agent that asks this is answered"),
        "preset": ("tui.cli.config:preset", "named sets of files for the prompt"),
        "probe": ("tui.cli.probe:probe", "test that prompts contain expected evidence"),
        "send": ("tui.cli.prompt:send", "send a message to a model and print its reply"),
        "cache": ("tui.cli.cache:cache", "what providers cache of each prompt's stable part"),
        "costs": ("tui.cli.costs:costs", "what model calls have cost; budgets"),
    },
    "Rules": {
        "rules": ("tui.cli.rules:rules", "what you told your agents to do always"),
        "projects": ("tui.cli.session:projects", "the projects, and the repository of each"),
    },
    "Knowledge": {
        "harvest": ("tui.cli.harvest:harvest", "move what conversations taught into knowledge files"),
        "review": ("tui.cli.ledger:review", "what waits for your decision"),
        "ledger": ("tui.cli.ledger:ledger", "what became of every harvested conversation"),
        "digest": ("tui.cli.knowledge:digest", "the bounded summary in every prompt"),
        "notes": ("tui.cli.knowledge:notes", "notes about single files"),
        "knowledge": ("tui.cli.knowledge:knowledge", "knowledge entries and skills; broken references"),
    },
    "History and lifecycle": {
        "commit": ("tui.cli.upkeep:commit", "commit what has changed"),
        "history": ("tui.cli.history:history", "when something was learned, by whom; undo"),
        "extract": ("tui.cli.extract:extract", "turn sessions into pages of knowledge"),
        "condense": ("tui.cli.upkeep:condense", "days into journals, weeks into MEMORY.md"),
        "prune": ("tui.cli.upkeep:prune", "trim MEMORY.md, archive old journals and unused files"),
        "archive": ("tui.cli.upkeep:archive", "files that are searchable but in no prompt"),
        "reconstruct": ("tui.cli.reconstruct:reconstruct", "rebuild knowledge from all sessions on a branch"),
        "compare": ("tui.cli.reconstruct:compare", "how two branches differ"),
        "sync": ("tui.cli.sync:sync", "keep several machines equal through a git remote"),
        "share": ("tui.cli.sync:share", "other people's knowledge, as submodules"),
        "private": ("tui.cli.sync:private", "encrypt knowledge/private/ in every commit"),
    },
}
"""The commands by section: the place of each, and what ``--help`` says of it."""
COMMANDS = {name: place for section in SECTIONS.values() for name, (place, _) in section.items()}


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands by section, without importing them."""
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in section.items()])


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
