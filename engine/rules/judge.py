"""Judges whether a sentence states a rule: something that holds for all later work, as opposed to what is
asked for now, or said about the work.

A multinomial logistic regression over the words of a sentence and some features of its form; the forms in
which people state rules are too many for a list. ``tests/training/rules.py`` fits it, ``data/`` says on what.
No score outweighs a question, a limit in time, a thought, a plan or a report.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise
from pathlib import Path

from engine.rules.words import (
    ALWAYS_ELSEWHERE,
    CUSTOM_ELSEWHERE,
    HANDED,
    MUST_ELSEWHERE,
    ONWARD_ELSEWHERE,
    REMEMBER_ELSEWHERE,
    SPEAK,
    TASK,
    THIS_WAY,
    UNASKED_ELSEWHERE,
    UNASKED_FIRST,
)
from engine.startup.lazy import expression

PLAIN = 0.5
"""Probability from which a sentence that says that it holds on is a rule."""
TWICE = 0.3
"""The same for one that says so in two ways: "remember to … all your functions"."""
AT_WORK = 0.6
"""The same in an agent's session, where most such sentences are about what is made, if told the agent."""
SURE = 0.9
"""The same for one that says it less plainly, or as a question."""
ELSEWHERE = 0.75
"""The same in an agent's session of one that says so in another language than English."""
_LIKELY = 0.8
"""The same for one that waits, if it does not say "always" or the like."""
_DOUBTFUL = 0.3
"""The same if it does; ``PLAIN`` in another language than English."""

QUESTION = "is a question"
_ABOUT_NOTHING = "does not say what it is about"
NOT_SAID = "does not say that it holds on"
TOO_SHORT = "is too short"
LIMITED = "is about the task at hand"
KINDS = ("standing", "once", "other")
DATA = Path(__file__).parent / "data" / "judge.json"

_OPENS, _NAMES = 4, 2
"""Words up to which a clause, with "from now on" and without, does not say what "like that" behind it is."""
_FEW_BEFORE = 2
"""Words before "from now on", in another language than English, of an order; behind more of them, it may be
about what is being made.
"""
_MOST_WORDS = 34
_MOST_CHARACTERS = 400
_WIDE_LETTERS = 2
"""Letters that make about a word in a language without spaces."""
_FEWEST = 2
_FEWEST_OF_A_RULE = 4
"""Words of a rule that does not say that it holds on."""
_RUNS = (3, 4)
"""Lengths of the runs of characters."""
_OF_WORDS, _OF_RUNS = 0.7, 3.0
"""Value of a feature of words or form, and length of the vector of all runs."""

_LITERAL = expression(r"`[^`\n]{1,80}`|(?<!\w)['\"‘“][^'\"’”\n]{1,60}['\"’”](?!\w)")
_NAME = expression(
    r"https?://\S+|@[\w-]{2,}|--[a-z][\w-]*|[\w~.-]*/[\w./*-]+|\b\w+\.(?:go|py|ts|tsx|js|md|json"
    r"|sh|ya?ml|toml|txt|rs|sql|css|html)\b"
    r"|\b[a-z]+[A-Z]\w+|\b\w*_\w+\b|#\d+|\b[A-Z]{2,}-\d+\b"
)
_NUMBER = expression(r"\b\d+\b")
_TOKEN = expression(r"<\w+>|[^\W\d_]+(?:['’][^\W\d_]+)?|[?!]")
_WIDE = expression(r"[\u3040-\u30ff\u3400-\u9fff]+")
_HANGUL = expression(r"[\uac00-\ud7af]+")

_I = re.IGNORECASE
_WORK = (
    r"(?:commits?|prs?|pull requests?|tests?|functions?|methods?|class(?:es)?|modules?|files?"
    r"|branch(?:es)?|endpoints?|components?|changes?|fix(?:es)?"
    r"|features?|migrations?|code|variables?|names?|bugs?|attributes?|arguments?|parameters?"
    r"|messages?|answers?|repl(?:y|ies)|comments?|docs?|docstrings?"
    r"|scripts?|quer(?:y|ies)|tables?|columns?|releases?|deploys?|reviews?|tickets?|issues?|plans?"
    r"|texts?|reports?|summar(?:y|ies)|dates?|logs?|types?)"
)
_GENERIC = rf"(?<!the )(?<!this )(?<!that )(?<!these )(?<!those )\b{_WORK}(?<=s)\b"
"""Things in general, as opposed to those at hand."""
_SAYS: Mapping[str, re.Pattern[str]] = {
    "onward": expression(
        r"\b(?:from (?:now|here|today|this (?:point|week|day))(?: on\w*| forward)?|going forward"
        r"|moving forward|henceforth|(?:overall|in general|generally),? (?:we|you) (?:should|must"
        r"|do)(?:n['’]?t| not| only)"
        r"|in (?:the )?future(?! (?:version|release|iteration|phase))"
        r"|as a (?:general )?rule|for future reference|next time|at all times|without"
        r" exception|across the board|as of (?:now|today)"
        r"|starting (?:now|today)|ever again)\b"
        r"|^(?:[\w']+,? ){0,3}(?:don['’]?t|do not|stop)\b.*\b(?:again|any ?more)\b"
        r"|^(?:\w+,? ){0,2}(?:never|no more)\b.*\bagain\b"
        r"|\b(?:we|you|i)\b[^,;]*\bnot\b.*\b(?:again|any ?more)\b"
        rf"|{ONWARD_ELSEWHERE}",
        _I,
    ),
    "always": expression(
        r"\b(?:always|never|every ?time|any ?time|whenever|everywhere|each time|nie wieder"
        r"|jedes mal|à chaque|cada vez|ogni volta)\b"
        r"|\b(?:no|not|nor|nobody|nothing|none|(?:do|should|must|may|ca|wo|need)n['’]?t|cannot|without|stop)"
        r"\b.*\bever\b",
        _I,
    ),
    "starts": expression(
        r"^(?:please |and |also |so |but |pls )*(?:always|never)\s+(?!mind|been|had|seen|was|is"
        r"|got|looks|(?:a (?:pleasure|joy|delight)|good|nice|happy|glad|great|fun)\b)\w+",
        _I,
    ),
    "elsewhere": expression(ALWAYS_ELSEWHERE, _I),
    "custom elsewhere": expression(CUSTOM_ELSEWHERE, _I),
    "must elsewhere": expression(MUST_ELSEWHERE, _I),
    "unless elsewhere": expression(rf"{UNASKED_ELSEWHERE}|{UNASKED_FIRST}", _I),
    "each": expression(
        r"\b(?:every|each|all)\s+(?:(?:of )?(?:my|your|our|the|new|single|public"
        rf"|exported)\s+)*(?:\w+\s+){{0,2}}?{_WORK}\b|\bjede[rsnm]? ",
        _I,
    ),
    "convention": expression(
        r"\b(?:conventions?|polic(?:y|ies)|(?:the|our|a|my|general|house|this) (?:rules?"
        r"|standards?)\b|guidelines?|habits?|(?:our|my|key|important|one) (?:\w+ )?practices?"
        r"|routine|(?:my|our|key) requirements?|default to|stick (?:to|with)|our style|house style)\b"
        r"|\b(?:regel|konvention|règle|convención|regla|norma|convenzione)\b",
        _I,
    ),
    "remember": expression(
        r"^(?:please |and |also |do |so |but |pls |always )*(?:remember|keep in mind|bear in mind"
        r"|don['’]?t (?:ever )?forget|merke?|denk dran|n['’]oublie pas)\b"
        rf"|{REMEMBER_ELSEWHERE}",
        _I,
    ),
    "every": expression(
        r"^(?:please |and |also |so |but )*(?:every|each|any|all(?! .*\bshould\b))\s+(?:\w+\s+){0,3}?"
        rf"{_WORK}\s+(?:\w+ )?(?:must|needs?|has to|have to|should|shall|gets?|goes?)\b",
        _I,
    ),
    "note": expression(
        r"^(?:please |and |also |do |so |but |pls |always )*note (?:that|this)\b|\bby default\b"
        r"|\b(?:not allowed|prohibited|unacceptable|mandatory|obligatory)\b",
        _I,
    ),
    "contrast": expression(
        r"\b(?:use|using|write|say|in|with|is|are|call it) [\w .'`/-]{1,40}, (?:and )?(?:not"
        r"|never) \w|\bwe\b.*\b(?:instead of|rather than)\b|\bprefer \w+|^[\w .'`/-]{1,40} only\b"
        r"|\bonly [\w.'`/-]+$",
        _I,
    ),
    "unless": expression(
        r"\b(?:unless|without)\s+(?:(?:i|we)\s+(?:\w+ly\s+)?(?:tell|ask|say|request|approve|allow)\b"
        r"|(?:you(?:['’]re| are)\s+)?(?:\w+ly\s+)?(?:told|asked|requested|instructed|allowed)\b"
        r"|(?:asking|checking with|telling) (?:me|us|first)\b"
        r"|(?:my|our|explicit) (?:\w+ )?(?:ok|okay|approval|permission|consent|confirmation)\b)",
        _I,
    ),
    "banned": expression(
        r"\b(?:banned|forbidden|off limits|verboten|interdit|prohibid\w+|vietat\w+)\b",
        _I,
    ),
    "stop": expression(
        r"\b(?:stop|quit) (?:\w+ing|it with)\b|\bi (?:hate|can['’]?t stand|don['’]?t (?:ever"
        r" )?want to see)\b|\bno more\b|\bi (?:keep|am tired of|['’]m tired of) \w+ing\b",
        _I,
    ),
    "occasion": expression(
        r"\b(?:when|whenever|if) (?:you(?:['’]re)?|u|naming|writing|creating|adding|committing"
        r"|pushing|defining|using)\b|\b(?:before|after) (?:you|u) (?:commit|push|merge|deploy"
        r"|release|open|close|edit|touch|change|delete|run)\w*"
        rf"|\b(?:before|after) (?:each|every)\b|\b(?:with|on|in|for) (?:each|every)(?: \w+){{0,2}}? {_WORK}\b"
        rf"|^(?:for|in|on) (?:\w+ ){{0,2}}{_GENERIC}",
        _I,
    ),
    "wants": expression(
        r"\b(?:i|we)(?:['’]d| would)? (?:want|need|like|prefer|expect|rather|love|appreciate"
        rf"|ask)\b.{{0,40}}\b(?:you|your|us)\b.*{_GENERIC}|\bi(?:['’]d| would)? (?:prefer|rather)\b"
        r"|\bi expect you\b",
        _I,
    ),
    "we": expression(
        r"\bwe (?:always|only|never|(?:don['’]?t|do not) (?!own|have|know|see|care|need|think)|use"
        r"|prefer|write|name|keep|put|follow|go with"
        r"|stick|test|commit|ship|say|call)\b|\bis what we\b|\baround here\b|\bin (?:this|our)"
        r" (?:repo\w*|project|codebase|team|house|company)\b",
        _I,
    ),
    "none": expression(
        r"^(?:please |and |also |absolutely |strictly )*no \w+(?: \w+){0,2} (?:in|for|on|without"
        r"|to|before|after|at|ever)\b",
        _I,
    ),
    "stress": expression(
        r"\b(?:emphasi[sz]e|stress|highlight|underline|insist|importance of|(?:is|it['’]s) (?:\w+ )?"
        r"(?:important|crucial|essential|vital|imperative)(?: to (?:me|us))? (?:that (?:you|we)|to)"
        r"|(?:important|crucial|key) (?:\w+ )?(?:aspect|practice|point|thing|part|habit|guideline)s?\b)"
        rf".*{_GENERIC}",
        _I,
    ),
    "must": expression(
        rf"{_GENERIC}.{{0,40}}\b(?:must|should|shall|has to|have to|needs? to|ought to|gets?|goes?"
        r"|need|starts?|ends?)\b",
        _I,
    ),
    "general": expression(
        r"^(?:please |also |make sure (?:to |you )?|ensure (?:that )?(?:you )?(?:\w+ly"
        r" )?)*(?:start|end|begin|prefix|suffix|use|add|include|write|name)\b.*(?:\b(?:to|for|in"
        rf"|with|of) (?:your )?)?{_GENERIC}",
        _I,
    ),
}
"""The forms in which people say that something holds on."""
_FORMS: Mapping[str, re.Pattern[str]] = {
    **_SAYS,
    "off": expression(
        r"^(?:please |pls |and |but |also )*(?:do(?:n['’]?t| not)|never|no|stop|avoid|quit)\b", _I
    ),
    "now": expression(
        r"\b(?:now|right now|for now|today|tonight|tomorrow|yet|still|again|currently|at the"
        r" moment|this time|just|first|until|already)\b",
        _I,
    ),
    "this": expression(r"\b(?:this|that|these|those|here|it|above|below|them)\b", _I),
    "the": expression(r"\bthe \w+", _I),
    "past": expression(r"\b(?:was|were|did|had|tried|got|said|told|\w+ed)\b", _I),
    "subject": expression(
        r"^(?:the|a|an|this|that|it|there|users?|he|she|they|someone|\w+ (?:is|are|was|has))\b", _I
    ),
    "you": expression(r"\byou(?:r|['’]re)?\b", _I),
    "i": expression(r"\b(?:i|me|my|i['’]m|i['’]ve|i['’]ll)\b", _I),
    "please": expression(
        r"\b(?:please|pls|plz|bitte|por favor|s['’]il te plaît|per favore|пожалуйста)\b|请", _I
    ),
    "asks": expression(
        r"^(?:can|could|would|will|shall|should|do|does|did|is|are|was|why|what|how|when|where|who|which)\b",
        _I,
    ),
    "if": expression(r"\b(?:if|unless|when|before|after|while)\b", _I),
    "makes": expression(
        r"^(?:\w+ly |also |please |now |then |and )*(?:add|create|write|make|update|build"
        r"|implement|generate|put) (?:\w+ ){0,3}(?:rule|check|test|doc|file|section|script|task"
        r"|command|feature|page|button)\b",
        _I,
    ),
}

_QUESTION = expression(r"[?？]\W*$")
_LIMITED = expression(
    r", (?:so )?(?:please )?(?:add|fix|change|do|update|check|rename|find|replace|remove|make)"
    r" (?:it|them|that|this|those)\b"
    r"|\b(?:(?:before|until|till) (?:i|we)(?:['’]ve| have| had)? (?:look|check|review|seen?|read"
    r"|test|decid|talk|discuss)\w*"
    r"|for now|right now|just now|(?:not )?yet|for the moment|at the moment|this (?:time|once"
    r"|session)|for today|today only|only today|tonight|tomorrow"
    r"|until|till|(?:in|for|on|with) (?:this|that|these|those) (?:one|pr|pull request|commit"
    r"|branch|file|function|method|class|test|task|change|release|sprint"
    r"|ticket|issue|bug|fix|run|case|endpoint|page|module|component|script|query|time|step|part"
    r"|section|round|draft|version|iteration|spike|experiment"
    r"|prototype|migration|demo|week|refactor\w*|feature|review|build|deploy\w*|chapter|notebook|screen)s?"
    r"|let me know|^(?:ok |so |please |now )*just (?:plan|think|look|read|check|tell|show|answer"
    r"|explain|talk|list|report)|i['’]?(?:ll| will) (?:do|handle|take|look|fix|check|test|review"
    r"|tell|say|decide|let)"
    r"|erstmal|vorerst|diesmal|heute|noch nicht|bis (?:ich|morgen)|pour l['’]instant|cette fois"
    r"|aujourd['’]hui|por ahora|de momento|esta vez|todavía|hoy"
    r"|por enquanto|desta vez|hoje|per ora|stavolta|voorlopig|deze keer|пока)\b"
    r"|先(?:不|别)|只(?:说|看|分析|讨论)|暂时|这次|今回"
    r"|とりあえず|まだ|일단|이번",
    _I,
)
"""Limits what is said to the task at hand."""
_ALWAYS = expression(
    r"\b(?:from now on|going forward|always|never|ever again|(?:no|don['’]?t|stop)(?: [\w-]+){,5} ever)\b", _I
)
_LASTING = expression(rf"{_ALWAYS.pattern}|\b(?:from today|as of today|in (?:the )?future)\b", _I)
_LIMITS_ALWAYS = expression(
    r"\b(?:always|never) \w+ now\b|\b(?:for now|for the moment|at the moment|this time|(?<!as of"
    r" )(?<!from )today(?! and)"
    r"|tonight|until (?:i|we|tomorrow|then)"
    r"|for this(?! (?:project|repo|repository|code ?base|workspace|app|application|product|site|website"
    r"|package|library|service|team|company)\b))\b",
    _I,
)
_ASKS = expression(r"(?:can|could|would|will|shall|should) (?:you|we|i)\b|(?:有没有|为什么|是不是)", _I)
_TAG = expression(
    r",? (?:ok(?:ay)?|right|yes|alright|please|deal|understood|got it|ja|oder|vale|d['’]accord|certo)\s*\?+$",
    _I,
)
_POLITE = expression(
    r"(?:\w+,? ){0,3}(?:would|could|can|will|may|might) (?:you|i|we)\b.{0,40}"
    r"\b(?:always|never|ever|stop|avoid|from now on|going forward|in future|(?:every|each) time|whenever)\b",
    _I,
)
_OF_MUST = frozenset({"must elsewhere"})
_ELSEWHERE = _OF_MUST | {"elsewhere", "custom elsewhere", "unless elsewhere"}
_LESS_PLAIN = _ELSEWHERE | {"general", "none"}
_EXPRESS = frozenset({"onward", "always", "starts", "remember", "banned", "unless"})
"""The forms that do not say what one file has to look like."""
_AS_A_RULE = expression(
    r"\b(?:conventions?|polic(?:y|ies)|(?:our|my|house|general|team|project) (?:\w+ )?(?:rules?|standards?"
    r"|practices?|style|habit))(?: \w+){0,3} (?:is|are|says?)\b"
    r"|\b(?:is|are|that['’]s|as) (?:\w+ )?(?:the|our|my|a) (?:\w+ )?(?:rules?|convention|policy|standard"
    r"|habit|practice)\b|^(?:\w+ ){0,3}(?:rule|convention|policy)(?: \w+){0,4}:"
    r"|^(?:please,? )?(?:i|we) (?:\w+ly )?prefer\b",
    _I,
)
"""Calls it a rule, or a preference; such a sentence may speak of one file, too."""
_OF_A_CUSTOM = frozenset({"we", "contrast", "onward"})
_WE = expression(r"(?:\w+,? ){0,2}we\b", _I)
"""With one of these forms, says how the person's team works: "we're using npm, not pnpm"."""
_ONWARD = expression(ONWARD_ELSEWHERE, _I)
_TO_THE_AGENT = expression(
    r"^(?:please |and |also |so |but |pls |bitte |ok |okay )*(?:always|never|from (?:now|today)"
    r"(?: on\w*| forward)?|going forward|moving forward|in (?:the )?future|henceforth|as of (?:now|today)"
    r"|ab jetzt|ab sofort|künftig|immer|nie(?:mals)?|désormais|dorénavant|toujours|a partir de ahora|siempre"
    r"|nunca|a partir de agora|sempre|d['’]ora in poi|mai|voortaan|altijd|nooit|впредь|всегда|никогда|zawsze"
    r"|nigdy)\b|^(?:请|記住|记住|那么)?[，,]?(?:以后|以後|今后|从现在(?:起|开始)|從現在|往后)"
    r"|^(?!(?:the|an?|this|that|it|there|users?|s?he|they|i|my|someone|if i|what|why|how|is|are|does)\b)(?:"
    r"(?:\w+,? ){0,2}(?:from (?:now|today)(?: on\w*| forward)?|going forward|in (?:the )?future|next time"
    r"|every ?time|each time|at all times),? "
    r"|.*?(?:[,;:.!—-] ?|\b(?:and|but|also|so|then|please|pls|to|just|or|let['’]?s) )"
    r"(?:please |pls |not )?"
    r"(?:always|never) (?!mind|been|had|seen|was|is|got|looks|works?\b|be\b)(?!\w+(?<![s'])s\b(?<!less\b))\w)"
    r"|\b(?:unless|without) (?:(?:i|we) (?:\w+ly )?(?:tell|ask|say)"
    r"|you(?:['’]re| are) (?:\w+ly )?(?:told|asked)|(?:asking|checking with) (?:me|us)"
    r"|(?:my|our) (?:\w+ )?(?:ok|approval|permission|consent|confirmation))\b",
    _I,
)
"""Begins a sentence, or an order in it, with the words that make it a rule, or leaves the decision to the
person; "the banner should always be visible" does neither."""
_ABOUT_THE_AGENT = expression(
    r"\b(?:you|u)(?:['’]ll)? (?:must|should|shall|will|need to|have to|are to)(?:n['’]?t| not)? "
    r"(?:always|never)\b|\b(?:want|like|need|ask|expect|tell) you to (?:always|never)\b"
    r"|\b(?:from (?:now|today)(?: on\w*| forward)?|going forward|in (?:the )?future)\W*$"
    r"|\bwe (?:do not|don['’]?t)\b.*\bany ?more\W*$|^(?:\w+,? )?we (?:always|never) \w"
    r"|^we use [^,]+, (?:not|never) \w"
    r"|^(?:\w+,? ){0,2}(?:stop|quit|do not|don['’]?t|no) (?:\w.*)?\b(?:ever(?! again)|always|every ?time"
    r"|each time|from now on|going forward|unless i)\b"
    r"|^(?:\w+,? )?(?:whenever|every ?time|each time|any ?time) you (?:\w+ly )?"
    r"(?!see|get|want|like|can|open|click)\w"
    r"|\b(?:i|we)(?:['’]d| would)? (?:want|like|need|expect) (?:you )?to\b.*\b(?:from now on|going forward"
    r"|every ?time|each time|(?:after|before|with|for|on) (?:each|every) \w)"
    r"|\b(?:je (?:veux|souhaite)|ich (?:will|möchte|hätte gern)|quiero|voglio|quero)\b.*\b"
    r"(?:dorénavant|désormais|toujours|ab (?:jetzt|sofort)|künftig|immer|siempre|sempre"
    r"|d['’]ora in poi|a partir de ahora)\b",
    _I,
)
"""Likewise, but said of what is being made as well."""
_NO_QUESTIONS = expression(
    r"\b(?:don['’]?t|do not|never|stop|not|no(?: need| more)?|needn['’]?t|without having|skip|disable)"
    r" (?:(?!without|unless|until|till|before|first|forget|skip)[\w'’]+ ){0,4}?"
    r"(?:ask(?:ing)?|confirm(?:ing|ations?)?|permissions?|approvals?|consent|check(?:ing)? with"
    r"|wait(?:ing)? for)\b"
    r"|\bjust (?:do|apply|push|commit|merge|go|proceed|run) (?:it|ahead|whichever|whatever)\b"
    r"|不(?:用|必|要)(?:再)?(?:问|確認|确认)|别(?:再)?问|[无無][需须](?:确认|確認|询问)|確認なし|聞かないで|聞かずに"
    r"|묻지 ?말|물어보지 ?말"
    r"|\b(?:frage?t?(?: mich)? nicht|nicht (?:mehr )?(?:nach)?fragen|ne (?:me )?demandes? (?:plus|pas)"
    r"|no (?:me )?(?:preguntes|consultes|pidas)|não (?:precisa )?(?:me )?pergunt\w+|не (?:нужно "
    r"|надо )?спрашива\w+"
    r"|non (?:mi )?(?:chieder\w*|devi chieder\w*)|vraag (?:het )?(?:me|mij)? ?(?:niet|nooit)"
    r"|fråga (?:mig )?(?:inte|aldrig)"
    r"|nie (?:musisz )?pyta\w*|neptej|nemusíš se ptát|не (?:треба |потрібно )?питай\w*|sorma(?:y[ıi]n)?"
    r"|(?:đừng|không cần|khỏi)(?: bao giờ)? hỏi)\b|لا (?:تسأل|داعي للسؤال)"
    r"|^(?:\w+,? ){0,4}(?:never|don['’]?t|do not) (?:\w+ )?(?:change|touch|modify|edit|write|make) "
    r"(?:any |my |the )?(?:existing )?(?:code|files?|anything|changes)\b(?: pl\w+)?$",
    _I,
)
"""Spares the agent a question, or leaves it next to nothing to do."""
_UNASKED = expression(
    r"\bwithout (?:asking|checking|confirm\w*|permission|(?:my|any|our) (?:\w+ )?(?:ok|okay|approval"
    r"|permission|consent|confirmation))\b"
    r"|\bauto(?:matically)?[- ]?(?:commit|push|merge|deploy|approve|accept)\w*"
    r"|\b(?:commit|push|merge|deploy|approve|accept)\w* (?:\w+ )?automatically\b"
    rf"|{UNASKED_ELSEWHERE}",
    _I,
)
_UNASKED_FIRST = expression(UNASKED_FIRST, _I)
_FORBIDS_THEN = expression(
    r"\b\w{2,}m[ae](?:y[ıi]n(?:[ıi]z)?)?\W*$|ない|禁止|やめ|지 ?(?:마|말)|금지|안 ?[돼되]|[不别別勿]", _I
)
_FORBIDS = expression(
    r"\b(?:never|no|not|nothing|nobody|none|don['’]?t|mustn['’]?t|cannot|can['’]?t|won['’]?t|stop|nie|niemals"
    r"|nicht\w*|kein\w*|jamais|ne|nunca|jamás|nada|não|не|никогда|ничего|nigdy|mai|non|niet|nooit|geen"
    r"|nie|nikdy|ніколи"
    r"|inte|aldrig)\b|\bne\w{3,}|لا ",
    _I,
)
_ONE_PLACE = expression(
    r"(?:^|\s)[#@]?(?:file:)?[\w.-]+/[\w./*-]*\w|\b[\w-]+\.(?:go|py|ts|tsx|js|jsx|md|json|sh|ya?ml|toml"
    r"|txt|rs|sql|css|html|ipynb"
    r"|c|cc|cpp|h|java|kt|rb|php|vue|svelte)\b"
)
"""Names a file or folder."""
_WEAKER = expression(
    r"\b(?:every|each|any|anything|everything|all|only|must|period|full stop|no exceptions?"
    r"|hard rule|non[- ]negotiable|in general|generally|usually"
    r"|applies|stands for|holds for|prefer|default|standard|banned|avoid|instead|rather|never"
    r"|don['’]?t|we|usamos|utilizamos|wir verwenden|wir nutzen|on utilise"
    r"|usiamo|kein\w*|nada de|pas de|ningún|nessun)\b|不|别|禁止|ない",
    _I,
)
"""May say that something holds on, if nothing else speaks against it."""
_UNREAL = expression(
    r"^(?:what if|if we|imagine|suppose|let['’]s say|maybe we|i wonder|wondering|for example|e\.g"
    r"|for instance|if you (?:think|want|like|need|can|prefer|feel|agree)|(?:it )?seems?|it looks"
    r"|(?:it )?looks like|i (?:think|guess|feel|believe|suppose)\b"
    r"|(?:this|that|it|these|which) (?:is|are|helps?|makes?|allows?|ensures?|gives?|will|can"
    r"|would)\b|when i (?!say|write|ask|type|tell)|lorsque je|quand je|wenn ich"
    r"|(?:is|are|was|were|does|do (?!not)|did|has|why|what|how|which|who|where) )"
    r"|\b(?:probably|perhaps|not sure|(?:is|are|was|were) (?:still |all |now )?(?:failing|broken"
    r"|red|passing|flaky)|toujours pas|still (?:not|no)|immer noch|todavía no|ancora non"
    r"|(?:is|are|was|were) (?:still |all |now )?(?:failing|broken|red|green|passing|flaky|down"
    r"|slow|missing|wrong)"
    r"|(?:had|has|have|['’]ve|avait|avons|ai) (?:never|jamais))\b"
    r"|^(?:and |but |so |now |almost |nearly )*(?:every|each|all)\b(?! times?\b)"
    r"(?:(?!\b(?:that|which|who|if|when|must|should|shall|can)\b)[^,;:]){1,40}?"
    r"\b(?:fails?|crash(?:es)?|hangs?|breaks?|errors? out|times? out|throws?|freezes?)\b"
    r"|\bcomme ça\b|\b(?:don['’]?t|do"
    r" not|never) (?:worry|hesitate|be (?:afraid|shy))\b|\bfeel free\b|\breach out\b|^(?:[\w',]+:?"
    r" ){0,5}i (?:think|guess|believe|suppose)\b|\bthis is (?:what"
    r"|how|why)\b|\b[\w/-]+\.(?:py|ts"
    r"|tsx|js|go|rs|md|json|sh|ya?ml|sql|css|html)[`'\"]? (?!has|needs|gets|goes|is)\w+s\b"
    r"|\b(?:which|that) (?:is|are|was|were) \w+ (?:in|by|on|for|with) (?:each|every)\b"
    r"|\banything else\b|\b(?:never|always) (?:have|has|had) (?:been|seen|done|had|\w+ed)\b"
    r"|^(?:remember|don['’]?t forget)(?: that)? (?:you|we) (?:can|could|may|might)\b"
    r"|\bfor [\w-]+ to (?:always|never)\b|\bso (?:that )?in (?:the )?future\b"
    r"|\b(?:make|create|write|add|keep|save|store|document)\b.*\bfor future (?:reference|use)\b"
    r"|\b(?:guaranteed|supposed|bound|likely|expected|meant|seems?) to (?:always|never)\b",
    _I,
)
"""Starts a thought, an example or a report."""
_REPORT = expression(
    r"^no \w+(?: \w+){0,3} (?:is|are|was|were) (?:being )?(?:shown|displayed|visible|there|found|loaded"
    r"|rendered|returned|printed|drawn|listed|selected)\W*$"
    r"|^(?!(?:you|we|i|please|every|each|all|any|always|never|commits?|branch|code|tests?)\b)"
    r"(?:[\w'’]+ ){0,3}"
    r"(?:(?:is|are) \w+ to )?(?:always|never)"
    r" (?!needs|has|gets|goes|uses|starts|ends|comes|is|means|as|this|us|yes)\w+s\b",
    _I,
)
"""Says what something always does, or what is missing: "the linter always runs before the build"."""
_OWN_PLAN = expression(
    r"^(?:i(?:['’]d| would)? (?:like|want|need|plan|intend|hope)(?: for \w+(?: and \w+)?)? to\b)"
    r"(?! (?:\w+ )?(?:emphasi[sz]e|stress|highlight|underline|remind|point out|mention|insist|ask|add that"
    r"|reiterate|repeat|see|request|recommend|encourage|make (?:it )?(?:clear|sure))\b)",
    _I,
)
_POINTS_BACK = expression(
    r"^(?:(?!if|when|once|after|before)\w+,? ){0,3}?(?:always|never|stop|(?:do not|don['’]?t) ever)"
    r" (?:do|doing) (?:that|this|it|so)\b"
    r"|^(?:(?!always |never ).){0,80}\b(?:stop|avoid|quit|prevent|keep)(?: (?:you|yourself|it))?(?: from)?"
    r" doing (?:that|this|it|so)\b"
    r"|^(?:(?:and|but|also),? )*never (?:in|into|on|at|for|from|with|by)\b",
    _I,
)
"""Orders what was said before: "never do that again", "never in a release"."""
_SHOWS = expression(r"[:(`'\"“‘„«]|\b(?:as in|see|siehe|voir|e\.g|z\. ?B|np\.)|" + _ONE_PLACE.pattern)
"""Shows what such a sentence points at, or says where it stands."""
_HOLDS = expression(rf"{ONWARD_ELSEWHERE}|{ALWAYS_ELSEWHERE}", _I)
_PARTICLES = expression(
    r"[都要请請不用别別只再也就了的吧啊呢嘛得会會我你们們]|必[须須]|(?:してください|しないで|して|する|に|は|を|ください)"
)
_LETTER = expression(r"[^\W\d_]")
"""What is left of "every time" or "from now on never" without the words that hold on: nothing."""
_AT_HAND = expression(
    r"[这這那](?:[个個种種样樣些类類](?!项目|項目|专案|專案|仓库|倉庫|工程|[应應]用|repo)|么|麼)"
    r"|(?:この|その|あの)(?!プロジェクト|リポジトリ|レポジトリ|アプリ|チーム)|[こそあ]れ(?!から|以降|まで)|[こそ]んな"
    r"|[이그]거|[이그]것|[이그]렇게",
)
"""Points, in a language without spaces, at what was named before: "from now on without this check"."""
_CLAUSES = expression(r"[，,；;。：:]")
_IMPERSONAL = expression(
    r"\b(?:on (?:doit|devra|devait)|il (?:nous )?faut|nous devons|(?:man|wir) (?:muss|müssen|soll(?:en)?)"
    r"|(?:muss|müssen|soll(?:en)?) (?:man|wir)|hay que|(?:se|si) (?:debe[n]?|deve|devono)|debemos|tenemos que"
    r"|dobbiamo|bisogna|devemos|temos (?:que|de)|deve-se|(?:men|we) moet(?:en)?|moet(?:en)? (?:men|we)"
    r"|trzeba|musimy|musíme|(?:мы|нам) (?:должны|нужно|надо)|нужно|надо|приходится|треба|потрібно)\b",
    _I,
)
"""Says what somebody has to do: how people work, as often as how the agent is to."""
_RECORDS = expression(
    r"^(?:\w+,? ){0,3}?(?:make|create|add|write|update|change|mention|record|edit|think"
    r" about)\b(?: \w+){0,6}? rules?\b"
    r"|^mention\b",
    _I,
)
"""Asks to write a rule into a file: a task."""
_FRAGMENT = expression(r"^(?:for|in|on|with|as|and|or|like|such as|including) [^,:;]*$", _I)
_DIRECTS = expression(
    r"\b(?:must|should|shall|always|never|needs?|have to|has to|only|please|don['’]?t|do not|use"
    r"|prefer|end|start)\b",
    _I,
)
_AGAIN = expression(r"\b(?:always|never|(?:each|every) time|from now on|whenever|before (?:you|u) \w)", _I)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a sentence is judged; probabilities from 0 to 1, which sum to 1."""

    standing: float
    once: float
    other: float
    why: str = ""  # what forbids to take it for a rule; empty for nothing
    says_so: int = 1  # in how many ways it says plainly that it holds on

    at_work: float = math.inf  # the probability from which it is a rule in an agent's session, too
    least: float = SURE  # the probability from which it is one if it says so in no way

    @property
    def is_plain(self) -> bool:
        """Whether it plainly states a rule."""
        return not self.why and self.standing >= (self.least, PLAIN, TWICE)[min(self.says_so, 2)]

    @property
    def is_express(self) -> bool:
        """Whether it also does in an agent's session."""
        return self.is_plain and self.standing >= self.at_work

    def as_a_further_one(self, sentence: str) -> Verdict:
        """The verdict on a sentence that adds something to a rule: it need not say again that it holds on, if
        it is about things in general.
        """
        is_general = _SAYS["general"].search(sentence) is not None or self.standing >= PLAIN
        if self.is_plain or not is_general or self.why not in ("", NOT_SAID):
            return self
        return replace(self, standing=max(self.standing, PLAIN), why="", says_so=1)


@lru_cache(maxsize=16_384)
def judged(sentence: str) -> Verdict:
    """The verdict on a sentence or a clause of one."""
    words = len(sentence.split()) + sum(map(len, _WIDE.findall(sentence))) // _WIDE_LETTERS
    if len(sentence) > _MOST_CHARACTERS or words > _MOST_WORDS or (words < _FEWEST and sentence.isascii()):
        return Verdict(0.0, 0.0, 1.0, "not a sentence")
    weights, base = _model()
    scores = list(base)
    for feature, value in features(sentence).items():
        for kind, weight in enumerate(weights.get(feature, ())):
            scores[kind] += weight * value
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    whole = sum(parts)
    return Verdict(parts[0] / whole, parts[1] / whole, parts[2] / whole, *_said(sentence))


def may_hold_on(sentence: str) -> bool:
    """Whether a sentence that waits is likely to be a rule, rather than about the task at hand."""
    verdict = judged(sentence)
    if verdict.why not in ("", NOT_SAID) or _is_task(sentence):
        return False
    least = _DOUBTFUL if _ALWAYS.search(sentence) else PLAIN if says_always(sentence) else _LIKELY
    return verdict.standing >= least


def _is_task(sentence: str) -> bool:
    """Whether a sentence orders a piece of work, at most with "in this project"."""
    return TASK.match(sentence) is not None and not any(
        form.search(sentence) for name, form in _SAYS.items() if name != "we"
    )


def says_always(sentence: str) -> bool:
    """Whether a sentence says with a word such as "always", in any language, that it holds on."""
    return _ALWAYS.search(sentence) is not None or _SAYS["elsewhere"].search(sentence) is not None


def gives_leave(sentence: str) -> bool:
    """Whether a sentence lets the agent do something without asking, or forbids it nearly everything.

    "Never push without asking" does not. As a standing order that is not meant as one, it could do harm.
    """
    unasked, first = _UNASKED.search(sentence), _UNASKED_FIRST.search(sentence)
    return (
        _NO_QUESTIONS.search(sentence) is not None
        or (unasked is not None and _FORBIDS.search(sentence[: unasked.start()]) is None)
        or (first is not None and _FORBIDS_THEN.search(sentence, first.end()) is None)
    )


def _said(sentence: str) -> tuple[str, int, float] | tuple[str, int, float, float]:
    """What forbids to take a sentence for a rule, in how many ways it says that it holds on, the
    probability it needs in an agent's session, and what it needs elsewhere if it says so in no way.
    """
    plain = _TAG.sub("", sentence)
    is_question = _QUESTION.search(plain) is not None or _ASKS.match(plain) is not None
    if is_question and not _POLITE.match(plain):
        return QUESTION, 0, math.inf
    if (
        _UNREAL.search(sentence)
        or _REPORT.match(sentence)
        or (_OWN_PLAN.match(sentence) and not _AGAIN.search(sentence))
    ):
        return "is a thought", 0, math.inf
    if _POINTS_BACK.match(sentence) or _is_as_shown(sentence):
        return _ABOUT_NOTHING, 0, math.inf
    if _RECORDS.match(sentence):
        return "asks to write a rule down", 0, math.inf
    if _FRAGMENT.match(sentence) and not _DIRECTS.search(sentence):
        return "is not a sentence", 0, math.inf
    limits = _LIMITS_ALWAYS if _LASTING.search(sentence) else _LIMITED
    if limits.search(_ONWARD.sub("", sentence)):  # "ab heute" is no limit
        return LIMITED, 0, math.inf
    if SPEAK.fullmatch(sentence):
        return "", 0, 0.0, 0.0
    if sentence.isascii() and len(sentence.split()) < _FEWEST_OF_A_RULE and not _LASTING.search(sentence):
        return TOO_SHORT, 0, math.inf
    if _WIDE.search(sentence) and not _LETTER.search(_PARTICLES.sub("", _HOLDS.sub("", sentence))):
        return _ABOUT_NOTHING, 0, math.inf
    said = {name for name, form in _SAYS.items() if form.search(sentence)}
    ways = said - _LESS_PLAIN
    is_called_one = _AS_A_RULE.search(sentence) is not None
    lasts = is_called_one or bool(ways & _EXPRESS)
    if ways and not lasts and _ONE_PLACE.search(sentence):
        return LIMITED, 0, math.inf
    is_custom = "remember" in ways or (bool(ways & _OF_A_CUSTOM) and _WE.match(sentence) is not None)
    may_be = is_called_one or is_custom or "every" in ways or _ABOUT_THE_AGENT.search(sentence) is not None
    needed = AT_WORK if _TO_THE_AGENT.search(sentence) else SURE if may_be else math.inf
    onward = _ONWARD.search(sentence)
    if onward is not None:
        before = sentence[: onward.start()].rstrip()
        is_early = len(before.split()) <= _FEW_BEFORE or before.endswith((",", "，"))
        needed = min(needed, ELSEWHERE if is_early else SURE)
    elif said & _ELSEWHERE and not (said & _ELSEWHERE == _OF_MUST and _IMPERSONAL.search(sentence)):
        needed = min(needed, ELSEWHERE)
    if any(_AT_HAND.search(clause) and _HOLDS.search(clause) for clause in _CLAUSES.split(sentence)):
        needed = math.inf
    if ways:
        return "", 0 if is_question else len(ways), needed
    if said & _ELSEWHERE:
        return "", 0, needed, ELSEWHERE
    if _FORMS["off"].match(sentence):  # "don't …" is mostly meant for now
        return NOT_SAID, 0, math.inf
    return ("" if _WEAKER.search(sentence) else NOT_SAID), 0, math.inf


def _is_as_shown(sentence: str) -> bool:
    """Whether a sentence says how, or with what, and that stands neither before nor behind it."""
    if HANDED.search(sentence) and not (_NAME.search(sentence) or _LITERAL.search(sentence)):
        return True
    shown = THIS_WAY.search(sentence)
    if shown is None or _SHOWS.search(sentence, shown.end()):
        return False
    return not any(
        len(clause.split()) > (_OPENS if _LASTING.search(clause) or _ONWARD.search(clause) else _NAMES)
        for clause in _CLAUSES.split(sentence[: shown.start()])[:-1]
    )


@lru_cache(maxsize=1)
def _model() -> tuple[Mapping[str, Sequence[float]], Sequence[float]]:
    tree = json.loads(DATA.read_bytes())
    return tree["weights"], tree["base"]


def features(sentence: str) -> dict[str, float]:
    """The features of a sentence with their values: words, pairs of words, its beginning, its form, and its
    runs of characters, which see through endings and typing errors.
    """
    text = _NUMBER.sub(" <num> ", _NAME.sub(" <name> ", _LITERAL.sub(" <literal> ", sentence)))
    found = dict.fromkeys(_tokens(text), _OF_WORDS)
    forms = [name for name, form in _FORMS.items() if form.search(sentence)]
    found.update((f"form:{name}", _OF_WORDS) for name in forms)
    found.update((f"forms:{one}&{other}", _OF_WORDS) for one, other in combinations(forms, 2))
    if _QUESTION.search(sentence):
        found["form:question"] = _OF_WORDS
    padded = [f" {word} " for word in text.casefold().split()]
    runs = Counter(
        word[place : place + size]
        for word in padded
        for size in _RUNS
        for place in range(max(0, len(word) - size + 1))
    )
    norm = math.sqrt(sum(count * count for count in runs.values())) or 1.0
    found.update((f"={run}", _OF_RUNS * count / norm) for run, count in runs.items())
    return found


def _tokens(text: str) -> Iterator[str]:
    words = [word.casefold().replace("’", "'") for word in _TOKEN.findall(text) if not _WIDE.match(word)]
    yield from words
    yield from (f"{one} {other}" for one, other in pairwise(words))
    yield from (f"{one} _ {other}" for one, other in zip(words, words[2:], strict=False))
    if words:
        yield f"^{words[0]}"
        yield "^" + " ".join(words[:2])
        yield f"{words[-1]}$"
    for run in (*_WIDE.findall(text), *_HANGUL.findall(text)):
        yield from (run[place : place + 2] for place in range(len(run) - 1))
