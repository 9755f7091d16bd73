"""Detects text that instructs a model or asks for a hostile act (robustness M3).

No pattern list covers every wording in every language. Text by outsiders is held because of its origin
(``engine.provenance.hold``); these patterns catch what appears in the agent's own voice.
"""

from __future__ import annotations

from engine.provenance.voices import SENTENCE_END, plain
from engine.rules.judge import judged
from engine.startup.lazy import expression


def is_instruction(text: str) -> bool:
    """True if a text instructs a model, or has what would surely be a rule."""
    is_order = _ORDER.search(plain(text)) is not None or is_takeover(text)
    return is_order or any(judged(each).is_express for each in SENTENCE_END.split(text))


def is_takeover(text: str) -> bool:
    """True if a text addresses a model, replaces its instructions, or has it hide something, run a command or
    send data. Mere orders ("always …", "please …") are none: lessons are worded like that too.
    """
    return _TAKEOVER.search(plain(text)) is not None


def is_hostile_act(text: str) -> bool:
    """True if a text asks to disable a safeguard, give away a secret or run unknown code as root."""
    return _ACT.search(plain(text)) is not None


_MODEL = (
    r"(?:assistants?|agents?|models?|bots?|chatbots?|llms?|ais?|claude|gpt|codex|gemini|copilot"
    r"|assistent(?:en|in)?|agenten|modelle?s?|ki|assistant|modèles?|ia|asistentes?|modelos?|assistentes?"
    r"|agentes?|assistenti?|modell[oi]|agenti|ассистент\w*|помощник\w*|модел[ьия]\w*|агент\w*|бот\w*"
    r"|нейросет\w*|ии)"
)
_MODEL_WIDE = (
    r"(?:助手|助理|模型|智能体|智能體|代理|人工智能"
    r"|アシスタント|モデル|エージェント|어시스턴트|모델|에이전트)"
)
_MUST = (
    r"(?:must|shall|muss|müssen|soll(?:en|te|ten)?|hat zu|haben zu|doit|doivent|devra|devront|devrait"
    r"|debe(?:n|rá|rán|ría)?|tiene[n]? que|ha de|deve(?:m|rá|rão)?|devono|dovrà|deve|tem que|должн\w+"
    r"|обязан\w*|следует|надо|нужно|moet(?:en)?|musi)"
)
_EVER = (
    r"(?:always|never|immer|stets|nie(?:mals)?|toujours|jamais|systématiquement|siempre|nunca|jamás|sempre"
    r"|mai più|altijd|nooit|всегда|никогда|постоянно|zawsze|nigdy)"
)
_FROM_NOW = (
    r"(?:from (?:now|here|today|this point) on(?:wards?)?|henceforth|going forward|as of now|ab (?:jetzt"
    r"|sofort|heute)|von (?:nun|jetzt) an|künftig|zukünftig|fortan|à partir de maintenant|dorénavant"
    r"|désormais|à l['’]avenir|a partir de ahora|de ahora en adelante|en adelante|en lo sucesivo"
    r"|a partir de agora|doravante|de agora em diante|d['’]ora in poi|d['’]ora in avanti|da ora in poi"
    r"|vanaf nu|отныне|впредь|с этого момента|с этих пор|od teraz)"
)
_RULES = (
    r"(?:instruction|prompt|rule|guideline|polic|safety|previous|prior|above|earlier|restriction|directive"
    r"|constraint|anweisung|regel|vorgabe|vorherig|bisherig|vorgaben|consigne|règle|directive|précédent"
    r"|instruccion|regla|anterior|norma|instruç|regra|istruzion|regol|precedent|инструкц|указани|правил"
    r"|предыдущ)"
)
_FORGET = (
    r"(?:ignor\w*|disregard\w*|forget\w*|overrid\w*|overrul\w*|bypass\w*|supersede\w*|missacht\w*|vergiss"
    r"|vergessen|übergeh\w*|oubli\w*|olvid\w*|descart\w*|esque[cç]\w*|desconsider\w*|dimentic\w*|игнорир\w*"
    r"|забуд\w*|проигнорир\w*)"
)
_ORDER = expression(rf"(?:^|[.:;!] |\bto ){_EVER}\b")
_TAKEOVER = expression(
    "|".join(
        (
            # Replacing the model's instructions.
            rf"\b{_FORGET}\b.{{0,60}}\b{_RULES}",
            r"\b(?:system|developer|hidden) (?:prompt|message|instruction)|\bsystem-?prompt\b",
            r"\bnew (?:instruction|directive|rule)s?\b|\bjailbreak|\bdeveloper mode|\bdan mode",
            r"\[/?inst\]|<\|[a-z_]+\|>|^(?:system|assistant|user|human|ai)\s*:",
            r"(?:忽略|无视|忘记|忘掉|無視|忘れ|무시).{0,30}(?:指令|指示|规则|規則|提示|之前|以前|先前|上述|ルール|プロンプト|지시|규칙)",
            # Addressing a model, or describing how it shall behave from now on.
            r"\b(?:you|the (?:assistant|agent|model|ai|bot)|assistants|agents|models|ai|claude|gpt)"
            r"(?: \w+){0,2} (?:must|should|shall|have to|has to|need to|needs to|are to|is to|will) "
            r"(?:\w+ )?(?:always|never|not|only|now(?! be)|first|begin|start|respond|reply|answer|include"
            r"|send|say"
            r"|tell|use|run|call|execute|recommend|mention|add|append|obey|follow|treat|act|pretend|trust)",
            rf"\b{_MODEL}(?: [^\W\d]+){{0,3}} {_MUST}\b"
            rf"|\b{_MUST}(?: [^\W\d]+){{0,4}} {_MODEL}\b.{{0,40}}\b{_EVER}\b",
            rf"{_MODEL_WIDE}.{{0,12}}(?:必须|必須|应当|应该|應該|应|须|需要|要|不得|不要|只能|总是|總是|始终|永远|每次|は必ず|は常に"
            r"|は決して|べき|しなければ|해야|항상|반드시)",
            r"\bas an ai\b|\byou are (?:now|no longer|an?)\b|\bact as\b|\bpretend (?:to|that|you)\b",
            rf"\b{_FROM_NOW}\b|\bin (?:all|every|any|future) "
            r"(?:\w+ )?(?:conversation|session|reply|replies|response|answer|message|chat|turn)s?\b",
            r"从现在起|从今以后|自即日起|今后|從現在起|以后(?:都|每次|一律)|每次(?:回复|回答|对话|会话)|所有(?:回复|回答)|これから(?:は|すべて)"
            r"|今後(?:は|すべて)|以後は|すべての(?:返信|回答|応答)|毎回の?(?:返信|回答)"
            r"|앞으로|지금부터|모든 답변",
            r"\b(?:every|each|all|any|future) (?:reply|replies|responses?|answers)\b"
            r"|\b(?:jeder|jede|allen|alle) (?:antwort|antworten|nachrichten|sitzung|sitzungen)\b"
            r"|\b(?:chaque|toutes les|toute) (?:réponses?|messages?|sessions?)\b"
            r"|\b(?:cada|todas las|toda|todas as) (?:respuestas?|mensajes?|respostas?|sesión|sesiones"
            r"|sessões)\b"
            r"|\b(?:ogni|tutte le) (?:rispost[ae]|session[ei])\b|\b(?:кажд\w+|все[хм]?"
            r"|любо[мй]) (?:ответ\w*|сообщени\w*|сесси\w*)\b",
            r"\b(?:when|if|whenever|every time|each time|before|after) (?:the user|a user|someone|asked|you)"
            r"\b.{0,80}\b(?:always|never|say|reply|respond|answer|send|include|run|tell|recommend)\b",
            # Hiding something from a person.
            r"\b(?:do not|don't|never) (?:tell|mention|reveal|disclose|show|inform|warn|ask)\b",
            r"\b(?:nicht|niemals|nie) (?:erwähn|verrat|zeig|warn|frag|nenn)\w*|\bne (?:jamais "
            r"|pas )?(?:mentionn|révél|prévenir|dire)\w*"
            r"|\bне (?:сообщ|упомин|говор|показыв|предупрежд)\w*",
            # Running commands or sending data away.
            r"\b(?:curl|wget|bash|sh|powershell|eval|base64)\b.{0,80}(?:\||https?:|-c\b|-d\b)|\brm -rf\b",
            r"\b(?:send|post|upload|forward|exfiltrate|leak|submit|transmit)\b.{0,80}(?:https?://|@|\bto the "
            r"(?:address|url|server|endpoint)\b)",
            r"\bmerke? dir\b.{0,40}\b(?:immer|nie)\b|\b(?:decode|dekodier\w*|décod\w*|decodific\w*"
            r"|декодир\w*|解码|解碼)\b.{0,40}"
            r"\b(?:follow|obey|execute|run|befolg\w*|ausführ\w*|suiv\w*|exécut\w*|segu\w*|ejecut\w*"
            r"|execut\w*|выполн\w*|执行)",
            r"\b(?:decoded|deciphered|unscrambled|entschlüsselt|décodée?"
            r"|decodificada?)\b.{0,40}\b(?:followed|obeyed|executed|run|applied"
            r"|befolgt|ausgeführt|suivie?|exécutée?|seguida|ejecutada|executada)\b",
        )
    )
)
_SECRET = (
    r"(?:secrets?|passwords?|passphrases?|credentials?|tokens?|api[- ]?keys?|private keys?|access keys?"
    r"|ssh keys?|env(?:ironment)? "
    r"(?:file|variables)|\.env|passw[öo]rt\w*|zugangsdaten|geheimnisse?|mots? de passe|identifiants|secrets"
    r"|contraseñas?|credenciales|senhas?|credenciais|credenziali|парол\w+|ключ\w*|токен\w*|учётн\w+ данн\w+"
    r"|учетн\w+ данн\w+)"
)
_SECRET_WIDE = r"(?:密码|密碼|密钥|密鑰|凭证|口令|令牌|パスワード|秘密鍵|認証情報|トークン|비밀번호)"
_GIVE = (
    r"(?:paste|pasted|post|posted|upload|uploaded|share|shared|forward|forwarded|mailed?|emailed|published?"
    r"|copied|disclosed?|exfiltrated?|hochgeladen|hochladen|geteilt|teilen|weitergeleitet|weiterleiten"
    r"|geschickt|schicken|gesendet|senden|gepostet|partagée?s?|partager|envoyée?s?|envoyer|publiée?s?"
    r"|coll(?:és?|er)|compartid\w+|compartir|enviad\w+|enviar|publicad\w+|pegar|inviat\w+|inviare|condivi\w+"
    r"|отправ\w+|пересла\w+|пересыла\w+|публик\w+|передав\w+|выклад\w+)"
)
_PLACE = (
    r"(?:pastebin|gist|paste|https?:|www\.|@|webhook|telegram|discord|slack|channel|chat|support|form|ticket"
    r"|issue|vendor|partner|outside|external|public|address|kanal|öffentlich|extern|adresse|canal|public"
    r"|externe|públic|extern|canale|канал|внешн|поддержк|адрес)"
)
_SAFEGUARD = (
    r"(?:audit|auditing|signature|verification|certificate|tls|ssl|2fa|mfa|two[- ]factor|malware|antivirus"
    r"|firewall|sandbox|selinux|monitoring|alerting|logging|access control|permission checks?"
    r"|security (?:checks?|scans?|review)|code review|branch protection|prüfung|signaturprüfung|überwachung"
    r"|zwei-faktor\w*|sicherheits\w+|protokollierung|vérification|journal d['’]audit|pare-feu|verificación"
    r"|auditoría|cortafuegos|seguridad|verificação|auditoria|verifica|проверк\w+|аудит\w*|антивирус\w*"
    r"|брандмауэр\w*)"
)
_ACT = expression(
    "|".join(
        (
            rf"\b{_SECRET}\b.{{0,60}}\b(?:be|are|is|to|should|must|werden|soll\w*|zu|être|sont|deben|ser"
            r"|devem|нужно|следует|надо)\b"
            rf".{{0,30}}\b{_GIVE}\b|\b{_GIVE}\b.{{0,40}}\b{_SECRET}\b.{{0,60}}{_PLACE}"
            rf"|\b{_SECRET}\b.{{0,40}}\b{_GIVE}\b.{{0,40}}{_PLACE}",
            rf"{_SECRET_WIDE}.{{0,20}}(?:发送|粘贴|上传|分享|转发|提交|发给|送信|貼り付け|共有|アップロード|전송)"
            rf"|(?:发送|粘贴|上传|分享|转发|提交|把|将).{{0,20}}{_SECRET_WIDE}.{{0,20}}(?:到|给|至)",
            r"\b(?:pip(?:e|ed|es|ing)|feeds?|fed|pass(?:ed|es)?|stream(?:ed"
            r"|s)?)\b.{0,40}\b(?:(?:root )?shell|bash|sudo|sh)\b"
            r"|\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\bas root\b.{0,40}\b(?:script|download|installer)\b",
            r"\b(?:delet\w+|remov\w+|wip\w+|clear\w*|truncat\w+|eras\w+|purg\w+|lösch\w+|supprim\w+"
            r"|effac\w+|borr\w+|elimin\w+|apag\w+"
            r"|cancell\w+|удал\w+|стер\w+|очист\w+)\b.{0,30}\b(?:audit|access|security|auth"
            r"|shell)[- ]?(?:log|trail|history|verlauf|protokoll)\w*"
            r"|\b(?:lösch|supprim|effac|borr|elimin|apag|удал|стер|очист)\w*.{0,30}(?:audit|journal d"
            r"|registro de audit|журнал\w* аудит)",
            r"(?:删除|清空|清除|抹去|消去|削除).{0,12}(?:审计|日志|监查|監査|ログ)|(?:审计|監査).{0,6}(?:日志|ログ).{0,8}(?:删除|清空|清除|削除)",
            r"\b(?:disabl\w+|switch\w* off|turn\w* off|skip\w*|bypass\w*|deaktivier\w+|abschalt\w+"
            r"|abgeschaltet|ausgeschaltet|überspr\w+"
            r"|désactiv\w+|contourn\w+|desactiv\w+|omit\w+|salt\w+|desativ\w+|disattiv\w+|отключ\w+"
            rf"|обойти|обход\w+|пропуск\w+)\b.{{0,40}}\b{_SAFEGUARD}",
            r"(?:关闭|禁用|跳过|绕过|停用|無効).{0,12}(?:验证|校验|审计|防火墙|签名|安全|检查|監査|検証)|(?:验证|校验|签名|検証).{0,8}(?:关闭|禁用|跳过"
            r"|無効)",
            rf"\b{_SAFEGUARD}\b.{{0,40}}\b(?:disabled|switched off|turned off|skipped|bypassed|deaktiviert"
            r"|abgeschaltet|ausgeschaltet|désactivée?s?"
            r"|desactivad\w+|desativad\w+|disattivat\w+|отключ\w+|unnecessary|not needed|überflüssig"
            r"|inutile|innecesari\w+)\b",
            r"(?:--no-verify|chmod 777|strictHostKeyChecking(?: |=)no|verify=false|--insecure)\b",
        )
    )
)
