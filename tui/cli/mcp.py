"""``mcp``: the memory as a server that agents ask."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from tui.cli.base import verb, visible

if TYPE_CHECKING:
    from engine.engine import Engine


@verb("autopoiesis -C ~/memory mcp", "autopoiesis mcp --http --port 8766", name="mcp")
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 in place of standard input and output.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8766, show_default=True, help="0: any.")
def mcp(engine: Engine, http: bool, port: int) -> None:
    """Let agents ask the memory, as an MCP server.

    An agent starts it by itself and speaks to it over standard input and output. With --http it runs until
    interrupted, and requests carry `Authorization: Bearer TOKEN`, the token of `autopoiesis serve`.
    """
    from engine.gateways.mcp import PATH, McpHttpServer, server_of  # noqa: PLC0415 — takes most of a second

    if not http:
        # The thread that waits for a line would keep the process; nothing is lost when it ends at once.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        server_of(engine).run()
        return
    from engine.gateways.token import hook_token  # noqa: PLC0415 — only a server needs it
    from engine.store.user_folder import settings_folder  # noqa: PLC0415 — only a server needs it

    token, where = hook_token(settings_folder())
    server = McpHttpServer(engine, token, port=port)
    click.echo(visible(f"{server.address}{PATH} · token in {where} · ctrl+c ends it"), err=True)
    server.serve()
