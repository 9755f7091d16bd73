"""Where values stand: after a name and an operator, an option, a header, in an address, a tag, a sentence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from engine.redaction import tables
from engine.redaction.names import MARKS, NOTHING, Meaning, meaning
from engine.redaction.tables import line_start
from engine.redaction.values import is_file, is_formed, is_published
from engine.startup.lazy import expression

_WINDOW = 110
"""Characters before a value whose words are looked at."""
_AFTER = 60
"""The same after it."""
_NEAR = 90
"""Characters after a naming word in which values are looked for."""
_NAMING = 0.15
"""Probability from which a word may name a secret."""
_FEW = 12
"""Naming words up to which each is looked for by itself."""
_MOST_WORDS = 9
_FAR = 20.0
_JUDGED = 190
"""Characters from which a value may go on after what is judged of it."""
_LINE = 56
"""Characters from which a line may be one of a block in base64."""
_WIDE = "\u0e00-\u0e7f\u3040-\ud7af"
"""Scripts whose words may touch a value: Thai, Japanese, Chinese, Korean."""
_WIDE_IDENTIFIER = expression(
    rf"[{_WIDE}]{{1,24}}|(?<![A-Za-z0-9])(?:[^\W\d_{_WIDE}]|[{MARKS}])(?:[^\W{_WIDE}]|['’{MARKS}]|[.-](?=\w)|::(?=\w)){{0,60}}"
)
ANY_WIDE = expression(rf"[{_WIDE}]")
_OTHER_IDENTIFIER = expression(
    rf"(?<![A-Za-z0-9])(?:[^\W\d_]|[{MARKS}])[\w'’{MARKS}]{{0,60}}(?:(?:[.-]|::)\w[\w'’{MARKS}]{{0,60}}){{0,9}}"
)
"""The same for texts without those scripts, in a third of the time."""
_ASCII_IDENTIFIER = expression(
    r"(?<![A-Za-z0-9])[A-Za-z][\w']{0,60}(?:(?:[.-]|::)\w[\w']{0,60}){0,9}", re.ASCII
)
"""The same for ASCII: the others take milliseconds to compile."""
_RUN = expression(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_.~-]{16,400}+={0,2}")
RANDOM = expression(
    r"[A-Za-z0-9+/_.~-]{0,40}?(?:\d[A-Za-z]{1,9}\d|[a-z]\d{1,9}[A-Z]|[A-Z]\d{1,9}[a-z]|[a-z][A-Z][a-z]?[A-Z])"
)
"""The beginning of a run that looks random."""
_PART = expression(r"[^/]{12,}")
"""Of a path."""
_PLAIN = r"[^\s\"'`“”<>,;，。；！？、\\&]"
_VALUE = (
    r"(?:(?:[bfru$]|@)?(?P<quote>\\{0,3}[\"'`]|[“「«]|&quot;)(?P<inner>[^\n\"'`“”」»\\]{1,256}?)(?:\\{0,3}[\"'`]|[”」»]|&quot;)"
    rf"|[\"'`“]?(?P<bare>(?:{_PLAIN}|\\(?![nrt\"'])|&(?!&|[\w.%-]{{1,40}}=))"
    rf"{_PLAIN}{{0,200}}(?:(?:\\(?![nrt\"'])|&(?!&|[\w.%-]{{1,40}}=)){_PLAIN}{{0,200}}){{0,8}}))"
)
_OPERATOR = (
    r"(?:\\{0,3}[\"'`\])]){0,3}(?:"
    r"[ \t]{0,3}:[ \t]?[A-Za-z_][\w.\[\]| ]{0,40}?[ \t]?=[ \t]{0,3}(?=[\"'])"  # password: str = "…"
    r"|[ \t]{0,3}(?::=|=>|->|\\?→|={1,3}|:(?!:)|：|＝)\s{0,3}"
    r"|,[ \t]?(?=[\"'])|[ \t]?\|[ \t]"  # define("PASSWORD", "…"), | password | … |
    r"|[\"']?[^<>\n]{0,40}>"  # <password>…</password>
    r"|,?(?:\s|\\n){1,40}\\?[\"']?(?:value|default)\\?[\"']?[ \t]{0,3}[:=]\s{0,3}"  # name: PASSWORD, value: …
    r"|[ \t]?\{ ?default[ \t]?=[ \t]?"
    r"|(?:[ \t]|\\t){1,3}(?=\S)"
    r")"
)
_ASCII = str.maketrans(
    {"“": '"', "”": '"', "「": '"', "」": '"', "«": '"', "»": '"', "：": "=", "＝": "=", "→": "->"}
    | dict.fromkeys("，。；！？、", ",")
)
"""Gives an expression that matches the same in ASCII, and compiles in a third of the time."""
_AFTER_NAME = expression(_OPERATOR + _VALUE)
_AFTER_NAME_ASCII = expression((_OPERATOR + _VALUE).translate(_ASCII))
_TOKEN = expression(r"(?<![A-Za-z0-9/+_\\-])[!#-&*+\-./0-9:=?@A-Z^_a-z~]{4,200}")
_NAMED = expression(r"[A-Za-z][\w-]*[=:](?!:)(?=[^=/]{4}|\d{1,3}(?!\w))")
_NEXT = expression(r"&(?=[\w.%-]+=)")
_IN_QUOTES = r"[\"'`“「«](?P<inner>(?![,:;=)\]}])[^\s\"'`“”「」«»\\]{4,120})[\"'`”」»]"
_QUOTED = expression(_IN_QUOTES)
_QUOTED_ASCII = expression(_IN_QUOTES.translate(_ASCII))
_REMAINDER = expression(r"(?:[\w+/=-]|[.~](?=\w))*")
_CONTINUED = expression(r"[\w+/=.-]{8,200}+(?=[\s\"'`]|\Z)")
_WIDTH = 60
"""Characters from which a line may be as wide as a terminal."""
_WORD = expression(r"[A-Za-z]?[a-z]{0,14}")
_DIGIT = expression(r"\d")
_TRAILING = ".,;:!?)]}*"
_OPENING = "\"'`“「«"
_CLOSING = "\"'`”」»"
_AROUND = " \t\n\"'`\\“「«*)]}bfru"
"""What may stand around an operator between a name and its value."""
_PREFIXED = expression(r"(?<![A-Za-z0-9_])[bfru][\"']\Z")
"""Of a string in Python."""
_SENTENCE_END = expression(r"[.!?] (?=[^\W\da-z])|。|！|？|> \[[a-z]{4,10}:[^\]\n]{0,80}\] |<!-- ")
"""Also the head of a transcript's line about a call, and of a comment, such as the session of a recap."""
_FIELD_END = expression(r"\n| →(?= )")
"""Also the end of a call in a transcript, which its result follows."""
_SAID = expression(rf"\s(?:{'|'.join(sorted(tables.COPULAS))}):?\s")
_GLUED = ("是", "为", "為", "は", "が", "은", "는", "了", "คือ", "成")
_CLAUSE = expression(r"[;?=/|{}]|,(?! [a-z])")
"""Where what may name the value before it ends."""
_CLAUSE_SIZE, _CLAUSE_WORD = 40, 6
"""Its characters, and those of a word beyond ASCII in it: a longer one is a clause without spaces."""
_CALLED = expression(
    r"[\"'`”」»]?,? (?:(?:that |it )?(?:is|was)|as|are|for|als|como|comme|come|som|jako)"
    r"(?: (?:the|our|my|your|his|her|its|a|an|old|new|this))* "
    r"(?P<name>[A-Za-z][\w-]*(?: (?!(?:for|of|on|to|in|at|when|until|and|or|is|as)\b)[A-Za-z][\w-]*){0,4})"
)
"""What a value is called after it: ``… as the admin password``."""
_BEARING = frozenset(
    """
    value values default val content text data secure v k set add string entry property body plaintext
    """.split()  # noqa: SIM905
)
"""Names that say only that a value follows, which another name names."""
# How a value is joined to the name before it.
(_NONE, _SPACE, _EQUALS, _COLON, _ARROW, _COMMA, _PIPE, _TAG, _PAREN, _OTHER) = range(10)
STRICT = (_EQUALS, _COLON, _TAG)
"""Joints after which even a word may be a password."""
_JOINTS = {
    mark: joint
    for joint, marks in (
        (_EQUALS, "= == := ＝"), (_COLON, ": ："), (_ARROW, "=> -> → — –"), (_COMMA, ","), (_PIPE, "|"),
        (_TAG, ">"), (_PAREN, "( ["),
    )
    for mark in marks.split()
} | {"": _SPACE}  # fmt: skip


def proposed(text: str) -> Iterator[tables.Called]:
    """Spans that may be secrets: whatever looks random, and what stands near a name of a secret.

    With each is the name it is judged by if that does not stand beside it; else nothing.
    """
    for match in _RUN.finditer(text):
        start, end = match.span()
        if RANDOM.match(text, start) is None or is_published(text, start):
            continue
        end -= len(match[0]) - len(match[0].rstrip("."))
        if text[start] in "nrt" and text.startswith("\\", start - 1) and start:
            start += 1
        if not (
            end - start >= _LINE
            and not is_formed(text[start:end])
            and (not start or text[start - 1] == "\n" or text.startswith("\\n", start - 2))
            and (text[end : end + 1] in "\r\n" or text.startswith("\\n", end))
        ):  # a line of a certificate, a signature or a picture
            is_diff = text[start] in "+-" and text[start - 1 : start] in "\n"
            yield from _parts(text, start + is_diff, end)
    identifier = _identifier(text)
    words = set(identifier.findall(text))
    naming = {word: said for word in words if (said := _naming(word)) is not None}
    patterns = (_AFTER_NAME_ASCII, _QUOTED_ASCII) if text.isascii() else (_AFTER_NAME, _QUOTED)
    lines: set[int] = set()
    has_arn = "arn:" in text
    for word, start, end in _places(text, identifier, naming):
        if not is_file(word) and not (has_arn and is_arn(text, start)):
            yield from _near(text, start, end, naming[word], *patterns)
            yield from tables.apart(text, word, start, end)
            line = line_start(text, start, tables.FIRST)
            if line not in lines and text[line - 1 : line] in "\n":
                lines.add(line)
                yield from tables.below(text, line, word, lines)
    for word, _, end in _places(text, identifier, tables.ACCOUNTS & words):
        yield from tables.after_user(text, word, end)


@lru_cache(maxsize=1 << 16)
def _naming(word: str) -> Meaning | None:
    """What a word says if it may name a secret, as few do."""
    said = meaning(word)
    return said if said[1] + said[2] >= _NAMING else None


def identifiers(text: str) -> list[str]:
    """The words and names in a text, in order."""
    found: list[str] = _identifier(text).findall(text)
    return found


def _places(text: str, identifier: Any, naming: Collection[str]) -> list[tuple[str, int, int]]:
    """Some of the identifiers in a text, with start and end."""
    if len(naming) > _FEW:  # a pass for each would take time in proportion to their number
        return [(match[0], *match.span()) for match in identifier.finditer(text) if match[0] in naming]
    found: list[tuple[str, int, int]] = []
    for word in naming:
        size, start = len(word), text.find(word)
        while start >= 0:
            there = identifier.match(text, start)
            if there is not None and there[0] == word:
                found.append((word, start, start + size))
            start = text.find(word, start + size)
    found.sort(key=itemgetter(1))  # as a heading comes before its rows
    return found


def _identifier(text: str) -> Any:
    """What matches the identifiers of a text."""
    if text.isascii():
        return _ASCII_IDENTIFIER
    return _WIDE_IDENTIFIER if ANY_WIDE.search(text) else _OTHER_IDENTIFIER


def is_arn(text: str, at: int) -> bool:
    """True within the name of something in a cloud, of which at most 60 characters stand before a place."""
    first = max(0, at - 60)
    return text.startswith("arn:", max(text.rfind(each, first, at) for each in " \"'\n") + 1 or first)


def _parts(text: str, start: int, end: int) -> Iterator[tables.Called]:
    """A random run, or the parts of a path."""
    run = text[start:end]
    if "/" not in run or "+" in run or run.endswith("="):
        yield start, end, ""
        return
    for match in _PART.finditer(text, start, end):
        yield *match.span(), ""


def _near(
    text: str, first: int, last: int, said: Meaning, after_name: Any, quoted: Any
) -> Iterator[tables.Called]:
    match = after_name.match(text, last)
    if match is not None:
        group = "bare" if match["inner"] is None else "inner"
        start, end = match.span(group)
        if group == "bare":
            value = text[start:end].rstrip(_TRAILING)
            if text[start - 1] in " \t" and (named := _bare(value, start))[0] > start:
                yield start, start + len(value), ""  # its beginning may only look like a name, as in ``x4=…``
                start, value = named
            end = start + len(value)
        # A word that is no password, on the next line, of a prompt nobody has answered, or of a style sheet.
        gap = text[last:start]
        is_word = (said[1] < _NAMING or "\n" in gap or gap == "]:") and _WORD.fullmatch(
            text, start, end
        ) is not None
        # In a table, not after the pipe of a shell.
        if not is_word and ("|" not in gap or _DIGIT.search(text, start, end)):
            yield start, end, text[first:last] if match["quote"] == "&quot;" else ""
    stop = text.find("\n", last, last + _NEAR)
    stop = min(last + _NEAR, len(text)) if stop < 0 else stop
    has_digit = _DIGIT.search(text, last, stop) is not None
    for match in quoted.finditer(text, last, min(stop + 40, len(text))):
        if match.start() < stop:
            yield *match.span("inner"), ""
    for match in (
        _TOKEN.finditer(text, last, min(stop + 200, len(text)))
        if has_digit or _SAID.search(text, last, stop)
        else ()
    ):
        start = match.start()
        if start >= stop:
            break
        start, token = _bare(match[0], start)
        between = text[last:start].split()
        is_said = bool(between) and between[-1].strip(":").lower() in tables.COPULAS
        if len(token) >= 4 and (is_said or (has_digit and _DIGIT.search(token))):
            yield start, start + len(token), ""
    begin = line_start(text, first, _AFTER)
    if first - begin > 8 and _DIGIT.search(text, begin, first):
        for match in _TOKEN.finditer(text, begin, first):
            start, token = _bare(match[0], match.start())
            if len(token) >= 6 and _DIGIT.search(token):
                yield start, start + len(token), ""


def _bare(token: str, start: int) -> tuple[int, str]:
    """A token and its start without a name before it, another one after it, and punctuation."""
    named = _NAMED.match(token)
    first = named.end() if named else 0
    return start + first, _NEXT.split(token[first:], 1)[0].rstrip(_TRAILING)


def whole(text: str, start: int, end: int) -> int:
    """Where a value ends of which only the beginning is judged, or that a terminal has broken into lines."""
    more = _REMAINDER.match(text, end) if end - start >= _JUDGED else None
    end = more.end() if more else end
    while text.startswith("\n", end) and end - line_start(text, end, _WIDTH) >= _WIDTH:
        more = _CONTINUED.match(text, end + 1)
        if more is None or RANDOM.match(more[0]) is None:
            break
        end = more.end()
    return end


PLACE = (
    "password", "key", "other", "password by one word", "key by one word", "other by one word",
    "is named after", "strongest password", "words to it", "strongest key", "words to that", "joint",
    "is joined", "is tight", "is quoted", "dashes", "is constant", "is said", "is borne", "leads",
    "is query", "follows",
)  # fmt: skip


def surroundings(text: str, start: int, end: int) -> tuple[float, ...]:
    """The features of a place, as ``PLACE`` names them."""
    before = text[max(0, start - _WINDOW) : start]
    if before[-1:] in ('"', "'") and _PREFIXED.search(before):
        before = before[:-2] + before[-1]
    line = _sentence_start(before)
    words = [(each[0], each.start(), each.end()) for each in _identifier(before).finditer(before, line)][
        -_MOST_WORDS:
    ]
    after = _FIELD_END.split(text[end : end + _AFTER], 1)[0]
    gap = before[words[-1][2] :] if words else before[-3:]
    joint = _JOINTS.get(gap.strip(_AROUND), _OTHER) if gap else _NONE
    at = len(words) - 1
    copula = at > 0 and joint <= _COLON and words[at][0].lower() in tables.COPULAS
    bearing = at > 0 and not copula and _only_bears(before, words)
    at -= copula or bearing
    name, name_start, _ = words[at] if words else ("", 0, 0)
    copula = copula or name.endswith(_GLUED)
    one = phrase = meaning(name) if name else NOTHING
    if at > 0 and before[words[at - 1][2] : name_start] in (" ", "' "):
        phrase = meaning(" ".join(word for word, _, _ in words[max(0, at - 2) : at + 1]))
    if copula and phrase[0] > 0.8:  # "the password for staging is …", "…, it is …"
        said = [word for word, _, _ in words]
        names = (" ".join(said[at : at + size]) for size in (1, 2, 3) for at in range(len(said) - size + 1))
        phrase = max(map(meaning, names), key=lambda said: said[1] + said[2])
    called, is_after = phrase, 0.0
    if joint in (_SPACE, _NONE, _OTHER, _PAREN) or not words:
        called, is_after = _called_after(after, phrase)
    return (
        *called[1:],
        *one[1:],
        is_after,
        *_strongest([word for word, _, _ in words]),
        float(joint),
        float(joint in (_EQUALS, _COLON, _ARROW, _TAG, _PIPE)),
        float(gap == "="),
        float(before[-1:] in _OPENING and bool(before)),
        float(_dashes(before, name_start)),
        float(name.isupper() and len(name) > 1),
        float(copula),
        float(bearing),
        float(not (before[line : words[-1][1]].strip(" \t+-#>\"'{") if words else "")),
        float(before[-1:] in "?&" or "?" in before[-40:]),
        float(_following(after)),
    )


def _sentence_start(before: str) -> int:
    """Where the sentence or the line begins that a text ends in; the line before, if nothing stands on it."""
    line = before.rfind("\n") + 1
    if not before[line:].strip(" \t\"'`-*>+\\"):
        line = before.rfind("\n", 0, len(before[:line].rstrip("\n"))) + 1
    elif (quoted_line := before.rfind("\\n")) > line:
        line = quoted_line + 2
    for match in _SENTENCE_END.finditer(before, line):
        line = match.end()
    return line


def _only_bears(before: str, words: Sequence[tuple[str, int, int]]) -> bool:
    """Whether the last word says only that a value follows, and is not itself what another name is set to."""
    joined = before[words[-2][2] :].lstrip("\"'\\ ")
    return words[-1][0].lower() in _BEARING and joined[:1] not in ":="


def _called_after(after: str, called: Meaning) -> tuple[Meaning, float]:
    """What a value is called, and how: by the words before it (0), a word after it (1), or ``as …`` (2)."""
    if (later := _CALLED.match(after)) is not None:
        said = meaning(later["name"])
        return (said, 2.0) if said[0] < called[0] else (called, 0.0)
    is_after = 0.0
    if called[1] + called[2] < _NAMING:
        for match in _identifier(after).finditer(_CLAUSE.split(after[:_CLAUSE_SIZE], 1)[0]):
            if len(match[0]) > _CLAUSE_WORD and not match[0].isascii():
                break
            said = meaning(match[0]) if match[0].isalpha() else NOTHING
            if said[1] + said[2] > called[1] + called[2]:
                called, is_after = said, 1.0
    return called, is_after


def _strongest(words: Sequence[str]) -> tuple[float, float, float, float]:
    """How much the words say of a password and of a key at most, each with the number of words behind it."""
    password = key = 0.0
    password_at = key_at = _FAR
    for number, word in enumerate(reversed(words)):
        said = meaning(word)
        if said[1] > password + 0.1:
            password, password_at = said[1], float(number)
        if said[2] > key + 0.1:
            key, key_at = said[2], float(number)
    return password, password_at, key, key_at


def _dashes(before: str, start: int) -> int:
    """The number of dashes before a name, up to 2."""
    if before[max(0, start - 2) : start] == "--":
        return 2
    return int(before[max(0, start - 1) : start] == "-")


def _following(after: str) -> int:
    """What follows a value, 0 to 5: nothing, a quotation mark, a word, a clause's end, a bracket, other."""
    follow = after[:1]
    if not follow:
        return 0
    if follow in _CLOSING:
        return 1
    if follow in " \t" and after.lstrip()[:1].isalnum():
        return 2
    if follow in " \t,;.!?&":
        return 3
    return 4 if follow in "([{" else 5
