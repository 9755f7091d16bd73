"""Which formats that are read (``docs/import.md``) are of programs in which people chat."""

from __future__ import annotations

CHATS = frozenset({"", "chat", "chatgpt", "claude-ai", "deepseek", "open-webui"})
"""The values of ``channel`` of conversations in which no agent works."""
