"""A prefix that the service keeps under a name: made once, used, kept on, made anew, ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.discussions.ending import Ending
from engine.discussions.sending import Sending
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
        self, prefix: str, ttl_s: int, *, timeout: float, display_name: str = ""
    ) -> StoredCache:
        self._do("create")
        name = f"cachedContents/{len([each for each in self.done if each == 'create'])}"
        self.shelf[name] = prefix
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

    def say(self, text: str) -> Sent:
        self.shelf.now = self.now
        sent = Sending(self.engine, lambda: self.shelf, self.purse, len).send(text, session_id=self.session)
        assert sent.problem == ""
        self.session = sent.session_id
        return sent


@pytest.fixture
def hand(indexed_sample: Path) -> Hand:
    return Hand(indexed_sample, Shelf())


def test_it_is_made_once_and_read_from_then_on(hand: Hand) -> None:
    first, second = hand.say("Good morning."), hand.say("Anything new?")
    assert hand.shelf.done == ["create"]
    assert [request.cached_content for request in hand.shelf.asked] == ["cachedContents/1"] * 2
    assert first.cache.cached_content == "cachedContents/1"
    assert (second.cache.hits, second.cache.calls) == (2, 2)
    assert second.cache.seconds_left(hand.now) == 3600
    assert [seconds for *_, seconds in hand.purse.storage] == [3600]
    assert first.cost_usd is not None and second.cost_usd is not None and first.cost_usd > second.cost_usd


def test_it_is_kept_on_when_half_its_time_is_gone(hand: Hand) -> None:
    hand.say("Good morning.")
    hand.now += timedelta(minutes=20)
    assert hand.say("Anything new?").cache.seconds_left(hand.now) == 2400
    hand.now += timedelta(minutes=20)
    assert hand.say("And now?").cache.seconds_left(hand.now) == 3600
    assert hand.shelf.done == ["create", "refresh"]
    assert [seconds for *_, seconds in hand.purse.storage] == [3600, 2400]


def test_one_that_expired_is_made_anew(hand: Hand) -> None:
    hand.say("Good morning.")
    hand.now += timedelta(minutes=61)
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"
    assert hand.shelf.done == ["create", "create", "delete"]


def test_one_that_the_service_lost_is_made_anew(hand: Hand) -> None:
    hand.say("Good morning.")
    hand.shelf.shelf.clear()
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"


def test_another_prefix_gets_another_one_and_the_old_one_ends(hand: Hand) -> None:
    hand.say("Good morning.")
    soul = hand.engine.workspace.root / "knowledge/identity/SOUL.md"
    soul.write_text(soul.read_text() + "\nNever guess.\n")
    hand.say("Anything new?")
    assert hand.shelf.done == ["create", "create", "delete"]
    assert list(hand.shelf.shelf) == ["cachedContents/2"]


def test_without_one_the_prefix_is_sent(hand: Hand) -> None:
    hand.shelf.refuse = {"create"}
    sent = hand.say("Good morning.")
    (request,) = hand.shelf.asked
    assert request.cached_content == "" and request.prefix
    assert sent.cache.why == "gemini: create was refused"


def test_one_whose_answer_was_lost_is_found_again(hand: Hand) -> None:
    hand.shelf.loses_answers = True
    first = hand.say("Good morning.")
    assert first.cache.why == "gemini: the reply broke off" and hand.purse.storage == []
    hand.shelf.loses_answers = False
    hand.now += timedelta(minutes=40)
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/1"
    assert hand.shelf.done == ["create"], "none is made beside the one there is"
    assert [seconds for *_, seconds in hand.purse.storage] == [3600], "what was stored is paid for"
    hand.say("And now?")
    assert hand.shelf.done == ["create", "refresh"] and len(hand.shelf.looked) == 1
    (display_name,) = hand.shelf.looked
    assert len(display_name) <= 128 and hand.session not in display_name


def test_one_that_is_about_to_go_is_not_taken(hand: Hand) -> None:
    hand.shelf.loses_answers = True
    hand.say("Good morning.")
    hand.shelf.loses_answers = False
    hand.now += timedelta(minutes=59, seconds=30)
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"


def test_a_service_that_lists_nothing_gets_another_one(hand: Hand) -> None:
    hand.shelf.loses_answers = True
    hand.say("Good morning.")
    hand.shelf.loses_answers, hand.shelf.refuse = False, {"find"}
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"


def test_one_given_up_by_hand_is_not_found_again(hand: Hand) -> None:
    hand.say("Good morning.")
    hand.shelf.refuse = {"delete"}
    ending(hand).invalidate(hand.session, "given up by hand")
    assert list(hand.shelf.shelf) == ["cachedContents/1"]
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"


@pytest.mark.parametrize("what", ["refresh", "delete"])
def test_what_fails_beside_a_reply_costs_no_reply(hand: Hand, what: str) -> None:
    hand.shelf.refuse = {what}
    hand.say("Good morning.")
    hand.now += timedelta(minutes=50 if what == "refresh" else 61)
    sent = hand.say("Anything new?")
    assert what in hand.shelf.done and sent.reply.text == "Yes."


@pytest.mark.parametrize("setting", ["off", "disabled", "short"])
def test_where_none_is_wanted_none_is_made(hand: Hand, sample: Path, setting: str) -> None:
    if setting == "off":
        with (sample / "memory-config.yaml").open("a") as file:
            file.write("\ncache:\n  gemini: false\n")
        hand = Hand(sample, hand.shelf)
    elif setting == "short":
        hand.purse.least = 10**9
    else:
        hand.engine.capture.start("ses_quiet")
        hand.engine.caches.set_enabled("ses_quiet", False)
        hand.session = "ses_quiet"
    hand.say("Good morning.")
    assert hand.shelf.done == []


@pytest.mark.parametrize(("lines", "minutes"), [("", 60), ("  gemini_long: true\n", 300)])
def test_an_hour_is_the_most_unless_more_is_allowed(sample: Path, lines: str, minutes: int) -> None:
    with (sample / "memory-config.yaml").open("a") as file:
        file.write(f"\ncache:\n  gemini_ttl_minutes: 300\n{lines}")
    hand = Hand(sample, Shelf())
    assert hand.say("Good morning.").cache.seconds_left(NOW) == 60 * minutes


def ending(hand: Hand) -> Ending:
    return Ending(hand.engine.caches, lambda _name, _model: hand.shelf)


def test_giving_it_up_ends_the_services_copy(hand: Hand) -> None:
    hand.say("Good morning.")
    state = ending(hand).invalidate(hand.session, "given up by hand")
    assert (state.cached_content, state.why, hand.shelf.shelf) == ("", "given up by hand", {})
    assert hand.say("Anything new?").cache.cached_content == "cachedContents/2"


def test_switching_off_ends_it_and_on_again_makes_another(hand: Hand) -> None:
    hand.say("Good morning.")
    assert ending(hand).disable(hand.session).enabled is False and hand.shelf.shelf == {}
    assert hand.say("Anything new?").cache.cached_content == ""
    assert ending(hand).enable(hand.session).enabled is True
    assert hand.say("And now?").cache.cached_content == "cachedContents/2"


def test_a_copy_that_cannot_be_ended_is_said(hand: Hand) -> None:
    hand.say("Good morning.")
    hand.shelf.refuse = {"delete"}
    state = ending(hand).invalidate(hand.session, "given up by hand")
    assert state.why == (
        "given up by hand; the service's copy stays until it expires: gemini: delete was refused"
    )
