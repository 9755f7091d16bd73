"""Words and sentences of text in any script."""

from __future__ import annotations

from engine.store.prose import SENTENCE_END, shortened, word_count
from tests.cases import each_case


@each_case(
    "text, count",
    [
        ("", 0),
        ("fix the tests", 3),
        ("检查配置文件", 3),
        ("把 README 改成中文", 4),
        ("テストを直して", 4),
        ("테스트를 고쳐줘", 2),
    ],
)
def test_words_are_counted_in_every_script(text: str, count: int) -> None:
    assert word_count(text) == count


@each_case(
    "text, limit, short",
    [
        ("short", 5, "short"),
        ("one two three", 9, "one two…"),
        ("one, two", 7, "one…"),
        ("检查一下配置文件", 5, "检查一下…"),
        ("检查，一下配置", 4, "检查…"),
        ("a verylongwordwithoutablank", 10, "a verylon…"),
    ],
)
def test_a_text_is_shortened_at_a_word_where_there_is_one(text: str, limit: int, short: str) -> None:
    assert shortened(text, limit) == short and len(short) <= limit


def test_sentences_end_with_the_marks_of_every_script() -> None:
    assert SENTENCE_END.split("改好了。还要改吗？“好的。”是。 完") == [
        "改好了。",
        "还要改吗？",
        "“好的。”是。",
        "完",
    ]
    assert SENTENCE_END.split("Use it, e.g. here. Done! 1. no") == ["Use it, e.g. here.", "Done!", "1. no"]
