"""Writes that must survive a power failure, compared with the bare system calls they consist of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from engine.store.files import Files
from engine.transcripts.capture import ConversationCapture
from tests.benchmarks import peers
from tests.benchmarks.inputs import START, Words
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate

LINE = 300
FILE = 4096
LONG_TURNS = 1_200


def run(setting: Setting) -> Iterator[Row]:
    """Time appending, replacing, and capturing messages of a short and of a long session."""
    words = Words(4)
    workspace = setting.workspace("store")
    files = Files(workspace)
    rounds = setting.size(60, 2)
    lines = [f"{words.text(LINE)}\n".encode() for _ in range(rounds + 3)]
    pages = [words.text(FILE).encode() for _ in range(rounds + 3)]
    raw = setting.folder / "raw"
    raw.mkdir()

    ours, theirs = alternate(
        [
            lambda number: files.append("logs/lines.jsonl", lines[number]),
            lambda number: peers.append(raw / "lines.jsonl", lines[number]),
        ],
        rounds=rounds,
        warm_up=3,
    )
    written = (workspace.root / "logs/lines.jsonl").read_bytes()
    agree(written == (raw / "lines.jsonl").read_bytes(), "the appended files differ")
    yield Row(f"append {LINE} bytes", ours, "open, write, fsync", theirs)

    ours, theirs = alternate(
        [
            lambda number: files.replace("knowledge/page.md", pages[number]),
            lambda number: peers.replace(raw / "page.md", pages[number]),
        ],
        rounds=rounds,
        warm_up=3,
    )
    yield Row(f"replace {FILE // 1024} KB", ours, "write, fsync, rename, fsync", theirs)

    for name, turns in (("a new", 0), ("a long", setting.size(LONG_TURNS, 3))):
        capture = ConversationCapture(files, clock=lambda: START)
        session = f"ses_{turns}"
        path = workspace.root / capture.start(session)
        with path.open("a", encoding="utf-8") as stream:
            for number in range(turns):
                role = "agent" if number % 2 else "user"
                stream.write(f"\n## 08:{number % 60:02} — {role}\n{words.text(800)}\n")
        size = path.stat().st_size

        def message(number: int, capture: ConversationCapture = capture, session: str = session) -> None:
            text = lines[number].decode()
            capture.message(session, "user", text, at=START + timedelta(minutes=5 * number))

        ours, theirs = alternate(
            [message, lambda number: peers.append(raw / "lines.jsonl", lines[number])],
            rounds=setting.size(40, 2),
            warm_up=3,
        )
        note = f"transcript of {size / 1e6:.1f} MB" if turns else ""
        yield Row(f"capture a message of {name} session", ours, "open, write, fsync", theirs, note)
