"""A fake of the batch interfaces of Anthropic and OpenAI."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.providers.conftest import Service, json_response

EVERYTHING = re.compile("/.*")
_BATCH = re.compile(r"/v1/(?:messages/)?batches/(b\d+)(/results)?")
_FILE = re.compile(r"/v1/files/(\w+)/content")


@dataclass
class AcceptedBatch:
    """A batch that was accepted and is therefore billed."""

    name: str
    requests: dict[str, dict[str, Any]]  # By custom id, the body that a single request would have.
    fates: dict[str, str]
    metadata: dict[str, str]
    looks: int = 0


@dataclass
class BatchService(Service):
    """One service with a batch interface and with single replies.

    ``says`` gives the reply to a prompt, ``fate`` the outcome of a batched request by its prompt: ``done``,
    ``expired``, ``canceled`` or ``errored``. A batch has ended when its status is requested for the
    ``looks``-th time. ``fails_after_taking`` lists error statuses to return although a batch was accepted.
    """

    says: Callable[[str], str] = lambda _prompt: "yes"
    fate: Callable[[str], str] = lambda _prompt: "done"
    looks: int = 1
    refused: str = ""
    fails_after_taking: list[int] = field(default_factory=list)
    taken: list[AcceptedBatch] = field(default_factory=list)
    singles: list[str] = field(default_factory=list)
    uploads: dict[str, str] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def install(self) -> None:
        """Start responding to requests."""
        self.server.expect_request(EVERYTHING).respond_with_handler(self._handle)

    def paid(self) -> list[str]:
        """The prompts of all batched requests, with repetitions."""
        return [self.texts(body)[1] for batch in self.taken for body in batch.requests.values()]

    def _handle(self, request: Request) -> Response:
        with self.guard:
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            return self._answer(request)

    def _answer(self, request: Request) -> Response:
        found, file = _BATCH.fullmatch(request.path), _FILE.fullmatch(request.path)
        if request.path == self.path:
            body = request.get_json(force=True)
            self.singles.append(self.texts(body)[1])
            return json_response(self.reply(self.says(self.singles[-1])))
        if request.path == "/v1/files":
            name = f"f{len(self.uploads)}"
            self.uploads[name] = request.files["file"].read().decode()
            self.sent.append(self.uploads[name])
            return json_response({"id": name, "object": "file", "purpose": request.form["purpose"]})
        if found is not None:
            batch = next((each for each in self.taken if each.name == found[1]), None)
            if batch is None:
                return json_response(self.error("no such batch"), 404)
            if found[2]:
                return Response("".join(self._lines(batch)), content_type="application/x-jsonl")
            batch.looks += 1
            return json_response(self._shown(batch))
        if file is not None:
            kind, name = file[1].split("_")
            batch = next(each for each in self.taken if each.name == name)
            lines = [each for each in self._lines(batch) if ('"status_code": 200' in each) == (kind == "out")]
            return Response("".join(lines), content_type="application/jsonl")
        if request.method == "GET":
            return json_response(
                {"data": [self._shown(each) for each in reversed(self.taken)], "has_more": False}
            )
        return self._take(request)

    def _take(self, request: Request) -> Response:
        submitted, name = request.get_json(force=True), f"b{len(self.taken)}"
        if self.name == "anthropic":
            self.sent.append(request.get_data(as_text=True))
            wanted = {each["custom_id"]: each["params"] for each in submitted["requests"]}
        else:
            lines = [json.loads(line) for line in self.uploads[submitted["input_file_id"]].splitlines()]
            wanted = {each["custom_id"]: each["body"] for each in lines}
        fates = {key: self.fate(self.texts(body)[1]) for key, body in wanted.items()}
        self.taken.append(AcceptedBatch(name, wanted, fates, submitted.get("metadata") or {}))
        if self.fails_after_taking:
            return json_response(self.error("no"), self.fails_after_taking.pop(0))
        return json_response(self._shown(self.taken[-1]))

    def _shown(self, batch: AcceptedBatch) -> dict[str, Any]:
        ended, total = batch.looks >= self.looks, len(batch.requests)
        fates = list(batch.fates.values())
        if self.name == "anthropic":
            names = {"succeeded": "done", "errored": "errored", "canceled": "canceled", "expired": "expired"}
            counts = {name: fates.count(fate) * ended for name, fate in names.items()}
            results = self.server.url_for(f"/v1/messages/batches/{batch.name}/results")
            return {
                "id": batch.name, "type": "message_batch",
                "processing_status": "ended" if ended else "in_progress",
                "request_counts": {**counts, "processing": 0 if ended else total},
                "created_at": datetime.now(UTC).isoformat(), "expires_at": datetime.now(UTC).isoformat(),
                "results_url": results if ended else None,
            }  # fmt: skip
        status = "failed" if self.refused else "completed" if ended else "in_progress"
        done = fates.count("done") * ended
        errors = {"object": "list", "data": [{"code": "x", "message": self.refused}]}
        return {
            "id": batch.name, "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": "f0",
            "completion_window": "24h", "created_at": 1, "status": status, "metadata": batch.metadata,
            "request_counts": {"total": total, "completed": done, "failed": (total - done) * ended},
            "errors": errors if self.refused else None,
            "output_file_id": f"out_{batch.name}" if ended else None,
            "error_file_id": f"err_{batch.name}" if ended else None,
        }  # fmt: skip

    def _lines(self, batch: AcceptedBatch) -> list[str]:
        """The result of each request, in reverse order."""
        found = reversed(batch.requests.items())
        return [f"{json.dumps(self._line(key, body, batch.fates[key]))}\n" for key, body in found]

    def _line(self, key: str, body: dict[str, Any], fate: str) -> dict[str, Any]:
        reply = self.reply(self.says(self.texts(body)[1]))
        if self.name == "anthropic":
            result: dict[str, Any] = {"type": "succeeded", "message": reply}
            if fate == "errored":
                result = {"type": fate, "error": self.error("bad")}
            elif fate != "done":
                result = {"type": fate}
            return {"custom_id": key, "result": result}
        if fate == "done":
            return {"custom_id": key, "response": {"status_code": 200, "body": reply}, "error": None}
        if fate == "errored":
            return {
                "custom_id": key,
                "response": {"status_code": 400, "body": self.error("bad")},
                "error": None,
            }
        code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[fate]
        return {"custom_id": key, "response": None, "error": {"code": code, "message": "no"}}


def start_service(name: str, server: HTTPServer, **settings: Any) -> BatchService:
    """Start a service."""
    service = BatchService(name, server, threading.Event(), **settings)
    service.install()
    return service
