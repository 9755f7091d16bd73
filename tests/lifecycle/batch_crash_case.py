"""A reconstruction in a batch, to be killed and failed at its fault points by ``tests.crash_sweep``.

The service stands in a process of its own and outlives every kill. Whatever happened, it was asked each
question once, the branch holds what that of an undisturbed run holds, and the batch is billed once.
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
"""Here once, and not in each of hundreds of children."""


def says(prompt: str) -> str:
    """What the model finds: one thing in each session."""
    if '{"facts": [' not in prompt:
        return rows(decisions=[])
    told = "The gauge stamps in local time." if "Aubrac" in prompt else "The print is made on Mondays."
    return rows(facts=[{"statement": told}])


@contextmanager
def service(name: str) -> Iterator[str]:
    """The service in a process of its own; gives its address."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with HTTPServer(threaded=True) as server:
            fake = batch_service.made(name, server, says=says, looks=2)

            def tell(request: Asked) -> Response:
                asked = [key for batch in fake.taken for key in batch.requests]
                told = {"asked": asked, "singles": fake.singles.copy(), "batches": len(fake.taken)}
                if request.method == "POST":
                    fake.taken.clear()
                    fake.singles.clear()
                return Response(json.dumps(told))

            answer = fake._handle
            server.clear()
            server.expect_request("/state").respond_with_handler(tell)
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
    """The same with a model of a service, which is asked in a batch."""

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
        """The workspace but for its bill."""
        found = live(root).items()
        return {name: data for name, data in found if not name.startswith(("logs/", "scratch/"))}

    def content(self) -> dict[str, object]:
        """What the service was asked as well, which it then forgets, and what it cost."""
        asking = urllib.request.Request(f"{self.address}/state", method="POST")
        with urllib.request.urlopen(asking) as answer:
            told: dict[str, Any] = json.loads(answer.read())
        with Engine.open(self.root) as engine:
            bills = [each.discussion for each in engine.costs.log.records() if each.discussion]
        found = super().content()
        return found | {
            "asked": Counter(told["asked"]), "batches": told["batches"], "singles": set(told["singles"]),
            "bills": bills,
        }  # fmt: skip

    def check_whole(self, wanted: dict[str, object]) -> None:
        asked = wanted["asked"]
        assert isinstance(asked, Counter) and asked.total() == 4 and wanted["batches"] == 1, wanted
        assert wanted["singles"] == {batching._TRIAL} and wanted["bills"] == ["batch b0"], wanted
        page = git(self.root, "show", "extract/anew:knowledge/facts.md")
        assert "The gauge stamps in local time." in page and "- Mine alone." in page, page


class InBatchOfOpenAI(InBatch):
    """The other service."""

    name, model = "openai", "gpt-6-luna"
    provider = openai_provider.OpenAI
    version = "/v1"


CASES = {"anthropic": InBatch, "openai": InBatchOfOpenAI}
