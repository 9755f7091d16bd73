"""Builds requests for OpenAI's APIs and reassembles tool calls.

Servers share the API, not the parameters: the form describes how they differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.providers.chat import ChatRequest, Tool, Usage
from engine.providers.reply import ReplyInfo, tool_use, usage_of
from engine.providers.transport import ChatForm

Effort = Literal["none", "minimal", "low"]
NEXT_EFFORT: dict[Effort, Effort | None] = {"none": "minimal", "minimal": "low", "low": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIForm(ChatForm):
    """The parameters that models and servers differ in."""

    api: Literal["responses", "completions"]
    token_limit: Literal["max_tokens", "max_completion_tokens"]
    effort: Effort | None
    breakpoints: bool
    cache_key: bool
    reasoning: bool
    include_usage: bool = True
    limit_swapped: bool = False


def token_limit(form: OpenAIForm, request: ChatRequest) -> dict[str, int]:
    """The token limit of the reply, under the server's name for it."""
    return {form.token_limit: form.max_tokens_for(request)}


def function_schema(tool: Tool) -> dict[str, Any]:
    """A tool in the format of chat completions."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.input_schema),
        "strict": False,
    }


def response_tools(request: ChatRequest) -> list[Any]:
    """The tools of a request in the format of the Responses API."""
    return [{"type": "function", **function_schema(tool)} for tool in request.tools]


def _system(form: OpenAIForm, request: ChatRequest, kind: str) -> list[Any]:
    """The prefix as a system message; no message if it is empty."""
    if not request.prefix:
        return []
    if form.breakpoints and request.cache_key:
        mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
        parts = [{"type": kind, "text": piece, **mark} for piece in request.prefix]
        return [{"role": "system", "content": parts}]
    return [{"role": "system", "content": "".join(request.prefix)}]


def response_input(form: OpenAIForm, request: ChatRequest) -> list[Any]:
    """A request in the format of the Responses API."""
    items = [*_system(form, request, "input_text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        items += each.items
        items += [
            {"type": "function_call_output", "call_id": call.id, "output": answer}
            for call, answer in each.answers
        ]
    return items


def chat_messages(form: OpenAIForm, request: ChatRequest) -> list[Any]:
    """A request in the format of chat completions."""
    messages = [*_system(form, request, "text"), {"role": "user", "content": request.rest}]
    for each in request.rounds:
        messages += each.items
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": answer} for call, answer in each.answers
        ]
    return messages


def add_item(item: dict[str, Any], info: ReplyInfo) -> None:
    """Stores a finished item of a reply, except reasoning that cannot be sent back."""
    if item["type"] == "function_call":
        info.calls.append(tool_use(item["name"], item["arguments"], item["call_id"]))
    if item["type"] != "reasoning" or item.get("encrypted_content"):
        info.items.append(item)


def add_call_delta(calls: list[dict[str, Any]], piece: Any) -> None:
    """Appends a piece to its tool call; some servers give all calls the same index but different ids."""
    index = piece.index or 0
    call = next((each for each in reversed(calls) if each["index"] == index), None)
    if call is None or (piece.id and call["id"] and piece.id != call["id"]):
        call = {"index": index, "id": "", "name": "", "arguments": ""}
        calls.append(call)
    call["id"] = piece.id or call["id"]
    if piece.function is not None:
        call["name"] = piece.function.name or call["name"]
        call["arguments"] += piece.function.arguments or ""


def finish_calls(content: str, calls: list[dict[str, Any]], info: ReplyInfo) -> None:
    """Stores the tool calls of a finished reply."""
    info.calls = [tool_use(call["name"], call["arguments"], call["id"]) for call in calls]
    tool_calls = [
        {
            "type": "function",
            "id": call["id"],
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for call in calls
    ]
    info.items = [{"role": "assistant", "content": content or None, "tool_calls": tool_calls}]


def usage_from(usage: object, sent: str, written: str) -> Usage:
    """The tokens of a call; ``sent`` and ``written`` are the API's names for input and output."""
    details = getattr(usage, f"{sent}_tokens_details", None)
    return usage_of(
        getattr(usage, f"{sent}_tokens", None),
        getattr(usage, f"{written}_tokens", None),
        getattr(details, "cached_tokens", None),
        getattr(details, "cache_write_tokens", None),
    )
