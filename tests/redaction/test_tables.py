"""Secrets whose name stands elsewhere: above a column, before a user, or in the command that printed them."""

from __future__ import annotations

from engine.redaction.detect import PLACEHOLDER, redacted
from tests.cases import each_case

VALUE = "Kestrel_harbour42"


@each_case(
    "text",
    [
        f"| user | password |\n|------|----------|\n| kim | {VALUE} |\n",
        f"| host | login | pass | note |\n|---|---|---|---|\n| db1 | root | `{VALUE}` | old |\n",
        f"name,url,password\nwiki,https://wiki.example.org,{VALUE}\n",
        f"email;passwd;created\na@example.org;{VALUE};2026-01-02\n",
        f"HOST\tUSER\tPASSWORD\nsw1\tadmin\t{VALUE}\n",
        f"USER    PASSWORD             ROLE\nkim     {VALUE}    admin\n",
        f" login | passwd\n-------+--------\n kim   | {VALUE}\n(1 row)\n",
    ],
)
def test_what_stands_below_the_heading_of_a_column_is_judged_by_it(text: str) -> None:
    assert redacted(text) == text.replace(VALUE, PLACEHOLDER)


@each_case(
    "text",
    [
        "| test | pass | fail |\n|---|---|---|\n| auth | 31 | 0 |\n| store | 118 | 2 |\n",
        "| setting | default |\n|---|---|\n| password | none |\n| token_ttl | 3600 |\n",
        "| field | type |\n|---|---|\n| password | string |\n| secret | bytes |\n",
        "| field | type |\n|---|---|\n| password | string |\n| user_id2 | bigint |\n",
        "name,token_count,cost\nsmall-model-4,18231,0.42\n",
        "USER   PASSWORD_CHANGED\nkim    2026-01-04T10:22:11\n",
        "NAME            TYPE                DATA\ndb-credentials  kubernetes.io/tls   3\n",
        "password, user = read()\nfirst, second = other2()\n",
    ],
)
def test_a_table_without_secrets_is_kept(text: str) -> None:
    assert redacted(text) == text


@each_case(
    "text",
    [
        f"credentials: kim:{VALUE}",
        f"login kim / {VALUE}",
        f"the test account is qa@example.org:{VALUE}, as ever",
        f"Zugangsdaten: kim:{VALUE}",
    ],
)
def test_what_follows_a_user_in_a_login_is_a_password(text: str) -> None:
    assert redacted(text) == text.replace(VALUE, PLACEHOLDER)


@each_case(
    "text",
    [
        "log in via sso:google",
        "git log main..kim/fix-53-login-page",
        "the login of main/release-2026-11",
        "credentials: see wiki:onboarding",
        "docker login registry.example.org:5000",
        "logged in at 10:22:11",
        "account user:group 1000:1000",
    ],
)
def test_what_follows_a_login_otherwise_is_kept(text: str) -> None:
    assert redacted(text) == text


def test_what_a_command_printed_that_names_a_secret_is_one() -> None:
    value = "bJTN" + "q4SgV21cN"
    assert redacted(f"$ kubectl get secret db -o jsonpath='{{.data.password}}'\n{value}\n").endswith(
        f"\n{PLACEHOLDER}\n"
    )
    for text in ("$ md5sum token.txt\n" + "0a1b2c3d" * 4 + "\n", "$ ls secrets\nserver2.key\n"):
        assert redacted(text) == text
