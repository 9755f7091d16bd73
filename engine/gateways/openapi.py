"""The description of the gateway, made from the table of its routes: OpenAPI 3.1."""

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

    from engine.gateways.routes import Way

_REFERENCE = "#/components/schemas/{model}"


def description(ways: Sequence[Way]) -> dict[str, Any]:
    """All ways to ask: what each takes, gives, and how it refuses."""
    models: set[type[BaseModel]] = {
        each for way in ways for each in (way.takes, way.gives) if isinstance(each, type)
    }
    models.add(Refused)
    wanted = sorted(models, key=lambda model: model.__name__)
    _, tree = models_json_schema([(model, "validation") for model in wanted], ref_template=_REFERENCE)
    schemas, paths = tree["$defs"], dict[str, dict[str, Any]]()
    for way in ways:
        paths.setdefault(way.path, {})[way.method.lower()] = _operation(way, schemas)
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


def _operation(way: Way, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)\}", way.path)
    ]
    found: dict[str, Any] = {"summary": way.does or " ".join((inspect.getdoc(way.call) or "").split())}
    if way.takes is not None and way.method == "GET":
        query = schemas[way.takes.__name__]
        parameters += [
            {"name": name, "in": "query", "required": name in query.get("required", ()), "schema": schema}
            for name, schema in query["properties"].items()
        ]
    elif way.takes is not None:
        found["requestBody"] = {"required": True, "content": _json(way.takes)}
    content = {way.gives: {"schema": {}}} if isinstance(way.gives, str) else _json(way.gives)
    refusal = {"description": "refused", "content": _json(Refused)}
    return {
        **found,
        "parameters": parameters,
        "responses": {
            str(way.status): {"description": "done", "content": content}, "4XX": refusal, "503": refusal,
        },
    }  # fmt: skip


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}
