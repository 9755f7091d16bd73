"""Recognises a question how to run the tests, the checks or the build of a project."""

from __future__ import annotations

from engine.knowledge.commands import BUILD, CHECKS, FORMAT, LINT, TESTS, TYPES
from engine.startup.lazy import expression

_CHARACTERS = 160
"""Of a message that asks."""
_FEW_WORDS = 7
"""Words up to which "how" is enough: "how do we lint this?"."""
_FEW_WIDE = 16
"""Characters, likewise, in a script without spaces."""

_SUBJECTS = (
    (TESTS, r"\btest\w*|\bspecs?\b|\bprueba\w*|тест|テスト|테스트|测试|測試"),
    (LINT, r"\blint\w*|リント|린트"),
    (TYPES, r"\btype-?check\w*|\btypes\b|型チェック|类型检查|타입"),
    (FORMAT, r"\bformat(?:t?er|t?ieren|ting)?\b|フォーマット|포맷|格式化"),
    (BUILD, r"\bbuild\w*|\bcompil\w+|\bkompilier\w*|сборк|собрать|ビルド|빌드|构建|編譯|编译"),
    (CHECKS, r"\bchecks?\b|\bverif\w+|\bprüf\w*|проверк|検証|チェック|검사|检查"),
)
_ASKED = tuple((kind, expression(words)) for kind, words in _SUBJECTS)
_HOW = expression(
    r"\bhow\b|\bcommands?\b|\bwie\b|\bbefehl\w*|\bwomit\b|\bcomment\b|\bcommande\b|\bc[oó]mo\b|\bcomando\b|\bcome\b"
    r"|\bhoe\b|\bhur\b|\bhvordan\b|\bjak\b|\bpříkaz\w*|\bnasıl\b|\bкак|\bкоманд|どう|コマンド|方法|やり方|命令|怎么|怎樣"
    r"|怎样|如何|어떻게|명령|방법|\bthế nào\b|\blàm sao\b|\bra sao\b|\blệnh\b"
)
_RUN = expression(
    r"\brun\w*|\bexecut\w*|\bstart\w*|\blaunch\w*|\binvoke\w*|\bausf\w+|\blaufen\b|\blass\w*|\blanc\w+|\bexéc\w+"
    r"|\bejec\w+|\bcorr\w+|\blanz\w+|\besegu\w+|\brod\w+|\bspust\w+|\bspoušt\w+|\buruch\w+|\bdraai\w*|\bkör\w*"
    r"|\bkjør\w*|\bkør\w*|\bçalıştır\w*|запус|выполн|実行|走らせ|回す|回し|运行|運行|执行|執行|跑|실행|돌리|돌려|\bchạy\b"
)
_WORD = expression(r"\w+")
_WIDE = expression(r"[\u3040-\u30ff\u4e00-\u9fff]")


def kinds_asked(message: str) -> frozenset[str]:
    """What a message asks how to run, as ``commands.kind_of`` names it; empty if it asks something else.

    A miss costs a search, and a record told for nothing a line: in a short question, "how" and a subject do.
    """
    text = message.casefold()
    if len(text) > _CHARACTERS or "\n" in text.strip() or not _HOW.search(text):
        return frozenset()
    kinds = frozenset(kind for kind, words in _ASKED if words.search(text))
    is_wide = _WIDE.search(text) is not None
    is_short = len(text) <= _FEW_WIDE if is_wide else len(_WORD.findall(text)) <= _FEW_WORDS
    if not is_short and not _RUN.search(text):
        return frozenset()
    return kinds | {CHECKS} if TESTS in kinds else kinds
