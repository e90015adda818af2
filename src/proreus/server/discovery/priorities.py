"""Priorities of groups and versions, by which discovery is ordered.

They stand in API services; these are the ones that Kubernetes gives to what it serves itself.
"""

from __future__ import annotations

from typing import NamedTuple

from proreus.api.group_version import GroupVersion

# Its own group has no API service: it is always the first.
REGISTRATION_GROUP = "apiregistration.k8s.io"


class DiscoveryPriority(NamedTuple):
    """``groupPriorityMinimum`` and ``versionPriority``; the higher comes first."""

    group: int
    version: int


CUSTOM = DiscoveryPriority(
    1000, 100
)  # of custom resources; their versions are ordered by their names
_FIRST = DiscoveryPriority(20000, 1000)
_GROUPS = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "storagemigration.k8s.io": 15800,
}
_STABLE = 15
_VERSIONS = {
    GroupVersion("", "v1"): 1,
    GroupVersion("autoscaling", "v2"): 30,
    GroupVersion("flowcontrol.apiserver.k8s.io", "v1"): 21,
    GroupVersion("resource.k8s.io", "v1"): 21,
}


def own_priority(group_version: GroupVersion) -> DiscoveryPriority:
    """Of a version that no API service says more about."""
    if group_version.group == REGISTRATION_GROUP:
        return _FIRST
    of_group = _GROUPS.get(group_version.group)
    return (
        CUSTOM
        if of_group is None
        else DiscoveryPriority(of_group, _VERSIONS.get(group_version, _STABLE))
    )
