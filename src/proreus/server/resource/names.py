"""What a kind is called: in paths, in objects, in kubectl; and what its objects may be called."""

from __future__ import annotations

from collections.abc import Callable

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.lazy_dataclass import dataclass

NameRule = Callable[
    [str], list[str]
]  # why an object cannot have this name; one of api.values.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """In one group version. ``list_kind``, if unset, is the kind and "List"."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        group: str,
        version: str,
        kind: str,
        plural: str,
        *short_names: str,
        categories: tuple[str, ...] = (),
    ) -> Names:
        """The singular is the kind in lower case."""
        return cls(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            short_names=short_names,
            categories=categories,
        )

    def __post_init__(self) -> None:
        if not self.list_kind:
            object.__setattr__(self, "list_kind", f"{self.kind}List")

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)
