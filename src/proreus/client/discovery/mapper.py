"""Kind ⇄ resource, and every way people write them (Kubernetes: RESTMapper). Pure.

    pods  po  pod  Pod  deployments.apps  deploy.apps  deployments.v1.apps  widgets.example.com

Where several resources fit, the order of discovery decides: the core group first, within a group
its preferred version. A full name beats a short name anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proreus.api.group_version import GroupKind
from proreus.client.discovery.api_resource import ApiResource


class UnknownResource(LookupError):
    """The server serves nothing of that name."""


class RestMapper:
    """Looks names up in one snapshot of discovery."""

    def __init__(self, resources: Sequence[ApiResource]) -> None:
        self._resources = tuple(resources)
        self._by_name: dict[str, list[ApiResource]] = {}
        self._by_short_name: dict[str, list[ApiResource]] = {}
        self._by_kind: dict[GroupKind, list[ApiResource]] = {}
        for one in self._resources:
            for name in dict.fromkeys((one.name, one.singular, one.kind.lower())):
                if name:
                    self._by_name.setdefault(name, []).append(one)
            for name in one.short_names:
                self._by_short_name.setdefault(name, []).append(one)
            self._by_kind.setdefault(GroupKind(one.group, one.kind), []).append(one)

    def __iter__(self) -> Iterator[ApiResource]:
        return iter(self._resources)

    def by_kind(self, kind: GroupKind, version: str = "") -> ApiResource:
        """The resource of a kind, in ``version`` or the preferred one."""
        for one in self._by_kind.get(kind, ()):
            if not version or one.version == version:
                return one
        raise UnknownResource(f'no resource of kind "{kind}"{_in_version(version)} is served')

    def by_resource(self, group: str, version: str, name: str) -> ApiResource:
        for one in self._by_name.get(name, ()):
            if (one.group, one.version, one.name) == (group, version, name):
                return one
        raise UnknownResource(f"no resource {name!r} is served in {group or 'core'}/{version}")

    def by_name(self, text: str) -> ApiResource:
        """What a person means by ``text``."""
        for name, version, group in _readings(text.lower()):
            for table in (self._by_name, self._by_short_name):
                found = [
                    one
                    for one in table.get(name, ())
                    if (not version or one.version == version)
                    and (group is None or one.group == group)
                ]
                if found:
                    return found[0]
        for name, version, prefix in _readings(text.lower()):
            known = self._by_name.get(name, []) + self._by_short_name.get(name, [])
            for one in known:
                if prefix and not version and one.group.startswith(prefix):
                    return one
        raise UnknownResource(f"the server does not have a resource type {text!r}")

    def preferred(self) -> list[ApiResource]:
        """Each resource once, in its preferred version."""
        found: dict[tuple[str, str], ApiResource] = {}
        for one in self._resources:
            found.setdefault((one.group, one.name), one)
        return list(found.values())

    def group_named(self, attribute: str, version: str) -> str:
        """The group that ``example_com`` (or its first part, ``example``) stands for in Python."""
        groups = dict.fromkeys(one.group for one in self._resources if one.version == version)
        for group in groups:
            if as_identifier(group) == attribute:
                return group
        for group in groups:
            if as_identifier(group.partition(".")[0]) == attribute:
                return group
        raise UnknownResource(f"no group like {attribute!r} with version {version!r} is served")


def as_identifier(name: str) -> str:
    return name.replace(".", "_").replace("-", "_").lower()


def _readings(text: str) -> list[tuple[str, str, str | None]]:
    """(name, version, group): ``a`` · ``a.group`` · ``a.version.group``."""
    name, dot, rest = text.partition(".")
    if not dot:
        return [(name, "", None)]
    readings: list[tuple[str, str, str | None]] = [(name, "", rest)]
    version, dot, group = rest.partition(".")
    readings.append((name, version, group if dot else ""))
    return readings


def _in_version(version: str) -> str:
    return f" in version {version!r}" if version else ""
