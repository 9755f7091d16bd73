"""Secrets whose name stands elsewhere: above a column, before a user, in a cell, in what printed them."""

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
        f"creds: kim {VALUE}",
        f"use the account qa@example.org with pass {VALUE}",
        f"1. qa@example.org / {VALUE}",
        f"the dev login (admin/{VALUE}) fails",
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
        "creds: aws us-east-1",
        "the login uses test/Login2.spec.ts",
        "login page src/LoginPage2 is broken",
        "credentials: see vault2",
        "the user should pass userId2 to the handler",
        "a user and pass 12/12 tests",
        "qa@example.org / 2026-05-01",
    ],
)
def test_what_follows_a_login_otherwise_is_kept(text: str) -> None:
    assert redacted(text) == text


HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"


@each_case(
    "text",
    [
        # In a page: the next cell, element or field.
        f"<tr><th>API key</th><td>{HEX}</td></tr>",
        f"<tr>\n  <td>STRIPE_KEY</td>\n  <td>{HEX}</td>\n</tr>",
        f'{{"content":"<td class=\\"name\\">AUTH_TOKEN</td>\\n<td><code>{HEX}</code></td>"}}',
        f"<p><strong>API key:</strong> <code>{HEX}</code></p>",
        f"<key>ApiToken</key>\n\t<string>{HEX}</string>",
        f'<label>Password</label><input type="text" value="{VALUE}">',
        # In a sentence: what it is for.
        f"Secret key (won't be shown again): {HEX}",
        f"Token (read/write) = {HEX}",
        f"here is the API key for the shop: {HEX}",
        f"The token for CI is {HEX}.",
        f"new token after rotation: {HEX}",
        f"the secret it printed was {HEX}",
        f"Password of the admin account: {VALUE}",
        f"clé d'API pour la prod : {HEX}",
        f"llave de la API: {HEX}",
        f"a chave da loja é {HEX}",
        # In code: after a type, instead of what is not set, typed or expected.
        f'SECRET_KEY: str = "{HEX}"',
        f'let apiKey: String = "{HEX}"',
        f"password: <%= ENV['X'] || '{VALUE}' %>",
        f'SECRET = os.environ.get("SECRET_KEY") or "{HEX}"',
        f'find_element(By.ID, "password").send_keys("{VALUE}")',
        f"await page.locator('#pass').fill('{VALUE}')",
        f"expect(password).toBe('{VALUE}')",
        # In an object: the value of the same one, or of the next; in a list.
        f'{{\n  "name": "acme_token",\n  "slotSetting": false,\n  "value": "{HEX}"\n}}',
        f'{{\n  "value": "{HEX}",\n  "name": "API_KEY"\n}}',
        f'{{\\"name\\": \\"API_KEY\\",\\n \\"value\\": \\"{HEX}\\"}}',
        f'{{"apiKey": {{"value": "{HEX}"}}}}',
        f"password:\n  value: {VALUE}\n",
        f'"api_keys": ["{HEX}"]',
        f"passwords:\n  - {VALUE}\n",
        # After what is a command, too, and as a page writes quotation marks.
        f"user:kim,pwd:{VALUE}",
        f"<a href='https://example.org?token=&quot;{HEX}&quot;'>",
    ],
)
def test_a_value_apart_from_its_name_is_judged_by_it(text: str) -> None:
    value = HEX if HEX in text else VALUE
    assert value not in redacted(text)
    assert redacted(text).endswith(text.partition(value)[2])


@each_case(
    "text",
    [
        "<tr><td>Password</td><td>string</td><td>required</td></tr>",
        "<tr><td>token_count</td><td>12345</td></tr>",
        f"<td>Commit</td><td>{HEX}{HEX[:8]}</td>",
        '<label>Password</label><input type="password" name="pw1" value="">',
        "<key>CFBundleVersion</key><string>1.2.3</string>",
        "The key to success in 2024: focus2",
        "Key for the map: users_by_id2",
        f"Token for the request: toolu_01{HEX[:22]}",
        f"Cache key for this build: {HEX}",
        "Password (min 8 chars): required",
        "password for admin: ADMIN_PASSWORD_2",
        "const key = options.key ?? 'default-key-1'",
        "expect(key).toBe('user:1')",
        "key: string = 'user-settings-v2'",
        "token: str | None = None",
        '{"name": "region",\n "value": "eu-west-1a"}',
        '{"name": "primary_key",\n "value": "user_id2"}',
        '{"key": "cache_key",\n "value": "users:list:v2"}',
        '{"name": "token_url",\n "value": "https://example.org/oauth2"}',
        "prompt for credentials:\n- Username: `Kim1st`\n- Email: `kim@example.org`",
        f'"cache_keys": ["{HEX}"]',
        "pwd: /srv/app2",
    ],
)
def test_what_stands_apart_from_a_name_otherwise_is_kept(text: str) -> None:
    assert redacted(text) == text


def test_what_a_command_printed_that_names_a_secret_is_one() -> None:
    value = "bJTN" + "q4SgV21cN"
    assert redacted(f"$ kubectl get secret db -o jsonpath='{{.data.password}}'\n{value}\n").endswith(
        f"\n{PLACEHOLDER}\n"
    )
    for text in ("$ md5sum token.txt\n" + "0a1b2c3d" * 4 + "\n", "$ ls secrets\nserver2.key\n"):
        assert redacted(text) == text
