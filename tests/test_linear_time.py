"""Untrusted text is parsed in linear time: no run of characters makes a parser stall.

Each case is a text on which an expression that tries every start against every end uses several times as much
of the processor as the test allows, and an expression that reads the text once a tenth.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.context.relevance import _without_log
from engine.knowledge.commands import START, besides_kinds, commands_in, is_plain, kinds_asked, names_command
from engine.lifecycle.recaps.ended import says_it_did
from engine.lifecycle.recaps.lines import _with_short_paths
from engine.pipeline import answers
from engine.recall.reasons import asks_why, gives_reason, with_reasons
from engine.recall.recall import is_assent
from engine.recall.telling import tells
from engine.rules.habits import habit
from engine.rules.rulebook import rules_in
from engine.rules.sentences import rules_in as sentences_in
from engine.rules.subject import relation
from engine.search.passages import is_prose, words_of
from engine.search.results import SearchResult
from engine.store.markdown import sections
from engine.transcripts.chats.read import read_chats
from engine.transcripts.importers.tools import is_rejection
from engine.transcripts.traces import Traces
from engine.transcripts.typed import passages

LENGTH = 20_000
ALLOWED_S = 1.5
"""Seconds of the processor for one text: what else the machine does is not measured."""
RUNS = (
    " ", "\t", "\n", "\n ", "a", "a.", "a-", " #", " a=b", "{#aaaaaaa ", "1:11 ", '"', "'", "`", "“", "«",
    ",", "a ", "a, ", "(", ")", "[", "<", ">", "**", "1.", "--a", "@a ", "a/", "_", "never ", ", and ",
    "not a, ", "use 'a' ", "a'a", "a\t", "\r", "12,", "Aa ", "a - ", "<a>", "[a]", "❝a ", "``a ", ": a ",
)  # fmt: skip
TOOL_LINES = ("/a/", "> [tool:a] git push", "> [tool:a] gh pr create → https://a/", "> [tool:a] cd /a")
NOTHING = SearchResult("", 1, 1, "conversation", "", "", "", "", 1.0, None, None, "index", "")
READERS: dict[str, Callable[[str], object]] = {
    "headings": sections,
    "rules": lambda text: rules_in(f"## In force\n\n{text}\n".encode()),
    "sentences": lambda text: list(sentences_in(text)),
    "prohibitions": lambda text: list(sentences_in(f"from now on, never use {text}")),
    "habits": habit,
    "what was typed": passages,
    "later rules": lambda text: relation(text, "never use tabs"),
    "earlier rules": lambda text: relation("never use tabs", text),
    "pasted logs": _without_log,
    "words of passages": words_of,
    "prose": is_prose,
    "answers": lambda text: is_assent(f"Question: a\nAnswer: {text}"),
    "commands": lambda text: [is_plain(each) for each in commands_in(f"npm test {text}", every=True)],
    "turns": lambda text: tells(replace(NOTHING, text=text), "why did we do it?"),
    "objections": lambda text: answers._MEANS_TO.search(text) or answers._OBJECTS.search(text),
    "what is asked to run": kinds_asked,
    "what is asked besides": besides_kinds,
    "names of commands": lambda text: names_command(f"npm run {text}", {START}),
    "reasons": lambda text: (asks_why(text), gives_reason(text), with_reasons(text)),
    "names in questions": lambda text: answers._names_any("a", f"where is {text}"),
    "what was done": says_it_did,
    "paths in requests": lambda text: _with_short_paths(f'@"/{text}'),
    "chats": lambda text: read_chats(text.encode(), "chat.md"),
    "results of tools": is_rejection,
    "traces": lambda text: Traces().add("/a", "\n".join(f"{start}{text}" for start in TOOL_LINES)),
}


STARTS = {"headings": ("", "- a", "## a", "# History ("), "rules": ("- a", "## a"), "chats": ("", "## a")}
"""Of the readers that treat a line by how it begins."""


@pytest.mark.parametrize("reader", READERS)
def test_a_long_run_of_characters_does_not_stall_a_parser(reader: str) -> None:
    for start in STARTS.get(reader, ("- a",)):
        for run in RUNS:
            text = f"{start}{run * (LENGTH // len(run))}b"
            began = time.thread_time()
            READERS[reader](text)
            assert time.thread_time() - began < ALLOWED_S, f"{start}{run}…"


def test_text_after_a_long_line_is_still_parsed() -> None:
    text = f"## In force\n\n- a{' ' * LENGTH}b {{#aaaaaaa told={'9' * 5_000}}}\n- the next\n"
    first, second = rules_in(text.encode()).rules
    assert (first.id, first.told, second.text) == ("aaaaaaa", 0, "the next")
    long, other = sections(f"## a{' ' * LENGTH}b\n\n### c ##\n")
    assert long.title.startswith("a ") and long.title.endswith(" b") and other.title == "c"
