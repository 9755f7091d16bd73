"""The hook contract of each agent, from its source or documentation.

Only values: this is imported for every prompt, so it reads nothing and needs only the standard library.

A hook prints one JSON object or nothing. A failing hook would interrupt the person's work, so ours always
exits with 0 and reports failures elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from engine.startup.records import dataclass

Moment = Literal["session_start", "prompt", "stop", "pre_compact", "session_end"]
"""When our hook runs, and what it does: inject the standing context, inject what is relevant to the prompt,
capture the turn, flush what the agent is about to forget, commit the session."""

WAITED_FOR: tuple[Moment, ...] = ("session_start", "prompt")
"""Those whose output reaches the agent."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event we register for."""

    name: str
    """The agent's name for it: ``hook_event_name``, and the key in its settings."""

    moment: Moment
    seconds: int
    """Timeout after which the agent kills the hook."""

    context: bool = False
    """Whether the output may add context."""

    only: str = ""
    """The required ``trigger``, if others do not mean what the event's name says; also its matcher."""


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a settings file."""

    user: str
    """Relative to the agent's folder; with ``~/``, to the home folder unless the variable is set."""

    project: str
    """Relative to the project."""


@dataclass(frozen=True, slots=True)
class Off:
    """A setting that turns all hooks off."""

    keys: tuple[str, ...]
    """From the root of the settings to its value."""

    off: bool
    """The value that turns them off."""


@dataclass(frozen=True, slots=True)
class Contract:
    """One agent's contract."""

    agent: str
    title: str
    home: str
    """Its folder, relative to the home folder."""

    variable: str
    """The environment variable that overrides the folder."""

    program: str
    """Its command."""

    events: tuple[Event, ...]
    hooks: Place
    """The file with its hooks, as ``hooks → event → [{hooks: [{type, command, timeout}]}]``; if it ends in
    ``.js``, our plugin, which calls the hooks."""

    mcp: Place
    """The file that names its MCP servers."""

    mcp_key: str
    """The key in that file."""

    note: str
    """What the person has to know or do after installation; may be empty."""

    below_variable: str = ""
    """Appended to the folder the variable names."""

    max_bytes: int = 9_500
    """UTF-8 bytes of context that reach the model unchanged. Claude Code replaces more than 10,000 characters
    with a preview; Codex moves more than 2,500 tokens (of four bytes) to a file."""

    ticks: int = 1
    """Units of its ``timeout`` per second: 1, or 1,000 for milliseconds."""

    silence: str = ""
    """The output that adds nothing."""

    compacts_silently: bool = False
    """Whether it compacts on its own without an event or a session start; only its log shows it."""

    inject_each_start: bool = False
    """Whether a resumed session needs the standing context again, because its log does not keep it."""

    off: tuple[Off, ...] = ()
    """The settings that turn all its hooks off."""

    off_files: tuple[str, ...] = ()
    """Where it looks for them, the ones that count most first: a path from the root, in the project if it
    starts with ``./``, or else in its folder."""

    trust_file: str = ""
    """The file in its folder that lists the trusted hooks; empty if it runs any."""

    trust_hint: str = ""
    """How the person can trust them."""

    def event(self, name: str) -> Event | None:
        """The event of that name; ``None`` if unknown."""
        return next((each for each in self.events if each.name == name), None)

    def answer(self, name: str, text: str) -> str:
        """The output that makes the model read a text; ``silence`` if it cannot, or the text is empty.

        It must contain no other key: Codex rejects unknown ones.
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
        # Not ``async``: ``claude -p`` kills async hooks as it exits, and skips SessionEnd.
        Event("Stop", "stop", 30),
        Event("PreCompact", "pre_compact", 30),
        Event("SessionEnd", "session_end", 10),  # some versions kill it after 1.5 s regardless
    ),
    hooks=Place("settings.json", ".claude/settings.local.json"),
    mcp=Place("~/.claude.json", ".mcp.json"),
    mcp_key="mcpServers",
    note="Restart running sessions to load the hooks.",
    off=(Off(("disableAllHooks",), off=True),),
    off_files=(
        "/etc/claude-code/managed-settings.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
        "./.claude/settings.local.json",
        "./.claude/settings.json",
        "settings.json",
    ),
)

_TRUST_CODEX = "start codex, which asks, or run /hooks in it"

CODEX = Contract(
    agent="codex",
    title="Codex",
    home=".codex",
    variable="CODEX_HOME",
    program="codex",
    events=(
        Event("SessionStart", "session_start", 10, context=True),
        Event("UserPromptSubmit", "prompt", 10, context=True),
        Event("Stop", "stop", 30),  # older versions skip async hooks
        Event("PreCompact", "pre_compact", 30),
        Event("SessionEnd", "session_end", 3),  # more is reduced with a warning; older versions ignore it
    ),
    hooks=Place("hooks.json", ".codex/hooks.json"),
    mcp=Place("config.toml", ".codex/config.toml"),
    mcp_key="mcp_servers",
    note=(
        f"Codex runs a new or changed hook only after you have trusted it: {_TRUST_CODEX}. "
        "Until then it runs none, and `codex exec` does not mention it. Versions before May 2026 need "
        "`codex_hooks = true` under [features] in config.toml. AUTOPOIESIS_HOOKS=off works for `codex exec` "
        "and `codex --no-daemon`; the hooks of its TUI run in a daemon that keeps the environment it was "
        "first started with: use `hook off` there."
    ),
    off=(Off(("features", "hooks"), off=False), Off(("features", "codex_hooks"), off=False)),
    off_files=("./.codex/config.toml", "config.toml"),
    trust_file="config.toml",
    trust_hint=_TRUST_CODEX,
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
        # "auto" comes before every model call, and does not tell whether there will be a compression.
        Event("PreCompress", "pre_compact", 30, only="manual"),
        Event("SessionEnd", "session_end", 10),
    ),
    hooks=Place("settings.json", ".gemini/settings.json"),
    mcp=Place("settings.json", ".gemini/settings.json"),
    mcp_key="mcpServers",
    note="Gemini CLI warns once about a project's hooks, and escapes < and > in injected text.",
    ticks=1_000,
    off=(
        Off(("hooksConfig", "enabled"), off=False),
        Off(("hooks", "enabled"), off=False),  # older versions
        Off(("tools", "enableHooks"), off=False),
    ),
    off_files=(
        "/etc/gemini-cli/settings.json",
        "/Library/Application Support/GeminiCli/settings.json",
        "./.gemini/settings.json",
        "settings.json",
    ),
    compacts_silently=True,
    silence="{}",  # with empty stdout it reads stderr
)

OPENCODE = Contract(
    agent="opencode",
    title="opencode",
    home=".config/opencode",
    variable="XDG_CONFIG_HOME",
    below_variable="opencode",
    program="opencode",
    events=(  # of our plugin, which enforces the timeouts
        Event("SessionStart", "session_start", 6, context=True),
        Event("UserPromptSubmit", "prompt", 6, context=True),
        Event("Stop", "stop", 6),
        Event("PreCompact", "pre_compact", 6),
        Event("SessionEnd", "session_end", 6),
    ),
    hooks=Place("plugins/autopoiesis.js", ".opencode/plugins/autopoiesis.js"),
    mcp=Place("opencode.json", "opencode.json"),
    mcp_key="mcp",  # version 2 also reads ``mcp.servers``, version 1 only this
    inject_each_start=True,
    note="Restart opencode to load the plugin; it needs version 1.18.29 or newer.",
)

CONTRACTS: Mapping[str, Contract] = {each.agent: each for each in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE)}
"""Every supported agent, by its name on the command line."""
