"""What passwords and keys are called in other languages: their stems, in lower case."""

from __future__ import annotations

FOREIGN_PASSWORDS = tuple(
    word.replace("+", " ")
    for word in """
    passwort kennwort contraseña contrasena senha
    mot+de+passe mot_de_passe motdepasse mot-de-passe palavra-passe palavra_passe palavra+passe
    clave contrasenya parola parolă parool парол лозинк lozink geslo heslo heslem hasło hasła hasłem haslo
    wachtwoord wagwoord lösenord losenord passord adgangskode kodeord lykilorð salasana jelszó jelszav jelszo
    slaptažod slaptazod şifre sifre κωδικ pasahitz parolla zugangscode
    密码 密碼 口令 暗証番号 パスワード 비밀번호 비번 암호
    mật+khẩu mật_khẩu mat_khau mat+khau kata+sandi kata_sandi katasandi kata+laluan
    รหัสผ่าน पासवर्ड পাসওয়ার্ড கடவுச்சொல் סיסמ ססמ كلمة+المرور كلمة_المرور كلمة+السر كلمة_السر كلمة+مرور
    رمز+عبور گذرواژه پاس+ورڈ
    """.split()  # noqa: SIM905 — words of one list
)
FOREIGN_KEYS = tuple(
    word.replace("+", " ")
    for word in """
    schlüssel schluessel geheimnis sleutel nyckel nøkkel nøgle avain klucz klíč kulcs cheie anahtar chiave
    chave clé+ clé_ cle_api cle_secrete llave khóa kunci ključ
    ключ токен секрет κλειδί מפתח مفتاح
    密钥 密鑰 令牌 秘密鍵 apiキー トークン シークレット 토큰 인증키 비밀키 비밀+키 api키 api+키 กุญแจ
    """.split()  # noqa: SIM905 — words of one list
)
