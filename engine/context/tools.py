"""The tools offered to a model: their schemas, layer 2, and descriptions, layer 3."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from engine.context.budget import Candidate
from engine.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool offered to a model."""

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=dict)  # JSON schema of its arguments

    @property
    def schema(self) -> str:
        """Name and arguments as JSON; always the same bytes."""
        tree = {"name": self.name, "parameters": self.input_schema}
        return json.dumps(tree, ensure_ascii=False, sort_keys=True)


def tool_candidates(tools: Sequence[ToolDefinition]) -> list[Candidate]:
    """Schemas and descriptions of tools, if any."""
    if not tools:
        return []
    why = "the model may call them"
    schema = "\n".join(tool.schema for tool in tools)
    descriptions = "\n".join(f"- {tool.name}: {tool.description}" for tool in tools)
    return [
        Candidate(label="functions", layer=2, priority=0, slot="system", text=schema, why=why),
        Candidate(label="tools", layer=3, priority=0, slot="system", text=descriptions, why=why),
    ]
