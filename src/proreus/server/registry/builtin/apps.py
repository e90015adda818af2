"""Kinds of ``apps/v1``."""

from __future__ import annotations

from proreus.server.registry.builtin.declare import Group, scale
from proreus.server.registry.resource import Resource

_V1 = Group("apps", "v1")


def _workload(kind: str, plural: str, short_name: str, *, scales: bool, **rest: bool) -> Resource:
    return _V1.resource(
        kind,
        plural,
        namespaced=True,
        short_names=(short_name,),
        categories=("all",),
        status=True,
        subresources=(scale(),) if scales else (),
        tracks_generation=True,
        **rest,
    )


RESOURCES: tuple[Resource, ...] = (
    _V1.resource("ControllerRevision", "controllerrevisions", namespaced=True),
    _workload("DaemonSet", "daemonsets", "ds", scales=False),
    _workload("Deployment", "deployments", "deploy", scales=True, generation_on_annotations=True),
    _workload("ReplicaSet", "replicasets", "rs", scales=True),
    _workload("StatefulSet", "statefulsets", "sts", scales=True),
)
