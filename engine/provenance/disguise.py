"""Detects disguised text: letters that look like others."""

from __future__ import annotations

import unicodedata

from engine.startup.lazy import expression


def is_disguised(text: str) -> bool:
    """True if letters in a text look like those of another script or are styled."""
    if text.isascii():
        return False
    words = _WORD.findall(text)
    scripts = [_scripts(word) for word in words]
    if any(len(found) > 1 and _is_mixed(word) for word, found in zip(words, scripts, strict=True)):
        return True
    latin = sum(found == {"LATIN"} for found in scripts)
    if latin * 2 > len(scripts) and any(len(word) > 2 and set(word) <= _LATIN_LOOKALIKES for word in words):
        return True
    return not _WIDE.search(text) and any(
        c.isalpha() and unicodedata.normalize("NFKC", c) != c and not c.isascii() and _is_styled(c)
        for c in text
    )


def _is_mixed(word: str) -> bool:
    """True if letters of another script replace Latin ones in a word; the Greek letter in ``ΔT`` does not."""
    foreign = [c for c in word if c.isalpha() and not unicodedata.name(c, "").startswith("LATIN")]
    return len(foreign) > 1 or bool(_LATIN_LOOKALIKES.intersection(foreign))


def _scripts(word: str) -> set[str]:
    """The scripts of a word's letters, limited to scripts with look-alike letters."""
    names = (unicodedata.name(c, "").split(" ")[0] for c in word if c.isalpha())
    return {
        name for name in names if name in ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
    }


def _is_styled(character: str) -> bool:
    """True if a letter is a styled variant of a plain one, such as a mathematical letter."""
    name = unicodedata.name(character, "")
    return name.startswith(("MATHEMATICAL", "FULLWIDTH", "CIRCLED", "SQUARED", "PARENTHESIZED", "NEGATIVE"))


_WORD = expression(r"[^\W\d_]+")
_WIDE = expression(r"[぀-ヿ㐀-鿿가-힯]")
_LATIN_LOOKALIKES = frozenset("аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌαοντυικρχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
