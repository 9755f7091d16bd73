"""Tool calls of a model: answered from the workspace, within limits, and recorded in the transcript."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.discussions.sending import MOST, Sending
from engine.engine import Engine
from engine.errors import SendFailed
from engine.providers.chat import ChatReply, ToolUse, Usage
from engine.transcripts.turn import Text, ToolCall
from tests.discussions.scripted import Purse, Scripted

INFO = ToolUse("knowledge", {"action": "info"}, "c1")
USED = Usage(100, output_tokens=5)


def calling(*uses: ToolUse, text: str = "") -> ChatReply:
    return ChatReply(text, USED, "claude-sonnet-5-5", calls=uses, items=({"said": text},))


@pytest.fixture
def engine(sample: Path) -> Engine:
    return Engine.open(sample)


def test_a_tool_call_is_answered_and_the_model_is_asked_again(engine: Engine) -> None:
    entry = next(each for each in engine.knowledge_entries.scan().entries)
    read = ToolUse("read", {"path": entry.location}, "c2")
    provider = Scripted([calling(INFO, read, text="Let me look."), "There it is."], takes_tools=True)
    purse, pieces = Purse(), list[str]()
    sent = Sending(engine, lambda: provider, purse, len).send("What do you know?", on_text=pieces.append)
    first, second = provider.asked
    assert [tool.name for tool in first.tools] == ["knowledge", "read"] and first.rounds == ()
    (answered,) = second.rounds
    assert answered.items == ({"said": "Let me look."},) and second.prefix == first.prefix
    body = (engine.workspace.root / entry.location).read_text().splitlines()[-1]
    assert [use for use, _ in answered.answers] == [INFO, read]
    assert answered.answers[0][1] == engine.knowledge_entries.info() and body in answered.answers[1][1]
    assert sent.problem == "" and "".join(pieces) == "Let me look.\n\nThere it is." == sent.reply.text


def test_tool_calls_are_recorded_in_the_transcript(engine: Engine) -> None:
    provider = Scripted([calling(INFO, text="Let me look."), "There it is."], takes_tools=True)
    sent = Sending(engine, lambda: provider, Purse(), len).send("What do you know?")
    conversation = engine.conversations.read(sent.path)
    assert conversation is not None
    blocks = [block for turn in conversation.turns for block in turn.blocks]
    size = f"{len(engine.knowledge_entries.info()):,} characters"
    assert blocks == [
        Text("What do you know?"),
        Text("Let me look."),
        ToolCall("knowledge", '{"action": "info"}', size),
        Text("There it is."),
    ]
    assert sent.reply_key.endswith(f"#{conversation.end - 1}")


def test_each_round_is_billed_and_counted(engine: Engine) -> None:
    provider = Scripted([calling(INFO), "There it is."], takes_tools=True)
    purse = Purse()
    sent = Sending(engine, lambda: provider, purse, len).send("What do you know?")
    assert purse.calls[0][-1] == USED and len(purse.calls) == 2
    assert sent.reply.usage.input_tokens == USED.input_tokens + purse.calls[1][-1].input_tokens
    assert sent.cost_usd == pytest.approx(sum(call[-1].input_tokens for call in purse.calls) / 1e6)
    assert sent.cache.calls == 2
    asked, reply = purse.asked[-1]
    answer = len(engine.knowledge_entries.info())
    request = provider.asked[0]
    assert asked == len("".join(request.prefix)) + len(request.rest) + answer and reply == request.max_tokens


def test_a_spent_budget_ends_the_rounds(engine: Engine) -> None:
    purse = Purse()

    class Greedy(Scripted):
        async def chat(self, *args: object, **options: object) -> ChatReply:
            purse.spent_up = True
            return await super().chat(*args, **options)  # type: ignore[arg-type]

    provider = Greedy([calling(INFO, text="Let me look."), "There it is."], takes_tools=True)
    sent = Sending(engine, lambda: provider, purse, len).send("What do you know?")
    assert len(provider.asked) == 1 and "dollars of today are spent" in sent.problem
    assert [call[-1] for call in purse.calls] == [USED], "no usage is billed twice"


def test_a_model_that_keeps_calling_tools_is_asked_to_reply_and_then_cut_off(engine: Engine) -> None:
    provider = Scripted([calling(INFO)], takes_tools=True)
    sent = Sending(engine, lambda: provider, Purse(), len).send("What do you know?")
    assert len(provider.asked) == MOST + 1
    assert sent.problem == f"the model called tools {MOST + 1} times and did not reply"
    reminded = ["reply to the message now" in answer for _, answer in provider.asked[-1].rounds[-1].answers]
    assert reminded == [True]
    assert "reply to the message now" not in provider.asked[-1].rounds[-2].answers[0][1]


def test_text_before_a_failed_round_is_recorded_once(engine: Engine) -> None:
    failure = SendFailed("the service failed", where="anthropic")
    provider = Scripted([calling(INFO, text="Let me look."), failure], takes_tools=True)
    sent = Sending(engine, lambda: provider, Purse(), len).send("What do you know?")
    assert "the service failed" in sent.problem
    assert (engine.workspace.root / sent.path).read_text().count("Let me look.") == 1


def test_a_message_stopped_before_sending_makes_no_request(engine: Engine) -> None:
    provider = Scripted(takes_tools=True)
    sending = Sending(engine, lambda: provider, Purse(), len)
    sent = sending.send("What do you know?", on_step=lambda step: sending.stop() if step == "asked" else None)
    assert (provider.asked, sent.problem, sent.reply.text) == ([], "anthropic: stopped", "")


@pytest.mark.parametrize("arguments", [None, [], {"action": 7}, "\x1b["])
def test_an_invalid_tool_call_is_answered(engine: Engine, arguments: object) -> None:
    wrong = (ToolUse("knowledge", arguments), ToolUse("delete\x1b[", arguments))
    provider = Scripted([calling(*wrong), "Fine."], takes_tools=True)
    sent = Sending(engine, lambda: provider, Purse(), len).send("What do you know?")
    known, unknown = (answer for _, answer in provider.asked[1].rounds[0].answers)
    assert "for the catalog" in known and "no such tool" in unknown and sent.problem == ""


def test_the_prompt_does_not_mention_tools_when_the_provider_takes_none(engine: Engine) -> None:
    provider = Scripted(takes_tools=False)
    sent = Sending(engine, lambda: provider, Purse(), len).send("What do you know?")
    assert provider.asked[0].tools == () and "read the file named" not in sent.compiled.text
    assert {section.layer for section in sent.compiled.sections}.isdisjoint({2, 3})
    offered = Sending(engine, lambda: Scripted(takes_tools=True), Purse(), len).send("What do you know?")
    assert {2, 3} <= {section.layer for section in offered.compiled.sections}
