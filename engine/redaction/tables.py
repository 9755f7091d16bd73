"""Values whose name stands elsewhere: above a column, before a user, in a cell, in what printed one.

Each is judged as if its name stood before it, as in ``password: value``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from engine.redaction.names import meaning
from engine.redaction.values import has_digit, has_digits, is_base58, is_id
from engine.startup.lazy import expression

Called = tuple[int, int, str]
"""Start and end of a value, and what it is called."""
_NAMING = 0.5
"""Probability from which a heading names secrets: others have a column each, and ``Pass`` counts tests."""
_LONGEST = 2_000
"""Characters of a line of a table."""
FIRST = 300
"""Characters of a line within which a name must stand."""
_RULE = expression(r"[-+|=:─┼│ \t]+")
"""The line below a heading."""
_HEADING = expression(r"[\"'`*_ ]*[^\W\d_][\w ./()-]{0,40}[\"'`*_ ]*")
_COLUMN = expression(r"\S(?: ?\S)*")
_AROUND = " \t\r\"'`*"
_ACCOUNT = """
    login logins log signin credentials creds cred account accounts acct zugangsdaten anmeldedaten zugang
    inloggegevens identifiants credenciales credenciais credenziali dane uppgifter inloggning kirjautuminen
    giriş логин доступ доступы учётка логін 账号 帐号 账户 登录 계정 로그인 アカウント ログイン حساب
""".split()  # noqa: SIM905 — words of one list
_USERS = ("root", "admin", "administrator")
ACCOUNTS = frozenset(
    form for word in (*_ACCOUNT, *_USERS) for form in (word, word.capitalize(), word.upper())
)
"""What a user and a password follow, joined by a colon or a slash, and users."""
_LOGIN = expression(
    r"[^\n]{0,40}?[\s\"'`(](?P<user>[A-Za-z][\w.+-]{1,40}(?:@[\w.-]{3,60})?)"
    r"(?:[\"'`]? / [\"'`]?(?=[^\s/]{6})|:(?=[^\s:/]{6}))(?P<value>[^\s\"'`,;<>/]{6,80})(?=[\s\"'`,;)]|\Z)"
)
_OF_USER = expression(r"[\"'`]? / [\"'`]?(?P<value>[^\s\"'`,;<>/]{6,80})(?=[\s\"'`,;)]|\Z)")
_OF_ADMIN = expression(
    r"[^\n]{0,40}?[\s\"'`(](?:admin|administrator|root|guest|demo|test|user)/"
    r"(?P<value>(?=\S*[^a-z\d./_-])[^\s\"'`,;<>/]{6,80})(?=[\s\"'`,;)]|\Z)"
)
_OF_CREDENTIALS = expression(
    r":? [A-Za-z][\w.+-]{1,40}(?:@[\w.-]{3,60})?,? "
    r"(?P<value>(?=\S*[^a-z\d.-])[^\s\"'`,;<>/]{6,80})(?=\n|\Z| →)"
)
COPULAS = frozenset(
    """
    is was are be to as remains ist lautet sei heißt auf als est c'est devient es era son son é e è ser este
    sunt je jest są to jsou on är er är ovat lett lesz oldu olarak είναι это является це є is zijn werd
    adalah ialah là hai है คือ هي هو היא הוא 是 为 為 は 은 는 now still temporarily
    """.split()  # noqa: SIM905 — words of one list
)
"""What joins a name to its value in a sentence."""
_OF = (
    "[Ii]|we|you|they|it|that|which|after|with|for|of|on|from|in|at|"
    "para|del?|d[aiou]|des|für|von|vom|pour|per|till|av|voor|van|dla|для|от"
)
_ASIDE = expression(
    rf"(?: \([^()\n]{{1,60}}\)|(?: (?:{_OF})\b|(?= d'))(?: [^\s:=\"`(){{}}\[\]<>,;|]{{1,30}}){{1,4}}?){{1,2}}"
    rf" ?(?:[:：=]|=>|->|→| (?:{'|'.join(sorted(COPULAS))}):?(?= ))\s{{1,3}}"
    r"[\"'`]?(?P<value>[^\s\"'`<>]{6,300})"
)
"""What stands between a name and its value, as in ``API key (live): …`` and ``token for the bot is …``."""
_SPACE = r"(?:\s|\\[nrt]){0,40}"
_CELL = expression(
    rf":?(?:{_SPACE}<\\?/?[A-Za-z][^<>\n]{{0,100}}>){{1,8}}:?{_SPACE}"
    rf"(?:(?P<value>[^\s<>&\\]{{4,300}})(?={_SPACE}<)"
    r"|<input\b[^<>\n]{0,120}?\bvalue=\\?[\"'](?P<typed>[^\s\"'<>\\]{4,200}))"
)
"""In a page, after a name: the value in the next element."""
_FIELD = r"\\?[\"']\w{1,20}\\?[\"']\s?:\s?(?:\w{1,10}|\\?[\"'][^\"'\n]{0,60}[\"'])"
_RECORD = expression(
    rf"(?:\\?[\"']{_SPACE},|\\?[\"']?\s?[:=]\s?\{{?){_SPACE}(?:{_FIELD},{_SPACE}){{0,3}}"
    r"\\?[\"']?(?i:value|default)\\?[\"']?\s?[:=]\s?\\?[\"']?(?P<value>[^\s\"'\\,{}]{4,300})"
)
_RECORD_BEFORE = expression(
    rf"\\?[\"'](?i:value|default)\\?[\"']\s?:\s?\\?[\"'](?P<value>[^\s\"'\\]{{4,300}})\\?[\"'],{_SPACE}"
    rf"(?:{_FIELD},{_SPACE}){{0,2}}\\?[\"'](?i:name|key|variable)\\?[\"']\s?:\s?\\?[\"']\Z"
)
"""In JSON and YAML, after and before a name: the value of the same or the next object."""
_LIST = expression(
    r"\\?[\"']?\s?[:=]{1,2}\s{0,3}(?:[\[{][^\[\](){}:=]{8,4000}"
    r"|(?:\n[ \t]{0,20}- [\"'`]?[^\s\"'`:]{4,300}[\"'`]?(?=\n|\Z)){1,40})"
)
_ITEM = expression(r"(?:[\"'`]|\n[ \t]{0,20}- )(?P<value>[^\s\"'`\\]{4,300})(?=[\"'`\\\n]|\Z)")
_AHEAD, _RECORD_SIZE = 200, 500
_VALUE, _DEFAULT = "alue", "efault"
_PWDS, _PASSES = ("pwd", "Pwd", "PWD"), ("pass", "Pass", "PASS")
_CALLS = r"\.(?:fill|type|send_?keys|set_?value|to(?:be|equal|strictequal)|equals?|eq)\("
_INSTEAD = expression(
    rf"(?i)(?:\??:[ \t]?[a-z_][\w.\[\]|<>?, ]{{0,40}}=|[^\n]{{0,80}}?(?:\|\||\?\?|\bor\b|{_CALLS}))"
    r"\s{0,3}[bfru]?[\"'](?P<value>[^\s\"']{4,200})[\"']"
)
"""In code, after a name: a value after its type, if nothing else is set, typed into a field, or expected."""
_PASS = expression(r" (?P<value>[^\s\"'`,;<>/]{6,80})(?=[\"'`,;)]|\s*(?:\n|\Z)| →)")
_PWD = expression(r"\\?[\"'`]?(?:[:=]|->|→|(?=[\"']))[ \t]{0,2}\\?[\"'`]?(?P<value>[^\s\"'`,;<>/\\&]{6,80})")
"""After ``pwd``, which is a command, too, whose value is a path."""
_OF_ACCOUNT = expression(r"(?i)(?:\b(?:user(?:name)?|login|account|log ?in|admin|root)\b|@)[^\n]{0,60}\Z")
_WORDS_BEFORE = expression(r"(?:[^\W\d_][\w'’-]* ){1,2}\Z")
_KEY_SIZE, _ADDRESS_SIZE = 16, 44
_PRINTED = expression(
    r"(?:\$|> \[tool:[^\]\n]{1,40}\]) (?!git |ls |grep |rg |find |wc |\w+sum |make |cd )[^\n→]{4,300}"
    r"(?:\n+| → )(?P<value>[^\s:]{8,400})(?=\n|\Z)"
)
"""Behind a prompt, and in a transcript."""


def below(text: str, first: int, word: str, lines: set[int]) -> Iterator[Called]:
    """The values below a line with a ``word`` that names a secret: of columns, and what a command printed.

    ``lines`` gets the starts of a table's rows, none of which is the heading of another one.
    """
    line, last = _line(text, first)
    if not line or last >= len(text):
        return
    if line.startswith(("$ ", "> [tool:")):
        match = _PRINTED.match(text, first)
        if match is not None and has_digit(match["value"]):
            yield *match.span("value"), word
        return
    mark = next((each for each in ("|", "\t", ",", ";", "  ") if each in line), "")
    above = text[line_start(text, first - 1, _LONGEST) : first] if first else ""
    if not mark or (mark in above and not _RULE.fullmatch(above.rstrip("\n"))):  # a row, no heading
        return
    yield from _columns(text, first, last, mark, lines)


def line_start(text: str, at: int, most: int) -> int:
    """Where the line of a place starts, or ``most`` characters before the place if it starts further up."""
    first = max(0, at - most)
    return text.rfind("\n", first, at) + 1 or first


def _line(text: str, first: int) -> tuple[str, int]:
    """A line and where the next one starts; nothing if it is too long."""
    end = text.find("\n", first, first + _LONGEST)
    if end < 0:
        end = len(text)
    return (text[first:end], end + 1) if end - first < _LONGEST else ("", end)


def _rows(text: str, first: int, lines: set[int]) -> Iterator[tuple[str, int]]:
    while first < len(text):
        line, after = _line(text, first)
        if not line.strip():
            return
        if not _RULE.fullmatch(line):
            yield line, first
            lines.add(first)
        first = after


def _named(name: str) -> str:
    """The name that heads a column of secrets; nothing if it does not."""
    said = meaning(name)
    return name if said[1] + said[2] >= _NAMING else "password" if name.lower() == "pass" else ""


def _columns(text: str, first: int, after: int, mark: str, lines: set[int]) -> Iterator[Called]:
    """The values of the columns of secrets; if the mark is spaces, each stands where its heading does."""
    line = text[first : after - 1].replace("||", "|")
    places = [*(each.start() for each in _COLUMN.finditer(line)), _LONGEST] if mark == "  " else []

    def cells(row: str) -> list[str]:
        return [row[at:end] for at, end in pairwise(places)] if places else row.split(mark)

    headings = [each.strip(_AROUND) for each in cells(line)]
    inner = [each for each in headings if each]
    if len(inner) < 2 or not all(map(_HEADING.fullmatch, inner)):
        return
    named = [(at, name) for at, each in enumerate(headings) if (name := _named(each))]
    for row, begin in _rows(text, after, lines):
        found = cells(row)
        if len(found) != len(headings):
            return
        for at, name in named:
            value = found[at].strip(_AROUND)
            offset = places[at] if places else sum(map(len, found[:at])) + at
            if places and (row[offset - 1 : offset].strip() or " " in value or not value):
                return
            if value and " " not in value:
                start = begin + row.find(value, offset)
                yield start, start + len(value), name


def after_user(text: str, word: str, last: int) -> Iterator[Called]:
    """The password behind ``credentials: anna:``, ``login anna / `` or ``root / ``, behind the ``word``."""
    if word.lower().startswith("cred") and (match := _OF_CREDENTIALS.match(text, last)) is not None:
        if has_digits(match["value"]):
            yield *match.span("value"), "password"
        return
    is_log = text[last - 3 : last].lower() == "log" and not text.startswith(" in", last)  # of git, say
    pattern = _OF_USER if word.lower() in _USERS else _LOGIN
    match = None if is_log else pattern.match(text, last) or _OF_ADMIN.match(text, last)
    if match is not None and has_digit(match["value"]):
        start, end = match.span("value")
        yield start, start + len(text[start:end].rstrip(".,:;!?)]}*")), "password"


def apart(text: str, word: str, first: int, last: int) -> Iterator[Called]:
    """Values that more than an operator parts from the ``word`` between two places, which names them."""
    ahead = text[last : last + _AHEAD]  # rules most of it out, without an expression or a call
    is_quoted = '"' in ahead or "'" in ahead
    if "<" in ahead and (match := _CELL.match(text, last)) is not None:
        group = "value" if match["typed"] is None else "typed"
        if has_digit(match[group]):
            yield *match.span(group), text[text.rfind(">", max(0, first - 40), first) + 1 or first : last]
    elif is_quoted and (match := _INSTEAD.match(text, last)) is not None:
        # In base58, what is as short is the address of something that a test is about.
        is_known = "PUBLIC" in match[0] or (
            len(match["value"]) <= _ADDRESS_SIZE and is_base58(match["value"])
        )
        if has_digit(match["value"]) and not is_known:
            yield *match.span("value"), word
    elif (
        _VALUE in ahead
        or _DEFAULT in ahead
        or _VALUE in text[first - _AHEAD if first > _AHEAD else 0 : first]
    ):
        match = _RECORD.match(text, last) or _RECORD_BEFORE.search(text, max(0, first - _RECORD_SIZE), first)
        if match is not None:
            yield *match.span("value"), word
    elif ("[" in ahead or "\n" in ahead) and _named(word) and (match := _LIST.match(text, last)) is not None:
        for item in _ITEM.finditer(text, *match.span()):
            if has_digit(item["value"]):
                yield *item.span("value"), word
    if ahead[:1] != " ":
        of_pwd = _PWD.match(text, last) if word in _PWDS else None
        if of_pwd is not None and has_digits(of_pwd["value"]):
            yield from _told(text, *of_pwd.span("value"), "password")
    elif (match := _ASIDE.match(text, last)) is not None:
        before = _WORDS_BEFORE.search(text, max(0, first - 40), first)
        yield from _told(text, *match.span("value"), text[before.start() if before else first : last])
    elif word in _PASSES and _OF_ACCOUNT.search(text, max(0, first - 80), first):
        match = _PASS.match(text, last)
        if match is not None and has_digits(match["value"]):
            yield from _told(text, *match.span("value"), "password")


def _told(text: str, start: int, end: int, name: str) -> Iterator[Called]:
    """A value in a sentence, without what ends that."""
    value = text[start:end].rstrip(".,:;!?)]}*")
    said = meaning(name)
    least = 0 if said[1] > said[2] else _KEY_SIZE
    if len(value) >= least and has_digit(value) and not is_id(value):
        yield start, start + len(value), name
