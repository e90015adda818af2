"""The paths of the discovery documents themselves, which stand in the OpenAPI documents too."""

from __future__ import annotations

from proreus.api.group_version import GroupVersion
from proreus.server.discovery.document import CatalogSnapshot
from proreus.server.discovery.openapi.operations import (
    JSON,
    PLAIN,
    Operation,
    PathItem,
    capital,
    group_camel,
    tag,
)
from proreus.server.resource import Resource

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_VERSION = "io.k8s.apimachinery.pkg.version.Info"


def discovery_keys(served: CatalogSnapshot) -> list[str]:
    """Of what is described among the resources: all but groups of custom kinds alone."""
    keys = ["api", "apis", "version"]
    for group, versions in served.own_groups():
        built_in = [v for v in versions if not is_custom(served.of(GroupVersion(group, v)))]
        if group and built_in:
            keys.append(f"apis/{group}")
        keys += [GroupVersion(group, version).path.lstrip("/") for version in built_in]
    return keys


def is_custom(resources: list[Resource]) -> bool:
    return bool(resources) and all(resource.custom is not None for resource in resources)


def discovery_path(key: str) -> PathItem:
    """``key`` is ``api``, ``apis``, ``version``, ``apis/<group>`` or that of a group version."""
    group_version = group_version_of(key)
    if group_version is not None:
        words = f"{group_camel(group_version.group)}{capital(group_version.version)}APIResources"
        return _item(key, words, f"{_META}APIResourceList", tag(group_version))
    match key:
        case "version":
            return _item(key, "CodeVersion", _VERSION, key, (JSON,))
        case "api":
            return _item(key, "CoreAPIVersions", f"{_META}APIVersions", "core")
        case "apis":
            return _item(key, "APIVersions", f"{_META}APIGroupList", key)
    camel = group_camel(key.removeprefix("apis/"))
    return _item(key, f"{camel}APIGroup", f"{_META}APIGroup", camel[:1].lower() + camel[1:])


def group_version_of(key: str) -> GroupVersion | None:
    match key.split("/"):
        case ["api", version]:
            return GroupVersion("", version)
        case ["apis", group, version]:
            return GroupVersion(group, version)
        case _:
            return None


def _item(
    key: str, words: str, answer: str, tag: str, produces: tuple[str, ...] = PLAIN
) -> PathItem:
    operation = Operation(
        method="get",
        action="",
        identifier=f"get{words}",
        summary="What is served here.",
        tag=tag,
        gvk=None,
        answer=answer,
        produces=produces,
    )
    return PathItem(f"/{key}/", (), (operation,))
