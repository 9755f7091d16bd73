"""Patterns for single sentences in which people give rules and agents report their work.

All are conservative: a miss is still in the conversation, a false positive costs a review.
"""

from __future__ import annotations

import re

_BEFORE = (
    r"^(?:(?:please|pls|also|and|but|so|no+|nope|ok(?:ay)?|yes|yeah|oh|hey|hm+|well|wait|btw"
    r"|remember(?: to)?|again"
    r"|actually|just|make sure to|be sure to|you (?:should|must)|we (?:should|must)|i (?:want|need"
    r"|expect) you to|bitte|nein|aber|und|auch|non|s'il te plaît|por favor)\b[\s,:;.!…–—-]*){0,4}"
)
_NOT_OURS = (
    r"need|want|have|know|think|see|remember|get|seem|really|just|yet|even|care|support|understand|do"
    r"|add|added|found|changed|create|update|fixed|use the same|like"
)

LASTING = re.compile(
    rf"{_BEFORE}(?:from (?:now|here) on|going forward|in (?:the )?future|next time|as a rule|by convention)\b"
    r"|\b(?:from now on|going forward|every time you|each time you|whenever you|before you (?:commit"
    r"|push|finish))\b"
    rf"|{_BEFORE}(?:always|never)\s+(?!mind|been|had|got|seen|heard|was|were)\w{{2,}}"
    rf"|{_BEFORE}(?:do not|don['’]?t)\s+ever\s+\w{{2,}}"
    rf"|{_BEFORE}we (?:always|never|prefer(?:ably)?|avoid|don['’]t|do not)\s+(?!(?:{_NOT_OURS})\b)\w{{2,}}"
    r"|\bshould (?:always|never|be using)\b|\bmust (?:always|never)\b|\bshould be \w+ed only\b"
    r"|\bprefer \S+.{0,60}\b(?:over|to|rather than|instead of)\b|\bwherever (?:(?:we|you) can|possible)\b"
    r"|\bwhenever (?:we can|you can|possible)\b"
    rf"|{_BEFORE}(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|künftig|immer|niemals|nie (?:wieder|mehr"
    rf"|ohne))\s+\w{{2,}}"
    rf"|{_BEFORE}(?:désormais|dorénavant|à partir de maintenant|toujours|jamais|siempre|nunca|sempre"
    rf"|altijd|nooit"
    r"|voortaan|впредь|отныне|всегда|никогда)\s+\w{2,}",
    re.IGNORECASE,
)
"""A sentence that applies beyond the current task."""

FORBIDS = re.compile(
    r"\b(?:do not|don['’]?t|never|stop \w+ing|must ?n[o'’]t|should ?n[o'’]t)\b"
    r"|\buse .{1,80}?(?:\binstead\b|\brather than\b|, not\b|\bnot the\b)|\brather than .{3,}"
    r"|\binstead of .{3,}"
    rf"|{_BEFORE}(?:use|keep|leave|put|call|stick (?:to|with)|write|run|prefer)\b"
    r"|\b(?:nicht|kein\w*|statt|stattdessen|pas|jamais|niet|geen|nunca|não|нельзя)\b",
    re.IGNORECASE,
)
"""A correction that forbids something or names the alternative."""

WILL = re.compile(
    rf"{_BEFORE}(?:i think )?(?:i|we) (?:(?:do not|don['’]t|really|definitely) )?(?:want|prefer)\b"
    rf"|{_BEFORE}(?:i think )?we should(?:n['’]t| not)?\b|{_BEFORE}let['’]?s (?!discuss|talk|see|test"
    rf"|try|wait|go\b)\w+"
    r"|, let['’]?s (?:not|avoid|use|keep|call)\b|\bi['’]d (?:personally )?prefer\b",
    re.IGNORECASE,
)
"""A wish stated right after stopping the agent."""

MOMENT = re.compile(
    r"\b(?:don['’]?t|do not) (?:worry|know|think|see|understand|have|need|want|forget|get|recall"
    r"|remember|mind|bother)"
    r"\b|\b(?:do not|don['’]?t|never|stop|undo|revert|remove|delete|do|use|fix|change|touch|give|make"
    r"|put|keep|add)(?:ing)? (?:that|this|it|these|those|them|me|us)\b"
    r"|\b(?:do not|don['’]?t) (?:fix|change|do|implement|code|write|edit|touch) anything\b"
    r"|^(?:it|this|that|these|those|they)\b|\b(?:yet|right now|for now|just now|so far|any ?more"
    r"|this time|already)\b"
    r"|\blet['’]?s just\b|\bfirst\W*$|^(?:remove|revert|undo) .{0,12}\b(?:again|changes?)\b",
    re.IGNORECASE,
)
"""A statement about the current moment."""

TOLD = re.compile(
    r"\b(?:used to|it (?:always|never)|(?:was|were|has|have|had|did|does|is|are) (?:always|never)|never mind"
    r"|(?:i|they|he|she) (?:never|always)|always (?:shows?|says|prints?|been|lists?|returns?|fails?))\b"
    r"|\bi (?:guess|suppose|might|wonder|believe|assume)\b|\bi think(?! we should)\b|\bit might\b"
    r"|\b(?:maybe|perhaps|alternatively|consider)\b"
    r"|^(?:if|when|why|how|what|which|is|are|does|do we|did|can|could|would|should|looking at|note)\b|[="
    r"|]{2}|:=|#",
    re.IGNORECASE,
)
"""A report, guess, question or paste."""

BEGINNING = re.compile(
    r"^(?:(?:no+|nope|ok(?:ay)?|yes|yeah|ah|oh|hey|hm+|well|wait|sorry|but|and|also|so|again|actually"
    r"|please|pls|btw"
    r"|right|perfect|great|nice|cool|nein|bitte|aber|und|auch)\b[\s,:;.!…–—-]*)+",
    re.IGNORECASE,
)
"""Filler words at the start of a sentence."""

OFFER = re.compile(
    r"\b(?:would you like|want me to|shall i|should i|let me know|do you want|anything else)\b", re.IGNORECASE
)
"""A polite closing question of an agent."""

CAUSE = re.compile(
    r"^(?:the )?(?:\*\*)?(?:root cause|cause|problem|the bug|issue)(?:\*\*)?\s*(?:was"
    r"|is)?\s*:(?:\*\*)?\s*(.+)",
    re.IGNORECASE,
)
"""The cause named by an agent."""

_VERBS = (
    "added|fixed|removed|renamed|updated|implemented|changed|moved|replaced|rewrote|refactored|extracted|introduced"
    "|converted|simplified|modified|migrated"
)
DONE = re.compile(
    rf"^(?:i(?:['’]ve| have)? (?:also |now |just )?(?:{_VERBS}|created|merged|split|made)\b|(?:{_VERBS})\b"
    r"|now,? (?:the|when|both|all|every|an?|you|if)\b|now,? `|this (?:solves|fixes|ensures|makes"
    r"|prevents|lets"
    r"|allows)\b|(?:the|both|all|each) (?:\S+ ){1,7}(?:now|has been|have been)\b)",
    re.IGNORECASE,
)
"""What an agent says it has done, or what is now the case."""

PASSED = re.compile(
    r"\b(?:lint\w*|tests?|build|checks?|formatting|ci)\b.*\b(?:pass\w*|clean|succeed\w*|green)\b", re.I
)
"""A statement that all is well, which is not worth keeping."""

VAGUE = re.compile(r"^(?:i(?:['’]ve| have)? )?\w+ (?:it|them|this|that)\b|\bthese\b", re.I)
"""A sentence that depends on the previous one."""

LABEL = re.compile(
    r"^(?:done|fixed|solution|fix|results?|changes?|summary|perfect|great|excellent)[.!:,–—-]+\s*", re.I
)
"""A label before what was done."""

PARTICULAR = re.compile(r"`[^`]+`|\w+[/._]\w+|--\w|[a-z][A-Z]|\d")
"""Something specific: code, a path, an identifier, a number."""
