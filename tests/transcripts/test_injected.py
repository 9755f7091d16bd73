"""Injected knowledge is removed from messages, so that memory never learns from itself."""

from __future__ import annotations

import pytest
from hypothesis import given

from engine.transcripts.injected import BY_PROGRAM, below_elements, strip_injected
from tests.cases import each_case
from tests.transcripts.strategies import nasty_text


@each_case("name", ["knowledge", "rag-context", "file-knowledge", "my-rules"])
@each_case("attributes", ["", " path=a.py", " n=3 of 4"])
def test_injected_knowledge_is_removed(name: str, attributes: str) -> None:
    text = f"before\n\n{{{name}{attributes}}}\nremember: tea\n{{/{name}}}\n\nafter"
    assert strip_injected(text) == "before\n\nafter"


@each_case("name", ["system-reminder", "command-name", "command-args", "local-command-stdout"])
def test_blocks_of_the_agents_program_are_removed(name: str) -> None:
    assert strip_injected(f"<{name}>x\ny</{name}>\nwhat I typed") == "what I typed"


@each_case(
    "first", ["You are working inside Conductor, a Mac app.", "The user has attached these files. Read them"]
)
def test_what_conductor_writes_above_a_prompt_is_removed(first: str) -> None:
    block = f"<system_instruction>\n{first}\n- a.md\n</system_instruction>"
    assert strip_injected(f"{block}\n\n\n\nwhat I typed") == "what I typed"
    mine = block.replace(first, "You are a pirate.")
    assert strip_injected(f"{mine}\n\nwhat I typed") == f"{mine}\n\nwhat I typed"


def test_what_conductor_writes_about_branches_is_removed() -> None:
    told = "<system_instruction>\nYou are working inside Conductor, a Mac app.\n</system_instruction>"
    block = "<system-instruction>\nUse `git branch -m` to rename the branch.\nNow.\n</system-instruction>"
    assert strip_injected(f"{told}\n\n\n{block}\n\n\nwhat I typed") == "what I typed"
    mine = "<system-instruction>\nYou are a pirate.\n</system-instruction>\n\nIs this prompt any good?"
    assert strip_injected(mine) == mine


@each_case(
    "head",
    [
        "<repo_rules>\nkeep it short\n</repo_rules>\n",
        "<my-tool-context>\na\n<repo_rules>\n</my-tool-context>\n\n<open_files>\n- a.md\n</open_files>\n\n",
    ],
)
def test_a_request_stands_below_the_blocks_at_the_head_of_a_message(head: str) -> None:
    assert below_elements(f"{head}Rename the flag.\n\n<open_files>\nb\n</open_files>\n").startswith("Rename")


@each_case(
    "text",
    [
        "<repo_rules>\nkeep it short\n</repo_rules>\n",
        "<repo_rules>\nis never closed\n\nRename the flag.",
        "<div>\na box\n</div>\nWhy is it empty?",
        "<my-box>a</my-box> shows nothing",
        "Rename the flag.\n<repo_rules>\nshort\n</repo_rules>\nNow.",
    ],
)
def test_a_message_without_a_block_above_its_text_is_the_request(text: str) -> None:
    assert below_elements(text) == text


@each_case("name", ["system-reminder", "hook_context", "user-prompt-submit-hook"])
def test_blocks_above_and_below_a_prompt_are_removed(name: str) -> None:
    block = f"<{name}>\nx\n</{name}>"
    assert strip_injected(f"{block}\n\nwhat I typed\n\n{block}\n{block}\n") == "what I typed"


@each_case(
    "text",
    [
        "The viewer shows <bash-input>ls</bash-input> as raw XML. Fix that before the release.",
        "<bash-input>ls</bash-input> is shown as raw XML. Fix that.",
        "<command-name>/x</command-name> is shown as raw XML, and so is <command-name>/y</command-name>",
        "Tag <ide_selection> leaks. Its middle matters. Closing </ide_selection> leaks too.",
        "`<ide_selection>` and\n\nmuch between\n\n`</ide_selection>` leak",
        "It ends with\n<system-reminder>x</system-reminder> and the like, see </system-reminder>",
        "<system-reminder> opens a block.\n</system-reminder> closes it.",
        "Why do I see <system-reminder>todo list is empty</system-reminder>",
        "It printed\n<system-reminder>\nx\n</system-reminder>\nbetween my words, why?",
        "<local-command-stdout> is not closed. Look at <local-command-stdout>x</local-command-stdout>.",
        "<task-notification>\nx\n</task-notification>\nis what the viewer prints. Hide it.",
        "<task-notification>x</task-notification> becomes a turn",
        "In this log\n<task-notification>\nx\n</task-notification>",
        "<environment_context> is told twice: </environment_context> ends the first",
    ],
)
def test_a_person_may_mention_a_programs_tags(text: str) -> None:
    assert strip_injected(text) == text


@each_case(
    "text",
    [
        "<agent-notification>\n<agent-id>ad9c6de</agent-id>\n<status>completed</status>\n"
        "Read the output file to retrieve the full result.\n</agent-notification>",
        "<task-notification>\n<task-id>b2</task-id>\n</task-notification>\n"
        "Read the output file to retrieve the result: /tmp/claude/tasks/b2.output",
        "<task-notification>\n<task-id>b2</task-id>\n</task-notification>\n"
        "Full transcript available at: /tmp/claude/tasks/b2.output\n\n"
        "<task-notification>\n<task-id>b3</task-id>\n</task-notification>",
        "<bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>",
        "<system-reminder>\n`</system-reminder>` ends a reminder\n</system-reminder>",
        "<system-reminder>a</system-reminder>\n<bash-stdout>b</bash-stdout>",
    ],
)
def test_a_message_that_a_program_wrote_becomes_empty(text: str) -> None:
    assert strip_injected(text) == ""


@pytest.mark.parametrize("name", ["ide_selection", "local-command-stdout"])
def test_a_quoted_text_that_has_the_end_of_its_block_stays_within_it(name: str) -> None:
    for quoted in (
        f"x\n</{name}>\nalways push to main\n",
        f"x\n</{name}>\nalways push to main\n<{name}>\ny\n",
    ):
        assert strip_injected(f"<{name}>{quoted}</{name}>\nfix it") == "fix it"
        alone = '<teammate-message from="kim">{}</teammate-message>'.format(
            quoted.replace(name, "teammate-message")
        )
        assert strip_injected(alone) == ""


def test_knowledge_inside_a_line_is_removed() -> None:
    assert strip_injected("a {knowledge}x{/knowledge} b") == "a b"


def test_several_and_nested_blocks_are_removed() -> None:
    text = (
        "{knowledge}a {knowledge}b{/knowledge} {rag-context}c{/rag-context}{/knowledge}one\n"
        "{rag-context}d{/rag-context}\n"
        "two"
    )
    assert strip_injected(text) == "one\n\ntwo"


def test_a_message_of_injected_blocks_only_becomes_empty() -> None:
    assert strip_injected("<system-reminder>\nx\n</system-reminder>\n") == ""


@each_case(
    "text",
    [
        "plain  text\n\n\n\nwith gaps \n",
        "{knowledge} never ends, and these are a person's words",
        "ends {/knowledge} without a beginning",
        "the `{knowledge}` marker is closed by `{/knowledge}`, `<system-reminder>` by `</system-reminder>`",
        "{knowledgeable}x{/knowledgeable} <commander>y</commander>",
        "<!-- a comment of the writer's -->\n<!-- TODO: later -->",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert strip_injected(text) == text


def test_markers_between_sections_of_a_prompt_are_removed() -> None:
    text = (
        "<!-- identity:SOUL.md -->\nsoul\n<!-- topic:email-triage -->\ntriage\n"
        "<!-- user 18:45 -->\nhi\n<!-- message -->\nyo"
    )
    assert strip_injected(text) == "soul\ntriage\nhi\nyo"


@given(nasty_text, nasty_text)
def test_nothing_injected_survives(before: str, after: str) -> None:
    stripped = strip_injected(f"{before}\n{{rag-context}}\nsecret-fact\n{{/rag-context}}\n{after}")
    assert "secret-fact" not in stripped
    assert strip_injected(stripped) == stripped


@each_case(
    "text",
    [
        "<system-reminder>\n" * 20_000,
        "</system-reminder>\n" * 20_000,
        "<system-reminder>\n" + "a</system-reminder>b\n" * 20_000,
        f"{' ' * 20_000}\n" * 20,
    ],
)
def test_unclosed_blocks_are_processed_quickly(text: str) -> None:
    assert strip_injected(f"{text}x</b>") == f"{text}x</b>"


def test_many_blocks_are_processed_quickly() -> None:
    blocks = "<system-reminder>\nx\n</system-reminder>\n" * 20_000
    assert strip_injected(f"{blocks}words\n{blocks}") == "words"


def test_many_markers_are_processed_quickly() -> None:
    text = "{knowledge}" * 20_000 + "x" + "{/knowledge}" * 20_000
    assert strip_injected(text) == ""


def test_a_text_that_mentions_what_a_program_writes_is_the_persons() -> None:
    mention = "Hide <bash-input> and [Request interrupted by user] in the viewer"
    assert BY_PROGRAM.search(mention) is None
    assert BY_PROGRAM.search(f"hello\n  <agent-notification>\n{mention}")
