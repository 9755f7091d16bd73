"""Markdown with a section for each step: Windsurf's, Chat Ledger's, Nexus' and Copilot's."""

from __future__ import annotations

from engine.transcripts.chats.read import read_chats
from engine.transcripts.turn import Attachment
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


def test_what_chat_ledger_adds_below_a_prompt_is_not_the_persons() -> None:
    text = """# One

## Metadata

| Field | Value |
|-------|-------|
| **Trajectory ID** | `402fc6ba` |

---

## User Request

one

### Actions of mine

---

<details>
<summary>Conversation History</summary>

## Conversation 1: mine
</details>

---

## Agent Response

### Thinking

hm

### Actions

**Tool:** `list_dir`

---

## Agent Response

two

<details>
<summary>Metadata</summary>
</details>

## User Request

three

---
"""
    (found,) = read_chats(text.encode(), "x.md")
    assert (found.format, found.session_id) == ("chat-ledger", "402fc6ba")
    assert said(found) == [("user", "one\n\n### Actions of mine"), ("agent", "two"), ("user", "three")]
    assert calls(found) == ["list_dir"]
    assert found.left_out == {"injected": 1, "thinking": 1}


def test_a_note_of_nexus_has_a_callout_for_each_message() -> None:
    text = """---
nexus: nexus-ai-chat-importer
provider: chatgpt
aliases: "Limits"
conversation_id: 688cf98f
---

# Title: Limits

>[!nexus_user] **User** - 08/01/2025 at 12:30 PM
> one
>
> > quoted
> >[!nexus_agent] **Assistant** - of mine
>>[!nexus_attachment] **paste.txt** (text/plain)
>> Not included in archive.
<!-- UID: f8048ecf -->

>[!nexus_agent] **Assistant** - 08/01/2025 at 12:31 PM
> two
<!-- UID: fc264d42 -->
>[!nexus_user] **User** - 08/01/2025 at 12:32:10 PM
> three

>[!nexus_attachment] **a.png** (image/png) - 2.91 MB
> ![[a.png]]
<!-- UID: 2107a3f0 -->
"""
    (found,) = read_chats(text.encode(), "x.md")
    assert (found.format, found.session_id, found.title) == ("nexus", "688cf98f", "Limits")
    assert said(found) == [
        ("user", "one\n\n> quoted\n>[!nexus_agent] **Assistant** - of mine"),
        ("agent", "two"),
        ("user", "three"),
    ]
    assert [turn.time[3:] for turn in found.turns] == ["30", "31", "32"]
    assert Attachment("paste.txt") in found.turns[0].blocks and Attachment("a.png") in found.turns[2].blocks
