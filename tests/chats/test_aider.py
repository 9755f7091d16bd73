"""Aider's history: only what the person typed is theirs, though replies have the same headings."""

from __future__ import annotations

from pathlib import Path

from engine.transcripts.chats.read import read_chats
from tests.cases import each_case

_STARTED = "# aider chat started at 2026-03-01 10:00:00\n\n> Main model: gpt with diff  \n\n"


def turns(text: str) -> list[tuple[str, str, str]]:
    """The role, kind and text of each turn in a history with one conversation."""
    (chat,) = read_chats((_STARTED + text).encode(), ".aider.chat.history.md")
    return [(turn.role, turn.kind, turn.text) for turn in chat.turns]


def typed(text: str) -> list[str]:
    return [said for role, _, said in turns(text) if role == "user"]


@each_case("fence", ["", "````\n"])
def test_a_heading_in_a_reply_is_not_the_persons(fence: str) -> None:
    reply = f"Here is it:\n\n{fence}#### Step 1\n\nDo this.\n\n#### Step 2\n{fence}"
    text = f"#### explain the plan  \n#### in two steps  \n\n{reply}\n> Tokens: 2k sent  \n\n#### go  \n"
    assert typed(text) == ["explain the plan\nin two steps", "go"]


def test_what_was_typed_is_found_where_an_editor_removed_the_blanks_at_line_ends() -> None:
    text = "#### one\n\nFine.\n\n> Commit abc a change\n\n#### two\n\nFine.\n"
    assert typed(text) == ["one", "two"]
    partly = text + "\n> Tokens: 2k sent\n\n#### three\n\nFine.\n\n> Tokens: 2k sent  \n\n#### four  \n"
    assert typed(partly) == ["one", "two", "three", "four"]


def test_an_architects_reply_handed_to_the_editor_is_not_the_persons() -> None:
    plan = ["Make these changes:", "", "1) Project structure", "- Create folder: backend/", "", "Done."]
    handed = "".join(f"#### {line}  \n" for line in plan)
    asked = "#### make it a service  \n\nI need a file.\n\n> Tokens: 1k sent  \n\n"
    reply = "\n".join(plan) + "\n\n> Tokens: 1.6k sent  \n\n"
    found = turns(f"{asked}{reply}{handed}\na.py\n\n> Applied edit to a.py  \n\n#### thanks  \n")
    assert [said for role, _, said in found if role == "user"] == ["make it a service", "thanks"]
    (chat,) = read_chats((_STARTED + asked + reply + handed).encode(), ".aider.chat.history.md")
    assert chat.left_out["injected"] == 1


def test_words_of_the_agent_that_the_person_repeats_are_kept() -> None:
    assert typed("#### shall I?  \n\nyes\n\n> Tokens: 1k sent  \n\n#### yes  \n\nok\n") == ["shall I?", "yes"]


def test_two_prompts_in_a_row_are_two_turns_and_a_command_is_one() -> None:
    text = "#### /clear  \n\n#### here is a readme  \n\nOk.\n\n#### /etc/hosts is wrong  \n\nYes.\n"
    assert [turn for turn in turns(text) if turn[0] == "user"] == [
        ("user", "command", "/clear"),
        ("user", "", "here is a readme"),
        ("user", "", "/etc/hosts is wrong"),
    ]


def test_a_question_that_is_written_twice_was_asked_once() -> None:
    asked = "what is delta?  \n#### I mean here  \n\n"
    text = f"#### /ask {asked}#### {asked}Time.\n\n> Tokens: 1k sent  \n\n"
    assert typed(text) == ["/ask what is delta?\nI mean here"]
    again = typed(f"{text}#### {asked}Time.\n")
    assert again == ["/ask what is delta?\nI mean here", "what is delta?\nI mean here"], "asked twice"


def test_an_empty_prompt_is_nobodys_word() -> None:
    assert typed("#### go  \n\nok\n\n#### <blank>  \n\n#### more  \n\nfine\n") == ["go", "more"]


def test_a_question_that_the_program_answered_itself_is_not_the_persons() -> None:
    asked = "Add file to the chat? (Y)es/(N)o/(A)ll/(S)kip all/(D)on't ask again [Yes]: skip"
    text = f"#### go  \n\n> a.py  \n\n#### {asked}  \n> {asked}  \n> b.py  \n\n#### {asked}  \n\nFine.\n\n"
    assert typed(f"{text}#### Why does it say {asked}?  \n") == ["go", f"Why does it say {asked}?"]


def test_a_history_from_before_its_first_start_is_known_by_its_name_whatever_stands_before_it() -> None:
    text = b"> Commit abc a change  \n\n#### go  \n\nok\n"
    for name in (".aider.chat.history.md", "old.aider.chat.history.md"):
        (chat,) = read_chats(text, name)
        assert [turn.text for turn in chat.turns if turn.role == "user"] == ["go"]
    assert not read_chats(text, "notes.md")


def test_what_was_typed_is_known_by_the_inputs_beside_a_history(tmp_path: Path) -> None:
    asked = "/help how do I turn commits off"
    brief = "Please move the gauge above the lock to the left, and leave the one below it alone."
    entries = [asked, f"{brief}\n\nThank you.", "go", "yes"]
    (tmp_path / ".aider.input.history").write_text(
        "".join(
            f"\n# 2026-03-01 10:0{at}:00.1\n+" + each.replace("\n", "\n+") for at, each in enumerate(entries)
        )
    )
    lines = ["# Question: how do I", "", "<doc from_url=x>", "# Commits", "/ask go", "</doc>"]
    page = "".join(f"#### {line}".rstrip() + "\n\n" for line in lines)
    text = (
        f"#### {asked}\n\n{page}\nUse a flag.\n\n#### Step 1\n\nSet it.\n\n> Tokens: 1k sent\n\n"
        f"#### {brief[:50]}\n\n#### {brief[50:]}\n\n####\n\n#### Thank you.\n\n#### go\n\nDone.\n\n"
        "# aider chat started at 2026-03-02 10:00:00\n\n#### its inputs are gone\n\nSo what.\n"
    )
    found = read_chats((_STARTED + text).encode(), str(tmp_path / ".aider.chat.history.md"))
    said = [[(turn.role, turn.text) for turn in chat.turns] for chat in found]
    assert said == [
        [
            ("user", asked),
            ("agent", "Use a flag.\n\n#### Step 1\n\nSet it."),
            ("user", f"{brief[:50]}\n{brief[50:]}\n\nThank you."),
            ("user", "go"),
            ("agent", "Done."),
        ],
        [("user", "its inputs are gone"), ("agent", "So what.")],
    ]
    assert found[0].left_out["injected"] == 1


def test_an_architects_reply_is_recognised_as_a_whole_though_lines_of_it_were_typed_elsewhere(
    tmp_path: Path,
) -> None:
    asked = "Use this page for all the towns:\n<div>\n</div>\n}"
    (tmp_path / ".aider.input.history").write_text(
        "\n# 2026-03-01 10:00:00.1\n+" + asked.replace("\n", "\n+") + "\n\n# 2026-03-01 10:01:00.1\n+go\n"
    )
    plan = ["Write it so:", "", "<div>", "</div>", "go", "}"]
    headed = ["".join(f"#### {line}  \n" for line in lines) for lines in (asked.split("\n"), plan)]
    reply = "\n".join(plan) + "\n\n> Tokens: 1.6k sent  \n\n"
    text = f"{headed[0]}\n{reply}{headed[1]}\nDone.\n\n#### go  \n\nFine.\n"
    (chat,) = read_chats((_STARTED + text).encode(), str(tmp_path / ".aider.chat.history.md"))
    assert [turn.text for turn in chat.turns if turn.role == "user"] == [asked, "go"]
    assert chat.left_out["injected"] == 1


def test_a_message_of_several_lines_on_the_command_line_is_the_persons() -> None:
    lines = ["1. Read TODO.md.", "2. Do the first task, in C#."]
    called = "> aider --architect --message \n" + "\n".join(lines) + "  \n> Aider v0.86.2  \n\n"
    handed = "".join(f"#### {line}  \n" for line in lines)
    found = turns(f"{called}{handed}\nDone.\n")
    assert [(role, said) for role, _, said in found] == [("user", "\n".join(lines)), ("agent", "Done.")]
