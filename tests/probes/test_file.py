"""Reading ``probes.yaml``, including files edited by hand; one broken entry does not lose the others."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engine.probes.file import MAX_BYTES, id_of, parse, read
from engine.probes.model import Expectation, Probe
from engine.store.files import Files
from tests.cases import each_case

WHOLE = b"""# what memory must know
- id: broker
  question: Which port does the broker use?
  expect:
    - path: knowledge/reference/hosts.md
      lines: 5-6
    - text: port 8883
  budget: 4_096
  note: for the night shift
- question: What does Odile want?   # by hand, no id
  expect:
    text: raw curves
"""


def problems(data: bytes) -> list[str]:
    return [str(problem) for problem in parse(data).problems]


def test_an_entry_has_a_question_and_expectations() -> None:
    found = parse(WHOLE)
    assert found.problems == ()
    assert found.probes == (
        Probe(
            "broker",
            "Which port does the broker use?",
            (Expectation("knowledge/reference/hosts.md", "5-6"), Expectation(text="port 8883")),
            4096,
            "for the night shift",
        ),
        Probe(id_of("What does Odile want?"), "What does Odile want?", (Expectation(text="raw curves"),)),
    )
    assert [probe.line for probe in found.probes] == [2, 10]


def test_without_a_file_there_are_no_probes(files: Files) -> None:
    assert read(files).probes == () and read(files).problems == ()


@each_case("data", [b"", b"# nothing yet\n", b"[]\n", b"---\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_valid(data: bytes) -> None:
    assert parse(data).probes == () and parse(data).problems == ()


@each_case("data", [b"\xef\xbb\xbf" + WHOLE, WHOLE.replace(b"\n", b"\r\n"), b"---\n" + WHOLE])
def test_byte_order_marks_and_line_ends_do_not_matter(data: bytes) -> None:
    assert parse(data).probes == parse(WHOLE).probes and parse(data).problems == ()


def test_an_id_depends_only_on_the_words() -> None:
    assert id_of("What does  Odile want?\n") == id_of("what does odile want?")
    first = id_of("a")
    longer = id_of("a", frozenset({first}))
    assert len(first) == 6 and longer.startswith(first) and len(longer) == 7


@each_case(
    ("entry", "message"),
    [
        ("- expect: {text: x}", "3: has no question; add question: …"),
        ("- question: q", "3: expects nothing; add expect: with “- path: …” or “- text: …”"),
        ("- question: q\n  expect: []", "4: expects nothing"),
        ("- question: q\n  expect: [{}]", "4: expects neither a path nor a text; write"),
        ("- question: q\n  expect: [{path: a.md, text: x}]", "4: expects both a path and a text; write"),
        ("- question: q\n  expect: [{text: x, lines: 3}]", "4: expects lines without a path; add the path"),
        (
            "- question: q\n  expect:\n    - text: x\n    - {path: a.md, lines: 9-3}",
            "6: lines: 9-3 is not a range of lines",
        ),
        ("- question: q\n  expect: [{path: ../a.md}]", "4: path: ../a.md contains '..'; give the file"),
        ("- question: q\n  expect: [{path: /etc/passwd}]", "4: path: /etc/passwd is an absolute path"),
        ("- question: q\n  expect: [a.md]", "4: expects neither a path nor a text"),
        ("- question: q\n  expect: [{path: [a]}]", "4: has a list or mapping instead of a text"),
        (
            "- question: q\n  budget: much\n  expect: [{text: x}]",
            "4: budget: much is not a valid budget; use a number",
        ),
        ("- question: q\n  budget: 12\n  expect: [{text: x}]", "4: budget: 12 is not a valid budget"),
        ("- question: q\n  id: a b\n  expect: [{text: x}]", "4: has an invalid id; use letters"),
        ("- id: one\n  question: q\n  expect: [{text: x}]", "3: has the same id one as line 1; change one"),
        ("- just a text", "3: is not a probe; start each probe with “- question: …”"),
        ("- question: q\n  expect: [{text: &a x}]", "4: uses a YAML anchor (&name); put the text in quotes"),
        ("- question: 'q\n  expect: [{text: x}]", "is not valid YAML"),
        ("- question: q\n\texpect: x", "is not valid YAML"),
    ],
)
def test_a_broken_entry_is_reported_and_the_others_are_kept(entry: str, message: str) -> None:
    around = (
        "- {id: one, question: a, expect: {text: x}}\n\n%s\n- {id: two, question: z, expect: {text: y}}\n"
    )
    found = parse((around % entry).encode())
    assert [probe.id for probe in found.probes] == ["one", "two"]
    assert any(message in str(problem) for problem in found.problems), found.problems
    assert all(problem.path == "probes.yaml" and problem.line >= 3 for problem in found.problems)
    assert len(found.broken) == 1


def test_an_unknown_field_is_reported_and_the_entry_still_runs() -> None:
    found = parse(b"- question: q\n  expects: x\n  expect: [{text: x, pth: y}]\n")
    assert [probe.question for probe in found.probes] == ["q"]
    assert [str(problem) for problem in found.problems] == [
        "probes.yaml:2: unknown field expects; did you mean expect?",
        "probes.yaml:3: unknown field pth; did you mean path?",
    ]
    assert found.broken == ()


def test_yaml_scalars_are_read_as_text() -> None:
    (probe,) = parse(b"- {id: 0123, question: no, expect: [{text: 12:30:45}]}\n").probes
    assert (probe.id, probe.question, probe.expect[0].text) == ("0123", "no", "12:30:45")


@each_case(
    ("data", "message"),
    [
        (b"question: q\n", "probes.yaml:1: is not a list of probes; start each probe"),
        (b"- a\n\xff\n", "probes.yaml:2: is not UTF-8 text; save it as UTF-8"),
        (b"- " * 30 + b"a\n", "is nested deeper than 20 levels"),
        (b"# " + b"x" * MAX_BYTES + b"\n", "larger than 512 KB"),
    ],
)
def test_an_invalid_file_is_reported(data: bytes, message: str) -> None:
    assert parse(data).probes == ()
    assert any(message in problem for problem in problems(data)), problems(data)


def test_a_yaml_bomb_is_refused_at_once() -> None:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    start = time.thread_time()
    assert parse("\n".join(lines).encode()).probes == ()
    assert time.thread_time() - start < 3


def test_a_thousand_probes_are_read_quickly() -> None:
    entry = "- question: What is number {n}?\n  expect:\n    - path: knowledge/facts.md\n      lines: {n}\n"
    data = "".join(entry.format(n=number + 1) for number in range(1000)).encode()
    start = time.thread_time()
    found = parse(data)
    assert time.thread_time() - start < 3
    assert len(found.probes) == 1000 and not found.problems


def test_a_folder_instead_of_the_file_is_refused(root: Path, files: Files) -> None:
    (root / "probes.yaml").mkdir()
    from engine.errors import AutopoiesisError

    with pytest.raises(AutopoiesisError, match=r"probes\.yaml"):
        read(files)
