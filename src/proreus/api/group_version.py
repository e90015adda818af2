"""Names of API types: group, version, kind, resource.

They are keys of most tables, so what compares and hashes them runs no Python.
"""

from __future__ import annotations

import msgspec


class GroupVersion(msgspec.Struct, frozen=True, order=True, gc=False):
    """``apps/v1``, or ``v1`` for the core group, whose name is empty."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        group, _, version = api_version.rpartition("/")
        return cls(group, version)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def kind(self, kind: str) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, kind)

    def resource(self, resource: str) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, resource)

    @property
    def path(self) -> str:
        """The URL root of this group version, without a trailing slash."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


class _InGroupVersion(msgspec.Struct, frozen=True, order=True, gc=False):
    group: str
    version: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)


class GroupVersionKind(_InGroupVersion, frozen=True, order=True, gc=False):
    kind: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        """As Kubernetes prints it in messages: ``apps/v1, Kind=Deployment``."""
        return f"{self.group_version}, Kind={self.kind}"


class GroupVersionResource(_InGroupVersion, frozen=True, order=True, gc=False):
    resource: str

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    def __str__(self) -> str:
        return f"{self.group_version}, Resource={self.resource}"


class GroupResource(msgspec.Struct, frozen=True, order=True, gc=False):
    group: str
    resource: str

    def __str__(self) -> str:
        """As error messages name it: ``deployments.apps``, ``pods``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(msgspec.Struct, frozen=True, order=True, gc=False):
    group: str
    kind: str

    def __str__(self) -> str:
        """As error messages name it: ``Deployment.apps``, ``Pod``."""
        return f"{self.kind}.{self.group}" if self.group else self.kind
