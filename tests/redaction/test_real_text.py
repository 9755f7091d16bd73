"""What stands next to the names of secrets in real text and is none; secrets taken for something else."""

from __future__ import annotations

import random

from engine.redaction.detect import redacted
from tests.cases import each_case


@each_case(
    "text",
    [
        # Names that are short or end like those of secrets.
        "set pwd to osc9, which the shell reads",
        "[{number: 1, servoPin:12, limitOpenPin:13, weightSensorPin:17}]",
        "here is the verifier on w2auth for the demo",
        "when drawing sid=767018 hcr_id=79215",
        # Algorithms, encodings, versions and types.
        "`password` varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,",
        "Encrypt with HMAC, AES, RSA, Ed25519 and a key",
        "type Result_7 = variant { Ok : Wallet; Err : Error }; key",
        "// Trader1 should sign with 2 keys, Trader2 with 1",
        # Code: references, classes of a page, keys to press, objects, threads.
        "We'll pass the credentials to `read_stream_with_codec` as well",
        "{% if not force_pin %}col-fixed{% endif %}",
        '<MapPin className="h-4 w-4" />',
        '{ "key": "ctrl+alt+3", "command": "editor.fold" }',
        "ActivityRecord{3b2c1d token=android.view.Window@3f2a1bc task=7}",
        "Exception in thread Thread-2 (_pin_memory_loop)",
        # What a build keeps, by the hash of a file, and colours as transcripts write them.
        "Cache restored from key: node-cache-Linux-x64-npm-abb3c4792b476017477a361b65dace4ed3737f88",
        "📊 Analyse des mots-clés:\n\\u{1b}[0;35m[LOG]\\u{1b}[0m    - Automation: 5 mentions",
        # Prompts that nobody has answered, and names without a value.
        "Enter password:\nRepeat it to confirm",
        "SMTP_PASS=\nSMTP_FROM=\nSMTP_PORT=587",
        "STAGE_API_KEY:\n2026-03-04T05:06:07.1239999Z ##[endgroup]",
        # What is built, released, indexed, kept or drawn, by a name of several words.
        "Running tests/api_shop.rs (target/debug/deps/api_shop-4c1be9a07d32f586)",
        "image: registry.example.com/shop-api:deployment-01K2M4QZC8VRJEPT50H1W5AT77",
        "  KEY `shop_order_user_id_98783cea_fk` (`user_id`),",
        '{ key: "sea-terrain-light-4326", label: "Sea" }',
        'queryKey: ["cart-items", id], key: "rotated-2022-mantle"',
        '<p className="mt-3 text-zinc-400">Enter the four-digit PIN',
        "modified: e2e/test_5807b2b9-245d-4af5-b662-0ceb98368302.spec.ts",
        "stepId: 'pw:api@88',",
        # A word after a value that names something else, or another value.
        "git checkout 99ee176aaeaeb6418e956ecf70dccbb463756f40 -- src/auth/token.ts",
        'import { Loader2, Trash, MapPin, Key } from "icons"',
        "anna@MacBook-Pro-2024 shop % pwd",
        'npx add "https://chat.example.com/b/b_LhyeMWQ2BaU?token=..."',
        "图像经过 Qwen3-VL 的视觉编码器提取视觉 token，与文本 token 拼接",
        "authentication, authorization, and security. Then",
        'const secretKey: Uint8Array = load(); addColumn("key", "varchar(255)")',
        "GH_TOKEN starts with: ghs_XQmme9...",
        "密码强度：中（8-12位）",
        ".Button-root:hover{--variant-bg:#7b1fa2;}",
        # What everybody may see.
        'const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";',
        "mint: EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v decimals 6",
        "the token contract (ST1SBAQ8G1RPA2K6JP7N8XKHSF7BSP4G7RVPBQWQS.shop-token)",
        '{"CityKey":"5861ac7a-3f77-4722-ac8d-f6326a45c359","CityCode":"SZX"}',
        "Token-2022 account for mint 9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP. Create that token account",
        "the account requires `token_2022::Token2022`, then deps/spl_token_2022-398ac718a3f0127b.d",
        "overall_pass = pass_criteria_17 and pass_criteria_60",
        "> [tool:Bash] curl -d password=$P localhost/login → 500,500,500,500,500,500",
        "subject key identifier: 3F:DD:80:7C:44:27:3F:EC",
        '// Token Program\n  "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4",',
        "cid of the token: QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG",
        # A key of a store or of JSON, a path, an id, a parcel, a part of an address in a diff.
        "Saved data for key: 2f142FntmmEDKQgg1E2qpCautfXv:snapshot:" + 4 * "e3b0c44298fc1c14",
        '"https://example.org/jwt",\n    "' + 3 * "064d7e97d8d73d02" + '": "https://example.org/credentials"',
        '"objectKey": "photos/2024/069cf75b-d7f0-434e-af1e-1e953a346ef1.jpg"',
        "ses_01affd55d4b89fdcO8VQAZkQkgnCjw",
        "track: 1ZQNYC54GXBEUKWNA5",
        # A variable of a style, an expression, a form, an algorithm, a commit, a fingerprint, a visit's mark.
        'the password is "required"',
        'password: "Required!"',
        'password: "Passwords must match!"',
        "supported build systems, pass configuration flags such as `-DSECP256K1_ENABLE_MODULE_SCHNORRSIG`",
        "| Token | Hex |\n|---|---|\n| `--color-earth-600` | `#C17A5F` |",
        'token: "var(--color-tier-elite2)"',
        "input[type=password].svelte-1vj09ox:focus { width: 100% }",
        '"aws_access_key": r"AKIA[0-9A-Z]{16}",',
        'key = f"pm:intel:top:{limit}:{tag}:{min_volume_24h}"',
        "Passphrase → AES-256-CBC",
        "**Commit clé:** `f9390bc`",
        "gpg: using RSA key 4BBB845A6F5A65A69DFAEC234861DBF262123605",
        "> https://youtu.be/httXc1X49b4?si=PbHNGJz4SXybay2G",
        "const reCaptchaKey = process.env.NEXT_PUBLIC_RECAPTCHA_SITE_KEY || '6LeIxAcTAAAAAJcZVRqyHh71UMIE'",
        "const getNewToken = (oAuth2Client: Client) => {}",
        "diffhunk://#diff-" + 4 * "6ce2740d4a799bb2" + "R1489",
        'curl -H "apikey: sb_publishable_Rg_QCtLKzJiDg36epLOong_rTbyhQN"',
        "/quote?amount=2&baseToken=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984&side=buy",
        '"keyid":"ab12","key":"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2Pmc4aNBBGGyYILjJlRP6dK4Zim7j7VQq"',
    ],
)
def test_what_is_no_secret_in_real_text_is_kept(text: str) -> None:
    assert redacted(text) == text


@each_case(
    ("before", "value", "after"),
    [
        ("Here is the API key: ", "03e1373bfbd223449b1ebdb9e8be7c0b", ""),
        ("app.secret_key = b'", "Zq3m7!SkoTfu8BUw", "'"),
        ('MAIL_PASSWORD="', "jwoj galh rqti afhj", '"'),
        ("ROBOT_PASSWORD=", "baSzTPnG=bt+", ""),
        ("MONGO_KEYFILE=", "lA1jbhQCvb2Ha3SgvVVFl6fHTMwoXbIfLgjOAg/ud+vS/1fzqBn5q/m9g4m", ""),
        ("| billing transaction key | ", "z1hnpr9hb6CUL2Fs", " |"),
        (
            "I put the signing key into the vault, it is `",
            "7dd84689358ccc9fcec9f78c7f4ab89c6882c6f4",
            "` for now",
        ),
        ("SOLANA_PRIVATE_KEY=", 2 * "4mQz7XbW9pLr2VtKsHcYuNeJfGdRaT5vB8kM3nPxEwCq", ""),
        ("SESSION_SECRET=", "keyboard-otter-2917", ""),
        ('"pin": "', "4821", '"'),
        ("> [tool:Bash] vault kv get -field=password secret/db → ", "Clo@26harbor", ""),
        ("> [tool:Bash] openssl rand -base64 24 → ", "2CwGuUM0TdPnqwu34xkSwYvent1LBNKs", ""),
        ("Initial admin password\n\n", "59722f6d53185a05a596f5436c76bf13", "\n\nThis may also be found"),
    ],
)
def test_a_secret_that_looks_like_something_else_is_found(before: str, value: str, after: str) -> None:
    assert value not in redacted(f"{before}{value}{after}")


@each_case(
    "text",
    [
        "    --- PASS: TestParseLines/10KB_line (0.00s)",
        "input[type=password]:focus { outline: 2px solid }",
        "arn:aws:kms:eu-west-1:002979786887:key/1f25b743-3cda-41d2-b803-172b0c67d134",
        "password: ENC[AES256_GCM,data:OKFF9g4cLNl2rZo57KM7aw==,iv:4Dwrv9aN4vp7LD5nD9VcSO45zG8CSdHTx2BUz9sA]",
        "   - Anon key: `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...` (a long text)",
        '{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","use":"sig"}',
        "das Passwort ist abgelaufen und wird am 3.4.2026 gelöscht",
        "wachtwoord: minstens 12 tekens",
        "passphrase: must have four words",
        "keywords: ensure that your resume includes relevant words from the job and also what you did",
        "the words: ensure that your resume includes relevant words from the job and also what they ask",
        "Call&#96;login&#96; to obtain a token",
        "943ms / 40 token ≈ **每个 token 23.6ms**，而论文是 70ms",
    ],
)
def test_what_only_reads_like_a_secret_is_kept(text: str) -> None:
    assert redacted(text) == text


@each_case(
    ("before", "value", "after"),
    [
        ('{"kty":"EC","crv":"P-256","d":"', "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI", '"}'),
        ("Your recovery codes:\n", "zgvbc-y2sfi\nvi96x-b2ajp", "\n"),
        ('variable "db_password" {\n  type    = string\n  default = "', "Orchard-Kite-2019", '"\n}'),
        ("jdbc:oracle:thin:app/", "JIPXn1h9SkDc", "@//ora1:1521/ORCL"),
        ('DriverManager.getConnection(url, "app", "', "mC2m@VjH807M5t1", '");'),
        ("psexec \\\\srv1 -u admin -p ", "Kestrel_42", " cmd"),
        ("senha: ", "uiR=V6+0SRO", ""),
        ("  password: ", "*Kestrel42Q", ""),
        ("Kata sandi server adalah ", "Kestrel-Harbour-77", "."),
        ('the passphrase? "', "ribbon saddle puzzle granite", '"'),
        ("SMTP_PASS=", "jwoj galh rqti afhj", "\n"),
        ("met ", "Xk7!mQ2vLp9s", " als wachtwoord"),
        ("cat ~/.config/solana/id.json → [", ",".join(map(str, range(100, 164))), "]"),
        ("accounts: ['", "0x" + "f4cd8157be4d2f94" * 4, "'],"),
        ('jwt.sign(payload, "', "Otter-635-VelvetbJ2m", '", { expiresIn: "1h" })'),
        ("requests.get(url, auth=('bob', '", "Otter#8812", "'))"),
        ("https://cool-sky.solana-mainnet.quiknode.pro/", "8f14e45fceea167a5a36dedd4bea2543aabbccdd", "/"),
        ("wachtwoord van de router: ", "Basket#4360", ""),
        ("connecte-toi avec root / ", "Otter8812", ""),
        ("服务器密码改成 ", "Otter8812", " 了"),
        ("python train.py --wandb_key=", "71cbf6c797f1042e58ee88a06dab9b61408b9033", ""),
        ("se fallisce con `", "-pOtter2024", "!`, allora la password root non va"),
        ("try ", "@Otter77x", ", that was his old pass"),
        ("le mdp du wifi c'est ", "otter-harbor305", ""),
        ("pwd's still ", "Otter!8812", " unless Tom changed it"),
        ("define('DB_PASSWORD', '", "3zRTK=-!tSc=4Ii", "');"),
        ("printf '", "Otter8812\\nOtter8812", "\\n' | passwd bob"),
        ("wg set wg0 private-key <(echo ", "jDvsxuf+8GcNpiqjExKOOipftmK29xoo8fw8FVst0EN=", ")"),
        ("mc alias set prod https://s3.example.org admin ", "esNvA73TmOAaQrk7SYGTqpkXbULz", ""),
        ("poetry config http-basic.acme ci ", "3dSPYPl0HYO0CPws8Qcf", ""),
        ("bundle config set --local gems.example.org ", "ci:DjiIfFCzZ9AOSln4Z9Qx", ""),
        ("client.run('", "MTPZRZrv7z9Fe2r9OQmcz5NiX9.GIhv78.ZXBaBubGoYWCgzuQ84dkeo-GrfUkbMSjk6WANX", "')"),
        ("createUserWithEmailAndPassword(auth, 'kim@example.org', '", "Kestrel_42", "')"),
        ("crypto.createHmac('sha256', '", "YVPWXYZQXVtHLDTcV3RvAFFCqaeZDXrO", "')"),
        ("UPDATE users SET password = md5('", "Velvet-Kestrel-77", "');"),
        ("SET PASSWORD FOR 'kim'@'%' = '", "#Kestrel1987zz", "';"),
        ("user kim on >", "Kestrel_cinder1987", " ~* +@all"),
        ("set security ike pre-shared-key ascii-text ", "kestrel_puzzle305", ""),
        ("The default password is '", "blooberry", "'"),
        ('password = "', "super$ecret", '"'),
        ('new NetworkCredential("kim@example.org", "', "vzihlaquknriqlht", '");'),
        ("vault operator unseal ", "98m+o2ylRhVbOi+3o5ub6PbP343ocFUVORgSYeypMDjh", ""),
        ("psexec \\\\10.0.94.120 -u Administrator -p ", "dev_admin", " cmd"),
        ("Pass phrase: ", "granite-tunnel-comet-ribbon", ""),
        ("unlock with pin ", "088529", ""),
        ('"sk": "', 4 * "9f86d081884c7d65", '"'),
        ("", "nsec1" + 2 * "25aqxlsjy2cc9zun3swn7h7lrm8j4", ""),
        ("vault login ", "Aqe02MmmkRATykHEHhxZI2j97s", ""),
        ('send "', "Otter-Kite-99", '\\r"'),
        ("aws ssm put-parameter --name /a --value '", "Otter-Kite-99", "' --type SecureString"),
        ("DRIVER={ODBC Driver 18};UID=sa;PWD={", "3kZTd3hpB^0", "}"),
        ('cmd /c "set DB_PASSWORD=', "otter.kite2023", '&& node app.js"'),
        ("", "pbkdf2_sha256$600000$q0ZcfcDOrHIP$tpyQogdV9qGxVe9w6Om7RsgzBy9muRdbo7yYb76iN78=", ""),
        ("", "SCRAM-SHA-256$4096:VE93F2mfO341fj6KtOgA4g==$BtYZCVhwkvwD9GNKQj9N:6oPyIpcMjpi2e5ehZAqM6b", ""),
        (
            "OPENAI_API_KEY=",
            "sk-proj-k5blIgzOG5GWZp6Cx_U64H6SkHIDp8VsL7RlIpjiRM\nksPhTCDGmj66QWWhP6jcQkl32",
            "\n",
        ),
    ],
)
def test_a_secret_in_an_unusual_place_is_found(before: str, value: str, after: str) -> None:
    assert value not in redacted(f"{before}{value}{after}")


@each_case(
    "before",
    [
        "PHANTOM_KEY=",
        "my wallet key is ",
        "KEYPAIR=",
        'payer_key = "',
        "here is the key ",
        "signer: ",
        "WALLET_SECRET=",
    ],
)
def test_a_private_key_in_the_letters_of_an_address_is_a_secret(before: str) -> None:
    letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    key = "".join(random.Random(3).choices(letters, k=88))
    assert redacted(f"{before}{key}").endswith("[secret]")
    assert redacted(f"tx {key} confirmed") == f"tx {key} confirmed"
    assert redacted(f"access token {key[:43]}") == "access token [secret]"
    assert redacted(f"wallet: {key[:43]}") == f"wallet: {key[:43]}"
