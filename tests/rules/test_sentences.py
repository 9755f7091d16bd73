"""Which sentences plainly state a rule, which may, and how two rules relate."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from engine.rules.judge import DATA, KINDS, gives_leave, judged, may_hold_on, says_always
from engine.rules.sentences import rules_in
from engine.rules.subject import relation
from tests.cases import each_case

RULES = """
以后回答都用中文
今后提交前必须先跑测试
记住：生产库的配置永远不要改
每次改完接口都要更新文档
今後コミットメッセージは必ず日本語で書いてください
앞으로 커밋 메시지는 항상 한국어로 작성해 줘
впредь всегда пиши сообщения коммитов на русском
do not auto commit unless I tell you to
nothing is deployed without my approval
from now on, write the changelog before the release
we always squash before we merge
never push to main without a review
make sure every fix comes with a test, always
always run the linter before you commit
use metric units everywhere, not imperial ones
we use uv, not pip
from now on answer in one paragraph
going forward, answer briefly
as a rule, no force pushes
every commit must have a ticket number
each PR should have a description
remember that we deploy on Fridays only
désormais, toujours répondre en français
以后请用中文回答
never use emojis in commit messages
always add type hints to your functions
please never commit without asking me first
I always want pull requests opened as drafts
in this repo we never mock the database
whenever you add an endpoint, document it in the API guide
all public functions need a docstring
no TODO comments in the code, ever
our convention is to prefix branch names with the ticket id
we prefer composition over inheritance in this codebase
stop adding comments that repeat the code
don't ever touch files outside src
for all dates use the ISO format
every migration must be reversible
before every commit run the formatter
always answer in British English
don't use print for logging anymore, use the logger
end all log messages without a period
whenever you write SQL, use upper case keywords
as of today, write commit subjects in the imperative
we never merge our own pull requests
remember to always update the docs when you change a flag
keep functions under 40 lines, that's our rule
from now on, use my own repository for this project
for this project, never amend commits
""".strip().split("\n")
TALK = """
以后再说吧
the linter always runs before the build
有没有办法从现在开始保持代码不公开
best test runner ever
you are the best assistant I ever had
can we add a test for this?
rename `old_name` to `new_name` in src/a.py and src/b.py now
every user must have an email address
it should always show the newest entry first
the cache is never cleared here
in future versions we want to support multiple accounts
use the second one, not the first
instead of a list return a map here
the tests never pass on my machine
the user can never see another user's invoices
if the token is missing, always return 401
I have never seen that error before
add a check that every order has an address
make the button always visible
the old client always sent an empty body
this screen must never scroll
it would be nice if we always had logs
every request is logged twice, fix that
all tests are failing
Ann or me, and never while the alarm is on
the page should load all rows
the script deletes all files, be careful
we use Postgres in production and SQLite in tests
""".strip().split("\n")
ONE_OFF = """
please don't push yet
don't write any code, just plan
don't change anything, just let me know
for this PR skip the changelog
don't commit this for now
this time leave out the docs
do not touch the parser until I have looked at it
skip the tests this time
don't run the tests now, they take ten minutes
only look at the diff, don't edit it
for now use a hard-coded value
don't deploy today
leave the config alone in this commit
please wait with the merge until CI is green
should we always use tabs?
why do you always add comments?
can you never see the window title either?
what if we always squashed?
yes
never mind
""".strip().split("\n")


def plain(text: str) -> list[str]:
    """The parts of a message that plainly state a rule."""
    return [part for part, verdict in rules_in(text) if verdict.is_plain]


def test_nearly_all_sentences_are_judged_right() -> None:
    missed = [text for text in RULES if not plain(text)]
    wrong = [text for text in TALK if plain(text)]
    assert len(missed) <= 2, missed
    assert len(wrong) <= 2, wrong


@each_case("text", ONE_OFF)
def test_what_is_limited_in_time_or_asked_is_never_plainly_a_rule(text: str) -> None:
    assert plain(text) == []


@each_case(
    "text",
    [
        "Never do that again on your own.",
        "I need an explanation and a way to stop you doing it in the future",
        "I want you to stop doing this in the future",
        "please don't ever do this",
        "always do it like that",
        "and never in a release",
    ],
)
def test_an_order_that_says_what_it_is_about_in_another_sentence_is_no_rule(text: str) -> None:
    assert plain(text) == [] and plain("never commit without my word, " + text) != []


@each_case(
    "text",
    [
        "Every test fails with a timeout.",
        "all the builds crash on Windows",
        "Always a pleasure.",
        "always good to see",
        "Grey header, no margins, not aligned with the table.",
        "Black screen, no logs, not responding to ctrl-c.",
        "Nice layout, no clutter, not too many colours.",
        "no labels are shown",
        "No markers on the second chart were drawn.",
        "the folder, with the tables that are listed in each file",
    ],
)
def test_a_report_or_a_courtesy_is_never_plainly_a_rule(text: str) -> None:
    assert plain(text) == []


@each_case(
    ("name", "most_wrong", "fewest_right"), [("unseen", 2, 45), ("terse", 7, 42), ("elsewhere", 6, 100)]
)
def test_sentences_of_other_people_are_rarely_taken_for_rules_wrongly(
    name: str, most_wrong: int, fewest_right: int
) -> None:
    rows = [json.loads(line) for line in (Path(__file__).parent / f"{name}.jsonl").read_text().splitlines()]
    wrong = [row["text"] for row in rows if row["label"] != "standing" and judged(row["text"]).is_plain]
    right = [row["text"] for row in rows if row["label"] == "standing" and judged(row["text"]).is_plain]
    assert len(wrong) <= most_wrong, wrong
    assert len(right) >= fewest_right, right


UNASKED_ELSEWHERE = """
nunca hagas deploy sin consultarme
nunca mexa nisso sem me avisar
non cancellare mai file senza chiedere
verwijder nooit iets zonder te vragen
nigdy nie usuwaj plików bez pytania
nikdy nemaž soubory bez ptaní
ніколи не видаляй нічого без дозволу
никогда не удаляй ничего без спроса
bana sormadan asla dosya silme
bana danışmadan paket ekleme
ta aldrig bort filer utan att fråga
許可なくファイルを消さないでください
勝手にpushしないで
내 허락 없이 절대 삭제하지 마
没有我的同意永远不要删文件
沒問過我不要改資料庫
未经我允许不要部署
لا تحذف شيئا بدون إذن
ne supprime jamais rien sans me demander
lösch nie etwas ohne zu fragen
""".strip().split("\n")
"""Forbids to do something without asking."""
ELSEWHERE = """
de ahora en adelante los nombres de las ramas van en minúscula
nunca dejes contraseñas en el código
siempre mostrame el diff antes de tocar nada
daqui pra frente escreva a documentação em inglês
nunca apague os testes que falham
ne mets jamais de secrets dans les fichiers de config
vérifie toujours les droits avant de livrer
speichere niemals Passwörter im Klartext
ab sofort schreibst du die Doku auf Englisch
non mettere mai le chiavi nel codice
d'ora in poi usa nomi brevi per i branch
zet nooit sleutels in de code
laat altijd eerst de diff zien
nigdy nie zapisuj kluczy w kodzie
od teraz dokumentację piszemy po angielsku
nikdy neukládej klíče do kódu
od teď piš dokumentaci anglicky
vždycky mi ukaž rozdíl, než něco změníš
никогда не храни ключи в коде
с этого момента документацию пишем на английском
ніколи не зберігай ключі в коді
завжди показуй різницю перед змінами
anahtarları asla koda yazma
bundan sonra dokümanları İngilizce yaz
今後ドキュメントは英語で書いてください
鍵は絶対にコードに書かないで
앞으로 문서는 영어로 작성해줘
키는 절대 코드에 넣지 마
以后文档都用英文写
永远不要把密钥写进代码
從現在起文件請用英文寫
絕對不要把金鑰寫進程式碼
từ giờ viết tài liệu bằng tiếng Anh
không bao giờ để khóa trong code
lägg aldrig nycklar i koden
från och med nu skriver du dokumentationen på engelska
لا تكتب المفاتيح في الكود أبدا
من الآن فصاعدا اكتب الوثائق بالإنجليزية
""".strip().split("\n")
ELSEWHERE += UNASKED_ELSEWHERE
TALK_ELSEWHERE = """
il faut que le tableau de bord soit désormais une page à part
el compañero me dijo que nunca hagas eso en producción
la documentación dice que siempre hay que usar comillas dobles
según el manual, nunca se debe apagar el servidor
o tutorial diz para sempre usar aspas duplas
selon la doc il faut toujours redémarrer
laut Doku muss man immer neu starten
la guida dice di usare sempre le virgolette
volgens de docs moet je altijd herstarten
dokumentacja mówi żeby zawsze restartować
v dokumentaci stojí, že se má vždycky restartovat
в документации написано всегда перезапускать
у документації написано завжди перезапускати
dokümanda her zaman yeniden başlatın yazıyor
ドキュメントには必ず再起動しろと書いてある
문서에는 항상 재시작하라고 나와 있어
文档里说每次都要重启
文件說每次都要重開
tài liệu nói luôn phải khởi động lại
الوثائق تقول دائما أعد التشغيل
i dokumentationen står det att man alltid ska starta om
podés usar siempre la misma clave
siempre podés volver atrás con git
du kannst immer noch zurückrollen
tu peux toujours revenir en arrière
você sempre pode voltar atrás
puoi sempre tornare indietro
je kunt altijd nog terug
zawsze możesz cofnąć zmiany
vždycky se můžeš vrátit
ты всегда можешь откатить
завжди можеш відкотити
her zaman geri alabilirsin
いつでも戻せます、絶対大丈夫
언제나 되돌릴 수 있어
你随时都可以一直回滚
luôn có thể quay lại
يمكنك دائما الرجوع
du kan alltid backa
从来没有人用这个功能，以后都不会用
以后我们可能要支持多语言
今後は機能を増やす予定です
앞으로 기능을 추가할 예정이야
ab jetzt funktioniert es
desde ahora funciona bien
à partir de maintenant ça marche
od teď to funguje
od teraz działa
с этого момента всё работает
bundan sonra çalışıyor
từ giờ nó chạy được rồi
vanaf nu werkt het
da ora in poi funziona
從現在開始就可以用了
今後の予定を教えて
el botón debe estar siempre arriba a la derecha
das Menü muss immer offen sein
le champ ne doit jamais être vide
il campo non deve mai essere vuoto
pole nigdy nie może być puste
pole nesmí být nikdy prázdné
поле никогда не должно быть пустым
alan asla boş olmamalı
この項目は必ず入力必須にしてください
이 필드는 절대 비어 있으면 안 돼
这个字段永远不能为空
ô này không bao giờ được để trống
الحقل يجب ألا يكون فارغا أبدا
fältet får aldrig vara tomt
o campo nunca pode ficar vazio
""".strip().split("\n")


def test_in_other_languages_what_is_said_to_the_agent_is_in_force_and_talk_is_not() -> None:
    """Talk: what somebody else says, what one may do, that it works now, what a screen or field must be."""
    missed = [text for text in ELSEWHERE if not judged(text).is_express]
    wrong = [text for text in TALK_ELSEWHERE if judged(text).is_express]
    assert len(missed) <= len(ELSEWHERE) // 6, missed
    assert len(wrong) <= 1, wrong


@pytest.mark.parametrize("text", ["以后所有的提交信息用英文写", "以后所有新文件放在 src 目录下"])
def test_from_now_on_all_in_chinese_needs_no_further_word(text: str) -> None:
    assert judged(text).is_plain and not judged(text.removeprefix("以后")).is_plain


@pytest.mark.parametrize("text", ["每次", "永远不要", "以后都不要", "毎回", "今後は"])
def test_words_that_hold_on_are_no_rule_without_anything_that_holds(text: str) -> None:
    assert not any(verdict.is_plain for _, verdict in rules_in(text))


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ("以后都不要跑这个脚本", "以后都不要跑迁移脚本"),
        ("今後はそれをしないで", "今後は強制プッシュをしないで"),
        ("앞으로 그거 하지 마", "앞으로 강제 푸시 하지 마"),
    ],
)
def test_a_rule_that_points_at_what_was_named_before_waits_in_languages_without_spaces_too(
    points: str, says: str
) -> None:
    assert judged(points).is_plain and not judged(points).is_express
    assert judged(says).is_express


@pytest.mark.parametrize(
    ("work", "order"),
    [
        (
            "pour chaque livraison, on doit faire un document distinct, avec des sections sur les anomalies",
            "chaque fonction publique doit avoir une docstring",
        ),
        (
            "für jeden Kunden müssen wir einen eigenen Bericht schreiben",
            "todos los commits tienen que llevar prefijo",
        ),
    ],
)
def test_what_people_have_to_do_is_no_order_to_the_agent(work: str, order: str) -> None:
    assert judged(work).is_plain and not judged(work).is_express and judged(order).is_express


LEAVE = """
you can push to main without asking me
from now on push without asking me
you may merge without my approval from now on
from now on commit automatically
you don't need my approval to deploy from now on
from now on you don't have to ask before deleting files
always skip the confirmation
never ask for permission again
going forward no need to get my confirmation
from now on just merge it when the tests pass
以后不用问我，直接改
以后不用确认直接提交
今後は確認なしで進めてください
앞으로는 물어보지 말고 바로 진행해
ab jetzt frag nicht mehr nach, mach einfach
ab sofort darfst du ohne Rückfrage pushen
désormais tu peux pousser sans me demander
ne me demande plus jamais de confirmer
a partir de ahora no me preguntes, hazlo directamente
a partir de agora não precisa me perguntar nada
отныне не спрашивай, просто делай
from now on never write any code
a partir de ahora hacé push sin preguntarme
de ahora en adelante no me consultes nada
siempre desplegá directamente sin avisarme
a partir de agora faça merge sem me perguntar
d'ora in poi fai push senza chiedermi
non chiedermi mai conferma
d'ora in poi non devi chiedermi niente
vanaf nu mag je pushen zonder te vragen
vraag me nooit meer om toestemming
od teraz pushuj bez pytania
nigdy nie pytaj mnie o zgodę
od teď pushuj bez ptaní
nikdy se mě neptej, prostě to udělej
відтепер пуш без дозволу
ніколи не питай мене
отныне деплой без подтверждения
bundan sonra bana sormadan push et
bana asla sorma
från och med nu pushar du utan att fråga
fråga mig aldrig igen
từ giờ cứ push, không cần hỏi tôi
đừng bao giờ hỏi tôi nữa
من الآن فصاعدا ادفع بدون سؤال
لا تسألني أبدا
これからは確認せずにpushして
今後は許可なくマージしていいです
앞으로는 허락 없이 푸시해도 돼
이제부터 묻지 않고 바로 커밋해
以后不用问我，直接推
今后没有我的同意也可以合并
désormais pousse sans me demander
ab jetzt pushst du ohne zu fragen
""".strip().split("\n")
TIGHT = """
never push to main without asking me
don't commit without my approval
always ask before you delete files
never merge unless I tell you to
niemals pushen ohne zu fragen
以后提交前要先问我
ne pousse jamais sans me demander
nunca hagas push sin preguntarme
nothing is deployed without my approval
from now on ask me before every commit
always wait for my ok before you deploy
no auto commit unless I tell you to
""".strip().split("\n")
TIGHT += UNASKED_ELSEWHERE


@each_case(
    "text",
    [
        "nie zmieniaj plików w katalogu src",
        "jeśli nie ma jeszcze takiego folderu, to go utwórz i dodaj tam notatki",
        "punkt trzeci nie jest chyba potrzebny",
        "nie działa logowanie po zmianie hasła",
        "tous les fichiers de ma branche sont cassés",
        "alla fine il test deve passare",
    ],
)
def test_a_word_that_says_never_or_must_in_one_language_does_not_in_another(text: str) -> None:
    """Polish "nie" is not German "nie", nor French "ma" Polish "ma", nor Italian "alla" Swedish "alla"."""
    assert not says_always(text) and not judged(text).is_express
    assert says_always("committe nie direkt auf main") and judged("committe nie direkt auf main").is_express


@each_case(
    ("text", "holds"),
    [
        ("no test scripts ever, i will test it by hand", True),
        ("don't ever touch the lockfile, i will do it myself", True),
        ("no test scripts, i will test it by hand", False),
        ("don't touch the lockfile, i will do it myself", False),
    ],
)
def test_what_is_never_to_be_done_is_not_limited_by_what_the_person_does_instead(
    text: str, holds: bool
) -> None:
    assert judged(text).is_express is holds


@each_case(
    ("said", "rule"),
    [
        (".env files must never be committed", ".env files must never be committed"),
        ("also, .env is off limits", ".env is off limits"),
        ("... always run the linter", "always run the linter"),
        ("ok.always run the linter", "always run the linter"),
        ("ok. always run the linter.", "always run the linter"),
    ],
)
def test_the_dot_of_a_name_belongs_to_the_rule_that_it_begins(said: str, rule: str) -> None:
    assert [text for text, verdict in rules_in(said) if verdict.is_plain] == [rule]


@each_case(
    "text",
    [
        "optimize the pages in this project for small screens",
        "analyze the results and suggest any changes to the architecture",
    ],
)
def test_an_order_for_a_piece_of_work_is_not_shown_as_what_may_hold_on(text: str) -> None:
    assert not may_hold_on(text) and not judged(text).is_express
    assert may_hold_on(f"{text} before every release")


@each_case(
    ("text", "rest"),
    [
        ("always write the tests in this way", ": one file for each module"),
        ("always use this format for commits", ": type, scope, subject"),
        ("d'ora in poi fai così", ": prima il test, poi il codice"),
        ("впредь пиши тесты вот так", ": один файл на модуль"),
        ("zapamiętaj aby w ten sposób przygotowywać dokumentację i plany", ": jeden plik na temat"),
    ],
)
def test_what_is_said_to_be_done_like_that_is_a_rule_only_if_it_says_how(text: str, rest: str) -> None:
    assert not judged(text).is_plain and judged(text).why == judged("never do that again").why
    assert judged(text + rest).why == ""
    assert judged("from now on write notes in English, and keep them like that").is_plain
    assert judged("write the test first, always in this way").why == ""


@each_case(
    ("text", "named"),
    [
        ("from now on store all plans in the folder I gave you", " docs/plans"),
        ("always use the template we've sent you", ", `plan.md`"),
        ("ab jetzt immer die Vorlage nehmen, die ich dir geschickt habe", ": vorlage.md"),
        ("以后创建的skills都存放在我提供的文件夹下", " .claude/skills"),
    ],
)
def test_what_the_person_handed_over_is_a_rule_only_if_it_is_named(text: str, named: str) -> None:
    assert not judged(text).is_plain and judged(text).why == judged("never do that again").why
    assert judged(text + named).why == ""
    assert judged("whenever I have given you a plan, always follow it").why == ""


@each_case(("sentences", "is_leave"), [(LEAVE, True), (TIGHT, False)])
def test_what_gives_leave_is_told_from_what_takes_it(sentences: list[str], is_leave: bool) -> None:
    assert [text for text in sentences if gives_leave(text) != is_leave] == []


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("we're using poetry in this repo, not pip", True),
        ("overall we should not say “user” in error messages", True),
        ("remember, no screenshots in commits", True),
        ("please remember to run the formatter before you commit", True),
        ("the badge should be green, not blue", False),
        ("remember the sort order when someone comes back", False),
        ("keep in mind that people can upload large files", False),
        ("we don't show the price to guests", False),
    ],
)
def test_at_work_too_a_custom_and_a_reminder_are_rules_at_once(text: str, holds: bool) -> None:
    assert judged(text).is_express is holds


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("answer in Dutch please", "answer in Dutch"),
        ("antworte bitte auf Deutsch", "antworte bitte auf Deutsch"),
        ("отвечай мне на русском, а кнопку убери", "отвечай мне на русском"),
        ("你好，用中文回答我", "用中文回答我"),
        ("日本語でお願いします", "日本語でお願いします"),
        ("parle-moi en français", "parle-moi en français"),
        ("and keep our conversation in english", "keep our conversation in english"),
        ("I write Dutch, so from now on also reply in Dutch", "from now on also reply in Dutch"),
    ],
)
def test_to_say_in_which_language_to_speak_is_a_rule_without_another_word(text: str, rule: str) -> None:
    assert [found for found, verdict in rules_in(text) if verdict.is_express] == [rule]


@pytest.mark.parametrize(
    ("said", "kept", "holds"),
    [
        ("never execute git, save in your memory please", "never execute git", True),
        ("We deploy with helm. Put this into your memory.", "We deploy with helm", True),
        ("when you create compose files, save in memory always check that no port is taken",
         "when you create compose files, always check that no port is taken", True),
        ("fix the test, remember and save to memory that the docker setup is in ops/docker",
         "the docker setup is in ops/docker", True),
        ("save to memory: we deploy with helm, never with kubectl",
         "we deploy with helm, never with kubectl", True),
        ("read the file and store it in memory", "read the file and store it in memory", False),
        ("load it once, keep in memory the last ten rows", "load it once, the last ten rows", False),
        ("can you save it in your memory?", "can you save it in your memory?", False),
        ("put it in your memory please", "put it in your memory please", False),
    ],
)  # fmt: skip
def test_what_is_to_be_kept_in_the_agents_memory_is_a_rule_without_these_words(
    said: str, kept: str, holds: bool
) -> None:
    found = list(rules_in(said))
    assert (found[-1][0], found[-1][1].is_express) == (kept, holds), found


@pytest.mark.parametrize(
    "text",
    [
        "the assistant should answer in Dutch",
        "answer in Dutch to the mail of the landlord",
        "for now answer in Dutch",
        "can you speak Dutch?",
        "write the manual in Dutch",
        "keep the column names in Dutch",
    ],
)
def test_what_is_to_be_written_in_a_language_is_no_rule(text: str) -> None:
    assert not any(verdict.is_express for _, verdict in rules_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "never rebase shared branches, squash small commits, write a summary",
        "Never use tabs, use spaces, end files with a newline",
        "from now on never skip the linter, run the tests twice, keep the branch green",
        "never push to release, open a pull request instead",
    ],
)
def test_a_never_is_not_carried_to_the_next_part_of_a_sentence(text: str) -> None:
    orders = [found for found, _ in rules_in(text)]
    assert all(order.casefold().count("never") == text.casefold().count("never") for order in orders[:1])
    assert not any("never" in order.casefold() for order in orders[1:])


def test_what_only_names_a_standard_or_says_that_something_is_over_is_not_express() -> None:
    """It is in force where people talk, and waits where an agent works."""
    for text in ("just use the standard cdk constructs", "stick with the old API for the backend calls"):
        assert not judged(text).is_express
    for text in (
        "our convention is one class per file",
        "I prefer tabs over spaces",
        "we don't use docker anymore",
    ):
        assert judged(text).is_express
    assert judged("else is not required anymore, both are the same").is_express is False


def test_to_stress_that_something_matters_is_no_plan_of_ones_own() -> None:
    assert plain("I want to stress the importance of checking errors in all your scripts.")
    assert plain("I want to refactor all your scripts.") == []


def test_what_the_person_wants_before_the_agent_begins_may_hold_on() -> None:
    assert may_hold_on("I want to brainstorm with you before you write code")
    assert not may_hold_on("I want to brainstorm with you")


@each_case(
    "text",
    [
        "Every time CI breaks, stop and tell me.",
        "Every check that fails must be fixed before you commit.",
        "All tests must fail loudly.",
    ],
)
def test_what_to_do_about_a_failure_may_be_a_rule(text: str) -> None:
    assert plain(text) == [text.rstrip(".")]


@each_case(
    ("text", "rules"),
    [
        (
            "always use tabs, never commit to main, and every function needs a docstring",
            ["always use tabs", "never commit to main", "every function needs a docstring"],
        ),
        (
            "fix the parser, then run it, and from now on always add a test for every fix",
            ["from now on always add a test for every fix"],
        ),
        (
            "Looks good. From now on use single quotes and always run the linter before you commit.",
            ["From now on use single quotes", "always run the linter before you commit"],
        ),
        (
            "Can you look at it? Never push to main. The button is too big.",
            ["Never push to main"],
        ),
        ("from now on use tabs, never spaces", ["from now on use tabs, never spaces"]),
        ("use tabs in Makefiles. Always, in every file.", ["use tabs in Makefiles; Always, in every file"]),
        (
            "From now on I want another prefix for our table names. Start them with 't_', please.",
            ["From now on I want another prefix for our table names; Start them with 't_', please"],
        ),
        (
            "From now on end all module names with '_m'. Please apply this consistently.",
            ["From now on end all module names with '_m'"],
        ),
        (
            "hey claude, before you commit, run the linter and never skip hooks",
            ["claude, before you commit, run the linter", "never skip hooks"],
        ),
        (
            "When naming tables from now on, I want you to always use the plural and end the name with '_t'",
            ["When naming tables from now on, I want you to always use the plural, end the name with '_t'"],
        ),
        (
            "One more convention—when you name columns, please always use snake case.",
            ["when you name columns, please always use snake case"],
        ),
    ],
)
def test_rules_are_found_within_a_message_about_a_task(text: str, rules: list[str]) -> None:
    assert [rule.casefold() for rule in plain(text)] == [rule.casefold() for rule in rules]


@each_case(
    ("text", "rules"),
    [
        (
            "From now on, end names of arguments in '_h'. It keeps them apart. Additionally, include the"
            " string 'chx' in your method names.",
            2,
        ),
        (
            "From now on, end names of arguments in '_h'. Include the string 'chx' in your method names.",
            1,
        ),
        ("Look at the parser. Additionally, include the string 'chx' in your method names.", 0),
        ("From now on, end names of arguments in '_h'. Also, fix the failing test of the parser.", 1),
        ("From now on, end names of arguments in '_h'. One more thing. Does it use 'chx' in names?", 1),
    ],
)
def test_what_adds_something_general_to_a_rule_is_a_rule(text: str, rules: int) -> None:
    assert len(plain(text)) == rules


def test_the_judge_has_a_weight_of_each_kind_for_every_feature() -> None:
    tree = json.loads(DATA.read_bytes())
    assert len(tree["base"]) == len(KINDS) and len(tree["weights"]) > 1_000
    assert all(len(each) == len(KINDS) and all(map(math.isfinite, each)) for each in tree["weights"].values())
    verdict = judged("never push to main")
    assert verdict.is_plain and verdict.standing + verdict.once + verdict.other == pytest.approx(1)


def test_no_sentence_holds_control_characters() -> None:
    found = list(rules_in("\x1b[31mnever\x07 push\u202e to main without a review"))
    assert found and all(part.isprintable() for part, _ in found)


@each_case(
    ("new", "old"),
    [
        ("from now on use spaces", "always use tabs"),
        ("never squash commits before merging", "always squash commits before merging"),
        ("always run the tests before you push", "never run the tests before you push"),
        ("keep lines under 100 characters from now on", "keep lines under 80 characters"),
        ("ab jetzt die Commits nicht mehr squashen", "immer die Commits squashen"),
        ("let's make sure we're using US English everywhere", "please always use the british spelling"),
        ("we use pnpm here", "always use npm for scripts"),
        ("answer in English", "говори со мной на русском"),
        ("from now on write commit subjects in English", "always write commit subjects in German"),
        ("from now on prefix variables with 'b_' instead", "always prefix variables with 'a_'"),
        ("don't mock the database any more", "always mock the database"),
        ("mocking the database is fine from now on", "never mock the database"),
        ("you can push to main from now on", "never push to main"),
        ("from now on use single quotes", "always use double quotes"),
        ("use 4 spaces for indentation from now on", "always indent with 2 spaces"),
        ("from now on date format is DD/MM/YYYY", "always use the ISO format for dates"),
        ("from now on start the names of topics with 't_'", "for topics, use 'k_' as in 'k_tides'"),
        ("always use lowercase for processes and addresses", "uppercase for every process and every address"),
    ],
)
def test_a_later_rule_with_another_choice_replaces_the_former(new: str, old: str) -> None:
    assert relation(new, old) == "replaces"


@each_case(
    ("new", "old"),
    [
        ("you no longer need to update the changelog", "always update the changelog"),
        ("no need to update the changelog any more", "always update the changelog"),
        ("du musst die Commits nicht mehr squashen", "immer die Commits squashen"),
    ],
)
def test_a_rule_is_ended_by_saying_that_it_is_not_needed(new: str, old: str) -> None:
    assert relation(new, old) == "ends"


@each_case(
    ("new", "old"),
    [
        ("never push to main", "always run the tests"),
        ("always add a docstring to public functions", "always add type hints to public functions"),
        ("use a draft PR", "use the british spelling"),
        ("always prefix branches with 'x_'", "always prefix variables with 'a_'"),
        ("always answer briefly", "never answer in German"),
        ("commit messages end without a period", "log messages end without a period"),
        ("always run the linter before you push", "always run the tests before you push"),
        ("never commit secrets", "never amend commits"),
        ("always add tests for fixes", "never add tests for prototypes"),
        ("always write unit tests for fixes", "always write integration tests for fixes"),
        ("keep feature branches short", "keep release branches short"),
        ("always import the 'ab' module, even if you don't need it", "always import the 'cd' module"),
        ("when naming constants, always end them with '_c'", "put a single digit into names of constants"),
        ("for topics, use '_k' as in 'tides_k'", "always start the names of topics with 't_'"),
        ("put a single digit into all class names", "use upper case for all class names"),
    ],
)
def test_different_wishes_both_hold(new: str, old: str) -> None:
    assert relation(new, old) == relation(old, new) == "different"


@each_case(
    ("new", "old"),
    [
        ("never ever amend commits", "please never amend commits"),
        ("always open pull requests as drafts", "open every PR as a draft"),
        ("we always squash before we merge", "always squash before merging"),
    ],
)
def test_paraphrases_are_one_rule(new: str, old: str) -> None:
    assert relation(new, old) == relation(old, new) == "same"
