"""What a session is told of earlier ones: passages of those that worked on the same, once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest

from engine.agents.audit import Audit
from engine.engine import Engine
from engine.recall.features import MANY_SESSIONS
from engine.recall.labels import Place
from engine.recall.model import of_json, shipped, to_json
from engine.recall.own import FEWEST_PROMPTS, PATH, _floor
from engine.recall.passages import place_of
from engine.search.results import SearchResult
from engine.transcripts.turn import Text, ToolCall, Turn
from tests.recall.conftest import BEFORE, DAY, SUBJECTS, Say, asked, did, found

FERRY, LEDGER, *_ = SUBJECTS
AGAIN = "The timetable shows the wrong pontoon again, although nobody touched the ferry module since."
QUESTION = "Which berth does the captain use first, then?"


def looking_at_the_ferry() -> tuple[Turn, ...]:
    looked = ToolCall("Read", "ferry_timetable.py", did(FERRY).replace("captain", "").replace("berth", ""))
    return (Turn("user", "09:00", (Text(asked(FERRY)),)), Turn("agent", "09:01", (Text("I see."), looked)))


def find(
    engine: Engine,
    message: str,
    turns: Sequence[Turn] = (),
    conversation: str = "",
    told: Sequence[tuple[str, str]] = (),
) -> list[SearchResult]:
    engine.refresh_index()
    return engine.recall.find(message, turns, conversation, told)


def places(results: Sequence[SearchResult]) -> list[str]:
    return [each.path for each in results]


def test_the_session_that_worked_on_the_same_is_brought(engine: Engine, past: list[str]) -> None:
    results = find(engine, AGAIN)
    assert set(places(results)) == {past[0]}
    first = next(each for each in results if each.speaker == "agent")
    assert first.text == found(FERRY)
    assert (first.start_line, first.date, first.category) == (18, BEFORE.format(1), "conversation")
    assert first.worth is not None and first.worth >= shipped().floor
    assert "rare words" in first.why and f"at least {shipped().floor:.2f}" in first.why


@pytest.mark.parametrize(
    "message", ["yes, do it", "let's keep it simple for now", "commit and push", "wrong again"]
)
def test_a_message_without_a_rare_word_is_about_what_is_at_hand(
    engine: Engine, past: list[str], message: str
) -> None:
    turns = (Turn("user", "09:00", (Text(asked(FERRY)),)), Turn("agent", "09:01", (Text("Which one?"),)))
    assert find(engine, message, turns) == []


@pytest.mark.usefixtures("eager")
def test_the_session_asks_not_the_message_alone(engine: Engine, past: list[str]) -> None:
    assert found(FERRY) in [each.text for each in find(engine, QUESTION, looking_at_the_ferry())]
    assert find(engine, QUESTION) == []


def test_a_passage_is_told_once(engine: Engine, past: list[str]) -> None:
    results = find(engine, AGAIN)
    told = [(each.path, f"{each.start_line}-{each.end_line}") for each in results]
    assert find(engine, AGAIN, told=told) == []


def test_the_session_is_not_told_its_own_words(engine: Engine, past: list[str], say: Say) -> None:
    own = say(DAY.format(20), AGAIN, found(FERRY))
    results = find(engine, AGAIN, conversation=own)
    assert own not in places(results)
    assert found(FERRY) not in [each.text for each in results], "it was said in this session too"


def test_a_heading_without_what_it_heads_is_not_told(engine: Engine, past: list[str], say: Say) -> None:
    short = (
        "The timetable shows the wrong pontoon because the ferry module reads captain_first after the berth."
    )
    say(DAY.format(12), asked(FERRY), f"{short}\n\n### The ferry module\n\n```\nberth = captain_first\n```")
    assert short in [each.text for each in find(engine, AGAIN)]


def test_what_two_sessions_say_alike_is_told_once(engine: Engine, past: list[str], say: Say) -> None:
    say(DAY.format(12), asked(FERRY), f"{found(FERRY)} It took us until today to see it in the harbour.")
    results = find(engine, AGAIN)
    assert 0 < len(results) <= 3
    assert sum(len(each.text) for each in results) <= 1_200
    assert len({" ".join(each.text.split()[:20]) for each in results}) == len(results)


@pytest.mark.usefixtures("eager")
def test_noise_is_not_told_again(engine: Engine, past: list[str]) -> None:
    session = looking_at_the_ferry()
    told = list(map(place_of, find(engine, QUESTION, session)))
    assert told
    engine.recall.labels.label(Place("elsewhere.md", 10), told, False)
    assert set(told).isdisjoint(map(place_of, find(engine, QUESTION, session)))
    engine.recall.labels.label(Place("elsewhere.md", 20), told, True)
    assert list(map(place_of, find(engine, QUESTION, session))) == told, "the last label counts"


@pytest.mark.usefixtures("eager")
def test_what_an_agent_was_told_and_rated_as_noise_is_not_told_again(engine: Engine, past: list[str]) -> None:
    session = looking_at_the_ferry()
    told = {place_of(each) for each in find(engine, QUESTION, session)}
    compiled = engine.prompts.compile(AGAIN, engine.trace(AGAIN), budget=1_500, part="message")
    assert told and told <= {
        Place(each.source, int(each.lines.partition("-")[0])) for each in compiled.sections
    }
    engine.injections.log.record(compiled, AGAIN, by="claude-code")
    audit = Audit(engine)
    audit.judge(next(audit.entries()), (), useful=False)
    assert told.isdisjoint(map(place_of, find(engine, QUESTION, session)))


def test_noise_is_told_where_it_answers_the_message(engine: Engine, say: Say) -> None:
    for number, words in enumerate(SUBJECTS):
        say(DAY.format(number + 1), asked(words), did(words) + found(words))
    told = list(map(place_of, find(engine, AGAIN)))
    assert told
    engine.recall.labels.label(Place("elsewhere.md", 10), told, False)
    assert list(map(place_of, find(engine, AGAIN))) == told


@pytest.mark.parametrize(
    ("answer", "is_told"),
    [
        ("OK, go ahead", False),
        ("このまま進める (Recommended)", False),
        ("問題なし、PR 作成へ", False),
        ("문제 없습니다. 진행해 줘", False),
        ("Keep the pontoon out of it", True),
        ("OK\nbut the pontoon stays", True),
        ("JSON", True),
        ("桟橋", True),
    ],
)
def test_a_question_that_the_person_only_said_yes_to_is_not_told(
    engine: Engine, say: Say, answer: str, is_told: bool
) -> None:
    for number, words in enumerate(SUBJECTS):
        say(DAY.format(number + 1), asked(words), did(words) + found(words))
    question = f"Question: {AGAIN} Shall I look at it?"
    say(DAY.format(15), "Go on.", "I ask.", f"{question}\nAnswer: {answer}", kind=" [answer]")
    assert any(each.text.startswith(question) for each in find(engine, AGAIN)) == is_told


def test_with_few_sessions_nothing_is_known_to_be_rare(engine: Engine, say: Say) -> None:
    say(DAY.format(1), asked(FERRY), found(FERRY))
    assert find(engine, AGAIN) == []


def test_a_greeting_is_told_nothing(engine: Engine, say: Say) -> None:
    for number, words in enumerate(SUBJECTS):
        say(DAY.format(number + 1), asked(words), did(words) + found(words))
    reply = "チャット欄に「こんにちわ」と入力すると返信が返り、桟橋の時刻表も表示されました。"
    say(DAY.format(15), "接続試験をして", f"{reply}\n\n試験は成功し、結果は harbour_chat.log です。")
    assert find(engine, "こんにちわ") == []
    assert find(engine, "こんにちわと入力したときの返信と桟橋の時刻表の表示") != []


def test_in_few_sessions_only_an_answer_is_told(engine: Engine, say: Say) -> None:
    for number, words in enumerate(SUBJECTS):
        say(DAY.format(number + 1), asked(words), did(words) + found(words))
    assert find(engine, QUESTION, looking_at_the_ferry()) == []
    (first, *_) = find(engine, AGAIN)
    assert "most words of the message" in first.why


def test_an_order_in_a_script_without_spaces_is_told_only_what_has_nearly_all_of_it(
    engine: Engine, say: Say
) -> None:
    for number, words in enumerate(SUBJECTS):
        say(DAY.format(number + 1), asked(words), did(words) + found(words))
    reply = "チャット欄に「こんにちわ」と入力すると返信が返り、桟橋の時刻表も表示されました。"
    say(DAY.format(15), "接続試験をして", f"{reply}\n\n試験は成功し、結果は harbour_chat.log です。")
    say(
        DAY.format(16),
        "灯台の設定",
        "灯台の設定を変更しました。点滅の間隔は十秒のままで、記録は lantern.log にあります。",
    )
    order = "桟橋の時刻表も表示、設定を変更"
    assert find(engine, order) == []
    assert find(engine, f"{order}？") != []
    assert find(engine, f"{order} https://harbour.example/?pontoon=1") == [], "an address asks nothing"
    assert find(engine, "桟橋の時刻表も表示") != []


def test_it_can_be_turned_off(workspace: Path, past: list[str]) -> None:
    (workspace / "memory-config.yaml").write_text("hooks:\n  past_sessions: off\n")
    with Engine.open(workspace) as engine:
        assert find(engine, AGAIN) == []


def test_a_hook_tells_it_beside_the_message_and_search_does_not(engine: Engine, past: list[str]) -> None:
    engine.refresh_index()
    beside = engine.prompts.compile(AGAIN, engine.trace(AGAIN), budget=1_500, part="message")
    sections = [each for each in beside.sections if each.slot == "knowledge"]
    assert {each.source for each in sections} == {past[0]}
    assert found(FERRY) in beside.text and BEFORE.format(1) in beside.text
    elsewhere = engine.prompts.compile(
        "Why is the sky blue?", engine.trace("x"), budget=1_500, part="message"
    )
    assert not [each for each in elsewhere.sections if each.slot == "knowledge"]


def test_a_model_is_read_back_and_another_ones_is_not_used() -> None:
    model = shipped()
    assert of_json(to_json(model)) == model
    text = to_json(model)
    for damaged in (
        "",
        "{}",
        text[:200],
        text.replace('"version": 1', '"version": 0'),
        text.replace("asked", "said"),
    ):
        assert of_json(damaged) is None
    assert of_json(to_json(model).replace(str(model.base), "NaN")) is None


def test_the_own_model_is_used_if_there_is_one(workspace: Path, engine: Engine, past: list[str]) -> None:
    own = engine.recall.own
    assert own.model() == shipped()
    (workspace / "scratch").mkdir(exist_ok=True)
    (workspace / PATH).write_text(to_json(shipped()).replace('"is_own": false', '"is_own": true'))
    model = own.model()
    assert model is not None and model.is_own
    (workspace / PATH).write_text("damaged")
    assert own.model() == shipped()


def test_nothing_is_learned_from_a_few_prompts(engine: Engine, past: list[str]) -> None:
    engine.refresh_index()
    done = engine.recall.own.learn(engine.index, lambda _done, _of: None)
    assert not done.is_used and done.prompts < FEWEST_PROMPTS
    assert "too few prompts" in done.said


def test_the_own_past_is_used_only_if_it_predicts_better(
    workspace: Path, engine: Engine, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        words = SUBJECTS[number % len(SUBJECTS)]
        say(
            DAY.format(1 + number // 3),
            asked(words),
            found(words),
            f"What of the {words[4]} now?",
            found(words),
        )
    engine.refresh_index()
    monkeypatch.setattr("engine.recall.own.FEWEST_PROMPTS", 20)
    monkeypatch.setattr("engine.recall.own._FEWEST_USEFUL", 0)
    for own, other, used in ((0.9, 0.2, True), (0.2, 0.9, False)):
        precisions = iter((own, other))
        monkeypatch.setattr(
            "engine.recall.own._precision", lambda _model, _played, given=precisions: next(given)
        )
        done = engine.recall.own.learn(engine.index, lambda _done, _of: None)
        assert done.is_used is used
        model = engine.recall.own.model()
        assert model is not None and model.is_own is used


@pytest.mark.parametrize(("useful", "floor"), [(5, 0.085), (3, 0.12), (0, 0.48)])
def test_the_past_decides_how_sure_the_model_has_to_be(useful: int, floor: float) -> None:
    """Of twenty prompts, ten are told something surer; what came up was told at the first of these."""
    worth = numpy.array([0.3] * 10 + [0.1] * 10)
    prompts = [
        SimpleNamespace(
            candidates=SimpleNamespace(sessions=MANY_SESSIONS, values=worth[at : at + 1]),
            useful=numpy.array([at < useful]),
        )
        for at in range(20)
    ]
    model = SimpleNamespace(worth=lambda values: values)
    assert _floor(model, prompts) == floor  # type: ignore[arg-type]
    few = SimpleNamespace(candidates=SimpleNamespace(sessions=MANY_SESSIONS - 1))
    assert _floor(model, [few]) == 0.0  # type: ignore[arg-type, list-item]


def test_a_question_about_past_work_is_answered_beside_the_message(engine: Engine, past: list[str]) -> None:
    def told(message: str) -> list[str]:
        engine.refresh_index()
        made = engine.prompts.compile(message, engine.trace(message), budget=1_500, part="message")
        return [each.text for each in made.sections if each.slot == "knowledge"]

    subject = "keep the berth state of the ferry out of the cache while others may still be reading it"
    assert any(found(FERRY) in text for text in told(f"Why did we {subject}?"))
    assert told(f"Please {subject}.") == []
