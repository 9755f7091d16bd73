"""Values whose name stands elsewhere: above a column, before a user, or in the command that printed one.

Each is judged as if its name stood before it, as in ``password: value``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from engine.redaction.names import meaning
from engine.redaction.values import has_digit
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
    is_log = text[last - 3 : last].lower() == "log" and not text.startswith(" in", last)  # of git, say
    pattern = _OF_USER if word.lower() in _USERS else _LOGIN
    match = None if is_log else pattern.match(text, last)
    if match is not None and has_digit(match["value"]):
        start, end = match.span("value")
        yield start, start + len(text[start:end].rstrip(".,:;!?)]}*")), "password"
