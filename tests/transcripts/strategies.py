"""Strategies for turns whose text resembles the transcript format as much as possible."""

from __future__ import annotations

from hypothesis import strategies as st

from engine.transcripts.turn import Attachment, KnowledgeChange, Text, ToolCall, Turn

PIECES = (
    "## 18:47 — user",
    "## 9:05 - agent",
    "## 23:59 – SYSTEM [memory]",
    "## — system",
    "## 2026-02-17 00:05 — user",
    "## 2026-02-30 — agent [plan]",
    "\\## 18:47 — user",
    "```",
    "````",
    "~~~",
    "```py",
    "   ```",
    "> [tool:x] a → b",
    "> [tool:",
    "> [attachment:p]",
    "> [knowledge:updated] a — b",
    "<!-- -->",
    "<!-- key:a -->",
    "# Title",
    "---",
    "\\",
    "\\\\",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\0",
    "\x1b[31m",
    "\x85",
    "\u2028",
    "\ud83d",
    "\udcff",
    "u{0}",
    "\\u{0}",
    "\\\\u{d}",
    " → ",
    "→",
    " — ",
    " - ",
    "]",
    " ",
    "\t",
    "word",
    "é",
    "😀",
)

nasty_text = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(alphabet=st.characters(), max_size=4)), max_size=12
).map("".join)

blocks = st.one_of(
    st.builds(Text, nasty_text),
    st.builds(ToolCall, nasty_text, nasty_text, nasty_text),
    st.builds(Attachment, nasty_text),
    st.builds(KnowledgeChange, nasty_text, nasty_text, nasty_text),
)

times = st.builds(lambda hour, minute: f"{hour:02}:{minute:02}", st.integers(0, 23), st.integers(0, 59))

turns = st.builds(
    Turn,
    st.sampled_from(["user", "agent", "system"]),
    st.one_of(times, st.just("")),
    st.lists(blocks, max_size=5).map(tuple),
    st.sampled_from(["", "memory", "summary", "a.b-c_d", "correction"]),
    day=st.sampled_from(["", "", "2026-02-17", "0001-01-01", "2026-02-30"]),
)

header_values = st.recursive(
    st.one_of(
        nasty_text, st.integers(0, 10**9).map(str), st.sampled_from(["no", "0123", "1e5", "12:30", "~", ""])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=4,
)
