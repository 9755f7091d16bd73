"""Discussions: sending messages to models and managing the caches of their prefixes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engine.conversations.conversations import TurnKey
from engine.discussions.overview import DAYS, CacheOverview, by_provider, with_titles
from engine.discussions.turn import Sender
from engine.errors import PathRefused
from engine.providers.chat import TTL_SECONDS
from engine.store.paths import valid_session_id
from engine.transcripts.places import head_fields, read_head

if TYPE_CHECKING:
    from engine.discussions.named import Ending
    from engine.discussions.sending import Sending
    from engine.providers.chat import ChatProvider
    from engine.settings.model import ChatProviderName, ChatSettings

_SHORT_S = 300


class Discussions:
    """The discussions of a workspace. Safe to use from several threads."""

    def __init__(self, engine: Sender) -> None:
        self._engine = engine
        self._guard = threading.Lock()
        self._chats: dict[ChatSettings, ChatProvider] = {}

    def sending(self, *, provider: ChatProviderName | None = None, model: str = "") -> Sending:
        """Sends messages to a model; provider and model default to the settings."""
        from engine.context import tokens  # noqa: PLC0415 — as below
        from engine.discussions.sending import Bills, Sending  # noqa: PLC0415 — most commands ask no model

        settings = self._engine.config.chat
        if provider is not None and provider != settings.provider:
            # The configured model and server belong to another provider.
            settings = replace(settings, provider=provider, model="", base_url="")
        if model:
            settings = replace(settings, model=model)
        return Sending(self._engine, lambda: self._chat(settings), Bills(self._engine.costs), tokens.count)

    def to_continue(self, key: str) -> str:
        """The open session of a turn if it was started by ``send``, else empty.

        Sessions of other agents are never written to from here.
        """
        from engine.discussions.sending import CHANNEL  # noqa: PLC0415 — only where one is sent

        name = TurnKey.of(key)
        if name is None:
            return ""
        try:
            place = self._engine.workspace.resolve(name.path)
        except PathRefused:
            return ""
        fields = head_fields(read_head(place), ("session_id", "channel", "ended"))
        session = fields["session_id"]
        is_open = fields["channel"] == CHANNEL and not fields["ended"] and valid_session_id(session)
        return session if is_open else ""

    @property
    def ending(self) -> Ending:
        """Invalidates, disables and enables caches by hand."""
        from engine.discussions.named import Ending  # noqa: PLC0415 — hardly ever needed
        from engine.providers.select import chat_provider_for  # noqa: PLC0415 — as above

        def provider(name: str, model: str) -> ChatProvider:
            settings = self._engine.config.chat
            if name != settings.provider:
                settings = replace(settings, provider=name, base_url="")  # type: ignore[arg-type]  # as it was kept
            return chat_provider_for(replace(settings, model=model))

        return Ending(self._engine.caches, provider)

    def overview(self, days: int = DAYS) -> CacheOverview:
        """Cache statistics of all discussions for a number of days including today; at least 1."""
        engine = self._engine
        service, now, states = self._chat(engine.config.chat), engine.clock(), engine.caches.all()
        since = now.date() - timedelta(days=days - 1)
        return CacheOverview(
            at=now,
            since=since,
            providers=by_provider(engine.costs.log.records(since), states, now),
            discussions=with_titles(states, engine.workspace),
            misses=engine.prefixes.misses(self._ttl_s(service), self._price_of_misses()),
            provider=service.name,
            model=service.model,
            settings=engine.config.cache,
        )

    def _price_of_misses(self) -> Callable[[int], float | None]:
        """Returns a function for the extra US dollars of tokens sent to the chat model instead of being read
        from its cache; ``None`` if the price is unknown.
        """
        service = self._chat(self._engine.config.chat)
        price = self._engine.costs.prices.price(service.model, elsewhere=bool(service.address))
        each = None if price is None else (price.input - price.cache_read) / 1e6
        return lambda tokens: None if each is None else tokens * each

    def _ttl_s(self, service: ChatProvider) -> float:
        """Seconds that a service keeps a cache after its last use, by the settings."""
        cache = self._engine.config.cache
        match service.name:
            case "anthropic":
                return TTL_SECONDS[cache.anthropic_ttl]
            case "gemini":
                return 60 * (
                    cache.gemini_ttl_minutes if cache.gemini_long else min(cache.gemini_ttl_minutes, 60)
                )
            case _:
                return _SHORT_S

    def _chat(self, settings: ChatSettings) -> ChatProvider:
        """The provider for some settings, kept because it remembers what its server refused."""
        from engine.context import tokens  # noqa: PLC0415 — as in ``sending``
        from engine.providers.select import chat_provider_for  # noqa: PLC0415 — likewise

        with self._guard:
            if settings not in self._chats:
                self._chats[settings] = chat_provider_for(settings, tokens.count)
            return self._chats[settings]
