"""``serve``: the hook API for programs on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import verb, visible

if TYPE_CHECKING:
    from engine.engine import Engine


@verb("autopoiesis serve", "autopoiesis serve --port 0 --show-token", name="serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Only names of this machine.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8765, show_default=True, help="0: any.")
@click.option("--show-token", is_flag=True, help="Print the token that requests have to carry.")
def serve(engine: Engine, host: str, port: int, show_token: bool) -> None:
    """Serve the hook API until interrupted.

    Requests carry `Authorization: Bearer TOKEN`. The token is $AUTOPOIESIS_HOOK_TOKEN, or kept in hook-token
    in your settings folder, made when there is none.
    """
    from engine.gateways.http import HookServer  # noqa: PLC0415 — brings the web framework
    from engine.gateways.token import hook_token  # noqa: PLC0415 — only a server needs it
    from engine.store.user_folder import settings_folder  # noqa: PLC0415 — only a server needs it

    token, where = hook_token(settings_folder())
    server = HookServer(engine, token, host=host, port=port)
    click.echo(visible(f"{server.address}/api/cache · token in {where} · ctrl+c ends it"), err=True)
    if show_token:
        click.echo(token)
    engine.schedule.start("serve")
    server.serve()
