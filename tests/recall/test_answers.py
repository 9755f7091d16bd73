"""What is told beside a message that asks about past work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engine.conversations.turns import Before
from engine.engine import Engine
from engine.gateways.memory import Memory
from engine.recall.reasons import with_reasons
from engine.transcripts.turn import Text, Turn
from tests.cases import each_case
from tests.recall.conftest import Say

DAY = "2031-02-01"
Told = Callable[..., list[str]]

QUIET = "Nothing to add, thanks; we go on tomorrow with the other half of the chart room."
PROPOSED = (
    "The skipper's address is lost on a restart. The simplest fix would be to store the address in the chart"
    " locker, so that it is there after a restart."
)
DECIDED = "hmm, given how private it is, I think we better not store any address in the chart locker"


@pytest.fixture
def told(engine: Engine, say: Say) -> Told:
    """Returns a function that tells what stands beside a message, given a session of some turns."""

    known: list[tuple[str, ...]] = []

    def tell(message: str, *turns: str, before: Before | None = None) -> list[str]:
        if turns and turns not in known:
            known.append(turns)
            say(DAY, *turns)
            for subject in ("tar barrels", "hemp ropes", "brass lamps"):
                say(
                    DAY,
                    f"count the {subject} in the shed, please",
                    f"There are twelve {subject} in the shed.",
                )
        engine.refresh_index()
        made = engine.prompts.compile(
            message, engine.trace(message), before or Before(), budget=1_500, part="message"
        )
        return [each.text for each in made.sections if each.slot == "knowledge"]

    return tell


def test_what_the_person_decided_is_told_and_no_proposal_alone(told: Told) -> None:
    lines = told(
        "why did we decide not to store the address in the chart locker?",
        "the address is gone after a restart", PROPOSED, DECIDED, "Then I leave it out.",
    )  # fmt: skip
    assert DECIDED in lines and not any(PROPOSED in each for each in lines)
    alone = told("why did we lose the address on a restart?")
    assert not any(PROPOSED in each for each in alone) or any(DECIDED in each for each in alone)


def test_what_an_agent_meant_to_do_next_is_no_answer(told: Told) -> None:
    next_step = "The pontoon chains are missing. Let me order new pontoon chains first."
    lines = told(
        "why did we skip the pontoon chains?",
        "look after the pontoon", f"{next_step}\n\n> [tool:Bash] order chains → refused",
        "you know that you have no access to the chains of the pontoon", QUIET,
    )  # fmt: skip
    assert lines == ["you know that you have no access to the chains of the pontoon"]


def test_a_question_asked_before_is_answered_with_the_reply_to_it(told: Told) -> None:
    reply = "The lantern oil was replaced by tallow candles, since the oil froze in every hard winter so far."
    question = "what did the lantern oil get replaced with?"
    assert told(question, question, reply) == [reply]


def test_a_turn_that_says_no_more_than_the_message_is_not_told(told: Told) -> None:
    message = "why did we move the winch of the slipway?"
    assert told(message, "we move the winch of the slipway", "> [tool:Bash] move → done") == []


@each_case(
    "message",
    [
        "why did the anchor winch jam on the slipway?",
        "what's the plan for the anchor winch on the slipway?",
        "what happened to the anchor winch on the slipway",
        "why doesn't the anchor winch on the slipway turn?",
    ],
)  # fmt: skip
def test_a_question_about_anything_is_answered_if_one_turn_has_its_words(told: Told, message: str) -> None:
    reply = "The anchor winch on the slipway jammed because sand had got between the pawl and the drum of it."
    assert reply in told(message, "the anchor winch does not turn, find out why", reply)


def test_a_question_in_another_language_is_answered_likewise(told: Told) -> None:
    said = "якорная лебёдка мешает фильтру песка, поэтому её убрали со слипа"
    assert told("почему лебёдка мешала фильтру?", said, "Убрал.") == [said]
    assert told("why did the bell ring?") == []


@each_case(
    "message",
    [
        "fix the anchor winch on the slipway", "how do I cook risotto?", "what is an anchor winch?",
        "what is the capital of France?", "how do I grease an anchor winch?", "why is the sky blue?",
        "can you move the anchor winch?", "when the anchor winch jams, ring the bell", "что такое лебёдка?",
    ],
)  # fmt: skip
def test_an_order_or_a_general_question_is_told_nothing(told: Told, message: str) -> None:
    reply = "The anchor winch on the slipway jammed because sand had got between the pawl and the drum of it."
    assert told(message, "the anchor winch does not turn, find out why", reply) == []


def test_words_that_stand_together_in_many_sessions_answer_nothing(told: Told, say: Say) -> None:
    for day in range(2, 6):
        say(
            f"2031-02-{day:02}",
            "is the tide gauge broken",
            "The tide gauge is broken because of weed in its pipe.",
        )
    assert (
        told("why is the tide gauge broken?", "grease the bell", "The bell is greased now, and rings.") == []
    )


@each_case("message", ["what did we do last week?", "what did we do last time?", "что мы делали 7 мая?"])
def test_a_question_about_days_is_not_searched_for(told: Told, message: str) -> None:
    turn = "мы делали это 7 мая: the same-week correction of what we did last time, last week"
    assert told(message, turn, "A same-week correction of the 7 мая is what we did, and the last one.") == []


@each_case(
    "pasted",
    [
        [
            "bosun@quay:~$ ./winch --turn",
            "Starting the anchor winch of the slipway with sudo",
            "winch: jammed",
        ],
        ["[Info   : Winch] the anchor winch of the slipway starts", "[Error  : Winch] it has jammed again"],
        ["2031-02-01 09:00:01 the anchor winch of the slipway starts", "2031-02-01 09:00:02 it has jammed"],
    ],
)
def test_a_pasted_log_is_no_answer(told: Told, pasted: Sequence[str]) -> None:
    assert (
        told("why did we stop the anchor winch of the slipway?", "\n".join(pasted), "> [tool:Bash] a → b")
        == []
    )


def test_a_short_question_about_the_past_is_answered_in_the_middle_of_a_session(
    told: Told,
) -> None:
    said = "the brazier stays out since its sparks reach the sails"
    before = Before((Turn("user", "", (Text("paint it"),)), Turn("agent", "", (Text("It is painted."),))))
    assert told("why did we drop the brazier?", said, "It is gone.", before=before) == [said]


def test_what_was_decided_in_another_project_answers_only_what_none_of_the_project_does(
    engine: Engine, say: Say, workspace: Path
) -> None:
    here, there = "the tarpaulin stays off the hatch here, it rots", "the tarpaulin stays off the hatch there"
    for folder, said in (("/srv/pier", here), ("/srv/dock", there)):
        place = workspace / say(DAY, said, "Done.")
        place.write_text(place.read_text().replace("\n---\n", f"\ncwd: {folder}\n---\n", 1))
    engine.refresh_index()

    def told(message: str, project: str) -> list[str]:
        made = engine.prompts.compile(
            message, engine.trace(message), Before(), budget=1_500, part="message", project=(project,)
        )
        return [each.text for each in made.sections if each.slot == "knowledge"]

    question = "why did we take the tarpaulin off the hatch?"
    assert told(question, "pier") == [here] and told(question, "dock") == [there]
    assert set(told(question, "mole")) == {here, there}
    assert told("why is the tarpaulin off the hatch?", "mole") == []


@pytest.mark.parametrize(
    ("call", "marked"),
    [
        ("> [tool:WebFetch] https://guide.example/tar → The guide (40 lines)", True),
        ("> [tool:Bash] gh issue view 12 → title: tar (9 lines)", True),
        ("> [tool:Bash] make test → 3 passed", False),
    ],
)
def test_what_an_agent_said_after_it_read_others_words_is_told_as_such(
    call: str, marked: bool, engine: Engine, say: Say
) -> None:
    reply = "The tar barrels were replaced by pitch kegs, since the tar froze in every hard winter so far."
    say(DAY, "what did the tar barrels get replaced with?", f"{call}\n\n{reply}")
    for subject in ("hemp ropes", "brass lamps", "oak planks"):
        say(DAY, f"count the {subject} in the shed, please", f"There are twelve {subject} in the shed.")
    engine.refresh_index()
    asked = "why did we replace the tar barrels by pitch kegs?"
    made = engine.prompts.compile(asked, engine.trace(asked), Before(), budget=1_500, part="message")
    (line,) = (line for line in made.text.split("\n") if reply in line)
    assert ("agent (perhaps quoting): " in line) is marked


REASONS = {
    "en": ("why did we take the brazier off the deck?", "It is off the deck now, as you asked.\n\n"
           "The brazier had to go because its sparks reach the sails."),
    "de": ("warum haben wir die Kohlenpfanne vom Deck genommen?", "Sie steht jetzt nicht mehr dort oben.\n\n"
           "Die Kohlenpfanne musste weg, weil ihre Funken die Segel erreichen."),
    "es": ("¿por qué quitamos el brasero de la cubierta?", "Ya no está en la cubierta, como pediste.\n\n"
           "Quité el brasero de la cubierta porque sus chispas llegan a las velas."),
    "ja": ("火鉢を甲板から外したのはなぜでしたか？", "ご依頼のとおり対応しました。\n\n"
           "火鉢を甲板から外したのは、火の粉が帆に届くためです。"),
    "vi": ("tại sao bỏ lò than khỏi boong tàu?", "Tôi đã làm như yêu cầu.\n\n"
           "Lò than phải bỏ khỏi boong tàu vì tia lửa bay tới cánh buồm."),
}  # fmt: skip


@each_case("language", list(REASONS))
def test_who_asks_why_is_told_the_reason_and_nothing_else_an_agent_said(told: Told, language: str) -> None:
    question, reply = REASONS[language]
    done, reason = reply.split("\n\n")
    other = "The brazier on the deck is painted black now, with two coats, and has four new legs of iron."
    lines = told(question, "look after the brazier of the deck", reply, "and paint it, please", other)
    assert any(reason in each for each in lines), lines
    assert not any(done in each or other in each for each in lines), lines


def test_reasons_that_are_announced_are_told_with_the_list_and_not_without(told: Told) -> None:
    heading = "These are the reasons why the brazier left the deck:"
    items = ("1. Its sparks reach the sails.", "2. The cook wants it in the galley.")
    reply = "\n\n".join((heading, *items, "Done."))
    (line,) = told("why did the brazier leave the deck?", "look after it", reply)
    assert line == "\n\n".join((heading, *items))
    assert with_reasons(f"Done.\n\n{heading}") == "", "an announcement tells nothing"


def test_the_reasons_of_a_plan_are_told(told: Told, say: Say, engine: Engine, workspace: Path) -> None:
    plan = (
        "# Plan: Move the anchor winch aft\n\n"
        "The anchor winch moves aft because its chain cuts the forestay.\n\n"
        "## Change\n\nMove the winch, and its drum."
    )
    place = workspace / say(DAY, "where should the winch stand?", plan)
    place.write_text(
        place.read_text().replace("— agent\n", "— agent [plan]\n") + "\n## 09:02 — agent\n\nMoved.\n"
    )
    (line,) = told(
        "why did we move the anchor winch aft?", "count the ropes", "There are twelve of them now."
    )
    assert line == "The anchor winch moves aft because its chain cuts the forestay."


def recalled(engine: Engine, question: str) -> str:
    engine.refresh_index()
    return Memory(engine).recall(question).text


def test_an_agent_that_asks_the_memory_gets_the_reason_or_nothing(engine: Engine, say: Say) -> None:
    reason = "The brazier had to go because its sparks reach the sails."
    say(DAY, "take the brazier off the deck", f"Done.\n\n{reason}")
    say(DAY, "is the brazier of the deck rusty?", "The brazier of the deck is rusty at its legs and its rim.")
    say(
        DAY, "paint the lamps of the deck", "The lamps of the deck are painted, all twelve of them, in white."
    )
    assert reason in (text := recalled(engine, "why did we take the brazier off the deck?"))
    assert "rusty" not in text and "lamps" not in text
    assert recalled(engine, "why did we paint the lamps of the deck?") == ""


def test_what_an_agent_asks_for_is_answered_by_passages_with_its_words(engine: Engine, say: Say) -> None:
    keel = (
        "The keel bolts of the cutter are made of bronze, and were turned in the yard at Aubrac last winter."
    )
    say(DAY, "have a look at the cutter", keel)
    say(
        DAY,
        "and at the yard",
        "The yard at Aubrac has a new crane, which was built there in the last winter.",
    )
    assert keel in (text := recalled(engine, "what are the keel bolts made of?")) and "crane" not in text


def test_who_asks_how_to_start_something_gets_passages_that_name_a_command(engine: Engine, say: Say) -> None:
    how = (
        "Start the server of the harbour with `npm run dev`; it then listens on the port that the file names."
    )
    say(DAY, "how is the server of the harbour started?", how)
    say(DAY, "is the server up?", "The server of the harbour is up, and has been for all of the last winter.")
    assert how in (text := recalled(engine, "how do I start the server of the harbour?"))
    assert "all of the last winter" not in text


@each_case(
    "question, told",
    [
        ("where is get_berth implemented?", "The list is made by `get_berth` in the module of the harbour."),
        ("what is phase 20 of the harbour?", "In phase 20 of the harbour the northern pier gets its cranes."),
        (
            "what is the --moor flag of the harbour for?",
            "The flag --moor of the harbour ties ships up at once.",
        ),
    ],
)
def test_what_a_question_names_stands_in_what_an_agent_is_told(
    engine: Engine, say: Say, question: str, told: str
) -> None:
    say(DAY, "what is new in the harbour?", told)
    say(
        DAY,
        "what else is new?",
        "The phase of the harbour moon is implemented by the module with the get flag.",
    )
    assert told in (text := recalled(engine, question)) and "moon" not in text


def test_the_reply_to_the_same_why_is_told_without_a_word_of_reasons(told: Told) -> None:
    question = "why do we have both a gaff and a boat hook on the barge?"
    reply = "The gaff is for the sail of the barge, the boat hook is for its mooring, and both are of ash."
    assert reply in told(question, "why do we have both a gaff and a boat hook on the barge, tell me", reply)


def test_a_plan_made_after_others_words_were_read_is_told_as_perhaps_a_quotation(
    engine: Engine, say: Say, workspace: Path
) -> None:
    reason = "The anchor winch moves aft because its chain cuts the forestay."
    read = "> [tool:WebFetch] https://guide.example/winch → The guide (40 lines)"
    place = workspace / say(DAY, "where should the anchor winch stand?", read)
    place.write_text(
        f"{place.read_text()}\n## 09:02 — agent [plan]\n\n# Plan\n\n{reason}\n\n## 09:03 — agent\n\nMoved.\n"
    )
    for subject in ("hemp ropes", "brass lamps", "oak planks"):
        say(DAY, f"count the {subject} in the shed, please", f"There are twelve {subject} in the shed.")
    assert f"agent (perhaps quoting): {reason}" in recalled(engine, "why did we move the anchor winch aft?")
