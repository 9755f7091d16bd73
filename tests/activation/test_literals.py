"""The literals that a pattern requires are in every text that it matches."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from engine.activation.patterns import needs
from engine.activation.scan import fold
from engine.topics.expressions import compile_expression
from engine.topics.fields import word_set
from tests.cases import each_case


@each_case(
    ("match", "literals"),
    [
        ("email|inbox|mail", {"email", "inbox", "mail"}),
        (r"\b(invoice|receipt)s?\b", {"invoice", "receipt"}),
        (r"/\bDeploy(ing|ed)?\b/i", {"deploy"}),
        (r"git\s+push", {"push"}),
        ("pr|pull request", {"pr", "pull request"}),
        (r"(?=.*error)(?=.*disk)", {"error"}),
        ("Straße", {"strasse"}),
        (r"(?:fix|bug)?\s*#\d+", None),
        (r"\w+", None),
        ("a|bug", None),
        ("[", None),
        ("部", {"部"}),
        ("x{1,2}y?z" + "." + "long", {"long"}),
    ],
)
def test_the_most_telling_literals_are_found(match: str, literals: set[str] | None) -> None:
    assert needs(match).literals == literals


@each_case("match", ["email|mail", r"\bPRs?\b", "(?:ab|cd){1,2}", "[ab]c?", "a" * 900])
def test_a_pattern_of_few_short_texts_is_a_list(match: str) -> None:
    assert needs(match).is_list


@each_case(
    "match",
    [
        *("(a+)+$", "a.b", "(?:a?){60}b", "(?:a|a){3}" * 3, "(?:|)" * 40, "(?=(a+)+$)", "(?!a*)x", r"(a)\1"),
        *("a" * 1001, "a{999}b", "(?:a{3}){3}" * 200, "(?:" * 20 + "a?" + "){0,3}" * 20),
    ],
)
def test_a_pattern_that_a_text_could_make_slow_is_no_list(match: str) -> None:
    assert not needs(match).is_list


PIECES = sorted(
    word_set(r"pr PR straße İx ıx Sıx K ſk σος Å foo a ü 部 [fF]oo [kKı] (?:ab|cd) (?:x|yz)?? . \w \b ^ \s+")
)
EXPRESSIONS = st.recursive(
    st.sampled_from(PIECES),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: f"(?:{'|'.join(options)})"),
        st.tuples(
            inner,
            st.sampled_from([r"\b(?:{})\b", "(?:{})?", "(?:{})+?", "(?>{})", "(?={})", "(?!{})", "(?-i:{})"]),
        ).map(lambda pair: pair[1].format(pair[0])),
        inner.map(lambda body: f"(?:{body}){{1,2}}"),
    ),
    max_leaves=6,
)
SCRAPS = sorted(
    word_set(
        "pr Pr STRASSE straße STRAẞE ix İX IX ıx six K k ſK SK σος ΣΟΣ å FOO foo ab CD yz ü Ü 部 x - _ ’ 🚨"
    )
)
TEXTS = st.lists(st.sampled_from([*SCRAPS, " ", "\n"]), min_size=1, max_size=9).map("".join)


@given(EXPRESSIONS, st.lists(TEXTS, min_size=1, max_size=6))
def test_every_text_that_matches_has_one_of_the_literals(match: str, texts: list[str]) -> None:
    literals = needs(match).literals
    for text in texts:
        if literals is not None and (
            compile_expression(match).search(text) or re.search(match, text, re.IGNORECASE)
        ):
            assert any(literal in fold(text) for literal in literals)
