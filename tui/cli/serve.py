"""``serve``, ``mcp`` and ``access``: the memory over HTTP and as an MCP server, and who else may use it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.gateways.people import MEANING, RIGHTS, AccessLog, People, Right
from engine.store.zone import local_time
from tui.cli.base import emit, emit_json, emitted_json, group, invocation, json_option, table, verb, visible

if TYPE_CHECKING:
    from engine.engine import Engine


_UNIT = """\
[Unit]
Description=Autopoiesis: the memory in {root}

[Service]
Type=exec
ExecStart={command} -C {root} serve {options}
Restart=on-failure
RestartSec=5
# Webhook secrets, in a file that only you can read: AUTOPOIESIS_WEBHOOK_SECRET_GITHUB=…
EnvironmentFile=-%h/.config/autopoiesis/serve.env

[Install]
WantedBy=default.target
"""


@verb("", "--port 0 --show-token", "--public https://memory.example.org",
      "--unit > ~/.config/systemd/user/autopoiesis.service", name="serve")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address or name.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8765, show_default=True, help="0 for any free port."
)
@click.option(
    "--public", metavar="URL", default="", help="The address of a proxy with TLS that others connect to."
)
@click.option("--show-token", is_flag=True, help="Print the token that requests must carry.")
@click.option("--unit", is_flag=True, help="Print a systemd user unit that serves this workspace, and exit.")
def serve(host: str, port: int, public: str, show_token: bool, unit: bool) -> None:
    """Serve this memory to programs on this machine until interrupted: MCP at /mcp, and the API that
    /openapi.json describes.

    Requests must carry `Authorization: Bearer TOKEN`. Yours is $AUTOPOIESIS_HOOK_TOKEN, or the contents of
    hook-token in your settings folder, which is created if needed; `autopoiesis access grant` makes tokens
    for other people. GitHub webhooks carry its signature instead, made with the secret in
    $AUTOPOIESIS_WEBHOOK_SECRET_GITHUB.
    """
    if unit:
        click.echo(unit_of(invocation().workspace, port, public), nl=False)
        return
    with invocation().engine() as engine:
        _serve(engine, host, port, public, show_token)


def _serve(engine: Engine, host: str, port: int, public: str, show_token: bool) -> None:
    from engine.agents.listener import listening  # noqa: PLC0415 — not for `--help`
    from engine.agents.log import HookLog  # noqa: PLC0415 — as above
    from engine.gateways.guard import MCP  # noqa: PLC0415 — imports the web framework
    from engine.gateways.http import HookServer, public_origin  # noqa: PLC0415 — as above
    from engine.gateways.token import hook_token  # noqa: PLC0415 — only a server needs it
    from engine.store.user_folder import settings_folder  # noqa: PLC0415 — only a server needs it

    token, source = hook_token(settings_folder())
    origin = public_origin(public) if public else ""
    sessions = HookLog(engine.files, engine.clock)
    server = HookServer(engine, token, host=host, port=port, public=origin, sessions=sessions)
    addresses = [f"{each}{MCP}" for each in (server.address, origin) if each]
    shown = " · ".join((*addresses, f"token in {source}", "ctrl+c to stop"))
    click.echo(visible(shown), err=True)
    if show_token:
        click.echo(token)
    engine.schedule.start("serve")
    engine.start()
    with listening(engine):
        server.serve()


def unit_of(root: Path, port: int, public: str = "") -> str:
    """A systemd user unit that serves a workspace."""
    command = Path(sys.argv[0]).absolute()
    options = f"--port {port}" + (f" --public {_quoted(public)}" if public else "")
    return _UNIT.format(command=_quoted(command), root=_quoted(root.expanduser().absolute()), options=options)


def _quoted(path: Path | str) -> str:
    """A text as one word for systemd, without variables or specifiers."""
    text = os.fspath(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"'


@verb("autopoiesis -C ~/memory mcp", name="mcp")
def mcp(engine: Engine) -> None:
    """Serve the memory to an agent as an MCP server.

    Agents start it themselves and use standard input and output. `autopoiesis serve` serves MCP over HTTP.
    """
    from engine.agents.log import HookLog  # noqa: PLC0415 — only a server needs it
    from engine.gateways.mcp import requests_on, server_of  # noqa: PLC0415 — takes most of a second

    # The thread that reads standard input would keep the process alive; exiting at once loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdin = requests_on(0)
    sessions = HookLog(engine.files, engine.clock)
    server_of(engine, sessions, str(Path.cwd())).run()  # the agent starts it in the project's folder


@group("", "grant anna --may read --may propose", invoke_without_command=True)
@json_option
@click.pass_context
def access(context: click.Context, as_json: bool) -> None:
    """List the people who may use this memory while you serve it, beside you, and what each may do.

    Private folders, identity and MEMORY.md are shown to no one else.
    """
    if context.invoked_subcommand is not None:
        return
    with invocation().engine() as engine:
        found = People(engine.workspace.root).all()
    if as_json:
        emit_json({"people": found})
    elif not found:
        emit("no one but you; to give someone a token: autopoiesis access grant NAME")
    else:
        table([[each.name, ", ".join(each.may), each.since[:10]] for each in found], ["name", "may", "since"])


@access.verb("grant", "anna --may read --may conversations")
@click.argument("name")
@click.option("--may", "rights", type=click.Choice(RIGHTS), multiple=True, default=("read", "propose"),
              show_default=True,
              help="; ".join(f"{right}: {meaning}" for right, meaning in MEANING.items()) + ".")  # fmt: skip
def grant(engine: Engine, name: str, rights: tuple[Right, ...], as_json: bool) -> None:
    """Make a token for a person, with these rights, in place of any before. It is shown only now."""
    person, token = People(engine.workspace.root).grant(name, rights, engine.clock())
    if emitted_json(as_json, {"person": person, "token": token}):
        return
    emit(f"{name} may: {', '.join(person.may)}. Give them this token, which is not stored here:")
    emit(token)


@access.verb("revoke", "anna")
@click.argument("name")
def revoke(engine: Engine, name: str, as_json: bool) -> int:
    """Withdraw a person's token, at once. Exit 1 if they have none."""
    is_known = People(engine.workspace.root).revoke(name)
    if as_json:
        emit_json({"revoked": is_known})
    else:
        emit(f"{name} has no access any more" if is_known else f"{name} had no token")
    return 0 if is_known else 1


@access.verb("log", "anna --last 50")
@click.argument("name", default="")
@click.option("--last", type=click.IntRange(1), default=30, show_default=True, help="Requests to list.")
def log(engine: Engine, name: str, last: int, as_json: bool) -> None:
    """List what people asked for, newest first; their words are not recorded."""
    found = AccessLog(engine.files, engine.clock).last(last, name)
    if as_json:
        emit_json({"requests": found})
    elif not found:
        emit("no requests of other people are recorded")
    else:
        zone = engine.config.days.time_zone
        table([[f"{local_time(each.at, zone):%Y-%m-%d %H:%M:%S}", each.who, each.what] for each in found])
