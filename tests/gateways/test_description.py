"""The OpenAPI document is correct: responses match it, and no request fails."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS, load_all_checks
from starlette.routing import Route

from engine.engine import Engine
from engine.gateways.guard import MCP
from engine.gateways.http import HookServer, application
from tests.gateways.conftest import TOKEN


def test_routes_and_openapi_document_agree(served: tuple[Engine, HookServer], client: httpx2.Client) -> None:
    tree = client.get("/openapi.json").json()
    told = {(path, method.upper()) for path, ways in tree["paths"].items() for method in ways}
    app = application(served[0], token=TOKEN, port=1)
    routes = {
        (each.path, method)
        for each in app.routes
        if isinstance(each, Route)
        for method in (each.methods or set()) - {"HEAD"}
    }
    assert told == routes - {(MCP, "POST")} and len(told) > 15
    assert all(way["summary"] for ways in tree["paths"].values() for way in ways.values())
    assert set(tree["components"]["schemas"]["Refused"]["required"]) == {"error", "hint"}


@pytest.mark.parametrize("examples", [2, pytest.param(60, marks=pytest.mark.thorough)])
def test_responses_match_the_openapi_document(client: httpx2.Client, examples: int) -> None:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    load_all_checks()
    about = ("not_a_server_error", "status_code_conformance", "content_type_conformance")
    checks: Any = CHECKS.get_by_names((*about, "response_schema_conformance"))
    seen: set[int] = set()
    for result in schema.get_all_operations():
        operation: Any = result.ok()
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):

            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:
                answer = case.call(
                    base_url=str(client.base_url), headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60
                )
                case.validate_response(answer, checks=checks)
                seen.add(answer.status_code)

            ask()
    assert {200, 404, 422} <= seen
