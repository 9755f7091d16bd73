"""Which provider the settings mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from engine.providers.keys import CHAT, GATE, Purpose

if TYPE_CHECKING:
    from engine.providers.chat import ChatProvider


class ServiceSettings(Protocol):
    """Settings that name a service: those of chats, of the gate, of the flush and of the harvest."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def base_url(self) -> str: ...


def completer_for(settings: ServiceSettings, purpose: Purpose = GATE) -> ChatProvider | None:
    """The service that settings mean; ``None`` when what they name needs none.

    Nothing is connected and no key is read yet: a missing key shows when the first question is asked.

    Args:
        settings: Those of what it is asked for.
        purpose: What that is; its errors name these settings.
    """
    match settings.provider:
        case "anthropic":
            from engine.providers.anthropic import Anthropic  # noqa: PLC0415 — only the one that is configured

            return Anthropic(settings.model, settings.base_url, purpose)
        case "openai":
            from engine.providers.openai import OpenAI  # noqa: PLC0415 — likewise

            return OpenAI(settings.model, settings.base_url, purpose)
        case "gemini":
            from engine.providers.gemini import Gemini  # noqa: PLC0415 — likewise

            return Gemini(settings.model, settings.base_url, purpose)
        case "claude-code":
            from engine.providers.claude_code import ClaudeCode  # noqa: PLC0415 — likewise

            return ClaudeCode(settings.model, purpose)
        case _:
            return None


def chat_provider_for(settings: ServiceSettings, count: Callable[[str], int] | None = None) -> ChatProvider:
    """The service that answers prompts, as ``completer_for``; ``local`` asks none.

    Args:
        settings: Those of chats.
        count: Counts tokens for ``local``.
    """
    found = completer_for(settings, CHAT)
    if found is not None:
        return found
    from engine.providers.local import LocalChat  # noqa: PLC0415 — likewise

    return LocalChat(count)
