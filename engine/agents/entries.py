"""Our entries in an agent's settings: found, put in and taken out, as text and nothing else.

A hook is ours where its command runs ``autopoiesis-hook``, an MCP server where it is called ``autopoiesis``,
a plugin where its first line says so; of a plugin, the whole file is.
Whatever is done is read again: where anything but our entries would differ, nothing is done.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from engine.agents import jsonc
from engine.agents.contracts import Contract
from engine.agents.jsonc import JsonError, Node

HOOK = "autopoiesis-hook"
SERVER = "autopoiesis"

Entries = Mapping[str, Any]
"""Of hooks: the group of each event. Of servers: ours, by its name. Of a plugin: its command and text."""


class NotUnderstood(ValueError):
    """The settings cannot be changed without a risk for what else stands in them."""


@dataclass(frozen=True, slots=True)
class Section:
    """One kind of our entries in one form of file; each raises ``JsonError`` and ``NotUnderstood``."""

    what: str
    tree: Callable[[str], dict[str, Any]]  # all that a text says
    read: Callable[[str], Entries]  # ours in it
    put: Callable[[str, Entries], str]  # into a text that has none of ours
    take: Callable[[str], str]


def sections(contract: Contract) -> tuple[Section, Section]:
    """Its hooks and its MCP server."""
    hooks = Section("hooks", _json, _our_hooks, _put_hooks, _take_hooks)
    if contract.hooks.user.endswith(".js"):
        hooks = Section("plugin", _others_plugin, _our_plugin, _put_plugin, _take_plugin)
    key = contract.mcp_key
    if contract.mcp.user.endswith(".toml"):
        return hooks, Section("MCP server", _toml, partial(_our_server, _toml, key), _put_table, _take_table)
    return hooks, Section(
        "MCP server",
        _json,
        partial(_our_server, _json, key),
        partial(_put_server, key),
        partial(_take_server, key),
    )


def wanted(contract: Contract, folder: Path, workspace: Path | None) -> tuple[Entries, Entries]:
    """What is to stand in its hooks and among its MCP servers.

    Args:
        folder: With both programs, absolute.
        workspace: ``None`` for the one that is taken by default.
    """
    named = [] if workspace is None else ["-C", str(workspace)]
    hooks: dict[str, Any] = {}
    for event in contract.events:
        handler = {
            "type": "command",
            "command": _guarded([str(folder / HOOK), contract.agent, *named]),
            "timeout": event.seconds * contract.ticks,
        }
        hooks[event.name] = {"hooks": [handler]}
    if contract.hooks.user.endswith(".js"):
        run = [str(folder / HOOK), contract.agent, *named]
        command = [str(folder / SERVER), "mcp", *named]
        return _our_plugin(_plugin(run)), {SERVER: {"type": "local", "command": command, "enabled": True}}
    server = {"type": "stdio"} if contract.agent == "claude-code" else {}
    return hooks, {SERVER: {**server, "command": str(folder / SERVER), "args": ["mcp", *named]}}


def programs_in(entries: Entries) -> list[str]:
    """The programs that entries run."""
    handlers = [handler for entry in entries.values() for handler in entry.get("hooks", ())]
    commands = [entry["command"] for entry in entries.values() if "command" in entry]
    servers = [str(each[0]) if isinstance(each, list) else str(each) for each in commands if each]
    return sorted({*servers, *(run_by(handler["command"])[0] for handler in handlers)})


def _guarded(run: list[str]) -> str:
    """A shell command that runs a program, and does nothing once the program has been uninstalled: an agent
    must not report an error at every prompt because of it.
    """
    return f"[ ! -x {shlex.quote(run[0])} ] || exec {shlex.join(run)}"


def run_by(command: str) -> list[str]:
    """The program and arguments that a hook's command runs, guarded or not; empty for none of ours."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    run = words[words.index("exec") + 1 :] if words[:2] == ["[", "!"] and "exec" in words else words
    return run if run and Path(run[0]).name == HOOK else []


def with_entries(text: str, section: Section, entries: Entries) -> str:
    """The text with these entries and none of our others; the same text where they stand in it.

    Raises:
        JsonError, NotUnderstood: It cannot be read, or nothing but our entries cannot be changed.
    """
    if section.read(text) == entries:
        return text
    try:
        made = section.take(text)
        made = section.put(made, entries) if entries else made
        if section.read(made) == entries and _bare(section.tree(made)) == _bare(section.tree(text)):
            return made
    except (NotUnderstood, JsonError) as error:
        raise NotUnderstood(f"cannot take our {section.what}: {error}") from None
    raise NotUnderstood(f"cannot take our {section.what} without touching what else stands there")


def _bare(value: Any) -> Any:
    """A value without ours, and without what holds nothing."""
    if isinstance(value, list):
        return [kept for each in value if (kept := _bare(each)) not in ({}, [])]
    if not isinstance(value, dict):
        return value
    if _is_ours(value) or (isinstance(value.get("hooks"), list) and not _bare(value["hooks"])):
        return {}
    return {
        key: kept for key, each in value.items() if key != SERVER and (kept := _bare(each)) not in ({}, [])
    }


def _is_ours(handler: object) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and bool(run_by(command))


def _json(text: str) -> dict[str, Any]:
    tree: dict[str, Any] = _root(text).value
    return tree


def _root(text: str) -> Node:
    root = jsonc.parse(text)
    if not isinstance(root.value, dict):
        raise NotUnderstood("is not a JSON object")
    return root


def _put(text: str, outer: str, inner: str, value: Any) -> str:
    """The text with a member two keys down, or where a list is there, with its items at the end."""
    root = _root(text)
    holder = root.get(outer)
    if holder is None:
        return jsonc.add(text, root, {inner: value}, outer)
    if not isinstance(holder.value, dict):
        raise NotUnderstood(f"holds something else than an object under {outer}")
    place = holder.get(inner)
    if place is None:
        return jsonc.add(text, holder, value, inner)
    if not isinstance(place.value, list):
        raise NotUnderstood(f"holds something else than a list under {outer}.{inner}")
    return jsonc.add(text, place, value[0])


def _held(root: Node) -> Iterator[tuple[str, list[tuple[Node, Node]]]]:
    """Each hook of ours: its event, and the pairs of holder and held that lead to it from outside."""
    hooks = root.get("hooks")
    for event in hooks.children if hooks is not None and isinstance(hooks.value, dict) else ():
        for group in event.children if isinstance(event.value, list) else ():
            handlers = group.get("hooks") if isinstance(group.value, dict) else None
            for handler in handlers.children if handlers and isinstance(handlers.value, list) else ():
                if _is_ours(handler.value) and hooks is not None and handlers is not None:
                    name = hooks.keys[hooks.children.index(event)]
                    yield name, [(root, hooks), (hooks, event), (event, group), (handlers, handler)]


def hooks_in(text: str) -> Iterator[tuple[str, int, int, dict[str, Any]]]:
    """Each hook of ours: its event, the number of its group there and its own in that, and the group."""
    for name, held in _held(_root(text)):
        (event, group), (handlers, handler) = held[2:]
        yield name, event.children.index(group), handlers.children.index(handler), group.value


def _our_hooks(text: str) -> Entries:
    found: dict[str, Any] = {}
    for event, held in _held(_root(text)):
        found.setdefault(event, {"hooks": []})["hooks"].append(held[-1][1].value)
    return found


def _put_hooks(text: str, entries: Entries) -> str:
    for event, group in entries.items():
        text = _put(text, "hooks", event, [group])
    return text


def _take_hooks(text: str) -> str:
    while found := next(_held(_root(text)), None):
        held = found[1]
        while len(held) > 1 and len(held[-1][0].children) == 1:  # what holds nothing else goes with it
            held.pop()
        text = jsonc.remove(text, *held[-1])
    return text


_COMMAND = re.compile(r"(?m)^const COMMAND = (\[.*\])$")


@cache
def _shipped() -> str:
    return Path(__file__).with_name("opencode.js").read_text(encoding="utf-8")


def _plugin(command: list[str]) -> str:
    """The plugin that runs a program; nothing of a path can end the string that it stands in."""
    return _COMMAND.sub(lambda _: f"const COMMAND = {json.dumps(command)}", _shipped())


def _our_plugin(text: str) -> Entries:
    if text.partition("\n")[0].rstrip() != _shipped().partition("\n")[0]:
        return {}
    command: list[str] = []
    if found := _COMMAND.search(text):
        with contextlib.suppress(ValueError, RecursionError):
            command = [*map(str, json.loads(found[1]))]
    return {"plugin": {"command": command, "text": sha256(text.encode("utf-8", "replace")).hexdigest()}}


def _others_plugin(text: str) -> dict[str, Any]:
    return {} if _our_plugin(text) or not text.strip() else {"text": text}


def _put_plugin(text: str, entries: Entries) -> str:
    if text.strip():
        raise NotUnderstood("somebody else's plugin stands there")
    return _plugin(entries["plugin"]["command"])


def _take_plugin(text: str) -> str:
    return "" if _our_plugin(text) else text


_OF_SERVER = ("type", "command", "args", "enabled")
"""What we write of a server; what else stands there, such as which tools need no leave, is the person's."""


def _our_server(tree: Callable[[str], dict[str, Any]], key: str, text: str) -> Entries:
    servers = tree(text).get(key)
    ours = servers.get(SERVER) if isinstance(servers, dict) else None
    if not isinstance(ours, dict):
        return {}
    return {SERVER: {name: ours[name] for name in _OF_SERVER if name in ours}}


def _put_server(key: str, text: str, entries: Entries) -> str:
    return _put(text, key, SERVER, entries[SERVER])


def _take_server(key: str, text: str) -> str:
    root = _root(text)
    servers = root.get(key)
    ours = servers.get(SERVER) if servers is not None and isinstance(servers.value, dict) else None
    if servers is None or ours is None:
        return text
    return jsonc.remove(text, *((servers, ours) if len(servers.children) > 1 else (root, servers)))


_KEY = r'(?:mcp_servers|"mcp_servers")[ \t]*\.[ \t]*(?:autopoiesis|"autopoiesis")'
_TABLE = re.compile(
    rf"(?:(?:(?<=\n)|\A)\r?\n)?(?:^|(?<=\n))[ \t]*\[[ \t]*{_KEY}[ \t]*(?:\.[^\]\n]*)?\][^\n]*"
    r"(?:\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*[\w\"'.-]+[ \t]*=[^\n]*)*(?P<end>\n|\Z)"
)
"""Our table or one below it, with the blank line before it."""


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotUnderstood(f"is not TOML: {error}") from None


def _put_table(text: str, entries: Entries) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[mcp_servers.{SERVER}]"]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entries[SERVER].items()]
    if text and not text.endswith("\n"):
        return text + newline * 2 + newline.join(lines)
    return text + (newline if text else "") + "".join(line + newline for line in lines)


def _take_table(text: str) -> str:
    while found := _TABLE.search(text):
        start = found.start()
        if not found["end"] and start:  # it was added to a file that does not end with a line break
            start = len(text[:start].removesuffix("\n").removesuffix("\r"))
        text = text[:start] + text[found.end() :]
    return text
