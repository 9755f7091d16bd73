"""Which provider the settings mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from engine.providers.base import CompletionProvider


class ServiceSettings(Protocol):
    """Settings that name a service: those of the gate and of the flush."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def base_url(self) -> str: ...


def completer_for(settings: ServiceSettings) -> CompletionProvider | None:
    """The service that settings mean; ``None`` when what they name needs none.

    Nothing is connected and no key is read yet: a missing key shows when the first question is asked.
    """
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
