"""Which passages of past sessions tell something to the one at work."""

from __future__ import annotations

from dataclasses import replace

from engine.recall.telling import tells
from engine.search.results import SearchResult
from tests.cases import each_case

PASSAGE = SearchResult("a.md", 1, 1, "conversation", "", "", "", "", 1.0, None, None, "index", "")
MESSAGE = "I ran it once more, the uploader still drops files, please look at the log"


LONG = (
    "The uploader must hold the lock of the harbour for as long as a ship is in it, since two ships"
    " that enter at once have sent the same file twice before, and the crane cannot tell them apart."
)
HEADING = "---\n\n### 2. The lock is checked when the uploader starts\n\n**Order of the start:**"
SENT = (
    '0:58:13 [send] turn/start\n{"id":"3","method":"turn/start","params":{"input":[{"text":"hello"}]}}\n'
    '0:58:14 [receive] turn/start\n{"id":"3","result":{"turn":"c5e4"}}\nThat is the whole log.'
)
TRACE = 'Traceback (most recent call last):\n  File "/srv/harbour/upload.py", line 595, in run'
POWERSHELL = (
    "PS C:\\harbour> docker compose ps\nNAME    IMAGE    STATUS\nuploader  harbour:2  Up 3 minutes (healthy)"
    " and many more columns that say on which ports it listens 0.0.0.0:8080"
)
CONSOLE = (
    "UploadPage.tsx:263 [UploadPage] files: 1\nUploadApi.ts:56 [API] upload failed after 3 tries\n"
    "UploadPage.tsx:264 [UploadPage] files: 0, error: the lock of the harbour is held by another ship"
)


@each_case(
    "speaker, text, is_told",
    [
        ("agent", "The uploader drops a file when its lock is older than a minute.", True),
        ("user", "I ran it again, look at the log of the harbour, I think it is the lock", False),
        ("user", "我运行了，你看一下日志，不知道为什么没有生效", False),
        ("user", "Question: Which lock is the uploader's?\nAnswer: The one of the harbour", True),
        ("user", LONG, False),
        ("agent", LONG, True),
        ("agent", HEADING, False),
        ("agent", SENT, False),
        ("agent", TRACE, False),
        ("user", POWERSHELL, False),
        ("user", CONSOLE, False),
    ],
)
def test_what_was_only_wanted_then_and_what_a_program_printed_tells_nothing(
    speaker: str, text: str, is_told: bool
) -> None:
    assert tells(replace(PASSAGE, speaker=speaker, text=text), MESSAGE) is is_told
