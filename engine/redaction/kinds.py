"""Kinds of secrets with a recognizable shape, such as a unique prefix.

Other kinds, such as passwords, are only recognizable by their context: see ``judge``. The kinds below are
those that people most often type into an agent; further ones come from the rules of gitleaks, see ``data``.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_MAX = 4096
"""Maximum characters matched after an anchor, which bounds the time for any text."""


class Kind(NamedTuple):
    """A kind of secret: a tuple, since every process makes five hundred of them."""

    name: str
    anchor: str  # literal to search for, in lower case
    rest: str
    """Matches from the anchor on, after the ``prefix``. Group ``value`` is the secret if not all is."""
    before: str = ""
    """Matches the part of the secret before the anchor; if empty, no word character may precede it."""
    check: str = ""
    """What the secret must pass, of ``values.CHECKS``."""
    prefix: str = ""
    """The anchor as it is written, if ``rest`` matches only what follows it."""

    @property
    def pattern(self) -> str:
        """Matches the secret from the anchor on."""
        return re.escape(self.prefix) + self.rest


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern, compiled on first use: compiling all of them would cost every process 15 ms."""
    return re.compile(pattern, flags)


ENCODED = "key in base64"
"""The check of a value that is base64: what is in it is a key."""
_BASE64 = r"[A-Za-z0-9+/]{16,600}={0,2}"
_LEAST_ENCODED = 3
"""Characters from which what a prefix becomes in base64 is searched for."""
_DASHED = r"[\w-]"
_PRIVATE = (
    "QUklWQVRF|SU0EgUFJJVkFUR|FQyBQUklWQVRF|PUEVOU1NIIFBSSVZBV|FTkNSWVBURUQgU|EU0EgUFJJVkFUR|QR1AgUFJJVkFUR"
)
"""What follows BEGIN in base64 if the key is private."""
_LONG = r"MII[A-Z][A-Za-z0-9+/]{2}"
"""How a structure of 256 bytes and more begins in base64."""
_BODY = (
    r"[A-Za-z0-9+/]{32,4000}={0,2}(?:(?:\s{1,40}(?:[>│|] ?)?|(?:\\r)?\\n)"
    r"(?:[A-Za-z0-9+/]{24,200}={0,2}|[A-Za-z0-9+/]{2,23}={1,2})(?![^\s\\\"'`])){0,100}"
)
"""The rest of the first line of a private key, and the lines below it."""
_TOKENS = r"""
Anthropic key            | sk-ant-                          | [\w-]{16,}
OpenAI key               | sk-proj- sk-svcacct- sk-admin- sk-None- | [\w-]{16,}
OpenRouter key           | sk-or-                           | [\w-]{16,}
Langfuse key             | sk-lf-                           | [\w-]{16,}
OpenAI key               | sk-                              | [A-Za-z0-9]{20,}
Google API key           | AIza                             | [\w-]{30,}
Google OAuth token       | ya29.                            | [\w.-]{20,}
Google OAuth secret      | GOCSPX-                          | [\w-]{20,}
Google refresh token     | 1//0                             | [\w-]{30,}
Hugging Face token       | hf_ api_org_                     | [A-Za-z0-9]{30,}
Groq key                 | gsk_                             | [A-Za-z0-9]{40,}
xAI key                  | xai-                             | \w{40,}
Replicate token          | r8_                              | [\w-]{30,}
NVIDIA key               | nvapi-                           | [\w-]{40,}
Together key             | tgp_v1_                          | [\w-]{30,}
Cerebras key             | csk-                             | [a-z0-9]{30,}
Fireworks key            | fw_                              | [A-Za-z0-9]{22,}
LangSmith key            | lsv2_pt_ lsv2_sk_                | [0-9a-f]{16,}(?:_[0-9a-f]+)?
Pinecone key             | pcsk_                            | \w{30,}
Tavily key               | tvly-                            | [\w-]{20,}
Jina key                 | jina_                            | [\w-]{30,}
GitHub token             | ghp_ gho_ ghu_ ghs_ ghr_         | [A-Za-z0-9_]{30,}
GitHub token             | github_pat_                      | \w{22,}
GitLab token             | gloas- glcbt- glffct- glwt- glrtr- | [\w.-]{18,}
GitLab token             | glpat- glrt- gldt- glptt- glft- glsoat- glimt- glagent- | [\w.-]{18,}
AWS access key           | AKIA ASIA ABIA ACCA              | [0-9A-Z]{16}(?![0-9A-Za-z])
AWS session token        | IQoJb3JpZ2luX2Vj                 | [A-Za-z0-9+/]{80,}={0,2}
Convex deploy key        | eyJ2MiI6                         | [A-Za-z0-9+/]{40,}={0,2}
Amazon Bedrock key       | ABSKQmVkcm9ja0 bedrock-api-key-  | [A-Za-z0-9+/=]{30,}
Amazon Bedrock key       | ABSK                             | [A-Za-z0-9+/]{100,}
Slack token              | xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xapp- | [\w.%-]{10,}
Stripe key               | sk_live_ sk_test_ rk_live_ rk_test_ | [A-Za-z0-9]{16,}
Webhook secret           | whsec_                           | [A-Za-z0-9+/=]{20,}
npm token                | npm_                             | [A-Za-z0-9]{30,}
PyPI token               | pypi-                            | [\w-]{30,}
RubyGems key             | rubygems_                        | [0-9a-f]{40,}
crates.io token          | cio                              | [A-Za-z0-9]{32}(?![A-Za-z0-9])
NuGet key                | oy2                              | [a-z0-9]{43}(?![A-Za-z0-9])
Clojars token            | CLOJARS_                         | [a-z0-9]{40,}
Docker token             | dckr_pat_ dckr_oat_              | [\w-]{20,}
DigitalOcean token       | dop_v1_ doo_v1_ dor_v1_          | [0-9a-f]{40,}
SendGrid key             | SG.                              | [\w-]{16,64}\.[\w-]{30,}
Twilio key               | SK                               | [0-9a-fA-F]{32}(?![0-9A-Za-z])
Mailgun key              | key-                             | [0-9a-f]{32}(?![0-9A-Za-z])
Brevo key                | xkeysib- xsmtpsib-               | [A-Za-z0-9-]{40,}
Resend key               | re_                              | [A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}
MailerSend token         | mlsn.                            | [0-9a-f]{40,}
Shopify token            | shpat_ shpca_ shppa_ shpss_ shpua_ | [0-9a-fA-F]{30,}
Vault token              | hvs. hvb. hvr.                   | [\w-]{20,}
Doppler token            | dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. | [\w.-]{30,}
Infisical token          | st.                              | [0-9a-f-]{20,40}\.[0-9a-f]{20,}\.[0-9a-f]{20,}
1Password token          | ops_eyJ                          | [\w+/=-]{40,}
1Password token          | ops_                             | [A-Za-z0-9+/]{100,}={0,2}
1Password secret key     | A3-                              | [A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,5}[A-Z0-9]{5}
Notion token             | secret_                          | [A-Za-z0-9]{43}(?![A-Za-z0-9])
Airtable token           | pat                              | [A-Za-z0-9]{14}\.[0-9a-f]{60,}
Atlassian token          | ATATT3xFfG ATCTT3xFfG            | [\w=-]{40,}
Bitbucket password       | ATBB                             | [A-Za-z0-9]{28,}
Figma token              | figd_ figo_ figor_               | [\w-]{30,}
Postman key              | PMAK-                            | [0-9a-f]{24}-[0-9a-f]{30,}
New Relic key            | NRAK- NRJS- NRII- NRAA- NRBR- NRIQ- | [\w-]{19,}
Grafana token            | glsa_ glc_                       | [\w+/=-]{30,}
Honeycomb key            | hcaik_ hcaic_ hcamk_             | [a-z0-9]{40,}
Dynatrace token          | dt0                              | [a-z]\d\d\.[A-Z0-9]{8,}\.[A-Z0-9]{40,}
Sentry token             | sntrys_ sntryu_                  | [\w+/=-]{40,}
PostHog key              | phx_                             | [A-Za-z0-9]{30,}
LaunchDarkly key         | sdk- mob- api-                        | [0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}
Square token             | sq0atp- sq0csp- sq0idp- sq0ats- sq0cts- sq0ioe- sq0cse- | [\w-]{22,}
Braintree token          | access_token$production$ access_token$sandbox$ | [0-9a-z]{16}\$[0-9a-f]{32}
Plaid token              | access-production- access-development- access-sandbox- | [0-9a-f]{8}-[0-9a-f-]{27}
Razorpay key             | rzp_live_ rzp_test_              | [A-Za-z0-9]{14,}
Flutterwave key          | FLWSECK- FLWSECK_TEST-           | [\w-]{12,}
EasyPost key             | EZAK EZTK                        | [A-Za-z0-9]{54}
Shippo token             | shippo_live_ shippo_test_        | [0-9a-f]{40}
Facebook token           | EAAA EAAB EAAC EAAD EAAF EAAG EAAJ EAAM EAAT | [A-Za-z0-9]{60,}
Twitter bearer token     | AAAAAAAAAAAAAAAAAAAA             | [A-Za-z0-9%]{40,}
Dropbox token            | sl.                              | (?:u\.)?[\w-]{100,}
HubSpot token            | pat-na1- pat-na2- pat-eu1-       | [0-9a-f]{8}-[0-9a-f-]{27}
Typeform token           | tfp_                             | [\w.-]{40,}
Contentful token         | CFPAT-                           | [\w-]{40,}
Mapbox secret token      | sk.eyJ                           | [\w-]{30,}\.[\w-]{16,}
Cloudflare origin key    | v1.0-                            | [0-9a-f]{24}-[0-9a-f]{100,}
Netlify token            | nfp_ nfc_ nfo_ nfu_              | [A-Za-z0-9]{36,}
Heroku key               | HRKU-                            | [\w-]{30,}
Fly.io token             | fo1_ fm1r_ fm1a_ fm2_            | [\w+/=,-]{40,}
Render key               | rnd_                             | [A-Za-z0-9]{28,}
Supabase key             | sbp_ sb_secret_                  | [\w-]{30,}
PlanetScale token        | pscale_tkn_ pscale_pw_ pscale_oauth_ | [\w.-]{30,}
Databricks token         | dapi                             | [0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])
Pulumi token             | pul-                             | [0-9a-f]{40}(?![0-9A-Za-z])
SonarQube token          | sqp_ squ_ sqa_                   | [0-9a-f]{40}
SonarQube token          | sqco_                            | [A-Za-z0-9]{59}
CircleCI token           | CCIPAT_ CCIPRJ_                  | \w{20,}
Buildkite token          | bkua_ bkct_                      | [0-9a-z-]{30,}
Artifactory key          | AKCp                             | [A-Za-z0-9]{60,}
Artifactory token        | cmVmdGtu                         | [A-Za-z0-9]{50,}
Artifactory token        | cmVmd                            | [A-Za-z0-9]{59}(?![A-Za-z0-9])
Alibaba key              | LTAI                             | [A-Za-z0-9]{16,24}(?![0-9A-Za-z])
Tencent key              | AKID                             | [A-Za-z0-9]{32}(?![0-9A-Za-z])
Yandex key               | AQVN                             | [\w-]{35,38}(?![\w-])
Yandex token             | t1.9euel                         | [\w-]{20,}(?:\.[\w-]{60,})?
ReadMe key               | rdme_                            | [a-z0-9]{60,}
Adafruit key             | aio_                             | [A-Za-z0-9]{28}(?![0-9A-Za-z])
Duffel token             | duffel_live_ duffel_test_        | [\w=-]{40,}
Scalingo token           | tk-us-                           | [\w-]{40,}
Frame.io token           | fio-u-                           | [\w=-]{60,}
Defined Networking token | dnkey-                           | [\w=-]{26}-[\w=-]{50,}
age key                  | AGE-SECRET-KEY-1                 | [0-9A-Z]{50,}
Tailscale key            | tskey-                           | [a-z]{3,10}-[\w-]{20,}
Neon key                 | napi_                            | [a-z0-9]{40,}
Vercel token             | vcp_ vci_ vca_ vcr_ vck_         | [A-Za-z0-9]{24,}
extended private key     | xprv yprv zprv tprv uprv vprv    | [A-Za-z0-9]{90,}
ClickUp token            | pk_                              | \d{6,10}_[A-Z0-9]{30,}
Trello token             | ATTA                             | [0-9a-fA-F]{60,}
Asana token              | 1/ 2/                            | \d{14,17}(?:/\d{14,17})?:[0-9a-f]{32}
Elastic key              | essu_                            | [\w+/=]{30,}
Atlas secret             | mdb_sa_sk_                       | [\w-]{30,}
Confluent key            | cflt                             | [A-Za-z0-9+/]{50,}
Paddle key               | pdl_live_apikey_ pdl_sdbx_apikey_ | \w{30,}
Apify token              | apify_api_                       | [A-Za-z0-9]{30,}
Docker swarm token       | SWMTKN-                          | \d-[a-z0-9]{40,}-[a-z0-9]{20,}
k3s token                | K10                              | [0-9a-f]{60,64}::[\w.:-]{16,}
Bitwarden token          | 0.                               | [0-9a-f]{8}-[0-9a-f-]{27}\.\w{20,}:[\w+/=]{20,}
Turnstile secret         | 0x4AAAAAAA                       | [\w-]{20,}
hCaptcha secret          | ES_                              | [0-9a-f]{32}(?![0-9A-Za-z])
Inngest key              | signkey-                         | [a-z]{2,10}-[0-9a-f]{32,}
Nightfall key            | NF-                              | [A-Za-z0-9]{32}(?![0-9A-Za-z])
Intercom token           | dG9rO                            | [\w+/]{40,}={0,2}
Octopus key              | API-                             | (?=[A-Z]*[0-9])[A-Z0-9]{25,34}(?![\w-])
Voyage key               | pa-                              | [\w-]{43}(?![\w-])
Weights and Biases key   | wandb_v1_                        | \w{40,}
E2B key                  | e2b_                             | [0-9a-f]{40}(?![0-9A-Za-z])
Firecrawl key            | fc-                              | [0-9a-f]{32}(?![0-9A-Za-z])
Brave key                | BSA                              | [\w-]{28}(?![\w-])
Klaviyo key              | pk_                              | [0-9a-f]{34}(?![0-9A-Za-z])
Rancher token            | token-                           | [a-z0-9]{5}:[a-z0-9]{54}
JetBrains token          | perm: perm-                      | [\w+/=-]{6,}\.[\w+/=-]{4,}\.[\w+/=-]{20,}
Matrix token             | syt_                             | \w{6,}_[A-Za-z]\w{18,20}_\w{6}
Scaleway key             | SCW                              | (?=[A-Z]*[0-9])[A-Z0-9]{17}(?![0-9A-Za-z])
Dub key                  | dub_                             | [A-Za-z0-9]{24}(?![0-9A-Za-z])
Xata key                 | xau_                             | [A-Za-z0-9]{30,}
Axiom token              | xaat- xapt-                      | [0-9a-f]{8}-[0-9a-f-]{27}
Checkly key              | cu_                              | [0-9a-f]{32}(?![0-9A-Za-z])
Chromatic token          | chpt_                            | [0-9a-f]{12,16}(?![0-9A-Za-z])
WakaTime key             | waka_                            | (?:tok_)?[0-9a-f]{8}-[0-9a-f-]{27}
PubNub secret            | sec-c-                           | [\w+/=-]{36,}
Percy token              | web_ auto_                       | [0-9a-f]{64}(?![0-9A-Za-z])
Wix key                  | IST.                             | [\w-]{60,}\.[\w-]{60,}
Aiven token              | aivenv1                          | [\w+/=]{60,}
UpCloud token            | ucat_                            | [A-Z0-9]{26}(?![0-9A-Za-z])
Porkbun key              | sk1_                             | [0-9a-f]{64}(?![0-9A-Za-z])
Phase token              | pss_service: pss_user:           | v\d:[0-9a-f:]{64,}
bearer secret            | secret-token:                    | [\w.-]{20,}
Tinybird token           | p.eyJ                            | [\w-]{20,}\.[\w-]{16,}
Helicone key             | sk-helicone-                     | [a-z0-9]{4,8}-(?:[a-z0-9]{4,8}-?){2,4}
Dependency-Track key     | odt_                             | [A-Za-z0-9]{32,}
Flexport token           | shltm_                           | [\w-]{40,}
Segment token            | sgp_                             | [A-Za-z0-9]{60,}
Sourcegraph key          | slk_                             | [0-9a-f]{64}
Voiceflow key            | VF. VF.DM. VF.WS.                | [0-9a-f]{24}\.[A-Za-z0-9]{16}
Ubidots token            | BBFF- BBUS-                      | [A-Za-z0-9]{30,}
Teamwork token           | tkn.v1_                          | [\w+/=-]{60,}
WooCommerce key          | ck_ cs_                          | [0-9a-f]{40}(?![0-9A-Za-z])
Amazon MWS token         | amzn.mws.                        | [0-9a-f]{8}-[0-9a-f-]{27}
Instagram token          | IGQV IGAA                        | [\w-]{60,}
dbt token                | dbtc_ dbtu_                      | [\w-]{24,}
Nostr private key        | nsec1 ncryptsec1                 | [a-z0-9]{50,}
Django key               | django-insecure-                 | [^\s\"'`]{30,80}
Bitbucket token          | BBDC-                            | [\w+/@-]{40,50}
Cloudflare token         | cfut_ cfat_ cfk_                 | [A-Za-z0-9]{40}[0-9a-f]{8}
LinkedIn secret          | WPL_AP0. WPL_AP1.                | [\w.+/=-]{14,}
Salesforce token         | 5AEP861                          | [\w.=]{60,}
Salesforce key           | 3MVG9                            | [\w.+/=]{70,}
Zoho token               | 1000.                            | [0-9a-f]{32}\.[0-9a-f]{32}
StackHawk key            | hawk.                            | [\w-]{20}\.[\w-]{20}(?![\w-])
Okta token               | SSWS                             | \s?00[\w-]{40}(?![\w-])
WunderGraph key          | cosmo_                           | [0-9a-f]{32}(?![0-9A-Za-z])
Rootly key               | rootly_                          | [0-9a-f]{64}
Salad key                | salad_cloud_                     | [A-Za-z0-9]{1,7}_[A-Za-z0-9]{16,}
Bannerbear key           | bb_pr_ bb_ma_                    | [0-9a-f]{30}
Close key                | api_                             | [A-Za-z0-9]{22}\.[A-Za-z0-9]{22}(?![\w.])
FullStory key            | na1. eu1.                        | [A-Za-z0-9+/]{100}
Anyscale key             | esecret_                         | [A-Za-z0-9]{20,}
Sanity token             | sk                               | [A-Za-z0-9]{80,}(?![0-9A-Za-z])
"""
"""Name, prefixes, and the pattern after the prefix."""

_SHAPES: tuple[tuple[str, str, str, str], ...] = (
    # Three parts, the first two JSON objects in base64; five if encrypted.
    ("JSON web token", "eyj", rf"eyJ{_DASHED}{{8,{_MAX}}}\.eyJ{_DASHED}{{8,{_MAX}}}\.{_DASHED}*", ""),
    ("JSON web token", "eyj", rf"eyJ{_DASHED}{{8,{_MAX}}}\.{_DASHED}*(?:\.{_DASHED}{{16,{_MAX}}}){{3}}", ""),
    (
        "private key", "-----begin ",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
        r"(?=(?:[^-]|-(?!-)){0,400}?[A-Za-z0-9+/=]{16})"
        r"(?:(?:[^-]|-(?!----)){0,20000}-----END [A-Z0-9 ]{1,60}-----"
        r"|[^\n\"`<]{0,4000}(?:(?:\n(?=\n[A-Za-z0-9+/]{40}))?\n[^\n\"`]{1,200}){0,80})", "",
    ),
    *(
        # Without its first line: of OpenSSH, and as the numbers begin in PKCS #1, #8 and #12 and in SEC 1.
        ("private key", anchor.lower(), rf"{anchor}{_BODY}", before and rf"(?<![A-Za-z0-9+/]){before}$")
        for anchor, before in (
            ("b3BlbnNzaC1rZXktdjE", ""), ("IBAAKC", _LONG), ("IBAAKB", _LONG), ("IBADANBgkqhki", _LONG),
            ("IBAzCC", _LONG), ("BgkqhkiG9w0BBQ", f"{_LONG}[A-Za-z0-9+/]{{2}}"), ("CAQAwB", "M[C-H]."),
            ("AgEAMB", "MI[GH]."), ("CAQEEI", "MH."), ("AgEBB", "MI[GH]."),
        )
    ),
    (
        "private key", "putty-user-key-file-",
        r"PuTTY-User-Key-File-\d: (?:[^\n]{0,200}\n){4,400}?Private-MAC: [0-9a-f]{40,}", "",
    ),
    (
        "private key", "private-lines: ",
        r"Private-Lines: \d{1,3}\s{1,2}(?P<value>(?:[A-Za-z0-9+/=]{20,64}\s{0,2}){1,200})", "",
    ),
    *(
        ("private JSON web key", each, rf"{re.escape(each)} ?: ?\\?\"(?P<value>[\w-]{{40,{_MAX}}})\\?\"", "")
        for each in ('"d"', '\\"d\\"', '"k"', '\\"k\\"')
    ),
    ("Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?P<value>[a-z]{5,12}/[\w/+-]{20,200})", ""),
    ("Discord webhook", "/api/webhooks/", r"/api/webhooks/(?P<value>\d{15,20}/[\w-]{40,100})", ".$"),
    *(
        ("Teams webhook", each, rf"{re.escape(each)}(?P<value>[\w@/-]{{40,300}})", ".$")
        for each in (".webhook.office.com/", "outlook.office.com/webhook/")
    ),
    ("Azure access signature", "sig=", r"[Ss]ig=(?P<value>[A-Za-z0-9%+/]{30,100}(?:%3[Dd]|=){1,2})", ""),
    ("Azure access signature", "sig=", r"sig=(?P<value>[\w-]{43})(?![\w%-])", "[?&;]$"),
    ("signed address", "signature=", r"[Ss]ignature=(?P<value>[\w%+/~=-]{20,4000})", "[?&;-]$"),
    ("Firebase key", ":apa91b", r":APA91b[\w-]{100,200}", r"[\w-]{7,24}$"),
    ("Azure key", "jqqj99", r"JQQJ99[A-Za-z0-9]{10,40}", r"[A-Za-z0-9]{40,60}$"),
    ("Azure key", "+ast", r"\+ASt[A-Za-z0-9+/]{6}==", r"[A-Za-z0-9+/]{70,80}$"),
    ("Azure key", "azfu", r"AzFu[\w-]{6,10}={0,2}", r"[\w-]{35,50}$"),
    ("MaxMind key", "_mmk", r"_mmk(?![A-Za-z0-9])", r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}$"),
    ("Unleash token", ":production.", r":production\.[0-9a-f]{50,64}(?![0-9A-Za-z])", r"[\w*-]{1,40}$"),
    ("Unleash token", ":development.", r":development\.[0-9a-f]{50,64}(?![0-9A-Za-z])", r"[\w*-]{1,40}$"),
    ("private key in base64", "ls0tls1crudjtib", rf"LS0tLS1CRUdJTiB(?:{_PRIVATE})[\w+/=]{{40,}}", ""),
    ("webhook", ".tines.com/webhook/", r"\.tines\.com/webhook/(?P<value>[0-9a-f]{32}/[0-9a-f]{32})", ".$"),
    ("webhook", "/hooks/catch/", r"/hooks/catch/(?P<value>\d{4,10}/[A-Za-z0-9]{5,20})", ".$"),
    ("secret address of a calendar", "/private-", r"/private-(?P<value>[0-9a-f]{32})(?=/)", ".$"),
    (
        "secret address of a calendar", "/owa/calendar/",
        r"/owa/calendar/(?P<value>[\w@.-]{8,100}/[\w-]{20,100}(?:/cid-\w{8,40})?)/calendar\.", ".$",
    ),
    ("password hash", ":::", ":::", r"(?<![0-9a-fA-F])[0-9a-fA-F]{32}:[0-9a-fA-F]{32}$"),
    ("address with a key", ".quiknode.pro/", r"\.quiknode\.pro/(?P<value>[0-9a-f]{30,64})(?![\w-])", ".$"),
    ("address with a key", ".io/v3/", r"\.io/v3/(?P<value>[0-9a-f]{32})(?![\w-])", ".$"),
    ("address with a key", ".com/v2/", r"\.com/v2/(?P<value>[\w-]{32})(?![\w-])", "(?:alchemy|infura)$"),
    ("Terraform token", ".atlasv1.", rf"\.atlasv1\.{_DASHED}{{50,80}}", r"[A-Za-z0-9]{14}$"),
    ("Azure client secret", "q~", r"Q~[\w.~-]{31,34}(?![\w~])", r"[\w.~]{3}\d$"),
    ("Dropbox token", "aaaaaaaaaa", r"A{10}[\w-]{43}(?![\w-])", r"(?<![\w-])[A-Za-z0-9]{11}$"),
    ("New Relic key", "nral", r"NRAL(?![A-Za-z0-9])", r"(?<![A-Za-z0-9])[0-9a-fx]{36}(?:FFFF)?$"),
    ("New Relic key", "-nrma", r"-NRMA(?![A-Za-z0-9])", r"(?<![A-Za-z0-9])[A-Za-z0-9]{42}$"),
    ("Azure key", "+acr", r"\+ACR[A-Za-z0-9]{6}(?![A-Za-z0-9])", r"[A-Za-z0-9+/]{42}$"),
    ("secret of a payment", "_secret_", r"_secret_[A-Za-z0-9]{25}(?![A-Za-z0-9])", r"pi_[A-Za-z0-9]{24}$"),
    ("Mailchimp key", "-us", r"-us\d{1,2}(?![\w-])", r"(?<![0-9a-f])[0-9a-f]{32}$"),
    ("Telegram bot token", ":aa", r":AA[\w-]{32,34}(?![\w-])", r"(?<!\d)\d{8,10}$"),
)  # fmt: skip


_MARKS = (
    "_live_ -live- _test_ -test- _prod_ -prod- _sandbox_ _sbox_ _api_ -api- _apikey_ _secret_ -secret- _sk_ "
    "_pat_ -pat- _key_ -key- _token_ -token- _oat_ _sat_ _admin_ _svc_ _auth_ -auth-"
)
"""What marks a key after the tag of a service that is not in the table, as in ``acme_live_…``."""
_FIRST_MARKS = "live_ test_ prod_ sk_ pat_ key_ apikey_ api_ secret_ secret- token_"
_BEFORE_MARK = r"(?<![\w.-])(?!pk|pub)[A-Za-z][A-Za-z0-9]{1,15}$"
_ASSIGNED = (
    r"(?![ \t\w.-]{0,20}(?:sha|commit|hash|digest|rev|etag|uuid|id\b|public|site))"
    r"[ \t\w.-]{0,20}[\s\\'\"]{0,4}(?:=|>|:{1,3}=?|\|\||=>|\?=|,)[`\\'\"\s=]{0,5}"
)
"""Between the name of a service and its key."""


def kinds() -> tuple[Kind, ...]:
    """All kinds of secrets with a recognizable shape."""
    found: list[Kind] = []
    for name, anchors, rest in _rows(_TOKENS):
        for each in anchors.split():
            found.append(Kind(name, each.lower(), f"(?:{rest})", prefix=each))
            if len(each) >= _LEAST_ENCODED:
                start = b2a_base64(each.encode())[: len(each) * 8 // 6].decode()
                found.append(Kind(name, start.lower(), _BASE64, check=ENCODED, prefix=start))
    found += (Kind(name, anchor, pattern, before) for name, anchor, pattern, before in _SHAPES)
    for anchor in _MARKS.split():
        found.append(Kind("key", anchor, rf"{anchor}[\w-]{{16,200}}+(?![\w-])", _BEFORE_MARK, check="mixed"))
    for anchor in _FIRST_MARKS.split():
        found.append(Kind("key", anchor, rf"{anchor}[\w-]{{20,200}}+(?![\w-]|\.\w{{2,4}}\b)", check="mixed"))
    text = (Path(__file__).parent / "data" / "gitleaks.txt").read_text(encoding="utf-8")
    prefixed, _, assigned = text.partition("\n[assigned]\n")
    for name, anchors, rest in _rows(prefixed):
        found += (
            Kind(name, each.lower(), f"(?i:{rest})", check="mixed", prefix=each) for each in anchors.split()
        )
    for name, anchors, rest in _rows(assigned):
        pattern = rf"{_ASSIGNED}(?P<value>{rest})(?![\w-])"
        found += (Kind(name, each, rf"(?i:{each}{pattern})", "$", check="mixed") for each in anchors.split())
    return tuple(found)


def _rows(table: str) -> Iterator[list[str]]:
    for line in table.splitlines():
        if line and not line.startswith("#"):
            yield [part.strip() for part in line.split("|", 2)]
