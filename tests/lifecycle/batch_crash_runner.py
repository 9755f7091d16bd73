"""Sweeps the fault points of a reconstruction in a batch, as ``reconstruction_crash_runner`` without one.

The service stands in a process of its own and outlives every kill. Whatever happened, it was asked each
question once, the branch holds what that of an undisturbed run holds, and the batch is billed once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

from engine.engine import Engine
from engine.errors import AutopoiesisError, RepositoryError
from engine.lifecycle.reconstruction import batching
from engine.lifecycle.reconstruction.reconstruction import Request
from engine.providers import anthropic as anthropic_provider
from engine.providers import openai as openai_provider
from engine.store import faults
from tests.lifecycle.extraction_support import rows
from tests.lifecycle.reconstruction_crash_runner import LOADED, MOST_HITS, again, git, live, made, prepare
from tests.providers import batch_service

HERE = (*LOADED, anthropic, httpx2, openai, batching, anthropic_provider, openai_provider)
"""Here once, and not in each of hundreds of children."""

MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna"}


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


def state(address: str, method: str = "GET") -> dict[str, Any]:
    """What the service was asked; with ``POST`` it forgets that."""
    with urllib.request.urlopen(urllib.request.Request(f"{address}/state", method=method)) as answer:
        told: dict[str, Any] = json.loads(answer.read())
        return told


def in_child(root: Path, fault: str) -> bool:
    """As ``reconstruction_crash_runner.in_child``, in a batch."""
    child = os.fork()
    if not child:
        if fault:
            faults.arm_from(fault)
        for _ in range(4):
            try:
                with Engine.open(
                    root
                ) as engine:  # closed in the end: a bill that could not be written may wait
                    engine.reconstruction.pause = lambda _seconds: None
                    done = engine.reconstruction.run(Request("anew", batch=True))
                if done.commit:
                    os._exit(0)
            except RepositoryError as error:
                if "extract/anew exists already" in str(error):
                    os._exit(0)
            except (AutopoiesisError, OSError):
                continue
        os._exit(3)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, f"{fault}: exit status {status}"
    return True


def kept(root: Path) -> dict[str, str]:
    """The workspace but for its bill."""
    return {name: found for name, found in live(root).items() if not name.startswith(("logs/", "scratch/"))}


def bills(root: Path) -> list[str]:
    with Engine.open(root) as engine:
        return [each.discussion for each in engine.costs.log.records() if each.discussion]


def sweep(folder: Path, name: str, step: int, wanted_points: Sequence[str]) -> dict[str, int]:
    """How often each fault point was reached with one of the services."""
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    prepare(folder / "pristine")
    config = folder / "pristine/memory-config.yaml"
    config.write_text(
        f"extraction: {{provider: {name}, model: {MODELS[name]}, extractors: [facts, decisions]}}\n"
    )
    git(folder / "pristine", "commit", "-q", "-a", "-m", "settings")
    with service(name) as address:
        variable = anthropic_provider.Anthropic if name == "anthropic" else openai_provider.OpenAI
        os.environ[variable.key_variable] = "sk-test-of-no-service"
        os.environ[variable.address_variable] = address + ("/v1" if name == "openai" else "")
        os.environ["AUTOPOIESIS_TRUST"] = "all"
        root = again(folder)
        before = kept(root)
        assert in_child(root, "")
        wanted, asked = made(root), state(address, "POST")
        assert kept(root) == before and len(asked["asked"]) == 4 and asked["batches"] == 1, asked
        page = git(root, "show", "extract/anew:knowledge/facts.md")
        assert "The gauge stamps in local time." in page and "- Mine alone." in page, page

        def check(*what: object) -> None:
            told = state(address, "POST")
            assert (made(root), kept(root)) == (wanted, before), what
            assert Counter(told["asked"]) == Counter(asked["asked"]) and told["batches"] == 1, (what, told)
            assert set(told["singles"]) == {batching._TRIAL}, (what, told)
            assert bills(root) == ["batch b0"], (what, bills(root))

        reached: dict[str, int] = {}
        number = 0
        points = sorted(faults.FAULT_POINTS)
        for point in wanted_points or points:
            for hit in range(1, MOST_HITS, step):
                number += 1
                root = again(folder)
                if in_child(root, f"{point}:kill:{hit}"):
                    check(point, hit, "not reached")
                    break
                reached[point] = hit
                other = points[(7 * number + hit) % len(points)]
                for second in (f"{point}:kill", f"{other}:kill:{1 + number % 4}"):
                    in_child(root, second)
                assert in_child(root, "")
                check(point, hit)
                root = again(folder)
                kind = "EIO" if "fsync" in point else "ENOSPC"
                assert in_child(root, f"{point}:{kind}:{hit}")
                check(point, hit, kind)
    return reached


if __name__ == "__main__":
    total: Counter[str] = Counter()
    for each in MODELS:
        place = Path(sys.argv[1]) / each
        place.mkdir()
        total += Counter(sweep(place, each, int(sys.argv[2]), sys.argv[3:]))
    print(json.dumps(total))
