"""Finds the parts of a person's message that others wrote: pasted mails, chats, quotations and pages.

Nothing marks a paste for certain, so doubtful text counts as pasted: a wrong guess only sends it to review.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.startup.lazy import expression
from engine.transcripts.escape import HEADING

Kind = Literal["own", "quote", "code", "relayed", "outside"]
"""``quote`` may quote an earlier turn; ``code`` is fenced; ``relayed`` comes from a source that may be the
person's own; ``outside`` certainly has another author."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive lines of a message with the same kind of author."""

    kind: Kind
    text: str


def pieces(text: str) -> tuple[Piece, ...]:
    """Splits a message into pieces, in order."""
    found: list[tuple[Kind, list[str]]] = []
    for kind, line in _lines(text.split("\n")):
        if not found or found[-1][0] != kind:
            found.append((kind, []))
        found[-1][1].append(line)
    return tuple(Piece(kind, "\n".join(lines)) for kind, lines in found)


def ends_open(text: str) -> bool:
    """True if a message ends within an outsider's text, so that the next message may continue it."""
    kinds = [kind for kind, _ in _lines(text.split("\n"))]
    return kinds[-1] == "outside"


def is_prose(line: str) -> bool:
    """True if a line is a sentence rather than code, a path or program output."""
    if len(_WIDE.findall(line)) >= _WIDE_LETTERS:
        return True
    words = _BLANK.split(line.strip(" \t#/*<!->|\"'"))
    plain = sum(_WORD.fullmatch(word) is not None for word in words)
    return plain >= _PROSE_WORDS and plain >= _PROSE * len(words) and not _CODE.search(line)


def is_mostly_prose(text: str) -> bool:
    """True if at least half of a text's lines are sentences."""
    lines = [line for line in text.split("\n") if line.strip(" \t`~")]
    return bool(lines) and 2 * sum(map(is_prose, lines)) >= len(lines)


def _lines(lines: list[str]) -> Iterator[tuple[Kind, str]]:
    fence = tag = ""
    rest: Kind = "own"
    quoting = False
    dialogue = _dialogue_lines(lines)
    for number, line in enumerate(lines):
        if rest != "own" or _begins_outside(lines, number):
            rest = rest if rest != "own" else "outside"
            yield rest, line
            continue
        if fence:
            yield "code", line
            run = _FENCE.match(line)
            if run is not None and run[1].startswith(fence) and not run[2].strip():
                fence = ""
            continue
        if tag:
            yield "outside", line
            if re.search(rf"</{tag}\s*>", line, re.IGNORECASE):
                tag = ""
            continue
        opened, run = _TAG.match(line) or _INLINE_TAG.search(line), _FENCE.match(line)
        if run is not None and not (run[1][0] == "`" and "`" in run[2]):
            fence = run[1]
            yield "code", line
        elif opened is not None:
            tag = "" if re.search(rf"</{opened[1]}\s*>", line, re.IGNORECASE) else opened[1]
            yield "outside", line
        elif _QUOTATION.match(line) or (quoting and line.strip() and not _LIST.match(line)):
            # A quotation extends to the end of its paragraph, marked or not.
            quoting = True
            yield "quote", line
            continue
        elif _CHAT.match(line) or number in dialogue:
            yield "outside", line
        elif _MACHINE.match(line):
            yield "relayed", line
        else:
            yield "own", line
            if (
                _MAIL_LEAD.search(line)
                or (number == 0 and _RECORD.search(line))
                or (_WORK.search(line) and any(map(str.strip, lines[number + 1 :])))
            ):
                rest = "outside"
            elif _LEAD.search(line):
                rest = "relayed"
        quoting = False


def _begins_outside(lines: list[str], number: int) -> bool:
    """True if a mail, a forwarded message or someone else's turn begins at a line and takes up the rest."""
    line = lines[number]
    if _SUBJECT.match(line) and (number == 0 or not lines[number - 1].strip()):
        return True
    if HEADING.match(line) or _LABELLED.match(line) or _FORWARDED.search(line):
        return True
    return bool(_FROM.match(line)) and any(map(_FIELD.match, lines[number + 1 : number + 5]))


def _dialogue_lines(lines: list[str]) -> frozenset[int]:
    """The numbers of the lines of a dialogue with named speakers, at least one of whom speaks twice."""
    found: set[int] = set()
    begin = 0
    while begin < len(lines):
        end = begin
        while end < len(lines) and _SPEAKER.match(lines[end]):
            end += 1
        names = [lines[number].partition(":")[0].partition("：")[0].strip() for number in range(begin, end)]
        if len(names) > len(set(names)) > 1:
            found.update(range(begin, end))
        begin = max(end, begin + 1)
    return frozenset(found)


_WIDE_LETTERS = 8
_PROSE_WORDS = 5
_PROSE = 0.7
_BLANK = expression(r"\s+")
_WORD = expression(r"[(\"“„«'‘¿¡]*[^\W\d_]+(?:['’-][^\W\d_]+)*[)\"”“»'’.,;:!?]*")
_WIDE = expression(r"[぀-ヿ㐀-鿿가-힯]")
_CODE = expression(
    r"[{};]\s*$|\(\)|=>|==|:=|\s=\s|^\s*(?:def|func|class|import|return|if|for|const|let|var)\b.*[:({]"
)
_FENCE = expression(r" {0,3}(`{3,}|~{3,})(.*)")
_QUOTATION = expression(r" {0,3}(?:>|\|\s*>|&gt;)")
_LIST = expression(r" {0,3}(?:[-*+]|\d{1,3}[.)])[ \t]")
_TAG = expression(
    r"\s*<(pre|blockquote|details|quote|q|html|body|article|aside|document|doc|page|email|e-mail|mail|message"
    r"|result|results|output|content|section|div|iframe|td|table|comment|issue|note)\b",
    re.IGNORECASE,
)
_LABELLED = expression(
    r"\s*(?:\*\*)?(?:user|human|assistant|system|agent|ai)(?:\*\*)?\s*:(?:\*\*)?\s", re.IGNORECASE
)
_CHAT = expression(
    r"\s*(?:\[?\(?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?\)?\]?\s*[-–—"
    r"|]?\s*<?[@\w][\w .@'-]{0,30}>?\s*[:>—–]\s"
    r"|\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^\]]*\]\s*<?[\w][\w .@'-]{0,30}>?\s*:\s"
    r"|\[\d{1,2}[./]\d{1,2}[^\]]{0,20}\d{1,2}:\d{2}[^\]]{0,10}\]\s*[^:\n]{1,40}:\s"
    r"|[A-ZÀ-ÞА-Я]\w{1,20}(?: [A-ZÀ-ÞА-Я\d]\w{0,20})?\s\d{1,2}:\d{2}(?::\d{2})?\s+\w"
    r"|<@?[\w][\w .-]{0,30}>\s+\S|@[\w.-]{2,30}:\s"
    r"|[A-ZÀ-ÞА-Я][\w .'-]{1,30}\s+\[?\(?\d{1,2}:\d{2}(?:\s?[AP]M)?\)?\]?\s*(?::|$))"
)
_INLINE_TAG = expression(r"<(pre|blockquote|details)\b", re.IGNORECASE)
_RECORD = expression(
    r"\b(?:minutes|transcript|webinar|recording|meeting notes|chat|whatsapp|(?:the|a) summary|protokoll\w*"
    r"|mitschrift|compte rendu|procès-verbal|acta|verbale|ata da|протокол\w*|переписк\w*|чат\w*|сводк\w*"
    r"|стенограмм\w*)\b|会议纪要|聊天记录|纪要|議事録|チャット",
    re.IGNORECASE,
)
"""Names someone else's text at the start of a multi-line message."""
_SPEAKER = expression(
    r"\s*(?!(?i:todo|task|action item|done|decision|decided|fact|lesson|remember|open|playbook|file)\b)"
    r"[^\W\d_][\w .'-]{0,24}[:：]\s*\S"
)
"""A line with a name before it, which is not one of the labels of ``engine.knowledge.harvest.markers``."""
_MACHINE = expression(
    r"\s*(?:Traceback \(|File \"|at [\w.$<>]+\(|(?:[\w.]*(?:Error|Exception|Warning|Panic|ERR!?|FEHLER"
    r"|ERREUR|ERROR)|panic|fatal"
    r"|error|warning)\b.{0,20}:\s"
    r"|\$ \w|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL)\b)"
)
_SUBJECT = expression(
    r"[\s*>]*(?:subject|betreff|objet|asunto|oggetto|assunto|тема|主题|主旨|主題|件名|제목)\**\s*[:：]",
    re.IGNORECASE,
)
_WORK = expression(
    r"\b(?:summar\w+|translate\w*|proofread|tl;?dr|sum (?:it|this|that) up|file (?:it|this|that)"
    r"|archive (?:it|this|that)"
    r"|save (?:it|this|that)|store (?:it|this|that)|zusammenfass\w*|fass\w*|übersetz\w*|leg(?:e)? (?:das"
    r"|dies|es)|speicher\w*"
    r"|résum\w*|tradui\w*|classe[rz]?|enregistre[rz]?|compte rendu|lignes de ce|resum\w*|tradu[cz]\w*"
    r"|guarda\w*|archiva\w*"
    r"|riassum\w*|salva\w*|кратко|перескаж\w*|перевед\w*|сохрани\w*|изложи\w*)\b.{0,60}[:：]\s*$"
    r"|(?:总结|概括|翻译|存档|保存|归档|要約|翻訳|まとめ|요약|번역|저장).{0,20}[:：]?\s*[。]?\s*$",
    re.IGNORECASE,
)
_FROM = expression(
    r"[\s*>]*(?:from|von|de|da|od|от|寄件人|发件人|發件人|差出人|送信者|보낸 ?사람)\**\s*[:：]\**\s*\S",
    re.IGNORECASE,
)
_FIELD = expression(
    r"[\s*>]*(?:subject|to|cc|date|sent|reply-to|betreff|an|datum|gesendet|objet|à|envoyé|asunto|para|fecha"
    r"|enviado"
    r"|oggetto|a|inviato|assunto|data|тема|кому|дата|主题|主旨|主題"
    r"|收件人|日期|件名|宛先|日時|제목|받는 ?사람)\**\s*[:：]",
    re.IGNORECASE,
)
_FORWARDED = expression(
    r"^[\s*>_-]*(?:begin forwarded message|forwarded message|original message|ursprüngliche nachricht"
    r"|weitergeleitete"
    r" nachricht|message transféré|message d['’]origine|mensaje (?:reenviado|original)"
    r"|mensagem (?:encaminhada|original)"
    r"|messaggio (?:inoltrato|originale)|пересылаемое сообщение|исходное сообщение|转发的?邮件|原始邮件"
    r"|転送メッセージ"
    r"|元のメッセージ)"
    r"|^\s*(?:on|am|le|el|il|em)\b.{4,80}(?:wrote|schrieb.{0,40}|a écrit|escribió|ha scritto"
    r"|escreveu)\s*:\s*$"
    r"|(?:пишет|писал[аи]?|写道|さんは書きました)\s*[:：]\s*$",
    re.IGNORECASE,
)
_MAIL = (
    r"(?:e-?mails?|mail|letter|newsletter|slack|chat|sms|website|web ?page|page|forum|blog|article|tweet|wiki"
    r"|post|nachricht|brief|schreiben|seite|webseite|artikel|beitrag|courriel|message|lettre|page|correo"
    r"|mensaje|carta|página|lettera|messaggio|pagina|mensagem|письм\w*|сообщени\w*|страниц\w*|стать\w*|邮件|来信"
    r"|消息|网页|页面|文章|メール|ページ|記事)"
)
_GIVEN = (
    r"(?:got|received|pasted?|pasting|forward\w*|here(?:['’]s| is| are)|below|following|from|says?|said"
    r"|reads?|wrote|writes|sent|came|this|bekommen|erhalten|hier|folgende\w*|schreibt|schrieb|diese\w*|kam"
    r"|reçu|voici|ce|cet|cette|dit|suivante?|recib\w+|aquí|este|esta|dice|siguiente|ricevuto|ecco|questa?"
    r"|recebi|aqui|chegou|получил\w*|пришл\w+|вот|это|эт[аои]|收到|这是|如下|以下|转发|届い|これ|この|次の)"
)
_MAIL_LEAD = expression(
    rf"(?:{_GIVEN}.{{0,40}}{_MAIL}|{_MAIL}.{{0,40}}{_GIVEN}).{{0,40}}[:：]\s*$", re.IGNORECASE
)
_SOURCE = (
    r"(?:issue|ticket|comment|doc|docs|document|readme|file|attachment|output|log|reply|answer|result|review"
    r"|pr|kommentar|dokument|datei|antwort|commentaire|fichier|comentario|archivo|комментари\w*|файл\w*|评论|文件"
    r"|文档|コメント)"
)
_LEAD = expression(
    r"(?:\b(?:pasted?|pasting|copied|from the|here(?:['’]s| is) the|says?|hier der|voici le|aquí el"
    rf"|вот)\b.{{0,40}}{_SOURCE}"
    rf"|{_SOURCE}.{{0,30}}\b(?:says?|reads?|sagt|dit|dice|гласит)\b).{{0,40}}[:：]\s*$",
    re.IGNORECASE,
)
