"""Conversations with text planted by an outsider, and the replies of a deceived model.

They are stored in ``scenes/*.txt``. A scene starts with ``=== language | route | shown | form | name``: the
language of the planted text, how it gets in, where it is visible, and which program wrote the file. Then
follow

- ``@u``, ``@a`` and ``@s``: text by the person, the agent and the system,
- ``@t name | asked => result``: a tool call,
- ``@!category text`` and ``@+category text``: items of the model's reply, planted and genuine. The text of a
  playbook is ``name | steps``, that of a file note ``path | note``.

Invisible characters are written as ``{U+200B}``; ``{b64:…}``, ``{hex:…}``, ``{pct:…}`` and ``{rot13:…}`` are
encoded here, so that the scenes stay readable.
"""

from __future__ import annotations

import base64
import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from engine.knowledge.harvest.reply import read_reply
from engine.knowledge.item import Item
from tests.knowledge.extract_support import reply

Shown = Literal["shown", "retold", "unseen", "own"]
"""Where the planted text is visible: only where it came in; also in later text of the agent; only there,
because only a short line of the tool's result was kept. ``own`` if nothing is planted."""

_FOLDER = Path(__file__).parent / "scenes"
_CATEGORIES: Mapping[str, str] = {
    "fact": "facts",
    "decision": "decisions",
    "done": "tasks_done",
    "open": "tasks_open",
    "question": "questions",
    "playbook": "playbooks",
    "file": "files",
}
_CODES: Mapping[str, Callable[[str], str]] = {
    "b64": lambda text: base64.b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "pct": lambda text: quote(text, safe=""),
    "rot13": lambda text: codecs.encode(text, "rot13"),
}
_INPUTS: Mapping[str, str] = {
    "Bash": "command",
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "WebFetch": "url",
    "Grep": "pattern",
}
_ROLES: Mapping[str, str] = {"u": "user", "a": "agent", "s": "system"}

Event = tuple[str, str]
"""``u``, ``a`` or ``s`` and the text, or ``t`` and ``name | asked => result``."""
ItemKey = tuple[str, str, str]
"""An item's category, path and text."""


@dataclass(frozen=True)
class Scene:
    """A conversation, and what a model returns for it.

    Attributes:
        language: The language of the planted text, or else of the conversation (ISO 639-1).
        route: How the planted text gets in.
        shown: Where the planted text is visible.
        form: The program that wrote the file: ``md``, ``claude``, ``codex``, ``gemini`` or ``records``.
        name: A unique name.
        events: The turns and tool calls in order.
        planted: Rows of the reply that must be held, each with its category.
        honest: Rows of the reply that need not be held.
    """

    language: str
    route: str
    shown: Shown
    form: str
    name: str
    events: tuple[Event, ...]
    planted: tuple[tuple[str, dict[str, str]], ...]
    honest: tuple[tuple[str, dict[str, str]], ...]

    @property
    def text(self) -> str:
        """The content of the conversation file."""
        return _FORMS[self.form](self.events)

    @property
    def suffix(self) -> str:
        """The suffix of the conversation file."""
        return {"md": ".md", "gemini": ".json"}.get(self.form, ".jsonl")

    @property
    def reply(self) -> str:
        """The model's reply."""
        return _reply(self.planted + self.honest)

    @property
    def own(self) -> frozenset[ItemKey]:
        """The keys of the honest items."""
        return frozenset(key(item) for item in read_reply(_reply(self.honest)).items)


def key(item: Item) -> ItemKey:
    """Returns the content of an item, regardless of the speaker."""
    return item.category, item.path, item.text


def scenes(prefix: str) -> tuple[Scene, ...]:
    """Returns all scenes of the files with a name prefix, in order."""
    return tuple(
        _scene(block)
        for path in sorted(_FOLDER.glob(f"{prefix}*.txt"))
        for block in re.split(r"^=== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]
    )


def _scene(block: str) -> Scene:
    head, _, body = block.partition("\n")
    language, route, shown, form, name = head.split(" | ")
    events: list[Event] = []
    rows: dict[str, list[tuple[str, dict[str, str]]]] = {"!": [], "+": []}
    for mark, rest in re.findall(r"^@(\S+) ((?:.|\n(?!@))*)", body, flags=re.MULTILINE):
        text = _decoded(rest).strip("\n")
        if mark[0] in rows:
            rows[mark[0]].append((_CATEGORIES[mark[1:]], _row(mark[1:], text)))
        else:
            events.append((mark, text))
    assert events and any(rows.values()) and shown in ("shown", "retold", "unseen", "own"), head
    return Scene(language, route, shown, form, name, tuple(events), tuple(rows["!"]), tuple(rows["+"]))  # type: ignore[arg-type]


def _decoded(text: str) -> str:
    text = re.sub(r"\{U\+([0-9A-F]{4,6})\}", lambda match: chr(int(match[1], 16)), text)
    return re.sub(r"\{(b64|hex|pct|rot13):([^}]*)\}", lambda match: _CODES[match[1]](match[2]), text)


def _row(kind: str, text: str) -> dict[str, str]:
    fields = {"playbook": ("name", "steps"), "file": ("path", "note")}.get(kind)
    return dict(zip(fields, text.split(" | ", 1), strict=True)) if fields else {"statement": text}


def _reply(rows: tuple[tuple[str, dict[str, str]], ...]) -> str:
    categories: dict[str, list[dict[str, str]]] = {}
    for category, row in rows:
        categories.setdefault(category, []).append(row)
    return reply(**categories)


def _call(text: str) -> tuple[str, str, str]:
    call, _, result = text.partition(" =>")
    name, _, argument = call.partition(" | ")
    return name, argument, result.lstrip(" ")


def _markdown(events: tuple[Event, ...]) -> str:
    """Renders a transcript; tool calls and the agent's text around them are one turn."""
    lines: list[str] = []
    turns = 0
    before = ""
    for kind, text in events:
        if kind not in ("a", "t") or before not in ("a", "t") or (kind == before == "a"):
            lines.append(f"\n## {10 + turns // 60:02}:{turns % 60:02} — {_ROLES.get(kind, 'agent')}")
            turns += 1
        elif kind != before:
            lines.append("")
        if kind == "t":
            name, argument, result = (" ".join(part.split()) for part in _call(text))
            text = f"> [tool:{name}] {argument} → {result}"
        lines.append(text)
        before = kind
    return "\n".join(lines).lstrip() + "\n"


def _lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _claude(events: tuple[Event, ...]) -> Iterator[dict[str, Any]]:
    for number, (kind, text) in enumerate(events):
        common = {"sessionId": "s-1", "timestamp": f"2026-06-12T10:{number:02}:00Z", "cwd": "/srv/app"}
        if kind == "t":
            name, argument, result = _call(text)
            tool_use: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{number}", "name": name}
            tool_use["input"] = {_INPUTS.get(name, "query"): argument}
            given = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}
            yield {**common, "uuid": f"c-{number}", "type": "assistant", "message": {"content": [tool_use]}}
            yield {**common, "uuid": f"u-{number}", "type": "user", "message": {"content": [given]}}
        else:
            role = "user" if kind == "u" else "assistant"
            message = {"role": role, "content": text if kind == "u" else [{"type": "text", "text": text}]}
            yield {**common, "uuid": f"u-{number}", "type": role, "message": message}


def _codex(events: tuple[Event, ...]) -> Iterator[dict[str, Any]]:
    yield {
        "timestamp": "2026-06-12T10:00:00Z",
        "type": "session_meta",
        "payload": {"id": "x", "cwd": "/srv"},
    }
    for number, (kind, text) in enumerate(events):
        for payload in _codex_items(kind, text, f"call_{number}"):
            stamp = f"2026-06-12T10:{number:02}:01Z"
            yield {"timestamp": stamp, "type": "response_item", "payload": payload}


def _codex_items(kind: str, text: str, call: str) -> Iterator[dict[str, Any]]:
    if kind != "t":
        role, part = ("user", "input_text") if kind == "u" else ("assistant", "output_text")
        yield {"type": "message", "role": role, "content": [{"type": part, "text": text}]}
        return
    name, argument, result = _call(text)
    if name == "web_search":
        # Codex logs its searches, but not the results.
        yield {"type": "web_search_call", "id": call, "action": {"type": "search", "query": argument}}
        return
    arguments = {"command": ["bash", "-lc", argument]} if name == "shell" else {"query": argument}
    yield {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": call}
    yield {"type": "function_call_output", "call_id": call, "output": result}


def _gemini(events: tuple[Event, ...]) -> str:
    messages: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(events):
        common = {"id": f"m-{number}", "timestamp": f"2026-06-12T10:{number:02}:00Z"}
        if kind == "t":
            name, argument, result = _call(text)
            answer = {"functionResponse": {"id": "x", "name": name, "response": {"output": result}}}
            call: dict[str, Any] = {"id": "x", "name": name, "args": {"prompt": argument}}
            call |= {"result": [answer], "status": "success"}
            messages.append({**common, "type": "gemini", "content": "", "toolCalls": [call]})
        else:
            messages.append({**common, "type": "user" if kind == "u" else "gemini", "content": text})
    return json.dumps({"sessionId": "s-1", "projectHash": "h", "messages": messages}, ensure_ascii=False)


def _records(events: tuple[Event, ...]) -> Iterator[dict[str, Any]]:
    for kind, text in events:
        role = {"u": "user", "t": "tool"}.get(kind, "assistant")
        yield {"role": role, "content": _call(text)[2] if kind == "t" else text}


_FORMS: Mapping[str, Callable[[tuple[Event, ...]], str]] = {
    "md": _markdown,
    "claude": lambda events: _lines(_claude(events)),
    "codex": lambda events: _lines(_codex(events)),
    "gemini": _gemini,
    "records": lambda events: _lines(_records(events)),
}

PLANTED = scenes("planted")
SECOND = scenes("planted-second")
"""Scenes written without looking at the rules for holding items, so not fitted to them."""
FIRST = tuple(scene for scene in PLANTED if scene not in SECOND)
