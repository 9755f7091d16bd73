"""A topic's file becomes a ``Topic``; problems are reported with line and hint."""

from __future__ import annotations

import hashlib

from engine.errors import Problem
from engine.store import documents
from engine.topics.loader import load_topic
from engine.topics.model import Topic
from tests.cases import each_case

WHOLE = """\
---
type: topic
updated: 2026-02-16
owner: ada
description: What to do with
  mail
triggers:
  - type: pattern
    match: "email|inbox"
  - type: webhook
    source: email
    event: new_message
subscriptions:
  - knowledge/people/ada.md
activation: auto   # no gate
priority: High
max_context_kb: 4.5
similarity_threshold: .2
examples: [any new mail?, sort my inbox, any new mail?]
---

# Email triage

A word before.

## Instructions

When mail arrives. Sort it.

### Urgent

Call.

## Context Notes

- Tone: short
"""


def load(text: str | bytes, path: str = "topics/mail.md") -> tuple[Topic, list[Problem]]:
    raw = text if isinstance(text, bytes) else text.encode()
    topic, problems = load_topic(documents.parse(raw, path))
    assert topic is not None, problems
    return topic, list(problems)


def header(fields: str, body: str = "# T\n\nDo it.\n") -> str:
    return f"---\ntype: topic\ntriggers:\n  - type: pattern\n    match: x\n{fields}---\n{body}"


def only(problems: list[Problem]) -> Problem:
    assert len(problems) == 1, problems
    return problems[0]


def test_every_field_is_loaded_with_its_type() -> None:
    topic, problems = load(WHOLE, "topics/office/email-triage.md")
    assert problems == []
    assert topic.name == "email-triage"
    assert topic.path == "topics/office/email-triage.md"
    assert topic.title == "Email triage"
    assert topic.description == "What to do with mail"
    assert topic.instructions == "When mail arrives. Sort it.\n\n### Urgent\n\nCall."
    assert topic.context_notes == "- Tone: short"
    assert [trigger.type for trigger in topic.triggers] == ["pattern", "webhook"]
    assert [trigger.line for trigger in topic.triggers] == [8, 10]
    assert topic.subscriptions == ("knowledge/people/ada.md",)
    assert (topic.activation, topic.priority) == ("auto", "high")
    assert (topic.max_context_kb, topic.similarity_threshold) == (4.5, 0.2)
    assert topic.examples == ("any new mail?", "sort my inbox")
    assert topic.forced is None
    assert topic.digest == hashlib.sha256(WHOLE.encode()).hexdigest()


def test_missing_fields_have_defaults() -> None:
    topic, problems = load("---\ntype: topic\ntriggers: [{type: url}]\n---\nDo it.\n")
    assert problems == []
    assert (topic.activation, topic.priority) == ("gated", "medium")
    assert (topic.max_context_kb, topic.similarity_threshold) == (None, None)
    assert (topic.title, topic.subscriptions, topic.examples) == ("mail", (), ())


def test_without_an_instructions_heading_the_body_is_the_instructions() -> None:
    topic, _ = load(
        header("", "# Deploy\n\nCheck twice. Then go.\n\n## Steps\n\n1. Go\n\n## Context Notes\n\nBe calm.\n")
    )
    assert topic.instructions == "Check twice. Then go.\n\n## Steps\n\n1. Go"
    assert topic.context_notes == "Be calm."
    assert topic.description == "Check twice."


def test_the_description_is_one_line_without_list_marks() -> None:
    topic, _ = load(header("", "# T\n\n## Instructions\n\n- When it rains:\n- stay in\n"))
    assert topic.description == "When it rains"


def test_a_heading_in_a_code_block_is_not_a_section() -> None:
    topic, _ = load(header("", "# T\n\n## Instructions\n\n```sh\n## Context Notes\n```\n\nGo on.\n"))
    assert topic.instructions.endswith("Go on.")
    assert topic.context_notes == ""


def test_a_section_that_never_enters_the_prompt_is_reported() -> None:
    _, problems = load(header("", "# T\n\n## Instructions\n\nA\n\n## Appendix\n\nLost.\n"))
    problem = only(problems)
    assert (problem.line, problem.severity) == (13, "warning")
    assert "Appendix" in problem.what


def test_windows_line_endings_and_byte_order_mark_are_accepted() -> None:
    raw = b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode()
    topic, problems = load(raw)
    plain, _ = load(WHOLE)
    assert problems == []
    assert (topic.triggers, topic.instructions) == (plain.triggers, plain.instructions)


@each_case(
    ("field", "what", "hint"),
    [
        ("priority: hgh", "priority 'hgh' is unknown, using medium", "did you mean high?"),
        ("priority: urgent", "priority 'urgent' is unknown", "did you mean critical?"),
        ("priority: [high]", "priority a list is unknown", "write one of low, medium, high, critical"),
        ("activation: automatic", "activation 'automatic' is unknown, using gated", "did you mean auto?"),
        ("max_context_kb: lots", "max_context_kb must be a number", "write max_context_kb: 4"),
        ("max_context_kb: -1", "max_context_kb must be a number", "write max_context_kb: 4"),
        ("similarity_threshold: 0,2", "must be a number from 0 to 1", "write similarity_threshold: 0.2"),
        ("similarity_threshold: 20", "must be a number from 0 to 1", "write similarity_threshold: 0.2"),
        ("similarity_threshold: nan", "must be a number from 0 to 1", "write similarity_threshold: 0.2"),
        ("examples: {a: b}", "examples must be a list of strings", "write examples: [one, two]"),
    ],
)
def test_an_invalid_value_falls_back_to_its_default(field: str, what: str, hint: str) -> None:
    topic, problems = load(header(f"{field}\n"))
    problem = only(problems)
    assert what in problem.what
    assert problem.hint == hint
    assert (problem.path, problem.line, problem.severity) == ("topics/mail.md", 6, "error")
    assert len(topic.triggers) == 1
    assert (topic.activation, topic.priority, topic.similarity_threshold) == ("gated", "medium", None)


def test_a_misspelt_key_gets_a_suggestion_and_custom_keys_are_ignored() -> None:
    _, problems = load(header("subscription: [a.md]\nowner: ada\nmood board: 7\n"))
    problem = only(problems)
    assert (problem.line, problem.hint, problem.severity) == (6, "did you mean subscriptions?", "warning")


def test_settings_among_the_triggers_apply_to_the_topic() -> None:
    topic, problems = load(
        "---\ntype: topic\ntriggers:\n  - type: url\n    activation: auto\n"
        "  - similarity_threshold: 0.3\n---\nGo.\n"
    )
    assert problems == []
    assert (topic.activation, topic.similarity_threshold, len(topic.triggers)) == ("auto", 0.3, 1)


def test_a_top_level_setting_wins_over_one_among_the_triggers() -> None:
    topic, problems = load(
        "---\ntype: topic\nactivation: manual\ntriggers:\n  - type: url\n  - activation: auto\n---\nGo.\n"
    )
    assert topic.activation == "manual"
    assert (only(problems).line, only(problems).severity) == (6, "warning")


def test_settings_indented_like_triggers_are_read_despite_invalid_yaml() -> None:
    text = (
        "---\ntype: topic\ntriggers:\n  # words\n  - type: pattern\n    match: 'mail'\n\n"
        "  similarity_threshold: 0.2   # default .15\n  activation: auto\n---\n# Mail\n\nSort it.\n"
    )
    topic, problems = load(text)
    assert (topic.similarity_threshold, topic.activation) == (0.2, "auto")
    assert (topic.title, topic.instructions) == ("Mail", "Sort it.")
    assert [(problem.line, problem.severity) for problem in problems] == [(8, "warning"), (9, "warning")]
    assert all("remove the indentation" in problem.hint for problem in problems)
    assert topic.digest == hashlib.sha256(text.encode()).hexdigest()


@each_case(
    ("text", "line", "what"),
    [
        ("just text\n", 1, "has no header"),
        ("", 1, "is empty"),
        ("---\ntype: person\nname: Ada\n---\n", 2, "type is 'person', not topic"),
        ("---\ndescription: x\n---\n", 2, "has no type"),
        ("---\ntype: topic\n  triggers: [\n---\n", 3, "the header cannot be read"),
        ("---\ntype: topic\ntype: topic\n---\n", 3, "repeats the key"),
        ("---\ntype: topic\nx: &a [1]\n---\n", 3, "anchor"),
        ("---\ntype: topic\nno end\n", 1, "closed"),
    ],
)
def test_a_file_that_is_not_a_topic_is_reported_with_the_reason(text: str, line: int, what: str) -> None:
    topic, problems = load_topic(documents.parse(text.encode(), "topics/x.md"))
    assert topic is None
    assert what in problems[0].what
    assert problems[0].line == line
    assert problems[0].hint
    assert problems[0].severity == "error"


def test_an_expression_in_double_quotes_invalid_in_yaml_gets_a_helpful_hint() -> None:
    text = '---\ntype: topic\ntriggers:\n  - type: pattern\n    match: "\\d+"\n---\n'
    topic, problems = load_topic(documents.parse(text.encode(), "topics/x.md"))
    assert topic is None
    assert problems[0].line == 5
    assert "single quotes" in problems[0].hint


def test_a_header_without_type_but_with_triggers_is_accepted_as_a_topic() -> None:
    topic, problems = load("---\ntriggers: [{type: url}]\n---\nGo.\n")
    assert topic.triggers[0].type == "url"
    assert only(problems).severity == "warning"


def test_missing_triggers_and_missing_instructions_are_warnings() -> None:
    _, problems = load("---\ntype: topic\n---\n")
    assert [problem.severity for problem in problems] == ["warning", "warning"]
    assert {problem.what.split(" ")[2] for problem in problems} == {"working", "instructions"}
    _, problems = load("---\ntype: topic\nexamples: [hello]\n---\nGo.\n")
    assert problems == []
    _, problems = load("---\ntype: topic\nactivation: manual\n---\nGo.\n")
    assert problems == []


def test_text_that_is_not_utf_8_is_decoded_and_reported() -> None:
    topic, problems = load(b"---\ntype: topic\ntriggers: [{type: url}]\n---\nGo \xff.\n")
    assert topic.instructions == "Go \ufffd."
    assert (only(problems).line, only(problems).severity) == (5, "warning")
