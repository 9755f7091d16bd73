"""Patterns of sentences that state a rule, and of sentences that do not.

Full coverage for English; for other languages the words that introduce a rule.
"""

from __future__ import annotations

import re

from engine.rules.standing import ELSEWHERE
from engine.rules.words import EITHER_WORDS, HOW_WORDS


def _any(words: str) -> str:
    return rf"\b(?:{'|'.join(words.split())})\b"


_I = re.IGNORECASE

ONWARD = re.compile(
    r"(?:from now on|from here on|going forward|in (?:the )?future(?: sessions?)?(?! (?:versions?"
    r"|releases?|iterations?|phases?))"
    r"|as a rule|next time(?! the)|ab jetzt|ab sofort|künftig|in zukunft)\b[\s,:;–—-]*",
    _I,
)
"""A leading phrase that says that the rest applies from now on."""

_WORK = (
    r"(?:commits?|prs?|pull requests?|tests?|functions?|methods?|class(?:es)?|modules?|files?|branch(?:es)?"
    r"|endpoints?|components?|changes?|fix(?:es)?|features?|migrations?|code|variables?|names?|bugs?)"
)
WIDE = re.compile(
    r"\b(?:everywhere|wherever|anywhere|by default|shouldn['’]t|should (?:only|not)|must (?:not|be)"
    r"|we only)\b"
    r"|^(?:please |and |but )*remember\b"
    rf"|^(?:every|each|all)(?: [\w-]+){{0,2}}? {_WORK} (?:must|shall|should|needs?|ha(?:s|ve) to|gets?)\b"
    r"|\b(?:must|should|ha(?:s|ve) to|needs? to)\b.* (?:before|after|when|whenever)"
    r" (?:you|we|each|every)\b",
    _I,
)
"""States something general: a way of working, or what the product shall do."""

PROHIBITION = re.compile(
    r"(?:please |and |but |we |you |let['’]?s |just |oh,? )*"
    r"(?:do(?:n['’]?t| not) (?!we|you|i|think|know|see|have|want|forget|worry|mind|they|need|get|understand)"
    r"|no (?!\w+ing\b|way|need|idea|problem|worries|one|longer|luck|errors?|changes?|difference|issues?"
    r"|output"
    r"|results?|warnings?|data|sign|more|such|reason|doubt)\w+"
    r"|not (?:as|in|with|by|on|like(?! th(?:is|at)))\b|avoid|stop \w+ing|never(?! mind)"
    r"|let['’]s not(?! worry)|without (?:doing |making )?any)",
    _I,
)
"""Start of a sentence that forbids something."""

CHOICE = re.compile(
    r"(?:please |and |we |you |let['’]?s |just |also )*"
    r"(?:always|remember|prefer|make sure|ensure|keep|use|using|avoid|only)\b"
    r"|.*\b(?:let['’]s (?:avoid|keep|make sure|use)|prefer \w+|instead of"
    r"|please (?:use|keep|don['’]t|do not|avoid|make sure|reply|respond|always|never|also))\b",
    _I,
)
"""Chooses how to do something."""

SURE = re.compile(r"\bmak(?:e|ing) sure\b", _I)

COMPARED = re.compile(r"\b(?:instead|prefer|rather)\b", _I)

CONTRAST = re.compile(
    r"\b(?:call|name) it [\w .'`/-]{1,40}, not \w"
    r"|\b(?:use|using|write|say|in|with|as) (?!(?:the|this|that|these|those|both|an?)\b)"
    r"[\w .'`/-]{1,40}, (?:and )?(?:not|never) \w"
    r"|\b(?:use|using|write) (?!(?:this|that|these|those|both|an?)\b)[\w .'`/-]{1,40} instead of \w"
    r"|\bprefer [\w .'`/-]{1,40} (?:over|to) \w",
    _I,
)
"""Names what to use and what not: such a choice is meant to last."""

CONDUCT = re.compile(
    r"\b(?:ask|tell|warn|show) (?:me|us)(?: [\w-]+){0,3} before (?:you|\w+ing)\b|\bwithout (?:asking"
    r"|my (?:ok|permission|approval))\b"
    r"|\bunless (?:i|you['’]?re) (?:ask|say|tell|asked|told)\w*"
    r"|\b(?:what|things?|that) (?:i|you were) (?:asked|did(?:n['’]?t| not) ask|wasn['’]?t asked)\b"
    r"|\bapologi[sz]\w+",
    _I,
)
"""About how an agent behaves."""

REQUEST = re.compile(
    r"(?:please|pls|(?:can|could|shall) (?:you|we)|would you|let['’]?s|let us|any chance"
    r"|we (?:should|need to|want|do not|don['’]t|must|always|never|use|prefer)"
    r"|i(?:['’]d| would) (?:like|prefer|rather)|i (?:want|prefer)|i do(?:n['’]?t| not) want you to"
    r"|you (?:should|must|have to|need to)"
    r"|should(?:n['’]t)? we)\b",
    _I,
)
POLITE = re.compile(r"(?:can|could|would|should) (?:you|we)\b", _I)
"""Start of a request phrased as a question; most are one-off."""
PLEASE = re.compile(r"\bplease\b", _I)

REMINDER = re.compile(
    r"are (?:you|we) (?:using|use|add|creat\w+|writ\w+|test\w*|run|updat\w+|end up|remember|forget)\b"
    r"|you (?:can|could|have) (?:use|access)\b|(?:is|was) (?:this|it) (?:tested|documented)\b"
    r"|have (?:you|we) (?:added|tested|updated|written|run)\b",
    _I,
)
"""Asks whether something was done that should go without saying."""

HARM = re.compile(
    r"(?:(?:the|that|this|your|our|last|another) ){0,2}"
    r"(?:amend(?:ing)?|rebas(?:e|ing)|squash(?:ing)?|stash(?:ing)?|(?:hard )?reset|force[- ]?push(?:ing)?"
    r"|cherry[- ]?pick|(?:git )?(?:clean|checkout)) "
    r"(?:(?:you|it) (?:did|made) )?(?:(?:has|have|had|just|again|also|completely) ){0,3}"
    r"(?:broken?|breaks|lost|loses|deleted|deletes|removed|removes|wiped|destroyed|corrupted|overwrote"
    r"|overwritten|dropped|drops|messed up|undid|undone)\b",
    _I,
)
"""Says that a way of working did harm: one that rewrites history or discards work."""

VERB = re.compile(
    _any(
        "use add write run check commit push open create make keep put move reply respond answer include "
        "reference test fix format lint review discuss wait talk stop ask show tell explain update document "
        "rename name wrap split squash rebase merge pull fetch cut branch follow start verify validate "
        "confirm compare align mirror leave remove delete drop read look search find log record track limit "
        "launch spawn return print build compile deploy bump tag sign set enable disable save skip change "
        "prefer avoid ensure remember always never call cite link import export install quote mention list "
        "round convert translate speak answer indent quote call describe"
    ),
    _I,
)

HOW = re.compile(
    rf"{_any(HOW_WORDS)}"
    r"|\b(?:change|edit|modify|touch|fix|write|implement|commit|push|delete|remove) anything\b",
    _I,
)
"""Means of working, as opposed to its subject."""

EITHER = re.compile(_any(EITHER_WORDS), _I)
"""Means of working or its subject."""

GENERIC = re.compile(
    r"\b(?:us(?:e|ing)|add(?:ing)?|writ(?:e|ing)|mak(?:e|ing)|put|creat(?:e|ing)|leav(?:e|ing)|keep|avoid"
    r"|prefer"
    r"|open|name|bump|touch|edit|modify|install|mock|skip)(?: (?!(?:the|this|that|these|those|my|your|our"
    r"|its|their|it|them|an?|one|two|three|some"
    r"|sure|both)\b)[\w-]+){0,2}?"
    r" (?!(?:this|its|is|was|does|has|yes|both)\b)[\w-]{2,}s\b"
    r"|^(?:please )?no (?!(?:this|yes)\b)[\w-]{2,}s\b",
    _I,
)
"""About a kind of thing rather than a particular one."""

THE_ONE = re.compile(
    rf"\bthe (?!(?:[\w'-]+ ){{0,2}}(?:{HOW.pattern}|{EITHER.pattern})"
    r"|(?:same|future|end|main|way|user|first|latest)\b)"
    r"[(\"'`]?\w"
    r"|\buse the (?!.*\binstead\b)|\b(?:give|put|take|move|pull|bring|turn|drop|set) (?:it|them)\b",
    _I,
)
"""About a particular thing that is not a means of working."""

PASSING = re.compile(
    r"\b(?:yet|for now|right now|at the moment|so far|this time|in this case|today|tomorrow|tonight|later"
    r"|temporar\w+|already|anymore|any more|once more|back (?:in|to)|i(?:['’]m| am)"
    r"|(?:it|that|this|there)(?:['’]s| is| was))\b",
    _I,
)
"""Describes the current state, or something temporary."""

OUGHT = re.compile(r"(?:we|you) (?:should|must|need to|have to)\b", _I)
"""States an obligation."""

DEICTIC_END = re.compile(r"\b(?:this|that|these|those|it|them|one|here|there)[?!.]*$", _I)
"""Ends with a reference to something at hand."""

APPLIED = re.compile(
    r"\b(?:on|for|to|in|with|at|from|test|check|fix|try|run|do) (?:this|that|these|those|it|them)(?: one)?"
    r"(?: (?:first|now|again|too|please))?[?!.]*$"
    r"|#\d+\b",
    _I,
)
"""Applies to something at hand only, or to one issue."""

OF_PRODUCT = re.compile(
    r"(?:it|this|that|they|there|the [\w-]+(?: [\w-]+)?) (?:must|should|shall|needs? to|ha(?:s|ve) to"
    r"|will|can)\b",
    _I,
)
"""Start of a sentence that says what the product shall do."""

ASIDE = re.compile(r"\([^()]*\)")
"""In parentheses: an explanation, which may hold for more than the sentence does."""

DECLINES = re.compile(
    r"(?:\w+,? ){0,3}(?:we|i) (?:do|did|would)(?: not|n['’]?t) (?:\w+ly )?(?:want|need|have to|worry|care)\b",
    _I,
)
"""Declines an offer."""

MANNER = re.compile(
    r"\b(?:first|before|after|instead|not|never|always|only|without|each|every|all|both|direct\w*|drafts?"
    r"|same|existing|default|keep|make sure|prefer|use|using|with|so (?:we|that|you|it)|rather|too|also"
    r"|separate\w*|individual\w*|small\w*|meaningful|together|explicit\w*"
    r"|sub-?agents?|in (?!this|the|that)\w+"
    r"|as (?:a|an|in) \w+|avoid|duplicat\w*|useful|end2end|e2e|at least|in case|anything)\b|n['’]t\b",
    _I,
)
"""Says how something is done, not only that it is."""

QUALITY = re.compile(
    r"\b(?:check|review|verify|sweep|compares?|make sure)\b.*"
    r"(?:\bnot\b|n['’]t\b|\bunused|\bduplicat|\bconsisten|\balign|\bcoverage)"
    r"|\byour (?:repl(?:y|ies)|respon\w+|commits?|comments?|changes|messages?|answers?|summar\w+)\b",
    _I,
)
"""Asks for a quality of the work, or of the way the agent writes."""

ONCE = re.compile(
    r"(?:(?:can|could) (?:you|we) |let['’]?s |please,? |also |and |just |double |again |go ahead and )*"
    + _any(
        "take look read check review investigate see continue proceed start go try do implement fix update "
        "explain show tell print find figure revert undo think have get give resume rerun run pull fetch "
        "merge rebase push commit remove delete drop change move create write make split address list log "
        "propose invoke spawn sort show import integrate display extract compare stash "
        "mark close resolve assign inform"
    ),
    _I,
)
"""Start of a one-off instruction."""

NOW = re.compile(
    r"\b(?:this|that|these|those|above|here|option|ones?|now|again|still|currently|for now|last|prior"
    r"|another|as well|good|next|both changes|(?:we|you|i)(?:['’]ve)? (?:did|made|had|done|have|just)"
    r"|the (?:change|changes|code|pr|branch|plan|review|issue|ticket|comments?|tests?|failing|work|same))\b",
    _I,
)
"""Refers to something at hand."""

PARTICULAR = re.compile(
    r"@?[\w.-]+/[\w./-]+|\b[\w-]+\.(?:go|py|ts|js|md|json|sh|yml|yaml|toml|txt)\b"
    r"|#?\b\d+\b|https?:|@\w+"
    r"|\b[A-Z]+\d+\b|\b[A-Z]\)"
    r"|\b[a-z]+[A-Z]\w+|\b(?!TypeScript|JavaScript|GitHub|GitLab|GraphQL)[A-Z][a-z]+[A-Z]\w*|\w+_\w+"
    r"|`[^`]+`|\w+\(\)|['\"“][^'\"”]+['\"”]"
)
"""Names a particular thing: a file, an identifier, a number."""

FAILS = re.compile(
    r"(?:(?:the|our|some|still|we (?:had|got|have) (?:a|some)?|fix(?: the)?(?: failing)?"
    r"|there(?:'s| is| are)(?: some| a)?|unrelated to [\w ]+, but|it seems|looks like) )*[`\"']?"
    r"(?P<what>(?:mise|make|npm|pnpm|yarn|cargo|go|uv|just|tox|nox) (?:run )?[\w:.-]*"
    r"(?:lint|test|build|fmt|format|check|verify|vet|clippy|types?|ci)[\w:.-]*"
    r"|(?:go |unit |integration |e2e )*(?:lint(?:er|ing)?|tests?|build|ci|fmt|type ?checks?|format\w*))"
    r"[`\"']?"
    r"(?: (?:is|are|was|were|has|have|on ci|job|still|run|now|lookss?))*"
    r"(?: (?:fail\w*|errors?|broken|red|complain\w*|showing|not passing|looks broken).*|$)",
    _I,
)
"""Reports that a check fails which has to pass before work is done."""

NO_WISH = re.compile(
    r"never mind\b|(?:(?:can|could|would) (?:you|we|i) (?:please )?(?:explain|show|tell|give|help|take"
    r"|look|see|print"
    r"|think|have|get|find|figure|try|list|summari[sz]e|confirm|do)\b)",
    _I,
)
PROGRESS = re.compile(
    r"(?:(?:please|now|next|then|and|so|let['’]?s|let us|we (?:can|should)"
    r"|i(?:['’]d| would) like(?: to)?),? )*"
    r"(?:continue|proceed|resume|move on|go on|keep (?:working|going|on)|get started|help me"
    r"|start (?:with|working|on)|your help)\b",
    _I,
)
"""Says what to do next. That may be said in many sessions, and is no rule."""

ASKED = re.compile(
    r"(?:what|why|how|is|are|was|were|does|do|did|don['’]?t|where|which|who|when|would|will|has|have|isn|aren"
    r"|doesn|if|let['’]s say|wondering|i wonder|i think|think)\b",
    _I,
)
"""Start of a question or a thought."""

MEANT = re.compile(
    r"\b(?:should|must|needs?|let['’]?s|please|you|i (?:want|prefer|hate|like)|we (?:want|use))\b"
    rf"|{ELSEWHERE}",
    _I,
)
"""Addresses someone: a statement with "always" is a rule only if someone is to act on it."""

UNLESS_ASKED = re.compile(r"\b(?:let['’]s|please|always|never)\b", _I)

WHERE = re.compile(
    r"(?:for|when|if|on|after|before|once|in|while) [^,]{3,60}, "
    r"(?=(?:please|always|never|don['’]?t|use|make|let['’]?s|we|you)\b)",
    _I,
)
"""A leading clause that says when a rule applies."""

OCCASION = re.compile(
    rf"(?:before you (?!start|begin|continue|do)[^,]{{2,40}}, |(?:after|before|with|for|on|in) (?:each"
    rf"|every) [\w -]{{2,40}}?,? )"
    rf"(?={VERB.pattern})",
    _I,
)
"""A leading clause that says on which of many occasions to do something."""

LEAD = re.compile(
    r"(?:(?:hmm+|ok(?:ay)?|yes|yep|yeah|oh|ah|hey|hi|well|sorry|but|and|also|so|then|actually|btw"
    r"|no(?= *[,.:;!…-]| (?:no|not|don|i|you|we|it|that|this|the|please|let|use|just|leave|keep|make|add"
    r"|put)\b)"
    r"|(?:cool|great|nice|good)(?=\s*(?:[,.:;!…-]|$))"
    r"|thanks?|sure|right|alright|perhaps|maybe|for now|one more thing|q|question|note|cmd|bash"
    r"|intentional|\d+[.)]|[a-d][.)])\b[\s,.:;!…-]*)+",
    _I,
)
"""Filler at the start of a sentence."""

SIGNS = re.compile(r"[\U0001F300-\U0001FAFF\u2600-\u27BF\ufe0f\u200d♂♀]|(?<!\w)[:;]-?[)(|D](?!\w)")
PERSONAL = re.compile(r"\b(?:you|we|i|let['’]?s|please|my|our|us|me)\b", _I)
POINTS_BACK = re.compile(r"(?:[\w'’]+,? ){0,5}(?:it|it['’]s|them|this|that)\b", _I)
"""Starts with a reference to the sentence before."""
CLAUSE = re.compile(
    r", (?:and |but |so )?(?=(?:please (?!,)"
    rf"|(?:always|never) {VERB.pattern}"
    r"|(?:just )?make sure|let['’]s|do not|don['’]t"
    r"|(?:we|you|i) (?:always|never|should|must|prefer))\b)",
    _I,
)
"""Separates a clause that could stand on its own."""
