"""Secrets of providers and systems in four surroundings, and innocent text that resembles them.

In a value, ``{w22}`` is 22 letters and digits, ``{x40}`` 40 hexadecimal digits, ``{uuid}`` a UUID and ``{}``
nothing: it splits a prefix, so that this file contains nothing that a secret scanner would report.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from tests.redaction.corpus import generate

SURROUNDINGS = ("environment", "JSON", "sentence", "address or header")

# Kind, usual variable, value. These are recognizable wherever they stand.
_PREFIXED = """
Tailscale auth key | TS_AUTHKEY | tskey{}-auth-k{w11}CNTRL-{w32}
AWS session token | AWS_SESSION_TOKEN | IQoJ{}b3JpZ2luX2Vj{b300}
Convex deploy key | CONVEX_DEPLOY_KEY | eyJ2{}MiI6{b96}
Tailscale API key | TAILSCALE_KEY | tskey{}-api-k{w11}CNTRL-{w32}
Tailscale OAuth client | TS_OAUTH | tskey{}-client-k{w11}CNTRL-{w32}
Neon API key | NEON_KEY | napi{}_{l64}
Vercel token | VERCEL_AUTH | vcp{}_{w56}
Vercel AI gateway | AI_GATEWAY | vck{}_{w56}
LaunchDarkly API token | LD_ACCESS | api{}-{uuid}
LaunchDarkly SDK key | LD_SDK | sdk{}-{uuid}
FCM server key | FCM | AAAA{}{w7}:APA91b{-134}
JFrog API key | JFROG | AKCp{}8{w69}
JFrog reference token | JF_REF | cmVmdGtu{}{w56}
extended private key | WALLET | xprv{}9s21ZrQH143K{w96}
extended private key, testnet | WALLET | tprv{}8ZgxMBicQKsPd{w94}
extended private key, segwit | WALLET | zprv{}AWgYBBk7JR8Gk{w94}
Discord bot token | BOT | MT{}A{w23}.G{w5}.{-38}
ClickUp token | CLICKUP | pk{}_{d8}_{u32}
Trello token | TRELLO | ATTA{}{x72}
Asana token | ASANA | 2/{}{d16}/{d16}:{x32}
Intercom token | INTERCOM | dG9r{}Om{w50}=
Harness token | HARNESS | pat{}.{w22}.{x24}.{w20}
Octopus key | OCTO | API{}-{u30}
Elastic key | ELASTIC | essu{}_{b64}
Atlas service account | ATLAS | mdb{}_sa_sk_{-40}
Confluent key | KAFKA | cflt{}{b60}
Stytch secret | STYTCH | secret{}-live-{-36}
Paddle key | PADDLE | pdl_{}live_apikey_01{l24}_{w22}_{w3}
Mollie key | MOLLIE | live{}_{w30}
GoCardless token | GOCARDLESS | live{}_{-40}
ElevenLabs key | ELEVEN | sk{}_{x48}
RunPod key | RUNPOD | rpa{}_{u42}{l4}
Voyage key | VOYAGE | pa{}-{-43}
Weights and Biases key | WANDB | wandb{}_v1_{w77}
E2B key | E2B | e2b{}_{x40}
Firecrawl key | FIRECRAWL | fc{}-{x32}
Browserbase key | BROWSERBASE | bb{}_live_{-27}
Cursor key | CURSOR | key{}_{x64}
Brave search key | BRAVE | BSA{}{-28}
Apify token | APIFY | apify{}_api_{w36}
Honeybadger token | HONEYBADGER | hbp{}_{w36}
Klaviyo key | KLAVIYO | pk{}_{x34}
Docker swarm token | SWARM | SWMTKN{}-1-{l50}-{l25}
k3s token | K3S | K10{}{x64}::server:{x32}
Rancher token | RANCHER | token{}-{l5}:{l54}
OpenShift token | OC | sha256{}~{-43}
older Vault token | VAULT | s{}.{w24}
Bitwarden access token | BWS | 0{}.{uuid}.{w30}:{b22}==
Turnstile secret | TURNSTILE | 0x4AAAAAAA{}{-27}
hCaptcha secret | HCAPTCHA | ES{}_{x32}
JetBrains token | YOUTRACK | perm{}:{w12}=.{w8}=.{w30}
Sourcegraph token | SRC | sgp{}_{x16}_{x40}
Matrix token | MATRIX | syt{}_{w14}_{w20}_{w6}
ngrok token | NGROK | 2{}{w26}_{w21}
Scaleway key | SCW | SCW{}{u17}
Unleash token | UNLEASH | default:{}production.{x56}
Statsig key | STATSIG | secret{}-{w43}
Linear webhook | LINEAR | lin{}_wh_{w40}
Slack workflow | HOOK | https://hooks.slack{}.com/triggers/[T{u8}/{d13}/{x32}]
Slack refresh | SLACK | xoxe{}-1-{w146}
GitLab routable token | GL | glpat{}-{-27}.01.{l9}
GitLab CI job | CI_JOB | glcbt{}-64_{-20}
GitHub Actions token | GH | ghs{}_{w36}
GitHub OAuth token | GH | gho{}_{w36}
Anthropic OAuth | CLAUDE | sk{}-ant-oat01-{-86}-{w6}AA
OpenAI admin | OPENAI | sk{}-admin-{-58}T3BlbkFJ{-58}
Hugging Face organization | HF | api{}_org_{w34}
Azure DevOps token | ADO | {w52}JQQJ99{}{u12}ASAZDO{w4}
Azure storage key | BLOB | {b76}+ASt{}{w6}==
Azure function key | FUNC | {-40}AzFu{}{w8}==
Cloudinary address | CLOUDINARY | cloudinary://{d15}:[{-27}]@demo
Sentry DSN with secret | DSN | https://{x32}:[{x32}]@o1.ingest.example/2
Zapier hook | ZAP | https://hooks.zapier{}.com/hooks/catch/[{d7}/{l7}]/
Infura address | RPC | https://mainnet.infura{}.io/v3/[{x32}]
Alchemy address | RPC | https://eth-mainnet.g.alchemy{}.com/v2/[{-32}]
Google chat webhook | CHAT | https://chat.googleapis{}.com/v1/spaces/{w11}/messages?key=x&token=[{-43}]
Teams workflow | TEAMS | https://prod-1.westus.logic.azure{}.com/workflows/{x32}/triggers/manual/paths/invoke?sp=run&sig=[{-43}]
one-time password | TOTP | otpauth://totp/Example:me?secret=[{u32}]&issuer=Example
Shopify partner token | SHOPIFY | shppa{}_{x32}
Sumo-like Datadog token | DD | ddpat{}_{w40}
Checkout.com key | CKO | sk{}_sbox_{l27}
Pinecone key | PC | pcsk{}_{w5}_{w63}
Meilisearch Cloud | MEILI | msc{}_{w40}
Polar token | POLAR | polar{}_oat_{w43}
Cal.com key | CAL | cal{}_live_{x32}
Dub key | DUB | dub{}_{w24}
Deno Deploy token | DENO | ddp{}_{w36}
Trigger.dev key | TRIGGER | tr{}_prod_{w20}
Inngest key | INNGEST | signkey{}-prod-{x64}
Nightfall key | NF | NF{}-{w32}
Xata key | XATA | xau{}_{w35}
Beam token | BEAMER | b{}_{b43}=
MongoDB address | MONGO | mongodb+srv://app:[{w16}]@cluster0.example.net/db
AMQP address | AMQP | amqps://svc:[{w16}]@mq.example/vh
SMTP address | SMTP | smtps://me%40a.example:[{w16}]@smtp.example:465
JDBC address | JDBC | jdbc:postgresql://db/app?user=app&password=[{w16}]
base64 private key | KUBE | LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt{}LS0tLQ{w200}==
SonarCloud token | SONAR | sqa{}_{x40}
Dynatrace platform | DT | dt0s16{}.{u8}.{u64}
Okta token | OKTA | 00{}{-40}
Axiom token | AXIOM | xaat{}-{uuid}
n8n key | N8N | n8n{}_api_{w60}
Mercury token | MERCURY | secret{}-token:mercury_production_wma_{w40}_yrucrem
Tinybird token | TINYBIRD | p{}.eyJ{w60}.{-27}
dbt token | DBT | dbtc{}_{w40}
WakaTime key | WAKATIME | waka{}_{uuid}
Gitpod token | GITPOD | gitpod{}_pat_{w40}
Retool token | RETOOL | retool{}_{w40}
Wix key | WIX | IST{}.{w120}.{w200}
PubNub secret | PUBNUB | sec{}-c-{b60}
Brex token | BREX | bxt{}_{w40}
UpCloud token | UPCLOUD | ucat{}_{u26}
Bedrock key | AWS_BEARER_TOKEN_BEDROCK | ABSK{}{b128}
Bitbucket Data Center token | BITBUCKET | BBDC{}-{b44}
Cloudflare user token | CF | cfut{}_{w40}{x8}
SonarCloud scoped token | SONAR | sqco{}_{w59}
Sourcegraph Cody key | CODY | slk{}_{x64}
LinkedIn secret | LINKEDIN | WPL_AP1{}.{w16}.{w6}==
New Relic license | NEW_RELIC | {x36}NRAL{}
Salesforce refresh token | SF | 5AEP861{}{w90}
Zoho refresh token | ZOHO | 1000{}.{x32}.{x32}
StackHawk key | HAWK | hawk{}.{w20}.{w20}
Rootly key | ROOTLY | rootly{}_{x64}
Ramp secret | RAMP | ramp{}_sec_{w48}
Azure registry password | ACR | {w42}+ACR{}{w6}
Stripe client secret | PI | pi{}_{w24}_secret_{w25}
Django key | DJANGO | django{}-insecure-{w30}@x^{w8}
1Password service account | OP_TOKEN | ops{}_{w200}
unlisted tag | ACME | acme{}_{w36}
unlisted service | ACME | acm{}_{w38}
unlisted service, live key | ACME | acme{}_live_{w24}
"""

# Kind, name, value. These are recognizable by their name.
_NAMED = """
older Vercel token | VERCEL_TOKEN | {w24}
Cloudflare token | CLOUDFLARE_API_TOKEN | {-40}
Cloudflare global key | CLOUDFLARE_API_KEY | {x37}
Hetzner token | HCLOUD_TOKEN | {w64}
Linode token | LINODE_TOKEN | {x64}
Vultr key | VULTR_API_KEY | {u36}
Fastly key | FASTLY_API_TOKEN | {-32}
Algolia key | ALGOLIA_ADMIN_KEY | {x32}
Auth0 secret | AUTH0_CLIENT_SECRET | {-64}
Twilio token | TWILIO_AUTH_TOKEN | {x32}
Postmark token | POSTMARK_SERVER_TOKEN | {uuid}
Deepgram key | DEEPGRAM_API_KEY | {x40}
Mistral key | MISTRAL_API_KEY | {w32}
Cohere key | COHERE_API_KEY | {w40}
Exa key | EXA_API_KEY | {uuid}
Railway token | RAILWAY_TOKEN | {uuid}
Consul token | CONSUL_HTTP_TOKEN | {uuid}
Spotify secret | SPOTIFY_CLIENT_SECRET | {x32}
PagerDuty token | PAGERDUTY_TOKEN | u+{-18}
Opsgenie key | OPSGENIE_API_KEY | {uuid}
Binance secret | BINANCE_SECRET_KEY | {w64}
Kraken secret | KRAKEN_API_SECRET | {b86}==
Jenkins token | JENKINS_API_TOKEN | 11{x32}
Mattermost token | MATTERMOST_TOKEN | {l26}
JWT secret of words | JWT_SECRET | correct-horse-battery-staple
session secret of words | SESSION_SECRET | keyboardcatsneverdie
app password | NEXTCLOUD_APP_PASSWORD | {w5}-{w5}-{w5}-{w5}-{w5}
keystore password | KEYSTORE_PASSWORD | {l6}
pre-shared key | VPN_PSK | {w20}
RADIUS secret | RADIUS_SHARED_SECRET | {w16}
LDAP bind password | LDAP_BINDPW | {w12}
Ethereum key | PRIVATE_KEY | 0x{x64}
Hasura secret | HASURA_GRAPHQL_ADMIN_SECRET | {w32}
TSIG secret | TSIG_SECRET | {b43}=
encryption passphrase | BORG_PASSPHRASE | purple-monkey-dishwasher
token like an id | DEPLOY_TOKEN | run_{w24}
token like a file | UPLOAD_TOKEN | file-{w24}
master key | RAILS_MASTER_KEY | {x32}
salt of sessions | SIGNING_SALT | {b44}
connection password | AMQP_PASS | {l5}{d3}
Meraki key | MERAKI_API_KEY | {x40}
Pusher secret | PUSHER_APP_SECRET | {x20}
Ghost key | GHOST_ADMIN_API_KEY | {x24}:{x64}
Storyblok token | STORYBLOK_TOKEN | {w22}tt
Fastmail password | FASTMAIL_PASSWORD | {l16}
Todoist token | TODOIST_API_TOKEN | {x40}
"""

# Kind, then a text of each surrounding with the secret in brackets.
_WRITTEN = r"""
S3 signed address :: AVATAR=https://b.s3.amazonaws.com/a.png?X-Amz-Date=20260101T000000Z&X-Amz-Expires=900&X-Amz-Signature=[{x64}] :: {"url":"https://b.s3.eu-west-1.amazonaws.com/k?X-Amz-SignedHeaders=host&X-Amz-Signature=[{x64}]"} :: Fetch it from https://s3.amazonaws.com/b/k?X-Amz-Credential=x&X-Amz-Signature=[{x64}] before noon. :: curl -O "https://b.s3.amazonaws.com/k?X-Amz-Signature=[{x64}]&x-id=GetObject"
S3 session token :: SRC=https://b.s3.amazonaws.com/a?X-Amz-Security-Token=[IQoJb3JpZ2luX2Vj{w300}]&X-Amz-Date=20260101T000000Z :: {"sessionToken":"[IQoJb3JpZ2luX2Vj{b300}]"} :: The session token is [IQoJb3JpZ2luX2Vj{b300}] until six. :: x-amz-security-token: [IQoJb3JpZ2luX2Vj{b300}]
S3 older signature :: SRC="https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Expires=1767225600&Signature=[{w27}%3D]" :: {"href":"https://b.s3.amazonaws.com/k?Expires=1767225600&Signature=[{w27}%3D]"} :: It is at https://b.s3.amazonaws.com/k?Expires=1767225600&Signature=[{w27}%3D] for now. :: wget "https://b.s3.amazonaws.com/k?Signature=[{w27}%3D]&Expires=1767225600"
GCS signed address :: SRC=https://storage.googleapis.com/b/o?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature=[{x512}] :: {"url":"https://storage.googleapis.com/b/o?X-Goog-Expires=900&X-Goog-Signature=[{x512}]"} :: See https://storage.googleapis.com/b/o?X-Goog-Signature=[{x512}] please. :: curl "https://storage.googleapis.com/b/o?X-Goog-Signature=[{x256}]&x=1"
CloudFront signed address :: SRC=https://d1.cloudfront.net/v?Expires=1767225600&Signature=[{-340}__]&Key-Pair-Id=K2 :: {"url":"https://d1.cloudfront.net/v?Signature=[{-340}__]&Key-Pair-Id=K2"} :: Watch https://d1.cloudfront.net/v?Signature=[{-340}__]&Key-Pair-Id=K2 today :: cookie: CloudFront-Signature=[{-340}__]; CloudFront-Key-Pair-Id=K2
Azure access signature :: SAS=sv=2024-11-04&ss=b&srt=co&sp=rl&se=2026-01-01T00:00:00Z&spr=https&sig=[{w40}%2B{w2}%3D] :: {"url":"https://a.blob.core.windows.net/c?sp=r&sr=b&sig=[{w43}%3D]"} :: The link is https://a.blob.core.windows.net/c/f?se=2026&sig=[{w43}%3D] I think. :: azcopy copy "https://a.file.core.windows.net/s?sv=2024&sig=[{w43}%3D]" .
docker config :: DOCKER_AUTH_CONFIG={"auths":{"r.example":{"auth":"[{b40}=]"}}} :: {"auths": {"https://index.docker.io/v1/": {"auth": "[{b40}==]"}}} :: In config.json it says "auth": "[{b36}=]" for the registry. :: {"auths":{"ghcr.io":{"auth":"[{b52}]","email":"a@b.example"}}}
npm login :: //registry.npmjs.org/:_authToken=[{uuid}] :: {"//registry.npmjs.org/:_authToken": "[{uuid}]"} :: my .npmrc says //npm.example/:_authToken=[{w36}] there :: //npm.example/:_auth=[{b30}==]
SNMP community :: SNMP_COMMUNITY=[n3tw0rk-{l4}] :: {"snmp": {"community": "[n3tw0rk{l4}]"}} :: the switch has snmp-server community [S{l7}9] RO in it :: snmpwalk -v2c -c [m0nitor{l3}] 10.0.0.1 system
SNMP daemon :: rocommunity [{l8}7] 10.0.0.0/8 :: {"rwcommunity": "[{l8}7]"} :: It has com2sec ro default [{l8}7] in snmpd.conf. :: snmpget -v 2c -c [{l6}42] switch.example sysName.0
LDAP bind :: bindpw [{w12}] :: {"bindpw": "[{w12}]", "uri": "ldaps://d.example"} :: nslcd.conf has bindpw [{w12}] in line nine. :: ldapsearch -x -D cn=admin -w [{w12}] -b dc=example
Wi-Fi key :: psk="[{l6} {l5} 7]" :: {"ssid": "home", "psk": "[{w14}]"} :: wpa_supplicant.conf has psk=[{x64}] for home. :: WIFI:T:WPA;S:home;P:[{w14}];;
IPsec key :: 10.0.0.1 10.0.0.2 : PSK "[{w24}]" :: {"conn": "office", "psk": "[{w24}]"} :: The tunnel's PSK is [{w24}] since May. :: nmcli con add type wifi ssid x wifi-sec.psk [{w14}]
Cisco :: enable secret 0 [{w10}] :: {"line": "username admin privilege 15 password 0 [{w10}]"} :: The router says enable password [{w9}7] and nothing else. :: tacacs-server host 10.0.0.9 key [{w12}]
Ansible :: host1 ansible_user=root ansible_ssh_pass=[{w10}] :: {"ansible_become_pass": "[{w10}]"} :: hosts.ini has ansible_password=[{w10}] in it. :: ansible-playbook s.yml -e "ansible_sudo_pass=[{w10}]"
mail relay :: [smtp.example]:587 me@a.example:[{w8}7] :: {"smtp": {"user": "me", "pass": "[{l10}7]"}} :: The mailbox uses SMTP_PASS=[{l9}] for now. :: swaks --auth-user me --auth-password [{w10}] --to a@b.example
Windows user :: net user bob [{w8}7!] /add :: {"cmd": "net use Z: \\\\srv\\s /user:dom\\bob [{w8}7!]"} :: I ran net user bob [{w8}7!] on it. :: net use \\srv\share [{w8}7!] /user:bob
PowerShell :: $p = ConvertTo-SecureString "[{w9}7!]" -AsPlainText -Force :: {"run": "ConvertTo-SecureString -String '[{w9}7!]' -AsPlainText"} :: It says ConvertTo-SecureString '[{w9}7!]' there. :: cmdkey /add:srv /user:bob /pass:[{w9}7]
sudo :: echo [{w9}7] | sudo -S apt update :: {"run": "echo '[{w9}7]' | sudo -S id"} :: So I typed echo [{w9}7] | sudo -S reboot again. :: sudo -S id <<< "[{w9}7]"
chpasswd :: echo "root:[{w9}7]" | chpasswd :: {"run": "echo 'deploy:[{w9}7]' | sudo chpasswd"} :: I set it by echo root:[{w9}7] | chpasswd just now. :: htpasswd -b -c .htpasswd me [{w9}7]
keytool :: keytool -genkey -storepass [{l8}1] -alias a :: {"run": "keytool -list -keypass [{l8}1]"} :: storePassword=[{l8}1] is in gradle.properties :: jarsigner -storepass [{l8}1] a.jar a
MQTT :: mosquitto_pub -h h -u me -P [{w9}7] -t x :: {"run": "mosquitto_sub -u me -P '[{w9}7]' -t y"} :: I call mosquitto_pub -u me -P [{w9}7] -t x by cron. :: mqtts://me:[{w9}7]@mq.example:8883
mount :: //srv/s /m cifs username=me,password=[{w9}7],uid=0 0 0 :: {"options": "username=me,password=[{w9}7]"} :: fstab has password=[{w9}7],vers=3.0 in it :: mount -t cifs -o user=me,pass=[{w9}7] //srv/s /m
Jenkins login :: curl -u me:[11{x32}] https://ci.example :: {"run": "curl --user me:[11{x32}] https://ci.example"} :: Try curl -su me:[11{x32}] https://ci.example once. :: https://me:[11{x32}]@ci.example/job/x
HTTP login :: wget --http-user=me --http-password=[{l7}3] https://a.example :: {"run": "http -a me:[{w9}7] a.example"} :: then http --auth me:[{w9}7] a.example works :: Authorization: Basic [{b30}==]
Splunk header :: HEADER="Authorization: Splunk [{uuid}]" :: {"Authorization": "Splunk [{uuid}]"} :: send Authorization: Splunk [{uuid}] with it :: curl -H "Authorization: Splunk [{uuid}]" https://s.example
Elastic header :: HEADER="Authorization: ApiKey [{b58}==]" :: {"Authorization": "ApiKey [{b58}==]"} :: send Authorization: ApiKey [{b58}==] with it :: curl -H "Authorization: ApiKey [{b58}==]" https://e.example
signed header :: HEADER="X-Hub-Token: [{x40}]" :: {"X-Auth-Token": "[{w32}]"} :: the header is X-Vault-Token: [{w26}] there :: curl -H "PRIVATE-TOKEN: [{-20}]" https://g.example
secret calendar :: ICS=https://calendar.google.com/calendar/ical/me%40a.example/private-[{x32}]/basic.ics :: {"ics":"https://calendar.google.com/calendar/ical/x/private-[{x32}]/full.ics"} :: It is at https://outlook.office365.com/owa/calendar/[{x32}@a.example/{x40}]/calendar.ics for now. :: curl -O https://calendar.google.com/calendar/ical/x/private-[{x32}]/basic.ics
Azure account :: PRIMARY_KEY=[{b86}==] :: {"primaryKey":"[{b86}==]"} :: the az storage key [{b86}==] is new :: primary key [{b43}=]
key that is shown :: here is the key\n[{x64}] :: {"text":"here's the secret key: [{x64}]"} :: 这是密钥\n[{x32}] :: 이게 키야\n[{w40}]
words of a wallet :: Seed phrase for the wallet:\n[abandon ability able about above absent absorb abstract absurd abuse access accident] :: {"text":"助记词：[abandon ability able about above absent absorb abstract absurd abuse access accident]"} :: the wallet recovery words\n[abandon ability able about above absent absorb abstract absurd abuse access accident] :: 助记词：[的 一 是 在 不 了 有 和 人 这 中 大]
hashes of Windows :: bob:1001:[{x32}:{x32}]::: :: {"line":"bob:1001:[{x32}:{x32}]:::"} :: It dumped bob:1001:[{x32}:{x32}]::: and stopped. :: me:500:[{x32}:{x32}]:::
query key :: URL=https://api.example/v1?api_key=[{x32}]&q=a :: {"url":"https://api.example/v1?apikey=[{x32}]"} :: open https://api.example/v1?access_token=[{w40}] now :: https://api.example/w?appid=1&key=[{x32}]
Kubernetes secret :: kind: Secret\ndata:\n  password: [{b22}==] :: {"kind":"Secret","data":{"token":"[{b60}=]"}} :: kubectl create secret generic db --from-literal=password=[{w12}] made it. :: kubeadm join 10.0.0.1:6443 --token [{x6}.{x16}]
Polish :: HASLO=[{w8}7] :: {"haslo": "[{w8}7]", "id": 3} :: Hasło do bazy to [{w8}7], nie podawaj dalej. :: hasło: [{l6}{d3}]
Dutch :: WACHTWOORD=[{w8}7] :: {"wachtwoord": "[{w8}7]"} :: Het wachtwoord van de server is [{w8}7]. :: wachtwoord: [{l6}{d3}]
Korean :: 비밀번호=[{w8}7] :: {"비밀번호": "[{w8}7]"} :: 서버 비밀번호는 [{w8}7] 입니다. :: 암호: [{l6}{d3}]
Turkish :: SIFRE=[{w8}7] :: {"sifre": "[{w8}7]"} :: Sunucunun şifresi [{w8}7] oldu. :: parola: [{l6}{d3}]
Swedish :: LOSENORD=[{w8}7] :: {"lösenord": "[{w8}7]"} :: Lösenordet är [{w8}7], byt det snart. :: lösenord: [{l6}{d3}]
Arabic :: كلمة_المرور=[{w8}7] :: {"كلمة المرور": "[{w8}7]"} :: كلمة المرور هي [{w8}7] الآن. :: كلمة السر: [{l6}{d3}]
Chinese :: 密码=[{w8}7] :: {"密码": "[{w8}7]"} :: 数据库的密码是[{w8}7]，不要外传。 :: 口令：[{l6}{d3}]
Chinese, traditional :: 密碼=[{w8}7] :: {"密碼": "[{w8}7]"} :: 伺服器密碼為 [{w8}7]。 :: 密碼：[{l6}{d3}]
Japanese :: パスワード=[{w8}7] :: {"パスワード": "[{w8}7]"} :: サーバーのパスワードは[{w8}7]です。 :: 暗証番号：[{d6}]
Russian :: ПАРОЛЬ=[{w8}7] :: {"пароль": "[{w8}7]"} :: Пароль от сервера — [{w8}7], никому не говори. :: пароль: [{l6}{d3}]
Ukrainian :: ПАРОЛЬ=[{w8}7] :: {"пароль_бази": "[{w8}7]"} :: Пароль до бази: [{w8}7] поки що. :: пароля [{w8}7]
Czech :: HESLO=[{w8}7] :: {"heslo": "[{w8}7]"} :: Heslo k serveru je [{w8}7]. :: heslo: [{l6}{d3}]
Hungarian :: JELSZO=[{w8}7] :: {"jelszó": "[{w8}7]"} :: A jelszó most [{w8}7] lett. :: jelszó: [{l6}{d3}]
Finnish :: SALASANA=[{w8}7] :: {"salasana": "[{w8}7]"} :: Palvelimen salasana on [{w8}7]. :: salasana: [{l6}{d3}]
Danish :: ADGANGSKODE=[{w8}7] :: {"adgangskode": "[{w8}7]"} :: Adgangskoden er [{w8}7] indtil videre. :: kodeord: [{l6}{d3}]
Norwegian :: PASSORD=[{w8}7] :: {"passord": "[{w8}7]"} :: Passordet er [{w8}7] på den. :: passord: [{l6}{d3}]
Greek :: ΚΩΔΙΚΟΣ=[{w8}7] :: {"κωδικός": "[{w8}7]"} :: Ο κωδικός είναι [{w8}7] τώρα. :: κωδικός πρόσβασης: [{l6}{d3}]
Hebrew :: סיסמה=[{w8}7] :: {"סיסמה": "[{w8}7]"} :: הסיסמה היא [{w8}7] כרגע. :: סיסמא: [{l6}{d3}]
Vietnamese :: MAT_KHAU=[{w8}7] :: {"mật khẩu": "[{w8}7]"} :: Mật khẩu là [{w8}7] nhé. :: mật khẩu: [{l6}{d3}]
Indonesian :: KATA_SANDI=[{w8}7] :: {"kata_sandi": "[{w8}7]"} :: Kata sandi server adalah [{w8}7]. :: kata sandi: [{l6}{d3}]
Thai :: รหัสผ่าน=[{w8}7] :: {"รหัสผ่าน": "[{w8}7]"} :: รหัสผ่านคือ [{w8}7] ครับ :: รหัสผ่าน: [{l6}{d3}]
Hindi :: पासवर्ड=[{w8}7] :: {"पासवर्ड": "[{w8}7]"} :: सर्वर का पासवर्ड [{w8}7] है। :: पासवर्ड: [{l6}{d3}]
Romanian :: PAROLA=[{w8}7] :: {"parolă": "[{w8}7]"} :: Parola este [{w8}7] acum. :: parola: [{l6}{d3}]
Italian :: CHIAVE_SEGRETA=[{w20}7] :: {"chiave_segreta": "[{w20}7]"} :: La parola d'ordine è [{w8}7] adesso. :: chiave API: [{w24}7]
Spanish :: CLAVE=[{w8}7] :: {"clave_secreta": "[{w20}7]"} :: La clave de acceso es [{w8}7], no la pases. :: contraseña: [{l6}{d3}]
Portuguese :: SENHA=[{w8}7] :: {"senha_admin": "[{w8}7]"} :: A palavra-passe é [{w8}7] agora. :: chave de API: [{w24}7]
French :: MOT_DE_PASSE=[{w8}7] :: {"mot_de_passe": "[{w8}7]"} :: Le mot de passe du serveur est [{w8}7]. :: clé API : [{w24}7]
German :: ZUGANGSSCHLUESSEL=[{w24}7] :: {"kennwort": "[{w8}7]"} :: Das Passwort zum Server lautet [{w8}7], bitte ändern. :: API-Schlüssel: [{w24}7]
keys in Russian :: СЕКРЕТНЫЙ_КЛЮЧ=[{w24}7] :: {"секретный_ключ": "[{w24}7]"} :: Токен бота: [{w30}7] только для теста. :: ключ API: [{w24}7]
keys in Chinese :: 密钥=[{w24}7] :: {"密钥": "[{w24}7]"} :: 访问令牌是 [{w30}7]，请保存。 :: API密钥：[{w24}7]
keys in Japanese :: 秘密鍵=[{w24}7] :: {"APIキー": "[{w24}7]"} :: トークンは [{w30}7] です。 :: APIキー：[{w24}7]
keys in Korean :: 비밀키=[{w24}7] :: {"API 키": "[{w24}7]"} :: 토큰은 [{w30}7] 입니다. :: 인증키: [{w24}7]
"""  # noqa: E501 — one line per kind

_INNOCENT = r"""
"integrity": "sha512-{b86}=="
resolved "https://registry.npmjs.org/token/-/token-1.0.0.tgz#{x40}"
token@^1.0.0: version "1.0.0" checksum 10c0/{x64}
name = "secret-service"\nchecksum = "{x64}"
github.com/zalando/go-keyring v0.2.3 h1:{b43}=
{ url = "https://files.pythonhosted.org/packages/{x2}/{x2}/{x60}/keyring-24.tar.gz", hash = "sha256:{x64}" }
keyring==24.0 --hash=sha256:{x64}
"_resolved": "https://r.example/keytar.tgz", "_shasum": "{x40}"
commit {x40} (HEAD -> token-refresh)
index {x7}..{x7} 100644 secrets.py
blob {x40} secrets/token.py
https://calendar.google.com/calendar/ical/a%40b.example/public/basic.ics
here is the cache key: {x64}
here is the key point of the whole design, and the primary key is id
the mnemonic is a word that helps people keep the names of many things apart
-----BEGIN CERTIFICATE-----\nMIIDxTCCAq2gAwIBAgIQAqxcJmoLQJuPC3nyrkYldzANBgkqhkiG9w0BAQUFADBs\n{b64}
docker pull app@sha256:{x64}
FROM registry.example/vault@sha256:{x64}
"Id": "sha256:{x64}", "RepoTags": ["token-service:1"]
container {x64} exited: password prompt
{"id":"{uuid}","name":"token-service"}
"requestId": "{uuid}", "message": "password reset mailed"
"sessionId":"{uuid}","token_count":512
trace_id={x32} span_id={x16} msg="token expired"
"correlationId": "{uuid}", "event": "PasswordChanged"
"msg_id": "msg_01{w22}", "tokens": 5
"run_id": "run_{w24}", "secret": false
"fileId": "file-{w24}", "token": null
"threadId": "thread_{w24}", "tokenUsage": 12
"id": "toolu_01{w22}", "name": "get_password"
"etag": "\"{x32}\"", "key": "a/b/token.json"
{"Key": "backups/2026/db-password-store.tar", "ETag": "{x32}", "Size": 12}
"publicKey": "{b43}="
"public_key": "{b86}=="
PublicKey = {b43}=
PUBLIC_KEY={w64}
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ{b200} me@host
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} deploy-key
"kid": "{-43}", "kty": "RSA", "n": "{-342}", "e": "AQAB"
fingerprint SHA256:{b43} (ED25519)
-----BEGIN CERTIFICATE-----\n{b64}\n{b64}\n-----END CERTIFICATE-----
-----BEGIN PGP SIGNATURE-----\n\n{b64}\n-----END PGP SIGNATURE-----
xpub661MyMwAqRbcF{w96}
age1{l58}
bc1q{l38}
0x{x40} is the contract's address
txid {x64}
// Token: 0x{x8} RID: 10736
pk_live_{w24} is the publishable key
NEXT_PUBLIC_CLERK_PUBLISHABLE_KEY=pk_test_{w40}
"siteKey": "0x4AAAAAAA-site-key-here"
![logo](data:image/png;base64,iVBORw0KGgo{b300})
src: url(data:font/woff2;base64,d09GMgAB{b300})
"thumbnail": "/9j/4AAQSkZJRg{b300}"
<img src="https://cdn.example/i/{x32}.png?w=200">
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozfQ
"version": "2026.1.{d8}", "token": "short"
"nextPageToken": null, "pageToken": ""
"sync_state": "{x16}", "password_policy": "strong-12"
"password": "Passwort"
"password": "Parola"
"password": "Şifre"
"haslo": "Hasło"
"password_hint": "Podaj hasło"
"wachtwoord": "Wachtwoord"
"비밀번호": "비밀번호를 입력하세요"
"密码": "请输入密码"
"パスワード": "パスワードを入力してください"
"пароль": "Введите пароль"
"lösenord": "Ange ditt lösenord"
"سيسمة": "كلمة المرور"
"كلمة المرور": "أدخل كلمة المرور"
"heslo": "Zadejte heslo"
"κωδικός": "Εισάγετε τον κωδικό"
"token": "Zugriffstoken für die API"
Hasło musi mieć co najmniej 12 znaków.
Het wachtwoord is verlopen, vraag een nieuw aan.
비밀번호는 8자 이상이어야 합니다.
Şifre en az 8 karakter olmalı.
Lösenordet måste bytas var 90:e dag.
密码长度至少为 8 位，包含 1 个数字。
パスワードは8文字以上で入力してください。
Пароль должен быть не короче 12 символов.
Пароль обновлён 12.03.2026 в 14:30.
密码已于 2026-03-12 更新。
Salasana vanhenee 90 päivässä.
Heslo bylo změněno 12.3.2026.
La clave está en que el caché termina en 2024.
La clave del éxito es trabajar 8 horas.
la chiave di lettura è il capitolo 12
de sleutel is dat alles in 2024 klaar was
ключ к успеху — 12 часов сна
Ключ: user_id, значение: 42
键: user_id_2
キー: item-2024
clave primaria: id_cliente_2
clé primaire : id_client_2
Parola nel testo: 1200
The parole board met on 2026-03-12.
community: Python Berlin 2026
{"community": "python-berlin", "members": 1200}
Community-Server: https://community.example/t/12345
the community of snmp users grew by 20 %
psk31 is a mode of radio
auth: true
"auth": "oauth2"
{"auth": {"type": "basic", "user": "me"}}
"auth": "required", "ttl": 3600
auth: [jwt, session]
bindpw is read from /etc/ldap.secret
enable secret rotation in 2026
net user list shows 12 accounts
sudo -S reads the password from stdin
echo done | sudo tee /etc/motd
echo "$PW" | sudo -S true
echo "root:$ROOT_PW" | chpasswd
ldapsearch -x -W -b dc=example
snmpwalk -v2c -c public 10.0.0.1
rocommunity public
mosquitto_pub -h h -t sensors/p1 -m 21.5
X-Amz-Signature=<signature>
https://b.s3.amazonaws.com/k?versionId={w32}
https://storage.googleapis.com/b/o?generation={d16}
https://a.blob.core.windows.net/c/f?sv=2024-11-04&sp=r
?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260101T000000Z
signature=verified by gpg 2.4
Signature=method(a: int, b: int)
JWT_SECRET=${JWT_SECRET}
JWT_SECRET=<generate with openssl rand>
JWT_SECRET=change-me-in-production
JWT_SECRET=your-jwt-secret-here
DISCORD_TOKEN=your.bot.token
"token": "{{ secrets.DEPLOY_TOKEN }}"
token: ${{ secrets.NPM_TOKEN }}
--token "$(cat token.txt)"
kubeadm token create --ttl 2h
sdk-version-2024-11 and api-version-2025-01
api-gateway-prod-eu-west-1-blue-2
pa-rt-of-a-word-and-more-of-it-goes-on-here
fc-east-region-backup-cluster-0012
default:production.settings.module
live_reload_of_assets_and_styles_2024
key_value_store_of_sessions_for_users
s.replace_all_of_these_now
pat.match_object_of_some_kind.group
tr_prod_of_vectors
cal_live_view
re_match_group_of_something_x2
WIFI:T:nopass;S:guest;;
otpauth://totp/Example?secret=YOUR_SECRET
https://hooks.example.com/services/new
https://mainnet.infura.io/v3/YOUR-PROJECT-ID
mongodb://localhost:27017/app
amqp://guest@localhost
git+ssh://git@github.com/o/r.git#{x40}
https://github.com/o/r/blob/{x40}/src/token.py
https://docs.example/d/{w44}/edit
https://youtu.be/{w11} on passwords
urn:uuid:{uuid}
arn:aws:secretsmanager:eu-west-1:{d12}:secret:db-{w6}
arn:aws:iam::{d12}:role/token-reader
projects/p/secrets/db-password/versions/12
op://Vault/db/password
vault:secret/data/app#password
message-id: <{w20}@mail.example>
Message-ID: <CA+{w40}@mail.gmail.com>
DKIM-Signature: v=1; a=rsa-sha256; bh={b43}=; b={b171}=
"nonce": "{b22}==", "passwordless": true
csp: script-src 'nonce-{b22}=='
"sha256": "{x64}", "file": "token.bin"
sha1-{b27}=
build id {x40}, secrets none
"snapshot": "snap-{x17}", "ami": "ami-{x17}"
i-{x17} vpc-{x8} subnet-{x17}
order SK{d10} key figure 12
UUID={uuid} /boot ext4 defaults 0 2
crypt UUID={uuid} none luks
passwd: files systemd
password required pam_unix.so sha512 shadow nullok
key=value&page=2
keyPath: items.0.name
primaryKey: "order_id_2"
"hotkey": "Ctrl+Shift+P2"
foreign key (user_id2) references users
"""


def _value(shape: str, draw: random.Random) -> str:
    def one(match: re.Match[str]) -> str:
        each = "x8 =- x4 =-4 x3 =- x4 =- x12" if match[1] == "uuid" else match[1]
        return generate(draw, each) if each else ""

    return re.sub(r"\{(|uuid|[wulxdb-]\d+)\}", one, shape)


def _rows(table: str, separator: str) -> Iterator[list[str]]:
    for line in table.strip().splitlines():
        yield [part.strip() for part in line.split(separator)]


def secrets() -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, surroundings, text, and the secret in the text."""
    draw = random.Random(29)
    for kind, name, shape in _rows(_PREFIXED, " | "):
        for where, text in zip(
            SURROUNDINGS,
            (
                f"{name}=?",
                '{"id": 7, "value": "?", "on": true}',
                "We moved ? into the nightly job.",
                "https://api.example.com/v1/items?x=?&page=2" if "://" not in shape else 'curl -d "?" h',
            ),
            strict=True,
        ):
            before, _, after = text.rpartition("?")
            start, value, end = _marked(_value(shape, draw))
            yield kind, where, before + start + value + end + after, value
    for kind, name, shape in _rows(_NAMED, " | "):
        words = name.split("_")
        camel = words[0].lower() + "".join(map(str.capitalize, words[1:]))
        for where, text in zip(
            SURROUNDINGS,
            (
                f"{name}=?",
                f'{{"{camel}": "?", "retries": 3}}',
                f"the {' '.join(words).lower()} is ?, keep it safe",
                f'curl -H "X-{"-".join(map(str.capitalize, words))}: ?" https://a.example',
            ),
            strict=True,
        ):
            value = _value(shape, draw)
            yield kind, where, text.replace("?", value), value
    for kind, *texts in _rows(_WRITTEN, " :: "):
        for where, text in zip(SURROUNDINGS, texts, strict=True):
            marked = _value(text, draw)
            before, value, after = _marked(marked)
            yield (
                kind,
                where,
                (before + value + after).replace("\\n", "\n" if where == "environment" else "\\n"),
                value,
            )


def _marked(text: str) -> tuple[str, str, str]:
    """A text before, in and after its last brackets; without any, all of it is the secret."""
    start, end = text.rfind("["), text.rfind("]")
    if start < 0:
        return "", text, ""
    return text[:start], text[start + 1 : end], text[end + 1 :]


def innocent() -> list[str]:
    """Texts that contain no secret."""
    draw = random.Random(31)
    return [_value(line, draw) for line in _INNOCENT.strip().splitlines()]
