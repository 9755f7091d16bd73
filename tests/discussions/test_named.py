"""Named caches on the provider's side: created once, used, refreshed, recreated, deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.discussions.caches import MAKING_S, SHARED_PATH, Taken
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
    displayed: dict[str, StoredCache] = field(default_factory=dict)
    looked: list[str] = field(default_factory=list)
    loses_answers: bool = False
    now: datetime = NOW

    async def create_cache(
        self, request: ChatRequest, ttl_s: int, *, timeout: float, display_name: str = ""
    ) -> StoredCache:
        self._call("create")
        name = f"cachedContents/{len([each for each in self.done if each == 'create'])}"
        prefix = self.shelf[name] = "".join(request.prefix)
        self.displayed[display_name] = StoredCache(name, self.now + timedelta(seconds=ttl_s), len(prefix))
        if self.loses_answers:
            raise SendFailed("the reply broke off", where="gemini")
        return self.displayed[display_name]

    async def find_cache(self, display_name: str, *, timeout: float) -> StoredCache | None:
        self.looked.append(display_name)
        if "find" in self.refuse:
            raise SendFailed("find was refused", where="gemini")
        found = self.displayed.get(display_name)
        return found if found is not None and found.name in self.shelf else None

    async def refresh_cache(self, name: str, ttl_s: int, *, timeout: float) -> StoredCache:
        self._call("refresh")
        return StoredCache(name, self.now + timedelta(seconds=ttl_s), len(self.shelf[name]))

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


def test_discussions_with_the_same_prefix_share_a_cache(sender: Sender, plain: Path) -> None:
    other = Sender(plain, sender.shelf)
    sender.send("Good morning.")
    assert other.send("Hello.").cache.cached_content == "cachedContents/1", "the prefix has been sent before"
    assert sender.send("Anything new?").cache.cached_content == "cachedContents/1"
    assert sender.shelf.done == ["create"] and sender.session != other.session
    assert len(sender.purse.storage) + len(other.purse.storage) == 1


@pytest.mark.parametrize(("address", "model"), [("http://localhost:1", ""), ("", "gemini-3.5-pro")])
def test_each_server_and_model_has_its_own_cache(
    sender: Sender, plain: Path, address: str, model: str
) -> None:
    sender.begin()
    other = Sender(plain, Shelf(address=address, model=model or sender.shelf.model))
    other.begin()
    assert (sender.shelf.done, other.shelf.done) == (["create"], ["create"])


def test_a_prefix_repeated_only_after_a_cache_would_have_expired_gets_none(sender: Sender) -> None:
    sender.send("Good morning.")
    sender.now += timedelta(minutes=60)
    assert sender.send("Anything new?").cache.cached_content == ""
    sender.now += timedelta(minutes=59)
    assert sender.send("And now?").cache.cached_content == "cachedContents/1"


def test_a_cache_is_refreshed_after_half_its_lifetime(sender: Sender) -> None:
    sender.begin()
    sender.now += timedelta(minutes=20)
    assert sender.send("Anything new?").cache.seconds_left(sender.now) == 2400
    sender.now += timedelta(minutes=20)
    assert sender.send("And now?").cache.seconds_left(sender.now) == 3600
    assert sender.shelf.done == ["create", "refresh"]
    assert [seconds for *_, seconds in sender.purse.storage] == [3600, 2400]


def test_an_expired_cache_is_deleted_and_recreated(sender: Sender) -> None:
    sender.begin()
    sender.now += timedelta(minutes=61)
    assert sender.send("Anything new?").cache.cached_content == ""
    assert sender.send("And now?").cache.cached_content == "cachedContents/2"
    assert sender.shelf.done == ["create", "delete", "create"]


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


def test_a_cache_still_used_by_another_discussion_is_kept(sender: Sender, plain: Path) -> None:
    other = Sender(plain, sender.shelf)
    sender.begin()
    other.send("Hello.")
    state = ending(sender).invalidate(sender.session, "given up by hand")
    assert (state.cached_content, list(sender.shelf.shelf)) == ("", ["cachedContents/1"])
    assert other.send("Anything new?").cache.cached_content == "cachedContents/1"
    ending(other).disable(other.session)
    assert sender.shelf.shelf == {}


def test_only_one_process_creates_the_cache(plain: Path, sender: Sender) -> None:
    sender.send("Good morning.")
    others = [Sender(plain, sender.shelf) for _ in range(2)]
    create, seen = sender.shelf.create_cache, list[Taken]()

    async def create_slowly(
        request: ChatRequest, ttl_s: int, *, timeout: float, display_name: str = ""
    ) -> StoredCache:
        if not seen:
            for other in others:  # while the first is still creating it
                seen.append(other.engine.caches.shared.take(display_name, ttl_s))
        return await create(request, ttl_s, timeout=timeout, display_name=display_name)

    sender.shelf.create_cache = create_slowly  # type: ignore[method-assign]
    assert sender.send("Anything new?").cache.cached_content == "cachedContents/1"
    assert seen == [Taken(), Taken()]
    assert others[0].send("Hello.").cache.cached_content == "cachedContents/1"
    assert sender.shelf.done == ["create"]


def test_a_process_that_died_while_creating_a_cache_does_not_block_others(sender: Sender) -> None:
    shared = sender.engine.caches.shared
    assert shared.take("k", 3600) == Taken()
    assert shared.take("k", 3600) == Taken(make=True)
    assert shared.take("k", 3600) == Taken()
    sender.now += timedelta(seconds=MAKING_S)
    assert shared.take("k", 3600) == Taken(make=True, look=True)


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"k": {}}', '{"k": {"seen_at": "2026-06-12T08:00:00"}}', "[" * 100_000]
)
def test_a_broken_file_of_shared_caches_is_tolerated(sender: Sender, text: str) -> None:
    sender.begin()
    (sender.engine.workspace.root / SHARED_PATH).write_text(text)
    assert sender.send("Anything new?").reply.text == "Yes."
    assert sender.send("And now?").cache.cached_content == "cachedContents/2"


def test_the_prefix_is_sent_when_no_cache_can_be_created(sender: Sender) -> None:
    sender.shelf.refuse = {"create"}
    sent = sender.begin()
    assert [request.cached_content for request in sender.shelf.asked] == ["", ""]
    assert all(request.prefix for request in sender.shelf.asked)
    assert sent.cache.why == "gemini: create was refused"


def test_a_cache_whose_creation_response_was_lost_is_found_again(sender: Sender) -> None:
    sender.shelf.loses_answers = True
    first = sender.begin()
    assert first.cache.why == "gemini: the reply broke off" and sender.purse.storage == []
    sender.shelf.loses_answers = False
    sender.now += timedelta(minutes=20)
    assert sender.send("Anything new?").cache.cached_content == "cachedContents/1"
    assert sender.shelf.done == ["create"], "no second cache is created"
    assert [seconds for *_, seconds in sender.purse.storage] == [3600], "the storage is billed"
    sender.now += timedelta(minutes=20)
    sender.send("And now?")
    assert sender.shelf.done == ["create", "refresh"] and len(sender.shelf.looked) == 1
    (display_name,) = sender.shelf.looked
    assert len(display_name) <= 128 and sender.session not in display_name


def test_a_cache_about_to_expire_is_not_reused(sender: Sender) -> None:
    sender.shelf.loses_answers = True
    sender.begin()
    sender.shelf.loses_answers = False
    sender.now += timedelta(minutes=59, seconds=30)
    assert sender.send("Anything new?").cache.cached_content == "cachedContents/2"


def test_a_new_cache_is_created_when_the_service_cannot_list_caches(sender: Sender) -> None:
    sender.shelf.loses_answers = True
    sender.begin()
    sender.shelf.loses_answers, sender.shelf.refuse = False, {"find"}
    assert sender.send("Anything new?").cache.cached_content == "cachedContents/2"


def test_a_cache_invalidated_by_hand_is_not_found_again(sender: Sender) -> None:
    sender.begin()
    sender.shelf.refuse = {"delete"}
    ending(sender).invalidate(sender.session, "given up by hand")
    assert list(sender.shelf.shelf) == ["cachedContents/1"]
    sender.send("Anything new?")
    assert sender.send("And now?").cache.cached_content == "cachedContents/2"


@pytest.mark.parametrize("what", ["refresh", "delete"])
def test_a_failed_refresh_or_delete_does_not_fail_the_reply(sender: Sender, what: str) -> None:
    sender.shelf.refuse = {what}
    sender.begin()
    sender.now += timedelta(minutes=50 if what == "refresh" else 61)
    sent = sender.send("Anything new?")
    assert what in sender.shelf.done and sent.reply.text == "Yes."


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
