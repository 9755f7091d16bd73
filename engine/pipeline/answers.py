"""Answers a question about past work with what was said in other sessions of the project.

An agent proposes, and the person decides: only the person's words say what holds. So of equal answers theirs
come first; what an agent said is told from the end of its reply, where it says what it found and did; a
proposal that the person objected to is told with the objection, or not at all; and a question of the person's
own is not told, but the reply to it. Who asks why is told reasons, and of an agent nothing else. Rather
nothing than a passage that is beside the point.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from engine.context.relevance import BESIDE_KNOWN
from engine.knowledge import commands
from engine.recall.reasons import asks_why, gives_reason, with_reasons
from engine.recall.telling import PRINTED, QUESTION, lines_before_prompt, only_asks
from engine.search.passages import is_shown, whole_passages
from engine.search.past_work import asks_back, content_words, is_question, past_work, subject_of
from engine.search.query import literal_terms
from engine.search.worth import AGENT, PERSON
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.prose import SENTENCE_END
from engine.transcripts.injected import BY_PROGRAM
from engine.transcripts.turn import COMMAND, PLAN, ToolCall

if TYPE_CHECKING:
    from engine.context.request import Query
    from engine.search.index import SearchIndex
    from engine.search.results import SearchResult
    from engine.search.state import Turn

_MOST = 2
"""Passages told."""
_SEARCHED = 12
_LEAST_SCORE, _LEAST_TYPED = 0.6, 0.4
"""Share of the score of the best result, and the same for what the person typed."""
_LEAST_ABOUT = 0.6
"""Relevance from which a turn answers a question that does not ask back in so many words."""
_ALL, _SEVERAL = 0.9, 3
"""A turn that has this share of so many words is about them even below that relevance."""
_FEWEST_WORDS = 2
_TOGETHER = 0.6
"""Share of such a question's words that one turn must contain."""
_LEAST_SAID, _LEAST_REPLIED = 0.25, 0.5
"""The same for what the person stated, and what an agent said, to be told: it says much that only sounds
alike."""
_LEAST_OWN = 0.3
"""The same for a sentence of the person's that gives a reason to come first."""
_LEAST_BESIDE, _NEARLY = 0.5, 0.7
"""The same for another passage of an answer to an agent, and the part of the best one's share."""
_FEW_SESSIONS = 2
"""Sessions with turns that have the most of them; words that more have together are those of any question."""
_STEM, _WIDE_STEM, _WIDE = 4, 2, "\u1100"
"""Letters that forms of a word share at least, and the same in East Asian scripts, from a letter on."""
_ENDING = 3
_LONGEST_STEM = 6
_NAME = expression(r"(?<![\w-])(?:--[a-z][\w-]+|[a-z]\w*(?:[-_./]\w+)+)")
_CALL = expression(r"> ?(?:\[tool:|→)")
_OBJECTS = expression(
    r"\b(?:no|nope|not|don['’]?t|doesn['’]?t|isn['’]?t|shouldn['’]?t|never|stop|wait"
    r"|instead|rather|better|actually|revert|undo|wrong|nein|nicht|kein\w*|lieber|stattdessen|non|pas|plutôt"
    r"|jamais|mejor|nunca|não|melhor|invece|meglio|нет|не|лучше|зачем|стоп|вместо|ні|nie|ne|niet|hayır)\b"
    r"|不|别|別|改成|而是|違|いや|ではなく|じゃなく|やめ|없|아니|말고|지 ?마"
)
"""Words of a turn that does not simply agree to what was proposed. A turn taken for one costs little: it is
the person's next word on the matter."""
_AGREES = expression(
    r"(?:ok|okay|yes|yeah|yep|sure|great|perfect|nice|thanks|ja|oui|sí|sim|да|хорошо|отлично)\b"
    r"(?!,? (?:but|no|so)\b)|好|可以|はい|네"
)
_MOST_OBJECTION = 400
_MEANS_TO = expression(r"\b(?:let me|i['’]ll|i will|i['’]m (?:going|now|check\w+)|let['’]s)\b[^.!?\n]*[.:]?$")
"""A text that ends with what an agent means to do next."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked."""

    wanted: tuple[str, ...]  # the words that say what it is about
    is_why: bool

    @property
    def query(self) -> str:
        """Its words decide which part of a text is told."""
        return " ".join(self.wanted)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a turn that a search found has to tell."""

    parts: tuple[SearchResult, ...]  # in the order in which they were said
    is_persons: bool  # the person stated it
    share: float  # of the question's words
    relevance: float
    is_reply: bool = False  # of an agent to the same "why"

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(each.text for each in self.parts)


def answers(
    index: SearchIndex,
    asked: Query,
    message: str,
    today: date,
    is_near: Callable[[str], bool],
    conversation: str,
) -> list[SearchResult]:
    """What answers a message that asks about past work; nothing if it does not, or if nothing clearly does.

    Args:
        asked: The search of the memory for the message.
        is_near: Whether the session of a transcript may be of the project. Those of others answer only what
            is asked back, and only if none of the project does.
        conversation: The transcript of the message's own session.
    """
    is_back, subject = asks_back(message), subject_of(message)
    if not is_back and len(subject) < _FEWEST_WORDS:
        return []
    work = past_work(message, today)
    if work is not None and not work.subject:
        return []  # it asks for the work of some days, of which recaps tell
    files = {each.path: each.file for each in index.past().sessions if each.path != conversation}
    searched = index.search(asked.text, limit=_SEARCHED, exclude=asked.exclude, today=today, in_full=False)
    found = [each for each in searched if each.path in files and (each.relevance or 0.0) >= BESIDE_KNOWN]
    near = [each for each in found if is_near(each.path)]
    found = near if near or not is_back else found
    wanted = content_words(message)
    if is_back:
        wanted = _known(found, wanted)
    else:
        found = _about(found, wanted)
    if not found or not wanted:
        return []
    best = [
        each
        for each in found
        if each.score >= (_LEAST_SCORE if _is_of(each.speaker, AGENT) else _LEAST_TYPED)
    ]
    sessions = {path: index.turns(files[path]) for path in dict.fromkeys(each.path for each in best)}
    question, kinds = _Question(tuple(wanted), asks_why(message)), commands.kinds_asked(message)
    told = [
        each
        for result in best
        if (turns := sessions[result.path]) and (each := _answer_in(result, turns, question)) is not None
    ]
    if kinds:
        told = [each for each in told if commands.names_command(each.text, kinds)]
    if not question.is_why:
        told = [each for each in told if _names_any(each.text, message)] or told
    if question.is_why:
        reasons = [
            each for each in told if each.is_reply or (gives_reason(each.text) and _share(each.text, wanted))
        ]
        decided = [each for each in told if each.is_persons and _objects(each.text)]
        stated = [each for each in told if each.is_persons and not asks_why(each.text)]
        told = [*reasons, *decided] if reasons else stated
    return [
        replace(each, worth=each.relevance, why="the message asks back about it")
        for each in _chosen(told, question)
    ]


def beside(
    found: Sequence[SearchResult],
    message: str,
    query: str,
    told: Sequence[SearchResult],
    *,
    is_recorded: bool,
) -> list[SearchResult]:
    """The whole passages of some results that may stand beside what answers a message: of a question those
    with half of its words, its names and figures, or with a reason if it asks for one; for how to run
    something, those that name a command.

    Args:
        query: Decides which paragraphs of a longer text are kept.
        is_recorded: A record of what was run answers how to run it, apart from the tests or the server that
            the message names.
    """
    kinds = commands.kinds_asked(message)
    named = content_words(commands.besides_kinds(message)) if kinds else ()
    wanted = content_words(message) if asks_back(message) or is_question(message) else ()
    is_why = bool(wanted) and asks_why(message)
    figures = [word for word in wanted if not word.isalpha()]
    places = {(each.path, each.start_line) for each in told}

    def worth(result: SearchResult, text: str) -> float:
        if result.category not in ("conversation", "journal") or not (kinds or wanted):
            return 1.0  # somebody found it worth writing down
        if kinds:
            is_named = _share(text, named) >= _LEAST_BESIDE if named else not is_recorded
            return float(is_named and commands.names_command(text, kinds))
        if is_why:
            is_told = result.category == "conversation" and not told
            return float(is_told and _share(with_reasons(text), wanted) >= _LEAST_OWN)
        if not _names_any(result.text, message) or (figures and _share(result.text, figures) < 1.0):
            return 0.0
        is_near = (result.relevance or 0.0) >= _LEAST_ABOUT  # in other words
        return max(_share(text, wanted), _LEAST_BESIDE * is_near)

    passages = [(part, worth(each, part.text)) for each in found for part in whole_passages([each], query)]
    best = max((share for _, share in passages), default=0.0)
    least = max(_LEAST_BESIDE, _ALL if told else _NEARLY * best)
    if best < least and not told:  # perhaps in other words
        least = max(_LEAST_OWN, best)
    return [part for part, share in passages if share >= least and (part.path, part.start_line) not in places]


def with_readers(index: SearchIndex, told: Sequence[SearchResult]) -> list[SearchResult]:
    """Some passages, those marked that an agent said after a tool had brought it a text from outside."""
    from engine.provenance.tools import brings_outside  # noqa: PLC0415 — few messages are told anything
    from engine.transcripts.format import parse_entry  # noqa: PLC0415 — likewise

    def had_read(result: SearchResult) -> bool:
        lines = (
            line
            for first, _, _, _, _, text in index.turns(files[result.path])
            for line in text.split("\n")[: max(0, result.start_line - first)]
        )
        calls = map(parse_entry, filter(_CALL.match, lines))
        return any(isinstance(call, ToolCall) and brings_outside(call) for call in calls)

    said = {each.path for each in told if _is_of(each.speaker, AGENT)}
    files = {each.path: each.file for each in index.past().sessions if each.path in said} if said else {}
    return [
        replace(each, had_read=_is_of(each.speaker, AGENT) and each.path in files and had_read(each))
        for each in told
    ]


def _about(found: Sequence[SearchResult], wanted: Sequence[str]) -> list[SearchResult]:
    """The turns that are clearly about some words, if these stand together in one, and in few sessions."""
    shares = [_share(each.text, wanted) for each in found]
    sure = [
        (each, share)
        for each, share in zip(found, shares, strict=True)
        if (each.relevance or 0.0) >= _LEAST_ABOUT or (share >= _ALL and len(wanted) >= _SEVERAL)
    ]
    most = max((share for _, share in sure), default=0.0)
    together = {each.path for each, share in sure if share == most}
    return [each for each, _ in sure] if most >= _TOGETHER and len(together) <= _FEW_SESSIONS else []


def _known(found: Sequence[SearchResult], wanted: Sequence[str]) -> tuple[str, ...]:
    """Those of some words that the turns have, or forms of them; the others are of the question alone."""
    said = {word for each in found for word in _words(each.text)}
    return tuple(word for word in wanted if any(each.startswith(_stem(word)) for each in said))


def _names_any(text: str, message: str) -> bool:
    """Whether a text has one of the names in a message, such as ``get_segment``; true if it has none."""
    names = _NAME.findall(message.casefold())
    said = text.casefold()
    return not names or any(name in said for name in names)


def _share(text: str, wanted: Sequence[str]) -> float:
    """The share of some words that the prose of a turn has, or forms of them."""
    said = _words(text)
    held = [
        word in said if not word.isalpha() else any(each.startswith(_stem(word)) for each in said)
        for word in wanted
    ]
    return sum(held) / max(len(held), 1)


def _words(text: str) -> tuple[str, ...]:
    """The words of the prose of a turn."""
    return literal_terms("\n".join(line for line in text.casefold().split("\n") if not is_shown(line)))


def _stem(word: str) -> str:
    """A word without its ending."""
    least = _STEM if word[0] < _WIDE else _WIDE_STEM
    return word[: min(max(least, len(word) - _ENDING), _LONGEST_STEM)]


def _chosen(told: Sequence[_Answer], question: _Question) -> list[SearchResult]:
    """Those with the most words of the question; of equal ones, what the person stated, and first of all the
    person's reasons.
    """

    def rank(each: _Answer) -> tuple[int, float, bool, float]:
        sentences = filter(gives_reason, SENTENCE_END.split(each.text) if question.is_why else ())
        shares = [_share(sentence, question.wanted) for sentence in sentences]
        is_own = each.is_persons and max(shares, default=0.0) >= _LEAST_OWN
        return -((bool(shares) or each.is_reply) + is_own), -each.share, not each.is_persons, -each.relevance

    ranked = sorted(told, key=rank)
    chosen: dict[str, SearchResult] = {}
    for each in ranked:
        if len(chosen) < _MOST and each.share >= (_LEAST_SAID if each.is_persons else _LEAST_REPLIED):
            chosen |= {part.text: part for part in each.parts}
    return list(chosen.values())


def _answer_in(result: SearchResult, turns: Sequence[Turn], question: _Question) -> _Answer | None:
    """What a turn has to tell, given all turns of its session, at least one; ``None`` for nothing."""
    place = bisect_right([first for first, *_ in turns], result.start_line) - 1
    wanted, relevance = question.wanted, result.relevance or 0.0
    if _is_of(result.speaker, PERSON):
        said = _typed(result, turns, place)
        if not only_asks(said, question.query):
            parts = _whole(replace(result, text=said), question)
            text = parts[0].text if parts else ""
            return _Answer(parts, True, _share(text, wanted), relevance) if parts else None
        replied = _reply(result, turns, place, question)
        share = _share(said, wanted)
        is_same = share >= _TOGETHER and asks_why(said)
        return _Answer(replied, False, share, relevance, is_same) if replied else None
    if not _is_of(result.speaker, AGENT) or not (replied := _closing(result, turns, place, question)):
        return None
    share = _share(result.text if question.is_why else replied[0].text, wanted)
    following = next((at for at in range(place + 1, len(turns)) if _is_of(turns[at][2], PERSON)), None)
    if following is not None and _objects(turns[following][5]):
        objection = _as_result(result, turns[following])
        said = _typed(objection, turns, following)
        parts = _whole(replace(objection, text=said), question)
        if parts and (own := _share(said, wanted)) >= share:
            return _Answer(
                parts, True, own, relevance
            )  # it says what was proposed, and that it does not hold
        replied = (*replied, *parts)
    return _Answer(replied, False, share, relevance)


def _is_of(speaker: str, role: str) -> bool:
    return speaker.partition(" ")[0] == role


def _as_result(like: SearchResult, turn: Turn) -> SearchResult:
    first, last, speaker, heading, day, text = turn
    return replace(
        like, start_line=first, end_line=last, speaker=speaker, heading=heading, date=day, text=text
    )


def _objects(text: str) -> bool:
    """Whether a turn does not simply go along with what was proposed."""
    if len(text) > _MOST_OBJECTION or BY_PROGRAM.search(text) or QUESTION.search(text):
        return False
    said = text.lower().lstrip()
    return _AGREES.match(said) is None and _OBJECTS.search(said) is not None


def _typed(result: SearchResult, turns: Sequence[Turn], place: int) -> str:
    """What the person wrote in a turn, on its lines: nothing they pasted, and of a command its own line."""
    from engine.transcripts.typed import lines_of  # noqa: PLC0415 — few messages ask

    if BY_PROGRAM.search(result.text):
        return ""
    lines = lines_of("\n".join(lines_before_prompt(result.text)))
    if result.heading.endswith(f"[{COMMAND}]"):
        is_first = not place or turns[place - 1][3] != result.heading
        lines = lines[:1] if is_first else []
    return "\n".join(
        line.text if (not line.why or line.is_uncertain) and not PRINTED.match(line.text) else ""
        for line in lines
    )


def _reply(
    result: SearchResult, turns: Sequence[Turn], place: int, question: _Question
) -> tuple[SearchResult, ...]:
    """The end of the agent's reply to a turn."""
    end = next((at for at in range(place + 1, len(turns)) if _is_of(turns[at][2], PERSON)), len(turns))
    spoken = [at for at in range(place + 1, end) if _is_of(turns[at][2], AGENT)]
    return _closing(_as_result(result, turns[spoken[-1]]), turns, spoken[-1], question) if spoken else ()


def _closing(
    result: SearchResult, turns: Sequence[Turn], place: int, question: _Question
) -> tuple[SearchResult, ...]:
    """What an agent said in a turn after its last call, if it then waited for the person; or its plan."""
    following = next(
        (turn for turn in turns[place + 1 :] if _is_of(turn[2], PERSON) or _is_of(turn[2], AGENT)), None
    )
    if result.heading.endswith(f"[{PLAN}]"):
        return _whole(result, question)
    if following is not None and _is_of(following[2], AGENT):
        return ()  # it was at work, and says what it meant to do next
    lines = result.text.split("\n")
    calls = [number for number, line in enumerate(lines) if _CALL.match(line)]
    ended = calls[-1] + 1 if calls else 0
    after = "\n".join(lines[ended:])
    if not after.strip():  # it explained first, and then did it
        return tuple(each for each in _whole(result, question) if not _MEANS_TO.search(each.text.lower()))
    start = min(result.start_line + ended, result.end_line)
    return _whole(replace(result, text=after, start_line=start), question)


def _whole(result: SearchResult, question: _Question) -> tuple[SearchResult, ...]:
    if question.is_why and (reasons := with_reasons(result.text)):
        result = replace(result, text=reasons)
    found = whole_passages([result], question.query)
    return tuple(replace(each, text=each.text.strip("\n")) for each in found)
