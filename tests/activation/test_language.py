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
    "fi": "Voitko tarkistaa tämän?",
    "pl": "Czy możesz to sprawdzić?",
    "cs": "Můžeš to zkontrolovat?",
    "tr": "Sabah altıya alarm kur|Bunu kontrol eder misin?",
    "ro": "Poți să verifici asta?",
    "hu": "Meg tudod ezt nézni?",
    "sk": "Môžeš mi to prosím skontrolovať?",
    "sl": "Ali lahko to preveriš, prosim?",
    "hr": "Možeš li provjeriti gdje je datoteka?",
    "lt": "Ar gali patikrinti šitą failą?",
    "et": "Kas sa saad seda kontrollida?",
    "ca": "Pots revisar això, si us plau?",
    "vi": "Bạn có thể kiểm tra giúp tôi không?|Đây là một chương trình lớn|Tất cả các hình ảnh",
    "bg": "Къде е проблемът?",
    "kk": "Мұны тексере аласың ба?",
    "id": "Bisa tolong periksa ini?",
    "ru": "Можешь это проверить?",
    "uk": "Ти можеш це перевірити, будь ласка?",
    "ja": "これを確認してもらえますか？",
    "zh": "你能检查一下吗？",
    "ko": "확인해 주시겠어요?",
    "el": "Μπορείς να το ελέγξεις;",
    "ar": "هل يمكنك التحقق من هذا؟",
    "fa": "می‌توانید این را بررسی کنید؟ چه خبر",
    "he": "אתה יכול לבדוק את זה?",
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
        "12345 !!!",
        "src/app.py",
        "foo_bar baz_qux",
        "🚨",
        "npm ci",
        "WTF",
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


def test_capitals_do_not_hide_a_language() -> None:
    assert identify("WARUM FUNKTIONIERT DAS NICHT?") == "de"


def test_the_wanted_language_wins_among_equally_likely_relatives() -> None:
    text = "Hvordan går det med dig?"
    assert identify(text, {"da"}) == "da"
    assert identify("Hvordan går det?", {"no"}) == "no"
    assert identify("Kan du tjekke det her?", {"da"}) == "da"


def test_a_german_message_that_quotes_code_words_stays_german() -> None:
    assert identify("Kannst du den merge request für das deployment heute noch approven?", {"de"}) == "de"


def test_a_single_foreign_letter_does_not_decide() -> None:
    assert identify("the Δ between both runs is small", {"el"}) == "en"
    assert identify("Alle Wecker um Δ verschieben", {"de", "el"}) == "de"


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


def test_a_longer_message_in_an_unlisted_language_is_left_to_the_identifier() -> None:
    text = "Allwch chi wirio a oes problem gyda'r ffeil hon, diolch yn fawr iawn i chi"
    assert identify(text, {"cy"}) == "cy"
    assert identify(text, {"de"}) != "de"


@each_case(("code", "expected"), [("de-AT", "de"), ("nb", "no"), ("NN", "no"), ("pt_BR", "pt")])
def test_language_codes_are_normalized(code: str, expected: str) -> None:
    assert base(code) == expected


def test_lone_surrogates_and_noise_are_harmless() -> None:
    assert isinstance(identify("\ud800 das ist \udfff ja und nein " * 20, {"vi"}), str)
