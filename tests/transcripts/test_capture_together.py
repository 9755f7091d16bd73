"""Messages appended together are written as if appended one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.store.files import Files
from engine.transcripts.capture import ConversationCapture, NewMessage
from engine.transcripts.turn import Role
from tests.transcripts.strategies import PIECES

ROLES: tuple[Role, ...] = ("user", "agent", "system")
TEXTS = st.lists(st.sampled_from((*PIECES, "No, use tabs instead.", "a", "b")), max_size=3).map("".join)
WHOLE = TEXTS.filter(lambda text: "\ud83d" not in text)
SAID = st.builds(
    NewMessage,
    st.sampled_from(ROLES),
    WHOLE,
    at=st.integers(0, 3000).map(lambda m: datetime(2026, 2, 16, 18, 45, tzinfo=UTC) + timedelta(minutes=m)),
    key=st.sampled_from(("", "", "k", "l")),
    tool=st.sampled_from(("", "", "exec")),
)
numbers = iter(range(1_000_000))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(before=st.lists(SAID, max_size=2), messages=st.lists(SAID, min_size=1, max_size=5))
def test_appending_together_equals_appending_one_by_one(
    files: Files, before: list[NewMessage], messages: list[NewMessage]
) -> None:
    capture = ConversationCapture(files, clock=lambda: datetime(2026, 2, 16, 18, 45, tzinfo=UTC))
    number = next(numbers)
    paths = [capture.start(f"ses_{kind}{number}") for kind in "ab"]
    for each in before:
        for kind in "ab":
            capture.append(f"ses_{kind}{number}", [each])
    together = capture.append(f"ses_a{number}", messages)
    assert together == [capture.append(f"ses_b{number}", [each])[0] for each in messages]
    first, second = (files.read(path).replace(b"ses_a", b"ses_b") for path in paths)
    assert first == second
