"""Recognises questions about past work: "what did we do last week?", "where did we leave off?", and those
about a subject of it: "why did we drop the cache?".

Such a question names no subject that could be searched for; it is answered from the recaps of sessions
(``engine.context.recaps``), which also tell whether its other words are a subject. Conservative: there may be
few other words, and none of an order.
"""

from __future__ import annotations

from datetime import date

from engine.search.dates import Days, split_days
from engine.search.query import STOP_WORDS, literal_terms
from engine.startup.lazy import expression
from engine.startup.records import dataclass

_MAX_CHARACTERS = 240
_MAX_SUBJECT = 4
_MAX_ODD_WORDS = 1
"""Other words than those of such questions; with more it is another message."""


@dataclass(frozen=True, slots=True)
class PastWork:
    """What is asked about past work."""

    days: Days | None  # ``None``: the last session
    is_explicit: bool
    """Whether it names a day or another session; "where were we?" may mean the running one."""
    is_own: bool  # "what did I do", in all projects, rather than "we"
    is_last: bool  # it asks for the last session only
    is_personal: bool  # it speaks of "we" or "I"
    is_question: bool  # it begins like one
    subject: tuple[str, ...]  # other words, which may be a subject to look for; mostly none


def past_work(text: str, today: date) -> PastWork | None:
    """What a message asks about past work; ``None`` if it asks something else."""
    if len(text) > _MAX_CHARACTERS or not text.strip():
        return None
    days, rest = split_days(" ".join(text.split()), today)
    rest = " ".join(rest.replace("’", "'").split())
    words = _WORD.findall(rest)
    subject = tuple(word for word in words if word not in _FRAME and word not in STOP_WORDS)
    if _OTHER.search(rest) or len(subject) > _MAX_SUBJECT or len(days) > 1:
        return None
    names_session = _SESSION.search(rest) is not None
    is_left_off = _LEFT_OFF.search(rest) is not None
    if days:
        is_asked = not _CUES.isdisjoint(words) or names_session
    else:
        is_asked = names_session or (is_left_off and len(subject) <= _MAX_ODD_WORDS)
    is_question = _QUESTION.search(rest) is not None
    if not is_asked or (subject and not is_question and not _ASKS.search(rest)):
        return None
    is_own = _OWN.search(rest) is not None and _SHARED.search(rest) is None
    is_last = not days or _LAST_OF_DAY.search(rest) is not None
    is_explicit = bool(days) or names_session
    is_personal = _OWN.search(rest) is not None or _SHARED.search(rest) is not None
    first = days[0] if days else None
    return PastWork(first, is_explicit, is_own and bool(days), is_last, is_personal, is_question, subject)


def asks_back(text: str) -> bool:
    """Whether a message asks what was done or decided, about a subject that can be searched for."""
    is_short = len(text) <= _MAX_CHARACTERS
    return is_short and _ASKS_BACK.search(text.lower()) is not None and not _YOURS.search(text.lower())


def subject_of(text: str) -> tuple[str, ...]:
    """The words that say what a question is about, in lower case; none if the message asks nothing that the
    past may answer, such as an order, or how something is done in general.

    Whether such a question is about past work is for the memory to tell: "why did the migration fail?".
    """
    asked = _plain(text)
    return content_words(asked) if is_question(text) and not _GENERAL.search(asked) else ()


def is_question(text: str) -> bool:
    """Whether a message is a short question of any kind."""
    return len(text) <= _MAX_CHARACTERS and _ASKS_ANYTHING.search(_plain(text)) is not None


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split())


def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that say what it is about, in lower case: no small ones, none of a question."""
    return tuple(
        word
        for word in literal_terms(_WIDE_FRAME.sub(" ", text.casefold()))
        if word not in _FRAME and word not in STOP_WORDS and word not in _SMALL
    )


_ASKS_BACK = expression(
    r"\b(?:why|how|when|where|what|which \w+) (?:did|had|have|were|was) (?:we|i)\b.*\?"
    r"|\bwhy (?:do|don['’]?t|did|didn['’]?t|are|aren['’]?t) we\b.*\?"
    r"|\b(?:did|had|have|haven['’]t|didn['’]t) we\b.*\?"
    r"|\b(?:what (?:happened to|became of|was the (?:reason|decision))|do you remember|remind me)\b"
    r"|\b(?:warum|wieso|weshalb|wie|wann|wo|was|welche\w*) (?:haben|hatten) wir\b"
    r"|\b(?:weißt du noch|was wurde aus)\b"
    r"|\b(?:pourquoi|comment|quand|où|qu['’]) ?(?:est-ce qu['’])?.{0,12}\b(?:on (?:a|avait)|avons-nous)\b"
    r"|\b(?:por qué|cómo|cuándo|dónde) (?:no )?(?:se |lo |la )?\w+(?:[aei]mos|aron|ieron)\b|\bte acuerdas\b"
    r"|\b(?:por que|como|quando|onde) (?:não )?(?:nós )?\w+[aei]mos\b"
    r"|\b(?:perché|come|quando|dove) (?:non )?abbiamo\b"
    r"|(?:почему|зачем|как|когда|где|что|какой|какую|какое|какие) (?:именно )?мы (?:не )?\w+ли?\b|помнишь"
    r"|だっけ|でしたっけ|たっけ|んでしたか|どうな(?:った|りました)|どう(?:直し|修正し|解決し|決め)(?:た|ました)"
    r"|なぜ.{1,30}(?:した|たの|んだ|ました)|覚えて"
    r"|(?:였지|했지|됐지|었지|았지|거지|였더라|더라)\s*\?|왜.{2,30}(?:했|었|았)|기억(?:나|해)"
    r"|(?:为什么|为啥|怎么).{1,20}(?:来着|当时|之前|上次)|(?:当时|之前|上次).{1,20}(?:为什么|怎么|什么|哪)|还记得"
    r"|[我咱][们們].{0,3}(?:[为為]什[么麼]|[为為]啥)|(?:[为為]什[么麼]|[为為]啥)[我咱][们們]"
)
_ASKS_ANYTHING = expression(
    r"^[¿¡ ]*(?:(?:ok|okay|so|and|but|hey|hi|hmm+|well|wait|а|и|ну|так|und|et|y|e),? )*"
    r"(?:why|what(?! about| if)|did|was|were"
    r"|(?:when|where|how|which \w+|who) (?:did|do|does|is|are|was|were|had|has|have|should|come|many|much)"
    r"|warum|wieso|weshalb|was|wie|wo|wann|wer|welche\w*|pourquoi|comment|quand|où|quoi|quel\w*|qui"
    r"|por ?qu[eéê]|cómo|cuándo|dónde|qué|cuál\w*|quién|quando|onde|qual|perché|come|dove|cosa|chi"
    r"|waarom|hoe|waar|wanneer|wat|dlaczego|gdzie|kiedy|co|proč|jak\w*|kde|kdy|neden|nerede|niye"
    r"|почему|зачем|что|чем|как\w*|где|когда|кто|куда|откуда"
    r"|сколько|чому|що|де|коли|tại sao|vì sao)\b|\b(?:qu|d)'.*\?|\b(?:để|là|làm) gì\b|\bở đâu\b|\bkhi nào\b"
    r"|(?:[为為]什[么麼]|[为為]啥|怎[么麼]|什[么麼]|哪[里裡个個些]|[吗嗎]|なぜ|ど[うのれこ]|何|誰|いつ|か[?？]|왜|뭐|무엇|언제|어디|어떻게).*[?？]"
)
"""Begins like a question."""
_GENERAL = expression(
    r"\bhow (?:to|does|(?:do|can|should|would|could) (?!we\b))|\bwhat(?: i|'| a)(?:s|re) (?!the|our|my|wrong)"
    r"|\b(?:difference|you|please)\b|\bwhat (?:can|could|would|should|do|if|time)\b|\bwas (?:ist|sind) ein"
    r"|\bwie (?:kann|macht|geht)\b|\bqu'est-ce qu(?:e|'une?)\b(?! nous| j)|\bc'est quoi"
    r"|\bcomment \w+(?:er|ir|re)\b|\bqué (?:es|son)\b|\bcómo (?:se|puedo|\w+[aei]r)\b|\bo que é|\bcos'è"
    r"|\bcome si\b|\bwat is een\b|\bco to\b|\bco je\b|\bjak se\b|\bnedir\b|\bчто такое\b"
    r"|\bкак \w+(?:ть|ти|ться)\b|\bразниц"
    r"|什[么麼]是|是什[么麼]|怎[么麼](?:学|學|样|樣|做|用)|とは|には[?？]|方法|어떻게|이란"
)
"""How something is done, or what it is, wherever one works; and a request to the agent."""
_WIDE_FRAME = expression(
    r"[\u3040-\u309f]+|[为為]什[么麼]|[为為]啥|怎[么麼]|什[么麼]|哪[里裡个個些]|[我你咱][们們]|之前|上次|[当當][时時]"
    r"|[吗嗎呢的了吧把被是在]|왜|뭐|무엇|언제|어디|어떻게"
)
_SMALL = frozenset(
    """
    plan plans reason decision idea purpose cause use used using happen happens became wrong mean means что
    как где когда почему зачем кто чем куда откуда сколько какой какая какое какие какую мы я ты он она они у
    меня нас нам мне тебя по из в на для про не ли было был была были это то так и а с о об же за от до к его
    её их наш наша наше наши мой моя мое моё мои такое есть надо нужно що де коли чому ми warum wieso weshalb
    wie wer wann ist wird werden für nicht kein keine nach aus pourquoi comment quand qui quel quelle sont
    ont pour avec dans sur porque cómo como cuándo cuál quién es son era fue fueron para con sin su onde
    quando qual quem foi não perché dove cosa chi è sono non di gli per waarom hoe waar wanneer wat het een
    niet trouve find located stored lives 있지 있어 있나
    tại sao vì là gì thì của cho các những được không có
    và với để làm dlaczego gdzie kiedy
    nie proč kde kdy jsme neden nasıl nerede
    """.split()  # noqa: SIM905 — one word a line would hide the rest of the module
)
"""Words of questions and small words, beside those of ``_FRAME``."""
_YOURS = expression(r"\b(?:what|why|how) do you (?:think|mean)\b|\byou think\b")
_WORD = expression(r"[^\W_]+")
_OTHER = expression(
    r"\b(?:should|shall|must|tomorrow|next|undo|revert|delete|remove|fix|why|sollen|sollten|müssen|morgen"
    r"|demain"
    r"|mañana|warum|pourquoi|удали\w*|исправь\w*|верни\w*|откати\w*|видали\w*|remova|apague|rimuovi"
    r"|elimina|annulla|verwijder|usuń|cofnij|smaž|vrať|kaldır)\b|\?.*\?.*\?"
    r"|^(?:(?:please|now|then|ok|and|can you|could you),? )*(?:use|add|set|write|make|create|update"
    r"|implement|run|push"
    r"|commit|merge|rebase|test|rename|move|change|build|deploy|check|apply|copy)\b"
)
"""Words of another question, or of an order."""
_SESSION = expression(
    r"\b(?:last|previous|prior|preceding|latest|most recent|earlier) (?:\w+ )?(?:sessions?|conversations?"
    r"|chats?|time)"
    r"\b|\bsessions? before\b"
    r"|\b(?:letzte[nrms]?|vorige[nrms]?|vorherige[nrms]?) (?:sitzung|session|mal|gespräch|unterhaltung)\b"
    r"|\bzuletzt\b"
    r"|\b(?:dernière|précédente) (?:session|fois|conversation)\b"
    r"|\b(?:últim[ao]|anterior) (?:sesión|sesion|vez|conversación)\b|\b(?:sesión|sesion) (?:anterior"
    r"|pasada)\b"
)
_LEFT_OFF = expression(
    r"\b(?:leave|left|leaving) (?:it |things |this |that )?off\b|\bwhere (?:did|do|were|was|are"
    r"|have) (?:we|i|things)\b"
    r"|\b(?:where|from where|what|whatever) (?:we|i|things)(?: \w+)? (?:stop|stopped|leave|left|were|was"
    r"|ended|finished"
    r"|paused|got to)\b|\bcatch (?:me|us) up\b|\bbring me up to (?:speed|date)\b"
    r"|\bwhat (?:did|have|had|were|was|are) (?:we|i)\b|\bwhere (?:things|we|it) (?:stand|stood|are"
    r"|were)\b|\bwhat(?:'s| is| was"
    r"| were)? (?:the )?last (?:things?|work|task)\b"
    r"|\bwhat we(?:'ve| have)? (?:did|done|been|were)\b|\bwhere (?:it|we|i) (?:was|were|stopped|left)\b"
    r"|\bwo (?:waren|sind|haben|war|bin|habe) (?:wir|ich)\b|\bwo wir\b|\bstehen ?geblieben\b"
    r"|\bwas (?:haben|hatten|habe) (?:wir|ich)\b|\bworan (?:(?:haben|habe|hatten) )?(?:wir|ich)\b"
    r"|\boù (?:en )?(?:sommes|étions|étais|on|nous|en|j)\b|\blà où\b|\ben était où\b|\bqu'(?:avons"
    r"|est-ce qu|ai)\b|\bsur quoi\b"
    r"|\bd[oó]nde (?:lo|nos|quedamos|estábamos|estabamos)\b|\bqué (?:hicimos|estábamos|hice)\b"
    r"|\blo último que\b"
)
"""Asks for the state of the work."""
_LAST_OF_DAY = expression(
    r"\b(?:leave|left|leaving) (?:it |things |this |that )?off\b|\b(?:continue|resume|pick|stop|stopped)\b"
    r"|\bstehen ?geblieben\b|\baufgehört\b|\barrêtée?s?\b|\b(?:dejamos|quedamos|continúa|continua)\b"
)
_QUESTION = expression(
    r"^(?:\w+,? )?(?:what|which|where|when|did|was|were|how far|was|welche\w*|wo|wann|woran|haben|qu|que"
    r"|quoi|où"
    r"|quand|qué|que|dónde|cuándo)\b"
)
_ASKS = expression(
    r"\b(?:show|give|list|summar\w+|recap|continue|resume|pick|review|remind|tell|bring|take|need|let|lets|catch"
    r"|refresh\w*|overview|go on|what|where|which|how|anything|kannst|fass|mach|lass|was|wo|reprend\w*"
    r"|rappelle|sigamos|contin\w+|recuérdame|qu|qué)\b"
)
"""A message that is not a question, but wants an answer."""
_OWN = expression(r"\b(?:i|my|mine|ich|mein\w*|je|j|hice|trabajé|trabaje)\b")
_SHARED = expression(r"\b(?:we|us|our|wir|uns|unser\w*|nous|nos|hicimos|dejamos)\b")
_CUES = frozenset(
    """
    what where which overview log lists review accomplishments achievements recap summary summarize summarise
    list show remind continue resume pick carry left leave stopped did done worked working happened
    accomplished achieved accomplish achieve catch session sessions work status progress rundown highlights
    timeline activity refresh state was wo woran welche zusammenfassung weiter weitermachen gemacht
    gearbeitet erledigt sitzung fait travaillé avons résume résumé reprends reprenons continuons où quoi qu
    qué hicimos hice trabajé trabajamos resumen continúa continua sigamos retoma dónde
    """.split()  # noqa: SIM905 — one word a line would hide the rest of the module
)
_FRAME = _CUES | frozenset(
    """
    は が を に で の
    mine hi hello hey ok okay yes well lets go going gone get got getting works thing things stuff task tasks
    job back since much far last previous prior latest recent earlier past first time times day days week end
    ended finish finished stop stopping leaving pause paused start started begin began tell give say know
    remember recall help bring brought speed date update quick short brief quickly briefly history journal
    conversation conversations chat chats project projects repo codebase everything anything exactly together
    make made see look like needs want wants kindly open opened forgot forget lost track stand stood standing
    situation complete completed build built wrote written implement implemented ship shipped tackle tackled
    handle handled touch touched come came went looking sum topics subject context memory else wrap wrapped
    quit interrupted recently lately today yesterday agenda busy spent spend spending focus focused main
    mainly major key big couple said change changed changes decide decided talk talked discuss discussed
    cover covered picking morning afternoon evening night old ago whatever already yet still even habe haben
    hatten hatte hast wir ich uns du mir bitte mal und oder der die das den dem des ein eine einen im auf von
    vom mit zu zum zur bei beim als noch da dort letzte letzten letzter letztes vorige vorigen sind waren war
    bin gewesen stehen stehengeblieben geblieben aufgehört mach mache machen lass geschafft erreicht bisher
    zuletzt vorhin neulich fortsetzen fortfahren setz fort arbeit arbeiten tun getan hab kannst könntest sag
    sagen erinnere erinnern überblick alles heute gestern kurz weitergehen los gesagt besprochen fass
    zusammen gespräch nous j je tu il elle ai est était étions étais en y de l la le les un une au aux ce
    cette que n ne pas et ou là dernière dernier fois précédente arrêté arrêtés arrêtées laissé laissés
    travaillions faisions travaillait faisait rappelle rappeler avancé avancement bilan résumer dire faire
    plaît plait te bonjour salut reprendre continuer travail sommes étaient moi peux peut el las lo del una
    nos se mi última último vez sesión sesion anterior donde trabajábamos hacíamos estuvimos recuérdame
    recuerda haciendo hecho hemos seguimos avanzado hola quedamos dejamos estábamos estabamos estaba
    trabajando continuar seguir por favor puedes resumir
    """.split()  # noqa: SIM905 — as above
)
