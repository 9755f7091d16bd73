"""Named caches on the provider's side: created once, used, refreshed, recreated, deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.discussions.named import Ending
from engine.discussions.sending import Sending
from engine.discussions.turn import Sent
from engine.engine import Engine
from engine.errors import SendFailed
from engine.providers.chat import CacheGone, ChatReply, ChatRequest, StoredCache, Usage
from tests.discussions.scripted import Purse, Scripted

NOW = datetime(2026, 6, 12, 8, tzinfo=UTC)


@dataclass
class Shelf(Scripted):
    """A provider that stores prefixes under names until they are deleted or a test clears ``shelf``."""

    name: str = "gemini"
    model: str = "gemini-3.5-flash-lite"
    shelf: dict[str, str] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    refuse: set[str] = field(default_factory=set)
    now: datetime = NOW

    async def create_cache(self, request: ChatRequest, ttl_s: int, *, timeout: float) -> StoredCache:
        self._call("create")
        name = f"cachedContents/{len([each for each in self.done if each == 'create'])}"
        prefix = self.shelf[name] = "".join(request.prefix)
        return StoredCache(name, self.now + timedelta(seconds=ttl_s), len(prefix))

    async def delete_cache(self, name: str, *, timeout: float) -> None:
        self._call("delete")
        self.shelf.pop(name, None)

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        kept = self.shelf.get(request.cached_content)
        if request.cached_content and kept is None:
            raise CacheGone("the cache is gone", where="gemini")
        assert not request.cached_content or kept == "".join(request.prefix)
        self.asked.append(request)
        on_text("Yes.")
        read = len(kept or "")
        return ChatReply(
            "Yes.", Usage(len("".join(request.prefix)) + len(request.rest), read, 0, 0, 4), self.model
        )

    def _call(self, what: str) -> None:
        self.done.append(what)
        if what in self.refuse:
            raise SendFailed(f"{what} was refused", where="gemini")


class Sender:
    """Sends messages at a time that a test sets."""

    def __init__(self, root: Path, shelf: Shelf) -> None:
        self.now = NOW
        self.shelf = shelf
        self.purse = Purse()
        self.engine = Engine.open(root, clock=lambda: self.now)
        self.session = ""

    def begin(self) -> Sent:
        """Sends two messages: the first creates no cache, the second does."""
        self.send("Hello.")
        return self.send("Good morning.")

    def send(self, text: str) -> Sent:
        self.shelf.now = self.now
        sent = Sending(self.engine, lambda: self.shelf, self.purse, len).send(text, session_id=self.session)
        assert sent.problem == ""
        self.session = sent.session_id
        return sent


@pytest.fixture
def sender(plain: Path) -> Sender:
    return Sender(plain, Shelf())


def test_a_cache_is_created_when_a_prefix_is_repeated_and_used_from_then_on(sender: Sender) -> None:
    first, second, third = sender.send("Hello."), sender.send("Good morning."), sender.send("Anything new?")
    assert sender.shelf.done == ["create"]
    assert [request.cached_content for request in sender.shelf.asked] == ["", *["cachedContents/1"] * 2]
    assert (first.cache.cached_content, second.cache.cached_content) == ("", "cachedContents/1")
    assert (third.cache.hits, third.cache.calls) == (2, 3)
    assert third.cache.seconds_left(sender.now) == 3600
    assert [seconds for *_, seconds in sender.purse.storage] == [3600]
    assert second.cost_usd is not None and third.cost_usd is not None and second.cost_usd > third.cost_usd


def test_an_expired_cache_is_deleted_and_recreated(sender: Sender) -> None:
    sender.begin()
    sender.now += timedelta(minutes=59, seconds=30)
    assert sender.send("Anything new?").cache.cached_content == "cachedContents/2", "about to expire"
    assert sender.shelf.done == ["create", "create", "delete"]


def test_a_failed_delete_does_not_fail_the_reply(sender: Sender) -> None:
    sender.shelf.refuse = {"delete"}
    sender.begin()
    sender.now += timedelta(minutes=61)
    sent = sender.send("Anything new?")
    assert "delete" in sender.shelf.done and sent.reply.text == "Yes."


def test_a_cache_lost_by_the_service_is_recreated(sender: Sender) -> None:
    sender.begin()
    sender.shelf.shelf.clear()
    assert sender.send("Anything new?").cache.cached_content == "cachedContents/2"


def test_a_changed_prefix_gets_a_new_cache_and_the_old_one_is_deleted(sender: Sender) -> None:
    sender.begin()
    edit_soul(sender)
    sender.send("Anything new?")
    sender.send("And now?")
    assert sender.shelf.done == ["create", "delete", "create"]
    assert list(sender.shelf.shelf) == ["cachedContents/2"]


def test_the_prefix_is_sent_when_no_cache_can_be_created(sender: Sender) -> None:
    sender.shelf.refuse = {"create"}
    sent = sender.begin()
    assert [request.cached_content for request in sender.shelf.asked] == ["", ""]
    assert all(request.prefix for request in sender.shelf.asked)
    assert sent.cache.why == "gemini: create was refused"


def test_a_cache_invalidated_by_hand_is_not_found_again(sender: Sender) -> None:
    sender.begin()
    sender.shelf.refuse = {"delete"}
    ending(sender).invalidate(sender.session, "given up by hand")
    assert list(sender.shelf.shelf) == ["cachedContents/1"]
    sender.send("Anything new?")
    assert sender.send("And now?").cache.cached_content == "cachedContents/2"


@pytest.mark.parametrize("setting", ["off", "disabled", "short"])
def test_no_cache_is_created_when_caching_is_off_or_the_prefix_is_short(
    sender: Sender, plain: Path, setting: str
) -> None:
    if setting == "off":
        with (plain / "memory-config.yaml").open("a") as file:
            file.write("\ncache:\n  gemini: false\n")
        sender = Sender(plain, sender.shelf)
    elif setting == "short":
        sender.purse.least = 10**9
    else:
        sender.engine.capture.start("ses_quiet")
        sender.engine.caches.set_enabled("ses_quiet", False)
        sender.session = "ses_quiet"
    sender.begin()
    assert sender.shelf.done == []


@pytest.mark.parametrize(("lines", "minutes"), [("", 60), ("  gemini_long: true\n", 300)])
def test_the_ttl_is_at_most_an_hour_unless_gemini_long_is_set(plain: Path, lines: str, minutes: int) -> None:
    with (plain / "memory-config.yaml").open("a") as file:
        file.write(f"\ncache:\n  gemini_ttl_minutes: 300\n{lines}")
    sender = Sender(plain, Shelf())
    assert sender.begin().cache.seconds_left(NOW) == 60 * minutes


def ending(sender: Sender) -> Ending:
    return Ending(sender.engine.caches, lambda _name, _model: sender.shelf)


def edit_soul(sender: Sender) -> None:
    soul = sender.engine.workspace.root / "knowledge/identity/SOUL.md"
    soul.write_text(soul.read_text() + "\nNever guess.\n")


def test_invalidating_a_cache_deletes_the_services_copy(sender: Sender) -> None:
    sender.begin()
    state = ending(sender).invalidate(sender.session, "given up by hand")
    assert (state.cached_content, state.why, sender.shelf.shelf) == ("", "given up by hand", {})
    sender.send("Anything new?")
    assert sender.send("And now?").cache.cached_content == "cachedContents/2"


def test_disabling_caching_deletes_the_cache_and_enabling_creates_another(sender: Sender) -> None:
    sender.begin()
    assert ending(sender).disable(sender.session).enabled is False and sender.shelf.shelf == {}
    assert sender.send("Anything new?").cache.cached_content == ""
    assert ending(sender).enable(sender.session).enabled is True
    assert sender.send("And now?").cache.cached_content == "cachedContents/2"


def test_a_copy_that_cannot_be_deleted_is_reported(sender: Sender) -> None:
    sender.begin()
    sender.shelf.refuse = {"delete"}
    state = ending(sender).invalidate(sender.session, "given up by hand")
    assert state.why == (
        "given up by hand; the service's copy stays until it expires: gemini: delete was refused"
    )
