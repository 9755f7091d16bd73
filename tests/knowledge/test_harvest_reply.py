"""A reply to a harvest is taken whole or not at all (M1, M2, M4), whatever it is and however long."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.context.replies import BadReply, fenced_blocks, is_control, unwrapped
from engine.knowledge.harvest.reply import (
    MOST_ITEMS,
    NAME_CHARACTERS,
    PATH_CHARACTERS,
    REPLY_CHARACTERS,
    read_reply,
)
from engine.knowledge.item import CATEGORIES, ITEM_CHARACTERS, Item
from tests.knowledge.extract_support import EMPTY, reply

GOOD = (Item("facts", "The gate closes at six."),)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (reply(), ()),
        (reply(facts="The gate closes at six."), GOOD),
        (f"```json\n{reply(facts='The gate closes at six.')}\n```", GOOD),
        (f"<think>What [matters]?</think>\n{reply(facts='The gate closes at six.')}", GOOD),
        (f" \n{reply(facts='  The gate closes at six. ')}\n", GOOD),
        (json.dumps({"facts": [{"statement": "The gate closes at six.", "detail": ""}]}), GOOD),
        (
            reply(decisions=[{"statement": "It moves to 01:00", "detail": "backups end then"}]),
            (Item("decisions", "It moves to 01:00 — backups end then"),),
        ),
        (
            reply(decisions=[{"statement": "It moves to 01:00.", "detail": "Backups end then."}]),
            (Item("decisions", "It moves to 01:00. Backups end then."),),
        ),
        (
            reply(facts=[{"statement": "Same.", "detail": "same"}]),
            (Item("facts", "Same."),),
        ),
        (
            reply(playbooks=[{"name": "Restart", "steps": "1. stop -> 2. start"}]),
            (Item("playbooks", "**Restart**: 1. stop -> 2. start"),),
        ),
        (
            reply(files=[{"path": "/srv/app.py", "note": "Reads the zone."}]),
            (Item("files", "Reads the zone.", "/srv/app.py"),),
        ),
        (reply(questions="Zwölf Pegel 👩‍🔬 می‌خواهم?"), (Item("questions", "Zwölf Pegel 👩‍🔬 می‌خواهم?"),)),
        (reply(facts="The password is [secret]."), (Item("facts", "The password is [secret]."),)),
    ],
)
def test_what_is_read(text: str, wanted: tuple[Item, ...]) -> None:
    assert read_reply(text) == wanted


def test_items_come_in_the_order_of_the_categories_and_nobody_is_said_to_have_said_them() -> None:
    rows = {category: [{"statement": "x."}] for category in reversed(CATEGORIES)}
    rows["playbooks"] = [{"name": "x", "steps": "y"}]
    rows["files"] = [{"path": "x", "note": "y"}]
    items = read_reply(json.dumps(rows))
    assert [item.category for item in items] == list(CATEGORIES)
    assert {item.voice for item in items} == {""}


def test_what_is_said_twice_is_one_item_and_the_first_form_stays() -> None:
    items = read_reply(reply(facts=("Once.", "Other.", "once"), decisions=("Once.",)))
    assert items == (Item("facts", "Once."), Item("facts", "Other."), Item("decisions", "Once."))


def fact(text: object, **more: object) -> str:
    return json.dumps({"facts": [{"statement": text, **more}]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("<think>hm</think>", "empty"),
        ("Nothing much happened.", "no JSON"),
        (f"Here it is: {reply()}", "no JSON"),
        (f"{reply()} That is all.", "no JSON"),
        (f"Here it is:\n```json\n{reply()}\n```", "no JSON"),
        (f"```json\n{reply()}\n```\nThat is all.", "no JSON"),
        (f"```\n{reply()}\n```\n```\n{reply()}\n```", "no JSON"),
        (f"{reply()}{reply()}", "no JSON"),
        (reply()[:-2], "no JSON"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ('"facts"', "no JSON object"),
        ("7", "no JSON object"),
        ("{}", "none of the categories"),
        (json.dumps({**EMPTY, "lessons": []}), "lessons"),
        (json.dumps({"Facts": []}), "Facts"),
        ('{"facts": [NaN]}', "NaN"),
        ('{"facts": -Infinity}', "Infinity"),
        ('{"facts": [], "facts": []}', "twice"),
        ('{"facts": [{"statement": "a", "statement": "b"}]}', "twice"),
        ("[" * 100_000 + "]" * 100_000, "no JSON"),
        ('{"facts":' * 40_000, "no JSON"),
        ("9" * 100_000, "no JSON"),
        (json.dumps({"facts": {}}), "no list"),
        (json.dumps({"facts": None}), "no list"),
        (json.dumps({"facts": "x"}), "no list"),
        (json.dumps({"facts": ["x"]}), "no object"),
        (json.dumps({"facts": [[]]}), "no object"),
        (fact(7), "no text"),
        (fact(None), "no text"),
        (fact(["x"]), "no text"),
        (fact("x", detail=None), "no text"),
        (fact("x", detail=1.5), "no text"),
        (fact("x", source="y"), "other fields"),
        (json.dumps({"facts": [{"detail": "x"}]}), "other fields"),
        (json.dumps({"facts": [{}]}), "other fields"),
        (json.dumps({"playbooks": [{"name": "x"}]}), "other fields"),
        (json.dumps({"playbooks": [{"statement": "x"}]}), "other fields"),
        (json.dumps({"files": [{"path": "x"}]}), "other fields"),
        (json.dumps({"files": [{"note": "x"}]}), "other fields"),
        (fact(""), "is empty"),
        (fact("  "), "is empty"),
        (json.dumps({"files": [{"path": "", "note": "x"}]}), "path is empty"),
        (json.dumps({"playbooks": [{"name": "x", "steps": ""}]}), "steps is empty"),
        (fact("x" * (ITEM_CHARACTERS + 1)), "more than 600"),
        (fact("x" * 400, detail="y" * 300), "more than 600"),
        (json.dumps({"playbooks": [{"name": "x" * (NAME_CHARACTERS + 1), "steps": "y"}]}), "more than 80"),
        (json.dumps({"files": [{"path": "x" * (PATH_CHARACTERS + 1), "note": "y"}]}), "more than 300"),
        (json.dumps({"files": [{"path": "x" * 300, "note": "y" * 400}]}), "more than 600"),
        (json.dumps({"playbooks": [{"name": "a** b **c", "steps": "y"}]}), "asterisk"),
        (fact("one\ntwo"), "line break"),
        (fact("x", detail="one\r\ntwo"), "line break"),
        (fact("one\u2028two"), "line break"),
        (fact("one\u0085two"), "line break"),
        (fact("one\ttwo"), "line break"),
        (fact("one\x00two"), "line break"),
        (fact("one\x1b]52;c;x\x07"), "line break"),
        (fact("left \u202egnp.exe"), "line break"),
        (fact("hidden \u200bword"), "line break"),
        (fact("tag \U000e0041"), "line break"),
        ('{"facts": [{"statement": "half \\ud800"}]}', "line break"),
        (json.dumps({"files": [{"path": "a\nb", "note": "x"}]}), "line break"),
        (json.dumps({"playbooks": [{"name": "x", "steps": "one\ntwo"}]}), "line break"),
        (fact("# Standing rules"), "heading"),
        (fact("- a list"), "list"),
        (fact("[x] done"), "list"),
        (fact("1. first"), "list"),
        (fact("> a quotation"), "quotation"),
        (fact("```sh"), "fence"),
        (fact("It is so. [from: 2026-01-01-x, 2026-01-01]"), "marker"),
        (fact("x", detail="[from: a, b]"), "marker"),
        (fact("a {/knowledge} b"), "marker"),
        (fact("a { / rag-context } b"), "marker"),
        (fact("a <!-- b"), "marker"),
        (fact("a </conversation> b"), "marker"),
        (json.dumps({"playbooks": [{"name": "x", "steps": "[from: a, b]"}]}), "marker"),
        (reply(facts=tuple(f"n{n}." for n in range(MOST_ITEMS + 1))), "more than 50"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadReply, match=why) as caught:
        read_reply(text)
    assert len(str(caught.value)) < 200 and str(caught.value).isprintable()


def test_one_bad_item_spoils_the_reply() -> None:
    with pytest.raises(BadReply, match="item 2 of “decisions”"):
        read_reply(reply(facts="Fine.", decisions=("Fine.", "# Not fine")))


def test_a_reply_that_was_cut_off_is_refused_even_if_it_can_be_read() -> None:
    with pytest.raises(BadReply, match=r"harvest\.max_tokens"):
        read_reply(reply(), cut=True)


def test_seventeen_megabytes_are_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda *_a, **_k: pytest.fail("was parsed"))
    with pytest.raises(BadReply, match="17,000,000"):
        read_reply("[" * 17_000_000)


def test_a_reply_of_nothing_but_fences_is_looked_at_once() -> None:
    text = "```a\n" * (REPLY_CHARACTERS // 5 - 1)
    assert fenced_blocks(text) == []
    assert unwrapped(text) == text
    with pytest.raises(BadReply):
        read_reply(text)


Spoil = Callable[[random.Random, dict[str, Any]], str]


def _row(chance: random.Random, tree: dict[str, Any]) -> dict[str, Any]:
    rows = tree[chance.choice([name for name in CATEGORIES if tree[name]])]
    found: dict[str, Any] = chance.choice(rows)
    return found


def _field(chance: random.Random, tree: dict[str, Any], value: Callable[[str], object]) -> str:
    row = _row(chance, tree)
    name = chance.choice(list(row))
    row[name] = value(row[name])
    return json.dumps(tree)


def _inserted(chance: random.Random, text: str, what: str) -> str:
    place = chance.randrange(1, len(text))
    return text[:place] + what + text[place:]


_HIDDEN = ("\n", "\r", "\x00", "\x1b[2J", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\x85", "\ud800")
_MARKERS = ("[from: a, 2026-01-01]", "{/knowledge}", "{knowledge}", "<!-- x -->", "</turn>", "<system>")
_STARTS = ("# ", "## Done ", "- ", "* ", "> ", "``` ", "--- ", "[ ] ", "[x] ")


def _pair(chance: random.Random, tree: dict[str, Any]) -> str:
    name = chance.choice(CATEGORIES)
    return json.dumps(tree)[:-1] + f', "{name}": []}}'


def _start(chance: random.Random, tree: dict[str, Any]) -> str:
    row = _row(chance, tree)
    first = next(iter(row))
    row[first] = chance.choice(_STARTS) + row[first]
    return json.dumps(tree)


def _extra(chance: random.Random, tree: dict[str, Any]) -> str:
    _row(chance, tree)[chance.choice(("from", "id", "category", "voice", "__class__"))] = "x"
    return json.dumps(tree)


def _missing(chance: random.Random, tree: dict[str, Any]) -> str:
    row = _row(chance, tree)
    row.pop(next(iter(row)))
    return json.dumps(tree)


def _unknown(chance: random.Random, tree: dict[str, Any]) -> str:
    return json.dumps({**tree, chance.choice(("lessons", "Facts", "", "__proto__", "facts ")): []})


def _deep(chance: random.Random, tree: dict[str, Any]) -> str:
    opening = chance.choice(("[", '{"facts":'))
    return opening * chance.choice((5_000, 20_000, 50_000))


def _many(chance: random.Random, tree: dict[str, Any]) -> str:
    tree["facts"] = [{"statement": f"Number {n}."} for n in range(MOST_ITEMS + chance.randrange(1, 500))]
    return json.dumps(tree)


def _number(chance: random.Random, tree: dict[str, Any]) -> str:
    text = json.dumps(tree)
    place = text.index('"', text.index("statement") + 10)
    end = text.index('"', place + 1)
    return (
        text[:place] + chance.choice(("NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000)) + text[end + 1 :]
    )


_VALUES: tuple[object, ...] = (None, 7, 1.5, True, [], {}, ["x"], {"a": 1})

SPOILT: dict[str, Spoil] = {
    "prose before": lambda chance, tree: chance.choice(("Sure! ", "Here:\n", "JSON ")) + json.dumps(tree),
    "prose after": lambda chance, tree: (
        json.dumps(tree) + chance.choice((" Done.", "\nThat is all", "}", ","))
    ),
    "several fences": lambda _, tree: f"```json\n{json.dumps(tree)}\n```\n\n```json\n{json.dumps(tree)}\n```",
    "a fence in prose": lambda _, tree: f"Here:\n```json\n{json.dumps(tree)}\n```",
    "cut off": lambda chance, tree: json.dumps(tree)[: -chance.randrange(1, 60)],
    "wrong types": lambda chance, tree: _field(chance, tree, lambda _: chance.choice(_VALUES)),
    "no list": lambda chance, tree: json.dumps({**tree, "facts": chance.choice(("x", 1, None, {}, True))}),
    "no rows": lambda chance, tree: json.dumps({**tree, "facts": [chance.choice(("x", 1, None, []))]}),
    "numbers that JSON has not": _number,
    "a field twice": _pair,
    "an unknown category": _unknown,
    "an unknown field": _extra,
    "a missing field": _missing,
    "nested deeply": _deep,
    "too many": _many,
    "too long": lambda chance, tree: _field(chance, tree, lambda _: "x" * chance.randrange(601, 50_000)),
    "hidden characters": lambda chance, tree: _field(
        chance, tree, lambda text: _inserted(chance, text, chance.choice(_HIDDEN))
    ),
    "markers": lambda chance, tree: _field(
        chance, tree, lambda text: _inserted(chance, text, f" {chance.choice(_MARKERS)} ")
    ),
    "a beginning like Markdown": _start,
    "another top": lambda chance, tree: json.dumps(chance.choice(([tree], "x", 1, None, True, []))),
    "single quotes": lambda _, tree: repr(tree),
    "comments": lambda _, tree: json.dumps(tree, indent=1).replace("\n", " // so\n"),
    "a comma too many": lambda _, tree: json.dumps(tree)[:-1] + ",}",
    "noise": lambda chance, _: "".join(chance.choice('{}[]":,aé\x00\ud800') for _ in range(300)),
}


def spoilt(seed: int) -> tuple[str, str]:
    """A reply that was good once, and in what way it no longer is."""
    chance = random.Random(seed)
    tree: dict[str, Any] = {
        category: [{"statement": f"Gauge {n} reads level {n}.", "detail": "Since June."} for n in range(3)]
        for category in CATEGORIES
    }
    tree["playbooks"] = [{"name": "Restart gauge", "steps": "stop it, start it"}]
    tree["files"] = [{"path": "srv/gauge.py", "note": "Reads the level."}]
    kind = list(SPOILT)[seed % len(SPOILT)]
    return kind, SPOILT[kind](chance, tree)


@pytest.mark.parametrize("seed", range(480))
def test_every_spoilt_reply_is_refused_and_nothing_of_it_is_taken(seed: int) -> None:
    kind, text = spoilt(seed)
    with pytest.raises(BadReply) as caught:
        read_reply(text)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 200, kind


@given(st.text(max_size=700))
def test_whatever_is_taken_is_one_plain_line(text: str) -> None:
    try:
        (item,) = read_reply(fact(text))
    except BadReply:
        return
    assert item.text.splitlines() == [item.text] == [text.strip()]
    assert item.text.encode("utf-8") and not any(map(is_control, item.text))
    assert "[from:" not in item.text and len(item.text) <= ITEM_CHARACTERS


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(CATEGORIES), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.text() | json_values.map(json.dumps))
def test_no_reply_does_more_than_fail(text: str) -> None:
    try:
        read_reply(text)
    except BadReply as error:
        assert str(error)
