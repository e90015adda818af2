"""The order of groups and versions in discovery. The first version of a group is the preferred one.

Groups: by priority, then by name. Versions: stable before beta before alpha, newer before older
(server.md §1.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from proreus.server.resource import Resource

_IN_ORDER = (
    "", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io",
    "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "networking.k8s.io",
    "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io",
    "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
    "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io",
    "storagemigration.k8s.io",
)  # fmt: skip
_PRIORITY = {group: place for place, group in enumerate(_IN_ORDER)}
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def groups_in_order(resources: Iterable[Resource]) -> list[tuple[str, list[str]]]:
    """Every served group with its versions, preferred first. The core group is ""."""
    versions: dict[str, set[str]] = {}
    for resource in resources:
        versions.setdefault(resource.group, set()).add(resource.version)
    names = sorted(versions, key=lambda group: (_PRIORITY.get(group, len(_PRIORITY)), group))
    return [(group, versions_in_order(versions[group])) for group in names]


def versions_in_order(versions: Iterable[str]) -> list[str]:
    """Odd names come last, in order of the alphabet."""
    by_name = sorted(versions)
    return sorted(by_name, key=_rank, reverse=True)


def _rank(version: str) -> tuple[int, int, int]:
    found = _VERSION.fullmatch(version)
    if found is None:
        return (-1, 0, 0)
    major, stage, minor = found.groups()
    return (_STAGES[stage], int(major), int(minor or 0))
