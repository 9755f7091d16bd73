"""Recognises commands that build, test or check a project in what an agent ran.

Only commands that run a project tool as a whole count, not ``ls``, a single test, the installation of a
package, or a question about the tool's version, help, settings or list of tests.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from engine.provenance.tools import runs_command
from engine.startup.lazy import expression
from engine.transcripts.turn import ToolCall

_FAILED = expression(
    r"(?:exit (?!0\b)\d|error\b|fail|refused|rejected|interrupted|command not found"
    r"|no such file|traceback"
    r"|permission denied|killed)|\b(?:FAIL|FAILED|Error:|panic:|fatal:|command not found"
    r"|[1-9]\d* (?:failed|errors?))\b"
)
_GOES_ON = expression(r"running in (?:the )?background|timed? ?out", re.IGNORECASE)
"""It was still running, as a server does."""
TESTS = "Run the tests"
TYPES = "Check types"
LINT = "Lint"
CHECKS = "Run the checks"
FORMAT = "Format"
BUILD = "Build"
START = "Start"
_SET_UP = "Set up"
_KINDS = tuple(
    (name, expression(words))
    for name, words in (
        (TESTS, r"\btests?\b|pytest|\bjest\b|vitest|rspec|phpunit|\btox\b|\bnox\b|ctest|\bspec\b"),
        (TYPES, r"mypy|pyright|\btsc\b|type-?check|\btypes\b"),
        (LINT, r"\blint\w*\b|ruff check|eslint|clippy|golangci|\bvet\b|flake8|pylint|shellcheck"),
        (CHECKS, r"\bcheck\b|\bverify\b"),
        (FORMAT, r"\bfmt\b|\bformat\b|gofmt|prettier|\bblack\b|rustfmt"),
        (BUILD, r"\bbuild\b|\bcompile\b|\bassemble\b|\bdist\b|\bpackage\b"),
        ("Generate", r"\bgenerate\b|\bcodegen\b|protoc"),
        ("Migrate the database", r"\bmigrate\b|\bmigrations?\b"),
        ("Deploy", r"\bdeploy\b|\brelease\b|\bpublish\b"),
        (_SET_UP, r"\binstall\b|\bsetup\b|\bbootstrap\b|\bsync\b"),
        (START, r"\b(?:dev|start|serve|server|runserver|preview|up|run|uvicorn|gunicorn|streamlit)\b"),
    )
)
_RUNNER = expression(
    r"(?:\w+=\S+\s+)*(?P<launcher>(?:npx|bunx|uvx?|uv run|poetry run|pipenv run|bundle exec|pdm run|hatch run"
    r"|rye run"
    r"|docker compose (?:run|exec) \S+|python3? -m|\.venv/bin/|\./)\s*)?"
    r"(?P<tool>make|mise(?: run)?|just|task|npm(?: run)?|pnpm(?: run)?|yarn(?: run)?|bun(?: run)?|cargo"
    r"|go|gradle|"
    r"\./gradlew|gradlew|mvn|dotnet|mix|rake|rails|tox|nox|pytest|jest|vitest|rspec|phpunit|ctest|cmake"
    r"|ninja|bazel|"
    r"mypy|pyright|ruff|eslint|prettier|black|tsc|golangci-lint|clippy|shellcheck|composer|flutter|swift"
    r"|zig|sbt|lein|docker[ -]compose|uvicorn|gunicorn|flask|streamlit"
    r"|astro|next|vite|expo|terraform|ansible-playbook|helm|kubectl|alembic|manage\.py|bin/\w+|scripts?/[\w./-]+"
    r"|[\w-]+\.sh)\b(?P<rest>.*)"
)
_DROPPED = expression(
    r"\s*(?:[12&]?>+\s*(?:&\d|/dev/null|\S+)|\|\s*(?:head|tail|grep|less|cat|tee|wc|sort|rg|sed|awk)\b.*"
    r"|\|\|\s*(?:true|echo\b.*)|;\s*echo\b.*)"
)
_CHANGES_PLACE = expression(
    r"^(?:Run command:\s+)?(?:(?:cd|Set-Location(?: -(?:Literal)?Path)?)\s+"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s;]+)\s*(?:&&|;)\s*)?"
)
"""What stands before a command: SpecStory's words, and where it is run."""
_NARROWED = expression(
    r"(?:\s-(?:run|k|t|p|m|e|c)\b|\s\.?/?\w\S*/\.\.\.|::|\s--(?:filter|grep|only|package|testNamePattern|exact)\b|/tmp/"
    r"|/home/|/Users/|[$`\"'|<>&()\\{}*?!#]"
    r"|\s\S+_test\.\w+|\stest_\S+|\s\S+\.(?:py|go|ts|tsx|js|rs|rb|java|sh|json)\b|\s\S+/\S+\.\w+)"
)
"""A single test, file or temporary value, or more than one program: not worth repeating."""
_PART = expression(r"\s\.{0,2}/?\w[\w.-]*/\w")
"""A subfolder rather than all tests."""
_ASKS = expression(
    r"\s(?:--?(?:help|version|list[\w-]*|show-?config|print-?config|collect-only|dry-run|init|watch\w*|ui)"
    r"|-(?:[hw]|(?-i:V))|--co)(?![\w-])|\b(?:tsc|jest|vitest|eslint|prettier|npm|pnpm|yarn|bun) -v\b"
    r"|\s(?:help|version|list|ls|info|view|show|why|config|outdated|search)(?!\S)",
    re.IGNORECASE,
)
"""It shows something about the tool, begins a project, or does not end."""
_INSTALLS = frozenset(
    """
    add install i remove rm uninstall update upgrade up get link create init dlx
    """.split()  # noqa: SIM905 — one word a line would hide the module
)
_WITH_PACKAGES = expression(r"\s(?!-)\S")
_PACKAGE = expression(
    r"\s(?:--filter|-F|--workspace|-w)[ =](?P<quote>['\"]?)(?P<package>(?:@[\w-]+/)?[\w-]+)(?P=quote)(?!\S)"
)
"""The package of the project that a command of a package manager is for: a name, no path and no pattern."""
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_LONGEST = 500
_ALONE = frozenset(
    {"make", "pytest", "tox", "nox", "jest", "vitest", "rspec", "phpunit", "ctest", "mypy", "tsc"}
)

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
_STARTED = expression(
    r"\b(?:dev|server|servers|app|apps|application|project|site|website|service|frontend|backend|bot|game|serveur|projet"
    r"|appli\w*|servidor|proyecto|projeto|aplica\w+|progetto|projekt\w*|anwendung|máy chủ|dự án|ứng dụng)\b"
    r"|сервер|приложени|проект|サーバ|アプリ|プロジェクト|서버|앱|프로젝트|服务|服務|项目|項目|程序"
)
"""What is started, if nothing else of it is asked about."""
_HERE = expression(
    r"\b(?:local\w*|here|now|again|lokal\w*|hier|ici|aquí|aqui|qui)\b|здесь|ここ|这里|여기|実行|行"
)
_HOW = expression(
    r"\bhow\b|\bcommands?\b|\bwie\b|\bbefehl\w*|\bwomit\b|\bcomment\b|\bcommande\b|\bc[oó]mo\b|\bcomando\b|\bcome\b"
    r"|\bhoe\b|\bhur\b|\bhvordan\b|\bjak\b|\bpříkaz\w*|\bnasıl\b|\bкак|\bкоманд|どう|コマンド|方法|やり方|命令|怎么|怎樣"
    r"|怎样|如何|어떻게|명령|방법|\b(?:như )?thế nào\b|\blàm sao\b|\bra sao\b|\blệnh\b"
)
_RUN = expression(
    r"\brun\w*|\bexecut\w*|\bstart\w*|\blaunch\w*|\binvoke\w*|\bausf\w+|\blaufen\b|\blass\w*|\blanc\w+|\bexéc\w+"
    r"|\bejec\w+|\bcorr\w+|\blanz\w+|\besegu\w+|\brod\w+|\bspust\w+|\bspoušt\w+|\buruch\w+|\bdraai\w*|\bkör\w*"
    r"|\bavvi\w*|\bkjør\w*|\bkør\w*|\bçalıştır\w*|запус|выполн|実行|起動|走らせ|回す|回し|运行|運行|执行|執行|跑|실행|돌리|돌려|\bchạy\b"
)
_SPAN = expression(r"`([^`\n]{3,120})`")
_BEGUN = expression(
    r"(?<![\w/-])(?=((?:npm|npx|pnpm|yarn|bun|uv|make|docker|dotnet|cargo|go|mvn|gradle|pytest|flask|uvicorn)"
    r" (?!(?:to|the|an?|it|this|sure|and|on|in|for)\b)[^`\n]{2,80}))"
)
"""What may be a command, with the words behind it."""
_WORD = expression(r"\w+")
_WIDE = expression(r"[\u3040-\u30ff\u4e00-\u9fff]")


def commands_in(line: str, *, every: bool = False) -> Iterator[str]:
    """The commands in a shell line that run a project tool, without parts that trim the output.

    Args:
        every: Those that are for one package of the project, too: its tests may only run so; and those that
            start something, which do not end.
    """
    if len(line) > _LONGEST or line.rstrip().endswith("…"):
        return  # a script, or truncated in the transcript
    line = _CHANGES_PLACE.sub("", line.strip())
    for part in re.split(r"\s*(?:&&|;)\s*", line):
        command = " ".join(_DROPPED.sub("", part).split())
        whole = package_in(command)[0] if every else command
        match = _RUNNER.fullmatch(whole)
        if match is None or not (match["rest"].strip() or match["tool"] in _ALONE):
            continue
        if _is_whole(whole) and (every or kind_of(whole) != START):
            yield command


def package_in(command: str) -> tuple[str, str]:
    """A command without the package it is for, and the package; ``""`` for all of the project."""
    found = _PACKAGE.search(command) if command.partition(" ")[0] in _MANAGERS else None
    if found is None:
        return command, ""
    return command[: found.start()] + command[found.end() :], found["package"]


def succeeded(tool: ToolCall, *, every: bool = False) -> list[str]:
    """The distinct commands in a call of a shell that ended well, as far as the record tells; see
    ``commands_in``.
    """
    if not runs_command(tool) or not tool.result or _FAILED.search(tool.result[:400]):
        return []
    found = dict.fromkeys(commands_in(tool.summary, every=every))
    return [each for each in found if ended_well(tool) or kind_of(package_in(each)[0]) == START]


def ended_well(tool: ToolCall) -> bool:
    """True if the beginning of a result tells that it ended, and of no failure."""
    begin = tool.result[:400]
    return bool(begin) and not _FAILED.search(begin) and not _GOES_ON.search(begin)


def kind_of(command: str) -> str:
    """The purpose of a command; empty if unclear."""
    match = _RUNNER.fullmatch(command)
    if match is not None and match["tool"].partition(" ")[0] not in _ALONE:
        first, _, rest = match["rest"].strip().partition(" ")
        if first in _INSTALLS and not match["tool"].startswith("docker"):
            return "" if _WITH_PACKAGES.search(f" {rest}") else _SET_UP
    found = next((name for name, words in _KINDS if words.search(command)), "")
    return found or (BUILD if command == "make" else "")


def _is_whole(command: str) -> bool:
    """True if a command has a known purpose and is not limited to a part."""
    name = kind_of(command)
    if not name or _NARROWED.search(command) or _ASKS.search(command):
        return False
    return name != TESTS or _PART.search(command) is None


_PLAIN_TOOLS = frozenset(
    """
    make just task npm pnpm yarn bun cargo go gradle gradlew mvn dotnet mix rake tox nox pytest jest vitest
    rspec phpunit ctest ninja mypy pyright ruff eslint prettier black tsc golangci-lint clippy composer
    flutter swift zig docker docker-compose astro next vite expo
    """.split()  # noqa: SIM905 — as above
)
_PLAIN_LAUNCHERS = frozenset(
    {"", "npx", "bunx", "uv run", "poetry run", "pipenv run", "bundle exec", ".venv/bin/", "./"}
)
_PLAIN_WORDS = frozenset(
    """
    run exec test tests testing spec specs unit integration e2e coverage cov race all ci once lint linter
    check checks verify validate build compile assemble dist package type types typecheck format fmt vet
    clippy fix quick fast full debug release dev start serve server preview compose up . ./... --
    """.split()  # noqa: SIM905 — as above
)
_PLAIN_FLAG = expression(r"-[A-Za-z]{1,3}|--?[a-z]{3,}(?:-[a-z]+)*", re.IGNORECASE)
_SEPARATOR = expression(r"[:_-]")


def is_plain(command: str) -> bool:
    """True if each word of a command is the name of a well-known tool, of what such tools do, or a bare flag.

    Nothing in such a line can come from a text that anyone wrote to mislead: no name, address, path or
    value. So it may be told or accepted whatever the agent had read before.
    """
    match = _RUNNER.fullmatch(command)
    if match is None or (match["launcher"] or "").strip() not in _PLAIN_LAUNCHERS or "=" in command:
        return False
    tool, *rest = f"{match['tool']} {match['rest']}".split()
    return tool.removeprefix("./") in _PLAIN_TOOLS and all(
        word.casefold() in _PLAIN_WORDS
        or _PLAIN_FLAG.fullmatch(word)
        or all(part in _PLAIN_WORDS for part in _SEPARATOR.split(word))
        for word in rest
    )


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
    if not kinds and _RUN.search(text) and _STARTED.search(text):
        return frozenset({START})
    return kinds | {CHECKS} if TESTS in kinds else kinds


def names_command(text: str, kinds: Collection[str]) -> bool:
    """Whether a text names a command of some kinds, between backticks or in a sentence."""
    begun = (found[1].split() for found in _BEGUN.finditer(text))
    parts = (*_SPAN.findall(text), *(" ".join(words[:size]) for words in begun for size in (2, 3, 4)))
    named = (command for part in parts for command in commands_in(part, every=True))
    return any(kind_of(package_in(each)[0]) in kinds for each in named)


def besides_kinds(message: str) -> str:
    """What a message that asks how to run something says besides: which tests, or what server."""
    text = message.casefold()
    known = (_HOW, _RUN, _STARTED, _HERE, *(subject for _, subject in _ASKED))
    for words in known:
        text = words.sub(lambda found: " " if _WIDE.search(found[0]) or " " in found[0] else found[0], text)
    return " ".join(word for word in text.split() if not any(each.search(word) for each in known))
