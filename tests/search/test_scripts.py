"""Words are found in every script, as a person types them."""

from __future__ import annotations

import unicodedata
from random import Random
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.search.matches import Finder, snippet
from engine.search.query import literal_terms
from engine.search.scripts import aligned, searchable
from engine.store.paths import Workspace
from tests.cases import each_case
from tests.search.conftest import Open
from tests.search.samples import put
from tui.render.search import Words

pytestmark = pytest.mark.both

Form = Literal["NFC", "NFD"]
LANGUAGES = {
    "chinese": (
        "数据库 防火墙 冰箱 咖啡 护照 茶",
        "窗帘 台灯 书架 毛衣 菜单 旅馆 机票 水管 空调 电影 报告 预算 网站 日志 服务器",
        ("昨天我们讨论了{}的问题，大家都要再想想。", "请提醒我下周处理{}，不然又要拖到月底。"),
    ),
    "japanese": (
        "冷蔵庫 誕生日 病院 自転車 パスワード 猫",
        "机 椅子 本棚 窓 靴 映画 報告書 予算 旅館 飛行機 暖房 上着 朝食 牛乳 テレビ",
        ("昨日みんなで{}について話し合いました。", "来週までに{}の件を片付けておいてください。"),
    ),
    "thai": (
        "โรงพยาบาล กุญแจ ตู้เย็น รหัสผ่าน",
        "หนังสือ โต๊ะ เก้าอี้ หน้าต่าง รองเท้า รายงาน โรงแรม พัดลม ผลไม้ ลูกค้า กระเป๋า",
        ("เมื่อวานเราคุยกันเรื่อง{}ที่ออฟฟิศ", "เขาวาง{}ไว้ในห้องนั่งเล่นแล้วหาไม่เจอ"),
    ),
}


def notes(language: str) -> tuple[list[str], list[str]]:
    """The words of a language, and 60 notes; the first of them contain the words, one each."""
    words, fillers, sentences = LANGUAGES[language]
    wanted, others, rng = words.split(), fillers.split(), Random(7)
    told = []
    for number in range(60):
        subjects = rng.sample(others, 3)
        subjects[1] = wanted[number] if number < len(wanted) else subjects[1]
        told.append("".join(rng.choice(sentences).format(subject) for subject in subjects))
    return wanted, told


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_amid_a_run_without_spaces_are_found(
    workspace: Workspace, open_index: Open, language: str
) -> None:
    wanted, told = notes(language)
    for number, text in enumerate(told):
        put(workspace, f"knowledge/reference/{number}.md", f"{text}\n")
    expected = [f"knowledge/reference/{number}.md" for number in range(len(wanted))]
    index = open_index(workspace)
    without = [one.path for word in wanted for one in index.search(word, limit=1)]
    assert without == expected, "without an index"
    index.settle()
    index.refresh()
    found = [index.search(word, limit=1)[0] for word in wanted]
    assert [one.path for one in found] == expected
    assert all(word in one.snippet for word, one in zip(wanted, found, strict=True))
    assert all(one.source == "index" for one in found)
    assert index.verify().problems == ()


@each_case(
    ("asked", "written"),
    [
        ("كتاب", "هذا كِتَابٌ جديد"),
        ("كِتَاب", "هذا كتاب جديد"),
        ("احمد", "قال أحمد شيئا"),
        ("שלום", "הוא אמר שָׁלוֹם לכולם"),
        ("שָׁלוֹם", "הוא אמר שלום לכולם"),
        ("ज़रूरत", "मुझे ज़रूरत है"),
        ("जरूरत", "मुझे ज़रूरत है"),
        ("हिन्दी", "वह हिन्दी बोलता है"),
        ("ışık", "IŞIK söndü"),
        ("isik", "ışık söndü"),
        ("istanbul", "İstanbul uzak"),
        ("ελλαδα", "στην Ελλάδα ζει"),
        ("елка", "наша ёлка стоит"),
        ("tieng viet", "học tiếng Việt mỗi ngày"),
        ("ガギ", "これはｶﾞｷﾞです"),
        ("한국어", "나는 한국어 공부"),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("other", ["NFC", "NFD"])
def test_words_are_found_as_a_person_types_them(asked: str, written: str, form: Form, other: Form) -> None:
    asked, written = unicodedata.normalize(form, asked), unicodedata.normalize(other, written)
    terms = literal_terms(asked)
    finder = Finder(terms)
    assert finder.find(f"x {written} y").terms == terms


def test_another_hindi_word_with_the_same_consonants_is_not_found() -> None:
    finder = Finder(literal_terms("हिन्दी"))
    assert not finder.find("हद नदी").terms


def test_a_match_amid_a_run_is_shown_where_it_is() -> None:
    text = "第一行什么也没有。\n" * 30 + "昨天换了新的防火墙，速度好多了。\n" + "结尾也没有。\n" * 30
    found = Finder(literal_terms("防火墙")).find(text)
    assert [text[start:end] for start, end, _ in found.spans] == ["防火", "火墙"]
    assert "防火墙" in snippet(text, found)


@given(
    st.text(st.one_of(st.characters(), st.sampled_from("日本カ゛が\u3099กำ\u0e49हि\u093cé\u0301a .\ud800")))
)
def test_every_character_that_is_indexed_has_a_place_in_the_text(text: str) -> None:
    read, places = aligned(text)
    assert read == searchable(text)
    assert len(places) == len(read)
    assert all(0 <= start < end <= len(text) for start, end in places)


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_ascii_text_is_indexed_as_it_is(text: str) -> None:
    assert searchable(text) == text


def test_pairs_that_overlap_are_marked_as_one_word() -> None:
    assert Words("防火墙").spans("换了防火墙，好") == ((2, 5),)
