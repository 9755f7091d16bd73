"""``mcp``: serves the memory to agents."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.base import verb

if TYPE_CHECKING:
    from engine.engine import Engine


@verb("autopoiesis -C ~/memory mcp", name="mcp")
def mcp(engine: Engine) -> None:
    """Serve the memory to an agent as an MCP server.

    Agents start it themselves and use standard input and output. `autopoiesis serve` serves MCP over HTTP.
    """
    from engine.agents.log import HookLog  # noqa: PLC0415 — only a server needs it
    from engine.gateways.mcp import server_of  # noqa: PLC0415 — takes most of a second
    from engine.gateways.unpaired import requests_on  # noqa: PLC0415 — only a server needs it

    # The thread that reads standard input would keep the process alive; exiting at once loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdin = requests_on(0)
    sessions = HookLog(engine.files, engine.clock)
    server_of(engine, sessions, str(Path.cwd())).run()  # the agent starts it in the project's folder
