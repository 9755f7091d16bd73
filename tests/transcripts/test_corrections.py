"""The user's corrections are distinguished from the user's other messages."""

from __future__ import annotations

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.corrections import is_correction
from engine.transcripts.format import parse
from tests.cases import each_case

CORRECTIONS = """
no, use pnpm
No. Use the other file.
No no, don't do that
never touch walrus.go
Don’t edit generated files
do not push to main
Ok, but don't rename it.
please don't commit yet
That's wrong, it should be 4
that's not what I asked for
it's wrong. the total is off
I said no mocks
I told you to keep the header
from now on write tests first
always run the linter before you commit
stop adding comments
you forgot the tests
undo that
Wrong file!
use uv, not pip
Looks good. But never use `sudo` for this.
- don't mock the database
nein, nimm die andere Datei
ab jetzt immer auf Deutsch
das ist falsch
n'utilise jamais npm
non, utilise l'autre fichier
no uses npm
eso está mal
não mexa nisso
isso está errado
non toccare main.py
nee, gebruik pnpm
нет, используй другой файл
не трогай конфиг
不要改这个文件
不对，应该用另一个
違います、もう一つの方です
그 파일은 건드리지 마세요.
"""

OTHERS = """
no
no thanks
No, thank you
no problem
no, that's fine
no, go ahead
No idea
no errors now, commit
nonsense values appear in the log
don't worry about it
I don't know
Don't we need a lock?
Don't you think it's better?
never mind
Never seen this before
the test never passes
the app always crashes
Always returns null
is that wrong?
why don't we use X?
stop the server
can you stop it from printing
write a function that never returns
continue
fix it
use the new API
Yes, use it
also run it
Add a note: users should not use X
What is from now on used?
Not sure what happens
> don't do this
y añade tests
Nie wiem
jamais vu ça
nunca he visto esto
никогда не видел такого
没有问题
"""


@each_case("text", CORRECTIONS.strip().split("\n"))
def test_corrections_are_recognised(text: str) -> None:
    assert is_correction(text)


@each_case("text", [*OTHERS.strip().split("\n"), "", "```\n# don't touch\n```\nexplain this"])
def test_other_messages_are_not_corrections(text: str) -> None:
    assert not is_correction(text)


def test_text_far_down_in_a_message_is_not_a_correction() -> None:
    assert not is_correction("Here is the log.\n" + "at line 4 in module x\n" * 200 + "Don't use this API.\n")


def test_a_long_text_is_checked_quickly() -> None:
    for text in ("no " * 50_000, "so so, " * 50_000, "don't " * 50_000, "n'" * 50_000, "`" * 50_000):
        is_correction(text)


def test_capture_marks_a_correction_only_after_an_agent_turn(workspace: Workspace, files: Files) -> None:
    capture = ConversationCapture(files)
    path = capture.start("s")
    capture.message("s", "user", "Fix it. Don't touch walrus.go.")
    capture.message("s", "agent", "Done, I don't use it.")
    assert capture.message("s", "user", "no, use pnpm", key="a")
    assert not capture.message("s", "user", "no, use pnpm", key="a")
    capture.message("s", "user", "thanks")
    capture.message("s", "user", "no, use npm", kind="answer")
    turns = parse((workspace.root / path).read_bytes(), path).turns
    assert [(turn.role, turn.kind) for turn in turns] == [
        ("user", ""),
        ("agent", ""),
        ("user", "correction"),
        ("user", ""),
        ("user", "answer"),
    ]
