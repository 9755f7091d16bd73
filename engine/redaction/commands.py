"""Secrets that only their place tells: arguments of commands, logins in addresses, fields of headers."""

# ruff: noqa: E501 — one line for a place
from __future__ import annotations

import re
from collections.abc import Iterator

from engine.redaction.kinds import Kind

_REST = r"[^\n|;&]{0,200}?"
_ARGUMENT = r"\\?[\"']?(?P<value>[^\s\"'\\]{3,200})"
_LOGIN = r"\\?[\"']?(?P<value>[^\s:\"'/]{0,64}:[^\s\"'\\]{3,200})"
_COOKIES = (
    r"\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}\\?[\"']?(?P<value>[\w.$-]{1,80}=[^\s\"';\\]{1,1000}"
    r"(?:; ?[\w.$-]{1,80}=[^\s\"';\\]{1,1000}){0,12})"
)
_CALLS = "withemailandpassword|createuser|login|log_in|login_as|sign_in|signin|auth|authenticate|connect|connection|credential|credentials|mysqli|pdo|pw_set|create_user|create_superuser"
"""Functions whose arguments are a user and a password, in this order."""
_KEYPAIRS = "uint8array.from(|id.json|keypair|secretkey|secret_key|private_key|privatekey|private key"
"""Before a key of Solana as numbers."""
_PRINTERS = "pass show|gopass show|op read|bw get password|lpass show|vault kv get|openssl rand|pwgen|print-access-token|get-login-password|gh auth token|find-generic-password|secret-tool lookup"
"""Commands that print a secret alone."""
_SEED = r"(?:(?:\d{1,2}[.)] ?)?[a-z]{3,8}[ \n]){11,23}(?:\d{1,2}[.)] ?)?[a-z]{3,8}"
_HERE = "here is the|here's the|here is my|here's my|this is the|this is my|hier ist der|hier ist mein|das ist der|voici la|voici ma|aquí está la|aquí está mi|aqui está a|ecco la|oto|вот|这是|這是|これが|이게|이것이"
"""Before the name of what follows."""
_NAME_OF_KEY = r"(?:(?:api|secret|private|access|encryption|signing|master|new|admin)[ -]){0,3}(?:key|secret|token|schlüssel|clé|clave|chave|chiave|klucz|ключ|密钥|密鑰|私钥|鍵|キー|키)"
_THERE = r"(?:です|입니다|예요|에요|야)?[ \t]?[:：.。,，]?(?:\s|\\n){1,3}[\"'`]?"
_CODE = r"(?=[a-z-]{0,20}\d)[a-z0-9]{4,10}(?:-[a-z0-9]{4,10}){0,3}"
_REGISTRY = r"\s{0,3}\\?[\"']?(?P<value>[A-Za-z0-9+/]{16,400}={0,2})(?![\w.-])"
_READERS = r"(?:sudo (?:-\w{1,2} )?)?(?:sudo -S|-S|chpasswd|passwd(?: --stdin| \w)|kinit|smbpasswd|cryptsetup|vncpasswd|docker login|docker secret create|gh secret set|wrangler secret put|vercel env add|pass insert|secret-tool store|gcloud secrets|gpg)"
_OPTIONS = r"""
mysql mariadb         | -p(?![ =-])
sshpass mongo docker+login podman+login helm+registry+login az+login cf+login oc+login | -p ?
redis-cli             | -a ?
zip unzip sqlcmd bcp mosquitto_ | (?-i:-P) ?
unrar 7z rar          | -p(?=\S)
ldap                  | (?-i:-w) ?
snmp                  | (?-i:-[cAX]) ?
keytool jarsigner     | -\w{0,5}(?:store|key)pass[ =]
cmdkey                | /pass:
xfreerdp mstsc        | /p:
add-generic-password  | -w ?
smbclient             | -U ?[\"']?[^\s%]{1,60}%
openssl               | -(?:pass(?:in|out)?|passwd)(?: -\d)? (?:pass:)?(?![a-z]+\b)
openssl               | (?-i:-[kK]) (?!\S+\.\w{2,4}\b)
kadmin addprinc       | -pw ?
psexec                | -p ?
x11vnc                | -passwd ?
lftp                  | -u ?\S{1,60}?,
usermod useradd       | -p ?
"""
"""Commands, and the option whose argument is a password."""
_LINE, _ADDRESS, _FILE = "password on a command line", "address with a password", "password file"
_PLACES: tuple[tuple[str, str, str, str, str], ...] = (
    ("authorization header", "authorization", r"\\?[\"']?\]?(?:\\?[\"'], ?\\?[\"']?value\\?[\"']?)?[ \t]{0,3}[:=, ][ \t]{0,3}\\?[\"']?(?:[a-z][\w-]{1,20}[ =]{1,2})?(?P<value>[\w.~+/=:-]{8,4000})", "$", "credential"),
    ("bearer token", "bearer ", r"(?P<value>[\w.~+/=-]{16,4000})", "", "digits"),
    ("cookie", "cookie", _COOKIES, "$", "cookie"),
    (_ADDRESS, "://", r"(?P<value>[^\s/@:\"'`<>]{0,128}(?::[^\s/@\"'`<>]{1,256})?)@(?=[\w\[$%{.-])", "$", "login"),
    (_LINE, "curl", rf"\b{_REST}\s(?:-b|--cookie)[ =][\"']?(?P<value>[\w.-]{{1,80}}=[^\s\"']{{12,999}})", "", "cookie"),
    (_LINE, "--user|--auth|--proxy-user|--login", rf"[ =]?{_LOGIN}", r"[\s\"']$", "login"),
    (_LINE, "curl", rf"\b{_REST}\s-[a-z]{{0,5}}u ?{_LOGIN}", "", "login"),
    (_LINE, "http|https|xh", rf" -a ?{_LOGIN}", "", "login"),
    (_LINE, "echo|printf|yes", rf"(?: -\w{{1,2}})? \\?[\"']?(?P<value>[^\s\"'\\$|-](?:[^\s\"'\\$|]|\\{{1,2}}n){{2,100}})\\?[\"']? ?\| ?{_READERS}", "", "real"),
    ("password", "pwd={", r"(?P<value>[^{}\s]{4,80})\}", ";$", "digits"),
    (_LINE, "<(echo ", r"\\?[\"']?(?P<value>[^\s\"'\\$)]{8,200})", "", "digits"),
    (_LINE, "mc alias set |mc config host add ", r"\S{1,60} \S{1,200} \S{1,100} (?P<value>[^\s$]{8,100})", "", "real"),
    (_LINE, "http-basic.", r"\S{1,80} \S{1,80} (?P<value>[^\s$]{6,200})", " $", "real"),
    (_LINE, "pypi-token.|github-oauth.|gitlab-token.", r"\S{1,80} (?P<value>[^\s$]{16,400})", " $", "digits"),
    (_LINE, "bundle config ", r"(?:set )?(?:--\w{1,10} )?\S{3,80} (?P<value>[^\s:/]{1,64}:[^\s$]{4,200})", "", "login"),
    (_LINE, "vault login |operator unseal |snyk auth |infisical login |authtoken ", r"(?P<value>[\w.+/=-]{16,200})", "", "digits"),
    (_LINE, 'send "|send \\"|send -- "', r"(?P<value>[^\s\"\\$]{6,80})\\{1,2}[rn]", "", "digits"),
    (_LINE, "<<<", r" ?\\?[\"']?(?P<value>[^\"'\n$\s]{3,100})", rf"{_READERS[:-1]}|--passphrase-fd 0)[^\n]{{0,40}} $", "real"),
    (_LINE, "htpasswd", r" (?=[^\n|;&]{0,20}-\w{0,3}b)(?:-\w{1,4} ){1,4}(?:[^\s-]\S{0,80} ){1,2}(?P<value>[^\s$\"']{4,100})", "", "real"),
    (_LINE, "net use", r" (?:[^\n]{0,80}?/user:\S+|(?:\w: )?\\\\\S{1,80}) (?P<value>[^\s/\"'*]\S{3,100})", "", "real"),
    (_LINE, "net user", r" \S{1,60} (?P<value>[^\s/\"'*][^\s\"']{3,100})", "", "digits"),
    (_LINE, "convertto-securestring", r" (?:-string )?\\?[\"'](?P<value>[^\"'$\n\\]{3,200})", "", "real"),
    (_LINE, "wpa_passphrase ", r"\S{1,40} (?P<value>\S{6,80})", "", "real"),
    (_LINE, "sqlplus|impdp|expdp|rman", r" (?:system/|scott/|[\w.]{1,40}/)(?P<value>[^\s@/\"']{4,80})", "", "real"),
    (_LINE, "radtest ", r"(?:-\w \S{1,20} )?\S{1,60} (?P<value>[^\s\"'$]{4,80})", "", "real"),
    (_LINE, "isql ", r"(?:-\w )?\w\S{0,60} \w\S{0,60} (?P<value>[^\s\"'$-][^\s\"']{3,80})", "", "digits"),
    (_LINE, " -u ", r"[\"']?[^\s\"']{1,60}[\"']? -p ?[\"']?(?!\d{1,5}[:/\s])(?P<value>[^\s\"'$%/-][^\s\"'$/]{3,80})", "$", "digits"),
    (_LINE, "wandb login ", r"(?:--relogin )?(?P<value>[0-9a-f]{40})\b", "", ""),
    (_LINE, "secret set", r" [^\n]{0,120}? --value[ =][\"']?(?P<value>[^\s\"']{4,200})", "", "real"),
    (_LINE, "put-parameter", rf" {_REST}--value[ =][\"']?(?P<value>[^\s\"'$]{{4,200}})", "", "digits"),
    (_LINE, " on >|auth default |nickserv identify ", r"(?P<value>[^\s\"']{6,80})", "$", "digits"),
    (_LINE, "ascii-text ", r"[\"']?(?P<value>[^\s\"']{4,80})", "(?:key|secret|password) $", "real"),
    (_LINE, "encrypt_string", r" [\"'](?P<value>[^\"'\n]{4,200})", "", "real"),
    (_LINE, "rabbitmqctl add_user |rabbitmqctl change_password ", r"[\w.-]{1,40} (?P<value>\S{4,80})", "", "real"),
    ("printed secret", _PRINTERS, r"[^\n→]{0,160}(?:\n+| → )(?P<value>[^\s:]{8,400})(?=\s*(?:\n|$))", "$", "digits"),
    ("password", "identified by", r" (?:password )?\\?[\"'](?P<value>[^\s\"'\\]{4,100})", "", "real"),
    ("password", 'variable "', r'[\w-]*(?:pass(?:word|wd|phrase)?|pwd|secret|token|key)" \{[^{}]{0,300}?\bdefault\s{0,9}=\s{0,9}"(?P<value>[^"\n]{4,200})"', "", "real"),
    ("password", _CALLS, r"\((?:[^()\"'\n]{0,80}[\"'][^\"'\n]{0,160}[\"'], ?){1,3}?[\"'](?P<value>[^\s\"'/]{8,80})[\"']", "$", "digits"),
    ("password", "networkcredential(|directoryentry(", r"(?:[^()\"'\n]{0,80}[\"'][^\"'\n]{0,160}[\"'],\s{0,40}){1,2}[\"'](?P<value>[^\s\"'/]{6,80})[\"']", "", "real"),
    ("password", "bcrypt(|bcrypt.hash(|bcrypt.compare(|hashsync(|comparesync(|hash_password(|make_password(|password_hash(", r"b?[\"'](?P<value>[^\s\"'$]{6,80})[\"']", "", "digits"),
    ("password", "md5(|sha1(|sha2(|sha256(|crypt(", r"[\"'](?P<value>[^\s\"'$]{6,80})[\"']", r"(?i:passw\w{0,9}|pwd)[\"'`]?\s{0,3}[=:,(]\s{0,3}$", "digits"),
    ("password", "crypt(", r"'(?P<value>[^\s'$]{6,80})', ?gen_salt", "", "digits"),
    ("password", "set password for ", r"[^\n=]{1,120}= ?(?:password\()?'(?P<value>[^\s']{4,80})'", "", "real"),
    ("key of a cipher", "createhmac(", r"[\"'][\w-]{2,12}[\"'], ?[\"'](?P<value>[^\s\"']{8,200})[\"']", "", "digits"),
    ("password", "auth=(", r"[\"'][^\"'\n]{1,60}[\"'], ?[\"'](?P<value>[^\s\"'/]{6,80})[\"']\)", "", "digits"),
    ("secret of a signature", "jwt.", r"(?:sign|verify|encode|decode)\([^()\"'\n]{1,80}, ?[\"'](?P<value>[^\s\"']{8,80})[\"']", "$", "digits"),
    (_ADDRESS, "root:|admin:", r"(?P<value>[^\s:@/\"']{6,80})@(?=[\w-]{1,60}\.)", r"(?:^|[\s\"'`(])$", "digits"),
    ("key of a cipher", "buffer.from(|bytes.fromhex(|unhexlify(", r"[\"'](?P<value>[0-9a-f]{32,128})[\"']", r"(?i:(?<![a-z_])(?!\w{0,20}pub)\w{0,20}(?:key|secret|seed))\w{0,20}\s{0,3}[:=]\s{0,3}$", "digits"),
    ("key of a cipher", "fernet(", r"b?[\"'](?P<value>[\w-]{43}=)[\"']", "", ""),
    ("private key", _KEYPAIRS, r"[^\n\[]{0,60}\[\s{0,9}(?P<value>(?:\d{1,3},\s{0,9}){63}\d{1,3})\s{0,9}\]", "$", ""),
    ("private key", "sk|secret_key_hex", r"\\?[\"']?\s?(?:[:=]|is|→)\s?\\?[\"']?(?P<value>(?:0x)?[0-9a-f]{64})(?!\w)", r"(?:^|[^A-Za-z])$", ""),
    ("private key", "accounts", r"\\?[\"']?\s?[:=]\s?\[\s{0,40}\\?[\"'](?P<value>(?:0x)?[0-9a-f]{64})\\?[\"']", "$", ""),
    ("PIN", "pin", r"(?:[ _-]?(?:code|number))?\\?[\"']?(?:[ \t]{0,3}[:=]|[ \t](?:is|ist|est|es|è|é|to|är|:)|(?=[ \t]\d{6}))[ \t]{0,3}\\?[\"']?(?P<value>\d{4,12})(?![\w.])", r"(?:^|[^A-Za-z])$", ""),
    ("private key", _HERE, rf" {{0,2}}{_NAME_OF_KEY}{_THERE}(?P<value>(?:0x)?[0-9a-f]{{32,128}})(?![\w-])", r"(?<![A-Za-z])$", ""),
    ("secret or token", "이게|이것이|여기", rf" {{0,2}}(?:\w{{1,10}} ){{0,2}}\w{{0,10}}키(?:입니다|예요|에요|야|다|요)?{_THERE}(?P<value>[A-Za-z0-9+/_-]{{20,200}}={{0,2}})", "$", "mixed"),
    ("Azure key", "storage key|primary key|secondary key|account key|primarykey|secondarykey|storage_key|primary_key|secondary_key|account_key", r"[\"'`]?(?:\s?[:=]| is)?\s{0,3}[\"'`]?(?P<value>[A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=)(?![\w=])", "$", "mixed"),
    ("SNMP community", "com2sec", r" \S{1,40} \S{1,60} (?P<value>\S{3,80})", "", "real"),
    ("password of a router", "password 0 |secret 0 ", r"(?P<value>\S{4,80})", "", "real"),
    ("password of a router", "|".join(f"{word} {level} " for word in ("password", "secret") for level in "5789"), r"(?P<value>\S{4,80})", "", "digits"),
    ("password of a router", "tacacs|radius|isakmp", rf"{_REST}\bkey (?:\d )?(?P<value>\S{{6,80}})", "", "digits"),
    ("password of a network", "wifi:", r"(?:[^;:\n]:[^;\n]{0,40};){0,4}P:(?P<value>(?:\\.|[^;\\\n]){4,80}+);", "", "real"),
    ("login of a mail server", "]:587|]:465", r"\s{1,9}(?P<value>[^\s:]{1,80}:\S{3,100})", ".$", "login"),
    ("registry login", 'auth":|auth\\":|auth" :|auth\':|auth: ', _REGISTRY, "", "mixed"),
    ("registry login", "_auth=", _REGISTRY, ".$", "mixed"),
    (_FILE, ":*:", r"[^:\s]{1,80}:(?P<value>[^\s\"':]{3,200})", r"[\w.*-]+:(?:\d{2,5}|\*)$", "real"),
    (_FILE, "5432:|5433:|3306:|6432:", r"(?:[^:\s]{1,80}:){2}(?P<value>[^\s\"':]{3,200})", r"[\w.*-]:$", "real"),
    (_FILE, "chpasswd:", r"\s{1,20}(?:expire: \w{1,9}\s{1,20})?(?:list|users):[ |]{0,3}\s{1,20}(?P<value>[\w.-]{1,40}:\S{4,80})", "", "login"),
    ("password of an account", " / ", r"[\"'`]?(?P<value>[^\s\"'`/<>,;]{6,80})", r"@[\w-]{1,40}(?:\.[\w-]{2,20}){1,3}[\"'`]?$", "digits"),
    ("password hash", "pbkdf2_sha256$|pbkdf2_sha1$|pbkdf2:sha256:|pbkdf2:sha512:|scrypt:|scram-sha-1$|scram-sha-256$|$argon2i|$argon2d|$pbkdf2|$scrypt$|{ssha}|{ssha512}|{crypt}", r"[\w.:/$=,+-]{24,300}", "$", "hash"),
    ("password hash", "$1$|$5$|$6$|$8$|$9$|$y$|$2y$|$2a$|$2b$|$apr1$", r"[\w./$=,+-]{20,200}", r"(?<![\w$])$", ""),
    ("seed phrase", "seed phrase|seed-phrase|recovery phrase|recovery words|secret phrase|mnemonic|seed_phrase|seed:|words:|助记词|助記詞", rf"(?: (?:for|of|to|from)\b[^\n:]{{1,40}}:)?(?:\\n|\W){{0,6}}(?:(?:is|was|are|ist|est|es|to|是)\W{{0,4}}(?<=\W))?(?P<value>{_SEED})\b", r"(?<![A-Za-z])$", "seed"),
    ("seed phrase", "助记词|助記詞", r"\W{0,6}[是为為]?\W{0,4}(?P<value>[\u4e00-\u9fff](?:[ \n、，][\u4e00-\u9fff]){11,23})", "$", ""),
    ("recovery code", "recovery code|backup code|scratch code|rescue code", rf"s?(?: are| is)?:?\s{{1,4}}(?P<value>{_CODE}(?:[\s,;]{{1,3}}{_CODE}){{0,15}})(?![\w-])", "", ""),
    ("app password", "pass", r"(?:word|wd)?\s?=\s?[\"']?(?P<value>[a-z]{4}(?: [a-z]{4}){3})(?=[\"'\s]|$)", "$", ""),
    ("passphrase", "passphrase|pass phrase", r"(?: (?:for|of|to|on) [^\n:=?]{1,30})?(?:\s?[:=?]| is| was)\s{0,2}[\"'`]?(?P<value>(?:[a-z]{4,9}[ -]){3,7}[a-z]{4,9})(?=[\"'`]|[ .,]{0,2}(?:\n|$)| →)", "", "phrase"),
    (_ADDRESS, "jdbc:oracle:", r"\w{1,8}:[^\s/:@]{1,60}/(?P<value>[^\s@]{3,80})@", "", "real"),
    ("ticket of Kerberos", "$krb5", r"[a-z]{2,8}\$\d{1,3}\$[^\s\"']{40,4000}", "", ""),
)  # fmt: skip
"""Kind, anchors, the pattern after one of them, what stands before it, and what the secret must pass."""


def command_kinds() -> Iterator[Kind]:
    """All kinds of secrets that a place tells."""
    for name, anchors, rest, before, check in _PLACES:
        for anchor in anchors.split("|"):
            yield Kind(name, anchor, f"(?i:{re.escape(anchor)}{rest})", before, check)
    yield Kind(_ADDRESS, "@tcp(", r"(?=@tcp\()", r"[^\s\"'`/=]{1,80}:[^\s\"'`/=]{1,100}$", "login")
    for line in _OPTIONS.strip().splitlines():
        commands, option = (part.strip() for part in line.split("|", 1))
        for command in commands.replace("+", "\0").split():
            anchor = command.replace("\0", " ")
            pattern = rf"(?i:{re.escape(anchor)}\w{{0,10}}\b{_REST}\s{option}{_ARGUMENT})"
            yield Kind(_LINE, anchor, pattern, "", "real")
