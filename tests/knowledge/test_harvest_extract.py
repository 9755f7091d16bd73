"""Extraction from one conversation: requests, retries and results (M1, N1, N3, L7)."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from engine.errors import GateError
from engine.knowledge.harvest.extract import Extraction, Extractor
from engine.knowledge.harvest.inquiry import FOLDER, HARVEST, MAX_ATTEMPTS, SUMMARY, SYSTEM, task
from engine.knowledge.harvest.parts import parts_of
from engine.knowledge.harvest.reading import MAX_TEXT_BYTES, SourceText
from engine.knowledge.item import Item
from engine.knowledge.ledger import MARKERS, LedgerEntry
from engine.knowledge.proposed import WHY
from engine.providers import keys
from tests.engine.flush_support import Provider
from tests.knowledge.extract_support import Accounts, Limits, long_talk, reply, source_of, talk, workspace

KEY = "sk-ant-api03-" + "aZ3" * 20
STATEMENT = "The rollup starts at 01:00 UTC."


@pytest.fixture
def source(tmp_path: Path) -> SourceText:
    return source_of(
        tmp_path, talk(("user", f"Note: {STATEMENT}"), ("agent", "The boat is booked for Friday."))
    )


def extract(
    source: SourceText, *answers: str | Exception | None, cut: bool = False
) -> tuple[Extraction, Provider]:
    provider = Provider(*answers, cut=cut)
    return Extractor(Limits(), provider).extract(source), provider


def test_a_good_reply_gives_items_with_speakers_and_usage(source: SourceText) -> None:
    done, provider = extract(source, reply(facts=STATEMENT, tasks_done="The boat is booked for Friday."))
    assert done.items == (
        Item("facts", STATEMENT, voice="person"),
        Item("tasks_done", "The boat is booked for Friday.", voice="agent"),
    )
    assert done.entry == LedgerEntry(
        source.path,
        "harvested",
        "",
        provider="anthropic",
        model="some-model-2026",
        shown=source.size,
        size=source.size,
        input_tokens=1200,
        output_tokens=80,
        cost_usd=0.0042,
    )
    assert done.entry.coverage == 1.0
    assert provider.systems == [SYSTEM] and provider.prompts[0].endswith(task(HARVEST))
    assert f"Note: {STATEMENT}" in provider.prompts[0] and provider.closed == 1


def test_a_bad_reply_is_retried_once_with_the_reason(source: SourceText) -> None:
    done, provider = extract(source, "Sure! Here it is.", reply(facts=STATEMENT))
    assert (done.entry.status, len(done.items)) == ("harvested", 1)
    first, second = provider.prompts
    assert second.startswith(first)
    assert second.removeprefix(first) == (
        "\n\nYour last reply could not be used: the reply is not a JSON object with the categories: "
        "“Sure! Here it is.”. "
        "Reply with the JSON object alone."
    )
    assert (done.entry.input_tokens, done.entry.output_tokens, done.entry.cost_usd) == (2400, 160, 0.0084)


def test_two_bad_replies_are_a_failure(source: SourceText) -> None:
    done, provider = extract(source, "no", "still no", reply(facts=STATEMENT))
    assert (
        done.entry.status == "harvest-failed"
        and done.items == ()
        and len(provider.prompts) == MAX_ATTEMPTS == 2
    )
    assert done.entry.error == (
        "no usable reply after 2 attempts: the reply is not a JSON object with the categories: “still no”"
    )
    assert (done.entry.input_tokens, done.entry.shown, done.entry.coverage) == (2400, 0, 0.0)


class Cut(Provider):
    """Cuts off replies above the token limit, counting one token per character; records the limits."""

    def __init__(self, *answers: str | Exception | None) -> None:
        super().__init__(*answers)
        self.limits: list[int] = []

    async def chat(self, request, **rest):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        self.limits.append(request.max_tokens)
        done = await super().chat(request, **rest)
        most = request.max_tokens
        return replace(done, text=done.text[:most], cut=len(done.text) > most)


def test_the_rest_of_a_truncated_reply_is_requested_with_more_tokens(source: SourceText) -> None:
    boat = "The boat is booked for Friday."
    provider = Cut(reply(facts=(STATEMENT, boat)), reply(facts=boat))
    done = Extractor(Limits(max_tokens=70), provider).extract(source)
    assert provider.limits == [70, 140]
    assert f"give only the items after “{STATEMENT}”" in provider.prompts[1]
    assert [item.text for item in done.items] == [STATEMENT, boat]
    # The second reply was too long as well: its complete items are kept, and the rest is reported missing.
    assert done.entry.status == "harvested"
    assert done.entry.refused == ("the reply was cut off (items kept: 2): raise harvest.max_tokens",)


def test_a_truncated_reply_that_fits_the_second_time_is_complete(source: SourceText) -> None:
    provider = Cut(reply(facts=STATEMENT, questions=("x" * 100,)), reply(facts=STATEMENT))
    done = Extractor(Limits(max_tokens=150), provider).extract(source)
    assert provider.limits == [150, 300] and done.entry.refused == () and len(done.items) == 1


def test_items_of_a_cut_reply_survive_a_failed_second_attempt(source: SourceText) -> None:
    provider = Cut(reply(facts=(STATEMENT, "x" * 80)), GateError("answered 500"))
    done = Extractor(Limits(max_tokens=90), provider).extract(source)
    assert done.entry.status == "harvested" and [item.text for item in done.items] == [STATEMENT]
    assert done.entry.refused == ("the reply was cut off (items kept: 1): answered 500",)


def test_a_reply_cut_off_before_its_first_item_names_the_setting_to_raise(source: SourceText) -> None:
    provider = Cut(reply(facts=STATEMENT))
    done = Extractor(Limits(max_tokens=5), provider).extract(source)
    assert (
        done.entry.status == "harvest-failed"
        and "harvest.max_tokens" in done.entry.error
        and provider.limits == [5, 10]
    )


def test_one_bad_item_neither_loses_the_others_nor_causes_a_retry(source: SourceText) -> None:
    done, provider = extract(source, "Here:\n" + reply(facts=(STATEMENT, "<!-- x"), decisions=("y" * 635,)))
    assert len(provider.prompts) == 1 and [item.text for item in done.items] == [STATEMENT, "y" * 635]
    assert done.items[1].why == "is longer than 600 characters"
    assert done.entry.refused == ("facts 2: statement contains a marker of memory or of a prompt: “<!-- x”",)


def test_a_missing_key_is_distinguished_from_an_error_in_one_conversation(source: SourceText) -> None:
    done, _ = extract(source, GateError("there is no key").until_changed())
    assert done.lasting and not extract(source, GateError("answered 500"))[0].lasting
    assert Extractor(Limits(), Provider(reply()), Accounts(0)).extract(source).lasting


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            GateError("answered 500: investigate. See gate.example.com", where="anthropic"),
            "anthropic: answered 500: investigate. See gate.example.com",
        ),
        (ValueError(f"bad header {KEY}"), "unexpected ValueError"),
    ],
)
def test_a_provider_error_is_reported_without_a_retry(
    source: SourceText, error: Exception, message: str
) -> None:
    done, provider = extract(source, error)
    assert (done.entry.status, done.entry.error, len(provider.prompts)) == ("harvest-failed", message, 1)
    assert KEY not in repr(done)


def test_a_provider_that_never_answers_is_abandoned_at_the_deadline(source: SourceText) -> None:
    silent = Provider(None)
    silent.purpose = keys.HARVEST
    done = Extractor(Limits(deadline_s=0.2), silent).extract(source)
    assert done.entry.status == "harvest-failed"
    assert (
        done.entry.error == "anthropic: no answer within 0.2 s; raise harvest.deadline_s, or try again later"
    )


def test_a_failed_second_attempt_reports_the_error_and_the_usage_of_the_first(
    source: SourceText,
) -> None:
    done, provider = extract(source, "no", GateError("answered 500"))
    assert (done.entry.status, done.entry.error) == ("harvest-failed", "answered 500")
    assert (len(provider.prompts), done.entry.input_tokens) == (2, 1200)


def test_a_spent_budget_refuses_before_any_request(source: SourceText) -> None:
    provider, accounts = Provider(reply()), Accounts(0)
    done = Extractor(Limits(), provider, accounts).extract(source)
    assert (done.entry.status, done.entry.error) == (
        "harvest-failed",
        "costs.daily_usd: the budget of the day is spent; raise it",
    )
    assert provider.prompts == [] and accounts.charges == []


def test_every_call_is_charged_to_its_session(tmp_path: Path) -> None:
    source = source_of(tmp_path, f"---\nsession_id: ses_1\n---\n\n{talk(('user', STATEMENT))}")
    accounts = Accounts(5)
    Extractor(Limits(), Provider("no", reply()), accounts).extract(source)
    assert accounts.charges == [("some-model-2026", "ses_1")] * 2


def test_an_unknown_price_makes_the_total_unknown(source: SourceText) -> None:
    from dataclasses import replace

    class Priceless(Provider):
        async def chat(self, *args, **kwargs):  # type: ignore[no-untyped-def]
            done = await super().chat(*args, **kwargs)
            return replace(done, cost_usd=None if len(self.prompts) == 1 else 0.1)

    done = Extractor(Limits(), Priceless("no", reply())).extract(source)
    assert done.entry.status == "harvested" and done.entry.cost_usd is None


def test_keys_are_redacted_before_sending(tmp_path: Path) -> None:
    source = source_of(
        tmp_path,
        talk(
            ("user", f"The key is {KEY}, and again {KEY}."),
            ("agent", f"> [tool:bash] curl -H 'Authorization: Bearer {KEY}' → ok\n\nDone."),
        ),
    )
    _, provider = extract(source, reply())
    assert KEY not in provider.prompts[0] and provider.prompts[0].count("[secret]") == 3


def test_an_unusable_task_fails_without_a_request(tmp_path: Path, source: SourceText) -> None:
    own = tmp_path / FOLDER / HARVEST
    own.parent.mkdir(parents=True)
    own.write_text("")
    provider = Provider(reply())
    done = Extractor(Limits(), provider).extract(source, workspace(tmp_path))
    assert done.entry.status == "harvest-failed" and provider.prompts == []
    assert done.entry.error.startswith("knowledge/prompts/harvest-conversation.md: is empty")


def test_an_empty_conversation_needs_no_request(tmp_path: Path) -> None:
    provider = Provider(reply())
    done = Extractor(Limits(), provider).extract(source_of(tmp_path, ""))
    assert (done.entry.status, done.items, done.entry.error) == ("harvested", (), "it contains no messages")
    assert provider.prompts == [] and done.entry.coverage == 1.0


@pytest.mark.parametrize(
    ("name", "data", "status", "error"),
    [
        ("large.md", talk(("user", "x" * (MAX_TEXT_BYTES + 1))), "too-large", "has 1,048,577 bytes of text"),
        ("note.txt", "The key is under the mat.", "harvest-failed", "could not tell who speaks"),
        ("picture.md", bytes(range(256)) * 10, "harvest-failed", "is not text"),
        ("memory.md", talk(("agent [memory]", "> [knowledge:updated] a.md — The note.")), "harvested", ""),
    ],
)
def test_what_is_no_conversation_is_not_sent(
    tmp_path: Path, name: str, data: str | bytes, status: str, error: str
) -> None:
    provider = Provider(reply())
    done = Extractor(Limits(), provider).extract(source_of(tmp_path, data, name))
    assert (done.entry.status, done.items, provider.prompts) == (status, (), [])
    assert done.entry.error.startswith(error) and done.entry.coverage == (status == "harvested")


def test_without_a_provider_everything_found_is_a_proposal(tmp_path: Path) -> None:
    source = source_of(tmp_path, talk(("user", "Decision: canvas."), ("agent", f"Understood, {KEY}.")))
    done = Extractor(Limits()).extract(source)
    assert done.items == (Item("decisions", "canvas.", voice="person", why=WHY["marked"]),)
    size = source.size
    assert done.entry == LedgerEntry(
        source.path, "harvested", "", provider=MARKERS, shown=size, size=size, cost_usd=0.0
    )


def test_without_a_provider_a_long_conversation_is_read_completely(tmp_path: Path) -> None:
    source = source_of(tmp_path, long_talk(200_000) + "\n## 23:59 — user\nTODO: the last thing\n")
    done = Extractor(Limits()).extract(source)
    assert [item.text for item in done.items] == ["the last thing"]
    assert not done.entry.summarised and done.entry.coverage == 1.0


def test_unreadable_parts_of_a_log_are_not_covered(tmp_path: Path) -> None:
    good, bad = '{"role": "user", "content": "Decision: canvas."}\n', '{"role": "user"\n'
    done = Extractor(Limits()).extract(source_of(tmp_path, good + bad, "log.jsonl"))
    assert done.entry.status == "harvested" and done.entry.shown == len(good) and done.entry.coverage < 1


def summing(prompt: str) -> str:
    """Replies with a summary of each part, and with items for the summaries."""
    if prompt.endswith(task(SUMMARY)):
        numbers = re.findall(r'<turn number="(\d+)"', prompt)
        return f"Gauges {numbers[0]} to {numbers[-1]} were read."
    return reply(facts="Gauge 0 was read.")


def test_a_long_conversation_is_summarised_in_parts_and_the_summaries_harvested(
    tmp_path: Path,
) -> None:
    source = source_of(tmp_path, long_talk(200_000))
    parts = parts_of(source)
    provider = Provider(by=summing)
    done = Extractor(Limits(), provider).extract(source)
    assert len(parts) == 4 and len(provider.prompts) == 5
    record = provider.prompts[-1]
    assert record.count('by="summary"') == 4 and "level level" not in record
    for part in parts:
        assert f"Gauges {part.first} to {part.last} were read." in record
    assert done.entry.status == "harvested" and done.entry.summarised
    assert [item.text for item in done.items] == ["Gauge 0 was read."]
    assert (done.entry.shown, done.entry.coverage) == (source.size, 1.0)
    assert (done.entry.input_tokens, done.entry.output_tokens) == (5 * 1200, 5 * 80)
    assert done.entry.cost_usd == pytest.approx(5 * 0.0042)


def test_conversations_over_64_kilobytes_are_summarised(tmp_path: Path) -> None:
    within = source_of(tmp_path, talk(("user", "y" * 64 * 1024)))
    over = source_of(tmp_path, talk(("user", "y" * 64 * 1024 + "z")))
    assert not Extractor(Limits(), Provider(by=summing)).extract(within).entry.summarised
    assert Extractor(Limits(), Provider(by=summing)).extract(over).entry.summarised


def test_an_extraction_without_any_summary_fails(tmp_path: Path) -> None:
    provider = Provider(GateError("answered 500"))
    done = Extractor(Limits(), provider).extract(source_of(tmp_path, long_talk(400_000)))
    assert (done.entry.status, done.items, done.entry.shown) == ("harvest-failed", (), 0)
    assert done.entry.error == "no part could be summarised: answered 500" and len(provider.prompts) == 3


def test_a_long_conversation_without_content_needs_no_final_request(tmp_path: Path) -> None:
    provider = Provider("NOTHING")
    done = Extractor(Limits(), provider).extract(source_of(tmp_path, long_talk(100_000)))
    assert (done.entry.status, done.items, done.entry.coverage) == ("harvested", (), 1.0)
    assert all(prompt.endswith(task(SUMMARY)) for prompt in provider.prompts)


def test_a_budget_spent_during_the_summaries_ends_the_extraction(tmp_path: Path) -> None:
    provider = Provider(by=summing)
    done = Extractor(Limits(), provider, Accounts(2)).extract(source_of(tmp_path, long_talk(200_000)))
    assert (
        done.entry.status == "harvest-failed" and "budget" in done.entry.error and len(provider.prompts) == 2
    )
    assert done.entry.input_tokens == 2400


def test_a_secret_is_redacted_from_the_parts(tmp_path: Path) -> None:
    source = source_of(tmp_path, long_talk(100_000) + f"\n## 23:59 — user\nThe key is {KEY}.\n")
    provider = Provider(by=summing)
    Extractor(Limits(), provider).extract(source)
    assert sum("[secret]" in prompt for prompt in provider.prompts) == 1
    assert not any(KEY in prompt for prompt in provider.prompts)


def test_an_extraction_can_be_stopped_from_another_thread(tmp_path: Path) -> None:
    source = source_of(tmp_path, long_talk(200_000))
    provider = Provider(None)
    extractor = Extractor(Limits(deadline_s=60), provider)
    asked = threading.Event()
    provider.on_chat = asked.set
    found: list[Extraction] = []
    thread = threading.Thread(target=lambda: found.append(extractor.extract(source)))
    thread.start()
    assert asked.wait(60)
    extractor.stop()
    thread.join(60)
    (done,) = found
    assert (done.entry.status, done.entry.error) == ("harvest-failed", "stopped before it finished")
    assert len(provider.prompts) == 1, "no further part is sent"
    again = extractor.extract(source)
    assert (again.entry.status, again.entry.error) == ("harvest-failed", "stopped before it finished")
    assert len(provider.prompts) == 1
