"""Words that tell what a rule is about, and things of which one excludes the others."""

from __future__ import annotations

import re

from engine.startup.lazy import expression

ONWARD_ELSEWHERE = (
    r"\b(?:ab jetzt|ab sofort|ab heute|künftig|zukünftig|in zukunft|von jetzt an|von nun an|nie wieder"
    r"|merk dir|désormais|dorénavant|à (?:partir|compter) (?:de maintenant|d['’]aujourd['’]hui)|à l['’]avenir"
    r"|pour (?:toute )?la suite|plus jamais|retiens (?:que|bien)|a partir de (?:ahora|hoy|agora|hoje)"
    r"|de (?:ahora|aquí|acá|hoy) en (?:adelante|más)|en lo sucesivo|desde (?:ahora|hoy)|nunca m[áa]s"
    r"|nunca mais"
    r"|daqui (?:em|para a|pra|por) (?:diante|frente)|d(?:e agora|e hoje|oravante) em diante"
    r"|d['’]ora in (?:poi|avanti)|d[ae] (?:ora|oggi|adesso) in (?:poi|avanti)|in futuro|mai più"
    r"|van(?:af| nu af) (?:nu|vandaag|aan)|voortaan|nooit meer|in het vervolg"
    r"|отныне|впредь|на будущее|с (?:этого (?:момента|дня)|сегодняшнего дня)|больше никогда|теперь всегда"
    r"|запомни(?:те)?|od (?:teraz|dzisiaj|dziś|tej pory)|na przyszłość|nigdy więcej|zapamiętaj"
    r"|od (?:teď|dneška|nynějška)|odteď|do budoucna|už nikdy|zapamatuj si"
    r"|bundan (?:sonra|böyle)|bugünden itibaren|şu andan itibaren|bir daha asla|artık hep"
    r"|(?:kể )?từ (?:nay|giờ|bây giờ|hôm nay)(?: trở đi)?|sau này|mulai (?:sekarang|hari ini)|ke depannya"
    r"|відтепер|надалі|від сьогодні|з цього моменту|на майбутнє|більше ніколи|запам['’]ятай(?:те)?"
    r"|från och med (?:nu|i ?dag)|hädanefter|framöver|i framtiden|i fortsättningen|aage se|ab se)\b"
    r"|从现在(?:开始|起)|[从從]今天(?:起|開始|开始)|从此|从今以后|(?:[从從]今|以后|以後|今后|今後|往后|(?<![^，。！；])之[后後])[^，。！？\n]{0,12}?"
    r"(?:都|请|請|不要|不用|要|别|別|只|用|一律|必须|必須|記得|记得|统一|統一)"
    r"|^以[后後](?:所有|任何|每|凡)|^以[后後]的(?:回答|回[复復覆]|答[复復]|代[码碼]|提交|[对對][话話]|交流|任[务務]|修改|[输輸]出)"
    r"|^(?:請|请|你)?要?(?:记住|記住|记得|記得|牢记|谨记)|下不为例|從現在(?:開始|起)"
    r"|今後|^以後|これからは|これ以降|今日から(?:は)?|次回?(?:から|以降)|二度と|覚えておいて"
    r"|앞으로|이제부터|지금부터|오늘부터|다음부터|다시는|기억해"
    r"|ต่อไปนี้|นับจากนี้|आगे से|अब से|(?:من|ابتداء من|بدءا من) (?:الآن|اليوم)(?: فصاعد\w+)?|بعد كده|مستقبلا"
)
"""Says in other languages that something applies from now on."""
_NIE = (
    r"^(?!.*(?:[ąćęłńśźżďľťňů]|\b(?:jest|się|czy|jak|aby|tego|tylko|jeszcze|teraz|na|po|od|bez|ze|ako"
    r"|[izw](?!\.))\b)).*\bnie\b"
)
"""German for never, which is Polish and Slovak for not."""
ALWAYS_ELSEWHERE = (
    r"\b(?:immer|stets|grundsätzlich|niemals|jedes mal|(?<!sont )(?<!est )(?<! a )(?<!ont )toujours"
    r"(?! pas)|jamais|systématiquement|à chaque fois|siempre(?! que me)|nunca|jamás|cada vez|sempre|toda vez"
    r"|ogni volta|non \w+(?: \w+)? mai|^mai"
    r"|altijd|nooit|elke keer|всегда|никогда|каждый раз|zawsze|nigdy|za każdym razem|vždy(?:cky)?|nikdy"
    r"|pokaždé"
    r"|her zaman|her seferinde|asla|daima|hep|hiçbir zaman|kesinlikle"
    r"|luôn|không bao giờ|đừng bao giờ|lúc nào cũng|cấm|tuyệt đối (?:không|đừng)|selalu|jangan pernah"
    r"|setiap kali"
    r"|завжди|ніколи|щоразу|alltid|aldrig|hamesha|kabhi)\b"
    r"|永远|永遠|總是|总是|一律|始终|始終|每次|每当|每當|凡是|任何(?:情况|情況|时候|時候)|[绝絕](?:不|對不|对不|對禁|对禁)|决不|決不"
    r"|從不|从不|千万|千萬|务必|務必|必ず|毎回|常に|いつも|たびに|絶対"
    r"|항상|언제나|매번|때마다|절대|무조건|반드시|เสมอ|ทุกครั้ง|हमेशा|कभी|دائم[اً]+|أبد[اً]+"
    rf"|{_NIE}"
)
"""Says always or never in other languages: often about what merely happens."""
REMEMBER_ELSEWHERE = (
    r"^(?:(?:recuerd[ae]|recordá|acuérdate|acordate|lembr[ae]|rappelle-toi|souviens-toi|ricorda(?:ti)?"
    r"|onthoud|vergeet niet"
    r"|pamiętaj|pamatuj(?: si)?|помни(?:те)?|пам['’]ятай(?:те)?|unutma|kom ihåg|(?:hãy )?nhớ(?= là| rằng))\b"
    r"|تذكر|याद रख)"
)
"""Begins in other languages what is to be remembered."""
CUSTOM_ELSEWHERE = (
    r"\b(?:usamos|utilizamos|trabajamos|trabalhamos|usiamo|lavoriamo|a gente usa|(?:on|nous) (?:utilis"
    r"|travaill)\w+"
    r"|on est sur|wir (?:\w+ )?(?:verwenden|nutzen|benutzen|arbeiten)|(?:verwenden|nutzen|benutzen) wir"
    r"|(?:wij|we) (?:gebruiken|werken)|gebruiken we|używamy|pracujemy|používáme|jedeme|používame"
    r"|(?:мы|у нас) (?:\w+ )?(?:используем|работаем|пишем)|(?:ми|у нас) (?:\w+ )?(?:використовуємо|працюємо)"
    r"|kullanıyoruz|vi (?:använder|kör)|använder vi|(?:bên|ở) (?:mình|đây) dùng|bên (?:mình|tôi) dùng"
    r"|trong (?:repo|dự án) này dùng)\b"
    r"|我们[^，。\n]{0,6}用|我們[^，。\n]{0,6}用|[这這][个個](?:项目|專案|仓库|倉庫|repo)[^，。\n]{0,4}用"
    r"|(?:うち|ここ|この(?:プロジェクト|リポジトリ))(?:で)?は|우리는|(?:저장소|프로젝트)에서는"
    r"|نستخدم|نحن نعمل|इस्तेमाल करते हैं"
)
"""Says in other languages what the people of a project use."""
MUST_ELSEWHERE = (
    r"\b(?:(?:jede[rsnm]?|alle)\b.{1,60}\b(?:muss|müssen|braucht|soll(?:en)?)"
    r"|(?:cada|tod[ao]s?)\b.{1,60}\b(?:debe[n]?|tienen? que|deve[m]?|precisam?|t[eê]m que)"
    r"|(?:chaque|toutes?|tous)\b.{1,60}\bdoi(?:t|vent)|(?:ogni|tutt[ei])\b.{1,60}\b(?:deve|devono)"
    r"|(?:elke?|alle)\b.{1,60}\bmoet(?:en)?|(?:każd[yae]\w*|wszystkie)\b.{1,60}\b(?:musi|muszą|ma(?:ją)?)"
    r"|(?:každ[ýáé]\w*|všechn[aoy])\b.{1,60}\b(?:mus[íi]|mají|má)"
    r"|(?:кажд(?:ый|ая|ое)|все)\b.{1,60}\bдолж(?:ен|н[аыо]?)"
    r"|(?:кож(?:ен|н[аие]й?)|усі|всі)\b.{1,60}\b(?:має|мають|повинн[аіе]|повинен)"
    r"|(?:varje|alla)\b.{1,60}\b(?:måste|ska))\b"
    r"|\b(?:her|bütün|tüm)\b.{1,60}\b\w*(?:olmalı|malı|meli|acak|ecek)\b|\b(?:mỗi|mọi"
    r"|tất cả)\b.{1,60}\bphải\b"
    r"|(?:每[个個支条條]|所有|全部)[^，。\n]{1,16}?(?:必须|必須|都要|得|一律)|禁止|[严嚴]禁|不[許许准]|一定要|必须|必須"
    r"|(?:すべて|全て|全部).{1,20}こと|禁止|(?:모든|전부|모두).{1,30}야|금지|كل.{1,40}يجب|يجب.{1,20}(?:كل|جميع)|ممنوع"
    r"|(?:हर|सारे|सभी).{1,40}चाहिए"
)
"""Says in other languages what all of something must be: often about what is being made."""
UNASKED_ELSEWHERE = (
    r"\b(?:ohne (?:rückfrage|nachfrage|(?:nachzu|zu )fragen|mich zu fragen)|sans (?:me )?(?:demander"
    r"|prévenir)"
    r"|sin (?:preguntar|pedir|consultar|avisar)\w*|sem (?:me )?(?:perguntar|avisar)|senza (?:chieder"
    r"|avvisar)\w*"
    r"|zonder (?:te vragen|overleg|toestemming)|utan att (?:fråga|säga till)"
    r"|bez (?:pytania|ptaní|zeptání|potwierdzenia|domluvy|konsultacji)"
    r"|без (?:спроса|вопросов|подтверждения|согласования|дозволу|питань))|بدون (?:سؤال|إذن)"
)
"""Says in other languages that the person is not asked."""
UNASKED_FIRST = (
    r"\b(?:sormadan|danışmadan|haber vermeden|onay almadan)\b|確認せずに|許可なく|相談なしに|勝手に"
    r"|(?:허락|상의|동의|확인) 없이|묻지 않고"
    r"|(?:不|没|沒)(?:用)?(?:问|問)[过過]?我|[没沒](?:有)?我的(?:同意|允许|允許)|未[经經]"
)
"""Likewise, in languages that say afterwards whether this is forbidden."""
HANDED = expression(
    r"(?<!whenever )(?<!when )(?<!once )(?<!if )\b(?:i|we)(?:['’]ve| have)?(?: just| already)?"
    r" (?:gave|given|sent|provided|attached|shared|showed|shown|pasted|posted|uploaded|linked|handed)\b"
    r"|\bich (?:dir |euch )?(?:\w+ )?(?:gegeben|geschickt|gezeigt|genannt)\b"
    r"|\bje (?:t['’]ai|vous ai) (?:donné|envoyé|fourni|montré)|\bte (?:di|pasé|envié|mandé|mostré)\b"
    r"|\bti ho (?:dato|mandato|mostrato)\b|\bte (?:dei|enviei|mandei|mostrei)\b"
    r"|\bя (?:тебе )?(?:дал|прислал|показал)\w*"
    r"|我(?:刚|剛|之前|已经|已經)?(?:提供|给|給|发|發|上传|上傳|附|分享)(?:给|給|你|您|过|過|了)*的|(?:渡し|送っ|示し|見せ)た",
    re.IGNORECASE,
)
"""What the person handed over, which no later agent sees unless it is named."""

THIS_WAY = expression(
    r"\b(?:(?:this|that) (?:way|manner|fashion|format|style|pattern|structure|approach|layout|template"
    r"|scheme)\b(?! guide)|in the same (?:way|manner|fashion)(?=\W*$)"
    r"|like (?:this|that)(?=\W*$)"
    r"|auf diese(?:lbe)? (?:art|weise)|genau ?so(?=\W*$)"
    r"|de cette (?:manière|façon)|comme (?:ça|cela|ceci)(?=\W*$)"
    r"|de (?:esta|esa) (?:manera|forma)|así(?=\W*$)|d(?:es[st]a|esse|este) (?:maneira|forma|jeito|modo)"
    r"|assim(?=\W*$)|in (?:questo|quel) modo|così(?=\W*$)|op deze (?:manier|wijze)|zo(?=\W*$)"
    r"|w (?:ten|taki) (?:sam )?sposób|tak(?: (?:rób|robić|rob|robic))?(?=\W*$)|tímto způsobem|takto(?=\W*$)"
    r"|таким (?:же )?образом|таким чином|так(?: же)?(?=\W*$)|bu (?:şekilde|biçimde)|böyle yap\w*(?=\W*$)"
    r"|(?:như|giống) (?:thế|vậy)(?: này)?|theo cách (?:này|đó)|på (?:detta|det här) sätt\w*|så här(?=\W*$))",
    re.IGNORECASE,
)
"""Says how with a word for what was just shown: "remember to write the docs this way"."""
TASK = expression(
    r"(?:(?:please|pls|now|also|then|and|so|let['’]?s|(?:can|could) (?:you|we)),? (?:also |please )?)*"
    r"(?:analy[sz]e|audit|debug|develop|explore|fix|implement|improve|install|investigate|migrate|optimi[sz]e"
    r"|perform|prepare|redesign|refactor|research|rewrite|set ?up|summari[sz]e|upgrade)\b",
    re.IGNORECASE,
)
"""Begins an order for a piece of work."""
SPEAK = expression(
    r"(?:^|(?<=[,;:.!—，。]) ?)(?:(?:please|pls|so|also|from now(?: on)?|always|only|bitte|immer"
    r"|пожалуйста|всегда|por favor|siempre"
    r"|toujours|sempre|从现在起|以后|请|請|今後は?|これからは?|앞으로(?:는)?),? ?)*"
    r"(?:(?:(?:answer|reply|respond|response|speak|talk)(?: (?:back )?(?:to|with) me| me)?(?: only)? in"
    r"|speak(?: only)?"
    r"|keep (?:(?:(?:our|the|this) (?:chat|conversation|discussion|session|dialogue)s?|talking|speaking"
    r"|answering|replying|responding)(?: to me)?) in) (?:english"
    r"|german|french|spanish|italian|portuguese|dutch|polish|czech|russian|ukrainian|turkish|chinese"
    r"|japanese|korean|vietnamese|hindi|arabic|swedish)"
    r"|(?:antworte(?:n sie)?|sprich|rede|schreib)(?: mir| mit mir)?(?: bitte)?(?: immer| nur)?(?: auf)?"
    r" ?(?:deutsch|englisch)"
    r"|(?:réponds?|répondez|parle[sz]?)(?:[- ]moi)?(?: toujours)?(?: en)? (?:français|anglais)"
    r"|(?:resp[oó]nd[eé]|contest[aáe]|h[aá]bl[aáe])(?:me)?(?: siempre)?(?: en)? (?:español|castellano|inglés)"
    r"|(?:responda|responde|fal[ae])(?: comigo| me)?(?: sempre)?(?: em)? (?:português|inglês)"
    r"|(?:rispondi|parla)(?:mi)?(?: sempre)?(?: in)? (?:italiano|inglese)"
    r"|(?:antwoord|praat)(?: me| met me)?(?: altijd)?(?: in het)? (?:nederlands|engels)"
    r"|(?:odpovídej|mluv|piš)(?: mi| se mnou)? (?:česky|anglicky)"
    r"|(?:odpowiadaj|mów|pisz)(?: mi| do mnie)? po (?:polsku|angielsku)"
    r"|(?:отвечай|говори|общайся|разговаривай|пиши мне|работай)(?:те)?(?: со мной| мне)?(?: всегда| только)?"
    r"(?: на (?:русском|английском|украинском)(?: языке)?| по-(?:русски|английски))"
    r"|(?:відповідай|говори|спілкуйся)(?:те)?(?: зі мною)? (?:українською|англійською)"
    r"|(?:türkçe|ingilizce) (?:cevap|yanıt|konuş)\w*(?: ver)?|svara(?: mig)? på (?:svenska|engelska)"
    r"|(?:trả lời|nói)(?: tôi)? bằng tiếng (?:việt|anh)"
    r"|(?:都|全部|一律)?[用使]?用?(?:简体|繁体|繁體)?(?:中文|英文|英语|日语|汉语)(?:来|跟我|和我)?"
    r"(?:回复|回答|回覆|答复|交流|沟通|说话|对话)我?"
    r"|(?:日本語|英語|中国語)で(?:答え|回答し|返答し|返信し|話し|お願いし)\w*"
    r"|(?:한국어|한글|영어)로 ?(?:대답|답변|답|말)\w*(?: 줘)?)"
    r"(?=\W*$|[,.;:!，。！]| (?:please|bitte|por favor|from now on|always)\b)",
    re.IGNORECASE,
)
"""Says in which language the agent is to speak: without any other word, that holds on."""
ELSEWHERE = rf"{ONWARD_ELSEWHERE}|{ALWAYS_ELSEWHERE}"

STANDING = expression(
    r"\b(?:from now on|always|never(?! mind)|n['’]?t ever|every ?time|whenever|each time|as a rule|next time|"
    r"going forward|in (?:the )?future(?! (?:versions?|releases?|iterations?|phases?))|i hate|(?:we"
    r"|i) prefer|does(?:n['’]?t| not) make sense to)\b"
    rf"|{ELSEWHERE}",
    re.IGNORECASE,
)
"""Says in any language that something applies from now on; search uses it too."""

SMALL = frozenset(
    """
    a an the of to in on at for with and or but is are was were be been being it its it's this that these
    those i you we they he she me us my our your as so if do does did can could should will would please let s
    d ll ve re t m just also not no yes ok up out about from by then there here what which who how when where
    why all any some has have had get got make made go going want wants wanted need needs think like sure
    again now don doesn didn isn aren wasn shouldn couldn wouldn must shall always never ever each every
    whenever everywhere instead rather than only very really going forward future onwards onward everything
    anything something thing things way more longer anymore remember rule rules habit note keep mind using use
    used uses every time times again want to into be sure hey hi ok okay ensure rather too additionally
    another other furthermore moreover firstly secondly finally important particular today project repo thing
    immer nie nicht kein keine bitte ab jetzt und oder der die das den dem ein eine in mit für von zu auf
    toujours jamais ne pas de la le les des un une et dans pour avec siempre nunca no el los las del y en por
    con para una """.split()  # noqa: SIM905 — one word a line would hide the module
)
"""Words that do not say what a rule is about."""

WEAK = frozenset(
    "add use keep make write includ put do have set creat provid start end".split()  # noqa: SIM905
)
"""Stems of verbs that belong to any work."""

SYNONYMS = {
    **dict.fromkeys(("begin", "prefix", "preced"), "start"),
    **dict.fromkeys(("suffix", "append", "finish", "terminat"), "end"),
    **dict.fromkeys(
        ("includ", "incorporat", "contain", "insert", "attach", "put", "writ", "creat", "hav"), "add"
    ),
    **dict.fromkeys(("func", "fn"), "function"),
    **dict.fromkeys(("parameter", "param", "arg"), "argument"),
    **dict.fromkeys(("pr", "mr"), "pull"),
    **dict.fromkeys(("repl", "reply", "respond", "respons"), "answer"),
    **dict.fromkeys(("document", "documentation", "docs"), "doc"),
    **dict.fromkeys(("column", "char", "character", "width", "wide"), "line"),
    **dict.fromkeys(("spec", "unittest"), "test"),
    **dict.fromkeys(("linter",), "lint"),
    **dict.fromkeys(("msg",), "message"),
    **dict.fromkeys(("db", "databas"), "database"),
    **dict.fromkeys(("k8", "kub", "kubernet"), "kubernetes"),
    **dict.fromkeys(("repo", "repository", "repositor", "codebas", "project"), "project"),
    **dict.fromkeys(("dependenc", "librar", "package", "lib", "dep", "dependency"), "library"),
    **dict.fromkeys(("directory", "dir"), "folder"),
    **dict.fromkeys(("remov", "drop"), "delet"),
    **dict.fromkeys(("indentation",), "indent"),
    **dict.fromkeys(("annotat", "annotation", "hint", "typ"), "type"),
}
"""Stems that say the same, by stem."""

THINGS = """
function method class variable attribute argument file test commit branch pull comment docstring import type
error log constant component endpoint table column migration folder ticket issue name doc readme changelog
review plan answer message deploy release push script query schema config module decorator start end fix
feature bug sentence paragraph lint
"""
"""Things that rules are about, and the ends of names: rules about different ones are different rules."""

CHOICES = tuple(
    tuple(frozenset(option.split()) for option in choice.split("|"))
    for choice in (
        "british aus australian uk summarise colour|us american summarize color",
        "tabs tab|spaces space",
        "single|double",
        "rebase rebasing|merge merging|squash squashing",
        "npm|yarn|pnpm|bun",
        "pip|uv|poetry|conda|pipenv|pdm|hatch|rye",
        "jest|vitest|mocha|jasmine",
        "unittest|pytest|nose",
        "playwright|cypress|selenium|puppeteer",
        "camelcase|snake_case|kebab-case|pascalcase|uppercase|lowercase",
        "metric celsius|imperial fahrenheit",
        "jira|linear|trello|asana|github-issues|clickup|notion",
        "english|german deutsch|french français|spanish español|italian|portuguese|dutch|russian"
        "|chinese|japanese",
        "dark|light",
        "short concise brief terse|long detailed verbose",
        "formal|informal casual",
        "mysql mariadb|postgres postgresql|sqlite|mongodb mongo|dynamodb",
        "12-hour|24-hour",
        "mm/dd/yyyy|dd/mm/yyyy|yyyy-mm-dd iso",
        "black|ruff|autopep8|yapf",
        "flake8|pylint|pyright",
        "eslint|biome|tslint|oxlint",
        "prettier|dprint",
        "docker|podman",
        "make makefile|just justfile|taskfile",
        "react|vue|svelte|angular|solid",
        "redux|zustand|mobx|jotai",
        "tailwind|bootstrap|sass scss|styled-components|css-modules",
        "axios|fetch|ky",
        "requests|httpx|aiohttp|urllib3",
        "pandas|polars",
        "moment|dayjs|date-fns|luxon",
        "express|fastify|koa|hono",
        "flask|django|fastapi",
        "rest|graphql|grpc",
        "json|yaml|toml|xml|csv",
        "var|let|const",
        "interface interfaces|alias aliases",
        "async await|callbacks callback|promises",
        "logger logging|print printf println console.log",
        "unwrap|expect",
        "argparse|click|typer",
        "vim|emacs|vscode|nano",
        "bash|zsh|fish|powershell",
        "maven|gradle|bazel",
        "main|master|develop|trunk",
        "staging|production prod",
        "terraform|pulumi|cloudformation|ansible",
        "aws|gcp|azure",
        "pytorch torch|tensorflow keras|jax",
        "matplotlib|plotly|seaborn|altair",
        "markdown|html|rst|asciidoc",
        "utc|local",
    )
)
"""Things of which one excludes the others."""
