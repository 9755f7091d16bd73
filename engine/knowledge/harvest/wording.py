"""Patterns for single sentences in which agents report their work.

All are conservative: a miss is still in the conversation, a false positive costs a review.
"""

from __future__ import annotations

import re

from engine.startup.lazy import expression

BEGINNING = expression(
    r"^(?:(?:no+|nope|ok(?:ay)?|yes|yeah|ah|oh|hey|hm+|well|wait|sorry|but|and|also|so|again|actually"
    r"|please|pls|btw"
    r"|right|perfect|great|nice|cool|nein|bitte|aber|und|auch)\b[\s,:;.!…–—-]*)+",
    re.IGNORECASE,
)
"""Filler words at the start of a sentence."""

OFFER = expression(
    r"\b(?:would you like|want me to|shall i|should i|let me know|do you want|anything else)\b", re.IGNORECASE
)
"""A polite closing question of an agent."""

CAUSE = expression(
    r"^(?:the )?(?:\*\*)?(?:root cause|cause|problem|the bug|issue)(?:\*\*)?\s*(?:was"
    r"|is)?\s*:(?:\*\*)?\s*(.+)",
    re.IGNORECASE,
)
"""The cause named by an agent."""

_VERBS = (
    "added|fixed|removed|renamed|updated|implemented|changed|moved|replaced|rewrote|refactored|extracted|introduced"
    "|converted|simplified|modified|migrated"
)
DONE = expression(
    rf"^(?:i(?:['’]ve| have)? (?:also |now |just )?(?:{_VERBS}|created|merged|split|made)\b|(?:{_VERBS})\b"
    r"|now,? (?:the|when|both|all|every|an?|you|if)\b|now,? `|this (?:solves|fixes|ensures|makes"
    r"|prevents|lets"
    r"|allows)\b|(?:the|both|all|each) (?:\S+ ){1,7}(?:now|has been|have been)\b)",
    re.IGNORECASE,
)
"""What an agent says it has done, or what is now the case."""

PASSED = expression(
    r"\b(?:lint\w*|tests?|build|checks?|formatting|ci)\b.*\b(?:pass\w*|clean|succeed\w*|green)\b", re.I
)
"""A statement that all is well, which is not worth keeping."""

VAGUE = expression(r"^(?:i(?:['’]ve| have)? )?\w+ (?:it|them|this|that)\b|\bthese\b", re.I)
"""A sentence that depends on the previous one."""

LABEL = expression(
    r"^(?:done|fixed|solution|fix|results?|changes?|summary|perfect|great|excellent)[.!:,–—-]+\s*", re.I
)
"""A label before what was done."""

PARTICULAR = expression(r"`[^`]+`|\w+[/._]\w+|--\w|[a-z][A-Z]|\d")
"""Something specific: code, a path, an identifier, a number."""
