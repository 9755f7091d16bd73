"""Splits what a person typed into sentences, and sentences into the parts that could each state a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.rules.judge import NOT_SAID, PLAIN, TOO_SHORT, TWICE, Verdict, judged
from engine.rules.subject import subject_of
from engine.rules.words import SPEAK
from engine.startup.lazy import expression

_SPLIT = expression(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)\s+(?=\S)|(?<=[。！？])| -> "
    r"|\s[-–—]{1,2}\s(?=\w)|(?<=\w)—(?=\w)|;\s|[，,]\s?(?=(?:以后|以後|今后|往后|从现在|從現在|从今|今後|これからは))"
)
"""Expects single spaces: a long run of them would take quadratic time."""
_BULLET = expression(r"^\s*(?:[-*•>]+|\(?\d{1,3}[.)])\s+")
_COMMAND = expression(r"(?:[A-Z]+ )?/[\w:-]+\s*")
_SIGNS = expression(r"[\U0001F300-\U0001FAFF\u2600-\u27BF\ufe0f\u200d♂♀]|(?<!\w)[:;]-?[)(|D](?!\w)")
_LEAD = expression(
    r"(?:(?:hmm+|ok(?:ay)?|yes|yep|yeah|by the way|oh|ah|hey|hi|well|sorry|but|and|also|so|then|actually|btw"
    r"|no(?=[ ]*[,.:;!…-])"
    r"|(?:cool|great|nice|good|perfect|excellent)(?=\s*(?:[,.:;!…-]|$))|thanks?|sure|right|alright"
    r"|perhaps|maybe|one more thing|fyi"
    r"|additionally|furthermore|moreover|similarly|likewise|first(?:ly)?(?= ?,)|second(?:ly)?(?="
    r" ?,)|third(?:ly)?(?= ?,)|finally(?= ?,)|lastly(?= ?,)"
    r"|first of all|another thing|now(?= ?,))\b(?:[\s,:;!…-]|(?<!\s)\.|\.(?![^\W\d_]))*)+",
    re.IGNORECASE,
)
"""Filler at the start of a sentence."""
_ADDS = expression(
    r"\b(?:also|additionally|furthermore|moreover|(?:another|one more) thing|finally|lastly"
    r"|(?:first|second|third)(?:ly)?)\b",
    re.IGNORECASE,
)
"""Filler before what is said in addition."""
_NEXT = (
    r"(?:please|pls|also|always|never|don['’]?t|do not|from now|going forward|make sure|let['’]?s"
    r"|we (?:always|never|use|prefer|don)|i (?:want|need|prefer|['’]d)"
    r"|you (?:should|must|always|never)|every|all|no |use|add|start|end|begin|finish|write|run"
    r"|keep|put|name|call|include|import|avoid|stop"
    r"|starting|ending|using|adding|including|naming|writing|keeping"
    r"|commit|push|open|test|check|ask|tell|answer|reply|wrap|prefix|suffix|remember|for (?:every"
    r"|each|all)|whenever|each time|in (?:every|each|all)|prefer|stick|leave|skip|remove"
    r"|ab jetzt|immer|nie|bitte|toujours|jamais|siempre|nunca|sempre)"
)
_PARTS = expression(
    rf"(?:,|\.\.\.|…)?\s+(?:and|but|so|then|und|aber|y|pero|et|mais|e)\s+(?={_NEXT}\b)"
    rf"|,\s+(?={_NEXT}\b)",
    re.IGNORECASE,
)
"""Before a part of a sentence that could stand on its own."""
_CALLED = expression(r"\s*\w+,\s")
"""May be the name of the one who is spoken to."""
_WHEN = expression(
    r"\s*(?:when|whenever|if|before|after|for|in|on|while|as|once|with|regarding|unless|until|wenn"
    r"|bevor|pour|quand|cuando|para)\b",
    re.IGNORECASE,
)
_FORBIDS = expression(
    r"(?<![^，,；;：:的])(?:请|請)?(?:不要|不许|不許|不准|不得|请勿|請勿|[别別])[^，,。！？；;：:\s'’‘\"“”]{3,14}(?=$|[，,。！；;'’”])"
)
"""In Chinese, a clause of a sentence about the task that forbids something: people say it again and again."""
_CONFIRMS = expression(
    r"(?:(?:like|so|please|and|pls|yes|really|i mean|do|just|kindly),? )*(?:each"
    r"|(?:always|never|ever)(?=$|[,\s]+(?:please|do|in|for|on|from|with|that|this|it|and|so|ever)\b)"
    r"|every|remember (?:that|this|it)|no exceptions?"
    r"|(?:(?:we|i) (?:want|expect|need) you (?:in (?:the )?future |from now on |always )?to )?"
    r"(?:adhere|stick|keep) to (?:that|it|this)"
    r"|without exceptions?"
    r"|that['’]s (?:the|our|a|my) (?:rule|convention|standard|policy)|in future|everywhere|as a"
    r" rule|merk\w*|immer|toujours|siempre|sempre)\b"
    r"(?:[,\s]+\w+){0,5}",
    re.IGNORECASE,
)
"""Makes a rule of the sentence before."""
_MEMORY = expression(
    r"(?:^|[,;:(]|\b(?:and|but|so|then)\b)(?P<lead> ?)(?:(?:please|pls|also|just) )*"
    r"(?:(?P<asked>(?:remember|memori[sz]e)(?: (?:it|this|that))? and )|(?!\w+ (?:it|this|that) \w+ memor))"
    r"(?:save|store|add|put|keep|write|note|record|commit)(?: (?:it|this|that))?(?: down)? (?:in|into|to)"
    r" (?P<yours>(?:your|claude['’]?s) )?(?:long[- ]term )?memor\w{1,3}\b(?: please)?\)?(?P<that> that\b|:)?",
    re.IGNORECASE,
)
"""Asks to keep something in the agent's memory; "store it in memory" says what a program is to do."""
_REFERS = expression(
    r"(?:please |always |also |just |simply |then )*(?:start|begin|end|finish|use|add|apply|include|append"
    r"|prefix|suffix|name|call|write|put|keep|format|mark|wrap|import)\s+(?:them|it|these|those|this|each)\b",
    re.IGNORECASE,
)
"""Says what is to be done with what the sentence before names."""
_FEWEST_OF_A_PART = 4
"""Words of a part that can stand on its own."""
_PRONOUN = expression(r"\b(?:them|it|these|those)\b", re.IGNORECASE)
_OF_NOUN = expression(r"(?:start|end|begin|finish)s?\s+(?:with|in|by)\b", re.IGNORECASE)
_NOUN = expression(
    r"\b((?:(?:function|method|class|variable|attribute|parameter|argument|test|branch|commit|file"
    r"|pr|pull request|component|endpoint|column|table|constant|module)s?[ -]?)+"
    r"(?:arguments?|names?|messages?|titles?|files?)?)",
    re.IGNORECASE,
)

_ONWARD = expression(
    r"((?:(?:from now on|from today on|going forward|moving forward|in future|ab jetzt|ab sofort"
    r"|künftig|désormais|dorénavant|de ahora en adelante"
    r"|a partir de (?:ahora|agora))[,\s]*)?(?:please )?(?:always )?)(?:never )?",
    re.IGNORECASE,
)
"""Holds for the parts that follow, too; a "never" at its end may be meant for the first one only."""
_HANGS = expression(r"\b(?:instead|(?:an?|the) (?:\w+ )?one)\b", re.IGNORECASE)
"""Says something only together with the part before."""
_LITERAL = r"[`'\"‘“][^`'\"’”]{1,40}[`'\"’”]"
_BOTH = expression(
    r"(?P<head>.*?\b(?:start|end|begin|prefix|suffix|name|mark|tag|wrap"
    rf"|use))\s+(?P<one>[^'`\"]{{2,60}}{_LITERAL}),?\s+and\s+"
    rf"(?P<two>(?!(?:start|end|begin|prefix|suffix|name|use)\b)[^'`\"]{{2,60}}{_LITERAL}[^'`\"]{{0,80}})",
    re.IGNORECASE,
)
"""One verb for two choices: "start variable names with 'n_' and method names with 'a_'"."""


def sentences_in(own: str) -> Iterator[tuple[str, bool]]:
    """The sentences of what a person typed, in order, without filler at the start, and whether each says
    something in addition.
    """
    lines = (" ".join(line.split()) for line in own.split("\n"))
    adds = False
    for raw in (part for line in lines for part in _SPLIT.split(line)):
        text = _SIGNS.sub("", _BULLET.sub("", raw, count=1)).strip()
        if command := _COMMAND.match(text):
            text = text[command.end() :]
        if lead := _LEAD.match(text):
            adds = adds or _ADDS.search(lead[0]) is not None
            text = text[lead.end() :]
        text = "".join(filter(str.isprintable, _bare(" ".join(text.split()), ' –—,.:-"“”')))
        if text:
            yield text, adds
            adds = False


def rules_in(own: str) -> Iterator[tuple[str, Verdict]]:
    """The parts of what a person typed that ask for something, with their verdicts.

    A sentence is split where its parts state rules of their own, or where one is about the task at hand. A
    short sentence that only confirms the one before ("remember that", "always") is read together with it, and
    one that adds something general to a rule is a rule as well.
    """
    before, has_rule = "", False
    said = list(sentences_in(own))
    added = {sentence for sentence, adds in said if adds}
    for sentence in _joined(clause for each, _ in said for clause in _with_speech_apart(each)):
        asked = _MEMORY.search(sentence)
        if asked is not None and (kept := _to_be_kept(sentence, asked) or before):
            yield kept, _as_kept(kept, sentence, is_plain=bool(asked["asked"] or asked["yours"]))
            before, has_rule = kept, True
            continue
        parts = _parts(sentence)
        if len(parts) > 1 and (onward := _ONWARD.match(parts[0])) and onward[1] and judged(parts[0]).is_plain:
            parts[1:] = [part if judged(part).is_plain else f"{onward[1]}{part}" for part in parts[1:]]
        verdicts = [judged(part) for part in parts]
        whole = judged(sentence)
        if has_rule and sentence in added:
            whole = whole.as_a_further_one(sentence)
        if len(parts) > 1 and whole.is_plain and all(subject_of(part).values for part in parts):
            yield from ((part, whole) for part in parts)  # each chooses something of its own
        elif len(parts) > 1 and _stand_alone(verdicts):
            yield from _plain_ones(parts, verdicts)
        elif before and _CONFIRMS.fullmatch(sentence):
            joined = f"{before}; {sentence}"
            yield joined, judged(joined)
        else:
            yield sentence, whole
            if not whole.is_plain:
                yield from ((ban, judged(ban)) for ban in _FORBIDS.findall(sentence) if ban != sentence)
        before, has_rule = sentence, has_rule or whole.is_plain


def _bare(text: str, marks: str) -> str:
    """A text without marks around it; the dot of ``.env`` at its beginning is no mark."""
    bare = text.strip(marks)
    before = text[: text.find(bare)] if bare else ""
    is_name = before.endswith(".") and not before.endswith("..") and bare[0].isalpha()
    return f".{bare}" if is_name else bare


def _with_speech_apart(sentence: str) -> Iterator[str]:
    """A sentence, and before it what it says of the language in which the agent is to speak."""
    asked = SPEAK.search(sentence)
    if asked is not None and asked[0] != sentence:
        yield _LEAD.sub("", asked[0].strip(), count=1)
        sentence = f"{sentence[: asked.start()]} {sentence[asked.end() :]}".strip(" ,;:.")
    yield sentence


def _to_be_kept(sentence: str, asked: re.Match[str]) -> str:
    """What is to be kept in the agent's memory; empty if a sentence only asks for it."""
    before = "" if asked["that"] else sentence[: asked.start("lead")]
    return _bare(" ".join(f"{before} {sentence[asked.end() :]}".split()), " ,;:.-")


def _as_kept(text: str, sentence: str, *, is_plain: bool) -> Verdict:
    """The verdict on what a sentence asks the agent to keep in its memory.

    Args:
        is_plain: It is said to be the agent's memory, or to be remembered: that is said twice.
    """
    own = judged(text)
    if own.why not in ("", NOT_SAID, TOO_SHORT) or not is_plain:
        return own
    said = max((own, judged(f"remember that {text}"), judged(sentence)), key=lambda each: each.standing)
    return replace(said, why="", says_so=2, at_work=TWICE)


def _joined(sentences: Iterable[str]) -> Iterator[str]:
    """The sentences, one that announces a rule together with the next one, which says what it is."""
    before = ""
    for sentence in sentences:
        both = f"{before}; {sentence}"
        about = subject_of(sentence)
        if before and _REFERS.match(sentence) and judged(before).says_so and judged(both).is_plain:
            if about.values or about.targets:  # else it only says once more what stands before
                before = both
        else:
            if before:
                yield before
            before = sentence
    if before:
        yield before


def _stand_alone(verdicts: Sequence[Verdict]) -> bool:
    """Whether some parts of a sentence are rules, and no other one is a statement that they may continue."""
    others = [each for each in verdicts if not each.is_plain]
    return len(others) < len(verdicts) and all(each.once >= each.other for each in others)


def _plain_ones(parts: Sequence[str], verdicts: Sequence[Verdict]) -> Iterator[tuple[str, Verdict]]:
    """The parts that are rules, each with what follows it and may be one: "always add a digit, end in x"."""
    found: list[tuple[str, Verdict]] = []
    for part, verdict in zip(parts, verdicts, strict=True):
        if verdict.is_plain:
            found.append((part, verdict))
        elif found and verdict.why == NOT_SAID and verdict.standing >= PLAIN:
            found[-1] = (f"{found[-1][0]}, {part}", found[-1][1])
    return iter(found)


def _split(text: str, lead: str) -> Iterator[str]:
    """A sentence at the places where a part could stand on its own; not behind a clause that says when, or a
    few words. ``lead`` stands before its first part.
    """
    start = 0
    for match in _PARTS.finditer(text):
        part = text[start : match.start()]
        if not _only_says_when(part) and _is_whole(part if start else lead + part):
            yield part
            start = match.end()
    yield text[start:]


def _only_says_when(part: str) -> bool:
    called = _CALLED.match(part)
    for start in (0, called.end()) if called is not None else (0,):
        if _WHEN.match(part, start):
            return "," not in part[start:]
    return False


def _is_whole(part: str) -> bool:
    words = len(part.split())
    # "Always use tabs" is, "never spaces" belongs to what stands before it.
    return words >= _FEWEST_OF_A_PART or (
        words == _FEWEST_OF_A_PART - 1 and judged(part.strip(" ,.:-")).is_plain
    )


def _parts(sentence: str) -> list[str]:
    """The parts of a sentence; a pronoun in one stands for what the part before names."""
    both = _BOTH.fullmatch(sentence)
    if both is not None:
        return [f"{both['head']} {both['one']}", f"{both['head']} {both['two']}"]
    onward = _ONWARD.match(sentence)
    start = onward.end() if onward is not None else 0
    found: list[str] = []
    for part in _split(sentence[start:], sentence[:start]):
        text = f"{sentence[:start] if not found else ''}{_bare(part, ' ,.:-')}"
        if not text:
            continue
        named = _NOUN.findall(found[-1]) if found else []
        if named and not _NOUN.search(text):
            noun = named[-1].strip()
            text = f"{noun} {text}" if _OF_NOUN.match(text) else _PRONOUN.sub(noun, text, count=1)
        if found and (not _is_whole(text) or _HANGS.search(text)):
            return [sentence]
        found.append(text)
    return found
