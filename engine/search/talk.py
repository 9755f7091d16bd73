"""Small talk that asks for nothing: greetings, assent, thanks, "go on", "try again".

Such words are still searched for as part of a query, but a message of nothing else needs no search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.search.query import STOP_WORDS, literal_terms, words
from engine.startup.lazy import expression

_TALK = (
    # English
    "ok okay okey k kk yes yep yeah yup ya no nope nah sure right correct exactly indeed true fine "
    "good great nice cool awesome perfect excellent wonderful lovely amazing brilliant super well wow "
    "oh ah aha hm hmm hmmm mm uh um eh huh lol haha hi hello hey hiya howdy morning afternoon evening "
    "night bye goodbye cheers thanks thank thx ty please pls sorry welcome go going gone goes ahead "
    "on continue proceed carry keep resume again retry try next stop wait hold pause cancel abort "
    "undo done finished ready yet still back another else one ones thing things stuff something "
    "anything nothing everything sounds sound looks look seems seem like lgtm got get it let lets "
    "want wants would could maybe perhaps really actually also too just now here there way what why "
    "how when who which doing do did does make makes sense agree agreed approved approve confirm "
    "confirmed understood understand see saw know think guess hope say said tell show ship yourself "
    "both first second third last option same different other others instead rather better best bad "
    "worse wrong "
    # German
    "ja jo jep nein nee doch klar gut sehr prima super toll genau richtig stimmt danke bitte hallo hi "
    "moin tag morgen abend weiter mach machen los nochmal noch mal halt stopp warte fertig und oder "
    "das die der den es ist so ok okay alles einverstanden passt "
    # French
    "oui non si bien bon bonne parfait merci bonjour bonsoir salut continue continuez encore vas "
    "allez arrête attends y ok accord ça va c est fait "
    # Spanish, Portuguese
    "sí si no vale bien bueno perfecto perfeito gracias obrigado obrigada hola olá ola buenos dias "
    "días bom dia sigue continúa continua adelante otra vez outra para espera hecho feito sim não nao "
    "claro "
    # Italian, Dutch
    "sì va bene perfetto grazie ciao buongiorno avanti ancora aspetta fatto ja nee goed prima bedankt "
    "dank hallo verder doorgaan opnieuw klaar "
    # Russian, Chinese, Japanese
    "да нет хорошо отлично спасибо привет дальше "
    "продолжай ещё стоп готово 好 好的 是 是的 不 谢谢 你好 继续 可以 "
    "行 はい いいえ ありがとう 続けて お願いします "
)
TALK = frozenset(_TALK.split())
_TALK_TERMS = TALK | frozenset(term for word in TALK if not word.isascii() for term in literal_terms(word))

_ORDERS = (
    "check recheck double fix fixes fixed implement implemented run rerun test tests commit commits "
    "committed push merge rebase review change changes changed update add remove delete rename move create "
    "write read open close start use work works working build code bit part rest file files branch local "
    "main diff pr explain simplify clean cleanup refactor revert need needs give put take find look ask "
    "answer detail details step steps task tasks todo issue issues bug bugs problem error errors plan fail "
    "fails failing failed broken prompt session whole remaining remains left pending "
    "progress status markdown force phase phases"
)
_ORDER_WORDS = TALK | STOP_WORDS | frozenset(_ORDERS.split())
_REMEMBER = "did last before earlier previously ago remember recall decided how where why when who"
_REMEMBER_WORDS = frozenset(_REMEMBER.split())

_SAVE_ELSEWHERE = expression(
    r"\A[^A-Za-z0-9\n、，]{0,24}(?:コミット|プッシュ|マージ|커밋|푸시|머지)(?:を|하고 ?|して)?"
    r"(?:お願い\w*|して\w*|しといて|해\w*|부탁\w*)?[.。!！]*\Z"
    r"|\A(?:请|請|帮我|幫我)?(?:把)?(?:这些|所有|全部)?(?:代码|修改|更改|改动)?(?:提交|推送)"
    r"(?:一下|代码|修改|吧|并推送|到远程)*[.。!！]*\Z"
    r"|\A(?:(?:теперь|давай|пожалуйста|всё|все|это|и|в|git) )*(?:за)?(?:коммит|пуш)\w*"
    r"(?: и (?:за)?пуш\w*)?[.!]*\Z",
    re.IGNORECASE,
)
"""Asks to commit what was made, in languages whose words do not stand apart, or change their endings."""

_MOST_DIGITS = 2
"""A bare number with at most this many digits is a choice from a list."""


def telling(terms: Iterable[str]) -> tuple[str, ...]:
    """The words of a query that say what it is about; empty if it asks for nothing.

    ``terms`` come from ``query.literal_terms``.
    """
    return tuple(term for term in terms if term not in _TALK_TERMS and not _is_choice(term))


def is_order(text: str) -> bool:
    """Whether a message only says what to do with the work at hand: "fix the tests and push". Questions that
    memory may answer do not count: "how do we run the tests?"
    """
    if not text.isascii() and _SAVE_ELSEWHERE.match(text.strip()):
        return True
    found = words(text)
    is_question = not _REMEMBER_WORDS.isdisjoint(found)
    return not is_question and all(word in _ORDER_WORDS or _is_choice(word) for word in found)


def _is_choice(term: str) -> bool:
    return term.isdecimal() and len(term) <= _MOST_DIGITS
