"""Names of passwords and keys, of other values, and of neither, for ``tests.training.secrets``."""

# ruff: noqa: SIM905, E501 — words and lines of lists
from __future__ import annotations

import random
from collections.abc import Iterator

PASSWORDS = tuple(
    word.replace("+", " ")
    for word in """
    passwords password password password passwd passwd passwort pass pass pass pass pin pin pin psk passphrase
    passphrase passcode pwd pwd pw pw psk ppk bindpw wpa keyphrase passkey pincode pin loginpw userpass
    rootpw rootpass dbpass mysqlpwd sudopass requirepass storepass keypass masterauth userpassword
    dbpassword srcpass destpass sshpass smtppass ftppass pswd psw passwrd kennwort losung geheimzahl
    zugangscode losungswort zugangswort mot+de+passe mot_de_passe motdepasse mdp code+secret contraseña
    contrasena clave clave+de+acceso palabra+clave senha palavra+passe palavra_passe palavrapasse
    parola+d'ordine parola parolă parol contrasenya parole пароль пароля паролем паролі парола лозинка
    шифра lozinka lozinku zaporka geslo heslo hesla heslem hasło hasła hasłem haslo haslem wachtwoord
    wachtwoorden wagwoord toegangscode lösenord lösenordet losenord lösen passord passordet adgangskode
    adgangskoden kodeord kodeordet lykilorð aðgangsorð salasana salasanan tunnussana jelszó jelszava
    jelszavam jelszo slaptažodis slaptazodis parole salasõna şifre şifresi sifre sifresi parolası
    parolam κωδικός κωδικοσ κωδικό συνθηματικό pasahitza contrasinal cyfrinair facal-faire fjalëkalimi
    nenosiri wagwoord şifrə құпиясөз 密码 密碼 登录密码 密码是 密碼為 口令 通行码 暗証番号 パスワード パスワードは 暗号 合言葉 비밀번호 비밀번호는 비번 암호
    암호는 패스워드 mật+khẩu mật_khẩu matkhau mat_khau kata+sandi katasandi sandi kata+laluan รหัสผ่าน
    รหัสผ่านคือ रहस्य पासवर्ड पासवर्डः পাসওয়ার্ড கடவுச்சொல் సంకేతపదం סיסמה סיסמא הסיסמה ססמה
    كلمة+المرور كلمة_المرور كلمة+السر كلمة_السر الرقم+السري رمز+عبور گذرواژه پاس+ورڈ
    """.split()
)
KEYS = tuple(
    word.replace("+", " ")
    for word in """
    secret+key+base secret_key_base key key key key key key key key token token token token secret
    secret secret secret credential credentials cred creds auth authkey apikey apikey pat dsn sig salt keyfile
    pepper seed hmac jwt bearer cookie sas signing crypt authtoken accesstoken
    secretkey privatekey accesskey masterkey signkey cryptkey apitoken appkey clientsecret sharedsecret
    appsecret hashsalt authsalt webhook_secret license licence tokens keys secrets apikeys activation
    enrollment+code registration+code unlock+code recovery+code backup+codes otp totp mnemonic sid
    sessid phpsessid sessionid connect+sid csrf xsrf jsessionid community rocommunity erlang+cookie
    verifier csrf_token appid api_id_secret schlüssel schluessel geheimnis zugangsschlüssel sleutel
    geheim nyckel hemlighet nøkkel nøgle hemmelighed avain salaisuus klucz sekret klíč klic tajemství
    kulcs titok cheie secretul anahtar anahtarı gizli chiave segreto chave segredo clé clef cle_api
    clé_api jeton llave secreto jetón khóa mã+bí+mật kunci rahasia ključ ключ ключа токен токена секрет
    секретный+ключ κλειδί μυστικό מפתח סוד אסימון مفتاح سر رمز 密钥 密鑰 令牌 访问令牌 密匙 秘密鍵 apiキー トークン シークレット
    アクセストークン 토큰 인증키 비밀키 비밀+키 api키 api+키 キー 키 鍵 กุญแจ โทเค็น टोकन कुंजी
    """.split()
)
QUALIFIERS = """
    admin root db database mysql postgres pg redis mongo user my the app application api client server
    service svc system sys master main prod production staging dev test live ci cd deploy build bot web
    site portal internal external shared default initial temp temporary new old current backup restore
    vpn wifi wlan guest ldap smtp imap mail email ftp sftp ssh proxy registry docker k8s cluster node
    host gateway router switch account login access refresh id session private personal secret auth
    oauth sso jwt hmac webhook signing sign encryption encrypt encrypted crypto storage blob bucket
    queue kafka rabbit broker mqtt device sensor fleet tenant org organisation team project workspace
    cloud aws azure gcp github gitlab slack discord telegram stripe payment billing invoice shop store
    erp crm sap hr payroll vault consul nomad terraform ansible monitoring metrics grafana sentry
    datadog search maps geo weather news ai llm model openai anthropic read write readonly rw ro
    management maintenance super superuser owner operator agent worker job cron ingest push pull publish
    upload download consumer producer subscription integration partner vendor bootstrap join invite
    setup recovery rest rpc graph ws stream event tracking analytics account
    """.split()
AFTER = [
    "base",
    "value",
    "string",
    "text",
    "raw",
    "prod",
    "dev",
    "test",
    "staging",
    "live",
    "old",
    "new",
    "main",
    "1",
    "2",
    "v2",
    "primary",
    "secondary",
    "default",
    "b64",
    "str",
]
"""What may follow the name of a secret, which remains one."""
OTHERS = """
    py go ts js json yaml yml md txt html css toml id ids uid uuid guid hash digest sha sha1 sha256 md5
    checksum fingerprint thumbprint count counts counter length len size name names label title hint
    placeholder prompt field input column path file files filename dir folder location url uri endpoint
    host hostname port address type kind format algorithm alg version rev revision policy rule rules min
    max limit budget usage used ttl expiry expires expiration lifetime timeout age interval date time at
    created updated enabled disabled required visible valid status state index idx prefix suffix header
    env var variable ref reference manager provider service handler helper factory validator generator
    strategy method mode level scope scopes issuer audience public pub page cursor range offset pos
    position number num total price cost rate color colour icon image button reset change changed forgot
    forgotten strength error message msg event log test spec schema model class table store storage ring
    chain pair map list set group role permission user username email owner author commit branch tag
    tree blob ref etag trace span request response parent thread run step task job build release digest
    serial number model device zone region locale lang
    """.split()
OTHER_NAMES = """
    id ids uid uuid guid hash digest sha sha1 sha256 sha512 md5 checksum fingerprint thumbprint commit
    commit_hash git_sha revision rev etag trace_id span_id request_id correlation_id session_id
    sessionId message_id msg_id parentUuid leafUuid tool_use_id toolUseID thread_id run_id job_id
    task_id build_id event_id node_id object_id websocket_key sec_websocket_key measurement_id
    player_tag pwd serial user_id account_id tenant_id client_id clientId customer_id order_id
    transaction_id tx_hash block_hash integrity shasum resolved nonce cursor next_cursor page_token
    nextPageToken continuation public_key publicKey pubkey publishable_key site_key sitekey key_id keyid
    kid key_name keyname key_path key_file token_count total_tokens input_tokens output_tokens
    max_tokens cached_tokens prompt_tokens token_type tokenizer password_hash passwordHash
    hashed_password password_digest password_file secret_name secretName secret_arn secret_id
    secretKeyRef secretRef token_url tokenUrl auth_url auth_type authMethod auth_provider cookie_name
    session_name csrf_header exit_code status_code error_code return_code http_code country_code zip_code source_code storage_key storageKey cache_key cacheKey primary_key foreign_key sort_key
    partition_key idempotency_key project_key projectKey i18n_key translation_key hotkey keycode keyCode
    keybinding shortcut key_prefix image_digest content_hash file_hash snapshot_id ami version build
    revision_id uri url path file filename certificate cert ca_cert ca_hash thumbnail avatar content
    data body image icon blob payload base64 encoding embedding vector serial_number issue ticket
    invoice tracking barcode isbn iban phone deployment container_id pod uid resourceVersion generation
    instance_id vpc_id subnet_id arn digest_sha256 crc crc32 blake3 merkle_root tree parent index
    blob_sha object sha_short signature signature signature sign_off signatures thinking_signature iv
    tag auth_tag ciphertext signature_version signature_algorithm boundary fingerprint_sha256
    system_fingerprint
    """.split()
HARMLESS = """
    PASS the a an is was are be been for of to in on at by with from as that this it its and or not no
    if then else when use using can could should will would please now still just new old my your our
    their his her one two all any here there see set get put make made go went see say said tell told
    know think want need like time day week der die das den dem des ein eine einen ist war sind für von
    zu im in am mit aus auf bei nach und oder nicht wenn ich du wir sie er es man bitte jetzt noch neu
    neue neuer alt mein dein unser lautet heißt server benutzer nutzer le la les l un une des du de et
    ou est sont pour avec dans sur par ce cette c'est mon ma votre notre nouveau nouvelle serveur
    utilisateur maintenant changé el los las una y o es son para con en por este esta mi tu su nuestro
    nuevo nueva servidor usuario ahora os as um uma e ou são com em por este minha meu seu novo nova
    banco il lo gli di da del della che è sono con per tra questo questa mio nuovo nuova utente adesso
    het een van en of is zijn voor met op bij dit dat mijn uw nieuw nieuwe gebruiker nu i w z na do od
    to jest są dla przy ten ta mój nowy nowe serwera bazy użytkownik teraz och eller är var för med på
    av till från den det min ny nytt nya servern användare nu og eller er for med på av til fra dette
    mit din nyt bruker nå nu ja tai on oli ovat kanssa uusi palvelin palvelimen käyttäjä nyt ve veya bir
    bu şu için ile sunucu sunucunun kullanıcı yeni şimdi oldu olarak değişti a az egy és vagy van volt
    új szerver felhasználó most lett și sau este sunt pentru cu pe nou noua acum и или это для от с на в
    по не у мой новый новая сервер сервера базы пользователь теперь логин є та від до новий зараз και ή
    είναι για από με στο ο η το νέος τώρα διακομιστή 是 的 为 和 了 在 我 你 用户名 服务器 数据库 新 现在 改成了 伺服器 は の です を に
    が と で サーバー ユーザー 新しい ログイン 입니다 서버 아이디 새 지금 은 는 이 가 của là và cho mới máy chủ bây giờ yang dan untuk
    dari adalah baru sekarang pengguna है का के और नया अब सर्वर คือ ของ และ ใหม่ ครับ هو هي من في على
    الجديدة الآن الخادم היא הוא של על חדש עכשיו שרת code codes number name user users login log data
    file server host value text string line word list table
    """.split()
"""Common words of many languages, which say nothing of a value."""
HARD = """
    tests_pass checks_pass keyword keywords keyboard keypad keys keynote keyframe hotkeys monkey donkey turkey jockey whiskey
    hockey author authors authority authored authentic authentication authorization authorize
    authenticated compass compassion passage passenger passing passed passes passive passport bypass
    surpass password_reset encompass overpass tokenize tokenizer tokenization tokens secretary
    secretariat secretly secrets pattern patterns patch path paths patient patent pathlib pattern_id
    compatible dispatch spatial update updated patrol pins pinned spin spinning ping opinion pinning
    sign signs signed signal signals assign assigned design designer significant signature sigma sight
    insight salty salted seeds seeded seedling sass sasl saga session sessions cookies cookiecutter jar
    hook hooks hooked pew communityserver communities spice power powder pow ipw spwan cwd epwd apw pwm
    psych clavicle claves clavier enclave conclave autoclave parolee paroled chiavetta cleanup clear cle
    clever saltation avaint klucznik slept shift shiftr cifre sifter sender senhor lucky parser parse
    parsed params parameter paragraph apiary rapid capital creditor credits accredited incredible credit
    sacred discredit described encrypt encrypts encrypted encryption decryption chiffrement verschlüsselung cifrado
    crittografia шифрование 암호화 복호화 暗号化 加密 password_protected passwordless
    appelé appelle appeler modèle secondary sections sector secure
    """.split()


_GLUE = (
    ("数据库", "是"), ("", "是"), ("新", "为"), ("登录", ""), ("的", "改成了"), ("", "改为"), ("新しい", "は"), ("", "は"), ("", "を"),
    ("", "는"), ("", "은"), ("새", ""), ("서버", "가"), ("", "คือ"), ("", "ใหม่"), ("用户", "为"), ("管理", ""),
)  # fmt: skip


def _is_wide(word: str) -> bool:
    return any("\u3040" <= each <= "\ud7ff" or "\u0e00" <= each <= "\u0eff" for each in word)


def names(draw: random.Random, neutral: list[str]) -> Iterator[tuple[str, int]]:
    """Names and the place in ``engine.redaction.names.KINDS`` of what they say; ``neutral`` are words of code."""

    def joined(parts: list[str]) -> str:
        way = draw.random()
        flat = [each for part in parts for each in part.replace("_", " ").split()]
        if way < 0.3:
            return "_".join(flat)
        if way < 0.45:
            return "_".join(flat).upper()
        if way < 0.65:
            return flat[0] + "".join(map(str.capitalize, flat[1:]))
        if way < 0.8:
            return "-".join(flat)
        return "".join(flat) if way < 0.83 else " ".join(flat)

    def before() -> list[str]:
        pool = (QUALIFIERS, neutral)[draw.random() < 0.45]
        found = draw.choices(pool, k=draw.choice((0, 0, 1, 1, 1, 2, 2, 3)))
        if found and draw.random() < 0.2:  # as the names of companies are made: namecheap, mailchimp
            found[-1] = draw.choice((draw.choice(neutral), draw.choice(OTHERS))) + draw.choice(neutral)
        return found

    cores = [each for each in (*PASSWORDS, *KEYS) if each.isascii()]
    for _ in range(14):
        for kind, table in ((1, PASSWORDS), (2, KEYS)):
            for core in table:
                if not core.isascii():
                    for _again in range(2):
                        if draw.random() < 0.2:
                            yield joined([core, draw.choice((*QUALIFIERS[:24], *HARMLESS))]), kind
                        start, end = (
                            draw.choice(_GLUE) if draw.random() < 0.5 and _is_wide(core) else ("", "")
                        )
                        yield start + core + end, kind
                    continue
                parts = [*before(), core]
                if draw.random() < 0.1:
                    yield joined([core, draw.choice(QUALIFIERS[:24])]), kind
                if draw.random() < 0.25:
                    parts.append(draw.choice(AFTER))
                yield joined(parts), kind
                if draw.random() < 0.4:
                    yield joined([*before(), core, draw.choice(OTHERS)]), 3
                if draw.random() < 0.4:
                    yield joined([*before(), draw.choice(cores), core]), kind
        for word in (*QUALIFIERS, *draw.sample(neutral, 80)):
            if draw.random() < 0.4:
                yield joined([*before(), word, draw.choice(("key", "token", "secret"))]), 2
                yield joined([*before(), word, draw.choice(("password", "pass", "pw", "pwd", "pin"))]), 1
        for core in OTHER_NAMES:
            yield joined([*before(), core] if draw.random() < 0.4 else [core]), 3
        for core in HARD:
            yield joined([*before()[:1], core]), 0
        for _ in range(900):
            yield joined(draw.choices(neutral, k=draw.choice((1, 1, 2, 3)))), 0
        for word in draw.sample(QUALIFIERS, 60):
            yield joined([*draw.choices(QUALIFIERS, k=draw.choice((0, 1))), word]), 0
        for word in HARMLESS:
            yield word, 0
