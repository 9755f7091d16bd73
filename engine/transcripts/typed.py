"""Decides which parts of a person's message they plainly typed themselves (robustness M3).

Nothing marks a paste for certain, so the decision goes the other way round: what is plainly typed counts, and
all else waits with the reason. Plainly typed is a single line, or some in lower case or of which each further
one adds a wish, without the form of another's text: no code, quotation, diff, table, header, sign-off, log or
list with capitals around it, no name or title by itself, no line that announces it, breaks off or asks about
it, no sentence of another style within the line, and none of the signs of a page. A request and a
sentence below it, each with a capital, wait: nothing tells a decision that was typed from a text that was
pasted to be corrected. No list of phrases lets a text count as another's; the only one names what announces
the person's own words. A line that begins as comments do, names its sender or stands without an end right
below a sentence waits too, and so does what follows a message that breaks off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Literal

from engine.startup.lazy import expression
from engine.transcripts.injected import BY_PROGRAM
from engine.transcripts.turn import ANSWER, COMMAND, CORRECTION, PLAN, Turn

MOST_WORDS = 220
"""Words of a message from which all of it may be a paste."""

_END = "\n"
_MOST_CHARACTERS = 4_000
_MOST_LINES = 12
_LEAD_CHARACTERS = 160
_LABEL_WORDS = 3
"""Words of a label before a colon, or of what is no text of its own behind one."""
_NAME_WORDS = 2
_ANNOUNCED = "follows words that announce a text"
_LISTED = "in a list"
_STYLES = "is one of several lines that may have different authors"
_COPIED_MARK = "has signs that a page has beside its text"
_CODE = "in a block of code"
_MACHINE_MADE = "looks like code or a program's output"
_DOCUMENT = "in a document with headings"
_QUOTED_LINE = "in a quotation"
_HEADED = "stands with a name, a date or a header of another's text"
_FIELDS = "stands between lines that begin with names or labels"
_SIGNED = "stands above a signature"
_LOGGED = "stands beside a program's output"
_MARKED = "begins with a mark, as comments and quotations do"
_SENT = "stands with the name of who may have written it"
_BETWEEN = "stands between parts of another's text"
_LONG = "too long to be plainly typed"
_LINES = "too many lines to be plainly typed"
_DOUBTS = frozenset({_ANNOUNCED, _LISTED, _STYLES, _FIELDS, _MARKED, _SENT, _COPIED_MARK})
"""What a person's own text may look like too."""
_UNCERTAIN = _DOUBTS | {_BETWEEN, _LOGGED, _LONG, _LINES}
_ELSEWHERE = frozenset({_CODE, _QUOTED_LINE})
"""What is apart from the lines around it."""
_WIDE_CHARACTERS = 3
"""Characters that make about a word in a language without spaces."""

Style = Literal["lower", "other", ""]
"""How a line begins: in lower case, as people type in haste (in a script without case: it has no end); with a
capital (or has an end); or with something that tells nothing."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of a message."""

    text: str
    why: str = ""  # why it may be another's text, one clause; empty if it is plainly typed

    @property
    def is_uncertain(self) -> bool:
        """True if the person may have written it: it has no certain form of another's text."""
        return self.why in _UNCERTAIN

    @property
    def is_letter(self) -> bool:
        """True if it is a message of somebody else, by the head or the end."""
        return self.why in (_HEADED, _SIGNED)

    @property
    def is_quotation(self) -> bool:
        """True if its lines are marked as a quotation."""
        return self.why == _QUOTED_LINE

    def may_go_on(self, *, in_lines: bool) -> bool:
        """True if the next message may belong to it, being the last of a message; ``in_lines`` of several.

        A single line under a name, as in the notes of a call, has an end.
        """
        if self.is_uncertain:
            return in_lines and self.why == _ANNOUNCED
        return bool(self.why) and not self.is_quotation


@dataclass(slots=True)
class Pastes:
    """Tells of a conversation's turns, one by one, which may go on with a text that was pasted before, or are
    a message to the person.
    """

    names: frozenset[str] = frozenset()  # what the person is called, in lower case
    is_open: bool = False  # whether a paste may go on in the next message, if nobody answers
    is_unfinished: bool = False  # whether it does so whatever is answered

    def goes_on(self, turn: Turn) -> bool:
        """True if a turn may belong to another's text that began in an earlier message of the person,
        or begins with what the person is called.
        """
        if turn.role == "agent" and turn.is_dialogue and (turn.text or turn.tools):
            self.is_open = False
        if turn.role != "user" or not turn.is_dialogue:
            return False
        goes_on = self.is_open or (self.is_unfinished and turn.kind in ("", CORRECTION))
        to = _ADDRESSED.match(turn.text)
        goes_on |= to is not None and (to["name"] or to["at"]).casefold() in self.names
        said = passages_of(turn)
        self.is_open |= bool(said) and said[-1].may_go_on(in_lines=_END in _in_lines(turn.text).strip())
        self.is_unfinished = bool(said) and _is_unfinished(turn.text, said[-1])
        return goes_on


def typed_in(turn: Turn, *, goes_on: bool = False) -> str:
    """What the person plainly typed in a turn; empty for what an agent, a tool or a program wrote, and if it
    ``goes_on`` with a text that was pasted before.
    """
    return "" if goes_on else "\n".join(passage.text for passage in passages_of(turn) if not passage.why)


def doubted_in(turn: Turn, *, goes_on: bool = False) -> list[Passage]:
    """What the person may have typed or pasted: it lacks the form of a mail, code or a program's text."""
    if goes_on:
        return [Passage(passage.text, _ANNOUNCED) for passage in passages_of(turn)]
    return [passage for passage in passages_of(turn) if passage.why in _DOUBTS]


def passages_of(turn: Turn) -> tuple[Passage, ...]:
    """The passages of what a person wrote; none of a choice in a form, a plan, or another's turn."""
    if turn.role != "user" or not turn.is_dialogue or turn.kind == PLAN:
        return ()
    if turn.kind == ANSWER:  # the agent wrote the questions and what may be chosen
        answers = map(_NOTE.fullmatch, _NEXT_ANSWER.split(turn.text))
        return tuple(each for found in answers if found is not None for each in passages(found["note"]))
    # The first line is the command as typed; the rest is its expansion.
    return passages(_in_lines(turn.text).split(_END, 1)[0] if turn.kind == COMMAND else turn.text)


@lru_cache(maxsize=1)
def passages(message: str) -> tuple[Passage, ...]:
    """Splits a message into passages, in order, each plainly typed or with the reason why it may not be.

    Quoted sentences within a typed line are left out.
    """
    found: list[Passage] = []
    before = -1
    for number, part, why in _parts(message):
        text = part if why else without_quotations(part)
        if found and found[-1].why == why:
            text = f"{found[-1].text}{'' if number == before else _END}{text}"
            found[-1] = Passage(text, why)
        else:
            found.append(Passage(text, why))
        before = number
    return tuple(found)


def lines_of(message: str) -> list[Passage]:
    """The lines of a message, each with its doubt; no part of one that is in doubt is left out."""
    lines = [Passage(line) for line in _in_lines(message).split(_END)]
    for number, _, why in _parts(message):
        if why and not lines[number].why:
            lines[number] = Passage(lines[number].text, why)
    return lines


def _is_unfinished(message: str, last: Passage) -> bool:
    """True if a message, whose last passage is given, breaks off within another's text or before one."""
    lines = _in_lines(message).rstrip().split(_END)
    fence = ""
    for line in lines:
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
        elif (opened := _FENCE.match(line)) is not None:
            fence = opened[1]
    line = lines[-1]
    is_within = bool(last.why) and _BREAKS_OFF.search(line) is not None
    announces = _announces(line) and not _has_own_lead(line)
    return bool(fence) or is_within or announces or _OPEN_QUOTATION.search(line) is not None


def without_quotations(text: str) -> str:
    """A text without quoted sentences; quoted names and literals stay."""
    return _QUOTED.sub(" ", text)


def quotations_in(text: str) -> list[str]:
    """The quoted sentences in a text."""
    return [match[0] for match in _QUOTED.finditer(text)]


def _in_lines(message: str) -> str:
    """A message in which each of Unicode's line ends is a line feed."""
    return _LINE_END.sub(_END, message)


def _parts(message: str) -> Iterator[tuple[int, str, str]]:
    """Each line of a message, or part of one, with the line's number from 0 and the doubt about it."""
    message = _in_lines(message)
    lines = message.split(_END)
    if BY_PROGRAM.search(message):
        whole = "written by a program"
    elif len(message) > _MOST_CHARACTERS or _words(message) > MOST_WORDS:
        whole = _LONG
    else:
        numbered = [(number, part) for number, line in enumerate(lines) for part in _before_lead(line)]
        whys = _whys(numbered)
        for (number, part), why in zip(numbered, whys, strict=True):
            if not why:
                yield from ((number, sentence, doubt) for sentence, doubt in _sentences(part))
                continue
            # A question states nothing.
            asks = why in (*_DOUBTS, _BETWEEN)
            for sentence in _SENTENCE_GAP.split(part) if asks else (part,):
                yield number, sentence, "" if asks and _is_question(sentence) else why
        return
    yield from ((number, line, whole) for number, line in enumerate(lines))


def _sentences(line: str) -> Iterator[tuple[str, str]]:
    """The sentences of a line without a doubt, each with its own: beside one in lower case, one with a
    capital and an end may be pasted.
    """
    if _COPIED.search(line) is not None:
        yield line, _COPIED_MARK
        return
    sentences = _SENTENCE_GAP.split(without_quotations(line))  # a quotation may have several
    styles = ["" if _WIDE.search(each) else _style(each) for each in sentences]
    is_mixed = sorted(styles) == ["lower", "other"]
    for sentence, style in zip(sentences, styles, strict=True):
        is_whole = style == "other" and _ENDS.search(sentence) is not None and not _is_question(sentence)
        yield sentence, _STYLES if (is_mixed and is_whole) or _holds_sentence(sentence) else ""


def _holds_sentence(text: str) -> bool:
    """True if a text that begins in lower case has the end of a sentence and, of several words, one capital
    within, as where a sentence was put behind one's own words: "the label should read Always test first."
    """
    if not text.lstrip()[:1].islower() or not _STOPS.search(text):
        return False
    words = (each for each in _SPACED.finditer(text) if each[0][0].isupper())
    begun = [each for each in words if _TELLS_NOTHING.match(each[0]) is None]
    return len(begun) == 1 and _WITHIN_LINE.match(text, begun[0].start()) is not None


def _words(text: str) -> int:
    return len(text.split()) + len(_WIDE.findall(text)) // _WIDE_CHARACTERS


def _before_lead(line: str) -> Iterator[str]:
    """A line, split before the sentence that announces another's text."""
    lead = _lead_of(line)
    start = lead.start() if lead is not None else 0
    if lead is not None and (word := _WITHIN.match(line, start)) is not None:  # in a very long sentence
        start = word.end() if word.end() < lead.end("lead") - 1 else 0
    if _FIRST.search(line[:start]):
        yield line[:start]
        yield line[start:]
    else:
        yield line


def _lead_of(line: str) -> re.Match[str] | None:
    """The words before a colon and those behind it; a colon in a literal is none."""
    colon = _COLON.search(line)
    if colon is None:
        return None
    line = _OF_NAMES.sub(lambda found: found[0].replace(":", "_"), line)
    line = _NAMED.sub(lambda found: "`" + "_" * (len(found[0]) - 2) + "`", line)
    return _LEAD.search(line, max(0, colon.start() - _LEAD_CHARACTERS))  # slow where no colon follows


def _whys(numbered: list[tuple[int, str]]) -> list[str]:
    """For each part of a line, why it may be another's; empty for none."""
    lines = [part for _, part in numbered]
    whys = _Marks(lines).all()
    said = [number for number, line in enumerate(lines) if line.strip()]
    parts = [numbered[place] for place in reversed(said) if whys[place] in ("", _STYLES)]
    own = list(dict(parts).values())  # the first part of each line
    fields = [_FIELD.match(line) is not None for line in lines]
    whole = ""
    headers = [place for place in said if whys[place] not in _ELSEWHERE and _is_header(lines[place])]
    if headers:
        is_log = all(whys[place] == _MACHINE_MADE for place in headers)
        whole = _LOGGED if is_log else _HEADED
    elif any(map(all, pairwise(fields))):
        whole = _FIELDS
    elif _SIGN_OFF.search("\n".join(lines)):
        whole = _SIGNED
    elif len(own) > _MOST_LINES:
        whole = _LINES
    # A question above or below a text may be about it.
    ends = (lines[place] for place in said[:1] + said[-1:])
    asks = any(_is_question(line) and not _ITEM.match(line) for line in ends)
    listed = set() if asks else set(_typed_items(lines))
    plain = [line for line in own if line not in listed]
    is_doubtful = len(plain) > 1 and not (_is_in_lower_case(plain) or all(map(_GOES_ON.match, plain[:-1])))
    if len({numbered[place][0] for place in said}) > 1:
        titles = plain if len(plain) > 1 else []
        made = [whys[place] in (_MACHINE_MADE, _DOCUMENT, _MARKED) for place in said]
        is_doubtful |= any(map(_has_short_text, plain))
        is_doubtful |= asks or any(map(_may_be_name, [*titles, lines[said[-1]]])) or _has_one_alone(made)
    output = {
        below
        for above, below in pairwise(range(len(lines)))
        if whys[above] == "" and numbered[above][0] != numbered[below][0]
        if _may_be_output(lines[above], lines[below])
    }
    is_mixed = any(why not in ("", *_ELSEWHERE) for why in whys)
    for number in said:
        if whole:
            whys[number] = whys[number] or whole
        elif lines[number] in listed:
            continue
        elif is_mixed and not whys[number] and said[0] < number < said[-1]:
            whys[number] = _BETWEEN
        elif (is_doubtful or number in output) and not whys[number]:
            whys[number] = _STYLES
        elif not whys[number] and _has_short_text(lines[number]):
            whys[number] = _ANNOUNCED
    return whys


def _may_be_name(line: str) -> bool:
    """True if a line may be the name or title of a person, a file or a text."""
    is_short = _words(line) <= _NAME_WORDS and _OPEN_END.search(line) is not None
    return is_short and not _ITEM.match(line) and not _has_own_lead(line)


def _has_own_lead(line: str) -> bool:
    lead = _lead_of(line)
    return lead is not None and _is_own_lead(lead["lead"])


def _has_short_text(line: str) -> bool:
    """True if several words stand behind a colon that may announce them, unlike "in Project: Maple"."""
    lead = _lead_of(line)
    if lead is None or _is_own_lead(lead["lead"]):
        return False
    return _words(_LITERAL.sub("", lead["rest"])) > 1 and _is_told(lead["rest"])


def _is_told(rest: str) -> bool:
    """True if what stands behind a colon is more than names, such as H1, and no question."""
    named = _WORD.search(_NUMBERED.sub("", _LITERAL.sub("", rest))) is None
    return not named and not _is_question(rest)


def _is_own_lead(lead: str) -> bool:
    """True if the words before a colon announce the person's own words."""
    return _OWN_LEAD.search(lead) is not None or _OWN_CASE.search(lead) is not None


def _announces(line: str) -> bool:
    """True if a line ends with a colon, below which another's text may begin."""
    return line.rstrip().endswith((":", "："))


def _may_be_output(above: str, line: str) -> bool:
    """True if a line is no sentence and stands right below one, as a program's output may."""
    is_open = _OPEN_END.search(line) is not None and not _ITEM.match(line) and not _OWN_START.match(line)
    return is_open and _ENDS.search(above) is not None


def _has_one_alone(marks: list[bool]) -> bool:
    """True if a mark has none beside it, as a path above a text has, but not a line of a log."""
    around = [False, *marks, False]
    return any(around[place : place + 3] == [False, True, False] for place in range(len(marks)))


def _typed_items(lines: list[str]) -> list[str]:
    """The items of a list that the person may have typed: several, not all with a capital as in a document,
    no diff, and not below what may be the name of a person or a file.
    """
    items = list(filter(_ITEM.match, lines))
    is_diff = any(item.lstrip().startswith("+") for item in items)
    if len(items) < 2 or is_diff or "lower" not in map(_style, items):
        return []
    above = next(filter(str.strip, reversed(lines[: lines.index(items[0])])), "")
    if not above or _has_own_lead(above):
        return items
    if _announces(above) or not lines[lines.index(items[0]) - 1].strip():
        return []
    is_name = _words(above) <= _LABEL_WORDS or _MACHINE.match(above) is not None
    breaks_off = _lead_of(above) is None and _style(above) == "other" and _OPEN_END.search(above) is not None
    return [] if is_name or breaks_off else items


def _is_header(line: str) -> bool:
    return _HEADER.match(line) is not None or _STAMP.search(line) is not None


@dataclass(slots=True)
class _Marks:
    """Finds the form of another's text line by line."""

    lines: list[str]
    fence: str = ""
    tag: str = ""
    rest: str = ""  # why all that follows may be another's
    is_due: bool = False  # whether what was announced has not begun
    is_quoting: bool = False
    is_list: bool = False  # whether items may be another's
    is_typed_list: bool = False  # whether items may be the person's

    def all(self) -> list[str]:
        """For each line, the form of another's text that it has; empty for none."""
        self.is_typed_list = bool(_typed_items(self.lines))
        self.is_list = not self.is_typed_list and sum(map(bool, map(_ITEM.match, self.lines))) > 1
        return [self._mark(number) for number in range(len(self.lines))]

    def _mark(self, number: int) -> str:
        line = self.lines[number]
        was_quoting, self.is_quoting = self.is_quoting, False
        if not line.strip():
            return self.rest or (_CODE if self.fence else "")
        if self.fence:
            if line.strip().startswith(self.fence):
                self.fence = ""
            return _CODE
        if self.rest == _ANNOUNCED and self.is_due and self._is_block(line):
            self.rest = ""  # what was announced is the block
        if self.rest:
            self.is_due = False
            return _MACHINE_MADE if self.rest == _ANNOUNCED and _MACHINE.match(line) else self.rest
        if self.tag:
            if f"</{self.tag}" in line:
                self.tag = ""
            return _MACHINE_MADE
        if (opened := _FENCE.match(line)) is not None:
            self.fence = opened[1]
            return _CODE
        if _QUOTATION.match(line) or was_quoting:
            self.is_quoting = True
            return _QUOTED_LINE
        if _HEADING.match(line):
            self.rest = _DOCUMENT
            return _DOCUMENT
        if _MACHINE.match(line):
            opened = _TAG.match(line)
            if opened is not None and f"</{opened[1]}" not in line:
                self.tag = opened[1]
            if _announces(line) and self._follows(number):
                self.rest, self.is_due = _ANNOUNCED, True  # a file's name
            return _MACHINE_MADE
        if not _SENTENCE_START.match(line):
            return _MARKED
        if self.is_list and _ITEM.match(line):
            return _LISTED
        if _SENDER_AT_END.search(line):
            return _SENT
        return self._announced(line, follows=self._follows(number))

    def _is_block(self, line: str) -> bool:
        """True if a block of code, a quotation or a list that the person may have typed begins at a line."""
        is_typed = self.is_typed_list and _ITEM.match(line)
        return bool(is_typed or _FENCE.match(line) or _QUOTATION.match(line))

    def _follows(self, number: int) -> bool:
        return any(each.strip() for each in self.lines[number + 1 :])

    def _announced(self, line: str, *, follows: bool) -> str:
        """The doubt about a line that may announce a text, or have it behind a colon."""
        lead = _lead_of(line)
        if lead is not None:
            if _is_own_lead(lead["lead"]):
                return ""
            said = _words(_LITERAL.sub("", lead["rest"]))
            is_text = said > _LABEL_WORDS and _is_told(lead["rest"])
            if is_text or (follows and not said):
                self.rest, self.is_due = _ANNOUNCED, not said
            return _ANNOUNCED if is_text else ""
        sender = _SENDER.match(line)
        if sender is not None and not _OWN_START.match(line) and not _OWN_LEAD.search(sender["name"]):
            return _SENT
        if follows and _words(line) > 1 and _OPEN_END.search(line) and not _ITEM.match(line):
            self.rest, self.is_due = _ANNOUNCED, True
            return "" if _style(line) == "lower" else _STYLES
        return ""


def _style(line: str) -> Style:
    """How a line begins, apart from a bullet, or in a script without case how it ends. "I" and names such as
    LSP or CamelCase tell nothing.
    """
    style: Style = "lower"
    line = _BULLET.sub("", line)
    lead = _lead_of(line)
    if lead is not None and len(lead["lead"].split()) <= _LABEL_WORDS < _words(lead["rest"]):
        line = lead["rest"]  # a label tells nothing
    if _WIDE.search(line):
        return "other" if _ENDS.search(line) else "lower"
    for word in islice(_FIRST.findall(line), 2):
        if word[0].islower():
            return style
        if _TELLS_NOTHING.match(word) is None:
            return "other"
        style = ""
    return ""


def _is_in_lower_case(lines: list[str]) -> bool:
    styles = set(map(_style, lines))
    return "lower" in styles and "other" not in styles


def _is_question(text: str) -> bool:
    """True if a text only asks, which states nothing; "always use tabs, ok?" does more."""
    sentences = [each.rstrip(" \t\"'”’»)*_") for each in _SENTENCE_END.split(text) if _FIRST.search(each)]
    asks = all(each.endswith(("?", "？", "؟")) and not _TAG_QUESTION.search(each) for each in sentences)
    return bool(sentences) and asks


_ADDRESSED = expression(
    r"\s*(?:(?:[^\W\d_]{2,12} )?(?P<name>[^\W\d_]{3,24}) ?[,:，、!–—]|@(?P<at>[^\W\d_]{3,24})(?![\w./-]))"
)
"""Whom a message begins with: "hey Robin,", "Robin:" or "@robin"."""
_NEXT_ANSWER = expression(r"\n\n(?=Question: )")
_NOTE = expression(r"Question: [^\n]*\nAnswer: [^\n]*\nNote: (?P<note>(?:(?!\nAnswer: ).)*)", re.DOTALL)
_WIDE = expression(r"[぀-ヿ㐀-鿿가-힯]")
_STOPS = expression(r"[.!。！]\W*$")
_SPACED = expression(r"(?<!\S)[^\W\d_][\w'’-]*")
_WITHIN_LINE = expression(r"(?<=[\w)] )\S+(?:\s[a-z\d\u00df-\u00ff\u0430-\u044f]\S*){2}")
"""A word behind another, with two in lower case behind it."""
_COPIED = expression(
    r"[\u00a0\u2009\u202f•·]|\s[›»]\s|\[\d{1,3}\]|^\s*(?:→|\d{1,2}\.\d{1,2}\s|RT\s@)|\s<-+\s"
    r"|[.!?。！？]\s*(?:\([^\W\d_]+\)|#\w+(?:\s#\w+)*|\d{1,2}:\d\d(?:\s?[AaPp][Mm])?)\s*$"
)
"""What a page has and nobody types: a space of typesetting, a bullet, the marks of a footnote or a path in a
site; behind a sentence a time, tags, or a word in brackets."""
_FIRST = expression(r"(?<!\w)(?!\w[:)])[^\W\d_][\w'’-]*")
_WITHIN = expression(r"(?<=\w)\w+")
_WORD = expression(r"[^\W\d_]{2}")
_TELLS_NOTHING = expression(r"I(?:['’]\w+)?$|\w[\w'’-]*[A-Z]")
_BULLET = expression(r"^\s*(?:[-*+•]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_SENTENCE_END = expression(r"(?<=[.!?])\s+|(?<=[。！？])")
_SENTENCE_GAP = expression(r"(?<=[.!?])(?=\s)|(?<=[。！？])")
_TAG_QUESTION = expression(r"[,，、]\s*\S+(?:\s\S+)?[?？؟]$")
_ENDS = expression(r"[.!?。！？][\"'”’»)\]`*_]*\s*$")
_BREAKS_OFF = expression(r"[,:，：、]\s*$")
_OPEN_QUOTATION = expression(r"(?:^|\s)[\"“„«「『](?=\w)[^\"“”»」』]*$")
_OPEN_END = expression(r"[^\W_][\"'”’»)\]`*_,;–—-]*\s*$")
"""The end of a line that is no end of a sentence."""
_GOES_ON = expression(
    r"\s*(?:(?:and|und|et|y|e|и) )?(?:also|außerdem|aussi|también|anche|também|также|ещё|еще)\b"
    r"(?=.*\b(?:(?-i:I)|my|me|let['’]?s|please|ich|mir|bitte|je|moi|quiero|yo|voglio|quero|eu|я|мне|мой|хочу)\b)",
    re.IGNORECASE,
)
"""Adds a wish to what was said before, as no text that somebody pastes begins."""
_LITERAL = expression(r"`[^`\n]*`")
_NAMED = expression(r"`[^`\n]*`|(?<!\S)\"[^\"\n]{1,80}\"|(?<!\S)'[^'\n]{1,80}'(?!\w)")
"""A literal, or the name of something in quotation marks: the "Week 1: setup" page."""
_NUMBERED = expression(r"(?<!\S)[A-Za-z]{0,3}[-#]?\d[\w.#-]*(?!\w)")
"""The name of one of several, such as H1, v2.1 or T-17."""
_LINE_END = expression(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HEADING = expression(r" {0,3}(?:#{1,6}\s|={3,}\s*$|-{3,}|\*{3,}\s*$)")
_TAG = expression(r"\s*<([A-Za-z][\w-]*)")
_FENCE = expression(r" {0,3}(`{3,}|~{3,})")
_QUOTATION = expression(r" {0,3}(?:>(?! \[(?:tool|attachment|knowledge):)|\|\s*>|&gt;)")
_ITEM = expression(r"\s*(?:[-*+•]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+\S")
_MACHINE = expression(
    r"\s*(?:</?[A-Za-z][\w-]*(?:\s[^<>]{0,200})?>|\|.*\||@@|diff --git|[+-]{3} \S|[+-][^\s+-]"
    r"|[+-]\s+\S.{0,200}(?:[;{}(]|\(\))\s*$|Traceback \(|File \"|at [\w.$<>]+\(|\$ \w|\w+@[\w.-]+[:~]"
    r"|[\w./-]*\w\.\w{1,4}(?::\d+)?:?\s*$|https?://\S+\s*$|\[?\d{1,4}[-:./]\d\d|={3,}|-{3,}|\*{3,}"
    r"|(?:\w+: )?[\w.]*(?:Error|Exception|Warning)\b.{0,20}:\s|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL)\b"
    r"|(?: {4}|\t)\S|.*[{};]\s*$)"
)
"""Code, markup, a diff, a table, a path, an address or a log line."""
_HEADER = expression(
    r"\s*[*_>]*[^\W\d_][^\n:：]{0,24}[*_]*[:：][*_]*\s+\S+@\S+"
    r"|\s*(?:[\w.-]{1,30}>|\S+@\S+\.\w+)\s+\S"
    r"|\s*(?:\*\*)?@?[\w.-]{1,30}(?:\*\*)?\s+(?:[^\W\d_]+\s+){0,3}\d{1,3}\s*[^\W\d_]{1,10}\s+ago\b"
    r"|\s*> \[(?:tool|attachment|knowledge):"
    r"|\s*(?:\*\*)?@[\w.-]{2,30}(?:\*\*)?\s*(?:[:：](?!\d)|$|\w+ed\b)"
)
_FIELD = expression(r"\s*[*_>]*[^\W\d_][^\n:：.!?]{0,20}[*_]*[:：]\s*\S")
"""Two of these in a row are the head of a mail, or a dialogue."""
_STAMP = expression(
    r"^(?=[^\n]{0,60}\d)(?:\S{1,30}[ \t]+){0,4}[^\w\s]{0,3}"
    r"(?:(?:\d{1,2}:\d{2}(?::\d{2})?\s*(?:[AaPp][Mm])?\b|\d{4}-\d\d-\d\d\b(?!-)"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4}\b)[^\n.!?]{0,20})(?:$|[:：\]>-])"
)
_SIGN_OFF = expression(
    r"\n[ \t]*(?:(?:[^\n.!?:]{1,24},\s*\n\s*|-\s*)(?![぀-ヿ㐀-鿿가-힯]{6})(?-i:[^\W\d_a-z])"
    r"|(?:--|[–—])\s*[^\W\d_])[\w.'’-]*(?:"
    r" [^\W\d_][\w.'’-]*){0,2}\s*$"
)
"""A greeting with a comma and a name below it, or a name after a dash; six letters in a row that are words by
themselves are no name."""
_SENTENCE_START = expression(
    r"(?! \* )[\s\x00-\x1f]*(?:[-*+•–—]\s|\.{3,}|…|!\s(?=[a-z])|[:;]-?[)(DP]\s)?\s*(?:\[[ xX]?\]\s+)?"
    r"(?!//|#!|REM\s|\[(?P<tag>\w+)[^\]\n]{0,80}\].*\[/(?P=tag)\]"
    r"|(?=\d{0,40}[a-f])(?=[a-f]{0,40}\d)[0-9a-f]{7,40}\s"
    r"|\S[^\n\t]{0,200}\t|\d[^\s,]{0,40},[^\s,]{1,80},\S|[A-Z_]{2,40}=\S)"
    r"[\"'“”„«»‘’`(\[@#~$/.\\<¿¡*_!（「『-]{0,4}\w"
)
"""A letter or a digit behind at most a bullet and a few signs that open something: no mark of a comment, of
a quotation or of a program's output, and no commit, row of a table or setting.
"""
_SENDER = expression(
    r"\s*(?P<name>[^\W\d_][\w.'’]{0,30}|[^\W\d_a-z]\w{0,30}(?: [^\W\d_a-z]\w{0,30}){1,2})"
    r"\s+(?:[-–—]{1,2}>?|[|»→]|=?>)\s+\S"
)
"""A name before a dash or an arrow: who sent the rest."""
_SENDER_AT_END = expression(
    r"(?:[.!?。！？]\s*|\s)[-–—]{1,2}\s?[^\W\d_a-z][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}\s*$"
    r"|[.!?。！？]\s*(?:[-–—]{1,2}\s?|[^\s.!?,][^\n.!?,]{0,24},\s*)[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*)?\s*$"
)
"""A name behind a dash at the end of a line, or behind a greeting."""
_COLON = expression(r"[:：]")
_OF_NAMES = expression(r"\b[a-z]{1,12}:(?:,? (?:or )?[a-z]{1,12}:){1,8}")
"""Words with a colon that belongs to them: "prefix commits with feat:, fix: or docs: and a scope"."""
_LEAD = expression(
    rf"(?P<lead>(?:[^:：\n.!?。！？]|(?<=\w)\.(?=[^\W_])){{2,{_LEAD_CHARACTERS}}})(?::(?=\s|$)|：)(?P<rest>.*)$"
)
_FILLER = r"^\W*(?:(?:and|but|also|so|then|now|ok|und|aber|et|mais|y|pero|e),? )*"
_OWN_START = expression(
    r"\W*(?:and|but|also|so|then|now|ok(?:ay)?|yes|yeah|yep|no|nope|actually|sorry|und|aber|ja|nein|et|mais|oui"
    r"|non|y|pero|sí|e|sim|да|нет|и|но)\b",
    re.IGNORECASE,
)
"""Goes on with what the person said, or answers the agent."""
_OWN_CASE = expression(
    rf"{_FILLER}(?:for|when|whenever|before|after|any\w*|every|each|if|from now|für|bei|vor|nach|pour"
    r"|avant|après|para|antes|quando|voor|bij|для|при)"
    r"(?: (?:the|an?|all|each|every|my|our|de[rsmn]|die|das|alle|les?|la|el|los|las))?(?: [^\s,]+){1,2}\W*$",
    re.IGNORECASE,
)
"""Says when or for what an order holds: "for the tests". More words may tell who wrote it."""
_OWN_LEAD = expression(
    rf"{_FILLER}"
    r"(?:(?:please |bitte )?(?:forget|drop|vergiss|oublie|olvida) (?:the |die |la )?"
    r"(?:rule|regel|règle|regla)\W*$"
    r"|(?:(?:my|our|some|one|two|three|a few|more|new|another|general|small|quick|last|final|unsere?|meine?"
    r"|noch|nos|mes|mis|nuestras?) (?:\w+ (?=rule|thing|convention|guideline|instruction|preference))?)*"
    r"(?:rules?|things?|notes?|reminder|remember|conventions?|guidelines?|instructions?"
    r"|points?|requests?|preferences?|updates?|practices?|standards?|requirements?|habits?|policy"
    r"|important|please|also|todo|fyi|btw|ps|regeln?|wichtig|merke?(?: dir)?|règles?|reglas?|regras?"
    r"|recuerd[ae]|recordá|acordate|importante|lembr[ae]|atenção|ricorda(?:ti)?|regola|retiens|rappel|onthoud"
    r"|pamiętaj|zapamiętaj|ważne|zasada|(?:za)?pamatuj(?: si)?|důležité|pravidlo|запомни(?:те)?|помни"
    r"|важно|правило"
    r"|запам['’]ятай(?:те)?|пам['’]ятай|важливо|unutma|önemli|kural|kom ihåg|viktigt|nhớ|lưu ý|تذكر|مهم|قاعدة"
    r"|[请請]?[记記]住|[请請][记記]得|注意|[规規][则則]|重要|覚えて(?:おいて)?|ルール|기억해(?:줘)?|규칙|중요"
    r"|facts?|lessons?(?: learned)?|learned|note to self|decisions?|decided|tasks?|action item|done"
    r"|open(?: question)?|playbook|runbook|file|fakt|tatsache|lehre|entscheidung|beschluss|aufgabe|erledigt"
    r"|offene?(?: frage)?|anleitung|datei|(?:follow[- ]?up )?question|idea|thought|anyway|next|thinking|frage"
    r"|idee|idée|pregunta)"
    r"(?: (?:here|first|again|(?:for|to|in|on|with) (?:\w+ ){0,3}\w+))?\W*$"
    r"|(?:fix |there(?:['’]s| is) )?(?:another|an?|one|one more) (?:new |other |small |similar )?"
    r"(?:bug|issue|problem|approach|option)\W*$"
    r"|(?:I|we)(?:['’]d like| would like| want| need) .*\bto (?:be|have|show|contain|include)\W*$"
    r"|(?:я )?(?:хочу|нужно),? чтобы .*\bбыл[аои]?\W*$"
    r"|(?:\S+ ){0,3}(?:from now on|going forward|ab (?:sofort|jetzt)|de ahora en adelante|désormais"
    r"|d['’]ora in poi|vanaf nu|od te(?:ď|raz)"
    r"|с этого момента|відтепер|bundan sonra|från och med nu)\W*$"
    r"|(?:\S+ )?(?:then|so|that is|namely|e\.g|for example|i\.e)\W*$"
    r"|(?:.*, )?(?:\S+ ){0,3}(?:(?:my|our) (?:\w+ )?\w+ is|(?:I|we)(?:['’]d| would)?(?: also| just| really)?"
    r" (?:mean|meant|want|need|prefer|propose|suggest|like)(?: is)?|ich (?:meine|will|möchte)"
    r"|je (?:veux(?: dire)?|propose))\W*$)",
    re.IGNORECASE,
)
"""Announces the person's own words. Every other text before a colon may announce someone else's."""
_QUOTED = expression(
    r"[\"“„](?=(?:[^\s\"“”„]{1,80}\s+){2}|[^\"”\n]{0,80}[぀-ヿ㐀-鿿가-힯]{5})[^\"“”„\n]{8,2000}[\"”“]?"
    r"|”(?=(?:[^\s”]{1,80}\s+){2})[^”\n]{8,2000}”"
    r"|«(?=\s?(?:[^\s»]{1,80}\s+){2})[^»\n]{8,2000}»?|»(?=(?:[^\s«»]{1,80}\s+){2})[^«»\n]{8,2000}[«»]"
    r"|(?<!\w)['‘](?=(?:[^\s'’]{1,80}\s+){3})(?:[^'’\n]|(?<=\w)['’](?=\w)){12,2000}['’](?!\w)"
    r"|[「『｢《〈][^」』｣》〉\n]{6,2000}[」』｣》〉]?"
    r"|[‹❛❝〝＂‟‚](?=(?:[^\s›❜❞〞＂‘]{1,80}\s+){2}|[^›❜❞〞＂‘\n]{0,80}[぀-ヿ㐀-鿿가-힯]{5})"
    r"[^›❜❞〞＂‘\n]{8,2000}[›❜❞〞＂‘]?"
    r"|``(?=(?:[^\s'`]{1,80}\s+){2})[^`\n]{8,2000}?''"
    r"|!?\[(?=(?:[^\s\]]{1,80}\s+){2}|[^\]\n]{0,80}[぀-ヿ㐀-鿿가-힯]{5})[^\]\n]{8,2000}\]\("
    r"|<[A-Za-z][^<>\n]{0,200}>(?=(?:[^\s<>]{1,80}\s+){2}|[^<>\n]{0,80}[぀-ヿ㐀-鿿가-힯]{5})[^<>\n]{8,2000}</"
)
"""Quoted words, at least three: fewer are a name."""
