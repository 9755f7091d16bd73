"""The literals a pattern requires in a text, derived from the pattern itself."""

from __future__ import annotations

import unicodedata

import regex

from engine.activation.literals import EDGE, needs
from engine.activation.scan import fold
from engine.topics.expressions import compile_expression
from tests.cases import each_case


@each_case(
    ("match", "literals"),
    [
        (r"\b(email|inbox|mail)\b", {"inbox", "mail"}),
        ("PR|pull request", {"pr", "pull request"}),
        (r"\b(mail|box)s?\b", {"mail", "box"}),
        ("foo|bars?", {"foo", "bar"}),
        (r"\bdeploy(ment)?\b.*\bprod", {"deploy"}),
        (r"error \d{3}", {"error "}),
        ("/colou?r/i", {"colour", "color"}),
        (r"\bdeploy(?:s|ed|ing)?\b", {"deploy"}),
        (r"\bdeploy(ed|ing)\b", {"deployed", "deploying"}),
        ("[Ss]traße", {"strasse"}),
        (r"(?=.*foo)(?=.*barbaz)", {"barbaz"}),
        ("(?:ab){2}", {"abab"}),
        ("(?:ab){5}", {"ab"}),
        ("部|署", {"部", "署"}),
        ("x" * 40, {"x" * 24}),
        (r"(SKV|NSL)-\d{2}", {"skv-", "nsl-"}),
        ("x*", None),
        ("a|bcd", None),
        (r"\w+@\w+", None),
        ("foo|.", None),
        ("(foo)?", None),
        (r"\p{L}foo", None),
        ("[[:alpha:]]foo]", None),
        ("(?:foo){e<=1}", None),
        (r"\x08foo", None),
        ("", None),
        ("(", None),
    ],
)
def test_the_literals_in_every_match_are_found(match: str, literals: set[str] | None) -> None:
    assert needs(match).literals == literals


@each_case(
    ("match", "further"),
    [
        (r"(?=.*foo)(?=.*barbaz)", [{"foo"}]),
        (r"\bdeploy(ment)?\b.*\b(prod|live)", [{"prod", "live"}]),
        (r"(foo\d|bar\d) \d+ bazzz", [{"foo", "bar"}]),
        ("foo", []),
    ],
)
def test_a_match_requires_a_literal_of_every_part(match: str, further: list[set[str]]) -> None:
    assert [set(literals) for literals in needs(match).further] == further


@each_case(
    ("match", "texts"),
    [
        ("foo", ["foo"]),
        (r"\b(foo|ba r)\b", ["|foo|", "|ba r|"]),
        (r"\b(?:foo|bar)s?\b", ["|foos|", "|foo|", "|bars|", "|bar|"]),
        (r"\bfoo|bar\b", ["|foo", "bar|"]),
        (r"\bfoo(ed|ing)?\b", ["|fooed|", "|fooing|", "|foo|"]),
        ("foo(ed)??", ["foo", "fooed"]),
        ("(ab|cd){1,2}", ["abab", "abcd", "ab", "cdab", "cdcd", "cd"]),
        ("co[ou]l", ["cool", "coul"]),
        (r"e-?mail\b", ["e-mail|", "email|"]),
        ("über", ["über"]),
        # Only the expression can decide about anchors, negative lookahead and the case of ß.
        ("^foo", None),
        (r"\Bfoo", None),
        ("foo(?!bar)", None),
        ("(?<=x )foo", None),
        ("(?>fo|foo)o", None),
        ("(?:foo)?+foo", None),
        ("(?-i:Foo)", None),
        ("(?a)foo", None),
        ("straße", None),
        ("ſoft", None),
        ("σοφός", None),
        ("foo.", None),
        (r"foo\x08", None),
        ("x?y?", None),
    ],
)
def test_a_pattern_that_only_lists_texts_is_reduced_to_them(match: str, texts: list[str] | None) -> None:
    found = needs(match).texts
    assert (found and [text.replace(EDGE, "|") for text in found]) == texts


def test_letters_equal_in_case_insensitive_patterns_fold_to_the_same() -> None:
    cased = [
        character
        for character in map(chr, [*range(0xD800), *range(0xE000, 0x110000)])
        if {character} != {character.lower(), character.upper(), fold(character)}
        and unicodedata.is_normalized("NFC", character)
    ]
    every = "".join(cased)
    assert len(cased) > 2_000
    for character in cased:
        expression = compile_expression(regex.escape(character))
        for same in expression.findall(every):
            assert fold(same) == fold(character), (character, same)


def test_equivalent_patterns_of_a_stem_with_endings_require_the_same() -> None:
    for endings in ("ed|ing", "s", "-up| it|ing|ings|s", "E|e"):
        for optional in ("", "?"):
            for edge in ("", r"\b"):
                short = f"{edge}Re-deploy({endings}){optional}{edge}"
                assert needs(short) == needs(short.replace("R", "(?:R)"))
