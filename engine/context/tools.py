"""What a model is told about the tools it is offered: their schema, layer 2, and what they do, layer 3."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from engine.context.budget import Candidate
from engine.records import dataclass


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model sees it."""

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=dict)  # JSON schema of its arguments

    @property
    def schema(self) -> str:
        """Name and arguments as a prompt shows them; the same bytes every time."""
        tree = {"name": self.name, "parameters": self.input_schema}
        return json.dumps(tree, ensure_ascii=False, sort_keys=True)


def offered(tools: Sequence[ToolDefinition]) -> list[Candidate]:
    """Schema and descriptions of tools; nothing where there are none."""
    if not tools:
        return []
    why = "the model may call them"
    schema = "\n".join(tool.schema for tool in tools)
    told = "\n".join(f"- {tool.name}: {tool.description}" for tool in tools)
    return [
        Candidate(label="functions", layer=2, priority=0, slot="system", text=schema, why=why),
        Candidate(label="tools", layer=3, priority=0, slot="system", text=told, why=why),
    ]
