"""Custom resource definitions around a schema."""

from __future__ import annotations

from typing import Any


def definition(plural: str, kind: str, schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    """Of one version, which ``version`` says more about."""
    made = {"name": "v1", "served": True, "storage": True, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{**made, "schema": {"openAPIV3Schema": schema}}],
        },
    }
