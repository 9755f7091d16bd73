from __future__ import annotations

import subprocess
import sys


def test_reading_loads_nothing_that_only_writing_or_watching_needs() -> None:
    program = (
        "import sys\n"
        "from engine.store import documents, faults, files, paths, repository, watcher, yamltext\n"
        "documents.parse(b'---\\na: 1\\n---\\n', 'a.md')\n"
        "late = {'filelock', 'watchfiles', 'asyncio', 'numpy', 'textual'}\n"
        "print(sorted(late & {name.partition('.')[0] for name in sys.modules}))\n"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert child.stdout == "[]\n"
