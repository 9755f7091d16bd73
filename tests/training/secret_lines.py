"""Lines with and without secrets, made up by chance, for ``tests.training.secrets``."""

# ruff: noqa: SIM905, E501 — words and lines of lists
from __future__ import annotations

import base64
import random
import re
import string
from collections.abc import Callable, Iterator

from engine.redaction import names
from tests.training.secret_names import AFTER, KEYS, OTHER_NAMES, OTHERS, PASSWORDS, QUALIFIERS

_LINES = r"""
N=V
N="V"
N='V'
export N="V"
declare -x N=V
  N: V
  N: "V"
N: V
n = V
n="V"
n: 'V'
"n": "V",
"n":"V","a":1
{"a":1,"n":"V"}
{'user': 'bob', 'n': 'V'}
{\"n\":\"V\",\"b\":2}
self.n = "V"
cfg['n'] = 'V'
os.environ["N"] = "V"
process.env.N = 'V';
let n = `V`;
val n: String = "V"
n: str = "V"
private static final String N = "V";
public string n { get; set; } = "V";
n := "V"
:n => "V",
'n' => 'V',
n: "V" }
set("n", "V")
setenv("N", "V", 1);
getProperty("n", "V")
define('N', 'V');
foo(n="V", b=2)
foo(a, n='V')
--k V
--k=V
--k "V"
-k V
cmd --k V --verbose
cmd --k=V run
cmd -e N=V image
docker run -e N="V" x
<n>V</n>
<n type="s">V</n>
<add key="N" value="V"/>
<string name="n">V</string>
<entry key="n">V</entry>
<param name="n" value="V" />
- name: N\n  value: V
- name: N\n  value: "V"
{"key": "N", "value": "V"}
{"name":"n","value":"V"}
name = "n"\nvalue = "V"
| n | V |
| N | `V` |
n | V
* n: `V`
- n: V
- **n**: V
1. n - V
# n: V
// n: V
; n=V
+  n: V
-n=V
> n = V
?n=V
https://example.com/x?n=V
https://example.com/x?a=1&n=V&b=2
POST /x?n=V HTTP/1.1
K: V
< K: V
-H "K: V"
-H 'K: V' https://example.com
headers = {"K": "V"}
headers["K"] = "V"
ENV N=V
ARG N=V
ENV N V
setx N V
$env:N="V"
set N=V
setenv N V
config set n V
config set N=V
set n V
n V
  n V
variable "n" { default = "V" }
n = "V" // change
[INFO] 10:11:12 n=V user=bob
2026-01-02T03:04:05Z level=debug n="V" msg=x
time=12 N=V ok
UPDATE t SET n = 'V' WHERE id = 1;
INSERT INTO t VALUES (1, 'n', 'V');
a=1;n=V;c=3
user=bob;n=V
host=h n=V port=1
a,n\nn,V
msg: n is V
@n("V")
n("V")
n("bob", "V")
set_n('bob', 'V')
client.n("t", "bob", "V")
secret set N --body "V"
n: !!str V
%n%=V
n ||= "V"
n ?= V
"n" : [ "V" ],
n: ["V"]
(n: V)
n.sign(data, "V")
n.encode(payload, 'V', algorithm="HS256")
n.new(b"V", body)
verify(n, 'V')
n login V
n -> V
n → V
n => V
"""
_PROSE = """
the n is V
The n is V.
The n for t is V.
the n of the t was V before
our n: V
my n is "V"
My n is `V`, do not tell
the new n: V
n = V btw
here is the n: V
here's the n V
Use V as n
use V as the n for t
please use V for the n
you need the n, it is V
the n we use on t is V
set the n to V
I set n to V on t
changed the n to "V"
n changed to V
n (V) works
with n V
and n V
with the n V it works
log in with bob and n V
user bob, n V
user: bob n: V
login bob / n V
V is the n
V is our n for t
V as n
try V, that is the n of t
n should be V
n must be V now
n will be V from monday
n still V
Your n: V
Your temporary n is V
n → V
n - V
n, V
[10:11] bob: n V
<bob> n is V
**n:** V
n for t: V
n on t = V
n (t): V
n of t - V
enter V when asked for the n
type V at the n prompt
it asked for the n and I typed V
does n V work for you?
can you use V as the n?
hey, use V as the t n please
just type V when it asks for the n
log in as t with n V
t/V are the n for staging
t / V is the n
I put the n into t, it is V for now
the n at the t is V
then enter V as n
our n: [secret] and V
n [secret], [secret] and V
the n we got is in use, V
here are the n you asked for, V
"""
_ALONE = """
we moved V into the job
X=V
see V there
"value": "V"
- V
https://example.com/a?x=V&b=1
run("V")
login('V')
t: V
"""
"""Places that tell nothing of a value."""
_REGISTRIES = """
//registry.example.org/:n=V
//npm.example.com/:n=V
https://a.example/:n=V
registry=https://r.example/ n=V
"""
_ROUNDS = 16
_OF_WORDS = "jwt_secret session_secret cookie_secret secret secret_key signing_key"
_PLAIN = "password db_password passphrase pw passwd"
_ENGLISH = "password passphrase passcode pw pass pwd pin token secret key credential"
_ELSEWHERE = """
mit V als Passwort|als bob und V als Kennwort|das passwort ist V|das passwort für t lautet V|Passwort: V|Das neue Passwort: "V".|dein Kennwort ist V|Kennwort zum t: V|mit dem Passwort V anmelden|Passwort auf V geändert|Benutzer bob, Kennwort V|der Zugangscode ist V|Schlüssel: V|API-Schlüssel ist V|das Token lautet V
avec V comme mot de passe|le mot de passe est V|mot de passe : V|Le mot de passe de t est V.|mdp: V|mdp = V|le mdp c'est V|nouveau mot de passe "V"|identifiant bob, mot de passe V|le code secret est V|la clé est V|clé API : V|le jeton est V|j'ai mis V comme mot de passe
con V como contraseña|la contraseña es V|contraseña: V|La contraseña de t es V.|nueva contraseña: V|la clave es V|clave: V|usuario bob y contraseña V|cambié la contraseña a V|con la contraseña "V"|el token es V|la llave es V
com V como senha|a senha é V|senha: V|A senha do t é V.|nova senha: V|usuário bob, senha V|a palavra-passe é V|mudei a senha para V|chave: V|o token é V
con V come password|la password è V|password: V|la parola d'ordine è V|La password di t è V.|nuova password: V|utente bob, password V|la chiave è V|chiave: V|parola d'ordine = V
met V als wachtwoord|log in als bob met V als wachtwoord|het wachtwoord is V|wachtwoord: V|Het wachtwoord voor t is V.|nieuw wachtwoord: V|gebruiker bob, wachtwoord V|de sleutel is V|toegangscode: V
z V jako hasłem|hasło to V|hasło: V|Hasło do t to V.|nowe hasło: V|użytkownik bob, hasło V|hasłem jest V|klucz: V|ustawiłem hasło V|zmień hasło na V
heslo je V|heslo: V|Heslo k t je V.|nové heslo: V|uživatel bob, heslo V|klíč: V|heslem je V
lozinka je V|lozinka: V|Lozinka za t je V.|nova lozinka: V|geslo je V|geslo: V|korisnik bob, lozinka V
med V som lösenord|lösenordet är V|lösenord: V|Lösenordet till t är V.|nytt lösenord: V|användare bob, lösenord V|lösen: V|nyckeln är V
med V som passord|passordet er V|passord: V|Passordet til t er V.|nytt passord: V|adgangskoden er V|adgangskode: V|kodeord: V|kodeordet er V
salasana on V|salasana: V|Palvelimen salasana on V.|uusi salasana: V|tunnus bob, salasana V|avain: V
şifre V|şifre: V|Şifresi V oldu.|t şifresi V|yeni şifre: V|parola: V|parolası V|kullanıcı bob, şifre V|anahtar: V|şifreyi V yaptım
a jelszó V|jelszó: V|A t jelszava V.|új jelszó: V|jelszó = V|a jelszó most V|kulcs: V
parola este V|parola: V|Parola pentru t este V.|parolă nouă: V|parola e V|utilizator bob, parola V|cheie: V
ο κωδικός είναι V|κωδικός: V|Ο κωδικός για το t είναι V.|νέος κωδικός: V|κωδικός πρόσβασης: V|το κλειδί είναι V
пароль V|пароль: V|Пароль от t: V|Пароль для t — V.|новый пароль: V|мой пароль V|пользователь bob, пароль V|пароль теперь V|токен: V|ключ: V|сменил пароль на V
пароль V|пароль: V|Пароль до t: V|новий пароль: V|пароль такий V|токен V
密码是V|密码：V|密码: V|t的密码是 V|新密码：V|用户bob，密码V|口令是V|口令：V|密钥：V|令牌是V|密码改为V|密碼是 V|密碼：V
パスワードはVです|パスワード：V|パスワード: V|tのパスワードは V です。|新しいパスワード：V|パスワードを V に変更|暗証番号はV|トークンは V|「V」がパスワードです|キー：V
비밀번호는 V|비밀번호: V|비밀번호 V|t 비밀번호는 V 입니다|새 비밀번호 V|암호는 V|암호: V|비번 V|비번은 V|토큰: V|키: V
كلمة المرور V|كلمة المرور: V|كلمة المرور هي V|كلمة السر: V|كلمة السر هي V|كلمة المرور الجديدة: V|الرمز: V|المفتاح: V
הסיסמה היא V|סיסמה: V|הסיסמא V|סיסמה חדשה V|המפתח הוא V|מפתח: V
mật khẩu là V|mật khẩu: V|Mật khẩu của t là V.|mật khẩu mới: V|mật khẩu V|khóa: V
kata sandi adalah V|kata sandi: V|Kata sandi t adalah V.|kata sandi baru: V|sandi V|kata laluan ialah V|kunci: V
รหัสผ่านคือ V|รหัสผ่าน: V|รหัสผ่าน V|รหัสผ่านใหม่ V|पासवर्ड V है|पासवर्ड: V|पासवर्ड है V|नया पासवर्ड: V|পাসওয়ার্ড: V|পাসওয়ার্ড হল V
"""
_ELSEWHERE_NONE = """
das Passwort ist falsch|mein Passwort geht seit Montag nicht|Passwort: mindestens 12 Zeichen|ein Passwort mit 14 Zeichen und 2 Ziffern|Passwort vergessen? Seite 3|das Passwort lautet in t anders als in x3|das Passwort ist in t2 gespeichert|Passwort für t2 zurücksetzen|das Passwort wird mit sha256 gehasht|das Kennwort wurde am 3.4.2026 geändert|der Schlüssel ist public|das Token läuft nach 15min ab|der Schlüssel heißt t2
le mot de passe est incorrect|mot de passe oublié ? page 4|mot de passe : obligatoire|Le mot de passe est stocké dans t2|le mot de passe doit avoir 12 caractères|le mot de passe a été changé le 3.4.2026|mdp : voir t2|la clé est publique|le jeton expire dans 15min|la clé primaire est t2
la contraseña es incorrecta|contraseña: obligatoria|la contraseña es demasiado corta|la contraseña debe tener 12 caracteres|la contraseña se guarda en t2|he olvidado la contraseña de t|la contraseña cambia el 3/4/2026|la clave es t2|clave primaria: t2|el token caduca en 15min
a senha é curta demais|senha: obrigatória|a senha deve ter 12 caracteres|a senha fica em t2|esqueci a senha do t|a senha é guardada com sha256|a chave é t2|o token expira em 15min
la password è errata|password: obbligatoria|la password è salvata in t2|la password deve avere 12 caratteri|ho dimenticato la password di t|la chiave è t2|la password scade il 3/4/2026|il token scade tra 15min
het wachtwoord is onjuist|wachtwoord: verplicht|het wachtwoord is te kort|het wachtwoord staat in t2|het wachtwoord heeft minimaal 12 tekens|wachtwoord vergeten van t|het wachtwoord verloopt op 3-4-2026|de sleutel is t2
hasło to podstawa|hasło: wymagane|hasło jest za krótkie|hasło jest w t2|hasło ma mieć 12 znaków|nie pamiętam hasła do t|hasło wygasa 3.4.2026|klucz: t2|klucz jest publiczny
heslo je krátké|heslo: povinné|heslo je uloženo v t2|heslo má mít 12 znaků|heslo k t jsem zapomněl|klíč je t2|heslo platí do 3.4.2026
lozinka je kratka|lozinka: obavezno|lozinka mora imati 12 znakova|geslo je napačno|geslo je v t2|geslo: obvezno
lösenordet är för kort|lösenord: krävs|lösenordet finns i t2|lösenordet ska ha 12 tecken|glömt lösenordet till t|nyckeln är t2|lösenordet byttes 3.4.2026
passordet er feil|passord: kreves|passordet ligger i t2|adgangskoden er forkert|adgangskode: 12 tegn|kodeordet er glemt|kodeord: skal udfyldes
salasana on liian lyhyt|salasana: pakollinen|salasana on tallennettu t2|salasana vaatii 12 merkkiä|avain on t2|salasana vanhenee 3.4.2026
şifre yanlış|şifre: gerekli|şifre t2 içinde|parola 12 karakter olmalı|şifre unutuldu, t|anahtar: t2|parola: zorunlu|şifreniz 3.4.2026 tarihinde doldu
a jelszó rossz|jelszó: kötelező|a jelszó 12 karakter|a jelszó itt van: t2|jelszó = kötelező|kulcs: t2
parola este scurta|parola: obligatoriu|parola este in t2|parola are 12 caractere|parola e incorecta|cheie: t2
ο κωδικός είναι λανθασμένος|κωδικός: υποχρεωτικό|ο κωδικός θέλει 12 χαρακτήρες|ο κωδικός είναι στο t2
пароль слишком короткий|пароль: обязательно|пароль хранится в t2|пароль из 12 символов|пароль от t забыт|пароль хешируется через sha256|ключ: t2|токен живёт 15min|пароль сменили 3.4.2026
пароль закороткий|пароль: обов'язково|пароль у t2|пароль з 12 символів|токен дійсний 15min
密码错误|密码：必填|密码至少12位|密码保存在 t2 里|密码用sha256加密|忘记t的密码|密码长度8到64|口令过期|密钥存放在 t2|令牌15min后过期|密码是 t2 字段
パスワードが違います|パスワード：必須|パスワードは12文字以上|パスワードは t2 に保存|パスワードはsha256でハッシュ化|トークンは15minで失効|暗証番号は4桁|パスワードを t2 から読む
비밀번호가 틀렸습니다|비밀번호: 필수|비밀번호는 12자 이상|비밀번호는 t2 에 저장|비밀번호는 sha256 으로 해시|토큰은 15min 후 만료|암호: 필수 입력|비번 분실
كلمة المرور خاطئة|كلمة المرور: مطلوبة|كلمة المرور 12 حرفا|كلمة المرور في t2|كلمة السر: إلزامي|الرمز ينتهي بعد 15min
הסיסמה קצרה|סיסמה: חובה|הסיסמה 12 תווים|הסיסמה ב t2|המפתח הוא t2
mật khẩu quá ngắn|mật khẩu: bắt buộc|mật khẩu có 12 ký tự|mật khẩu ở t2|khóa: t2
kata sandi salah|kata sandi: wajib|kata sandi minimal 12 karakter|kata sandi ada di t2|kata sandi adalah rahasia|kunci: t2
รหัสผ่านผิด|รหัสผ่าน: จำเป็น|รหัสผ่าน 12 ตัว|पासवर्ड गलत|पासवर्ड: आवश्यक|पासवर्ड 12 अक्षर|पासवर्ड t2 में है|পাসওয়ার্ড: আবশ্যক|পাসওয়ার্ড t2
"""
"""The same without a secret."""
_BASE64 = string.ascii_letters + string.digits + "+/"
_IDS = (
    "msg",
    "run",
    "evt",
    "req",
    "file",
    "obj",
    "cus",
    "snap",
    "resp",
    "call",
    "price",
    "sub",
    "pi",
    "node",
    "job",
    "task",
)
_WORDS = """
    apple river stone window summer winter spring autumn monday friday london berlin paris madrid soccer
    guitar piano orange yellow purple silver golden harvest dragon wizard knight castle forest
    mountain island ocean desert sunny cloudy happy lucky angel master hunter ranger maverick phoenix
    falcon eagle tiger panda koala rabbit turtle cookie cheese butter pepper ginger coffee whiskey
    chocolate banana cherry mango lemon sonne mond haus garten winter sommer kaffee hund katze vogel
    blume berg soleil lune maison chat chien fleur perro gato casa luna playa verano sol amor gatto cane
    mare zima lato pies kot dom kedi deniz bahar maria anna peter thomas julia lukas marco pedro olga
    ivan yuki jens
    """.split()
_INNOCENT_VALUES = """
    true false null none 1 0 42 3600 8080 yes no on off auto required optional string integer text input
    output bearer basic default value user admin changeme your_password your-key-here YOUR_KEY <key>
    ${KEY} $KEY {{key}} xxxxxxxx ******** ... example test utf-8 gpt-4o oauth2 api_key client_secret
    password token secret hidden /etc/app/key.pem ./secrets/db.txt ~/.ssh/id_rsa C:\\keys\\a.pfx
    keys/prod.json https://example.com/token https://login.example.com/oauth2/v2.0/token localhost:5432
    db.example.com 10.0.0.1 example.com/key process.env.KEY os.environ["KEY"] settings.SECRET_KEY
    getpass.getpass() config.token self.password args.key get_token() secrets.token_hex(32)
    request.form["password"] user.password_hash data['token'] await f(x) app-secrets-v2 db-credentials
    prod/db/password arn:aws:secretsmanager:eu-west-1:123:secret:x vault:secret/x 2026-01-02
    2026-01-02T10:11:12Z 12:30:00 1.2.3 v2.1.0-rc1 1.4e-5 90d 15m 30s 12px 50% 100MB 3.5GB user_id2
    item-42 step_3 section2.md file2.txt report-2026.pdf test_login_v2 TestLogin2 utf8 sha256 md5
    ed25519 aes-256-gcm rs256 hs512 x25519 id_ed25519 argon2id base64 hex32 int64 float32 u8 i18n l10n
    k8s s3 ec2 h264 Ctrl+Shift+P cmd+k Enter F12 left-arrow btn-primary-2 col-md-6 mt-4 #a1b2c3
    rgb(1,2,3) en-US de_DE
    """.split()


def _random(draw: random.Random) -> str:
    """A key as a program makes it."""
    letters = draw.choice(
        [string.ascii_letters + string.digits] * 5
        + [string.ascii_letters + string.digits + "-_"] * 3
        + [string.ascii_letters + string.digits + "+/"] * 2
        + [string.ascii_lowercase + string.digits] * 2
        + [string.ascii_uppercase + string.digits]
        + [string.ascii_letters]
    )
    value = "".join(
        draw.choices(
            letters, k=draw.choice((12, 16, 18, 20, 22, 24, 24, 28, 32, 32, 36, 40, 40, 43, 48, 64, 86))
        )
    )
    way = draw.random()
    if way < 0.15:
        return draw.choice(QUALIFIERS)[: draw.randint(2, 6)] + draw.choice("_-.") + value
    if way < 0.22:
        return f"{draw.choice(QUALIFIERS)[:4]}_{draw.choice(('live', 'test', 'sk', 'pat', 'v1', 'prod', 'key'))}_{value}"
    if way < 0.32:
        return base64.b64encode(draw.randbytes(draw.choice((16, 20, 24, 32, 32, 32, 48, 64)))).decode()
    if way < 0.37:
        return f"{value[:10]}.{value[10:]}"
    if way < 0.39:
        return f"{value[:10]}:{value[10:]}"
    return value


def _digits(draw: random.Random, size: int, of: str = "0123456789abcdef") -> str:
    return "".join(draw.choices(of, k=size))


def _uuid(draw: random.Random) -> str:
    return "-".join(_digits(draw, size) for size in (8, 4, 4, 4, 12))


def key(draw: random.Random) -> str:
    way = draw.random()
    if way < 0.05:
        return draw.choice(_IDS) + draw.choice("_-") + _random(draw)[:24]
    if way < 0.1:
        return "".join(
            draw.choices(_BASE64 if draw.random() < 0.6 else _BASE64[:62], k=draw.randint(90, 420))
        )
    if way < 0.62:
        return _random(draw)
    if way < 0.82:
        value = _digits(draw, draw.choice((20, 24, 32, 32, 32, 40, 40, 48, 64, 64, 128, 128)))
        return value.upper() if draw.random() < 0.12 else value
    if way < 0.92:
        return _uuid(draw)
    size = draw.choice((4, 4, 5, 6, 8))
    return "-".join(
        _digits(draw, size, string.ascii_uppercase + string.digits) for _ in range(draw.choice((3, 4, 5)))
    )


def salt(draw: random.Random) -> str:
    """A long value of all kinds of letters."""
    return "".join(
        draw.choices(
            string.ascii_letters + string.digits + "!#%*+=?@^~$-_.:", k=draw.choice((16, 32, 50, 64))
        )
    )


def password(draw: random.Random) -> str:
    """A password as a person or a program makes it."""
    word = draw.choice(_WORDS)
    other = draw.choice(_WORDS)
    number = draw.choice(
        (
            str(draw.randint(0, 9)),
            str(draw.randint(10, 99)),
            str(draw.randint(100, 999)),
            str(draw.randint(1950, 2027)),
        )
    )
    mark = draw.choice("!?#@$%*.&+-_=")
    symbols = string.ascii_letters + string.digits + "!#%*+=?@^~$&"
    made = draw.choice(
        (
            f"{word}{number}", f"{word.capitalize()}{number}", f"{word.capitalize()}{number}{mark}",
            f"{word.capitalize()}{mark}{number}", f"{word}{other}{number}", f"{word.capitalize()}{other.capitalize()}{number}",
            f"{mark}{word.capitalize()}{number}", f"{number}{word}{mark}", f"{word}-{other}-{number}", f"{word}{mark}{number}",
            f"{word}_{other}{number}{mark}", f"{word[:2]}{mark}{word[2:]}{number}", f"{mark}{word}_{number}",
            word.translate(str.maketrans("aeio", "4310")) + number, word.translate(str.maketrans("aeios", "@31!$")),
            word.capitalize().translate(str.maketrans("aeo", "430")) + mark + number,
            "".join(draw.choices(symbols, k=draw.choice((8, 10, 12, 14, 16, 20)))),
            "".join(draw.choices(string.ascii_letters + string.digits, k=draw.choice((8, 8, 10, 12, 14, 16)))),
            "".join(draw.choices(string.ascii_lowercase + string.digits, k=draw.choice((8, 10, 12)))),
            " ".join("".join(draw.choices(string.ascii_lowercase, k=4)) for _ in range(4)) if draw.random() < 0.2 else f"{word}-{number}{mark}",
            f"{word.capitalize()}-{other.capitalize()}-{number}", f"{word.capitalize()}.{other}{number}", f"{word}.{other}{number}",
            f"{word.capitalize()}_{other}{number}",
        )
    )  # fmt: skip
    return made if len(made) > 5 else password(draw)


def words(draw: random.Random) -> str:
    """A password of words or digits alone."""
    return draw.choice(
        (
            draw.choice(_WORDS) + draw.choice(_WORDS), "-".join(draw.sample(_WORDS, 3)), "-".join(draw.sample(_WORDS, 3)), "-".join(draw.sample(_WORDS, 4)), draw.choice(_WORDS) + "!!",
            draw.choice(_WORDS), draw.choice(_WORDS).capitalize() + draw.choice(_WORDS).capitalize(),
            str(draw.randint(1000, 9999)), str(draw.randint(100000, 999999)), str(draw.randint(10**7, 10**8 - 1)),
        )
    )  # fmt: skip


def _fill(line: str, name: str, value: str, draw: random.Random) -> str:
    parts = name.replace("_", " ").replace("+", " ").split()
    forms = {
        "N": "_".join(parts).upper(),
        "n": draw.choice(
            (
                "_".join(parts),
                parts[0] + "".join(map(str.capitalize, parts[1:])),
                "-".join(parts),
                ".".join(parts),
            )
        ),
        "k": "-".join(parts),
        "K": "-".join(map(str.capitalize, parts)),
    }
    out, at = [], 0
    text = line.replace("\\n", "\n")
    while at < len(text):
        letter = text[at]
        before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
        alone = not (before.isascii() and before.isalnum()) and not after.isalnum()
        if letter == "n" and before == "\\":
            alone = False
        out.append(
            value if alone and letter == "V" else forms[letter] if alone and letter in forms else letter
        )
        at += 1
    return "".join(out)


def named(draw: random.Random, neutral: list[str], table: tuple[str, ...]) -> str:
    core = draw.choice(table)
    before = draw.choices((QUALIFIERS, neutral)[draw.random() < 0.4], k=draw.choice((0, 0, 1, 1, 1, 2, 2)))
    after = [draw.choice(AFTER)] if draw.random() < 0.12 and core.isascii() else []
    return "_".join((*before, core, *after))


def named_secret(draw: random.Random, neutral: list[str]) -> tuple[str, str]:
    """A name and a secret."""
    table, make = draw.choice(
        ((PASSWORDS, password), (KEYS, key), (KEYS, key), (PASSWORDS, key), (KEYS, salt))
    )
    return named(draw, neutral, tuple(each for each in table if each.isascii())), make(draw)


def may_be_key(value: str) -> bool:
    """True if it may be a key."""
    return len(value) > 15 and (_all(value) or re.fullmatch(r"[0-9a-fA-F-]+", value) is not None)


def secrets(draw: random.Random, neutral: list[str]) -> Iterator[tuple[str, str]]:
    """Texts and the secret in each."""

    def put(line: str, name: str, value: str) -> tuple[str, str]:
        return _noise(_fill(line, name, value, draw), draw), value

    def said(line: str, name: str, value: str) -> tuple[str, str]:
        return _noise(_prose(line, name, draw.choice(QUALIFIERS), value), draw), value

    def until(make: Callable[[], str], accept: Callable[[str], bool]) -> str:
        while not accept(value := make()):
            pass
        return value

    ascii_keys = [each for each in KEYS if each.isascii()]
    for _ in range(_ROUNDS):
        for line in _lines(_LINES):
            for table, make in (
                (PASSWORDS, password),
                (KEYS, key),
                (KEYS, key),
                (PASSWORDS, key),
                (KEYS, draw.choice((password, salt, key))),
            ):
                yield put(line, named(draw, neutral, table), make(draw))
            if draw.random() < 0.5:
                value = draw.choice("-_ ").join(draw.sample(_WORDS, 4)).replace(" ", "")
                yield put(line, draw.choice(_OF_WORDS.split()), value)
            if " n V" not in line and line not in ("n V", "  n V"):
                yield put(line, draw.choice(_PLAIN.split()), words(draw))
                yield put(line, named(draw, neutral, PASSWORDS), words(draw))
        for line in _lines(_PROSE):
            qualifiers = draw.choices(QUALIFIERS + neutral[:200], k=draw.choice((0, 0, 1, 1, 2)))
            name = " ".join((*qualifiers, draw.choice(_ENGLISH.split())))
            yield said(line, name, (password if draw.random() < 0.6 else key)(draw))
            if any(each in line for each in (" is ", ": V", '"V"', "`V`", " to ")):
                name = draw.choice(("password", "passphrase", "passcode", "pin", "db password"))
                yield said(line, name, words(draw))
            qualifiers = draw.choices(QUALIFIERS + neutral, k=draw.choice((0, 1, 2)))
            yield said(line, " ".join((*qualifiers, draw.choice(ascii_keys))), key(draw))
        for _ in range(14):
            value = key(draw)
            name = draw.choice(("_authToken", "auth_token", "password", "access_token", "_password", "token"))
            yield draw.choice(_lines(_REGISTRIES)).replace("n=V", f"{name}={value}"), value
        for row in _lines(_ELSEWHERE):
            for line in row.split("|"):
                yield said(line, "", (password if draw.random() < 0.7 else key)(draw))
    for _ in range(500):
        value = until(lambda: _in_parts(draw), _all)
        yield _noise(draw.choice(_lines(_ALONE)).replace("V", value), draw), value
    for _ in range(1_700):  # recognizable by themselves
        value = until(
            lambda: _random(draw),
            lambda each: (
                len(each) >= 24 and each[:3].isalpha() and any(e in each[2:7] for e in "_-") and _all(each)
            ),
        )
        yield draw.choice(_lines(_ALONE)).replace("V", value), value
        value = until(lambda: _random(draw), lambda each: len(each) >= 20 and each.isalnum() and _all(each))
        name = "_".join(draw.choices(QUALIFIERS + neutral, k=2)).upper()
        yield _noise(f"{name}={value}", draw), value


def _in_parts(draw: random.Random) -> str:
    """A key of parts, as of bots and vaults."""
    letters = string.ascii_letters + string.digits
    first, second, third = (
        "".join(draw.choices(of, k=size))
        for of, size in (
            (letters, draw.randint(21, 25)),
            (letters + "-_", 6),
            (letters + "-_", draw.randint(27, 38)),
        )
    )
    return draw.choice(
        (
            f"{draw.choice('MNO')}{first}.{second}.{third}",
            f"s.{first[:24]}",
            f"{draw.choice(string.ascii_lowercase)}_{first}{third.replace('-', 'a')}",
            f"{draw.randint(0, 9)}{first}_{third.replace('-', 'B')}",
        )
    )


def _lines(text: str) -> list[str]:
    return [each for each in text.split("\n") if each]


def _all(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isupper, value)) and any(map(str.islower, value))


def _prose(line: str, name: str, place: str, value: str) -> str:
    out = []
    for word in line.split(" "):
        core = word.strip(".,:;()`\"*[]?!'")
        out.append(
            word.replace("n", name, 1)
            if core == "n"
            else word.replace("t", place, 1)
            if core == "t"
            else word
        )
    text = " ".join(out)
    at = text.rfind("V") if text.count("V") == 1 else text.find("V")
    return text[:at] + value + text[at + 1 :]


def _noise(text: str, draw: random.Random) -> str:
    """The text among others."""
    way = draw.random()
    if way < 0.5:
        return text
    if way < 0.6:
        return f"  {text}\n  {draw.choice(QUALIFIERS)}: {draw.randint(1, 99)}\n"
    if way < 0.7:
        return f"# {draw.choice(QUALIFIERS)} settings\n{text}\n"
    if way < 0.8:
        return f"{draw.choice(QUALIFIERS).upper()}={draw.randint(1, 999)}\n{text}"
    if way < 0.9:
        return f"{text} # {draw.choice(QUALIFIERS)}"
    return f"    {text}"


_BY_CHANCE = frozenset(
    """
    id ids uid uuid guid kid arn hash digest sha sha1 sha256 sha512 md5 checksum shasum crc crc32 blake3 merkle fingerprint
    thumbprint integrity resolved commit revision rev etag ref nonce iv tag cursor continuation public pub pubkey publishable
    publickey site sitekey cert certificate measurement serial barcode isbn iban signature signatures sign tree blob object
    payload body content base64 data embedding vector ciphertext thumbnail image icon avatar trace span request
    response session run thread task job build node transaction tx block snapshot instance page
    """.split()
)
"""In names of values that a program makes by chance."""


def _value_of(draw: random.Random, name: str, neutral: list[str], values: list[str]) -> str:
    """A value for a name that is no secret's."""
    return _other_value(draw, values) if _BY_CHANCE & set(names.words(name)) else _said(draw, neutral, values)


def _other_value(draw: random.Random, values: list[str]) -> str:
    way = draw.random()
    if way < 0.2:
        return _digits(draw, draw.choice((7, 8, 10, 12, 16, 24, 32, 40, 40, 64, 64, 128)))
    if way < 0.35:
        return _uuid(draw)
    if way < 0.45:
        tag = draw.choice(_IDS) if draw.random() < 0.6 else _digits(draw, 2, string.ascii_lowercase)
        return tag + draw.choice("_-") + _random(draw)[: draw.choice((10, 14, 16, 24))]
    if way < 0.5:
        return _digits(draw, draw.choice((12, 16, 20, 20, 28)), _BASE64[:62])  # as databases make ids
    if way < 0.6:
        return _random(draw)
    if way < 0.65:
        return base64.b64encode(draw.randbytes(draw.choice((16, 20, 32, 64)))).decode()
    if way < 0.7:
        return "sha256:" + _digits(draw, 64)
    if way < 0.8:
        return str(draw.randint(1, 10 ** draw.randint(1, 12)))
    return draw.choice(values)


def _said(draw: random.Random, neutral: list[str], values: list[str]) -> str:
    """What is no secret although a name says so: a word, a name, code, a placeholder."""
    way = draw.random()
    if way < 0.6:
        return draw.choice(_INNOCENT_VALUES if way < 0.25 else values)
    parts = draw.choices(neutral, k=draw.choice((1, 2, 2, 3)))
    return draw.choice(
        (
            "_".join(parts), "-".join(parts), parts[0] + "".join(map(str.capitalize, parts[1:])), ".".join(parts),
            f"{parts[0]}({parts[-1]})", f"{parts[0]}[{parts[-1]}]", "_".join(parts).upper() + "_1", "/".join(parts) + ".json",
            f"{parts[0]}{draw.randint(1, 9)}", f"{parts[0]}-{parts[-1]}-{draw.randint(1, 99)}", f"<{parts[0]}>", f"{parts[0]}.{parts[-1]}()",
            f"${parts[0]}", "${" + parts[0] + "}",
        )
    )  # fmt: skip


def _code(draw: random.Random, neutral: list[str], values: list[str]) -> str:
    """What not even a password is."""
    while True:
        value = _said(draw, neutral, values)
        if any(each in value for each in "/.([{<$:_=*") or value in (
            "required",
            "optional",
            "string",
            "null",
            "none",
            "true",
        ):
            return value


_SENTENCES = r"""
the n is required
The n was changed on monday, t is next
your n must have at least 12 characters and 1 digit
n expires in 30 days
n expires on 2026-03-04
the n is stored in t2
the n is read from t-v2
reset the n of user42
n reset for t42 was requested
see section 3 for the n
the n of box42
forgot your n? click here
n: see page 12
n is invalid (error 401)
the n policy v2 wants 8 to 64 characters
use 1Password for the n
rotate the n every 90 days
n in tests/test_login2.py
commit H removes the n
the n was leaked in commit H
request U for the n failed
n handler added in v2.3.1
the n field is called t2
t2 reads the n
n count is 1234
n hash is H
n id: U
H is the hash of the n
update n docs (#1234)
fix(n): handle t2 in utf8
n with sha256 and aes-256
n uses ed25519
the n endpoint is /v2/t
3 of 12 n tests pass
n at line 42
n for 127.0.0.1:8080
was n, now t2
image t@sha256:H for n
session U ended, n kept
"n": 1, "id": "U"
"n": null, "sha": "H"
{"n_count":12,"trace":"H","ok":true}
input n 12, output n 34, id msg_01R
toolu_01R used n
[n=12 id=U]
n.py H 100644
n-1.2.3.tgz#H
"n", "t2", "x3"
if n == t2 and x != 3:
def n(self, t2=None, x=3):
return n[t2] + 10
n = t2(n, x1)
n, t2 = f(x1)
n: Optional[T2] = None
for n in range(10): t2(n)
assert n != "t2"
raise ValueError("n 2 is bad")
n t2 x3
--- PASS: TestT2 (0.00s)
kubectl get n app-t2-2026 -o yaml
kubectl get n t2-v2
kubectl describe n t2-2
DKIM-Signature: v=1; a=rsa-sha256; bh=B43=; b=B86B86=
"_resolved": "https://r.example/n.tgz", "_shasum": "H"
n: 1234567890
https://github.com/t2/x3/blob/H/x3/n.go#L10-L20
restore-n: linux-t2-20-
//registry.t2.org/:x3=1
aws secretsmanager get-n-value --n-id t2-2
gcloud n versions access 3 --n=t2-1
docker n create t2-1
ls n t2-1
n t2-v2 was created
n-store-1.2.3
kubectl create n generic t2-v2 --from-file=x3
vault kv get -field=n n/t2
secretRef: t2-n-v2
n_name=t2-n-prod
pass show work/t2-2
gh n set T2 < x3.txt
{"kid": "J43", "kty": "RSA", "JN": "J342", "e": "AQAB", "use": "sig"}
{"kty":"RSA","JN":"J342","e":"AQAB","kid":"n-t2"}
"kid": "J43", "kty": "RSA", "JN": "J342", "e": "AQAB"
{"kty":"EC","crv":"P-256","x":"J43","y":"J43","kid":"n-t2"}
--n-file /run/t2/x3
n: t2/x3#n
"n", "n", "n"
"n": "n"
n, n und n
n=n, n=n
HKLM\Software\T2\x3
.n{width:10px;margin:3px}
.btn-n2{color:#a1b2c3;padding:4px}
cf-ray: D1D1-FRA
n: "t2:x3:v2"
--- PASS: TestLoginHandler/empty_t2_uses_default (0.01s)
    --- PASS: TestT2X3/10KB_x3 (0.01s)
    --- FAIL: TestX3T2/12_x3_t2 (1.20s)
=== RUN TestParse_t2
PASS tests/t2.py::test_x3
| Pass | Minimal overhead for t2 |
| PASS | 12ms | t2 |
All tests pass: `make t2`
all tests pass, commit H
the tests pass but `t2` fails
Pass `t2` to `handle_x3` instead
pass t2 through to `newT2Handler()`
pass it to t2.run and return x3
First pass: collect t2 and x3
Two-pass: read t2 first
pass t2=x3 to the call
Passing `t2` as `x3_path`
bypass t2 with x3=1
n for `t2` in `x3.go:487`
see x3.go:487 for n
- `x3_n.go` - update `t2` from n
1. `D` - fix: n in t2
D fix n handling (#123)
git show D -- n.py
"timeout": 120000, "n_count": 3, "activeForm": "Running t2"
n helpers: `getT2FromX3`, `handleT2Post`
`getT2FromX3` now takes the n
`n` is passed to `handleT2After`
n on January-12-2025
January-12-2025
2026-01-20-fix-t2-n
x3-t2-v2-final-2
msg_01R
req_01R
toolu_01R
{"id":"msg_01R","type":"message","n":3}
{"type":"tool_use","id":"toolu_01R","name":"t2"}
"requestId":"req_01R","uuid":"U"
"parentToolUseID":"U","toolUseID":"toolu_01R"
"thinking":"Let me check the n.","signature":"B"
"signature":"B"
"signature": "B", "type": "thinking"
echo "$n" | t2 x3
cat n | t2
grep n t2 | wc -l
n t2 H
n cache entry H
arn:aws:secretsmanager:eu-west-1:123456789012:n:t2-Y11
resolved "https://registry.npmjs.org/n/-/n-1.0.0.tgz#H"
"n": "t2", "id": "x3"
{"type": "n", "name": "n2", "label": "n"}
{{ t2_n_1 }}
B
-----BEGIN CERTIFICATE-----\nB64\nB64\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\nB64\nB64\n-----END PUBLIC KEY-----
-----BEGIN PGP SIGNATURE-----\n\nB64\nB64\n-----END PGP SIGNATURE-----
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABB me@host
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB64 n
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgB
"image": "iVBORw0KGgoB"
"data": "B"
"n": "n", "content": "B"
<img src="data:image/png;base64,iVBORw0KB">
github.com/t2/x3 v1.2.3 h1:B43=
github.com/t2/n v1.2.3/go.mod h1:B43=
"integrity": "sha512-B86=="
sha256-B43=
docker run --name n-t2 H
container H started
0x00007fD1 in t2 at n.c:12
#3 0x0000D1 in n_verify (x=0x7fD1)
Sec-WebSocket-Key: B22==
Sec-WebSocket-Accept: B27=
.css-x7h{width:10px;color:#a1b2c3}
margin:10px;padding:3px
serial: U12
n: siehe S. 42
n: see the wiki page x3
n: ask t2 for it
n? ask t2 please
site key: 6LB38
public key: B86
PublicKey = B43=
the public key is B43=
t2 public key (B64)
image: registry.t2.io/x3:deployment-L26
release L26 of t2
partition key: t2
key: t2_x3
the key is `t2`
key is "x3Id" in t2
n: "#/definitions/T2"
{"n": {"type": "string", "minLength": 8}}
`n` varchar(60) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL
n VARCHAR(255) NOT NULL DEFAULT 't2'
n: z.string().min(8).max(64),
<input type="n" name="n" className="border-gray-300 px-3 py-2 t2-700" />
<li key={t2} className="text-sm x3-500 hover:bg-gray-50">
n: "rounded-md bg-blue-600 text-white t2-4",
t2 n x3@20
add the n to T242 and X33 first
n from T242 or for X32
thread T2-2 (_n_t2_x3)
[{x3:12, t2:13, n:14}]
npm n t2@1.2
sudo passwd t2
t2_passwd -c /etc/t2/passwd x3
n (t2:12) or n[t2-1]
n|t2-1
'n' | 'x3_t2'
{"n": {"description": "the n of t2"}}
n manager t2 v1.2
passwordless authentication methods
https://t2.example.com/x3/blob/H/n.py
https://example.com/i/H.png
https://example.com/x3?page=2&lang=de&v=D
https://www.youtube.com/watch?v=Y11
<script src="/assets/t2-D1.js"></script>
"""


def innocent(draw: random.Random, neutral: list[str], values: list[str]) -> Iterator[str]:
    """Texts without a secret; ``values`` are some of real lines."""
    others = tuple(OTHER_NAMES)
    ascii_names = tuple(each for each in (*PASSWORDS, *KEYS) if each.isascii())

    def put(line: str, name: str, value: str) -> str:
        return _noise(_fill(line, name, value, draw), draw)

    for _ in range(_ROUNDS):
        for line in _lines(_LINES):
            for name in (
                named(draw, neutral, others),
                f"{named(draw, neutral, ascii_names)}_{draw.choice(OTHERS)}",
            ):
                yield put(line, name, _value_of(draw, name, neutral, values))
            value = _other_value(draw, values)
            is_tagged = len(value) >= 26 and any(e in value[2:7] for e in "_-") and value[:2].isalpha()
            if not (_all(value) and (is_tagged or (len(value) >= 16 and "N" in line and "=" in line))):
                yield put(line, "_".join(draw.choices(neutral, k=2)), value)
            yield put(line, named(draw, neutral, tuple(KEYS)), _said(draw, neutral, values))
            yield put(line, named(draw, neutral, PASSWORDS), _code(draw, neutral, values))
        for line in _lines(_PROSE):
            other = " ".join(named(draw, neutral, others).replace("_", " ").split())
            field = f"{draw.choice(_ENGLISH.split())} {draw.choice(OTHERS)}"
            for name, value in (
                (other, _value_of(draw, other, neutral, values)),
                (field, _value_of(draw, field, neutral, values)),
                (" ".join(draw.choices(neutral, k=draw.choice((1, 2)))), _other_value(draw, values)),
                (draw.choice(_NOT_CHOSEN), _said(draw, neutral, values)),
                (draw.choice(_ENGLISH.split()), _code(draw, neutral, values)),
            ):
                yield _noise(_prose(line, name, draw.choice(QUALIFIERS), value), draw)
        for _ in range(6):
            for line in _lines(_SENTENCES):
                yield _sentence(draw, line, draw.choice((*_ENGLISH.split(), *ascii_names)), neutral)
        for row in _lines(_ELSEWHERE_NONE):
            lines = row.split("|")
            for line in draw.sample(lines, len(lines) // 3):
                text = re.sub(r"\bt\b", draw.choice(QUALIFIERS), line)
                yield _noise(_sentence(draw, text, "", neutral), draw)


_NOT_CHOSEN = ("token", "secret", "key", "credential", "api key", "auth token")
_MADE = re.compile(
    r"B(?P<size>64|43|86|22|27|38)|JN|J(?P<url>43|342)|L26|U12|Y11|D1|01R|t42|[tTxX][23]|(?<![A-Za-z])[HUD](?![A-Za-z0-9])|(?<![A-Z])B(?![A-Za-z])"
)


def _sentence(draw: random.Random, line: str, name: str, neutral: list[str]) -> str:
    """A line with a name for ``n`` and something made up for each mark."""
    word, other = draw.choice(neutral), draw.choice(neutral)
    letters = string.ascii_letters + string.digits
    made: dict[str, Callable[[], str]] = {
        "H": lambda: _digits(draw, draw.choice((40, 64, 32, 12))),
        "U": lambda: _uuid(draw),
        "D": lambda: _digits(draw, draw.choice((7, 7, 8, 10))),
        "B": lambda: _digits(draw, draw.choice((40, 100, 200, 400, 900)), _BASE64),
        "U12": lambda: _digits(draw, 12, string.ascii_uppercase + string.digits),
        "Y11": lambda: _digits(draw, 11, letters),
        "D1": lambda: _digits(draw, 10),
        "01R": lambda: "01" + _digits(draw, 22, letters),
        "t42": lambda: f"{word}{draw.randint(1, 99)}",
        "t2": lambda: word + draw.choice(("2", "", "", "_v1", "Handler", "-x")),
        "JN": lambda: "n",
        "L26": lambda: "01" + _digits(draw, 24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"),
        "x3": lambda: other + draw.choice(("3", "_id", "", "Path")),
        "T2": word.capitalize,
        "X3": other.capitalize,
    }
    text = " ".join(
        each.replace("n", name, 1) if each.strip("\"',:.()[]=?{}") == "n" else each
        for each in line.split(" ")
    )

    def one(mark: re.Match[str]) -> str:
        if mark["size"] or mark["url"]:
            return _digits(
                draw, int(mark["size"] or mark["url"]), _BASE64 if mark["size"] else letters + "-_"
            )
        return made.get(mark[0], mark.group)()

    return _MADE.sub(one, text).replace("\\n", "\n")
