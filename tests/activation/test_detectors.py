"""Keywords, mentions, agitation, code and events (spec 4.2)."""

from __future__ import annotations

from engine.activation.detectors import (
    agitation_spans,
    code_blocks,
    event_fits,
    matches_language,
    phrase_spans,
    phrases_of,
    sentiment_spans,
)
from engine.activation.scan import Scan
from engine.activation.trace import Event
from engine.topics.model import Trigger
from tests.cases import each_case


def found(kind: str, text: str, *words: str) -> list[str]:
    trigger = Trigger(kind, words=words)  # type: ignore[arg-type]
    return [text[start:end] for start, end in phrase_spans(phrases_of(trigger), Scan(text))]


@each_case(
    ("word", "text", "expected"),
    [
        ("deploy", "Deploy it, then DEPLOY again", ["Deploy", "DEPLOY"]),
        ("deploy", "redeployed the deployment", []),
        ("deploy", "deploy_prod and _deploy_ and deploy-prod", ["deploy", "deploy"]),
        (
            "roll back",
            "roll back, roll\n back, Roll-back, rollback",
            ["roll back", "roll\n back", "Roll-back"],
        ),
        ("roll back", "roll, back", []),
        ("e-mail", "an E-Mail, an e mail, an email", ["E-Mail", "e mail"]),
        ("c++", "C++ or C or c++11", ["C++", "c++"]),
        ("c", "C++ and c# and plain c.", ["c"]),
        ("c#", "C# it is", ["C#"]),
        (".net", "the .NET way, the net", [".NET"]),
        ("node.js", "Node.js, node js", ["Node.js"]),
        ("ci/cd", "our CI/CD pipeline", ["CI/CD"]),
        ("prüfen", "PRÜFEN wir", ["PRÜFEN"]),
        ("straße", "STRASSE und Straße", ["STRASSE", "Straße"]),
        ("дом", "мой Дом, домой", ["Дом"]),
        ("部署", "请部署这个", ["部署"]),
        ("배포", "배포를 해줘, 재배포", ["배포", "배포"]),
        ("python", "用python写的, Pythonで, 파이썬python을", ["python", "Python", "python"]),
        ("कर", "करो और कर", ["कर"]),
        ("don't", "don’t, don't, dont", ["don’t", "don't"]),
        ("deploy", "ｄｅｐｌｏｙ ＤＥＰＬＯＹ", ["ｄｅｐｌｏｙ", "ＤＥＰＬＯＹ"]),
        ("sık", "SIK sık", ["SIK", "sık"]),
        ("部署", "Straße 部署 Maße", ["部署"]),
        ("!!!", "stop!!!", ["!!!"]),
        ("🚨", "🚨 prod 🚨", ["🚨", "🚨"]),
    ],
)
def test_keywords_are_whole_words_in_any_script(word: str, text: str, expected: list[str]) -> None:
    assert found("keywords", text, word) == expected


@each_case(
    ("word", "text", "expected"),
    [
        ("invoice", "all invoices", ["invoices"]),
        ("invoices", "an invoice", ["invoice"]),
        ("box", "two boxes", ["boxes"]),
        ("query", "slow queries", ["queries"]),
        ("queries", "one query", ["query"]),
        ("pull request", "open pull requests", ["pull requests"]),
        ("PR", "my PRs", ["PRs"]),
        ("API", "several APIs", ["APIs"]),
        ("day", "days", ["days"]),
        ("new", "the news", []),
        ("it", "its", []),
        ("IT", "its", []),
        ("status", "statu", []),
        ("class", "clas", []),
        ("analysis", "analysi", []),
        ("c++", "c++s", ["c++"]),
    ],
)
def test_a_simple_plural_counts_as_the_word(word: str, text: str, expected: list[str]) -> None:
    assert found("keywords", text, word) == expected


def test_the_longest_of_overlapping_keywords_matches() -> None:
    assert found("keywords", "a pull request", "pull", "pull request", "request") == ["pull request"]


@each_case(
    ("name", "text", "expected"),
    [
        ("David", "ask david, @David or David's", ["david", "David", "David"]),
        ("David", "Davidson and davids", []),
        ("David", "mail david@example.org, david.lee@example.org", []),
        ("David", "https://example.org/david, /home/david/notes, C:\\david\\x", []),
        ("David", "David/Anna, (David) and David <david@example.org>", ["David", "David", "David"]),
        ("David", "Davids Termin, the davids", ["Davids"]),
        ("Mark", "Marks notes", []),
        ("david@example.org", "to david@example.org", ["david@example.org"]),
        ("@silas", "hey @Silas, and silas", ["@Silas"]),
        ("@silas", "me@silas.org, x@silas, @silas-bot, @silas.b, a@@silas", []),
        ("@silas", "https://medium.com/@silas/post and npm i @silas/core", []),
        ("@silas", "(@silas) cc @silas,@david @silas's @silas…", ["@silas"] * 4),
        ("@silas", "请@silas看, ＠silas", ["@silas", "＠silas"]),
        ("@acme/platform", "ping @acme/platform", ["@acme/platform"]),
        ("Ada Lovelace", "Ada  Lovelace wrote", ["Ada  Lovelace"]),
        ("José", "JOSÉ and Jose\u0301, jose", ["JOSÉ", "José", "jose"]),
        ("Jose", "José", []),
        ("Jürgen Müller", "Juergen Mueller, Jurgen Muller", ["Juergen Mueller", "Jurgen Muller"]),
        ("O'Brien", "O’Brien", ["O’Brien"]),
        ("李雷", "请李雷看看", ["李雷"]),
        ("Will", "Will will come, WILL", ["Will", "WILL"]),
        ("Mark", "mark this", []),
        ("will", "will do", ["will"]),
        ("Олег", "спроси Олега и Олег", ["Олег"]),
    ],
)
def test_mentions_match_only_names_of_persons(name: str, text: str, expected: list[str]) -> None:
    scan = Scan(text)
    trigger = Trigger("mention", words=(name,))
    spans = phrase_spans(phrases_of(trigger), scan)
    assert [scan.text[start:end] for start, end in spans] == expected


@each_case(
    ("text", "expected"),
    [
        ("really???", ["???"]),
        ("stop it!!! now!?!", ["!!!", "!?!"]),
        ("なんで！！！", ["！！！"]),
        ("🚨🚨🚨 prod is down", ["🚨🚨🚨"]),
        ("what‼️❗❗", ["‼️❗❗"]),
        ("wow!! nice 🚨 and 😡😡", []),
        ("WHY IS THIS BROKEN?", ["WHY IS THIS BROKEN"]),
        ("See the log. IT FAILED AGAIN, I SAID. Thanks", ["IT FAILED AGAIN, I SAID"]),
        ("ПОЧЕМУ НЕ РАБОТАЕТ", ["ПОЧЕМУ НЕ РАБОТАЕТ"]),
        ("WARUM GEHT DAS NICHT", ["WARUM GEHT DAS NICHT"]),
        ("the JSON API over HTTP", []),
        ("This is NOT OK", []),
        ("I AM OK", []),
        ("SELECT a FROM b WHERE c", []),
        ("keep it ACTIVE, and set the other one to ARCHIVED or DELETED", []),
        ("run `WHY IS THIS BROKEN` please", []),
        ("see `WHY` and https://x.org/A\nWHY IS THIS BROKEN", ["WHY IS THIS BROKEN"]),
        ("```\nWHY IS THIS BROKEN\n```", []),
        ("https://x.org/WHY/IS/THIS", []),
        ("", []),
    ],
)
def test_agitation_is_three_marks_or_a_sentence_in_capitals(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in agitation_spans(Scan(text))] == expected


@each_case(
    ("text", "words", "expected"),
    [
        ("this is urgent", (), ["urgent"]),
        ("This is URGENT", (), ["URGENT"]),
        ("das ist dringend", (), ["dringend"]),
        ("C’est très urgent, c’est une urgence", (), ["urgent", "urgence"]),
        ("это срочно", (), ["срочно"]),
        ("緊急です", (), ["緊急"]),
        ("as soon  as possible", (), ["as soon  as possible"]),
        ("not urgent", (), []),
        ("nothing very urgent", (), []),
        ("it isn't urgent", (), []),
        ("No. Urgent!", (), ["Urgent"]),
        ("urgent", ("mayday",), []),
        ("mayday", ("mayday", "!!"), ["mayday"]),
        ("oh no!!", ("mayday", "!!"), ["!!"]),
        ("what???", ("mayday",), ["???"]),
    ],
)
def test_urgency_words_count_unless_negated(text: str, words: tuple[str, ...], expected: list[str]) -> None:
    scan = Scan(text)
    spans = sentiment_spans(phrases_of(Trigger("sentiment", words=words)), scan, agitation_spans(scan))
    assert [text[start:end] for start, end in spans] == expected


@each_case(
    ("trigger", "event", "fits"),
    [
        (Trigger("webhook", source="email", event="new"), Event("email", "new"), True),
        (Trigger("webhook", source="email", event="new"), Event("Email", "NEW"), True),
        (Trigger("webhook", source="email", event="new"), Event("email", "gone"), False),
        (Trigger("webhook", source="email"), Event("email", "gone"), True),
        (Trigger("webhook", source="email"), Event("github", "gone"), False),
        (Trigger("webhook", source="cron"), Event("cron", "0 8 * * *"), False),
        (Trigger("cron", schedule="0 8 * * MON"), Event("cron", " 0  8 * * mon "), True),
        (Trigger("cron", schedule="0 8 * * *"), Event("cron", "0 9 * * *"), False),
        (Trigger("cron", schedule="0 8 * * *"), Event("email", "0 8 * * *"), False),
    ],
)
def test_events_fire_the_matching_triggers(trigger: Trigger, event: Event, fits: bool) -> None:
    assert event_fits(trigger, event) is fits


# Code: fenced blocks and inline code


def code_in(text: str) -> list[tuple[str, str]]:
    return [(language, text[start:end]) for language, start, end in code_blocks(Scan(text))]


@each_case(
    ("fence", "language"),
    [
        ("```python\nx\n```", "python"),
        ("```py title=a\nx\n```", "py"),
        ("```{.python}\nx\n```", "python"),
        ("~~~JS\nx\n~~~", "js"),
        ("````c++\n```\n````", "c++"),
        ("> ```sh\n> ls\n> ```", "sh"),
        ("```py\nnever closed", "py"),
        ("```brainfuck\n+\n```", "brainfuck"),
        ("```\nfn main() {}\n```", ""),
        ("~~~\nx\n```\n~~~", ""),
    ],
)
def test_a_fence_names_its_language(fence: str, language: str) -> None:
    assert [name for name, _ in code_in(f"Look:\n\n{fence}\n")] == [language]


@each_case(
    "text",
    ["```text\nx\n```", "```plain\nx\n```", "~~~markdown\n# `x`\n~~~", "def f(x):\n    return x", "a ` b"],
)
def test_text_in_a_fence_and_code_without_one_are_not_code(text: str) -> None:
    assert code_in(text) == []


@each_case(
    ("language", "wanted", "matches"),
    [
        *(("py", "PY", True), ("c++", "C++", True), ("py", ".py", True), ("py", "python", False)),
        *(("", "", True), ("", "python", False), ("go", "python", False)),
    ],
)
def test_a_trigger_matches_languages_as_fences_name_them(language: str, wanted: str, matches: bool) -> None:
    assert matches_language(language, [wanted] if wanted else []) is matches


def test_the_span_of_code_is_what_is_between_its_fences_or_backticks() -> None:
    assert code_in("a `b` c\n```py\nx = `1`\n```\nd `e`") == [
        ("", "`b`"),
        ("py", "x = `1`\n"),
        ("", "`e`"),
    ]
