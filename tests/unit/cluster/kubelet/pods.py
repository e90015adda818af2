"""Pods for tests of the process runtime's decisions."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.pod_spec.environment import ValueSources
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec, read_pod
from proreus.cluster.kubelet.runtimes.pod_spec.references import Reference
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses


def pod_object(
    *containers: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any
) -> KubeObject:
    named = [
        {"name": f"c{number}", "image": "i", "command": ["true"], **content}
        for number, content in enumerate(containers or ({},), 1)
    ]
    metadata = {
        "name": "web",
        "namespace": "default",
        "uid": "u-1",
        "labels": {"app": "web", "tier": 'a "b"'},
        "annotations": {"note": "two\nlines"},
    }
    return KubeObject.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"nodeName": "node-1", "containers": named, **spec},
            "status": status or {},
        }
    )


def pod_spec(*containers: dict[str, Any], **spec: Any) -> PodSpec:
    return read_pod(pod_object(*containers, **spec))


def value_sources(
    configmaps: dict[str, dict[str, Any]] | None = None,
    secrets: dict[str, dict[str, Any]] | None = None,
) -> ValueSources:
    """ConfigMaps and secrets by name, with their content."""
    found = [
        *((Reference("configmap", name), content) for name, content in (configmaps or {}).items()),
        *((Reference("secret", name), content) for name, content in (secrets or {}).items()),
    ]
    objects = {
        reference: KubeObject.from_dict({"metadata": {"name": reference.name}, **content})
        for reference, content in found
    }
    return ValueSources(
        PodAddresses("127.64.0.2", "127.0.0.1"), {"cpu": "4", "memory": "8Gi"}, objects
    )
