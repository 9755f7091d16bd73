"""Secrets recognizable only by their context: a naming word, a header, an option, an address."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.redaction.kinds import compiled
from engine.redaction.values import has_digit, is_key, is_password, is_placeholder, is_random, is_reference
from engine.startup.lazy import expression
from engine.startup.records import dataclass

Span = tuple[int, int, int]
"""Start of the redacted part, start of the secret itself, end of both."""
Finder = Callable[[str, int, int], Span | None]
"""Finds a secret in a text, given the start and end of an anchor."""

_MAX_VALUE = 200
"""Characters of a value that are checked; what follows belongs to it."""
_PLAIN = r"[^\s\"'`“”<>,;\\&]"
_VALUE = (
    r"(?:(?P<quote>\\?[\"'`]|“)(?P<inner>[^\n\"'`“”]{1,256}?)(?:\\?[\"'`]|”)"
    rf"|[\"'`“]?(?P<bare>(?:{_PLAIN}|\\(?![nrt\"'])|&(?![\w.%-]{{1,40}}=))"
    rf"{_PLAIN}{{0,{_MAX_VALUE}}}(?:(?:\\(?![nrt\"'])|&(?![\w.%-]{{1,40}}=)){_PLAIN}{{0,{_MAX_VALUE}}}){{0,8}}))"
)
_MORE = expression(rf"{_PLAIN}*")
_TAIL = (
    r"(?:[_. -]?(?:access|key|base|value|string|text|production|prod|dev|staging|test|live|main|old|new|"
    r"phrase|\d{1,3}(?!\d)))*(?![A-Za-z])"
)
_SIGN = (
    r"(?:\\?[\"'`\]]){0,3}(?:"
    r"[ \t]{0,3}:[ \t]?[A-Za-z_][\w.\[\]| ]{0,40}?[ \t]?=[ \t]{0,3}(?=[\"'])"  # password: str = "…"
    r"|[ \t]{0,3}(?::=|=>|={1,3}|:(?!:)|：|＝)\s{0,3}"
    r"|,?\s{1,40}\\?[\"']?value\\?[\"']?[ \t]{0,3}[:=]\s{0,3}"  # name: PASSWORD, value: …
    r")"
)
_SIGNED = expression(f"{_TAIL}{_SIGN}{_VALUE}", re.IGNORECASE)
_TAGGED = expression(rf"{_TAIL}>(?P<bare>[^<>\n]{{3,200}})</", re.IGNORECASE)
_SPOKEN = expression(
    rf"{_TAIL}[\"'`]?(?: (?:for|of|to|on|at|in|pour|für|para)(?: [\w@.'’/-]{{1,40}}){{1,4}}?)?"
    r" (?:is|was|are|will be|remains|ist|lautet|est|es|è|é)"
    rf"(?: (?:now|still|currently|again|just|set to|jetzt)){{0,2}}:? (?P<rest>{_VALUE})",
    re.IGNORECASE,
)
_SPACED = expression(rf"{_TAIL}[\"'`]?[ \t]{{1,3}}{_VALUE}", re.IGNORECASE)
_SOON = expression(r"[^\n]{0,60}?(?<![\w/.+-])(?P<bare>[\w+/=~.-]{16,200})", re.IGNORECASE)
_ENVIRONMENT = expression(r"(?:[A-Z][A-Z0-9]*_)*[A-Z]*$")
_OPTION = expression(r"(?:^|\s)-{1,2}[\w-]{0,40}$|configure set [\w.-]{0,40}$|setx? [\w-]{0,40}$")
_LOGIN = expression(r"login \S{1,80}\s{1,9}$|(?:identified by|with) $", re.IGNORECASE)
_OF_A_KEY = tuple(
    """
    api access secret private signing sign encryption encrypt master account shared preshared auth app
    application service hmac storage deploy license licence jwt crypto webhook admin anon role subscription
    integration write read server client project rails openai maps
    """.split()  # noqa: SIM905 — words of one list
)
_CLAUSE_ENDS = expression(
    r"[\"'`”)\]}*_]{0,3}(?:[.,;!?)\]}|&#]|\s*$|\s*\n|\\[nrt]|\s+(?:#|//|--|&&|\|))|[\"'`]"
)
_TRAILING = ".,;:!?)]}*"
_HEX = expression(r"[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Named:
    """A naming word."""

    name: str  # the kind of secret it names
    anchor: str  # the word, in lower case
    find: Finder


def _password(text: str, start: int, end: int) -> Span | None:
    return _behind(text, start, end, is_strong=True)


def _token(text: str, start: int, end: int) -> Span | None:
    return _behind(text, start, end, is_strong=False)


def _key(text: str, start: int, end: int) -> Span | None:
    before = text[max(0, start - 16) : start].lower()
    bare = before[:-1] if before[-1:] in ("_", "-", " ") else before
    word = next((each for each in _OF_A_KEY if bare.endswith(each)), None)
    if word is not None:
        return _behind(text, start - len(word) - len(before) + len(bare), end, is_strong=False)
    if text[start:end] == "KEY" and before[-1:] == "_":
        found = _behind(text, start, end, is_strong=False)
        value = text[found[1] : found[2]] if found is not None else ""
        return found if is_random(value) or (len(value) >= 32 and _HEX.fullmatch(value)) else None
    return None


def _short(text: str, start: int, end: int) -> Span | None:
    """For ``pass`` and ``pw``, which are parts of many words."""
    before = text[start - 1 : start]
    if before.isalpha() and not (before.islower() and text[start].isupper()):
        return None
    match = _SIGNED.match(text, end)
    value = "" if match is None else (match["inner"] or match["bare"])
    return None if not value or value.isdigit() or "pass" in value.lower() else _password(text, start, end)


def _behind(text: str, start: int, end: int, *, is_strong: bool) -> Span | None:
    """The secret after a naming word."""
    before = text[max(0, start - 60) : start]
    signed = _SIGNED.match(text, end)
    if signed is not None:
        environment = text[start:end].isupper() and _ENVIRONMENT.search(before) is not None
        tight = not signed[0][: signed.start("bare") - end].endswith((" ", "\t")) if signed["bare"] else True
        assigned = (environment and tight) or _OPTION.search(before) is not None
        is_unpacked = before.endswith(", ") and "=" in signed[0]
        found = _judged(
            text, signed, is_strong=is_strong, assigned=assigned, is_unpacked=is_unpacked and not assigned
        )
        return None if found is None else (start, found[0], found[1])
    tagged = _TAGGED.match(text, end) if text[end : end + 40].find(">") >= 0 else None
    if tagged is not None:
        value = tagged["bare"].strip()
        good = (
            is_password(value, quoted=True, assigned=True, ends=True)
            if is_strong
            else is_key(value, quoted=True, assigned=True)
        )
        return (tagged.start("bare"), tagged.start("bare"), tagged.end("bare")) if good else None
    spoken = _SPOKEN.match(text, end)
    if spoken is not None:
        found = _judged(text, spoken, is_strong=is_strong, assigned=False)
        if found is not None:
            return found[0], found[0], found[1]
    spaced = _SPACED.match(text, end)
    if spaced is not None and spoken is None:
        value = spaced["inner"] or spaced["bare"]
        sure = _OPTION.search(before) is not None or (is_strong and _LOGIN.search(before) is not None)
        likely = (
            is_strong and len(value) >= 7 and any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        )
        if sure or likely:
            found = _judged(text, spaced, is_strong=is_strong, assigned=sure)
            if found is not None:
                return found[0], found[0], found[1]
    soon = _SOON.match(text, end)
    while soon is not None and soon.end() - end < 120:
        value = soon["bare"].rstrip(_TRAILING)
        if is_random(value):
            return soon.start("bare"), soon.start("bare"), soon.start("bare") + len(value)
        soon = _SOON.match(text, soon.end())
    return None


def _judged(
    text: str, match: re.Match[str], *, is_strong: bool, assigned: bool, is_unpacked: bool = False
) -> tuple[int, int] | None:
    """The span of a match's value if it is a secret; ``name, password = both`` assigns none."""
    quoted = match["inner"] is not None
    name = "inner" if quoted else "bare"
    start, end = match.span(name)
    value = match[name]
    if not quoted:
        kept = value.rstrip(_TRAILING)
        end -= len(value) - len(kept)
        value = kept
    elif " " in value and not is_strong:
        return None
    if "\n" in match[0] and not any(map(str.isdigit, value)):
        return None
    if is_strong:
        ends = _CLAUSE_ENDS.match(text, end) is not None and not is_unpacked
        good = is_password(value, quoted=quoted, assigned=assigned, ends=ends)
    else:
        good = is_key(value, quoted=quoted, assigned=assigned)
    if good and not quoted and len(value) > _MAX_VALUE and (more := _MORE.match(text, end)) is not None:
        end = more.end()
    return (start, end) if good else None


def _by(pattern: str, judge: Callable[[str], bool], *, flags: int = re.IGNORECASE) -> Finder:
    """A finder for group ``value`` of a pattern that starts with the anchor."""

    def find(text: str, start: int, _end: int) -> Span | None:
        match = compiled(pattern, flags).match(text, start)
        if match is None or not judge(match["value"]):
            return None
        return match.start("value"), match.start("value"), match.end("value")

    return find


def _login(value: str) -> bool:
    """True for a name and password that are not placeholders or two numbers."""
    name, _, password = value.partition(":")
    if not _is_real(password) or (name.isdigit() and password.isdigit()):
        return False
    return not (name.lower() in _EXAMPLES and password.lower() in _EXAMPLES)


_EXAMPLES = frozenset("user username name pass password passwd pwd secret me foo bar token".split())  # noqa: SIM905


def _is_real(value: str) -> bool:
    return len(value) > 2 and not is_placeholder(value)


def _has_digits(value: str) -> bool:
    return has_digit(value) and _is_real(value) and any(map(str.isalpha, value))


def _encoded(value: str) -> bool:
    name = value.replace("_", "").replace("-", "")
    return len(value) >= 8 and not (is_placeholder(value) or is_reference(value) or name.isalpha())


def _address(text: str, start: int, _end: int) -> Span | None:
    match = _USER_INFO.match(text, start)
    if match is None:
        return None
    value = match["value"]
    good = _login(value) if ":" in value else len(value) >= 20 and _has_digits(value)
    return (match.start("value"), match.start("value"), match.end("value")) if good else None


_USER_INFO = expression(r"://(?P<value>[^\s/@:\"'`<>]{0,128}(?::[^\s/@\"'`<>]{1,256})?)@(?=[\w\[$%{.-])")
_REST = r"[^\n|;&]{0,200}?"
_ARGUMENT = r"[\"']?(?P<value>[^\s\"']{3,200})"
_COOKIES = (
    r"cookie\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}\\?[\"']?(?P<value>[\w.$-]{1,80}=[^\s\"';\\]{1,1000}"
    r"(?:; ?[\w.$-]{1,80}=[^\s\"';\\]{1,1000}){0,12})"
)


def _cookies(value: str) -> bool:
    values = [part.partition("=")[2] for part in value.split(";")]
    return any(len(each) >= 12 and _has_digits(each) for each in values)


NAMED: tuple[Named, ...] = (
    *(
        Named("password", anchor, _password)
        for anchor in (
            *("password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "contraseña"),
            *("contrasena", "mot de passe", "senha", "пароль", "密码", "パスワード"),
        )
    ),
    Named("password", "pass", _short),
    Named("password", "_pw", _short),
    *(Named("secret or token", anchor, _token) for anchor in ("secret", "token", "credential")),
    Named("key", "key", _key),
    Named("password", "identified by", _password),
    Named(
        "authorization header",
        "authorization",
        _by(
            r"authorization\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"']?"
            r"(?:(?:basic|bearer|token|bot|apikey|digest|negotiate|ssws|key|genie-?key)[ =]{1,2})?"
            r"(?P<value>[\w.~+/=:-]{8,4000})",
            _encoded,
        ),
    ),
    Named("bearer token", "bearer ", _by(r"bearer (?P<value>[\w.~+/=-]{16,4000})", _has_digits)),
    Named("cookie", "cookie", _by(_COOKIES, _cookies)),
    Named("cookie", "sessid", _by(r"sessid=(?P<value>[\w-]{16,200})", _has_digits)),
    Named("cookie", "connect.sid", _by(r"connect\.sid=(?P<value>[\w%.+/-]{16,200})", _has_digits)),
    Named("address with a password", "://", _address),
    Named("address with a password", "@tcp(", lambda text, start, _end: _before_tcp(text, start)),
    Named(
        "password on a command line",
        "curl",
        _by(
            rf"curl\b{_REST}\s(?:-u|--user|--proxy-user)[ =]?[\"']?"
            r"(?P<value>[^\s:\"']{0,64}:[^\s\"']{3,200})",
            _login,
        ),
    ),
    Named(
        "password on a command line",
        "curl",
        _by(
            rf"curl\b{_REST}\s(?:-b|--cookie)[ =][\"']?(?P<value>[\w.-]{{1,80}}=[^\s\"']{{12,999}})",
            _cookies,
        ),
    ),
    *(
        Named(
            "password on a command line",
            command,
            _by(rf"{re.escape(command)}\w{{0,10}}\b{_REST}\s{option}{_ARGUMENT}", _is_real),
        )
        for command, option in (
            ("mysql", "-p(?![ =-])"),
            ("mariadb", "-p(?![ =-])"),
            ("sshpass", "-p ?"),
            ("redis-cli", "-a ?"),
            ("docker login", "-p ?"),
            ("podman login", "-p ?"),
            ("helm registry login", "-p ?"),
            ("mongo", "-p ?"),
            ("ldapsearch", "-w ?"),
            ("smbclient", r"-U ?[\"']?[^\s%]{1,60}%"),
            ("openssl", r"-pass(?:in|out)? pass:"),
            ("xfreerdp", "/p:"),
            ("7z", "-p"),
            ("zip", "-P ?"),
            ("sqlcmd", "-P ?"),
            ("bcp", "-P ?"),
            ("az login", "-p ?"),
            ("cf login", "-p ?"),
            ("oc login", "-p ?"),
        )
    ),
    Named("password file", ":5432:", _by(r":5432:(?:[^:\s]{1,80}:){2}(?P<value>[^\s\"':]{3,200})", _is_real)),
    *(
        Named(
            "seed phrase",
            anchor,
            _by(rf"{anchor}\W{{0,6}}(?:is )?(?P<value>(?:[a-z]{{3,8}} ){{11,23}}[a-z]{{3,8}})\b", bool),
        )
        for anchor in ("seed phrase", "recovery phrase", "mnemonic", "seed_phrase")
    ),
)  # fmt: skip


def _before_tcp(text: str, start: int) -> Span | None:
    """Name and password in an address of the form used by Go programs."""
    value = re.split(r"[\s\"'`/=]", text[max(0, start - 180) : start])[-1]
    if ":" not in value or not _login(value):
        return None
    return start - len(value), start - len(value), start
