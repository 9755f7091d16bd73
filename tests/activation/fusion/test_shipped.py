"""Tier 2 as shipped: behaviour that any sensible weights must have, in every process."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from engine.activation.decisions import DecisionLog
from engine.activation.fusion.scorer import CalibratedScorer
from engine.activation.fusion.store import FIT_PATH
from engine.activation.labelled import Labelled
from engine.activation.similarity import Scorer, deciding_value
from engine.activation.trace import Funnel, Message, Score, TopicTrace, Trace, TriggerHit
from engine.pipeline.assembly import scorer_for
from engine.settings.model import WatcherSettings
from engine.topics.model import Topic, Trigger
from tests.activation.fusion.support import DEPLOY, HOLIDAY, REFUND
from tests.activation.support import topic, workspace_files
from tests.cases import each_case

CALIBRATED = WatcherSettings(preset="calibrated")


def known(name: str, examples: Sequence[str] = (), **fields: Any) -> Topic:
    return topic(name, examples=tuple(examples), **{"title": name, **fields})


TOPICS = (
    known("refund", REFUND),
    known("deploy", DEPLOY),
    known("holiday", HOLIDAY),
    known(
        "coffee machine", ("the coffee machine is broken", "who refills the beans", "there is no milk left")
    ),
    known("password reset", ("i forgot my password", "reset my login", "my account is locked")),
)


@lru_cache
def shipped(topics: tuple[Topic, ...] = TOPICS) -> CalibratedScorer:
    found = CalibratedScorer()
    found.update(topics)
    return found


def probabilities(found: Scorer, text: str) -> dict[str, float]:
    return {name: deciding_value(of, "probability") for name, of in found.score(text, {}).items()}


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


@each_case(
    ("text", "expected"),
    [
        ("i want my money back for yesterday's order", "refund"),
        ("please deploy the new version of the service", "deploy"),
        ("can i take a holiday in august", "holiday"),
        ("the coffee machine broke again", "coffee machine"),
        ("i can't log in, i forgot the password", "password reset"),
    ],
)
def test_only_the_right_topic_is_probable(text: str, expected: str) -> None:
    of = probabilities(shipped(), text)
    assert of[expected] > 0.5
    assert max(value for name, value in of.items() if name != expected) < 0.3


@each_case(
    "text",
    [
        "who wrote war and peace",
        "tell me a joke about penguins",
        "what is the capital of australia",
        "lorem ipsum dolor sit amet",
        "xqzt blorf",
        "7 + 35 / 12",
    ],
)
def test_an_unrelated_message_is_improbable_for_every_topic(text: str) -> None:
    assert max(probabilities(shipped(), text).values()) < 0.35


def test_a_topic_without_examples_matches_by_its_description() -> None:
    topics = (
        known("refunds", description="Giving customers their money back"),
        known("deployments", description="Rolling out new releases of the service"),
        known("holidays", description="Requests for days off"),
    )
    of = probabilities(shipped(topics), "a customer wants to have the money back")
    assert max(of, key=lambda name: of[name]) == "refunds"
    assert of["refunds"] > 3 * max(of["deployments"], of["holidays"])


OTHER_LANGUAGES = {
    "zh": (
        {
            "refund": ("怎么退款", "我想申请退款", "钱什么时候退回来"),
            "deploy": ("怎么部署服务", "把新版本部署到生产环境", "上线新版本"),
            "holiday": ("我还有几天年假", "我想七月请假", "怎么申请休假"),
        },
        {
            "refund": "你好，我想申请退款",
            "deploy": "现在可以部署新版本了吗？",
            "holiday": "我想七月请假，可以吗",
        },
    ),
    "ja": (
        {
            "refund": ("返金してください", "注文の返金を申請したい", "お金はいつ戻りますか"),
            "deploy": ("サービスをデプロイする方法", "新しいバージョンを本番にデプロイ", "リリースして"),
            "holiday": ("有給休暇は何日残っていますか", "七月に休暇を取りたい", "休暇の申請方法"),
        },
        {
            "refund": "注文の返金を申請したいのですが",
            "deploy": "今すぐ本番にデプロイして",
            "holiday": "来週休暇を取りたいのですが",
        },
    ),
    "ru": (
        {
            "refund": ("как вернуть деньги за заказ", "хочу возврат денег", "верните деньги за покупку"),
            "deploy": ("как развернуть сервис на сервере", "запусти деплой", "выкатить новую версию"),
            "holiday": ("сколько дней отпуска осталось", "хочу взять отпуск в июле", "оформить отпуск"),
        },
        {
            "refund": "я хочу вернуть деньги за вчерашний заказ",
            "deploy": "разверни новую версию сервиса",
            "holiday": "когда я могу взять отпуск",
        },
    ),
    "ar": (
        {
            "refund": ("كيف أسترد مالي", "أريد استرداد المبلغ", "أعيدوا لي المال"),
            "deploy": ("كيف أنشر الخدمة", "انشر النسخة الجديدة", "تشغيل النشر على الخادم"),
            "holiday": ("كم يوم إجازة بقي لي", "أريد إجازة في يوليو", "طلب إجازة"),
        },
        {
            "refund": "أريد استرداد المبلغ عن طلب الأمس",
            "deploy": "انشر الخدمة الآن",
            "holiday": "متى يمكنني أخذ إجازة",
        },
    ),
}


@each_case("language", OTHER_LANGUAGES)
def test_other_scripts_match_the_right_topic(language: str) -> None:
    examples, messages = OTHER_LANGUAGES[language]
    found = shipped(tuple(known(name, of) for name, of in examples.items()))
    for expected, text in messages.items():
        of = probabilities(found, text)
        assert max(of, key=lambda name: of[name]) == expected
        assert of[expected] > 2 * sum(value for name, value in of.items() if name != expected)


def test_a_useful_label_raises_the_probability() -> None:
    text = "somebody should look at the boiler"
    plain = probabilities(shipped(), text)
    labelled = CalibratedScorer(labelled=lambda: {"coffee machine": Labelled(useful=("look at the boiler",))})
    labelled.update(TOPICS)
    assert probabilities(labelled, text)["coffee machine"] > plain["coffee machine"] + 0.15


def test_a_noise_label_lowers_the_probability() -> None:
    text = "how many holidays are there in the school calendar"
    plain = probabilities(shipped(), text)
    labelled = CalibratedScorer(labelled=lambda: {"holiday": Labelled(noise=(text,))})
    labelled.update(TOPICS)
    assert plain["holiday"] > 0.3
    assert log_odds(probabilities(labelled, text)["holiday"]) < log_odds(plain["holiday"]) - 0.7


@each_case(
    ("text", "name"),
    [
        ("i want my money back for yesterday's order", "refund"),
        ("please deploy the new version of the service", "deploy"),
        ("the coffee machine broke again", "coffee machine"),
        ("i forgot the password", "password reset"),
    ],
)
def test_a_message_labelled_as_noise_does_not_activate_again(text: str, name: str) -> None:
    taught = CalibratedScorer(labelled=lambda: {name: Labelled(noise=(text,))})
    taught.update(TOPICS)
    assert probabilities(shipped(), text)[name] > 0.5
    assert probabilities(taught, text)[name] < 0.25
    assert probabilities(taught, f"{text}!")[name] < 0.4
    explained = taught.explain(text, {}, [name])[name]
    assert any(part.signal == "counter-examples" and part.weight < -1 for part in explained.contributions)


def test_reasons_agree_with_the_message() -> None:
    text = "i want my money back for the order"
    hits = {"deploy": (TriggerHit(0, "keywords", "order", 29, 34),)}
    explained = shipped().explain(text, hits, [each.name for each in TOPICS])
    refund = {part.signal: part.weight for part in explained["refund"].contributions}
    assert refund["vectors"] > 0.5
    assert sum(refund.get(signal, 0.0) for signal in ("words", "bm25", "jaccard", "minhash")) > 0.5
    assert "counter-examples" not in refund
    assert "trigger" not in refund
    deploy = {part.signal: part.weight for part in explained["deploy"].contributions}
    assert deploy["trigger"] > 1
    shown = [text[span.start : span.end] for span in explained["refund"].words]
    assert {"money", "order"} <= set(shown) <= set(text.split())


def test_a_message_of_200_000_characters_is_scored_by_its_ends() -> None:
    filler = "lorem ipsum dolor " * 11_000
    of = probabilities(shipped(), f"{filler} please deploy the new version to production")
    assert of["deploy"] == max(of.values())


def test_a_scorer_from_settings_gives_the_same_scores(tmp_path: Path) -> None:
    files = workspace_files(tmp_path)
    found = scorer_for(CALIBRATED, files, DecisionLog(files))
    found.update(TOPICS)
    assert isinstance(found, CalibratedScorer)
    assert found.deciding == "probability"
    assert (tmp_path / FIT_PATH).exists()
    text = "i want my money back"
    assert probabilities(found, text) == pytest.approx(probabilities(shipped(), text), abs=1e-4)


def decision(text: str, name: str, minute: int) -> Trace:
    """A trace with one considered topic."""
    row = TopicTrace(
        topic=name,
        priority="medium",
        activation="gated",
        hits=(),
        scores=(Score("probability", 0.4),),
        score=0.4,
        threshold=0.25,
        activate_at=0.6,
        gate_at=0.25,
        rule="medium <.60",
        gate=None,
        verdict="active",
        why="",
    )
    at = datetime(2026, 2, 16, tzinfo=UTC) + timedelta(minutes=minute)
    return Trace(Message(text, at=at), (row,), Funnel(1, 0, 1, 0, 1), deciding="probability")


def test_labels_and_headings_of_a_workspace_are_used(tmp_path: Path) -> None:
    files = workspace_files(tmp_path)
    log = DecisionLog(files)
    text = "somebody should look at the boiler"
    subscribed = replace(TOPICS[3], subscriptions=("boiler.md",))
    topics = (*TOPICS[:3], subscribed, TOPICS[4])

    def now() -> float:
        found = scorer_for(CALIBRATED, files, log)
        found.update(topics)
        return probabilities(found, text)["coffee machine"]

    before = now()
    (tmp_path / "boiler.md").write_text("# Looking after the boiler\n## When the boiler is broken\n")
    with_headings = now()
    assert with_headings > before + 0.02
    trace = decision("look at the boiler", "coffee machine", 0)
    log.record(trace, {})
    log.label(log.ensure(trace, "coffee machine"), True)
    with_label = now()
    assert with_label > with_headings + 0.1
    log.label(log.ensure(trace, "coffee machine"), None)
    assert now() == pytest.approx(with_headings, abs=1e-6)


PROGRAM = """
import json, sys
from engine.activation.decisions import DecisionLog
from engine.activation.fusion import scorer
from engine.activation.trace import TriggerHit
from engine.pipeline.assembly import scorer_for
from engine.settings.model import WatcherSettings
from tests.activation.fusion.test_shipped import TOPICS
from tests.activation.support import workspace_files
from pathlib import Path

fits = []
fit = scorer.fit
scorer.fit = lambda *given: fits.append(1) or fit(*given)
files = workspace_files(Path(sys.argv[1]))
found = scorer_for(WatcherSettings(preset="calibrated"), files, DecisionLog(files))
found.update(TOPICS)
hits = {"deploy": (TriggerHit(0, "keywords", "order", 29, 34),)}
told = []
for text in ("i want my money back for the order", "deploy it", "qué pasa", "我想退款"):
    told.append(repr(found.score(text, hits)))
    told.append(repr(found.explain(text, hits, [topic.name for topic in TOPICS])))
print(json.dumps({"fits": len(fits), "told": told, "modules": sorted(sys.modules)}))
"""


def run_process(root: Path, seed: int) -> dict[str, Any]:
    root.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(root)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        cwd=Path(__file__).parents[3],
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_processes_agree_share_a_fit_and_import_nothing_heavy(tmp_path: Path) -> None:
    first = run_process(tmp_path / "a", 1)
    second = run_process(tmp_path / "a", 2)
    elsewhere = run_process(tmp_path / "b", 3)
    assert [each["fits"] for each in (first, second, elsewhere)] == [1, 0, 1]
    assert first["told"] == second["told"] == elsewhere["told"]
    packages = {name.partition(".")[0] for name in second["modules"]}
    heavy = {"sklearn", "scipy", "torch", "sentence_transformers"}
    assert "numpy" in packages
    assert not packages & (heavy | {"py3langid", "pandas", "apsw"})


def test_a_trigger_hit_raises_the_probability_to_the_gate(tmp_path: Path) -> None:
    topics = (replace(TOPICS[0], triggers=(Trigger("keywords", words=("penguin",)),)), *TOPICS[1:])
    found = shipped(topics)
    text = "tell me all about the life of a penguin in the cold of antarctica please"
    hits = {"refund": (TriggerHit(0, "keywords", "penguin", 31, 38),)}
    plain = found.score(text, {})["refund"]
    lifted = found.score(text, hits)["refund"]
    gate = CALIBRATED.row("medium").gate
    assert gate is not None
    assert deciding_value(plain, "probability") < gate <= deciding_value(lifted, "probability")
