"""Recognizes messages that correct the agent: "no, use …", "never touch …", "that's wrong", "I said …".

Deterministic and conservative: only the beginning of a sentence counts. Questions, code and quotations are
ignored, and so is the rest of a long message, which is mostly pasted.
"""

from __future__ import annotations

import re
from functools import cache

from engine.startup.lazy import expression

_PROSE = 1500
"""Number of characters of prose that are checked: a correction comes early in a message."""

_CODE = expression(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_NOT_PROSE = re.compile(r"^(?:[ \t]*>|\t| {4}).*$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?;。！？；\n]+(?:[.!?;](?=\S)[^.!?;。！？；\n]*)*[.!?;。！？；]*")

_LEAD = (
    r"(?:[-*•–—#]\s+|\d+[.)]\s+)?"
    r"(?:(?:ok(?:ay)?|oh|hey|hm+|well|wait|sorry|but|and|also|so|again|actually|please|pls|btw|just|"
    r"bitte|aber|und|s'il te pla[iî]t|mais|et|por favor|pero|y|mas|e|per favore|ma|пожалуйста|но|и|请|請)"
    r"\b[,:!…]*\s*)*"
)
_NOT_A_RULE = (
    r"worry|mind|you|we|i|they|he|she|know|care|forget|hesitate|need|needs|have|understand|want|like|see|get|"
    r"believe|remember|think|bother|seem|seems|feel|really|even|recall|expect|look|panic"
)
_WORDS = {
    "en": (
        # "No" followed by an instruction: a bare "no" only answers a question.
        r"(?:no|nope|nah)(?:[,.!;:…\s—–-]|\bno\b)+(?:use|do|don['’]?t|not|never|stop|keep|leave|put|make|"
        r"remove|delete|revert|undo|go back|instead|rather|try|wait|wrong|you|"
        r"i (?:said|meant|mean|want|wanted|asked|told)|we (?:use|don['’]?t|never|always|should)|"
        r"(?:it|that|this)(?:['’]s| is)(?:n['’]?t| not| wrong| supposed)|"
        r"(?:it|that|this) (?:should|must|has to|needs to|isn['’]?t|doesn['’]?t))\b",
        rf"(?:do not|don['’]?t|dont)\s+(?:ever\s+)?(?!(?:{_NOT_A_RULE})\b)[a-z]+",
        r"never (?:ever )?(?!(?:mind|heard|seen|been|got|had|knew|done|tried|ran|worked|happened|again\?)\b)"
        r"(?!\w+(?:ed|s)\b)[a-z]+",
        r"always (?:use|run|write|keep|put|ask|check|commit|add|include|prefer|make|start|read|test|create|"
        r"call|format|name|do|update|verify)\b",
        r"(?:that|this|it)(?:['’]s| is| was)\s*(?:still |just |all |completely |totally )*(?:wrong|incorrect|"
        r"not (?:right|correct|what i|how i|how we|the way|true|it\b))",
        r"(?:that|this|it) (?:isn['’]?t|wasn['’]?t) (?:right|correct|what i|how i|how we|true)",
        r"not what i (?:asked|meant|said|wanted)",
        r"(?:as )?i (?:already |just )?(?:said|told you|asked (?:you )?(?:not )?(?:to|for))\b"
        r"(?! (?:to )?(?:him|her|them|my))",
        r"i (?:meant|did(?:n['’]?t| not) (?:ask|say|want|mean|tell))\b",
        r"you (?:forgot|broke|misunderstood|misread|ignored|missed|should(?:n['’]?t| not)(?: have)?|"
        r"must ?n(?:ot|['’]t)|were(?:n['’]?t| not) supposed)\b",
        r"stop (?!(?:using|being) me)[a-z]{2,}ing\b",
        r"(?:revert|undo) (?:that|this|it|your|the last|those|these)\b",
        r"(?:wrong)(?:[,.!:]|$| (?:file|one|place|way|branch|approach|folder|directory|function)\b)",
        r"not (?:like )?(?:that|this|there)(?:[,.!:]|$)",
        r"use [^.?!\n]{1,80}(?:,? instead\b|,? not | rather than )",
        r"(?:from now on|next time|going forward)\b",
    ),
    "de": (
        r"(?:nein|nee|nö)[,.!:…\s—–-]+(?:nimm|benutz|verwend|nutz|mach|nicht|nie|niemals|das|so|du|ich|lass|wir|"
        r"stattdessen|sondern|falsch)\w*",
        r"(?:niemals|nie (?:wieder|mehr|etwas|ohne|die|den|das|direkt|in|auf))\b",
        r"(?:das|es) (?:ist|war) (?:so )?(?:falsch|verkehrt|nicht (?:richtig|das|was|so))",
        r"das stimmt (?:so )?nicht|falsch[.,!]|so nicht\b|nicht so[,.!]",
        r"ich (?:sagte|meinte|hab(?:e)? (?:doch |dir )*(?:gesagt|gebeten))",
        r"(?:ab jetzt|ab sofort|von (?:jetzt|nun) an|künftig|in zukunft)\b",
        r"(?:hör auf|lass das|mach das nicht|fass .{1,60} nicht an|nicht \w+(?:en|ern|eln)[.!]*$|"
        r"(?:benutze?|verwende|nimm|ändere?|lösche?) .{0,60}\b(?:nicht|nie|niemals|kein\w*)\b)",
    ),
    "fr": (
        r"non[,.!:…\s—–-]+(?:utilise|fais|pas|jamais|je|c['’]est|il faut|tu|ne|n['’]|mets|prends|arrête|"
        r"plutôt)",
        r"(?:ne|n['’])\s?(?!t['’]inqui|vous inqui)\w+(?:[- ]\w+)? (?:pas|jamais|plus)\b",
        r"jamais (?!vu|eu|entendu|été)\w+",
        r"c['’](?:est|était) (?:faux|incorrect|pas (?:ça|ce que|correct|bon|comme))",
        r"(?:j['’]ai (?:déjà )?dit|je t['’]ai (?:déjà )?(?:dit|demandé)|je voulais dire)",
        r"(?:à partir de maintenant|désormais|dorénavant)\b|arrête d[e'’]",
    ),
    "es": (
        r"no[,.!:…—–-]+\s*(?:usa|haz|no|nunca|eso|así|te|quiero|pon|deja|mejor|tienes|debes)\b",
        r"no (?:uses|toques|hagas|borres|cambies|pongas|añadas|agregues|crees|modifiques|escribas|vuelvas|"
        r"elimines|inventes|commitees)\b",
        r"(?:nunca|jamás) (?!he|ha|había|vi|me)\w+|eso (?:está mal|no es (?:lo|así|correcto)|es incorrecto)",
        r"(?:te dije|ya te dije|he dicho|dije que|quise decir)\b",
        r"(?:a partir de ahora|de ahora en adelante)\b|deja de \w+r\b",
    ),
    "pt": (
        r"não[,.!:…—–-]+\s*(?:use|usa|faz|faça|não|nunca|isso|assim|eu)\b",
        r"não (?:use|mexa|toque|faça|altere|apague|mude|crie|adicione|remova|escreva|modifique|delete)\b",
        r"isso (?:está errado|não é|não está)|(?:eu (?:já )?disse|eu falei|já disse|quis dizer)\b",
        r"(?:a partir de agora|de agora em diante)\b|pare de \w+r\b",
    ),
    "it": (
        r"no[,.!:…—–-]+\s*(?:usa|fai|non|mai|così|ho|metti|lascia|devi)\b",
        r"non (?:usare|toccare|fare|cancellare|cambiare|modificare|aggiungere|creare|scrivere|rimuovere)\b",
        r"(?:è|questo è) sbagliato|non è (?:quello che|giusto|corretto|così)|(?:ti )?ho (?:già )?detto\b",
        r"(?:d['’]ora in poi|da ora in poi|da adesso in poi)\b|smett(?:i|ila) di \w+",
    ),
    "nl": (
        r"nee[,.!:…\s—–-]+(?:gebruik|doe|niet|nooit|dat|ik|je|maak|laat)\b",
        r"nooit (?!ge)\w+|(?:gebruik|doe|verander|wijzig|verwijder) .{0,60}\b(?:niet|nooit|geen)\b",
        r"dat (?:is|was) (?:fout|verkeerd|niet (?:goed|wat|juist))|ik (?:zei|bedoelde|heb (?:al )?gezegd)\b",
        r"(?:vanaf nu|voortaan)\b|stop met \w+en\b",
    ),
    "ru": (
        r"нет[,.!:…\s—–-]+(?:используй|не|никогда|я|это|надо|нужно|сделай|лучше|так|ты)\b",
        r"никогда (?:больше )?не (?!\w+л[аио]?\b)\w+",
        r"не (?:трогай|используй|делай|меняй|удаляй|пиши|добавляй|создавай|коммить|запускай|надо|нужно)\b",
        r"это (?:неправильно|неверно|не то|не так)|я (?:же )?(?:сказал|говорил|просил|имел)а?\b",
        r"(?:отныне|впредь|с этого момента|с этих пор)\b|(?:перестань|прекрати|хватит) \w+",
    ),
    "zh": (
        r"(?:不要|不准|不许|別再|别再|别(?:动|用|改|删|碰|加|写|做)|別(?:動|用|改|刪|碰|加|寫|做)|永远不要|永遠不要|"
        r"绝对不要|不对|不對|错了|錯了|不是这样|不是這樣|不是这个意思|我说(?:过|的是)|我說(?:過|的是)|"
        r"我的意思是|从现在(?:开始|起)|從現在(?:開始|起)|以后(?:不要|都|请)|以後(?:不要|都|請))",
    ),
    "ja": (
        r"(?:違う|違います|ちがう|そうではなく|そうじゃなく|いや、|いいえ、|今後は|これからは|絶対に)",
        r".{1,60}(?:しないで|使わないで|触らないで|変えないで|消さないで|やめて)(?:ください)?[。！!]?$",
    ),
    "ko": (
        r"(?:아니[,.]|아니요[,.]|아뇨[,.]|틀렸|그게 아니|앞으로는|이제부터는|절대)",
        r".{1,60}(?:하지|쓰지|건드리지|바꾸지|지우지) ?(?:마|말아|마세요|마라)(?:요|세요)?[.!]?$",
    ),
}
_BARE_NO = re.compile(r"^\W*(?:no|nope|nah|nein|non|não|nee|нет)\.(?=\s)", re.IGNORECASE)
_QUESTION = re.compile(r"[?？]\W*\Z")


@cache
def _correction() -> re.Pattern[str]:
    """Pattern for the beginning of a correction; compiled on first use, because it takes 7 ms."""
    beginnings = "|".join(f"(?:{each})" for language in _WORDS.values() for each in language)
    return re.compile(rf"{_LEAD}(?:{beginnings})", re.IGNORECASE)


def is_correction(text: str) -> bool:
    """Whether a user message corrects the agent or gives it a rule.

    Supports English, German, French, Spanish, Portuguese, Italian, Dutch, Russian, Chinese, Japanese and
    Korean.
    """
    prose = _NOT_PROSE.sub("", _CODE.sub(" … ", text[: 4 * _PROSE]))[:_PROSE]
    # Treat "No. Use the other one." as one sentence.
    prose = _BARE_NO.sub("no,", prose)
    for match in _SENTENCE.finditer(prose):
        sentence = match[0].strip().lstrip("\"'“”„«*_ ")
        if not _QUESTION.search(sentence) and _correction().match(sentence):
            return True
    return False
