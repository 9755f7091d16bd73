"""Finds requests about how to work that do not say that they hold on: what may come back, and then waits for
the person's decision.

Such a request has a form (it forbids, chooses, reminds, asks politely), is about a way of working rather than
the product, says how and not only what, and does not point at something at hand.
"""

from __future__ import annotations

import re

from engine.startup.lazy import expression

_I = re.IGNORECASE
_WAYS = expression(
    r"\b(?:tests?|test\w*|tdd|commit\w*|push\w*|prs?|pull requests?|rebas\w+|reviews?|review\w*"
    r"|repl(?:y|ies|ying)|respond\w*|lint\w*|fmt|format\w*"
    r"|docs?|document\w*|readme|changelog|plans?|tickets?|issues?|jira|linear|drafts?|sub-?agents?"
    r"|lsp|mcp|paginat\w+|spelling|english|nam(?:e|es|ing)|renam\w+"
    r"|duplicat\w+|reus\w+|helpers?|typed|types|styles?|conventions?|amend\w*|squash\w*|worktrees?"
    r"|shas?|coverage|e2e|end2end|integration|mock\w*|fixtures?"
    r"|discuss\w*|talk|wait|branch\w*|stash\w*|release\w*|dependenc\w+|librar\w+|staging|deploy\w*"
    r"|migrations?|benchmark\w*|screenshots?|concise|short|summar\w+"
    r"|bullets?|markdown|tone|cod(?:e|ing)|build|ci|docstrings?|indent\w*|comments?|compil\w+)\b",
    _I,
)
_HOW = expression(
    r"\b(?:first|before|after|instead|not|never|always|only|without|each|every|all|both|direct\w*"
    r"|drafts?|same|existing|default|keep|make sure|making sure|prefer"
    r"|use|using|with|rather|too|also|separate\w*|individual\w*|together|explicit\w*|sub-?agents?"
    r"|in (?!this|the|that)\w+|as (?:a|an|in) \w+|avoid|duplicat\w*|useful"
    r"|e2e|end2end|at least|in case|anything|so (?:we|that|you|it))\b|n['’]t\b",
    _I,
)
_FORMS = (
    (
        expression(
            r"(?!you (?:did|have|had|were) )(?:\w+,? ){0,2}(?:do(?:n['’]?t| not)|avoid|never|not|stop|no)\b",
            _I,
        ),
        1.6,
    ),
    (
        expression(
            r"(?:\w+,? ){0,2}(?:always|remember|prefer|make sure|ensure|keep|use|using|only)\b"
            r"|.*\b(?:instead of|prefer \w+)\b",
            _I,
        ),
        1.3,
    ),
    (
        expression(
            r"(?:are|did|have|is|was|can|could|should) (?:you|we|it|this)\b.*\b(?:us\w+|test\w*"
            r"|document\w*|add\w*|run|check\w*|updat\w+)\b",
            _I,
        ),
        1.0,
    ),
    (
        expression(
            r"(?:\w+,? ){0,2}(?:please|(?:can|could|shall|would) (?:you|we)|let['’]?s|we (?:should"
            r"|need to|want)|i(?:['’]d| would)? (?:want|prefer|like))\b|.*\bplease\b",
            _I,
        ),
        0.7,
    ),
    (
        expression(
            r"(?:(?:the|that|your|our|this) )?\w+ (?:(?:has|have|just|again) ){0,2}(?:broken?"
            r"|breaks|lost|deleted|wiped|messed up)\b",
            _I,
        ),
        1.0,
    ),
)
_AT_HAND = expression(
    r"@?[\w.-]+/[\w./-]+|\b[\w-]+\.(?:go|py|ts|js|md|json|sh|ya?ml|toml|txt)\b|\b\d+\b|https?:"
    r"|\b(?-i:[a-z]+[A-Z])\w+|\w+_\w+|`[^`]+`|['\"“][^'\"”]+['\"”]"
    r"|\b(?:this|that|these|those|above|here|now|again|still|currently|last|next|the (?:change"
    r"|changes|code|pr|branch|plan|issue|ticket|failing|work|same|file))\b",
    _I,
)
_ONCE = expression(
    r"(?:(?:can|could) (?:you|we) |let['’]?s |please,? |and |just |ok |yes,? |go ahead and"
    r" )*(?:look|read|see|continue|proceed|go|try|do|implement|explain|show|tell|print|find|figure"
    r"|revert|undo|think|get|give|resume|rerun|investigate|list|move|pull|merge|have|sort|extract|propose)\b",
    _I,
)


def habit(sentence: str) -> float:
    """How much a sentence asks for a way of working, from 0 up; 2 and more is worth the person's decision."""
    words = len(sentence.split())
    ways = len({found.casefold() for found in _WAYS.findall(sentence)})
    if not ways or not 2 <= words <= 30:
        return 0.0
    form = sum(weight for pattern, weight in _FORMS if pattern.match(sentence))
    if not form:
        return 0.0
    score = min(form, 3.2) + 0.7 + 0.3 * min(ways, 3) + 0.7 * (_HOW.search(sentence) is not None)
    score -= 0.6 * min(4, len(_AT_HAND.findall(sentence))) + 0.05 * max(0, words - 12)
    score -= 1.3 * (_ONCE.match(sentence) is not None) + 0.7 * sentence.endswith("?")
    return max(0.0, score)
