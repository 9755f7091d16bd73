"""Adding and removing a probe preserves every other byte of the file, even if a step fails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.engine import Engine
from engine.errors import AutopoiesisError, DocumentError, WriteFailed
from engine.probes.file import entry_of, parse, with_entry, without_entry
from engine.probes.model import Expectation, Probe
from engine.store.faults import VARIABLE, fail, trip
from engine.store.files import Files
from tests.cases import each_case

BY_HAND = b"""# what memory must know
-   id: broker         # the night shift asks
    question: "Which port?"
    expect: [{path: knowledge/reference/hosts.md, lines: 5-6}]

# people
-   question: What does Odile want?
    expect:
    - text: 'raw curves'
# the end
"""
NEW = Probe(
    "abc123", "What is new?", (Expectation("knowledge/a.md", "3"), Expectation(text="x: #1")), 512, "n"
)
STEPS = ("temp:create", "temp:write", "temp:fsync", "replace:rename", "replace:folder-fsync")


def test_an_entry_is_appended_and_nothing_else_changes() -> None:
    data = with_entry(BY_HAND, entry_of(NEW))
    assert data.decode() == BY_HAND.decode().replace(
        "# the end\n",
        "- id: abc123\n"
        "  question: What is new?\n"
        "  expect:\n"
        "    - path: knowledge/a.md\n"
        '      lines: "3"\n'
        "    - text: 'x: #1'\n"
        "  budget: 512\n"
        "  note: n\n"
        "# the end\n",
    )
    assert parse(data).probes[2] == NEW


def test_removing_an_entry_keeps_comments() -> None:
    broker, odile = parse(BY_HAND).probes
    data = without_entry(BY_HAND, odile)
    assert data.decode() == BY_HAND.decode().replace(
        "-   question: What does Odile want?\n    expect:\n    - text: 'raw curves'\n", ""
    )
    assert b"-   id: broker         # the night shift asks" in data
    rest = without_entry(data, broker)
    assert rest == b"# what memory must know\n\n# people\n# the end\n"
    assert parse(with_entry(rest, entry_of(NEW))).probes == (NEW,)


@each_case(
    "data",
    [
        b"",
        b"# only a remark",
        b"[]\n",
        b"[ ]",
        b"[{question: q, expect: {text: x}}]  # flow\n",
        b"- {question: q, expect: {text: x}}",
        b"  - question: q\n    expect: {text: x}\n",
        b"---\n- question: q\n  expect: {text: x}\n...\n",
        b"\xef\xbb\xbf- question: q\r\n  expect: {text: x}\r\n",
        b"- question: |\n    q\n\n  expect: {text: x}\n\n\n# end\n",
    ],
)
def test_an_entry_can_be_added_and_removed_in_any_yaml_style(data: bytes) -> None:
    before = parse(data)
    added = with_entry(data, entry_of(NEW))
    after = parse(added)
    assert after.probes == (*before.probes, NEW) and after.problems == before.problems
    assert added.startswith(data[: data.rfind(b"}") + 1])
    assert without_entry(added, after.probes[-1]).strip() == data.strip()
    if b"\r\n" in data:
        assert added.count(b"\n") == added.count(b"\r\n")


def test_a_file_in_flow_style_keeps_it() -> None:
    data = b"[{id: a, question: q, expect: {text: x}}, {id: b, question: r, expect: {text: y}}]\n"
    added = with_entry(data, entry_of(NEW))
    assert [probe.id for probe in parse(added).probes] == ["a", "b", "abc123"]
    for probe in parse(added).probes:
        kept = parse(without_entry(added, probe)).probes
        assert [each.id for each in kept] == [each for each in ("a", "b", "abc123") if each != probe.id]


@each_case(
    ("data", "message"),
    [
        (b"- question: 'q\n", "is not valid YAML"),
        (b"question: q\n", "is not a list of probes; edit the file by hand"),
        (b"\xff\n", "is not UTF-8 text; save it as UTF-8"),
        (b"- &a x\n- *a\n", "uses a YAML anchor"),
    ],
)
def test_a_file_that_cannot_be_read_is_not_edited(data: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=r"probes\.yaml") as caught:
        with_entry(data, entry_of(NEW))
    assert message in str(caught.value)
    with pytest.raises(DocumentError):
        without_entry(data, NEW)


def test_an_entry_that_moved_in_the_meantime_is_not_removed() -> None:
    _, odile = parse(BY_HAND).probes
    moved = b"# one more line\n" + BY_HAND
    with pytest.raises(DocumentError, match=r"probes\.yaml:7: the probe no longer exists; try again"):
        without_entry(moved, odile)


line = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
words = line.filter(lambda text: bool(text.strip()) and "\0" not in text)
name = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
paths = st.from_regex(r"[a-z][a-z0-9 #:'-]{0,8}(/[a-z][a-z0-9]{0,8}){0,2}\.md", fullmatch=True)
spans = st.tuples(st.integers(1, 99), st.integers(0, 99)).map(lambda pair: f"{pair[0]}-{pair[0] + pair[1]}")
expectations = st.one_of(
    st.builds(Expectation, paths, st.one_of(st.just(""), spans, st.integers(1, 99).map(str))),
    st.builds(lambda text: Expectation(text=text.strip()), words),
)


@st.composite
def suites(draw: st.DrawFn) -> list[Probe]:
    ids = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    return [
        Probe(
            each,
            draw(words).strip(),
            tuple(draw(st.lists(expectations, min_size=1, max_size=3))),
            draw(st.one_of(st.none(), st.integers(256, 100_000))),
            draw(line).strip(),
        )
        for each in ids
    ]


@given(suites(), st.sampled_from([b"", BY_HAND, b"[]\n"]), st.randoms())
def test_probes_survive_a_round_trip_and_removing_them_restores_the_file(
    suite: list[Probe], data: bytes, random: object
) -> None:
    known = parse(data).probes
    suite = [probe for probe in suite if probe.id not in {each.id for each in known}]
    states = [data]
    for probe in suite:
        states.append(with_entry(states[-1], entry_of(probe)))
        assert parse(states[-1]).problems == ()
    found = parse(states[-1]).probes
    assert found == (*known, *suite)
    if data != b"[]\n":
        for state, probe in zip(reversed(states[:-1]), reversed(found), strict=False):
            states[-1] = without_entry(states[-1], probe)
            assert states[-1] == state


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("step", STEPS)
def test_a_failed_add_leaves_the_old_file_or_the_new(
    engine: Engine, root: Path, step: str, code: int
) -> None:
    place = root / "probes.yaml"
    place.write_bytes(BY_HAND)
    with trip(step, fail(code)), pytest.raises(WriteFailed) as caught:
        engine.probes.add("What is new?", [Expectation(text="port 8883")])
    assert os.strerror(code) in str(caught.value)
    ids = [probe.id for probe in parse(place.read_bytes()).probes]
    assert place.read_bytes() == BY_HAND or len(ids) == 3
    assert not list(root.glob(".tmp-*"))
    if len(ids) == 3:
        with pytest.raises(AutopoiesisError, match="already has this question"):
            engine.probes.add("What is new?", [Expectation(text="port 8883")])
    else:
        engine.probes.add("What is new?", [Expectation(text="port 8883")])
    assert len(engine.probes.read().probes) == 3


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_process_leaves_the_old_file_or_the_new_one(root: Path, files: Files, step: str) -> None:
    place = root / "probes.yaml"
    place.write_bytes(BY_HAND)
    child = subprocess.run(
        [
            *(sys.executable, "-m", "tui.cli", "-C", str(root), "probe", "add", "What is new?"),
            *("--expect", "port 8883"),
        ],
        env={**os.environ, VARIABLE: f"{step}:kill"},
        capture_output=True,
        check=False,
    )
    assert child.returncode == -9, child.stderr
    found = parse(place.read_bytes())
    assert not found.problems and len(found.probes) in (2, 3)
    if len(found.probes) == 2:
        assert place.read_bytes() == BY_HAND
