"""Phrases for days in other languages, and looser English ones, as the phrases that ``dates`` reads; and
those for past work, as ``past_work`` reads them, but for German, French and Spanish, which it knows itself.
"""

from __future__ import annotations

import re
from functools import partial

from engine.startup.lazy import expression

_MONTHS = {
    "january": "januar|jänner|janvier|enero|января|январь|январе|січня|січень|січні|janeiro|gennaio"
    "|januari|stycznia|styczeń|styczniu|ledna|leden|lednu|ocak",
    "february": "februar|février|fevrier|febrero|февраля|февраль|феврале|лютого|лютий|лютому|fevereiro"
    "|febbraio|februari|lutego|luty|lutym|února|únoru|únor|şubat",
    "march": "märz|maerz|mars|marzo|марта|марте|март|березня|березень|березні|março|maart|marca|marzec"
    "|marcu|března|březnu|březen|mart",
    "april": "avril|abril|april|апреля|апрель|апреле|квітня|квітень|квітні|aprile|kwietnia|kwiecień"
    "|kwietniu|dubna|dubnu|duben|nisan",
    "may": "mai|mayo|мая|май|мае|травня|травень|травні|maio|maggio|mei|maja|maju|maj|května|květnu|květen"
    "|mayıs",
    "june": "juni|juin|junio|июня|июнь|июне|червня|червень|червні|junho|giugno|czerwca|czerwiec|czerwcu"
    "|června|červnu|červen|haziran",
    "july": "juli|juillet|julio|июля|июль|июле|липня|липень|липні|julho|luglio|lipca|lipiec|lipcu"
    "|července|červenec|červenci|temmuz",
    "august": "août|aout|agosto|august|августа|августе|август|серпня|серпень|серпні|augustus|sierpnia"
    "|sierpień|sierpniu|srpna|srpnu|srpen|ağustos",
    "september": "septembre|septiembre|september|сентября|сентябрь|сентябре|вересня|вересень|вересні"
    "|setembro|settembre|września|wrzesień|wrześniu|září|eylül",
    "october": "oktober|octobre|octubre|октября|октябрь|октябре|жовтня|жовтень|жовтні|outubro|ottobre"
    "|października|październiku|październik|října|říjen|říjnu|ekim",
    "november": "novembre|noviembre|november|ноября|ноябрь|ноябре|листопада|листопаді|листопад|novembro"
    "|listopada|listopadu|listopadzie|listopad|kasım",
    "december": "dezember|décembre|decembre|diciembre|декабря|декабрь|декабре|грудня|грудень|грудні"
    "|dezembro|dicembre|december|grudnia|grudzień|grudniu|prosince|prosinec|prosinci|aralık",
}
_DAYS = {
    "monday": "montag|lundi|lunes|понедельник|понеділок|segunda-feira|segunda|lunedì|maandag|poniedziałek"
    "|pondělí|pazartesi",
    "tuesday": "dienstag|mardi|martes|вторник|вівторок|terça-feira|terça|martedì|dinsdag|wtorek|úterý|salı",
    "wednesday": "mittwoch|mercredi|miércoles|miercoles|среду|середу|quarta-feira|quarta|mercoledì"
    "|woensdag|środę|středu|çarşamba",
    "thursday": "donnerstag|jeudi|jueves|четверг|четвер|quinta-feira|quinta|giovedì|donderdag|czwartek"
    "|čtvrtek|perşembe",
    "friday": "freitag|vendredi|viernes|пятницу|п'ятницю|п’ятницю|sexta-feira|sexta|venerdì|vrijdag"
    "|piątek|pátek|cuma",
    "saturday": "samstag|sonnabend|samedi|sábado|sabado|субботу|суботу|sabato|zaterdag|sobotę|sobotu"
    "|cumartesi",
    "sunday": "sonntag|dimanche|domingo|воскресенье|неділю|domenica|zondag|niedzielę|neděli|pazar",
}
_NUMBERS = {
    "one": "ein|einem|einer|un|une|una|um|uma|один|одну|één|een|jeden|jedną|bir",
    "two": "zwei|deux|dos|два|две|дві|dois|duas|due|twee|dwa|dwie|dva|dvěma|iki",
    "three": "drei|trois|tres|три|três|tre|drie|trzy|tři|třemi|üç",
    "four": "vier|quatre|cuatro|четыре|чотири|quatro|quattro|cztery|čtyřmi|dört",
    "five": "fünf|cinq|cinco|пять|п'ять|п’ять|cinque|vijf|pięć|pěti|beş",
    "six": "sechs|seis|шесть|шість|sei|zes|sześć|šesti|altı",
    "seven": "sieben|sept|siete|семь|сім|sete|sette|zeven|siedem|sedmi|yedi",
}
_UNITS = {
    "day": "tag|tage|tagen|jour|jours|día|días|dia|dias|день|дня|дней|дні|днів|giorno|giorni|dag|dagen"
    "|dzień|dni|dnem|dny|gün",
    "week": "woche|wochen|semaine|semaines|semana|semanas|неделю|недели|недель|неделе|тиждень|тижні"
    "|тижнів|settimana|settimane|week|weken|tydzień|tygodnie|tygodni|týdnem|týdny|hafta",
    "month": "monat|monate|monaten|mois|mes|meses|месяц|месяца|месяцев|місяць|місяці|місяців|mês|mese"
    "|mesi|maand|maanden|miesiąc|miesiące|miesięcy|měsícem|měsíci|ay",
    "year": "jahr|jahre|jahren|an|ans|année|años|año|год|года|лет|рік|роки|років|ano|anos|anno|anni|jaar"
    "|rok|lata|lat|rokem|lety|yıl",
}
_WORDS = {
    word: english
    for table in (_MONTHS, _DAYS, _NUMBERS, _UNITS)
    for english, words in table.items()
    for word in words.split("|")
}


def _any(table: dict[str, str]) -> str:
    return "|".join(sorted((word for words in table.values() for word in words.split("|")), key=len)[::-1])


_WIDE = expression(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_NUMBER = rf"(\d{{1,3}}|{_any(_NUMBERS)})"
_FORMS: tuple[tuple[str, str], ...] = (
    (r"(?:the )?day before yesterday|vorgestern|avant-hier|anteayer|antier", "2 days ago"),
    (
        r"gestern|ayer|(?<=fait )hier|(?<=é )hier|(?<=és )hier|d['’]hier|hier (?=soir|matin|après)",
        "yesterday",
    ),
    (r"heute|aujourd['’]hui|\bhoy", "today"),
    (r"(?:the )?(?:last|past) (?:few|couple of|couple) days|the other day|lately|recently", "last 4 days"),
    (
        rf"(?:em )?(\d{{1,2}})(?:\.|er|ro|-?(?:го|е|ого))?(?: de)? ({_any(_MONTHS)})(?:['’]?[dt][ae])?"
        r"(?: del?(?= \d))?",
        r"\1 {2}",
    ),
    (r"(?<=\d\d\d\d )(?:года|году|року|році|roku)", ""),
    (rf"(?:im|en|au mois de|en el mes de|во?|у|em|a|in|we?|ve?) ({_any(_MONTHS)})", "in {1}"),
    (rf"(?:letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?) ({_any(_UNITS)}|wochenende)", "last {1}"),
    (rf"(?:l[ae] |el )?({_any(_UNITS)}) (?:dernière|dernier|passée|passé|pasada|pasado)", "last {1}"),
    (rf"(?:diese[nrs]?|cette|ce|esta|este) ({_any(_UNITS)})", "this {1}"),
    (rf"(?:vor|il y a|hace|há|před) {_NUMBER} ({_any(_UNITS)})", "{1} {2} ago"),
    (rf"{_NUMBER} ({_any(_UNITS)}) (?:назад|тому|fa|geleden|temu|önce|atrás)", "{1} {2} ago"),
    (rf"({_any(_UNITS)}) (?:назад|тому|temu)", "1 {1} ago"),
    (
        rf"(?:за )?(?:последни[ех]|останні|nos últimos|nas últimas|(?:ne)?gli ultimi|(?:ne)?lle ultime"
        rf"|(?:de )?laatste|ostatni(?:e|ch)|posledních|son) {_NUMBER} ({_any(_UNITS)})",
        "last {1} {2}",
    ),
    (rf"letzten {_NUMBER} ({_any(_UNITS)})", "last {1} {2}"),
    (rf"(?:ces|les) {_NUMBER} derni[eè]re?s ({_any(_UNITS)})", "last {1} {2}"),
    (rf"(?:los|las) últim[oa]s {_NUMBER} ({_any(_UNITS)})", "last {1} {2}"),
    (
        rf"(?:am|letzten|vergangenen|el|le|во?|у|na|no|we?|ve?|op|afgelopen|vorige|geçen) ({_any(_DAYS)})"
        r"(?: dernier| pasado)?",
        "on {1}",
    ),
    (rf"({_any(_DAYS)}) (?:dernier|scors[oa]|passad[oa]|günü)", "on {1}"),
    # Russian, Ukrainian, Portuguese, Italian, Dutch, Polish, Czech, Turkish.
    (r"позавчера|позавчора|anteontem|l['’]altro ieri|eergisteren|przedwczoraj|předevčírem", "2 days ago"),
    (r"вчера|вчора|ontem|ieri|gisteren|wczoraj|včera|dün", "yesterday"),
    (r"сегодня|сьогодні|hoje|oggi|vandaag|dzisiaj|dziś|dnes|bugün", "today"),
    (
        r"на прошлой неделе|(?:на )?минулого тижня|(?:na )?semana passada"
        r"|(?:la )?settimana scorsa|vorige week"
        r"|w (?:zeszłym|ubiegłym) tygodniu|minulý týden|geçen hafta",
        "last week",
    ),
    (
        r"на этой неделе|цього тижня|questa settimana|deze week|w tym tygodniu|tento týden|bu hafta",
        "this week",
    ),
    (
        r"в прошлом месяце|минулого місяця|(?:no )?mês passado|(?:il )?mese scorso|vorige maand"
        r"|w (?:zeszłym|ubiegłym) miesiącu|minulý měsíc|geçen ay",
        "last month",
    ),
    (
        r"(?:в )?прошл(?:ый раз|ой сессии)|минулого разу|(?:d|n)?a última (?:vez|sessão)"
        r"|(?:nel)?l['’]ultima (?:volta|sessione)|(?:de |in de )?vorige (?:keer|sessie)"
        r"|ostatnio|ostatnim razem|(?:w )?(?:ostatniej|poprzedniej) sesji|minule|naposledy|posledně"
        r"|en son|geçen sefer|(?:geçen|son) oturumda",
        "last session",
    ),
    (
        r"(?:на ч[её]м|где|с того места,? где) (?:мы |я )?(?:остановил|закончил)\w*"
        r"|на чому (?:ми |я )?зупинил\w*"
        r"|(?:de )?onde (?:nós )?(?:paramos|parei)"
        r"|(?:da )?dove (?:eravamo|siamo|ero)(?: rimast[io]| arrivat[io])?"
        r"|waar (?:waren|zijn|was) (?:we|ik) (?:gebleven|gestopt)"
        r"|(?:na czym|gdzie) (?:skończyliśmy|stanęliśmy|skończył[ea]m)"
        r"|kde (?:jsme|jsem) (?:skončil|přestal)\w*"
        r"|nerede kal\w+",
        "where did we leave off",
    ),
    (
        r"(?:что|чем|над чем) (?:мы )?(?:делали|сделали|занимались|работали)"
        r"|що ми (?:робили|зробили)|o que (?:nós )?fizemos"
        r"|(?:che )?cosa abbiamo fatto|wat (?:hebben we|deden we)"
        r"|co (?:z?robiliśmy|jsme (?:u?dělali|řešili))|ne yapt[ıi]k",
        "what did we do",
    ),
    (
        r"(?:что|чем|над чем) я (?:делал|сделал|занимал|работал)\w*"
        r"|що я з?робив|o que (?:eu )?fiz|(?:che )?cosa ho fatto"
        r"|wat (?:heb ik|deed ik)|co (?:z?robił[ea]m|jsem u?dělal\w?)|ne yapt[ıi]m",
        "what did i do",
    ),
    (
        r"продолжим|продолжай|продовжимо|continu[ae]|riprendiamo|continuiamo|kontynuujmy|pokračuj\w*"
        r"|devam et\w*",
        "continue",
    ),
    (r"gedaan", ""),
    # Vietnamese.
    (r"ngày (?=\d{1,2} tháng (\d{1,2})(?!\d))(\d{1,2}) tháng \d{1,2}", r"on {month} \2"),
    (r"(\d{1,3}) (?:ngày|hôm) trước", r"\1 days ago"),
    (r"(\d{1,3}) tuần trước", r"\1 weeks ago"),
    (r"hôm kia", "2 days ago"),
    (r"hôm qua", "yesterday"),
    (r"hôm nay", "today"),
    (r"tuần (?:trước|rồi|vừa rồi|vừa qua)", "last week"),
    (r"tuần này", "this week"),
    (r"tháng (?:trước|rồi|vừa rồi)", "last month"),
    (r"(?:lần|phiên|buổi) (?:trước|vừa rồi|gần nhất)", "last session"),
    (
        r"(?:(?:chúng ta|chúng mình|mình|tôi) )?(?:đã |đang )?(?:dừng(?: lại)?|làm)(?: (?:ở|đến|tới))+ đâu"
        r"(?: rồi)?"
        r"|(?:(?:chúng ta|chúng mình|mình|tôi) )?(?:đã |đang )?dừng(?: lại)? ở chỗ nào",
        "where did we leave off",
    ),
    (r"(?:chúng ta|chúng mình|chúng tôi|mình)(?: đã)? làm(?: được)?(?: những)? gì", "what did we do"),
    (r"(?:tôi|tui|em|anh)(?: đã)? làm(?: được)?(?: những)? gì", "what did i do"),
    (r"tiếp tục|làm tiếp", "continue"),
)
_PATTERNS = tuple((expression(rf"(?<!\w)(?:{form})(?!\w)"), english) for form, english in _FORMS)
_EAST_ASIAN: tuple[tuple[str, str], ...] = (
    (r"前天|おととい|一昨日|그저께|엊그제", "2 days ago"),
    (r"昨晚|昨夜|ゆうべ|어젯밤", "last night"),
    (r"昨天|昨日|きのう|어제", "yesterday"),
    (r"今天|今日|きょう|오늘", "today"),
    (r"上(?:个|個)?(?:周|週|星期|礼拜|禮拜)|先週|지난 ?주", "last week"),
    (r"(?:这|這)(?:个|個)?(?:周|週|星期|礼拜|禮拜)|本周|本週|今週|이번 ?주", "this week"),
    (r"上(?:个|個)月|先月|지난 ?달", "last month"),
    (r"(?:这|這)(?:个|個)月|本月|今月|이번 ?달", "this month"),
    (r"去年|작년", "last year"),
    (r"最近(?:几天|這幾天)?|この間|요즘|최근", "last 4 days"),
    (r"(\d{1,3}) ?(?:天|日|일) ?(?:前|전)", r"\1 days ago"),
    (r"(\d{1,3}) ?(?:个|個)?(?:周|週間?|星期|주일?) ?(?:前|전)", r"\1 weeks ago"),
    (r"(?<!\d)(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日号號일]", r"on {month} \2"),
    (
        r"上一?(?:次|回)(?:会话|會話|对话|對話)?(?!线)|上(?:一)?(?:个|個)(?:会话|會話|对话|對話)|(?:之前|以前)的?(?:会话|會話|对话|對話)"
        r"|前回(?:の(?:セッション|会話|チャット))?"
        r"|この前|前のセッション|지난 ?번|저번|(?:지난|이전) ?(?:세션|대화)",
        "last session",
    ),
    (r"我们|我們|咱们|咱們|私たち|僕たち|우리", "we"),
    (r"我|私|僕|俺|내가|나는", "i"),
    (r"现在|現在|目前", "now"),
    (
        # "Where does the log go?" has its subject before these words.
        r"(?<![\u4e00-\u9fff])(?:做|进行|進行|干|聊|说|說|讨论|討論)?到(?:哪|那)(?:里|裡|儿|一步|步)?(?:了)?|停在哪(?:里|裡)?"
        r"|どこ(?:まで|から)(?:やった|進んだ|話した|終わった|いった)?|어디까지(?: ?했)?",
        "where did we leave off",
    ),
    (
        r"(?:做|干|幹|完成|讨论|討論|聊|改|写|寫|决定|決定)(?:过|過|了)?了?(?:什么|什麼|哪些|啥)(?:工作|事情?|内容)?"
        r"|何を(?:し|やっ|やり|作っ|決め|話し)|やったこと"
        r"|(?:뭐|뭘|무엇을?|무슨 (?:일|작업)을?) ?했(?:는지|지|어|나|니)?",
        "what did do",
    ),
    (r"继续|繼續|接着|接著|続き|続け|再開|계속|이어서?", "continue"),
    (r"总结|總結|回顾|回顧|まとめ|요약|정리", "summary"),
    (r"工作|任务|任務|作業|タスク|작업", "work"),
    (r"还记得|還記得|记得|記得|覚えて|기억", "remember"),
    (
        r"[了吗嗎呢的是在啊吧请請把给給個个下]|一下|那个|那個|告诉|告訴|帮|幫|ました?か?|です?か?|っけ|ください|教えて"
        r"|(?<=[ ])(?:した|[はをのがにでかてたらね])+|했(?:는지|지|어|나|니)?|(?:알려|말해) ?줘"
        r"|(?<=[ ])(?:에서?|[은는을를가지어]|부터|까지)",
        "",
    ),
)
"""In scripts without spaces between words, or with endings on them; in this order."""
_EAST_ASIAN_PATTERNS = tuple((expression(form), f" {english} ") for form, english in _EAST_ASIAN)


def in_english(text: str) -> str:
    """A lower-case text with phrases for days in the form that ``dates`` reads."""
    for pattern, english in _PATTERNS:
        text = pattern.sub(partial(_put, english), text)
    if _WIDE.search(text):
        for pattern, english in _EAST_ASIAN_PATTERNS:
            text = pattern.sub(partial(_put, english), text)
    return text


def _put(english: str, match: re.Match[str]) -> str:
    if "{month}" in english:
        month = tuple(_MONTHS)[int(match[1]) - 1] if 1 <= int(match[1]) <= len(_MONTHS) else ""
        english = english.replace("{month}", month)
    words = [_WORDS.get(group or "", group or "") for group in match.groups()]
    return match.expand(english).format("", *words) if "{" in english else match.expand(english)
