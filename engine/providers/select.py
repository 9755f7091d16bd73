"""Selects the provider for given settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.providers.keys import CHAT, COMMIT, CONDENSE, EXTRACTION, FLUSH, GATE, HARVEST, Purpose
from engine.settings.model import (
    ChatSettings,
    CondensingSettings,
    ExtractionSettings,
    FlushSettings,
    GateSettings,
    HarvestSettings,
    WordingSettings,
)

if TYPE_CHECKING:
    from engine.providers.chat import ChatProvider


ServiceSettings = (
    GateSettings
    | FlushSettings
    | HarvestSettings
    | ExtractionSettings
    | CondensingSettings
    | ChatSettings
    | WordingSettings
)
"""Settings with a provider and a model."""

_PURPOSES: dict[type[ServiceSettings], Purpose] = {
    GateSettings: GATE,
    FlushSettings: FLUSH,
    HarvestSettings: HARVEST,
    ExtractionSettings: EXTRACTION,
    CondensingSettings: CONDENSE,
    ChatSettings: CHAT,
    WordingSettings: COMMIT,
}


def completer_for(settings: ServiceSettings) -> ChatProvider | None:
    """The service for given settings, whose errors name these settings; ``None`` if they need none.

    Nothing is connected and no key is read yet: a missing key is reported by the first request.
    """
    model, purpose = settings.model, _PURPOSES[type(settings)]
    match settings.provider:
        case "anthropic":
            from engine.providers.anthropic import Anthropic  # noqa: PLC0415 — only the one that is configured

            return Anthropic(model, settings.base_url, purpose=purpose)
        case "openai":
            from engine.providers.openai import OpenAI  # noqa: PLC0415 — likewise

            return OpenAI(model, settings.base_url, purpose=purpose)
        case "gemini":
            from engine.providers.gemini import Gemini  # noqa: PLC0415 — likewise

            return Gemini(model, settings.base_url, purpose=purpose)
        case "claude-code":
            from engine.providers.claude_code import ClaudeCode  # noqa: PLC0415 — likewise

            return ClaudeCode(model, purpose=purpose)
        case _:
            return None


def chat_provider_for(settings: ChatSettings, count: Callable[[str], int] | None = None) -> ChatProvider:
    """The service for chats, as ``completer_for``; for ``local``, one that uses no model.

    Args:
        count: Counts tokens for ``local``.
    """
    found = completer_for(settings)
    if found is not None:
        return found
    from engine.providers.local import LocalChat  # noqa: PLC0415 — likewise

    return LocalChat(count)
