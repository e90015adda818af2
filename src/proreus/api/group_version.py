"""Names of API types: group, version, kind, resource."""

from __future__ import annotations

from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, order=True)
class GroupVersion:
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


@dataclass(frozen=True, slots=True, order=True)
class _InGroupVersion:
    group: str
    version: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)


@dataclass(frozen=True, slots=True, order=True)
class GroupVersionKind(_InGroupVersion):
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


@dataclass(frozen=True, slots=True, order=True)
class GroupVersionResource(_InGroupVersion):
    resource: str

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    def __str__(self) -> str:
        return f"{self.group_version}, Resource={self.resource}"


@dataclass(frozen=True, slots=True, order=True)
class GroupResource:
    group: str
    resource: str

    def __str__(self) -> str:
        """As error messages name it: ``deployments.apps``, ``pods``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


@dataclass(frozen=True, slots=True, order=True)
class GroupKind:
    group: str
    kind: str

    def __str__(self) -> str:
        """As error messages name it: ``Deployment.apps``, ``Pod``."""
        return f"{self.kind}.{self.group}" if self.group else self.kind
