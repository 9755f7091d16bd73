"""What each agent's hooks send and take, as its source or its documentation says.

Nothing but values: it is imported for every prompt that a person sends, so it reads nothing and needs only
the standard library.

A hook answers with one JSON object on stdout, or nothing. No agent is told of a failure: a hook that fails
stops a person's work, so ours leaves with 0 and says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Moment = Literal["session_start", "prompt", "stop", "pre_compact", "session_end"]
"""When a hook of ours runs: the stable context goes out; what is worth knowing for this prompt goes out; the
turn that ended is captured; what the agent is about to forget is flushed; the session is imported."""

WAITED_FOR: tuple[Moment, ...] = ("session_start", "prompt")
"""Those whose answer says something to the agent."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of an agent, as we register for it."""

    name: str
    """What the agent calls it, in ``hook_event_name`` and as a key of its settings."""

    moment: Moment
    seconds: int
    """After so long the agent ends the hook."""

    context: bool = False
    """Whether the answer may add to what the model reads."""

    only: str = ""
    """The ``trigger`` that it must name, where others do not mean what the event says."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where settings stand."""

    user: str
    """Below the agent's folder; with ``~/`` in front, in the person's home where the variable is not set."""

    project: str
    """Below the project's folder."""


@dataclass(frozen=True, slots=True)
class Contract:
    """One agent."""

    agent: str
    title: str
    home: str
    """The folder of its own below the person's home."""

    variable: str
    """The environment variable that names another folder."""

    program: str
    """What a person types to start it."""

    events: tuple[Event, ...]
    hooks: Place
    """The file that holds its hooks, as ``hooks → event → [{hooks: [{type, command, timeout}]}]``; where it
    ends in ``.js``, a plugin of ours, which calls the hooks."""

    mcp: Place
    """The file that names its MCP servers."""

    mcp_key: str
    """Under which key of that file."""

    note: str
    """What the person must know or do after an installation, as sentences; may be empty."""

    below_variable: str = ""
    """What is appended to the folder that the variable names."""

    most_bytes: int = 9_500
    """UTF-8 bytes of context that reach the model as they are. Claude Code shows a preview instead of more
    than 10,000 characters; Codex writes what is over 2,500 tokens of four bytes into a file."""

    ticks: int = 1
    """A second in the unit of its ``timeout``: 1, or 1,000 where it counts milliseconds."""

    silence: str = ""
    """The answer that adds nothing."""

    compacts_unsaid: bool = False
    """Whether it compacts by itself without an event that says so, and starts no session: its log tells."""

    told_each_start: bool = False
    """Whether what holds throughout is to be said also to a session that goes on: no log of it holds that."""

    trusted: str = ""
    """The file of its folder that names the hooks that the person has trusted; empty where it runs any."""

    trust: str = ""
    """How the person trusts them."""

    def event(self, name: str) -> Event | None:
        """The event that the agent calls so; ``None`` for one that we do not know."""
        return next((each for each in self.events if each.name == name), None)

    def answer(self, name: str, text: str) -> str:
        """What to write to stdout so that the model reads a text; ``silence`` where it cannot, or is empty.

        No other key may stand in it: Codex rejects an answer with a key that it does not know.
        """
        event = self.event(name)
        if event is None or not event.context or not text:
            return self.silence
        return json.dumps(
            {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}, ensure_ascii=False
        )


CLAUDE_CODE = Contract(
    agent="claude-code",
    title="Claude Code",
    home=".claude",
    variable="CLAUDE_CONFIG_DIR",
    program="claude",
    events=(
        Event("SessionStart", "session_start", 10, context=True),
        Event("UserPromptSubmit", "prompt", 10, context=True),
        # Not ``async``: ``claude -p`` kills it as it exits, and leaves out SessionEnd.
        Event("Stop", "stop", 30),
        Event("PreCompact", "pre_compact", 30),
        Event("SessionEnd", "session_end", 10),  # some versions end it after 1.5 s all the same
    ),
    hooks=Place("settings.json", ".claude/settings.local.json"),
    mcp=Place("~/.claude.json", ".mcp.json"),
    mcp_key="mcpServers",
    note="Sessions that run already take the hooks up when they are started again.",
)

_TRUST_CODEX = "start codex, which asks, or type /hooks there"

CODEX = Contract(
    agent="codex",
    title="Codex",
    home=".codex",
    variable="CODEX_HOME",
    program="codex",
    events=(
        Event("SessionStart", "session_start", 10, context=True),
        Event("UserPromptSubmit", "prompt", 10, context=True),
        Event("Stop", "stop", 30),  # older versions leave out a hook that asks to run in the background
        Event("PreCompact", "pre_compact", 30),
        Event("SessionEnd", "session_end", 3),  # more is cut to 3 with a warning; older versions ignore it
    ),
    hooks=Place("hooks.json", ".codex/hooks.json"),
    mcp=Place("config.toml", ".codex/config.toml"),
    mcp_key="mcp_servers",
    note=(
        f"Codex runs a new or changed hook only after you have trusted it: {_TRUST_CODEX}. "
        "Until then it runs none, and `codex exec` says nothing of it. Versions before May "
        "2026 need `codex_hooks = true` under [features] in config.toml. AUTOPOIESIS_HOOKS=off "
        "reaches `codex exec` and `codex --no-daemon`; the hooks of its screen run in a process behind it, "
        "which keeps the environment of the screen that started it, for later ones too: use `hook off`."
    ),
    trusted="config.toml",
    trust=_TRUST_CODEX,
)

GEMINI = Contract(
    agent="gemini",
    title="Gemini CLI",
    home=".gemini",
    variable="GEMINI_CLI_HOME",
    below_variable=".gemini",
    program="gemini",
    events=(
        Event("SessionStart", "session_start", 10, context=True),
        Event("BeforeAgent", "prompt", 10, context=True),
        Event("AfterAgent", "stop", 30),
        Event("PreCompress", "pre_compact", 30, only="manual"),  # "auto" comes before every call of its model
        Event("SessionEnd", "session_end", 10),
    ),
    hooks=Place("settings.json", ".gemini/settings.json"),
    mcp=Place("settings.json", ".gemini/settings.json"),
    mcp_key="mcpServers",
    note="Gemini CLI warns once of a project's hooks, and turns < and > in what they add into &lt; and &gt;.",
    ticks=1_000,
    compacts_unsaid=True,
    silence="{}",  # where stdout is empty it reads stderr instead
)

OPENCODE = Contract(
    agent="opencode",
    title="opencode",
    home=".config/opencode",
    variable="XDG_CONFIG_HOME",
    below_variable="opencode",
    program="opencode",
    events=(  # of our plugin, which ends them itself
        Event("SessionStart", "session_start", 6, context=True),
        Event("UserPromptSubmit", "prompt", 6, context=True),
        Event("Stop", "stop", 6),
        Event("PreCompact", "pre_compact", 6),
        Event("SessionEnd", "session_end", 6),
    ),
    hooks=Place("plugins/autopoiesis.js", ".opencode/plugins/autopoiesis.js"),
    mcp=Place("opencode.json", "opencode.json"),
    mcp_key="mcp",  # version 2 reads servers there as well as in ``mcp.servers``, version 1 nowhere else
    told_each_start=True,
    note="opencode loads the plugin when it is started again; it must be version 1.18.29 or newer.",
)

CONTRACTS: Mapping[str, Contract] = {each.agent: each for each in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE)}
"""Every agent that is known, by the name of ``autopoiesis install AGENT`` and ``autopoiesis hook AGENT``."""
