"""The order of groups and versions in discovery. The first version of a group is the preferred one.

Groups and versions: by their priorities (``priorities``). Versions of equal priority: stable before
beta before alpha, newer before older (server.md §1.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from proreus.api.group_version import GroupVersion
from proreus.server.discovery.priorities import DiscoveryPriority

_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}

PriorityOf = Callable[[GroupVersion], DiscoveryPriority]


def groups_in_order(
    served: Iterable[GroupVersion], priority_of: PriorityOf, *, by_service: bool = False
) -> list[tuple[str, list[str]]]:
    """Every served group with its versions, preferred first. The core group is "".

    A group has the highest priority of its versions. Groups of equal priority come by name, or
    ``by_service``, by the name of the API service that has it, which begins with the version.
    """
    groups: dict[str, list[GroupVersion]] = {}
    for group_version in dict.fromkeys(served):
        groups.setdefault(group_version.group, []).append(group_version)

    def rank(group: str) -> tuple[int, str]:
        highest = max(priority_of(one).group for one in groups[group])
        first = min(
            f"{one.version}.{one.group}"
            for one in groups[group]
            if priority_of(one).group == highest
        )
        return -highest, first if by_service else group

    def versions(group: str) -> list[str]:
        of_group = {one.version: priority_of(one).version for one in groups[group]}
        return sorted(versions_in_order(of_group), key=lambda version: -of_group[version])

    return [(group, versions(group)) for group in sorted(groups, key=rank)]


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
