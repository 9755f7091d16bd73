"""What a face does with discussions: puts messages to models, looks after the caches of their prefixes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from engine.discussions.overview import DAYS
from engine.discussions.turn import Sender
from engine.providers.chat import TTL_SECONDS

if TYPE_CHECKING:
    from engine.costs.costs import Costs
    from engine.discussions.ending import Ending
    from engine.discussions.overview import CacheOverview
    from engine.discussions.sending import Sending
    from engine.providers.chat import ChatProvider
    from engine.settings.model import ChatProviderName, ChatSettings
    from engine.store.paths import Workspace

_SHORT_S = 300


class Discussing(Sender, Protocol):
    """What discussions need of an engine."""

    workspace: Workspace

    @property
    def costs(self) -> Costs: ...


class Discussions:
    """The discussions of a workspace. Safe to use from several threads."""

    def __init__(self, engine: Discussing) -> None:
        self._engine = engine
        self._guard = threading.Lock()
        self._chats: dict[ChatSettings, ChatProvider] = {}

    def sending(self, *, provider: ChatProviderName | None = None, model: str = "") -> Sending:
        """What puts messages to a model: the provider and model of the settings where they are left out."""
        from engine.context import tokens  # noqa: PLC0415 — as below
        from engine.discussions.money import Bills  # noqa: PLC0415 — as below
        from engine.discussions.sending import Sending  # noqa: PLC0415 — most commands ask no model

        settings = self._engine.config.chat
        if provider is not None and provider != settings.provider:
            # The model and the server of another provider mean nothing to this one.
            settings = replace(settings, provider=provider, model="", base_url="")
        if model:
            settings = replace(settings, model=model)
        return Sending(self._engine, lambda: self._chat(settings), Bills(self._engine.costs), tokens.count)

    def to_continue(self, key: str) -> str:
        """The session that a message said after a turn belongs to; empty where a new one begins."""
        from engine.discussions.continuing import session_to_continue  # noqa: PLC0415 — only where one is sent

        return session_to_continue(self._engine.workspace, key)

    @property
    def ending(self) -> Ending:
        """What gives caches up by hand, switches them off and on."""
        from engine.discussions.ending import Ending  # noqa: PLC0415 — hardly ever needed
        from engine.providers.select import chat_provider_for  # noqa: PLC0415 — as above

        def provider(name: str, model: str) -> ChatProvider:
            settings = self._engine.config.chat
            if name != settings.provider:
                settings = replace(settings, provider=name, base_url="")  # type: ignore[arg-type]  # as it was kept
            return chat_provider_for(replace(settings, model=model))

        return Ending(self._engine.caches, provider)

    def overview(self, days: int = DAYS) -> CacheOverview:
        """What the caches of all discussions come to in so many days, today among them; at least 1."""
        from engine.discussions.overview import overview  # noqa: PLC0415 — only where it is shown

        engine = self._engine
        service = self._chat(engine.config.chat)
        return overview(
            at=engine.clock(),
            days=days,
            records=engine.costs.log.records,
            states=engine.caches.all(),
            misses=engine.prefixes.misses(self._ttl_s(service), self.price_of_misses()),
            provider=service.name,
            model=service.model,
            settings=engine.config.cache,
            workspace=engine.workspace,
        )

    def price_of_misses(self) -> Callable[[int], float | None]:
        """Reckons US dollars for tokens sent to the model of chats that its cache would have held; ``None``
        where no price is known.
        """
        service = self._chat(self._engine.config.chat)
        price = self._engine.costs.prices.price(service.model, elsewhere=bool(service.address))
        each = None if price is None else (price.input - price.cache_read) / 1e6
        return lambda tokens: None if each is None else tokens * each

    def _ttl_s(self, service: ChatProvider) -> float:
        """How long the cache of a service stays after its last use by the settings, seconds."""
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
        """The provider for some settings, kept: it remembers what its server has refused."""
        from engine.context import tokens  # noqa: PLC0415 — as in ``sending``
        from engine.providers.select import chat_provider_for  # noqa: PLC0415 — likewise

        with self._guard:
            if settings not in self._chats:
                self._chats[settings] = chat_provider_for(settings, tokens.count)
            return self._chats[settings]
