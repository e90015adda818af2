"""Definitions the tests begin with."""

from __future__ import annotations

from typing import Any

INTEGER = {"type": "integer"}
TEXT = {"type": "string"}


def version(name: str = "v1", *, storage: bool = True, **more: Any) -> dict[str, Any]:
    """One version; ``spec`` and ``status`` are properties of their schemas."""
    fields = {
        part: {"type": "object", "properties": more.pop(part)}
        for part in ("spec", "status")
        if part in more
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": fields}}
    return {"name": name, "served": True, "storage": storage, "schema": schema, **more}


def untyped(name: str = "v1") -> dict[str, Any]:
    """One version, which takes whatever it is given."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return version(name, schema={"openAPIV3Schema": schema})


def definition(
    *versions: dict[str, Any],
    plural: str = "widgets",
    kind: str = "Widget",
    group: str = "example.com",
    **names: Any,
) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": list(versions),
        },
    }


def widget(name: str, *, api_version: str = "example.com/v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": api_version, "kind": "Widget", "metadata": metadata, **fields}
