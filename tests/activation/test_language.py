"""The language of a message, identified by py3langid (spec 4.2)."""

from __future__ import annotations

import errno
import sys

import py3langid
import pytest

from engine.activation.language import base, identify, languages
from tests.cases import each_case

CLEAR = {
    "de": "Alle Wecker anzeigen|Kannst du das bitte prüfen?|bitte deploy auf production bringen|"
    "Der Build ist kaputt|"
    "Schreib bitte eine E-Mail an Herrn Müller.|Fasse mir die offenen Tickets zusammen|"
    "Wo liegt das Problem?|Kannst du den PR reviewen?",
    "en": "Can you check this?|Deploy it to production|Where is the problem?|The war is over",
    "fr": "Peux-tu vérifier cela ?|Bonjour, comment ça va ?|Où est le problème ?",
    "es": "¿Puedes revisar esto?|Hola, ¿cómo estás?|¿Dónde está el problema?",
    "it": "disattiva la sveglia|Puoi controllare questo?|Ciao, come stai?|Dove si trova il problema?",
    "pt": "Você pode verificar isso?|Onde está o problema?",
    "nl": "annuleer alle wekkers|Kun je dit even controleren?|Waar zit het probleem?",
    "sv": "Kan du kolla det här?|Tack så mycket",
    "no": "Kan du sjekke dette?|Takk for hjelpen",
    "da": "Hvad er problemet?",
    "pl": "Czy możesz to sprawdzić?",
    "tr": "Sabah altıya alarm kur|Bunu kontrol eder misin?",
    "vi": "Bạn có thể kiểm tra giúp tôi không?|Đây là một chương trình lớn|Tất cả các hình ảnh",
    "ru": "Можешь это проверить?",
    "uk": "Ти можеш це перевірити, будь ласка?",
    "ja": "これを確認してもらえますか？",
    "zh": "你能检查一下吗？",
    "ko": "확인해 주시겠어요?",
    "ar": "هل يمكنك التحقق من هذا؟",
    "hi": "क्या आप इसे जाँच सकते हैं?",
    "th": "ช่วยตรวจสอบหน่อย",
}


@each_case(("code", "text"), [(code, text) for code, texts in CLEAR.items() for text in texts.split("|")])
def test_the_language_of_short_messages_is_identified(code: str, text: str) -> None:
    assert identify(text) == code


@each_case(
    "text",
    [
        "Can you ask Jürgen Müller about it?",
        "Please forward this to Herr Schröder in Köln",
        "What is the Kindergarten policy?",
        "Please check the file about Doppelgänger and Zeitgeist",
        "translate 'Kannst du das bitte prüfen' to english please",
        "> Kannst du das bitte prüfen?\nwhat does that mean in english?",
        "rename src/müller.py to src/prüfen_und_löschen.py please",
        "The man was rot and the gift was bald",
    ],
)
def test_english_with_german_in_it_is_not_german(text: str) -> None:
    assert identify(text, {"de"}) != "de"


@each_case(
    "text",
    [
        "",
        "ok",
        "deploy",
        "Jürgen Müller",
        "François Dupont Lefèvre",
        "src/app.py",
        "foo_bar baz_qux",
        "🚨",
    ],
)
def test_too_short_messages_have_no_language(text: str) -> None:
    assert identify(text, {"de", "vi"}) == ""


@each_case(
    ("text", "expected"),
    [
        (
            "Fasse das bitte zusammen:\n\nThe quick brown fox jumps over the lazy dog and runs away.",
            {"de", "en"},
        ),
        ("The build has been red since yesterday.\n\nKannst du dir das ansehen?", {"de", "en"}),
        ("Hi,\nthe build is broken since this morning\nDanke!", {"en"}),
        ("> Kannst du das bitte prüfen?\nwhat does that mean in english?", {"en"}),
        ("Kannst du das bitte prüfen?", {"de"}),
        ("ok", set()),
    ],
)
def test_text_around_a_pasted_text_is_identified_separately(text: str, expected: set[str]) -> None:
    assert set(languages(text, {"de"})) == expected


@each_case(
    ("text", "code"),
    [
        ("WARUM FUNKTIONIERT DAS NICHT?", "de"),
        ("Kannst du den merge request für das deployment heute noch approven?", "de"),
        ("the Δ between both runs is small", "en"),
        ("Alle Wecker um Δ verschieben", "de"),
        ("\ud800 das ist \udfff ja und nein " * 20, "de"),
    ],
)
def test_capitals_foreign_words_and_odd_letters_do_not_decide(text: str, code: str) -> None:
    assert identify(text, {"de", "el"}) == code


def test_the_wanted_language_wins_among_equally_likely_relatives() -> None:
    text = "Hvordan går det med dig?"
    assert identify(text, {"da"}) == "da"
    assert identify("Hvordan går det?", {"no"}) == "no"
    assert identify("Kan du tjekke det her?", {"da"}) == "da"


@each_case(
    ("code", "text"),
    [
        ("en", "Can you check this?"),
        ("en", "What did we decide about the new office?"),
        ("de", "Kannst du das bitte prüfen?"),
        ("fr", "Peux-tu vérifier cette page avec moi ?"),
        ("es", "¿Puedes mirar los tests que hay?"),
        ("", "ok"),
    ],
)
def test_plain_messages_never_load_the_model(code: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)
    assert identify(text, {"de", "ja"}) == code
    with pytest.raises(ImportError):
        identify("Alle Wecker anzeigen", {"de"})


def test_an_unclear_message_has_no_language_if_the_model_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(text: str) -> object:
        raise OSError(errno.ENOSPC, text)

    monkeypatch.setattr(py3langid, "rank", full)
    assert identify("Alle Wecker anzeigen", {"de"}) == ""
    assert identify("Kannst du das bitte prüfen?", {"de"}) == "de"


@each_case(("code", "expected"), [("de-AT", "de"), ("nb", "no"), ("NN", "no"), ("pt_BR", "pt")])
def test_language_codes_are_normalized(code: str, expected: str) -> None:
    assert base(code) == expected
