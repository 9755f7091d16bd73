"""Recognises in a person's message the sentences that say how to work, and how plainly each makes a rule.

A rule that people give their agents has a form (it forbids, chooses, asks, reminds), it is about the way of
working rather than about the thing that is made, it says how and not only that something be done, and it does
not point at what is on the screen at the moment. Each of these counts; none decides alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.rules import forms
from engine.rules.alike import stems

LEAST = 0.5
"""Weight from which a sentence is kept as a saying; a rule needs more, see ``engine.rules.rulebook``."""
PLAIN = 3.0
"""Weight of a sentence that needs nothing else to be a rule."""

_MOST_WORDS = 30
_MOST_OF_MESSAGE = 250
_PASTED = 20
"""Words of a message from which one in which nobody is addressed is taken for a text of somebody else's."""
_CONTEXT_WORDS = 14
_LETTERS = 4
"""Characters from which what has no space in it may be a sentence: some languages part no words."""

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SPLIT = re.compile(r"(?<=[.!?。！？])\s+|\n+|\s+->\s+|\s+[-–—]+\s+(?=\w)|;\s+")
_BULLET = re.compile(r"\s*(?:[-*•>]+|\d+[.)])\s+")
_COMMAND = re.compile(r"(?:CMD )?/[\w:-]+\s*")
_MACHINE = re.compile(
    r"\[Request|<[a-z-]+>|Operation stopped by hook|Implement the following plan"
    r"|This session is being continued|Base directory|User has answered your"
)


@dataclass(frozen=True, slots=True)
class Saying:
    """A sentence of a person that says how to work."""

    text: str  # one line; with the sentence before where it points back to it
    weight: float  # how plainly it makes a rule: ``LEAST`` and more, rarely above 6
    fails: str = ""  # the check that it says fails; empty for any other sentence
    standing: bool = False  # it says itself that it holds from now on


def sayings_in(own: str) -> Iterator[Saying]:
    """The sentences of a message that say how to work, in order.

    ``own`` is what the person has written themselves, without quotations and what was pasted
    (``provenance.spoken.own_and_quoted``).
    """
    length = len(own.split())
    if _MACHINE.match(own) or length > _MOST_OF_MESSAGE:
        return
    if length > _PASTED and not forms.PERSONAL.search(own):
        return
    sentences = list(_sentences(own))
    before = ""
    for sentence in sentences:
        found = _weighed(sentence, len(sentences))
        if found is not None and found.weight >= LEAST:
            yield _with_context(found, before)
        before = sentence


def _with_context(saying: Saying, before: str) -> Saying:
    if saying.fails or not before or len(before.split()) > _CONTEXT_WORDS or "://" in before:
        return saying
    if not forms.POINTS_BACK.search(saying.text):
        return saying
    joined = f"{before}{'' if before.endswith(('?', '.', '!')) else ';'} {saying.text}"
    return Saying(joined, saying.weight, saying.fails, saying.standing)


def _sentences(own: str) -> Iterator[str]:
    for raw in _SPLIT.split(_CODE.sub(" ", own)):
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


def _weighed(sentence: str, count: int) -> Saying | None:
    """A sentence of a message that has so many; ``None`` for one that asks for nothing."""
    length = len(sentence.split())
    is_short = length < 2 and (sentence.isascii() or len(sentence) < _LETTERS)
    if is_short or length > _MOST_WORDS or not stems(sentence):
        return None
    fails = forms.FAILS.fullmatch(sentence) if length <= 14 else None
    if fails:
        return Saying(sentence, 2.6, fails["what"].casefold())
    clause = forms.WHERE.match(sentence)
    body = sentence[clause.end() :] if clause else sentence
    how = len({found.casefold() for found in forms.HOW.findall(sentence)})
    standing = forms.STANDING.search(sentence) is not None
    forbids = forms.PROHIBITION.match(body) is not None
    chooses = forms.CHOICE.match(body) is not None
    asks = forms.REQUEST.match(body) is not None or forms.PLEASE.search(sentence) is not None
    reminds = forms.REMINDER.match(body) is not None
    does = forms.VERB.match(body) is not None
    if not (standing or forbids or chooses or asks or reminds or does):
        return None
    if sentence.endswith(("?", "？")) and not (asks or reminds):
        return None
    is_wish = standing and forms.UNLESS_ASKED.search(sentence) is not None
    if forms.ASKED.match(body) and not (reminds or forbids or is_wish):
        return None
    if forms.NO_WISH.match(body) and not standing:
        return None
    if not (how or standing or forbids or (chooses and forms.COMPARED.search(sentence))):
        return None
    quality = forms.QUALITY.search(body) is not None
    manner = forms.MANNER.search(sentence) is not None
    form = 1.8 * standing + 1.6 * forbids + 1.3 * chooses + 0.7 * asks + 0.5 * does + 1.3 * reminds
    weight = min(form, 3.2) + 0.7 * manner + 0.7 * quality
    weight += 0.7 + 0.3 * min(how, 3) if how else -0.3 if standing else -1.2
    if forms.ONCE.match(body) and not (standing or forbids or quality):
        weight -= 0.6 if manner else 1.3
    if standing and not (forbids or chooses or asks or does) and not forms.MEANT.search(sentence):
        weight -= 1.8
    weight += 0.4 * (count == 1 and length <= 12)
    weight -= 0.7 * min(3, len(forms.PARTICULAR.findall(sentence)))
    weight -= 0.45 * min(3, len(forms.NOW.findall(sentence)))
    weight -= 0.05 * max(0, length - 12) + 0.15 * max(0, count - 3)
    return Saying(sentence, round(weight, 2), standing=standing or forbids or chooses)
