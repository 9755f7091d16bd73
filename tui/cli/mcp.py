"""``mcp``: serves the memory to agents."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import verb, visible

if TYPE_CHECKING:
    from engine.engine import Engine


@verb("autopoiesis -C ~/memory mcp", "autopoiesis mcp --http --port 8766", name="mcp")
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of standard input and output.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8766, show_default=True, help="0 for any free port."
)
def mcp(engine: Engine, http: bool, port: int) -> None:
    """Serve the memory to agents as an MCP server.

    Agents start it themselves and use standard input and output. With --http it runs until interrupted, and
    requests must carry `Authorization: Bearer TOKEN`, with the token of `autopoiesis serve`.
    """
    from engine.agents.log import HookLog  # noqa: PLC0415 — only a server needs it
    from engine.gateways.mcp import PATH, McpHttpServer, server_of  # noqa: PLC0415 — takes most of a second

    sessions = HookLog(engine.files, engine.clock)

    if not http:
        from engine.gateways.unpaired import requests_on  # noqa: PLC0415 — only for this transport

        # The thread that reads standard input would keep the process alive; exiting at once loses nothing.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.stdin = requests_on(0)
        server_of(engine, sessions, str(Path.cwd())).run()  # the agent starts it in the project's folder
        return
    from engine.gateways.token import hook_token  # noqa: PLC0415 — only a server needs it
    from engine.store.user_folder import settings_folder  # noqa: PLC0415 — only a server needs it

    token, source = hook_token(settings_folder())
    server = McpHttpServer(engine, token, port=port, sessions=sessions)
    click.echo(visible(f"{server.address}{PATH} · token in {source} · ctrl+c to stop"), err=True)
    server.serve()
