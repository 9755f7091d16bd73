"""Which of the rules that stand in every prompt are repeated next to a message."""

from __future__ import annotations

from pathlib import Path

from engine.context.rule_sections import CALLED
from engine.engine import Engine
from engine.rules.rulebook import PATH

AMEND = "please don't amend commits"
BRANCH = "let's cut a branch first"
TESTS = "always add tests when you fix a bug"
REPLY = "for comments that are fixed, reply directly and say what changed"
PUSH = "提交之前先运行测试,不要改动文件"

MESSAGES: tuple[tuple[str, set[str]], ...] = (
    # A single word is enough in an order, but not where it is what the message is about.
    ("commit this", {AMEND}),
    ("yes, commit", {AMEND}),
    ("can we also show the branch name in the list of sessions?", set()),
    ("could we change the shadow commits so that user changes are kept?", set()),
    # Several words must be close together, and one of them must name a way of working.
    ("fix the bug in the parser of dates and add a few tests", {TESTS}),
    ("add a field to the settings of the gauge page, as the old one is still called tests", set()),
    ("reply to the comments that are fixed and say so", {REPLY}),
    # Names of files and identifiers are not about working.
    ("see amend_commits in cli/amend/commits.go and amend.commits, then rename the type", set()),
    # Chinese has no spaces: two letters make a word.
    ("提交", {PUSH}),
    ("先读取 src/parser/dates.md 文件", set()),
    # Whatever the message is about, its words may be in any form.
    ("don't worry about amending the commits on main", {AMEND}),
)
"""Messages, and the rules that each calls for."""


def test_a_rule_is_repeated_next_to_a_message_that_calls_for_it(sample: Path) -> None:
    rules = (AMEND, BRANCH, TESTS, REPLY, PUSH)
    lines = "\n".join(f"- {rule}" for rule in rules)
    (sample / PATH).write_text(f"# Rules\n\n## In force\n\n{lines}\n")
    with Engine.open(sample) as engine:
        for message, called in MESSAGES:
            sections = engine.compile(message).sections
            near = "\n".join(each.text for each in sections if each.label == CALLED)
            assert {rule for rule in rules if rule in near} == called, message
