"""Finds the sentences of a message that say how to work, and scores how clearly each states a rule.

A rule has a form (it forbids, chooses, asks, reminds), is about the way of working rather than the product,
says how and not only what, and does not refer to something at hand. Each of these adds to the score; none
decides alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.rules import forms
from engine.rules.alike import stems
from engine.rules.standing import STANDING

LEAST = 0.0
"""Score from which a sentence is kept; a rule needs more, see ``engine.lifecycle.rules.learning``."""
PLAIN = 3.0
"""Score of a sentence that is a rule without any repetition."""

_MOST_WORDS = 30
_MOST_CHARACTERS = 600
"""Of a sentence. Words without end are no rule, and would take the patterns quadratic time."""
_MOST_OF_MESSAGE = 250
_PASTED = 20
"""Words from which a message that addresses no one is taken for pasted text."""
_CONTEXT_WORDS = 14
_POINTED = 0.4
"""Penalty for a sentence that cannot be understood without the one before it."""
_LETTERS = 4
"""Characters from which text without spaces may be a sentence: some languages do not separate words."""

_AT_HAND = (
    (forms.PARTICULAR, 0.8, 3),
    (forms.THE_ONE, 0.5, 2),
    (forms.NOW, 0.45, 3),
    (forms.PASSING, 0.7, 1),
    (forms.DEICTIC_END, 0.6, 1),
    (forms.APPLIED, 0.6, 1),
)
"""Signs that a sentence is about something at hand: pattern, penalty each, maximum count."""

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SPLIT = re.compile(r"(?<=[.!?。！？]) | -> | [-–—]+ (?=\w)|; ")
"""Expects single spaces: a long run of them would take quadratic time."""
_BULLET = re.compile(r"\s*(?:[-*•>]+|\d+[.)])\s+")
_COMMAND = re.compile(r"(?:CMD )?/[\w:-]+\s*")
_NOT_OWN = re.compile(r"<[a-z-]+>|Implement the following plan|User has answered your")


@dataclass(frozen=True, slots=True)
class Instruction:
    """A sentence that says how to work."""

    text: str  # one line; includes the sentence before if it refers to it
    weight: float  # how clearly it states a rule: from ``LEAST``, rarely above 6
    fails: str = ""  # the check it reports as failing; empty for other sentences
    standing: bool = False  # it says that it applies from now on


def instructions_in(own: str) -> Iterator[Instruction]:
    """The sentences of a message that say how to work, in order.

    ``own`` is what the person wrote themselves, without quotations and pasted text
    (``provenance.spoken.own_and_quoted``).
    """
    length = len(own.split())
    if _NOT_OWN.match(own) or length > _MOST_OF_MESSAGE:
        return
    if length > _PASTED and not forms.PERSONAL.search(own):
        return
    sentences = list(_sentences(own))
    before = ""
    for sentence in sentences:
        parts = [_weighed(part, len(sentences), before) for part in _clauses(sentence)]
        found = max(filter(None, parts), key=lambda each: each.weight, default=None)
        if found is not None and found.weight >= LEAST:
            yield _with_context(found, before)
        before = sentence


def _points_back(sentence: str, before: str) -> bool:
    """Whether a sentence needs the one before it, and that one is short enough to include."""
    fits = 0 < len(before.split()) <= _CONTEXT_WORDS and "://" not in before
    return fits and forms.POINTS_BACK.match(sentence) is not None


def _with_context(instruction: Instruction, before: str) -> Instruction:
    if instruction.fails or not _points_back(instruction.text, before):
        return instruction
    joined = f"{before}{'' if before.endswith(('?', '.', '!')) else ';'} {instruction.text}"
    return Instruction(
        joined, round(instruction.weight - _POINTED, 2), instruction.fails, instruction.standing
    )


def _sentences(own: str) -> Iterator[str]:
    lines = (" ".join(line.split()) for line in _CODE.sub(" ", own).split("\n"))
    for raw in (part for line in lines for part in _SPLIT.split(line)):
        text = _BULLET.sub("", raw, count=1) if _BULLET.match(raw) else raw
        text = forms.SIGNS.sub("", text).strip()
        if command := _COMMAND.match(text):
            text = text[command.end() :]
        if lead := forms.LEAD.match(text):
            text = text[lead.end() :]
        text = " ".join(text.split()).strip(" –—,.:-")
        text = "".join(character for character in text if character.isprintable())
        if text:
            yield text


def _clauses(sentence: str) -> Sequence[str]:
    """A sentence, and its clauses that could stand on their own."""
    return sentence, *(() if forms.WHERE.match(sentence) else forms.CLAUSE.split(sentence)[1:])


def _weighed(sentence: str, count: int, before: str) -> Instruction | None:
    """Scores a sentence of a message of ``count`` sentences; ``None`` if it asks for nothing."""
    length = len(sentence.split())
    is_short = length < 2 and (sentence.isascii() or len(sentence) < _LETTERS)
    is_long = length > _MOST_WORDS or len(sentence) > _MOST_CHARACTERS
    if is_short or is_long or not stems(sentence):
        return None
    fails = forms.FAILS.fullmatch(sentence) if length <= 14 else None
    if fails:
        return Instruction(sentence, 2.6, fails["what"].casefold())
    onward = forms.ONWARD.match(sentence)
    rest = sentence[onward.end() :] if onward else sentence
    occasion = forms.OCCASION.match(rest)
    clause = occasion or forms.WHERE.match(rest)
    body = rest[clause.end() :] if clause else rest
    about = f"{before} {rest}" if _points_back(rest, before) else rest
    how = len({found.casefold() for found in (*forms.HOW.findall(about), *forms.CONDUCT.findall(about))})
    either = forms.EITHER.search(about) is not None
    main = forms.ASIDE.sub(" ", sentence)
    always = STANDING.search(main) is not None
    contrasts = forms.CONTRAST.search(main) is not None and not forms.ONCE.match(body)
    wide = occasion is not None or contrasts or forms.WIDE.search(main) is not None
    standing = always or wide
    declines = forms.DECLINES.match(body) is not None and not always
    forbids = forms.PROHIBITION.match(body) is not None
    sure = forms.SURE.search(sentence) is not None
    chooses = forms.CHOICE.match(body) is not None
    asks = not declines and (forms.REQUEST.match(body) or forms.PLEASE.search(sentence)) is not None
    reminds = forms.REMINDER.match(body) is not None
    does = forms.VERB.match(body) is not None
    harms = forms.HARM.match(body) is not None
    if not (standing or forbids or chooses or asks or reminds or does or declines or harms):
        return None
    is_question = sentence.endswith(("?", "？"))
    if is_question and not (asks or reminds):
        return None
    is_wish = standing and forms.UNLESS_ASKED.search(sentence) is not None
    if forms.ASKED.match(body) and not (reminds or forbids or is_wish):
        return None
    if (forms.NO_WISH.match(body) or forms.PROGRESS.match(body)) and not standing:
        return None
    if not (
        how or either or standing or forbids or harms or sure or (chooses and forms.COMPARED.search(sentence))
    ):
        return None
    quality = forms.QUALITY.search(body) is not None
    manner = forms.MANNER.search(sentence) is not None
    form = 1.8 * always + (wide and not always) + 1.6 * (forbids + harms) + 1.3 * (chooses + reminds)
    form += 0.7 * (sure + asks + declines) + 0.5 * does
    weight = min(form, 3.2) + 0.7 * manner + 0.7 * quality
    weight += 0.7 + 0.3 * min(how, 3) if how else 0.0 if either else -0.3 if standing else -1.2
    if forms.ONCE.match(body) and not (standing or forbids or quality):
        weight -= 0.6 if manner else 1.3
    is_meant = forbids or chooses or asks or does or reminds or forms.MEANT.search(sentence)
    if standing and not is_meant:
        weight -= 1.8
    weight += 0.4 * (count == 1 and length <= 12)
    weight += 0.5 * (forms.GENERIC.search(sentence) is not None)
    weight += 0.3 * (standing or sure or forms.OUGHT.match(body) is not None)
    weight -= 1.2 * declines + 0.7 * (is_question or forms.POLITE.match(body) is not None)
    weight -= sum(each * min(most, len(sign.findall(about))) for sign, each, most in _AT_HAND)
    weight -= 1.2 * (forms.OF_PRODUCT.match(body) is not None and not how)
    weight -= 0.05 * max(0, length - 12) + 0.15 * max(0, count - 3)
    return Instruction(sentence, round(weight, 2), standing=standing or forbids or chooses)
