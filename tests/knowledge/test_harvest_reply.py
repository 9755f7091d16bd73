"""Valid items of a reply are kept, others corrected, held or reported (M1, M2, M4)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.context.replies import BadReply, fenced_blocks, is_control
from engine.knowledge.harvest.reply import (
    MAX_ITEMS,
    NAME_CHARACTERS,
    PATH_CHARACTERS,
    REPLY_CHARACTERS,
    Reply,
    read_reply,
)
from engine.knowledge.item import CATEGORIES, ITEM_CHARACTERS, Item
from tests.cases import each_case
from tests.knowledge.extract_support import EMPTY, reply

GOOD = (Item("facts", "The gate closes at six."),)


@each_case(
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
def test_valid_replies_are_parsed(text: str, wanted: tuple[Item, ...]) -> None:
    assert read_reply(text) == Reply(wanted)


def test_items_come_in_category_order_without_a_speaker() -> None:
    rows = {category: [{"statement": "x."}] for category in reversed(CATEGORIES)}
    rows["playbooks"] = [{"name": "x", "steps": "y"}]
    rows["files"] = [{"path": "x", "note": "y"}]
    items = read_reply(json.dumps(rows)).items
    assert [item.category for item in items] == list(CATEGORIES)
    assert {item.voice for item in items} == {""}


def test_repeated_items_are_merged_and_the_first_form_is_kept() -> None:
    items = read_reply(reply(facts=("Once.", "Other.", "once"), decisions=("Once.",))).items
    assert items == (Item("facts", "Once."), Item("facts", "Other."), Item("decisions", "Once."))


def fact(text: object, **more: object) -> str:
    return json.dumps({"facts": [{"statement": text, **more}]})


@each_case(
    "text",
    [
        f"Here it is: {reply(facts='The gate closes at six.')}",
        f"{reply(facts='The gate closes at six.')} That is all. {{knowledge}} is closed.",
        f"I looked {{at}} first.\n```json\n{reply(facts='The gate closes at six.')}\n```\nDone.",
        f"```\n{reply()}\n```\n```\n{reply(facts='The gate closes at six.')}\n```",
        f"{reply()}{reply(facts='The gate closes at six.')}",
        json.dumps({"result": {"facts": [{"statement": "The gate closes at six."}]}}),
        reply(facts="The gate closes at six.")[:-2],
        json.dumps({"facts": "The gate closes at six."}),
        json.dumps({"facts": ["The gate closes at six."]}),
        json.dumps({"facts": {"statement": "The gate closes at six."}}),
        json.dumps(
            {"facts": [None, {"statement": "The gate closes at six.", "detail": None}], "files": None}
        ),
        json.dumps({"facts": [{"statement": "The gate closes at six.", "source": "y", "n": 7}]}),
        json.dumps({"facts": [{"detail": "The gate closes at six."}]}),
        json.dumps({"facts": [{"statement": "The gate\ncloses\tat\u2028six."}]}),
        json.dumps({"facts": [{"statement": "## The gate closes at six."}]}),
        json.dumps({"facts": [{"statement": "- [x] The gate closes at six."}]}),
        json.dumps({"facts": [{"statement": "1. The gate closes at six."}]}),
        '{"facts": [], "facts": [{"statement": "The gate closes at six."}]}',
        '{"facts": [{"statement": "The gate closes at six."},], "decisions": []}',
    ],
)
def test_harmless_deviations_are_corrected(text: str) -> None:
    assert read_reply(text).items == GOOD


@each_case(
    ("row", "wanted"),
    [
        (
            {"name": "**Restart**:", "steps": "1. stop\n2. wait ->\n3. start"},
            "**Restart**: stop -> wait -> start",
        ),
        ({"name": "Tests", "steps": "```sh\nmake\nmake test\n```"}, "**Tests**: make -> make test"),
        ("Restart: stop it -> start it", "**Restart**: stop it -> start it"),
    ],
)
def test_steps_on_several_lines_are_joined(row: object, wanted: str) -> None:
    assert read_reply(json.dumps({"playbooks": [row]})).items == (Item("playbooks", wanted),)


def test_an_issue_number_is_not_a_heading() -> None:
    assert read_reply(fact("#512 waits for a review.")).items[0].text == "(#512) waits for a review."


def test_an_item_that_is_too_long_is_held() -> None:
    (item,) = read_reply(fact("x" * 635)).items
    assert item.text == "x" * 635 and item.why == "is longer than 600 characters"


@each_case(
    ("text", "why"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("<think>hm</think>", "empty"),
        ("Nothing much happened.", "not a JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('"facts"', "not a JSON object"),
        ("7", "not a JSON object"),
        ("{}", "not a JSON object with the categories"),
        (json.dumps({"Facts": []}), "not a JSON object with the categories"),
        ("[" * 100_000 + "]" * 100_000, "not a JSON"),
        ('{"facts":' * 40_000, "nested too deeply"),
        ("9" * 100_000, "not a JSON"),
        ('{"facts": [{"statement": "a", "statement": "b"}]}', "not an object"),
        (json.dumps({"facts": 7}), "not an object"),
        (json.dumps({"facts": [[]]}), "not an object"),
        (fact(7), "not text"),
        (fact(["x"]), "not text"),
        (fact("x", detail=1.5), "not text"),
        ('{"facts": [{"statement": NaN}]}', "not text"),
        (fact(None), "is empty"),
        (json.dumps({"facts": [{}]}), "is empty"),
        (json.dumps({"playbooks": [{"name": "x"}]}), "steps is empty"),
        (json.dumps({"playbooks": [{"statement": "x"}]}), "name is empty"),
        (json.dumps({"files": [{"note": "x"}]}), "path is empty"),
        (json.dumps({"files": ["x"]}), "note is empty"),
        (fact("  "), "is empty"),
        (fact("x" * 2_401), "more than 2400"),
        (json.dumps({"playbooks": [{"name": "x" * (NAME_CHARACTERS + 1), "steps": "y"}]}), "more than 80"),
        (json.dumps({"files": [{"path": "x" * (PATH_CHARACTERS + 1), "note": "y"}]}), "more than 300"),
        (fact("one\x00two"), "control character"),
        (fact("one\x1b]52;c;x\x07"), "control character"),
        (fact("left \u202egnp.exe"), "control character"),
        (fact("hidden \u200bword"), "control character"),
        (fact("tag \U000e0041"), "control character"),
        ('{"facts": [{"statement": "half \\ud800"}]}', "control character"),
        (json.dumps({"files": [{"path": "a\nb", "note": "x"}]}), "line break"),
        (fact("```sh"), "fence"),
        (fact("--- a"), "fence"),
        (fact("It is so. [from: 2026-01-01-x, 2026-01-01]"), "marker"),
        (fact("x", detail="[from: a, b]"), "marker"),
        (fact("one [from:\na, b]"), "marker"),
        (fact("a {/knowledge} b"), "marker"),
        (fact("a { / rag-context } b"), "marker"),
        (fact("a <!-- b"), "marker"),
        (fact("a </conversation> b"), "marker"),
        (json.dumps({"playbooks": [{"name": "x", "steps": "[from: a, b]"}]}), "marker"),
    ],
)
def test_an_unusable_reply_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadReply, match=why) as caught:
        read_reply(text)
    assert len(str(caught.value)) < 250 and str(caught.value).isprintable()


def test_a_bad_item_is_reported_and_the_others_are_kept() -> None:
    found = read_reply(reply(facts="Fine.", decisions=("Fine.", "<!-- x -->", "Good.")))
    assert found.items == (Item("facts", "Fine."), Item("decisions", "Fine."), Item("decisions", "Good."))
    assert found.refused == (
        "decisions 2: statement contains a marker of memory or of a prompt: “<!-- x -->”",
    )


def test_an_unknown_category_is_reported() -> None:
    found = read_reply(json.dumps({**EMPTY, "facts": ["Fine."], "lessons": ["x"], "notes": []}))
    assert found == Reply((Item("facts", "Fine."),), ("unknown category “lessons”",))


def test_categories_after_a_damaged_one_are_kept() -> None:
    text = (
        '{"facts": [{"statement": "One."}, {"statement": "a "b" c"}], "decisions": [{"statement": "Two."}]}'
    )
    found = read_reply(text)
    assert found.items == (Item("facts", "One."), Item("decisions", "Two."))
    (line,) = found.refused
    assert line.startswith("“facts” is not valid JSON at")


def test_items_beyond_the_maximum_are_counted() -> None:
    found = read_reply(reply(facts=tuple(f"n{n}." for n in range(MAX_ITEMS + 3))))
    assert len(found.items) == MAX_ITEMS and found.refused == ("facts: 3 items beyond the first 50",)


def test_the_complete_items_of_a_truncated_reply_are_kept() -> None:
    text = reply(facts=("One.", "Two."), decisions=("Three.",))
    whole = read_reply(text).items
    for end in range(len(text)):
        try:
            found = read_reply(text[:end], cut=True)
        except BadReply:
            assert '"facts": [' not in text[:end]
        else:
            assert found.items == whole[: len(found.items)] and not found.refused


def test_a_secret_is_not_quoted() -> None:
    key = "sk-ant-api03-" + "aZ3" * 20
    found = read_reply(reply(facts=("Fine.", f"{key} <!-- x")))
    assert key not in repr(found) and key[:20] not in repr(found)


def test_a_reply_of_seventeen_megabytes_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda *_a, **_k: pytest.fail("was parsed"))
    with pytest.raises(BadReply, match="17,000,000"):
        read_reply("[" * 17_000_000)


def test_a_reply_of_only_fences_is_processed_quickly() -> None:
    text = "```a\n" * (REPLY_CHARACTERS // 5 - 1)
    assert fenced_blocks(text) == []
    with pytest.raises(BadReply):
        read_reply(text)


@each_case("piece", ['"facts":["', '"facts":[{"a":', '"facts":[', '"facts":["\\', '{"facts":[{"a":1,'])
def test_a_badly_damaged_reply_is_abandoned_early(piece: str) -> None:
    try:
        found = read_reply(piece * (REPLY_CHARACTERS // len(piece)))
    except BadReply:
        return
    assert len(found.items) <= 1 and found.refused[-1] == "the rest of the reply was ignored"


@given(st.text(max_size=700))
def test_every_accepted_item_is_one_plain_line(text: str) -> None:
    try:
        (item,) = read_reply(fact(text)).items
    except BadReply:
        return
    assert item.text.splitlines() == [item.text]
    assert {*item.text} <= {*text, " ", "(", ")"}
    assert item.text.encode("utf-8") and not any(map(is_control, item.text))
    assert "[from:" not in item.text and len(item.text) <= ITEM_CHARACTERS


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(CATEGORIES), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(
    st.text() | json_values.map(json.dumps) | st.text(max_size=90).map(lambda text: reply(facts=("A.", text)))
)
def test_any_reply_is_parsed_or_refused(text: str) -> None:
    try:
        found = read_reply(text)
    except BadReply as error:
        assert not any(map(is_control, str(error))) and len(str(error)) < 250
        return
    assert all(len(line) < 250 and not any(map(is_control, line)) for line in found.refused)
    assert not any(is_control(char) for item in found.items for char in item.path + item.text)
