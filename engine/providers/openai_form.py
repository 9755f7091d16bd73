"""How a request is put for OpenAI's interfaces, and calls of tools are put together again.

Servers share the interface, not the parameters: what they differ in is the form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.providers.chat import ChatRequest, Tool, Usage
from engine.providers.reply import Told, tool_use, usage_of
from engine.providers.transport import ChatForm

Effort = Literal["none", "minimal", "low"]
NEXT_EFFORT: dict[Effort, Effort | None] = {"none": "minimal", "minimal": "low", "low": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIForm(ChatForm):
    """The parameters that models and servers differ in."""

    api: Literal["responses", "completions"]
    limit: Literal["max_tokens", "max_completion_tokens"]
    effort: Effort | None
    marked: bool
    keyed: bool
    thoughts: bool
    with_usage: bool = True
    swapped: bool = False


def limit(form: OpenAIForm, request: ChatRequest) -> dict[str, int]:
    """The longest reply, by the name that the server knows it by."""
    return {form.limit: form.tokens(request)}


def function(tool: Tool) -> dict[str, Any]:
    """A tool as chat completions name it."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.input_schema),
        "strict": False,
    }


def functions(request: ChatRequest) -> list[Any]:
    """The tools of a request as responses name them."""
    return [{"type": "function", **function(tool)} for tool in request.tools]


def _system(form: OpenAIForm, request: ChatRequest, kind: str) -> list[Any]:
    """The prefix as a message; none where there is none."""
    if not request.prefix:
        return []
    if form.marked and request.cache_key:
        mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
        parts = [{"type": kind, "text": piece, **mark} for piece in request.prefix]
        return [{"role": "system", "content": parts}]
    return [{"role": "system", "content": "".join(request.prefix)}]


def items_of(form: OpenAIForm, request: ChatRequest) -> list[Any]:
    """A request as responses take it."""
    items = [*_system(form, request, "input_text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        items += each.items
        items += [
            {"type": "function_call_output", "call_id": call.id, "output": answer}
            for call, answer in each.answers
        ]
    return items


def messages_of(form: OpenAIForm, request: ChatRequest) -> list[Any]:
    """A request as chat completions take it."""
    messages = [*_system(form, request, "text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        messages += each.items
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": answer} for call, answer in each.answers
        ]
    return messages


def take_item(item: dict[str, Any], told: Told) -> None:
    """Takes over a finished item of a reply; a thought that cannot come back is left out."""
    if item["type"] == "function_call":
        told.calls.append(tool_use(item["name"], item["arguments"], item["call_id"]))
    if item["type"] != "reasoning" or item.get("encrypted_content"):
        told.items.append(item)


def add_piece(calls: list[dict[str, Any]], piece: Any) -> None:
    """Puts a piece of a call to those before it; some servers number all calls alike and name each."""
    place = piece.index or 0
    call = next((each for each in reversed(calls) if each["place"] == place), None)
    if call is None or (piece.id and call["id"] and piece.id != call["id"]):
        call = {"place": place, "id": "", "name": "", "arguments": ""}
        calls.append(call)
    call["id"] = piece.id or call["id"]
    if piece.function is not None:
        call["name"] = piece.function.name or call["name"]
        call["arguments"] += piece.function.arguments or ""


def called(said: str, calls: list[dict[str, Any]], told: Told) -> None:
    """Takes over the calls of a reply that has ended."""
    told.calls = [tool_use(call["name"], call["arguments"], call["id"]) for call in calls]
    functions = [
        {
            "type": "function",
            "id": call["id"],
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in calls
    ]
    told.items = [{"role": "assistant", "content": said or None, "tool_calls": functions}]


def usage_said(usage: object, sent: str, written: str) -> Usage:
    """The tokens of a call; ``sent`` and ``written`` are what the interface calls its two sides."""
    details = getattr(usage, f"{sent}_tokens_details", None)
    return usage_of(
        getattr(usage, f"{sent}_tokens", None),
        getattr(usage, f"{written}_tokens", None),
        getattr(details, "cached_tokens", None),
        getattr(details, "cache_write_tokens", None),
    )
