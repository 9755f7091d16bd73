"""Proposes knowledge from a conversation without a model, for a person to review.

====================================================  ====================================================
What is found                                         becomes
====================================================  ====================================================
a command that builds, tests or checks and succeeded  a line of its project's page
a line marked by the person or in the agent's last    what its label says
words                                                 (``engine.knowledge.harvest.markers``)
the cause that the agent named at the end             a lesson
a plan of the agent that the person approved          a decision (not of a harvest): its title and its
                                                      first sentence
====================================================  ====================================================

How the person wants the agent to work is in the rules (``engine.rules.sentences``) and not proposed again.
Nothing is written without a review, so the list must be worth reading: few items per conversation, in full
sentences that can be understood on their own.

The patterns are conservative: a miss is still in the conversation, a false positive costs a review. What an
agent reports to have done is in the recaps (``engine.lifecycle.recaps``).

Only commands that run a project tool count, not ``ls``. Successes are counted across all conversations of a
project (``engine.knowledge.review``), and a command is shown only after a few.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.knowledge.harvest.markers import LESSONS, labelled
from engine.knowledge.harvest.reply import distinct, item_of
from engine.knowledge.item import Category, Item, Voice
from engine.knowledge.pages import commands_page
from engine.knowledge.proposed import WHY, Reason
from engine.knowledge.similarity import COMMON, stem
from engine.provenance.spoken import in_fences
from engine.redaction.detect import redact
from engine.startup.lazy import expression
from engine.store.prose import shortened
from engine.transcripts.corrections import is_correction
from engine.transcripts.turn import PLAN, ToolCall, Turn

MAX_PLANS = 2
"""Maximum plans proposed from one conversation, the last ones: a person's latest word counts."""

_SENTENCE_CHARACTERS = 280
_MIN_WORDS = 4
_MIN_DISTINCTIVE = 2
_PLAIN_WORDS = 9
"""Words from which an agent's sentence is specific enough without naming anything."""
_THANKS = 40
"""Length up to which a person's last message counts as mere thanks."""


def to_review(turns: Sequence[Turn], project: str = "") -> tuple[Item, ...]:
    """What a harvest proposes, without duplicates and possible secrets.

    ``turns`` must not contain injected text. ``project`` is the slug of the project the commands belong to.
    """
    dialogue = _dialogue(turns)
    spoken = (turn for turn in reversed(dialogue) if turn.role == "agent" and not turn.kind and turn.text)
    closing = next(spoken, None)
    marks = labelled(turn for turn in dialogue if turn.role != "agent" or turn is closing)
    found = [
        *commands_of(dialogue, project),
        *(
            item if item.why else replace(item, why=WHY["lesson" if label in LESSONS else "marked"])
            for label, item in marks
        ),
        *(replace(item, why=WHY["lesson"]) for item in _cause(dialogue)),
    ]
    return _without_secrets(found)


def proposed(turns: Sequence[Turn]) -> tuple[Item, ...]:
    """Approved plans and the cause that the agent named, likewise, for an extraction."""
    dialogue = _dialogue(turns)
    return _without_secrets([*distinct(_plans(dialogue))[-MAX_PLANS:], *_cause(dialogue)])


def _dialogue(turns: Iterable[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.is_dialogue and turn.role != "system"]


def _without_secrets(found: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(item for item in distinct(found) if not redact(f"{item.path} {item.text}")[1])


def _plans(turns: Sequence[Turn]) -> Iterator[Item]:
    for number, turn in enumerate(turns):
        if turn.role != "agent" or turn.kind != PLAN or not _is_approved(turns, number):
            continue
        title = next((match[1] for match in _HEADING.finditer(turn.text)), "")
        title = _bare(re.sub(r"(?i)^(?:implementation )?plan(?: for| to)?\b\W*", "", title)).rstrip(":")
        first = next((each for each in _prose(turn.text) if _stands_alone(each)), "")
        text = ": ".join(filter(None, (title, shortened(first, _SENTENCE_CHARACTERS))))
        if _stands_alone(text):
            yield from _item("decisions", "plan", text, "agent")


def _is_approved(turns: Sequence[Turn], number: int) -> bool:
    """True if the result after a plan says that the user approved it."""
    for turn in turns[number : number + 3]:
        results = [tool.result for tool in turn.tools]
        if any("rejected by the user" in result for result in results):
            return False
        if any("approved by the user" in result for result in results):
            return True
    return False


def _cause(turns: Sequence[Turn]) -> Iterator[Item]:
    """The cause that the agent names at the end, unless it is waiting for an answer."""
    spoken = [turn for turn in turns if turn.text.strip()]
    while (
        spoken
        and spoken[-1].role == "user"
        and len(spoken[-1].text) < _THANKS
        and not is_correction(spoken[-1].text)
    ):
        spoken.pop()
    if not spoken or spoken[-1].role != "agent" or spoken[-1].kind:
        return
    sentences = [_bare(each) for each in _prose(spoken[-1].text)]
    if any(each.endswith("?") and not OFFER.search(each) for each in sentences[-2:]):
        return
    for each in sentences:
        if (cause := CAUSE.match(each)) and _is_informative(cause[1]):
            yield from _item("facts", "summary", f"The cause was: {cause[1]}", "agent")
            break


def _is_informative(sentence: str) -> bool:
    """True if an agent's sentence is complete, specific, and says more than that all is well."""
    if not _stands_alone(sentence) or sentence.endswith(":"):
        return False
    if PASSED.search(sentence) or VAGUE.search(sentence):
        return False
    return PARTICULAR.search(sentence) is not None or len(_WORD.findall(sentence)) >= _PLAIN_WORDS


def _item(category: Category, reason: Reason, text: str, voice: Voice) -> Iterator[Item]:
    try:
        item = item_of(category, _bare(text), voice=voice)
    except ValueError:
        return
    yield replace(item, why=WHY[reason])


def _prose(text: str) -> Iterator[str]:
    """The sentences of a reply, without code, tables and headings."""
    lines = [
        "" if fenced or _NO_PROSE.match(line) else line
        for line, fenced in zip(text.split("\n"), in_fences(text), strict=True)
    ]
    yield from _sentences("\n".join(lines))


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        plain = _BULLET.sub("", line).strip()
        for sentence in _SENTENCE.split(plain):
            if sentence.strip():
                yield " ".join(sentence.split())


def _stands_alone(sentence: str) -> bool:
    """True if a sentence is understandable on its own, short enough, and names its subject."""
    if not 16 <= len(sentence) <= _SENTENCE_CHARACTERS:
        return False
    words = [word.casefold() for word in _WORD.findall(sentence)]
    distinctive = {word for word in map(stem, words) if len(word) > 2 and word not in _EVERYDAY}
    return len(words) >= _MIN_WORDS and len(distinctive) >= _MIN_DISTINCTIVE


def _bare(text: str) -> str:
    return " ".join(text.replace("**", "").replace("__", "").split()).strip(" -–—")


_EVERYDAY = COMMON | set(
    map(
        stem,
        """
        please thing stuff okay yeah yes like want need also then again always never use said instead let not
        don't anything everything
        """.split(),  # noqa: SIM905 — one word a line would hide the module
    )
)
_WORD = re.compile(r"[^\W_][\w'’-]*")
_SENTENCE = re.compile(r"(?<=[.!?;])[\"')”’]*\s+")
_BULLET = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+(.*\S)", re.MULTILINE)
_NO_PROSE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|>|\||`{3}|~{3}|-{3,}\s*$|<)")


OFFER = expression(
    r"\b(?:would you like|want me to|shall i|should i|let me know|do you want|anything else)\b", re.IGNORECASE
)
"""A polite closing question of an agent."""

CAUSE = expression(
    r"^(?:the )?(?:\*\*)?(?:root cause|cause|problem|the bug|issue)(?:\*\*)?\s*(?:was"
    r"|is)?\s*:(?:\*\*)?\s*(.+)",
    re.IGNORECASE,
)
"""The cause named by an agent."""

PASSED = expression(
    r"\b(?:lint\w*|tests?|build|checks?|formatting|ci)\b.*\b(?:pass\w*|clean|succeed\w*|green)\b", re.I
)
"""A statement that all is well, which is not worth keeping."""

VAGUE = expression(r"^(?:i(?:['’]ve| have)? )?\w+ (?:it|them|this|that)\b|\bthese\b", re.I)
"""A sentence that depends on the previous one."""

PARTICULAR = expression(r"`[^`]+`|\w+[/._]\w+|--\w|[a-z][A-Z]|\d")
"""Something specific: code, a path, an identifier, a number."""


MAX_COMMANDS = 4
"""Maximum commands proposed from one conversation."""

_SHELLS = frozenset({"bash", "shell", "exec", "exec_command", "local_shell", "run_shell_command", "terminal"})
_FAILED = re.compile(
    r"(?:exit (?!0\b)\d|error\b|fail|refused|rejected|interrupted|timed? ?out|command not found"
    r"|no such file|traceback"
    r"|permission denied|killed)|\b(?:FAIL|FAILED|Error:|panic:|fatal:|command not found"
    r"|[1-9]\d* (?:failed|errors?))\b",
)
_KINDS: tuple[tuple[str, str], ...] = (
    ("Run the tests", r"\btests?\b|pytest|\bjest\b|vitest|rspec|phpunit|\btox\b|\bnox\b|ctest|\bspec\b"),
    ("Check types", r"mypy|pyright|\btsc\b|type-?check|\btypes\b"),
    ("Lint", r"\blint\w*\b|ruff check|eslint|clippy|golangci|\bvet\b|flake8|pylint|shellcheck"),
    ("Run the checks", r"\bcheck\b"),
    ("Format", r"\bfmt\b|\bformat\b|gofmt|prettier|\bblack\b|rustfmt"),
    ("Build", r"\bbuild\b|\bcompile\b|\bassemble\b|\bdist\b|\bpackage\b"),
    ("Generate", r"\bgenerate\b|\bcodegen\b|protoc"),
    ("Migrate the database", r"\bmigrate\b|\bmigrations?\b"),
    ("Deploy", r"\bdeploy\b|\brelease\b|\bpublish\b"),
    ("Set up", r"\binstall\b|\bsetup\b|\bbootstrap\b|\bsync\b"),
)
_RUNNER = re.compile(
    r"(?:\w+=\S+\s+)*(?:(?:npx|uvx?|uv run|poetry run|pipenv run|bundle exec|pdm run|hatch run|rye run"
    r"|docker compose (?:run|exec) \S+|python3? -m|\.venv/bin/|\./)\s*)?"
    r"(?P<tool>make|mise(?: run)?|just|task|npm(?: run)?|pnpm(?: run)?|yarn(?: run)?|bun(?: run)?|cargo"
    r"|go|gradle|"
    r"\./gradlew|gradlew|mvn|dotnet|mix|rake|rails|tox|nox|pytest|jest|vitest|rspec|phpunit|ctest|cmake"
    r"|ninja|bazel|"
    r"mypy|pyright|ruff|eslint|prettier|black|tsc|golangci-lint|clippy|shellcheck|composer|flutter|swift"
    r"|zig|sbt|lein|terraform|ansible-playbook|helm|kubectl|alembic|manage\.py|bin/\w+|scripts?/[\w./-]+"
    r"|[\w-]+\.sh)\b(?P<rest>.*)"
)
_DROPPED = re.compile(
    r"\s*(?:[12&]?>+\s*(?:&\d|/dev/null|\S+)|\|\s*(?:head|tail|grep|less|cat|tee|wc|sort|rg|sed|awk)\b.*"
    r"|\|\|\s*(?:true|echo\b.*)|;\s*echo\b.*)"
)
_CHANGES_PLACE = re.compile(r"^cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*")
_NARROWED = re.compile(
    r"(?:\s-(?:run|k|t|p|m|e|c)\b|\s\.?/?\w\S*/\.\.\.|::|\s--(?:filter|grep|only|package|testNamePattern|exact)\b|/tmp/"
    r"|/home/|/Users/|[$`\"']"
    r"|\s\S+_test\.\w+|\stest_\S+|\s\S+\.(?:py|go|ts|tsx|js|rs|rb|java|sh|json)\b|\s\S+/\S+\.\w+)"
)
"""A single test, file or temporary value: not worth repeating."""
_PART = re.compile(r"\s\.{0,2}/?\w[\w.-]*/\w")
"""A subfolder rather than all tests."""


def commands_of(turns: Iterable[Turn], project: str = "") -> list[Item]:
    """The commands in a conversation, most frequent first: lines of the project's page of commands, or
    playbooks if ``project`` (a slug) is empty.
    """
    counts: Counter[str] = Counter()
    for turn in turns:
        for tool in turn.tools:
            if tool.name.casefold() in _SHELLS and _succeeded(tool):
                counts.update(dict.fromkeys(_commands(tool.summary), 1))
    found: list[Item] = []
    for command, times in counts.most_common(MAX_COMMANDS):
        try:
            item = item_of("playbooks", _name(command), command, "agent")
        except ValueError:
            continue
        if project:
            item = replace(
                item, category="pages", path=commands_page(project), subject=f"Commands of {project}"
            )
        found.append(replace(item, why=WHY["command"], times=times))
    return found


def _succeeded(tool: ToolCall) -> bool:
    return bool(tool.result) and not _FAILED.search(tool.result[:400])


def _commands(line: str) -> Iterator[str]:
    """The commands in a shell line that run a project tool, without parts that trim the output."""
    line = _CHANGES_PLACE.sub("", line.strip())
    if line.endswith("…"):
        return  # truncated in the transcript
    for part in re.split(r"\s*(?:&&|;)\s*", line):
        command = " ".join(_DROPPED.sub("", part).split())
        match = _RUNNER.fullmatch(command)
        if match is not None and (match["rest"].strip() or match["tool"] in _ALONE) and _is_whole(command):
            yield command


_ALONE = frozenset(
    {"make", "pytest", "tox", "nox", "jest", "vitest", "rspec", "phpunit", "ctest", "mypy", "tsc"}
)


def _is_whole(command: str) -> bool:
    """True if a command has a known purpose and is not limited to a part."""
    name = _name(command)
    if not name or _NARROWED.search(command):
        return False
    return name != "Run the tests" or _PART.search(command) is None


def _name(command: str) -> str:
    """The purpose of a command; empty if unclear."""
    found = next((name for name, words in _KINDS if re.search(words, command)), "")
    return found or ("Build" if command == "make" else "")


MAX_STEPS = 6
"""Maximum commands in a sequence; a longer one is not a procedure."""


def sequence_of(turns: Iterable[Turn]) -> tuple[str, str] | None:
    """The purpose and the commands of the longest sequence of distinct successful commands; the last of
    equally long ones. ``None`` if there is no sequence of two.

    A failed or repeated command starts a new sequence.
    """
    best: list[str] = []
    run: list[str] = []
    for turn in turns:
        for tool in turn.tools:
            found = list(_commands(tool.summary)) if tool.name.casefold() in _SHELLS else []
            if found and not _succeeded(tool):
                run = []
                continue
            for command in found:
                if command in run:
                    run = []
                run = [*run, command]
                if len(best) <= len(run) <= MAX_STEPS:
                    best = run
    if len(best) < 2:
        return None
    first, *rest = dict.fromkeys(map(_name, best))
    return ", ".join((first, *map(str.lower, rest))), " -> ".join(best)
