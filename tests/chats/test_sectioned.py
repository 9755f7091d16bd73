"""Markdown with a section for each step: Windsurf's and Copilot's."""

from __future__ import annotations

from engine.transcripts.chats.read import read_chats
from tests.chats.test_layouts import calls, said

_WINDSURF = """# Cascade Chat Conversation

  Note: _This is purely the output of the chat conversation and does not contain any raw data._

### User Input

one

*really*

*Updated todo list*

*Viewed [a.py](file:///w/a.py) *

### Planner Response

two

*Searched filesystem*

### Planner Response

Like this:

```
### User Input
```

### User Input

three
"""

_SHARED = """# 🤖 Copilot CLI Session

> **Session ID:** `e1ebe014-169b`
> **Started:** 2026-02-05 09:25:26
> **Duration:** 51m 54s

<sub>⏱️ 1s</sub>

### 👤 User

one

### ✅ of the list

---

<sub>⏱️ 2s</sub>

### 💭 Reasoning

hm

---

<sub>⏱️ 3s</sub>

### ✅ `view`

<details>x</details>

---

<sub>⏱️ 7s</sub>

### 💬 Copilot

two

---

<sub>⏱️ 8s</sub>

### 👤 User

three
"""


def test_what_was_done_below_a_prompt_is_not_the_persons() -> None:
    (found,) = read_chats(_WINDSURF.encode(), "x.md")
    assert found.format == "windsurf"
    assert said(found) == [
        ("user", "one\n\n*really*"),
        ("agent", "two\n\nLike this:\n\n```\n### User Input\n```"),
        ("user", "three"),
    ]
    assert calls(found) == ["Updated", "Viewed", "Searched"]
    antigravity = _WINDSURF.replace("Cascade ", "")
    assert [said(chat) for chat in read_chats(antigravity.encode(), "x.md")] == [said(found)]


def test_a_step_of_copilots_command_line_is_known_by_the_time_above_it() -> None:
    (found,) = read_chats(_SHARED.encode(), "x.md")
    assert (found.format, found.session_id) == ("copilot-cli", "e1ebe014-169b")
    assert said(found) == [("user", "one\n\n### ✅ of the list"), ("agent", "two"), ("user", "three")]
    assert calls(found) == ["view"]
    assert found.left_out == {"thinking": 1, "tool-output": 1}
    assert found.started is not None
