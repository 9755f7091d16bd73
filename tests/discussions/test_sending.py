"""Sending a message to a model; the outcome is recorded however it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.discussions.sending import Sending
from engine.discussions.turn import Sent
from engine.engine import Engine
from engine.errors import CostLimit, SendFailed, TranscriptError
from engine.providers.chat import ChatReply, Usage
from tests.discussions.scripted import Purse, Scripted

Send = Callable[..., Sent]


@pytest.fixture
def engine(sample: Path) -> Engine:
    return Engine.open(sample)


def sending_with(engine: Engine, provider: Scripted, purse: Purse | None = None) -> Sending:
    return Sending(engine, lambda: provider, purse or Purse(), len)


def turns_of(engine: Engine, path: str) -> list[tuple[str, str]]:
    conversation = engine.conversations.read(path)
    assert conversation is not None
    return [(turn.role, turn.text) for turn in conversation.turns]


def test_a_message_is_sent_answered_recorded_and_checked(engine: Engine) -> None:
    pieces: list[str] = []
    steps: list[str] = []
    provider = Scripted(['Here:\n\n```python\nprint "stations"\n```'])
    sent = sending_with(engine, provider).send(
        "Can you review the PR that just came in?", on_text=pieces.append, on_step=steps.append
    )
    assert "".join(pieces) == sent.reply.text and len(pieces) > 3
    assert steps == ["said", "traced", "compiled", "asked", "answered", "watched"]
    assert turns_of(engine, sent.path) == [
        ("user", "Can you review the PR that just came in?"),
        ("agent", sent.reply.text),
    ]
    assert "github-pr-review" in sent.trace.active
    assert sent.corrections and sent.problem == ""
    (request,) = provider.asked
    assert "".join(request.prefix) + request.rest == sent.compiled.text
    assert sent.compiled.text.rstrip().endswith("Can you review the PR that just came in?")
    assert engine.injections.log.last(1)[0].session_id == sent.session_id
    decided = [each for each in engine.decision_log.read() if each.message.startswith("Can you review")]
    assert {each.topic for each in decided} >= {"github-pr-review"}


def test_a_correction_is_in_the_next_prompt(engine: Engine) -> None:
    provider = Scripted(['```python\nprint "stations"\n```', "Sorted."])
    sender = sending_with(engine, provider)
    first = sender.send("Write me a script that lists the stations.")
    second = sender.send("Now sort it by name.", session_id=first.session_id)
    assert first.corrections[0].hint in second.compiled.text
    assert first.corrections[0].hint not in first.compiled.text
    assert "Write me a script that lists the stations." in provider.asked[1].rest
    assert second.path == first.path


def test_five_turns_with_different_topics_share_a_prefix(engine: Engine) -> None:
    provider = Scripted(["One.", "Two.", "Three.", "Four.", "Five."])
    sender, session = sending_with(engine, provider), ""
    messages = (
        "Can you review the PR that just came in?",
        "Good morning. Anything new?",
        "The database is down, all pages give 500.",
        "Please cut release 0.15.1.",
        "Who is Wren?",
    )
    actives, states = [], []
    for message in messages:
        sent = sender.send(message, session_id=session)
        session = sent.session_id
        actives.append(sent.trace.active)
        states.append(sent.cache)
    assert len(set(actives)) > 2
    assert len({request.prefix for request in provider.asked}) == 1
    assert [state.hits for state in states] == [0, 1, 2, 3, 4]
    assert states[0].why == "the first call of the discussion" and states[-1].why == ""
    assert states[-1].calls == 5 and states[-1].tokens_cached > 1_000
    assert "knowledge/identity/SOUL.md" in states[-1].sources


def test_an_edit_of_the_prefix_is_a_cache_miss_with_a_reason(engine: Engine) -> None:
    provider = Scripted(["One.", "Two."])
    sender = sending_with(engine, provider)
    first = sender.send("Good morning.")
    soul = engine.workspace.root / "knowledge/identity/SOUL.md"
    soul.write_text(soul.read_text() + "Never guess.\n")
    second = sender.send("Anything new?", session_id=first.session_id)
    assert provider.asked[0].prefix != provider.asked[1].prefix
    assert second.cache.why == "the stable prefix changed: knowledge/identity/SOUL.md changed"
    assert second.cache.prefix != first.cache.prefix


@pytest.mark.parametrize(
    ("name", "ttl", "keyed"), [("anthropic", "5m", False), ("openai", None, True), ("local", None, False)]
)
def test_each_provider_gets_the_cache_options_it_supports(
    engine: Engine, name: str, ttl: str | None, keyed: bool
) -> None:
    provider = Scripted(name=name)
    sent = sending_with(engine, provider).send("Good morning.")
    (request,) = provider.asked
    assert request.ttl == ttl
    assert bool(request.cache_key) is keyed
    assert sent.session_id not in request.cache_key


def test_a_discussion_with_caching_off_requests_none(engine: Engine) -> None:
    provider = Scripted(["One.", "Two."])
    sender = sending_with(engine, provider)
    session = sender.send("Good morning.").session_id
    engine.caches.set_enabled(session, False)
    sent = sender.send("And now?", session_id=session)
    assert provider.asked[1].ttl is None
    assert sent.cache.why == "caching is switched off for this discussion"


def test_invalidating_by_hand_changes_the_cache_key(engine: Engine) -> None:
    provider = Scripted(["One.", "Two."], name="openai")
    sender = sending_with(engine, provider)
    session = sender.send("Good morning.").session_id
    engine.caches.invalidate(session, "given up by hand", by_hand=True)
    sender.send("And now?", session_id=session)
    first, second = (request.cache_key for request in provider.asked)
    assert first != second


def test_discussions_with_the_same_prefix_have_the_same_cache_key(engine: Engine) -> None:
    provider = Scripted(["One.", "Two.", "Three."], name="openai")
    sender = sending_with(engine, provider)
    first, second = sender.send("Good morning."), sender.send("And now?")
    soul = engine.workspace.root / "knowledge/identity/SOUL.md"
    soul.write_text(soul.read_text() + "Never guess.\n")
    sender.send("And then?", session_id=second.session_id)
    keys = [request.cache_key for request in provider.asked]
    assert first.session_id != second.session_id and keys[0] == keys[1] != keys[2]


def test_secrets_are_not_sent_and_the_prefix_stays_stable(engine: Engine) -> None:
    key = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2nOp5q" * 4
    user = engine.workspace.root / "knowledge/identity/USER.md"
    user.write_text(f"{user.read_text()}The key is {key}.\n")
    provider = Scripted(["One.", "Two."])
    sender = sending_with(engine, provider)
    first = sender.send(f"Use {key} for it.")
    second = sender.send("And now?", session_id=first.session_id)
    for request in provider.asked:
        assert key not in "".join(request.prefix) + request.rest
    assert provider.asked[0].prefix == provider.asked[1].prefix and second.cache.hits == 1
    assert first.redacted == 1, "the message is recorded without it"
    local = Scripted(name="local")
    assert sending_with(engine, local).send("And here?").redacted == 0
    assert key in "".join(local.asked[0].prefix)


def test_a_short_prefix_requests_no_cache(engine: Engine) -> None:
    provider = Scripted()
    sending_with(engine, provider, Purse(least=10**9)).send("Good morning.")
    (request,) = provider.asked
    assert (request.ttl, request.cache_key, len(request.prefix)) == (None, "", 1)


@pytest.mark.parametrize(
    ("failure", "problem"),
    [
        (
            SendFailed("the service failed (500)", where="anthropic", hint="try again later"),
            "anthropic: the service",
        ),
        (ValueError("sk-canary-123"), "anthropic: unexpected ValueError"),
    ],
)
def test_the_partial_text_of_a_failed_reply_is_kept(engine: Engine, failure: Exception, problem: str) -> None:
    provider, purse = Scripted([failure], first="The first half of"), Purse()
    sent = sending_with(engine, provider, purse).send("Good morning.")
    assert sent.problem.startswith(problem) and "canary" not in sent.problem
    assert sent.reply.text == "The first half of"
    roles = turns_of(engine, sent.path)
    assert roles[0] == ("user", "Good morning.")
    assert roles[1][1].startswith("The first half of\n\n[cut off: ") and "canary" not in roles[1][1]
    assert provider.closed == 1


def test_an_interrupted_reply_is_billed(engine: Engine) -> None:
    failure = SendFailed("broke off", where="anthropic")
    failure.usage = Usage(9000, 5000, 0, 0, 20)
    provider, purse = Scripted([failure], first="The first half of"), Purse()
    sent = sending_with(engine, provider, purse).send("Good morning.")
    assert [usage for *_, usage in purse.calls] == [failure.usage]
    assert (sent.reply.usage, sent.cost_usd) == (failure.usage, 0.009)
    assert sent.cache.hits == 1 and purse.estimated == [False]


@pytest.mark.parametrize("name", ["openai", "gemini", "anthropic"])
def test_usage_is_estimated_when_an_interrupted_service_reports_none(engine: Engine, name: str) -> None:
    failure = SendFailed("the reply broke off", where=name)
    provider, purse = Scripted([failure], first="The first half of", name=name), Purse(least=10**9)
    sent = sending_with(engine, provider, purse).send("Good morning.")
    (request,) = provider.asked
    whole = "".join(request.prefix) + request.rest
    assert [usage for *_, usage in purse.calls] == [Usage(len(whole), output_tokens=len("The first half of"))]
    assert purse.estimated == [True] and sent.cost_usd == len(whole) / 1e6
    assert sent.reply.usage == Usage() and engine.caches.all() == (), "its cache state is unknown"


def test_a_reported_usage_below_the_received_text_is_raised(engine: Engine) -> None:
    failure = SendFailed("stopped", where="gemini")
    failure.usage = Usage(9000, 5000, 0, 0, 3)
    provider, purse = Scripted([failure], first="The first half of", name="gemini"), Purse(least=10**9)
    sending_with(engine, provider, purse).send("Good morning.")
    assert [usage for *_, usage in purse.calls] == [Usage(9000, 5000, 0, 0, len("The first half of"))]
    assert purse.estimated == [True]


@pytest.mark.parametrize(("name", "first"), [("openai", ""), ("claude-code", "The first"), ("local", "The")])
def test_a_failure_that_may_have_cost_nothing_is_not_billed(engine: Engine, name: str, first: str) -> None:
    failure = SendFailed("cannot be reached", where=name)
    purse = Purse()
    sent = sending_with(engine, Scripted([failure], first=first, name=name), purse).send("Good morning.")
    assert purse.calls == [] and sent.cost_usd is None


def test_without_any_reply_only_the_message_is_recorded(engine: Engine) -> None:
    sent = sending_with(engine, Scripted([SendFailed("no key", where="anthropic")])).send("Good morning.")
    assert turns_of(engine, sent.path) == [("user", "Good morning.")]
    assert (sent.reply_key, sent.problem) == ("", "anthropic: no key")


def test_stopping_keeps_the_text_received_so_far(engine: Engine) -> None:
    provider = Scripted(["This is all that comes."], hangs=True)
    sender, done = sending_with(engine, provider), []
    streamed = threading.Event()
    thread = threading.Thread(
        target=lambda: done.append(sender.send("Good morning.", on_text=lambda _text: streamed.set()))
    )
    thread.start()
    assert streamed.wait(timeout=60)
    sender.stop()
    thread.join(timeout=60)
    (sent,) = done
    assert sent.problem == "anthropic: stopped"
    assert turns_of(engine, sent.path)[1][1].startswith("This")


def test_nothing_is_sent_or_recorded_when_the_budget_is_spent(engine: Engine) -> None:
    provider, before = Scripted(), len(engine.conversations.newest(1_000))
    with pytest.raises(CostLimit, match="are spent"):
        sending_with(engine, provider, Purse(spent_up=True)).send("Good morning.")
    assert provider.asked == []
    assert len(engine.conversations.newest(1_000)) == before


def test_a_call_above_the_remaining_budget_is_refused_before_sending(engine: Engine) -> None:
    provider, before = Scripted(), len(engine.conversations.newest(1_000))
    purse = Purse(left=(engine.config.chat.max_tokens + 100) / 1e6)
    with pytest.raises(CostLimit, match="this call may cost"):
        sending_with(engine, provider, purse).send("Good morning.")
    assert provider.asked == [] and len(engine.conversations.newest(1_000)) == before
    compiled = engine.compile("Good morning.", ask=False, tools=())
    settings = engine.config
    assert purse.asked == [
        (settings.context_compiler.token_budget, settings.chat.max_tokens),
        (0, 0),
        (len(compiled.text), settings.chat.max_tokens),
    ]


def test_a_short_prompt_is_sent_even_if_the_longest_would_exceed_the_budget(engine: Engine) -> None:
    compiled, reply = engine.compile("Good morning.", ask=False), engine.config.chat.max_tokens
    count = 1_000
    assert count < engine.config.context_compiler.token_budget and compiled.text
    provider, purse = Scripted(), Purse(left=(count + reply) / 1e6)
    sent = Sending(engine, lambda: provider, purse, lambda _text: count).send("Good morning.")
    assert sent.problem == "" and len(provider.asked) == 1
    assert purse.asked[-1] == (count, reply)
    assert [role for role, _ in turns_of(engine, sent.path)] == ["user", "agent"]


def test_replies_quoted_from_memory_are_not_indexed(engine: Engine) -> None:
    sent = sending_with(engine, Scripted(["The walrus drill is on Friday."], name="local")).send(
        "What is on?"
    )
    conversation = engine.conversations.read(sent.path)
    assert conversation is not None and conversation.turns[1].kind == "local"
    assert (sent.reply_key, sent.corrections) == ("", ())
    engine.refresh_index()
    assert not [each for each in engine.search("walrus drill") if "walrus" in each.text]
    assert [each for each in engine.search("What is on?") if each.path == sent.path]


def test_a_local_reply_needs_no_budget(engine: Engine) -> None:
    sent = sending_with(engine, Scripted(name="local"), Purse(spent_up=True)).send("Good morning.")
    assert (sent.problem, sent.cache.calls) == ("", 0)
    assert engine.caches.all() == ()


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_message_is_refused(engine: Engine, text: str) -> None:
    with pytest.raises(TranscriptError, match="nothing is said"):
        sending_with(engine, Scripted()).send(text)


def test_an_unknown_or_ended_session_is_refused_before_any_request(engine: Engine) -> None:
    provider = Scripted()
    sender = sending_with(engine, provider)
    with pytest.raises(TranscriptError):
        sender.send("Good morning.", session_id="ses_unknown")
    session = sender.send("Good morning.").session_id
    engine.capture.end(session)
    with pytest.raises(TranscriptError):
        sender.send("And now?", session_id=session)
    assert len(provider.asked) == 1


def test_an_empty_reply_is_reported(engine: Engine) -> None:
    sent = sending_with(engine, Scripted([ChatReply("  \n", Usage(100, 0, 0, 0, 1), "m")])).send(
        "Good morning."
    )
    assert (sent.problem, sent.reply_key) == ("the reply is empty", "")


def test_usage_is_billed(engine: Engine) -> None:
    purse = Purse()
    sent = sending_with(engine, Scripted(), purse).send("Good morning.")
    assert purse.calls == [("anthropic", "claude-sonnet-5-5", sent.session_id, sent.reply.usage)]
    assert sent.cost_usd == sent.reply.usage.input_tokens / 1e6


def test_a_turn_is_recorded_once_even_if_traced_again(engine: Engine) -> None:
    sent = sending_with(engine, Scripted()).send("Can you review the PR that just came in?")
    count = len(engine.decision_log.read())
    again = engine.trace_turn(sent.key, record=True, ask=True)
    assert again == sent.trace
    assert len(engine.decision_log.read()) == count
