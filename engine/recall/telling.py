"""Whether a passage of a past session tells something, as opposed to what only asks or was only printed."""

from __future__ import annotations

import re

from engine.search.past_work import content_words
from engine.search.results import SearchResult
from engine.search.worth import PERSON
from engine.startup.lazy import expression

_SAME = 0.7
"""Share of a turn's words from which it says what the message says."""
_ASIDE = 200
"""Characters up to which a turn that ends in a question only asks."""
_LEAST = 60
"""Characters of sentences, without headings and rules, from which a passage tells something; half as many in
a script without spaces."""
QUESTION = expression(r"[?？؟]\s*$")
ANSWERED = "\nAnswer: "
"""In what the person said to a question of the agent, in the form that importers give it."""
PRINTED = expression(
    r"\s*(?:[{[]\"|\[[^\]\n]{1,60}\]|\[?\d{1,4}[-:/]\d\d[-:/T ]\d|[$#>❯➜✗│■✔] |at \S+ ?\("
    r"|File \"[^\"\n]+\", line \d"
    r"|(?:Uncaught |\()?[\w.-]{1,80}\.[jt]sx?:\d+"
    r"|[\w.]{1,80}(?:Error|Exception)\b|p?npm (?:ERR|WARN))"
)
"""A line of a log, or of a terminal."""
_PROMPT = expression(
    r"(?<![\w.-])[\w.-]{1,32}@[\w.-]{1,64}[: ][A-Za-z~/][^\s$#%]{0,200} ?[$#%] |^[➜❯] "
    r"|^(?:\([\w.-]{1,40}\) )?PS [A-Z]:\\[^>\n]{0,200}> ?",
    re.MULTILINE,
)
"""A shell waits for a command: what follows it was printed."""
_LAYOUT = expression(r"\s*(?:#{1,6} |[-=*_]{3,}\s*$|[|: -]+$)")
"""A heading, a rule, or the line below a table's head."""
WIDE = expression(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def tells(result: SearchResult, message: str) -> bool:
    """Whether a passage of another session tells something: it does not only ask, repeat the message, name
    what follows, or show what a program printed. What the person wanted, other than in an answer, was for
    that session.
    """
    if result.speaker.startswith(PERSON) and ANSWERED not in result.text:
        return False
    lines = [line for line in lines_before_prompt(result.text) if not PRINTED.match(line)]
    if 2 * sum(map(len, lines)) < len(result.text) or only_asks(result.text, message):
        return False
    sentences = "".join(line for line in lines if not _LAYOUT.match(line))
    return len(sentences) + len(WIDE.findall(sentences)) >= _LEAST


def only_asks(text: str, message: str) -> bool:
    """Whether a text is a question, or says no more than the message does: it tells nothing."""
    if ANSWERED in text:
        return False
    words = content_words(text)
    asked = set(content_words(message))
    if len(text) <= _ASIDE and QUESTION.search(text) is not None:
        return True
    return sum(word in asked for word in words) >= _SAME * len(words)


def lines_before_prompt(text: str) -> list[str]:
    """The lines of a text above the first prompt of a shell."""
    prompt = _PROMPT.search(text)
    return (text[: prompt.start()] if prompt else text).split("\n")
