"""Counts the user's words in a session log, and checks that its transcript has them in order.

It shares no code with the importers and parses both files itself, so that a bug of theirs cannot be hidden
here. To run it by hand on logs of Claude Code or Codex, which are imported into a temporary workspace:

    python -m tests.transcripts.user_words claude-code LOG...
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEAD = re.compile(r"## (?:\d{4}-\d\d-\d\d )?\d\d:\d\d — (user|agent|system)(?: \[([\w.-]+)\])?")
TAGS = (
    "system-reminder|local-command-[a-z]+|bash-stdout|bash-stderr|ide_[a-z_]+|task-notification|"
    "user-prompt-submit-hook|new-diagnostics|environment_context|user_instructions|turn_aborted"
)
NOISE = re.compile(rf"<({TAGS})\b[^>]*>.*?</\1>", re.DOTALL)
REASON = re.compile(
    r"(?:the user said:\n?|The user provided the following reason for the rejection:)\s*(.*)", re.DOTALL
)
MARK = re.compile(r"\[Request interrupted by user[^\]]*\]")
REFUSED = "The user doesn't want to "
CLARIFY = "The user wants to clarify these questions."
CLARIFIED = re.compile(r'- "(.*?)"\n\s+Answer: (.*)')


@dataclass
class Source:
    """The user's words in a log, as read by this script."""

    messages: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass
class Comparison:
    """The result of comparing a log with its transcript."""

    messages: int
    words: int
    found_messages: int
    found_words: int
    is_equal: bool
    left_out: dict[str, int]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def records(log: Path) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    for line in log.read_text("utf-8", "replace").split("\n"):
        place, line = 0, line.strip()
        while place < len(line):
            try:
                value, place = decoder.raw_decode(line, place)
            except ValueError:
                break
            if isinstance(value, dict):
                yield value
            while place < len(line) and line[place].isspace():
                place += 1


def claude_code(log: Path) -> Source:
    source = Source()
    messages = source.messages
    queue: list[str] = []
    taken: list[str] = []
    sent: list[str] = []
    command = ""
    seen: set[str] = set()
    asked: set[str] = set()
    for record in records(log):
        kind, uuid = record.get("type"), record.get("uuid")
        if uuid in seen:
            continue
        seen |= {uuid} if uuid else set()
        if record.get("isSidechain"):
            source.left_out["sub-agents"] += 1
        elif kind == "assistant":
            for part in parts_of(record):
                source.left_out["thinking"] += part["type"].endswith("thinking")
                if part["type"] == "tool_use" and part["name"] == "AskUserQuestion":
                    asked.add(part["id"])
        elif kind == "queue-operation":
            text = record.get("content")
            text = text if isinstance(text, str) else "\n\n".join(p.get("text", "") for p in text or [])
            match record["operation"]:
                case "enqueue":
                    queue.append(text)
                case "popAll":
                    queue = [each for each in queue if each != text] if text else []
                case "dequeue" if queue:
                    sent.append(queue.pop(queue.index(text) if text in queue else 0))
                case "remove" if queue:
                    text = queue.pop(queue.index(text) if text in queue else 0)
                    if without_noise(text):
                        taken.append(text)
                        messages.append(text)
        elif kind == "attachment" and record["attachment"].get("type") == "queued_command":
            prompt, mode = record["attachment"]["prompt"], record["attachment"].get("commandMode", "prompt")
            if isinstance(prompt, list):
                prompt = "\n\n".join(part.get("text", "") for part in prompt)
            if prompt in taken:
                taken.remove(prompt)
            elif mode == "prompt":
                messages.append(prompt)
                if prompt in queue:
                    queue[queue.index(prompt)] = ""
        elif kind == "system" and record.get("subtype") == "local_command":
            messages.extend(filter(None, [command_of(record.get("content", ""))]))
        elif kind == "user":
            read_user_record(record, source, asked, command)
            text = full_text(record)
            if command_of(text):
                command = record.get("uuid", "")
            # A queued message that also has its own record is counted there.
            for typed_ahead in (sent, queue):
                if text and text in typed_ahead:
                    typed_ahead.remove(text)
                    break
        elif kind not in ("custom-title", "ai-title"):
            source.left_out["system-records"] += 1
    messages += [text for text in sent + queue if without_noise(text)]
    return source


def read_user_record(record: dict[str, Any], source: Source, asked: set[str], command: str) -> None:
    messages = source.messages
    for part in parts_of(record):
        source.left_out["images"] += part["type"] in ("image", "document")
        if part["type"] != "tool_result":
            continue
        text = part.get("content")
        text = text if isinstance(text, str) else "\n".join(each.get("text", "") for each in text or [])
        source.left_out["tool-output"] += bool(text)
        reason = REASON.search(text)
        if part.get("is_error") and text.startswith(REFUSED):
            reply = reason[1].partition("\n\nNote: The user's next message")[0] if reason else ""
            if reply.startswith(CLARIFY):
                messages.extend(f"Question: {q}\nAnswer: {a}" for q, a in CLARIFIED.findall(reply))
            elif reply.strip():
                messages.append(reply)
        elif part.get("tool_use_id") in asked:
            result = record.get("toolUseResult", {})
            answers = result.get("answers") if isinstance(result, dict) else None
            if answers:
                notes = result.get("annotations") or {}
                labels = {each["question"]: str(each["options"]) for each in result["questions"]}
                for question, answer in answers.items():
                    is_own = question in labels and not all(
                        f"'{a}'" in labels[question] for a in answer.split(", ")
                    )
                    note = notes[question].get("notes", "") if question in notes else answer if is_own else ""
                    messages.append(
                        f"Question: {question}\nAnswer: {answer}" + (f"\nNote: {note}" if note else "")
                    )
            else:
                messages.append(re.sub(r"^[^:]*answered[^:]*: |\.? You can now continue with .*$", "", text))
    text = full_text(record)
    if record.get("isMeta"):
        if command and record.get("parentUuid") == command:
            messages.append(text)
        else:
            source.left_out["injected"] += 1
    elif record.get("isCompactSummary") or text.startswith("This session is being continued from a previous"):
        pass
    elif record.get("origin", {}).get("kind", "human") != "human":
        source.left_out["injected"] += 1
    elif command_of(text):
        messages.append(command_of(text))
    elif without_noise(text):
        messages.append(without_noise(text))


def command_of(text: str) -> str:
    name = re.search(r"<command-name>(.*?)</command-name>", text, re.DOTALL)
    arguments = re.search(r"<command-args>(.*?)</command-args>", text, re.DOTALL)
    return f"/{name[1].strip().lstrip('/')} {arguments[1] if arguments else ''}".strip() if name else ""


def without_noise(text: str) -> str:
    text = re.sub(r"</?(?:bash-input|user-memory-input)>", " ", text)
    return MARK.sub("", NOISE.sub("", text)).strip()


def parts_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = record["message"].get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def full_text(record: dict[str, Any]) -> str:
    return "\n\n".join(part["text"] for part in parts_of(record) if part["type"] == "text")


def codex(log: Path) -> Source:
    source = Source()
    questions: dict[str, dict[str, str]] = {}
    for record in records(log):
        payload = record.get("payload") or {}
        kind = payload.get("type")
        if record.get("type") == "event_msg" and kind == "user_message":
            text = payload["message"].rpartition("## My request for Codex:")[2]
            source.messages.append(without_noise(text))
        elif kind == "function_call" and payload["name"] == "request_user_input":
            asked = json.loads(payload["arguments"])["questions"]
            questions[payload["call_id"]] = {each["id"]: each["question"] for each in asked}
        elif kind == "function_call_output" and payload["call_id"] in questions:
            for key, answer in json.loads(payload["output"])["answers"].items():
                source.messages.append(f"Question: {questions[payload['call_id']][key]}\nAnswer:")
                source.messages += [each.replace("user_note:", "Note:") for each in answer["answers"]]
        elif kind == "message" and "<user_shell_command>" in payload["content"][0]["text"]:
            text = payload["content"][0]["text"]
            source.messages.append(text.partition("<command>")[2].partition("</command>")[0])
        elif kind == "reasoning":
            source.left_out["thinking"] += 1
        elif kind and kind.endswith("_output"):
            source.left_out["tool-output"] += 1
    return source


def user_turns(text: str) -> list[str]:
    """The user's turns in a transcript."""
    turns: list[str] = []
    role, fence = "", ""
    for line in text.partition("\n---\n")[2].split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if mark and not fence and "`" not in mark[2]:
            fence = mark[1]
        elif mark and fence and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        head = HEAD.fullmatch(line) if not fence else None
        if head:
            role = head[1]
            turns += [""] if role == "user" else []
        elif role == "user" and (fence or not re.match(r"> \[\w+:|<!-- ", line)):
            turns[-1] += re.sub(r"\\u\{([0-9a-f]+)\}", lambda code: chr(int(code[1], 16)), line) + "\n"
    return turns


def compare(kind: str, log: Path, text: str) -> Comparison:
    """Compare a log with the text of its transcript."""
    source = claude_code(log) if kind == "claude-code" else codex(log)
    found = user_turns(text)
    wanted = [word for message in source.messages for word in words(message)]
    there = [word for turn in found for word in words(turn)]
    left_out = {reason: count for reason, count in source.left_out.most_common() if count}
    return Comparison(len(source.messages), len(wanted), len(found), len(there), wanted == there, left_out)


def main(kind: str, *logs: str) -> int:
    """Import each log into its own workspace and print the comparison."""
    print(f"{'log':<22} {'messages':>9} {'words':>7} {'in user_turns':>14}  equal  left out")
    all_equal = True
    for log in map(Path, logs):
        with tempfile.TemporaryDirectory() as folder:
            program = str(Path(sys.executable).with_name("autopoiesis"))
            for arguments in (["init", folder], ["import", kind, str(log.absolute()), "-C", folder]):
                subprocess.run([program, *arguments], check=True, capture_output=True)
            (made,) = Path(folder, "raw").rglob("*.md")
            result = compare(kind, log, made.read_text("utf-8"))
        all_equal &= result.is_equal
        left = ", ".join(f"{count} {reason}" for reason, count in result.left_out.items())
        there = f"{result.found_messages} / {result.found_words}"
        equal = "yes" if result.is_equal else "NO"
        print(f"{log.name:<22} {result.messages:>9} {result.words:>7} {there:>14}  {equal:<5}  {left}")
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
