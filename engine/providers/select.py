"""Which provider the settings mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from engine.providers.keys import CHAT, GATE, Purpose

if TYPE_CHECKING:
    from engine.providers.base import CompletionProvider
    from engine.providers.chat import ChatProvider


class ServiceSettings(Protocol):
    """Settings that name a service: those of the gate, of the flush and of chats."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def base_url(self) -> str: ...


def completer_for(settings: ServiceSettings, purpose: Purpose = GATE) -> CompletionProvider | None:
    """The service that settings mean; ``None`` when what they name needs none.

    Nothing is connected and no key is read yet: a missing key shows when the first question is asked.

    Args:
        settings: Those of the gate, of the flush or of the harvest.
        purpose: What it is asked for, whose settings its errors name.
    """
    found = _completer(settings)
    if found is not None:
        found.purpose = purpose
    return found


def _completer(settings: ServiceSettings) -> CompletionProvider | None:
    match settings.provider:
        case "anthropic":
            from engine.providers.anthropic import Anthropic  # noqa: PLC0415 — only the one that is configured

            return Anthropic(settings.model, settings.base_url)
        case "openai":
            from engine.providers.openai import OpenAI  # noqa: PLC0415 — only the one that is configured

            return OpenAI(settings.model, settings.base_url)
        case "gemini":
            from engine.providers.gemini import Gemini  # noqa: PLC0415 — only the one that is configured

            return Gemini(settings.model, settings.base_url)
        case "claude-code":
            from engine.providers.claude_code import ClaudeCode  # noqa: PLC0415 — only the one that is configured

            return ClaudeCode(settings.model)
        case _:
            return None


def chat_provider_for(settings: ServiceSettings, count: Callable[[str], int] | None = None) -> ChatProvider:
    """The service that answers prompts; ``local`` asks none.

    Nothing is connected and no key is read yet: a missing key shows when the first prompt is sent.

    Args:
        settings: Those of chats.
        count: Counts tokens for ``local``.
    """
    match settings.provider:
        case "anthropic":
            from engine.providers.chat_anthropic import AnthropicChat  # noqa: PLC0415 — as above

            return AnthropicChat(settings.model, settings.base_url)
        case "openai":
            from engine.providers.chat_openai import OpenAIChat  # noqa: PLC0415 — as above

            return OpenAIChat(settings.model, settings.base_url)
        case "gemini":
            from engine.providers.chat_gemini import GeminiChat  # noqa: PLC0415 — as above

            return GeminiChat(settings.model, settings.base_url)
        case "claude-code":
            from engine.providers.claude_code import ClaudeCode  # noqa: PLC0415 — as above

            return ClaudeCode(settings.model, CHAT)
        case _:
            from engine.providers.chat_local import LocalChat  # noqa: PLC0415 — as above

            return LocalChat(count)
