"""A prefix that the service keeps under a name: made once, used, kept on, made anew, ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.discussions.ending import Ending
from engine.discussions.sending import Sending
from engine.discussions.shared import MAKING_S, PATH, Taken
from engine.discussions.turn import Sent
from engine.engine import Engine
from engine.errors import SendFailed
from engine.providers.caches import CacheGone, StoredCache
from engine.providers.chat import ChatReply, ChatRequest, Usage
from tests.discussions.scripted import Purse, Scripted

NOW = datetime(2026, 6, 12, 8, tzinfo=UTC)


@dataclass
class Shelf(Scripted):
    """Keeps prefixes under names until they are deleted, or ``lose`` takes them away."""

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
        self._do("create")
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
        self._do("refresh")
        return StoredCache(name, self.now + timedelta(seconds=ttl_s), len(self.shelf[name]))

    async def delete_cache(self, name: str, *, timeout: float) -> None:
        self._do("delete")
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

    def _do(self, what: str) -> None:
        self.done.append(what)
        if what in self.refuse:
            raise SendFailed(f"{what} was refused", where="gemini")


class Hand:
    """Sends messages and lets time go by."""

    def __init__(self, root: Path, shelf: Shelf) -> None:
        self.now = NOW
        self.shelf = shelf
        self.purse = Purse()
        self.engine = Engine.open(root, clock=lambda: self.now)
        self.session = ""

    def begin(self) -> Sent:
        """The first message with a prefix, which makes no cache, and the one after it, which does."""
        self.say("Hello.")
        return self.say("Good morning.")

    def say(self, text: str) -> Sent:
        self.shelf.now = self.now
        sent = Sending(self.engine, lambda: self.shelf, self.purse, len).send(text, session_id=self.session)
        assert sent.problem == ""
        self.session = sent.session_id
        return sent


@pytest.fixture
def hand(plain: Path) -> Hand:
    return Hand(plain, Shelf())


def test_it_is_made_when_the_prefix_comes_again_and_read_from_then_on(hand: Hand) -> None:
    first, second, third = hand.say("Hello."), hand.say("Good morning."), hand.say("Anything new?")
    assert hand.shelf.done == ["create"]
    assert [request.cached_content for request in hand.shelf.asked] == ["", *["cachedContents/1"] * 2]
    assert (first.cache.cached_content, second.cache.cached_content) == ("", "cachedContents/1")
    assert (third.cache.hits, third.cache.calls) == (2, 3)
    assert third.cache.seconds_left(hand.now) == 3600
    assert [seconds for *_, seconds in hand.purse.storage] == [3600]
    assert second.cost_usd is not None and third.cost_usd is not None and second.cost_usd > third.cost_usd


def test_two_discussions_with_the_same_prefix_share_one(hand: Hand, plain: Path) -> None:
    other = Hand(plain, hand.shelf)
    hand.say("Good morning.")
    assert other.say("Hello.").cache.cached_content == "cachedContents/1", "the prefix has come again"
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/1"
    assert hand.shelf.done == ["create"] and hand.session != other.session
    assert len(hand.purse.storage) + len(other.purse.storage) == 1


@pytest.mark.parametrize(("address", "model"), [("http://localhost:1", ""), ("", "gemini-3.5-pro")])
def test_another_server_and_another_model_have_caches_of_their_own(
    hand: Hand, plain: Path, address: str, model: str
) -> None:
    hand.begin()
    other = Hand(plain, Shelf(address=address, model=model or hand.shelf.model))
    other.begin()
    assert (hand.shelf.done, other.shelf.done) == (["create"], ["create"])


def test_a_prefix_that_comes_again_when_a_cache_would_be_gone_gets_none(hand: Hand) -> None:
    hand.say("Good morning.")
    hand.now += timedelta(minutes=60)
    assert hand.say("Anything new?").cache.cached_content == ""
    hand.now += timedelta(minutes=59)
    assert hand.say("And now?").cache.cached_content == "cachedContents/1"


def test_it_is_kept_on_when_half_its_time_is_gone(hand: Hand) -> None:
    hand.begin()
    hand.now += timedelta(minutes=20)
    assert hand.say("Anything new?").cache.seconds_left(hand.now) == 2400
    hand.now += timedelta(minutes=20)
    assert hand.say("And now?").cache.seconds_left(hand.now) == 3600
    assert hand.shelf.done == ["create", "refresh"]
    assert [seconds for *_, seconds in hand.purse.storage] == [3600, 2400]


def test_one_that_expired_is_forgotten_and_made_anew(hand: Hand) -> None:
    hand.begin()
    hand.now += timedelta(minutes=61)
    assert hand.say("Anything new?").cache.cached_content == ""
    assert hand.say("And now?").cache.cached_content == "cachedContents/2"
    assert hand.shelf.done == ["create", "delete", "create"]


def test_one_that_the_service_lost_is_made_anew(hand: Hand) -> None:
    hand.begin()
    hand.shelf.shelf.clear()
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"


def test_another_prefix_gets_another_one_and_the_old_one_ends(hand: Hand) -> None:
    hand.begin()
    edit_soul(hand)
    hand.say("Anything new?")
    hand.say("And now?")
    assert hand.shelf.done == ["create", "delete", "create"]
    assert list(hand.shelf.shelf) == ["cachedContents/2"]


def test_one_that_another_discussion_counts_on_stays(hand: Hand, plain: Path) -> None:
    other = Hand(plain, hand.shelf)
    hand.begin()
    other.say("Hello.")
    state = ending(hand).invalidate(hand.session, "given up by hand")
    assert (state.cached_content, list(hand.shelf.shelf)) == ("", ["cachedContents/1"])
    assert other.say("Anything new?").cache.cached_content == "cachedContents/1"
    ending(other).disable(other.session)
    assert hand.shelf.shelf == {}


def test_only_one_process_makes_it(plain: Path, hand: Hand) -> None:
    hand.say("Good morning.")
    others = [Hand(plain, hand.shelf) for _ in range(2)]
    create, seen = hand.shelf.create_cache, list[Taken]()

    async def slowly(
        request: ChatRequest, ttl_s: int, *, timeout: float, display_name: str = ""
    ) -> StoredCache:
        if not seen:
            for other in others:  # while the first is still at it
                seen.append(other.engine.caches.shared.take(display_name, ttl_s))
        return await create(request, ttl_s, timeout=timeout, display_name=display_name)

    hand.shelf.create_cache = slowly  # type: ignore[method-assign]
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/1"
    assert seen == [Taken(), Taken()]
    assert others[0].say("Hello.").cache.cached_content == "cachedContents/1"
    assert hand.shelf.done == ["create"]


def test_a_process_that_ended_while_it_made_one_holds_nobody_up(hand: Hand) -> None:
    shared = hand.engine.caches.shared
    assert shared.take("k", 3600) == Taken()
    assert shared.take("k", 3600) == Taken(make=True)
    assert shared.take("k", 3600) == Taken()
    hand.now += timedelta(seconds=MAKING_S)
    assert shared.take("k", 3600) == Taken(make=True, look=True)


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"k": {}}', '{"k": {"seen_at": "2026-06-12T08:00:00"}}', "[" * 100_000]
)
def test_what_is_known_of_them_may_be_broken(hand: Hand, text: str) -> None:
    hand.begin()
    (hand.engine.workspace.root / PATH).write_text(text)
    assert hand.say("Anything new?").reply.text == "Yes."
    assert hand.say("And now?").cache.cached_content == "cachedContents/2"


def test_without_one_the_prefix_is_sent(hand: Hand) -> None:
    hand.shelf.refuse = {"create"}
    sent = hand.begin()
    assert [request.cached_content for request in hand.shelf.asked] == ["", ""]
    assert all(request.prefix for request in hand.shelf.asked)
    assert sent.cache.why == "gemini: create was refused"


def test_one_whose_answer_was_lost_is_found_again(hand: Hand) -> None:
    hand.shelf.loses_answers = True
    first = hand.begin()
    assert first.cache.why == "gemini: the reply broke off" and hand.purse.storage == []
    hand.shelf.loses_answers = False
    hand.now += timedelta(minutes=20)
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/1"
    assert hand.shelf.done == ["create"], "none is made beside the one there is"
    assert [seconds for *_, seconds in hand.purse.storage] == [3600], "what was stored is paid for"
    hand.now += timedelta(minutes=20)
    hand.say("And now?")
    assert hand.shelf.done == ["create", "refresh"] and len(hand.shelf.looked) == 1
    (display_name,) = hand.shelf.looked
    assert len(display_name) <= 128 and hand.session not in display_name


def test_one_that_is_about_to_go_is_not_taken(hand: Hand) -> None:
    hand.shelf.loses_answers = True
    hand.begin()
    hand.shelf.loses_answers = False
    hand.now += timedelta(minutes=59, seconds=30)
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"


def test_a_service_that_lists_nothing_gets_another_one(hand: Hand) -> None:
    hand.shelf.loses_answers = True
    hand.begin()
    hand.shelf.loses_answers, hand.shelf.refuse = False, {"find"}
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"


def test_one_given_up_by_hand_is_not_found_again(hand: Hand) -> None:
    hand.begin()
    hand.shelf.refuse = {"delete"}
    ending(hand).invalidate(hand.session, "given up by hand")
    assert list(hand.shelf.shelf) == ["cachedContents/1"]
    hand.say("Anything new?")
    assert hand.say("And now?").cache.cached_content == "cachedContents/2"


@pytest.mark.parametrize("what", ["refresh", "delete"])
def test_what_fails_beside_a_reply_costs_no_reply(hand: Hand, what: str) -> None:
    hand.shelf.refuse = {what}
    hand.begin()
    hand.now += timedelta(minutes=50 if what == "refresh" else 61)
    sent = hand.say("Anything new?")
    assert what in hand.shelf.done and sent.reply.text == "Yes."


@pytest.mark.parametrize("setting", ["off", "disabled", "short"])
def test_where_none_is_wanted_none_is_made(hand: Hand, plain: Path, setting: str) -> None:
    if setting == "off":
        with (plain / "memory-config.yaml").open("a") as file:
            file.write("\ncache:\n  gemini: false\n")
        hand = Hand(plain, hand.shelf)
    elif setting == "short":
        hand.purse.least = 10**9
    else:
        hand.engine.capture.start("ses_quiet")
        hand.engine.caches.set_enabled("ses_quiet", False)
        hand.session = "ses_quiet"
    hand.begin()
    assert hand.shelf.done == []


@pytest.mark.parametrize(("lines", "minutes"), [("", 60), ("  gemini_long: true\n", 300)])
def test_an_hour_is_the_most_unless_more_is_allowed(plain: Path, lines: str, minutes: int) -> None:
    with (plain / "memory-config.yaml").open("a") as file:
        file.write(f"\ncache:\n  gemini_ttl_minutes: 300\n{lines}")
    hand = Hand(plain, Shelf())
    assert hand.begin().cache.seconds_left(NOW) == 60 * minutes


def ending(hand: Hand) -> Ending:
    return Ending(hand.engine.caches, lambda _name, _model: hand.shelf)


def edit_soul(hand: Hand) -> None:
    soul = hand.engine.workspace.root / "knowledge/identity/SOUL.md"
    soul.write_text(soul.read_text() + "\nNever guess.\n")


def test_giving_it_up_ends_the_services_copy(hand: Hand) -> None:
    hand.begin()
    state = ending(hand).invalidate(hand.session, "given up by hand")
    assert (state.cached_content, state.why, hand.shelf.shelf) == ("", "given up by hand", {})
    hand.say("Anything new?")
    assert hand.say("And now?").cache.cached_content == "cachedContents/2"


def test_switching_off_ends_it_and_on_again_makes_another(hand: Hand) -> None:
    hand.begin()
    assert ending(hand).disable(hand.session).enabled is False and hand.shelf.shelf == {}
    assert hand.say("Anything new?").cache.cached_content == ""
    assert ending(hand).enable(hand.session).enabled is True
    assert hand.say("And now?").cache.cached_content == "cachedContents/2"


def test_a_copy_that_cannot_be_ended_is_said(hand: Hand) -> None:
    hand.begin()
    hand.shelf.refuse = {"delete"}
    state = ending(hand).invalidate(hand.session, "given up by hand")
    assert state.why == (
        "given up by hand; the service's copy stays until it expires: gemini: delete was refused"
    )
