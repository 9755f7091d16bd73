"""A repository with a long history, created by ``git fast-import``, with the same commits on every run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from tests.benchmarks.inputs import START, Words

RARE = "the Kvalnes gauge answers on port 48151"
"""A line added once, in the middle, and never removed."""
GONE = "the Nordersiel clock runs 90 s ahead"
"""A line added once and removed again."""
OFTEN = "knowledge/facts.md"
"""Changed by every tenth commit."""
SELDOM = "knowledge/people/0000.md"

_FILES_A_COMMIT = 3


def make(root: Path, commits: int, files: int) -> None:
    """Create a repository with these numbers of commits and files, with ``main`` checked out.

    Four of five files are transcripts, each with its own commit if there are enough commits; the others are
    knowledge, to which the remaining commits add a line or in which they change one.
    """
    root.mkdir()
    (root / "memory-config.yaml").write_text("days:\n  time_zone: UTC\n")
    _git(root, "init", "-q", "-b", "main")
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=root, input=b"".join(_stream(commits, files)), check=True
    )
    _git(root, "config", "core.logAllRefUpdates", "true")
    _git(root, "checkout", "-q", "-f", "main")


def _stream(commits: int, files: int) -> Iterator[bytes]:
    words = Words(7, 5_000)
    texts = [words.text(110).replace("\n", " ")[:110] for _ in range(2_000)]
    transcripts = min(files * 4 // 5, commits * 2 // 3)
    pages: dict[str, list[str]] = {OFTEN: ["# Facts", ""]}
    for number in range(files - transcripts - 1):
        pages[f"knowledge/{('people', 'projects', 'reference')[number % 3]}/{number:04}.md"] = [f"# {number}"]
    names = list(pages)
    every = max(1, commits // max(transcripts, 1))
    written = 0
    for number in range(commits):
        at = int((START + timedelta(minutes=37 * number)).timestamp())
        changed: dict[str, str] = {"memory-config.yaml": "days:\n  time_zone: UTC\n"} if not number else {}
        if written < transcripts and number % every == 0:
            day = (START + timedelta(minutes=37 * number)).strftime("%Y/%m/%d/%H%M")
            path = f"raw/conversations/{day}-ses_{written:05}-talk.md"
            talk = "".join(f"\n## 08:{turn:02} — user\n{words.random.choice(texts)}\n" for turn in range(12))
            changed[path] = f"---\nsession_id: ses_{written:05}\n---\n{talk}"
            message = f"conversation: talk {written}\n\nSession: {path}"
            written += 1
        else:
            # Every page once, then random ones.
            touched = [
                names[(number * _FILES_A_COMMIT + step) % len(names)] for step in range(_FILES_A_COMMIT)
            ]
            touched += [OFTEN] if number % 10 == 3 else []
            for path in dict.fromkeys(touched):
                lines = pages[path]
                if number % 7 == 0 and len(lines) > 3:
                    place = words.random.randrange(2, len(lines))
                    if RARE not in lines[place] and GONE not in lines[place]:
                        lines[place] = f"- {words.random.choice(texts)} {number}"
                else:
                    lines.append(
                        f"- {words.random.choice(texts)} [from: ses_{max(written - 1, 0):05}, 2026-01-05]"
                    )
                changed[path] = "\n".join(lines) + "\n"
            message = f"memory: notes {number}\n\nSession: raw/conversations/none-{written}.md"
        if number in (commits // 2, commits * 3 // 4):
            facts = pages[OFTEN]
            facts[:] = [line for line in facts if GONE not in line]
            if number == commits // 2:
                facts += [f"- {RARE}", f"- {GONE}"]
            changed[OFTEN] = "\n".join(facts) + "\n"
        yield f"commit refs/heads/main\ncommitter Robin <robin@example.org> {at} +0000\n".encode()
        yield _data(message)
        for path, text in changed.items():
            yield f"M 100644 inline {path}\n".encode() + _data(text)
    yield b"done\n"


def _data(text: str) -> bytes:
    data = text.encode()
    return b"data %d\n%b\n" % (len(data), data)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True)
