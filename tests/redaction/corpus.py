"""Fake secrets of many kinds in four contexts, and innocent strings.

Values are generated at test time from patterns in which every key is split in two, so that this file itself
contains nothing that a secret scanner would report.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Iterator

CONTEXTS = ("env", "json", "command line", "prose")

_SETS = {
    "w": string.ascii_letters + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "x": "0123456789abcdef",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "-": string.ascii_letters + string.digits + "-_",
}

# Kind and shape: space-separated parts; "w36" is 36 letters and digits, "=…" is literal text.
_SHAPED = """
Anthropic | =sk- =ant-api03- w80 =-AA
OpenAI project | =sk- =proj- w48
OpenAI service account | =sk- =svcacct- w48
OpenAI older | =sk- w48
OpenRouter | =sk- =or-v1- x64
Google API | =AI =za -35
Google OAuth | =ya =29. -60
Google OAuth secret | =GOC =SPX- w28
Hugging Face | =hf =_ w34
Groq | =gs =k_ w52
Perplexity | =pp =lx- w48
xAI | =xa =i- w80
Replicate | =r =8_ w37
NVIDIA | =nva =pi- w64
LangSmith | =lsv2 =_pt_ x32 =_ x10
Pinecone | =pc =sk_ w60
Tavily | =tv =ly- w32
GitHub personal | =gh =p_ w36
GitHub server | =gh =s_ w36
GitHub refresh | =gh =r_ w36
GitHub fine-grained | =github =_pat_ w22 =_ w59
GitLab personal | =gl =pat- w20
GitLab runner | =gl =rt- w20
GitLab deploy | =gl =dt- w20
GitLab trigger | =gl =ptt- x40
AWS access key | =AK =IA u16
AWS session key | =AS =IA u16
Slack bot | =xo =xb- d12 =- d12 =- w24
Slack user | =xo =xp- d12 =- d12 =- x32
Slack app | =xa =pp-1- u11 =- d13 =- x64
Slack webhook | =https://hooks.slack =.com/services/T u8 =/B u8 =/ w24
Discord webhook | =https://discord =.com/api/webhooks/ d18 =/ w68
Stripe live | =sk =_live_ w24
Stripe restricted | =rk =_live_ w24
Webhook signing | =wh =sec_ w32
npm | =np =m_ w36
PyPI | =py =pi-AgEIcHlwaS5vcmc w60
RubyGems | =ruby =gems_ x48
crates.io | =ci =o w32
Docker Hub | =dckr =_pat_ w27
DigitalOcean | =dop =_v1_ x64
SendGrid | =S =G. w22 =. w43
Twilio | =S =K x32
Mailgun | =ke =y- x32
Mailchimp | x32 =- =us12
Brevo | =xkey =sib- x64 =- w16
Telegram | d10 =: =AA w33
Shopify admin | =shp =at_ x32
Shopify shared | =shp =ss_ x32
Vault | =hv =s. w90
Doppler | =dp =.pt. w43
Linear | =lin =_api_ w40
Notion | =nt =n_ w46
Airtable | =pa =t w14 =. x64
Atlassian | =ATA =TT3xFfGF0 w60
Bitbucket | =ATB =B w32
Figma | =fig =d_ w40
Postman | =PM =AK- x24 =- x34
New Relic | =NR =AK- u27
Grafana | =gl =sa_ w32 =_ x8
Sentry | =snt =rys_ w60
PostHog | =ph =x_ w43
Square | =sq0 =atp- w22
Razorpay | =rzp =_live_ w14
Flutterwave | =FLW =SECK- x32 =-X
EasyPost | =EZ =AK x54
Databricks | =da =pi x32
Pulumi | =pu =l- x40
Terraform Cloud | w14 =.atlas =v1. w60
SonarQube | =sq =p_ x40
Artifactory | =AK =Cp w69
Alibaba | =LT =AI w20
Supabase | =sb =p_ x40
PlanetScale | =psc =ale_tkn_ w43
Netlify | =nf =p_ w40
HubSpot | =pa =t-na1- x8 =- x4 =- x4 =- x4 =- x12
Dynatrace | =dt0 =c01. u24 =. u64
Azure client secret | w3 =8 =Q~ w34
age | =AGE- =SECRET-KEY-1 u58
JSON web token | =ey =JhbGciOiJIUzI1NiJ9. =ey =JzdWIiOiIxMjM0NSJ9. -43
1Password service | =ops_ =eyJ w80
Mapbox | =sk. =eyJ1Ijoi w40 =. w22
"""

# Kind, shape of the value {v}, then the text in each context.
_NAMED = r"""
AWS secret | b40 | AWS_SECRET_ACCESS_KEY={v} | {"aws_secret_access_key": "{v}"} | aws configure set aws_secret_access_key {v} | My AWS secret access key is {v}, do not share it.
password, short | l4 d2 | DB_PASS={v} | {"password": "{v}"} | deploy --password {v} --force | The password is {v}.
password, phrase | =correct-horse-battery | PASSWORD="{v}" | {"password": "{v}"} | tool --password="{v}" | the password for staging is "{v}"
password, letters | =swordfish | DB_PASSWORD={v} | {"db_password": "{v}"} | PGPASSWORD={v} psql -h db | Password: {v}
password, symbols | w5 =!% w5 | ADMIN_PASSWORD={v} | {"adminPassword": "{v}"} | tool --admin-password '{v}' | its password was {v} until May
passphrase | w12 | KEY_PASSPHRASE={v} | {"passphrase": "{v}"} | gpg --batch --passphrase {v} -d f | The passphrase for the key is {v}.
Django key | w50 | SECRET_KEY={v} | {"SECRET_KEY": "{v}"} | SECRET_KEY={v} python manage.py check | our secret key is {v}
Rails key | x128 | SECRET_KEY_BASE={v} | {"secret_key_base": "{v}"} | SECRET_KEY_BASE={v} rails s | secret_key_base: {v}
named API key | x32 | DATADOG_API_KEY={v} | {"api_key": "{v}"} | tool --api-key {v} run | Here is the API key: {v}
client secret | w40 | CLIENT_SECRET={v} | {"clientSecret": "{v}"} | tool --client-secret={v} | the client secret is {v}
access token | w40 | ACCESS_TOKEN={v} | {"accessToken": "{v}"} | tool --token {v} | use the access token {v} for now
UUID key | x8 =- x4 =- x4 =- x4 =- x12 | HEROKU_API_KEY={v} | {"apiKey": "{v}"} | tool --api-key={v} | the API key is {v}
basic authorization | b32 = | AUTHORIZATION="Basic {v}" | {"Authorization": "Basic {v}"} | curl -H "Authorization: Basic {v}" https://a.example | It sends Authorization: Basic {v} with each call.
bearer | w40 | HEADER="Authorization: Bearer {v}" | {"Authorization": "Bearer {v}"} | curl -H 'Authorization: Bearer {v}' https://a.example | send it as Bearer {v} instead
API key header | w32 | HEADERS="X-Api-Key: {v}" | {"X-Api-Key": "{v}"} | http GET a.example X-Api-Key:{v} | the header is X-Api-Key: {v}
cookie | w40 | COOKIE="sid={v}; theme=dark" | {"Cookie": "sid={v}; lang=en"} | curl -b 'session={v}' https://a.example | it sent Cookie: session={v}; lang=en
database address | w14 | DATABASE_URL=postgres://app:{v}@db.example:5432/app | {"url": "mysql://root:{v}@db.example/app"} | psql postgresql://app:{v}@db.example/app | connect to redis://:{v}@cache.example:6379/0 please
Go address | w14 | DSN=root:{v}@tcp(db:3306)/app | {"dsn": "root:{v}@tcp(db:3306)/app"} | migrate -database 'app:{v}@tcp(db:3306)/app' | the DSN is app:{v}@tcp(db:3306)/app
connection string | w14 | CONN="Server=db;User Id=sa;Password={v};" | {"conn": "Server=db;Uid=sa;Pwd={v};"} | sqlcmd -S db -U sa -P {v} | It says Server=db;User Id=sa;Password={v};Encrypt=true there.
Azure storage | b86 == | STORAGE="AccountName=a;AccountKey={v};EndpointSuffix=core" | {"conn": "AccountName=a;AccountKey={v}"} | az storage ls --account-key {v} | the account key is {v}
Azure service bus | b43 = | BUS="Endpoint=sb://a/;SharedAccessKeyName=r;SharedAccessKey={v}" | {"bus": "SharedAccessKeyName=r;SharedAccessKey={v}"} | tool --shared-access-key {v} | it has SharedAccessKey={v} at its end
Azure access signature | w43 =%3D | SAS="sv=2022-11-02&sp=r&sig={v}" | {"url": "https://a.example/c?sv=2022&sig={v}"} | azcopy cp "https://a.example/c?sp=rl&sig={v}" . | download https://a.example/c?sv=2022&sig={v} today
Discord bot | =MTk w21 =. w6 =. w38 | DISCORD_TOKEN={v} | {"token": "{v}"} | curl -H "Authorization: Bot {v}" https://a.example | The bot token is {v}
WireGuard | b43 = | WG_PRIVATE_KEY={v} | {"PrivateKey": "{v}"} | tool --private-key {v} | [Interface] PrivateKey = {v}
curl user | w12 | CMD="curl -u admin:{v} https://a.example" | {"run": "curl --user admin:{v} https://a.example"} | curl -s -u admin:{v} https://a.example | I ran curl -u admin:{v} https://a.example just now.
mysql option | w12 | CMD="mysql -u root -p{v} app" | {"run": "mysqldump -uroot -p{v} app"} | mysql -h db -u root -p{v} app | then mysql -uroot -p{v} worked
sshpass | w12 | CMD="sshpass -p {v} ssh a" | {"run": "sshpass -p{v} ssh a"} | sshpass -p '{v}' ssh root@a.example | It only works with sshpass -p {v} ssh a.
redis option | w20 | CMD="redis-cli -h a -a {v} ping" | {"run": "redis-cli -a {v} ping"} | redis-cli -h a -a {v} ping | try redis-cli -a {v} ping
docker login | w16 | CMD="docker login -u me -p {v}" | {"run": "docker login -u me -p {v}"} | docker login -u me -p {v} registry.example | I did docker login -u me -p {v} before.
netrc | w14 | NETRC="machine a.example login me password {v}" | {"netrc": "machine a.example login me password {v}"} | echo "machine a.example login me password {v}" >> ~/.netrc | put machine a.example login me password {v} there
Postgres password file | w14 | PGPASS="db.example:5432:app:me:{v}" | {"pgpass": "db.example:5432:*:me:{v}"} | echo 'db.example:5432:app:me:{v}' >> ~/.pgpass | the line is db.example:5432:app:me:{v} I think
SQL user | w14 | SQL="CREATE USER a IDENTIFIED BY '{v}'" | {"sql": "ALTER USER a IDENTIFIED BY '{v}'"} | mysql -e "CREATE USER a IDENTIFIED BY '{v}'" | run ALTER ROLE a WITH PASSWORD '{v}' and retry
random near a word | w9 =Q7z w20 | TOKEN={v} | {"token": "{v}"} | tool --token={v} | the token for the staging machine should be {v} again
number | d8 | DB_PASSWORD={v} | {"password": "{v}"} | tool --password={v} | the password is {v}.
"""  # noqa: E501 — one line per kind

_BLOCKS = {
    "RSA key": ("RSA PRIVATE KEY", ""),
    "OpenSSH key": ("OPENSSH PRIVATE KEY", ""),
    "EC key": ("EC PRIVATE KEY", ""),
    "PKCS8 key": ("PRIVATE KEY", ""),
    "encrypted key": ("ENCRYPTED PRIVATE KEY", ""),
    "PGP key": ("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2\n\n"),
}
_AROUND = {
    "env": "SERVICE_CONF={v}\nNEXT=1\n",
    "json": '{"conf": "{v}", "next": 1}',
    "command line": "service start --conf {v} --verbose",
    "prose": "Here it is: {v} and that is all.",
}


def secrets() -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, context, text, and the secret in the text."""
    draw = random.Random(13)
    for line in _SHAPED.strip().splitlines():
        kind, _, shape = (part.strip() for part in line.partition("|"))
        for context in CONTEXTS:
            value = generate(draw, shape)
            yield kind, context, _AROUND[context].replace("{v}", value), value
    for line in _NAMED.strip().splitlines():
        kind, shape, *texts = line.split(" | ")
        for context, text in zip(CONTEXTS, texts, strict=True):
            value = generate(draw, shape)
            yield kind, context, text.replace("{v}", value), value
    for kind, (label, header) in _BLOCKS.items():
        for context in CONTEXTS:
            body = "\n".join(generate(draw, "b64") for _ in range(6))
            block = f"-----BEGIN {label}-----\n{header}{body}\n-----END {label}-----"
            if context in ("json", "command line"):
                block, body = block.replace("\n", "\\n"), body.replace("\n", "\\n")
            yield kind, context, _AROUND[context].replace("{v}", block), body


def generate(draw: random.Random, shape: str) -> str:
    """A random value of a shape such as ``=ab w20``."""
    value = ""
    for part in shape.split():
        if part.startswith("=") and len(part.strip("=")):
            value += part[1:]
        elif part.startswith("="):
            value += part
        else:
            value += "".join(draw.choices(_SETS[part[0]], k=int(part[1:])))
    return value


def _digest(size: int) -> str:
    return "".join(random.Random(size).choices("0123456789abcdef", k=size))


def _image() -> str:
    return base64.b64encode(random.Random(7).randbytes(600)).decode()


_INNOCENT = r"""
git clone ssh://git@github.com/example/project.git
git remote add origin https://alice@git.example.org/project.git
export OPENAI_API_KEY=${OPENAI_API_KEY_2}
token: $GITHUB_TOKEN_1
password=$DB_PASSWORD_2
see ~/.aws/credentials2 and ~/.aws/config
pwd=/home/alice/project2
PWD=/srv/app2
OLDPWD=/home/alice/app1
OPENAI_API_KEY=sk-...
ANTHROPIC_API_KEY=<your key>
API_KEY=xxxxxxxxxxxxxxxxxxxx
API_KEY=your-api-key-here
GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
password: ********
password: "<password>"
{"password": "string", "token": "string"}
{"type": "password", "name": "password2", "label": "Password"}
{"input_tokens": 1843, "output_tokens": 512, "cache_read_input_tokens": 20480}
max_tokens: 4096
token_budget = 60000
token_count=1234567890
tokens: 8192
The password was changed on Monday, the secret is out.
token: something to be counted
The secret is to listen first.
The key is that caches end there.
The password is required.
The password is wrong.
the token is invalid
Your password is not stored anywhere.
Password must have at least 12 characters.
forgot password? Click here.
password = os.environ["DB_PASSWORD"]
password = os.getenv("PASSWORD1")
token = get_token(session2)
api_key = settings.OPENAI_API_KEY
self.token = token2.value
const token = process.env.GITHUB_TOKEN_2;
def login(user: str, password: str, token: str | None = None) -> bool:
password: Optional[str] = None
secret = config.secrets["service1"]
secretName: db-credentials-1
secretKeyRef: {name: db-credentials, key: password}
api_key_env: OPENAI_API_KEY_2
key_variable = "ANTHROPIC_API_KEY"
token = "${{ secrets.GITHUB_TOKEN }}"
password: {{ vault_password_1 }}
password_file=/run/secrets/db_password1
passwordHash: see users2.md
https://user:password@example.com/path
postgres://${USER1}:${PASSWORD1}@db:5432/app
see https://example.com/a@b and mail ada1@example.com
http://localhost:8080/@scope/package2
npm install @scope/package@1.2.3
git@github.com:example/project2.git
docker run -u 1000:1000 -p 8080:80 image
mysql -u root -p app
mysql -p$MYSQL_PASSWORD app
curl -u "$USER:$PASSWORD" https://a.example
curl -u alice https://a.example
psql -p 5432 -U app
mkdir -p src/token2/model
commit 4d8079aa0e6f5e9bb0f2f44f5f2f4ea3d0c3c6a1
the secret stands in commit 4d8079aa0e6f5e9bb0f2f44f5f2f4ea3d0c3c6a1
session 0b3f6a52-6c1e-4f7e-9a55-0d5b7f6f2c11 ended
"sessionId":"0b3f6a52-6c1e-4f7e-9a55-0d5b7f6f2c11"
sk-learn is not a key, nor is task-oriented-planning-of-everything
the task-management-of-large-projects-2024 board
compass: north1234
bypass=module12345
Bearer authentication is required for this endpoint.
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Set the Authorization header to Basic and encode both.
Cookie: theme=dark; lang=en
cookie = request.cookies["session1"]
-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----
if text.startswith("-----BEGIN PRIVATE KEY-----"):
-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJx alice@laptop
from engine.tokens import Tokenizer2
class PasswordResetView2(TokenView):
tokenizer: o200k_base
token_type=bearer
prompt_cache_key: memory-main-1
primary_key=id2
{"key": "value1234", "cache_key": "abc12345"}
keyboard: qwertz105
monkey=banana12
press key: ctrl+shift+p
pass 2 of 3: 1200 files
all 42 tests pass, 3 skipped
pass --token to authenticate
use --password to be asked for it
--api-key KEY the key of the service
the API key is read from OPENAI_API_KEY
The access token expires after 3600 seconds.
rotate the secret in section2.md
Passwort: siehe Tresor
password: see 1Password
sha512-integrity of token-package: "sha512-"
re_use_of_something_long_enough
dapi_something_or_other
pattern: price-us12 and x-us3
SKILL and SKU 1234567890
"""


def innocent() -> list[str]:
    """Strings that contain no secret."""
    return [
        *_INNOCENT.strip().splitlines(),
        f"{_digest(64)}  raw/conversations/2026/06/08/0840-session.md",
        f'{{"sha256": "{_digest(64)}", "path": "knowledge/facts.md", "line": 12}}',
        f'"integrity": "sha512-{_image()[:86]}=="',
        f"--hash=sha256:{_digest(64)}",
        f"![](data:image/png;base64,{_image()})",
        f"index {_digest(7)}..{_digest(8)} 100644",
        f'etag: W/"{_digest(32)}"',
        f"md5 {_digest(32)} of token.json",
        f"image: registry.example/app@sha256:{_digest(64)}",
    ]
