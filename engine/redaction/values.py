"""Distinguishes a secret after a naming word from a placeholder, reference, type or plain word."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

from engine.startup.lazy import expression

_WORDS = frozenset(
    """
    str string text bytes bool boolean int integer float number none null nil true false undefined
    void any object array list dict optional required mandatory needed unknown empty missing invalid
    valid wrong correct incorrect right expired expires safe weak strong short long same different
    set unset reset changed stored hashed encrypted plain plaintext hidden visible masked redacted
    removed rotated revoked protected private public secret secrets password passwords passwd
    passphrase pwd token tokens key keys credential credentials value values input output field name
    user username login email here there below above gone lost found out in on off not never always
    only also good bad fine important yes no this that these those what which the a an your my our
    their its it is was be are you we they default example sample test dummy fake placeholder
    changeme change-me change_me todo tbd fixme ask prompt disabled enabled auto automatic manual
    custom basic bearer digest oauth oauth2 jwt saml ldap file env environment vault keyring
    keychain stdin inherit incoming generated random provided supplied given sent leaked exposed
    available accepted rejected refused denied checked verified confirmed asked used unused typed
    entered self args kwargs params config settings options request response payload data body
    header headers result session ed25519 x25519 secp256k1 base64 base64url sha256 sha512
    aes-128-cbc aes-256-cbc aes-256-gcm aes256 chacha20 rs256 hs256 es256 pbkdf2 argon2 argon2id scrypt bcrypt
    cookie bytearray uint8array secretstr secretsmanager minioadmin
    """.split()  # noqa: SIM905 — one word a line would hide the rest of the module
)
_MARKS = "<[{(*•…$%@#!"
"""With which a placeholder begins."""
_PLACEHOLDER = expression(
    r"[<\[{(•…].*|\*(?![A-Za-z]{3,}\d).*|\$.*|%\(\w+\)s?|%\w+%|%\w|@\w+@|#[0-9a-fA-F]{3,8}|![a-z]+[-/][\w/-]*",
    re.DOTALL,
)
_FILLERS = r"""
    xxx *** ... … •• ___ ---- ### ??? redacted examplekey 0000-0000 \u003c \u003e .tgz# ${ {{ [secret]
""".split()  # noqa: SIM905
"""Within a placeholder or a reference."""
_PHRASES = tuple(
    """
    your insert enter replace change paste my the some a_ a- an_ an- use put add get set fill value new old
    """.split()  # noqa: SIM905
)
_PHRASE = expression(
    r"(?:(?i:your|insert|enter|replace|change|paste)[ _-]?|"
    r"(?i:my|the|some|an?|use|put|add|get|set|fill)[ _-]|"
    r"(?:my|the|some|use|put|add|get|set)(?=[A-Z]))[\w -]{0,40}?"
    r"(?:(?i:key|token|secret|password|passwd|pass|pwd|value|credentials?)|"
    r"(?<![A-Za-z0-9])(?i:here|me|it|this|in))"
    r"[\w-]{0,20}|value\d{0,4}|(?i:my|the|some|an?|new|old)(?i:key|token|secret|password|passwd|pass|pwd)\d{0,4}"
)
_ELSEWHERE = expression(
    r"(?:\.{0,2}/|~/|%2[Ff]|[A-Za-z]:[\\/]|https?:|file:|env[:.]|vault:|op:|ssm:|arn:|secretsmanager|keyring:|"
    r"projects/|sha\d+[:-]|md5[:-]|(?:process\.)?env\b|os\.|ENC\[|!!?[a-z/]+$|&[a-z_-]+$|data:)"
)
_PUBLIC = (
    *(f"AAAA{each}3Nza" for each in "BCE"),
    *("iVBORw0", "/9j/4", "R0lGOD", "d09GM", "PHN2Zy", "UklGR", "JVBERi0", "LS0tLS1CRUdJTiBDRVJU"),
    *(f"MII{each}" for each in "ABCDEFGHIJ"),
    *("MFkwEwYHKoZIzj0CAQ", "MCowBQYDK2V", "MIGfMA0GCSqGSIb3DQEBAQUAA4", "MEUCI", "MEQCI", "MEYCI"),
    *("pk_live_", "pk_test_", "sb_publishable_", "phc_", "pk.eyJ", "W/"),
)
"""How public keys, signatures, certificates, pictures, fonts and documents begin, most of them in base64."""
_BEFORE_PUBLIC = (
    *("sha1:", "sha256:", "sha384:", "sha512:", "h1:", ".tgz#", "base64,", "site-verification="),
    *("?si=", "&si=", "igsh=", "igshid=", "ixid=", "fbclid=", "gclid=", "msclkid="),
)
"""What stands before a hash, what is no text in base64, or what tells a site where a visitor comes from."""
_CONSTANT = expression(r"(?:[A-Za-z_]\w{0,60}\.){0,4}[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=?")
_DOTTED = expression(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+")
_NUMBERED_AT_END = expression(r"[a-z]{4}\d{2,4}$")
"""As passwords of two words end, and hardly any name in code."""
_PART = expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CALL = expression(r"[A-Za-z_][\w.]*[\[(]|[A-Za-z_]\w*\|")
_COMPARISON = expression(r"[\w.()\[\]\"'!-]+[!=<>]=[^=\s]")
_NAMES_ITSELF = expression(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?i:(?:api|access|auth|my|your|db)?"
    r"(?:passw(?:or)?d|passphrase|passwd|secret|token|credential|cred\b|key(?!board)|pwd|pass(?![A-Za-z])|auth))"
)
_LABEL = expression(r"[^\W\d_](?:[^\W\d_]|[ '’.:?!*()…-])+")
_TRANSLATED = expression(
    r"(?i:passwor[dt]|passphrase|kennwort|kennung|toegangscode|contrase|clave|senha|palavra|mots?.de.passe|wachtwoord|"
    r"parol|lozinka|geslo|has[lł]|heslo|jelsz|salasana|l[öo]senord|adgangskode|passord|[şs]ifre|slapta[zž]od|"
    r"парол|лозинка|κωδικ|密[码碼]|口令|パスワード|暗証|비밀번호|암호|mật khẩu|kata sandi|รหัส|סיסמ|كلمة|رمز)"
)
"""What programs call a password in their languages."""
_SENTENCE = expression(r"(?:(?:[^\W\d_]+(?:['’-][^\W\d_]+)*[.,:;!?]*|\d{1,3}[.,:;!?]*|[?!:–-])(?: +|$)){3,}")
_FOURS = expression(r"[a-z]{4}(?: [a-z]{4}){3}")
"""A password for one program, as Google gives it."""
_STAND_IN = expression(
    r"(?:[a-z]+[_-])*(?:fake|dummy|example|sample|placeholder|mock|your|replace|changeme)"
    r"(?:[_-](?:[a-z]+|\d{1,4}))+",
    re.IGNORECASE,
)
_JOINED_PARTS = expression(r"[A-Za-z]+(?:[_-](?:[A-Za-z]+|\d{1,4}))+")
_STANDS_FOR_KEY = expression(r"(?:[A-Za-z]{1,14}|[A-Za-z0-9]{1,5})(?:[-_](?:[a-z]{1,14}|[A-Z]{1,14}))+")
_ID = expression(
    r"(?:\w{1,30}=)?(?:msg|msgbatch|toolu|srvtoolu|req|request|call|fc|chatcmpl|cmpl|resp|gen|run|thread|asst|step|file|"
    r"batch|evt|event|item|conv|trace|span|cus|ftjob|rs|org|user|acct|proj|dpl|css|price|sub|ses|sess|prt|per)[_-][A-Za-z0-9_-]{8,}"
    r"|(?:GHSA(?:-[23456789cfghjmpqrvwx]{4}){3}|CVE-\d{4}-\d{4,7})"
    r"|(?:[a-z]+[_-])?01[0-9A-HJKMNP-TV-Z]{24}|1[\w-]{32}|1Z[0-9A-Z]{16}|\.?css-[a-z0-9]{5,8}(?:-\w+)+"
)
"""Ids of messages, tool calls, requests, files and the like, which services of models and others give."""
_HASHED = expression(r"[a-z]+(?:_[a-z0-9]+)+-[0-9a-f]{16}|[a-z]\w{0,60}?_[0-9a-f]{8}_(?:fk|uniq|idx)\w{0,60}")
"""A name with a hash in it, as of what is built and of an index of a table."""
_FORMED = expression(
    r"(?!pk|pub|client)(?:[a-z]{2,12}[_-]){1,3}"
    r"(?=(?:[a-z0-9]*[A-Z]){4})(?=(?:[A-Z0-9]*[a-z]){4})(?=[A-Za-z]*[0-9])[A-Za-z0-9]{30,120}"
    r"|[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,45}"  # Discord
    r"|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"  # Mailgun
    r"|[12][A-Za-z0-9]{26}_[A-Za-z0-9]{20,22}"  # ngrok
    r"|[0-9a-f]{10}msh[0-9a-f]{15}p1[0-9a-f]{5}jsn[0-9a-f]{12}"  # RapidAPI
)
_ID_SIZES = (18, 26, 33)
_ADDRESS = expression(
    r"S[TPM][0-9A-Z]{38,39}(?:\.[\w-]{1,60})?|G[A-Z2-7]{55}|(?:bc|tb|addr|cosmos)1[02-9ac-hj-np-z]{38,100}"
    r"|Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[ky][a-z2-7]{40,60}"
)
_BASE58 = expression(r"[1-9A-HJ-NP-Za-km-z]{42,44}|[1-9A-HJ-NP-Za-km-z]{86,88}")
_MARK = expression(r"[-_:./]")
_SLUG = expression(r"(?:[A-Za-z]+|[A-Za-z0-9]{1,12})(?:[-_:./](?:[A-Za-z]+|[A-Za-z0-9]{1,12})){1,15}")
_SLUG_WORD = expression(r"(?<![A-Za-z0-9])(?:[a-z]{3,}|[A-Z][a-z]{2,}|[A-Z]{3,})(?![A-Za-z0-9])")
_KNOWN = expression(
    r"\d{4}-\d\d-\d\d(?:[T ][\d:.,]+(?:Z|[+-][\d:]+)?)?|0x(?:[0-9a-fA-F]{40}|[0-9A-F]{16}|[0-9a-fA-F]{1,8})"
    r"|(?:[a-z]\w*\.)+[A-Z][\w$]*@[0-9a-f]{4,8}"
    r"|(?i:(?:ctrl|control|cmd|command|alt|option|opt|shift|meta|super|win|mod|fn)[+-])+\w{1,9}(?: .{1,20})?"
    r"|\d+(?:,\d+){2,}|[a-z]\w{0,60}(?:::[A-Za-z]\w{0,60})+|(?:[0-9A-Fa-f]{2}:){5,31}[0-9A-Fa-f]{2}|api@\d{1,5}|\.[a-z][\w-]{1,40}(?::[a-z-]{1,20})?|--[a-z][a-z0-9-]{1,60}|var\(--[\w-]{1,60}\)|[A-Z]\w+(?:\|[A-Z]\w+)+|\w+\(\d+\)|(?:(?:[A-Za-z]+|\d+)-){2,}|[\w./-]{1,200}#L\d+(?:-L\d+)?|(?=[^.]*\.)(?=(?:[^A-Z]*[A-Z]){2})(?:[MLHVCSQTAZmlhvcsqtaz]?-?[\d.]++)++[Zz]?(?:[Mm][\d.]+)?"
)
_MIXED = expression(r"[A-Za-z][0-9]+[A-Za-z]+[0-9]+[A-Za-z]|[0-9][A-Za-z]+[0-9]+[A-Za-z]+[0-9]")
_CAPITAL_WITHIN = expression(r"[a-z][A-Z]")
_SEPARATORS = expression(r"[\W_]")
_CAMEL_NUMBERED = expression(r"(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,}+|\d{1,4}+){1,9}+")
_FILE = expression(
    r"[\w@()~ -]{1,100}(?:\.[\w-]{1,40}){0,4}\.(?:png|jpe?g|gif|svg|webp|ico|pdf|txt|md|jsonl?|[cm]?[jt]sx?"
    r"|s?css|html?|map|py|rb|go|rs|java|kt|swift|[ch]|[ch]pp|cs|php|sh|sql|ya?ml|toml|lock|log|csv|xml|zip"
    r"|t?gz|tar|mp[34]|wav|mov|db|vue|svelte|woff2?|ttf)(?:\?[\w=.&-]{0,40})?(?::\d{1,7}){0,2}"
)
"""The name of a file, with a line and a column as in a stack trace."""
_DIGIT = expression(r"[0-9]")


def entropy(text: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in Counter(text).values()) if text else 0.0


def is_placeholder(value: str) -> bool:
    """True for a placeholder, a reference to a value, a keyword or a plain word."""
    lowered = value.lower()
    return (  # what is easily told comes first: a hook pays for each expression that it compiles
        lowered in _WORDS
        or (value[:1] in _MARKS and _PLACEHOLDER.fullmatch(value) is not None)
        or lowered.endswith("000000")
        or any(each in lowered for each in _FILLERS)
        or len(set(value)) <= 2
        or (lowered.startswith(_PHRASES) and _PHRASE.fullmatch(value) is not None)
        or (not value.isalnum() and _ELSEWHERE.match(value) is not None and not _is_encoded(value))
        or (("_" in value or "-" in value) and _is_joined_words(value))
        or value.startswith(_PUBLIC)
    )


def _is_joined_words(value: str) -> bool:
    """True for a constant, a stand-in such as ``fake-key-1``, or words of which one is such as *password*."""
    if _STAND_IN.fullmatch(value) or _CONSTANT.fullmatch(value):
        return True
    return _JOINED_PARTS.fullmatch(value) is not None and _NAMES_ITSELF.search(value) is not None


def is_label(value: str) -> bool:
    """True for the word for password in some language, as a program shows it, or for a sentence."""
    if value.count(" ") > 1 and _SENTENCE.fullmatch(value) and not _FOURS.fullmatch(value):
        return True
    is_shown = not value[:1].islower() or any(each in value for each in " :*?")
    return is_shown and _LABEL.fullmatch(value) is not None and _TRANSLATED.search(value) is not None


def is_id(value: str) -> bool:
    """True if it has the form of the ids that services give to messages, tool calls and the like."""
    if not ("_" in value or "-" in value or len(value) in _ID_SIZES):
        return False
    return _ID.fullmatch(value) is not None or _HASHED.fullmatch(value) is not None


def is_formed(value: str) -> bool:
    """True for the form of a key that no prefix tells: that of an unknown service, and of some known ones."""
    return _FORMED.fullmatch(value) is not None and is_mixed(value) and not is_id(value)


def is_address(value: str) -> bool:
    """True for an address of Stacks, Stellar, Bitcoin, Cosmos or IPFS."""
    return _ADDRESS.fullmatch(value) is not None


def is_base58(value: str) -> bool:
    """True for 32 or 64 bytes in base58: in Solana an address, a signature, or a private key."""
    return _BASE58.fullmatch(value) is not None


def is_slug(value: str) -> bool:
    """True for words joined by marks, with a number or two among them, as things in code are called."""
    return _SLUG.fullmatch(value) is not None and 2 * len(_SLUG_WORD.findall(value)) >= len(
        _MARK.findall(value)
    )


def is_published(text: str, start: int) -> bool:
    """True if a public key, a signature, a hash, a picture or the like starts at a place."""
    return text.startswith(_PUBLIC, start) or text[max(0, start - 20) : start].lower().endswith(
        _BEFORE_PUBLIC
    )


def is_public(value: str) -> bool:
    """True for a time, a number or address in hexadecimal, Java objects, keys, lines in files, types, SVG."""
    return (not value.isalnum() or value.startswith("0x")) and _KNOWN.fullmatch(value) is not None


def is_file(value: str) -> bool:
    """True for the name of a file, with its folders or not."""
    return "." in value and _FILE.fullmatch(value.rpartition("/")[2]) is not None


def stands_for_key(value: str) -> bool:
    """True if what follows a key's prefix is words, as in ``your-key-goes-here``."""
    return _STANDS_FOR_KEY.fullmatch(value) is not None


def is_mixed(value: str) -> bool:
    """True if letters and digits, or small and capital letters, alternate in it as they do in no name."""
    part = value[:200]
    if _HASHED.fullmatch(part) or not has_digit(part) or entropy(part) < 3 or is_placeholder(value):
        return False
    return _MIXED.search(part) is not None or any(
        len(each) >= 10
        and _CAPITAL_WITHIN.search(each) is not None
        and _CAMEL_NUMBERED.fullmatch(each) is None
        for each in _SEPARATORS.split(part)
    )


def has_digit(value: str) -> bool:
    """True if it contains a digit of any script."""
    return _DIGIT.search(value) is not None or (not value.isascii() and any(map(str.isdigit, value)))


def _is_code(value: str) -> bool:
    """True if it looks like a call, a comparison or a union of types."""
    if any(each in value for each in ("&&", "||", "..")):
        return True
    # Test for a bracket first: the pattern is tried at every letter.
    if any(each in value for each in "[(|") and _CALL.search(value):
        return True
    return "=" in value and _COMPARISON.match(value) is not None


def _is_encoded(value: str) -> bool:
    """True if a value that starts like a path is base64."""
    return value.startswith("/") and ("+" in value or value.endswith("="))


def is_reference(value: str) -> bool:
    """True for an identifier or an expression in source code."""
    if _is_code(value):
        return True
    # In a name, letters of one case stand together; digits are few.
    return (
        _DOTTED.fullmatch(value) is not None
        and 4 * len(_PART.findall(value)) <= len(value) + 6
        and _NUMBERED_AT_END.search(value) is None
    )


def has_digits(value: str) -> bool:
    """True if letters and digits are in it, and it is no placeholder."""
    return has_digit(value) and is_real(value) and any(map(str.isalpha, value))


def is_real(value: str) -> bool:
    """True if it is long enough and no placeholder."""
    return len(value) > 2 and not is_placeholder(value)


def _is_seed(value: str) -> bool:
    """True for words of which hardly any joins others to a sentence."""
    words = value.lower().split()
    return 6 * sum(each in _JOINING for each in words) <= len(words)


def _is_phrase(value: str) -> bool:
    """True for words that make no sentence."""
    return not _JOINING.intersection(value.replace("-", " ").split())


_JOINING = _WORDS | frozenset(
    """
    must have this that with from into will shall should would could when then than where which each every
    least more most some such both four five words word characters letters enter type write stored used using
    known been were does have makes make needs need protects protect there their them they what after before
    please long file files sent read never once only asks asked
    """.split()  # noqa: SIM905
)


def _is_login(value: str) -> bool:
    """True for ``name:password`` unless they are placeholders or two numbers, or for a token alone."""
    if ":" not in value:
        return len(value) >= 20 and has_digits(value)
    name, _, password = value.partition(":")
    if not is_real(password) or (name.isdigit() and password.isdigit()):
        return False
    return not (name.lower() in _EXAMPLES and password.lower() in _EXAMPLES)


_EXAMPLES = frozenset("user username name pass password passwd pwd secret me foo bar token".split())  # noqa: SIM905


def _is_credential(value: str) -> bool:
    name = value.replace("_", "").replace("-", "").rstrip(".,:;")
    return len(value) >= 8 and not (is_placeholder(value) or is_reference(value) or name.isalpha())


def _has_secret_cookie(value: str) -> bool:
    values = [part.partition("=")[2] for part in value.split(";")]
    return any(len(each) >= 12 and has_digits(each) for each in values)


CHECKS: Mapping[str, Callable[[str], bool]] = {
    "real": is_real,
    "digits": has_digits,
    "mixed": is_mixed,
    "login": _is_login,
    "credential": _is_credential,
    "cookie": _has_secret_cookie,
    "hash": lambda value: has_digit(value.rpartition("$")[2].rpartition("}")[2]),
    "phrase": _is_phrase,
    "seed": _is_seed,
}
"""What a value must pass where its place alone does not tell."""
