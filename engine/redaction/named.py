"""Secrets recognizable only by their context: a naming word, a header, an option, an address."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.redaction.foreign import FOREIGN_KEYS, FOREIGN_PASSWORDS
from engine.redaction.kinds import compiled
from engine.redaction.values import (
    has_digit,
    is_id,
    is_key,
    is_mixed,
    is_password,
    is_placeholder,
    is_random,
    is_reference,
    is_typed,
)
from engine.startup.lazy import expression
from engine.startup.records import dataclass

Span = tuple[int, int, int]
"""Start of the redacted part, start of the secret itself, end of both."""
Finder = Callable[[str, int, int], Span | None]
"""Finds a secret in a text, given the start and end of an anchor."""

_MAX_VALUE = 200
"""Maximum characters of a value that are checked; the rest still belongs to it."""
_PLAIN = r"[^\s\"'`“”<>,;\\&]"
_VALUE = (
    r"(?:(?P<quote>\\?[\"'`]|“)(?P<inner>[^\n\"'`“”]{1,256}?)(?:\\?[\"'`]|”)"
    rf"|[\"'`“]?(?P<bare>(?:{_PLAIN}|\\(?![nrt\"'])|&(?![\w.%-]{{1,40}}=))"
    rf"{_PLAIN}{{0,{_MAX_VALUE}}}(?:(?:\\(?![nrt\"'])|&(?![\w.%-]{{1,40}}=)){_PLAIN}{{0,{_MAX_VALUE}}}){{0,8}}))"
)
_REMAINDER = expression(rf"{_PLAIN}*")
_OF_SECRETS = (
    r"(?:access|key|base|value|string|text|production|prod|dev|staging|test|live|main|old|new|"
    r"phrase|\d{1,3}(?!\d))"
)
_TAIL = rf"(?:[_. -]?{_OF_SECRETS})*(?![A-Za-z])"
_OPERATOR = (
    r"(?:\\?[\"'`\]]){0,3}(?:"
    r"[ \t]{0,3}:[ \t]?[A-Za-z_][\w.\[\]| ]{0,40}?[ \t]?=[ \t]{0,3}(?=[\"'])"  # password: str = "…"
    r"|[ \t]{0,3}(?::=|=>|={1,3}|:(?!:)|：|＝)\s{0,3}"
    r"|,?(?:\s|\\n){1,40}\\?[\"']?value\\?[\"']?[ \t]{0,3}[:=]\s{0,3}"  # name: PASSWORD, value: …
    r")"
)
_AFTER_OPERATOR = expression(f"{_TAIL}{_OPERATOR}{_VALUE}", re.IGNORECASE)
_TAGGED = expression(rf"{_TAIL}\\?[\"']?>(?P<bare>[^<>\n]{{3,200}})</", re.IGNORECASE)
_IN_PROSE = expression(
    rf"{_TAIL}[\"'`]?(?: (?:for|of|to|on|at|in|pour|für|para)(?: [\w@.'’/-]{{1,40}}){{1,4}}?)?"
    r" (?:is|was|are|will be|remains|ist|lautet|est|es|è|é)"
    rf"(?: (?:now|still|currently|again|just|set to|jetzt)){{0,2}}:? (?P<rest>{_VALUE})",
    re.IGNORECASE,
)
_AFTER_SPACE = expression(rf"{_TAIL}[\"'`]?[ \t]{{1,3}}{_VALUE}", re.IGNORECASE)
_NEARBY = expression(r"[^\n]{0,60}?(?<![\w/.+-])(?P<bare>[\w+/=~.-]{16,200})", re.IGNORECASE)
_DIGIT = expression(r"[0-9]")
_OTHERS_NAME = expression(
    rf"(?<![\w.-])(?!{_OF_SECRETS}[\"'\\])[\w.-]{{1,60}}\\?[\"'][ \t]{{0,3}}[:=][ \t]{{0,3}}\\?[\"'`]?$",
    re.IGNORECASE,
)
"""The name of another value, as in ``"id": "``."""
_UUID = expression(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ENVIRONMENT = expression(r"(?:[A-Z][A-Z0-9]*_)*[A-Z]*$")
_OPTION = expression(r"(?:^|\s)-{1,2}[\w=-]{0,40}$|configure set [\w.-]{0,40}$|setx? [\w-]{0,40}$")
_LOGIN_COMMAND = expression(r"login \S{1,80}\s{1,9}$|(?:identified by|with) $", re.IGNORECASE)
_KEY_QUALIFIERS = tuple(
    """
    api access secret private signing sign encryption encrypt master account shared preshared auth app
    application service hmac storage deploy license licence jwt crypto webhook admin anon role subscription
    integration write read server client project rails openai maps
    """.split()  # noqa: SIM905 — words of one list
)
_PUBLIC = ("public", "publishable", "site", "pub")
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


def _find_password(text: str, start: int, end: int) -> Span | None:
    return _find_after_word(text, start, end, is_strong=True)


def _find_token(text: str, start: int, end: int) -> Span | None:
    return _find_after_word(text, start, end, is_strong=False)


def _find_key(text: str, start: int, end: int) -> Span | None:
    before = text[max(0, start - 16) : start].lower()
    bare = before[:-1] if before[-1:] in ("_", "-", " ") else before
    if bare.endswith(_KEY_QUALIFIERS):
        word = next(each for each in _KEY_QUALIFIERS if bare.endswith(each))
        found = _find_after_word(text, start - len(word) - len(before) + len(bare), end, is_strong=False)
        is_name = word in ("project", "storage") and found and _UUID.fullmatch(text, found[1], found[2])
        return None if is_name else found
    if before[-1:] in ("?", "&") and text[end : end + 1] == "=":
        found = _find_after_word(text, start, end, is_strong=False)
        return found if found is not None and is_mixed(text[found[1] : found[2]]) else None
    if text[start:end] == "KEY" and before[-1:] == "_" and not bare.endswith(_PUBLIC):
        found = _find_after_word(text, start, end, is_strong=False)
        value = text[found[1] : found[2]] if found is not None else ""
        return found if is_random(value) or (len(value) >= 32 and _HEX.fullmatch(value)) else None
    return None


def _find_short_word(text: str, start: int, end: int) -> Span | None:
    """Finds a password after ``pass`` or ``pw``, which are parts of many words."""
    before = text[start - 1 : start]
    if before.isalpha() and not (before.islower() and text[start].isupper()):
        return None
    if text.startswith("--- ", max(0, start - 4)):
        return None  # "--- PASS: TestX/a_case", as go prints it
    match = _AFTER_OPERATOR.match(text, end)
    if match is None:
        match = _IN_PROSE.match(text, end)
        if match is None or not _has_digits(match["inner"] or match["bare"]):
            return None
    value = match["inner"] or match["bare"]
    # "tests pass: `make all`" names a command.
    is_command = match["quote"] == "`" and " " in value
    if value.isdigit() or "pass" in value.lower() or is_command:
        return None
    return _find_password(text, start, end)


def _find_after_word(text: str, start: int, end: int, *, is_strong: bool) -> Span | None:
    """Finds the secret after a naming word."""
    before = text[max(0, start - 60) : start]
    operator_match = _AFTER_OPERATOR.match(text, end)
    if operator_match is not None:
        environment = text[start:end].isupper() and _ENVIRONMENT.search(before) is not None
        tight = (
            not operator_match[0][: operator_match.start("bare") - end].endswith((" ", "\t"))
            if operator_match["bare"]
            else True
        )
        assigned = (environment and tight) or _OPTION.search(before) is not None
        is_unpacked = before.endswith(", ") and "=" in operator_match[0]
        found = _secret_span(
            text,
            operator_match,
            is_strong=is_strong,
            assigned=assigned,
            is_unpacked=is_unpacked and not assigned,
        )
        return None if found is None else (start, found[0], found[1])
    tagged = _TAGGED.match(text, end) if text[end : end + 40].find(">") >= 0 else None
    if tagged is not None:
        value = tagged["bare"].strip()
        is_secret = (
            is_password(value, quoted=True, assigned=True, ends=True)
            if is_strong
            else is_key(value, quoted=True, assigned=True)
        )
        return (tagged.start("bare"), tagged.start("bare"), tagged.end("bare")) if is_secret else None
    prose = _IN_PROSE.match(text, end)
    if prose is not None:
        found = _secret_span(text, prose, is_strong=is_strong, assigned=False)
        if found is not None:
            return found[0], found[0], found[1]
    spaced = _AFTER_SPACE.match(text, end)
    if spaced is not None and prose is None:
        value = spaced["inner"] or spaced["bare"]
        sure = _OPTION.search(before) is not None or (is_strong and _LOGIN_COMMAND.search(before) is not None)
        likely = (
            is_strong and len(value) >= 7 and any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        )
        if sure or likely:
            found = _secret_span(text, spaced, is_strong=is_strong, assigned=sure)
            if found is not None:
                return found[0], found[0], found[1]
    line_end = text.find("\n", end, end + 400)
    if _DIGIT.search(text, end, line_end if line_end >= 0 else end + 400) is None:
        return None  # nothing random follows
    nearby = _NEARBY.match(text, end)
    while nearby is not None and nearby.end() - end < 120:
        value = nearby["bare"].rstrip(_TRAILING)
        if (
            is_random(value)
            and not is_id(value)
            and not _OTHERS_NAME.search(text[end : nearby.start("bare")])
        ):
            return nearby.start("bare"), nearby.start("bare"), nearby.start("bare") + len(value)
        nearby = _NEARBY.match(text, nearby.end())
    return None


def _secret_span(
    text: str, match: re.Match[str], *, is_strong: bool, assigned: bool, is_unpacked: bool = False
) -> tuple[int, int] | None:
    """The span of a match's value if it is a secret; unpacking such as ``name, password = both`` is not."""
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
        is_secret = is_password(value, quoted=quoted, assigned=assigned, ends=ends)
    else:
        is_secret = is_key(value, quoted=quoted, assigned=assigned)
    if (
        is_secret
        and not quoted
        and len(value) > _MAX_VALUE
        and (more := _REMAINDER.match(text, end)) is not None
    ):
        end = more.end()
    return (start, end) if is_secret else None


def _finder(pattern: str, judge: Callable[[str], bool], *, flags: int = re.IGNORECASE) -> Finder:
    """A finder for group ``value`` of a pattern that starts with the anchor."""

    def find(text: str, start: int, _end: int) -> Span | None:
        match = compiled(pattern, flags).match(text, start)
        if match is None or not judge(match["value"]):
            return None
        return match.start("value"), match.start("value"), match.end("value")

    return find


def _is_login(value: str) -> bool:
    """True for ``name:password`` unless they are placeholders or two numbers."""
    name, _, password = value.partition(":")
    if not _is_real(password) or (name.isdigit() and password.isdigit()):
        return False
    return not (name.lower() in _EXAMPLES and password.lower() in _EXAMPLES)


_EXAMPLES = frozenset("user username name pass password passwd pwd secret me foo bar token".split())  # noqa: SIM905


def _is_real(value: str) -> bool:
    return len(value) > 2 and not is_placeholder(value)


def _has_digits(value: str) -> bool:
    return has_digit(value) and _is_real(value) and any(map(str.isalpha, value))


def _is_credential(value: str) -> bool:
    name = value.replace("_", "").replace("-", "")
    return len(value) >= 8 and not (is_placeholder(value) or is_reference(value) or name.isalpha())


def _find_user_info(text: str, start: int, _end: int) -> Span | None:
    match = _USER_INFO.match(text, start)
    if match is None:
        return None
    value = match["value"]
    is_secret = _is_login(value) if ":" in value else len(value) >= 20 and _has_digits(value)
    return (match.start("value"), match.start("value"), match.end("value")) if is_secret else None


_USER_INFO = expression(r"://(?P<value>[^\s/@:\"'`<>]{0,128}(?::[^\s/@\"'`<>]{1,256})?)@(?=[\w\[$%{.-])")
_REST = r"[^\n|;&]{0,200}?"
_ARGUMENT = r"[\"']?(?P<value>[^\s\"']{3,200})"
_HTPASSWD = (
    r"htpasswd (?=[^\n|;&]{0,20}-\w{0,3}b)(?:-\w{1,4} ){1,4}"
    r"(?:[^\s-]\S{0,80} ){1,2}(?P<value>[^\s$\"']{4,100})"
)
_HTTPIE = r"https? (?:-a|--auth)[ =][\"']?(?P<value>[^\s:\"']{1,64}:[^\s\"'$]{3,200})"
_COOKIES = (
    r"cookie\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}\\?[\"']?(?P<value>[\w.$-]{1,80}=[^\s\"';\\]{1,1000}"
    r"(?:; ?[\w.$-]{1,80}=[^\s\"';\\]{1,1000}){0,12})"
)


def _has_secret_cookie(value: str) -> bool:
    values = [part.partition("=")[2] for part in value.split(";")]
    return any(len(each) >= 12 and _has_digits(each) for each in values)


def _find_pat(text: str, start: int, end: int) -> Span | None:
    """Finds a personal access token, as in ``GIT_PAT=…``."""
    return _find_token(text, start, end) if text[end : end + 1] in ("=", ":", '"', "'") else None


def _find_psk(text: str, start: int, end: int) -> Span | None:
    before = text[start - 1 : start]
    within = before.isalpha() and not (before.islower() and text[start].isupper())
    return None if within else _find_password(text, start, end)


def _find_secret(text: str, start: int, end: int) -> Span | None:
    """Finds what follows ``secret``; that of sessions and JSON web tokens may consist of words."""
    if _SIGNING.search(text[max(0, start - 12) : start]):
        match = _AFTER_OPERATOR.match(text, end) or _IN_PROSE.match(text, end)
        value = (match["inner"] or match["bare"]).rstrip(_TRAILING) if match else ""
        if _PHRASE.fullmatch(value):
            return _find_password(text, start, end)
    return _find_token(text, start, end)


_PHRASE = expression(r"(?:[a-z]{2,}[-_ .]){2,}[a-z]{2,}|[a-z]{16,}")
_SIGNING = expression(r"(?:jwt|session|cookie|signing|nextauth)[_ .-]?$", re.IGNORECASE)


def _find_community(text: str, start: int, end: int) -> Span | None:
    """Finds the community of SNMP, which is its password."""
    if _SNMP.search(text[max(0, start - 60) : start]) is None:
        return None
    match = _AFTER_OPERATOR.match(text, end) or _AFTER_SPACE.match(text, end)
    if match is None or not _is_real(match["inner"] or match["bare"]):
        return None
    group = "inner" if match["inner"] else "bare"
    return match.start(group), match.start(group), match.end(group)


_SNMP = expression(r"snmp|\br[ow]$", re.IGNORECASE)

_LATIN = expression(r"[A-Za-zÀ-ɏ]{2}")
_FOREIGN_SUFFIX = r"[^\W\d_]{0,8}"
_FOREIGN_OPERATOR = expression(
    rf"{_FOREIGN_SUFFIX}(?P<more>(?:[_ -][^\W\d_]{{1,14}}){{0,3}}) ?{_OPERATOR}{_VALUE}"
)
_FOREIGN_NEARBY = expression(
    rf"{_FOREIGN_SUFFIX}(?P<between>[^\n\d.!?。！？:=]{{0,48}}?)(?P<colon>(?::\s)?)(?<![\w/.+@-])"
    r"(?=[^\s\d]{0,80}\d)(?P<bare>[A-Za-z0-9!@#$%^&*+=~-][\w!@#$%^&*+=~.-]{5,200})",
    re.ASCII,
)
_COPULA = expression(
    r"(?:(?:^|[\s\"'`])(?:is|to|är|er|on|je|este|è|é|es|est|ist|lautet|adalah|ialah|là|είναι|היא|הוא|هي|هو|es|lett|lesz)"
    r"|是|为|為|は|는|은|คือ|है|[—–:：=-])[ \t]{0,2}[\"'`「“«]?$"
)
"""What joins a name to its value in a sentence, such as *is*."""


def _find_foreign_password(text: str, start: int, end: int) -> Span | None:
    return _find_foreign(text, start, end, is_strong=True)


def _find_foreign_key(text: str, start: int, end: int) -> Span | None:
    return _find_foreign(text, start, end, is_strong=False)


def _find_foreign(text: str, start: int, end: int, *, is_strong: bool) -> Span | None:
    """Finds the secret after a naming word of another language, which endings and other words may follow."""
    before = text[start - 1 : start]
    if (
        end - start < 7
        and _LATIN.match(before + text[start])
        and not (before.islower() and text[start].isupper())
    ):
        return None  # within another word, such as *enclave*
    match = _FOREIGN_OPERATOR.match(text, end)
    if match is not None:
        quoted = match["inner"] is not None
        group = "inner" if quoted else "bare"
        value = match[group].rstrip("" if quoted else _TRAILING)
        at = match.start(group)
        if not is_strong:
            is_secret = len(value) >= 8 and " " not in value and (is_mixed(value) or is_random(value))
        else:
            is_shaped = (
                (is_typed(value) or (_has_digits(value) and "_" not in value))
                if match["more"]
                else (quoted or has_digit(value))
            )
            is_secret = (
                is_shaped and value.isascii() and is_password(value, quoted=quoted, assigned=False, ends=True)
            )
        return (at, at, at + len(value)) if is_secret else None
    nearby = _FOREIGN_NEARBY.match(text, end) if _DIGIT.search(text, end, end + 140) else None
    if nearby is None:
        return None
    value, at = nearby["bare"].rstrip(_TRAILING), nearby.start("bare")
    if is_strong:
        is_secret = is_typed(value) or (
            _COPULA.search(text[end:at]) is not None
            and (value.isdigit() or _has_digits(value))
            and is_password(value, quoted=False, assigned=False, ends=True)
        )
    else:
        is_secret = is_random(value) and not is_id(value)
    return (at, at, at + len(value)) if is_secret else None


def _find_piped(text: str, start: int, _end: int) -> Span | None:
    """Finds what ``echo`` writes to a command that reads a password."""
    match = _ECHOED.search(text[max(0, start - 160) : start])
    if match is None or not _is_real(match["value"]) or match["value"].startswith("-"):
        return None
    first = max(0, start - 160) + match.start("value")
    return first, first, first + len(match["value"])


_ECHOED = expression(
    r"\b(?:echo|printf)(?: -[a-z]{1,3})? \\?[\"']?(?P<value>[^\s\"'\\$|]{3,100})\\?[\"']? ?$"
)


NAMED: tuple[Named, ...] = (
    *(
        Named("password", anchor, _find_password)
        for anchor in (
            *("password", "passwd", "passphrase", "passcode", "pwd", "bindpw", "passwort", "kennwort"),
            *("contraseña", "contrasena", "senha"),
        )
    ),
    *(Named("password", anchor, _find_foreign_password) for anchor in FOREIGN_PASSWORDS),
    *(Named("key", anchor, _find_foreign_key) for anchor in FOREIGN_KEYS),
    Named("password", "psk", _find_psk),
    Named("password", "community", _find_community),
    Named("password", "pass", _find_short_word),
    Named("password", "_pw", _find_short_word),
    Named("secret or token", "secret", _find_secret),
    *(Named("secret or token", anchor, _find_token) for anchor in ("token", "credential")),
    Named("secret or token", "_pat", _find_pat),
    Named("key", "key", _find_key),
    Named("password", "identified by", _find_password),
    Named(
        "authorization header",
        "authorization",
        _finder(
            r"authorization\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"']?"
            r"(?:[a-z][\w-]{1,20}[ =]{1,2})?"
            r"(?P<value>[\w.~+/=:-]{8,4000})",
            _is_credential,
        ),
    ),
    Named("bearer token", "bearer ", _finder(r"bearer (?P<value>[\w.~+/=-]{16,4000})", _has_digits)),
    Named("cookie", "cookie", _finder(_COOKIES, _has_secret_cookie)),
    Named("cookie", "sessid", _finder(r"sessid=(?P<value>[\w-]{16,200})", _has_digits)),
    Named("cookie", "connect.sid", _finder(r"connect\.sid=(?P<value>[\w%.+/-]{16,200})", _has_digits)),
    Named("address with a password", "://", _find_user_info),
    Named("address with a password", "@tcp(", lambda text, start, _end: _find_before_tcp(text, start)),
    Named(
        "password on a command line",
        "curl",
        _finder(
            rf"curl\b{_REST}\s(?:-[a-z]{{0,5}}u|--user|--proxy-user)[ =]?[\"']?"
            r"(?P<value>[^\s:\"']{0,64}:[^\s\"']{3,200})",
            _is_login,
        ),
    ),
    Named(
        "password on a command line",
        "curl",
        _finder(
            rf"curl\b{_REST}\s(?:-b|--cookie)[ =][\"']?(?P<value>[\w.-]{{1,80}}=[^\s\"']{{12,999}})",
            _has_secret_cookie,
        ),
    ),
    *(
        Named(
            "password on a command line",
            command,
            _finder(rf"{re.escape(command)}\w{{0,10}}\b{_REST}\s{option}{_ARGUMENT}", _is_real),
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
            ("snmp", "(?-i:-c) ?"),
            ("mosquitto_", "(?-i:-P) ?"),
            ("keytool", "-(?:store|key)pass[ =]"),
            ("jarsigner", "-(?:store|key)pass[ =]"),
            ("cmdkey", "/pass:"),
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
    *(
        Named("password on a command line", anchor, _finder(pattern, _is_real))
        for anchor, pattern in (
            ("sudo -s", r"sudo -S[^\n]{0,80}?<<< ?\\?[\"'](?P<value>[^\"'\n$]{3,100})"),
            ("htpasswd", _HTPASSWD),
            ("net use", r"net use (?:[^\n]{0,80}?/user:\S+|\\\\\S{1,80}) (?P<value>[^\s/\"'*]\S{3,100})"),
            ("convertto-securestring", r"[a-z-]+ (?:-string )?\\?[\"'](?P<value>[^\"'$\n\\]{3,200})"),
            *((anchor, _HTTPIE) for anchor in ("http -a", "http --auth", "https -a", "https --auth")),
            ("password 0 ", r"password 0 (?P<value>\S{6,80})"),
            ("secret 0 ", r"secret 0 (?P<value>\S{6,80})"),
            ("com2sec", r"com2sec \S{1,40} \S{1,60} (?P<value>\S{3,80})"),
            ("wifi:", r"wifi:(?:[^;:\n]:[^;\n]{0,40};){0,4}P:(?P<value>(?:\\.|[^;\\\n]){4,80}+);"),
            ("]:587", r"\]:587\s{1,9}(?P<value>[^\s:]{1,80}:\S{3,100})"),
            ("]:465", r"\]:465\s{1,9}(?P<value>[^\s:]{1,80}:\S{3,100})"),
        )
    ),
    *(
        Named("password on a command line", anchor, _finder(pattern, _has_digits))
        for anchor, pattern in (
            ("net user", r"net user \S{1,60} (?P<value>[^\s/\"'*][^\s\"']{3,100})"),
            ("tacacs", rf"tacacs{_REST}\bkey (?:\d )?(?P<value>\S{{6,80}})"),
            ("radius", rf"radius{_REST}\bkey (?:\d )?(?P<value>\S{{6,80}})"),
            *((f"password {each} ", rf"password {each} (?P<value>\S{{4,80}})") for each in "578"),
            *((f"secret {each} ", rf"secret {each} (?P<value>\S{{4,80}})") for each in "589"),
        )
    ),
    *(
        Named("password on a command line", anchor, _find_piped)
        for anchor in ("| sudo -s", "|sudo -s", "| chpasswd", "| sudo chpasswd", "| passwd --stdin")
    ),
    *(
        Named(
            "registry login",
            anchor,
            _finder(
                r"_?auth\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?P<value>[A-Za-z0-9+/]{16,400}={0,2})(?![\w.-])",
                is_mixed,
            ),
        )
        for anchor in ('auth":', 'auth\\":', 'auth" :', "auth':", "auth: ", "_auth=")
    ),
    Named(
        "password file",
        ":5432:",
        _finder(r":5432:(?:[^:\s]{1,80}:){2}(?P<value>[^\s\"':]{3,200})", _is_real),
    ),
    *(
        Named(
            "seed phrase",
            anchor,
            _finder(rf"{anchor}\W{{0,6}}(?:is )?(?P<value>(?:[a-z]{{3,8}} ){{11,23}}[a-z]{{3,8}})\b", bool),
        )
        for anchor in ("seed phrase", "recovery phrase", "mnemonic", "seed_phrase")
    ),
)  # fmt: skip


def _find_before_tcp(text: str, start: int) -> Span | None:
    """Finds name and password in a Go data source name, such as ``name:password@tcp(…)``."""
    value = re.split(r"[\s\"'`/=]", text[max(0, start - 180) : start])[-1]
    if ":" not in value or not _is_login(value):
        return None
    return start - len(value), start - len(value), start
