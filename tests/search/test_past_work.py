"""Questions about past work, and what only looks like one."""

from __future__ import annotations

import time
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from engine.search.past_work import asks_back, past_work, subject_of
from tests.cases import each_case

TODAY = date(2026, 2, 18)
"""A Wednesday."""


@each_case(
    ("text", "days"),
    [
        ("what did we do in the last session?", ""),
        ("Where did we leave off?", ""),
        ("pick up where we stopped", ""),
        ("what was the last thing we did", ""),
        ("catch me up", ""),
        ("What happened in our last conversation?", ""),
        ("tell me what we were doing before", ""),
        ("continue where we left off yesterday", "2026-02-17/2026-02-17"),
        ("what did I work on on January 20?", "2026-01-20/2026-01-20"),
        ("what did we do last week", "2026-02-09/2026-02-15"),
        ("give me a quick recap of the last 3 days", "2026-02-15/2026-02-18"),
        ("what did I do the day before yesterday", "2026-02-16/2026-02-16"),
        ("what did we do on the 4th?", "2026-02-04/2026-02-04"),
        ("was haben wir gestern gemacht?", "2026-02-17/2026-02-17"),
        ("woran habe ich letzte Woche gearbeitet?", "2026-02-09/2026-02-15"),
        ("was haben wir am 20. Januar gemacht?", "2026-01-20/2026-01-20"),
        ("was haben wir vor drei Tagen gemacht?", "2026-02-15/2026-02-15"),
        ("wo waren wir stehen geblieben?", ""),
        ("mach weiter, wo wir aufgehört haben", ""),
        ("qu'avons-nous fait hier ?", "2026-02-17/2026-02-17"),
        ("qu'est-ce qu'on a fait la semaine dernière ?", "2026-02-09/2026-02-15"),
        ("où en étions-nous ?", ""),
        ("reprends là où on s'est arrêté hier", "2026-02-17/2026-02-17"),
        ("¿qué hicimos ayer?", "2026-02-17/2026-02-17"),
        ("¿qué hicimos el 20 de enero?", "2026-01-20/2026-01-20"),
        ("¿dónde lo dejamos?", ""),
        ("continúa donde lo dejamos", ""),
        ("我们上次做到哪里了？", ""),
        ("继续上次的任务", ""),
        ("我们现在到哪一步了", ""),
        ("昨天我们做了什么？", "2026-02-17/2026-02-17"),
        ("總結一下上週的工作", "2026-02-09/2026-02-15"),
        ("1月20日我们做了什么", "2026-01-20/2026-01-20"),
        ("前回どこまでやったっけ", ""),
        ("先週何をしたか教えて", "2026-02-09/2026-02-15"),
        ("3日前は何をしましたか？", "2026-02-15/2026-02-15"),
        ("지난번에 어디까지 했지?", ""),
        ("지난주에 우리가 무슨 작업을 했는지 알려줘", "2026-02-09/2026-02-15"),
        ("что мы делали в прошлый раз?", ""),
        ("на чём мы остановились?", ""),
        ("що я робив вчора?", "2026-02-17/2026-02-17"),
        ("onde paramos?", ""),
        ("o que fizemos na semana passada?", "2026-02-09/2026-02-15"),
        ("cosa abbiamo fatto l'ultima volta?", ""),
        ("riprendiamo da dove eravamo", ""),
        ("wat hebben we gisteren gedaan?", "2026-02-17/2026-02-17"),
        ("что мы делали 7 января?", "2026-01-07/2026-01-07"),
        ("что мы делали 7-го мая 2025 года?", "2025-05-07/2025-05-07"),
        ("чем мы занимались в понедельник?", "2026-02-16/2026-02-16"),
        ("что мы делали две недели назад?", "2026-02-01/2026-02-07"),
        ("что делали в январе?", "2026-01-01/2026-01-31"),
        ("що ми робили 7 січня?", "2026-01-07/2026-01-07"),
        ("o que fizemos há três dias?", "2026-02-15/2026-02-15"),
        ("o que fizemos em 7 de janeiro?", "2026-01-07/2026-01-07"),
        ("cosa abbiamo fatto il 7 gennaio?", "2026-01-07/2026-01-07"),
        ("cosa abbiamo fatto lunedì scorso?", "2026-02-16/2026-02-16"),
        ("wat hebben we op maandag gedaan?", "2026-02-16/2026-02-16"),
        ("co robiliśmy 3 dni temu?", "2026-02-15/2026-02-15"),
        ("co jsme dělali 7. ledna?", "2026-01-07/2026-01-07"),
        ("7 Ocak'ta ne yaptık?", "2026-01-07/2026-01-07"),
        ("na czym skończyliśmy?", ""),
        ("co jsme dělali minule?", ""),
        ("geçen hafta ne yaptık?", "2026-02-09/2026-02-15"),
        ("lần trước chúng ta đã làm gì?", ""),
        ("chúng ta dừng ở đâu rồi?", ""),
        ("hôm qua tôi đã làm gì?", "2026-02-17/2026-02-17"),
        ("tuần trước mình làm được những gì?", "2026-02-09/2026-02-15"),
        ("ngày 20 tháng 1 chúng ta làm gì?", "2026-01-20/2026-01-20"),
    ],
)
def test_a_question_about_past_work_is_recognised(text: str, days: str) -> None:
    for form in (text, text.upper(), f"Hi! {text}", f"{text}\n"):
        found = past_work(form, TODAY)
        assert found is not None and found.subject == ()
        assert (f"{found.days.first}/{found.days.last}" if found.days else "") == days


@each_case(
    "text",
    [
        "",
        "continue",
        "go on",
        "resume",
        "please continue with the plan",
        "commit and push",
        "fix the lint errors from yesterday",
        "удали то, что мы делали вчера",
        "dün eklediğim butonu kaldır",
        "waarom faalt de test sinds gisteren?",
        "add a test for last week's fix",
        "what should we do today?",
        "undo the last session",
        "use the last session id",
        "why did it fail last time?",
        "where are we with the migration of the gauges?",
        "when was the last release?",
        "what does the session command show?",
        "which tests did we skip?",
        "the last session crashed, see the log below",
        "yesterday I changed the parser so that it accepts tabs; update the tests",
        "was ist hier los",
        "hôm qua thêm nút, xoá nó đi",
        "tiếp tục làm phần thanh toán",
        "我们昨天修的bug又出现了，帮我看一下",
        "把昨天的数据导出成csv",
        "地图上次缩放的位置要记住",
        "请继续实现登录功能",
        "日志写到哪",
        "文件下载到哪里？",
        "部署到哪一步失败的",
        "この前のコミットを取り消して",
        "前回と同じエラーが出ました",
        "어제 데이터를 기준으로 차트를 그려줘",
        "what did we do last week? " * 20,
    ],
)
def test_other_messages_are_not_taken_for_one(text: str) -> None:
    assert past_work(text, TODAY) is None


def test_a_question_says_whose_work_and_which_subject() -> None:
    mine, ours = past_work("what did I do yesterday?", TODAY), past_work("what did we do yesterday?", TODAY)
    assert mine and mine.is_own and ours and not ours.is_own
    about = past_work("what was the bug in the importer yesterday?", TODAY)
    assert about and set(about.subject) == {"bug", "importer"}
    explicit, vague = past_work("what did we do last time?", TODAY), past_work("where were we?", TODAY)
    assert explicit and explicit.is_explicit and vague and not vague.is_explicit


@given(st.text(max_size=300), st.dates())
def test_any_text_can_be_read(text: str, today: date) -> None:
    past_work(text, today)


def test_reading_is_linear_in_the_length_of_a_message() -> None:
    started = time.process_time()
    for text in ("where we " * 26, "what " * 47, "last " * 47, "a" * 240, "1. " * 79):
        for _ in range(20):
            past_work(text, TODAY)
    assert time.process_time() - started < 20


@each_case(
    ("text", "expected"),
    [
        *(
            (text, True)
            for text in ("Why did we drop the cache?", "what happened to gauge.py?", "did we fix it?")
        ),
        *((text, True) for text in ("why do we retry the uploads?", "wie haben wir die Pegel sortiert?")),
        *(
            (text, True)
            for text in (
                "キャッシュはどう直したんだっけ？",
                "정책이 뭐였지?",
                "我们为什么要删除缓存？",
                "почему мы убрали кеш?",
            )
        ),
        *(
            (text, False)
            for text in ("why does it fail?", "what do you think we did wrong?", "did you push?")
        ),
        *((text, False) for text in ("drop the cache", "how do I run it?", "キャッシュを直して")),
    ],
)
def test_questions_back_are_told_from_others(text: str, expected: bool) -> None:
    assert asks_back(text) is expected


@each_case(
    ("text", "expected"),
    [
        ("why did the staging migration fail?", "staging migration fail"),
        ("So what's the plan for unconfirmed findings", "unconfirmed findings"),
        ("kill switch 为什么删除了？", "kill switch 删除"),
        ("為什麼刪除快取？", "刪除 除快 快取"),
        ("ボタンの矢印はなぜ消えた？", "ボタ タン 矢印 消"),
        ("почему лебёдка скрипит?", "лебёдка скрипит"),
        ("pourquoi le treuil grince ?", "treuil grince"),
        ("how do I reverse a list in Python?", ""),
        ("what is a treaty?", ""),
        ("как сварить борщ?", ""),
        ("fix the migration", ""),
        ("when the migration fails, tell me", ""),
    ],
)
def test_a_question_has_a_subject_unless_it_is_a_general_one(text: str, expected: str) -> None:
    assert " ".join(subject_of(text)) == expected


@each_case(
    "text", ["前回のセッションでは何をしましたか？", "上次会话我们做了什么？", "지난 세션에서 무엇을 했지?"]
)
def test_the_word_for_a_session_is_no_subject_where_the_work_is_about_sessions(text: str) -> None:
    asked = past_work(text, TODAY)
    assert asked is not None and asked.subject == ()
