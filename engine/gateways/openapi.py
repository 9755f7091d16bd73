"""The OpenAPI 3.1 document of the gateway, built from its endpoints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from engine import __version__
from engine.gateways.bodies import Refused

if TYPE_CHECKING:
    from pydantic import BaseModel

    from engine.gateways.routes import Endpoint

_REFERENCE = "#/components/schemas/{model}"


def openapi_document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The document for a table of endpoints."""
    models: set[type[BaseModel]] = {
        each for endpoint in endpoints for each in (endpoint.takes, endpoint.gives) if isinstance(each, type)
    }
    models.add(Refused)
    ordered = sorted(models, key=lambda model: model.__name__)
    _, tree = models_json_schema([(model, "validation") for model in ordered], ref_template=_REFERENCE)
    schemas, paths = tree["$defs"], dict[str, dict[str, Any]]()
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Autopoiesis", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ]
    operation: dict[str, Any] = {
        "summary": endpoint.does or " ".join((inspect.getdoc(endpoint.call) or "").split())
    }
    if endpoint.takes is not None and endpoint.method == "GET":
        query = schemas[endpoint.takes.__name__]
        parameters += [
            {"name": name, "in": "query", "required": name in query.get("required", ()), "schema": schema}
            for name, schema in query["properties"].items()
        ]
    elif endpoint.takes is not None:
        operation["requestBody"] = {"required": True, "content": _json(endpoint.takes)}
    content = {endpoint.gives: {"schema": {}}} if isinstance(endpoint.gives, str) else _json(endpoint.gives)
    refusal = {"description": "refused", "content": _json(Refused)}
    return {
        **operation,
        "parameters": parameters,
        "responses": {
            str(endpoint.status): {"description": "done", "content": content}, "4XX": refusal, "503": refusal,
        },
    }  # fmt: skip


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}
