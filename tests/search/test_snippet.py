"""Snippets show the matching lines, shortened at word boundaries."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from engine.search.matches import _SIGN, SNIPPET_CHARACTERS, Finder, snippet
from engine.search.terms import tokenizer
from tests.secret_keys import leaks, private_key


def test_words_of_one_stem_match() -> None:
    text = "The migrations ran. Café naïve."
    matches = Finder(("migration", "running", "cafe", "absent")).find(text)
    assert matches.terms == ("migration", "cafe")
    assert [text[start:end] for start, end, _ in matches.spans] == ["migrations", "Café"]


@given(
    st.lists(st.sampled_from(["heron", "Hérons", "é", "—", "日本", "𝔘", "\ud800", " ", "\n"]), max_size=30)
)
def test_matches_have_the_right_positions(parts: list[str]) -> None:
    text = " ".join(parts)
    found = Finder(("heron", "é")).find(text)
    assert [text[start:end] for start, end, _ in found.spans] == [
        part for part in parts if part in ("heron", "Hérons", "é")
    ]
    assert [stem for _, _, stem in found.spans] == [
        "e" if part == "é" else "heron" for part in parts if part in ("heron", "Hérons", "é")
    ]


_ENDINGS = (
    *("", "s", "es", "ies", "y", "ied", "ed", "ing", "e", "er", "ly", "ation", "ational", "ization", "izer"),
    *(
        "iveness",
        "fulness",
        "ousness",
        "ality",
        "ivity",
        "ibility",
        "ability",
        "ably",
        "ement",
        "ance",
        "ical",
    ),
    *(
        "icate",
        "sses",
        "tted",
        "pping",
        "ized",
        "ating",
        "bled",
        "logy",
        "ism",
        "ion",
        "eed",
        "'s",
        "_x",
        "2",
    ),
)
_PLAIN_WORDS = st.builds(
    str.__add__,
    st.sampled_from(["hap", "s", "siz", "rat", "troubl", "relat", "sens", "poss", "hop", "fil", "fe", "agr"]),
    st.sampled_from(_ENDINGS),
)


@given(st.lists(_PLAIN_WORDS, min_size=1, max_size=3), st.lists(_PLAIN_WORDS, max_size=30), st.randoms())
def test_ascii_text_is_matched_like_other_text(terms: list[str], words: list[str], rng: Random) -> None:
    """ASCII text takes a faster path that stems only words starting like a term."""
    text = "".join(
        rng.choice([word, word.upper(), word.title()]) + rng.choice([" ", "-", ".\n", "/", "\0"])
        for word in words
    )
    finder = Finder(terms)
    plain, other = finder.find(text), finder.find(f"{text}é")
    assert plain.terms == other.terms
    assert plain.spans == other.spans


def test_the_tokenizer_splits_at_every_sign() -> None:
    signs = [sign for sign in map(chr, range(0x80, 0x3000)) if _SIGN.match(sign)]
    assert len(signs) > 1_000
    for sign in signs:
        assert [stem for _, _, stem in tokenizer()(f"heron{sign}trout")] == ["heron", "trout"]
    text = "caf—heron → trouts … ×é"
    assert Finder(("trout", "é")).find(text).spans == ((12, 18, "trout"), (22, 23, "e"))
    assert Finder(("trout",)).find(text[:-1]).spans == ((12, 18, "trout"),)


def test_a_short_text_is_its_own_snippet() -> None:
    text = "One line.\nAnother with a match."
    assert snippet(text, Finder(("match",)).find(text)) == "One line. Another with a match."


def test_the_lines_with_the_most_words_are_shown() -> None:
    filler = "\n".join(f"Filler sentence number {number} says nothing." for number in range(20))
    text = f"{filler}\nThe heron is alone.\n{filler}\nThe heron caught a trout at dawn.\n{filler}"
    shown = snippet(text, Finder(("heron", "trout", "dawn")).find(text))
    assert shown.startswith("…The heron caught a trout at dawn. Filler")
    assert shown.endswith("says nothing.…")
    assert len(shown) <= SNIPPET_CHARACTERS


def test_without_a_match_the_beginning_is_shown() -> None:
    text = "First. " * 100
    assert snippet(text, Finder(("absent",)).find(text)).startswith("First. First.")


@given(st.text(max_size=2000), st.lists(st.sampled_from(["a", "word", "é", "日本"]), min_size=1, max_size=3))
def test_any_text_gives_one_short_line(text: str, terms: list[str]) -> None:
    shown = snippet(text, Finder(terms).find(text))
    assert len(shown) <= SNIPPET_CHARACTERS
    assert "\n" not in shown
    inside = shown.removeprefix("…").removesuffix("…")
    assert "".join(inside.split()).strip("…") in "".join(text.split())


def test_a_snippet_has_no_part_of_a_key() -> None:
    key = private_key(8)
    text = f"{key}\nThe key of the heron server.\n" + "Other words. " * 30
    found = snippet(text, Finder(("heron",)).find(text))
    assert "heron server" in found and not leaks(found, key)
    lines = key.split("\n")
    inside = "\n".join([*lines[:5], f"{lines[5][:20]}/heron/{lines[5][27:]}", *lines[6:]])
    found = snippet(inside, Finder(("heron",)).find(inside))
    assert not leaks(found, inside)
