"""Ids, hashes, labels and placeholders next to naming words, and secrets in the same surroundings.

In a text, ``{w22}`` is 22 letters and digits, ``{x40}`` 40 hexadecimal digits, ``{uuid}`` a UUID:
see ``corpus``.
"""

from __future__ import annotations

import random
import re

from tests.redaction.corpus import generate

_INNOCENT = r"""
{"usage":{"input_tokens":12,"output_tokens":3},"request_id":"req_011C{w20}"}
{"input_tokens":4,"id":"msg_0143{w20}","type":"message"}
{"max_tokens":512,"tool_use_id":"toolu_01{w22}"}
{"type":"tool_result","tokens":812,"tool_use_id":"toolu_01{w22}","content":"ok"}
jq -r '.usage.output_tokens, .id' out.jsonl  # 311 msg_01{w22}
the token count of msg_01{w22} was wrong
"tokens": 88, "response_id": "resp_{w40}"
"total_tokens":190,"id":"chatcmpl-{w29}"
{"completion_tokens": 14, "tool_calls": [{"id": "call_{w24}"}]}
"cache_creation_input_tokens":0,"thread_id":"thread_{w24}","run_id":"run_{w24}"
max_tokens reached in run_{w24} of asst_{w24}
token usage of batch_{w24} and file-{w24}
"service_tier":"standard","output_tokens":7},"parentUuid":"{uuid}","requestId":"req_01{w22}"
"tokens":12,"uuid":"{uuid}","sessionId":"{uuid}"
"total_tokens": 3, "system_fingerprint": "fp_{x10}", "object_id": "obj{w24}"
{"prompt_tokens":22,"generation_id":"gen-{d10}-{w20}"}
tokens: 9 in trace 4bf92f{x26} span {x16}
"secretsScanned": 4, "commit": "{x40}"
"token_hash": "{x64}"
"passwordResetId": "{uuid}"
--- PASS: TestFindCheckpoint/find_first_task_result (0.00s)
All tests pass: `mise run test:ci`
"credential_id":"{uuid}","tokens":4,"etag":"W/{w24}"
"token_id": "tok{d6}-{uuid}"
"storageKey": "{uuid}"
"storage_key": "sha256-{b43}="
"projectKey": "PROJ-1234"
"project_key": "MEM-20451"
"secrets": {"count": 3, "digest": "sha256:{x64}"}
{"kind":"token","sha1":"{x40}","path":"src/tokens.py"}
password-store-1.7.4-{x40}.tar.gz
token.ts {x40} 100644
secrets.yaml.enc {x64}
"tokens_used": 1043, "cursor": "c{w30}"
"password_changed_event": "evt_{w24}"
"token": "input", "node_id": "MDQ6VXNlcj{w20}"
"password": "Passwort"
"password": "Contraseña",
"password": "Kennwort"
"password": "Wachtwoord"
"password": "Hasło",
"password": "Парольный"
"password": "パスワード"
"password": "비밀번호"
"password": "Lösenord"
"password": "Adgangskode"
"password": "Passwort vergessen?"
"password": "Mot de passe :"
"password": "Mot de passe oublié ?"
"password": "Passwort*"
"password": "Das Passwort muss mindestens 8 Zeichen haben."
"password": "At least 12 characters, please!"
"login.password": "Ihr Passwort:"
password: "Kennwort (optional)"
'password' => 'Senha',
password: 'Mot-de-passe',
<string name="password">Passwort</string>
<label for="password">Passwort:</label>
msgid "Password" msgstr "Passwort"
"token": "Zugangs-Token"
"apiKey": "API-Schlüssel"
"secret": "Geheimnis"
"passphrase": "Parolă"
"password": "REDACTED"
"password": "***REDACTED***"
"password": "[REDACTED]"
"token": "<redacted:32>"
"password": "**redacted**"
"token": "redacted-token-1234"
api_key: REPLACE_ME_123
API_KEY=replace-with-your-key-2024
"api_key": "test-api-key-123"
"token": "fake-token-for-tests-1"
"password": "dummy-password-1"
token = "example-token-42"
secret: "not-a-real-secret-99"
"password": "YOUR_PASSWORD_HERE_1"
"apiKey": "sk-ant-api03-REDACTED-REDACTED-REDACTED"
ANTHROPIC_API_KEY=sk-ant-your-key-goes-here
OPENAI_API_KEY=sk-proj-your-openai-key-here
export GITHUB_TOKEN=ghp_your_personal_access_token_goes_here
"token": "PLACEHOLDER_TOKEN_1"
"password": "{{ .Values.db.password2 }}"
"password": "%DB_PASSWORD_1%"
password: !vault-encrypted-2
token: 1234567890
"tokens": [{"t": "Ġhello1234567890World"}]
{"type":"assistant","message":{"model":"m","id":"msg_bdrk_01{w22}","usage":{"output_tokens":5}}}
{"usage":{"total_tokens":5},"choices":[],"created":17,"id":"gen-17{d8}-{w20}"}
"cached_tokens": 0 }, "item_id": "msg_{x48}"
reasoning tokens in rs_{x48}
"prompt_tokens_details":{"cached_tokens":0},"provider_request_id":"{w32}"
[tokens=120 id=msg_01{w22}]
tokens in/out 12/40 for claude session {uuid} (msg_01{w22})
"max_output_tokens": 8192, "previous_response_id": "resp_{x48}"
{"tokens":31,"leafUuid":"{uuid}","toolUseID":"toolu_01{w22}"}
  token: 44  id: toolu_vrtx_01{w22}
"passwordLabel": "Passwort", "passwordHint": "Mindestens 8 Zeichen!"
"confirmPassword": "Passwort bestätigen"
"password": "Heslo",
"password": "Geslo:"
"newPassword": "Nouveau mot de passe"
"password_placeholder": "Passwort eingeben…"
"password": "Wachtwoord vergeten?",
password: "Şifre",
"password": "Jelszó"
"password": "Toegangscode"
"secretKey": "Geheimer Schlüssel"
"token": "Jeton d’accès"
"accessToken": "Zugriffstoken"
"api_key": "YOUR-API-KEY"
"api_key": "my-api-key"
"apiKey": "sk-xxxxxxxxxxxxxxxxxxxx"
"apiKey": "sk-1234..."
OPENAI_API_KEY="sk-your-openai-api-key-here"
api_key="<ANTHROPIC_KEY_2>"
"token": "********1234"
"token": "***"
client_secret: "${CLIENT_SECRET_2}"
token_sha256: {x64}
"secretHash": "{b43}="
tokens.json  sha256:{x64}
credential cache entry {x40}
git show {x40}:src/token.py
"credentials": {"id": "{uuid}", "kind": "x"}
"""

_SECRET = r"""
{"usage":{"input_tokens":12},"api_key":"[{w32}]"}
{"id":"msg_01{w22}","token":"[{w40}]"}
{"tool_use_id":"toolu_01{w22}","password":"[{l6}{d2}]"}
{"request_id":"req_011C{w20}","client_secret":"[{w40}]"}
"tokens": 4, "access_token": "[{w40}]"
"password": "[Winter2024!]"
"password": "[Passwort123]"
"password": "[Passwort!7x]"
"password": "[hasloMasla9]"
"password": "[swordfish]"
"password": "[correct-horse-battery]"
"password": "[Tr0ub4dor&3]"
"db_password": "[kartoffel]"
"password": "[sunshine!!]"
password: '[hunter2 is mine9]'
"adminPassword": "[P4ss w0rd x9]"
"passphrase": "[k4ese kuchen 7zwerge]"
password: [letmein99]
Passwort: [Sommer2023]
Kennwort: [geheim!42]
contraseña: [perro77gato]
mot de passe : [chat44noir]
the token for staging should be [{w9}Q7z{w20}] again
my token, copy it: [{w12}q7Z{w20}]
here is the secret you asked for, [{w12}q7Z{w20}]
the token (from the mail) was [{w12}q7Z{w20}]
use token [{w12}q7Z{w20}] for msg_01{w22}
credentials we got today [{w12}q7Z{w20}]
token -> [{w12}q7Z{w20}]
secret ([{w12}q7Z{w20}])
"storageKey": "[{b86}==]"
"api_key": "[{uuid}]"
"apiKey": "[{x32}]"
API_KEY=[{x32}]
CLIENT_SECRET=[{w40}]
ACCESS_TOKEN=[{w40}]
SECRET_KEY=[{w50}]
"secret": "[{x64}]"
"token": "[{x40}]"
"auth_token": "[{uuid}]"
session_token=[{w44}]
"refresh_token":"[{w60}]","scope":"all"
{"tokens":{"access":"x","access_token":"[{w60}]"}}
<password>[geheim42x]</password>
<string name="password">[Kx{w8}9]</string>
<add key="password" value="[Kx{w8}9]"/>
- name: DB_PASSWORD\n  value: [Kx{w8}9]
DB_PASSWORD=[tiger]
PGPASSWORD=[elefant] psql
MYSQL_ROOT_PASSWORD: [{w12}]
--password [{w10}]
--token=[{w32}]
--api-key [{w32}]
mysql -u root -p[{w12}] app
curl -u admin:[{w12}] https://a.example
postgres://app:[{w14}]@db.example/app
redis://:[{w20}]@cache:6379
{"url":"https://user:[{w14}]@host.example/x"}
Authorization: Bearer [{w40}]
{"headers":{"Authorization":"Bearer [{w40}]"}}
X-Api-Key: [{w32}]
machine a login b password [{w12}]
IDENTIFIED BY '[{w12}]'
WITH PASSWORD '[{w12}]'
DSN=root:[{w14}]@tcp(db:3306)/app
"sas": "sv=2022&sig=[{w43}%3D]"
the password is [{w10}]
its password was [{w5}!%{w5}] until May
the api key is [{w32}]
my secret key: [{w40}]
cookie: sid=[{w40}]
{"Cookie":"session=[{w40}]; lang=en"}
the password for staging is "[kuchen]"
jwt_secret: [{w32}]
webhook secret = [{w32}]
"signingKey": "[{b43}=]"
DJANGO_SECRET_KEY='[{w50}]'
"encryption_key": "[{x64}]"
{"id":"msg_01{w22}","tokens":3,"bot_token":"[{d10}:AA{w33}]"}
"password":"[geheimnis77]"
"password": "[Sonnenschein]"
"password": "[blumen-topf-9]"
"apiToken": "[{w40}]"
{"credentials":{"login":"a","password":"[{w12}]"}}
auth token for ci: [{w9}Q7z{w20}]
I rotated the token, new one is [{w9}Q7z{w20}]
export TOKEN=[{w36}]
"private_key": "[{b44}]"
secret_key = "[{w40}]"
"sharedSecret" : "[{b43}=]"
pwd: [Qq7!{w8}]
"pwd":"[Qq7!{w8}]"
spring.datasource.password=[{w12}]
password => '[{w12}]'
:password "[{w12}]"
"password" = "[{w12}]"
$env:API_KEY = "[{w32}]"
setx API_KEY [{w32}]
the passphrase is [drei-gelbe-enten]
sk-[{w48}]
"key": "sk-ant-api03-[{w80}]"
"""


def _texts(lines: str, seed: int) -> list[str]:
    draw = random.Random(seed)

    def value(match: re.Match[str]) -> str:
        shape = "x8 =- x4 =-4 x3 =- x4 =- x12" if match[1] == "uuid" else match[1]
        return generate(draw, shape)

    return [re.sub(r"\{(uuid|[wulxdb]\d+)\}", value, line) for line in lines.strip().splitlines()]


def innocent() -> list[str]:
    """Texts that contain no secret."""
    return _texts(_INNOCENT, 5)


def secrets() -> list[tuple[str, str]]:
    """Texts, and the secret in each."""
    found = []
    for line in _texts(_SECRET, 6):
        before, _, rest = line.partition("[")
        value, _, after = rest.rpartition("]")
        found.append((before + value + after, value))
    return found
