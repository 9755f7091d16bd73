"""Decides which parts of a person's message they plainly typed themselves (robustness M3).

Nothing marks a paste for certain, so the decision goes the other way round: what is plainly typed counts, and
all else waits with the reason. Plainly typed is a short passage without the form of another's text: no code,
quotation, list, diff, table, header, sign-off or log around it, and one register from first line to last. No
list of phrases lets a text count as another's; the only one names what announces the person's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from engine.startup.lazy import expression
from engine.transcripts.injected import BY_PROGRAM
from engine.transcripts.turn import ANSWER, COMMAND, PLAN, Turn

MOST_WORDS = 220
"""Words of a message from which all of it may be a paste."""

_MOST_CHARACTERS = 4_000
_MOST_LINES = 12
_LABEL_WORDS = 3
"""Words behind a colon that are no text of their own yet: "in Project: Maple"."""
_ANNOUNCED = "follows words that announce a text"
_LISTED = "in a list"
_STYLES = "its lines are written in different styles"
_DOUBTS = frozenset({_ANNOUNCED, _LISTED, _STYLES})
"""What a person's own text may look like too."""
_WIDE_CHARACTERS = 3
"""Characters that make about a word in a language without spaces."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of a message."""

    text: str
    why: str = ""  # why it may be another's text, one clause; empty if it is plainly typed


def typed_in(turn: Turn) -> str:
    """What the person plainly typed in a turn; empty for what an agent, a tool or a program wrote."""
    return "\n".join(passage.text for passage in _passages_of(turn) if not passage.why)


def doubted_in(turn: Turn) -> list[Passage]:
    """What the person may have typed or pasted: it lacks the form of a mail, code or a program's text."""
    return [passage for passage in _passages_of(turn) if passage.why in _DOUBTS]


def _passages_of(turn: Turn) -> tuple[Passage, ...]:
    if turn.role != "user" or not turn.is_dialogue or turn.kind in (ANSWER, PLAN):
        return ()
    # The first line is the command as typed; the rest is its expansion.
    return passages(turn.text.split("\n", 1)[0] if turn.kind == COMMAND else turn.text)


def passages(message: str) -> tuple[Passage, ...]:
    """Splits a message into passages, in order, each plainly typed or with the reason why it may not be."""
    if BY_PROGRAM.search(message):
        return (Passage(message, "written by a program"),)
    if len(message) > _MOST_CHARACTERS or _words(message) > MOST_WORDS:
        return (Passage(message, "too long to be plainly typed"),)
    found: list[Passage] = []
    for text, why in _lines([part for line in message.split("\n") for part in _before_lead(line)]):
        if found and found[-1].why == why:
            found[-1] = Passage(f"{found[-1].text}\n{text}", why)
        else:
            found.append(Passage(text, why))
    return tuple(found)


def _words(text: str) -> int:
    return len(text.split()) + len(_WIDE.findall(text)) // _WIDE_CHARACTERS


def _before_lead(line: str) -> Iterator[str]:
    """A line, split before the sentence that announces another's text."""
    lead = _LEAD.search(line)
    if lead is not None and lead.start() and line[: lead.start()].strip():
        yield line[: lead.start()]
        yield line[lead.start() :]
    else:
        yield line


def _lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each line with the reason why it may be another's."""
    marks = list(_marks(lines))
    whys = [why for why, line in zip(marks, lines, strict=True) if line.strip()]
    own = [line for line, why in zip(lines, marks, strict=True) if line.strip() and not why]
    whole = ""
    fields = [_FIELD.match(line) is not None for line in lines]
    if any(map(all, pairwise(fields))) or any(_HEADER.match(line) or _STAMP.search(line) for line in lines):
        whole = "stands with a name, a date or a header of another's text"
    elif _SIGN_OFF.search("\n".join(lines)):
        whole = "stands above a signature"
    elif len(own) > _MOST_LINES:
        whole = "too many lines to be plainly typed"
    elif len({_register(line) for line in own if _words(line) > _LABEL_WORDS} - {None}) > 1:
        whole = _STYLES
    last = max((number for number, line in enumerate(lines) if line.strip()), default=0)
    is_mixed = any(whys)
    for number, (line, why) in enumerate(zip(lines, marks, strict=True)):
        if why or not line.strip():
            yield line, why
        elif whole:
            yield line, whole
        elif is_mixed and 0 < number < last:
            yield line, "stands between parts of another's text"
        else:
            yield _without_quotations(line), ""


def _marks(lines: list[str]) -> Iterator[str]:
    """For each line, the form of another's text that it has; empty for none."""
    fence = ""
    rest = ""
    quoting = False
    listed = sum(_ITEM.match(line) is not None for line in lines)
    for number, line in enumerate(lines):
        follows = any(each.strip() for each in lines[number + 1 :])
        if rest:
            yield rest
        elif fence:
            yield "in a block of code"
            if line.strip().startswith(fence):
                fence = ""
        elif (opened := _FENCE.match(line)) is not None:
            yield "in a block of code"
            fence = opened[1]
        elif _QUOTATION.match(line) or (quoting and line.strip() and not _ITEM.match(line)):
            quoting = True
            yield "in a quotation"
            continue
        elif _MACHINE.match(line):
            yield "looks like code or a program's output"
        elif _ITEM.match(line) and listed > 1:
            yield _LISTED
        elif (lead := _LEAD.search(line)) is not None and not _OWN_LEAD.search(lead["lead"]):
            said = len(lead["rest"].split())
            if follows and not said:
                rest = _ANNOUNCED
                yield ""
            elif said > _LABEL_WORDS:
                rest = _ANNOUNCED
                yield _ANNOUNCED
            else:
                yield ""
        else:
            yield ""
        quoting = False


def _register(line: str) -> bool | None:
    """Whether a line starts with a capital; ``None`` if it starts with something else."""
    first = line.lstrip(" \t\"'“‘(")[:1]
    return first.isupper() if first.isalpha() and (first.isupper() or first.islower()) else None


def _without_quotations(line: str) -> str:
    """A line without quoted sentences; quoted names and literals stay."""
    return _QUOTED.sub(" ", line)


_WIDE = expression(r"[぀-ヿ㐀-鿿가-힯]")
_FENCE = expression(r" {0,3}(`{3,}|~{3,})")
_QUOTATION = expression(r" {0,3}(?:>|\|\s*>|&gt;)")
_ITEM = expression(r"\s*(?:[-*+•]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+\S")
_MACHINE = expression(
    r"\s*(?:</?[A-Za-z][\w-]*(?:\s[^<>]{0,200})?>|#{1,6}\s|\|.*\||@@|diff --git|[+-]{3} \S|[+-][^\s+-]"
    r"|[+-]\s+\S.{0,200}[;{}()]\s*$|Traceback \(|File \"|at [\w.$<>]+\(|\$ \w|\w+@[\w.-]+[:~]"
    r"|[\w./-]*\w\.\w{1,4}(?::\d+)?:?\s*$|https?://\S+\s*$|\[?\d{1,4}[-:./]\d\d|={3,}|-{3,}|\*{3,}"
    r"|[\w.]*(?:Error|Exception|Warning)\b.{0,20}:\s|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL)\b"
    r"|(?: {4}|\t)\S|.*[{};]\s*$)"
)
"""Code, markup, a diff, a table, a path, an address or a log line."""
_HEADER = expression(
    r"\s*[*_>]*[^\W\d_][^\n:：]{0,24}[*_]*[:：][*_]*\s+\S+@\S+"
    r"|\s*(?:\*\*)?@?[\w.-]{1,30}(?:\*\*)?\s+(?:[^\W\d_]+\s+){0,3}\d{1,3}\s*[^\W\d_]{1,10}\s+ago\b"
    r"|\s*(?:\*\*)?@[\w.-]{2,30}(?:\*\*)?\s*(?:[:：]|$|\w+ed\b)"
)
_FIELD = expression(r"\s*[*_>]*[^\W\d_][^\n:：.!?]{0,20}[*_]*[:：]\s*\S")
"""Two of these in a row are the head of a mail, or a dialogue."""
_STAMP = expression(
    r"^[^\n]{0,40}(?:\b\d{1,2}:\d{2}(?::\d{2})?\s*(?:[AaPp][Mm])?\b[^\n]{0,20}|\b\d{4}-\d\d-\d\d\b[^\n]{0,12}"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b[^\n]{0,12})(?:$|[:：\]>-])"
)
_SIGN_OFF = expression(
    r"\n[ \t]*(?:[^\n.!?:]{1,24},\s*\n\s*|[-–—]{1,2}\s*)(?-i:[^\W\d_])[\w.'’-]*(?:"
    r" [^\W\d_][\w.'’-]*){0,2}\s*$"
)
"""A greeting with a comma and a name below it, or a name after a dash."""
_LEAD = expression(r"(?P<lead>[^:：\n.!?]{2,160})[:：](?=\s|$)(?P<rest>.*)$")
_OWN_LEAD = expression(
    r"^\W*(?:(?:and|also|so|then|now|ok|und|et|y|e) )*(?:for|when|whenever|before|after|in|on|with"
    r"|any\w*|every|each|if|from now|für|bei|vor|nach|pour|avant"
    r"|après|para|antes|per|quando|voor|bij|для|при)\b"
    r"|(?:\b(?:rules?|things?|notes?|reminder|remember|conventions?|guidelines?|instructions?"
    r"|points?|requests?"
    r"|preferences?|updates?|practices?|standards?|requirements?|habits?|policy|future|reference"
    r"|important|please|also|now on"
    r"|forward|todo|fyi|nit|btw|ps|regel|regeln|wichtig|merke(?: dir)?|sofort|suite|convention"
    r"|règle|regla|regra)"
    r"(?: (?:here|(?:for|to|from|of|in) (?:\w+ ){0,3}\w+))?"
    r"|\b(?:then|so|that is|namely|e\.g|i\.e))\W*$",
    re.IGNORECASE,
)
"""Announces the person's own words. Every other text before a colon may announce someone else's."""
_QUOTED = expression(
    r"[\"“„](?=(?:\S{1,80}\s+){2})[^\"“”„\n]{8,2000}[\"”“]?|«(?=\s?(?:\S{1,80}\s+){2})[^»\n]{8,2000}»?"
    r"|(?<!\w)['‘](?=(?:[^\s'’]{1,80}\s+){3})[^'’\n]{12,2000}['’](?!\w)|[「『][^」』\n]{6,2000}[」』]?"
)
"""Quoted words, at least three: fewer are a name."""
