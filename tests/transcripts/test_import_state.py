"""The import state in a transcript's header is read back unchanged and never mistaken for a secret."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.redaction.detect import secrets_in
from engine.transcripts.importers.session import Checkpoint
from engine.transcripts.importers.state import ImportState, read_state

_IDS = st.builds(
    str.__add__,
    st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=20, max_size=20),
    st.sampled_from(["a1b2", "72pw", "hhPw", "LPWD", "pass", "4Key"]),
)


@given(
    _IDS, st.integers(1, 10**7), st.integers(1, 10**6), st.sampled_from(["", "system-records:5,thinking:41"])
)
def test_a_message_id_is_not_mistaken_for_a_secret(
    name: str, sent: int, received: int, left_out: str
) -> None:
    since = Checkpoint(
        offset=7565, turns=3, tokens_in=sent, tokens_out=received, reply=f"msg_01{name[2:]}", reply_in=sent,
        reply_out=received, minute=29491249, left_out=left_out,
    )  # fmt: skip
    state = ImportState(222843, 4, 0, "608ed30466af8fb4", "188a9c059f9d3f32", 342, since, 2)
    line = f'tokens_out: {received}\ntags: []\nimport_state: "{state.written()}"\n'
    assert not secrets_in(line)
    assert read_state(state.written()) == state
