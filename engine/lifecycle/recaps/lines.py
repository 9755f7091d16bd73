"""What a session was about, in three to six lines, found without a model.

==========  ==============================================================================================
Line        says
==========  ==============================================================================================
Asked       the person's first request that can be understood later, in their words, and how it began
Then asked  their last one, or the last that was answered, if it is another
Decided     lines marked ``Decision:``; likewise Learned, lines marked ``Lesson:`` or ``Fact:``
Chose       the person's answers to the agent's questions, and what they chose in their own words
Changed     the files written most often, commits and pull requests
Done, Said  what the agent replied to the last request: of what it did, or in answer
Open        lines marked ``TODO:`` or ``Open:``, or else a question of the agent, a next step that it names
            or a request that was left at the end
==========  ==============================================================================================

``Then asked`` is the request that the last reply answers, if that can be understood later; what was asked
since is then open. ``Changed earlier`` is what was changed before the request that is named last. ``Done
earlier`` and ``Said earlier`` are of a reply that the person followed with something the agent has not
replied to, ``Done later`` and ``Said later`` of one to a message that is not named: none is the outcome of
that request.

Nothing is invented: every line quotes the session, shortened at a sentence. A session in which nothing was
asked, nothing was answered or nothing came of it has no recap. What may come from an outsider has no line
(M3); a message that may be pasted in part is quoted by the line that begins it.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.knowledge.category_files import plain
from engine.knowledge.harvest import proposals
from engine.knowledge.harvest.markers import is_labelled, marked
from engine.knowledge.harvest.reply import single
from engine.lifecycle.recaps.changes import TELLING_WORDS, changed_in, short_path, subject_of, writes
from engine.provenance.hold import doubt_of
from engine.provenance.instructions import is_hostile_act, is_takeover
from engine.provenance.spoken import in_fences, is_prose, voices_of
from engine.provenance.voices import Voices
from engine.redaction.detect import redact
from engine.rules.judge import judged
from engine.search.query import literal_terms
from engine.search.talk import is_order, telling
from engine.startup.lazy import expression
from engine.store.prose import SENTENCE_END, shortened, word_count
from engine.transcripts.injected import below_elements
from engine.transcripts.turn import ANSWER, COMMAND, PLAN, Text, ToolCall, Turn
from engine.transcripts.typed import lines_of as typed_lines
from engine.transcripts.typed import typed_in

_ASKED_CHARACTERS = 200
_SAID_CHARACTERS = 280
_MARKED = {"Decided": ("decisions",), "Learned": ("facts",)}
_MAX_MARKED = 3
_MAX_CHOICES = 2
_MIN_WORDS = 3
_SENTENCE_WORDS = 5
_REQUEST = 0.5
"""The probability from which a sentence asks for something."""
_MAX_ASKED = 12
"""Sentences of a message among which its request is looked for."""
_LEAD_CHARACTERS = 800
_LEAD_LINES = 6
"""What is read of a long message."""


def lines_of(turns: Sequence[Turn], before: Sequence[Turn] = ()) -> tuple[str, ...]:
    """The recap of some turns, without injected text; empty if they are trivial.

    ``before``: the earlier turns of the session, which may have brought in outside text.
    """
    dialogue = [turn for turn in turns if turn.is_dialogue and turn.role != "system"]
    requests = {at: found for at, turn in enumerate(dialogue) if (found := _request(turn))}
    begun = _begun(dialogue)
    opening = min(requests, default=0)
    if begun:
        first = min(begun)
        requests = {**begun, **requests}
    elif word_count(requests.get(opening, "")) >= _SENTENCE_WORDS and _says(requests[opening]) > 1:
        first = opening
    else:
        first = next((at for at, each in requests.items() if _is_telling(each)), opening)
    later = [
        at
        for at, each in requests.items()
        if at > first and each != requests[first] and not is_order(each) and not each.endswith(_OPENS)
    ]
    last = next((at for at in reversed(later) if _is_telling(requests[at])), max(later, default=first))
    voices = voices_of((*before, *turns))
    end = _end(dialogue, requests, (first, last), lambda text: _is_own(text, voices))
    is_named = end.answered in later and _is_telling(requests[end.answered])
    last = end.answered if end.said and is_named else last
    earlier, changed = changed_in(dialogue, last)
    asked = requests.get(first, "")
    labelled_items = marked(turns)
    if not labelled_items and not (asked and _is_answered(dialogue)):
        return ()
    lines = [f"Asked: {asked}"] if asked else []
    if last > first:
        lines.append(f"Then asked: {requests[last]}")
    marks = [item for item in labelled_items if not item.why and _is_own(item.text, voices)]
    for label, categories in _MARKED.items():
        texts = [item.text for item in marks if item.category in categories]
        lines += [f"{label}: {text}" for text in texts[:_MAX_MARKED]]
    chosen = [each for each in _chosen(dialogue) if not any(each in line for line in lines)]
    lines += [f"Chose: {each}" for each in list(dict.fromkeys(chosen))[-_MAX_CHOICES:]]
    lines += [f"Changed earlier: {earlier}"] if earlier else []
    lines += [f"Changed: {changed}"] if changed else []
    if end.said:
        when = " earlier" if end.is_early and not (is_named and end.left) else ""
        when = when if end.answered in (first, last) else when or " later"
        lines.append(f"{'Done' if _says_it_did(end.said) else 'Said'}{when}: {end.said}")
    todo = [item.text for item in marks if item.category in ("tasks_open", "questions")]
    lines += [f"Open: {each}" for each in todo[:_MAX_MARKED] or filter(None, [end.left])]
    kept = tuple(safe for line in lines if (safe := _safe(line)))
    return kept if kept != (f"Asked: {asked}",) else ()  # nothing came of it


def _safe(line: str) -> str:
    """A line without anything that memory would take for its own markup, or for a secret; empty if it is
    nothing else."""
    return "" if redact(line)[1] else plain(line)


def _is_own(text: str, voices: Voices) -> bool:
    """Whether a text of the agent is certainly not an outsider's."""
    return doubt_of(text, voices) is None


def _is_answered(dialogue: Sequence[Turn]) -> bool:
    return any(turn.role == "agent" and (turn.text.strip() or turn.tools) for turn in dialogue)


# What the person asked and decided.


def _request(turn: Turn) -> str:
    """What the person asks in a turn; empty if it is nothing, or only says to go on."""
    if turn.kind == COMMAND or turn.role != "user":
        return ""
    turn = replace(turn, blocks=(Text(below_elements(turn.text)),))
    own = typed_in(turn)
    found = _led(turn, own) or _typed(own)
    return found if _says(found) > (word_count(found) < _MIN_WORDS) else ""


def _typed(own: str) -> str:
    """The first sentences of what a person typed; empty if it is mostly program output."""
    own = _BANNER.split(own, 1)[0]
    lines = [line for part in own.split("\n\n") for line in _unlabelled(part.split("\n")) if line.strip()]
    said = [line.lstrip(" \t#") for line in lines if _is_said(line)]
    if not lines or (2 * len(said) < len(lines) and not _is_said(lines[0])):
        return ""
    return _opening(_with_short_paths(single(" ".join(said))), _ASKED_CHARACTERS)


def _led(turn: Turn, own: str) -> str:
    """The line with which a person begins a message that they may not have typed all of themselves: a brief,
    a list, or a request above a paste. Empty if it has the form of another's text, or is plainly typed.

    ``own``: what is plainly typed of the message.
    """
    if turn.kind in (ANSWER, PLAN):
        return ""
    head = "\n".join(turn.text.strip()[:_LEAD_CHARACTERS].split("\n")[:_LEAD_LINES])
    line = next((line for line in typed_lines(head) if _MENTIONS.sub("", line.text).strip()), None)
    if line is None or (line.why and not line.is_uncertain):
        return ""
    lead, plan = _COLON.match(line.text), _PLAN.match(head)
    if plan is not None:
        text = " ".join(plan.groups())
    elif _is_begun(line.text, own) if line.why else line.text.strip() in own:
        return ""
    else:
        text = lead[0] if lead is not None and word_count(lead[0]) >= _MIN_WORDS else line.text
    said = _opening(_with_short_paths(single(_BANNER.split(text, 1)[0])), _ASKED_CHARACTERS)
    if is_labelled(text) or not _is_said(said) or is_takeover(text) or is_hostile_act(text):
        return ""
    return said


def _is_begun(line: str, own: str) -> bool:
    """Whether a line begins with a request that is plainly typed."""
    begin = own.strip().split("\n")[0].strip()
    return line.strip().startswith(begin) and word_count(_typed(begin)) >= _MIN_WORDS


def _with_short_paths(text: str) -> str:
    """A text with the last two parts of each long path."""
    return _LONG_PATH.sub(lambda found: short_path(found[0].removeprefix("@")) or found[0], text)


def _unlabelled(paragraph: Sequence[str]) -> Iterator[str]:
    """The lines of a paragraph up to a label such as ``Decision:``, whose text ends with the paragraph."""
    return itertools.takewhile(lambda line: not is_labelled(line), paragraph)


def _is_telling(request: str) -> bool:
    """Whether a request can be understood later, unlike "can you take a look at this?"."""
    return _says(request) >= TELLING_WORDS


def _says(text: str) -> int:
    """The number of words that say what a text is about."""
    return len(telling(literal_terms(text)))


def _is_said(line: str) -> bool:
    """Whether a line is a sentence, or a few words, rather than code or program output."""
    words = _MENTIONS.sub(" ", line).split()
    plain_words = sum(_WORD.fullmatch(word) is not None for word in words)
    is_short = 2 * plain_words >= max(len(words), 4) or len(_WIDE.findall(line)) >= _WIDE_LETTERS
    return not _PRINTED.match(line) and _TYPED.search(line) is None and (is_prose(line) or is_short)


def _begun(dialogue: Sequence[Turn]) -> dict[int, str]:
    """What a session begins with before the person types anything, by the place of its turn: a plan that the
    person accepted, or a slash command that is not about the program and led to work, or asks in words.
    """
    for at, turn in enumerate(dialogue):
        if turn.role == "user" and turn.kind != COMMAND:
            break
        line = single(turn.text.strip().split("\n")[0])
        if turn.kind == PLAN:
            title = _TITLE.sub("", line)
            is_harmless = not (is_takeover(title) or is_hostile_act(title))
            return {at: f"Implement the following plan: {shortened(title, 120)}"} if is_harmless else {}
        if turn.kind == COMMAND and line and not _OF_PROGRAM.match(line):
            work = itertools.takewhile(lambda each: each.role == "agent", dialogue[at + 1 :])
            is_worded = word_count(line) > _MIN_WORDS and _is_telling(line)
            if any(each.tools or is_worded for each in work):
                return {at: shortened(line, _ASKED_CHARACTERS)}
    return {}


def _chosen(dialogue: Sequence[Turn]) -> Iterator[str]:
    """What the person decided: answers to questions, and sentences that choose."""
    for turn in dialogue:
        if turn.role != "user":
            continue
        if turn.kind == ANSWER:
            for question, answer in _ANSWERED.findall(turn.text):
                yield f"{shortened(single(question), 120)} {shortened(single(answer), 100)}"
            continue
        own = typed_in(turn)
        if turn.kind == COMMAND:
            continue
        for sentence, _ in _sentences(own):
            said = _BEGINNING.sub("", sentence)
            is_choice = _CHOOSES.match(said) and not _DEPENDS.search(sentence)
            if is_choice and not sentence.endswith(_ASKING) and is_prose(sentence):
                yield shortened(said, _ASKED_CHARACTERS)


# How it ended.


@dataclass(frozen=True, slots=True)
class _End:
    """How a session ended."""

    said: str  # by the agent in its last reply; empty if that says nothing
    answered: int  # the place of the message that it answers
    is_early: bool  # whether the person said something else afterwards
    left: str  # open; may be empty


def _end(
    dialogue: Sequence[Turn], requests: dict[int, str], named: tuple[int, int], is_own: Callable[[str], bool]
) -> _End:
    """How a session ended.

    Args:
        requests: The requests by the places of their turns.
        named: The places of the first one and the last.
    """
    end = next((at for at in reversed(range(len(dialogue))) if _reply(dialogue[at])), -1)
    tail = dialogue[end + 1 :]
    waiting = [at for at in requests if at > end and not requests[at].endswith(_OPENS)]
    first, last = named
    asked = (at for at in range(end, first, -1) if dialogue[at].role == "user" and not _goes_on(dialogue[at]))
    answered = next(asked, first)
    done = _outcome(dialogue[answered : end + 1], is_own)
    said = [turn for turn in tail if turn.role == "user" and turn.kind != COMMAND]
    left = ""
    if waiting:
        at = last if last in waiting else waiting[-1]
        work = [turn for turn in dialogue[at:] if turn.role == "agent"]
        if not work:
            left = f"{requests[at]} (not answered)"
        elif any(turn.tools and not _concludes(turn.tools[-1]) for turn in work):
            left = "" if is_order(requests[at]) else f"{requests[at]} (begun, not reported)"
    elif end >= 0 and not said and not any(turn.tools for turn in tail):
        left = _left([text for text, _ in _statements(dialogue[end])], is_own)
    if last > end and not left:
        done = ""  # nothing would tell that the request named last came after it
    is_early = not all(is_order(turn.text) for turn in said)
    return _End(done if done != left else "", answered, is_early, left)


def _concludes(tool: ToolCall) -> bool:
    """Whether a call at the end of the work tells of its result, as a commit does."""
    return tool.name in _RECORDS or bool(subject_of(tool))


def _outcome(dialogue: Sequence[Turn], is_own: Callable[[str], bool]) -> str:
    """What the agent replied last, of some turns that begin with a request; empty if that says nothing.

    "Commit this" is no request of its own, and "Committed" says less than the reply before, which still holds
    if no file was written since.
    """
    saved = ""
    for turn in reversed(dialogue):
        if turn.role == "user":
            if _says_something(turn):
                break
        elif turn.kind != PLAN:
            said = _statements(turn)
            left = _left([text for text, _ in said], is_own)
            found = _done([each for each in said if each[0] != left], is_own)
            if found and not (_SAVED.match(found) or _only_saves(turn)):
                return found
            saved = saved or found
            if any(map(writes, turn.tools)):
                break
    return saved


def _says_something(turn: Turn) -> bool:
    """Whether a turn of the person is more than a command, or an order that says to go on or to commit."""
    return turn.kind != COMMAND and not is_order(turn.text)


def _goes_on(turn: Turn) -> bool:
    """Whether a turn of the person belongs to the request before: an answer, or a few words."""
    is_short = word_count(turn.text) < _MIN_WORDS or not telling(literal_terms(turn.text))
    return turn.kind == ANSWER or is_short or not _says_something(turn)


def _only_saves(turn: Turn) -> bool:
    """Whether all that the agent did was to look at the repository and to commit or push."""
    return bool(turn.tools) and all(_GIT.search(tool.summary) for tool in turn.tools)


def _statements(turn: Turn) -> list[tuple[str, bool]]:
    """The sentences of the agent's reply, each with whether it is an item of a list."""
    return [(_bare(text), is_item) for text, is_item in _sentences(_reply(turn))]


def _reply(turn: Turn) -> str:
    """What the agent said after its last tool call, without what it said while it worked or thought; empty
    for the person's turn and a plan."""
    if turn.role != "agent" or turn.kind == PLAN:
        return ""
    blocks = (each for each in reversed(turn.blocks) if getattr(each, "name", "") not in _RECORDS)
    after = itertools.takewhile(lambda block: not isinstance(block, ToolCall), blocks)
    texts = [block.text for block in reversed(list(after)) if isinstance(block, Text)]
    return "\n\n".join(_ELEMENT.sub("", text) for text in texts).strip()


def _done(said: Sequence[tuple[str, bool]], is_own: Callable[[str], bool]) -> str:
    """One or two sentences that say what was done, found or proposed, after those that announce a step."""
    steps = [at for at, (text, _) in enumerate(said) if text.endswith(_OPENS) and _PREPARES.match(text)]
    rest = said[steps[-1] + 1 :] if steps else said
    said = rest if any(_tells(text, is_item=is_item) for text, is_item in rest) else said
    is_over = any(_IS_OVER.search(text) for text, is_item in said if not is_item)
    tells = [(text, is_item) for text, is_item in said if _tells(text, is_item=is_item, is_over=is_over)]
    listed = [text for text, is_item in tells if is_item]  # each says what was done
    told = [text for text, is_item in tells if not is_item]
    start = next((at for at, text in enumerate(told) if _says_it_did(text)), -1)
    told = told[max(start, 0) :] if start >= 0 or not listed else listed
    found = ""
    for sentence in itertools.islice(filter(is_own, told), 2):
        if found and len(found) + len(sentence) > _SAID_CHARACTERS:
            break
        found += f"{'' if not found or found[-1] in _ENDS else ';'} {sentence}"
    return shortened(found.strip(), _SAID_CHARACTERS)


def _tells(text: str, *, is_item: bool, is_over: bool = False) -> bool:
    """Whether a sentence of the agent says something on its own; one in a list only if it says what was
    done, or names it and the work ``is_over``.
    """
    did = _says_it_did(text) or (is_item and is_over and _NAMES_WORK.search(text) is not None)
    if text.endswith(_ASKING) or _PREPARES.match(text) or proposals.OFFER.search(text):
        return False
    if proposals.PASSED.search(text) or (is_item and not did):
        return False
    fewest = _MIN_WORDS if did else _SENTENCE_WORDS
    return word_count(text) >= fewest and len(telling(literal_terms(text))) >= 2


def _says_it_did(text: str) -> bool:
    """Whether a sentence is about what was done."""
    return _DID.match(text) is not None or _DID_ELSEWHERE.search(text) is not None


def _left(said: Sequence[str], is_own: Callable[[str], bool]) -> str:
    """A question of the agent, or a next step that it names, among its last sentences."""
    is_taken_up = False  # by what the agent says it does next
    for text in reversed(said[-12:]):
        is_next, is_taken_up = is_taken_up, _PREPARES.match(text) is not None
        if is_taken_up:
            continue
        if text.endswith(("?", "？")):
            if _POLITE.search(text) or _TO_NOBODY.match(text) or len(telling(literal_terms(text))) < 2:
                continue
        elif (
            is_next
            or not _REMAINS.search(text)
            or text.endswith(_OPENS)
            or _says_it_did(text)
            or _SETTLED.search(text)
        ):
            continue
        if is_own(text):
            return shortened(text, _ASKED_CHARACTERS)
    return ""


# Sentences.


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of a text without code, tables and headings, and whether each is an item of a list.

    A line that ends with a colon is completed by the first items of the list below it.
    """
    lines = [
        line
        for line, is_code in zip(text.split("\n"), _in_code(text), strict=True)
        if line.strip() and not (is_code or _NO_PROSE.match(line) or is_labelled(line))
    ]
    at = 0
    while at < len(lines):
        bullet = _BULLET.match(lines[at])
        line = " ".join(_BULLET.sub("", lines[at]).split())
        at += 1
        items = list(itertools.takewhile(_BULLET.match, lines[at:])) if line.endswith((":", "：")) else []
        at += len(items)
        *whole, last = _split(line)
        yield from ((sentence, bullet is not None) for sentence in whole if sentence.strip())
        if items:
            shown = "; ".join(" ".join(_BULLET.sub("", item).split()).rstrip(".;:") for item in items[:3])
            yield f"{last} {shown}{'; …' if len(items) > 3 else '.'}", False
        elif last.strip():
            yield last, bullet is not None


def _in_code(text: str) -> list[bool]:
    """For each line of a text, whether it is in a block of code, which may be indented below an item."""
    outer = in_fences(text)
    below = ("" if is_code else line.lstrip() for line, is_code in zip(text.split("\n"), outer, strict=True))
    return list(map(operator.or_, outer, in_fences("\n".join(below))))


def _split(line: str) -> list[str]:
    """The sentences of a line; a mark in a code span ends none."""
    masked = _SPAN.sub(lambda found: "`" * len(found[0]), line)
    ends = [found.span() for found in SENTENCE_END.finditer(masked)]
    starts, stops = [0, *(end for _, end in ends)], [*(start for start, _ in ends), len(line)]
    return [line[start:stop] for start, stop in zip(starts, stops, strict=True)]


def _bare(text: str) -> str:
    plain_text = _LABEL.sub("", _SYMBOLS.sub("", text.replace("**", "").replace("__", "")))
    return plain_text[:1].upper() + plain_text[1:]


def _opening(text: str, limit: int) -> str:
    """The first sentences of a text that fit; if its first request stands behind them, the first sentence and
    the request. Cut if they do not fit, or are a few words.
    """
    sentences = SENTENCE_END.split(text)
    found = ""
    for sentence in sentences:
        if found and len(found) + len(sentence) > limit:
            break
        found = f"{found} {sentence}".strip()
    may_ask = found == sentences[0]  # of more sentences, one may ask in another form
    read = sentences[:_MAX_ASKED] if len(text) > limit else ()
    asked = next((each for each in read if _is_request(each, may_ask=may_ask)), "")
    if asked and asked not in found:
        begin = shortened(sentences[0], limit // 2).removesuffix("…").rstrip()
        return f"{begin} … {shortened(asked, limit - len(begin))}"
    return shortened(found if word_count(found) >= _SENTENCE_WORDS else text, limit)


def _is_request(sentence: str, *, may_ask: bool) -> bool:
    """Whether a sentence of a person asks for something now; or something, if it ``may_ask``."""
    is_asking = (may_ask and sentence.endswith(("?", "？"))) or judged(sentence).once >= _REQUEST
    return word_count(sentence) >= _SENTENCE_WORDS and is_asking


_SPAN = expression(r"`[^`\n]+`")
_COLON = expression(r"[^:：\n]*(?:：|:(?=\s|$))")
"""What announces a text."""
_PLAN = expression(r"(Implement the following plan:)\s+#+ (?:Plan: )?([^\n]{3,120})")
"""What Claude Code writes for a person who accepts a plan of the agent, with the plan's title."""
_BANNER = expression(r"[\u2500-\u259f]{2,}")
"""Drawn with blocks or lines: what follows is a program's screen."""
_TITLE = expression(r"^(?:#+ )?(?:Plan: )?")
_MENTIONS = expression(r"@[^\s@]*|User provided an image \([^)\n]*\)\.")
_LONG_PATH = expression(r"(?<!\S)@?(?:~|[A-Za-z]:)?[/\\]\S{32,}")
_ELEMENT = expression(
    r"\A\s*(?:<([A-Za-z][\w-]*)>(?s:.*?)</\1>|<(?:ant)?(?:think|thought|reason|analysis)\w*>(?s:.*))"
)
"""An element of markup at the start of a text; the log may have cut the end of thoughts off."""
_BEGINNING = expression(
    r"^(?:(?:no+|nope|ok(?:ay)?|yes|yeah|ah|oh|hey|hm+|well|wait|sorry|but|and|also|so|again|actually"
    r"|please|pls|btw"
    r"|right|perfect|great|nice|cool|nein|bitte|aber|und|auch)\b[\s,:;.!…–—-]*)+",
    re.IGNORECASE,
)
"""Filler words at the start of a sentence."""
_LABEL = expression(
    r"^(?:done|fixed|solution|fix|results?|changes?|summary|perfect|great|excellent)[.!:,–—-]+\s*", re.I
)
"""A label before what was done."""
_SYMBOLS = expression(r"^[^\w`\"'(\[/@$.]+")
_ENDS = ".!?:;…。！？：；"
_ASKING = ("?", ":", "？", "：")
_BULLET = expression(r"^[ \t]*(?:[-*+•]|(?:\*\*)?\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_NO_PROSE = expression(r"[ \t]*(?:#{1,6}[ \t]|>|\||`{3}|~{3}|-{3,}\s*$|<|\"\w+\": )")
_WORD = expression(r"[^\W\d_][\w'’-]*[.,:;!?]?")
_TYPED = expression(r"\A\s*(?:set |export |sudo )?[A-Z_]{3,}=\S|\S && \S+ \S")
"""In a line that was typed into a shell."""
_WIDE = expression(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WIDE_LETTERS = 5
"""Letters of a few words in a script without spaces."""
_PRINTED = expression(r"\s*[^\w\s\"'(“«¿¡@#/`*-]")
"""The start of a line of decorated program output."""
_GIT = expression(r"(?:^|[\s;&|])(?:git|gh) ")
_RECORDS = frozenset({"applied", "commit", "running", "added"})
"""What a history of Aider records below a reply, which are no calls of the agent."""
_ANSWERED = expression(r"\"((?:[^\"\\]|\\.){3,400})\"=\"((?:[^\"\\]|\\.){2,400})\"")
_CHOOSES = expression(
    r"let['’]?s (?:use|go with|keep|drop|remove|call|name|move|stick|avoid|leave|only)\b"
    r"|(?:(?:i|we)(?:['’](?:m|re|ll))? )?go(?:ing)? with\b"
    r"|i(?:['’]d| would) (?:rather|prefer|like to (?:keep|use|have))\b"
    r"|i prefer\b|i (?:have )?decided\b|keep (?:it|the|this|that)\b"
    r"|(?:i think )?we (?:should|shouldn['’]?t|don['’]?t (?:need|want))\b"
    r"|use\b.{1,80}\b(?:instead of|rather than)\b"
    r"|(?:i (?:like|prefer|choose|take|pick) )?(?:option (?:\d|[a-d])\b|[a-d]\) )"
    r"|(?:wir nehmen|lass uns|nehmen wir|lieber|prenons|plutôt|utilisons|usemos|mejor)\b",
    re.IGNORECASE,
)
"""The start of a sentence that chooses."""
_DEPENDS = expression(r"\b(?:if|unless|wenn|falls|si)\b", re.IGNORECASE)
"""What makes a sentence no choice yet."""
_VERBS = (
    "added|fixed|removed|renamed|updated|implemented|changed|moved|replaced|rewrote|refactored|extracted|introduced"
    "|converted|simplified|modified|migrated"
)
_DID = expression(
    rf"^(?:i(?:['’]ve| have)? (?:also |now |just |successfully )?(?:{_VERBS}|created|merged|split|made)\b"
    rf"|(?:{_VERBS})\b"
    r"|now,? (?:the|when|both|all|every|an?|you|if)\b|now,? `|this (?:solves|fixes|ensures|makes"
    r"|prevents|lets"
    r"|allows)\b|(?:the|both|all|each) (?:\S+ ){1,7}(?:now|has been|have been)\b)"
    r"|(?:wrote|built|made|set up|put)\b"
    r"|(?!(?:bas|relat|requir|expect|detail|ne|block|fail|reject|suppos|limit|propos|recommend|suggest"
    r"|interest|unus|hundr)ed\b)[a-z]{2,}ed\b",
    re.IGNORECASE,
)
"""The start of a sentence about what was done."""
_WORK = r"(?:追加|修正|変更|削除|作成|更新|移動|実装|除外|統一|추가|수정|변경|삭제|작성|이동|구현|제거|적용)"
_NAMES_WORK = expression(rf"{_WORK}[。.]?$|^(?:新增|添加|修复|修改|更新|删除|移除|实现|增加)")
"""Work named without a time, as in a list of what was done."""
_DID_ELSEWHERE = expression(
    rf"{_WORK}(?:しました|済み|した|했습니다|하였습니다|했어요|되었습니다|완료)\W*$"
    r"|^(?:我)?已(?!知)|^(?:se (?:ha )?|he |ho |j['’]ai |eu )?(?:agreg(?:ué|ado|ó)|añad(?:í|ido|ió)"
    r"|corr(?:egí|egido|igió)|elimin(?:é|ado|ó)|actualic?[ée]|actualiz(?:ado|ó)|aggiunto|corretto|rimosso"
    r"|aggiornato|ajouté|corrigé|supprimé|remplacé|renommé|adicion(?:ei|ado)|corrigi(?:do)?|removi(?:do)?"
    r"|добавил\w*|исправил\w*|удалил\w*|обновил\w*|изменил\w*|создал\w*)\b"
    r"|\b(?:hinzugefügt|behoben|geändert|entfernt|ersetzt|umbenannt|angepasst|eingebaut)\W*$",
    re.IGNORECASE,
)
_IS_OVER = expression(
    r"^(?!.*(?:計画|プラン|계획|计划)).*(?:完了|しました|완료|했습니다|已完成|完成了|已全部|全部完成)"
)
_SAVED = expression(
    r"(?:i(?:['’]ve)? )?(?:committed|pushed|merged|done)\b"
    r"|.{0,12}(?:コミット|プッシュ|マージ|커밋|푸시)\W{0,3}(?:を)?(?:完了|しました|でき|했|완료|됐|되었)|(?:已|代码已)(?:提交|推送)",
    re.IGNORECASE,
)
_OPENS = (":", "：")
_OF_PROGRAM = expression(
    r"/(?:add|drop|load|read-only|reset|map-\S*|\S+-model|clear|compact|context|continue|cost|config|doctor|exit|help|hooks|ide|login|logout|mcp|memory|model|new"
    r"|permissions|plugins?|quit|reload\S*|remote-\S+|rename|resume|rewind|status\S*|theme|upgrade|usage|vim)\b"
)
"""Commands to the agent's program itself."""
_PREPARES = expression(
    r"(?:you(?:['’]re| are) (?:absolutely |completely )?right|(?:i['’]m )?sorry|i apologi[sz]e"
    r"|my (?:mistake|apologies)"
    r"|let me|let['’]s|here(?:['’]s| is| are) (?:the|an?|your|where|how)|thanks?|now (?:update|add|fix|run"
    r"|check|remove|create|i have)|first,|next,? (?:let|i)|checking"
    r"|looking|reading|running|perfect|great|good|ready to|(?:okay|alright),? (?:so|i|let|the user)"
    r"|(?:now )?i(?:['’]ll|['’]m (?:going to|using)|"
    r" (?:will|can|see|need to|think|understand|notice|want to)))\b(?!.{0,40}\b(?:fixed|works)\b)"
    r"|(?:好的|现在|首先|接下来|然后)?[，、,]?(?:让我|我(?:先|来|将|会|需要|看到|已经完整了解))"
    r"|(?:maintenant,? )?(?:je (?:comprends|vois|vais)|laisse[zs]?-moi|voyons|corrigeons|parfait)\b"
    r"|(?:ahora,? )?(?:d[ée]jame|voy a|veamos|entiendo|veo|tengo)\b"
    r"|(?:jetzt )?(?:ich (?:verstehe|sehe|werde)|lass mich|schauen wir)\b"
    r"|спасибо|(?:теперь )?(?:я (?:понимаю|сначала|сейчас)|давайте)|obrigad|gracias|danke|merci\b"
    r"|まず|では、|それでは|먼저|이제 ",
    re.IGNORECASE,
)
"""The start of a sentence about what the agent is about to do."""
_POLITE = expression(
    r"\b(?:anything else|let me know|any (?:other )?questions|how can i help|help you with|does (?:this|that)"
    r" (?:help|make sense)|what would you like|how would you like|which (?:\w+ ){0,2}would you"
    r"|what do you think)\b|(?:什么|甚么)可以帮|(?:需要|要)我(?:帮|为)|何かお手伝い|무엇을 도와",
    re.IGNORECASE,
)
_REMAINS = expression(
    r"\b(?:next steps? (?:is|are|would)|remaining (?:tasks?|work|steps?|issues?)|remains? (?:to|open)|not yet"
    r"|still (?:needs?|fails?|to|open|misse?s?|has to|have to|not)|follow[- ]up|left to|haven['’]t been"
    r"|(?:has|have) not been|is blocked|waiting for you\w*|pending (?:your|on you)|once you"
    r"|you(?:['’]ll| will) (?:need|have) to|needs? to be|nächste|noch nicht|steht aus|reste|pendiente)\b",
    re.IGNORECASE,
)
"""What names work that is left."""
_SETTLED = expression(
    r"\b(?:nothing|no (?:action|changes?|further|more)|already|saved|committed|was|were)\b", re.IGNORECASE
)
"""What names work that is done, or how things were."""
_TO_NOBODY = expression(
    r"(?:why|what|how|who|when|where)\b(?!.*\b(?:you\w*|i|me|we|us|our)\b)", re.IGNORECASE
)
"""A question that is not put to the person."""
