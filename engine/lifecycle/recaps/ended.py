"""How a session ended: what the agent replied to the last request, and what was left open."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.knowledge.harvest.markers import is_labelled
from engine.lifecycle.recaps.changes import writes
from engine.provenance.spoken import in_fences
from engine.provenance.tools import runs_command
from engine.search.query import literal_terms
from engine.search.talk import is_order, telling
from engine.startup.lazy import expression
from engine.store.prose import SENTENCE_END, shortened, word_count
from engine.transcripts.turn import ANSWER, COMMAND, PLAN, Text, ToolCall, Turn

ASKED_CHARACTERS = 200
_SAID_CHARACTERS = 280
MIN_WORDS = 3
SENTENCE_WORDS = 5


@dataclass(frozen=True, slots=True)
class End:
    """How a session ended."""

    said: str  # by the agent in its last reply; empty if that says nothing
    is_done: bool  # whether it says what was done; no plan, as far as the log has work
    answered: int  # the place of the message that it answers
    is_early: bool  # whether the person said something else afterwards
    left: str  # open; may be empty


def end_of(
    dialogue: Sequence[Turn],
    requests: dict[int, str],
    named: tuple[int, int],
    is_own: Callable[[str], bool],
    unanswered: str,
) -> End:
    """How a session ended.

    Args:
        requests: The requests by the places of their turns.
        named: The places of the first one and the last.
        unanswered: What is said of a request that no reply follows.
    """
    end = next((at for at in reversed(range(len(dialogue))) if reply_of(dialogue[at])), -1)
    tail = dialogue[end + 1 :]
    waiting = [at for at in requests if at > end and not requests[at].endswith(OPENS)]
    first, last = named
    asked = (at for at in range(end, first, -1) if dialogue[at].role == "user" and not _goes_on(dialogue[at]))
    answered = next(asked, first)
    done = _outcome(dialogue[answered : end + 1], is_own)
    said = [turn for turn in tail if turn.role == "user" and turn.kind != COMMAND]
    left = ""
    if waiting:
        at = last if last in waiting else waiting[-1]
        work = [turn for turn in dialogue[at:] if turn.role == "agent"]
        if not work:
            left = f"{requests[at]} ({unanswered})"
        elif any(turn.tools for turn in work):
            left = "" if is_order(requests[at]) else f"{requests[at]} (begun, not reported)"
    elif end >= 0 and not said and not any(turn.tools for turn in tail):
        left = _left([text for text, _ in _statements(dialogue[end])], is_own)
    if last > end and not left:
        done = ""  # nothing would tell that the request named last came after it
    is_early = not all(is_order(turn.text) for turn in said)
    tools = [tool for turn in dialogue for tool in turn.tools]
    acts = _CLAIMS.match(done) or not tools or any(writes(tool) or runs_command(tool) for tool in tools)
    is_done = bool(acts) and any(map(says_it_did, SENTENCE_END.split(done)))
    return End(done if done != left else "", is_done, answered, is_early, left)


def _outcome(dialogue: Sequence[Turn], is_own: Callable[[str], bool]) -> str:
    """What the agent replied last, of some turns that begin with a request; empty if that says nothing.

    "Commit this" is no request of its own, and "Committed" says less than the reply before, which still holds
    if no file was written since.
    """
    saved = ""
    for turn in reversed(dialogue):
        if turn.role == "user":
            if _says_something(turn):
                break
        elif turn.kind != PLAN:
            said = _statements(turn)
            left = _left([text for text, _ in said], is_own)
            found = _done([each for each in said if each[0] != left], is_own)
            if found and not _only_saves(turn):
                return found
            saved = saved or found
            if any(map(writes, turn.tools)):
                break
    return saved


def _says_something(turn: Turn) -> bool:
    """Whether a turn of the person is more than a command, or an order that says to go on or to commit."""
    return turn.kind != COMMAND and not is_order(TO_AGENT.sub("", turn.text))


def _goes_on(turn: Turn) -> bool:
    """Whether a turn of the person belongs to the request before: an answer, or a few words."""
    is_short = word_count(turn.text) < MIN_WORDS or not telling(literal_terms(turn.text))
    return turn.kind == ANSWER or is_short or not _says_something(turn)


def _only_saves(turn: Turn) -> bool:
    """Whether all that the agent did was to look at the repository and to commit or push."""
    return bool(turn.tools) and all(_GIT.search(tool.summary) for tool in turn.tools)


def _statements(turn: Turn) -> list[tuple[str, bool]]:
    """The sentences of the agent's reply, without thoughts, each with whether it is an item of a list."""
    told = "\n\n".join(text for text in _texts(turn) if not _MUSES.match(text))
    return [(_bare(text), is_item) for text, is_item in sentences_of(told)]


def reply_of(turn: Turn) -> str:
    """What the agent said after its last tool call, without what it said while it worked; empty for the
    person's turn and a plan."""
    return "\n\n".join(_texts(turn)).strip()


def _texts(turn: Turn) -> list[str]:
    if turn.role != "agent" or turn.kind == PLAN:
        return []
    blocks = (each for each in reversed(turn.blocks) if getattr(each, "name", "") not in _RECORDS)
    after = itertools.takewhile(lambda block: not isinstance(block, ToolCall), blocks)
    return [_ELEMENT.sub("", block.text) for block in reversed(list(after)) if isinstance(block, Text)]


def _done(said: Sequence[tuple[str, bool]], is_own: Callable[[str], bool]) -> str:
    """One or two sentences that say what was done, found or proposed, after those that announce a step."""
    steps = [at for at, (text, _) in enumerate(said) if text.endswith(OPENS) and _PREPARES.match(text)]
    rest = said[steps[-1] + 1 :] if steps else said
    said = rest if any(_tells(text, is_item=is_item) for text, is_item in rest) else said
    tells = [each for each in said if _tells(each[0], is_item=each[1])]
    told = [text for text, is_item in tells if not is_item]
    start = next((at for at, text in enumerate(told) if says_it_did(text) and is_own(text)), -1)
    listed = [text for text, is_item in tells if is_item and is_own(text)]  # each says what was done
    if start >= 0:
        told = list(filter(is_own, told[start:]))
    else:  # without the sentence before it, one may say anything
        told = listed or list(itertools.takewhile(is_own, told))
    found = ""
    for sentence in told[:2]:
        if found and len(found) + len(sentence) > _SAID_CHARACTERS:
            break
        found += f"{'' if not found or found[-1] in _ENDS else ';'} {sentence}"
    return shortened(found.strip(), _SAID_CHARACTERS)


def _tells(text: str, *, is_item: bool) -> bool:
    """Whether a sentence of the agent says something on its own; one in a list only if it says what was
    done.
    """
    did = says_it_did(text)
    is_aside = _PREPARES.match(text) or _MUSES.match(text) or _POLITE.search(text)
    if is_aside or text.endswith(_TELLS_NOTHING) or _PASSED.search(text):
        return False
    if not did and (is_item or _BESIDE.search(text)):
        return False
    fewest = MIN_WORDS if did else SENTENCE_WORDS
    return word_count(text) >= fewest and len(telling(literal_terms(text))) >= 2


def says_it_did(text: str) -> bool:
    """Whether a sentence is about what was done."""
    return _DID.match(text) is not None or _DID_ELSEWHERE.search(text) is not None


def _left(said: Sequence[str], is_own: Callable[[str], bool]) -> str:
    """A question of the agent, or a next step that it names, among its last sentences."""
    is_taken_up = False  # by what the agent says it does next
    for text in reversed(said[-12:]):
        is_next, is_taken_up = is_taken_up, _PREPARES.match(text) is not None
        if is_taken_up:
            continue
        if _POLITE.search(text):
            continue
        if text.endswith(("?", "？")):
            if _TO_NOBODY.match(text) or len(telling(literal_terms(text))) < 2:
                continue
        elif (
            is_next
            or word_count(text) < SENTENCE_WORDS
            or not _REMAINS.search(text)
            or text.endswith(OPENS)
            or says_it_did(text)
            or _SETTLED.search(text)
        ):
            continue
        if is_own(text) and text.count("(") >= text.count(")"):
            return shortened(text, ASKED_CHARACTERS)
    return ""


# Sentences.


def sentences_of(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of a text without code, tables and headings, and whether each is an item of a list.

    A line that ends with a colon is completed by the first items of the list below it.
    """
    lines = [
        line
        for line, is_code in zip(text.split("\n"), _in_code(text), strict=True)
        if line.strip() and not (is_code or _NO_PROSE.match(line) or is_labelled(line))
    ]
    at = 0
    while at < len(lines):
        bullet = _BULLET.match(lines[at])
        line = " ".join(_BULLET.sub("", lines[at]).split())
        at += 1
        items = list(itertools.takewhile(_BULLET.match, lines[at:])) if line.endswith((":", "：")) else []
        at += len(items)
        *whole, last = _split(line)
        yield from ((sentence, bullet is not None) for sentence in whole if sentence.strip())
        if items:
            shown = "; ".join(" ".join(_BULLET.sub("", item).split()).rstrip(".;:") for item in items[:3])
            yield f"{last} {shown}{'; …' if len(items) > 3 else '.'}", False
        elif last.strip():
            yield last, bullet is not None


def _in_code(text: str) -> list[bool]:
    """For each line of a text, whether it is in a block of code, which may be indented below an item."""
    outer = in_fences(text)
    below = ("" if is_code else line.lstrip() for line, is_code in zip(text.split("\n"), outer, strict=True))
    return list(map(operator.or_, outer, in_fences("\n".join(below))))


def _split(line: str) -> list[str]:
    """The sentences of a line; a mark in a code span ends none."""
    masked = _SPAN.sub(lambda found: "`" * len(found[0]), line)
    ends = [found.span() for found in SENTENCE_END.finditer(masked)]
    starts, stops = [0, *(end for _, end in ends)], [*(start for start, _ in ends), len(line)]
    return [line[start:stop] for start, stop in zip(starts, stops, strict=True)]


def unlinked(text: str) -> str:
    """A text with the words of each link to a file in its place."""
    return _LINK.sub(r"\1", text)


def _bare(text: str) -> str:
    plain_text = _LABEL.sub("", _SYMBOLS.sub("", unlinked(text).replace("**", "").replace("__", "")))
    return plain_text[:1].upper() + plain_text[1:]


_SPAN = expression(r"`[^`\n]+`")
_LINK = expression(
    r"\[([^\[\]\n]{1,80})\]\((?!https?:)(?:<[^<>\n]{1,400}>|(?:[^()\s]|\([^()\s]{0,80}\)){1,400})\)"
)
"""A link to a file, as Codex writes it: of a long path little but the name tells anything."""
_ELEMENT = expression(
    r"\A\s*(?:<([A-Za-z][\w-]*)>(?s:.*?)</\1>|<(?:ant)?(?:think|thought|reason|analysis)\w*>(?s:.*))"
)
"""An element of markup at the start of a text; the log may have cut the end of thoughts off."""
_LABEL = expression(
    r"^(?:(?:done|fixed|solution|fix|results?|changes?|summary|perfect|great|excellent|結論|结论)[.!:：,–—-]+\s*"
    r"|here(?:['’]s| is) (?:an? |the )?(?:\w+ )?summary\b[^:\n]{0,60}:\s+)",
    re.IGNORECASE,
)
"""A label before what was done."""
_SYMBOLS = expression(r"^[^\w`\"'(\[/@$.]+")
_ENDS = ".!?:;…。！？：；"
_BULLET = expression(r"^[ \t]*(?:[-*+•]|(?:\*\*)?\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_NO_PROSE = expression(
    r"[ \t]*(?:#{1,6}[ \t]|>|\||`{3}|~{3}|-{3,}\s*$|<|\"\w+\": |[\w:-]+=\"|@@ -|[+-]\S.*[({;]$"
    r"|(?:def|class|const|let|var|function|import|return|export|async) .*[({;:]$|.*\"{3})"
)
_GIT = expression(r"(?:^|[\s;&|])(?:git|gh) ")
IDLE = frozenset({"running", "added"})
_RECORDS = IDLE | {"applied", "commit"}
"""What a history of Aider records below a reply, which are no calls of the agent."""
_VERBS = (
    "added|fixed|removed|renamed|updated|implemented|changed|moved|replaced|rewrote|refactored|extracted|introduced"
    "|converted|simplified|modified|migrated"
)
_DID = expression(
    rf"^(?:i(?:['’]ve| have)? (?:also |now |just |successfully )?(?:{_VERBS}|created|merged|split|made)\b"
    rf"|(?:[^.:;?!\n]{{1,60}}: )?(?:{_VERBS})\b"
    r"|now,? (?:the|when|both|all|every|an?|you(?!['’]ll)|if)\b|now,? `|this (?:solves|fixes|ensures|makes"
    r"|prevents|lets"
    r"|allows)\b|(?:the|both|all|each) (?:\S+ ){1,7}(?:now|has been|have been)\b)"
    r"|(?:wrote|built|made|set up|put)\b"
    r"|(?!(?:bas|relat|requir|expect|detail|ne|block|fail|reject|suppos|limit|propos|recommend|suggest"
    r"|interest|unus|hundr)ed\b)[a-z]{2,}ed\b",
    re.IGNORECASE,
)
"""The start of a sentence about what was done."""
_CLAIMS = expression(r"i(?:['’]ve| have)?\b|我", re.IGNORECASE)
_WORK = (
    r"(?:追加|修正|変更|削除|作成|更新|移動|実装|除外|統一|解消|解決|対応|導入|設定|反映|保存|移行|整理"
    r"|추가|수정|변경|삭제|작성|이동|구현|제거|적용)"
)
_DID_ELSEWHERE = expression(
    rf"{_WORK}(?:しました|済み(?:です)?|した|했습니다|하였습니다|했어요|되었습니다|완료)\W*$"
    r"|^(?:我)?已(?!知)|^(?:se (?:ha )?|he |ho |j['’]ai |eu )?(?:agreg(?:ué|ado|ó)|añad(?:í|ido|ió)"
    r"|corr(?:egí|egido|igió)|elimin(?:é|ado|ó)|actualic?[ée]|actualiz(?:ado|ó)|aggiunto|corretto|rimosso"
    r"|aggiornato|ajouté|corrigé|supprimé|remplacé|renommé|adicion(?:ei|ado)|corrigi(?:do)?|removi(?:do)?"
    r"|(?:добави|исправи|удали|обнови|измени|созда)л\w*|(?:добавле|исправле|удал[её]|обновл[её]|измен[её]|созда)н\w*)\b"
    r"|\b(?:hinzugefügt|behoben|geändert|entfernt|ersetzt|umbenannt|angepasst|eingebaut)\W*$"
    r"|\b(?:mis(?:es?)? à jour|(?:a|ont) été \w{2,}ée?s?)\b"
    r"|^(?:(?:tôi|mình|em) )?đã (?:thêm|sửa|cập nhật|xo[áa]|tạo|đổi)\b",
    re.IGNORECASE,
)
_PREPARES = expression(
    r"(?:you(?:['’]re| are) (?:absolutely |completely )?right|(?:i['’]m )?sorry|i apologi[sz]e"
    r"|my (?:mistake|apologies)"
    r"|let me|let['’]s|here(?:['’]s| is| are) (?:the|an?|your|where|how)|thanks?|now (?:update|add|fix|run"
    r"|check|remove|create|i have)|first,|next,? (?:let|i)|checking"
    r"|based on my \w+, i|to (?:implement|do|fix|add|achieve|resolve)\b[^,.]{0,60}, (?:i|we)\b"
    r"|once confirmed"
    r"|looking|reading|running|perfect|great|good|ready to"
    r"|(?:okay|alright),? (?:so|i|let|the user)"
    r"|(?:(?:now|wait|so),? )?i(?:['’]ll|['’]m (?:going to|using|seeing)| (?:will|can|see|should|must|have to"
    r"|keep|need to|think|understand|notice|want to)))\b(?!.{0,40}\b(?:fixed|works)\b)"
    r"|(?:好的|现在|首先|接下来|然后)?[，、,]?(?:让我|我(?:先|来|将|会|需要|看到|已经完整了解))"
    r"|(?:maintenant,? )?(?:je (?:comprends|vois|vais)|laisse[zs]?-moi|voyons|corrigeons|parfait)\b"
    r"|(?:ahora,? )?(?:d[ée]jame|voy a|veamos|entiendo|veo|tengo)\b"
    r"|(?:jetzt )?(?:ich (?:verstehe|sehe|werde)|lass mich|schauen wir)\b"
    r"|спасибо|(?:теперь )?(?:я (?:понимаю|сначала|сейчас)|давайте)|obrigad|gracias|danke|merci\b"
    r"|まず|では、|それでは|먼저|이제 ",
    re.IGNORECASE,
)
"""The start of a sentence about what the agent is about to do."""
_MUSES = expression(
    r"\W{0,3}(?:[a-z]+[,.…]? ){0,3}(?:the|this) user(?:['’]s (?:asking|request|question|message)\b"
    r"| (?:\w+ly |now |just |also |still )?(?:wants?|wanted|asks|asked|says|said|mentions?|mentioned|reported"
    r"|confirmed|approved|provided|shared|pasted|sent|expects"
    r"|has (?:asked|said|given|shared|(?:\w+ )?(?:issues?|questions?|problems?|requests?))"
    r"|is (?:\w+ )?(?:\w+ing|concerned|frustrated|upset|right|correct))\b|\b.{1,300}\bwants me\b)"
    r"|(?:好的[，,]?|现在|所以)?(?:用户|使用者)(?:想|要求|希望|说|问|让我|请求|需要我|正在|提到|提供|反馈|询问)"
    r"|(?:итак, )?пользователь (?:хочет|просит|спрашивает|говорит|сообщает|жалуется|написал|указал|указывает)"
    r"|(?:el usuario|o usuário|l['’]utente|l['’]utilisateur|der (?:be)?nutzer) (?:quiere|pide|pregunta|dice"
    r"|quer|pediu|perguntou|vuole|chiede|veut|demande|souhaite|dit|möchte|will|fragt|bittet|sagt)\b"
    r"|ユーザー(?:は|が|から)[^。]{0,60}(?:求め|望ん|言って|聞いて|尋ね|依頼|要求)",
    re.IGNORECASE,
)
"""The start of a sentence in which an agent talks about the person: a thought."""
_BESIDE = expression(r"\b(?:pre-existing|unrelated)\b", re.IGNORECASE)
"""What names something else than the work."""
_PASSED = expression(
    r"\b(?:lint\w*|tests?|build|checks?|formatting|ci)\b.*\b(?:pass\w*|clean|succeed\w*|green)\b",
    re.IGNORECASE,
)
"""A statement that all is well."""
_POLITE = expression(
    r"\b(?:anything else|let me know|any (?:other )?questions|(?:can|may) i (?:help|assist)|help you with"
    r"|does (?:this|that) (?:help|make sense)|(?:would|do) you (?:like|want) me|want me to|would you like"
    r"|which (?:\w+ ){0,2}would you|what do you think|if you(?:['’]d)? (?:want|like|prefer|wish)\b)"
    r"|(?:什么|甚么)可以帮|(?:需要|要)我(?:先|帮|为)|何かお手伝い|ご用件|必要なら|무엇을 도와",
    re.IGNORECASE,
)
"""An offer, as replies close with."""
_REMAINS = expression(
    r"\b(?:next steps? (?:is|are|would)|remaining (?:tasks?|work|steps?|issues?)|remains? (?:to|open)|not yet"
    r"|still (?:needs?|fails?|to|open|misse?s?|has to|have to|not)|follow[- ]up|left to|haven['’]t been"
    r"|(?:has|have) not been|is blocked|waiting for you\w*|pending (?:your|on you)|once you"
    r"|you(?:['’]ll| will) (?:need|have) to|needs? to be|nächste|noch nicht|steht aus|reste|pendiente)\b",
    re.IGNORECASE,
)
"""What names work that is left."""
_SETTLED = expression(
    r"\b(?:nothing|no (?:action|changes?|further|more)|already|saved|committed|was|were)\b", re.IGNORECASE
)
"""What names work that is done, or how things were."""
_TO_NOBODY = expression(
    r"(?:why|what|how|who|when|where)\b(?!.*\b(?:you\w*|i|me|we|us|our)\b)", re.IGNORECASE
)
"""A question that is not put to the person."""
ASKING = ("?", ":", "？", "：")
_TELLS_NOTHING = (*ASKING, "{", "か。", "吗。", "ください。", "どうぞ。", "願いします。")
TO_AGENT = expression(r"\A\s*@(?:agent|workspace|terminal|vscode|github)\b\s*")
"""Whom a message in Copilot is for, which stands before the words of its buttons, too."""
OPENS = (":", "：")
