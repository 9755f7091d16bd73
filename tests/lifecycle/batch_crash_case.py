"""A batch reconstruction that ``tests.crash_sweep`` kills and fails at its fault points.

The service runs in a separate process and survives every kill. In the end each request was made once, the
branch has the same content as after an undisturbed run, and the batch is billed once.
"""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx2
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

from engine.engine import Engine
from engine.lifecycle.reconstruction import batching
from engine.lifecycle.reconstruction.reconstruction import Request
from engine.providers import anthropic as anthropic_provider
from engine.providers import openai as openai_provider
from tests.lifecycle.extraction_support import rows
from tests.lifecycle.reconstruction_crash_case import HERE, Reconstruction, git, live
from tests.providers import batch_service

LOADED = (*HERE, anthropic, httpx2, batching)
"""Imported once here instead of in each of hundreds of child processes."""


def reply_to(prompt: str) -> str:
    """Returns the model's reply: one fact per session."""
    if '{"facts": [' not in prompt:
        return rows(decisions=[])
    fact = "The gauge stamps in local time." if "Aubrac" in prompt else "The print is made on Mondays."
    return rows(facts=[{"statement": fact}])


@contextmanager
def service(name: str) -> Iterator[str]:
    """Runs the service in a separate process and yields its address."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with HTTPServer(threaded=True) as server:
            fake = batch_service.start_service(name, server, says=reply_to, looks=2)

            def report_state(request: Asked) -> Response:
                asked = [key for batch in fake.taken for key in batch.requests]
                state = {"asked": asked, "singles": fake.singles.copy(), "batches": len(fake.taken)}
                if request.method == "POST":
                    fake.taken.clear()
                    fake.singles.clear()
                return Response(json.dumps(state))

            answer = fake._handle
            server.clear()
            server.expect_request("/state").respond_with_handler(report_state)
            server.expect_request(batch_service.EVERYTHING).respond_with_handler(answer)
            os.write(writing, server.url_for("").encode())
            while True:
                time.sleep(60)
    os.close(writing)
    try:
        yield os.read(reading, 200).decode().rstrip("/")
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class InBatch(Reconstruction):
    """The same reconstruction, with the requests sent to a service as a batch."""

    name, model = "anthropic", "claude-haiku-5-5"
    provider: Any = anthropic_provider.Anthropic
    version = ""
    request = Request("anew", batch=True)

    def prepare(self) -> None:
        super().prepare()
        (self.pristine / "memory-config.yaml").write_text(
            f"extraction: {{provider: {self.name}, model: {self.model}, extractors: [facts, decisions]}}\n"
        )
        git(self.pristine, "commit", "-q", "-a", "-m", "settings")

    @contextmanager
    def around(self) -> Iterator[None]:
        with service(self.name) as self.address:
            os.environ[self.provider.key_variable] = "sk-test-of-no-service"
            os.environ[self.provider.address_variable] = self.address + self.version
            os.environ["AUTOPOIESIS_TRUST"] = "all"
            yield

    def alive(self, root: Path) -> dict[str, str]:
        """Returns the workspace without its cost log."""
        found = live(root).items()
        return {name: data for name, data in found if not name.startswith(("logs/", "scratch/"))}

    def content(self) -> dict[str, object]:
        """Adds the requests the service received, which it then forgets, and the bills."""
        asking = urllib.request.Request(f"{self.address}/state", method="POST")
        with urllib.request.urlopen(asking) as answer:
            state: dict[str, Any] = json.loads(answer.read())
        with Engine.open(self.root) as engine:
            bills = [each.discussion for each in engine.costs.log.records() if each.discussion]
        found = super().content()
        return found | {
            "asked": Counter(state["asked"]), "batches": state["batches"], "singles": set(state["singles"]),
            "bills": bills,
        }  # fmt: skip

    def check_whole(self, wanted: dict[str, object]) -> None:
        asked = wanted["asked"]
        assert isinstance(asked, Counter) and asked.total() == 4 and wanted["batches"] == 1, wanted
        assert wanted["singles"] == {batching._TRIAL} and wanted["bills"] == ["batch b0"], wanted
        page = git(self.root, "show", "extract/anew:knowledge/facts.md")
        assert "The gauge stamps in local time." in page and "- Mine alone." in page, page


class InBatchOfOpenAI(InBatch):
    """The same with the other service."""

    name, model = "openai", "gpt-6-luna"
    provider = openai_provider.OpenAI
    version = "/v1"


CASES = {"anthropic": InBatch, "openai": InBatchOfOpenAI}
