"""What a session was about, in one to six lines, found without a model.

==========  ==============================================================================================
Line        says
==========  ==============================================================================================
Asked       the person's first request that can be understood later, in their words, and how it began; one
            that says little stands with the next that says much
Then asked  their last one, or the last that was answered, if it is another
Decided     lines marked ``Decision:``; likewise Learned, lines marked ``Lesson:`` or ``Fact:``
Chose       the person's answers to the agent's questions
Changed     the files written most often, commits and pull requests
Done, Said  what the agent replied to the last request: of what it did, or in answer
Only typed  all that a session of a greeting, a word or a test has
Open        lines marked ``TODO:`` or ``Open:``, or else a question of the agent, a next step that it names
            or a request that was left at the end
==========  ==============================================================================================

``Then asked`` is the request that the last reply answers, if that can be understood later; what was asked
since is then open. ``Changed earlier`` is what was changed before the request that is named last. ``Done
earlier`` and ``Said earlier`` are of a reply that the person followed with something the agent has not
replied to, ``Done later`` and ``Said later`` of one to a message that is not named: none is the outcome of
that request.

Nothing is invented: every line quotes the session, shortened at a sentence. A session in which the person
said nothing has no recap; one without requests, or in words that are not known, quotes what was typed, or
else tells the length of the text. What may come from an outsider has no line (M3); a message that may be
pasted in part is quoted by the line that begins it, and a short list that this announces.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.context.recaps import PASTED, SLIGHT, UNRECORDED
from engine.knowledge.category_files import plain
from engine.knowledge.harvest.markers import is_labelled, marked
from engine.knowledge.harvest.reply import single
from engine.lifecycle.recaps.changes import TELLING_WORDS, changed_in, short_path
from engine.lifecycle.recaps.ended import (
    ASKED_CHARACTERS,
    IDLE,
    MIN_WORDS,
    OPENS,
    SENTENCE_WORDS,
    TO_AGENT,
    end_of,
    reply_of,
    unlinked,
)
from engine.provenance.hold import doubt_of
from engine.provenance.instructions import is_hostile_act, is_takeover
from engine.provenance.spoken import is_prose, voices_of
from engine.provenance.voices import Voices
from engine.redaction.detect import redact
from engine.rules.judge import judged
from engine.search.query import literal_terms
from engine.search.talk import is_order, telling
from engine.startup.lazy import expression
from engine.store.prose import SENTENCE_END, shortened, word_count
from engine.transcripts.injected import BY_PROGRAM, below_elements
from engine.transcripts.turn import ANSWER, COMMAND, PLAN, Text, Turn
from engine.transcripts.typed import lines_of as typed_lines
from engine.transcripts.typed import typed_in

_MARKED = {"Decided": ("decisions",), "Learned": ("facts",)}
_MAX_MARKED = 3
_MAX_CHOICES = 2
_REQUEST = 0.5
"""The probability from which a sentence asks for something."""
_MAX_ASKED = 12
"""Sentences of a message among which its request is looked for."""
_REMINDS = 3
"""Times that a session has the same message, from which it is no request if there are as many others."""
_LONG = 12
"""Words of such a message."""
_MANY_WORDS = 6
"""Words of a request that tells what a vague one before it is about."""
_SLIGHT_CHARACTERS = 24
"""Length of a message up to which one word of it tells nothing."""
_LEAD_CHARACTERS = 800
_LEAD_LINES = 6
"""What is read of a long message."""


def lines_of(
    turns: Sequence[Turn], heard: Sequence[Turn] = (), *, prompts_only: bool = False
) -> tuple[str, ...]:
    """The recap of some turns, without injected text; empty if the person said nothing in them.

    Args:
        heard: All turns of the session up to the last of these, with what its tools printed, which tell whose
            words an agent's are; by default only these.
        prompts_only: The log has only what the person typed.
    """
    dialogue = [turn for turn in turns if turn.is_dialogue and turn.role != "system"]
    dialogue = _without_reminders(dialogue)
    requests = {at: asked for at, turn in enumerate(dialogue) if (asked := _request(turn))}
    begun = _begun(dialogue)
    labelled_items = marked(turns)
    if not requests and not begun:
        found = {at: words for at, turn in enumerate(dialogue) if (words := _words(turn))}
        typed = {at: words for at, words in found.items() if not words.startswith(PASTED)}
        requests = typed or dict(itertools.islice(found.items(), 1))
        if not requests and not labelled_items:
            return ()
    if not labelled_items and _is_slight(dialogue, requests):
        return tuple(filter(None, [_safe(f"{SLIGHT}{max(requests.values(), key=len)}")]))
    opening = min(requests, default=0)
    if begun:
        first = min(begun)
        requests = {**begun, **requests}
    elif word_count(requests.get(opening, "")) >= SENTENCE_WORDS and _says(requests[opening]) > 1:
        first = opening
    else:
        first = next((at for at, each in requests.items() if _is_telling(each)), opening)
    later = [
        at
        for at, each in requests.items()
        if at > first and each != requests[first] and not is_order(each) and not each.endswith(OPENS)
    ]
    last = max(later, key=lambda at: (_tells_much(requests[at]), at), default=first)
    voices = voices_of(heard or turns)
    unanswered = UNRECORDED if prompts_only else "not answered"
    end = end_of(dialogue, requests, (first, last), lambda text: _is_own(text, voices), unanswered)
    is_named = end.answered in later and _is_telling(requests[end.answered])
    last = end.answered if end.said and is_named else last
    earlier, changed = changed_in(dialogue, last)
    asked = requests.get(first, "")
    if asked and _weight(asked) < TELLING_WORDS:
        more = (requests[at] for at in later if at != last and _weight(requests[at]) >= _MANY_WORDS)
        asked = " … ".join((asked, *itertools.islice(more, 1)))
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
        is_left = bool(end.left) and not end.left.startswith(requests[last])
        when = " earlier" if end.is_early and not (is_named and is_left) else ""
        when = when if end.answered in (first, last) else when or " later"
        lines.append(f"{'Done' if end.is_done else 'Said'}{when}: {end.said}")
    todo = [item.text for item in marks if item.category in ("tasks_open", "questions")]
    lines += [f"Open: {each}" for each in todo[:_MAX_MARKED] or filter(None, [end.left])]
    if lines == [f"Asked: {asked}"] and not _is_telling(asked):
        return tuple(filter(None, [_safe(f"{SLIGHT}{asked}")]))
    is_typed = first in begun or _typed(typed_in(dialogue[first])) == asked
    if lines == [f"Asked: {asked}"] and not (is_typed or any(turn.tools for turn in dialogue)):
        lines = [f"Asked: {_words(dialogue[first])}"]  # nothing came of what may be another's
    return tuple(safe for line in lines if (safe := _safe(line)))


def _safe(line: str) -> str:
    """A line without anything that memory would take for its own markup, or for a secret; empty if it is
    nothing else."""
    return "" if redact(line)[1] else plain(line)


def _is_own(text: str, voices: Voices) -> bool:
    """Whether a text of the agent is certainly not an outsider's."""
    return doubt_of(text, voices) is None


def _is_slight(dialogue: Sequence[Turn], requests: dict[int, str]) -> bool:
    """Whether nothing was done, and nothing but a greeting, a word or a test was said."""
    done = (tool for turn in dialogue for tool in turn.tools if tool.name not in IDLE)
    if not requests or any(done) or any(turn.kind == PLAN for turn in dialogue):
        return False
    replies = [reply for turn in dialogue if (reply := reply_of(turn))]
    is_test = len(requests) == 1 and bool(replies) and all(word_count(each) < MIN_WORDS for each in replies)
    return is_test or all(len(each) < _SLIGHT_CHARACTERS and _says(each) < 2 for each in requests.values())


def _without_reminders(dialogue: Sequence[Turn]) -> list[Turn]:
    """The turns without a long message that stands again and again among others, a hook's or a template, and
    without what the agent answers to it; what it changed then stays."""
    told = Counter(turn.text for turn in dialogue if turn.role == "user" and turn.text.strip())
    often = {text for text, times in told.items() if times >= _REMINDS and word_count(text) >= _LONG}
    if len(told) - len(often) < _REMINDS:  # a request that was tried again and again
        return list(dialogue)
    kept: list[Turn] = []
    is_reminded = False
    for turn in dialogue:
        if turn.role == "user":
            is_reminded = turn.text in often
        if not is_reminded:
            kept.append(turn)
        elif turn.role != "user":
            kept.append(replace(turn, blocks=turn.tools))
    return kept


# What the person asked and decided.


def _request(turn: Turn) -> str:
    """What the person asks in a turn; empty if it is nothing, or only says to go on."""
    if turn.kind == COMMAND or turn.role != "user":
        return ""
    turn = replace(turn, blocks=(Text(below_elements(turn.text)),))
    own = typed_in(turn)
    found = _led(turn, own) or _typed(own)
    found = _completed(found, turn.text) if found.endswith(OPENS) else found
    bare = TO_AGENT.sub("", found)
    is_short = word_count(bare) < MIN_WORDS
    is_first = not is_short or turn.text.lstrip().startswith(found)
    return found if is_first and _says(bare) > is_short else ""


def _words(turn: Turn) -> str:
    """What a person said in a turn, best effort, whether or not it has the form of a request."""
    text = below_elements(turn.text).strip() if turn.role == "user" else ""
    if turn.kind == COMMAND:
        line = single(text.split("\n")[0])
        is_worded = word_count(line) > SENTENCE_WORDS and _is_said(line.partition(" ")[2])
        return shortened(line, ASKED_CHARACTERS) if is_worded or not _OF_PROGRAM.match(line) else ""
    is_program = BY_PROGRAM.search(text) or _OF_PROGRAM.match(text)
    if is_program or not any(map(str.isalnum, text)):
        return ""
    own = typed_in(replace(turn, blocks=(Text(_BANNER.split(text, 1)[0]),)))
    said = max((line for line in own.split("\n") if not _PRINTED.match(line)), key=_says, default="").strip()
    if not said and word_count(led := _led(turn, own)) < SENTENCE_WORDS:  # too short to state anything
        said = led
    is_lead = said.endswith(OPENS) and _says(said) < TELLING_WORDS
    if not said or is_lead or is_labelled(said) or is_takeover(said) or is_hostile_act(said):
        return f"{PASTED} ({word_count(text):,} words)"
    return shortened(_with_short_paths(single(said)), ASKED_CHARACTERS)


def _typed(own: str) -> str:
    """The first sentences of what a person typed; empty if it is mostly program output."""
    own = _BANNER.split(own, 1)[0]
    lines = [line for part in own.split("\n\n") for line in _unlabelled(part.split("\n")) if line.strip()]
    said = [line.lstrip(" \t#") for line in lines if _is_said(line)]
    if not lines or (2 * len(said) < len(lines) and not _is_said(lines[0])):
        return ""
    return _opening(_with_short_paths(single(" ".join(said))), ASKED_CHARACTERS)


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
        text = lead[0] if lead is not None and word_count(lead[0].rstrip(" :：")) >= MIN_WORDS else line.text
    said = _opening(_with_short_paths(single(_BANNER.split(text, 1)[0])), ASKED_CHARACTERS)
    if is_labelled(text) or not _is_said(said) or is_takeover(text) or is_hostile_act(text):
        return ""
    return said


def _completed(request: str, message: str) -> str:
    """A request that ends with a colon, with what it announces if that goes on in lower case, is an address,
    or begins a list; never with a text that may be pasted.
    """
    end = request.rsplit(" ", 1)[-1]
    lines = [line for line in typed_lines(message) if line.text.strip()]
    lines = list(itertools.dropwhile(lambda line: end not in line.text, lines))
    before, _, here = (each.strip() for each in (lines[0].text if lines else "").partition(end))
    below = [line.text.strip() for line in lines[1:]]
    items = list(itertools.takewhile(_ITEM.match, below))
    is_foreign = any(line.why and not line.is_uncertain for line in lines[1:][: len(items) or 1])
    told = here or (below[0] if below else "")
    if here:
        is_foreign = any(_ITEM.match(line) or line.endswith(OPENS) for line in below)
        told = " ".join((here, *itertools.takewhile(lambda line: line[0].islower(), below)))
    elif len(items) > 1:
        told = "; ".join(_ITEM.sub("", item).rstrip(".;") for item in items[:3])
        told += "; …" if len(items) > 3 else ""
    is_same = told[:1].islower() and _is_said(told)
    is_link = _LINK.fullmatch(told) is not None
    is_foreign = not is_link and (is_foreign or not (is_same or len(items) > 1))
    is_split = word_count(before) + 1 < word_count(request)  # over several lines
    if is_foreign or is_split or is_labelled(told) or is_takeover(told) or is_hostile_act(told):
        return request
    return shortened(f"{request} {_with_short_paths(single(told))}", ASKED_CHARACTERS)


def _is_begun(line: str, own: str) -> bool:
    """Whether a line begins with a request that is plainly typed."""
    begin = own.strip().split("\n")[0].strip()
    return line.strip().startswith(begin) and word_count(_typed(begin)) >= MIN_WORDS


def _with_short_paths(text: str) -> str:
    """A text with the last two parts of each long path, and the words of each link to a file."""
    bare = unlinked(text)
    return _LONG_PATH.sub(lambda found: short_path(found[0].removeprefix("@").strip('"')) or found[0], bare)


def _unlabelled(paragraph: Sequence[str]) -> Iterator[str]:
    """The lines of a paragraph up to a label such as ``Decision:``, whose text ends with the paragraph."""
    return itertools.takewhile(lambda line: not is_labelled(line), paragraph)


def _is_telling(request: str) -> bool:
    """Whether a request can be understood later, unlike "can you take a look at this?"."""
    return _says(request) >= TELLING_WORDS


def _tells_much(request: str) -> int:
    """How well a request can be understood later: in a script without spaces, three pairs are but a word."""
    return _is_telling(request) + (_weight(request, 2) >= TELLING_WORDS)


def _says(text: str) -> int:
    """The number of words that say what a text is about, or pairs of letters in scripts without spaces."""
    return len(telling(literal_terms(text)))


def _weight(text: str, pairs_of_word: int = 4) -> int:
    """As ``_says``, with so many pairs as one word, as the pairs hold particles, too, and overlap."""
    found = telling(literal_terms(text))
    pairs = sum(_UNSPACED.match(term) is not None for term in found) if not text.isascii() else 0
    return len(found) - pairs + pairs // pairs_of_word


def _is_said(line: str) -> bool:
    """Whether a line is a sentence, or a few words, rather than code or program output."""
    words = _MENTIONS.sub(" ", line).split()
    plain_words = sum(_WORD.fullmatch(word) is not None for word in words)
    is_short = 2 * plain_words >= max(len(words), 4) or len(_WIDE.findall(line)) >= _WIDE_LETTERS
    return not _PRINTED.match(line) and (is_prose(line) or is_short)


def _begun(dialogue: Sequence[Turn]) -> dict[int, str]:
    """What a session begins with before the person types anything, by the place of its turn: a plan that the
    person accepted, or a slash command that is not about the program and led to work, or asks in words.
    """
    for at, turn in enumerate(dialogue):
        if turn.role == "user" and turn.kind != COMMAND:
            break
        line = _NO_NAME.sub("", single(turn.text.strip().split("\n")[0]))
        if turn.kind == PLAN:
            title = _TITLE.sub("", line)
            is_harmless = not (is_takeover(title) or is_hostile_act(title))
            return {at: f"Implement the following plan: {shortened(title, 120)}"} if is_harmless else {}
        if turn.kind == COMMAND and line and not _OF_PROGRAM.match(line):
            below = itertools.dropwhile(_is_expansion, dialogue[at + 1 :])
            work = itertools.takewhile(lambda each: each.role == "agent", below)
            is_worded = word_count(line) > MIN_WORDS and _is_telling(line)
            if any(each.tools or is_worded for each in work):
                return {at: shortened(line, ASKED_CHARACTERS)}
    return {}


def _is_expansion(turn: Turn) -> bool:
    """Whether a turn behind a command may be the text that it stands for."""
    return turn.role == "user" and not turn.kind and not _request(turn)


def _chosen(dialogue: Sequence[Turn]) -> Iterator[str]:
    """What the person answered to questions."""
    for turn in dialogue:
        if turn.role == "user" and turn.kind == ANSWER:
            for question, answer in _ANSWERED.findall(turn.text):
                yield f"{shortened(single(question), 120)} {shortened(single(answer), 100)}"


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
    return shortened(found if word_count(found) >= SENTENCE_WORDS else text, limit)


def _is_request(sentence: str, *, may_ask: bool) -> bool:
    """Whether a sentence of a person asks for something now; or something, if it ``may_ask``."""
    is_asking = (may_ask and sentence.endswith(("?", "？"))) or judged(sentence).once >= _REQUEST
    return word_count(sentence) >= SENTENCE_WORDS and is_asking


_COLON = expression(r"[^:：\n]*(?:：|:(?=\s|$))")
"""What announces a text."""
_PLAN = expression(r"(Implement the following plan:)\s+#+ (?:Plan: )?([^\n]{3,120})")
"""What Claude Code writes for a person who accepts a plan of the agent, with the plan's title."""
_ITEM = expression(r"\A[ \t]*(?:[-*+•]|\(?\d{1,3}[.)]|[a-zA-Z][.)])[ \t]+")
_LINK = expression(r"https?://\S{4,120}")
_BANNER = expression(
    r"[\u2500-\u259f]{2,}|(?<![^\s.])[\w.-]{1,40}@[\w-]{1,40}[: ]\S{1,80}(?: \([^\s)]{1,60}\))?"
    r"(?:(?<=[$#%>])|[$#%>]) |(?<!\S)\d{4}-\d\d-\d\dT\d\d:\d\d:"
)
"""Drawn with blocks or lines, the prompt of a shell, or the time of a log: what follows is a program's."""
_TITLE = expression(r"^(?:#+ )?(?:Plan: )?")
_NO_NAME = expression(r"^/prompt(?:\s+|$)")
"""Stands for a command of Codex whose name its log has not."""
_MENTIONS = expression(r"@[^\s@]*|User provided an image \([^)\n]*\)\.|\[Image #\d+\]")
_LONG_PATH = expression(
    r"(?<!\S)@?(?:\"[^\"\n]*[/\\][^\"\n]{32,400}\"|(?:~|[A-Za-z]:|@[\w.-]+)?[/\\]\S{32,})"
)
_WORD = expression(r"[^\W\d_][\w'’-]*[.,:;!?]?")
_WIDE = expression(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNSPACED = expression(r"[\u3040-\u30ff\u3400-\u9fff]")
_WIDE_LETTERS = 5
"""Letters of a few words in a script without spaces."""
_PRINTED = expression(r"\s*(?!\[Image #)(?:\.[^\w/]|[^\w\s\"'(“«¿¡@#/`*.-]|(?:DOM Path|HTML Element): )")
"""The start of a line of decorated program output."""
_ANSWERED = expression(r"\"((?:[^\"\\]|\\.){3,400})\"=\"((?:[^\"\\]|\\.){2,400})\"")
_OF_PROGRAM = expression(
    r"/(?:add|drop|load|read-only|reset|map-\S*|\S+-model|clear|compact|context|continue|cost|config|doctor|exit|help|hooks|ide|login|logout|mcp|memory|model|new"
    r"|permissions|plugins?|quit|reload\S*|remote-\S+|rename|resume|rewind|status\S*|theme|upgrade|usage|vim)\b"
)
"""Commands to the agent's program itself."""
