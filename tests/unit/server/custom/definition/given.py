"""Definitions the tests of their rules begin with."""

from __future__ import annotations

from typing import Any

from proreus.server.custom.definition.rules import DEFINITION

PLAIN = {"type": "object", "properties": {"spec": {"type": "object"}}}


def definition(schema: Any = None, *, plural: str = "widgets", kind: str = "Widget",
               **version: Any) -> dict[str, Any]:  # fmt: skip
    made: dict[str, Any] = {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema or PLAIN},
                    **version,
                }
            ],
        },
    }
    DEFINITION.default(made)
    DEFINITION.prepare_create(made)
    return made


def field(schema: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"a": schema}}
    return {"type": "object", "properties": {"spec": spec}}
