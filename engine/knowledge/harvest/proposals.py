"""Proposes knowledge from a conversation without a model, for a person to review.

====================================================  ====================================================
What is found                                         becomes
====================================================  ====================================================
a command that builds, tests or checks and succeeded  a line of its project's page
again and again, or once if the person named it
a line marked by the person or in the agent's last    what its label says
words                                                 (``engine.knowledge.harvest.markers``)
the cause that the agent named at the end             a lesson
a plan of the agent that the person approved          a decision (not of a harvest): its title and its
                                                      first sentence
====================================================  ====================================================

How the person wants the agent to work is in the rules (``engine.rules.sentences``) and not proposed again.
Nothing is written without a review, so the list must be worth reading: few items per conversation, in full
sentences that can be understood on their own.

The patterns are conservative: a miss is still in the conversation, a false positive costs a review. What an
agent reports to have done is in the recaps (``engine.lifecycle.recaps``).

Successes of a command (``engine.knowledge.commands``) are counted across all conversations of a project
(``engine.knowledge.review``), and it is shown only after a few, unless the person named it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.knowledge.commands import commands_in, kind_of, succeeded
from engine.knowledge.harvest.markers import LESSONS, labelled
from engine.knowledge.harvest.reply import distinct, item_of
from engine.knowledge.item import Category, Item, Voice
from engine.knowledge.pages import commands_page
from engine.knowledge.proposed import WHY, Reason
from engine.knowledge.similarity import COMMON, stem
from engine.provenance.spoken import in_fences
from engine.redaction.detect import redact
from engine.startup.lazy import expression
from engine.store.prose import shortened
from engine.transcripts.corrections import is_correction
from engine.transcripts.turn import CORRECTION, PLAN, Turn
from engine.transcripts.typed import lines_of

MAX_PLANS = 2
"""Maximum plans proposed from one conversation, the last ones: a person's latest word counts."""

_SENTENCE_CHARACTERS = 280
_MIN_WORDS = 4
_MIN_DISTINCTIVE = 2
_PLAIN_WORDS = 9
"""Words from which an agent's sentence is specific enough without naming anything."""
_THANKS = 40
"""Length up to which a person's last message counts as mere thanks."""


def to_review(turns: Sequence[Turn], project: str = "") -> tuple[Item, ...]:
    """What a harvest proposes, without duplicates and possible secrets.

    ``turns`` must not contain injected text. ``project`` is the slug of the project the commands belong to.
    """
    dialogue = _dialogue(turns)
    spoken = (turn for turn in reversed(dialogue) if turn.role == "agent" and not turn.kind and turn.text)
    closing = next(spoken, None)
    marks = labelled(turn for turn in dialogue if turn.role != "agent" or turn is closing)
    found = [
        *commands_of(dialogue, project),
        *(
            item if item.why else replace(item, why=WHY["lesson" if label in LESSONS else "marked"])
            for label, item in marks
        ),
        *(replace(item, why=WHY["lesson"]) for item in _cause(dialogue)),
    ]
    return _without_secrets(found)


def proposed(turns: Sequence[Turn]) -> tuple[Item, ...]:
    """Approved plans and the cause that the agent named, likewise, for an extraction."""
    dialogue = _dialogue(turns)
    return _without_secrets([*distinct(_plans(dialogue))[-MAX_PLANS:], *_cause(dialogue)])


def _dialogue(turns: Iterable[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.is_dialogue and turn.role != "system"]


def _without_secrets(found: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(item for item in distinct(found) if not redact(f"{item.path} {item.text}")[1])


def _plans(turns: Sequence[Turn]) -> Iterator[Item]:
    for number, turn in enumerate(turns):
        if turn.role != "agent" or turn.kind != PLAN or not _is_approved(turns, number):
            continue
        title = next((match[1] for match in _HEADING.finditer(turn.text)), "")
        title = _bare(re.sub(r"(?i)^(?:implementation )?plan(?: for| to)?\b\W*", "", title)).rstrip(":")
        first = next((each for each in _prose(turn.text) if _stands_alone(each)), "")
        text = ": ".join(filter(None, (title, shortened(first, _SENTENCE_CHARACTERS))))
        if _stands_alone(text):
            yield from _item("decisions", "plan", text, "agent")


def _is_approved(turns: Sequence[Turn], number: int) -> bool:
    """True if the result after a plan says that the user approved it."""
    for turn in turns[number : number + 3]:
        results = [tool.result for tool in turn.tools]
        if any("rejected by the user" in result for result in results):
            return False
        if any("approved by the user" in result for result in results):
            return True
    return False


def _cause(turns: Sequence[Turn]) -> Iterator[Item]:
    """The cause that the agent names at the end, unless it is waiting for an answer."""
    spoken = [turn for turn in turns if turn.text.strip()]
    while (
        spoken
        and spoken[-1].role == "user"
        and len(spoken[-1].text) < _THANKS
        and not is_correction(spoken[-1].text)
    ):
        spoken.pop()
    if not spoken or spoken[-1].role != "agent" or spoken[-1].kind:
        return
    sentences = [_bare(each) for each in _prose(spoken[-1].text)]
    if any(each.endswith("?") and not OFFER.search(each) for each in sentences[-2:]):
        return
    for each in sentences:
        if (cause := CAUSE.match(each)) and _is_informative(cause[1]):
            yield from _item("facts", "summary", f"The cause was: {cause[1]}", "agent")
            break


def _is_informative(sentence: str) -> bool:
    """True if an agent's sentence is complete, specific, and says more than that all is well."""
    if not _stands_alone(sentence) or sentence.endswith(":"):
        return False
    if PASSED.search(sentence) or VAGUE.search(sentence):
        return False
    return PARTICULAR.search(sentence) is not None or len(_WORD.findall(sentence)) >= _PLAIN_WORDS


def _item(category: Category, reason: Reason, text: str, voice: Voice) -> Iterator[Item]:
    try:
        item = item_of(category, _bare(text), voice=voice)
    except ValueError:
        return
    yield replace(item, why=WHY[reason])


def _prose(text: str) -> Iterator[str]:
    """The sentences of a reply, without code, tables and headings."""
    lines = [
        "" if fenced or _NO_PROSE.match(line) else line
        for line, fenced in zip(text.split("\n"), in_fences(text), strict=True)
    ]
    yield from _sentences("\n".join(lines))


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        plain = _BULLET.sub("", line).strip()
        for sentence in _SENTENCE.split(plain):
            if sentence.strip():
                yield " ".join(sentence.split())


def _stands_alone(sentence: str) -> bool:
    """True if a sentence is understandable on its own, short enough, and names its subject."""
    if not 16 <= len(sentence) <= _SENTENCE_CHARACTERS:
        return False
    words = [word.casefold() for word in _WORD.findall(sentence)]
    distinctive = {word for word in map(stem, words) if len(word) > 2 and word not in _EVERYDAY}
    return len(words) >= _MIN_WORDS and len(distinctive) >= _MIN_DISTINCTIVE


def _bare(text: str) -> str:
    return " ".join(text.replace("**", "").replace("__", "").split()).strip(" -–—")


_EVERYDAY = COMMON | set(
    map(
        stem,
        """
        please thing stuff okay yeah yes like want need also then again always never use said instead let not
        don't anything everything
        """.split(),  # noqa: SIM905 — one word a line would hide the module
    )
)
_WORD = re.compile(r"[^\W_][\w'’-]*")
_SENTENCE = re.compile(r"(?<=[.!?;])[\"')”’]*\s+")
_BULLET = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+(.*\S)", re.MULTILINE)
_NO_PROSE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|>|\||`{3}|~{3}|-{3,}\s*$|<)")


OFFER = expression(
    r"\b(?:would you like|want me to|shall i|should i|let me know|do you want|anything else)\b", re.IGNORECASE
)
"""A polite closing question of an agent."""

CAUSE = expression(
    r"^(?:the )?(?:\*\*)?(?:root cause|cause|problem|the bug|issue)(?:\*\*)?\s*(?:was"
    r"|is)?\s*:(?:\*\*)?\s*(.+)",
    re.IGNORECASE,
)
"""The cause named by an agent."""

PASSED = expression(
    r"\b(?:lint\w*|tests?|build|checks?|formatting|ci)\b.*\b(?:pass\w*|clean|succeed\w*|green)\b", re.I
)
"""A statement that all is well, which is not worth keeping."""

VAGUE = expression(r"^(?:i(?:['’]ve| have)? )?\w+ (?:it|them|this|that)\b|\bthese\b", re.I)
"""A sentence that depends on the previous one."""

PARTICULAR = expression(r"`[^`]+`|\w+[/._]\w+|--\w|[a-z][A-Z]|\d")
"""Something specific: code, a path, an identifier, a number."""


_CODE = expression(r"`([^`\n]+)`")
MAX_COMMANDS = 4
"""Maximum commands proposed from one conversation."""


def commands_of(turns: Iterable[Turn], project: str = "") -> list[Item]:
    """The commands in a conversation, most frequent first: lines of the project's page of commands, or
    playbooks if ``project`` (a slug) is empty.
    """
    turns = list(turns)
    counts = Counter(command for turn in turns for tool in turn.tools for command in succeeded(tool))
    named = _named(turns)
    found: list[Item] = []
    for command, times in counts.most_common(MAX_COMMANDS):
        try:
            item = item_of("playbooks", kind_of(command), command, "person" if command in named else "agent")
        except ValueError:
            continue
        if project:
            item = replace(
                item, category="pages", path=commands_page(project), subject=f"Commands of {project}"
            )
        found.append(replace(item, why=WHY["named" if command in named else "command"], times=times))
    return found


def _named(turns: Iterable[Turn]) -> frozenset[str]:
    """The commands that the person plainly typed as code."""
    return frozenset(
        command
        for turn in turns
        if turn.role == "user" and turn.kind in ("", CORRECTION)
        for line in lines_of(turn.text)
        if not line.why
        for span in _CODE.findall(line.text)
        for command in commands_in(span)
    )
