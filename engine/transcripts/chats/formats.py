"""Every format that ``autopoiesis import`` reads, with the versions it was seen in (``docs/import.md``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A format of a program."""

    program: str
    what: str  # the file or export
    seen: str = ""  # versions of the program in real files; empty if they do not name one
    name: str = ""  # as written in ``channel``; empty for the common names ``chat`` and the program's own
    is_chat: bool = False  # people talk there; elsewhere an agent works


FORMATS = (
    Format(
        "Claude Code",
        "`~/.claude/projects/*/*.jsonl`, `history.jsonl`, `/export`",
        seen="1.0.24 – 2.1.219",
        name="claude-code",
    ),
    Format(
        "Codex",
        "`~/.codex/sessions/**/rollout-*.jsonl[.zst]`, `history.jsonl`",
        seen="0.47 – 0.144",
        name="codex",
    ),
    Format("Gemini CLI", "`~/.gemini/tmp/*/chats/session-*.json[l]`, `logs.json`", name="gemini"),
    Format("SpecStory", "`.specstory/history/*.md`", seen="1.13 – 2.1", name="specstory"),
    Format("Aider", "`.aider.chat.history.md`", seen="0.82 – 0.86", name="aider"),
    Format("Cursor", "`state.vscdb`, exported Markdown, transcripts", name="cursor"),
    Format("Cline, Roo Code, Kilo Code", "task folders, exported Markdown", name="cline"),
    Format("Continue", "`~/.continue/sessions/*.json`", name="continue"),
    Format("GitHub Copilot in VS Code", "Export Chat (JSON), Copy All", name="copilot"),
    Format("GitHub Copilot on github.com", "exported Markdown"),
    Format(
        "GitHub Copilot's command line",
        "`~/.copilot/session-state/*/events.jsonl`, `/share`",
        name="copilot-cli",
    ),
    Format("Crush, first opencode", "`.crush/crush.db`, `.opencode/opencode.db`", name="crush"),
    Format(
        "opencode", "`opencode.db`, `storage/`, `opencode export`, `/export`", seen="1.2", name="opencode"
    ),
    Format("Goose", "`~/.local/share/goose/sessions/sessions.db`", name="goose"),
    Format("pi", "`~/.pi/agent/sessions/*/*.jsonl`", seen="session version 3", name="pi"),
    Format("OpenHands", "downloaded trajectories, events", seen="0.46", name="openhands"),
    Format("SWE-agent", "`*.traj`", name="swe-agent"),
    Format("Windsurf, Antigravity", "Download Trajectory, exported Markdown", name="windsurf"),
    Format("Antigravity", "steps in JSON", name="antigravity"),
    Format("Kiro, Amazon Q", "saved conversations, session logs", name="kiro"),
    Format("Kimi's command line", "wire logs", name="kimi"),
    Format("Qwen Code, Grok's command line", "session logs"),
    Format("Zed", "text threads (`*.zed.json`)", seen="0.4.0 of the format", name="zed"),
    Format("ChatGPT", "`conversations.json`", name="chatgpt", is_chat=True),
    Format("Claude.ai", "`conversations.json`", name="claude-ai", is_chat=True),
    Format("DeepSeek, Qwen, Z.ai, Grok", "exports in JSON", name="deepseek", is_chat=True),
    Format("Open WebUI", "exports in JSON, `webui.db` of one person", name="open-webui", is_chat=True),
    Format("LibreChat", "exports in JSON"),
    Format("claude-code-log", "Markdown", seen="1.5", name="claude-code-log"),
    Format(
        "any program", "JSON with `role` and `content`; text with speakers' names", name="chat", is_chat=True
    ),
)
"""Every format, agents first."""
CHATS = frozenset({"", *(each.name for each in FORMATS if each.is_chat)})
"""The values of ``channel`` of conversations in which no agent works."""


def table() -> str:
    """The formats as a table in Markdown."""
    rows = [f"| {each.program} | {each.what} | {each.seen or '–'} |" for each in FORMATS]
    return "\n".join(["| program | what is read | seen in versions |", "|---|---|---|", *rows])
